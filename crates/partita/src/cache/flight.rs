//! Loads under way: one for each missing object, however many threads ask for it.
//!
//! The first thread leads: it loads. Those that come meanwhile wait and get what it loaded, also if that did not enter
//! the cache. If the load fails, by an error or a panic, those that waited try in turn, each with its own load: an
//! error belongs to one caller, and the next attempt may succeed. A load must not ask for the object that it loads.

use std::sync::{Arc, PoisonError};

use super::entry::{CacheObject, Held};
use crate::util::sync::{Condvar, Mutex, lock};

/// The loads under way of one home.
pub(super) struct Flights<T: CacheObject>(Mutex<Vec<(u64, Arc<Flight<T>>)>>);

struct Flight<T: CacheObject> {
    outcome: Mutex<Outcome<T>>,
    landed: Condvar,
}

enum Outcome<T: CacheObject> {
    UnderWay,
    Loaded(Held<T>),
    Failed,
}

/// How a thread takes part in a load.
pub(super) enum Part<'f, T: CacheObject> {
    /// It is to load.
    Leads(Lead<'f, T>),
    /// It waited for somebody who loaded.
    Waited(Held<T>),
    /// It waited for somebody who failed.
    Failed,
}

/// The duty to load an object and to tell of it; dropped, it tells of failure.
pub(super) struct Lead<'f, T: CacheObject> {
    flights: &'f Flights<T>,
    at: u64,
    flight: Arc<Flight<T>>,
}

impl<T: CacheObject> Flights<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Leads the load of the object at `at`, or waits until it has ended.
    pub(super) fn join(&self, at: u64) -> Part<'_, T> {
        let mut under_way = lock(&self.0);
        if let Some((_, flight)) = under_way.iter().find(|(other, _)| *other == at) {
            let flight = Arc::clone(flight);
            drop(under_way);
            return flight.wait();
        }
        let flight =
            Arc::new(Flight { outcome: Mutex::new(Outcome::UnderWay), landed: Condvar::new() });
        under_way.push((at, Arc::clone(&flight)));
        Part::Leads(Lead { flights: self, at, flight })
    }
}

impl<T: CacheObject> Flight<T> {
    fn wait(&self) -> Part<'static, T> {
        let mut outcome = lock(&self.outcome);
        loop {
            match &*outcome {
                Outcome::UnderWay => {
                    outcome = self.landed.wait(outcome).unwrap_or_else(PoisonError::into_inner);
                }
                Outcome::Loaded(held) => return Part::Waited(held.clone()),
                Outcome::Failed => return Part::Failed,
            }
        }
    }
}

impl<T: CacheObject> Lead<'_, T> {
    /// The object is loaded. If it is to be found in the cache, it is there already.
    pub(super) fn finish(self, held: &Held<T>) {
        self.land(|| Outcome::Loaded(held.clone()));
    }

    /// The first of these calls tells the outcome to those who wait; later ones do nothing.
    fn land(&self, outcome: impl FnOnce() -> Outcome<T>) {
        let mut under_way = lock(&self.flights.0);
        let is_mine = |flight: &Arc<Flight<T>>| Arc::ptr_eq(flight, &self.flight);
        let Some(at) = under_way.iter().position(|(_, flight)| is_mine(flight)) else { return };
        let (known_at, listed) = under_way.swap_remove(at);
        debug_assert_eq!(known_at, self.at);
        drop(under_way);
        drop(listed);
        // Nobody can join any more, so the count of those who wait only falls.
        if Arc::strong_count(&self.flight) > 1 {
            *lock(&self.flight.outcome) = outcome();
            self.flight.landed.notify_all();
        }
    }
}

impl<T: CacheObject> Drop for Lead<'_, T> {
    fn drop(&mut self) {
        self.land(|| Outcome::Failed);
    }
}
