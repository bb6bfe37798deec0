use std::ops::Range;

use crate::key::{KeyOrder, PACKED_LEN};
use crate::table::block::{IndexFormat, IndexWalk};
use crate::util::prefix::prefix_long_word;

/// The keys that tell the pieces of an index or filter apart.
///
/// ```text
/// words    u128 each: the first 16 bytes of the separator, which compare like it    searched first
/// ends     u32 each: where the separator ends in `keys`                             searched for ties
/// ```
///
/// Piece `i` holds the keys in (separator `i - 1`, separator `i`]. Searching touches flat arrays only. Words of 8 bytes would
/// leave keys of two numbers, such as ledger and entry, tied in the first.
#[derive(Debug, Default)]
pub(crate) struct Separators {
    /// Bytes of a separator behind its user key.
    packed_len: usize,
    /// Kept for the bytewise order only.
    words: Box<[u128]>,
    ends: Box<[u32]>,
    keys: Box<[u8]>,
}

/// Takes separators in, in their order.
#[derive(Debug)]
pub(crate) struct SeparatorsBuilder {
    packed_len: usize,
    bytewise: bool,
    words: Vec<u128>,
    ends: Vec<u32>,
    keys: Vec<u8>,
}

impl SeparatorsBuilder {
    pub(crate) fn new(format: IndexFormat, order: &KeyOrder) -> Self {
        Self {
            packed_len: if format.user_keys { 0 } else { PACKED_LEN },
            bytewise: matches!(order, KeyOrder::Bytewise),
            words: Vec::new(),
            ends: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Adds the key at which the walk stands.
    pub(crate) fn push(&mut self, walk: &IndexWalk<'_>) {
        if self.bytewise {
            self.words.push(prefix_long_word(walk.user_key()));
        }
        self.keys.extend_from_slice(walk.key());
        self.ends.push(self.keys.len() as u32);
    }

    pub(crate) fn finish(self) -> Separators {
        let Self { packed_len, words, ends, keys, .. } = self;
        Separators { packed_len, words: words.into(), ends: ends.into(), keys: keys.into() }
    }
}

impl Separators {
    /// The first piece whose separator is not before (`user_key`, `packed`); the number of separators if
    /// there is none.
    #[inline]
    pub(crate) fn locate(&self, order: &KeyOrder, user_key: &[u8], packed: u64) -> usize {
        let tied = match order {
            KeyOrder::Bytewise => {
                let word = prefix_long_word(user_key);
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
            let (other, other_packed) = self.parts(middle);
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

    /// The user key of separator `at`; the empty key where there is none.
    pub(crate) fn user_key(&self, at: usize) -> &[u8] {
        self.parts(at).0
    }

    fn parts(&self, at: usize) -> (&[u8], Option<u64>) {
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

    /// Bytes of memory held outside of this object.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.words) + size_of_val(&*self.ends) + self.keys.len()
    }
}
