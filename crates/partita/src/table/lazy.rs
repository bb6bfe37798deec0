use std::sync::{OnceLock, PoisonError};

use crate::error::Result;
use crate::util::sync::Mutex;

/// A part of a table that is read at its first use, and kept.
///
/// One thread reads it, however many ask; the others wait. After an error nothing is kept, and who asks next tries
/// again.
#[derive(Debug)]
pub(super) struct Lazy<T> {
    value: OnceLock<T>,
    loading: Mutex<()>,
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), loading: Mutex::new(()) }
    }
}

impl<T> Lazy<T> {
    /// The part, if it was read.
    #[inline]
    pub(super) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The part, read by `load` if it is not there yet.
    #[inline]
    pub(super) fn get_or_load(&self, load: impl FnOnce() -> Result<T>) -> Result<&T> {
        match self.value.get() {
            Some(value) => Ok(value),
            None => self.load(load),
        }
    }

    #[cold]
    fn load(&self, load: impl FnOnce() -> Result<T>) -> Result<&T> {
        // What the lock guards is whole at any time, so a panic in another `load` does not matter.
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = load()?;
        Ok(self.value.get_or_init(|| value))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::Error;

    #[test]
    fn many_threads_load_once() {
        let (lazy, loads) = (Lazy::default(), AtomicUsize::new(0));
        let start = Barrier::new(16);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    start.wait();
                    let load = || Ok(loads.fetch_add(1, Ordering::Relaxed) + 7);
                    assert_eq!(*lazy.get_or_load(load).unwrap(), 7);
                });
            }
        });
        assert_eq!(loads.into_inner(), 1);
    }

    #[test]
    fn a_failed_load_is_tried_again() {
        let lazy = Lazy::default();
        assert!(lazy.get_or_load(|| Err(Error::corruption("torn"))).is_err());
        assert_eq!(lazy.get(), None);
        assert_eq!(*lazy.get_or_load(|| Ok(1)).unwrap(), 1);
        assert_eq!(*lazy.get_or_load(|| Err(Error::corruption("torn"))).unwrap(), 1);
    }
}
