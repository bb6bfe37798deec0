//! Range tombstones of a memtable.
//!
//! ```text
//! fresh   t9 t8          not sorted yet
//! built   [t7 t6]        sorted, fragmented, shared with readers
//!         [t5 t4 t3 t2 t1 t0]
//! ```
//!
//! The first reader after a write builds a set of what is fresh. Sets of which an older one is not much larger become one (as a
//! binary counter carries): a tombstone is built into a set `O(log n)` times, however writes and reads alternate, and a reader
//! asks `O(log n)` sets. When reads have paid for it, all sets become one.
//!
//! 1. Sets are built beside the lock: no writer waits for one, and of the readers only those who have to see what is fresh.
//! 2. One thread at a time joins sets; the others go on with those that are there, a few more than there would be.
//! 3. New sets come behind the others, and only who joins takes sets away: where they stood when it began they still stand.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use super::account::Account;
use crate::iter::{RangeTombstone, RangeTombstones};
use crate::key::{KeyOrder, SeqNo};
use crate::util::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, lock};

#[derive(Debug, Default)]
struct Sets {
    fresh: Vec<RangeTombstone>,
    /// From the oldest to the newest, and from the largest to the smallest, nearly.
    built: Vec<Arc<RangeTombstones>>,
}

/// Which sets become one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Similar,
    All,
}

#[derive(Debug)]
pub(super) struct MemTombstones {
    order: KeyOrder,
    sets: RwLock<Sets>,
    /// Held by who builds a set of what is fresh.
    building: Mutex<()>,
    /// Held by who joins sets.
    joining: Mutex<()>,
    /// How many there are; readers of memtables without any look no further.
    count: AtomicUsize,
    /// Bytes of them that are charged, behind the lock of the sets.
    charged: AtomicUsize,
    account: Arc<Account>,
    /// Questions asked of more than one set since the last was built.
    asked: AtomicUsize,
}

impl MemTombstones {
    pub(super) fn new(order: KeyOrder, account: Arc<Account>) -> Self {
        Self {
            order,
            sets: RwLock::default(),
            building: Mutex::default(),
            joining: Mutex::default(),
            count: AtomicUsize::new(0),
            charged: AtomicUsize::new(0),
            account,
            asked: AtomicUsize::new(0),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    pub(super) fn add(&self, tombstone: RangeTombstone) {
        let bytes = bytes_of(&tombstone);
        let mut sets = self.write();
        sets.fresh.push(tombstone);
        self.charge(self.charged.load(Ordering::Relaxed) + bytes);
        self.count.fetch_add(1, Ordering::Release);
    }

    /// The newest tombstone over `user_key` that a reader at `read_seqno` sees.
    #[inline]
    pub(super) fn covering_seqno(&self, user_key: &[u8], read_seqno: SeqNo) -> Option<SeqNo> {
        if self.len() == 0 {
            return None;
        }
        self.covering_seqno_of_some(user_key, read_seqno)
    }

    fn covering_seqno_of_some(&self, user_key: &[u8], read_seqno: SeqNo) -> Option<SeqNo> {
        let sets = self.read();
        let newest =
            sets.built.iter().filter_map(|set| set.covering_seqno(user_key, read_seqno)).max();
        let is_worn =
            sets.built.len() > 1 && self.asked.fetch_add(1, Ordering::Relaxed) > self.len();
        drop(sets);
        if is_worn {
            self.join_unless_somebody_does(Reach::All);
        }
        newest
    }

    /// All of them, in few sets.
    pub(super) fn sets(&self) -> Vec<Arc<RangeTombstones>> {
        if self.len() == 0 { Vec::new() } else { self.read().built.clone() }
    }

    /// All of them, in one set.
    pub(super) fn all(&self) -> Arc<RangeTombstones> {
        self.build();
        self.join(Reach::All, lock(&self.joining));
        let sets = self.read_lock();
        sets.built.first().cloned().unwrap_or_default()
    }

    /// The sets, with nothing fresh that was there when it was called.
    fn read(&self) -> RwLockReadGuard<'_, Sets> {
        let sets = self.read_lock();
        if sets.fresh.is_empty() {
            return sets;
        }
        drop(sets);
        self.build();
        self.join_unless_somebody_does(Reach::Similar);
        // Whatever became fresh meanwhile is newer than any sequence number that the reader may see.
        self.read_lock()
    }

    fn read_lock(&self) -> RwLockReadGuard<'_, Sets> {
        self.sets.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Sets> {
        self.sets.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a set of what is fresh.
    fn build(&self) {
        let _turn = lock(&self.building);
        let fresh = self.read_lock().fresh.clone();
        if fresh.is_empty() {
            return;
        }
        let count = fresh.len();
        let built = Arc::new(RangeTombstones::new(fresh, &self.order));
        let mut sets = self.write();
        sets.fresh.drain(..count);
        if !built.is_empty() {
            sets.built.push(built);
        }
        self.charge_for(&sets);
    }

    fn join_unless_somebody_does(&self, reach: Reach) {
        if let Ok(turn) = self.joining.try_lock() {
            self.join(reach, turn);
        }
    }

    /// Makes one set of the newest ones of which none is twice as large as those behind it together, or of all.
    fn join(&self, reach: Reach, _turn: MutexGuard<'_, ()>) {
        let sets = self.read_lock();
        let end = sets.built.len();
        let (mut start, mut count) = (end, 0);
        for set in sets.built.iter().rev() {
            if reach == Reach::Similar && start < end && set.len() >= 2 * count {
                break;
            }
            (start, count) = (start - 1, count + set.len());
        }
        let joined = sets.built[start..].to_vec();
        drop(sets);
        if joined.len() < 2 {
            return;
        }
        let tombstones = joined.iter().flat_map(|set| set.iter().cloned()).collect();
        let all = Arc::new(RangeTombstones::new(tombstones, &self.order));
        let mut sets = self.write();
        sets.built.splice(start..end, [all]);
        self.asked.store(0, Ordering::Relaxed);
        self.charge_for(&sets);
    }

    /// Charges what the sets take, and what is fresh.
    fn charge_for(&self, sets: &Sets) {
        let built: usize = sets.built.iter().map(|set| set.memory_bytes()).sum();
        let fresh: usize = sets.fresh.iter().map(bytes_of).sum();
        self.charge(built + fresh);
    }

    /// Charges `bytes` instead of what was charged; the sets are locked.
    fn charge(&self, bytes: usize) {
        let before = self.charged.swap(bytes, Ordering::Relaxed);
        if bytes > before {
            self.account.grow(bytes - before);
        } else {
            self.account.shrink(before - bytes);
        }
    }
}

/// Bytes of a tombstone that is in no set yet.
fn bytes_of(tombstone: &RangeTombstone) -> usize {
    size_of::<RangeTombstone>() + tombstone.start.len() + tombstone.end.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tombstone(start: u32, end: u32, seqno: u64) -> RangeTombstone {
        RangeTombstone {
            start: start.to_be_bytes().to_vec(),
            end: end.to_be_bytes().to_vec(),
            seqno: SeqNo::new(seqno).unwrap(),
        }
    }

    #[test]
    fn sets_stay_few_and_reads_make_them_one() {
        let tombstones = MemTombstones::new(KeyOrder::Bytewise, Arc::default());
        for n in 0..1000 {
            tombstones.add(tombstone(n, 2000 - n, 1 + u64::from(n)));
            assert!(tombstones.sets().len() <= 11);
            let covering = tombstones.covering_seqno(&1000u32.to_be_bytes(), SeqNo::MAX);
            assert_eq!(covering, SeqNo::new(1 + u64::from(n)));
        }
        assert!(tombstones.sets().len() > 1);
        for _ in 0..2000 {
            tombstones.covering_seqno(b"", SeqNo::MAX);
        }
        assert_eq!(tombstones.sets().len(), 1);
        assert_eq!(tombstones.all().len(), 1000);
        assert!(tombstones.account.bytes() > 1000 * size_of::<RangeTombstone>());
    }

    #[test]
    fn a_tombstone_is_built_into_few_sets() {
        let tombstones = MemTombstones::new(KeyOrder::Bytewise, Arc::default());
        let mut built = 0;
        let mut last: Vec<Arc<RangeTombstones>> = Vec::new();
        for n in 0..1024 {
            tombstones.add(tombstone(n, n + 1, 1));
            let sets = tombstones.sets();
            let is_new =
                |set: &&Arc<RangeTombstones>| !last.iter().any(|old| Arc::ptr_eq(old, set));
            built += sets.iter().filter(is_new).map(|set| set.len()).sum::<usize>();
            last = sets;
        }
        assert!(built <= 1024 * 11, "{built} tombstones sorted");
    }

    #[test]
    fn neither_writers_nor_readers_wait_for_who_joins_sets() {
        let tombstones = MemTombstones::new(KeyOrder::Bytewise, Arc::default());
        let covering = || tombstones.covering_seqno(&5u32.to_be_bytes(), SeqNo::MAX);
        tombstones.add(tombstone(0, 10, 1));
        assert_eq!(covering(), SeqNo::new(1));
        let turn = lock(&tombstones.joining);
        for seqno in 2..6 {
            tombstones.add(tombstone(0, 10, seqno));
            assert_eq!(covering(), SeqNo::new(seqno));
        }
        assert_eq!(tombstones.sets().len(), 5);
        drop(turn);
        tombstones.add(tombstone(0, 10, 6));
        assert_eq!(covering(), SeqNo::new(6));
        assert_eq!(tombstones.sets().len(), 1);
    }

    #[test]
    fn readers_see_what_was_written_before_while_others_build_and_join() {
        const WRITTEN: u32 = 300;
        let tombstones = MemTombstones::new(KeyOrder::Bytewise, Arc::default());
        let written = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 1..=WRITTEN {
                    tombstones.add(tombstone(0, n, u64::from(n)));
                    written.store(n as usize, Ordering::Release);
                }
            });
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut before = 0;
                    while before < WRITTEN as usize {
                        before = written.load(Ordering::Acquire);
                        let seen = tombstones.covering_seqno(&0u32.to_be_bytes(), SeqNo::MAX);
                        assert!(seen.map_or(0, SeqNo::get) >= before as u64, "{seen:?}, {before}");
                        if before % 7 == 0 {
                            assert!(tombstones.all().len() >= before);
                        }
                    }
                });
            }
        });
        assert_eq!(tombstones.all().len(), WRITTEN as usize);
        let bytes = tombstones.account.bytes();
        assert_eq!(bytes, tombstones.all().memory_bytes());
    }

    proptest! {
        #[test]
        fn the_sets_answer_like_the_list(
            steps in proptest::collection::vec((0u32..20, 0u32..20, 0u8..4), 0..60),
        ) {
            let tombstones = MemTombstones::new(KeyOrder::Bytewise, Arc::default());
            let mut all = Vec::new();
            for (at, (start, end, reads)) in steps.into_iter().enumerate() {
                let added = tombstone(start, end, at as u64 + 1);
                tombstones.add(added.clone());
                all.push(added);
                for read in 0..reads {
                    let key = ((at as u32 * 7 + u32::from(read)) % 21).to_be_bytes();
                    let read_seqno = SeqNo::new(at as u64 * u64::from(read) / 2 + 1).unwrap();
                    let expected = all
                        .iter()
                        .filter(|t| t.start[..] <= key[..] && key[..] < t.end[..])
                        .map(|t| t.seqno)
                        .filter(|seqno| *seqno <= read_seqno)
                        .max();
                    prop_assert_eq!(tombstones.covering_seqno(&key, read_seqno), expected);
                }
            }
        }
    }
}
