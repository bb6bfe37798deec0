//! The borders of fragments: the keys where tombstones start and end, and how they are found.
//!
//! Keys are compared as words first, eight bytes behind what all have in common; only keys of equal words are compared as a whole.
//! Who walks asks near the last answer: the search spreads from there, `O(log d)` for a distance of `d`.

use std::ops::Range;

use super::RangeTombstone;
use crate::key::KeyOrder;
use crate::util::prefix::{common_prefix_len, prefix_word};

/// Where fragments meet: keys of the tombstones, found through words that compare like the keys.
#[derive(Debug, Default)]
pub(super) struct Borders {
    /// `2 * tombstone` for its start, one more for its end.
    keys: Vec<u32>,
    /// [`prefix_word`] of each key behind the first `common_len` bytes, which all share. Only in the bytewise order.
    words: Vec<u64>,
    common_len: usize,
}

impl Borders {
    pub(super) fn new(tombstones: &[RangeTombstone], order: &KeyOrder) -> Self {
        let key = |border: u32| border_key(tombstones, border);
        let mut keys: Vec<u32> = (0..2 * tombstones.len() as u32).collect();
        keys.sort_by(|a, b| order.compare(key(*a), key(*b)));
        keys.dedup_by(|a, b| order.compare(key(*a), key(*b)).is_eq());
        let (mut words, mut common_len) = (Vec::new(), 0);
        if let (KeyOrder::Bytewise, [first, .., last]) = (order, &keys[..]) {
            common_len = common_prefix_len(key(*first), key(*last));
            words = keys.iter().map(|border| prefix_word(&key(*border)[common_len..])).collect();
        }
        Self { keys, words, common_len }
    }

    pub(super) fn key<'t>(&self, tombstones: &'t [RangeTombstone], at: usize) -> Option<&'t [u8]> {
        self.keys.get(at).map(|border| border_key(tombstones, *border))
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.keys.len() * size_of::<u32>() + self.words.len() * size_of::<u64>()
    }

    /// How many borders are not behind `user_key`.
    pub(super) fn count_up_to(
        &self,
        tombstones: &[RangeTombstone],
        order: &KeyOrder,
        user_key: &[u8],
    ) -> usize {
        let first = |word| self.words.partition_point(|other| *other < word);
        let undecided = self.undecided(tombstones, user_key, first);
        self.count_in(undecided, tombstones, order, user_key)
    }

    /// The same, from a guess.
    pub(super) fn count_up_to_near(
        &self,
        tombstones: &[RangeTombstone],
        order: &KeyOrder,
        user_key: &[u8],
        near: usize,
    ) -> usize {
        let first = |word| first_not_less(&self.words, word, near);
        let undecided = self.undecided(tombstones, user_key, first);
        self.count_in(undecided, tombstones, order, user_key)
    }

    fn count_in(
        &self,
        undecided: Range<usize>,
        tombstones: &[RangeTombstone],
        order: &KeyOrder,
        user_key: &[u8],
    ) -> usize {
        let start = undecided.start;
        let is_up_to =
            |border: &u32| order.compare(border_key(tombstones, *border), user_key).is_le();
        start + self.keys[undecided].partition_point(is_up_to)
    }

    /// The borders whose order to `user_key` the words do not tell: those before the range are smaller, those behind it
    /// greater.
    ///
    /// * `first`: the first border whose word is not less.
    fn undecided(
        &self,
        tombstones: &[RangeTombstone],
        user_key: &[u8],
        first: impl FnOnce(u64) -> usize,
    ) -> Range<usize> {
        let (false, Some(least)) = (self.words.is_empty(), self.key(tombstones, 0)) else {
            return 0..self.keys.len();
        };
        let common = &least[..self.common_len];
        let Some(rest) = user_key.strip_prefix(common) else {
            let at = if *common < *user_key { self.keys.len() } else { 0 };
            return at..at;
        };
        let word = prefix_word(rest);
        let start = first(word);
        // Most often none or one.
        let is_end = |at: usize| self.words.get(at).is_none_or(|other| *other != word);
        let equal = match (is_end(start), is_end(start + 1)) {
            (true, _) => 0,
            (_, true) => 1,
            _ => self.words[start..].partition_point(|other| *other == word),
        };
        start..start + equal
    }
}

/// The first of ascending words that is not less than `word`, searched from `near` outward.
fn first_not_less(words: &[u64], word: u64, near: usize) -> usize {
    let near = near.min(words.len());
    // All in front of `from` are less, none from `to` on is.
    let (mut from, mut to) = (near, near);
    let mut step = 1;
    if words.get(near).is_some_and(|other| *other < word) {
        while let Some(other) = words.get(to)
            && *other < word
        {
            (from, to) = (to + 1, to + step);
            step *= 2;
        }
        to = to.min(words.len());
    } else {
        while from > 0 && words[from - 1] >= word {
            (from, to) = (from.saturating_sub(step), from - 1);
            step *= 2;
        }
    }
    from + words[from..to].partition_point(|other| *other < word)
}

fn border_key(tombstones: &[RangeTombstone], border: u32) -> &[u8] {
    let tombstone = &tombstones[border as usize / 2];
    if border.is_multiple_of(2) { &tombstone.start } else { &tombstone.end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_search_from_a_guess_finds_what_the_search_of_all_does(
            words in proptest::collection::vec(0u64..60, 0..40),
            word in 0u64..62,
            near in 0usize..50,
        ) {
            let mut words = words;
            words.sort_unstable();
            let expected = words.partition_point(|other| *other < word);
            prop_assert_eq!(first_not_less(&words, word, near), expected);
        }
    }
}
