use std::ops::Range;

use super::directory::{Lead, Start};
use super::{
    Block, BlockCursor, DataBlock, EntryAt, Format, IndexBlock, IndexValue, damaged_entry, overrun,
};
use crate::error::{Error, Result};
use crate::key::{KeyOrder, PACKED_LEN};
use crate::util::prefetch::prefetch;
use crate::util::prefix::common_prefix_len;

const CACHE_LINE_LEN: usize = 64;
/// Cache lines that the entries of a usual interval take: sixteen of some twenty bytes.
const PREFETCHED_LINES: usize = 5;

/// What a data block says about a user key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The first entry that is not before the target has its user key.
    Entry {
        /// Sequence number and type of the entry.
        packed: u64,
        /// Where its value stands in the block.
        value: Range<usize>,
    },
    /// A greater user key stands where the target would.
    Absent,
    /// All entries are before the target.
    PastEnd,
}

/// The target of a search, taken apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'t> {
    pub(super) user_key: &'t [u8],
    /// Sequence number and type; not used in blocks of plain keys.
    pub(super) packed: u64,
}

/// The first entry that is not before a target.
pub(super) struct Hit<F: Format> {
    pub(super) at: usize,
    pub(super) entry: EntryAt,
    pub(super) state: F::State,
    /// Restart interval of the entry.
    pub(super) interval: usize,
    /// Whether the user keys are the same.
    pub(super) same_user_key: bool,
}

/// What the walk came to.
pub(super) enum Scan<F: Format> {
    Hit(Hit<F>),
    PastEnd,
    /// A key shares a part of the previous key's packed word: the walk must put the keys together.
    NeedsKeys,
}

impl<F: Format> Block<F> {
    /// Takes a target in this block's key form apart.
    ///
    /// * `target`: an internal key if the block has internal keys, else a plain key.
    pub(super) fn target<'t>(&self, target: &'t [u8]) -> Result<Target<'t>> {
        if self.format.packed_len() == 0 {
            return Ok(Target { user_key: target, packed: 0 });
        }
        match target.split_last_chunk::<PACKED_LEN>() {
            Some((user_key, packed)) => {
                Ok(Target { user_key, packed: u64::from_le_bytes(*packed) })
            }
            None => Err(Error::invalid_argument("search target is not an internal key")),
        }
    }

    /// The restart interval in which the first entry that is not before `target` is, or at whose end it would be.
    pub(super) fn start_of(&self, order: &KeyOrder, target: Target<'_>) -> Result<Start> {
        let all = 0..self.layout.restart_count;
        // Matched outside of the loop, so that the built-in orders compare without a call.
        let before = match order {
            KeyOrder::Bytewise => return self.start_bytewise(target),
            KeyOrder::ReverseBytewise => {
                self.restarts_before(all, 1, |key| target.user_key.cmp(key), target)
            }
            KeyOrder::Custom(comparator) => {
                self.restarts_before(all, 1, |key| comparator.compare(key, target.user_key), target)
            }
        };
        Ok(self.start_at(before?.saturating_sub(1)))
    }

    /// The same in bytewise order.
    #[inline]
    fn start_bytewise(&self, target: Target<'_>) -> Result<Start> {
        let Some(directory) = self.directory.get() else {
            let all = 0..self.layout.restart_count;
            let before = self.restarts_before(all, 1, |key| key.cmp(target.user_key), target)?;
            return Ok(self.start_at(before.saturating_sub(1)));
        };
        match directory.lead(&self.bytes, target.user_key) {
            Lead::Start(start) => Ok(start),
            Lead::Tied(tied) => {
                let compare = |key: &[u8]| key.cmp(target.user_key);
                let before = self.restarts_before(tied, directory.stride(), compare, target)?;
                Ok(directory.start(before.saturating_sub(1)))
            }
        }
    }

    fn start_at(&self, interval: usize) -> Start {
        Start { interval, at: self.restart(interval), end: None }
    }

    /// Number of restart points, of every `stride`th, whose key is before the target, if it lies in `range`.
    #[inline]
    fn restarts_before(
        &self,
        range: Range<usize>,
        stride: usize,
        compare: impl Fn(&[u8]) -> std::cmp::Ordering,
        target: Target<'_>,
    ) -> Result<usize> {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(entry) = self.decode_restart(self.restart(middle * stride)) else {
                return Err(self.damaged_restart(middle * stride));
            };
            let key = &self.bytes[entry.key_at..entry.key_end];
            let before = if self.format.packed_len() == 0 {
                compare(key).is_lt()
            } else {
                let (user_key, packed) = split_internal(key);
                compare(user_key).then(target.packed.cmp(&packed)).is_lt()
            };
            if before {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Walks from a restart interval to the first entry that is not before the target, in bytewise order.
    ///
    /// No key is put together on the way. Let `matched` be the length of the prefix that the previous key, which is
    /// before the target, has in common with it. A key that shares more than that with the previous key differs from
    /// the target in the same byte, so it is before the target too. A key that shares at most that starts like the
    /// target up to there, and only its own bytes need comparing.
    pub(super) fn scan_bytewise(&self, start: Start, target: Target<'_>) -> Result<Scan<F>> {
        let packed_len = self.format.packed_len();
        let Start { mut at, interval: mut intervals_passed, mut end } = start;
        self.prefetch_interval(at);
        let mut state = F::State::default();
        let mut next_restart = at;
        let mut matched = 0;
        let mut previous_len = 0;
        while at < self.layout.keys_end {
            let restart = at >= next_restart;
            if restart {
                if at > next_restart {
                    return Err(overrun(at, next_restart));
                }
                intervals_passed += 1;
            }
            let Some(entry) = self.decode(at, restart, &mut state) else {
                return Err(damaged_entry(at));
            };
            if restart && entry.shared != 0 {
                return Err(damaged_entry(at));
            }
            let EntryAt { shared, key_at, key_end, .. } = entry;
            if shared > previous_len || key_end - key_at < packed_len {
                return Ok(Scan::NeedsKeys);
            }
            let own_end = key_end - packed_len;
            if shared <= matched {
                let own = &self.bytes[key_at..own_end];
                let rest = &target.user_key[shared..];
                let common = common_prefix_len(own, rest);
                let order = own.get(common).cmp(&rest.get(common));
                let same_user_key = order.is_eq();
                let before = order.is_lt()
                    || (same_user_key
                        && packed_len != 0
                        && split_internal(&self.bytes[own_end..key_end]).1 > target.packed);
                if !before {
                    let interval = intervals_passed - 1;
                    return Ok(Scan::Hit(Hit { at, entry, state, interval, same_user_key }));
                }
                matched = shared + common;
            }
            previous_len = shared + (own_end - key_at);
            // Only now, since a search that ends at a restart point does without the restart array.
            if restart {
                next_restart = end.take().unwrap_or_else(|| self.restart_or_end(intervals_passed));
            }
            at = entry.next;
        }
        if at > next_restart {
            return Err(overrun(at, next_restart));
        }
        self.check_all_passed(intervals_passed)?;
        Ok(Scan::PastEnd)
    }

    /// At the end of the entries no restart point may be left over.
    #[inline]
    pub(super) fn check_all_passed(&self, intervals_passed: usize) -> Result<()> {
        if intervals_passed < self.layout.restart_count {
            return Err(self.damaged_restart(intervals_passed));
        }
        Ok(())
    }

    /// Asks for the memory of an interval behind its first cache line, which is needed at once.
    #[inline]
    fn prefetch_interval(&self, at: usize) {
        for line in 1..PREFETCHED_LINES {
            prefetch(&self.bytes, at + line * CACHE_LINE_LEN);
        }
    }

    /// Offset of restart point `index`, or where the entries end if there are no more.
    #[inline]
    pub(super) fn restart_or_end(&self, index: usize) -> usize {
        if index < self.layout.restart_count { self.restart(index) } else { self.layout.keys_end }
    }
}

impl DataBlock {
    /// Looks for the first entry that is not before (`user_key`, `packed`).
    ///
    /// * `order`: the order that the block was parsed with.
    pub fn find(&self, order: &KeyOrder, user_key: &[u8], packed: u64) -> Result<Found> {
        if self.is_empty() {
            return Ok(Found::PastEnd);
        }
        let target = Target { user_key, packed };
        if matches!(order, KeyOrder::Bytewise) {
            match self.scan_bytewise(self.start_bytewise(target)?, target)? {
                Scan::Hit(hit) if hit.same_user_key => {
                    let key = &self.bytes[hit.entry.key_at..hit.entry.key_end];
                    let value = hit.entry.value_at..hit.entry.value_end;
                    return Ok(Found::Entry { packed: split_internal(key).1, value });
                }
                Scan::Hit(_) => return Ok(Found::Absent),
                Scan::PastEnd => return Ok(Found::PastEnd),
                Scan::NeedsKeys => {}
            }
        }
        let mut cursor = BlockCursor::new();
        cursor.seek_walking(self, order, target)?;
        if !cursor.is_valid() {
            return Ok(Found::PastEnd);
        }
        let (found, packed) = split_internal(cursor.key());
        if order.compare(found, user_key).is_eq() {
            Ok(Found::Entry { packed, value: cursor.value_range() })
        } else {
            Ok(Found::Absent)
        }
    }

    /// The bytes of a value found here.
    #[inline]
    pub fn value(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }
}

impl IndexBlock {
    /// Finds the first entry that is not before (`user_key`, `packed`).
    ///
    /// * Returns its value, and whether its user key is that of the target; `None` if all entries are before it.
    pub fn find(
        &self,
        order: &KeyOrder,
        user_key: &[u8],
        packed: u64,
    ) -> Result<Option<(IndexValue, bool)>> {
        if self.is_empty() {
            return Ok(None);
        }
        let target = Target { user_key, packed };
        if matches!(order, KeyOrder::Bytewise) {
            match self.scan_bytewise(self.start_bytewise(target)?, target)? {
                Scan::Hit(hit) => return Ok(Some((hit.state, hit.same_user_key))),
                Scan::PastEnd => return Ok(None),
                Scan::NeedsKeys => {}
            }
        }
        let mut cursor = BlockCursor::new();
        cursor.seek_walking(self, order, target)?;
        if !cursor.is_valid() {
            return Ok(None);
        }
        let found = self.user_key_of(cursor.key());
        let same_user_key = order.compare(found, user_key).is_eq();
        Ok(Some((cursor.state().clone(), same_user_key)))
    }

    /// The user key in a key of this block.
    pub fn user_key_of<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        &key[..key.len().saturating_sub(self.format.packed_len())]
    }

    /// The first internal key of the block that `value`, found here, points at; `None` if the index has none.
    pub fn first_key(&self, value: &IndexValue) -> Option<&[u8]> {
        self.format.first_keys.then(|| self.bytes.get(value.first_key.clone()).unwrap_or_default())
    }
}

/// The parts of an internal key that was checked to have 8 bytes or more.
#[inline]
fn split_internal(key: &[u8]) -> (&[u8], u64) {
    match key.split_last_chunk::<PACKED_LEN>() {
        Some((user_key, packed)) => (user_key, u64::from_le_bytes(*packed)),
        None => (&[], 0),
    }
}
