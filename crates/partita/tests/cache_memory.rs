//! Charged bytes against those that the allocator gave. A binary of its own, for the allocator counts them all.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

use partita::cache::{Admission, BlockMap, Cache, CacheObject, Held, Role, Slots};

struct Counting;

static ALLOCATED: AtomicI64 = AtomicI64::new(0);

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Block(Vec<u8>);

impl CacheObject for Block {
    fn heap_bytes(&self) -> usize {
        self.0.capacity()
    }
}

/// A small generator: what is tested does not depend on its quality.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// One open table with objects of all cached roles.
struct Table {
    blocks: BlockMap<Block>,
    pieces: [Slots<Block>; 3],
}

const PIECES: u64 = 2_000;

impl Table {
    fn new(cache: &Cache) -> Self {
        let roles = [Role::IndexPiece, Role::FilterPiece, Role::Dictionary];
        Self {
            blocks: BlockMap::new(cache, Role::Data, Some(3)),
            pieces: roles.map(|role| Slots::new(cache, role, Some(3), PIECES as usize)),
        }
    }

    /// Asks for some object; its size is a function of its place.
    fn ask(&self, random: &mut Random) -> Held<Block> {
        let make = |bytes: u64| Ok(Block(Vec::with_capacity(bytes as usize)));
        let at = random.below(PIECES);
        match random.below(4) as usize {
            3 => {
                let (offset, bytes) = (at * 70_000, 256 + at * 37 % 65_280);
                self.blocks.get_or_load(offset, Admission::Fill, 20_000, || make(bytes)).unwrap()
            }
            role => {
                let load = || make(300 + at * 13 % 8_000);
                self.pieces[role].get_or_load(at as usize, Admission::Fill, 3_000, load).unwrap()
            }
        }
    }
}

/// Bytes allocated now, counted from a start.
struct Ruler(i64);

impl Ruler {
    fn start() -> Self {
        Self(ALLOCATED.load(Ordering::Relaxed))
    }

    fn bytes(&self) -> i64 {
        ALLOCATED.load(Ordering::Relaxed) - self.0
    }
}

#[test]
fn what_is_charged_is_what_was_allocated() {
    let cache = Cache::new(8 << 20);
    // The parts of fixed size, which are not charged: this thread's counters, and the queue of what waits.
    let mut random = Random(1);
    let first = Table::new(&cache);
    (0..1000).for_each(|_| drop(first.ask(&mut random)));
    drop(first);
    assert_eq!(cache.usage_bytes(), 0);
    let ruler = Ruler::start();

    let mut tables: Vec<Table> = (0..4).map(|_| Table::new(&cache)).collect();
    let mut held = Vec::with_capacity(100);
    let mut worst = 0.0_f64;
    let mut asked = 0_u64;
    let before = cache.stats();
    while cache.stats().delta(&before).total().inserts < 1_000_000 {
        for _ in 0..10_000 {
            let table = random.below(4) as usize;
            let object = tables[table].ask(&mut random);
            if random.below(50) == 0 {
                held.push(object);
            }
            if held.len() == 100 {
                held.swap_remove(random.below(100) as usize);
            }
            asked += 1;
        }
        if asked.is_multiple_of(200_000) {
            tables[(asked / 200_000) as usize % 4] = Table::new(&cache);
        }
        let (charged, allocated) = (cache.usage_bytes() as f64, ruler.bytes() as f64);
        worst = worst.max((charged - allocated).abs() / allocated);
        let total = cache.stats().total();
        assert_eq!(total.bytes + total.waiting_bytes, cache.usage_bytes() as u64);
    }
    println!("{asked} lookups, charged and allocated bytes differ by up to {:.2}%", worst * 100.0);
    assert!(worst < 0.03, "charged and allocated bytes differ by {:.2}%", worst * 100.0);
    let stats = cache.stats().delta(&before);
    assert!(stats.total().evictions > 900_000);

    held.clear();
    drop(tables);
    held.shrink_to_fit();
    assert_eq!(cache.usage_bytes(), 0);
    assert!(cache.stats().total().bytes == 0 && cache.stats().total().pinned_bytes == 0);
    drop((cache, before, stats, held));
    assert!(ruler.bytes() <= 0, "{} bytes are left", ruler.bytes());
}
