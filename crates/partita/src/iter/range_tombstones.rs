//! Range tombstones of one source, cut at every point where one starts or ends.
//!
//! ```text
//! tombstones   a-------e 9      borders     a    c    e    g
//!                  c-------g 5  fragments   [a,c) [c,e) [e,g)
//!                               covered by   9     9 5   5
//! ```
//!
//! A tombstone (start, end, q) hides the entry (k, p) from a reader at r iff `start <= k < end`, `p < q` and `q <= r`.
//!
//! Written out, the lists of covering tombstones would be quadratic in their number when all overlap. They are kept in a
//! segment tree over the fragments instead: a tombstone is noted in at most two nodes of each height, and those that
//! cover a fragment are found on the way from its leaf to the root. `n` tombstones take `O(n log n)` memory, a query
//! one binary search and `O(log n)` short lists, most of them empty.
//!
//! Nearly all readers see the newest tombstone of a fragment, so that one is kept beside the tree and answers at once;
//! only readers of older sequence numbers walk.

use std::ops::Range;

use super::borders::Borders;
use super::covered_runs::{CoveredRuns, UNCOVERED};
use crate::key::{KeyOrder, SeqNo};

/// One range tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeTombstone {
    /// First user key that is absent.
    pub start: Vec<u8>,
    /// First user key behind the range.
    pub end: Vec<u8>,
    /// When it was written.
    pub seqno: SeqNo,
}

/// The range tombstones of one source, ready to be asked.
#[derive(Debug, Default)]
pub struct RangeTombstones {
    order: KeyOrder,
    /// All of them, by start, then newest first.
    tombstones: Vec<RangeTombstone>,
    /// All starts and ends, sorted and unique; fragment `i` is border `i` to border `i + 1`.
    borders: Borders,
    /// Of each fragment, one more than its newest sequence number; 0 if no tombstone covers it.
    newest: Vec<u64>,
    /// The same of the oldest: which fragments a reader finds covered.
    runs: CoveredRuns,
    /// Sequence numbers noted in the tree, newest first in each node.
    seqnos: Vec<SeqNo>,
    /// Node `i` has `seqnos[nodes[i]..nodes[i + 1]]`; its parent is `i / 2`, the leaf of fragment `i` is `i + fragments`.
    nodes: Vec<u32>,
    /// Bytes of their keys.
    key_bytes: usize,
}

impl RangeTombstones {
    /// Makes these tombstones, in any order, ready to be asked. Empty ranges have no effect.
    pub fn new(mut tombstones: Vec<RangeTombstone>, order: &KeyOrder) -> Self {
        tombstones.retain(|t| order.compare(&t.start, &t.end).is_lt());
        // Old writers left them unsorted.
        tombstones.sort_by(|a, b| order.compare(&a.start, &b.start).then(b.seqno.cmp(&a.seqno)));
        let borders = Borders::new(&tombstones, order);
        let (nodes, seqnos) = plant(&tombstones, &borders, order);
        let order = order.clone();
        let (newest, runs) = (Vec::new(), CoveredRuns::default());
        let key_bytes = tombstones.iter().map(|t| t.start.len() + t.end.len()).sum();
        let mut made = Self { order, tombstones, borders, newest, runs, seqnos, nodes, key_bytes };
        made.newest = made.newest_of_fragments();
        made.runs = CoveredRuns::new(made.oldest_of_fragments());
        made
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tombstones.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tombstones.len()
    }

    /// All tombstones, by start, then newest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &RangeTombstone> {
        self.tombstones.iter()
    }

    /// The order of their user keys.
    pub fn key_order(&self) -> &KeyOrder {
        &self.order
    }

    /// Number of fragments, gaps between tombstones among them.
    pub fn fragment_count(&self) -> usize {
        self.borders.len().saturating_sub(1)
    }

    /// The fragment's first user key, and the first one behind it.
    pub fn fragment(&self, at: usize) -> Option<Range<&[u8]>> {
        let key = |at| self.borders.key(&self.tombstones, at);
        Some(key(at)?..key(at + 1)?)
    }

    /// The fragment that holds `user_key`, if one does.
    pub fn fragment_of(&self, user_key: &[u8]) -> Option<usize> {
        let behind = self.borders_up_to(user_key);
        behind.checked_sub(1).filter(|at| *at < self.fragment_count())
    }

    /// How many borders of fragments are not behind `user_key`.
    pub(super) fn borders_up_to(&self, user_key: &[u8]) -> usize {
        self.borders.count_up_to(&self.tombstones, &self.order, user_key)
    }

    /// The same; it costs less the nearer the answer is to `near`.
    pub(super) fn borders_up_to_near(&self, user_key: &[u8], near: usize) -> usize {
        self.borders.count_up_to_near(&self.tombstones, &self.order, user_key, near)
    }

    /// Border `at` of the fragments.
    pub(super) fn border(&self, at: usize) -> Option<&[u8]> {
        self.borders.key(&self.tombstones, at)
    }

    /// The newest tombstone over a fragment that a reader at `read_seqno` sees.
    pub fn covering_fragment(&self, at: usize, read_seqno: SeqNo) -> Option<SeqNo> {
        let newest = SeqNo::new(self.newest.get(at)?.checked_sub(1)?)?;
        if newest <= read_seqno {
            return Some(newest);
        }
        if !self.runs.is_covered(at, read_seqno.get()) {
            return None;
        }
        let mut node = at + self.fragment_count();
        let mut newest = None;
        while node > 0 {
            let list = self.node(node);
            let visible = list.partition_point(|seqno| *seqno > read_seqno);
            newest = newest.max(list.get(visible).copied());
            node /= 2;
        }
        newest
    }

    /// The first fragment from `at` on that a reader at `read_seqno` does not find covered, or how many there are.
    pub(super) fn covered_end(&self, at: usize, read_seqno: SeqNo) -> usize {
        self.runs.end(at, read_seqno.get())
    }

    /// The first of the fragments in front of `end` that a reader at `read_seqno` finds covered without a gap; `end` if
    /// there is none.
    pub(super) fn covered_start(&self, end: usize, read_seqno: SeqNo) -> usize {
        self.runs.start(end, read_seqno.get())
    }

    /// The newest tombstone over `user_key` that a reader at `read_seqno` sees. It hides the entries of the key that
    /// are older than itself.
    ///
    /// ```
    /// use partita::key::{KeyOrder, SeqNo};
    /// use partita::iter::{RangeTombstone, RangeTombstones};
    ///
    /// let seqno = |n| SeqNo::new(n).unwrap();
    /// let tombstone = RangeTombstone { start: b"b".to_vec(), end: b"d".to_vec(), seqno: seqno(7) };
    /// let tombstones = RangeTombstones::new(vec![tombstone], &KeyOrder::Bytewise);
    /// assert_eq!(tombstones.covering_seqno(b"c", SeqNo::MAX), Some(seqno(7)));
    /// assert_eq!(tombstones.covering_seqno(b"c", seqno(6)), None);
    /// assert_eq!(tombstones.covering_seqno(b"d", SeqNo::MAX), None);
    /// ```
    pub fn covering_seqno(&self, user_key: &[u8], read_seqno: SeqNo) -> Option<SeqNo> {
        self.covering_fragment(self.fragment_of(user_key)?, read_seqno)
    }

    /// Whether a tombstone covers one of the user keys from `from` to `to`, both included.
    ///
    /// * Cost: one binary search. Where nothing covers a fragment, both of its neighbours are covered.
    pub(crate) fn cover_any(&self, from: &[u8], to: &[u8]) -> bool {
        let first = self.borders_up_to(from).saturating_sub(1);
        let begins_before = |at: &usize| {
            self.border(*at).is_some_and(|border| self.order.compare(border, to).is_le())
        };
        let ends_behind = |at: &usize| {
            self.border(*at + 1).is_some_and(|border| self.order.compare(from, border).is_lt())
        };
        (first..self.fragment_count())
            .take_while(begins_before)
            .filter(ends_behind)
            .any(|at| self.newest[at] > 0)
    }

    /// The same tombstones, limited to the bounds of their file.
    ///
    /// * `lower`: tombstones start here at the earliest; `upper`: they end here at the latest, exclusive.
    #[must_use]
    pub fn truncated(&self, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Self {
        let mut tombstones = self.tombstones.clone();
        for tombstone in &mut tombstones {
            if let Some(lower) = lower
                && self.order.compare(&tombstone.start, lower).is_lt()
            {
                tombstone.start = lower.to_vec();
            }
            if let Some(upper) = upper
                && self.order.compare(&tombstone.end, upper).is_gt()
            {
                tombstone.end = upper.to_vec();
            }
        }
        Self::new(tombstones, &self.order)
    }

    /// Bytes held in memory. Whoever charges for them asks often: nothing is added up.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.key_bytes
            + self.tombstones.len() * size_of::<RangeTombstone>()
            + self.borders.heap_bytes()
            + self.nodes.len() * size_of::<u32>()
            + self.newest.len() * size_of::<u64>()
            + self.seqnos.len() * size_of::<SeqNo>()
            + self.runs.heap_bytes()
    }

    fn newest_of_fragments(&self) -> Vec<u64> {
        let fragments = self.fragment_count();
        let mut newest = vec![0; 2 * fragments];
        for node in 1..2 * fragments {
            let own = self.node(node).first().map_or(0, |seqno| seqno.get() + 1);
            newest[node] = own.max(newest[node / 2]);
        }
        newest.split_off(fragments)
    }

    fn oldest_of_fragments(&self) -> Vec<u64> {
        let fragments = self.fragment_count();
        let mut oldest = vec![UNCOVERED; 2 * fragments];
        for node in 1..2 * fragments {
            let own = self.node(node).last().map_or(UNCOVERED, |seqno| seqno.get());
            oldest[node] = own.min(oldest[node / 2]);
        }
        oldest.split_off(fragments)
    }

    fn node(&self, node: usize) -> &[SeqNo] {
        let (Some(start), Some(end)) = (self.nodes.get(node), self.nodes.get(node + 1)) else {
            return &[];
        };
        self.seqnos.get(*start as usize..*end as usize).unwrap_or_default()
    }
}

/// Notes each tombstone in the nodes of a segment tree whose leaves are the fragments between `borders`.
fn plant(
    tombstones: &[RangeTombstone],
    borders: &Borders,
    order: &KeyOrder,
) -> (Vec<u32>, Vec<SeqNo>) {
    let fragments = borders.len().saturating_sub(1);
    // Every start and end is a border, the last one up to itself.
    let border = |key: &[u8]| borders.count_up_to(tombstones, order, key) - 1;
    let mut noted: Vec<(u32, SeqNo)> = Vec::new();
    for tombstone in tombstones {
        let mut left = border(&tombstone.start) + fragments;
        let mut right = border(&tombstone.end) + fragments;
        while left < right {
            if left % 2 == 1 {
                noted.push((left as u32, tombstone.seqno));
                left += 1;
            }
            if right % 2 == 1 {
                right -= 1;
                noted.push((right as u32, tombstone.seqno));
            }
            left /= 2;
            right /= 2;
        }
    }
    noted.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    let nodes = (0..=2 * fragments as u32)
        .map(|node| noted.partition_point(|(other, _)| *other < node) as u32)
        .collect();
    (nodes, noted.into_iter().map(|(_, seqno)| seqno).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seqno(value: u64) -> SeqNo {
        SeqNo::new(value).unwrap()
    }

    proptest! {
        #[test]
        fn the_newest_visible_tombstone_is_found(
            ranges in proptest::collection::vec((0u8..20, 0u8..20, 1u64..30), 0..25),
            reverse in any::<bool>(),
            long in any::<bool>(),
        ) {
            // Long keys often agree in the bytes that the words hold.
            let key = |n: u8| match long {
                true => [&[7, n / 4][..], &[0; 9], &[n % 4]].concat(),
                false => vec![n],
            };
            let order = if reverse { KeyOrder::ReverseBytewise } else { KeyOrder::Bytewise };
            let tombstones: Vec<_> = ranges
                .into_iter()
                .map(|(start, end, at)| RangeTombstone {
                    start: key(start),
                    end: key(end),
                    seqno: seqno(at),
                })
                .collect();
            let fragmented = RangeTombstones::new(tombstones.clone(), &order);
            let cut = fragmented.truncated(Some(&key(5)), Some(&key(15)));
            for n in 0..21u8 {
                let asked = key(n);
                for read in 0..31 {
                    let expected = tombstones
                        .iter()
                        .filter(|t| order.compare(&t.start, &asked).is_le())
                        .filter(|t| order.compare(&asked, &t.end).is_lt())
                        .map(|t| t.seqno)
                        .filter(|at| *at <= seqno(read))
                        .max();
                    prop_assert_eq!(fragmented.covering_seqno(&asked, seqno(read)), expected);
                    let inside = order.compare(&key(5), &asked).is_le()
                        && order.compare(&asked, &key(15)).is_lt();
                    let expected = expected.filter(|_| inside);
                    prop_assert_eq!(cut.covering_seqno(&asked, seqno(read)), expected);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn what_covers_any_key_of_a_range_is_found(
            ranges in proptest::collection::vec((0u8..30, 1u8..4), 0..8),
            (from, len) in (0u8..34, 0u8..6),
        ) {
            let tombstones: Vec<_> = ranges
                .iter()
                .map(|(start, len)| RangeTombstone {
                    start: vec![*start],
                    end: vec![start + len],
                    seqno: seqno(0),
                })
                .collect();
            let to = from + len;
            let expected = ranges.iter().any(|(start, len)| *start <= to && from < start + len);
            let fragmented = RangeTombstones::new(tombstones, &KeyOrder::Bytewise);
            prop_assert_eq!(fragmented.cover_any(&[from], &[to]), expected);
        }
    }

    #[test]
    fn memory_stays_small_when_all_overlap() {
        let tombstones = (0..2000u32)
            .map(|n| RangeTombstone {
                start: n.to_be_bytes().to_vec(),
                end: (10_000 - n).to_be_bytes().to_vec(),
                seqno: seqno(u64::from(n)),
            })
            .collect();
        let fragmented = RangeTombstones::new(tombstones, &KeyOrder::Bytewise);
        assert_eq!(fragmented.fragment_count(), 3999);
        assert!(fragmented.memory_bytes() < 1 << 20);
        assert_eq!(fragmented.key_bytes, 2000 * 8);
        let middle = 5000u32.to_be_bytes();
        assert_eq!(fragmented.covering_seqno(&middle, SeqNo::MAX), Some(seqno(1999)));
        assert_eq!(fragmented.covering_seqno(&middle, seqno(77)), Some(seqno(77)));
    }
}
