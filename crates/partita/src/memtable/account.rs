use std::fmt;
use std::sync::PoisonError;

use crate::cache::{Cache, Role};
use crate::util::sync::Mutex;

/// Told of the bytes that a memtable takes in all, before they grow and after they shrink.
///
/// It is dropped with the memtable.
///
/// ```
/// use partita::cache::Cache;
/// use partita::memtable::{MemTable, MemTableOptions, MemoryCharge};
///
/// let cache = Cache::new(1 << 20);
/// let charge = Some(MemoryCharge::to_cache(&cache));
/// let memtable = MemTable::new(MemTableOptions { charge, ..MemTableOptions::default() })?;
/// assert_eq!(cache.usage_bytes(), memtable.memory_bytes());
/// drop(memtable);
/// assert_eq!(cache.usage_bytes(), 0);
/// # Ok::<(), partita::Error>(())
/// ```
pub struct MemoryCharge(Box<dyn FnMut(usize) + Send>);

impl MemoryCharge {
    /// Calls `told` with the bytes taken; never from two threads at once.
    pub fn new(told: impl FnMut(usize) + Send + 'static) -> Self {
        Self(Box::new(told))
    }

    /// Charges a cache's budget, under [`Role::Memtable`].
    pub fn to_cache(cache: &Cache) -> Self {
        let mut reservation = cache.reserve(Role::Memtable, 0);
        Self::new(move |bytes| reservation.resize(bytes))
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
