//! Queues whose members can be found and moved in constant time, in safe code.
//!
//! Nodes stand in chunks and are linked by their numbers. A node keeps its number while it moves between the queues.

/// The number of no node.
const NONE: u32 = u32::MAX;

/// Nodes of a chunk.
const CHUNK: usize = 64;

struct Node<T> {
    previous: u32,
    next: u32,
    queue: u8,
    /// `None` in a free node.
    item: Option<T>,
}

#[derive(Clone, Copy)]
struct Queue {
    front: u32,
    back: u32,
    len: usize,
}

/// `N` queues with common storage.
pub(super) struct Lists<T, const N: usize> {
    chunks: Vec<Box<[Node<T>]>>,
    queues: [Queue; N],
    /// Free nodes, linked by `next`.
    free: u32,
    len: usize,
}

impl<T, const N: usize> Lists<T, N> {
    pub(super) const fn new() -> Self {
        let empty = Queue { front: NONE, back: NONE, len: 0 };
        Self { chunks: Vec::new(), queues: [empty; N], free: NONE, len: 0 }
    }

    /// All items.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Items of one queue.
    pub(super) fn len_of(&self, queue: usize) -> usize {
        self.queues[queue].len
    }

    /// Bytes allocated.
    pub(super) fn allocated_bytes(&self) -> usize {
        self.chunks.len() * CHUNK * size_of::<Node<T>>()
            + self.chunks.capacity() * size_of::<Box<[Node<T>]>>()
    }

    /// The first node of `queue`.
    pub(super) fn front(&self, queue: usize) -> Option<u32> {
        let front = self.queues[queue].front;
        (front != NONE).then_some(front)
    }

    /// The item of a node in use.
    pub(super) fn item(&mut self, node: u32) -> &mut T {
        self.node(node).item.as_mut().expect("a node in use")
    }

    /// The queue in which a node stands.
    pub(super) fn queue_of(&self, node: u32) -> usize {
        usize::from(self.chunks[node as usize / CHUNK][node as usize % CHUNK].queue)
    }

    /// Adds an item at the end of `queue`; returns its node.
    pub(super) fn push_back(&mut self, queue: usize, item: T) -> u32 {
        if self.free == NONE {
            self.add_chunk();
        }
        let node = self.free;
        self.free = self.node(node).next;
        self.node(node).item = Some(item);
        self.len += 1;
        self.link_back(queue, node);
        node
    }

    /// Moves a node to the end of `queue`.
    pub(super) fn move_to_back(&mut self, node: u32, queue: usize) {
        self.unlink(node);
        self.link_back(queue, node);
    }

    /// Takes an item out. The storage goes with the last one.
    pub(super) fn remove(&mut self, node: u32) -> T {
        self.unlink(node);
        let free = self.free;
        let cell = self.node(node);
        let item = cell.item.take().expect("a node in use");
        cell.next = free;
        self.free = node;
        self.len -= 1;
        if self.len == 0 {
            *self = Self::new();
        }
        item
    }

    fn add_chunk(&mut self) {
        let first = self.chunks.len() * CHUNK;
        let new = |at: usize| Node {
            previous: NONE,
            next: if at + 1 < CHUNK { (first + at + 1) as u32 } else { NONE },
            queue: 0,
            item: None,
        };
        assert!(
            first + CHUNK < NONE as usize,
            "more than four thousand million objects in one shard"
        );
        self.chunks.push((0..CHUNK).map(new).collect());
        self.free = first as u32;
    }

    fn link_back(&mut self, queue: usize, node: u32) {
        let back = std::mem::replace(&mut self.queues[queue].back, node);
        self.queues[queue].len += 1;
        let cell = self.node(node);
        (cell.previous, cell.next, cell.queue) = (back, NONE, queue as u8);
        if back == NONE {
            self.queues[queue].front = node;
        } else {
            self.node(back).next = node;
        }
    }

    fn unlink(&mut self, node: u32) {
        let Node { previous, next, queue, .. } = *self.node(node);
        let queue = usize::from(queue);
        self.queues[queue].len -= 1;
        if previous == NONE {
            self.queues[queue].front = next;
        } else {
            self.node(previous).next = next;
        }
        if next == NONE {
            self.queues[queue].back = previous;
        } else {
            self.node(next).previous = previous;
        }
    }

    fn node(&mut self, node: u32) -> &mut Node<T> {
        &mut self.chunks[node as usize / CHUNK][node as usize % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_queues_are_those_of_a_model(
            steps in proptest::collection::vec((0..4_u8, 0..3_usize, any::<prop::sample::Index>()), 0..400)
        ) {
            let mut lists = Lists::<u32, 3>::new();
            let mut model: [VecDeque<(u32, u32)>; 3] = Default::default();
            for (number, (step, queue, which)) in steps.into_iter().enumerate() {
                let number = number as u32;
                let all: Vec<_> = model.iter().flatten().copied().collect();
                if step < 2 || all.is_empty() {
                    let node = lists.push_back(queue, number);
                    model[queue].push_back((node, number));
                } else {
                    let (node, item) = all[which.index(all.len())];
                    model.iter_mut().for_each(|queue| queue.retain(|(other, _)| *other != node));
                    if step == 2 {
                        prop_assert_eq!(lists.remove(node), item);
                    } else {
                        lists.move_to_back(node, queue);
                        model[queue].push_back((node, item));
                    }
                }
                for (queue, model) in model.iter().enumerate() {
                    prop_assert_eq!(lists.len_of(queue), model.len());
                    prop_assert_eq!(lists.front(queue), model.front().map(|(node, _)| *node));
                }
                prop_assert_eq!(lists.len() == 0, lists.allocated_bytes() == 0);
            }
            // The order inside of the queues.
            for (queue, model) in model.iter().enumerate() {
                for (node, item) in model {
                    prop_assert_eq!(lists.front(queue), Some(*node));
                    prop_assert_eq!(lists.remove(*node), *item);
                }
            }
        }
    }
}
