//! Several places are looked for at once.
//!
//! What a search costs in a list that is larger than the processor's caches is waiting: each step needs a node that the one
//! before named. The searches for several keys wait at the same time: each goes one step, asks for the node that it needs
//! next, and lets the others go theirs.

use std::cmp::Ordering;
use std::ptr;

use super::{InsertHint, Link, MemoryOrdering, Place, SkipList, UserKeyOrder, fetch, next};

/// Searches that go side by side: about as many as a core has loads under way.
pub(in crate::memtable) const TOGETHER: usize = 8;

/// A search on its way down.
struct Descent {
    before: Link,
    behind: Link,
    /// What stands behind `before` on `level`; it was asked for.
    candidate: Link,
    level: usize,
    is_done: bool,
}

impl SkipList {
    /// Fills in each of the hints as if its key had been inserted last: what is inserted with it next is found at once.
    ///
    /// * `keys`: user key and packed word of each hint; at most [`TOGETHER`].
    pub(in crate::memtable) fn locate_together<'h, O: UserKeyOrder>(
        &self,
        order: &O,
        keys: &[(&[u8], u64)],
        hints: impl Iterator<Item = &'h mut InsertHint>,
    ) {
        let top = self.height.load(MemoryOrdering::Relaxed);
        let mut searches: [Option<(Place<'_, O>, &mut InsertHint, Descent)>; TOGETHER] =
            Default::default();
        let mut left = 0;
        for ((slot, &(user_key, packed)), hint) in searches.iter_mut().zip(keys).zip(hints) {
            (hint.list, hint.height) = (self.id, top);
            let candidate = next(self.head, top - 1);
            fetch(candidate);
            let descent = Descent {
                before: self.head,
                behind: ptr::null_mut(),
                candidate,
                level: top - 1,
                is_done: false,
            };
            *slot = Some((Place { order, user_key, seqno: packed >> 8 }, hint, descent));
            left += 1;
        }
        while left > 0 {
            for (place, hint, descent) in searches.iter_mut().flatten() {
                if !descent.is_done {
                    descent.step(place, hint);
                    left -= usize::from(descent.is_done);
                }
            }
        }
    }
}

impl Descent {
    /// Compares with one node, and goes on to the next that has to be compared.
    fn step<O: UserKeyOrder>(&mut self, place: &Place<'_, O>, hint: &mut InsertHint) {
        if self.is_to_be_compared() {
            match place.compare(self.candidate) {
                Ordering::Less => {
                    self.before = self.candidate;
                    self.candidate = next(self.before, self.level);
                    fetch(self.candidate);
                    return;
                }
                Ordering::Greater => {}
                // The insert finds that, too, and refuses.
                Ordering::Equal => {
                    hint.height = 0;
                    self.is_done = true;
                    return;
                }
            }
        }
        loop {
            self.behind = self.candidate;
            (hint.prev[self.level], hint.next[self.level]) = (self.before, self.behind);
            if self.level == 0 {
                self.is_done = true;
                return;
            }
            self.level -= 1;
            self.candidate = next(self.before, self.level);
            if self.is_to_be_compared() {
                fetch(self.candidate);
                return;
            }
        }
    }

    fn is_to_be_compared(&self) -> bool {
        !self.candidate.is_null() && self.candidate != self.behind
    }
}
