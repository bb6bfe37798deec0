//! Locks of the standard library, without poison.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. For what is whole between the calls that change it, so that a panic elsewhere does not spoil it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
