//! An allocator that counts, so that a target can hold a decoder to the memory its input justifies.
//!
//! # Safety
//!
//! [`Meter`] hands every call to the system's allocator unchanged and only counts beside it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

/// Runs `work` and returns its result with the greatest number of bytes that this thread held in addition meanwhile.
///
/// What C libraries allocate for themselves is not seen.
pub fn peak_bytes<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let outer_peak = PEAK.get();
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    let peak = PEAK.get();
    PEAK.set(outer_peak.max(peak));
    (result, peak - before)
}

/// Runs `work` and panics if it held more than `limit` bytes at once.
pub fn within<T>(limit: usize, work: impl FnOnce() -> T) -> T {
    let (result, peak) = peak_bytes(work);
    assert!(peak <= limit, "took {peak} bytes of memory, {limit} are justified");
    result
}

/// The counting allocator.
#[derive(Debug)]
pub struct Meter;

// SAFETY: every method upholds the contract because the system's allocator does, and counting does not allocate:
// the cells are constant-initialised and have no destructor.
unsafe impl GlobalAlloc for Meter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's promise is the one `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        shrunk(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        shrunk(layout.size());
        grown(size);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn grown(bytes: usize) {
    let held = HELD.get() + bytes;
    HELD.set(held);
    PEAK.set(PEAK.get().max(held));
}

/// Memory that another thread took may be returned here; the count then stays at zero.
fn shrunk(bytes: usize) {
    HELD.set(HELD.get().saturating_sub(bytes));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_seen_even_if_the_memory_is_free_again() {
        let ((), peak) = peak_bytes(|| drop(std::hint::black_box(Vec::<u8>::with_capacity(5000))));
        assert_eq!(peak, 5000);
        let (inner, outer) = peak_bytes(|| {
            let _held = std::hint::black_box(vec![1u8; 100]);
            peak_bytes(|| drop(std::hint::black_box(vec![0u8; 700]))).1
        });
        assert_eq!((inner, outer), (700, 800));
    }

    #[test]
    #[should_panic(expected = "took 64 bytes of memory, 63 are justified")]
    fn more_than_the_limit_panics() {
        within(63, || drop(std::hint::black_box(vec![0u8; 64])));
    }
}
