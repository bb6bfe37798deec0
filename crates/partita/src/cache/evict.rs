//! What leaves when room is needed.
//!
//! ```text
//! new data ----> Probation ---used again---> Data --+     Meta --+     Large --+
//!                   |                         ^    |       ^    |        ^    |
//!                   v                         +used+       +used+        +used+
//!                 ghost ---loaded again-------^    v            v             v
//! ```
//!
//! * **Data blocks** go the way of S3-FIFO: a block that is used once leaves by the short queue, and scans never reach
//!   the long one. The ghost remembers what left too early.
//! * **Pieces of indexes and filters** cover as many keys as a data block sixteen times their size. They enter the long
//!   queue at once, and are valued against data at the margin: see [`Hands::rent`].
//! * **Large objects** have their own queue with a limit of its own, so that no object empties the rest.
//! * **What is in use** cannot give its memory back: it steps aside, so that a cache full of pinned blocks does not turn
//!   its hands in vain.
//!
//! What left is freed when the last reader that may have seen it is done, and cannot be before. A thread that is stopped in
//! the middle of a lookup must not make the cache grow meanwhile without end: [`Core::make_room_to_enter`].
//!
//! Each queue is a clock: the hand takes a credit from the entry at the front and sends it to the back, or evicts it
//! when it has none. A queue is spread over the shards; its hand moves in the shard whose front has stood longest, so
//! that it goes round all entries alike, however they fall to the shards.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::core::Core;
use super::epoch::{self, Retired};
use super::role::Role;
use super::shard::{Member, QUEUES, Queue, Shard};
use crate::util::sync::{MutexGuard, lock};

/// Bytes, cost and members of one queue over all shards.
#[derive(Debug)]
struct Total {
    bytes: AtomicI64,
    cost: AtomicI64,
    members: AtomicI64,
    /// For each shard, since when its front stands there; [`EMPTY`] without one.
    fronts: Box<[AtomicU64]>,
}

/// No front.
const EMPTY: u64 = u64::MAX;

/// The hands of all clocks.
#[derive(Debug)]
pub(super) struct Hands {
    totals: [Total; QUEUES],
    /// Counts what came to the back of a queue.
    now: AtomicU64,
    /// Bytes by which the hand of [`Queue::Meta`] is behind.
    meta_debt: AtomicI64,
    /// The same of [`Queue::Large`].
    large_debt: AtomicI64,
}

/// The share of data blocks that stands on probation, in percent.
const PROBATION_PERCENT: i64 = 10;

/// The share of the cache that data keeps even if pieces alone would fill it, in percent.
const DATA_FLOOR_PERCENT: i64 = 15;

/// A miss costs more than the read that follows, in nanoseconds: the way to it, and what it displaces.
const COST_OF_A_MISS: i64 = 2_000;

impl Hands {
    pub(super) fn new(shards: usize) -> Self {
        let total = |_| Total {
            bytes: AtomicI64::new(0),
            cost: AtomicI64::new(0),
            members: AtomicI64::new(0),
            fronts: (0..shards).map(|_| AtomicU64::new(EMPTY)).collect(),
        };
        Self {
            totals: std::array::from_fn(total),
            now: AtomicU64::new(0),
            meta_debt: AtomicI64::new(0),
            large_debt: AtomicI64::new(0),
        }
    }

    /// The time, for what comes to the back of a queue.
    pub(super) fn now(&self) -> u64 {
        self.now.fetch_add(1, Ordering::Relaxed)
    }

    /// Tells since when the front of a shard's queue stands there.
    pub(super) fn set_front(&self, queue: Queue, shard: usize, since: Option<u64>) {
        let front = &self.totals[queue as usize].fronts[shard];
        let since = since.unwrap_or(EMPTY);
        if front.load(Ordering::Relaxed) != since {
            front.store(since, Ordering::Relaxed);
        }
    }

    /// The shard, other than `but`, whose front has stood longest.
    fn oldest(&self, queue: Queue, but: Option<usize>) -> Option<usize> {
        let fronts = self.totals[queue as usize].fronts.iter().enumerate();
        fronts
            .filter(|(shard, _)| Some(*shard) != but)
            .map(|(shard, since)| (since.load(Ordering::Relaxed), shard))
            .filter(|(since, _)| *since != EMPTY)
            .min()
            .map(|(_, shard)| shard)
    }

    pub(super) fn add(&self, queue: Queue, bytes: usize, cost: u32) {
        self.change(queue, bytes as i64, i64::from(cost) + COST_OF_A_MISS, 1);
    }

    pub(super) fn subtract(&self, queue: Queue, bytes: usize, cost: u32) {
        self.change(queue, -(bytes as i64), -(i64::from(cost) + COST_OF_A_MISS), -1);
    }

    fn change(&self, queue: Queue, bytes: i64, cost: i64, members: i64) {
        let total = &self.totals[queue as usize];
        total.bytes.fetch_add(bytes, Ordering::Relaxed);
        total.cost.fetch_add(cost, Ordering::Relaxed);
        total.members.fetch_add(members, Ordering::Relaxed);
    }

    fn bytes(&self, queue: Queue) -> i64 {
        self.totals[queue as usize].bytes.load(Ordering::Relaxed).max(0)
    }

    fn members(&self) -> usize {
        let count = |total: &Total| total.members.load(Ordering::Relaxed).max(0) as usize;
        self.totals.iter().map(count).sum()
    }

    /// Bytes in all queues.
    fn all_bytes(&self) -> usize {
        let bytes = |total: &Total| total.bytes.load(Ordering::Relaxed).max(0) as usize;
        self.totals.iter().map(bytes).sum()
    }

    /// The queue in which to look for a victim; `None` if all that is cached is in use.
    fn choose(&self, large_limit: usize) -> Option<Queue> {
        let [probation, data, meta, large] =
            [Queue::Probation, Queue::Data, Queue::Meta, Queue::Large]
                .map(|queue| self.bytes(queue));
        let blocks = probation + data;
        let is_due = |debt: &AtomicI64| debt.load(Ordering::Relaxed) > 0;
        if large > 0 && (large > large_limit as i64 || is_due(&self.large_debt)) {
            return Some(Queue::Large);
        }
        let data_is_low = (blocks + large) * 100 < (blocks + large + meta) * DATA_FLOOR_PERCENT;
        if meta > 0 && (data_is_low || is_due(&self.meta_debt)) {
            return Some(Queue::Meta);
        }
        match () {
            () if probation > 0 && probation * 100 > blocks * PROBATION_PERCENT => {
                Some(Queue::Probation)
            }
            () if data > 0 => Some(Queue::Data),
            () if large > 0 => Some(Queue::Large),
            () if meta > 0 => Some(Queue::Meta),
            () => None,
        }
    }

    /// Counts that the hand has passed `bytes` in `queue`.
    fn pass(&self, queue: Queue, bytes: usize, was_used: bool) {
        let bytes = bytes as i64;
        match queue {
            Queue::Probation | Queue::Data => {
                // Large objects go round as fast as data blocks.
                let (large, blocks) = (self.bytes(Queue::Large), self.blocks());
                owe(&self.large_debt, bytes as f64 * large as f64 / blocks, large);
                if queue == Queue::Data && was_used {
                    self.rent(bytes);
                }
            }
            Queue::Meta => pay(&self.meta_debt, bytes),
            Queue::Large => pay(&self.large_debt, bytes),
            Queue::Aside => {}
        }
    }

    fn blocks(&self) -> f64 {
        (self.bytes(Queue::Probation) + self.bytes(Queue::Data)).max(1) as f64
    }

    /// Lets the hand of the pieces move on, since a used data block of `bytes` was found.
    ///
    /// A block is worth keeping if it saves more time per byte than what leaves in its stead. In the time in which the
    /// hand of the data goes round once, a share q of the data is used again. So data at the margin saves q d a round,
    /// where d is the cost per byte of loading data, and a piece with cost per byte m saves as much if it is used once
    /// in m / (q d) rounds. At this speed the hand of the pieces moves: what it finds unused is worth less than data.
    ///
    /// The more data is used again, the faster; where data is read once and pieces again and again, it stands still.
    fn rent(&self, bytes: i64) {
        let [data, meta] = [Queue::Data, Queue::Meta].map(|queue| {
            let total = &self.totals[queue as usize];
            let cost = total.cost.load(Ordering::Relaxed).max(1) as f64;
            (self.bytes(queue).max(1) as f64, cost)
        });
        let (data_density, meta_density) = (data.1 / data.0, meta.1 / meta.0);
        let share = bytes as f64 / data.0;
        owe(&self.meta_debt, share * meta.0 * data_density / meta_density, meta.0 as i64);
    }
}

/// Adds to a debt; never more than one round.
fn owe(debt: &AtomicI64, bytes: f64, round: i64) {
    if bytes > 0.0 && debt.load(Ordering::Relaxed) < round {
        debt.fetch_add(bytes.ceil() as i64, Ordering::Relaxed);
    }
}

fn pay(debt: &AtomicI64, bytes: i64) {
    if debt.load(Ordering::Relaxed) > 0 {
        debt.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The credits that an object can have, and those it starts with.
pub(super) fn credits(role: Role, level: Option<u8>) -> (u8, u8) {
    let (max, first) = match role {
        Role::Data => (3, 0),
        Role::FilterPiece => (3, 1),
        Role::IndexPiece => (4, 2),
        _ => (6, 3),
    };
    // What stands above is asked by every lookup.
    let is_upper = level.is_some_and(|level| level < 2);
    match is_upper {
        true if role == Role::Data => (max + 1, first),
        true => (max + 2, first + 1),
        false => (max, first),
    }
}

impl Core {
    /// Whether what is charged is within the limit, if `entering` bytes of it enter the cache.
    fn fits(&self, entering: usize) -> bool {
        self.accounts.live() <= self.budget()
            || self.hands.all_bytes() + entering <= self.soft_floor()
    }

    /// Evicts until what is charged is within the limit.
    pub(super) fn make_room(&self) {
        self.evict_until_fit(0, usize::MAX);
    }

    /// Evicts until what is charged is within the limit, for `entering` bytes that are charged already and are to enter the
    /// cache. Returns whether they may.
    ///
    /// They may not while more than [`Core::waiting_limit`] waits for readers. That bounds what cached objects take, those
    /// that have left and wait among them:
    ///
    /// 1. It grows by what enters only; leaving and waiting change nothing in it.
    /// 2. What enters finds at most `waiting_limit` bytes waiting, and the rest within the budget with itself.
    /// 3. So it is at most the budget and `waiting_limit` together, and for each thread that lets something in at this moment
    ///    the one object that it has evicted last.
    pub(super) fn make_room_to_enter(&self, entering: usize) -> bool {
        let limit = self.waiting_limit();
        if self.accounts.waiting() > limit {
            // They may be done by now.
            epoch::collect();
        }
        self.accounts.waiting() <= limit && self.evict_until_fit(entering, limit)
    }

    /// * `waiting_max`: no more is evicted while more than that waits for readers.
    fn evict_until_fit(&self, entering: usize, waiting_max: usize) -> bool {
        if self.fits(entering) {
            return true;
        }
        let mut retired = Vec::new();
        // No entry has more credits than this. If the hands turn longer, others add and touch faster than we evict.
        let steps_max = 64 + 10 * self.hands.members();
        self.call_back(1);
        let fits = (0..steps_max).any(|_| {
            if self.accounts.waiting() > waiting_max {
                // Nearly always it waits for nobody but us.
                epoch::retire(std::mem::take(&mut retired));
                if self.accounts.waiting() > waiting_max {
                    return true;
                }
            }
            let moved = match self.hands.choose(self.large_limit()) {
                Some(queue) => self.step(queue, &mut retired),
                None => false,
            };
            self.fits(entering) || (!moved && !self.call_back(16) && self.hands.choose(0).is_none())
        }) && self.fits(entering);
        epoch::retire(retired);
        fits
    }

    /// Moves the hand of `queue` by one entry. Returns whether there was one.
    fn step(&self, queue: Queue, retired: &mut Vec<Retired>) -> bool {
        let _guard = epoch::pin();
        let Some(mut shard) = self.lock_oldest(queue) else { return false };
        let front = shard.lists.front(queue as usize);
        let victim = front.and_then(|node| self.judge(&mut shard, queue, node, retired));
        shard.publish(&self.accounts, &self.hands);
        drop(shard);
        if let Some(victim) = victim {
            self.accounts.evicted(victim.entry.account());
            retired.push(Retired::Entry(victim.entry));
        }
        front.is_some()
    }

    /// Locks the shard where the front of `queue` has stood longest, or if that is locked the next one.
    fn lock_oldest(&self, queue: Queue) -> Option<MutexGuard<'_, Shard>> {
        let oldest = self.hands.oldest(queue, None)?;
        if let Ok(shard) = self.shards[oldest].try_lock() {
            return Some(shard);
        }
        let next = self.hands.oldest(queue, Some(oldest)).unwrap_or(oldest);
        Some(lock(&self.shards[next]))
    }

    /// Evicts the entry of `node`, or sends it where it belongs.
    fn judge(
        &self,
        shard: &mut Shard,
        queue: Queue,
        node: u32,
        retired: &mut Vec<Retired>,
    ) -> Option<Member> {
        let member = shard.lists.item(node);
        let (bytes, credits) = (member.bytes, member.entry.credits());
        if member.entry.state().is_held() {
            self.send(shard, node, queue, Queue::Aside);
            return None;
        }
        self.hands.pass(queue, bytes, credits > 0);
        if credits > 0 {
            let (to, left) = match queue {
                Queue::Probation => (Queue::Data, 0),
                other => (other, credits - 1),
            };
            member.entry.set_credits(left);
            member.queue = to;
            self.send(shard, node, queue, to);
            return None;
        }
        let member = shard.take(node, retired);
        self.hands.subtract(queue, bytes, member.entry.cost());
        if queue == Queue::Probation {
            shard.ghost.remember(member.spot.hash);
        }
        Some(member)
    }

    /// Moves a node from one queue's front to another one's back, and counts it there with its present charge.
    fn send(&self, shard: &mut Shard, node: u32, from: Queue, to: Queue) {
        let member = shard.lists.item(node);
        let (before, cost) = (member.bytes, member.entry.cost());
        member.bytes = member.entry.state().charge();
        member.since = self.hands.now();
        self.hands.subtract(from, before, cost);
        self.hands.add(to, member.bytes, cost);
        shard.lists.move_to_back(node, to as usize);
    }

    /// Looks at up to `count` entries that stepped aside and sends back those that are not in use any more. Returns
    /// whether there was one.
    fn call_back(&self, count: usize) -> bool {
        let mut found = false;
        for _ in 0..count {
            let Some(mut shard) = self.lock_oldest(Queue::Aside) else { break };
            let Some(node) = shard.lists.front(Queue::Aside as usize) else { continue };
            let member = shard.lists.item(node);
            let to = if member.entry.state().is_held() { Queue::Aside } else { member.queue };
            found |= to != Queue::Aside;
            self.send(&mut shard, node, Queue::Aside, to);
            shard.publish(&self.accounts, &self.hands);
        }
        found
    }
}
