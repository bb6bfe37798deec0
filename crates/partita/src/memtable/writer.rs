use std::fmt;
use std::sync::atomic::Ordering;

use super::order::with_order;
use super::skiplist::{self, Entry, TOGETHER};
use super::{MemTable, MemTableStats};
use crate::error::{Error, Result};
use crate::iter::RangeTombstone;
use crate::key::{Excerpt, SeqNo, ValueType, pack};

/// Where a writer inserted last. Kept from batch to batch, it saves the search where keys come sorted.
pub struct InsertHint {
    last: skiplist::InsertHint,
    /// For keys whose places are looked for together; made at the first need.
    ahead: Vec<skiplist::InsertHint>,
}

impl Default for InsertHint {
    fn default() -> Self {
        Self { last: skiplist::InsertHint::new(), ahead: Vec::new() }
    }
}

/// Below this many bytes a memtable is mostly in the processor's caches, and nothing is gained by searching together.
const SMALL_BYTES: usize = 512 << 10;

/// A point entry to be inserted.
#[derive(Clone, Copy, Debug)]
pub struct NewEntry<'a> {
    /// Its sequence number.
    pub seqno: SeqNo,
    /// What it says.
    pub value_type: ValueType,
    /// The user's key.
    pub user_key: &'a [u8],
    /// Its value or operand.
    pub value: &'a [u8],
}

impl fmt::Debug for InsertHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InsertHint")
    }
}

/// Inserts the entries of a batch. Its counts show in the memtable's when it is dropped.
#[derive(Debug)]
pub struct MemTableWriter<'m> {
    memtable: &'m MemTable,
    hint: &'m mut InsertHint,
    counted: MemTableStats,
    seqnos: Option<(SeqNo, SeqNo)>,
}

impl<'m> MemTableWriter<'m> {
    pub(super) fn new(memtable: &'m MemTable, hint: &'m mut InsertHint) -> Self {
        Self { memtable, hint, counted: MemTableStats::default(), seqnos: None }
    }

    /// Inserts a point entry.
    ///
    /// * Errors: `InvalidArgument` if `value_type` is that of a range deletion, if key or value have 4 GiB or more, or if
    ///   the key has an entry of this sequence number; `Aborted` without memory. Nothing is inserted then.
    pub fn insert(
        &mut self,
        seqno: SeqNo,
        value_type: ValueType,
        user_key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        if !value_type.is_point() {
            return Err(Error::invalid_argument(format!("{value_type} is no point entry")));
        }
        if let Some(bloom) = &self.memtable.bloom {
            bloom.add(user_key);
        }
        let entry = Entry { user_key, packed: pack(seqno, value_type), value };
        let list = &self.memtable.list;
        let is_new = with_order!(&self.memtable.order, order => {
            list.insert(order, &mut self.hint.last, entry)
        })?;
        if !is_new {
            return Err(Error::invalid_argument(format!(
                "key {} has an entry of sequence number {seqno} already",
                Excerpt(user_key)
            )));
        }
        self.counted.entries += 1;
        self.counted.deletions += u64::from(value_type.is_deletion());
        self.count(seqno, user_key.len() + value.len());
        Ok(())
    }

    /// Inserts entries, in the order in which they are given; those that are far apart are looked for together.
    ///
    /// * Errors: those of [`MemTableWriter::insert`]; what came before is inserted.
    pub fn insert_all(&mut self, entries: &[NewEntry<'_>]) -> Result<()> {
        let mut left = entries;
        if self.memtable.memory_bytes() < SMALL_BYTES {
            return self.insert_beside(left);
        }
        while !left.is_empty() {
            let group = &left[..group_len(left)];
            self.insert_group(group)?;
            left = &left[group.len()..];
        }
        Ok(())
    }

    /// Inserts one after the other with the same hint.
    fn insert_beside(&mut self, entries: &[NewEntry<'_>]) -> Result<()> {
        entries.iter().try_for_each(|entry| {
            self.insert(entry.seqno, entry.value_type, entry.user_key, entry.value)
        })
    }

    /// Inserts entries of which at most [`TOGETHER`] do not lie beside the one before.
    fn insert_group(&mut self, entries: &[NewEntry<'_>]) -> Result<()> {
        let starts: Vec<usize> =
            (0..entries.len()).filter(|&at| at == 0 || !lie_together(entries, at)).collect();
        if starts.len() < 2 {
            return self.insert_beside(entries);
        }
        let keys = starts.iter().map(|&at| (entries[at].user_key, entries[at].packed()));
        let keys: Vec<(&[u8], u64)> = keys.collect();
        let mut hints = std::mem::take(&mut self.hint.ahead);
        hints.resize_with(TOGETHER, skiplist::InsertHint::new);
        with_order!(&self.memtable.order, order => {
            self.memtable.list.locate_together(order, &keys, hints.iter_mut());
        });
        let ends = starts.iter().skip(1).copied().chain([entries.len()]);
        let inserted =
            starts.iter().zip(ends).zip(&mut hints).try_for_each(|((&from, to), hint)| {
                std::mem::swap(hint, &mut self.hint.last);
                self.insert_beside(&entries[from..to])
            });
        self.hint.ahead = hints;
        inserted
    }

    /// Inserts a range tombstone: keys from `start` up to `end`, exclusive, are absent. An empty range has no effect.
    pub fn delete_range(&mut self, seqno: SeqNo, start: &[u8], end: &[u8]) -> Result<()> {
        if self.memtable.order.compare(start, end).is_lt() {
            let tombstone = RangeTombstone { start: start.to_vec(), end: end.to_vec(), seqno };
            self.memtable.tombstones.add(tombstone);
            self.counted.range_deletions += 1;
            self.count(seqno, start.len() + end.len());
        }
        Ok(())
    }

    fn count(&mut self, seqno: SeqNo, data_len: usize) {
        self.counted.data_bytes += data_len as u64;
        let (smallest, largest) = self.seqnos.unwrap_or((seqno, seqno));
        self.seqnos = Some((smallest.min(seqno), largest.max(seqno)));
    }
}

impl Drop for MemTableWriter<'_> {
    fn drop(&mut self) {
        let counters = &self.memtable.counters;
        let Some((smallest, largest)) = self.seqnos else { return };
        counters.smallest_seqno.fetch_min(smallest.get(), Ordering::Relaxed);
        counters.largest_seqno.fetch_max(largest.get(), Ordering::Relaxed);
        counters.entries.fetch_add(self.counted.entries, Ordering::Relaxed);
        counters.data_bytes.fetch_add(self.counted.data_bytes, Ordering::Relaxed);
        if self.counted.deletions > 0 {
            counters.deletions.fetch_add(self.counted.deletions, Ordering::Relaxed);
        }
        if self.counted.range_deletions > 0 {
            counters.range_deletions.fetch_add(self.counted.range_deletions, Ordering::Relaxed);
        }
    }
}

impl NewEntry<'_> {
    fn packed(&self) -> u64 {
        pack(self.seqno, self.value_type)
    }
}

/// How many of the entries at the front have at most [`TOGETHER`] that do not lie beside the one before.
fn group_len(entries: &[NewEntry<'_>]) -> usize {
    let apart = (1..entries.len()).filter(|&at| !lie_together(entries, at));
    { apart }.nth(TOGETHER - 1).unwrap_or(entries.len())
}

/// Whether the place of an entry is likely to be beside that of the one before it, from where it is found sooner than from
/// the list's head: the keys differ in nothing but their last two bytes.
fn lie_together(entries: &[NewEntry<'_>], at: usize) -> bool {
    const LAST_BYTES: usize = 2;
    let (a, b) = (entries[at - 1].user_key, entries[at].user_key);
    a.len() == b.len() && a.len() > LAST_BYTES && {
        let end = a.len() - LAST_BYTES;
        a[..end] == b[..end]
    }
}
