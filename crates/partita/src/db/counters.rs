//! What a database counts while it works. Owners of the work add; [`Db::stats`](super::Db::stats) reads.
//!
//! * What readers passed over is added by lookups that passed over something, by walks with their seeks and at their end.
//! * Counters that every write touches are one relaxed addition a batch or a group, never one a key.
//! * What flushes and compactions come to is added once a job, under a lock that nothing else waits for.

use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};

use super::stats::LevelCounters;
use crate::memtable::MemTable;
use crate::table::ReadContext;
use crate::util::sync::{Mutex, lock};

/// Counters of a database, since it was opened. In cache lines of their own: what readers look at must not move with them.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct DbCounters {
    /// Batches that were inserted into memtables, and the bytes of their records.
    pub(super) batches: AtomicU64,
    pub(super) batch_bytes: AtomicU64,
    /// Groups whose sequence numbers were published, and how many numbers.
    pub(super) groups: AtomicU64,
    pub(super) keys: AtomicU64,
    /// Records written to logs, the bytes of their batches, and how many had to survive a power cut.
    pub(super) log_records: AtomicU64,
    pub(super) log_bytes: AtomicU64,
    pub(super) log_syncs: AtomicU64,
}

/// Counters of a column family, since it was opened.
#[derive(Debug, Default)]
pub(super) struct FamilyCounters {
    /// Views that readers were given.
    views: AtomicU64,
    /// What walks and lookups of neighbours passed over.
    entries_skipped: AtomicU64,
    tombstones_skipped: AtomicU64,
    stretches_skipped: AtomicU64,
    /// By the level that was written to.
    levels: Mutex<Vec<LevelCounters>>,
    /// Flushed memtables that somebody may still read.
    retired: Mutex<Vec<Weak<MemTable>>>,
}

/// Entries that readers looked at on the way to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkipCounts {
    /// Older or newer than the one that counted, deletions, and what was deleted.
    pub entries: u64,
    /// Deletions among them, and entries that range tombstones hid.
    pub tombstones: u64,
    /// Stretches that range tombstones cover and a source was sought over: entries and blocks in them were not looked at.
    pub stretches: u64,
}

impl SkipCounts {
    /// What a lookup has counted.
    pub(super) fn of(ctx: &ReadContext) -> Self {
        Self {
            entries: ctx.entries_skipped,
            tombstones: ctx.tombstones_skipped,
            stretches: ctx.stretches_skipped,
        }
    }

    /// What came since `earlier`.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            entries: self.entries.saturating_sub(earlier.entries),
            tombstones: self.tombstones.saturating_sub(earlier.tombstones),
            stretches: self.stretches.saturating_sub(earlier.stretches),
        }
    }
}

/// Adds to a counter that nobody orders anything by.
pub(super) fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

impl FamilyCounters {
    pub(super) fn count_view(&self) {
        add(&self.views, 1);
    }

    /// Adds what a reader passed over. Who passed over nothing touches no memory that others share.
    pub(super) fn count_skipped(&self, skipped: SkipCounts) {
        if skipped != SkipCounts::default() {
            add(&self.entries_skipped, skipped.entries);
            add(&self.tombstones_skipped, skipped.tombstones);
            add(&self.stretches_skipped, skipped.stretches);
        }
    }

    pub(super) fn skipped(&self) -> SkipCounts {
        SkipCounts {
            entries: self.entries_skipped.load(Ordering::Relaxed),
            tombstones: self.tombstones_skipped.load(Ordering::Relaxed),
            stretches: self.stretches_skipped.load(Ordering::Relaxed),
        }
    }

    pub(super) fn views(&self) -> u64 {
        self.views.load(Ordering::Relaxed)
    }

    /// Adds what a flush or a compaction came to that wrote to `level`.
    pub(super) fn add_to_level(&self, level: usize, counters: &LevelCounters) {
        let mut levels = lock(&self.levels);
        if levels.len() <= level {
            levels.resize(level + 1, LevelCounters::default());
        }
        if let Some(sum) = levels.get_mut(level) {
            *sum += *counters;
        }
    }

    /// What work that wrote to `level` came to.
    pub(super) fn level(&self, level: usize) -> LevelCounters {
        lock(&self.levels).get(level).copied().unwrap_or_default()
    }

    /// Notes memtables that readers of new views do not see any more.
    pub(super) fn retire(&self, memtables: impl Iterator<Item = Weak<MemTable>>) {
        let mut retired = lock(&self.retired);
        retired.retain(|memtable| memtable.strong_count() > 0);
        retired.extend(memtables);
    }

    /// How many of those are still held, and their bytes.
    pub(super) fn retired(&self) -> (u64, u64) {
        let retired = lock(&self.retired);
        let held = retired.iter().filter_map(Weak::upgrade);
        held.fold((0, 0), |(count, bytes), memtable| {
            (count + 1, bytes + memtable.memory_bytes() as u64)
        })
    }
}
