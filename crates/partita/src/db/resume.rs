//! A database that failed is made whole again, in the process.
//!
//! A failed flush or compaction left nothing behind that counts: its memtables or tables are still there, and it is done
//! again. A failed edit of the manifest may be on disk or not; the version set begins a new manifest with the next edit,
//! and until CURRENT names that, whichever of the two a crash leaves tells the same data.
//!
//! A failed **log** is another matter. Of the record R that failed, anything may be on disk: nothing, a part, all. Its
//! writers were told that it failed. Two things must never come of that:
//!
//! * R back after later writes were acknowledged that it contradicts. If R (`a` = 1, number 7) is on disk, `a` = 2 is then
//!   acknowledged under number 7 or later in a new log, and a recovery replays both logs, two entries might have one
//!   number, or the caller might see a value that he was told was never written.
//! * A hole: records behind R lost because recovery stops where R is torn.
//!
//! So the log ends for ever before anything is acknowledged again:
//!
//! ```text
//! 1  the front of the queue is held, no flush runs: nobody writes
//! 2  tables of all memtables of all families, synced; R is in no memtable
//! 3  ONE edit for all families: the tables, "logs from N on" for each and for all      N: a number no log has yet
//! 4  views without the memtables; new memtables whose first log is N
//! 5  log N is begun and takes the place of the failed one; older logs are removed
//! 6  the failure is over; the front goes to the next writer
//! ```
//!
//! * A crash before 3 is durable finds the old logs, R perhaps among them, at their end: nothing was acknowledged behind it.
//!   R whole or not at all is then for the log's reader to say, as with any last record of a crash.
//! * A crash after 3 finds logs below N, which nobody reads any more: R is gone for good, and all that was acknowledged is
//!   in tables. It is one edit since R may have entries in several families: with an edit for each, a crash between two
//!   would bring back the half of R that belongs to the second.
//! * If the edit fails, a crash finds either state, and nothing was acknowledged meanwhile. Later attempts write all again.
//! * If 5 fails, nothing is in memory that a log would have to hold, and the next attempt begins with new numbers.
//! * The numbers that R had are passed over, so that none is ever given twice, whatever is done with old logs by others.
//!
//! If an **entry could not be inserted** whose record is in the log, the memtable has a part of a batch, under numbers that
//! nobody has seen. No way leads back from there but replaying the log.

use std::sync::PoisonError;

use super::flush::FlushSet;
use super::memtables::new_memtable;
use super::read_view::ReadView;
use super::writer::Writer;
use super::{BackgroundWork, ColumnFamily, Db, DbInner};
use crate::error::Result;
use crate::util::sync::lock;
use crate::version::FileNumber;

impl Db {
    /// Tries at once to make good what failed in the background: a flush again, a log in the place of the failed one, a new
    /// manifest. Writes go on if it succeeds. Where nothing failed, nothing is done.
    ///
    /// * What had been acknowledged is there. A batch whose write failed is not.
    /// * Errors: what fails now, `Io` or `NoSpace` for example; it is the current [`Db::background_error`] then. `ReadOnly`
    ///   where only opening the database again helps; `Closed`.
    pub fn resume(&self) -> Result<()> {
        let writer = self.writer()?;
        writer.queue.exclusive(|| self.inner().resume())
    }
}

impl DbInner {
    /// The error of who wants to write, unless it was time to try again and that went well. The caller leads the commit
    /// queue.
    pub(super) fn check_or_resume(&self) -> Result<()> {
        let writer = self.writing()?;
        let checked = writer.check();
        if !writer.failure.is_there() || writer.jobs.is_closing() {
            return checked;
        }
        let interval = self.options.bgerror_resume_retry_interval;
        let most = u32::try_from(self.options.max_bgerror_resume_count).unwrap_or(0);
        if !writer.failure.take_retry(writer.clock.monotonic_nanos(), interval, most) {
            return checked;
        }
        // The failure that is there now says why it could not be.
        let _ = self.resume();
        writer.check()
    }

    /// The caller leads the commit queue.
    fn resume(&self) -> Result<()> {
        let writer = self.writing()?;
        let Some(failure) = writer.failure.get() else { return writer.check() };
        if failure.is_fatal() || writer.jobs.is_closing() {
            return writer.check();
        }
        let log_failed = writer.failure.log_failed();
        let (work, done) = match failure.work {
            _ if log_failed => (BackgroundWork::Log, self.abandon_log(writer)),
            // What is to be merged is where it was; whoever looks for work finds it.
            BackgroundWork::Compaction => (BackgroundWork::Compaction, Ok(())),
            _ => (BackgroundWork::Flush, self.flush_frozen(writer)),
        };
        if let Err(error) = done {
            self.background_failed(work, &error);
            return Err(error);
        }
        writer.failure.clear();
        self.remove_obsolete_files();
        for family in self.families.load().values() {
            self.pressure_changed(&family.0);
        }
        self.schedule_compactions();
        Ok(())
    }

    /// What waits to be flushed, after a failure that left the log alone.
    fn flush_frozen(&self, writer: &Writer) -> Result<()> {
        wait_for_the_job(writer);
        let families: Vec<ColumnFamily> = self.families.load().values().cloned().collect();
        let frozen = FlushSet::frozen(&families);
        match self.options.atomic_flush {
            true => self.flush_set(&frozen),
            false => frozen.one_by_one().try_for_each(|set| self.flush_set(&set)),
        }
    }

    /// Puts all that is in memory into tables, so that no log before a new one counts any more.
    fn abandon_log(&self, writer: &Writer) -> Result<()> {
        wait_for_the_job(writer);
        let number = self.versions.new_file_number();
        self.versions.raise_last_sequence(writer.failure.in_doubt_end());
        let families: Vec<ColumnFamily> = self.families.load().values().cloned().collect();
        let fresh = families
            .iter()
            .map(|family| new_memtable(&self.cache, family.key_order(), number))
            .collect::<Result<Vec<_>>>()?;
        let set = FlushSet::everything(&families);
        let outputs = self.write_tables(&set)?;
        let installing = lock(&writer.installing);
        self.apply_edits(set.edits(&outputs, |_, _| number, number))?;
        drop(outputs);
        let views = writer.views();
        for (family, memtable) in families.iter().zip(fresh) {
            let version = family.0.family.current();
            let frozen = Box::default();
            family.0.show(ReadView { memtable, frozen, version, moment: None });
        }
        drop(views);
        drop(installing);
        self.begin_log_anew(writer, number)
    }

    fn begin_log_anew(&self, writer: &Writer, number: FileNumber) -> Result<()> {
        let mut logs = lock(&writer.logs);
        let log = writer.place.begin(number, None)?;
        let (failed, _) = logs.readable();
        logs.replace(number, log);
        if let Some(bytes) = logs.readable_of_abandoned(failed) {
            writer.place.cut_off(failed, bytes);
        }
        let obsolete = logs.take_older_than(number);
        drop(logs);
        self.remove_logs(&obsolete);
        self.remove_obsolete_files();
        Ok(())
    }
}

/// Waits for the flush that is under way. It ends soon: it has failed, or another job's failure ends it.
fn wait_for_the_job(writer: &Writer) {
    let mut views = writer.views();
    while views.scheduled {
        drop(views);
        let ran = writer.scheduler.run_waiting();
        views = writer.views();
        if !ran && views.scheduled {
            views = writer.flushed.wait(views).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
