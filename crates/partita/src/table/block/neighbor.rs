//! The entries next to a key in one data block: the newest visible one of the greatest user key not behind a bound, or of
//! the smallest not before it.
//!
//! ```text
//! entries       a@9  a@3 | c@8  c@5 | c@2  e@7        user key @ sequence number, | restart points
//! floor of d, as of 6:      c@5                       the walk starts at the last restart point before the bound,
//!                           ^^^ <--- c@2              finds c@2 at its interval's start, and looks one back
//! ceiling of b, as of 4:           c@2                the first visible entry behind the target
//! ```

use std::ops::{Bound, Range};

use super::search::Target;
use super::{BlockCursor, DataBlock, KeyBuf};
use crate::error::Result;
use crate::key::{KeyOrder, PACKED_LEN, SeqNo, ValueType, pack};

/// An entry next to a key.
#[derive(Debug)]
pub(in crate::table) struct BlockNeighbor {
    pub(in crate::table) user_key: KeyBuf,
    /// Sequence number and type.
    pub(in crate::table) packed: u64,
    /// Where the value stands in the block.
    pub(in crate::table) value: Range<usize>,
    /// Whether it has the user key of the block's first entry, so that the block before may hold newer ones. Only of a
    /// floor.
    pub(in crate::table) reaches_start: bool,
}

/// The position in a table behind all entries that a floor under `bound` may be: its user key and packed word.
///
/// * Returns `None` if that is the end.
pub(in crate::table) fn floor_target(bound: Bound<&[u8]>) -> Option<(&[u8], u64)> {
    match bound {
        Bound::Included(user_key) => Some((user_key, 0)),
        Bound::Excluded(user_key) => Some((user_key, u64::MAX)),
        Bound::Unbounded => None,
    }
}

/// The position before the first entry that a ceiling over `bound` may be.
///
/// * Returns `None` if that is the start.
pub(in crate::table) fn ceil_target(bound: Bound<&[u8]>, seqno: SeqNo) -> Option<(&[u8], u64)> {
    match bound {
        Bound::Included(user_key) => Some((user_key, pack(seqno, ValueType::FOR_SEEK))),
        Bound::Excluded(user_key) => Some((user_key, 0)),
        Bound::Unbounded => None,
    }
}

impl DataBlock {
    /// The newest visible entry of the greatest user key that has one, among those not behind `bound`.
    ///
    /// * `seqno`: entries up to it are visible.
    pub(in crate::table) fn find_floor(
        &self,
        order: &KeyOrder,
        bound: Bound<&[u8]>,
        seqno: SeqNo,
    ) -> Result<Option<BlockNeighbor>> {
        if self.is_empty() {
            return Ok(None);
        }
        let (mut interval, mut at) = match floor_target(bound) {
            Some((user_key, packed)) => {
                let start = self.start_of(order, Target { user_key, packed })?;
                (start.interval, start.at)
            }
            None => (self.layout.restart_count - 1, self.restart(self.layout.restart_count - 1)),
        };
        let mut walk = FloorWalk { block: self, order, bound, seqno, cursor: BlockCursor::new() };
        let mut best = walk.over(interval, self.layout.keys_end)?;
        // While nothing visible is found, or what is found may have newer entries before it, one more interval back.
        while interval > 0 && best.as_ref().is_none_or(|best| best.reaches_start) {
            interval -= 1;
            let found = walk.over(interval, at)?;
            at = self.restart(interval);
            best = match (best, found) {
                (None, found) => found,
                (Some(best), Some(found))
                    if order.compare(&best.user_key, &found.user_key).is_eq() =>
                {
                    Some(found)
                }
                (Some(best), _) => return Ok(Some(BlockNeighbor { reaches_start: false, ..best })),
            };
        }
        Ok(best)
    }

    /// The newest visible entry of the smallest user key that has one, among those not before `bound`.
    pub(in crate::table) fn find_ceil(
        &self,
        order: &KeyOrder,
        bound: Bound<&[u8]>,
        seqno: SeqNo,
    ) -> Result<Option<BlockNeighbor>> {
        let mut cursor = BlockCursor::new();
        match ceil_target(bound, seqno) {
            Some((user_key, packed)) => {
                cursor.seek_to(self, order, Target { user_key, packed })?;
            }
            None => cursor.seek_to_first(self)?,
        }
        // Newer entries of a key come first, so the first visible one is the newest.
        while cursor.is_valid() {
            let (user_key, packed) = split(cursor.key());
            let excluded = matches!(bound, Bound::Excluded(bound)
                if order.compare(user_key, bound).is_eq());
            if SeqNo::from_packed(packed) <= seqno && !excluded {
                let user_key = KeyBuf::from(user_key);
                let value = cursor.value_range();
                return Ok(Some(BlockNeighbor { user_key, packed, value, reaches_start: false }));
            }
            cursor.next(self)?;
        }
        Ok(None)
    }
}

/// A walk over parts of a block for a floor.
struct FloorWalk<'b> {
    block: &'b DataBlock,
    order: &'b KeyOrder,
    bound: Bound<&'b [u8]>,
    seqno: SeqNo,
    cursor: BlockCursor<super::DataFormat>,
}

impl FloorWalk<'_> {
    /// The floor among the entries from restart point `interval` up to offset `end`.
    ///
    /// `reaches_start` is about these entries.
    fn over(&mut self, interval: usize, end: usize) -> Result<Option<BlockNeighbor>> {
        let mut first: Option<KeyBuf> = None;
        let mut best_key = KeyBuf::new();
        let mut best: Option<(u64, Range<usize>)> = None;
        self.cursor.jump(self.block, interval);
        while self.cursor.next_offset() < end {
            self.cursor.step(self.block)?;
            if !self.cursor.is_valid() {
                break;
            }
            let (user_key, packed) = split(self.cursor.key());
            if !self.is_inside(user_key) {
                break;
            }
            first.get_or_insert_with(|| KeyBuf::from(user_key));
            let visible = SeqNo::from_packed(packed) <= self.seqno;
            if visible && (best.is_none() || self.order.compare(user_key, &best_key).is_ne()) {
                best_key.set(user_key);
                best = Some((packed, self.cursor.value_range()));
            }
        }
        Ok(best.map(|(packed, value)| {
            let is_first = |first: &KeyBuf| self.order.compare(&best_key, first).is_eq();
            let reaches_start = first.as_ref().is_some_and(is_first);
            BlockNeighbor { user_key: best_key, packed, value, reaches_start }
        }))
    }

    fn is_inside(&self, user_key: &[u8]) -> bool {
        match self.bound {
            Bound::Included(bound) => self.order.compare(user_key, bound).is_le(),
            Bound::Excluded(bound) => self.order.compare(user_key, bound).is_lt(),
            Bound::Unbounded => true,
        }
    }
}

/// The parts of a key in a block of internal keys, where all have 8 bytes or more.
#[inline]
fn split(key: &[u8]) -> (&[u8], u64) {
    match key.split_last_chunk::<PACKED_LEN>() {
        Some((user_key, packed)) => (user_key, u64::from_le_bytes(*packed)),
        None => (key, 0),
    }
}
