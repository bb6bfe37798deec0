use super::separators::{Separators, SeparatorsBuilder};
use crate::cache::{CacheObject, Reservation, Role, Slots};
use crate::error::Result;
use crate::key::KeyOrder;
use crate::table::BlockHandle;
use crate::table::block::{IndexFormat, IndexWalk};
use crate::table::budget::TableBudget;

/// The pieces of an index or of a filter: which keys each holds, where it is, and a slot that leads to it while it is
/// cached.
///
/// Piece `i` holds the keys in (separator `i - 1`, separator `i`]. Searching the separators touches flat arrays only,
/// and a cached piece is one load away.
#[derive(Debug)]
pub(crate) struct Partitions<T: CacheObject> {
    separators: Separators,
    handles: Box<[BlockHandle]>,
    slots: Slots<T>,
    /// What this takes, without slots and pieces.
    _charge: Reservation,
}

impl<T: CacheObject> Partitions<T> {
    /// * `handles`: as many as separators; or one, without separators, that holds all keys.
    /// * `role`: of the pieces.
    pub(crate) fn new(
        separators: Separators,
        handles: Vec<BlockHandle>,
        budget: &TableBudget,
        role: Role,
    ) -> Self {
        let handles: Box<[BlockHandle]> = handles.into();
        let bytes = separators.heap_bytes() + size_of_val(&*handles);
        Self {
            slots: budget.slots(role, handles.len()),
            _charge: budget.metadata_cache.reserve(Role::TopLevel, bytes),
            separators,
            handles,
        }
    }

    /// One piece that holds all keys.
    pub(crate) fn single(handle: BlockHandle, budget: &TableBudget, role: Role) -> Self {
        Self::new(Separators::default(), vec![handle], budget, role)
    }

    /// The partitions that a top-level block lists.
    ///
    /// Each must have a place of its own in the file, so that all of them together are no more than the file.
    pub(crate) fn parse(
        contents: &[u8],
        format: IndexFormat,
        order: &KeyOrder,
        budget: &TableBudget,
        role: Role,
    ) -> Result<Self> {
        let mut separators = SeparatorsBuilder::new(format, order);
        let mut handles: Vec<BlockHandle> = vec![];
        let mut walk = IndexWalk::new(contents, format)?;
        let mut keys = walk.key_budget();
        while walk.advance()? {
            keys.spend(walk.key())?;
            separators.push(&walk);
            if let Some(previous) = handles.last() {
                walk.handle().follow(previous)?;
            }
            handles.push(walk.handle());
        }
        Ok(Self::new(separators.finish(), handles, budget, role))
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.handles.len()
    }

    /// The first piece that may hold a key which is not before (`user_key`, `packed`); [`Partitions::len`] if there is
    /// none.
    #[inline]
    pub(crate) fn locate(&self, order: &KeyOrder, user_key: &[u8], packed: u64) -> usize {
        self.separators.locate(order, user_key, packed)
    }

    /// The user key of separator `at`; the empty key where there is none.
    pub(crate) fn separator(&self, at: usize) -> &[u8] {
        self.separators.user_key(at)
    }

    /// The pieces whose keys may lie in (`after`, `up_to`]; without a bound, to the end.
    pub(crate) fn overlapping(
        &self,
        order: &KeyOrder,
        after: Option<&[u8]>,
        up_to: Option<&[u8]>,
    ) -> std::ops::Range<usize> {
        let last = self.len().saturating_sub(1);
        // Entries with the border's user key may stand on either side of it.
        let piece_of = |key: &[u8]| self.locate(order, key, u64::MAX).min(last);
        let start = after.map_or(0, piece_of);
        let end = up_to.map_or(last, |key| self.locate(order, key, 0).min(last));
        start..(end + 1).min(self.len())
    }

    /// Where piece `at` is.
    pub(crate) fn handle(&self, at: usize) -> Option<BlockHandle> {
        self.handles.get(at).copied()
    }

    /// All pieces in order.
    pub(crate) fn handles(&self) -> &[BlockHandle] {
        &self.handles
    }

    /// The pieces that are cached.
    #[inline]
    pub(crate) fn slots(&self) -> &Slots<T> {
        &self.slots
    }
}
