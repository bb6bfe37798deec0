//! The search directory of a block: what its restart keys look like and where they stand, in few cache lines.
//!
//! ```text
//! top      | word 0 | word 5 | word 10 | ...                          8 words a line: the first of each group
//! groups   | word 0 ... word 4 | offset 0 ... offset 4 | offset 5 |   one group a line; the last offset is where
//!          | word 5 ... word 9 | offset 5 ... offset 9 | offset 10|   the next group, or the entries' end, is
//! ```
//!
//! All restart keys noted here start with the same `common` bytes; of what follows, a word holds the first 8 bytes as a
//! big-endian integer, padded with zeros. A smaller word means a smaller key; equal words say nothing, and the search
//! looks at the keys themselves. Only for the bytewise order.
//!
//! A search counts the words of the top that are smaller than the target's, then those of one group, without a branch
//! that depends on the keys. The lines of the top do not wait for each other, so a block that is in no processor cache
//! costs about three misses up to the entries: a line of the top, a group, the interval. Halving the range over the
//! restart points costs two for every step.
//!
//! Where the words grow evenly (entries of a log, numbers given out one after another), a word tells by itself about
//! where it is (`trend.rs`). Then the search leaves out the top, and it asks for the interval's lines before the group
//! has told which interval it is: the misses overlap, and one is left.

use std::ops::Range;

use super::trend::Trend;
use crate::util::prefix::{common_prefix_len, prefix_word};

/// Restart points in a group: so many words, with one offset more, fill a cache line.
const GROUP_LEN: usize = 5;
/// Words in a line of the top.
const TOP_LINE_LEN: usize = 8;
/// Lines of the top that are counted as a whole; of more, the right one is looked for first.
const TOP_LINES_COUNTED: usize = 8;
/// Bytes of the common prefix that stand in the directory itself.
const COMMON_HEAD_LEN: usize = 24;
/// A trend is of use if it misses no restart point by more places than a group has: so the group is found, or it is the
/// next one on either side.
const TREND_MISSES_MAX: f64 = GROUP_LEN as f64;

/// A cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

pub(super) struct Directory {
    /// The top, then the groups.
    lines: Box<[Line]>,
    top_len: u32,
    /// Restart points noted: every `stride`th.
    count: u32,
    stride: u32,
    /// Where in the block the bytes are that all keys start with.
    common: Range<u32>,
    /// The first of them again, so that a search does not wait for the block's start.
    common_head: [u8; COMMON_HEAD_LEN],
    trend: Option<Trend>,
}

/// A restart point as the directory notes it.
#[derive(Clone, Copy)]
pub(super) struct Noted {
    /// [`prefix_word`] of the user key behind the common bytes.
    pub(super) word: u64,
    /// Where the entry is.
    pub(super) at: u32,
}

/// Where a walk to a target starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    /// Restart interval.
    pub(super) interval: usize,
    /// Offset of its first entry.
    pub(super) at: usize,
    /// Where the interval ends, if that is known without a look at the restart array.
    pub(super) end: Option<usize>,
}

/// What the words say about a target.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// The last restart point before the target, or the first one of all; if the next one's word alone is the target's,
    /// that one may be before the target, too.
    Start(Start),
    /// The words of these restart points, as they are noted, are the target's: two or more. Those before are smaller,
    /// those behind greater.
    Tied(Range<usize>),
}

impl Directory {
    /// * `noted`: every `stride`th restart point in the order of the block, at least one.
    /// * `entries_end`: where the last interval ends.
    /// * `contents`: those of the block.
    /// * `common`: where in the block the bytes are that all noted keys start with.
    pub(super) fn new(
        noted: &[Noted],
        stride: usize,
        entries_end: usize,
        contents: &[u8],
        common: Range<u32>,
    ) -> Self {
        let groups = noted.chunks(GROUP_LEN);
        let top_len = groups.len().div_ceil(TOP_LINE_LEN);
        let mut lines = Vec::with_capacity(top_len + groups.len());
        // Words that are not there are greater than any target.
        lines.resize(top_len, Line([u64::MAX; 8]));
        for (number, group) in groups.enumerate() {
            lines[number / TOP_LINE_LEN].0[number % TOP_LINE_LEN] = group[0].word;
            let behind = noted.get((number + 1) * GROUP_LEN).map_or(entries_end as u32, |n| n.at);
            lines.push(Line::of_group(group, behind));
        }
        let mut common_head = [0; COMMON_HEAD_LEN];
        for (copy, byte) in common_head.iter_mut().zip(bytes_at(contents, &common)) {
            *copy = *byte;
        }
        Self {
            lines: lines.into(),
            top_len: top_len as u32,
            count: noted.len() as u32,
            stride: stride as u32,
            common,
            common_head,
            trend: Trend::of(noted, entries_end, TREND_MISSES_MAX),
        }
    }

    /// Number of restart points noted.
    fn len(&self) -> usize {
        self.count as usize
    }

    /// How many restart points one of those noted stands for.
    pub(super) fn stride(&self) -> usize {
        self.stride as usize
    }

    /// Where to look for `target`, a user key.
    ///
    /// * `contents`: those of the block.
    #[inline]
    pub(super) fn lead(&self, contents: &[u8], target: &[u8]) -> Lead {
        let common = self.common_bytes(contents);
        if common_prefix_len(common, target) < common.len() {
            // All keys start with `common`, so all are on the same side, or longer than a target that `common`
            // starts with.
            let smaller = *common < *target;
            return Lead::Start(self.start(if smaller { self.len() - 1 } else { 0 }));
        }
        let word = prefix_word(&target[common.len()..]);
        let (top, groups) = self.lines.split_at(self.top_len as usize);
        let groups_before = self.groups_before(top, groups, contents, word);
        let group = groups_before.saturating_sub(1);
        let line = &groups[group];
        let inside: usize =
            line.0[..GROUP_LEN].iter().map(|other| usize::from(*other < word)).sum();
        let behind = group * GROUP_LEN + inside;
        // One key whose word is the target's costs less to walk to, from the restart point before it, than to compare.
        let is_tied = |index| index < self.len() && self.word(groups, index) == word;
        if is_tied(behind) && is_tied(behind + 1) {
            return Lead::Tied(self.run_of(word, behind));
        }
        let slot = inside.max(1) - 1;
        Lead::Start(self.start_at(group * GROUP_LEN + slot, line, slot))
    }

    /// What all keys start with.
    #[inline]
    fn common_bytes<'a>(&'a self, contents: &'a [u8]) -> &'a [u8] {
        self.common_head
            .get(..self.common.len())
            .unwrap_or_else(|| bytes_at(contents, &self.common))
    }

    /// Number of groups whose first word is smaller than `word`.
    #[inline]
    fn groups_before(&self, top: &[Line], groups: &[Line], contents: &[u8], word: u64) -> usize {
        if let Some(trend) = &self.trend {
            let index = trend.index_of(word).min(self.len() - 1);
            trend.prefetch(contents, index);
            let guess = index / GROUP_LEN;
            let is_before = |group: usize| groups.get(group).is_some_and(|line| line.0[0] < word);
            match (is_before(guess), is_before(guess + 1)) {
                (true, false) => return guess + 1,
                (true, true) if !is_before(guess + 2) => return guess + 2,
                (false, false) if guess == 0 || is_before(guess - 1) => return guess,
                _ => {}
            }
        }
        count_below(top, word)
    }

    /// The word of a restart point as it is noted, below [`Directory::len`].
    #[inline]
    fn word(&self, groups: &[Line], index: usize) -> u64 {
        groups[index / GROUP_LEN].0[index % GROUP_LEN]
    }

    /// The restart points from `start` on whose word is `word`.
    #[inline(never)]
    fn run_of(&self, word: u64, start: usize) -> Range<usize> {
        let (mut low, mut high) = (start, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.group(middle).0[middle % GROUP_LEN] <= word {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        start..low
    }

    /// The start at a restart point as it is noted, below [`Directory::len`].
    pub(super) fn start(&self, index: usize) -> Start {
        self.start_at(index, self.group(index), index % GROUP_LEN)
    }

    #[inline]
    fn start_at(&self, index: usize, line: &Line, slot: usize) -> Start {
        let end = (self.stride == 1).then(|| line.offset(slot + 1));
        Start { interval: index * self.stride(), at: line.offset(slot), end }
    }

    fn group(&self, index: usize) -> &Line {
        &self.lines[self.top_len as usize + index / GROUP_LEN]
    }

    /// Heap bytes held.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }
}

/// The bytes of a range in a block; none if they are not there.
#[inline]
fn bytes_at<'c>(contents: &'c [u8], range: &Range<u32>) -> &'c [u8] {
    contents.get(range.start as usize..range.end as usize).unwrap_or_default()
}

impl Line {
    /// * `group`: up to five restart points; `behind`: where the one behind them is.
    fn of_group(group: &[Noted], behind: u32) -> Self {
        let mut line = Self([u64::MAX; 8]);
        for (word, noted) in line.0.iter_mut().zip(group) {
            *word = noted.word;
        }
        for slot in 0..=GROUP_LEN {
            let at = group.get(slot).map_or(behind, |noted| noted.at);
            let (pair, shift) = (&mut line.0[GROUP_LEN + slot / 2], 32 * (slot % 2));
            *pair = *pair & !(u64::from(u32::MAX) << shift) | u64::from(at) << shift;
        }
        line
    }

    /// Offset of a restart point of this group; behind the last one, where the next one is.
    #[inline]
    fn offset(&self, slot: usize) -> usize {
        (self.0[GROUP_LEN + slot / 2] >> (32 * (slot % 2))) as u32 as usize
    }
}

/// Number of words in the top that are smaller than `word`.
#[inline]
fn count_below(top: &[Line], word: u64) -> usize {
    let below = |line: &Line| -> usize { line.0.iter().map(|x| usize::from(*x < word)).sum() };
    if top.len() <= TOP_LINES_COUNTED {
        return top.iter().map(below).sum();
    }
    let line = top.partition_point(|line| line.0[0] < word).saturating_sub(1);
    line * TOP_LINE_LEN + below(&top[line])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::prefix::common_prefix_len;
    use proptest::prelude::*;

    /// The keys one after another, and a directory of every `stride`th.
    fn directory(keys: &[Vec<u8>], stride: usize) -> (Vec<u8>, Directory) {
        let contents = keys.concat();
        let common = keys.iter().map(|key| common_prefix_len(&keys[0], key)).min().unwrap();
        let mut at = 0;
        let mut noted = Vec::new();
        for (number, key) in keys.iter().enumerate() {
            if number % stride == 0 {
                noted.push(Noted { word: prefix_word(&key[common..]), at: at as u32 });
            }
            at += key.len();
        }
        let directory = Directory::new(&noted, stride, at, &contents, 0..common as u32);
        (contents, directory)
    }

    proptest! {
        #[test]
        fn the_words_never_contradict_the_keys(
            lead in proptest::collection::vec(any::<u8>(), 0..4),
            tails in proptest::collection::btree_set(
                proptest::collection::vec(prop_oneof![0u8..3, Just(0xff)], 0..12), 1..600),
            target in proptest::collection::vec(prop_oneof![0u8..3, Just(0xff)], 0..12),
            cut in 0usize..6,
            stride in 1usize..4,
        ) {
            let keys: Vec<Vec<u8>> =
                tails.into_iter().map(|tail| [&lead[..], &tail].concat()).collect();
            let mut target = [&lead[..], &target].concat();
            target.truncate(target.len().saturating_sub(cut));
            let (contents, directory) = directory(&keys, stride);
            let noted: Vec<&Vec<u8>> = keys.iter().step_by(stride).collect();
            match directory.lead(&contents, &target) {
                Lead::Tied(tied) => {
                    prop_assert!(!tied.is_empty());
                    prop_assert!(noted[..tied.start].iter().all(|key| **key < target));
                    prop_assert!(noted[tied.end..].iter().all(|key| **key >= target));
                }
                Lead::Start(start) => {
                    let last = noted.partition_point(|key| **key < target).saturating_sub(1);
                    let found = start.interval / stride;
                    let word = |key: &[u8]| prefix_word(&key[directory.common.len()..]);
                    let is_tied = || word(noted[last]) == word(&target);
                    prop_assert!(found == last || found + 1 == last && is_tied());
                    prop_assert_eq!(start.interval % stride, 0);
                    let offset = |keys: &[Vec<u8>]| keys.iter().map(Vec::len).sum::<usize>();
                    prop_assert_eq!(start.at, offset(&keys[..start.interval]));
                    let end = (stride == 1).then(|| offset(&keys[..=start.interval]));
                    prop_assert_eq!(start.end, end);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn keys_that_grow_evenly_are_found_with_and_without_the_trend(
            count in 2usize..600,
            step in 1u16..50,
            jitter in 0u16..400,
            targets in proptest::collection::vec(any::<u16>(), 50),
        ) {
            let numbers: std::collections::BTreeSet<u16> = (0..count)
                .map(|i| 100 + i as u16 * step + (i as u16).wrapping_mul(40503) % (jitter + 1))
                .collect();
            let key = |number: u16| [&b"ledger"[..], &number.to_be_bytes()].concat();
            let keys: Vec<Vec<u8>> = numbers.iter().map(|number| key(*number)).collect();
            let (contents, mut directory) = directory(&keys, 1);
            // Keys that grow less evenly may, or may not, lie near enough to a line.
            prop_assert!(directory.trend.is_some() || jitter > step);
            let targets: Vec<_> = targets.into_iter().chain(numbers).map(key).collect();
            let leads = |directory: &Directory| -> Vec<_> {
                targets.iter().map(|target| directory.lead(&contents, target)).collect()
            };
            let with = leads(&directory);
            directory.trend = None;
            prop_assert_eq!(with, leads(&directory));
        }
    }

    #[test]
    fn a_common_prefix_is_compared_whole_however_long() {
        for len in [0, 1, COMMON_HEAD_LEN, COMMON_HEAD_LEN + 1, 100] {
            let key = |end: &[u8]| [&vec![b'm'; len][..], end].concat();
            let keys: Vec<_> = (1..200u8).map(|n| key(&[n])).collect();
            let (contents, directory) = directory(&keys, 1);
            let interval = |target: &[u8]| match directory.lead(&contents, target) {
                Lead::Start(start) => start.interval,
                Lead::Tied(tied) => panic!("tied: {tied:?}"),
            };
            assert_eq!(interval(&key(&[100, 1])), 99);
            if let Some(last) = len.checked_sub(1) {
                let differing = |byte| [&vec![b'm'; last][..], &[byte, 100]].concat();
                assert_eq!(interval(&differing(b'a')), 0);
                assert_eq!(interval(&differing(b'z')), 198);
                assert_eq!(interval(&vec![b'm'; last]), 0);
            }
        }
    }

    #[test]
    fn keys_that_are_equal_in_their_words_are_left_to_be_compared() {
        let mut keys = vec![b"1".to_vec()];
        keys.extend((0..100u8).map(|n| [&b"123456789"[..], &[n]].concat()));
        let (contents, directory) = directory(&keys, 1);
        assert_eq!(directory.common, 0..1);
        assert_eq!(directory.lead(&contents, &keys[50]), Lead::Tied(1..101));
        let last = Start { interval: 100, at: 991, end: Some(1001) };
        assert_eq!(directory.lead(&contents, b"2"), Lead::Start(last));
        let first = Start { interval: 0, at: 0, end: Some(1) };
        assert_eq!(directory.lead(&contents, b""), Lead::Start(first));
    }
}
