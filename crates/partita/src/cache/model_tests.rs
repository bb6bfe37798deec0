//! Slots and maps against a hash map, and under threads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use proptest::prelude::*;

use super::tests::assert_usage;
use super::*;
use crate::error::Error;

/// An object that knows where it belongs, and poisons itself in the end.
struct Marked {
    at: u64,
    version: u64,
    bytes: usize,
    is_alive: AtomicBool,
}

impl Marked {
    fn new(at: u64, version: u64, bytes: usize) -> Self {
        Self { at, version, bytes, is_alive: AtomicBool::new(true) }
    }

    fn check(&self, at: u64) {
        assert!(self.is_alive.load(Ordering::Relaxed), "freed while it was seen");
        assert_eq!(self.at, at);
    }
}

impl CacheObject for Marked {
    fn heap_bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        self.is_alive.store(false, Ordering::Relaxed);
    }
}

/// A home of either kind.
enum Either {
    Slots(Slots<Marked>),
    Map(BlockMap<Marked>),
}

const PLACES: u64 = 40;

impl Either {
    fn new(cache: &Cache, is_map: bool) -> Self {
        if is_map {
            Self::Map(BlockMap::new(cache, Role::Data, Some(1)))
        } else {
            Self::Slots(Slots::new(cache, Role::IndexPiece, None, PLACES as usize))
        }
    }

    fn get<'g>(&self, at: u64, guard: &'g epoch::Guard) -> Option<&'g Entry<Marked>> {
        match self {
            Self::Slots(slots) => slots.get(at as usize, guard),
            Self::Map(map) => map.get(at, guard),
        }
    }

    fn get_or_load(
        &self,
        at: u64,
        how: Admission,
        load: impl FnOnce() -> Result<Marked, Error>,
    ) -> Result<Held<Marked>, Error> {
        match self {
            Self::Slots(slots) => slots.get_or_load(at as usize, how, 5_000, load),
            Self::Map(map) => map.get_or_load(at, how, 5_000, load),
        }
    }

    fn is_cached(&self, at: u64) -> bool {
        match self {
            Self::Slots(slots) => slots.is_cached(at as usize),
            Self::Map(map) => map.is_cached(at),
        }
    }
}

/// Counters whose sums agree. Threads of other tests may free at any time what waited for them.
fn consistent_stats(cache: &Cache) -> CacheStats {
    let agrees = |stats: &CacheStats| {
        stats.total().bytes + stats.total().waiting_bytes == stats.usage_bytes()
    };
    (0..100).map(|_| cache.stats()).find(agrees).expect("sums that agree in one of a hundred times")
}

#[derive(Clone, Debug)]
enum Step {
    Get(usize, u64),
    Load { home: usize, at: u64, bytes: usize, fills: bool, fails: bool, keeps: bool },
    LetGo(prop::sample::Index),
    Grow(prop::sample::Index, usize),
    Reopen(usize),
    Budget(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let load =
        (0..4_usize, 0..PLACES, 1..9_000_usize, 0..16_u8).prop_map(|(home, at, bytes, bits)| {
            let (fills, fails, keeps) = (bits & 3 != 0, bits == 4, bits & 12 == 12);
            Step::Load { home, at, bytes, fills, fails, keeps }
        });
    prop_oneof![
        10 => (0..4_usize, 0..PLACES).prop_map(|(home, at)| Step::Get(home, at)),
        20 => load,
        3 => any::<prop::sample::Index>().prop_map(Step::LetGo),
        1 => (any::<prop::sample::Index>(), 0..500_usize).prop_map(|(at, more)| Step::Grow(at, more)),
        1 => (0..4_usize).prop_map(Step::Reopen),
        1 => (0..300_000_usize).prop_map(Step::Budget),
    ]
}

proptest! {
    /// What is found is what was loaded last for that place; what was let in is found until it is evicted; what is held
    /// stays; the books agree.
    #[test]
    fn homes_are_like_hash_maps_that_may_forget(steps in proptest::collection::vec(step(), 0..600)) {
        let cache = Cache::new(120_000);
        let mut homes: Vec<_> = (0..4).map(|home| Either::new(&cache, home % 2 == 0)).collect();
        let mut loaded: HashMap<(usize, u64), u64> = HashMap::new();
        let mut held: Vec<Held<Marked>> = Vec::new();
        for (version, step) in (0..).zip(steps) {
            match step {
                Step::Get(home, at) => {
                    let guard = epoch::pin();
                    let found = homes[home].get(at, &guard);
                    prop_assert_eq!(found.is_some(), homes[home].is_cached(at));
                    if let Some(entry) = found {
                        entry.check(at);
                        prop_assert_eq!(Some(&entry.version), loaded.get(&(home, at)));
                    }
                }
                Step::Load { home, at, bytes, fills, fails, keeps } => {
                    let was_cached = homes[home].is_cached(at);
                    let how = if fills { Admission::Fill } else { Admission::PassBy };
                    let result = homes[home].get_or_load(at, how, || match fails {
                        true => Err(Error::corruption("damaged")),
                        false => Ok(Marked::new(at, version, bytes)),
                    });
                    prop_assert_eq!(result.is_err(), fails && !was_cached);
                    let Ok(object) = result else { continue };
                    object.check(at);
                    if was_cached {
                        prop_assert_eq!(Some(&object.version), loaded.get(&(home, at)));
                    } else {
                        prop_assert_eq!(object.version, version);
                        prop_assert!(fills || !homes[home].is_cached(at));
                        loaded.insert((home, at), version);
                    }
                    if keeps {
                        held.push(object);
                    }
                }
                Step::LetGo(which) if !held.is_empty() => {
                    let object = held.swap_remove(which.index(held.len()));
                    object.check(object.at);
                }
                Step::Grow(which, more) if !held.is_empty() => {
                    held[which.index(held.len())].entry().grow(more);
                }
                Step::LetGo(_) | Step::Grow(..) => {}
                Step::Reopen(home) => {
                    homes[home] = Either::new(&cache, home % 2 == 0);
                    loaded.retain(|(other, _), _| *other != home);
                }
                Step::Budget(bytes) => cache.set_budget_bytes(bytes),
            }
            held.iter().for_each(|object| object.check(object.at));
            let stats = consistent_stats(&cache);
            if let Step::Budget(_) = step {
                // What is pinned may exceed the budget, and under the soft limit a sixteenth of it stays.
                let fixed = stats.total().pinned_bytes + stats.role(Role::Bookkeeping).bytes;
                let evictable = stats.total().bytes - fixed;
                let floor = stats.budget_bytes() / 16;
                prop_assert!(stats.total().bytes <= stats.budget_bytes() || evictable <= floor);
            }
        }
        drop(homes);
        held.iter().for_each(|object| object.check(object.at));
        drop(held);
        assert_usage(&cache, 0);
        let total = cache.stats().total();
        prop_assert_eq!((total.bytes, total.pinned_bytes), (0, 0));
    }
}

/// Threads that look up, load, hold, close and open tables; what they see must be alive and the right object.
#[test]
fn threads_see_living_objects_at_their_places() {
    let cache = Cache::new(400_000);
    let opens = || [false, true].map(|is_map| Either::new(&cache, is_map));
    let homes = std::sync::RwLock::new(opens());
    let (finds, loads) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..6_u64 {
            let (homes, finds, loads, opens, cache) = (&homes, &finds, &loads, &opens, &cache);
            scope.spawn(move || {
                let mut held = Vec::new();
                let mut random = thread;
                for turn in 0..6_000_u64 {
                    random = home::mix(random + turn);
                    let at = random % PLACES;
                    if turn % 1000 == 999 && thread < 2 {
                        *homes.write().unwrap() = opens();
                    }
                    let homes = homes.read().unwrap();
                    let either = &homes[random as usize >> 20 & 1];
                    {
                        let guard = epoch::pin();
                        if let Some(entry) = either.get(at, &guard) {
                            entry.check(at);
                            finds.fetch_add(1, Ordering::Relaxed);
                            if random >> 30 & 7 == 0 {
                                held.push(entry.hold());
                            }
                            if random >> 40 & 15 == 0 {
                                std::thread::yield_now();
                            }
                            entry.check(at);
                            continue;
                        }
                    }
                    let how =
                        if random >> 50 & 7 == 0 { Admission::PassBy } else { Admission::Fill };
                    let bytes = (random >> 33) as usize % 12_000;
                    let load = || {
                        loads.fetch_add(1, Ordering::Relaxed);
                        Ok(Marked::new(at, turn, bytes))
                    };
                    let object = either.get_or_load(at, how, load).unwrap();
                    object.check(at);
                    if held.len() > 20 {
                        held.iter().for_each(|object: &Held<Marked>| object.check(object.at));
                        held.clear();
                        cache.stats();
                    }
                }
            });
        }
    });
    assert!(finds.into_inner() > 0 && loads.into_inner() > 0);
    drop(homes);
    assert_usage(&cache, 0);
    let total = cache.stats().total();
    assert_eq!((total.bytes, total.pinned_bytes, total.waiting_bytes), (0, 0, 0));
}
