//! Flushing: frozen memtables become tables of level 0.
//!
//! ```text
//! frozen memtables of a family ─ level0.rs ─> table, synced, its name durable
//!   edit: the table, the family's oldest needed log, the database's            VersionSet::log_and_apply
//!   view: without the memtables, with the new version                          readers change over
//!   logs that nothing needs any more, and files that no version names          removed
//! ```
//!
//! One job flushes at a time, so that a family's tables enter level 0 in the order of its memtables.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use super::level0::{Origin, write_level0};
use super::writer::Flushing;
use super::{ColumnFamily, Db, DbInner};
use crate::error::{Error, ErrorKind, Result};
use crate::io::Priority;
use crate::memtable::MemTable;
use crate::util::sync::lock;
use crate::version::edit::NewFile;
use crate::version::{FileNumber, VersionEdit};

impl Db {
    /// Writes all that is in memory into tables, and returns when it is there.
    ///
    /// * Errors: `ReadOnly` with the cause, if a flush failed, this one or one before.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::{FileSystem, MemoryFileSystem};
    /// # use partita::options::DbOptions;
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let fs: Arc<dyn FileSystem> = disk.clone();
    /// # let db = DbBuilder::new("/db").file_system(fs).options(options).open()?;
    /// db.put(b"apple", b"red")?;
    /// db.flush()?;
    /// let names = disk.list("/db".as_ref())?;
    /// assert!(names.iter().any(|name| name.to_string_lossy().ends_with(".sst")));
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn flush(&self) -> Result<()> {
        self.inner().flush_families(&self.families())
    }

    /// The same for one column family.
    pub fn flush_cf(&self, family: &ColumnFamily) -> Result<()> {
        self.inner().flush_families(std::slice::from_ref(family))
    }
}

impl DbInner {
    /// Freezes and flushes these families.
    pub(super) fn flush_families(self: &Arc<Self>, families: &[ColumnFamily]) -> Result<()> {
        let writer = self.writing()?;
        let frozen = writer.queue.exclusive(|| -> Result<_> {
            writer.check()?;
            let ids: BTreeSet<u32> = families
                .iter()
                .filter(|family| !family.0.view.load().memtable.is_empty())
                .map(ColumnFamily::id)
                .collect();
            if !ids.is_empty() {
                self.freeze(&ids)?;
            }
            let frozen = |family: &ColumnFamily| family.0.view.load().frozen.to_vec();
            Ok(families.iter().map(|family| (family.clone(), frozen(family))).collect::<Vec<_>>())
        })?;
        let is_flushed = |(family, memtables): &(ColumnFamily, Vec<Arc<MemTable>>)| {
            let view = family.0.view.load();
            let waits = |memtable| view.frozen.iter().any(|other| Arc::ptr_eq(other, memtable));
            family.0.family.is_dropped() || !memtables.iter().any(waits)
        };
        self.wait_for_flushes(|| frozen.iter().all(is_flushed))
    }

    /// Waits for flushes until `is_done`, which is asked under the lock of the views.
    ///
    /// It ends, too, when a flush has failed and when the database is closed. While it waits, a job is under way that will
    /// tell when it has ended.
    pub(super) fn wait_for_flushes(&self, is_done: impl Fn() -> bool) -> Result<()> {
        let writer = self.writing()?;
        let mut views = writer.views();
        while !is_done() {
            writer.check()?;
            self.schedule_flush(&mut views)?;
            drop(views);
            // Some schedulers leave the work to those who wait for it.
            let ran = writer.scheduler.run_waiting();
            views = writer.views();
            if !ran && !is_done() && views.scheduled {
                views = writer.flushed.wait(views).unwrap_or_else(PoisonError::into_inner);
            }
        }
        Ok(())
    }

    /// Has what is frozen flushed some time, if no job is under way that will.
    pub(super) fn schedule_flush(&self, views: &mut Flushing) -> Result<()> {
        let writer = self.writing()?;
        if views.scheduled || self.next_to_flush().is_none() {
            return Ok(());
        }
        let Some(db) = self.this.upgrade() else { return Ok(()) };
        views.scheduled = true;
        let job = writer.jobs.begin();
        writer.scheduler.spawn(
            Priority::High,
            Box::new(move || {
                // The database is let go before the job counts as ended.
                let _job = job;
                let db = db;
                db.flush_all();
            }),
        );
        Ok(())
    }

    fn next_to_flush(&self) -> Option<ColumnFamily> {
        let families = self.families.load();
        families.values().find(|family| !family.0.view.load().frozen.is_empty()).cloned()
    }

    /// The job: flushes families until none has frozen memtables.
    fn flush_all(&self) {
        let Ok(writer) = self.writing() else { return };
        let _ended = JobEnd(self);
        while let (false, Some(family)) = (writer.jobs.is_closing(), self.next_to_flush()) {
            match self.flush_family(&family) {
                Ok(()) => {}
                // It was dropped meanwhile: nobody wants its tables.
                Err(_) if family.0.family.is_dropped() => {}
                Err(error) => {
                    writer.failure.set(&error);
                    return;
                }
            }
            let _views = writer.views();
            writer.flushed.notify_all();
        }
    }

    /// Writes the frozen memtables of a family into a table. Only one thread does this at a time.
    pub(super) fn flush_family(&self, family: &ColumnFamily) -> Result<()> {
        let writer = self.writing()?;
        let state = &family.0;
        let memtables = state.view.load().frozen.to_vec();
        let origin = Origin {
            session: &writer.session,
            unix_seconds: writer.clock.unix_micros() / 1_000_000,
        };
        let output = write_level0(self, state, &memtables, &origin)?;
        let (family_log, all_log) = self.logs_needed_without(family, &memtables);
        let edit = VersionEdit {
            family: family.id(),
            log_number: Some(family_log),
            min_log_number_to_keep: Some(all_log),
            new_files: output
                .iter()
                .map(|output| NewFile { level: 0, file: output.file.clone() })
                .collect(),
            ..VersionEdit::default()
        };
        self.install_flushed(vec![edit], &[(family, &memtables)])?;
        drop(output);
        self.pressure_changed(state);
        let obsolete = lock(&writer.logs).take_older_than(all_log);
        self.remove_logs(&obsolete);
        self.remove_obsolete_files();
        Ok(())
    }

    /// The logs that are needed once these memtables are in a table: from which on by the family, from which on by all.
    fn logs_needed_without(
        &self,
        family: &ColumnFamily,
        flushed: &[Arc<MemTable>],
    ) -> (FileNumber, FileNumber) {
        let view = family.0.view.load();
        let left = view.memtables().filter(|memtable| !contains(flushed, memtable));
        let own = left.last().map_or(0, |memtable| memtable.oldest_log()).into();
        let families = self.families.load();
        let others = families.values().filter(|other| other.id() != family.id());
        let others = others.map(|other| other.0.oldest_log_needed()).min();
        (own, others.map_or(own, |others| others.min(own)))
    }
}

fn contains(memtables: &[Arc<MemTable>], memtable: &Arc<MemTable>) -> bool {
    memtables.iter().any(|other| Arc::ptr_eq(other, memtable))
}

/// Says that the job has ended, also if it panicked: writers must not wait for it.
struct JobEnd<'d>(&'d DbInner);

impl Drop for JobEnd<'_> {
    fn drop(&mut self) {
        let Ok(writer) = self.0.writing() else { return };
        if std::thread::panicking() {
            writer.failure.set(&Error::new(ErrorKind::Aborted, "a flush panicked"));
        }
        let mut views = writer.views();
        views.scheduled = false;
        writer.flushed.notify_all();
        // What was frozen after the job's last look. After a failure nobody is to try again.
        if writer.check().is_ok() {
            let _ = self.0.schedule_flush(&mut views);
        }
    }
}
