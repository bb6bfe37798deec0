//! Range tombstones of a table, cut at every point where one starts or ends.
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

use std::ops::Range;

use super::block::DataBlock;
use crate::error::{Error, Result};
use crate::key::{InternalKey, KeyOrder, SeqNo, ValueType};

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

/// The range tombstones of a table, ready to be asked.
#[derive(Debug, Default)]
pub struct RangeTombstones {
    order: KeyOrder,
    /// All of them, by start, then newest first.
    tombstones: Vec<RangeTombstone>,
    /// All starts and ends, sorted and unique; fragment `i` is `borders[i]..borders[i + 1]`.
    borders: Vec<Vec<u8>>,
    /// Sequence numbers noted in the tree, newest first in each node.
    seqnos: Vec<SeqNo>,
    /// Node `i` has `seqnos[nodes[i]..nodes[i + 1]]`; its parent is `i / 2`, the leaf of fragment `i` is `i + fragments`.
    nodes: Vec<u32>,
}

impl RangeTombstones {
    /// Reads a range deletion block.
    ///
    /// * `global_seqno`: what entries with sequence number 0 have instead, in an ingested file.
    /// * Errors: `Corruption` if an entry is not a range tombstone.
    pub fn parse(block: &DataBlock, order: &KeyOrder, global_seqno: Option<SeqNo>) -> Result<Self> {
        let mut tombstones = Vec::new();
        block.for_each(|cursor| {
            let key = InternalKey::decode(cursor.key())?;
            if key.value_type != ValueType::RangeDeletion {
                return Err(Error::corruption(format!(
                    "entry of type {} among the range tombstones",
                    key.value_type
                )));
            }
            let seqno = match global_seqno {
                Some(global) if key.seqno == SeqNo::ZERO => global,
                _ => key.seqno,
            };
            let end = cursor.value(block).to_vec();
            tombstones.push(RangeTombstone { start: key.user_key.to_vec(), end, seqno });
            Ok(())
        })?;
        Ok(Self::new(tombstones, order))
    }

    /// Makes these tombstones, in any order, ready to be asked. Empty ranges have no effect.
    pub fn new(mut tombstones: Vec<RangeTombstone>, order: &KeyOrder) -> Self {
        tombstones.retain(|t| order.compare(&t.start, &t.end).is_lt());
        // Old writers left them unsorted.
        tombstones.sort_by(|a, b| order.compare(&a.start, &b.start).then(b.seqno.cmp(&a.seqno)));
        let mut borders: Vec<Vec<u8>> =
            tombstones.iter().flat_map(|t| [t.start.clone(), t.end.clone()]).collect();
        borders.sort_by(|a, b| order.compare(a, b));
        borders.dedup_by(|a, b| order.compare(a, b).is_eq());
        let (nodes, seqnos) = plant(&tombstones, &borders, order);
        Self { order: order.clone(), tombstones, borders, seqnos, nodes }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tombstones.is_empty()
    }

    /// All tombstones, by start, then newest first.
    pub fn iter(&self) -> impl Iterator<Item = &RangeTombstone> {
        self.tombstones.iter()
    }

    /// Number of fragments, gaps between tombstones among them.
    pub fn fragment_count(&self) -> usize {
        self.borders.len().saturating_sub(1)
    }

    /// The fragment's first user key, and the first one behind it.
    pub fn fragment(&self, at: usize) -> Option<Range<&[u8]>> {
        Some(self.borders.get(at)?..self.borders.get(at + 1)?)
    }

    /// The fragment that holds `user_key`, if one does.
    pub fn fragment_of(&self, user_key: &[u8]) -> Option<usize> {
        let behind =
            self.borders.partition_point(|border| self.order.compare(border, user_key).is_le());
        behind.checked_sub(1).filter(|at| *at < self.fragment_count())
    }

    /// The newest tombstone over a fragment that a reader at `read_seqno` sees.
    pub fn covering_fragment(&self, at: usize, read_seqno: SeqNo) -> Option<SeqNo> {
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

    /// The newest tombstone over `user_key` that a reader at `read_seqno` sees. It hides the entries of the key that
    /// are older than itself.
    ///
    /// ```
    /// use partita::key::{KeyOrder, SeqNo};
    /// use partita::table::{RangeTombstone, RangeTombstones};
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

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> usize {
        let keys: usize = self.tombstones.iter().map(|t| t.start.len() + t.end.len()).sum();
        size_of::<Self>()
            + self.tombstones.len() * size_of::<RangeTombstone>()
            + self.borders.len() * size_of::<Vec<u8>>()
            + 2 * keys
            + self.seqnos.len() * size_of::<SeqNo>()
            + self.nodes.len() * size_of::<u32>()
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
    borders: &[Vec<u8>],
    order: &KeyOrder,
) -> (Vec<u32>, Vec<SeqNo>) {
    let fragments = borders.len().saturating_sub(1);
    let border = |key: &[u8]| borders.partition_point(|other| order.compare(other, key).is_lt());
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
        ) {
            let order = if reverse { KeyOrder::ReverseBytewise } else { KeyOrder::Bytewise };
            let tombstones: Vec<_> = ranges
                .into_iter()
                .map(|(start, end, at)| RangeTombstone {
                    start: vec![start],
                    end: vec![end],
                    seqno: seqno(at),
                })
                .collect();
            let fragmented = RangeTombstones::new(tombstones.clone(), &order);
            let cut = fragmented.truncated(Some(&[5]), Some(&[15]));
            for key in 0..21u8 {
                for read in 0..31 {
                    let expected = tombstones
                        .iter()
                        .filter(|t| order.compare(&t.start, &[key]).is_le())
                        .filter(|t| order.compare(&[key], &t.end).is_lt())
                        .map(|t| t.seqno)
                        .filter(|at| *at <= seqno(read))
                        .max();
                    prop_assert_eq!(fragmented.covering_seqno(&[key], seqno(read)), expected);
                    let inside = order.compare(&[5], &[key]).is_le()
                        && order.compare(&[key], &[15]).is_lt();
                    let expected = expected.filter(|_| inside);
                    prop_assert_eq!(cut.covering_seqno(&[key], seqno(read)), expected);
                }
            }
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
        let middle = 5000u32.to_be_bytes();
        assert_eq!(fragmented.covering_seqno(&middle, SeqNo::MAX), Some(seqno(1999)));
        assert_eq!(fragmented.covering_seqno(&middle, seqno(77)), Some(seqno(77)));
    }
}
