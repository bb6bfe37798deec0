use std::fmt;
use std::sync::atomic::Ordering;

use super::order::with_order;
use super::skiplist::{self, Entry};
use super::{MemTable, MemTableStats};
use crate::error::{Error, Result};
use crate::iter::RangeTombstone;
use crate::key::{Excerpt, SeqNo, ValueType, pack};

/// Where a writer inserted last. Kept from batch to batch, it saves the search where keys come sorted.
pub struct InsertHint(skiplist::InsertHint);

impl Default for InsertHint {
    fn default() -> Self {
        Self(skiplist::InsertHint::new())
    }
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
            list.insert(order, &mut self.hint.0, entry)
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
