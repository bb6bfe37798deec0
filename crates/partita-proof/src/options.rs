//! Option sets, drawn from a seed: what shapes trees, tables, logs and memory, in the strings that RocksDB reads as well.

use std::fmt;

use fastrand::Rng;
use partita::options::{ColumnFamilyOptions, DbOptions, TableOptions};

use crate::state::Order;

/// Values that an option may have; where there is none, the option is not given.
type Choice = (&'static str, &'static [&'static str]);

/// Who has to read a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Readers {
    /// Partita and RocksDB 7.8 and later.
    Rocks78,
    /// Partita and RocksDB 11.
    Rocks11,
}

/// What the sets have in common that one database is opened with in turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common {
    /// The order of keys.
    pub order: Order,
    /// Whether compaction is universal; else it is by levels.
    pub is_universal: bool,
    /// Who has to read them.
    pub readers: Readers,
}

/// Options that make trees of several levels out of a few hundred rows.
const BASE_FAMILY: &[(&str, &str)] = &[
    ("merge_operator", "StringAppendOperator"),
    ("force_consistency_checks", "true"),
    ("paranoid_file_checks", "true"),
];

const FAMILY: &[Choice] = &[
    ("write_buffer_size", &["65536", "65536", "131072", "1048576"]),
    ("max_write_buffer_number", &["3", "5"]),
    ("min_write_buffer_number_to_merge", &["1", "1", "2"]),
    ("level0_file_num_compaction_trigger", &["2", "2", "4"]),
    ("target_file_size_base", &["2048", "8192", "32768"]),
    ("target_file_size_multiplier", &["1", "2"]),
    ("max_bytes_for_level_base", &["8192", "32768", "131072"]),
    ("max_bytes_for_level_multiplier", &["2", "4", "10"]),
    ("level_compaction_dynamic_level_bytes", &["false", "true"]),
    (
        "compaction_pri",
        &[
            "kMinOverlappingRatio",
            "kByCompensatedSize",
            "kOldestSmallestSeqFirst",
            "kOldestLargestSeqFirst",
        ],
    ),
    ("compression", &["kNoCompression", "kLZ4Compression", "kZSTD", "kSnappyCompression"]),
    ("bottommost_compression", &["kDisableCompressionOption", "kZSTD"]),
    ("optimize_filters_for_hits", &["false", "false", "true"]),
    ("memtable_prefix_bloom_size_ratio", &["0", "0.1"]),
    ("memtable_whole_key_filtering", &["false", "true"]),
    ("max_compaction_bytes", &["0", "40000"]),
    ("max_successive_merges", &["0", "3"]),
];

/// Prefixes, which are of keys that go forward.
const PREFIXES: &[&str] =
    &["nullptr", "nullptr", "rocksdb.FixedPrefix.5", "rocksdb.CappedPrefix.6"];

const TABLE: &[Choice] = &[
    ("format_version", &["5", "5", "4", "3", "2"]),
    ("block_size", &["256", "1024", "4096", "65536"]),
    ("block_restart_interval", &["16", "1", "4"]),
    ("index_block_restart_interval", &["1", "4"]),
    ("metadata_block_size", &["128", "512", "4096"]),
    ("data_block_index_type", &["kDataBlockBinarySearch", "kDataBlockBinaryAndHash"]),
    (
        "index_shortening",
        &["kShortenSeparators", "kNoShortening", "kShortenSeparatorsAndSuccessor"],
    ),
    ("checksum", &["kXXH3", "kCRC32c", "kxxHash64"]),
    (
        "filter_policy",
        &["bloomfilter:10:false", "ribbonfilter:10:0", "bloomfilter:4:false", "nullptr"],
    ),
    ("enable_index_compression", &["true", "false"]),
];

/// Index and filter: partitions need an index of two levels.
const LAYOUT: &[&[(&str, &str)]] = &[
    &[("index_type", "kBinarySearch")],
    &[("index_type", "kBinarySearchWithFirstKey")],
    &[("index_type", "kTwoLevelIndexSearch")],
    &[("index_type", "kTwoLevelIndexSearch"), ("partition_filters", "true")],
    &[("index_type", "kTwoLevelIndexSearch"), ("partition_filters", "true")],
];

const DB: &[Choice] = &[
    ("max_background_jobs", &["2", "4"]),
    ("max_subcompactions", &["1", "3"]),
    ("wal_compression", &["kNoCompression", "kNoCompression", "kZSTD"]),
    ("recycle_log_file_num", &["0", "0", "2"]),
    ("avoid_flush_during_recovery", &["false", "true"]),
    ("max_manifest_file_size", &["1073741824", "4000"]),
    ("max_total_wal_size", &["0", "200000"]),
    ("max_open_files", &["-1", "20"]),
    ("enable_pipelined_write", &["false", "true"]),
    ("allow_concurrent_memtable_write", &["true", "false"]),
];

/// Bytes of the one budget.
const BUDGETS: &[usize] = &[1 << 20, 1 << 20, 4 << 20, 64 << 20, 1 << 30];

/// One set of options.
#[derive(Clone, PartialEq, Eq)]
pub struct OptionSet {
    db: Vec<(&'static str, &'static str)>,
    family: Vec<(&'static str, &'static str)>,
    table: Vec<(&'static str, &'static str)>,
    /// Bytes of the budget.
    pub budget_bytes: usize,
}

impl OptionSet {
    /// The set of this seed.
    pub fn draw(seed: u64, common: Common) -> Self {
        let Common { order, is_universal, readers } = common;
        let mut random = Rng::with_seed(seed ^ 0x6f70_7469_6f6e_7321);
        let mut draw = |choices: &[Choice]| -> Vec<(&'static str, &'static str)> {
            let value = |random: &mut Rng, values: &'static [&'static str]| {
                values[random.usize(..values.len())]
            };
            choices.iter().map(|(name, values)| (*name, value(&mut random, values))).collect()
        };
        let (mut db, mut family, mut table) = (draw(DB), draw(FAMILY), draw(TABLE));
        family.push((
            "compaction_style",
            if is_universal { "kCompactionStyleUniversal" } else { "kCompactionStyleLevel" },
        ));
        if order == Order::Reverse {
            family.push(("comparator", "rocksdb.ReverseBytewiseComparator"));
        } else {
            let prefix = PREFIXES[random.usize(..PREFIXES.len())];
            family.push(("prefix_extractor", prefix));
            if prefix != "nullptr" {
                table.push(("whole_key_filtering", ["true", "false"][random.usize(..2)]));
            }
        }
        if readers == Readers::Rocks11 && random.bool() {
            table.retain(|(name, _)| *name != "format_version");
            table.push(("format_version", ["6", "7"][random.usize(..2)]));
        }
        // Each of these can be had without the other.
        if db.contains(&("recycle_log_file_num", "2")) {
            db.retain(|(name, _)| *name != "wal_compression");
        }
        family.extend(BASE_FAMILY);
        table.extend(LAYOUT[random.usize(..LAYOUT.len())]);
        Self { db, family, table, budget_bytes: BUDGETS[random.usize(..BUDGETS.len())] }
    }

    /// The same with another value of an option of its families.
    #[must_use]
    pub fn with_family(mut self, name: &'static str, value: &'static str) -> Self {
        self.family.retain(|(other, _)| *other != name);
        self.family.push((name, value));
        self
    }

    /// The same with another value of an option of the database.
    #[must_use]
    pub fn with_db(mut self, name: &'static str, value: &'static str) -> Self {
        self.db.retain(|(other, _)| *other != name);
        self.db.push((name, value));
        self
    }

    /// The database's options for Partita, which may create what is missing.
    pub fn db_options(&self) -> DbOptions {
        let mut options = DbOptions {
            create_if_missing: true,
            create_missing_column_families: true,
            ..DbOptions::default()
        };
        for (name, value) in &self.db {
            options.set(name, value).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        options
    }

    /// The options of each family for Partita.
    pub fn family_options(&self) -> ColumnFamilyOptions {
        let mut options = ColumnFamilyOptions {
            table: TableOptions::rocksdb_defaults(),
            ..ColumnFamilyOptions::default()
        };
        for (name, value) in &self.table {
            options.table.set(name, value).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        for (name, value) in &self.family {
            options.set(name, value).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        options
    }

    /// Whether files of logs are used again.
    pub fn recycles_logs(&self) -> bool {
        self.db.contains(&("recycle_log_file_num", "2"))
    }

    /// The database's options as RocksDB's option string.
    pub fn db_string(&self) -> String {
        joined(&self.db)
    }

    /// The options of each family as RocksDB's option string.
    pub fn family_string(&self) -> String {
        format!("{};block_based_table_factory={{{}}}", joined(&self.family), joined(&self.table))
    }
}

fn joined(options: &[(&str, &str)]) -> String {
    let options: Vec<String> =
        options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    options.join(";")
}

impl fmt::Debug for OptionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{};{};budget={}", self.db_string(), self.family_string(), self.budget_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use partita::db::{DbBuilder, FamilyConfig};
    use partita::io::MemoryFileSystem;

    use super::*;

    #[test]
    fn sets_differ_and_make_sense_together() {
        let mut seen = BTreeSet::new();
        for seed in 0..100 {
            let order = [Order::Forward, Order::Reverse][seed as usize % 2];
            let is_universal = seed % 3 == 0;
            let common = Common { order, is_universal, readers: Readers::Rocks11 };
            let set = OptionSet::draw(seed, common);
            let family =
                FamilyConfig { options: Some(set.family_options()), ..FamilyConfig::default() };
            let builder = DbBuilder::new("/db").file_system(Arc::new(MemoryFileSystem::new()));
            let opened = builder.options(set.db_options()).family("default", family).open();
            opened.unwrap_or_else(|error| panic!("{seed}: {error}, {set:?}"));
            seen.insert(format!("{set:?}"));
        }
        assert_eq!(seen.len(), 100);
    }
}
