//! `docs/options.md` is made from the table of options; `REWRITE=1` writes it again.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use partita::options::{
    ColumnFamilyOptions, CompressionOptions, DbOptions, Effect, FifoOptions, OptionSpec,
    SectionKind, TableOptions, UniversalOptions,
};

const HEAD: &str = "\
# Options

Every option that RocksDB 6 to 11 writes into its options files, and what Partita does with it. This page is made from
the declarations in `crates/partita/src/options` (`REWRITE=1 cargo test -p partita options_reference`).

* **honoured**: the layer that is named acts on it. It is a field of the options' struct.
* **no effect**: accepted, checked, kept and written back, so that RocksDB finds its own settings again.
* **run-time object**: named in files, never made from them: the program hands the object over.
* **refused**: only the default is accepted.

Defaults are Partita's; RocksDB 11.8's stand beside them where they differ. \"Since\" is the first of the RocksDB versions
looked at (6.2, 6.11, 6.20, 6.28, 7.4, 7.8, 8.10, 9.8, 10.4, 11.8) that knows the option, \"to\" the first that ignores it.
";

fn cell(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.replace('|', "\\|") }
}

fn line(page: &mut String, spec: &OptionSpec, ours: &str) {
    let mut default = format!("`{}`", if ours.is_empty() { "(empty)" } else { ours });
    if !spec.why_other_default.is_empty() {
        write!(default, "; RocksDB `{}`: {}", spec.rocksdb_default, spec.why_other_default)
            .unwrap();
    }
    let versions = match spec.until {
        Some(until) => format!("{} to {until}", spec.since),
        None => spec.since.to_owned(),
    };
    let effect = match spec.effect {
        Effect::Honoured(by) => format!("**honoured**: {by}"),
        effect => format!("{}: {}", effect.as_str(), effect.reason()),
    };
    let doc = spec.doc.split_whitespace().collect::<Vec<_>>().join(" ");
    writeln!(
        page,
        "| `{}` | {} | {} | {default} | {versions} | {effect} |",
        spec.name,
        cell(&doc),
        cell(&spec.kind.describe())
    )
    .unwrap();
}

fn table<'s>(
    page: &mut String,
    title: &str,
    specs: impl Iterator<Item = &'s OptionSpec>,
    ours: impl Fn(&str) -> String,
) {
    writeln!(page, "\n## {title}\n\n| option | what it is | values | default | since | effect |\n|---|---|---|---|---|---|")
        .unwrap();
    let mut specs: Vec<_> = specs.collect();
    specs.sort_by_key(|spec| {
        let rank = match spec.effect {
            Effect::Honoured(_) => 0,
            _ => 1,
        };
        (rank, spec.name.to_lowercase())
    });
    for spec in specs {
        line(page, spec, &ours(spec.name));
    }
}

fn reference() -> String {
    let mut page = HEAD.to_owned();
    let db = DbOptions::default();
    table(&mut page, "`[DBOptions]`", DbOptions::specs(), |name| db.get(name).unwrap());
    let family = ColumnFamilyOptions::default();
    table(&mut page, "`[CFOptions \"name\"]`", ColumnFamilyOptions::specs(), |name| {
        family.get(name).unwrap()
    });
    let options = TableOptions::default();
    table(&mut page, "`[TableOptions/BlockBasedTable \"name\"]`", TableOptions::specs(), |name| {
        options.get(name).unwrap()
    });
    let inner = CompressionOptions::default();
    table(
        &mut page,
        "`compression_opts`, `bottommost_compression_opts`",
        CompressionOptions::specs(),
        |name| inner.get(name).unwrap(),
    );
    let inner = UniversalOptions::default();
    table(&mut page, "`compaction_options_universal`", UniversalOptions::specs(), |name| {
        inner.get(name).unwrap()
    });
    let inner = FifoOptions::default();
    table(&mut page, "`compaction_options_fifo`", FifoOptions::specs(), |name| {
        inner.get(name).unwrap()
    });
    page += "\n## Names that are accepted and mean nothing\n\n| section | names | why |\n|---|---|---|\n";
    for section in SectionKind::ALL {
        let mut reasons: Vec<&str> = section.ignored().iter().map(|ignored| ignored.why).collect();
        reasons.sort_unstable();
        reasons.dedup();
        for why in reasons {
            let names: Vec<String> = section
                .ignored()
                .iter()
                .filter(|ignored| ignored.why == why)
                .map(|ignored| format!("`{}`", ignored.name))
                .collect();
            writeln!(page, "| `[{}]` | {} | {why} |", section.title(), names.join(", ")).unwrap();
        }
    }
    page
}

#[test]
fn the_page_of_options_is_what_the_declarations_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/options.md");
    let page = reference();
    if env::var_os("REWRITE").is_some() {
        return fs::write(&path, page).unwrap();
    }
    let stands = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == stands,
        "docs/options.md is not what the declarations say: run with REWRITE=1 and look at the difference"
    );
}
