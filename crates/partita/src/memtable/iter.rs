use std::sync::Arc;

use super::MemTable;
use super::order::with_order;
use super::skiplist::Cursor;
use crate::error::Result;
use crate::iter::InternalIterator;
use crate::key::InternalKey;

/// A walk over the point entries of a memtable, in both directions; range tombstones are apart.
///
/// It sees entries that are inserted after it was made, wherever it has not been. It never fails but for a target that
/// is no internal key.
#[derive(Debug)]
pub struct MemTableIter {
    memtable: Arc<MemTable>,
    cursor: Cursor,
}

impl MemTableIter {
    pub(super) fn new(memtable: Arc<MemTable>) -> Self {
        let cursor = Cursor::new(Arc::clone(&memtable.list));
        Self { memtable, cursor }
    }

    /// The memtable walked over.
    pub fn memtable(&self) -> &Arc<MemTable> {
        &self.memtable
    }
}

impl InternalIterator for MemTableIter {
    #[inline]
    fn is_valid(&self) -> bool {
        self.cursor.node().is_some()
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.cursor.seek_to_first();
        Ok(())
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.cursor.seek_to_last();
        Ok(())
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        let target = InternalKey::decode_target(target)?;
        with_order!(&self.memtable.order, order => {
            self.cursor.seek(order, target.user_key, target.packed());
        });
        Ok(())
    }

    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        let target = InternalKey::decode_target(target)?;
        with_order!(&self.memtable.order, order => {
            self.cursor.seek_for_prev(order, target.user_key, target.packed());
        });
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        self.cursor.next();
        Ok(())
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        self.cursor.prev();
        Ok(())
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.cursor.node().map_or(&[], |node| node.key())
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.cursor.node().map_or(&[], |node| node.value())
    }
}
