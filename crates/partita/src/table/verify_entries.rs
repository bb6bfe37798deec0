use std::sync::Arc;

use super::block::{BlockCursor, DataBlock, IndexFormat};
use super::{BlockHandle, LookupKey, ReadContext, TableReader};
use crate::error::{Error, Result};
use crate::key::{Excerpt, InternalKey, KeyOrder, ValueType};

/// Entries by what the properties record of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryCounts {
    /// All entries.
    pub entries: u64,
    /// Deletions, single deletions and range tombstones.
    pub deletions: u64,
    /// Range tombstones.
    pub range_deletions: u64,
    /// Merge operands.
    pub merge_operands: u64,
    /// Bytes of all internal keys.
    pub key_bytes: u64,
    /// Bytes of all values.
    pub value_bytes: u64,
}

impl EntryCounts {
    pub(super) fn note(&mut self, value_type: ValueType, key_len: usize, value_len: usize) {
        let is_range = value_type == ValueType::RangeDeletion;
        self.entries += 1;
        self.deletions += u64::from(value_type.is_deletion() || is_range);
        self.range_deletions += u64::from(is_range);
        self.merge_operands += u64::from(value_type == ValueType::Merge);
        self.key_bytes += key_len as u64;
        self.value_bytes += value_len as u64;
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.entries += other.entries;
        self.deletions += other.deletions;
        self.range_deletions += other.range_deletions;
        self.merge_operands += other.merge_operands;
        self.key_bytes += other.key_bytes;
        self.value_bytes += other.value_bytes;
    }
}

/// An entry of the index, by itself.
pub(super) struct IndexEntry {
    pub(super) separator: Vec<u8>,
    pub(super) handle: BlockHandle,
    pub(super) first_key: Option<Vec<u8>>,
}

/// Checks entries against each other, against the index and against the filter, block after block.
pub(super) struct EntryChecker {
    /// `None` if the table does not open; then only the entries themselves are checked.
    reader: Option<Arc<TableReader>>,
    format: IndexFormat,
    /// The last key so far; empty before the first.
    last: Vec<u8>,
    /// The separator behind the last block.
    separator: Option<Vec<u8>>,
    counts: EntryCounts,
}

impl EntryChecker {
    pub(super) fn new(reader: Option<Arc<TableReader>>, format: IndexFormat) -> Self {
        Self { reader, format, last: Vec::new(), separator: None, counts: EntryCounts::default() }
    }

    /// What was counted so far.
    pub(super) fn counts(&self) -> &EntryCounts {
        &self.counts
    }

    /// A block could not be read.
    pub(super) fn skip_block(&mut self) {
        self.separator = None;
    }

    /// Checks a block that the index names in `entry`.
    pub(super) fn check_block(&mut self, block: &DataBlock, entry: &IndexEntry) -> Result<()> {
        let mut cursor = BlockCursor::new();
        let mut first = true;
        cursor.seek_to_first(block)?;
        while cursor.is_valid() {
            let key = InternalKey::decode(cursor.key())?;
            if !key.value_type.is_point() {
                return Err(Error::corruption(format!("entry of type {}", key.value_type)));
            }
            self.counts.note(key.value_type, cursor.key().len(), cursor.value_range().len());
            self.check_order(cursor.key())?;
            if first {
                self.check_start(cursor.key(), entry)?;
                first = false;
            }
            self.check_filter(key)?;
            self.last.clear();
            self.last.extend_from_slice(cursor.key());
            cursor.next(block)?;
        }
        if first {
            return Err(Error::corruption("the block has no entries"));
        }
        self.check_end(entry)
    }

    fn order(&self) -> Option<&KeyOrder> {
        self.reader.as_ref().map(|reader| reader.key_order())
    }

    fn check_order(&self, key: &[u8]) -> Result<()> {
        let Some(order) = self.order() else { return Ok(()) };
        if !self.last.is_empty() && order.compare_internal(&self.last, key).is_ge() {
            return Err(Error::corruption(format!(
                "key {} stands behind {}, which is not before it",
                Excerpt(key),
                Excerpt(&self.last)
            )));
        }
        Ok(())
    }

    /// The first key is behind the separator before the block, and is the one the index holds, if it holds one.
    fn check_start(&self, key: &[u8], entry: &IndexEntry) -> Result<()> {
        if let Some(first_key) = entry.first_key.as_deref().filter(|first_key| *first_key != key) {
            return Err(Error::corruption(format!(
                "the block starts with {}, the index says {}",
                Excerpt(key),
                Excerpt(first_key)
            )));
        }
        if let Some(separator) = &self.separator
            && self.compare_to_separator(key, separator).is_some_and(std::cmp::Ordering::is_le)
        {
            return Err(Error::corruption(format!(
                "the block starts with {}, not behind the separator {} before it",
                Excerpt(key),
                Excerpt(separator)
            )));
        }
        Ok(())
    }

    /// The last key is not behind the block's separator.
    fn check_end(&mut self, entry: &IndexEntry) -> Result<()> {
        self.separator = Some(entry.separator.clone());
        if self
            .compare_to_separator(&self.last, &entry.separator)
            .is_some_and(std::cmp::Ordering::is_gt)
        {
            return Err(Error::corruption(format!(
                "the block ends with {}, behind its separator {}",
                Excerpt(&self.last),
                Excerpt(&entry.separator)
            )));
        }
        Ok(())
    }

    fn compare_to_separator(&self, key: &[u8], separator: &[u8]) -> Option<std::cmp::Ordering> {
        let order = self.order()?;
        if !self.format.user_keys {
            return Some(order.compare_internal(key, separator));
        }
        let user_key = InternalKey::decode(key).ok()?.user_key;
        Some(order.compare(user_key, separator))
    }

    fn check_filter(&self, key: InternalKey<'_>) -> Result<()> {
        let Some(reader) = &self.reader else { return Ok(()) };
        let lookup = LookupKey::new(key.user_key, key.seqno);
        let mut ctx = ReadContext::default();
        if !reader.may_contain(&lookup, &mut ctx)? {
            return Err(Error::corruption(format!(
                "the filter rules out {}, which is in the block",
                Excerpt(key.user_key)
            )));
        }
        if !reader.prefix_may_match(key.user_key, &mut ctx)? {
            return Err(Error::corruption(format!(
                "the filter rules out the prefix of {}, which is in the block",
                Excerpt(key.user_key)
            )));
        }
        Ok(())
    }
}
