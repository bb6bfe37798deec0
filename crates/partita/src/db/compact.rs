//! Compactions: which are under way, and what becomes of the database when one is done.
//!
//! ```text
//! schedule_compactions ─> a job: pick a family's next compaction
//!                           move       the files stand on another level
//!                           drop       the files go
//!                           merge      compaction/job.rs, in parts that run at once
//!                         edit, durable                          VersionSet::log_and_apply
//!                         what was hot stays hot                 TableReader::hand_over_to
//!                         readers look into the new version      install.rs
//!                         files that no version names removed
//!                         the next one, until none is due
//! ```
//!
//! 1. A compaction is picked from the current version: if that changed while it was picked, it is picked again. What others
//!    have in hand is reserved until their edit is applied, so files are never taken twice.
//! 2. Who adds tables that no compaction made must know where the outputs of compactions will be ([`UnderWay`]): nothing is
//!    picked from when it looks until its edit is applied.
//! 3. A compaction that fails leaves the database as it was; its tables are removed, unless the edit may be on disk.

use std::sync::{Arc, PoisonError};

use super::stats::LevelCounters;
#[cfg(doc)]
use super::under_way::UnderWay;
use super::{BackgroundWork, ColumnFamily, DbInner};
use crate::compaction::{
    Compaction, Fates, Job, KeyRange, Moment, NewTable, Product, Stripes, Tombstones, split,
};
use crate::error::{Error, ErrorKind, Result};
use crate::io::{self, Access, Priority, run_together};
use crate::options::DbOptions;
use crate::table::ReadContext;
use crate::util::sync::{Condvar, Mutex, MutexGuard, lock};
use crate::version::edit::{DeletedFile, NewFile};
use crate::version::{FileName, TableFile, Version, VersionEdit};

/// The share of the cache's budget that a compaction may fill for those that ask the new tables.
const HAND_OVER_SHARE: f64 = 0.1;

/// Of all background jobs, those that compact.
pub(super) fn compaction_jobs_max(options: &DbOptions) -> usize {
    let jobs = usize::try_from(options.max_background_jobs).unwrap_or(1).max(1);
    (jobs - (jobs / 4).max(1)).max(1)
}

/// Compactions under way.
#[derive(Debug, Default)]
pub(super) struct Compactions {
    state: Mutex<State>,
    /// Told when one has ended, well or not.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Jobs in the background.
    jobs: usize,
    /// Compactions that are picked or run, those by hand among them, but not those of `jobs` that pick.
    running: usize,
    /// How many of these there have been.
    begun: u64,
    /// How many wait to compact by hand; meanwhile no others are begun.
    by_hand: usize,
}

impl Compactions {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Compactions that run now, those by hand among them.
    pub(super) fn running(&self) -> usize {
        self.state().running
    }
}

/// Counts a compaction as running.
pub(super) struct Running<'d> {
    compactions: &'d Compactions,
    /// Of those that have been, the which; `None` if others ran when it began.
    alone: Option<u64>,
}

impl<'d> Running<'d> {
    pub(super) fn new(compactions: &'d Compactions) -> Self {
        let mut state = compactions.state();
        let alone = state.running == 0 && state.jobs == 0;
        state.running += 1;
        state.begun += 1;
        let alone = alone.then_some(state.begun);
        drop(state);
        Self { compactions, alone }
    }

    /// Whether nobody else has had files in hand since this began.
    pub(super) fn was_alone(&self) -> bool {
        let state = self.compactions.state();
        self.alone == Some(state.begun) && state.jobs == 0
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.compactions.state().running -= 1;
        self.compactions.ended.notify_all();
    }
}

impl DbInner {
    /// Has compactions run some time, if some are due.
    pub(super) fn schedule_compactions(&self) {
        let Ok(writer) = self.writing() else { return };
        let most = compaction_jobs_max(&self.options);
        let mut state = writer.compactions.state();
        if state.jobs >= most
            || state.by_hand > 0
            || writer.check().is_err()
            || writer.failure.is_there()
            || self.next_compaction().is_none()
        {
            return;
        }
        // The job takes the lock before it looks for anything.
        state.jobs += usize::from(self.spawn(Priority::Low, Self::run_compactions));
    }

    /// The most urgent compaction, its files reserved.
    fn next_compaction(&self) -> Option<(ColumnFamily, Arc<Compaction>)> {
        let families = self.families.load();
        let mut by_urgency: Vec<(f64, &ColumnFamily)> = families
            .values()
            .filter(|family| !family.0.family.is_dropped())
            .map(|family| {
                let scores = family.0.picker.scores(&family.0.family.current());
                (scores.into_iter().fold(0.0, f64::max), family)
            })
            .collect();
        by_urgency.sort_by(|a, b| b.0.total_cmp(&a.0));
        by_urgency.into_iter().find_map(|(_, family)| {
            let picked = self.pick(family, |moment, version| family.0.picker.pick(version, moment));
            picked.map(|compaction| (family.clone(), compaction))
        })
    }

    fn moment(&self) -> Moment {
        let unix_seconds = self.builder.clock.unix_seconds();
        Moment { unix_seconds, oldest_snapshot: self.snapshots.oldest() }
    }

    /// Has compactions scheduled when a snapshot is released that held some off.
    pub(super) fn watch_snapshots(&self) {
        let Some(remote) = self.remote() else { return };
        let look = |db: &Self| {
            db.note_awaited_snapshots();
            db.schedule_compactions();
        };
        self.snapshots.on_release(move || remote.visit(look));
    }

    /// Notes which snapshots hold off compactions.
    pub(super) fn note_awaited_snapshots(&self) {
        let moment = self.moment();
        if moment.oldest_snapshot.is_none() {
            return self.snapshots.wait_for(None);
        }
        let families = self.families.load();
        let awaited = families.values().filter_map(|ColumnFamily(family)| {
            family.picker.waits_for_snapshots(&family.family.current(), &moment)
        });
        self.snapshots.wait_for(awaited.min());
    }

    /// Picks from the current version of a family, which is still the current one afterwards.
    pub(super) fn pick(
        &self,
        family: &ColumnFamily,
        pick: impl Fn(&Moment, &Arc<Version>) -> Option<Compaction>,
    ) -> Option<Arc<Compaction>> {
        let moment = self.moment();
        let mut under_way = family.0.under_way.lock();
        loop {
            let version = family.0.family.current();
            let picked = pick(&moment, &version);
            if Arc::ptr_eq(&version, &family.0.family.current()) {
                return picked.map(|compaction| under_way.add(compaction));
            }
        }
    }

    /// The job: compacts until nothing is due.
    fn run_compactions(&self) {
        let Ok(writer) = self.writing() else { return };
        let _ended = JobEnd(self);
        while !writer.failure.is_there()
            && !writer.jobs.is_closing()
            && writer.compactions.state().by_hand == 0
        {
            let Some((family, compaction)) = self.next_compaction() else { return };
            // There may be work for another thread beside this.
            self.schedule_compactions();
            let _running = Running::new(&writer.compactions);
            match self.compact(&family, compaction) {
                Ok(()) => {}
                // Nobody wants its tables any more.
                Err(_) if family.0.family.is_dropped() || writer.jobs.is_closing() => {}
                Err(error) => {
                    self.background_failed(BackgroundWork::Compaction, &error);
                    return;
                }
            }
        }
    }

    /// Does a compaction, and has readers look at what it led to. The caller counts as running ([`Running`]).
    pub(super) fn compact(&self, family: &ColumnFamily, compaction: Arc<Compaction>) -> Result<()> {
        let writer = self.writing()?;
        let begun = writer.clock.monotonic_nanos();
        let deleted_files = compaction
            .files()
            .map(|(level, file)| DeletedFile { level: level as u32, number: file.number })
            .collect();
        let level = compaction.output_level as u32;
        let done = if compaction.is_drop() {
            Done::Dropped
        } else if compaction.is_trivial_move() {
            Done::Moved
        } else {
            let merged = self.merge(family, &compaction);
            Done::Merged(merged.inspect_err(|_| self.note_leftovers())?)
        };
        let new_files = match &done {
            Done::Dropped => Vec::new(),
            Done::Moved => {
                let files = compaction.files();
                files.map(|(_, file)| NewFile { level, file: (***file).clone() }).collect()
            }
            Done::Merged(product) => {
                let tables = product.tables.iter();
                tables.map(|table| NewFile { level, file: table.file.clone() }).collect()
            }
        };
        let edit =
            VersionEdit { family: family.id(), deleted_files, new_files, ..VersionEdit::default() };
        self.apply_edits(vec![edit])?;
        if let Done::Merged(product) = &done {
            self.hand_over(family, &compaction, &product.tables);
        }
        let micros = (writer.clock.monotonic_nanos() - begun) / 1000;
        family.0.counters.add_to_level(compaction.output_level, &done.counted(&compaction, micros));
        drop(done);
        self.install_version(family)?;
        // The files' reservations end once the current version is without them.
        drop(compaction);
        self.pressure_changed(&family.0);
        self.remove_obsolete_files();
        Ok(())
    }

    /// Writes the tables of a compaction.
    ///
    /// * Errors: none of the tables is left.
    fn merge(&self, family: &ColumnFamily, compaction: &Arc<Compaction>) -> Result<Product> {
        let parts_max = usize::try_from(self.options.max_subcompactions).unwrap_or(1);
        let ranges = split(compaction, &family.0.tables, parts_max)?;
        let count = ranges.len();
        let results: Arc<Mutex<Vec<Option<Result<Product>>>>> =
            Arc::new(Mutex::new((0..count).map(|_| None).collect()));
        // Snapshots that are taken from now on see all entries of the input.
        let stripes = Arc::new(Stripes::new(self.snapshots.seqnos()));
        let tombstones = Arc::new(Tombstones::read(compaction, &family.0.tables, &stripes)?);
        let Some(db) = self.this.upgrade() else { return Err(gone()) };
        let part = |(at, range): (usize, KeyRange)| -> io::Job {
            let (db, family) = (Arc::clone(&db), family.clone());
            let (compaction, stripes) = (Arc::clone(compaction), Arc::clone(&stripes));
            let tombstones = Arc::clone(&tombstones);
            let results = Arc::clone(&results);
            Box::new(move || {
                let result = db.merge_part(&family, &compaction, (&stripes, &tombstones), &range);
                lock(&results)[at] = Some(result);
            })
        };
        let jobs = ranges.into_iter().enumerate().map(part).collect();
        run_together(&*self.writing()?.scheduler, Priority::Low, jobs);
        let results = std::mem::take(&mut *lock(&results));
        let mut product = Product::default();
        let mut failure = None;
        for result in results {
            match result.unwrap_or_else(|| Err(gone())) {
                Ok(part) => product.add(part),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let failure =
            failure.or_else(|| self.verify_count(family, compaction, &product.fates).err());
        match failure {
            None => Ok(product),
            Some(error) => {
                for table in &product.tables {
                    self.remove(FileName::Table(table.file.number), self.versions.dir());
                }
                Err(error)
            }
        }
    }

    fn merge_part(
        &self,
        family: &ColumnFamily,
        compaction: &Compaction,
        (stripes, tombstones): (&Stripes, &Tombstones),
        range: &KeyRange,
    ) -> Result<Product> {
        let writer = self.writing()?;
        let state = &family.0;
        let base_level = state.picker.base_level(&compaction.version);
        let is_cancelled = || writer.jobs.is_closing() || state.family.is_dropped();
        let job = Job {
            compaction,
            versions: &self.versions,
            fs: &*self.fs,
            access: Access::direct_if(self.options.use_direct_io_for_flush_and_compaction),
            tables: &state.tables,
            family: &state.family,
            options: &state.options,
            merge_operator: state.merge_operator.as_deref(),
            filter: state.compaction_filter.as_deref(),
            stripes,
            tombstones,
            origin: self.origin(writer),
            base_level: i32::try_from(base_level).unwrap_or(i32::MAX),
            is_cancelled: &is_cancelled,
        };
        job.run(range)
    }

    /// Whether as many entries were read as the tables say they have; if not, something was lost on the way.
    fn verify_count(
        &self,
        family: &ColumnFamily,
        compaction: &Compaction,
        fates: &Fates,
    ) -> Result<()> {
        if !self.options.compaction_verify_record_count {
            return Ok(());
        }
        let mut expected = 0;
        for (level, file) in compaction.files() {
            let table = family.0.tables.get(file, level, &mut ReadContext::default())?;
            let properties = table.properties();
            let (Some(entries), Some(ranges)) =
                (properties.num_entries, properties.num_range_deletions)
            else {
                return Ok(());
            };
            expected += entries.saturating_sub(ranges);
        }
        if expected == fates.offered {
            return Ok(());
        }
        let numbers: Vec<_> = compaction.files().map(|(_, file)| file.number).collect();
        Err(Error::corruption(format!(
            "a compaction read {} entries where the properties of tables {numbers:?} say {expected}",
            fates.offered
        ))
        .in_file(self.versions.dir()))
    }

    /// Loads the index and filter pieces of new tables whose keys are hot, while the old ones still serve. It is no harm if
    /// that fails.
    fn hand_over(&self, family: &ColumnFamily, compaction: &Compaction, tables: &[NewTable]) {
        let ctx = &mut ReadContext::default();
        let current = family.0.family.current();
        let Some(level) = current.levels().get(compaction.output_level) else { return };
        let is_new =
            |file: &&Arc<TableFile>| tables.iter().any(|table| table.file.number == file.number);
        let successors: Result<Vec<_>> = level
            .files()
            .iter()
            .filter(is_new)
            .map(|file| {
                Ok(Arc::clone(&*family.0.tables.get(file, compaction.output_level, ctx)?))
            })
            .collect();
        let (Ok(successors), false) = (successors, tables.is_empty()) else { return };
        let share = HAND_OVER_SHARE / compaction.files().count().max(1) as f64;
        for (level, file) in compaction.files() {
            if let Ok(table) = family.0.tables.get(file, level, ctx) {
                let _ = table.hand_over_to(&successors, share, ctx);
            }
        }
    }

    /// Whether a compaction is under way in the background, or now is. While somebody compacts by hand that is not to be
    /// waited for: it may need what the waiting ones hold.
    pub(super) fn somebody_compacts(&self) -> bool {
        self.schedule_compactions();
        let Ok(writer) = self.writing() else { return false };
        let state = writer.compactions.state();
        state.by_hand == 0 && state.jobs > 0
    }

    /// Waits until a compaction has ended, if one runs; `false` if none does.
    pub(super) fn wait_for_a_compaction(&self) -> Result<bool> {
        let writer = self.writing()?;
        writer.check()?;
        // Some schedulers leave the work to those who wait for it.
        if writer.scheduler.run_waiting() {
            return Ok(true);
        }
        let state = writer.compactions.state();
        if state.running == 0 && state.jobs == 0 {
            return Ok(false);
        }
        drop(writer.compactions.ended.wait(state).unwrap_or_else(PoisonError::into_inner));
        writer.check()?;
        Ok(true)
    }
}

/// Holds off compactions in the background while somebody compacts by hand.
pub(super) struct ByHand<'d>(&'d DbInner);

impl<'d> ByHand<'d> {
    pub(super) fn begin(db: &'d DbInner) -> Result<Self> {
        db.writing()?.compactions.state().by_hand += 1;
        Ok(Self(db))
    }
}

impl Drop for ByHand<'_> {
    fn drop(&mut self) {
        let Ok(writer) = self.0.writing() else { return };
        writer.compactions.state().by_hand -= 1;
        self.0.schedule_compactions();
    }
}

/// Says that the job has ended, also if it panicked: others must not wait for it.
struct JobEnd<'d>(&'d DbInner);

impl Drop for JobEnd<'_> {
    fn drop(&mut self) {
        let Ok(writer) = self.0.writing() else { return };
        if std::thread::panicking() {
            let error = Error::new(ErrorKind::Aborted, "a compaction panicked");
            self.0.note_leftovers();
            self.0.background_failed(BackgroundWork::Compaction, &error);
        }
        writer.compactions.state().jobs -= 1;
        writer.compactions.ended.notify_all();
        // What became due after the job's last look.
        self.0.schedule_compactions();
    }
}

/// What was done with the files of a compaction.
enum Done {
    Dropped,
    Moved,
    Merged(Product),
}

impl Done {
    /// What it came to.
    fn counted(&self, compaction: &Compaction, micros: u64) -> LevelCounters {
        let none = LevelCounters { micros, ..LevelCounters::default() };
        let product = match self {
            Self::Dropped => return none,
            Self::Moved => {
                return LevelCounters { moves: 1, bytes_moved: compaction.input_bytes(), ..none };
            }
            Self::Merged(product) => product,
        };
        let input = |from_above: bool| -> u64 {
            let files = compaction.files();
            let files = files.filter(|(level, _)| (*level < compaction.output_level) == from_above);
            files.map(|(_, file)| file.file_bytes).sum()
        };
        LevelCounters {
            compactions: 1,
            bytes_read_above: input(true),
            bytes_read: input(false),
            bytes_written: product.tables.iter().map(|table| table.file.file_bytes).sum(),
            entries_read: product.fates.offered,
            entries_dropped: product.fates.offered.saturating_sub(product.fates.written),
            ..none
        }
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Closed, "the database was closed")
}
