//! Background work: who runs flushes and compactions, and when.

mod manual;
mod thread_pool;
mod timer;
mod together;

use std::fmt;
use std::time::Duration;

pub use manual::ManualScheduler;
pub use thread_pool::ThreadPool;
pub use together::run_together;

/// A piece of background work.
pub type Job = Box<dyn FnOnce() + Send>;

/// Which queue a job waits in. One queue never waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Priority {
    /// Work that writers wait for: flushes.
    High,
    /// Work that makes later work cheaper: compactions, removal of files.
    Low,
}

/// Runs jobs some time, on some thread.
pub trait Scheduler: Send + Sync + fmt::Debug {
    /// Has `job` run some time. Never waits for it.
    fn spawn(&self, priority: Priority, job: Job);

    /// Has `job` run some time after `delay` has passed, if the scheduler is still there then. Never waits for it.
    ///
    /// What happens in a database without anybody writing to it begins here: one such job waits all the time.
    fn spawn_later(&self, delay: Duration, priority: Priority, job: Job);

    /// Runs one waiting job on this thread, if this scheduler leaves that to its callers; `false` if it did not.
    ///
    /// Whoever waits for background work calls this until it returns `false` before going to sleep; under a
    /// [`ManualScheduler`] nothing would ever happen otherwise.
    fn run_waiting(&self) -> bool {
        false
    }
}
