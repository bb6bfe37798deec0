//! The end of a database.

use std::sync::Arc;

use super::{ColumnFamily, Db, DbInner};
use crate::error::Result;
use crate::util::sync::atomic::Ordering;
use crate::util::sync::lock;

/// What all clones of a [`Db`] share; background jobs hold what is in it. It is closed with the last clone.
pub(super) struct Opened(Arc<DbInner>);

impl Drop for Opened {
    fn drop(&mut self) {
        // Whoever wants to know calls `Db::close`.
        let _ = self.0.close();
    }
}

impl Db {
    pub(super) fn new(inner: Arc<DbInner>) -> Self {
        Self(Arc::new(Opened(inner)))
    }

    pub(super) fn inner(&self) -> &Arc<DbInner> {
        &self.0.0
    }

    /// Ends all writing: later writes are `Closed`, reads go on. Returns when background work has ended and the log
    /// survives a power cut. The lock on the directory is released when the last clone goes.
    ///
    /// What is in memory and in no log is flushed before, unless `avoid_flush_during_shutdown` is set.
    ///
    /// * Errors: what a flush or the log failed with, now or before. Closing twice is no error.
    pub fn close(&self) -> Result<()> {
        self.inner().close()
    }
}

impl DbInner {
    fn close(self: &Arc<Self>) -> Result<()> {
        let Some(writer) = &self.writer else { return Ok(()) };
        if writer.jobs.is_closing() {
            return Ok(());
        }
        let mut flushed = writer.failure.check();
        let leave = self.options.avoid_flush_during_shutdown;
        if writer.unlogged.load(Ordering::Acquire) && !leave && flushed.is_ok() {
            let families: Vec<ColumnFamily> = self.families.load().values().cloned().collect();
            flushed = self.flush_families(&families);
        }
        let synced = writer.queue.exclusive(|| match writer.jobs.begin_closing() {
            true => lock(&writer.logs).finish_current(),
            false => Ok(()),
        });
        writer.tell();
        self.sharers.remove(self);
        writer.jobs.wait(&*writer.scheduler);
        self.remove_obsolete_files();
        flushed.and(synced)
    }
}
