//! Whole databases to make: the options that shape a tree of tables, each varied from one base, small enough that a few
//! hundred kilobytes make levels, runs and many tables.

use partita::options::{ColumnFamilyOptions, DbOptions};

use crate::matrix::{Version, last_of_each, split_outside_braces};

/// The families of each database.
pub const FAMILIES: [&str; 2] = ["default", "more"];

/// Options of a database, as both engines take them: in RocksDB's option strings.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What is special.
    pub name: &'static str,
    /// Options of the database.
    pub db: &'static str,
    /// Options of its families, without those of tables.
    family: &'static str,
    /// Options of tables.
    table: &'static str,
    /// The oldest RocksDB that knows all this.
    pub since: Version,
}

const BASE_FAMILY: &str = "write_buffer_size=65536;target_file_size_base=32768;max_bytes_for_level_base=65536;\
     max_bytes_for_level_multiplier=4;level0_file_num_compaction_trigger=2;compression=kLZ4Compression;\
     merge_operator=StringAppendOperator;paranoid_file_checks=true;force_consistency_checks=true";

const BASE_TABLE: &str =
    "format_version=5;block_size=1024;metadata_block_size=512;filter_policy=bloomfilter:10:false";

/// Partitioned index and filters.
const PARTITIONED: &str = "index_type=kTwoLevelIndexSearch;partition_filters=true";

impl Setup {
    const fn new(name: &'static str, family: &'static str, table: &'static str) -> Self {
        Self { name, db: "", family, table, since: Version::V7_8 }
    }

    const fn db(mut self, options: &'static str) -> Self {
        self.db = options;
        self
    }

    const fn since(mut self, version: Version) -> Self {
        self.since = version;
        self
    }

    /// Options of a family, those of its tables among them.
    pub fn family_options(&self) -> String {
        let family = last_of_each(&format!("{BASE_FAMILY};{}", self.family));
        let table = last_of_each(&format!("{BASE_TABLE};{}", self.table));
        format!("{family};block_based_table_factory={{{table}}}")
    }

    /// The same for Partita.
    pub fn our_family_options(&self) -> ColumnFamilyOptions {
        let mut options = ColumnFamilyOptions::default();
        // RocksDB's defaults where ours differ and nothing is said.
        options.table = partita::options::TableOptions::rocksdb_defaults();
        options.bottommost_compression = None;
        let table = format!("{BASE_TABLE};{}", self.table);
        for (name, value) in pairs(&table) {
            options.table.set(name, value).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        }
        let family = format!("{BASE_FAMILY};{}", self.family);
        for (name, value) in pairs(&family) {
            options.set(name, value).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        }
        options
    }

    /// The database's options for Partita, which creates it.
    pub fn our_db_options(&self) -> DbOptions {
        let mut options = DbOptions {
            create_if_missing: true,
            create_missing_column_families: true,
            ..DbOptions::default()
        };
        for (name, value) in pairs(self.db) {
            options.set(name, value).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        }
        options
    }

    /// Whether keys are ordered backward.
    pub fn is_reverse(&self) -> bool {
        self.family.contains("ReverseBytewise")
    }

    /// Whether operands are numbers that are added.
    pub fn adds_numbers(&self) -> bool {
        self.family.contains("UInt64Add")
    }
}

fn pairs(options: &str) -> impl Iterator<Item = (&str, &str)> {
    split_outside_braces(options).into_iter().map(|option| {
        let (name, value) = option.split_once('=').expect("options have values");
        (name.trim(), value.trim())
    })
}

/// All of them that `version` knows: first the shapes of trees, then those of tables.
pub fn setups(version: Version) -> Vec<Setup> {
    let mut all = trees();
    all.extend(tables());
    all.retain(|setup| setup.since <= version);
    all
}

/// Those whose names have what `PARTITA_COMPAT_ONLY` says in them.
pub fn selected(version: Version) -> Vec<Setup> {
    let only = std::env::var("PARTITA_COMPAT_ONLY").unwrap_or_default();
    setups(version).into_iter().filter(|setup| setup.name.contains(&only)).collect()
}

/// How many histories each setup gets: what `PARTITA_COMPAT_SEEDS` says.
pub fn seeds() -> u64 {
    let said = std::env::var("PARTITA_COMPAT_SEEDS").ok();
    said.map_or(1, |seeds| seeds.parse().expect("PARTITA_COMPAT_SEEDS is a number"))
}

fn trees() -> Vec<Setup> {
    vec![
        Setup::new("levels of fixed sizes", "level_compaction_dynamic_level_bytes=false", ""),
        Setup::new("levels of dynamic sizes", "level_compaction_dynamic_level_bytes=true", ""),
        Setup::new(
            "many small tables",
            "level_compaction_dynamic_level_bytes=false;num_levels=4;target_file_size_base=4096;max_bytes_for_level_base=16384",
            "",
        ),
        Setup::new("subcompactions", "level_compaction_dynamic_level_bytes=true", "")
            .db("max_subcompactions=4;max_background_jobs=6"),
        Setup::new(
            "oldest first",
            "compaction_pri=kOldestSmallestSeqFirst;target_file_size_multiplier=2",
            PARTITIONED,
        ),
        Setup::new("universal", "compaction_style=kCompactionStyleUniversal", ""),
        Setup::new(
            "universal on one level",
            "compaction_style=kCompactionStyleUniversal;num_levels=1",
            "",
        ),
        Setup::new(
            "universal with many runs",
            "compaction_style=kCompactionStyleUniversal;num_levels=12;level0_file_num_compaction_trigger=8;\
             compaction_options_universal={size_ratio=10;min_merge_width=3;max_merge_width=4;max_size_amplification_percent=400}",
            PARTITIONED,
        )
        .db("max_subcompactions=3;max_background_jobs=4"),
        Setup::new(
            "universal with trivial moves",
            "compaction_style=kCompactionStyleUniversal;num_levels=5;\
             compaction_options_universal={allow_trivial_move=true;stop_style=kCompactionStopStyleSimilarSize}",
            "",
        ),
        Setup::new(
            "first in, first out",
            "compaction_style=kCompactionStyleFIFO;compaction_options_fifo={max_table_files_size=1000000000;allow_compaction=true}",
            "",
        ),
        Setup::new("logs compressed", "", "").db("wal_compression=kZSTD"),
        Setup::new("logs recycled", "", "").db("recycle_log_file_num=3"),
        Setup::new("flushed together", "min_write_buffer_number_to_merge=2;max_write_buffer_number=5", "")
            .db("atomic_flush=true;avoid_flush_during_recovery=true"),
        Setup::new("small manifests", "", "").db("max_manifest_file_size=2000"),
        Setup::new("sums", "merge_operator=UInt64AddOperator", ""),
        Setup::new(
            "backward order",
            "comparator=rocksdb.ReverseBytewiseComparator",
            "index_type=kBinarySearchWithFirstKey",
        ),
    ]
}

fn tables() -> Vec<Setup> {
    let two = Setup::new(
        "format 2, legacy filters",
        "compression=kZlibCompression",
        "format_version=2;checksum=kCRC32c",
    );
    vec![
        two,
        Setup::new(
            "format 3",
            "compression=kSnappyCompression",
            "format_version=3;checksum=kxxHash",
        ),
        Setup::new(
            "format 4, partitioned",
            "compression=kNoCompression",
            "format_version=4;checksum=kxxHash64;index_type=kTwoLevelIndexSearch;partition_filters=true",
        ),
        Setup::new(
            "partitioned Ribbon filters, dictionaries",
            "compression=kZSTD;compression_opts={max_dict_bytes=4096;zstd_max_train_bytes=65536};\
             bottommost_compression=kLZ4HCCompression",
            "filter_policy=ribbonfilter:10:0;index_type=kTwoLevelIndexSearch;partition_filters=true;checksum=kXXH3",
        ),
        Setup::new(
            "prefixes",
            "prefix_extractor=rocksdb.FixedPrefix.6;compression_per_level=kNoCompression:kLZ4Compression:kZSTD",
            "whole_key_filtering=true",
        ),
        Setup::new(
            "prefixes only",
            "prefix_extractor=rocksdb.CappedPrefix.7;optimize_filters_for_hits=true",
            "whole_key_filtering=false;index_type=kTwoLevelIndexSearch;partition_filters=true",
        ),
        Setup::new(
            "hash index",
            "prefix_extractor=rocksdb.FixedPrefix.5",
            "index_type=kHashSearch;data_block_index_type=kDataBlockBinaryAndHash;index_shortening=kNoShortening",
        ),
        Setup::new(
            "large blocks, restarts at each key",
            "",
            "block_size=65536;block_restart_interval=1;index_block_restart_interval=8;checksum=kNoChecksum",
        ),
        Setup::new(
            "no filters, aligned blocks",
            "compression=kNoCompression",
            "filter_policy=nullptr;block_align=true;block_size=4096",
        ),
        Setup::new(
            "format 6",
            "compression=kZSTD",
            "format_version=6;index_type=kTwoLevelIndexSearch;partition_filters=true",
        )
        .since(Version::V11_8),
        Setup::new("format 7", "", "format_version=7;separate_key_value_in_data_block=true")
            .since(Version::V11_8),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setups_differ_in_name_and_options() {
        let all = setups(Version::V11_8);
        for (at, setup) in all.iter().enumerate() {
            for other in &all[..at] {
                assert_ne!(setup.name, other.name);
                let options = |setup: &Setup| (setup.db, setup.family_options());
                assert_ne!(options(setup), options(other), "{}", setup.name);
            }
        }
    }
}
