use crate::key::{InternalKey, KeyOrder, SeqNo, ValueType};
use crate::table::TableProperties;

/// Counts over all entries, and the keys at the table's ends.
#[derive(Debug, Default)]
pub(super) struct Counts {
    entries: u64,
    deletions: u64,
    merges: u64,
    range_deletions: u64,
    raw_key_size: u64,
    raw_value_size: u64,
    seqnos: Option<(SeqNo, SeqNo)>,
    smallest: Option<Vec<u8>>,
    largest: Option<Vec<u8>>,
}

impl Counts {
    /// Counts one entry: a point or a range tombstone (with its end as value).
    #[inline]
    pub(super) fn note(&mut self, key: &InternalKey<'_>, key_len: usize, value_len: usize) {
        self.entries += 1;
        self.raw_key_size += key_len as u64;
        self.raw_value_size += value_len as u64;
        match key.value_type {
            ValueType::Merge => self.merges += 1,
            ValueType::RangeDeletion => {
                self.range_deletions += 1;
                self.deletions += 1;
            }
            value_type => self.deletions += u64::from(value_type.is_deletion()),
        }
        let (least, greatest) = self.seqnos.unwrap_or((key.seqno, key.seqno));
        self.seqnos = Some((least.min(key.seqno), greatest.max(key.seqno)));
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Widens the table's range, if need be, to these internal keys.
    pub(super) fn cover(&mut self, order: &KeyOrder, smallest: &[u8], largest: &[u8]) {
        let below = |known: &Vec<u8>| order.compare_internal(known, smallest).is_le();
        if !self.smallest.as_ref().is_some_and(below) {
            self.smallest = Some(smallest.to_vec());
        }
        let above = |known: &Vec<u8>| order.compare_internal(known, largest).is_ge();
        if !self.largest.as_ref().is_some_and(above) {
            self.largest = Some(largest.to_vec());
        }
    }

    /// Least and greatest sequence number; 0 without entries.
    pub(super) fn seqnos(&self) -> (SeqNo, SeqNo) {
        self.seqnos.unwrap_or_default()
    }

    /// Least and greatest internal key.
    pub(super) fn take_range(&mut self) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (self.smallest.take(), self.largest.take())
    }

    pub(super) fn put_into(&self, properties: &mut TableProperties) {
        let (smallest_seqno, largest_seqno) = self.seqnos();
        properties.num_entries = Some(self.entries);
        properties.num_deletions = Some(self.deletions);
        properties.num_merge_operands = Some(self.merges);
        properties.num_range_deletions = Some(self.range_deletions);
        properties.raw_key_size = Some(self.raw_key_size);
        properties.raw_value_size = Some(self.raw_value_size);
        properties.key_smallest_seqno = Some(smallest_seqno.get());
        properties.key_largest_seqno = Some(largest_seqno.get());
    }
}
