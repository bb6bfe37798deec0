use std::sync::Arc;

use super::scope::{Scope, Verdict};
use crate::error::Result;
use crate::iter::InternalIterator;
use crate::key::KeyOrder;
use crate::table::{TableIter, TableReader};
use crate::version::TableFile;

/// A walk over one table, which stays away from it where it can know that nothing is there for it: outside of the
/// table's bounds, and if the table's filter rules out all that the walk is after.
pub(super) struct FileIter {
    iter: TableIter,
    table: Arc<TableReader>,
    file: Arc<TableFile>,
    scope: Arc<Scope>,
    verdict: Verdict,
}

impl FileIter {
    pub(super) fn new(file: &Arc<TableFile>, table: &Arc<TableReader>, scope: &Arc<Scope>) -> Self {
        let mut iter = table.iter_in(&scope.context());
        if let Some(bytes) = scope.readahead_bytes {
            iter.set_readahead(bytes);
        }
        Self {
            iter,
            table: Arc::clone(table),
            file: Arc::clone(file),
            scope: Arc::clone(scope),
            verdict: Verdict::default(),
        }
    }

    /// The walk inside of the table.
    pub(super) fn table_iter(&self) -> &TableIter {
        &self.iter
    }

    fn order(&self) -> &KeyOrder {
        self.table.key_order()
    }

    /// Moves the walk, unless there is nothing to be found.
    fn place(
        &mut self,
        is_outside: bool,
        place: impl FnOnce(&mut TableIter) -> Result<()>,
    ) -> Result<()> {
        if is_outside || self.verdict.rules_out(&self.scope, &self.table)? {
            self.iter.leave();
            return Ok(());
        }
        place(&mut self.iter)
    }
}

impl Drop for FileIter {
    fn drop(&mut self) {
        self.scope.charge(self.iter.context());
    }
}

impl InternalIterator for FileIter {
    #[inline]
    fn is_valid(&self) -> bool {
        self.iter.is_valid()
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.place(false, TableIter::seek_to_first)
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.place(false, TableIter::seek_to_last)
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        let is_outside = self.order().compare_internal(&self.file.largest, target).is_lt();
        self.place(is_outside, |iter| iter.seek(target))
    }

    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        let is_outside = self.order().compare_internal(&self.file.smallest, target).is_gt();
        self.place(is_outside, |iter| iter.seek_for_prev(target))
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        self.iter.next()
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        self.iter.prev()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.iter.key()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.iter.value()
    }
}
