//! What a lookup in the cache costs, and what a miss adds to the read.
//!
//! `cargo bench -p partita --bench cache`; as a test (`cargo test --benches`) it runs once with few lookups.
//!
//! Beside it stands what the cache is not: a hash map of reference-counted objects in shards with a mutex each, without
//! any eviction. Figures are nanoseconds of wall time per lookup and thread, the least of several runs.

#![allow(clippy::disallowed_methods, reason = "benchmarks use the machine as it is")]

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Instant;

use partita::cache::{Admission, BlockMap, Cache, CacheObject, Role, Slots, epoch};

/// An object whose first word is read.
struct Block {
    word: u64,
    _rest: [u64; 15],
}

impl CacheObject for Block {
    fn heap_bytes(&self) -> usize {
        0
    }
}

fn block(word: u64) -> Block {
    Block { word, _rest: [0; 15] }
}

/// Objects asked for in the uniform case: more than the first two cache levels hold.
const OBJECTS: u64 = 1 << 16;

/// A lookup: from a number to a word of its object.
type Way<'a> = Box<dyn Fn(u64) -> u64 + Sync + 'a>;

/// What is compared.
struct Contestants {
    slots: Slots<Block>,
    map: BlockMap<Block>,
    shards: Vec<Mutex<HashMap<u64, Arc<Block>>>>,
}

impl Contestants {
    fn new() -> Self {
        let cache = Cache::new(1 << 30);
        let this = Self {
            slots: Slots::new(&cache, Role::FilterPiece, Some(3), OBJECTS as usize),
            map: BlockMap::new(&cache, Role::Data, Some(3)),
            shards: (0..64).map(|_| Mutex::default()).collect(),
        };
        for at in 0..OBJECTS {
            this.slots.get_or_load(at as usize, Admission::Fill, 1, || Ok(block(at))).unwrap();
            this.map.get_or_load(at, Admission::Fill, 1, || Ok(block(at))).unwrap();
            this.shard(at).lock().unwrap().insert(at, Arc::new(block(at)));
        }
        this
    }

    fn shard(&self, at: u64) -> &Mutex<HashMap<u64, Arc<Block>>> {
        &self.shards[at.wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 58]
    }

    /// The ways to look up.
    fn ways(&self) -> [(&'static str, Way<'_>); 6] {
        [
            ("nothing", Box::new(|at| at)),
            ("slot", Box::new(|at| self.slots.get(at as usize, &epoch::pin()).unwrap().word)),
            ("map", Box::new(|at| self.map.get(at, &epoch::pin()).unwrap().word)),
            (
                "slot, held",
                Box::new(|at| {
                    let held = self.slots.get(at as usize, &epoch::pin()).unwrap().hold();
                    held.word
                }),
            ),
            (
                "three slots, one pin",
                Box::new(|at| {
                    let guard = epoch::pin();
                    let word = |at: u64| self.slots.get(at as usize, &guard).unwrap().word;
                    word(at) + word(at ^ 1) + word(at ^ 2)
                }),
            ),
            (
                "mutexes, hash maps, Arcs",
                Box::new(|at| {
                    let found = Arc::clone(&self.shard(at).lock().unwrap()[&at]);
                    found.word
                }),
            ),
        ]
    }
}

/// Nanoseconds per lookup with so many threads; `mask` of 0 asks for one object only.
fn measure(look_up: &(dyn Fn(u64) -> u64 + Sync), threads: usize, mask: u64, count: u64) -> f64 {
    let run = || {
        let start = Barrier::new(threads + 1);
        std::thread::scope(|scope| {
            for thread in 0..threads as u64 {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    let mut at = thread;
                    for _ in 0..count {
                        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(thread | 1);
                        black_box(look_up((at >> 40) & mask));
                    }
                });
            }
            start.wait();
            Instant::now()
        })
        .elapsed()
        .as_nanos() as f64
            / count as f64
    };
    (0..5).map(|_| run()).fold(f64::INFINITY, f64::min)
}

fn hits(count: u64) {
    let contestants = Contestants::new();
    println!("{:<26} {:>7} {:>7} {:>7}   threads", "hits, ns per thread", 1, 2, 4);
    for (case, mask) in [("one object", 0), ("uniform", OBJECTS - 1)] {
        for (name, way) in contestants.ways() {
            let name = format!("{name}, {case}");
            let ns = [1, 2, 4].map(|threads| measure(&*way, threads, mask, count));
            println!("{name:<38} {:>7.1} {:>7.1} {:>7.1}", ns[0], ns[1], ns[2]);
        }
    }
}

/// A piece of a table, as far as the allocator is concerned.
struct Piece(Vec<u8>);

impl CacheObject for Piece {
    fn heap_bytes(&self) -> usize {
        self.0.capacity()
    }
}

/// Loads that read nothing: what is measured is the way in and out.
fn misses(count: u64) {
    let cache = Cache::new(16 << 20);
    let slots = Slots::new(&cache, Role::FilterPiece, Some(3), 16 * OBJECTS as usize);
    let blocks = BlockMap::new(&cache, Role::Data, Some(3));
    let load = || Ok(Piece(Vec::with_capacity(4 << 10)));
    let report = |name: &str, run: &dyn Fn(u64)| {
        (0..2 * count).for_each(run);
        let start = Instant::now();
        (2 * count..3 * count).for_each(run);
        println!("{name:<38} {:>7.1}", start.elapsed().as_nanos() as f64 / count as f64);
    };
    println!("misses, ns");
    report("allocate and free 4 KiB", &|_| drop(black_box(load())));
    report("slot: load, insert, evict, free", &|at| {
        let at = at as usize % slots.len();
        drop(slots.get_or_load(at, Admission::Fill, 1, load));
    });
    report("map: load, insert, evict, free", &|at| {
        drop(blocks.get_or_load(at << 12, Admission::Fill, 1, load));
    });
    report("map: load, pass by", &|at| {
        drop(blocks.get_or_load(at << 12 | 1, Admission::PassBy, 1, load));
    });
}

fn main() {
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    hits(if is_bench { 2_000_000 } else { 1000 });
    misses(if is_bench { 300_000 } else { 1000 });
}
