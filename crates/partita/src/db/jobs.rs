//! Background jobs of a database: closing waits for them.

use std::sync::{Arc, PoisonError, Weak};

use super::DbInner;
use crate::io::{Priority, Scheduler};
use crate::util::sync::{Condvar, Mutex, lock};

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

/// A database as those hold it who must not keep it open.
#[derive(Clone)]
pub(super) struct Remote {
    pub(super) jobs: Arc<Jobs>,
    pub(super) db: Weak<DbInner>,
}

impl Remote {
    /// Does something as a job of the database, unless that is being closed.
    pub(super) fn visit(&self, work: impl FnOnce(&DbInner)) {
        let Some(job) = self.jobs.begin_unless_closing() else { return };
        let Some(db) = self.db.upgrade() else { return };
        Visit { db, _job: job }.make(work);
    }
}

/// A job at its database. The database is let go before the job counts as ended.
struct Visit {
    db: Arc<DbInner>,
    _job: JobGuard,
}

impl Visit {
    fn make(self, work: impl FnOnce(&DbInner)) {
        work(&self.db);
    }
}

impl DbInner {
    /// Has work done in the background. `false` if the database is going, and nothing will be done.
    pub(super) fn spawn(
        &self,
        priority: Priority,
        work: impl FnOnce(&Self) + Send + 'static,
    ) -> bool {
        let (Some(writer), Some(db)) = (&self.writer, self.this.upgrade()) else { return false };
        let visit = Visit { db, _job: writer.jobs.begin() };
        writer.scheduler.spawn(priority, Box::new(move || visit.make(work)));
        true
    }

    pub(super) fn remote(&self) -> Option<Remote> {
        let jobs = Arc::clone(&self.writer.as_ref()?.jobs);
        Some(Remote { jobs, db: Weak::clone(&self.this) })
    }
}
