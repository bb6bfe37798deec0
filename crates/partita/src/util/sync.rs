//! Locks, atomics and threads: the standard library's, or those of a scheduler that decides who goes on.
//!
//! Built with `--cfg shuttle` they are the crate `shuttle`'s: every thread is a task of one thread of the system, and at each
//! lock, condition and atomic of this module a seeded scheduler draws who goes on. `partita-proof schedules` proves the
//! database in many of its schedules. Such a build works nowhere else.
//!
//! * What a thread may hold while it comes to such a point has to be from here, or the process hangs with whoever waits for it.
//!   Statics whose locks hold nothing of that kind, and [`std::sync::OnceLock`]s whose values are made without one, are the
//!   standard library's everywhere.
//! * Atomics that decide what the database does are from here. Those of the cache and of the skip list are not: loom has models
//!   of them, and a lookup would have hundreds of points. Neither are those that only count.

#[cfg(not(shuttle))]
pub(crate) use arc_swap::ArcSwap;
#[cfg(shuttle)]
pub(crate) use scheduled::ArcSwap;
#[cfg(shuttle)]
pub(crate) use shuttle::{
    sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic},
    thread, thread_local,
};
#[cfg(not(shuttle))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic},
    thread, thread_local,
};

use std::sync::PoisonError;

/// Locks a mutex. For what is whole between the calls that change it, so that a panic elsewhere does not spoil it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(shuttle)]
mod scheduled {
    use std::sync::Arc;

    use shuttle::sync::atomic::{AtomicBool, Ordering};

    /// An [`arc_swap::ArcSwap`] at which another thread may go on.
    pub(crate) struct ArcSwap<T> {
        value: arc_swap::ArcSwap<T>,
        point: AtomicBool,
    }

    impl<T> ArcSwap<T> {
        pub(crate) fn from_pointee(value: T) -> Self {
            Self { value: arc_swap::ArcSwap::from_pointee(value), point: AtomicBool::new(false) }
        }

        pub(crate) fn load(&self) -> arc_swap::Guard<Arc<T>> {
            self.point.load(Ordering::SeqCst);
            self.value.load()
        }

        pub(crate) fn load_full(&self) -> Arc<T> {
            self.point.load(Ordering::SeqCst);
            self.value.load_full()
        }

        pub(crate) fn store(&self, value: Arc<T>) {
            self.point.load(Ordering::SeqCst);
            self.value.store(value);
        }
    }
}
