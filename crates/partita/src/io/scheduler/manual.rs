use std::fmt;
use std::sync::PoisonError;
use std::time::Duration;

use super::{Job, Priority, Scheduler};
use crate::io::random::SplitMix64;
use crate::util::sync::{Mutex, MutexGuard};

/// Runs jobs when it is told to, on the caller's thread, in the order they came or in one drawn from a seed: the same
/// calls give the same history every time.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use partita::io::{ManualScheduler, Priority, Scheduler};
///
/// let scheduler = ManualScheduler::in_order();
/// let done = Arc::new(AtomicU32::new(0));
/// let in_job = Arc::clone(&done);
/// scheduler.spawn(Priority::High, Box::new(move || in_job.store(1, Ordering::Relaxed)));
/// assert_eq!((scheduler.waiting(), done.load(Ordering::Relaxed)), (1, 0));
/// scheduler.run_all();
/// assert_eq!((scheduler.waiting(), done.load(Ordering::Relaxed)), (0, 1));
/// ```
pub struct ManualScheduler(Mutex<State>);

struct State {
    waiting: Vec<Job>,
    /// With the time at which they begin to wait.
    later: Vec<(Duration, Job)>,
    passed: Duration,
    random: Option<SplitMix64>,
}

impl ManualScheduler {
    fn new(random: Option<SplitMix64>) -> Self {
        let (waiting, later) = (Vec::new(), Vec::new());
        Self(Mutex::new(State { waiting, later, passed: Duration::ZERO, random }))
    }

    /// Jobs run in the order in which they came.
    pub fn in_order() -> Self {
        Self::new(None)
    }

    /// Each time one of the waiting jobs is drawn.
    pub fn seeded(seed: u64) -> Self {
        Self::new(Some(SplitMix64::new(seed)))
    }

    /// How many jobs wait.
    pub fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// Runs jobs, also those that they spawn, until none waits.
    pub fn run_all(&self) {
        while self.run_waiting() {}
    }

    /// Lets time pass: jobs that were to be run later wait to be run now, if that was long enough.
    ///
    /// ```
    /// use std::time::Duration;
    /// use partita::io::{ManualScheduler, Priority, Scheduler};
    ///
    /// let scheduler = ManualScheduler::in_order();
    /// scheduler.spawn_later(Duration::from_secs(3), Priority::Low, Box::new(|| ()));
    /// scheduler.pass(Duration::from_secs(2));
    /// assert_eq!(scheduler.waiting(), 0);
    /// scheduler.pass(Duration::from_secs(1));
    /// assert_eq!(scheduler.waiting(), 1);
    /// ```
    pub fn pass(&self, time: Duration) {
        let state = &mut *self.state();
        state.passed = state.passed.saturating_add(time);
        let passed = state.passed;
        let (due, later) =
            std::mem::take(&mut state.later).into_iter().partition(|(at, _)| *at <= passed);
        state.later = later;
        state.waiting.extend(Vec::into_iter(due).map(|(_, job): (Duration, Job)| job));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Job> {
        let state = &mut *self.state();
        if state.waiting.is_empty() {
            return None;
        }
        let count = state.waiting.len() as u64;
        let at = state.random.as_mut().map_or(0, |random| random.below(count) as usize);
        Some(state.waiting.remove(at))
    }
}

impl fmt::Debug for ManualScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualScheduler").field("waiting", &self.waiting()).finish()
    }
}

impl Scheduler for ManualScheduler {
    fn spawn(&self, _priority: Priority, job: Job) {
        self.state().waiting.push(job);
    }

    fn spawn_later(&self, delay: Duration, _priority: Priority, job: Job) {
        let mut state = self.state();
        let at = state.passed.saturating_add(delay);
        state.later.push((at, job));
    }

    fn run_waiting(&self) -> bool {
        self.next().map(|job| job()).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn order_of(scheduler: &Arc<ManualScheduler>) -> Vec<u32> {
        let order = Arc::new(Mutex::new(Vec::new()));
        for number in 0..8 {
            let (order, again) = (Arc::clone(&order), Arc::clone(scheduler));
            let job = move || {
                order.lock().unwrap().push(number);
                let order = Arc::clone(&order);
                again.spawn(
                    Priority::Low,
                    Box::new(move || order.lock().unwrap().push(number + 10)),
                );
            };
            scheduler.spawn(Priority::Low, Box::new(job));
        }
        scheduler.run_all();
        Arc::into_inner(order).unwrap().into_inner().unwrap()
    }

    #[test]
    fn the_seed_decides_the_order_and_no_job_is_lost() {
        let in_order = order_of(&Arc::new(ManualScheduler::in_order()));
        assert_eq!(in_order, (0..8).chain(10..18).collect::<Vec<_>>());
        let drawn = |seed| order_of(&Arc::new(ManualScheduler::seeded(seed)));
        assert_eq!(drawn(3), drawn(3));
        assert_ne!(drawn(3), drawn(4));
        let mut sorted = drawn(3);
        sorted.sort_unstable();
        assert_eq!(sorted, in_order);
    }
}
