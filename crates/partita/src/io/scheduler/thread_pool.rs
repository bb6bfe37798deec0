use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::timer::Timer;
use super::{Job, Priority, Scheduler};
use crate::util::sync::thread::{self, JoinHandle};
use crate::util::sync::{Condvar, Mutex, MutexGuard};

/// Threads that run jobs. Each priority has its own, so that a flush never waits for a compaction.
///
/// * A thread is started when a job comes, none is idle, and there may be more.
/// * A job that panics takes no thread with it; the panic is reported by the panic hook.
/// * Dropping the pool runs what waits and joins the threads. What was to be run later is not run any more.
#[derive(Debug)]
pub struct ThreadPool {
    // Goes first: it hands jobs to the others.
    timer: Timer,
    high: Arc<Lane>,
    low: Arc<Lane>,
}

impl ThreadPool {
    /// At most so many threads (at least one) for each priority.
    pub fn new(high_threads: usize, low_threads: usize) -> Self {
        Self {
            timer: Timer::default(),
            high: Arc::new(Lane::new("partita-high", high_threads)),
            low: Arc::new(Lane::new("partita-low", low_threads)),
        }
    }

    /// Changes the number of threads; threads too many leave when they are idle.
    pub fn set_threads(&self, high_threads: usize, low_threads: usize) {
        self.high.set_limit(high_threads);
        self.low.set_limit(low_threads);
    }
}

impl Scheduler for ThreadPool {
    fn spawn(&self, priority: Priority, job: Job) {
        match priority {
            Priority::High => self.high.spawn(job),
            Priority::Low => self.low.spawn(job),
        }
    }

    fn spawn_later(&self, delay: Duration, priority: Priority, job: Job) {
        let lane = match priority {
            Priority::High => Arc::downgrade(&self.high),
            Priority::Low => Arc::downgrade(&self.low),
        };
        let hand_over = move || {
            if let Some(lane) = lane.upgrade() {
                lane.spawn(job);
            }
        };
        self.timer.hand_out_after(delay, Box::new(hand_over));
    }
}

/// One queue with its threads.
#[derive(Debug)]
struct Lane {
    name: &'static str,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    jobs: VecDeque<Job>,
    limit: usize,
    idle: usize,
    closing: bool,
    /// Threads that have not left. One that leaves because of the limit takes its handle out.
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("waiting", &self.jobs.len())
            .field("limit", &self.limit)
            .field("threads", &self.threads.len())
            .finish_non_exhaustive()
    }
}

impl Lane {
    fn new(name: &'static str, limit: usize) -> Self {
        let state = State {
            jobs: VecDeque::new(),
            limit: limit.max(1),
            idle: 0,
            closing: false,
            threads: Vec::new(),
        };
        Self {
            name,
            shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }),
        }
    }

    fn spawn(&self, job: Job) {
        let mut state = self.shared.state();
        state.jobs.push_back(job);
        // An idle thread may have been woken for an earlier job and not have taken it yet.
        if state.jobs.len() > state.idle
            && state.threads.len() < state.limit
            && !self.start_thread(&mut state)
            && state.threads.is_empty()
            && let Some(job) = state.jobs.pop_back()
        {
            // The system gives no thread, and nobody else would ever run it.
            drop(state);
            run(job);
            return;
        }
        self.shared.changed.notify_one();
    }

    #[expect(clippy::disallowed_methods, reason = "this is the seam that others use instead")]
    fn start_thread(&self, state: &mut State) -> bool {
        let shared = Arc::clone(&self.shared);
        let started =
            thread::Builder::new().name(self.name.to_owned()).spawn(move || shared.work());
        match started {
            Ok(thread) => {
                state.threads.push(thread);
                true
            }
            Err(_) => false,
        }
    }

    fn set_limit(&self, limit: usize) {
        self.shared.state().limit = limit.max(1);
        self.shared.changed.notify_all();
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let threads = {
            let mut state = self.shared.state();
            state.closing = true;
            std::mem::take(&mut state.threads)
        };
        self.shared.changed.notify_all();
        for thread in threads {
            // The last owner of the pool may be a job of its own.
            if thread.thread().id() != thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a thread does until the pool closes or there are too many threads.
    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                run(job);
                state = self.state();
            } else if state.closing {
                return;
            } else if state.threads.len() > state.limit {
                let me = thread::current().id();
                state.threads.retain(|thread| thread.thread().id() != me);
                return;
            } else {
                state.idle += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }
}

pub(super) fn run(job: Job) {
    let _ = catch_unwind(AssertUnwindSafe(job));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn every_job_has_run_when_the_pool_is_gone() {
        let pool = ThreadPool::new(1, 3);
        let count = Arc::new(AtomicUsize::new(0));
        for number in 0..200 {
            let count = Arc::clone(&count);
            let priority = if number % 2 == 0 { Priority::High } else { Priority::Low };
            pool.spawn(
                priority,
                Box::new(move || {
                    count.fetch_add(1, Ordering::Relaxed);
                }),
            );
        }
        pool.set_threads(2, 1);
        drop(pool);
        assert_eq!(count.load(Ordering::Relaxed), 200);
    }

    /// Each of the jobs waits for the other ones: with fewer threads they would wait for ever.
    #[test]
    fn as_many_jobs_run_at_once_as_there_may_be_threads() {
        let pool = ThreadPool::new(1, 3);
        let barrier = Arc::new(std::sync::Barrier::new(4));
        for priority in [Priority::High, Priority::Low, Priority::Low, Priority::Low] {
            let barrier = Arc::clone(&barrier);
            pool.spawn(
                priority,
                Box::new(move || {
                    barrier.wait();
                }),
            );
        }
        drop(pool);
    }

    #[test]
    fn a_panic_takes_no_thread_with_it_and_a_job_may_own_the_pool() {
        let pool = Arc::new(ThreadPool::new(1, 1));
        let (sender, receiver) = mpsc::channel();
        pool.spawn(Priority::High, Box::new(|| std::panic::resume_unwind(Box::new(()))));
        let owner = Arc::clone(&pool);
        let (go, wait) = mpsc::channel::<()>();
        pool.spawn(
            Priority::High,
            Box::new(move || {
                wait.recv().unwrap();
                drop(owner);
                sender.send(()).unwrap();
            }),
        );
        drop(pool);
        go.send(()).unwrap();
        receiver.recv().unwrap();
    }
}
