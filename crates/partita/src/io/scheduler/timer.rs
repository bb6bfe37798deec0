use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Job;

/// A thread that hands out jobs when their time has come. It is started with the first one.
///
/// Dropping it joins the thread; jobs whose time has not come are dropped.
#[derive(Debug, Default)]
pub(super) struct Timer {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// By time, then in the order in which they came.
    waiting: BTreeMap<(Instant, u64), Job>,
    count: u64,
    closing: bool,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

impl Timer {
    /// Has `job` run on the timer's thread after that time. It should only spawn another one: those that come later wait
    /// for it.
    #[expect(clippy::disallowed_methods, reason = "this is the seam that others use instead")]
    pub(super) fn hand_out_after(&self, delay: Duration, job: Job) {
        let mut state = self.shared.state();
        let Some(due) = Instant::now().checked_add(delay) else { return };
        let number = state.count;
        state.count += 1;
        state.waiting.insert((due, number), job);
        if state.thread.is_none() {
            let shared = Arc::clone(&self.shared);
            // If the system gives no thread now, the next job tries again.
            let named = thread::Builder::new().name("partita-timer".to_owned());
            state.thread = named.spawn(move || shared.work()).ok();
        }
        self.shared.changed.notify_one();
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        let (thread, waiting) = {
            let mut state = self.shared.state();
            state.closing = true;
            (state.thread.take(), std::mem::take(&mut state.waiting))
        };
        self.shared.changed.notify_one();
        // What they hold may be anything: no lock is held.
        drop(waiting);
        if let Some(thread) = thread.filter(|it| it.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the seam that others use instead")]
    fn work(&self) {
        let mut state = self.state();
        while !state.closing {
            let now = Instant::now();
            let Some((due, _)) = state.waiting.first_key_value().map(|(key, _)| *key) else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if due > now {
                let waited = self.changed.wait_timeout(state, due - now);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            if let Some((_, job)) = state.waiting.pop_first() {
                drop(state);
                super::thread_pool::run(job);
                state = self.state();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn jobs_come_in_the_order_of_their_times_and_late_ones_not_at_all() {
        let timer = Timer::default();
        let (sender, receiver) = mpsc::channel();
        let job = |number: u32| -> Job {
            let sender = sender.clone();
            Box::new(move || sender.send(number).unwrap())
        };
        timer.hand_out_after(Duration::from_secs(1000), job(3));
        timer.hand_out_after(Duration::from_millis(20), job(2));
        timer.hand_out_after(Duration::ZERO, Box::new(|| std::panic::resume_unwind(Box::new(()))));
        timer.hand_out_after(Duration::ZERO, job(1));
        assert_eq!([receiver.recv().unwrap(), receiver.recv().unwrap()], [1, 2]);
        drop(timer);
        drop(sender);
        assert!(receiver.recv().is_err(), "the third was let go");
    }
}
