//! What LOG files tell.

use std::collections::BTreeMap;

use serde::Serialize;

/// What LOG files tell.
#[derive(Clone, Debug, Default)]
pub struct InfoLog {
    /// How many there are.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that were read: of long logs the end is.
    pub bytes_read: u64,
    /// The release that wrote the newest.
    pub rocksdb_version: Option<String>,
    /// What each family was opened with the last time.
    pub families: Vec<LoggedFamily>,
    /// Stalls and stops by their cause.
    pub stalls: Vec<Stall>,
    /// Statistics as they were printed last, if they are collected.
    pub tickers: BTreeMap<String, u64>,
    /// Lines that say that something went wrong, counted by their kind.
    pub errors: Vec<LoggedError>,
}

impl InfoLog {
    /// A counter of the statistics, without the `rocksdb.` before it.
    pub fn ticker(&self, name: &str) -> Option<u64> {
        self.tickers.get(name).copied()
    }

    /// What a family was opened with.
    pub fn family(&self, name: &str) -> Option<&LoggedFamily> {
        self.families.iter().find(|family| family.name == name)
    }
}

/// What LOG says that a family was opened with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedFamily {
    /// The family's name.
    pub name: String,
    /// Its settings of tables, by name: `cache_index_and_filter_blocks` is `1`.
    pub table: Vec<(String, String)>,
    /// The address of its cache: families with the same one share it.
    pub cache_address: Option<String>,
    /// The class of its cache: `LRUCache`.
    pub cache_name: Option<String>,
    /// The cache's capacity.
    pub cache_bytes: Option<u64>,
    /// Its number of shards, as a power of 2.
    pub cache_shard_bits: Option<u32>,
}

impl LoggedFamily {
    /// A setting of tables.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.table.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }
}

/// A kind of stall in LOG.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stall {
    /// The family, if the line names one.
    pub family: String,
    /// Whether writes stopped; otherwise they were slowed down.
    pub stopped: bool,
    /// Why: what had grown too large.
    pub cause: StallCause,
    /// How often.
    pub count: u64,
    /// One of the lines.
    pub example: String,
}

/// Why writes were held up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallCause {
    /// Memtables waited for their flush.
    Memtables,
    /// Tables gathered on level 0.
    Level0,
    /// Compactions had too much left to do.
    PendingCompaction,
}

/// A kind of trouble in LOG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedError {
    /// The kind, in words.
    pub kind: &'static str,
    /// How often.
    pub count: u64,
    /// One of the lines.
    pub example: String,
}
