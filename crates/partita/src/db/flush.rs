//! Flushing: frozen memtables become tables of level 0.
//!
//! ```text
//! frozen memtables of a family ─ level0.rs ─> table, synced, its name durable
//!   edit: the table, the family's oldest needed log, the database's            VersionSet::log_and_apply
//!   view: without the memtables, with the new version                          readers change over
//!   logs that nothing needs any more, and files that no version names          removed
//! ```
//!
//! 1. One job flushes at a time, so that a family's tables enter level 0 in the order of its memtables.
//! 2. A family is due when it has as many frozen memtables as are to be merged (`min_write_buffer_number_to_merge`), when no
//!    more may be frozen, or when somebody wants it: a caller, the limit of the logs, the limit of memory.
//! 3. The family is next whose frozen memtables keep the oldest log.
//! 4. With `atomic_flush` memtables of all families are frozen at one moment, and what is frozen enters the manifest
//!    together, in edits that count together or not at all.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use super::family::FamilyState;
use super::level0::write_level0;
use super::stats::LevelCounters;
use super::writer::Flushing;
use super::{BackgroundWork, ColumnFamily, Db, DbInner};
use crate::compaction::NewTable;
use crate::error::{Error, ErrorKind, Result};
use crate::io::Priority;
use crate::memtable::MemTable;
use crate::util::sync::atomic::Ordering;
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

    /// The same for one column family; with `atomic_flush`, for all.
    pub fn flush_cf(&self, family: &ColumnFamily) -> Result<()> {
        self.inner().flush_families(std::slice::from_ref(family))
    }
}

/// Memtables that are flushed together: of one family, or of several whose tables enter the manifest together.
pub(super) struct FlushSet(Vec<(ColumnFamily, Vec<Arc<MemTable>>)>);

impl FlushSet {
    /// What is frozen. The caller holds the lock of the views, or nothing can be frozen meanwhile.
    pub(super) fn frozen<'f>(families: impl IntoIterator<Item = &'f ColumnFamily>) -> Self {
        let frozen = |family: &ColumnFamily| family.0.view.load().frozen.to_vec();
        let families = families.into_iter().map(|family| (family.clone(), frozen(family)));
        Self(families.filter(|(_, memtables)| !memtables.is_empty()).collect())
    }

    /// All that is in memory. Nobody may write meanwhile.
    pub(super) fn everything(families: &[ColumnFamily]) -> Self {
        let filled = |family: &ColumnFamily| {
            let view = family.0.view.load();
            view.memtables().filter(|memtable| !memtable.is_empty()).cloned().collect()
        };
        Self(families.iter().map(|family| (family.clone(), filled(family))).collect())
    }

    /// The same, family by family.
    pub(super) fn one_by_one(self) -> impl Iterator<Item = Self> {
        self.0.into_iter().map(|part| Self(vec![part]))
    }

    fn has(&self, family: &ColumnFamily) -> bool {
        self.0.iter().any(|(other, _)| other.id() == family.id())
    }

    fn has_dropped(&self) -> bool {
        self.0.iter().any(|(family, _)| family.0.family.is_dropped())
    }

    /// The edits that put the tables in the place of the memtables.
    ///
    /// * `log_of`: from which log on a family needs them; `all_log`: from which on they are needed by anybody.
    pub(super) fn edits(
        &self,
        outputs: &[Option<NewTable>],
        log_of: impl Fn(&ColumnFamily, &[Arc<MemTable>]) -> FileNumber,
        all_log: FileNumber,
    ) -> Vec<VersionEdit> {
        let edit = |((family, memtables), output): (&(ColumnFamily, Vec<_>), &Option<NewTable>)| {
            let file = output.iter().map(|output| NewFile { level: 0, file: output.file.clone() });
            VersionEdit {
                family: family.id(),
                log_number: Some(log_of(family, memtables)),
                new_files: file.collect(),
                ..VersionEdit::default()
            }
        };
        let mut edits: Vec<VersionEdit> = self.0.iter().zip(outputs).map(edit).collect();
        if let Some(first) = edits.first_mut() {
            first.min_log_number_to_keep = Some(all_log);
        }
        edits
    }
}

impl FamilyState {
    /// How many frozen memtables make one table, unless somebody wants them sooner.
    fn merged_memtables(&self) -> usize {
        let most = self.options.max_write_buffer_number.saturating_sub(1).max(1);
        usize::try_from(self.options.min_write_buffer_number_to_merge.min(most)).unwrap_or(1)
    }
}

impl DbInner {
    /// Freezes and flushes these families.
    pub(super) fn flush_families(self: &Arc<Self>, families: &[ColumnFamily]) -> Result<()> {
        let writer = self.writing()?;
        let frozen = writer.queue.exclusive(|| {
            self.check_or_resume()?;
            self.freeze_to_flush(families)
        })?;
        self.wait_until_flushed(&frozen)
    }

    /// The same for a caller who leads the commit queue.
    pub(super) fn flush_at_the_front(&self, families: &[ColumnFamily]) -> Result<()> {
        let frozen = self.freeze_to_flush(families)?;
        self.wait_until_flushed(&frozen)
    }

    fn freeze_to_flush(&self, families: &[ColumnFamily]) -> Result<FlushSet> {
        let ids: BTreeSet<u32> = families
            .iter()
            .filter(|family| !family.0.view.load().memtable.is_empty())
            .map(ColumnFamily::id)
            .collect();
        if !ids.is_empty() {
            self.freeze(&ids, &ids)?;
        }
        self.writing()?.views().wanted.extend(families.iter().map(ColumnFamily::id));
        Ok(FlushSet::frozen(families))
    }

    fn wait_until_flushed(&self, frozen: &FlushSet) -> Result<()> {
        let is_flushed = |(family, memtables): &(ColumnFamily, Vec<Arc<MemTable>>)| {
            let view = family.0.view.load();
            family.0.family.is_dropped() || !view.frozen.iter().any(|it| contains(memtables, it))
        };
        self.wait_for_flushes(|_| frozen.0.iter().all(is_flushed))
    }

    /// Waits for flushes until `is_done`, which is asked under the lock of the views.
    ///
    /// It ends, too, when a flush has failed and when the database is closed. While it waits, a job is under way that will
    /// tell when it has ended.
    pub(super) fn wait_for_flushes(&self, is_done: impl Fn(&Flushing) -> bool) -> Result<()> {
        let writer = self.writing()?;
        let mut views = writer.views();
        while !is_done(&views) {
            writer.check()?;
            self.schedule_flush(&mut views)?;
            drop(views);
            // Some schedulers leave the work to those who wait for it.
            let ran = writer.scheduler.run_waiting();
            views = writer.views();
            if !ran && !is_done(&views) && views.scheduled {
                views = writer.flushed.wait(views).unwrap_or_else(PoisonError::into_inner);
            }
        }
        Ok(())
    }

    /// Waits until no flush is due. Memtables that wait for others to be merged with may be left.
    pub(super) fn wait_until_no_flush_is_due(&self) -> Result<()> {
        self.wait_for_flushes(|views| !views.scheduled && self.next_due(views).is_none())
    }

    /// Has what is due flushed some time, if no job is under way that will.
    pub(super) fn schedule_flush(&self, views: &mut Flushing) -> Result<()> {
        self.writing()?;
        if !views.scheduled && self.next_due(views).is_some() {
            // The job begins with the lock of the views, which the caller holds.
            views.scheduled = self.spawn(Priority::High, Self::flush_all);
        }
        Ok(())
    }

    /// Of the families that are due, the one whose frozen memtables keep the oldest log.
    fn next_due(&self, views: &Flushing) -> Option<ColumnFamily> {
        let families = self.families.load();
        let is_due = |family: &&ColumnFamily| {
            let frozen = family.0.view.load().frozen.len();
            let is_wanted = views.wanted.contains(&family.id());
            let is_enough = frozen >= family.0.merged_memtables() || !family.0.has_room_to_freeze();
            frozen > 0 && (is_wanted || is_enough)
        };
        let oldest = |family: &&ColumnFamily| {
            family.0.view.load().frozen.last().map(|memtable| memtable.oldest_log())
        };
        families.values().filter(is_due).min_by_key(oldest).cloned()
    }

    /// Takes what is flushed next.
    fn take_due(&self, views: &mut Flushing) -> Option<FlushSet> {
        let due = self.next_due(views)?;
        let set = match self.options.atomic_flush {
            true => FlushSet::frozen(self.families.load().values()),
            false => FlushSet::frozen([&due]),
        };
        for (family, _) in &set.0 {
            views.wanted.remove(&family.id());
        }
        Some(set)
    }

    /// The job: flushes until nothing is due.
    fn flush_all(&self) {
        let Ok(writer) = self.writing() else { return };
        let _ended = JobEnd(self);
        while !writer.jobs.is_closing() {
            let Some(set) = self.take_due(&mut writer.views()) else { return };
            match self.flush_set(&set) {
                Ok(()) => {}
                // One was dropped meanwhile: nobody wants its tables. The others come again.
                Err(_) if set.has_dropped() => {}
                Err(error) => {
                    self.background_failed(BackgroundWork::Flush, &error);
                    return;
                }
            }
            writer.tell();
        }
    }

    /// Writes memtables into tables, and has readers change over. Only one thread does this at a time.
    pub(super) fn flush_set(&self, set: &FlushSet) -> Result<()> {
        let writer = self.writing()?;
        let outputs = self.write_tables(set)?;
        let families = self.families.load_full();
        let others = families.values().filter(|family| !set.has(family));
        let others = others.map(|family| family.0.oldest_log_needed());
        let own = set.0.iter().map(|(family, memtables)| log_needed_without(family, memtables));
        let all_log = own.chain(others).min().unwrap_or_default();
        let edits = set.edits(&outputs, log_needed_without, all_log);
        let flushed: Vec<(&ColumnFamily, &[Arc<MemTable>])> =
            set.0.iter().map(|(family, memtables)| (family, &memtables[..])).collect();
        self.install_flushed(edits, &flushed)?;
        drop(outputs);
        let obsolete = lock(&writer.logs).take_older_than(all_log);
        self.remove_logs(&obsolete);
        self.remove_obsolete_files();
        for (family, _) in &set.0 {
            self.pressure_changed(&family.0);
        }
        self.schedule_compactions();
        self.tell_sharers();
        Ok(())
    }

    /// A table for each family of the set, in its order; `None` where nothing is left.
    pub(super) fn write_tables(&self, set: &FlushSet) -> Result<Vec<Option<NewTable>>> {
        let writer = self.writing()?;
        let origin = self.origin(writer);
        let write = |(family, memtables): &(ColumnFamily, Vec<Arc<MemTable>>)| {
            if memtables.is_empty() {
                return Ok(None);
            }
            let progress = &family.0.flushing;
            let began_nanos = writer.clock.monotonic_nanos();
            progress.begin(memtables);
            let written = write_level0(self.table_place(), &family.0, memtables, &origin);
            progress.memtables.store(0, Ordering::Release);
            let nanos = writer.clock.monotonic_nanos().saturating_sub(began_nanos);
            let output = written.inspect_err(|_| self.note_leftovers())?;
            family.0.counters.add_to_level(
                0,
                &LevelCounters {
                    flushes: 1,
                    bytes_written: output.as_ref().map_or(0, |output| output.file.file_bytes),
                    entries_read: memtables.iter().map(|memtable| memtable.stats().entries).sum(),
                    micros: nanos / 1000,
                    ..LevelCounters::default()
                },
            );
            Ok(output)
        };
        set.0.iter().map(write).collect()
    }
}

/// From which log on a family needs them once these memtables are in a table.
fn log_needed_without(family: &ColumnFamily, flushed: &[Arc<MemTable>]) -> FileNumber {
    let view = family.0.view.load();
    let left = view.memtables().filter(|memtable| !contains(flushed, memtable));
    left.last().map_or(0, |memtable| memtable.oldest_log()).into()
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
            let error = Error::new(ErrorKind::Aborted, "a flush panicked");
            self.0.note_leftovers();
            self.0.background_failed(BackgroundWork::Flush, &error);
        }
        let mut views = writer.views();
        views.scheduled = false;
        writer.tell_with(&mut views);
        // What was frozen after the job's last look. After a failure nobody is to try again.
        if writer.check().is_ok() {
            let _ = self.0.schedule_flush(&mut views);
        }
    }
}
