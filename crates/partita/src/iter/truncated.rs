//! Range tombstones within the limits of their file.
//!
//! A tombstone that reaches over the border of two files is written whole into both, so that each file alone would cover
//! too much: what counts is only the part between the file's smallest and largest key. Both are internal keys, as a
//! border may run between two versions of one user key:
//!
//! ```text
//!            file 1                       file 2
//! ... | b 9 | c 8 |              | c 3 | d 7 | ...        tombstone [b, e) 6 in both
//!                  '- largest          '- smallest
//!                     in file 1 it covers c down to 8, in file 2 from 3 on
//! ```

use std::cmp::Ordering;
use std::sync::Arc;

use super::RangeTombstones;
use crate::error::Result;
use crate::key::{InternalKey, KeyOrder, SeqNo, ValueType};

/// A place between entries: before all whose rank is not less, behind the others.
///
/// The rank of an entry is `u64::MAX - packed`, so that newer entries of a user key come first; 0 is before all of them,
/// 2^64 behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) user_key: Vec<u8>,
    rank: u128,
}

impl Edge {
    /// In front of all entries of `user_key`.
    pub(super) fn before_key(user_key: &[u8]) -> Self {
        Self { user_key: user_key.to_vec(), rank: 0 }
    }

    /// Right behind an entry.
    pub(super) fn behind_entry(key: InternalKey<'_>) -> Self {
        let rank = u128::from(u64::MAX - key.packed()) + 1;
        Self { user_key: key.user_key.to_vec(), rank }
    }

    /// In front of an entry, or of the place that a seek goes to.
    pub(super) fn before_entry(key: InternalKey<'_>) -> Self {
        let rank = u128::from(u64::MAX - key.packed());
        Self { user_key: key.user_key.to_vec(), rank }
    }

    /// The packed word of an entry right behind the edge; the nearest one before it, behind all of the user key.
    pub(super) fn packed_behind(&self) -> u64 {
        u64::MAX - u64::try_from(self.rank).unwrap_or(u64::MAX)
    }

    /// The packed word of an entry right before the edge; `None` if that is of another user key.
    pub(super) fn packed_before(&self) -> Option<u64> {
        let rank = self.rank.checked_sub(1)?;
        Some(u64::MAX - u64::try_from(rank).unwrap_or(u64::MAX))
    }

    fn borrowed(&self) -> EdgeRef<'_> {
        EdgeRef { user_key: &self.user_key, rank: self.rank }
    }

    /// The order of this edge to another.
    pub(super) fn compare(&self, order: &KeyOrder, other: &Self) -> Ordering {
        order.compare(&self.user_key, &other.user_key).then(self.rank.cmp(&other.rank))
    }

    /// Whether the entry is before this edge.
    #[inline]
    pub(super) fn is_behind(&self, order: &KeyOrder, user_key: &[u8], packed: u64) -> bool {
        self.borrowed().is_behind(order, user_key, packed)
    }

    /// The target of a seek that finds the first entry behind this edge, or of a seek for the last one before it. It may
    /// find an entry on the other side, of the same sequence number or at 0.
    pub(super) fn seek_key(&self) -> Vec<u8> {
        let key = match u64::try_from(self.rank) {
            Ok(rank) => InternalKey::for_seek(&self.user_key, SeqNo::from_packed(u64::MAX - rank)),
            Err(_) => InternalKey::for_seek_for_prev(&self.user_key),
        };
        key.encode()
    }
}

/// An [`Edge`] whose key is elsewhere.
#[derive(Clone, Copy, Debug)]
struct EdgeRef<'k> {
    user_key: &'k [u8],
    rank: u128,
}

impl EdgeRef<'_> {
    #[inline]
    fn is_behind(&self, order: &KeyOrder, user_key: &[u8], packed: u64) -> bool {
        let rank = u128::from(u64::MAX - packed);
        order.compare(user_key, self.user_key).then(rank.cmp(&self.rank)).is_lt()
    }

    fn to_edge(self) -> Edge {
        Edge { user_key: self.user_key.to_vec(), rank: self.rank }
    }
}

/// Between which edges the tombstones of a file with these bounds count.
#[inline]
fn limits_of_file<'b>(smallest: &'b [u8], largest: &'b [u8]) -> Result<[EdgeRef<'b>; 2]> {
    let smallest = InternalKey::decode(smallest)?;
    let largest = InternalKey::decode(largest)?;
    // In front of the entries of the user key at this sequence number, behind newer ones.
    let rank = u128::from(u64::MAX - (smallest.seqno.get() << 8 | 0xff));
    let lower = EdgeRef { user_key: smallest.user_key, rank };
    let ends_before_key =
        largest.value_type == ValueType::RangeDeletion && largest.seqno == SeqNo::MAX;
    let rank = match ends_before_key {
        // The end of a tombstone, made a key: no entry of the user key is in the file.
        true => 0,
        // Behind the entries of the user key at this sequence number, in front of older ones.
        false => u128::from(u64::MAX - (largest.seqno.get() << 8)) + 1,
    };
    Ok([lower, EdgeRef { user_key: largest.user_key, rank }])
}

/// The range tombstones of a file for a question or two: [`TruncatedTombstones`] that are borrowed, and made without an
/// allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileTombstones<'f> {
    set: &'f RangeTombstones,
    limits: [EdgeRef<'f>; 2],
}

impl<'f> FileTombstones<'f> {
    /// The tombstones of a file with these bounds.
    ///
    /// * Errors: `Corruption` if a bound is no internal key.
    pub(crate) fn new(
        set: &'f RangeTombstones,
        smallest: &'f [u8],
        largest: &'f [u8],
    ) -> Result<Self> {
        Ok(Self { set, limits: limits_of_file(smallest, largest)? })
    }

    /// The newest tombstone over this entry that a reader at `read_seqno` sees.
    pub(crate) fn covering_seqno(
        &self,
        entry: InternalKey<'_>,
        read_seqno: SeqNo,
    ) -> Option<SeqNo> {
        let is_before = |edge: &EdgeRef<'_>| {
            edge.is_behind(self.set.key_order(), entry.user_key, entry.packed())
        };
        let [lower, upper] = &self.limits;
        let is_inside = !is_before(lower) && is_before(upper);
        is_inside.then(|| self.set.covering_seqno(entry.user_key, read_seqno)).flatten()
    }
}

/// The part of a key range over which one answer holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretch {
    /// `None`: from the first key on.
    pub(super) from: Option<Edge>,
    /// `None`: up to the last key.
    pub(super) to: Option<Edge>,
    /// The newest tombstone over all of it that the reader sees.
    pub(super) tombstone: Option<SeqNo>,
}

impl Stretch {
    #[inline]
    pub(super) fn contains(&self, order: &KeyOrder, user_key: &[u8], packed: u64) -> bool {
        let is_in = |edge: &Edge| edge.is_behind(order, user_key, packed);
        self.to.as_ref().is_none_or(is_in) && !self.from.as_ref().is_some_and(is_in)
    }

    /// Makes it no larger than `other`.
    pub(super) fn shrink_to(&mut self, order: &KeyOrder, other: &Self) {
        if let Some(from) = &other.from
            && self.from.as_ref().is_none_or(|own| own.compare(order, from).is_lt())
        {
            self.from = Some(from.clone());
        }
        if let Some(to) = &other.to
            && self.to.as_ref().is_none_or(|own| own.compare(order, to).is_gt())
        {
            self.to = Some(to.clone());
        }
    }
}

/// Range tombstones that count only between two keys.
///
/// ```
/// use std::sync::Arc;
/// use partita::iter::{RangeTombstone, RangeTombstones, TruncatedTombstones};
/// use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
///
/// let seqno = |n| SeqNo::new(n).unwrap();
/// let tombstone = RangeTombstone { start: b"b".to_vec(), end: b"e".to_vec(), seqno: seqno(9) };
/// let set = Arc::new(RangeTombstones::new(vec![tombstone], &KeyOrder::Bytewise));
/// let smallest = InternalKey::new(b"a", seqno(2), ValueType::Value).encode();
/// let largest = InternalKey::new(b"c", seqno(5), ValueType::Value).encode();
/// let file = TruncatedTombstones::in_file(set, &smallest, &largest)?;
///
/// let covering = |key, at| {
///     file.covering_seqno(InternalKey::new(key, seqno(at), ValueType::Value), SeqNo::MAX)
/// };
/// assert_eq!(covering(b"b", 1), Some(seqno(9)));
/// assert_eq!(covering(b"c", 5), Some(seqno(9)));
/// // An older version of the last key is in the next file, which has the tombstone, too.
/// assert_eq!(covering(b"c", 4), None);
/// assert_eq!(covering(b"d", 5), None);
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TruncatedTombstones {
    set: Arc<RangeTombstones>,
    lower: Option<Edge>,
    upper: Option<Edge>,
    /// The border in front of which a walk last asked: the next answer is near.
    near: usize,
}

impl TruncatedTombstones {
    /// All of the tombstones: of a memtable, or of a file by itself.
    pub fn whole(set: Arc<RangeTombstones>) -> Self {
        Self { set, lower: None, upper: None, near: 0 }
    }

    /// The tombstones of a file with these bounds, encoded internal keys as the MANIFEST has them.
    ///
    /// * Errors: `Corruption` if a bound is no internal key.
    pub fn in_file(set: Arc<RangeTombstones>, smallest: &[u8], largest: &[u8]) -> Result<Self> {
        let [lower, upper] = limits_of_file(smallest, largest)?.map(EdgeRef::to_edge);
        Ok(Self { set, lower: Some(lower), upper: Some(upper), near: 0 })
    }

    /// The newest tombstone over this entry that a reader at `read_seqno` sees. The entry is hidden if it is older.
    pub fn covering_seqno(&self, entry: InternalKey<'_>, read_seqno: SeqNo) -> Option<SeqNo> {
        if self.is_inside(entry.user_key, entry.packed()) {
            self.set.covering_seqno(entry.user_key, read_seqno)
        } else {
            None
        }
    }

    fn is_inside(&self, user_key: &[u8], packed: u64) -> bool {
        let order = self.set.key_order();
        let is_before = |edge: &Edge| edge.is_behind(order, user_key, packed);
        !self.lower.as_ref().is_some_and(is_before) && self.upper.as_ref().is_none_or(is_before)
    }

    /// The answer for the place of an entry, and how far it holds.
    pub(super) fn stretch_at(
        &mut self,
        user_key: &[u8],
        packed: u64,
        read_seqno: SeqNo,
    ) -> Stretch {
        let order = self.set.key_order();
        if let Some(lower) = self.lower.as_ref().filter(|e| e.is_behind(order, user_key, packed)) {
            return Stretch { from: None, to: Some(lower.clone()), tombstone: None };
        }
        if let Some(upper) = self.upper.as_ref().filter(|e| !e.is_behind(order, user_key, packed)) {
            return Stretch { from: Some(upper.clone()), to: None, tombstone: None };
        }
        let borders = borders_near(&self.set, user_key, &mut self.near);
        let fragment = borders.checked_sub(1);
        let stretch = Stretch {
            from: fragment.and_then(|at| self.set.border(at)).map(Edge::before_key),
            to: self.set.border(borders).map(Edge::before_key),
            tombstone: fragment.and_then(|at| self.set.covering_fragment(at, read_seqno)),
        };
        self.cut(stretch)
    }

    /// Where that ends of older sources which is covered without a gap from `edge` on, by tombstones that the reader sees;
    /// `None` if nothing is covered there.
    ///
    /// The file's first user key counts whole: versions in front of the file's are newer, and in newer sources or beside it.
    pub(super) fn covered_from(&mut self, edge: &Edge, read_seqno: SeqNo) -> Option<Edge> {
        let order = self.set.key_order();
        let is_before = |own: &Edge| order.compare(&edge.user_key, &own.user_key).is_lt();
        let is_outside = self.lower.as_ref().is_some_and(is_before)
            || self.upper.as_ref().is_some_and(|own| own.compare(order, edge).is_le());
        if is_outside {
            return None;
        }
        let at = borders_near(&self.set, &edge.user_key, &mut self.near).checked_sub(1)?;
        let end = self.set.covered_end(at, read_seqno);
        let to = self.set.border(end).filter(|_| end > at).map(Edge::before_key)?;
        Some(match &self.upper {
            Some(upper) if upper.compare(order, &to).is_lt() => upper.clone(),
            _ => to,
        })
    }

    /// Where that of older sources begins which is covered without a gap up to `edge`, as [`Self::covered_from`] has it.
    pub(super) fn covered_up_to(&mut self, edge: &Edge, read_seqno: SeqNo) -> Option<Edge> {
        let order = self.set.key_order();
        let lower = self.lower.as_ref().map(|own| Edge::before_key(&own.user_key));
        let is_outside = lower.as_ref().is_some_and(|own| own.compare(order, edge).is_ge())
            || self.upper.as_ref().is_some_and(|own| own.compare(order, edge).is_lt());
        if is_outside {
            return None;
        }
        // Fragments that begin before the edge.
        let mut end = borders_near(&self.set, &edge.user_key, &mut self.near);
        let is_border = |key| edge.rank == 0 && order.compare(key, &edge.user_key).is_eq();
        if end.checked_sub(1).and_then(|at| self.set.border(at)).is_some_and(is_border) {
            end -= 1;
        }
        if end > self.set.fragment_count() {
            return None;
        }
        let start = self.set.covered_start(end, read_seqno);
        let from = self.set.border(start).filter(|_| start < end).map(Edge::before_key)?;
        Some(match lower {
            Some(lower) if lower.compare(order, &from).is_gt() => lower,
            _ => from,
        })
    }

    /// Cuts what lies around a place inside the limits to them.
    fn cut(&self, mut stretch: Stretch) -> Stretch {
        let limits = Stretch { from: self.lower.clone(), to: self.upper.clone(), tombstone: None };
        stretch.shrink_to(self.set.key_order(), &limits);
        stretch
    }
}

/// How many borders are not behind `user_key`, searched from the last answer, which becomes this one.
fn borders_near(set: &RangeTombstones, user_key: &[u8], near: &mut usize) -> usize {
    *near = set.borders_up_to_near(user_key, *near);
    *near
}
