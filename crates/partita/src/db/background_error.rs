//! What stops writes, and what it takes until they go on.
//!
//! | failed | with | writes | resumes |
//! |---|---|---|---|
//! | log | anything | stop | by itself, if `NoSpace` or `Io` |
//! | flush, with its manifest edit | `NoSpace`, `Io` | stop | by itself |
//! | flush | `Corruption`, other | stop | when the caller asks |
//! | compaction | `NoSpace`, `Io` | go on | by itself |
//! | compaction | `Corruption` | stop, unless `paranoid_checks` is off | when the caller asks |
//! | memtable | anything | stop | never: the database must be opened again |
//!
//! Reads go on in any case. A cause is kept until what failed has been done, and it is replaced when trying again fails
//! otherwise: what is reported is what stands in the way now. How the database comes back: `resume.rs`.

use std::fmt;

use super::{Db, DbInner};
use crate::error::{Error, ErrorKind, Result};
use crate::key::SeqNo;
use crate::util::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::util::sync::{Mutex, lock};

/// What a database was doing when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackgroundWork {
    /// Writing a record to the log, or syncing it.
    Log,
    /// Inserting entries whose record is in the log already.
    Memtable,
    /// Writing memtables into tables, and noting those in the manifest.
    Flush,
    /// Merging tables, and noting that in the manifest.
    Compaction,
}

impl BackgroundWork {
    /// What it is called in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Log => "writing the log",
            Self::Memtable => "inserting into a memtable",
            Self::Flush => "a flush",
            Self::Compaction => "a compaction",
        }
    }
}

/// An error that is nobody's call: [`Db::background_error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundError {
    /// What failed.
    pub work: BackgroundWork,
    /// How.
    pub kind: ErrorKind,
    /// The error in words, with file and offset.
    pub message: String,
    /// Whether writes are refused because of it.
    pub stops_writes: bool,
    /// Whether the database tries again by itself. If not, [`Db::resume`] does.
    pub retries: bool,
}

impl BackgroundError {
    fn new(work: BackgroundWork, error: &Error, paranoid: bool) -> Self {
        let kind = error.kind();
        let passes = matches!(kind, ErrorKind::NoSpace | ErrorKind::Io);
        Self {
            work,
            kind,
            message: error.to_string(),
            stops_writes: match work {
                BackgroundWork::Compaction => !passes && paranoid,
                _ => true,
            },
            retries: passes && work != BackgroundWork::Memtable,
        }
    }

    /// Whether only another opening helps.
    pub fn is_fatal(&self) -> bool {
        self.work == BackgroundWork::Memtable
    }

    /// Which of two counts: what is fatal, then what stops writes, then the later one.
    fn weight(&self) -> (bool, bool) {
        (self.is_fatal(), self.stops_writes)
    }

    pub(super) fn to_error(&self) -> Error {
        let remedy = match (self.is_fatal(), self.retries) {
            (true, _) => "until the database is opened again",
            (_, true) => "until a new attempt succeeds",
            _ => "until the database is told to resume",
        };
        let (work, message) = (self.work.as_str(), &self.message);
        let message = format!("writes are refused {remedy}; {work} failed: {message}");
        Error::new(ErrorKind::ReadOnly, message)
    }
}

impl fmt::Display for BackgroundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed: {}", self.work.as_str(), self.message)
    }
}

/// The failure that the database is in, if it is in one.
#[derive(Debug, Default)]
pub(super) struct Failure {
    /// Whether writes are refused.
    stops_writes: AtomicBool,
    /// Whether there is any.
    is_there: AtomicBool,
    /// How often something failed.
    count: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    error: Option<BackgroundError>,
    /// Attempts to resume by itself since it came.
    attempts: u32,
    /// When the next one may be made.
    retry_nanos: u64,
    /// Whether one succeeded since. What fails again soon afterwards goes on counting attempts.
    has_resumed: bool,
    /// Behind the sequence numbers of records that may be in the log without having been acknowledged.
    in_doubt_end: SeqNo,
    /// Whether the log takes no more records.
    log_failed: bool,
}

impl Failure {
    /// Notes a failure, unless there is one that weighs more. A later one of the same weight is the current one.
    pub(super) fn set(&self, work: BackgroundWork, error: &Error, paranoid: bool) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let error = BackgroundError::new(work, error, paranoid);
        let mut state = lock(&self.state);
        state.log_failed |= work == BackgroundWork::Log;
        if state.error.as_ref().is_some_and(|old| old.weight() > error.weight()) {
            return;
        }
        if error.stops_writes {
            self.stops_writes.store(true, Ordering::Release);
        }
        self.is_there.store(true, Ordering::Release);
        state.error = Some(error);
    }

    /// How often something failed since the database was opened.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Notes that numbers below `end` may be in the log though nobody was told so.
    pub(super) fn doubt_up_to(&self, end: SeqNo) {
        let mut state = lock(&self.state);
        state.in_doubt_end = state.in_doubt_end.max(end);
    }

    /// Whether the log takes no more records.
    pub(super) fn log_failed(&self) -> bool {
        lock(&self.state).log_failed
    }

    pub(super) fn in_doubt_end(&self) -> SeqNo {
        lock(&self.state).in_doubt_end
    }

    /// The error of everybody who wants to write.
    #[inline]
    pub(super) fn check(&self) -> Result<()> {
        if !self.stops_writes.load(Ordering::Acquire) {
            return Ok(());
        }
        lock(&self.state).error.as_ref().map_or(Ok(()), |error| Err(error.to_error()))
    }

    #[inline]
    pub(super) fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Acquire)
    }

    pub(super) fn get(&self) -> Option<BackgroundError> {
        match self.is_there() {
            true => lock(&self.state).error.clone(),
            false => None,
        }
    }

    /// Whether an attempt to resume without being asked is due; if so, the next one is put off.
    ///
    /// The first is due at once, the second after `interval`, each further one after twice as long, four intervals at most.
    pub(super) fn take_retry(
        &self,
        now_nanos: u64,
        interval_micros: u64,
        attempts_max: u32,
    ) -> bool {
        let mut state = lock(&self.state);
        if std::mem::take(&mut state.has_resumed) && now_nanos >= state.retry_nanos {
            state.attempts = 0;
        }
        let due = state.attempts < attempts_max && now_nanos >= state.retry_nanos;
        if !due || state.error.as_ref().is_none_or(|error| !error.retries) {
            return false;
        }
        let pause = interval_micros.saturating_mul(1000 << state.attempts.min(2));
        state.attempts += 1;
        state.retry_nanos = now_nanos.saturating_add(pause);
        true
    }

    /// What failed has been done.
    pub(super) fn clear(&self) {
        let mut state = lock(&self.state);
        *state = State {
            attempts: state.attempts,
            retry_nanos: state.retry_nanos,
            has_resumed: true,
            ..State::default()
        };
        self.stops_writes.store(false, Ordering::Release);
        self.is_there.store(false, Ordering::Release);
    }
}

impl Db {
    /// What failed in the background and has not been made good; `None` if all is well.
    ///
    /// Where it stops writes, they fail with [`ErrorKind::ReadOnly`], and reads go on. After `NoSpace` and `Io` the next
    /// write tries again, less and less often if it fails; [`Db::resume`] tries at once.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use partita::ErrorKind;
    /// use partita::db::DbBuilder;
    /// use partita::io::{FaultFileSystem, MemoryFileSystem};
    /// use partita::options::DbOptions;
    ///
    /// let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
    /// let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// let db = DbBuilder::new("/db").file_system(Arc::new(fs.clone())).options(options).open()?;
    /// db.put(b"apple", b"red")?;
    /// fs.set_room(Some(0));
    /// assert!(db.put(b"kiwi", b"green").is_err());
    /// assert_eq!(db.background_error().unwrap().kind, ErrorKind::NoSpace);
    /// assert_eq!(db.get(b"apple")?.unwrap(), b"red");
    /// // Somebody cleans up.
    /// fs.set_room(None);
    /// db.put(b"kiwi", b"green")?;
    /// assert_eq!(db.background_error(), None);
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn background_error(&self) -> Option<BackgroundError> {
        self.inner().writer.as_ref()?.failure.get()
    }
}

impl DbInner {
    /// Notes that work failed that nobody waits for, and wakes those who wait for what it would have done.
    pub(super) fn background_failed(&self, work: BackgroundWork, error: &Error) {
        let Some(writer) = &self.writer else { return };
        writer.failure.set(work, error, self.options.paranoid_checks);
        writer.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: ErrorKind) -> Error {
        Error::new(kind, "it went wrong")
    }

    #[test]
    fn what_stops_writes_and_what_is_tried_again() {
        use BackgroundWork::{Compaction, Flush, Log, Memtable};
        let judge = |work, kind, paranoid| {
            let error = BackgroundError::new(work, &error(kind), paranoid);
            (error.stops_writes, error.retries)
        };
        for paranoid in [false, true] {
            for kind in [ErrorKind::NoSpace, ErrorKind::Io] {
                assert_eq!(judge(Log, kind, paranoid), (true, true));
                assert_eq!(judge(Flush, kind, paranoid), (true, true));
                assert_eq!(judge(Compaction, kind, paranoid), (false, true));
                assert_eq!(judge(Memtable, kind, paranoid), (true, false));
            }
            assert_eq!(judge(Flush, ErrorKind::Corruption, paranoid), (true, false));
            assert_eq!(judge(Compaction, ErrorKind::Corruption, paranoid), (paranoid, false));
        }
    }

    #[test]
    fn the_current_cause_is_the_latest_of_the_weightiest() {
        let failure = Failure::default();
        let current = || failure.get().map(|error| (error.work, error.kind));
        let set = |work, kind| failure.set(work, &error(kind), true);
        set(BackgroundWork::Compaction, ErrorKind::NoSpace);
        assert!(failure.check().is_ok());
        set(BackgroundWork::Flush, ErrorKind::NoSpace);
        set(BackgroundWork::Compaction, ErrorKind::Io);
        assert_eq!(current(), Some((BackgroundWork::Flush, ErrorKind::NoSpace)));
        set(BackgroundWork::Flush, ErrorKind::Io);
        assert_eq!(current(), Some((BackgroundWork::Flush, ErrorKind::Io)));
        set(BackgroundWork::Memtable, ErrorKind::Aborted);
        set(BackgroundWork::Log, ErrorKind::Io);
        assert_eq!(current(), Some((BackgroundWork::Memtable, ErrorKind::Aborted)));
        assert!(failure.check().unwrap_err().message().contains("opened again"));
        failure.clear();
        assert!(failure.check().is_ok() && current().is_none());
    }

    #[test]
    fn attempts_are_put_off_but_never_for_long() {
        let failure = Failure::default();
        let due = |seconds: u64| failure.take_retry(seconds * 1_000_000_000, 1_000_000, 6);
        assert!(!due(0), "nothing failed");
        failure.set(BackgroundWork::Log, &error(ErrorKind::NoSpace), true);
        let times: Vec<u64> = (0..18).filter(|second| due(*second)).collect();
        assert_eq!(times, [0, 1, 3, 7, 11, 15]);
        assert!(!due(100), "no more than six");
        // It came back, and fails again: soon, or after a while.
        for (again, is_due) in [(18, false), (19, true), (19, false), (20, true), (100, true)] {
            failure.clear();
            failure.set(BackgroundWork::Log, &error(ErrorKind::NoSpace), true);
            assert_eq!(due(again), is_due, "{again}");
        }
        failure.clear();
        failure.set(BackgroundWork::Flush, &error(ErrorKind::Corruption), true);
        assert!(!due(1000), "only when the caller asks");
    }
}
