//! Figures of a database: what it consists of, what it holds in memory, what it has done.
//!
//! ```text
//! DbStats ─┬─ families ─┬─ levels       files, bytes; work that wrote to the level
//!          │            └─ memtables    active, frozen, flushed and still held
//!          ├─ writes, stalls            since the database was opened
//!          ├─ cache                     by role and level; of all databases that share it
//!          └─ snapshots, holders, background work
//! ```
//!
//! Sums add up: what all levels have is what the family has, and so on; no figure is counted in two places. Nothing here
//! opens a table or reads a file ([`estimates.rs`](super::estimates) does).

use std::ops::AddAssign;

use super::{ColumnFamily, Db, Holder, Pinned, SkipCounts, StallStats};
use crate::cache::{Cache, CacheStats};
use crate::memtable::MemTable;
use crate::options::CompactionStyle;
use crate::util::sync::atomic::Ordering;
use crate::util::sync::lock;
use crate::version::Version;

/// All figures of a database at one moment.
///
/// ```
/// # use std::sync::Arc;
/// # use partita::db::DbBuilder;
/// # use partita::io::MemoryFileSystem;
/// # use partita::options::DbOptions;
/// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
/// # let disk = Arc::new(MemoryFileSystem::new());
/// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
/// db.put(b"apple", b"red")?;
/// let stats = db.stats();
/// assert_eq!((stats.writes.batches, stats.writes.keys), (1, 1));
/// assert_eq!(stats.families[0].memtables.active.entries, 1);
/// db.flush()?;
/// let level = &db.stats().families[0].levels[0];
/// assert_eq!((level.files, level.counters.flushes), (1, 1));
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DbStats {
    /// Column families, by number.
    pub families: Vec<FamilyStats>,
    /// What was written.
    pub writes: WriteStats,
    /// How writers waited, by cause.
    pub stalls: StallStats,
    /// The cache, by role and level. Databases that share a cache share these figures.
    pub cache: CacheStats,
    /// The cache of what finds data in tables, if it has one of its own.
    pub metadata_cache: Option<CacheStats>,
    /// Snapshots that are held.
    pub snapshots: SnapshotStats,
    /// Iterators and snapshots that live, and what cannot go for their sake.
    pub holders: HolderStats,
    /// The sequence number of the last write that readers see.
    pub last_seqno: u64,
    /// The first log that is needed.
    pub min_log_number_to_keep: u64,
    /// Failures of background work since the database was opened.
    pub background_errors: u64,
    /// Flushes under way.
    pub running_flushes: u64,
    /// Compactions under way.
    pub running_compactions: u64,
    /// Microseconds since the database was opened.
    pub uptime_micros: u64,
}

/// What was written to a database since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteStats {
    /// Write batches.
    pub batches: u64,
    /// Their changes.
    pub keys: u64,
    /// Bytes of these, as batches hold them.
    pub bytes: u64,
    /// Groups that the batches were committed in.
    pub groups: u64,
    /// Records in write-ahead logs.
    pub log_records: u64,
    /// Bytes of the batches in them.
    pub log_bytes: u64,
    /// Records that had to survive a power cut before their writers went on.
    pub log_syncs: u64,
}

/// Snapshots that are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotStats {
    /// How many.
    pub count: u64,
    /// Unix seconds when the oldest was taken; 0 without one.
    pub oldest_unix_seconds: u64,
    /// Its sequence number; 0 without one.
    pub oldest_seqno: u64,
}

/// Iterators and snapshots that live.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HolderStats {
    /// How many iterators.
    pub iterators: u64,
    /// How many snapshots.
    pub snapshots: u64,
    /// What all of them keep from going; what several hold is counted once.
    pub pinned: Pinned,
    /// Those that live longest, at most [`HolderStats::OLDEST_MAX`]; [`Db::holders`] has all.
    pub oldest: Vec<Holder>,
}

impl HolderStats {
    /// How many are named.
    pub const OLDEST_MAX: usize = 10;
}

/// Figures of a column family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FamilyStats {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its memtables.
    pub memtables: MemTablesStats,
    /// Its levels, 0 first.
    pub levels: Vec<LevelStats>,
    /// Sets of files that are in use, the newest among them.
    pub live_versions: u64,
    /// Bytes of all tables in them, each counted once.
    pub total_table_bytes: u64,
    /// Views that readers were given since the family was opened.
    pub views: u64,
    /// What walks and lookups of neighbours passed over since the family was opened. Where it grows much faster than they are
    /// made, they lead over stretches of deletions that are still to be compacted.
    pub skipped: SkipCounts,
    /// The level that level 0 is merged into; `None` unless compaction is levelled.
    pub base_level: Option<usize>,
    /// Bytes that compactions have to write until the levels have their sizes.
    pub pending_compaction_bytes: u64,
}

/// Memtables of a column family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemTablesStats {
    /// The one that is written.
    pub active: MemTablesSum,
    /// Those that wait to be flushed.
    pub frozen: MemTablesSum,
    /// How many were flushed and are still held by readers.
    pub retired_count: u64,
    /// Their bytes.
    pub retired_bytes: u64,
    /// Whether some wait to be flushed and nobody does it yet.
    pub is_flush_pending: bool,
}

/// Memtables, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemTablesSum {
    /// How many.
    pub count: u64,
    /// Bytes of memory.
    pub bytes: u64,
    /// Entries, range deletions included.
    pub entries: u64,
    /// Deletions of single keys among them.
    pub deletions: u64,
}

/// Tables of a level, and the work that wrote them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LevelStats {
    /// The level.
    pub level: usize,
    /// Tables.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Tables among them that compactions have reserved.
    pub files_being_compacted: u64,
    /// How urgently the level asks for a compaction; from 1 on it does.
    pub score: f64,
    /// Work that wrote to it, since the database was opened.
    pub counters: LevelCounters,
}

/// Work that wrote to a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelCounters {
    /// Flushes.
    pub flushes: u64,
    /// Compactions that merged tables.
    pub compactions: u64,
    /// Compactions that moved tables as they are.
    pub moves: u64,
    /// Tables that were ingested.
    pub ingested: u64,
    /// Their bytes, whether they were copied or linked.
    pub bytes_ingested: u64,
    /// Bytes read from levels above.
    pub bytes_read_above: u64,
    /// Bytes read from the level itself.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Bytes of tables that were moved.
    pub bytes_moved: u64,
    /// Entries read.
    pub entries_read: u64,
    /// Entries that were not written again.
    pub entries_dropped: u64,
    /// Microseconds.
    pub micros: u64,
}

impl LevelCounters {
    /// Bytes written for each byte that came from above, or was flushed; `None` if nothing came.
    pub fn write_amplification(&self) -> Option<f64> {
        let came = if self.flushes > 0 { self.bytes_written } else { self.bytes_read_above };
        (came > 0).then(|| self.bytes_written as f64 / came as f64)
    }
}

impl AddAssign for LevelCounters {
    fn add_assign(&mut self, other: Self) {
        self.flushes += other.flushes;
        self.compactions += other.compactions;
        self.moves += other.moves;
        self.ingested += other.ingested;
        self.bytes_ingested += other.bytes_ingested;
        self.bytes_read_above += other.bytes_read_above;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.bytes_moved += other.bytes_moved;
        self.entries_read += other.entries_read;
        self.entries_dropped += other.entries_dropped;
        self.micros += other.micros;
    }
}

impl MemTablesSum {
    fn add(&mut self, memtable: &MemTable) {
        let stats = memtable.stats();
        self.count += 1;
        self.bytes += memtable.memory_bytes() as u64;
        self.entries += stats.entries + stats.range_deletions;
        self.deletions += stats.deletions;
    }
}

impl FamilyStats {
    /// Tables on all levels.
    pub fn files(&self) -> u64 {
        self.levels.iter().map(|level| level.files).sum()
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.bytes).fold(0, u64::saturating_add)
    }

    /// Work on all levels.
    pub fn counters(&self) -> LevelCounters {
        let mut sum = LevelCounters::default();
        self.levels.iter().for_each(|level| sum += level.counters);
        sum
    }

    /// Sorted runs that compactions read: tables of level 0, and deeper levels.
    pub fn runs_being_compacted(&self) -> u64 {
        let runs = |level: &LevelStats| match level.level {
            0 => level.files_being_compacted,
            _ => level.files_being_compacted.min(1),
        };
        self.levels.iter().map(runs).sum()
    }

    /// Whether some level asks for a compaction.
    pub fn is_compaction_pending(&self) -> bool {
        self.levels.iter().any(|level| level.score >= 1.0)
    }
}

impl Db {
    /// All figures at this moment. Opens no table and reads no file.
    pub fn stats(&self) -> DbStats {
        let inner = self.inner();
        DbStats {
            families: self.families().iter().map(|family| self.family_stats(family)).collect(),
            writes: self.write_stats(),
            stalls: self.stall_stats(),
            cache: inner.cache.stats(),
            metadata_cache: self.metadata_cache().map(Cache::stats),
            snapshots: inner.snapshots.stats(),
            holders: self.holder_stats(),
            last_seqno: self.visible_seqno().get(),
            min_log_number_to_keep: inner.versions.min_log_number_to_keep().get(),
            background_errors: self.background_errors(),
            running_flushes: self.running_flushes(),
            running_compactions: self.running_compactions(),
            uptime_micros: self.uptime_micros(),
        }
    }

    /// The figures of a column family.
    pub fn family_stats(&self, family: &ColumnFamily) -> FamilyStats {
        let state = &family.0;
        let version = state.family.current();
        let picker = &state.picker;
        let scores = picker.scores(&version);
        let level = |(at, level): (usize, &std::sync::Arc<crate::version::Level>)| LevelStats {
            level: at,
            files: level.len() as u64,
            bytes: level.file_bytes(),
            files_being_compacted: level
                .files()
                .iter()
                .filter(|file| file.is_being_compacted())
                .count() as u64,
            score: scores.get(at).copied().unwrap_or(0.0),
            counters: state.counters.level(at),
        };
        let versions = self.inner().versions.versions_of(family.id());
        let is_levelled = state.options.compaction_style == CompactionStyle::Level;
        FamilyStats {
            id: family.id(),
            name: family.name().to_owned(),
            memtables: memtables_stats(family),
            levels: version.levels().iter().enumerate().map(level).collect(),
            live_versions: versions.len() as u64,
            total_table_bytes: table_bytes(versions.iter().map(|version| &**version)),
            views: state.counters.views(),
            skipped: state.counters.skipped(),
            base_level: is_levelled.then(|| picker.base_level(&version)),
            pending_compaction_bytes: picker.pending_bytes(&version),
        }
    }

    /// Failures of background work since the database was opened.
    pub(super) fn background_errors(&self) -> u64 {
        self.inner().writer.as_ref().map_or(0, |writer| writer.failure.count())
    }

    pub(super) fn running_flushes(&self) -> u64 {
        self.families().iter().map(|family| u64::from(is_flushing(family))).sum()
    }

    pub(super) fn running_compactions(&self) -> u64 {
        let writer = self.inner().writer.as_ref();
        writer.map_or(0, |writer| writer.compactions.running() as u64)
    }

    fn write_stats(&self) -> WriteStats {
        let counters = &self.inner().counters;
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        WriteStats {
            batches: load(&counters.batches),
            keys: load(&counters.keys),
            bytes: load(&counters.batch_bytes),
            groups: load(&counters.groups),
            log_records: load(&counters.log_records),
            log_bytes: load(&counters.log_bytes),
            log_syncs: load(&counters.log_syncs),
        }
    }

    pub(super) fn uptime_micros(&self) -> u64 {
        let inner = self.inner();
        inner.builder.clock.monotonic_nanos().saturating_sub(inner.opened_nanos) / 1000
    }
}

fn is_flushing(family: &ColumnFamily) -> bool {
    family.0.flushing.memtables.load(Ordering::Relaxed) > 0
}

fn memtables_stats(family: &ColumnFamily) -> MemTablesStats {
    let state = &family.0;
    let view = state.view.load();
    let mut stats = MemTablesStats::default();
    stats.active.add(&view.memtable);
    view.frozen.iter().for_each(|memtable| stats.frozen.add(memtable));
    (stats.retired_count, stats.retired_bytes) = state.counters.retired();
    stats.is_flush_pending = stats.frozen.count > 0 && !is_flushing(family);
    stats
}

/// Bytes of all tables in these versions, each counted once.
fn table_bytes<'v>(versions: impl Iterator<Item = &'v Version>) -> u64 {
    let mut tables: Vec<(u64, u64)> = versions
        .flat_map(|version| version.files().map(|(_, file)| (file.number.get(), file.file_bytes)))
        .collect();
    tables.sort_unstable();
    tables.dedup();
    tables.iter().map(|(_, bytes)| *bytes).fold(0, u64::saturating_add)
}

impl super::snapshot::SnapshotList {
    pub(super) fn stats(&self) -> SnapshotStats {
        let taken = lock(&self.taken);
        let oldest = taken.first_key_value();
        SnapshotStats {
            count: taken.values().map(|same| same.count as u64).sum(),
            // Clocks may go back: the first in order of writes is not always the first in time.
            oldest_unix_seconds: oldest.map_or(0, |(_, same)| same.unix_seconds),
            oldest_seqno: oldest.map_or(0, |(seqno, _)| seqno.get()),
        }
    }
}
