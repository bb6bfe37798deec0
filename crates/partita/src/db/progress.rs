//! How far a flush has come, for writers that pace themselves by it.

use std::sync::Arc;

use super::pressure::Pressure;
use crate::memtable::MemTable;
use crate::util::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The flush of a family that is under way, if one is.
#[derive(Debug, Default)]
pub(super) struct FlushProgress {
    /// How many memtables are being written; 0: none is.
    pub(super) memtables: AtomicUsize,
    entries: AtomicU64,
    pub(super) done: AtomicU64,
}

impl FlushProgress {
    pub(super) fn begin(&self, memtables: &[Arc<MemTable>]) {
        let entries = memtables.iter().map(|memtable| memtable.stats().entries).sum();
        self.entries.store(entries, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        self.memtables.store(memtables.len(), Ordering::Release);
    }

    /// How hard a family presses of which no more memtables may be frozen.
    ///
    /// * `fill`: of the one being written, how much is full; `frozen`: how many wait, or are being written.
    pub(super) fn pressure(&self, fill: f64, frozen: usize) -> Pressure {
        let work = match self.memtables.load(Ordering::Acquire) {
            0 => frozen as f64,
            memtables => {
                let entries = self.entries.load(Ordering::Relaxed).max(1) as f64;
                let done = (self.done.load(Ordering::Relaxed) as f64).min(entries);
                memtables as f64 * (1.0 - done / entries)
            }
        };
        // Where it is full, it waits to be frozen.
        Pressure::of_room(1.0 - fill, work).min(Pressure::CRAWL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_fills_a_memtable_no_faster_than_another_is_flushed_is_not_pressed() {
        let progress = FlushProgress::default();
        progress.entries.store(100, Ordering::Relaxed);
        progress.memtables.store(1, Ordering::Relaxed);
        for done in 0..100 {
            progress.done.store(done, Ordering::Relaxed);
            let at = done as f64 / 100.0;
            assert!(progress.pressure(at * 0.99, 1).is_none(), "{done}");
            assert!(progress.pressure(at + 0.02, 1) > Pressure::NONE);
            assert!(!progress.pressure(1.0, 1).is_stop());
        }
        progress.memtables.store(0, Ordering::Relaxed);
        assert_eq!(progress.pressure(0.5, 1), Pressure::of_room(0.5, 1.0));
    }
}
