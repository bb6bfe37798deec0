//! What the benchmark asks of an engine.

use std::any::Any;
use std::fmt;
use std::path::Path;

use partita::db::Db;
use serde::{Deserialize, Serialize};

use crate::layout::Layout;
use crate::lookups::{Engine, Key, Mix, PerRole, Session};

/// How tables are written. All else is as a bookie has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables {
    /// Index and filter.
    pub layout: Layout,
    /// Bytes of a data block.
    pub block_bytes: u32,
    /// Entries of an index block between two whole keys.
    pub index_restart_interval: u32,
}

/// A bookie's.
const BLOCK_BYTES: u64 = 64 << 10;
/// Of an index with many entries: smaller blocks have more of them.
const RESTART_INTERVAL: u32 = 16;

impl Tables {
    /// A bookie's tables have blocks of 64 KiB, and every key of the index is whole; where blocks are smaller, every 16th.
    ///
    /// * Errors: sizes of blocks below 512 bytes and above 16 MiB.
    pub fn with_blocks(layout: Layout, block_bytes: u64) -> Result<Self, String> {
        if !(512..=16 << 20).contains(&block_bytes) {
            return Err(format!("blocks of {block_bytes} bytes: 512 bytes to 16 MiB can be had"));
        }
        let index_restart_interval = if block_bytes < BLOCK_BYTES { RESTART_INTERVAL } else { 1 };
        Ok(Self { layout, block_bytes: block_bytes as u32, index_restart_interval })
    }
}

/// Whether lookups read through the system's cache of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadMode {
    /// They do: with files that fit into it, no lookup waits for a device.
    #[default]
    Buffered,
    /// They go past it, to the device.
    Direct,
}

impl fmt::Display for ReadMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Buffered => "buffered",
            Self::Direct => "direct",
        })
    }
}

/// How an index is opened to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The budget.
    pub budget_bytes: u64,
    /// How its tables are read.
    pub read_mode: ReadMode,
}

/// The engines that take part.
pub trait Engines: Sync {
    /// Makes an index in an empty directory.
    ///
    /// * `budget_bytes`: for blocks and memtables together.
    fn create(
        &self,
        engine: &str,
        dir: &Path,
        tables: Tables,
        budget_bytes: u64,
    ) -> Result<Box<dyn Loader>, String>;

    /// Opens an index to be read. The directory stays as it is.
    fn open(&self, engine: &str, dir: &Path, opening: Opening) -> Result<Box<dyn Index>, String>;

    /// Shows a database of Partita's to whoever looks on, as long as what is returned lives.
    fn show(&self, _: &Db) -> Box<dyn Any> {
        Box::new(())
    }
}

/// An index that is filled.
pub trait Loader {
    /// Writes entries as one batch, which survives a power cut when this returns.
    fn add(&self, entries: &[(Key, u64)]) -> Result<(), String>;

    /// Makes a table of what was written last.
    fn flush(&self) -> Result<(), String>;

    /// Waits until no compaction is due.
    fn settle(&self) -> Result<(), String>;

    /// Merges all tables into one sorted run, each written anew.
    fn compact(&self) -> Result<(), String>;

    /// The database, if it is Partita's.
    fn database(&self) -> Option<&Db> {
        None
    }

    /// Closes the index.
    fn close(self: Box<Self>) -> Result<(), String>;
}

/// An index that is read.
pub trait Index: Sync {
    /// A thread's way to ask for keys, or, with [`Mix::Last`], for last entries. It is made on the thread that uses it.
    fn session(&self, mix: Mix) -> Box<dyn Session + '_>;

    /// Bytes that are charged to the budget.
    fn charged(&self) -> PerRole<u64>;

    /// The database, if it is Partita's.
    fn database(&self) -> Option<&Db> {
        None
    }
}

/// An index that is asked in one way.
pub(super) struct Asked<'a> {
    pub(super) index: &'a dyn Index,
    pub(super) mix: Mix,
}

impl Engine for Asked<'_> {
    fn session(&self) -> Box<dyn Session + '_> {
        self.index.session(self.mix)
    }

    fn charged(&self) -> PerRole<u64> {
        self.index.charged()
    }
}
