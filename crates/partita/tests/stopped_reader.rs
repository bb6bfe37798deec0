//! A reader that is stopped in the middle of a lookup. By itself, as it holds back what is evicted by any test.

#![expect(clippy::disallowed_methods, reason = "a test makes the threads that it stops")]

use std::sync::mpsc;
use std::thread::{Scope, ScopedJoinHandle};

use partita::cache::{Admission, BlockMap, Cache, CacheObject, Entry, Role, epoch};

struct Block {
    value: u64,
    bytes: Vec<u8>,
}

impl CacheObject for Block {
    fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

/// A thread that is stopped in the middle of a lookup, until it is dropped.
struct Stopped<'s> {
    goes_on: mpsc::Sender<()>,
    thread: Option<ScopedJoinHandle<'s, u64>>,
    expected: u64,
}

impl<'s> Stopped<'s> {
    fn at(scope: &'s Scope<'s, '_>, blocks: &'s BlockMap<Block>, at: u64) -> Self {
        let (goes_on, told) = mpsc::channel();
        let (found, is_there) = mpsc::channel();
        let thread = scope.spawn(move || {
            let guard = epoch::pin();
            let block = blocks.get(at, &guard).unwrap();
            found.send(()).unwrap();
            // Ends also if the test has failed and the sender is gone.
            let _ = told.recv();
            block.value
        });
        is_there.recv().unwrap();
        Self { goes_on, thread: Some(thread), expected: at }
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        let _ = self.goes_on.send(());
        let read = self.thread.take().map(ScopedJoinHandle::join);
        if !std::thread::panicking() {
            assert_eq!(read.unwrap().unwrap(), self.expected, "what it has found stays");
        }
    }
}

/// Seen: 2.9 MB over a budget of 64 KiB, with a reader that the system had put to sleep.
#[test]
fn a_reader_that_is_stopped_does_not_make_the_cache_grow() {
    const BYTES: usize = 4000;
    for budget in [64 << 10, 1 << 20] {
        let cache = Cache::new(budget);
        let blocks = BlockMap::new(&cache, Role::Data, None);
        let load = |at| {
            let make = || Ok(Block { value: at, bytes: vec![0; BYTES] });
            assert_eq!(blocks.get_or_load(at, Admission::Fill, 1000, make).unwrap().value, at);
        };
        // Beside what it lets in, a thread has evicted one object more, and holds one.
        let entry = size_of::<Entry<Block>>() + BYTES;
        let usage_max = |threads: usize| budget + budget / 16 + threads * 2 * entry;
        let reads = 3 * (budget / BYTES) as u64;
        load(0);
        std::thread::scope(|scope| {
            let stopped = Stopped::at(scope, &blocks, 0);
            for at in 1..reads {
                load(at);
                assert!(cache.usage_bytes() <= usage_max(1), "{at}: {:?}", cache.stats());
            }
            assert!(!blocks.is_cached(reads - 1), "it was read and passed by");
            let stats = cache.stats().role(Role::Data);
            assert!(stats.waiting_bytes > 0, "{stats:?}");
            // However many read meanwhile, and also while reservations come and go.
            std::thread::scope(|readers| {
                for thread in 1..=4 {
                    readers.spawn(move || (0..reads).for_each(|at| load(thread * reads + at)));
                }
                for _ in 0..reads {
                    let half = cache.reserve(Role::Memtable, budget / 2);
                    assert!(cache.usage_bytes() <= usage_max(5) + budget / 2);
                    drop(half);
                    assert!(cache.usage_bytes() <= usage_max(5), "{:?}", cache.stats());
                }
            });
            drop(stopped);
        });
        // The next ones enter again, and it is within the budget.
        let is_well = |at| {
            load(at);
            blocks.is_cached(at) && cache.usage_bytes() <= budget
        };
        let soon = |at| {
            is_well(at) || {
                std::thread::sleep(std::time::Duration::from_millis(1));
                false
            }
        };
        assert!((0..5000).any(|at| soon(10 * reads + at)), "{:?}", cache.stats());
    }
}
