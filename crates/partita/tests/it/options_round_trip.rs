//! Any options, printed and read again, are the same.

use partita::options::file::{FamilyOptions, Mode, OptionsFile};
use partita::options::{Kind, OptionSpec, SectionKind};
use proptest::prelude::*;
use proptest::sample::select;

/// A value that the option takes; harmless ones for what is refused.
fn value_of(spec: &'static OptionSpec) -> BoxedStrategy<String> {
    if matches!(spec.effect, partita::options::Effect::Refused { .. })
        || spec.name == "table_factory"
    {
        return Just(spec.rocksdb_default.to_owned()).boxed();
    }
    match spec.name {
        "filter_policy" => select(vec![
            "nullptr",
            "bloomfilter:9.75:false",
            "ribbonfilter:10:3",
            "rocksdb.BuiltinBloomFilter",
        ])
        .prop_map(str::to_owned)
        .boxed(),
        "prefix_extractor" => select(vec!["nullptr", "fixed:8", "capped:3", "rocksdb.Noop"])
            .prop_map(str::to_owned)
            .boxed(),
        // Alone they are numbers like others; which of these a table takes is for `TableOptions::validate`.
        "format_version" => (2..=7u32).prop_map(|version| version.to_string()).boxed(),
        "super_block_alignment_size" => {
            select(vec!["0", "4096", "2097152"]).prop_map(str::to_owned).boxed()
        }
        "super_block_alignment_space_overhead_ratio" => {
            prop_oneof![Just(0), 4..4096u32].prop_map(|ratio| ratio.to_string()).boxed()
        }
        "data_block_hash_table_util_ratio" => {
            (1..4000u32).prop_map(|n| format!("{}", f64::from(n) / 1000.0)).boxed()
        }
        "compression_opts" | "bottommost_compression_opts" => (0..20, 0..9000, any::<bool>())
            .prop_map(|(level, dict, enabled)| {
                format!("{{level={level};max_dict_bytes={dict};enabled={enabled};}}")
            })
            .boxed(),
        "compaction_options_universal" => (1..100u32, -1..100i32)
            .prop_map(|(ratio, share)| {
                format!("{{size_ratio={ratio};compression_size_percent={share};max_read_amp=3;}}")
            })
            .boxed(),
        "compaction_options_fifo" => {
            any::<u64>().prop_map(|bytes| format!("{{max_table_files_size={bytes};}}")).boxed()
        }
        _ => of_kind(&spec.kind, spec.rocksdb_default),
    }
}

fn of_kind(kind: &'static Kind, default: &'static str) -> BoxedStrategy<String> {
    match kind {
        Kind::Switch => any::<bool>().prop_map(|on| on.to_string()).boxed(),
        Kind::Number { min, max } => prop_oneof![*min..=*max, *min..=(*min + 100).min(*max)]
            .prop_map(|number| number.to_string())
            .boxed(),
        Kind::Decimal => prop_oneof![
            (0..1_000_000i32).prop_map(|n| format!("{}", f64::from(n) / 1000.0)),
            any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(|n| n.to_string())
        ]
        .boxed(),
        Kind::Choice(words) => select(*words).prop_map(str::to_owned).boxed(),
        Kind::Compression => select(vec![
            "kNoCompression",
            "kSnappyCompression",
            "kZlibCompression",
            "kBZip2Compression",
            "kLZ4Compression",
            "kLZ4HCCompression",
            "kZSTD",
        ])
        .prop_map(str::to_owned)
        .boxed(),
        Kind::List(item) => proptest::collection::vec(of_kind(item, default), 0..9)
            .prop_map(|items| items.join(":"))
            .boxed(),
        Kind::Object => {
            select(vec!["nullptr", "my.Object", r"{id=my.Object;delimiter=\:;inner={a=1;};}"])
                .prop_map(str::to_owned)
                .boxed()
        }
        Kind::Text => {
            "[ -~]{0,12}".prop_map(|text| text.trim().replace(['\\', '#', ':'], "/")).boxed()
        }
        Kind::Struct(_) | Kind::Group(_) => Just(default.to_owned()).boxed(),
    }
}

/// Some options of a section with values.
fn settings(section: SectionKind) -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let one = select(section.specs()).prop_flat_map(|spec| (Just(spec.name), value_of(spec)));
    proptest::collection::vec(one, 0..40)
}

prop_compose! {
    fn families()(
        names in proptest::collection::hash_set("\\PC{0,6}[\"#\\]:\\\\]{0,2}[a-z]", 0..3),
        db in settings(SectionKind::Db),
        family in settings(SectionKind::ColumnFamily),
        table in settings(SectionKind::Table),
    ) -> OptionsFile {
        let mut file = OptionsFile::default();
        let mut options = file.families[0].options.clone();
        for (name, value) in &db {
            file.db.set(name, value).unwrap();
        }
        for (name, value) in &family {
            options.set(name, value).unwrap();
        }
        for (name, value) in &table {
            options.table.set(name, value).unwrap();
        }
        file.families.extend(names.into_iter().map(|name| FamilyOptions { name, options: options.clone() }));
        file
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_was_printed_is_read_as_the_same(file in families()) {
        // What is senseless together is mended by the first reading.
        let mended = OptionsFile::read(file.to_text().as_bytes(), Mode::Lenient);
        prop_assert_eq!(mended.options.families.len(), file.families.len());
        if file.db.validate().is_ok() {
            prop_assert!(mended.worst() < Some(partita::options::file::Severity::Error), "{:?}", mended.findings);
        }
        let text = mended.options.to_text();
        let again = OptionsFile::read(text.as_bytes(), Mode::Strict);
        prop_assert_eq!(&again.options.db, &mended.options.db);
        prop_assert_eq!(&again.options.families, &mended.options.families);
        prop_assert_eq!(again.options.to_text(), text);
        for family in &again.options.families {
            prop_assert!(family.options.validate().is_ok(), "{:?}", family.options.validate());
        }
    }
}
