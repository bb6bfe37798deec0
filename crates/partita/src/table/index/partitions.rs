use std::ops::Range;
use std::sync::OnceLock;

use crate::error::Result;
use crate::key::{KeyOrder, PACKED_LEN};
use crate::table::BlockHandle;
use crate::table::block::prefix::prefix_word;
use crate::table::block::{IndexFormat, IndexWalk};

/// The top level of an index or of a partitioned filter: where its partitions are, and a slot for each.
///
/// ```text
/// words    u64 each: the first 8 bytes of the separator, which compare like it    searched first
/// ends     u32 each: where the separator ends in `keys`                           searched for ties
/// handles  offset and size of the partition
/// slots    the parsed partition, once it was used
/// ```
///
/// Partition `i` holds the keys in (separator `i - 1`, separator `i`]. Built at its first use; searching
/// it touches flat arrays only, and a partition in use is one load away. An index of one block is a table of one
/// partition without separators.
#[derive(Debug)]
pub(crate) struct Partitions<S> {
    /// Bytes of a separator behind its user key.
    packed_len: usize,
    /// Kept for the bytewise order only.
    words: Box<[u64]>,
    ends: Box<[u32]>,
    keys: Box<[u8]>,
    handles: Box<[BlockHandle]>,
    slots: Box<[S]>,
}

/// Where a parsed partition is kept.
pub(crate) trait Slot: Default {
    type Partition;

    fn cell(&self) -> &OnceLock<Self::Partition>;
}

impl<T> Slot for OnceLock<T> {
    type Partition = T;

    #[inline]
    fn cell(&self) -> &OnceLock<T> {
        self
    }
}

impl<S: Slot> Partitions<S> {
    /// One partition that holds all keys.
    pub(crate) fn single(handle: BlockHandle) -> Self {
        Self {
            packed_len: 0,
            words: Box::default(),
            ends: Box::default(),
            keys: Box::default(),
            handles: [handle].into(),
            slots: [S::default()].into(),
        }
    }

    /// The partitions that a top-level block lists.
    ///
    /// They are kept once they were used, so each must have a place of its own in the file.
    pub(crate) fn parse(contents: &[u8], format: IndexFormat, order: &KeyOrder) -> Result<Self> {
        let (mut words, mut ends, mut keys) = (vec![], vec![], vec![]);
        let mut handles: Vec<BlockHandle> = vec![];
        let mut walk = IndexWalk::new(contents, format)?;
        let mut budget = walk.key_budget();
        while walk.advance()? {
            budget.spend(walk.key())?;
            if matches!(order, KeyOrder::Bytewise) {
                words.push(prefix_word(walk.user_key()));
            }
            keys.extend_from_slice(walk.key());
            ends.push(keys.len() as u32);
            if let Some(previous) = handles.last() {
                walk.handle().follow(previous)?;
            }
            handles.push(walk.handle());
        }
        Ok(Self {
            packed_len: if format.user_keys { 0 } else { PACKED_LEN },
            words: words.into(),
            ends: ends.into(),
            keys: keys.into(),
            slots: handles.iter().map(|_| S::default()).collect(),
            handles: handles.into(),
        })
    }

    /// Number of partitions.
    pub(crate) fn len(&self) -> usize {
        self.handles.len()
    }

    /// The first partition whose separator is not before (`user_key`, `packed`); [`Partitions::len`] if there is none.
    #[inline]
    pub(crate) fn locate(&self, order: &KeyOrder, user_key: &[u8], packed: u64) -> usize {
        let tied = match order {
            KeyOrder::Bytewise => {
                let word = prefix_word(user_key);
                let start = self.words.partition_point(|&other| other < word);
                match self.words.get(start) {
                    Some(&other) if other == word => {
                        start..start + self.words[start..].partition_point(|&other| other == word)
                    }
                    _ => start..start,
                }
            }
            _ => 0..self.ends.len(),
        };
        self.locate_among(tied, order, user_key, packed)
    }

    fn locate_among(
        &self,
        Range { start: mut low, end: mut high }: Range<usize>,
        order: &KeyOrder,
        user_key: &[u8],
        packed: u64,
    ) -> usize {
        while low < high {
            let middle = low + (high - low) / 2;
            let (other, other_packed) = self.separator_parts(middle);
            let relation = order.compare(other, user_key);
            let before = match other_packed {
                Some(other_packed) => relation.then(packed.cmp(&other_packed)).is_lt(),
                None => relation.is_lt(),
            };
            if before {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The user key of separator `at`; the empty key where there are no separators.
    pub(crate) fn separator(&self, at: usize) -> &[u8] {
        self.separator_parts(at).0
    }

    fn separator_parts(&self, at: usize) -> (&[u8], Option<u64>) {
        let end = self.ends.get(at).map_or(0, |end| *end as usize);
        let start =
            at.checked_sub(1).and_then(|at| self.ends.get(at)).map_or(0, |end| *end as usize);
        let key = self.keys.get(start..end).unwrap_or_default();
        if self.packed_len == 0 {
            return (key, None);
        }
        match key.split_last_chunk::<PACKED_LEN>() {
            Some((user_key, packed)) => (user_key, Some(u64::from_le_bytes(*packed))),
            None => (key, None),
        }
    }

    /// Where partition `at` is in the file.
    pub(crate) fn handle(&self, at: usize) -> Option<BlockHandle> {
        self.handles.get(at).copied()
    }

    /// All partitions in order.
    pub(crate) fn handles(&self) -> &[BlockHandle] {
        &self.handles
    }

    /// Partition `at`, parsed by `load` at its first use.
    #[inline]
    pub(crate) fn get_or_load(
        &self,
        at: usize,
        load: impl FnOnce(BlockHandle) -> Result<S::Partition>,
    ) -> Result<Option<&S::Partition>> {
        let Some(cell) = self.slots.get(at).map(S::cell) else { return Ok(None) };
        if let Some(partition) = cell.get() {
            return Ok(Some(partition));
        }
        let Some(handle) = self.handle(at) else { return Ok(None) };
        let partition = load(handle)?;
        Ok(Some(cell.get_or_init(|| partition)))
    }

    /// Bytes that the table holds in memory, without the partitions.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + size_of_val(&*self.words)
            + size_of_val(&*self.ends)
            + self.keys.len()
            + size_of_val(&*self.handles)
            + size_of_val(&*self.slots)
    }

    /// The partitions that are in memory.
    pub(crate) fn loaded(&self) -> impl Iterator<Item = &S::Partition> {
        self.slots.iter().filter_map(|slot| slot.cell().get())
    }
}
