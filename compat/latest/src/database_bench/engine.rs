//! What the benchmark asks of an engine's database.

use std::path::Path;

use partita_bench::lookups::Key;

use crate::partita_database::PartitaDatabase;
use crate::rocks_database::RocksDatabase;

/// An engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// This one.
    Partita,
    /// RocksDB 11.8.1.
    RocksDb,
}

impl Engine {
    /// Both, in the order of the report's columns.
    pub const ALL: [Self; 2] = [Self::Partita, Self::RocksDb];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Partita => "partita",
            Self::RocksDb => "rocksdb",
        }
    }

    /// The engine of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// Opens a database, or creates it.
    pub fn open(self, dir: &Path, setup: &Setup) -> Result<Box<dyn Database>, String> {
        Ok(match self {
            Self::Partita => Box::new(PartitaDatabase::open(dir, setup)?),
            Self::RocksDb => Box::new(RocksDatabase::open(dir, setup)?),
        })
    }
}

/// Settings that both engines get. All others are equal, too: LZ4 on all levels, Bloom filters of 10 bits, format
/// version 5, XXH3, a full filter and one index block in each table, `max_background_jobs` 2, `max_subcompactions` 1,
/// `max_open_files` -1, files and levels of RocksDB's default sizes.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// All memory for blocks and memtables: Partita's budget; RocksDB's block cache and two write buffers.
    pub budget_bytes: usize,
    /// Bytes of a data block.
    pub block_bytes: usize,
    /// Bytes of a memtable.
    pub write_buffer_bytes: usize,
    /// Bytes of a table.
    pub file_bytes: u64,
    /// Whether compactions run by themselves. If not, no number of files in level 0 stops writes.
    pub auto_compactions: bool,
}

/// Write buffers that an engine has at most: RocksDB's default.
pub const WRITE_BUFFERS: usize = 2;

/// Records to write.
#[derive(Clone, Copy, Debug)]
pub struct Records<'r> {
    /// The keys.
    pub keys: &'r [Key],
    /// As many values, one after the other.
    pub values: &'r [u8],
    /// Bytes of each.
    pub value_len: usize,
}

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// As one batch, through the log.
    Batch,
    /// As one batch, past the log.
    BatchWithoutLog,
    /// Each by itself, through the log.
    Each,
}

/// What a walk over all rows saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// How many.
    pub count: u64,
    /// The sum of the last bytes of their keys and values.
    pub sum: u64,
}

/// An open database.
pub trait Database: Sync {
    /// Puts records. No write is synced.
    fn write(&self, records: Records<'_>, how: Writing) -> Result<(), String>;

    /// Looks up keys; returns how many are there.
    fn get(&self, keys: &[Key]) -> Result<u64, String>;

    /// Walks over all rows, from the last one if `reverse`.
    fn scan(&self, reverse: bool) -> Result<Rows, String>;

    /// Makes a table of what is in memory.
    fn flush(&self) -> Result<(), String>;

    /// Flushes, and waits until no compaction is due.
    fn settle(&self) -> Result<(), String>;

    /// Compacts everything by hand.
    fn compact(&self) -> Result<(), String>;
}
