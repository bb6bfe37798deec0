//! Floor and ceiling lookups: the entry of the greatest user key not behind a bound, or of the smallest not before it.
//!
//! Neither needs an iterator. The index names the block that holds the answer nearly always, and one search in it finds
//! the entry; the block before or behind is read only if
//!
//! * the bound lies between two blocks, or nothing in the block is visible;
//! * the answer has the user key of its block's first entry, and the separator before the block is of that user key too.
//!
//! What is found may be a deletion or a merge operand, as in [`TableReader::get`]. Whoever merges tables steps on from
//! there with the found key as an excluded bound.

use std::ops::Bound;

use super::block::{BlockNeighbor, DataBlock, KeyBuf, ceil_target, floor_target};
use super::index::IndexCursor;
use super::known_floors::KnownFloor;
use super::pin::Pin;
use super::reader::InIndex;
use super::{BlockHandle, BlockRole, FoundEntry, ReadContext, TableReader};
use crate::cache::Entry;
use crate::error::Result;
use crate::key::{InternalKey, KeyOrder, SeqNo, pack};

/// An entry found next to a key.
#[derive(Clone, Debug)]
pub struct Neighbor {
    /// Its user key.
    pub user_key: KeyBuf,
    /// When and what was written, with the value in the block it was found in.
    pub entry: FoundEntry,
}

/// A floor in a block; one that reaches the block's start may have newer entries in the block before.
struct Floor {
    neighbor: Neighbor,
    reaches_start: bool,
}

/// What a table's index alone tells of the greatest user key not behind a bound. Visibility and deletions are not known
/// there: the keys may be of any entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FloorBounds {
    /// The table has no key before the bound.
    Nothing,
    /// It may have one.
    Within {
        /// There is a key that is not behind the bound and not before this one. `None` if that is not known.
        at_least: Option<KeyBuf>,
        /// No key lies between this one and the bound. `None` if keys may lie up to the bound.
        at_most: Option<KeyBuf>,
    },
}

impl TableReader {
    /// The newest visible entry of the greatest user key that has one, among those not behind `bound`.
    ///
    /// * `bound`: `Included` for the greatest key `<=` it, `Excluded` for `<`, `Unbounded` for the table's last.
    /// * `seqno`: entries written up to it are visible.
    /// * Returns `None` if there is none. The entry may be a deletion; range tombstones are not looked at, and neither
    ///   are filters.
    /// * Errors: `Corruption` naming file, part and offset; `Io`.
    /// * Cost: a search in the index and in one data block; see the module for when more are read.
    ///
    /// ```
    /// use std::ops::Bound;
    /// # use std::sync::Arc;
    /// # use partita::io::MemoryWriter;
    /// # use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
    /// # use partita::options::TableOptions;
    /// # use partita::table::{ReadContext, ReaderOptions, TableBuilder, TableContext, TableReader};
    /// # let file = MemoryWriter::new("000007.sst");
    /// # let mut builder = TableBuilder::new(
    /// #     Box::new(file.clone()), TableOptions::default(), KeyOrder::Bytewise, TableContext::default())?;
    /// # for (user_key, value) in [("apple", "red"), ("pear", "green")] {
    /// #     let key = InternalKey::new(user_key.as_bytes(), SeqNo::new(1).unwrap(), ValueType::Value);
    /// #     builder.add(&key.encode(), value.as_bytes())?;
    /// # }
    /// # builder.finish()?;
    /// # let ctx = &mut ReadContext::default();
    /// # let table = TableReader::open(Arc::new(file.into_file()), &ReaderOptions::default(), ctx)?;
    /// // A table of an apple and a pear.
    /// let floor = table.get_floor(Bound::Included(b"banana"), SeqNo::MAX, ctx)?.unwrap();
    /// assert_eq!((&*floor.user_key, &*floor.entry.value), (&b"apple"[..], &b"red"[..]));
    /// assert!(table.get_floor(Bound::Excluded(b"apple"), SeqNo::MAX, ctx)?.is_none());
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn get_floor(
        &self,
        bound: Bound<&[u8]>,
        seqno: SeqNo,
        ctx: &mut ReadContext,
    ) -> Result<Option<Neighbor>> {
        self.get_floor_above(bound, Bound::Unbounded, seqno, ctx)
    }

    /// The same for who has no use for keys before `limit`: no data block is read that holds only such keys.
    ///
    /// * Returns `None` if the floor is before `limit`.
    pub fn get_floor_above(
        &self,
        bound: Bound<&[u8]>,
        limit: Bound<&[u8]>,
        seqno: SeqNo,
        ctx: &mut ReadContext,
    ) -> Result<Option<Neighbor>> {
        let Some(stored) = self.stored_seqno(seqno) else { return Ok(None) };
        let read_before = ctx.blocks_read[BlockRole::Data];
        let found = self.find_floor(bound, limit, stored, ctx)?;
        if let Some(found) = &found {
            let was_read = ctx.blocks_read[BlockRole::Data] > read_before;
            self.note_floor(bound, found, seqno, was_read, ctx);
        }
        Ok(found.filter(|found| !is_before(&self.order, &found.user_key, limit)))
    }

    /// The greatest user key of all entries that is not behind `bound`, if an earlier lookup found it and it is remembered.
    pub(crate) fn known_floor(&self, bound: Bound<&[u8]>) -> Option<KnownFloor> {
        self.known_floors.get(bound)
    }

    /// Has a floor remembered: always if it took a read from a file, else now and then, so that bounds that come once each
    /// write little.
    fn note_floor(
        &self,
        bound: Bound<&[u8]>,
        floor: &Neighbor,
        seqno: SeqNo,
        was_read: bool,
        ctx: &mut ReadContext,
    ) {
        let all_visible = self.largest_seqno.is_some_and(|largest| seqno >= largest);
        if all_visible && (was_read || ctx.is_sample()) {
            let entries = self.properties.num_entries.unwrap_or(0);
            let found = (&*floor.user_key, pack(floor.entry.seqno, floor.entry.value_type));
            self.known_floors.note(bound, found, entries, &self.budget.metadata_cache);
        }
    }

    fn find_floor(
        &self,
        bound: Bound<&[u8]>,
        limit: Bound<&[u8]>,
        seqno: SeqNo,
        ctx: &mut ReadContext,
    ) -> Result<Option<Neighbor>> {
        let mut first = None;
        if let Some((user_key, packed)) = floor_target(bound) {
            let pin = &mut Pin::default();
            if let InIndex::Block { handle, .. } = self.find_in_index(user_key, packed, pin, ctx)? {
                let found =
                    self.ask_block(handle, pin, ctx, |block| self.floor_in(block, bound, seqno))?;
                match found {
                    Some(Floor { neighbor, reaches_start: false }) => return Ok(Some(neighbor)),
                    found => first = Some((handle, found)),
                }
            }
        }
        self.get_floor_by_walking((limit, bound), seqno, first, ctx)
    }

    /// The newest visible entry of the smallest user key that has one, among those not before `bound`.
    ///
    /// The mirror of [`TableReader::get_floor`]: `Included` for the smallest key `>=` the bound, `Excluded` for `>`,
    /// `Unbounded` for the table's first.
    pub fn get_ceil(
        &self,
        bound: Bound<&[u8]>,
        seqno: SeqNo,
        ctx: &mut ReadContext,
    ) -> Result<Option<Neighbor>> {
        self.get_ceil_below(bound, Bound::Unbounded, seqno, ctx)
    }

    /// The same for who has no use for keys behind `limit`: no data block is read that holds only such keys.
    ///
    /// * Returns `None` if the ceiling is behind `limit`.
    pub fn get_ceil_below(
        &self,
        bound: Bound<&[u8]>,
        limit: Bound<&[u8]>,
        seqno: SeqNo,
        ctx: &mut ReadContext,
    ) -> Result<Option<Neighbor>> {
        let Some(seqno) = self.stored_seqno(seqno) else { return Ok(None) };
        let found = self.find_ceil(bound, limit, seqno, ctx)?;
        Ok(found.filter(|found| !is_behind(&self.order, &found.user_key, limit)))
    }

    fn find_ceil(
        &self,
        bound: Bound<&[u8]>,
        limit: Bound<&[u8]>,
        seqno: SeqNo,
        ctx: &mut ReadContext,
    ) -> Result<Option<Neighbor>> {
        let target = ceil_target(bound, seqno);
        let mut first = None;
        if let Some((user_key, packed)) = target {
            let pin = &mut Pin::default();
            if let InIndex::Block { handle, .. } = self.find_in_index(user_key, packed, pin, ctx)? {
                let found =
                    self.ask_block(handle, pin, ctx, |block| self.ceil_in(block, bound, seqno))?;
                if found.is_some() {
                    return Ok(found);
                }
                first = Some(handle);
            }
        }
        let mut cursor = IndexCursor::default();
        match target {
            Some((user_key, packed)) => cursor.seek(self, user_key, packed, ctx)?,
            None => cursor.seek_to_first(self, ctx)?,
        }
        while let Some(value) = cursor.entry() {
            let handle = value.handle;
            if first != Some(handle) {
                let pin = &mut Pin::default();
                let found =
                    self.ask_block(handle, pin, ctx, |block| self.ceil_in(block, bound, seqno))?;
                if found.is_some() {
                    return Ok(found);
                }
            }
            // No key of the next block is before the separator.
            if cursor.separator().is_some_and(|key| is_behind(&self.order, key, limit)) {
                break;
            }
            cursor.next(self, ctx)?;
        }
        Ok(None)
    }

    /// What the index tells of the floor under `bound`, without a look at a data block.
    ///
    /// A lookup in several tables passes over those that cannot win: with a candidate at or behind `at_most`, this table
    /// holds nothing between it and the bound. Keys that compare like the candidate may still be here.
    ///
    /// * Errors: `Corruption` of the index; `Io`.
    pub fn floor_bounds(&self, bound: Bound<&[u8]>, ctx: &mut ReadContext) -> Result<FloorBounds> {
        // To the last block that is wholly before the bound, if there is one.
        let mut cursor = IndexCursor::default();
        let mut at_most = None;
        let block = match floor_target(bound) {
            Some((user_key, packed)) => {
                cursor.seek(self, user_key, packed, ctx)?;
                cursor.entry().is_some().then_some(user_key)
            }
            None => None,
        };
        match block {
            Some(user_key) => {
                let starts_behind = cursor.first_key().is_some_and(|first| {
                    InternalKey::decode(first)
                        .is_ok_and(|first| self.order.compare(first.user_key, user_key).is_gt())
                });
                cursor.prev(self, ctx)?;
                if starts_behind {
                    at_most = cursor.separator().map(KeyBuf::from);
                }
                if starts_behind && at_most.is_none() {
                    return Ok(FloorBounds::Nothing);
                }
            }
            None => {
                cursor.seek_to_last(self, ctx)?;
                at_most = cursor.separator().map(KeyBuf::from);
                if at_most.is_none() {
                    return Ok(FloorBounds::Nothing);
                }
            }
        }
        // That block has a key, which is not before the separator before it.
        cursor.prev(self, ctx)?;
        let at_least = cursor.separator().map(KeyBuf::from);
        Ok(FloorBounds::Within { at_least, at_most })
    }

    /// From block to block toward the start, for floors that one block does not decide.
    ///
    /// * `range`: from the limit to the bound.
    /// * `first`: a block that was asked already, and its answer.
    #[cold]
    fn get_floor_by_walking(
        &self,
        (limit, bound): (Bound<&[u8]>, Bound<&[u8]>),
        seqno: SeqNo,
        mut first: Option<(BlockHandle, Option<Floor>)>,
        ctx: &mut ReadContext,
    ) -> Result<Option<Neighbor>> {
        let mut cursor = IndexCursor::default();
        match floor_target(bound) {
            Some((user_key, packed)) => cursor.seek(self, user_key, packed, ctx)?,
            None => cursor.seek_to_last(self, ctx)?,
        }
        if cursor.entry().is_none() {
            cursor.seek_to_last(self, ctx)?;
        }
        let mut best: Option<Neighbor> = None;
        while let Some(value) = cursor.entry() {
            // No key of the block is behind its separator.
            let is_over = cursor.separator().is_some_and(|key| is_before(&self.order, key, limit));
            if is_over && best.is_none() {
                break;
            }
            let handle = value.handle;
            let found = match first.take() {
                Some((at, found)) if at == handle => found,
                _ => {
                    let pin = &mut Pin::default();
                    self.ask_block(handle, pin, ctx, |block| self.floor_in(block, bound, seqno))?
                }
            };
            let is_better = |found: &Neighbor| {
                let same =
                    |best: &Neighbor| self.order.compare(&best.user_key, &found.user_key).is_eq();
                best.as_ref().is_none_or(same)
            };
            match found {
                Some(found) if is_better(&found.neighbor) => {
                    best = Some(found.neighbor);
                    if !found.reaches_start {
                        break;
                    }
                }
                None if best.is_none() => {}
                _ => break,
            }
            cursor.prev(self, ctx)?;
            // Newer entries of the key can be in the block before only if its separator is not before the key.
            let is_before = |best: &Neighbor, separator: &[u8]| {
                self.order.compare(separator, &best.user_key).is_lt()
            };
            if let (Some(best), Some(separator)) = (&best, cursor.separator())
                && is_before(best, separator)
            {
                break;
            }
        }
        Ok(best)
    }

    fn floor_in(
        &self,
        block: &Entry<DataBlock>,
        bound: Bound<&[u8]>,
        seqno: SeqNo,
    ) -> Result<Option<Floor>> {
        let Some(found) = block.find_floor(&self.order, bound, seqno)? else { return Ok(None) };
        let reaches_start = found.reaches_start;
        Ok(Some(Floor { neighbor: self.neighbor(block, found)?, reaches_start }))
    }

    fn ceil_in(
        &self,
        block: &Entry<DataBlock>,
        bound: Bound<&[u8]>,
        seqno: SeqNo,
    ) -> Result<Option<Neighbor>> {
        match block.find_ceil(&self.order, bound, seqno)? {
            Some(found) => self.neighbor(block, found).map(Some),
            None => Ok(None),
        }
    }

    fn neighbor(&self, block: &Entry<DataBlock>, found: BlockNeighbor) -> Result<Neighbor> {
        let entry = self.found_entry(block, found.packed, found.value)?;
        Ok(Neighbor { user_key: found.user_key, entry })
    }

    /// The sequence number up to which the entries as stored are visible to a reader at `seqno`.
    ///
    /// * Returns `None` if none are.
    fn stored_seqno(&self, seqno: SeqNo) -> Option<SeqNo> {
        match self.global_seqno {
            None => Some(seqno),
            Some(global) if seqno < global => None,
            Some(_) => Some(SeqNo::MAX),
        }
    }
}

/// Whether `user_key` is before all keys that `limit` lets through.
fn is_before(order: &KeyOrder, user_key: &[u8], limit: Bound<&[u8]>) -> bool {
    match limit {
        Bound::Unbounded => false,
        Bound::Included(limit) => order.compare(user_key, limit).is_lt(),
        Bound::Excluded(limit) => order.compare(user_key, limit).is_le(),
    }
}

/// Whether `user_key` is behind all keys that `limit` lets through.
fn is_behind(order: &KeyOrder, user_key: &[u8], limit: Bound<&[u8]>) -> bool {
    match limit {
        Bound::Unbounded => false,
        Bound::Included(limit) => order.compare(user_key, limit).is_gt(),
        Bound::Excluded(limit) => order.compare(user_key, limit).is_ge(),
    }
}
