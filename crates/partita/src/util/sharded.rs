//! Counting by many threads.

use std::sync::TryLockError;

use super::sync::lock;
use crate::util::sync::{Mutex, MutexGuard};

/// How many threads count without meeting.
const SHARDS: usize = 8;

/// Something that many threads add to and few ask for: each thread has one of a few copies, which who asks adds up.
///
/// ```
/// use partita::util::sharded::Sharded;
///
/// let hits = Sharded::new(|| 0);
/// std::thread::scope(|scope| {
///     for _ in 0..20 {
///         scope.spawn(|| *hits.of_this_thread() += 1);
///     }
/// });
/// let mut sum = 0;
/// hits.for_each(|count| sum += count);
/// assert_eq!(sum, 20);
/// ```
#[derive(Debug)]
pub struct Sharded<T>([Shard<T>; SHARDS]);

/// On cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Shard<T>(Mutex<T>);

impl<T> Sharded<T> {
    /// Copies that `make` makes.
    pub fn new(mut make: impl FnMut() -> T) -> Self {
        Self(std::array::from_fn(|_| Shard(Mutex::new(make()))))
    }

    /// This thread's copy, when others that share it have let go.
    pub fn of_this_thread(&self) -> MutexGuard<'_, T> {
        lock(&self.0[shard_of_this_thread()].0)
    }

    /// The same, and which it is.
    pub(crate) fn own(&self) -> (usize, MutexGuard<'_, T>) {
        let own = shard_of_this_thread();
        (own, lock(&self.0[own].0))
    }

    /// The copy that [`Sharded::own`] said.
    pub(crate) fn at(&self, shard: usize) -> MutexGuard<'_, T> {
        lock(&self.0[shard % SHARDS].0)
    }

    /// A copy that nobody has, this thread's if possible; `None` if all are taken.
    ///
    /// For who keeps it longer than a few additions take: a read that counts into it what it costs.
    pub fn any(&self) -> Option<MutexGuard<'_, T>> {
        let own = shard_of_this_thread();
        let turns = (0..SHARDS).map(|turn| &self.0[(own + turn) % SHARDS].0);
        turns
            .filter_map(|shard| match shard.try_lock() {
                Ok(copy) => Some(copy),
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            })
            .next()
    }

    /// Looks at all copies, one after the other.
    pub fn for_each(&self, mut look: impl FnMut(&T)) {
        for Shard(shard) in &self.0 {
            look(&lock(shard));
        }
    }
}

impl<T: Default> Default for Sharded<T> {
    fn default() -> Self {
        Self::new(T::default)
    }
}

#[cfg(not(shuttle))]
fn shard_of_this_thread() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SHARD: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
    }
    SHARD.with(|shard| *shard)
}

/// The same seed gives the same schedule, whatever ran in the process before.
#[cfg(shuttle)]
fn shard_of_this_thread() -> usize {
    usize::from(super::sync::thread::current().id()) % SHARDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_nobody_has_is_found_until_all_are_taken() {
        let numbers = Sharded::new(|| 0);
        let taken: Vec<_> = (0..SHARDS).map(|_| numbers.any().unwrap()).collect();
        assert!(numbers.any().is_none());
        drop(taken);
        *numbers.any().unwrap() += 1;
        assert_eq!(*numbers.of_this_thread(), 1, "this thread's own comes first");
    }
}
