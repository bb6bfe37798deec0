//! The record of each thread.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::domain::{Clock, IDLE, Published};
use super::garbage;
use crate::util::sync::thread_local;

/// The epoch of all caches of the process.
pub(super) static CLOCK: Clock = Clock(AtomicU64::new(IDLE + 1));

/// What a thread has.
#[derive(Debug)]
struct Record {
    published: Published,
    /// Guards that live; only the owner counts.
    depth: AtomicU32,
    id: usize,
}

/// Records in segments: 64, 128, 256, …; they stay for the life of the process.
const FIRST_SEGMENT: usize = 64;
static SEGMENTS: [OnceLock<Box<[Record]>>; 24] = [const { OnceLock::new() }; 24];

/// Records below this were used at some time.
static RECORDS_USED: AtomicUsize = AtomicUsize::new(0);

/// Ids of ended threads.
static FREE_IDS: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// The segment of a record and its place there.
fn place_of(id: usize) -> (usize, usize) {
    let segment = (id / FIRST_SEGMENT + 1).ilog2() as usize;
    (segment, id - FIRST_SEGMENT * ((1 << segment) - 1))
}

fn record(id: usize) -> &'static Record {
    let (segment, at) = place_of(id);
    let records = SEGMENTS[segment].get_or_init(|| {
        let first = FIRST_SEGMENT * ((1 << segment) - 1);
        let new = |at| Record {
            published: Published(AtomicU64::new(IDLE)),
            depth: AtomicU32::new(0),
            id: first + at,
        };
        (0..FIRST_SEGMENT << segment).map(new).collect()
    });
    &records[at]
}

/// All records that threads use or used.
pub(super) fn published() -> impl Iterator<Item = &'static Published> {
    // SeqCst: whoever took a record before it published is seen here, or publishes after this scan in the order that
    // `domain.rs` speaks of.
    let used = RECORDS_USED.load(Ordering::SeqCst);
    let segments = SEGMENTS.iter().map_while(OnceLock::get);
    segments.flat_map(|segment| segment.iter()).take(used).map(|record| &record.published)
}

/// A thread's ownership of its record.
struct Owned(&'static Record);

impl Owned {
    /// The free record with the lowest id.
    fn take() -> Self {
        let mut free = FREE_IDS.lock().unwrap_or_else(PoisonError::into_inner);
        let id = free.pop_first().unwrap_or_else(|| RECORDS_USED.load(Ordering::Relaxed));
        let record = record(id);
        RECORDS_USED.fetch_max(id + 1, Ordering::SeqCst);
        Self(record)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // A guard that was leaked protects for ever, and the record with it.
        if self.0.depth.load(Ordering::Relaxed) == 0 {
            FREE_IDS.lock().unwrap_or_else(PoisonError::into_inner).insert(self.0.id);
        }
    }
}

thread_local! {
    static OWNED: Owned = Owned::take();
}

/// The dense id of this thread; `None` while the thread ends and has given it back.
#[inline]
pub(in crate::cache) fn thread_id() -> Option<usize> {
    OWNED.try_with(|owned| owned.0.id).ok()
}

/// While it lives, what was reachable through the cache stays in memory.
///
/// It belongs to its thread and should live no longer than a lookup: what is evicted meanwhile stays in memory, of all caches.
#[derive(Debug)]
pub struct Guard {
    record: &'static Record,
    /// A record for this guard alone, while the thread ends.
    alone: bool,
    not_send: PhantomData<*mut ()>,
}

/// Protects what this thread finds from now on.
///
/// * Cost: one exclusive write of memory that no other thread writes; nested guards only count.
///
/// ```
/// let outer = partita::cache::epoch::pin();
/// let inner = partita::cache::epoch::pin();
/// drop(outer);
/// // `inner` still protects.
/// # drop(inner);
/// ```
#[inline]
pub fn pin() -> Guard {
    match OWNED.try_with(|owned| owned.0) {
        Ok(record) => Guard::new(record, false),
        Err(_) => pin_alone(),
    }
}

/// The thread ends, its record is given back, and a destructor still looks something up.
#[cold]
fn pin_alone() -> Guard {
    let owned = Owned::take();
    let guard = Guard::new(owned.0, true);
    std::mem::forget(owned);
    guard
}

impl Guard {
    #[inline]
    fn new(record: &'static Record, alone: bool) -> Self {
        let depth = record.depth.load(Ordering::Relaxed);
        record.depth.store(depth + 1, Ordering::Relaxed);
        if depth == 0 {
            record.published.publish(&CLOCK);
        }
        Self { record, alone, not_send: PhantomData }
    }

    /// The dense id of the thread.
    #[inline]
    pub(in crate::cache) fn thread_id(&self) -> usize {
        self.record.id
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        let depth = self.record.depth.load(Ordering::Relaxed) - 1;
        self.record.depth.store(depth, Ordering::Relaxed);
        if depth == 0 {
            let epoch = self.record.published.withdraw();
            if garbage::may_wait_for(epoch) {
                garbage::collect();
            }
        }
        if self.alone {
            drop(Owned(self.record));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_all_segments_know_their_ids() {
        for id in [0, 63, 64, 191, 192, 447, 448, 5000] {
            assert_eq!(record(id).id, id);
        }
    }

    #[test]
    fn ids_of_ended_threads_are_used_again() {
        let ids: BTreeSet<_> =
            (0..100).map(|_| std::thread::spawn(|| pin().thread_id()).join().unwrap()).collect();
        assert!(ids.len() < 90, "{} ids for 100 threads, one after the other", ids.len());
    }

    #[test]
    fn guards_nest() {
        let idle = |guard: &Guard| guard.record.published.0.load(Ordering::Relaxed) == IDLE;
        let outer = pin();
        let inner = pin();
        drop(outer);
        assert!(!idle(&inner));
        let record = inner.record;
        drop(inner);
        assert_eq!(record.published.0.load(Ordering::Relaxed), IDLE);
    }

    #[test]
    fn a_thread_that_ends_may_still_pin() {
        struct PinsAtTheEnd;
        impl Drop for PinsAtTheEnd {
            fn drop(&mut self) {
                drop(pin());
            }
        }
        thread_local!(static LAST: PinsAtTheEnd = const { PinsAtTheEnd });
        // Destructors run in the order of first use, so the record goes first.
        std::thread::spawn(|| {
            drop(pin());
            LAST.with(|_| ());
        })
        .join()
        .unwrap();
    }
}
