//! The books: what is charged to whom, and what happened.
//!
//! Two kinds of counters:
//!
//! * *Shared* ones change on a miss, an eviction, a reservation: bytes, inserts, evictions.
//! * *Striped* ones change on every hit and with every first and last holder. Each thread with an id below
//!   [`STRIPES`] has a stripe that it alone writes, with plain loads and stores; the others share one.
//!
//! A counter may be negative for a moment, when one thread has booked the end of something whose beginning another
//! thread is about to book. Sums are exact when nothing is under way.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use super::epoch::{self, Guard};
use super::role::{ACCOUNTS, Account, Role};
use super::stats::{CacheStats, RoleStats};
use super::word::{Change, State};

/// Threads with a stripe of their own.
const STRIPES: usize = 64;

/// Counters that hits and holders change.
#[derive(Debug)]
#[repr(align(128))]
struct Stripe {
    hits: [AtomicU64; ACCOUNTS],
    misses: [AtomicU64; ACCOUNTS],
    /// Bytes that got their first holder minus bytes that lost their last, seen by this thread.
    pinned: [AtomicU64; ACCOUNTS],
}

impl Stripe {
    const fn new() -> Self {
        Self {
            hits: [const { AtomicU64::new(0) }; ACCOUNTS],
            misses: [const { AtomicU64::new(0) }; ACCOUNTS],
            pinned: [const { AtomicU64::new(0) }; ACCOUNTS],
        }
    }
}

/// Counters of one account that all threads share.
#[derive(Debug, Default)]
struct Shared {
    bytes: AtomicI64,
    /// Reserved bytes, which are pinned all the time.
    reserved: AtomicI64,
    waiting: AtomicI64,
    inserts: AtomicU64,
    inserted_bytes: AtomicU64,
    evictions: AtomicU64,
}

/// The books of one cache. Every entry refers to them, so they outlive the cache.
#[derive(Debug)]
pub(super) struct Accounts {
    /// All bytes that are charged.
    total: AtomicI64,
    /// Those among them that are evicted and wait for readers.
    waiting: AtomicI64,
    shared: [Shared; ACCOUNTS],
    stripes: [OnceLock<Box<Stripe>>; STRIPES],
    common: Stripe,
}

/// Where the charge of an entry in some state is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Nothing,
    Linked { held: bool },
    Unlinked,
    Waiting,
}

impl Class {
    fn of(state: State) -> Self {
        match () {
            () if state.is_linked() => Self::Linked { held: state.is_held() },
            () if state.is_held() => Self::Unlinked,
            () if state.is_kept() => Self::Waiting,
            () => Self::Nothing,
        }
    }
}

impl Accounts {
    pub(super) fn new() -> Self {
        Self {
            total: AtomicI64::new(0),
            waiting: AtomicI64::new(0),
            shared: std::array::from_fn(|_| Shared::default()),
            stripes: [const { OnceLock::new() }; STRIPES],
            common: Stripe::new(),
        }
    }

    /// All bytes that are charged.
    pub(super) fn total(&self) -> usize {
        at_least_zero(self.total.load(Ordering::Relaxed))
    }

    /// The charged bytes that have left the cache and wait for readers.
    pub(super) fn waiting(&self) -> usize {
        at_least_zero(self.waiting.load(Ordering::Relaxed))
    }

    /// The charged bytes that eviction can still do something about: without those that wait for readers.
    pub(super) fn live(&self) -> usize {
        let waiting = self.waiting.load(Ordering::Relaxed);
        at_least_zero(self.total.load(Ordering::Relaxed) - waiting)
    }

    /// Books a new entry.
    pub(super) fn book_new(&self, account: Account, state: State) {
        self.book(account, Change { before: State::NOTHING, after: state });
    }

    /// Moves an entry's charge from where it was counted to where it is counted now.
    #[inline]
    pub(super) fn book(&self, account: Account, change: Change) {
        let Change { before, after } = change;
        if Class::of(before) == Class::of(after) && before.charge() == after.charge() {
            return;
        }
        self.move_charge(account, before, after);
    }

    fn move_charge(&self, account: Account, before: State, after: State) {
        let total = after.charge() as i64 - before.charge() as i64;
        if total != 0 {
            self.total.fetch_add(total, Ordering::Relaxed);
        }
        let was_and_is = (Class::of(before), Class::of(after));
        if let (Class::Linked { held: was_held }, Class::Linked { held: is_held }) = was_and_is {
            // A holder came or went: nothing shared changes.
            if total != 0 {
                self.shared[account.index()].bytes.fetch_add(total, Ordering::Relaxed);
            }
            let pinned = |held, state: State| if held { state.charge() as i64 } else { 0 };
            self.pin(account, pinned(is_held, after) - pinned(was_held, before));
            return;
        }
        self.count(account, was_and_is.1, after.charge() as i64);
        self.count(account, was_and_is.0, -(before.charge() as i64));
    }

    fn count(&self, account: Account, class: Class, bytes: i64) {
        let add = |counter: &AtomicI64| {
            counter.fetch_add(bytes, Ordering::Relaxed);
        };
        match class {
            Class::Nothing => {}
            Class::Linked { held } => {
                add(&self.shared[account.index()].bytes);
                if held {
                    self.pin(account, bytes);
                }
            }
            Class::Unlinked => {
                add(&self.shared[account.pinned().index()].bytes);
                self.pin(account.pinned(), bytes);
            }
            Class::Waiting => {
                add(&self.shared[account.index()].waiting);
                add(&self.waiting);
            }
        }
    }

    fn pin(&self, account: Account, bytes: i64) {
        self.striped(epoch::thread_id(), |stripe| &stripe.pinned[account.index()], bytes as u64);
    }

    /// Counts a hit.
    #[inline]
    pub(super) fn hit(&self, account: Account, guard: &Guard) {
        self.striped(Some(guard.thread_id()), |stripe| &stripe.hits[account.index()], 1);
    }

    /// Counts a miss.
    pub(super) fn miss(&self, account: Account) {
        self.striped(epoch::thread_id(), |stripe| &stripe.misses[account.index()], 1);
    }

    /// Adds to a counter of the thread's stripe.
    #[inline]
    fn striped(&self, thread: Option<usize>, of: impl Fn(&Stripe) -> &AtomicU64, more: u64) {
        let own = thread.and_then(|id| self.stripes.get(id));
        match own {
            Some(stripe) => {
                let counter = of(stripe.get_or_init(|| Box::new(Stripe::new())));
                // The thread is the only one that writes here, and ids change hands under a lock.
                counter
                    .store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
            }
            None => {
                of(&self.common).fetch_add(more, Ordering::Relaxed);
            }
        }
    }

    /// Counts an object that entered the cache.
    pub(super) fn inserted(&self, account: Account, bytes: usize) {
        let shared = &self.shared[account.index()];
        shared.inserts.fetch_add(1, Ordering::Relaxed);
        shared.inserted_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts an object that left to make room.
    pub(super) fn evicted(&self, account: Account) {
        self.shared[account.index()].evictions.fetch_add(1, Ordering::Relaxed);
    }

    /// Charges (or gives back) bytes that are no entry's. `pinned` are reservations.
    pub(super) fn charge(&self, account: Account, bytes: i64, pinned: bool) {
        let shared = &self.shared[account.index()];
        self.total.fetch_add(bytes, Ordering::Relaxed);
        shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        if pinned {
            shared.reserved.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Bytes that are reserved.
    pub(super) fn reserved(&self, account: Account) -> usize {
        at_least_zero(self.shared[account.index()].reserved.load(Ordering::Relaxed))
    }

    /// All counters.
    pub(super) fn stats(&self, budget: usize) -> CacheStats {
        let stripes = || self.stripes.iter().filter_map(OnceLock::get).map(|stripe| &**stripe);
        let sum = |of: &dyn Fn(&Stripe) -> &AtomicU64| {
            stripes()
                .chain([&self.common])
                .fold(0_u64, |sum, stripe| sum.wrapping_add(of(stripe).load(Ordering::Relaxed)))
        };
        let accounts = (0..ACCOUNTS).map(|at| {
            let shared = &self.shared[at];
            let pinned = sum(&|stripe| &stripe.pinned[at]) as i64;
            RoleStats {
                bytes: at_least_zero(shared.bytes.load(Ordering::Relaxed)) as u64,
                pinned_bytes: at_least_zero(pinned + shared.reserved.load(Ordering::Relaxed))
                    as u64,
                waiting_bytes: at_least_zero(shared.waiting.load(Ordering::Relaxed)) as u64,
                hits: sum(&|stripe| &stripe.hits[at]),
                misses: sum(&|stripe| &stripe.misses[at]),
                inserts: shared.inserts.load(Ordering::Relaxed),
                inserted_bytes: shared.inserted_bytes.load(Ordering::Relaxed),
                evictions: shared.evictions.load(Ordering::Relaxed),
            }
        });
        CacheStats::new(budget, self.total(), accounts.collect())
    }
}

fn at_least_zero(count: i64) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// Bytes that are charged while this lives: an array of the bookkeeping.
#[derive(Debug)]
pub(super) struct Charge {
    accounts: std::sync::Arc<Accounts>,
    bytes: i64,
}

impl Charge {
    /// Charges `bytes` to [`Role::Bookkeeping`].
    pub(super) fn new(accounts: &std::sync::Arc<Accounts>, bytes: usize) -> Self {
        let accounts = std::sync::Arc::clone(accounts);
        accounts.charge(Account::new(Role::Bookkeeping, None), bytes as i64, false);
        Self { accounts, bytes: bytes as i64 }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.accounts.charge(Account::new(Role::Bookkeeping, None), -self.bytes, false);
    }
}
