//! Tables that RocksDB wrote, written again from their entries: see [`partita_testkit::rebuild`].

use partita::filter::FilterPolicy;
use partita::key::PrefixExtractor;
use partita::options::{DataBlockIndex, FilterLayout, IndexType, TableOptions};
use partita::table::TableProperties;
use partita::util::checksum::ChecksumType;
use partita::util::compression::CompressionType;
use partita_testkit::golden;
use partita_testkit::rebuild::{Dissected, Same, assert_same, check_table_of_7_8};

#[test]
fn tables_of_rocksdb_7_8_come_out_the_same() {
    let mut same = Same::default();
    for golden in golden::tables() {
        let about = golden.about();
        let options = about.lines().nth(1).unwrap();
        check_table_of_7_8(&golden.path(), options, golden.name(), &mut same);
    }
    assert_eq!(same.tables, 48);
    assert!(
        same.data_blocks > 1000
            && same.filters_of_other_shape == 0
            && same.filter_blocks > 40
            && same.index_blocks > 50,
        "{same:?}"
    );
}

/// The number or word behind `name` in the last line of a golden database's description.
fn word<'a>(about: &'a str, name: &str) -> &'a str {
    let (_, rest) = about.split_once(&format!(" {name} ")).unwrap_or_else(|| panic!("{name}"));
    rest.split_whitespace().next().unwrap()
}

/// The options of a golden database, from its description, and the file's own properties.
fn options_of_database(about: &str, properties: &TableProperties) -> TableOptions {
    let about = format!(" {}", about.lines().nth(2).unwrap());
    let number = |name: &str| word(&about, name).parse::<f64>().unwrap();
    let mut options = TableOptions::rocksdb_defaults();
    options.format_version = number("format_version") as u32;
    options.checksum = ChecksumType::from_code(number("checksum") as u8).unwrap();
    options.index_type = IndexType::from_code(number("index") as u32).unwrap();
    options.block_size = number("block") as usize;
    options.metadata_block_size = number("metadata block") as usize;
    options.compression.max_dict_bytes = number("dictionary") as usize;
    let bits_per_key = number("filter");
    options.filter_policy = match word(&about, "ribbon") {
        _ if bits_per_key == 0.0 => None,
        "true" => Some(FilterPolicy::Ribbon { bits_per_key, bloom_before_level: -1 }),
        _ => Some(FilterPolicy::Bloom { bits_per_key }),
    };
    if word(&about, "partitioned") == "true" {
        options.filter_layout = FilterLayout::Partitioned;
    }
    if number("prefix") > 0.0 {
        options.prefix_extractor = Some(PrefixExtractor::Fixed(number("prefix") as usize));
    }
    if word(&about, "data hash index") == "true" {
        options.data_block_index = DataBlockIndex::BinaryAndHash { util_ratio: 0.75 };
    }
    let compression = properties.compression_name.as_deref().unwrap();
    options.compression.kind = match compression.split_once(';') {
        None => CompressionType::from_property_name(compression).unwrap(),
        Some((_, codes)) => {
            let code = codes.split(';').next().unwrap();
            CompressionType::from_code(u8::from_str_radix(code, 16).unwrap()).unwrap()
        }
    };
    options
}

#[test]
fn tables_of_golden_databases_come_out_the_same() {
    let mut same = Same::default();
    for name in golden::names() {
        if matches!(name.as_str(), "foreign-comparator" | "blob-files") {
            continue;
        }
        let golden = golden::get(&name);
        for path in golden.sst_paths() {
            let original = Dissected::open(&path);
            let options = options_of_database(&golden.about(), original.properties());
            let rebuilt = original.rebuild(options);
            assert_same(&original, &rebuilt, &format!("{name} {}", path.display()), &mut same);
        }
    }
    assert!(same.tables > 30 && same.data_blocks > 500 && same.filter_blocks > 50, "{same:?}");
    assert!(same.filters_of_other_shape * 2 < same.filter_blocks, "{same:?}");
}
