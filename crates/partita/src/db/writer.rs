//! What a database opened for writing has beside what readers need.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::background_error::Failure;
use super::commit::CommitQueue;
use super::compact::Compactions;
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
    pub(super) compactions: Compactions,
    /// Whether some memtable has reached its size.
    pub(super) some_full: AtomicBool,
    /// Whether files may have stayed in the directory that nobody will ask for: of work that failed, or which could not be
    /// removed.
    pub(super) leftovers: AtomicBool,
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
    /// Families whose frozen memtables are to be flushed, however few they are.
    pub(super) wanted: BTreeSet<u32>,
    /// Counts what was told, so that nobody sleeps over it who looked before.
    pub(super) changes: u64,
}

impl Writer {
    pub(super) fn views(&self) -> MutexGuard<'_, Flushing> {
        lock(&self.views)
    }

    /// Wakes all who wait for something to change. The caller does not hold the views.
    pub(super) fn tell(&self) {
        self.tell_with(&mut self.views());
    }

    /// The same for a caller who does.
    pub(super) fn tell_with(&self, views: &mut Flushing) {
        views.changes += 1;
        self.flushed.notify_all();
    }

    /// The error of everybody who wants to write after a failure, or after the end.
    pub(super) fn check(&self) -> Result<()> {
        if self.jobs.is_closing() {
            return Err(Error::new(ErrorKind::Closed, "the database was closed"));
        }
        self.failure.check()
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

    /// The same, unless the database is being closed.
    pub(super) fn begin_unless_closing(self: &Arc<Self>) -> Option<JobGuard> {
        let mut state = lock(&self.state);
        if state.1 {
            return None;
        }
        state.0 += 1;
        Some(JobGuard(Arc::clone(self)))
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
