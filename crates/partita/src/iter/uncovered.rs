//! A merge without what range tombstones hide.
//!
//! ```text
//! newer sources     [--- t 90 ---)   [------ t 95 -----)          tombstones of one or of many sources, however many
//!                          [--- t 93 ---)              [- t 91 -)
//! one stretch       |<---------------------------------------->|
//! an older child    e  x  x  x  x  x  x  x  x  x  x  x  x  x  x  e      one seek, over whole blocks and files
//! ```
//!
//! 1. Where a tombstone of one source covers a stretch of keys, all that older sources have there is hidden: the LSM tree
//!    never holds an older entry of a key in a newer source. So when the walk meets an entry of an older child there, that
//!    child is sought to the end of the stretch, however many entries are in between.
//! 2. A stretch goes on as long as any source that is newer than the child covers what comes next: it takes one seek of each
//!    child, and no look at its entries but the next few, however many tombstones adjoin or overlap. The next few come first,
//!    for a stretch of a key or two is stepped over for much less than a seek costs.
//! 3. Entries of the tombstone's own source and of newer ones may be newer than it; they are looked at one by one. So are
//!    deletions of single keys, in blocks that hold nothing else, too: a deletion hides a key and not what lies between two,
//!    and a block's deletions say nothing of what older sources have there; passed unread, it would bring back what it hides.
//! 4. A failed seek or a tombstone block that cannot be read ends the move with the error. Nothing is passed over on the
//!    ground of what could not be read, and no later seek of another child takes the error away.

use std::sync::Arc;

use super::cover::{Cover, Way};
use super::run::SortedRun;
use super::truncated::Edge;
use super::{Bounds, InternalIterator, MergingIterator};
use crate::error::Result;
use crate::key::{InternalKey, KeyOrder};

/// The entries of a merge that no range tombstone hides from a reader at one sequence number.
///
/// Entries that are newer than the reader are shown: [`VisibleIterator`](super::VisibleIterator) passes over them.
#[derive(Debug)]
pub struct UncoveredIterator<I, R> {
    merge: MergingIterator<I>,
    cover: Cover<R>,
    order: KeyOrder,
    bounds: Arc<Bounds>,
    /// Hidden entries went over the bounds: nothing to show.
    is_over: bool,
    hidden: u64,
    jumps: u64,
}

impl<I: InternalIterator, R: SortedRun> UncoveredIterator<I, R> {
    /// The entries of `merge` without those that `cover` hides.
    ///
    /// * `bounds`: how far hidden entries are passed over.
    pub fn new(merge: MergingIterator<I>, cover: Cover<R>, bounds: Arc<Bounds>) -> Self {
        let order = merge.key_order().clone();
        Self { merge, cover, order, bounds, is_over: false, hidden: 0, jumps: 0 }
    }

    /// The merge below.
    pub fn merge(&self) -> &MergingIterator<I> {
        &self.merge
    }

    /// Entries that were looked at and hidden.
    pub fn hidden_entries(&self) -> u64 {
        self.hidden
    }

    /// How often a child jumped over a covered stretch.
    pub fn jumps(&self) -> u64 {
        self.jumps
    }

    /// Goes on to the first entry that is not hidden.
    #[inline]
    fn settle_forward(&mut self) -> Result<()> {
        if self.cover.is_empty() { Ok(()) } else { self.pass_hidden(true) }
    }

    #[inline]
    fn settle_backward(&mut self) -> Result<()> {
        if self.cover.is_empty() { Ok(()) } else { self.pass_hidden(false) }
    }

    fn pass_hidden(&mut self, is_forward: bool) -> Result<()> {
        while self.merge.is_valid() {
            let key = InternalKey::decode(self.merge.key())?;
            let Some((tombstone, child)) = self.cover.over(key.user_key, key.packed())? else {
                return Ok(());
            };
            if key.seqno >= tombstone {
                return Ok(());
            }
            let is_outside = match is_forward {
                true => self.bounds.is_above(&self.order, key.user_key),
                false => self.bounds.is_below(&self.order, key.user_key),
            };
            if is_outside {
                self.is_over = true;
                return Ok(());
            }
            self.hidden += 1;
            let way = if is_forward { Way::Forward } else { Way::Backward };
            let current = self.merge.current_child().filter(|current| *current > child);
            let crossed = match current {
                Some(current) => {
                    let edge = match way {
                        Way::Forward => Edge::before_entry(key),
                        Way::Backward => Edge::behind_entry(key),
                    };
                    self.cover.crossed(current, &edge, way, &self.bounds)?
                }
                None => None,
            };
            let (merge, order) = (&mut self.merge, &self.order);
            match (crossed, way) {
                // All of the child up to there is hidden.
                (Some(to), _) if way.is_beyond(order, &self.bounds, &to) => {
                    self.jumps += 1;
                    merge.leave_current();
                }
                (Some(to), Way::Forward) => {
                    self.jumps += 1;
                    merge.move_current_forward(|child| jump_forward(child, order, &to))?;
                }
                (Some(to), Way::Backward) => {
                    self.jumps += 1;
                    merge.move_current_backward(|child| jump_backward(child, order, &to))?;
                }
                (None, Way::Forward) => merge.next()?,
                (None, Way::Backward) => merge.prev()?,
            }
        }
        Ok(())
    }
}

/// Steps that a jump tries before it seeks.
const STEPS: usize = 2;

/// To the first entry behind the edge, which the child stands before.
fn jump_forward<I: InternalIterator>(child: &mut I, order: &KeyOrder, edge: &Edge) -> Result<()> {
    for _ in 0..STEPS {
        child.next()?;
        if !child.is_valid() || !is_before(order, child.key(), edge)? {
            return Ok(());
        }
    }
    child.seek(&edge.seek_key())?;
    while child.is_valid() && is_before(order, child.key(), edge)? {
        child.next()?;
    }
    Ok(())
}

/// To the last entry before the edge, which the child stands behind.
fn jump_backward<I: InternalIterator>(child: &mut I, order: &KeyOrder, edge: &Edge) -> Result<()> {
    for _ in 0..STEPS {
        child.prev()?;
        if !child.is_valid() || is_before(order, child.key(), edge)? {
            return Ok(());
        }
    }
    child.seek_for_prev(&edge.seek_key())?;
    while child.is_valid() && !is_before(order, child.key(), edge)? {
        child.prev()?;
    }
    Ok(())
}

fn is_before(order: &KeyOrder, key: &[u8], edge: &Edge) -> Result<bool> {
    let key = InternalKey::decode(key)?;
    Ok(edge.is_behind(order, key.user_key, key.packed()))
}

impl<I: InternalIterator, R: SortedRun> InternalIterator for UncoveredIterator<I, R> {
    #[inline]
    fn is_valid(&self) -> bool {
        !self.is_over && self.merge.is_valid()
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.is_over = false;
        self.merge.seek_to_first()?;
        self.settle_forward()
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.is_over = false;
        self.merge.seek_to_last()?;
        self.settle_backward()
    }

    /// Each child is sought behind what newer ones cover around the target.
    fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.is_over = false;
        if self.cover.is_empty() {
            return self.merge.seek(target);
        }
        let (cover, bounds, jumps) = (&mut self.cover, &*self.bounds, &mut self.jumps);
        let mut target = target.to_vec();
        let mut edge = Edge::before_entry(InternalKey::decode_target(&target)?);
        self.merge.place_forward(|at, child| {
            if let Some(to) = cover.crossed(at, &edge, Way::Forward, bounds)? {
                *jumps += 1;
                target = to.seek_key();
                edge = to;
            }
            child.seek(&target)
        })?;
        self.settle_forward()
    }

    /// Each child is sought before what newer ones cover around the target.
    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        self.is_over = false;
        if self.cover.is_empty() {
            self.merge.seek_for_prev(target)?;
            return Ok(());
        }
        let (cover, bounds, jumps) = (&mut self.cover, &*self.bounds, &mut self.jumps);
        let mut target = target.to_vec();
        let mut edge = Edge::behind_entry(InternalKey::decode_target(&target)?);
        self.merge.place_backward(|at, child| {
            if let Some(to) = cover.crossed(at, &edge, Way::Backward, bounds)? {
                *jumps += 1;
                target = to.seek_key();
                edge = to;
            }
            child.seek_for_prev(&target)
        })?;
        self.settle_backward()
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        if self.is_over {
            return Ok(());
        }
        self.merge.next()?;
        self.settle_forward()
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        if self.is_over {
            return Ok(());
        }
        self.merge.prev()?;
        self.settle_backward()
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.merge.key()
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.merge.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{SeqNo, ValueType};

    /// One entry for each of the numbers, and how often it was sought.
    struct Child {
        keys: Vec<Vec<u8>>,
        /// One more than where it stands.
        at: usize,
        seeks: usize,
    }

    impl Child {
        fn at(at: u8) -> Self {
            let key = |n| InternalKey::new(&[n], SeqNo::ZERO, ValueType::Value).encode();
            Self { keys: (0..100).map(key).collect(), at: usize::from(at) + 1, seeks: 0 }
        }

        fn count_before(&self, target: &[u8]) -> usize {
            let order = KeyOrder::Bytewise;
            self.keys.partition_point(|key| order.compare_internal(key, target).is_lt())
        }
    }

    impl InternalIterator for Child {
        fn is_valid(&self) -> bool {
            (1..=self.keys.len()).contains(&self.at)
        }

        fn seek_to_first(&mut self) -> Result<()> {
            unreachable!("jumps go elsewhere")
        }

        fn seek_to_last(&mut self) -> Result<()> {
            unreachable!("jumps go elsewhere")
        }

        fn seek(&mut self, target: &[u8]) -> Result<()> {
            self.seeks += 1;
            self.at = self.count_before(target) + 1;
            Ok(())
        }

        fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
            self.seeks += 1;
            self.at = self.count_before(target);
            Ok(())
        }

        fn next(&mut self) -> Result<()> {
            self.at += 1;
            Ok(())
        }

        fn prev(&mut self) -> Result<()> {
            self.at -= 1;
            Ok(())
        }

        fn key(&self) -> &[u8] {
            &self.keys[self.at - 1]
        }

        fn value(&self) -> &[u8] {
            &[]
        }
    }

    #[test]
    fn short_stretches_are_stepped_over_and_long_ones_sought_over() {
        let order = KeyOrder::Bytewise;
        for covered in 1..40 {
            let seeks = usize::from(usize::from(covered) > STEPS);
            let mut child = Child::at(50);
            jump_forward(&mut child, &order, &Edge::before_key(&[50 + covered])).unwrap();
            assert_eq!((child.at, child.seeks), (51 + usize::from(covered), seeks));
            let mut child = Child::at(50);
            jump_backward(&mut child, &order, &Edge::before_key(&[51 - covered])).unwrap();
            assert_eq!((child.at, child.seeks), (51 - usize::from(covered), seeks));
        }
        let mut child = Child::at(98);
        jump_forward(&mut child, &order, &Edge::before_key(&[200])).unwrap();
        assert!(!child.is_valid() && child.seeks == 0);
        let mut child = Child::at(1);
        jump_backward(&mut child, &order, &Edge::before_key(&[0])).unwrap();
        assert!(!child.is_valid() && child.seeks == 0);
    }
}
