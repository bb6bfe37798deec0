//! The two rules that atomics decide, under all interleavings: epochs and the word of an entry.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p partita --lib --release loom_models
//! ```
//!
//! The files under test are compiled once more here, with loom's atomics.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicBool;
use loom::thread;

mod sync {
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering};

    /// Loom orders sequentially consistent accesses only by fences.
    pub(super) fn model_fence() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

#[path = "epoch/domain.rs"]
mod domain;
#[expect(dead_code, reason = "the models take what they need")]
#[path = "word.rs"]
mod word;

use domain::{Clock, IDLE, Published};
use sync::{AtomicU64, Ordering};
use word::{Change, Word};

/// An object behind a link, in a world with some readers. Freeing it is a write, which loom holds against the reads.
struct World<const READERS: usize> {
    clock: Clock,
    records: [Published; READERS],
    is_linked: AtomicBool,
    object: UnsafeCell<u32>,
}

impl<const READERS: usize> World<READERS> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            clock: Clock(AtomicU64::new(IDLE + 1)),
            records: std::array::from_fn(|_| Published(AtomicU64::new(IDLE))),
            is_linked: AtomicBool::new(true),
            object: UnsafeCell::new(7),
        })
    }

    /// A lookup of the reader `id`.
    fn read(&self, id: usize) {
        self.records[id].publish(&self.clock);
        if self.is_linked.load(Ordering::SeqCst) {
            self.object.with(|object| {
                // SAFETY: loom checks that nobody writes meanwhile; that is the test.
                assert_eq!(unsafe { *object }, 7);
            });
        }
        self.records[id].withdraw();
    }

    /// Unlinks the object and frees it if that is allowed at once.
    fn evict(&self) {
        self.is_linked.store(false, Ordering::SeqCst);
        let epoch = self.clock.advance();
        self.free_if_safe(epoch);
    }

    fn free_if_safe(&self, epoch: u64) {
        if self.clock.safe_epoch(self.records.iter()) >= epoch {
            self.object.with_mut(|object| {
                // SAFETY: loom checks that nobody reads or writes meanwhile.
                unsafe { *object = 0 };
            });
        }
    }
}

#[test]
fn nothing_is_freed_under_a_reader() {
    loom::model(|| {
        let world = World::<1>::new();
        let reader = Arc::clone(&world);
        let reader = thread::spawn(move || {
            reader.read(0);
            reader.read(0);
        });
        world.evict();
        reader.join().unwrap();
    });
}

#[test]
fn nothing_is_freed_under_one_of_two_readers() {
    loom::model(|| {
        let world = World::<2>::new();
        let readers = [0, 1].map(|id| {
            let world = Arc::clone(&world);
            thread::spawn(move || world.read(id))
        });
        world.evict();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

#[test]
fn what_waits_is_freed_by_a_later_scan() {
    loom::model(|| {
        let world = World::<1>::new();
        let reader = Arc::clone(&world);
        let reader = thread::spawn(move || {
            reader.read(0);
            // The reader itself looks whether something waits for it.
            reader.clock.safe_epoch(reader.records.iter())
        });
        world.is_linked.store(false, Ordering::SeqCst);
        let epoch = world.clock.advance();
        assert_eq!(reader.join().unwrap(), u64::MAX);
        world.free_if_safe(epoch);
        // SAFETY: the reader is gone.
        world.object.with(|object| assert_eq!(unsafe { *object }, 0));
    });
}

/// An entry: its word, its charge in the books, its object.
struct Entry {
    word: Word,
    books: AtomicU64,
    object: UnsafeCell<u32>,
}

impl Entry {
    /// In the cache, with one holder.
    fn new() -> Arc<Self> {
        let entry =
            Self { word: Word::new(160), books: AtomicU64::new(160), object: UnsafeCell::new(7) };
        entry.word.enter();
        Arc::new(entry)
    }

    /// As the accounts do: the charge of what is free is 0.
    fn book(&self, change: Change) {
        let more = (change.after.charge() as u64).wrapping_sub(change.before.charge() as u64);
        self.books.fetch_add(more, Ordering::Relaxed);
    }

    fn finish(&self, change: Change) {
        if change.after.is_free() {
            self.object.with_mut(|object| {
                // SAFETY: loom checks that nobody reads or writes meanwhile; that is the test.
                unsafe {
                    assert_eq!(*object, 7, "freed twice");
                }
                // SAFETY: as above.
                unsafe { *object = 0 };
            });
        }
    }

    fn release(&self) {
        // SAFETY: as above; a holder reads until it releases.
        self.object.with(|object| assert_eq!(unsafe { *object }, 7));
        // As `Held` does.
        let mut seen = self.word.state();
        loop {
            let change = seen.released();
            if !change.after.is_held() {
                self.book(change);
            }
            match self.word.try_release(seen) {
                Ok(()) => return self.finish(change),
                Err(now) => {
                    if !change.after.is_held() {
                        self.book(change.undone());
                    }
                    seen = now;
                }
            }
        }
    }

    fn let_go(&self) {
        let change = self.word.let_go();
        if change.after.is_free() {
            self.book(change);
        }
        self.finish(change);
    }

    fn assert_freed(&self) {
        // SAFETY: all threads have ended.
        self.object.with(|object| assert_eq!(unsafe { *object }, 0));
        assert_eq!(self.books.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn the_last_of_cache_and_holders_frees_the_entry_once() {
    loom::model(|| {
        let entry = Entry::new();
        let holder = Arc::clone(&entry);
        let holder = thread::spawn(move || {
            let _ = holder.word.hold();
            holder.release();
            holder.release();
        });
        entry.book(entry.word.leave());
        entry.let_go();
        holder.join().unwrap();
        entry.assert_freed();
    });
}

#[test]
fn growth_is_booked_whoever_frees_the_entry() {
    loom::model(|| {
        let entry = Entry::new();
        let _ = entry.word.hold();
        let other = Arc::clone(&entry);
        let other = thread::spawn(move || {
            other.book(other.word.grow(32));
            other.release();
        });
        entry.release();
        entry.book(entry.word.leave());
        entry.let_go();
        other.join().unwrap();
        entry.assert_freed();
    });
}
