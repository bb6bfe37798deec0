//! The heart of a cache: budget, books and shards; how entries enter and leave.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::accounts::Accounts;
use super::entry::{CacheObject, Held};
use super::epoch::{self, Retired};
use super::evict::Hands;
use super::role::{Account, Role};
use super::shard::{Member, Queue, Shard, Spot};
use super::{CacheOptions, Limit};
use crate::util::sync::{Mutex, lock};

/// What all handles of a cache share.
pub(super) struct Core {
    budget: AtomicUsize,
    pub(super) limit: Limit,
    pub(super) accounts: Arc<Accounts>,
    pub(super) shards: Box<[Mutex<Shard>]>,
    pub(super) hands: Hands,
    pub(super) companion: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// A shard for each so many bytes of the budget, so that a small cache's queues are not torn into pieces.
const BYTES_OF_A_SHARD: usize = 4 << 20;

/// More shards than this serve nobody.
const SHARDS_MAX: usize = 64;

impl Core {
    pub(super) fn new(options: &CacheOptions) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let shards = (2 * threads)
            .min(options.budget_bytes / BYTES_OF_A_SHARD)
            .clamp(1, SHARDS_MAX)
            .next_power_of_two();
        Self {
            budget: AtomicUsize::new(options.budget_bytes),
            limit: options.limit,
            accounts: Arc::new(Accounts::new()),
            shards: (0..shards).map(|number| Mutex::new(Shard::new(number))).collect(),
            hands: Hands::new(shards),
            companion: OnceLock::new(),
        }
    }

    pub(super) fn budget(&self) -> usize {
        self.budget.load(Ordering::Relaxed)
    }

    pub(super) fn set_budget(&self, bytes: usize) {
        self.budget.store(bytes, Ordering::Relaxed);
        self.make_room();
    }

    /// What is larger stands in a queue of its own.
    ///
    /// A sixteenth of the budget; in small caches a quarter, so that common blocks are none of these.
    fn large_bytes(&self) -> usize {
        const COMMON_BLOCK: usize = 256 << 10;
        let budget = self.budget();
        (budget / 16).max((budget / 4).min(COMMON_BLOCK))
    }

    /// What large objects may take together.
    pub(super) fn large_limit(&self) -> usize {
        self.budget() / 2
    }

    /// What cached objects may always take under a soft limit, however much is pinned.
    pub(super) fn soft_floor(&self) -> usize {
        match self.limit {
            Limit::Soft => self.budget() / 16,
            Limit::Hard => 0,
        }
    }

    /// What may wait for readers while objects still enter the cache.
    pub(super) fn waiting_limit(&self) -> usize {
        self.budget() / 16
    }

    pub(super) fn shard(&self, hash: u64) -> &Mutex<Shard> {
        // The ghosts take the low bits.
        &self.shards[(hash >> 40) as usize & (self.shards.len() - 1)]
    }

    /// Lets a new object into the cache, if there is room for it and `link` finds its place empty.
    ///
    /// * `link`: leads the home to the object, under the shard's lock; tells whether it did.
    /// * Returns whether the object is in the cache now. Else it lives as long as it is held.
    pub(super) fn insert<T: CacheObject>(
        &self,
        spot: Spot,
        entry: &Held<T>,
        link: impl FnOnce(&Held<T>, &mut Vec<Retired>) -> bool,
    ) -> bool {
        let header = entry.entry().header();
        let bytes = header.state().charge();
        // Its charge is counted already, so what fits now fits with it.
        if bytes > self.large_limit() || !self.make_room_to_enter(bytes) {
            return false;
        }
        let mut retired = Vec::new();
        let guard = epoch::pin();
        let mut shard = lock(self.shard(spot.hash));
        let is_linked = link(entry, &mut retired);
        if is_linked {
            let queue = if bytes > self.large_bytes() {
                Queue::Large
            } else if header.account().role() != Role::Data {
                Queue::Meta
            } else if shard.ghost.recall(spot.hash) {
                Queue::Data
            } else {
                Queue::Probation
            };
            let since = self.hands.now();
            let member = Member { entry: entry.enter(), spot, bytes, queue, since };
            self.hands.add(queue, bytes, header.cost());
            shard.push(member);
            shard.publish(&self.accounts, &self.hands);
        }
        drop(shard);
        drop(guard);
        epoch::retire(retired);
        if is_linked {
            self.accounts.inserted(header.account(), bytes);
        }
        is_linked
    }

    /// Takes an entry out, for its home is closed.
    ///
    /// * `position`: where the entry stands in the queues, asked under the shard's lock; `None` if it is gone already.
    pub(super) fn remove(
        &self,
        hash: u64,
        position: impl FnOnce() -> Option<u32>,
        retired: &mut Vec<Retired>,
    ) {
        let _guard = epoch::pin();
        let mut shard = lock(self.shard(hash));
        let Some(node) = position() else { return };
        let standing = shard.standing(node);
        let member = shard.take(node, retired);
        self.hands.subtract(standing, member.bytes, member.entry.cost());
        shard.publish(&self.accounts, &self.hands);
        drop(shard);
        retired.push(Retired::Entry(member.entry));
    }

    /// Charges bytes that are no entry's, and makes room for them.
    pub(super) fn reserve(&self, account: Account, bytes: usize) {
        self.accounts.charge(account, bytes as i64, true);
        self.make_room();
    }

    /// The same if there is room within the budget, whatever the limit's kind.
    pub(super) fn try_reserve(&self, account: Account, bytes: usize) -> bool {
        self.reserve(account, bytes);
        let fits = self.accounts.live() <= self.budget();
        if !fits {
            self.give_back(account, bytes);
        }
        fits
    }

    /// The end of a reservation.
    pub(super) fn give_back(&self, account: Account, bytes: usize) {
        self.accounts.charge(account, -(bytes as i64), true);
    }
}
