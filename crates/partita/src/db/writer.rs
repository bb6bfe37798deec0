//! What a database opened for writing has beside what readers need.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::commit::CommitQueue;
use super::log::{LogPlace, Logs};
use super::stall::Stall;
use crate::error::{Error, ErrorKind, Result};
use crate::io::{Clock, FileLock, Scheduler};
use crate::util::sync::lock;

/// The writing half of a database.
///
/// Locks, in the order in which they are taken: the front of the commit queue, `logs`, `installing`, `views`. None but
/// `logs` and `installing` is held over I/O.
pub(super) struct Writer {
    pub(super) queue: CommitQueue,
    pub(super) place: LogPlace,
    pub(super) logs: Mutex<Logs>,
    /// Held while the view of a family is replaced, and while it is decided what is flushed.
    pub(super) views: Mutex<Flushing>,
    /// Held from the edit of a flush until readers look at what it led to (`install.rs`).
    pub(super) installing: Mutex<()>,
    /// Told when a flush has ended, well or not, and when the database is closed.
    pub(super) flushed: Condvar,
    /// Whether some memtable has reached its size.
    pub(super) some_full: AtomicBool,
    /// Whether memtables may have entries that no log has.
    pub(super) unlogged: AtomicBool,
    pub(super) failure: Failure,
    pub(super) stall: Stall,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) scheduler: Arc<dyn Scheduler>,
    pub(super) jobs: Arc<Jobs>,
    /// Names this opening of the database, in tables.
    pub(super) session: String,
    /// Held for the database's sake.
    pub(super) _lock: Box<dyn FileLock>,
}

/// What is known about flushes.
#[derive(Debug, Default)]
pub(super) struct Flushing {
    /// Whether a job was spawned and has not ended.
    pub(super) scheduled: bool,
}

impl Writer {
    pub(super) fn views(&self) -> MutexGuard<'_, Flushing> {
        lock(&self.views)
    }

    /// The error of everybody who wants to write after a failure, or after the end.
    pub(super) fn check(&self) -> Result<()> {
        if self.jobs.is_closing() {
            return Err(Error::new(ErrorKind::Closed, "the database was closed"));
        }
        self.failure.check()
    }
}

/// The first failure after which the database cannot be written.
#[derive(Default)]
pub(super) struct Failure {
    failed: AtomicBool,
    why: Mutex<String>,
}

impl Failure {
    pub(super) fn set(&self, error: &Error) {
        let mut why = lock(&self.why);
        if !self.failed.load(Ordering::Relaxed) {
            *why = error.to_string();
            self.failed.store(true, Ordering::Release);
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        if !self.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::ReadOnly,
            format!(
                "writes are refused until the database is opened again, because of: {}",
                lock(&self.why)
            ),
        ))
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Failure").field(&lock(&self.why)).finish()
    }
}

/// Background jobs that have not ended, and whether the database is being closed.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    state: Mutex<(usize, bool)>,
    ended: Condvar,
}

/// A job; while this lives, closing the database waits for it.
pub(super) struct JobGuard(Arc<Jobs>);

impl Jobs {
    pub(super) fn begin(self: &Arc<Self>) -> JobGuard {
        lock(&self.state).0 += 1;
        JobGuard(Arc::clone(self))
    }

    pub(super) fn is_closing(&self) -> bool {
        lock(&self.state).1
    }

    /// Has all jobs end early. Returns whether that was news.
    pub(super) fn begin_closing(&self) -> bool {
        !std::mem::replace(&mut lock(&self.state).1, true)
    }

    /// Waits for all jobs.
    pub(super) fn wait(&self, scheduler: &dyn Scheduler) {
        while scheduler.run_waiting() {}
        let mut state = lock(&self.state);
        while state.0 > 0 {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for JobGuard {
    fn drop(&mut self) {
        lock(&self.0.state).0 -= 1;
        self.0.ended.notify_all();
    }
}
