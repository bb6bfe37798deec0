//! Which tables to make: every option that shapes a file, each varied from one base, and the combinations in which
//! RocksDB takes another path.

use std::path::Path;

use crate::db::{Db, Result, write_external_file};
use crate::shape::Shape;

/// The RocksDB versions whose option strings are known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 7.8.3: writes format versions 0 to 5.
    V7_8,
    /// 11.8.1: writes format versions 2 to 7.
    V11_8,
}

/// One table to make.
#[derive(Clone, Debug)]
pub struct Case {
    /// A name that tells what is special, usable as a file name.
    pub name: String,
    /// Options of the block-based table, as in `block_based_table_factory={…}`.
    pub table: String,
    /// Other options of the column family.
    pub family: String,
    /// What to put in.
    pub shape: Shape,
    /// About how many entries.
    pub entries: usize,
    /// Made by `SstFileWriter` rather than by a flush.
    pub is_external: bool,
}

/// Options that every case starts from; a later option of the same name overrides an earlier one.
const BASE_TABLE: &str = "checksum=kCRC32c;block_size=1024;filter_policy=bloomfilter:10:false;\
     optimize_filters_for_memory=false;metadata_block_size=1024";

/// Partitioned index and filters.
const PARTITIONED: &str = "index_type=kTwoLevelIndexSearch;partition_filters=true";

impl Case {
    fn new(name: impl Into<String>, table: impl AsRef<str>) -> Self {
        Self {
            name: name.into(),
            table: table.as_ref().to_owned(),
            family: "compression=kNoCompression".to_owned(),
            shape: Shape::Sequential,
            entries: 2500,
            is_external: false,
        }
    }

    fn family(mut self, options: &str) -> Self {
        self.family = format!("{};{options}", self.family);
        self
    }

    fn shape(mut self, shape: Shape, entries: usize) -> Self {
        self.shape = shape;
        self.entries = entries;
        if matches!(shape, Shape::Versions | Shape::Ranges) {
            return self.family("merge_operator=stringappend");
        }
        self
    }

    /// The whole option string.
    pub fn options(&self) -> String {
        let table = last_of_each(&format!("{BASE_TABLE};{}", self.table));
        format!("{};block_based_table_factory={{{table}}}", last_of_each(&self.family))
    }

    /// Whether blocks are stored as they are, so that their sizes do not depend on a compressor.
    pub fn is_uncompressed(&self) -> bool {
        last_of_each(&self.family).contains("compression=kNoCompression")
    }

    /// The value of a table option, as a string.
    pub fn table_option(&self, name: &str) -> Option<String> {
        last_of_each(&format!("{BASE_TABLE};{}", self.table))
            .split(';')
            .find_map(|option| Some(option.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
    }

    /// Makes the table in the new directory `dir` and returns the database that holds it as its only file.
    pub fn make(&self, dir: &Path) -> Result<Db> {
        let options = self.options();
        let mut db = Db::open(&dir.join("db"), &options)?;
        if self.is_external {
            let file = dir.join("external.sst");
            write_external_file(&file, &options, &self.shape.rows(self.entries))?;
            db.ingest(&[file])?;
        } else {
            for op in self.shape.ops(self.entries) {
                db.apply(&op)?;
            }
            db.flush()?;
        }
        Ok(db)
    }
}

/// Drops all but the last of options with the same name: RocksDB refuses doubled ones.
pub(crate) fn last_of_each(options: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let name = |option: &str| option.split('=').next().map(str::to_owned);
    for option in split_outside_braces(options) {
        kept.retain(|earlier| name(earlier) != name(option));
        kept.push(option);
    }
    kept.join(";")
}

pub(crate) fn split_outside_braces(options: &str) -> Vec<&str> {
    let mut depth = 0;
    options
        .split(|c| {
            depth += match c {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
            c == ';' && depth == 0
        })
        .filter(|option| !option.is_empty())
        .collect()
}

/// All cases that `version` can write.
pub fn matrix(version: Version) -> Vec<Case> {
    let format_versions = match version {
        Version::V7_8 => 0..=5,
        Version::V11_8 => 2..=7,
    };
    let newest = *format_versions.end();
    let mut cases = Vec::new();
    for fv in format_versions {
        cases.extend(of_format_version(fv));
    }
    for fv in 5..=newest {
        cases.extend(checksums(fv));
        cases.extend(compressions(fv));
    }
    if version == Version::V7_8 {
        for kind in [
            "kSnappyCompression",
            "kZlibCompression",
            "kBZip2Compression",
            "kLZ4Compression",
            "kZSTD",
        ] {
            cases.push(
                Case::new(format!("fv1-{kind}"), "format_version=1")
                    .family(&format!("compression={kind}")),
            );
        }
    }
    cases.extend(indexes_and_blocks());
    cases.extend(filters());
    cases.extend(contents());
    if version == Version::V11_8 {
        cases.extend(only_newest());
        // Said, where it is the default: 7.8 does not know the option, and has the other way only.
        let is_silent = |case: &&mut Case| {
            case.table.contains("partition_filters") && !case.table.contains("decouple")
        };
        for case in cases.iter_mut().filter(is_silent) {
            case.table += ";decouple_partitioned_filters=true";
        }
    }
    cases
}

/// Index types, partitioned filters and key shapes, in one format version.
fn of_format_version(fv: u32) -> Vec<Case> {
    let case = |name: &str, table: &str| {
        Case::new(format!("fv{fv}-{name}"), format!("format_version={fv};{table}"))
    };
    vec![
        case("binary-search", "index_type=kBinarySearch"),
        case("hash-index", "index_type=kHashSearch")
            .family("prefix_extractor=fixed:8")
            .shape(Shape::Prefixed, 2500),
        case("two-level", "index_type=kTwoLevelIndexSearch"),
        case("first-key", "index_type=kBinarySearchWithFirstKey;index_block_restart_interval=4"),
        case("partitioned-bloom", PARTITIONED),
        case("partitioned-ribbon", &format!("{PARTITIONED};filter_policy=ribbonfilter:10:-1")),
        case("partitioned-prefix", PARTITIONED)
            .family("prefix_extractor=fixed:8")
            .shape(Shape::Prefixed, 2500),
        case("versions", "index_block_restart_interval=3").shape(Shape::Versions, 2500),
        case("versions-partitioned", PARTITIONED).shape(Shape::Versions, 2500),
        case("binary-keys", "data_block_index_type=kDataBlockBinaryAndHash")
            .shape(Shape::Binary, 1400),
    ]
}

fn checksums(fv: u32) -> Vec<Case> {
    ["kNoChecksum", "kCRC32c", "kxxHash", "kxxHash64", "kXXH3"]
        .map(|kind| {
            Case::new(format!("fv{fv}-{kind}"), format!("format_version={fv};checksum={kind}"))
                .family("compression=kLZ4Compression")
        })
        .into()
}

fn compressions(fv: u32) -> Vec<Case> {
    let case = |name: String, family: String| {
        Case::new(format!("fv{fv}-{name}"), format!("format_version={fv};block_size=4096"))
            .family(&family)
    };
    let mut cases = Vec::new();
    for kind in ["kSnappyCompression", "kZlibCompression", "kBZip2Compression"] {
        cases.push(case(kind.to_owned(), format!("compression={kind}")));
    }
    for kind in ["kLZ4Compression", "kLZ4HCCompression", "kZSTD"] {
        cases.push(case(kind.to_owned(), format!("compression={kind}")));
    }
    for kind in ["kZlibCompression", "kLZ4Compression", "kLZ4HCCompression", "kZSTD"] {
        cases.push(case(
            format!("{kind}-dictionary"),
            format!("compression={kind};compression_opts={{max_dict_bytes=4096}}"),
        ));
    }
    cases.push(case(
        "kZSTD-trained-dictionary".to_owned(),
        "compression=kZSTD;compression_opts={max_dict_bytes=4096;zstd_max_train_bytes=65536}"
            .to_owned(),
    ));
    cases
}

fn indexes_and_blocks() -> Vec<Case> {
    let case = |name: &str, table: &str| Case::new(name, format!("format_version=5;{table}"));
    vec![
        case("restart-interval-1", "block_restart_interval=1;index_block_restart_interval=16"),
        case("block-align", "block_align=true;block_size=4096"),
        case("no-shortening", "index_shortening=kNoShortening"),
        case("shortened-successor", "index_shortening=kShortenSeparatorsAndSuccessor"),
        case(
            "first-key-no-shortening",
            "index_type=kBinarySearchWithFirstKey;index_shortening=kNoShortening",
        ),
        case("data-block-hash", "data_block_index_type=kDataBlockBinaryAndHash"),
        case(
            "data-block-hash-crowded",
            "data_block_index_type=kDataBlockBinaryAndHash;data_block_hash_table_util_ratio=8;block_size=16384",
        ),
        case("tiny-blocks", "block_size=1;metadata_block_size=64;index_type=kTwoLevelIndexSearch"),
        case("compressed-index", "index_type=kTwoLevelIndexSearch").family("compression=kZSTD"),
        case("raw-index", "enable_index_compression=false").family("compression=kZSTD"),
    ]
}

fn filters() -> Vec<Case> {
    let case = |name: String, table: &str| Case::new(name, format!("format_version=5;{table}"));
    let mut cases = vec![
        case("no-filter".to_owned(), "filter_policy=nullptr"),
        case("prefix-and-whole".to_owned(), "whole_key_filtering=true")
            .family("prefix_extractor=fixed:8")
            .shape(Shape::Prefixed, 2500),
        case("prefix-only".to_owned(), "whole_key_filtering=false")
            .family("prefix_extractor=capped:8")
            .shape(Shape::Prefixed, 2500),
        case(
            "prefix-only-partitioned".to_owned(),
            &format!("{PARTITIONED};whole_key_filtering=false"),
        )
        .family("prefix_extractor=fixed:8")
        .shape(Shape::Prefixed, 2500),
        case("five-key-partitions".to_owned(), &format!("{PARTITIONED};metadata_block_size=12")),
    ];
    for bits in ["1", "3.3", "7", "12.5", "20", "60"] {
        for kind in ["bloomfilter", "ribbonfilter"] {
            let last = if kind == "bloomfilter" { "false" } else { "-1" };
            let policy = format!("filter_policy={kind}:{bits}:{last}");
            cases.push(case(format!("{kind}-{bits}-bits"), &policy).shape(Shape::Binary, 1300));
        }
    }
    for entries in [1, 2, 30, 180, 240, 260, 600, 9000] {
        let ribbon = "filter_policy=ribbonfilter:10:-1";
        cases
            .push(case(format!("ribbon-{entries}-keys"), ribbon).shape(Shape::Sequential, entries));
        cases.push(case(format!("bloom-{entries}-keys"), "").shape(Shape::Sequential, entries));
    }
    cases
}

fn contents() -> Vec<Case> {
    let case = |name: &str, table: &str| Case::new(name, format!("format_version=5;{table}"));
    let mut external = case("external-file", "");
    external.is_external = true;
    let mut external_partitioned = case("external-file-partitioned", PARTITIONED);
    external_partitioned.is_external = true;
    vec![
        external,
        external_partitioned,
        case("ranges", "").shape(Shape::Ranges, 2500),
        case("ranges-partitioned", PARTITIONED).shape(Shape::Ranges, 2500),
        case("only-ranges", "").shape(Shape::OnlyRanges, 100),
        case("large-values", "")
            .shape(Shape::LargeValues, 12)
            .family("compression=kLZ4Compression"),
        case("reverse-comparator", "")
            .family("comparator=rocksdb.ReverseBytewiseComparator")
            .shape(Shape::Versions, 2500),
        case("reverse-comparator-binary", PARTITIONED)
            .family("comparator=rocksdb.ReverseBytewiseComparator")
            .shape(Shape::Binary, 1300),
    ]
}

/// What only RocksDB 11 can write.
fn only_newest() -> Vec<Case> {
    let mut cases = Vec::new();
    for fv in 5..=7 {
        let case = |name: &str, table: &str| {
            Case::new(format!("fv{fv}-{name}"), format!("format_version={fv};{table}"))
        };
        for decoupled in [false, true] {
            let table = format!("{PARTITIONED};decouple_partitioned_filters={decoupled}");
            cases.push(case(&format!("decoupled-{decoupled}"), &table));
            cases.push(
                case(&format!("decoupled-{decoupled}-versions"), &table)
                    .shape(Shape::Versions, 2500),
            );
            cases.push(
                case(&format!("decoupled-{decoupled}-prefix"), &table)
                    .family("prefix_extractor=fixed:8")
                    .shape(Shape::Prefixed, 2500),
            );
        }
        let separate = "separate_key_value_in_data_block=true";
        cases.push(case("no-delta-keys", "use_delta_encoding=false"));
        cases.push(case("separate-key-value", separate));
        cases.push(case("separate-key-value-binary", separate).shape(Shape::Binary, 1400));
        cases.push(case(
            "separate-key-value-hash",
            &format!("{separate};data_block_index_type=kDataBlockBinaryAndHash"),
        ));
        cases.push(case("separate-key-value-zstd", separate).family("compression=kZSTD"));
        cases.push(case("uniform-index", "uniform_cv_threshold=2.0;block_size=512"));
        cases.push(case(
            "uniform-index-partitioned",
            &format!("uniform_cv_threshold=2.0;block_size=512;{PARTITIONED}"),
        ));
        cases.push(case(
            "super-block-alignment",
            "super_block_alignment_size=16384;super_block_alignment_space_overhead_ratio=4",
        ));
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_options_override_earlier_ones() {
        assert_eq!(last_of_each("a=1;b={x=1;y=2};a=2"), "b={x=1;y=2};a=2");
    }

    #[test]
    fn names_are_unique() {
        for version in [Version::V7_8, Version::V11_8] {
            let mut names: Vec<_> = matrix(version).into_iter().map(|case| case.name).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }
}
