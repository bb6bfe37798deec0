//! What a database opened for writing has beside what readers need.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::background_error::Failure;
use super::commit::CommitQueue;
use super::compact::Compactions;
use super::jobs::Jobs;
use super::log::{LogPlace, Logs};
use super::stall::Stall;
use crate::error::{Error, ErrorKind, Result};
use crate::io::{Clock, FileLock, Scheduler};
use crate::util::sync::atomic::AtomicBool;
use crate::util::sync::{Condvar, Mutex, MutexGuard, lock};

/// The writing half of a database.
///
/// Locks, in the order in which they are taken: the front of the commit queue, `logs`, `installing`, `views`; before all
/// of them, `copying`. None but `logs`, `installing` and `copying` is held over I/O.
pub(super) struct Writer {
    pub(super) queue: CommitQueue,
    pub(super) place: LogPlace,
    pub(super) logs: Mutex<Logs>,
    /// Held while the view of a family is replaced, and while it is decided what is flushed.
    pub(super) views: Mutex<Flushing>,
    /// Held from the edit of a flush until readers look at what it led to (`install.rs`).
    pub(super) installing: Mutex<()>,
    /// Held while a directory is filled beside the database: two would fill the same one.
    pub(super) copying: Mutex<()>,
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
