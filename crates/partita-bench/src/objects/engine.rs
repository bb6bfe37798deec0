//! What the benchmark asks of an engine.

use std::any::Any;
use std::path::Path;
use std::time::Duration;

use partita_store::Store;
use serde::{Deserialize, Serialize};

use super::contents::Contents;
use super::target::Target;
use crate::layout::Layout;
use crate::lookups::PerRole;

/// How a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// How index and filter are stored.
    pub layout: Layout,
    /// Bytes of memory for all tables together.
    pub budget_bytes: u64,
}

/// The engines that take part.
pub trait Engines: Sync {
    /// Opens the store in a directory, and makes it if it is not there.
    fn open(&self, engine: &str, dir: &Path, opening: &Opening) -> Result<Box<dyn Engine>, String>;

    /// Shows a store of Partita's to whoever looks on, as long as what is returned lives.
    fn show(&self, _: &Store) -> Box<dyn Any> {
        Box::new(())
    }

    /// Tells whoever looks on what a round took.
    fn tell_round(&self, _: Duration) {}

    /// What is in a store whose load is done, if it is to be compared with that of others.
    fn contents(&self, _dir: &Path) -> Result<Option<Contents>, String> {
        Ok(None)
    }
}

/// A store that is loaded, and tells what that took.
pub trait Engine: Target {
    /// All figures at this moment.
    fn figures(&self) -> Figures;

    /// The store, if it is Partita's.
    fn store(&self) -> Option<&Store> {
        None
    }

    /// Writes all tables anew, and waits until that is done.
    fn compact(&mut self) -> Result<(), String>;

    /// Writes everything into tables, waits until no compaction is due, and ends all writing.
    fn settle(&mut self) -> Result<(), String>;
}

/// What an engine tells. Sums are of all families, and begin when the store is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Blocks that reads found in the cache.
    pub hits: PerRole<u64>,
    /// Blocks that reads took from files.
    pub reads: PerRole<u64>,
    /// Bytes that were put into the cache.
    pub inserted_bytes: PerRole<u64>,
    /// Bytes that are charged to the budget, without memtables.
    pub cached_bytes: PerRole<u64>,
    /// Bytes of memtables.
    pub memtable_bytes: u64,
    /// Bytes that compactions have to write until the levels have their sizes.
    pub debt_bytes: u64,
    /// Bytes of tables.
    pub table_bytes: u64,
    /// Bytes of changes, as batches hold them.
    pub batch_bytes: u64,
    /// Bytes of tables that flushes and compactions wrote.
    pub written_bytes: u64,
    /// Microseconds that writers were made to wait.
    pub stall_micros: u64,
}
