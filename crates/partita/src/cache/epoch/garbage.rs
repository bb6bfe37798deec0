//! What is unlinked and may still be read.
//!
//! One queue for the process, in the order of the epochs. It is short: most of what is retired is freed in the same
//! call, and what waits is freed when the last guard that could have seen it is dropped.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::entry::Kept;
use super::threads::{CLOCK, published};

/// Something that readers may still see; dropping it frees it.
pub(in crate::cache) enum Retired {
    /// An entry that left the cache.
    Entry(#[expect(dead_code, reason = "held to be dropped")] Kept),
    /// An array that was replaced.
    Array(#[expect(dead_code, reason = "held to be dropped")] Box<dyn Any + Send>),
}

struct Waiting {
    epoch: u64,
    retired: Retired,
}

static WAITING: Mutex<VecDeque<Waiting>> = Mutex::new(VecDeque::new());

/// The newest epoch in the queue, 0 if it is empty: what a guard compares itself with when it is dropped.
static NEWEST_WAITING: AtomicU64 = AtomicU64::new(0);

/// Whether something waits that a guard of `epoch` has held back. It may be missed; then the next retirement frees it.
#[inline]
pub(super) fn may_wait_for(epoch: u64) -> bool {
    epoch < NEWEST_WAITING.load(Ordering::Relaxed)
}

/// Frees `retired` as soon as no reader can see it. All links to it are cut.
pub(in crate::cache) fn retire(retired: Vec<Retired>) {
    if retired.is_empty() {
        return;
    }
    let mut waiting = lock();
    // Under the lock, so that the queue is in the order of the epochs.
    let epoch = CLOCK.advance();
    if waiting.is_empty() && CLOCK.safe_epoch(published()) >= epoch {
        // The common case. Dropping an object may run anybody's code, so the lock is given back before.
        drop(waiting);
        drop(retired);
        return;
    }
    waiting.extend(retired.into_iter().map(|retired| Waiting { epoch, retired }));
    free(take_free(waiting));
}

/// Frees what no reader can see any more.
pub(in crate::cache) fn collect() {
    free(take_free(lock()));
}

/// Takes what may be freed from the queue, and unlocks it.
fn take_free(mut waiting: MutexGuard<'_, VecDeque<Waiting>>) -> VecDeque<Waiting> {
    if waiting.is_empty() {
        return VecDeque::new();
    }
    let safe = CLOCK.safe_epoch(published());
    let free = waiting.partition_point(|item| item.epoch <= safe);
    let rest = waiting.split_off(free);
    let free = std::mem::replace(&mut *waiting, rest);
    NEWEST_WAITING.store(waiting.back().map_or(0, |item| item.epoch), Ordering::Relaxed);
    free
}

fn free(items: VecDeque<Waiting>) {
    for item in items {
        drop(item.retired);
    }
}

fn lock() -> MutexGuard<'static, VecDeque<Waiting>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}
