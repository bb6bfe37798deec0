//! The log handed on by hand.

use super::{BackgroundWork, Db, DbInner};
use crate::error::Result;
use crate::util::sync::lock;

impl Db {
    /// Hands what was written to the log to the operating system, so that it survives the process; with `sync` to the
    /// device, so that it survives a power cut.
    ///
    /// With `manual_wal_flush` that happens by this call, by writes with `sync`, and when a log ends; without, every write
    /// has done the first already.
    ///
    /// * Errors: `Io`, `NoSpace` of the log, and `ReadOnly` from then on, as after a failed write.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::{MemoryFileSystem, Unsynced};
    /// # use partita::options::DbOptions;
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let options = DbOptions { manual_wal_flush: true, ..options };
    /// # let disk = MemoryFileSystem::new();
    /// # let builder = |disk: &MemoryFileSystem| {
    /// #     DbBuilder::new("/db").file_system(Arc::new(disk.clone())).options(options.clone())
    /// # };
    /// # let db = builder(&disk).open()?;
    /// db.put(b"apple", b"red")?;
    /// db.flush_wal(true)?;
    /// let after = builder(&disk.after_crash(Unsynced::Lost)).open()?;
    /// assert_eq!(after.get(b"apple")?.unwrap(), b"red");
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn flush_wal(&self, sync: bool) -> Result<()> {
        let writer = self.writer()?;
        writer.queue.exclusive(|| {
            writer.check()?;
            if sync {
                return self.inner().sync_log();
            }
            let flushed = lock(&writer.logs).flush();
            flushed.inspect_err(|error| self.inner().background_failed(BackgroundWork::Log, error))
        })
    }
}

impl DbInner {
    /// Makes all that was written to the log durable. The caller leads the commit queue.
    ///
    /// What becomes durable by the manifest alone (families, files that are taken in or dropped) comes behind this: else a
    /// power cut could leave it without what was written before it, a family dropped, say, and its copy lost.
    pub(super) fn sync_log(&self) -> Result<()> {
        let synced = lock(&self.writing()?.logs).sync();
        synced.inspect_err(|error| self.background_failed(BackgroundWork::Log, error))
    }
}
