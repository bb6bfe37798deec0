use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use super::{Job, Priority, Scheduler};
use crate::util::sync::{Condvar, Mutex, MutexGuard};

/// Runs `jobs`, on this thread and on as many others as the scheduler gives, and returns when all are done.
///
/// The jobs wait in a list of their own from which this thread takes, too, so that a job of the scheduler may call this
/// without waiting for threads that are all busy, with callers like itself perhaps.
///
/// * Panics if one of the jobs did.
pub fn run_together(scheduler: &dyn Scheduler, priority: Priority, jobs: Vec<Job>) {
    let helpers = jobs.len().saturating_sub(1);
    let group = Arc::new(Group {
        state: Mutex::new(State { unclaimed: jobs.into(), running: 0, panicked: false }),
        finished: Condvar::new(),
    });
    for _ in 0..helpers {
        let group = Arc::clone(&group);
        scheduler.spawn(priority, Box::new(move || group.work()));
    }
    group.work();
    group.wait();
}

struct Group {
    state: Mutex<State>,
    finished: Condvar,
}

struct State {
    unclaimed: VecDeque<Job>,
    running: usize,
    panicked: bool,
}

impl Group {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs jobs until none is left to be claimed.
    fn work(&self) {
        while let Some(job) = self.claim() {
            let outcome = catch_unwind(AssertUnwindSafe(job));
            let mut state = self.state();
            state.running -= 1;
            state.panicked |= outcome.is_err();
            self.finished.notify_all();
        }
    }

    fn claim(&self) -> Option<Job> {
        let mut state = self.state();
        let job = state.unclaimed.pop_front()?;
        state.running += 1;
        Some(job)
    }

    fn wait(&self) {
        let mut state = self.state();
        while state.running > 0 {
            state = self.finished.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let panicked = state.panicked;
        drop(state);
        assert!(!panicked, "a job of a group panicked");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::{ManualScheduler, ThreadPool};
    use super::*;

    fn jobs(count: usize, done: &Arc<AtomicUsize>) -> Vec<Job> {
        let job = || {
            let done = Arc::clone(done);
            Box::new(move || {
                done.fetch_add(1, Ordering::Relaxed);
            }) as Job
        };
        (0..count).map(|_| job()).collect()
    }

    #[test]
    fn all_are_done_even_if_nobody_helps() {
        let done = Arc::new(AtomicUsize::new(0));
        let scheduler = ManualScheduler::in_order();
        run_together(&scheduler, Priority::Low, jobs(7, &done));
        assert_eq!(done.load(Ordering::Relaxed), 7);
        scheduler.run_all();
        assert_eq!(done.load(Ordering::Relaxed), 7);
    }

    #[test]
    fn groups_within_groups_need_no_free_thread() {
        let done = Arc::new(AtomicUsize::new(0));
        let pool = Arc::new(ThreadPool::new(1, 2));
        let outer = (0..4).map(|_| {
            let (pool, inner) = (Arc::clone(&pool), jobs(5, &done));
            Box::new(move || run_together(&*pool, Priority::Low, inner)) as Job
        });
        run_together(&*pool, Priority::Low, outer.collect());
        assert_eq!(done.load(Ordering::Relaxed), 20);
    }

    #[test]
    #[should_panic(expected = "a job of a group panicked")]
    fn a_panic_reaches_the_caller() {
        let (started, wait) = std::sync::mpsc::channel();
        let failing: Job = Box::new(move || {
            started.send(()).unwrap();
            std::panic::resume_unwind(Box::new(()));
        });
        // Whichever thread claims which: neither job is done before both were claimed.
        let waiting: Job = Box::new(move || wait.recv().unwrap());
        run_together(&ThreadPool::new(1, 1), Priority::High, vec![waiting, failing]);
    }
}
