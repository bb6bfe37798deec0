//! Checkpoints: the database at one moment as a directory of its own, most of it by hard links.
//!
//! ```text
//! memtables      flushed, unless the caller wants their logs copied
//! front of the   log synced; logs and their lengths noted   ┐ one moment: nobody writes, or changes memtables for new ones
//! queue          manifest, its length, versions noted       ┘
//! ---- writers, flushes and compactions go on
//! TARGET.tmp     tables linked; older logs linked, the last copied to its length; manifest copied to its length;
//!                CURRENT, OPTIONS written
//! TARGET         new_dir.rs
//! ```
//!
//! 1. Logs are noted before the manifest: what a flush puts into tables between is found in both, which does no harm. The
//!    other way round, something might be in neither.
//! 2. What is noted stays until it is copied: tables, as their versions are held; the manifest, as it is open; logs, as none
//!    goes meanwhile ([`Logs::begin_copy`](super::log::Logs::begin_copy)).
//! 3. A table and a log that is not the last never change, so links will do. A log with a link is not recycled.

use std::path::Path;

use super::new_dir::NewDir;
use super::{BackgroundWork, Db, DbInner};
use crate::error::{Error, Result};
use crate::util::sync::atomic::Ordering;
use crate::util::sync::lock;
use crate::version::{Cut, FileName, FileNumber};

/// How a checkpoint is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointOptions {
    /// Bytes of logs from which on memtables are flushed first. Fewer are copied, and read when the checkpoint is opened.
    /// Default: 0, always, as with RocksDB's `log_size_for_flush`. If there have been writes without a log, memtables are
    /// always flushed.
    pub log_bytes_for_flush: u64,
}

impl Db {
    /// Makes a database in a new directory that holds what this one holds at one moment.
    ///
    /// * Tables are linked, not copied, if `target` is on the same file system: they take no room of their own as long as
    ///   both have them, and keep their names. There are CURRENT, a manifest, an OPTIONS file and logs beside them; no LOCK,
    ///   LOG and IDENTITY. Logs stand in the directory itself, whatever `wal_dir` says here.
    /// * It holds a beginning of what was written, in whole batches, and all that was acknowledged before the call; of writes
    ///   without a log that others make meanwhile, it may lack any.
    /// * All of it survives a power cut, and so does, of what is written here, what it holds. After a failure, or a crash,
    ///   there is no `target`.
    /// * Errors: `InvalidArgument` if `target` exists; `NotSupported` for databases with tables in several directories
    ///   (`db_paths`); `Io`, `NoSpace`; `ReadOnly` if the database was opened to be read, or after a failure.
    /// * Cost: a flush, a sync of the log that writers wait for, a link for each table, a copy of the manifest.
    /// * Source: contract of RocksDB `Checkpoint::CreateCheckpoint`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let fs = disk.clone();
    /// # let db = DbBuilder::new("/db").file_system(disk.clone()).options(options).open()?;
    /// db.put(b"apple", b"red")?;
    /// db.checkpoint("/backups/monday")?;
    /// db.put(b"apple", b"green")?;
    /// let monday = DbBuilder::new("/backups/monday").file_system(fs).open()?;
    /// assert_eq!(monday.get(b"apple")?.unwrap(), b"red");
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn checkpoint(&self, target: impl AsRef<Path>) -> Result<()> {
        self.checkpoint_with(target, &CheckpointOptions::default())
    }

    /// The same with options.
    pub fn checkpoint_with(
        &self,
        target: impl AsRef<Path>,
        options: &CheckpointOptions,
    ) -> Result<()> {
        let db = self.inner();
        let writer = self.writer()?;
        let _job = writer.jobs.begin();
        let _copying = lock(&writer.copying);
        let dir = NewDir::begin(&db.fs, target.as_ref())?;
        if db.is_to_be_flushed(options)? {
            db.flush_families(&self.families())?;
        }
        db.note_moment()?.copy_to(&dir)?;
        dir.publish()
    }
}

/// What a checkpoint consists of. While this lives, none of it goes.
struct Moment<'d> {
    db: &'d DbInner,
    /// Logs with their lengths, oldest first; the last one grows.
    logs: Vec<(FileNumber, u64)>,
    files: Cut,
    _held: LogsHeld<'d>,
}

impl DbInner {
    fn is_to_be_flushed(&self, options: &CheckpointOptions) -> Result<bool> {
        let writer = self.writing()?;
        let unlogged = writer.unlogged.load(Ordering::Acquire);
        Ok(unlogged || lock(&writer.logs).bytes() >= options.log_bytes_for_flush)
    }

    /// Notes what there is.
    fn note_moment(&self) -> Result<Moment<'_>> {
        let writer = self.writing()?;
        writer.queue.exclusive(|| {
            self.check_or_resume()?;
            let logs = lock(&writer.logs)
                .begin_copy()
                .inspect_err(|error| self.background_failed(BackgroundWork::Log, error))?;
            let held = LogsHeld(self);
            Ok(Moment { db: self, logs, files: self.versions.cut()?, _held: held })
        })
    }
}

impl Moment<'_> {
    fn copy_to(&self, dir: &NewDir) -> Result<()> {
        self.refuse_other_dirs()?;
        self.copy_tables(dir)?;
        self.copy_logs(dir)?;
        let Cut { manifest, manifest_bytes, manifest_file, .. } = &self.files;
        dir.copy_front(&**manifest_file, *manifest_bytes, FileName::Manifest(*manifest))?;
        let current = format!("{}\n", FileName::Manifest(*manifest));
        dir.write(FileName::Current, current.as_bytes())?;
        let mut options = self.db.options_file();
        // The logs are here.
        options.db.wal_dir.clear();
        let name = FileName::Options(self.db.versions.new_file_number());
        dir.write(name, options.to_text().as_bytes())
    }

    fn refuse_other_dirs(&self) -> Result<()> {
        let mut tables = self.files.versions.iter().flat_map(|version| version.files());
        match tables.find(|(_, file)| file.path_id != 0) {
            None => Ok(()),
            Some((_, file)) => Err(Error::not_supported(format!(
                "table {} stands in directory {} of the database: a checkpoint has one directory",
                file.number, file.path_id
            ))),
        }
    }

    fn copy_tables(&self, dir: &NewDir) -> Result<()> {
        let from = self.db.versions.dir();
        for version in &self.files.versions {
            for (_, file) in version.files() {
                dir.link_table(from, FileName::Table(file.number))?;
            }
            for number in version.blob_files().keys() {
                let name = FileName::Blob(*number);
                dir.link(&name.in_dir(from), name)?;
            }
        }
        Ok(())
    }

    fn copy_logs(&self, dir: &NewDir) -> Result<()> {
        let place = &self.db.writing()?.place;
        let Some(((current, bytes), older)) = self.logs.split_last() else { return Ok(()) };
        for (number, _) in older.iter().filter(|(number, _)| *number >= self.files.first_log) {
            let name = FileName::Log(*number);
            dir.link(&name.in_dir(&place.dir), name)?;
        }
        // RocksDB's have no empty log either.
        if *bytes == 0 {
            return Ok(());
        }
        let name = FileName::Log(*current);
        let file = self.db.fs.open(&name.in_dir(&place.dir))?;
        dir.copy_front(&*file, *bytes, name)
    }
}

/// No log goes while this lives.
struct LogsHeld<'d>(&'d DbInner);

impl Drop for LogsHeld<'_> {
    fn drop(&mut self) {
        let Some(writer) = &self.0.writer else { return };
        let mut logs = lock(&writer.logs);
        logs.end_copy();
        let obsolete = logs.take_older_than(self.0.versions.min_log_number_to_keep());
        drop(logs);
        self.0.remove_logs(&obsolete);
    }
}

impl Drop for Moment<'_> {
    fn drop(&mut self) {
        // Tables that left the database meanwhile were held.
        self.files.versions.clear();
        self.db.remove_obsolete_files();
    }
}
