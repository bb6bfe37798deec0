//! A shard: one lock, and the queues of the entries that fall to it.
//!
//! Sharding divides the lock and nothing else. What must leave is decided over all shards (`evict.rs`), which takes it
//! from the shard where it has waited longest; no shard has a capacity.
//!
//! # What the lock protects
//!
//! An entry's link, its place in the queues and its bit `LINKED` change together, under the lock of the shard to which
//! its home and place in the home hash. So:
//!
//! 1. Under the lock, a link leads to an entry if and only if the entry stands in a queue of this shard.
//! 2. Two that want to remove the same entry, an evictor and the end of a home, meet at the lock; the second finds the
//!    link empty.
//! 3. What was removed is retired after the lock was given back: freeing an object may run anybody's code, and end a
//!    home. For the same reason whoever takes the lock is pinned before: the end of the last guard frees what waits.
//!
//! A home's own lock is taken under the shard's lock, never the other way round; no two shards are locked at once.

use std::sync::Arc;

use super::accounts::Accounts;
use super::entry::Kept;
use super::epoch::Retired;
use super::evict::Hands;
use super::ghost::Ghost;
use super::lists::Lists;
use super::role::{Account, Role};

/// The queues, in which the evictor looks for victims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// Data blocks that are new.
    Probation,
    /// Data blocks that were used again.
    Data,
    /// All else.
    Meta,
    /// What takes a large share of the budget by itself.
    Large,
    /// What was found in use when its turn came.
    Aside,
}

impl Queue {
    /// All, each at its number.
    pub(super) const ALL: [Self; QUEUES] =
        [Self::Probation, Self::Data, Self::Meta, Self::Large, Self::Aside];
}

/// How many queues there are.
pub(super) const QUEUES: usize = 5;

/// One in so many of the data blocks that are cached is remembered once it is evicted. With all, a scan would bring what
/// it passes into the long queue as soon as the cache holds a fair part of the whole.
const REMEMBERED: usize = 2;

/// Where an entry is linked.
pub(super) trait Unlink: Send + Sync {
    /// Clears the link to what is found at `at`. Memory that this replaces is added to `retired`.
    fn unlink(&self, at: u64, retired: &mut Vec<Retired>);
}

/// An entry's place: its home, where in the home, and what that hashes to.
#[derive(Clone)]
pub(super) struct Spot {
    pub(super) home: Arc<dyn Unlink>,
    pub(super) at: u64,
    pub(super) hash: u64,
}

/// A member of a queue.
pub(super) struct Member {
    pub(super) entry: Kept,
    pub(super) spot: Spot,
    /// The entry's charge when it was queued, as counted in the totals.
    pub(super) bytes: usize,
    /// Where it stands, or where it is to return from [`Queue::Aside`].
    pub(super) queue: Queue,
    /// When it came to the back of its queue, see [`Hands::now`].
    pub(super) since: u64,
}

/// The queues of one lock.
pub(super) struct Shard {
    pub(super) lists: Lists<Member, QUEUES>,
    pub(super) ghost: Ghost,
    number: usize,
    charged: usize,
}

impl Shard {
    pub(super) fn new(number: usize) -> Self {
        Self { lists: Lists::new(), ghost: Ghost::default(), number, charged: 0 }
    }

    /// Adds an entry that is linked under the same lock.
    pub(super) fn push(&mut self, member: Member) {
        let queue = member.queue;
        let node = self.lists.push_back(queue as usize, member);
        self.lists.item(node).entry.set_position(node);
        if queue == Queue::Probation {
            let data = [Queue::Probation, Queue::Data].map(|data| self.lists.len_of(data as usize));
            self.ghost.fit(data.iter().sum::<usize>() / REMEMBERED);
        }
    }

    /// The queue in which a node stands now.
    pub(super) fn standing(&self, node: u32) -> Queue {
        Queue::ALL[self.lists.queue_of(node)]
    }

    /// Takes the entry of a node out of queue and home. The caller retires it once the lock is given back.
    pub(super) fn take(&mut self, node: u32, retired: &mut Vec<Retired>) -> Member {
        let member = self.lists.remove(node);
        member.entry.set_position(u32::MAX);
        member.spot.home.unlink(member.spot.at, retired);
        member.entry.leave();
        if self.lists.len() == 0 {
            self.ghost.clear();
        }
        member
    }

    /// Tells, before the lock is given back, what others need to know: the charge for the bookkeeping, and how old the
    /// fronts of the queues are.
    pub(super) fn publish(&mut self, accounts: &Accounts, hands: &Hands) {
        let bytes = self.lists.allocated_bytes() + self.ghost.allocated_bytes();
        if bytes != self.charged {
            let change = bytes as i64 - self.charged as i64;
            accounts.charge(Account::new(Role::Bookkeeping, None), change, false);
            self.charged = bytes;
        }
        for queue in Queue::ALL {
            let front = self.lists.front(queue as usize);
            hands.set_front(queue, self.number, front.map(|node| self.lists.item(node).since));
        }
    }
}
