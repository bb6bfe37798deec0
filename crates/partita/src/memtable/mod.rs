//! Memtables: what was written last, sorted, in memory.
//!
//! ```text
//! MemTable
//!   skiplist.rs     point entries by internal key, in an arena
//!   tombstones.rs   range tombstones apart: a get asks them first
//!   bloom.rs        optional: lookups of absent keys stop here
//! ```
//!
//! A batch is inserted through a [`MemTableWriter`] under the sequence numbers that it was given; it becomes visible when
//! the database publishes them. Any number of threads may write and read at once. When a memtable is full, nobody writes
//! to it any more; it is the same object until its entries are in a file.

mod account;
mod arena;
mod bloom;
mod iter;
mod neighbor;
mod order;
mod skiplist;
mod sync;
mod tombstones;
mod value;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use account::MemoryCharge;
pub use bloom::MemTableFilter;
pub use iter::MemTableIter;
pub use value::{MemTableValue, PinnedVerdict};
pub use writer::{InsertHint, MemTableWriter, NewEntry};

use account::Account;
use bloom::Bloom;
use order::{UserKeyOrder, with_order};
use skiplist::{NodeRef, SkipList};
use tombstones::MemTombstones;

use crate::error::{Error, Result};
use crate::iter::RangeTombstones;
use crate::key::{KeyOrder, LookupKey, SeqNo, ValueType};
use crate::merge::{Verdict, VersionWalk};

/// How a memtable is made.
#[derive(Debug, Default)]
pub struct MemTableOptions {
    /// The order of user keys.
    pub order: KeyOrder,
    /// A Bloom filter over its keys.
    pub filter: Option<MemTableFilter>,
    /// The number of the log that holds its first entries.
    pub oldest_log: u64,
    /// Told of its memory.
    pub charge: Option<MemoryCharge>,
}

/// Point entries and range tombstones of one column family, sorted in memory.
///
/// ```
/// use std::sync::Arc;
/// use partita::key::{LookupKey, SeqNo, ValueType};
/// use partita::memtable::{InsertHint, MemTable, MemTableOptions};
/// use partita::merge::{Verdict, VersionWalk};
///
/// let memtable = Arc::new(MemTable::new(MemTableOptions::default())?);
/// let mut hint = InsertHint::default();
/// let seqno = |n| SeqNo::new(n).unwrap();
/// let mut writer = memtable.writer(&mut hint);
/// writer.insert(seqno(1), ValueType::Value, b"apple", b"red")?;
/// writer.insert(seqno(2), ValueType::Deletion, b"apple", b"")?;
/// writer.delete_range(seqno(3), b"b", b"p")?;
/// drop(writer);
///
/// let get = |key, at| memtable.get(&LookupKey::new(key, seqno(at)), &mut VersionWalk::default());
/// assert_eq!(get(b"apple", 1)?, Verdict::Base(b"red"));
/// assert_eq!(get(b"apple", 9)?, Verdict::Absent);
/// assert_eq!(get(b"kiwi", 9)?, Verdict::Absent);
/// // Not here: what is older decides.
/// assert_eq!(get(b"kiwi", 2)?, Verdict::Continue);
/// assert_eq!(memtable.stats().entries, 2);
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Debug)]
pub struct MemTable {
    order: KeyOrder,
    list: Arc<SkipList>,
    tombstones: MemTombstones,
    bloom: Option<Bloom>,
    oldest_log: u64,
    counters: Counters,
    account: Arc<Account>,
}

/// What the entries of a key come to.
enum Found<'m> {
    Base {
        node: NodeRef<'m>,
        /// The node's value, or a part of it.
        base: &'m [u8],
    },
    Absent,
    Continue,
}

/// Shared counters; each writer adds its own once, at its end.
#[derive(Debug)]
struct Counters {
    entries: AtomicU64,
    deletions: AtomicU64,
    range_deletions: AtomicU64,
    data_bytes: AtomicU64,
    smallest_seqno: AtomicU64,
    largest_seqno: AtomicU64,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            entries: AtomicU64::new(0),
            deletions: AtomicU64::new(0),
            range_deletions: AtomicU64::new(0),
            data_bytes: AtomicU64::new(0),
            smallest_seqno: AtomicU64::new(u64::MAX),
            largest_seqno: AtomicU64::new(0),
        }
    }
}

/// What is in a memtable, as far as its writers have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemTableStats {
    /// Point entries.
    pub entries: u64,
    /// Deletions and single deletions among them.
    pub deletions: u64,
    /// Range deletions.
    pub range_deletions: u64,
    /// Bytes of their keys and values, as the user gave them.
    pub data_bytes: u64,
}

impl MemTable {
    /// An empty memtable.
    ///
    /// * Errors: `Aborted` without memory.
    pub fn new(options: MemTableOptions) -> Result<Self> {
        let MemTableOptions { order, filter, oldest_log, charge } = options;
        let account = Arc::new(Account::new(charge));
        let bloom = filter.as_ref().map(Bloom::new);
        account.grow(bloom.as_ref().map_or(0, Bloom::heap_bytes));
        Ok(Self {
            list: Arc::new(SkipList::new(Arc::clone(&account))?),
            tombstones: MemTombstones::new(order.clone(), Arc::clone(&account)),
            bloom,
            order,
            oldest_log,
            counters: Counters::default(),
            account,
        })
    }

    /// Inserts entries. `hint` may have been used with any memtable; with the same one, sorted keys are inserted faster.
    pub fn writer<'m>(&'m self, hint: &'m mut InsertHint) -> MemTableWriter<'m> {
        MemTableWriter::new(self, hint)
    }

    /// What the memtable says about a user key at the lookup's sequence number.
    ///
    /// * `walk`: carried from one source to the next, newest first; it has the operands found so far.
    /// * Returns [`Verdict::Continue`] if older sources decide.
    /// * Errors: those of [`VersionWalk::take`].
    pub fn get(&self, key: &LookupKey<'_>, walk: &mut VersionWalk) -> Result<Verdict<'_>> {
        Ok(match self.find(key, walk)? {
            Found::Base { base, .. } => Verdict::Base(base),
            Found::Absent => Verdict::Absent,
            Found::Continue => Verdict::Continue,
        })
    }

    /// The same with a value that may be kept: it is short, or keeps the entries of the memtable in memory.
    ///
    /// * Cost: nothing is allocated, and only short values are copied.
    pub fn get_pinned(&self, key: &LookupKey<'_>, walk: &mut VersionWalk) -> Result<PinnedVerdict> {
        Ok(match self.find(key, walk)? {
            Found::Base { node, base } => {
                // The base is a part of the value.
                let start = base.as_ptr().addr() - node.value().as_ptr().addr();
                let part = start..start + base.len();
                PinnedVerdict::Base(MemTableValue::new(&self.list, node, part))
            }
            Found::Absent => PinnedVerdict::Absent,
            Found::Continue => PinnedVerdict::Continue,
        })
    }

    #[inline]
    fn find(&self, key: &LookupKey<'_>, walk: &mut VersionWalk) -> Result<Found<'_>> {
        walk.cover(self.tombstones.covering_seqno(key.user_key(), key.seqno()));
        if self.bloom.as_ref().is_none_or(|bloom| bloom.may_contain(key)) {
            let found = with_order!(&self.order, order => self.walk_versions(order, key, walk))?;
            if !matches!(found, Found::Continue) {
                return Ok(found);
            }
        }
        // Whatever an older source has of a key is older than a tombstone over it here.
        Ok(if walk.covered().is_some() { Found::Absent } else { Found::Continue })
    }

    fn walk_versions<O: UserKeyOrder>(
        &self,
        order: &O,
        key: &LookupKey<'_>,
        walk: &mut VersionWalk,
    ) -> Result<Found<'_>> {
        let target = key.seek_key();
        let mut at = self.list.seek(order, target.user_key, target.packed());
        while let Some(node) = at {
            let (user_key, packed) = node.split_key();
            if order.compare(user_key, target.user_key).is_ne() {
                break;
            }
            let (seqno, value_type) = split_packed(packed)?;
            match walk.take(seqno, value_type, node.value())? {
                Verdict::Base(base) => return Ok(Found::Base { node, base }),
                Verdict::Absent => return Ok(Found::Absent),
                Verdict::Continue => at = node.next(),
            }
        }
        Ok(Found::Continue)
    }

    /// The newest entry of a user key that is visible at the lookup's sequence number, with its sequence number, type and
    /// value; range tombstones are not looked at.
    pub fn newest_entry(&self, key: &LookupKey<'_>) -> Result<Option<(SeqNo, ValueType, &[u8])>> {
        let target = key.seek_key();
        with_order!(&self.order, order => {
            let Some(node) = self.list.seek(order, target.user_key, target.packed()) else {
                return Ok(None);
            };
            let (user_key, packed) = node.split_key();
            if order.compare(user_key, target.user_key).is_ne() {
                return Ok(None);
            }
            let (seqno, value_type) = split_packed(packed)?;
            Ok(Some((seqno, value_type, node.value())))
        })
    }

    /// An iterator over its point entries. It stands nowhere until it is told where to go.
    pub fn iter(self: &Arc<Self>) -> MemTableIter {
        MemTableIter::new(Arc::clone(self))
    }

    /// Whether there may be a key with the same prefix as `user_key`, as far as the filter knows.
    pub fn prefix_may_match(&self, user_key: &[u8]) -> bool {
        self.bloom.as_ref().is_none_or(|bloom| bloom.may_contain_prefix_of(user_key))
    }

    /// The newest range tombstone over `user_key` that a reader at `read_seqno` sees.
    pub fn covering_seqno(&self, user_key: &[u8], read_seqno: SeqNo) -> Option<SeqNo> {
        self.tombstones.covering_seqno(user_key, read_seqno)
    }

    /// All range tombstones written so far, in a few sets that do not change: what an iterator asks.
    ///
    /// Cheap: the sets are made once after a write, and shared.
    pub fn range_tombstone_sets(&self) -> Vec<Arc<RangeTombstones>> {
        self.tombstones.sets()
    }

    /// All range tombstones in one set: what a flush writes.
    pub fn range_tombstones(&self) -> Arc<RangeTombstones> {
        self.tombstones.all()
    }

    /// Counts of what was written.
    pub fn stats(&self) -> MemTableStats {
        let counters = &self.counters;
        MemTableStats {
            entries: counters.entries.load(Ordering::Relaxed),
            deletions: counters.deletions.load(Ordering::Relaxed),
            range_deletions: counters.range_deletions.load(Ordering::Relaxed),
            data_bytes: counters.data_bytes.load(Ordering::Relaxed),
        }
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        let stats = self.stats();
        stats.entries == 0 && stats.range_deletions == 0
    }

    /// The smallest and the largest sequence number written.
    pub fn seqno_range(&self) -> Option<(SeqNo, SeqNo)> {
        let smallest = SeqNo::new(self.counters.smallest_seqno.load(Ordering::Relaxed))?;
        let largest = SeqNo::new(self.counters.largest_seqno.load(Ordering::Relaxed))?;
        Some((smallest, largest))
    }

    /// Bytes of memory taken: entries with their links and what is free of the last chunk, range tombstones, the filter.
    pub fn memory_bytes(&self) -> usize {
        self.account.bytes()
    }

    /// The number of the log that holds its first entries; the log and newer ones are needed until it is flushed.
    pub fn oldest_log(&self) -> u64 {
        self.oldest_log
    }

    /// The order of user keys.
    pub fn key_order(&self) -> &KeyOrder {
        &self.order
    }
}

/// Sequence number and type; only types that can be inserted are there.
#[inline]
fn split_packed(packed: u64) -> Result<(SeqNo, ValueType)> {
    match ValueType::from_code(packed as u8) {
        Some(value_type) => Ok((SeqNo::from_packed(packed), value_type)),
        None => Err(Error::corruption(format!("memtable entry of type {:#04x}", packed as u8))),
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
