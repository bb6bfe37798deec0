use std::fmt;
use std::sync::Arc;

use super::family::{ColumnFamily, FamilyState};
use super::read_options::ReadOptions;
use super::read_view::ReadView;
use super::source::{Gather, ViewIterator};
use crate::error::Result;
use crate::iter::{Bounds, Skipped, VisibleIterator, VisibleOptions};
use crate::key::SeqNo;
use crate::table::ReadContext;

/// What an iterator shows.
#[derive(Clone, Debug, Default)]
pub struct IterOptions {
    /// Which keys. Default: all.
    pub bounds: Bounds,
    /// Only keys with the same prefix as the target of the last seek, if the column family has a prefix extractor and
    /// the target has a prefix. Default: all keys, in total order.
    pub same_prefix: bool,
    /// At which moment, and how far it may go.
    pub read: ReadOptions,
}

/// A walk over the keys of a column family, as they were when it was made.
///
/// Each user key is shown once, with its newest value. It stands nowhere until it is told where to go. `key` and `value`
/// may be asked only while [`DbIterator::is_valid`]. A failed move leaves it standing nowhere and says why; a later seek
/// starts afresh.
///
/// It keeps the memtables and files that it reads from alive, also past the end of the database.
pub struct DbIterator {
    inner: VisibleIterator<ViewIterator>,
    family: Arc<FamilyState>,
    /// Held for the files' sake.
    _view: Arc<ReadView>,
}

impl DbIterator {
    pub(super) fn new(
        family: &ColumnFamily,
        view: Arc<ReadView>,
        read_seqno: SeqNo,
        options: IterOptions,
    ) -> Result<Self> {
        let family = Arc::clone(&family.0);
        let order = family.family.key_order();
        let bounds = Arc::new(options.bounds);
        let ctx = &mut ReadContext::default();
        options.read.limit(ctx);
        let inner = Gather::new(order, read_seqno, &bounds).view(&family, &view, ctx)?.finish();
        let same_prefix = match options.same_prefix {
            true => family.options.table.prefix_extractor.clone(),
            false => None,
        };
        let merge_operator = family.merge_operator.clone();
        let visible = VisibleOptions {
            bounds,
            merge_operator,
            same_prefix,
            ..VisibleOptions::new(order.clone(), read_seqno)
        };
        Ok(Self { inner: VisibleIterator::new(inner, visible), family, _view: view })
    }

    /// Whether it stands on a key.
    #[doc(alias = "Valid")]
    pub fn is_valid(&self) -> bool {
        self.inner.is_valid()
    }

    /// Moves to the first key.
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.inner.seek_to_first()
    }

    /// Moves to the last key.
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.inner.seek_to_last()
    }

    /// Moves to the first key that is not before `user_key`.
    pub fn seek(&mut self, user_key: &[u8]) -> Result<()> {
        self.inner.seek(user_key)
    }

    /// Moves to the last key that is not behind `user_key`.
    pub fn seek_for_prev(&mut self, user_key: &[u8]) -> Result<()> {
        self.inner.seek_for_prev(user_key)
    }

    /// Moves to the next key.
    #[expect(
        clippy::should_implement_trait,
        reason = "a walk in both directions, whose steps can fail"
    )]
    pub fn next(&mut self) -> Result<()> {
        self.inner.next()
    }

    /// Moves to the key before.
    pub fn prev(&mut self) -> Result<()> {
        self.inner.prev()
    }

    /// The key there.
    pub fn key(&self) -> &[u8] {
        self.inner.key()
    }

    /// The value there.
    pub fn value(&self) -> &[u8] {
        self.inner.value()
    }

    /// Entries that were looked at and not shown: what a walk over deleted keys costs.
    pub fn skipped(&self) -> Skipped {
        self.inner.skipped()
    }
}

impl fmt::Debug for DbIterator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DbIterator")
            .field("family", &self.family.family.name())
            .field("is_valid", &self.is_valid())
            .finish_non_exhaustive()
    }
}
