//! A database: a directory of tables, logs and a manifest, as RocksDB makes them.
//!
//! ```text
//! DbBuilder ---> Db ---> get              get.rs        memtables, then the tables that may hold the key
//!                    |-> iter             iterator.rs   source.rs merges memtables, tables and levels
//!                    |-> put, write       write.rs      commit.rs: log, memtables, then readers see it
//!                    \-> flush            flush.rs      level0.rs: frozen memtables become a table
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `builder.rs`, `open.rs`, `open_beside.rs`, `open_write.rs`, `identity.rs` | how a database is opened |
//! | `follow/` | a database that is read while another process writes it, again and again |
//! | `settings.rs`, `missing_operator.rs` | with which options, and what there is to tell of them |
//! | `jobs.rs` | work in the background, which closing waits for |
//! | `writer.rs`, `commit.rs`, `write.rs` | what writing needs; the way of a batch |
//! | `log.rs`, `archive.rs`, `flush_wal.rs`, `log_stats.rs`, `file_front.rs` | logs in use, recycled and kept |
//! | `memtables.rs`, `flush.rs`, `level0.rs`, `install.rs` | memtables frozen and flushed; readers change over |
//! | `pressure.rs`, `stall.rs`, `memory.rs`, `progress.rs` | writers slowed down by what they leave behind |
//! | `background_error.rs`, `resume.rs` | what stops writes, and how they go on |
//! | `compact.rs`, `compact_range.rs`, `delete_files.rs` | tables merged, in the background and by hand; dropped by range |
//! | `column_families.rs`, `snapshot.rs` | families created and dropped; moments kept |
//! | `holders.rs` | who keeps old states alive, and what that costs |
//! | `housekeeping.rs`, `close.rs` | options files, files that nobody needs; the end |
//! | `checkpoint.rs`, `new_dir.rs` | the database at one moment, as a directory of its own |
//! | `ingest/`, `incoming.rs`, `under_way.rs` | tables of others taken in, above all that is there and will be |
//! | `export.rs` | one family as a directory of its own, and back |
//! | `updates/` | what was written since a number, from logs in use and kept |
//! | `repair/` | what is left of a damaged directory, in a new one |
//! | `tick.rs` | what happens without a write |
//! | `counters.rs`, `stats.rs`, `estimates.rs` | what is counted; figures as values |
//! | `properties.rs`, `property_text.rs` | the same under RocksDB's names |
//! | `recover.rs`, `settle.rs`, `apply.rs` | from logs and batches to memtables |
//! | `family.rs`, `read_view.rs` | what a column family has in memory |
//! | `read.rs`, `read_options.rs`, `value.rs` | what reads are asked with, and what they give |
//! | `get.rs`, `multi_get.rs`, `floor.rs` | lookups of keys, of many, and of those next to one |
//! | `iterator.rs`, `source.rs`, `scope.rs`, `level_run.rs`, `file_iter.rs` | walks |

mod apply;
mod archive;
mod background_error;
mod builder;
mod checkpoint;
#[cfg(test)]
mod checkpoint_tests;
#[cfg(test)]
mod churn_testing;
mod close;
mod column_families;
mod commit;
mod compact;
mod compact_range;
#[cfg(test)]
mod compact_tests;
#[cfg(test)]
mod compaction_crash_tests;
#[cfg(test)]
mod compaction_fault_tests;
#[cfg(test)]
mod concurrency_tests;
mod counters;
#[cfg(test)]
mod crash_tests;
mod delete_files;
#[cfg(test)]
mod delete_files_tests;
#[cfg(test)]
mod direct_reads_tests;
mod estimates;
mod export;
#[cfg(test)]
mod export_tests;
mod family;
mod file_front;
mod file_iter;
mod floor;
mod flush;
mod flush_wal;
mod follow;
mod get;
mod holders;
#[cfg(test)]
mod holders_tests;
mod housekeeping;
mod identity;
mod incoming;
mod ingest;
mod install;
mod iterator;
mod jobs;
mod level0;
mod level_run;
mod log;
mod log_stats;
mod memory;
mod memtables;
mod missing_operator;
#[cfg(test)]
mod model_tests;
mod multi_get;
mod new_dir;
mod open;
mod open_beside;
#[cfg(test)]
mod open_beside_tests;
mod open_write;
#[cfg(test)]
mod prefix_tests;
mod pressure;
mod progress;
mod properties;
mod property_text;
mod read;
#[cfg(test)]
mod read_model_tests;
mod read_options;
#[cfg(test)]
mod read_tests;
mod read_view;
mod recover;
mod repair;
#[cfg(test)]
mod report_tests;
mod resume;
#[cfg(test)]
mod resume_tests;
mod scope;
mod settings;
#[cfg(test)]
mod settings_tests;
mod settle;
#[cfg(test)]
mod skip_tests;
mod snapshot;
mod source;
mod stall;
#[cfg(test)]
mod stall_tests;
mod stats;
#[cfg(test)]
mod stats_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tick;
#[cfg(test)]
mod time_tests;
mod under_way;
mod updates;
mod value;
mod write;
#[cfg(test)]
mod write_tests;
mod writer;

pub use background_error::{BackgroundError, BackgroundWork};
pub use builder::DbBuilder;
pub use checkpoint::CheckpointOptions;
pub use compact_range::{BottommostLevel, CompactRangeOptions};
pub use counters::SkipCounts;
pub use estimates::TableSums;
pub use export::{FamilyExport, ImportOptions};
pub use family::{ColumnFamily, FamilyConfig};
pub use floor::{KeyRange, KeyValue};
pub use holders::{Holder, HolderKind, Pinned};
pub use incoming::FileTransfer;
pub use ingest::{IngestOptions, IngestedFile};
pub use iterator::{DbIterator, IterOptions};
pub use log_stats::{LogHolder, LogStats};
pub use new_dir::NewDir;
pub use pressure::StallCause;
pub use read::Presence;
pub use read_options::{ReadOptions, ReadTier};
pub use recover::LostLogBytes;
pub use repair::{
    KeptTable, Lost, RepairBasis, RepairOptions, RepairReport, RepairWatch, RepairedFamily,
    RepairedLog, SalvagedTable, UnusedTable,
};
pub use snapshot::Snapshot;
pub use stall::{StallCount, StallStats};
pub use stats::{
    DbStats, FamilyStats, HolderStats, LevelCounters, LevelStats, MemTablesStats, MemTablesSum,
    SnapshotStats, WriteStats,
};
pub use updates::Updates;
pub use value::PinnedValue;
pub use write::WriteOptions;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Weak};

use close::Opened;
use counters::DbCounters;
use follow::Follower;
use holders::Holders;
use memory::Sharers;
use snapshot::SnapshotList;
use writer::Writer;

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::io::FileSystem;
use crate::key::SeqNo;
use crate::options::DbOptions;
use crate::options::file::Finding;
use crate::util::sync::ArcSwap;
use crate::version::{OpenTables, VersionSet};

/// An open database. Cheap to clone; all clones are the same database, and any number of threads may use it at once.
///
/// It is closed when the last clone goes; [`Db::close`] does it sooner, and says whether that went well.
#[derive(Clone)]
pub struct Db(Arc<Opened>);

struct DbInner {
    versions: VersionSet,
    options: DbOptions,
    cache: Cache,
    families: ArcSwap<BTreeMap<u32, ColumnFamily>>,
    option_findings: Vec<Finding>,
    /// The family that is always there.
    default_family: ColumnFamily,
    counters: DbCounters,
    /// When it was opened, by the builder's clock.
    opened_nanos: u64,
    lost_log_bytes: Vec<LostLogBytes>,
    fs: Arc<dyn FileSystem>,
    /// How it was opened, for families that are created later.
    builder: DbBuilder,
    open_tables: Arc<OpenTables>,
    snapshots: Arc<SnapshotList>,
    /// Who walks over it, and who holds a snapshot.
    holders: Arc<Holders>,
    /// The databases that share the cache.
    sharers: Arc<Sharers>,
    /// `None` unless it follows another process.
    follower: Option<Follower>,
    /// `None`: opened to be read.
    writer: Option<Writer>,
    /// Itself, for background jobs.
    this: Weak<DbInner>,
}

impl Db {
    /// The column family that every database has.
    pub fn default_family(&self) -> ColumnFamily {
        self.inner().default_family.clone()
    }

    /// The column family of this name.
    pub fn family(&self, name: &str) -> Result<ColumnFamily> {
        let families = self.inner().families.load();
        let found = families.values().find(|family| family.name() == name);
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = families.values().map(ColumnFamily::name).collect();
            Error::invalid_argument(format!("no column family {name:?}; there are {names:?}"))
                .in_file(self.dir())
        })
    }

    /// All column families, by number.
    pub fn families(&self) -> Vec<ColumnFamily> {
        self.inner().families.load().values().cloned().collect()
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        self.inner().versions.dir()
    }

    /// The options that it was opened with.
    pub fn options(&self) -> &DbOptions {
        &self.inner().options
    }

    /// The budget that its memory is charged to.
    pub fn cache(&self) -> &Cache {
        &self.inner().cache
    }

    /// The budget that what finds data in tables is charged to, if it has one of its own ([`DbBuilder::metadata_cache`]).
    pub fn metadata_cache(&self) -> Option<&Cache> {
        self.inner().builder.metadata_cache.as_ref()
    }

    /// Bytes of logs that recovery did not use, as the recovery mode allows.
    pub fn lost_log_bytes(&self) -> &[LostLogBytes] {
        &self.inner().lost_log_bytes
    }

    /// The sequence number of the last write that readers see.
    pub fn visible_seqno(&self) -> SeqNo {
        self.inner().versions.last_sequence()
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Db")
            .field("dir", &self.dir())
            .field("families", &self.families())
            .finish_non_exhaustive()
    }
}
