//! Memory of memtables: a limit for those of a database, and one for those of all databases that share a cache.
//!
//! ```text
//! 0               1/2                            7/8      limit
//! |----------------|------------------------------|---------|
//!                  `- being written: the largest   `- writers are slowed down, and stop at the limit
//!                     are frozen and flushed, until
//!                     an eighth of the limit is
//! ```
//!
//! * The limits: `db_write_buffer_size`, and half of the cache's budget ([`CACHE_SHARE`]).
//! * The largest memtable goes first, whatever its own limit says, and whichever database it belongs to: 64 families that
//!   are far from their own limits must not fill the memory together.
//! * A database that nobody writes to is asked by those that want the memory: its commit queue is entered if it is empty,
//!   and if not, the one who leads it is told to look.
//! * Locks: that of the sharers is taken by who holds the front of a commit queue or nothing, never under `views`,
//!   `Stall::memory` or the log's lock; under it, those of any of the databases are taken, one after the other.
//! * What counts is what a flush can free: memtables in use. What readers hold of flushed ones is charged to the cache, and
//!   slows down nobody.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use super::pressure::{Pressed, Pressure, StallCause};
use super::{ColumnFamily, DbInner};
use crate::cache::Role;
use crate::error::Result;
use crate::util::sync::atomic::Ordering;
use crate::util::sync::{Mutex, lock};

/// Memtables get this part of the cache's budget.
pub(super) const CACHE_SHARE: usize = 2;

/// The databases that charge their memtables to a cache.
#[derive(Default)]
pub(super) struct Sharers(Mutex<Vec<Weak<DbInner>>>);

impl Sharers {
    pub(super) fn add(&self, db: &Arc<DbInner>) {
        lock(&self.0).push(Arc::downgrade(db));
    }

    /// From now on nobody gets hold of the database here, not even for a moment.
    pub(super) fn remove(&self, db: &DbInner) {
        lock(&self.0).retain(|other| other.strong_count() > 0 && !std::ptr::eq(other.as_ptr(), db));
    }

    /// Runs `work` on the databases that are open. They stay open meanwhile.
    fn with<T>(&self, work: impl FnOnce(&[Arc<DbInner>]) -> T) -> T {
        let sharers = lock(&self.0);
        let open: Vec<Arc<DbInner>> = sharers.iter().filter_map(Weak::upgrade).collect();
        let done = work(&open);
        drop(open);
        drop(sharers);
        done
    }
}

/// What was charged when memory was looked at last, and what came of it: it need not be looked at again before that changes
/// or a flush has ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MemorySeen {
    /// Flushes, of any database that shares the cache, that have ended.
    flushes: u64,
    pressed_at: Option<usize>,
    pressure: Pressure,
    made_at: Option<usize>,
}

/// Memtables of some databases.
#[derive(Default)]
struct Holdings<'d> {
    /// Those being written that have something in them, with their bytes.
    active: Vec<(usize, &'d DbInner, ColumnFamily)>,
    active_bytes: usize,
    frozen_bytes: usize,
}

impl<'d> Holdings<'d> {
    fn of(databases: impl IntoIterator<Item = &'d DbInner>) -> Self {
        let mut holdings = Self::default();
        for db in databases {
            for family in db.families.load().values() {
                let view = family.0.view.load();
                let frozen = view.frozen.iter().map(|memtable| memtable.memory_bytes());
                holdings.frozen_bytes += frozen.sum::<usize>();
                let bytes = view.memtable.memory_bytes();
                holdings.active_bytes += bytes;
                if !view.memtable.is_empty() {
                    holdings.active.push((bytes, db, family.clone()));
                }
            }
        }
        holdings
    }

    fn pressure(&self, limit: usize) -> Pressure {
        let bytes = self.active_bytes + self.frozen_bytes;
        Pressure::between(bytes as f64, limit as f64 * 0.875, limit as f64)
    }

    /// The memtables to be frozen: the largest, so that an eighth of the limit is on its way into tables.
    fn largest(mut self, limit: usize) -> Vec<(&'d DbInner, ColumnFamily)> {
        let mut on_its_way = self.frozen_bytes;
        if self.active_bytes < limit / 2 {
            return Vec::new();
        }
        self.active.sort_by_key(|(bytes, ..)| std::cmp::Reverse(*bytes));
        let largest = self.active.into_iter().take_while(|(bytes, ..)| {
            let enough = on_its_way >= limit / 8;
            on_its_way += bytes;
            !enough
        });
        // One that has no room has frozen ones that are being flushed.
        let largest = largest.filter(|(_, _, family)| family.0.has_room_to_freeze());
        largest.map(|(_, db, family)| (db, family)).collect()
    }
}

impl DbInner {
    /// What all memtables take, those that only readers hold included. Cheap.
    fn memory_charged(&self) -> usize {
        self.cache.reserved_bytes(Role::Memtable)
    }

    fn shared_limit(&self) -> usize {
        self.cache.budget_bytes() / CACHE_SHARE
    }

    fn own_limit(&self) -> Option<usize> {
        Some(self.options.db_write_buffer_size).filter(|limit| *limit > 0)
    }

    fn least_memory_limit(&self) -> usize {
        self.own_limit().unwrap_or(usize::MAX).min(self.shared_limit())
    }

    /// How hard the memtables press on the limits. Asked by leaders of the commit queue, who take the answer of last time
    /// while nothing has changed.
    pub(super) fn memory_pressed(&self) -> Pressed {
        let charged = self.memory_charged();
        let Ok(writer) = self.writing() else { return Pressed::NOT };
        if charged < self.least_memory_limit() / 2 {
            return Pressed::NOT;
        }
        let seen = *lock(&writer.stall.memory);
        if seen.pressed_at == Some(charged) {
            return Pressed::new(seen.pressure, StallCause::MemoryBudget);
        }
        let own =
            self.own_limit().map_or(Pressure::NONE, |limit| Holdings::of([self]).pressure(limit));
        let shared = self
            .sharers
            .with(|all| Holdings::of(all.iter().map(|db| &**db)).pressure(self.shared_limit()));
        let pressure = if own > shared { own } else { shared };
        let mut now = lock(&writer.stall.memory);
        // Not if a flush ended meanwhile: this may have been looked at before.
        if now.flushes == seen.flushes {
            (now.pressed_at, now.pressure) = (Some(charged), pressure);
        }
        Pressed::new(pressure, StallCause::MemoryBudget)
    }

    /// The families of this database whose memtables have to make room. Those of others are frozen at once, if that can be
    /// had without waiting. The caller leads this database's commit queue.
    pub(super) fn make_memory(&self) -> BTreeSet<u32> {
        let mut own = BTreeSet::new();
        let charged = self.memory_charged();
        if charged < self.least_memory_limit() / 2 {
            return own;
        }
        if self.writing().is_ok_and(|writer| {
            lock(&writer.stall.memory).made_at.replace(charged) == Some(charged)
        }) {
            return own;
        }
        if let Some(limit) = self.own_limit() {
            let largest = Holdings::of([self]).largest(limit);
            own.extend(largest.into_iter().map(|(_, family)| family.id()));
        }
        self.sharers.with(|all| {
            let largest = Holdings::of(all.iter().map(|db| &**db)).largest(self.shared_limit());
            for (db, family) in largest {
                if std::ptr::eq(db, self) {
                    own.insert(family.id());
                } else {
                    db.freeze_if_idle(family.id());
                }
            }
        });
        own
    }

    /// Freezes a memtable for the sake of another database, or has the one do so who leads the commit queue next.
    fn freeze_if_idle(&self, family: u32) {
        let Ok(writer) = self.writing() else { return };
        let freeze = || {
            writer.check().and_then(|()| {
                let ids = BTreeSet::from([family]);
                self.freeze(&ids, &ids)
            })
        };
        // If it fails, so will this database's next write, and say why.
        if writer.queue.try_exclusive(freeze).is_none() {
            writer.some_full.store(true, Ordering::Release);
        }
    }

    /// Whether a flush is under way, of this database or another, that will free memory. Lets the largest memtables be
    /// flushed if none is.
    pub(super) fn memory_will_be_freed(&self) -> Result<bool> {
        lock(&self.writing()?.stall.memory).made_at = None;
        let own = self.make_memory();
        if !own.is_empty() {
            self.freeze(&own, &own)?;
        }
        let flushes = |db: &Arc<Self>| {
            db.writing().is_ok_and(|writer| writer.check().is_ok() && writer.views().scheduled)
        };
        Ok(self.sharers.with(|all| all.iter().any(flushes)))
    }

    /// Runs a waiting job of a database that shares the cache, if their schedulers leave that to those who wait.
    pub(super) fn run_waiting_of_sharers(&self) -> bool {
        let schedulers: Vec<_> = self.sharers.with(|all| {
            let scheduler = |db: &Arc<Self>| Some(Arc::clone(&db.writer.as_ref()?.scheduler));
            all.iter().filter_map(scheduler).collect()
        });
        schedulers.iter().any(|scheduler| scheduler.run_waiting())
    }

    /// Memtables were flushed: who waits for memory looks again, in all databases that share it.
    pub(super) fn tell_sharers(&self) {
        self.sharers.with(|all| {
            for writer in all.iter().filter_map(|db| db.writer.as_ref()) {
                let mut seen = lock(&writer.stall.memory);
                *seen = MemorySeen { flushes: seen.flushes + 1, ..MemorySeen::default() };
                drop(seen);
                writer.tell();
            }
        });
    }
}
