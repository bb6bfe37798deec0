//! Slots: an array of links beside the handles of a table's partitions.

use std::fmt;

use super::accounts::Charge;
use super::entry::{CacheObject, Entry, Held, Link};
use super::epoch::{Guard, Retired};
use super::home::{Admission, Home, Place};
use super::shard::Unlink;
use super::{Cache, Role};
use crate::error::Result;

/// Links to cached objects by number: one word each, no hash.
///
/// Whoever knows an object's number (a partition's place in the top level, say) reaches it by one load. Objects come
/// and go as the budget allows; the slots stay. Dropping the slots takes their objects out of the cache.
pub struct Slots<T: CacheObject>(Home<Array<T>>);

struct Array<T> {
    links: Box<[Link<T>]>,
    _charge: Charge,
}

impl<T: CacheObject> Slots<T> {
    /// `len` empty slots.
    ///
    /// * `role`, `level`: as what the objects are charged and counted.
    pub fn new(cache: &Cache, role: Role, level: Option<u8>, len: usize) -> Self {
        let links: Box<[Link<T>]> = (0..len).map(|_| Link::empty()).collect();
        let charge = Charge::new(&cache.core.accounts, size_of_val(&*links));
        Self(Home::new(cache, role, level, Array { links, _charge: charge }))
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.0.place().links.len()
    }

    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The object of slot `at`, if it is in the cache. It stays in memory as long as the guard lives.
    ///
    /// * Cost: no lock, no reference count, no write of shared memory.
    /// * A hit is counted; a miss is not, since [`Slots::get_or_load`] follows and counts it.
    #[inline]
    pub fn get<'g>(&self, at: usize, guard: &'g Guard) -> Option<&'g Entry<T>> {
        self.0.get(at as u64, guard)
    }

    /// The same without a trace: for a look ahead at what a lookup is about to get.
    #[inline]
    pub fn peek<'g>(&self, at: usize, guard: &'g Guard) -> Option<&'g Entry<T>> {
        self.0.place().find(at as u64, guard)
    }

    /// The object of slot `at`; if it is not in the cache, `load` makes it, once however many threads ask.
    ///
    /// * `how`: whether a loaded object enters the cache. Without room it does not enter in any case.
    /// * `reload_cost`: what loading it again would cost, in nanoseconds.
    /// * `load`: must not ask for the same object. It runs without locks; hold no guard meanwhile.
    /// * Errors: those of `load`. Threads that waited for a load that failed, or panicked, try in turn.
    pub fn get_or_load(
        &self,
        at: usize,
        how: Admission,
        reload_cost: u32,
        load: impl FnOnce() -> Result<T>,
    ) -> Result<Held<T>> {
        self.0.get_or_load(at as u64, how, reload_cost, load)
    }

    /// Whether slot `at` has its object in the cache at this instant. Counts and touches nothing.
    pub fn is_cached(&self, at: usize) -> bool {
        self.0.place().links.get(at).is_some_and(|link| !link.is_empty())
    }
}

impl<T: CacheObject> fmt::Debug for Slots<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cached = (0..self.len()).filter(|&at| self.is_cached(at)).count();
        f.debug_struct("Slots").field("len", &self.len()).field("cached", &cached).finish()
    }
}

impl<T: CacheObject> Array<T> {
    #[inline]
    fn link_at(&self, at: u64) -> Option<&Link<T>> {
        self.links.get(usize::try_from(at).ok()?)
    }
}

impl<T: CacheObject> Unlink for Array<T> {
    fn unlink(&self, at: u64, _retired: &mut Vec<Retired>) {
        if let Some(link) = self.link_at(at) {
            link.clear();
        }
    }
}

impl<T: CacheObject> Place for Array<T> {
    type Object = T;

    #[inline]
    fn find<'g>(&self, at: u64, guard: &'g Guard) -> Option<&'g Entry<T>> {
        self.link_at(at)?.load(guard)
    }

    fn link(&self, at: u64, entry: &Held<T>, _retired: &mut Vec<Retired>) -> bool {
        match self.link_at(at) {
            Some(link) if link.is_empty() => {
                link.set(entry);
                true
            }
            _ => false,
        }
    }

    fn addresses(&self) -> Vec<u64> {
        let links = self.links.iter().zip(0..);
        links.filter(|(link, _)| !link.is_empty()).map(|(_, at)| at).collect()
    }
}
