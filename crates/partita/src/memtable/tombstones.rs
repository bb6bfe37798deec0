//! Range tombstones of a memtable.
//!
//! ```text
//! fresh   t9 t8          not sorted yet
//! built   [t7 t6]        sorted, fragmented, shared with readers
//!         [t5 t4 t3 t2 t1 t0]
//! ```
//!
//! The first reader after a write turns the fresh ones into a built set, together with the sets that are not much larger
//! (as a binary counter carries): a tombstone is built into a set `O(log n)` times, however writes and reads alternate,
//! and a reader asks `O(log n)` sets. When reads have paid for it, all sets become one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use super::account::Account;
use crate::iter::{RangeTombstone, RangeTombstones};
use crate::key::{KeyOrder, SeqNo};
use crate::util::sync::{RwLock, RwLockReadGuard};

#[derive(Debug, Default)]
struct Sets {
    fresh: Vec<RangeTombstone>,
    /// From the largest to the smallest, each less than half of the one before when it was built.
    built: Vec<Arc<RangeTombstones>>,
}

/// Which sets become one with what is fresh.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Similar,
    All,
}

#[derive(Debug)]
pub(super) struct MemTombstones {
    order: KeyOrder,
    sets: RwLock<Sets>,
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
        let bytes = size_of::<RangeTombstone>() + tombstone.start.len() + tombstone.end.len();
        let mut sets = self.sets.write().unwrap_or_else(PoisonError::into_inner);
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
            self.build(Reach::All);
        }
        newest
    }

    /// All of them, in few sets.
    pub(super) fn sets(&self) -> Vec<Arc<RangeTombstones>> {
        if self.len() == 0 { Vec::new() } else { self.read().built.clone() }
    }

    /// All of them, in one set.
    pub(super) fn all(&self) -> Arc<RangeTombstones> {
        self.build(Reach::All);
        let sets = self.sets.read().unwrap_or_else(PoisonError::into_inner);
        sets.built.first().cloned().unwrap_or_default()
    }

    /// The sets, with nothing fresh that was there when it was called.
    fn read(&self) -> RwLockReadGuard<'_, Sets> {
        let sets = self.sets.read().unwrap_or_else(PoisonError::into_inner);
        if sets.fresh.is_empty() {
            return sets;
        }
        drop(sets);
        self.build(Reach::Similar);
        // Whatever became fresh meanwhile is newer than any sequence number that the reader may see.
        self.sets.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one set of what is fresh and of the sets that are less than twice as large, or of all.
    fn build(&self, reach: Reach) {
        let mut sets = self.sets.write().unwrap_or_else(PoisonError::into_inner);
        let mut tombstones = std::mem::take(&mut sets.fresh);
        let joins_all = reach == Reach::All && sets.built.len() > 1;
        if tombstones.is_empty() && !joins_all {
            return;
        }
        while let Some(last) = sets.built.last()
            && (reach == Reach::All || last.len() < 2 * tombstones.len())
        {
            tombstones.extend(last.iter().cloned());
            sets.built.pop();
        }
        sets.built.push(Arc::new(RangeTombstones::new(tombstones, &self.order)));
        self.asked.store(0, Ordering::Relaxed);
        let built: usize = sets.built.iter().map(|set| set.memory_bytes()).sum();
        self.charge(built);
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
