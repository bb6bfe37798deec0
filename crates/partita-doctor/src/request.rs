//! What is asked of the doctor, beside the directories.

use std::path::PathBuf;

use crate::cache::CacheKind;
use crate::simulate;

/// What the caller knows that no file says.
///
/// The default asks for everything that the directories themselves answer.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The capacity of the block cache. Without it LOG says, or else the default of the release counts.
    pub cache_bytes: Option<u64>,
    /// Its kind.
    pub cache_kind: Option<CacheKind>,
    /// Its number of shards, as a power of two.
    pub shard_bits: Option<u32>,
    /// What the user asked for: an options file, or a bookie's `bk_server.conf`. Held against what holds.
    pub options_file: Option<PathBuf>,
    /// The memory that metadata outside of the cache may have.
    pub memory_bytes: Option<u64>,
    /// By how much the data may grow: 2.0 is twice as much. Empty stands for two and four times.
    pub growth: Vec<f64>,
    /// Whether every block of every table is read and checked.
    pub verify: bool,
    /// The directories of tables, as `db_paths` has them; empty if they all stand in the database's.
    pub table_dirs: Vec<PathBuf>,
    /// Lookups that are to be played through caches of several sizes.
    pub simulate: Option<simulate::Asked>,
}
