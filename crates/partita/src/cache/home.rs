//! Where a table's objects are found: the part that slots and maps have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Cache;
use super::entry::{CacheObject, Entry, Held};
use super::epoch::{self, Guard, Retired};
use super::evict;
use super::flight::{Flights, Part};
use super::role::{Account, Role};
use super::shard::{Spot, Unlink};
use crate::error::Result;

/// Whether an object that was loaded may enter the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It enters, if the budget has room.
    Fill,
    /// It passes by: for compactions and scans. What is cached already is used, but does not count as used.
    PassBy,
}

/// Links to entries, by an address.
pub(super) trait Place: Unlink + 'static {
    type Object: CacheObject;

    /// The entry at `at`.
    fn find<'g>(&self, at: u64, guard: &'g Guard) -> Option<&'g Entry<Self::Object>>;

    /// Leads `at` to `entry`, unless it leads to another one already. Under the shard's lock.
    fn link(&self, at: u64, entry: &Held<Self::Object>, retired: &mut Vec<Retired>) -> bool;

    /// The addresses that may lead somewhere.
    fn addresses(&self) -> Vec<u64>;
}

/// Homes differ by this number, whatever their files are called.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// A place and what it takes to fill it.
pub(super) struct Home<P: Place> {
    place: Arc<P>,
    cache: Cache,
    account: Account,
    id: u64,
    flights: Flights<P::Object>,
}

impl<P: Place> Home<P> {
    pub(super) fn new(cache: &Cache, role: Role, level: Option<u8>, place: P) -> Self {
        Self {
            place: Arc::new(place),
            cache: cache.clone(),
            account: Account::new(role, level),
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            flights: Flights::new(),
        }
    }

    pub(super) fn place(&self) -> &P {
        &self.place
    }

    #[inline]
    pub(super) fn get<'g>(&self, at: u64, guard: &'g Guard) -> Option<&'g Entry<P::Object>> {
        let entry = self.place.find(at, guard)?;
        entry.touch();
        self.cache.core.accounts.hit(self.account, guard);
        Some(entry)
    }

    pub(super) fn get_or_load(
        &self,
        at: u64,
        how: Admission,
        reload_cost: u32,
        load: impl FnOnce() -> Result<P::Object>,
    ) -> Result<Held<P::Object>> {
        if let Some(held) = self.look_up(at, how) {
            return Ok(held);
        }
        self.cache.core.accounts.miss(self.account);
        loop {
            match self.flights.join(at) {
                Part::Waited(held) => return Ok(held),
                Part::Failed => {}
                Part::Leads(lead) => {
                    // It may have landed between the look-up and now.
                    let held = match self.find_held(at) {
                        Some(held) => held,
                        None => self.admit(at, how, reload_cost, load()?),
                    };
                    lead.finish(&held);
                    return Ok(held);
                }
            }
        }
    }

    /// A hit, counted and touched as `get` does.
    fn look_up(&self, at: u64, how: Admission) -> Option<Held<P::Object>> {
        let guard = epoch::pin();
        let entry = self.place.find(at, &guard)?;
        if how == Admission::Fill {
            entry.touch();
        }
        self.cache.core.accounts.hit(self.account, &guard);
        Some(entry.hold())
    }

    fn find_held(&self, at: u64) -> Option<Held<P::Object>> {
        self.place.find(at, &epoch::pin()).map(Entry::hold)
    }

    /// Wraps an object that was loaded, and lets it into the cache if it may and can enter.
    fn admit(&self, at: u64, how: Admission, cost: u32, object: P::Object) -> Held<P::Object> {
        let core = &self.cache.core;
        let (credits_max, credits) = evict::credits(self.account.role(), self.account.level());
        let held = Held::new(&core.accounts, self.account, cost, credits_max, object);
        held.entry().header().set_credits(credits);
        match how {
            Admission::Fill => {
                let link =
                    |held: &Held<_>, retired: &mut Vec<_>| self.place.link(at, held, retired);
                core.insert(self.spot(at), &held, link);
            }
            Admission::PassBy => {
                core.make_room();
            }
        }
        held
    }

    fn spot(&self, at: u64) -> Spot {
        Spot { home: Arc::clone(&self.place) as Arc<dyn Unlink>, at, hash: self.hash(at) }
    }

    fn hash(&self, at: u64) -> u64 {
        mix(mix(self.id) ^ at)
    }
}

/// The end of a table: all its entries leave at once.
impl<P: Place> Drop for Home<P> {
    fn drop(&mut self) {
        let mut retired = Vec::new();
        for at in self.place.addresses() {
            let guard = epoch::pin();
            let position = || Some(self.place.find(at, &guard)?.header().position());
            self.cache.core.remove(self.hash(at), position, &mut retired);
        }
        epoch::retire(retired);
    }
}

/// The finaliser of SplitMix64.
pub(super) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
