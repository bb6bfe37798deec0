//! What a cache does as a whole.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use super::*;
use crate::error::{Error, Result};

/// An object of a certain size; it counts itself.
struct Block {
    value: u64,
    bytes: usize,
    alive: Arc<AtomicUsize>,
}

impl CacheObject for Block {
    fn heap_bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Clone, Default)]
struct Maker {
    alive: Arc<AtomicUsize>,
}

impl Maker {
    fn make(&self, value: u64, bytes: usize) -> Result<Block> {
        self.alive.fetch_add(1, Ordering::Relaxed);
        Ok(Block { value, bytes, alive: Arc::clone(&self.alive) })
    }

    /// As many live, once the threads of other tests have unpinned.
    fn assert_alive(&self, count: usize) {
        eventually(|| self.alive.load(Ordering::Relaxed), count);
    }
}

pub(super) fn assert_usage(cache: &Cache, bytes: usize) {
    eventually(|| cache.usage_bytes(), bytes);
}

fn assert_nothing_waits(cache: &Cache) {
    eventually(|| cache.stats().total().waiting_bytes as usize, 0);
}

/// Other tests' threads may be pinned, and hold back for a moment what is to be freed.
#[track_caller]
fn eventually(value: impl Fn() -> usize, expected: usize) {
    for _ in 0..5000 {
        epoch::collect();
        if value() == expected {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(value(), expected);
}

const COST: u32 = 1000;

#[test]
fn what_was_loaded_is_found_without_loading() {
    let (cache, maker) = (Cache::new(1 << 20), Maker::default());
    let slots = Slots::new(&cache, Role::FilterPiece, Some(2), 10);
    assert!(slots.get(3, &epoch::pin()).is_none());
    let held = slots.get_or_load(3, Admission::Fill, COST, || maker.make(7, 4096)).unwrap();
    assert_eq!(held.value, 7);
    drop(held);
    let again = slots.get_or_load(3, Admission::Fill, COST, || panic!("loaded twice")).unwrap();
    assert_eq!(again.value, 7);
    assert_eq!(slots.get(3, &epoch::pin()).unwrap().value, 7);
    let stats = cache.stats().role_on_level(Role::FilterPiece, Some(2));
    assert_eq!((stats.hits, stats.misses, stats.inserts), (2, 1, 1));
    assert!(stats.bytes >= 4096 && stats.pinned_bytes == stats.bytes);
}

#[test]
fn a_slot_that_does_not_exist_caches_nothing() {
    let (cache, maker) = (Cache::new(1 << 20), Maker::default());
    let slots = Slots::new(&cache, Role::IndexPiece, None, 1);
    let held = slots.get_or_load(1, Admission::Fill, COST, || maker.make(1, 10)).unwrap();
    assert!(slots.get(1, &epoch::pin()).is_none() && !slots.is_cached(1));
    drop(held);
    maker.assert_alive(0);
}

#[test]
fn closing_a_table_takes_its_objects_out_at_once() {
    let (cache, maker) = (Cache::new(1 << 20), Maker::default());
    let slots = Slots::new(&cache, Role::FilterPiece, None, 100);
    let blocks = BlockMap::new(&cache, Role::Data, None);
    for at in 0..100 {
        slots.get_or_load(at, Admission::Fill, COST, || maker.make(1, 1000)).unwrap();
        blocks.get_or_load(at as u64, Admission::Fill, COST, || maker.make(1, 1000)).unwrap();
    }
    maker.assert_alive(200);
    drop(slots);
    maker.assert_alive(100);
    drop(blocks);
    maker.assert_alive(0);
    assert_usage(&cache, 0);
    assert_eq!(cache.stats().total().evictions, 0);
}

#[test]
fn a_handle_outlives_eviction_table_and_cache() {
    let (cache, maker) = (Cache::new(1 << 20), Maker::default());
    let blocks = BlockMap::new(&cache, Role::Data, Some(3));
    let held = blocks.get_or_load(0, Admission::Fill, COST, || maker.make(5, 1000)).unwrap();
    cache.set_budget_bytes(0);
    drop(blocks);
    let stats = cache.stats();
    assert_eq!(stats.role(Role::Data).bytes, 0);
    let pinned = stats.role_on_level(Role::Pinned, Some(3));
    assert!(pinned.bytes >= 1000 && pinned.pinned_bytes == pinned.bytes);
    assert_usage(&cache, pinned.bytes as usize);
    let other = held.clone();
    drop(held);
    assert_usage(&cache, pinned.bytes as usize);
    drop(cache);
    assert_eq!(other.value, 5);
    maker.assert_alive(1);
    drop(other);
    maker.assert_alive(0);
}

#[test]
fn what_a_guard_has_found_outlives_eviction_table_and_cache() {
    let (cache, maker) = (Cache::new(1 << 20), Maker::default());
    let slots = Slots::new(&cache, Role::Data, None, 1);
    slots.get_or_load(0, Admission::Fill, COST, || maker.make(5, 1000)).unwrap();
    let guard = epoch::pin();
    let block = slots.get(0, &guard).unwrap();
    drop(slots);
    assert!(cache.stats().role(Role::Data).waiting_bytes >= 1000);
    assert!(cache.usage_bytes() >= 1000);
    let held = block.hold();
    assert_eq!(cache.stats().role(Role::Data).waiting_bytes, 0);
    drop(cache);
    assert_eq!(block.value, 5);
    maker.assert_alive(1);
    drop(guard);
    assert_eq!(held.value, 5);
    maker.assert_alive(1);
    drop(held);
    maker.assert_alive(0);
}

#[test]
fn the_budget_holds() {
    let (cache, maker) = (Cache::new(1 << 20), Maker::default());
    let blocks = BlockMap::new(&cache, Role::Data, None);
    for at in 0..1000 {
        blocks.get_or_load(at, Admission::Fill, COST, || maker.make(at, 10_000)).unwrap();
        assert!(cache.stats().total().bytes <= 1 << 20);
    }
    let stats = cache.stats().role(Role::Data);
    assert!(stats.bytes > (1 << 20) * 95 / 100, "{stats:?}");
    assert_eq!(stats.inserts - stats.evictions, blocks.len() as u64);
}

#[test]
fn no_budget_is_too_small() {
    for (budget, limit) in
        [0, 1, 1000, 20_000].into_iter().flat_map(|b| [(b, Limit::Soft), (b, Limit::Hard)])
    {
        let maker = Maker::default();
        let cache = Cache::with_options(&CacheOptions::new(budget).limit(limit));
        let blocks = BlockMap::new(&cache, Role::Data, None);
        let pieces = Slots::new(&cache, Role::IndexPiece, None, 50);
        for at in 0..50 {
            let block = blocks.get_or_load(at, Admission::Fill, COST, || maker.make(at, 15_000));
            let piece =
                pieces.get_or_load(at as usize, Admission::Fill, COST, || maker.make(at, 900));
            assert_eq!((block.unwrap().value, piece.unwrap().value), (at, at));
        }
        let slots_bytes = 50 * size_of::<usize>();
        let bytes = cache.stats().total().bytes as usize;
        assert!(bytes <= budget.max(slots_bytes), "{budget}: {bytes}");
    }
}

#[test]
fn one_thread_loads_and_the_others_wait() {
    for admission in [Admission::Fill, Admission::PassBy] {
        let (cache, maker) = (Cache::new(1 << 20), Maker::default());
        let blocks = BlockMap::new(&cache, Role::Data, None);
        let (loads, start) = (AtomicUsize::new(0), Barrier::new(64));
        std::thread::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| {
                    start.wait();
                    let load = || {
                        loads.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(std::time::Duration::from_millis(100));
                        maker.make(9, 100)
                    };
                    let held = blocks.get_or_load(4, admission, COST, load).unwrap();
                    assert_eq!(held.value, 9);
                });
            }
        });
        // Without a place in the cache, a thread that comes after the end of the first load loads again.
        assert!(loads.load(Ordering::Relaxed) == 1 || admission == Admission::PassBy);
        assert!(loads.load(Ordering::Relaxed) < 10);
        let stats = cache.stats().role(Role::Data);
        assert_eq!(stats.hits + stats.misses, 64);
    }
}

#[test]
fn after_a_failed_load_the_others_try_in_turn() {
    let (cache, maker) = (Cache::new(1 << 20), Maker::default());
    let slots = Slots::new(&cache, Role::Data, None, 1);
    let (loads, errors, start) = (AtomicUsize::new(0), AtomicUsize::new(0), Barrier::new(8));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                let load = || {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    match loads.fetch_add(1, Ordering::Relaxed) {
                        0 => Err(Error::corruption("damaged")),
                        1 => panic!("a load that panics"),
                        _ => maker.make(1, 100),
                    }
                };
                let load = std::panic::AssertUnwindSafe(|| {
                    slots.get_or_load(0, Admission::Fill, COST, load)
                });
                match std::panic::catch_unwind(load) {
                    Ok(Ok(held)) => assert_eq!(held.value, 1),
                    Ok(Err(_)) | Err(_) => {
                        errors.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!((loads.into_inner(), errors.into_inner()), (3, 2));
}

#[test]
fn what_passes_by_is_not_in_the_cache() {
    let (cache, maker) = (Cache::new(1 << 20), Maker::default());
    let blocks = BlockMap::new(&cache, Role::Data, None);
    let held = blocks.get_or_load(1, Admission::PassBy, COST, || maker.make(1, 1000)).unwrap();
    assert!(!blocks.is_cached(1));
    let stats = cache.stats();
    assert_eq!(stats.role(Role::Pinned).bytes, stats.usage_bytes());
    drop(held);
    maker.assert_alive(0);
    assert_usage(&cache, 0);
}

#[test]
fn growth_is_charged() {
    let (cache, maker) = (Cache::new(1 << 20), Maker::default());
    let slots = Slots::new(&cache, Role::IndexPiece, None, 1);
    let held = slots.get_or_load(0, Admission::Fill, COST, || maker.make(1, 1000)).unwrap();
    let before = cache.stats().role(Role::IndexPiece);
    held.entry().grow(1600);
    let after = cache.stats().role(Role::IndexPiece);
    assert_eq!(after.bytes, before.bytes + 1600);
    assert_eq!(after.pinned_bytes, after.bytes);
    drop((held, slots));
    assert_usage(&cache, 0);
}

#[test]
fn cached_objects_make_room_for_reservations() {
    let (cache, maker) = (Cache::new(1 << 20), Maker::default());
    let blocks = BlockMap::new(&cache, Role::Data, None);
    let fill = || {
        for at in 0..100 {
            blocks.get_or_load(at, Admission::Fill, COST, || maker.make(at, 10_000)).unwrap();
        }
    };
    fill();
    assert!(cache.try_reserve(Role::Memtable, 2 << 20).is_none());
    fill();
    let half = cache.try_reserve(Role::Memtable, 1 << 19).unwrap();
    assert!(cache.stats().total().bytes <= 1 << 20);
    let more = cache.reserve(Role::Memtable, 2 << 20);
    assert_nothing_waits(&cache);
    fill();
    let data = cache.stats().role(Role::Data).bytes;
    assert!((32 << 10..=64 << 10).contains(&data), "a sixteenth of the budget stays: {data}");
    drop((half, more));
    // What left and waits for readers takes room, too.
    assert_nothing_waits(&cache);
    fill();
    assert!(cache.stats().role(Role::Data).bytes > 900_000);
}

#[test]
fn a_hard_limit_fails_no_read_and_is_kept() {
    let maker = Maker::default();
    let cache = Cache::with_options(&CacheOptions::new(1 << 20).limit(Limit::Hard));
    let blocks = BlockMap::new(&cache, Role::Data, None);
    let all = cache.reserve(Role::Memtable, 1 << 20);
    for at in 0..100 {
        let held =
            blocks.get_or_load(at, Admission::Fill, COST, || maker.make(at, 10_000)).unwrap();
        assert_eq!(held.value, at);
        assert!(!blocks.is_cached(at));
    }
    maker.assert_alive(0);
    drop(all);
}

#[test]
fn held_blocks_stay_cached_and_do_not_keep_the_others_from_leaving() {
    let (cache, maker) = (Cache::new(1 << 20), Maker::default());
    let blocks = BlockMap::new(&cache, Role::Data, None);
    let load =
        |at| blocks.get_or_load(at, Admission::Fill, COST, || maker.make(at, 10_000)).unwrap();
    let held: Vec<_> = (0..50).map(load).collect();
    for at in 50..2000 {
        load(at);
    }
    assert!((0..50).all(|at| blocks.is_cached(at)));
    assert!(cache.stats().total().bytes <= 1 << 20);
    drop(held);
    for at in 2000..3000 {
        load(at);
    }
    let left = (0..50).filter(|at| blocks.is_cached(*at)).count();
    assert!(left < 10, "{left} of 50 blocks that were held once are still there");
}

#[test]
fn no_large_object_empties_the_cache() {
    let (cache, maker) = (Cache::new(1 << 20), Maker::default());
    let (pieces, large) =
        (Slots::new(&cache, Role::FilterPiece, None, 100), BlockMap::new(&cache, Role::Data, None));
    for at in 0..100 {
        pieces.get_or_load(at, Admission::Fill, COST, || maker.make(1, 4000)).unwrap();
    }
    for (at, bytes) in (0..).zip([300_000, 500_000, 2 << 20, 300_000, 300_000]) {
        large.get_or_load(at, Admission::Fill, COST, || maker.make(at, bytes)).unwrap();
        assert_eq!(large.is_cached(at), bytes <= 1 << 19);
    }
    assert_eq!((0..100).filter(|at| pieces.is_cached(*at)).count(), 100);
}

#[test]
fn sums_add_up() {
    let (cache, maker) = (Cache::new(1 << 20), Maker::default());
    let slots = Slots::new(&cache, Role::FilterPiece, Some(0), 500);
    let blocks = BlockMap::new(&cache, Role::Data, Some(6));
    let _memtable = cache.reserve(Role::Memtable, 12_345);
    let mut held = Vec::new();
    for at in 0..500 {
        held.push(slots.get_or_load(at, Admission::Fill, COST, || maker.make(1, 4000)).unwrap());
        blocks.get_or_load(at as u64, Admission::Fill, COST, || maker.make(1, 5000)).unwrap();
        if at % 3 == 0 {
            held.swap_remove(at % held.len());
        }
    }
    let stats = cache.stats();
    let sum = Role::ALL.into_iter().fold(RoleStats::default(), |sum, role| sum + stats.role(role));
    assert_eq!(sum, stats.total());
    assert_eq!(sum.bytes + sum.waiting_bytes, stats.usage_bytes());
    assert_eq!(sum.misses, 1000);
    let by_level: u64 = [None, Some(0), Some(6)]
        .into_iter()
        .map(|level| stats.role_on_level(Role::FilterPiece, level).bytes)
        .sum();
    assert_eq!(by_level, stats.role(Role::FilterPiece).bytes);
    let delta = cache.stats().delta(&stats);
    assert_eq!(delta.total().misses, 0);
    assert_eq!(delta.usage_bytes(), stats.usage_bytes());
}
