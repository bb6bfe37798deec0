//! One sorted stream out of many.
//!
//! The children that stand on an entry are kept in a binary heap, the one that comes next at its root. Each child's
//! *head*, the first 16 bytes of its user key as an integer, lies in an array beside the heap and decides nearly all
//! comparisons without a look at the keys. As most entries are in one run, the child that gave the last entry mostly
//! gives the next one, too: it is compared with the runner-up first.

use std::cmp::Ordering;

use super::InternalIterator;
use crate::error::Result;
use crate::key::{KeyOrder, PACKED_LEN};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// Every child stands on its first entry that is not before the current one.
    Forward,
    /// Every child stands on its last entry that is not behind the current one.
    Backward,
}

/// Merges iterators over internal keys.
///
/// Children are ordered from the newest to the oldest source; it is their order where keys are equal, which happens only
/// in damaged databases.
#[derive(Debug)]
pub struct MergingIterator<I> {
    order: KeyOrder,
    children: Vec<I>,
    heads: Vec<u128>,
    /// Children that stand on an entry; the current one is the first.
    heap: Vec<u32>,
    /// Where in the heap the second child is, 1 or 2; 0 if it is to be looked for.
    runner_up: usize,
    direction: Direction,
}

impl<I: InternalIterator> MergingIterator<I> {
    /// Merges `children`, from the newest source to the oldest.
    pub fn new(children: Vec<I>, order: KeyOrder) -> Self {
        Self {
            order,
            heads: vec![0; children.len()],
            heap: Vec::with_capacity(children.len()),
            children,
            runner_up: 0,
            direction: Direction::Forward,
        }
    }

    /// The order of user keys.
    pub fn key_order(&self) -> &KeyOrder {
        &self.order
    }

    /// The children, from the newest source to the oldest.
    pub fn children(&self) -> &[I] {
        &self.children
    }

    /// The child that the current entry is from.
    #[inline]
    pub fn current_child(&self) -> Option<usize> {
        self.heap.first().map(|child| *child as usize)
    }

    /// Lets `place` move each child, from the newest to the oldest, to its first entry that is wanted, and stands on the
    /// first of these.
    pub(super) fn place_forward(
        &mut self,
        place: impl FnMut(usize, &mut I) -> Result<()>,
    ) -> Result<()> {
        self.place(Direction::Forward, place)
    }

    /// The same to its last entry that is wanted, to stand on the last of these.
    pub(super) fn place_backward(
        &mut self,
        place: impl FnMut(usize, &mut I) -> Result<()>,
    ) -> Result<()> {
        self.place(Direction::Backward, place)
    }

    /// Leaves the current child where it is, and out of the walk as long as that goes the same way: nothing that it has
    /// from there on is wanted, as far as the walk may go.
    ///
    /// When the walk turns, the child is stepped back from its place, and nothing behind that is looked at again.
    pub(super) fn leave_current(&mut self) {
        if !self.heap.is_empty() {
            self.heap.swap_remove(0);
            self.runner_up = 0;
            self.settle();
        }
    }

    /// Moves the current child only, which must go forward.
    pub(super) fn move_current_forward(
        &mut self,
        step: impl FnOnce(&mut I) -> Result<()>,
    ) -> Result<()> {
        self.turn(Direction::Forward)?;
        self.move_current(step)
    }

    /// Moves the current child only, which must go backward.
    pub(super) fn move_current_backward(
        &mut self,
        step: impl FnOnce(&mut I) -> Result<()>,
    ) -> Result<()> {
        self.turn(Direction::Backward)?;
        self.move_current(step)
    }

    fn place(
        &mut self,
        direction: Direction,
        mut place: impl FnMut(usize, &mut I) -> Result<()>,
    ) -> Result<()> {
        self.heap.clear();
        self.runner_up = 0;
        self.direction = direction;
        for (at, child) in self.children.iter_mut().enumerate() {
            if let Err(error) = place(at, child) {
                self.heap.clear();
                return Err(error);
            }
            if child.is_valid() {
                self.heads[at] = head(&self.order, child.key());
                self.heap.push(at as u32);
            }
        }
        self.build();
        Ok(())
    }

    fn move_current(&mut self, step: impl FnOnce(&mut I) -> Result<()>) -> Result<()> {
        let Some(at) = self.current_child() else { return Ok(()) };
        let child = &mut self.children[at];
        if let Err(error) = step(child) {
            self.heap.clear();
            return Err(error);
        }
        if child.is_valid() {
            self.heads[at] = head(&self.order, child.key());
        } else {
            self.heap.swap_remove(0);
            self.runner_up = 0;
        }
        self.settle();
        Ok(())
    }

    /// Makes all children stand as `direction` wants, around the current entry.
    fn turn(&mut self, direction: Direction) -> Result<()> {
        let Some(current) = self.current_child().filter(|_| direction != self.direction) else {
            return Ok(());
        };
        let key = self.children[current].key().to_vec();
        let order = self.order.clone();
        self.place(direction, |at, child| match at.cmp(&current) {
            Ordering::Equal => Ok(()),
            side => match direction {
                Direction::Forward => turn_forward(child, &order, &key, side),
                Direction::Backward => turn_backward(child, &order, &key, side),
            },
        })
    }

    /// Whether child `a` comes before child `b` on the way.
    #[inline]
    fn comes_first(&self, a: u32, b: u32) -> bool {
        let (at, bt) = (a as usize, b as usize);
        let ordering = self.heads[at].cmp(&self.heads[bt]).then_with(|| {
            let (a_key, b_key) = (self.children[at].key(), self.children[bt].key());
            self.order.compare_internal(a_key, b_key).then(a.cmp(&b))
        });
        match self.direction {
            Direction::Forward => ordering.is_lt(),
            Direction::Backward => ordering.is_gt(),
        }
    }

    /// Makes a heap of the children in it.
    fn build(&mut self) {
        for at in (0..self.heap.len() / 2).rev() {
            self.sift_down(at);
        }
    }

    /// Restores the heap after its first child moved.
    #[inline]
    fn settle(&mut self) {
        if self.heap.len() < 2 {
            return;
        }
        if self.runner_up == 0 {
            let right_first = self.heap.len() > 2 && self.comes_first(self.heap[2], self.heap[1]);
            self.runner_up = if right_first { 2 } else { 1 };
        }
        if self.comes_first(self.heap[self.runner_up], self.heap[0]) {
            self.heap.swap(0, self.runner_up);
            self.sift_down(self.runner_up);
            self.runner_up = 0;
        }
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let left = 2 * at + 1;
            if left >= self.heap.len() {
                return;
            }
            let right = left + 1;
            let right_first =
                right < self.heap.len() && self.comes_first(self.heap[right], self.heap[left]);
            let first = if right_first { right } else { left };
            if !self.comes_first(self.heap[first], self.heap[at]) {
                return;
            }
            self.heap.swap(first, at);
            at = first;
        }
    }
}

/// What compares like the user key, unless it is equal: its first bytes, or nothing in a caller's order.
#[inline]
fn head(order: &KeyOrder, key: &[u8]) -> u128 {
    let user_key = &key[..key.len().saturating_sub(PACKED_LEN)];
    let word = |bytes: &[u8]| match bytes.first_chunk::<16>() {
        Some(chunk) => u128::from_be_bytes(*chunk),
        None => {
            let mut chunk = [0; 16];
            chunk[..bytes.len()].copy_from_slice(bytes);
            u128::from_be_bytes(chunk)
        }
    };
    match order {
        KeyOrder::Bytewise => word(user_key),
        KeyOrder::ReverseBytewise => !word(user_key),
        KeyOrder::Custom(_) => 0,
    }
}

/// Moves a child to its first entry behind `key`, which another child stands on. Where keys are equal, a child on the
/// `Greater` side of the other comes behind it.
///
/// A child stands on its last entry before `key`, as a rule; it may have jumped farther.
fn turn_forward<I: InternalIterator>(
    child: &mut I,
    order: &KeyOrder,
    key: &[u8],
    side: Ordering,
) -> Result<()> {
    let is_behind = |child: &I| order.compare_internal(child.key(), key).then(side).is_gt();
    if child.is_valid() {
        child.next()?;
    }
    if !child.is_valid() || !is_behind(child) {
        child.seek(key)?;
        while child.is_valid() && !is_behind(child) {
            child.next()?;
        }
    }
    Ok(())
}

/// Moves a child to its last entry before `key`, which another child stands on.
fn turn_backward<I: InternalIterator>(
    child: &mut I,
    order: &KeyOrder,
    key: &[u8],
    side: Ordering,
) -> Result<()> {
    let is_before = |child: &I| order.compare_internal(child.key(), key).then(side).is_lt();
    if child.is_valid() {
        child.prev()?;
    }
    if !child.is_valid() || !is_before(child) {
        child.seek_for_prev(key)?;
        while child.is_valid() && !is_before(child) {
            child.prev()?;
        }
    }
    Ok(())
}

impl<I: InternalIterator> InternalIterator for MergingIterator<I> {
    #[inline]
    fn is_valid(&self) -> bool {
        !self.heap.is_empty()
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.place(Direction::Forward, |_, child| child.seek_to_first())
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.place(Direction::Backward, |_, child| child.seek_to_last())
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        self.place(Direction::Forward, |_, child| child.seek(target))
    }

    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        self.place(Direction::Backward, |_, child| child.seek_for_prev(target))
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        self.move_current_forward(I::next)
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        self.move_current_backward(I::prev)
    }

    #[inline]
    fn key(&self) -> &[u8] {
        self.current_child().map_or(&[], |child| self.children[child].key())
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.current_child().map_or(&[], |child| self.children[child].value())
    }
}
