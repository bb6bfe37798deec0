//! Asking a cached object where it is, without taking a reference to it.

use super::{BlockRole, ReadContext};
use crate::cache::{CacheObject, Entry, Held, Slots, epoch};
use crate::error::Result;

/// A lookup's stay in the cache's epochs: one for its length, broken off for each read from the file.
#[derive(Default)]
pub(super) struct Pin(Option<epoch::Guard>);

impl Pin {
    /// What keeps the objects that are found in memory.
    #[inline]
    pub(super) fn guard(&mut self) -> &epoch::Guard {
        self.0.get_or_insert_with(epoch::pin)
    }

    /// To be called before reading a file, so that nothing waits for this thread meanwhile.
    pub(super) fn leave(&mut self) {
        self.0 = None;
    }
}

/// Asks the object of slot `at`: in its place if it is cached, else as `load` brings it.
#[inline]
pub(super) fn ask_slot<T: CacheObject, R>(
    slots: &Slots<T>,
    at: usize,
    role: BlockRole,
    pin: &mut Pin,
    ctx: &mut ReadContext,
    load: impl FnOnce(&mut ReadContext) -> Result<Held<T>>,
    ask: impl FnOnce(&Entry<T>) -> R,
) -> Result<R> {
    if let Some(entry) = slots.get(at, pin.guard()) {
        ctx.cache_hits[role] += 1;
        return Ok(ask(entry));
    }
    ctx.may_read()?;
    pin.leave();
    ctx.cache_misses[role] += 1;
    Ok(ask(load(ctx)?.entry()))
}
