use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Told of the bytes that a memtable takes in all, before they grow and after they shrink.
///
/// It is dropped with the memtable. A memtable on a cache's budget is one whose charge owns a reservation of the cache
/// and resizes it.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use std::sync::Arc;
/// use partita::memtable::{MemTable, MemTableOptions, MemoryCharge};
///
/// let told = Arc::new(AtomicUsize::new(0));
/// let teller = Arc::clone(&told);
/// let charge = MemoryCharge::new(move |bytes| teller.store(bytes, Ordering::Relaxed));
/// let options = MemTableOptions { charge: Some(charge), ..MemTableOptions::default() };
/// let memtable = MemTable::new(options)?;
/// assert_eq!(told.load(Ordering::Relaxed), memtable.memory_bytes());
/// # Ok::<(), partita::Error>(())
/// ```
pub struct MemoryCharge(Box<dyn FnMut(usize) + Send>);

impl MemoryCharge {
    /// Calls `told` with the bytes taken; never from two threads at once.
    pub fn new(told: impl FnMut(usize) + Send + 'static) -> Self {
        Self(Box::new(told))
    }
}

impl fmt::Debug for MemoryCharge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryCharge")
    }
}

/// The bytes that the parts of a memtable take together.
#[derive(Debug, Default)]
pub(super) struct Account(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    bytes: usize,
    charge: Option<MemoryCharge>,
}

impl Account {
    pub(super) fn new(charge: Option<MemoryCharge>) -> Self {
        Self(Mutex::new(State { bytes: 0, charge }))
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    pub(super) fn grow(&self, bytes: usize) {
        self.change(|total| total.saturating_add(bytes));
    }

    pub(super) fn shrink(&self, bytes: usize) {
        self.change(|total| total.saturating_sub(bytes));
    }

    fn change(&self, change: impl FnOnce(usize) -> usize) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.bytes = change(state.bytes);
        let bytes = state.bytes;
        if let Some(MemoryCharge(told)) = &mut state.charge {
            told(bytes);
        }
    }
}
