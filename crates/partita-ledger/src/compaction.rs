//! Compactions of the whole index: one at a time, by hand or by interval.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

use partita::{Error, ErrorKind};

use crate::error::Result;

/// What a compaction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compaction {
    /// Tables before.
    pub files_before: u64,
    /// Their bytes.
    pub bytes_before: u64,
    /// Tables afterwards.
    pub files_after: u64,
    /// Their bytes.
    pub bytes_after: u64,
    /// How long it took.
    pub nanos: u64,
}

/// Compactions of an index since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionStats {
    /// Whether one is under way.
    pub is_running: bool,
    /// Those that were done.
    pub completed: u64,
    /// Those that failed.
    pub failed: u64,
    /// The last one that was done.
    pub last: Option<Compaction>,
    /// What the last one that failed failed with.
    pub last_failure: Option<String>,
}

/// The compactions of an index.
#[derive(Debug)]
pub(crate) struct Compactions {
    is_running: AtomicBool,
    /// Held from the look at the clock until the next one by interval is set off, or two who look at once compact one after
    /// the other.
    by_interval: Mutex<()>,
    past: Mutex<CompactionStats>,
    timer: Option<Timer>,
}

impl Compactions {
    /// * `interval`: between two compactions by interval, if there are to be any.
    pub(crate) fn new(interval: Option<Duration>, now_nanos: u64) -> Self {
        Self {
            is_running: AtomicBool::new(false),
            by_interval: Mutex::default(),
            past: Mutex::default(),
            timer: interval.map(|interval| Timer::new(interval, now_nanos)),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Acquire)
    }

    /// The turn to see whether one is due by interval, and to do it; `None` if somebody has it.
    pub(crate) fn turn_by_interval(&self) -> Option<MutexGuard<'_, ()>> {
        match self.by_interval.try_lock() {
            Ok(turn) => Some(turn),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Nanoseconds until one is due by interval; `None` if there are none by interval.
    pub(crate) fn due_in_nanos(&self, now_nanos: u64) -> Option<u64> {
        self.timer.as_ref().map(|timer| timer.due_in_nanos(now_nanos))
    }

    /// Sets the next one by interval off.
    pub(crate) fn put_off(&self, now_nanos: u64) {
        if let Some(timer) = &self.timer {
            timer.start(now_nanos);
        }
    }

    /// Runs `work` if no other compaction is under way, and notes how it went.
    ///
    /// * Errors: `Busy` if one is under way; those of `work`.
    pub(crate) fn run(&self, work: impl FnOnce() -> Result<Compaction>) -> Result<Compaction> {
        if self.is_running.swap(true, Ordering::AcqRel) {
            return Err(Error::new(ErrorKind::Busy, "the index is being compacted already").into());
        }
        let _until_end = Running(&self.is_running);
        let done = work();
        let mut past = self.past();
        match &done {
            Ok(compaction) => {
                past.completed += 1;
                past.last = Some(*compaction);
            }
            Err(error) => {
                past.failed += 1;
                past.last_failure = Some(error.to_string());
            }
        }
        done
    }

    pub(crate) fn stats(&self) -> CompactionStats {
        CompactionStats { is_running: self.is_running(), ..self.past().clone() }
    }

    fn past(&self) -> MutexGuard<'_, CompactionStats> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A compaction is under way; whatever way it ends, it is not afterwards.
struct Running<'c>(&'c AtomicBool);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// When the next compaction by interval is due: the interval and up to as much again, by chance, after the last, so that
/// the indexes of a machine do not all begin at the same moment.
#[derive(Debug)]
struct Timer {
    interval_nanos: u64,
    due_at_nanos: Mutex<u64>,
}

impl Timer {
    fn new(interval: Duration, now_nanos: u64) -> Self {
        let interval_nanos = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
        let timer = Self { interval_nanos, due_at_nanos: Mutex::new(0) };
        timer.start(now_nanos);
        timer
    }

    fn start(&self, now_nanos: u64) {
        let by_chance = RandomState::new().hash_one(now_nanos) % self.interval_nanos;
        *self.due_at() = now_nanos.saturating_add(self.interval_nanos).saturating_add(by_chance);
    }

    fn due_in_nanos(&self, now_nanos: u64) -> u64 {
        self.due_at().saturating_sub(now_nanos)
    }

    fn due_at(&self) -> MutexGuard<'_, u64> {
        self.due_at_nanos.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that compacts by interval. It ends with this object, after the compaction that is under way.
#[derive(Debug)]
pub(crate) struct PeriodicCompaction {
    stop: Arc<Stop>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Stop {
    asked: Mutex<bool>,
    told: Condvar,
}

/// The thread looks at the clock as often, even if that stands still.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

impl PeriodicCompaction {
    /// * `due_in`: how long until the next is due.
    /// * `compact`: runs it.
    pub(crate) fn start(
        due_in: impl Fn() -> Duration + Send + 'static,
        compact: impl Fn() + Send + 'static,
    ) -> Result<Self> {
        let stop = Arc::new(Stop::default());
        let asked_to = Arc::clone(&stop);
        let body = move || {
            while !asked_to.wait(due_in().min(LONGEST_SLEEP)) {
                if due_in().is_zero() {
                    compact();
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("locations-compaction".to_owned())
            .spawn(body)
            .map_err(|error| Error::io("start a thread", error))?;
        Ok(Self { stop, thread: Mutex::new(Some(thread)) })
    }

    /// Ends it, and waits for a compaction that is under way.
    pub(crate) fn stop(&self) {
        self.stop.ask();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // It panicked if a compaction did: that was told where it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for PeriodicCompaction {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Stop {
    fn ask(&self) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.told.notify_all();
    }

    /// Waits that long; whether to stop.
    fn wait(&self, duration: Duration) -> bool {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.told.wait_timeout_while(asked, duration, |asked| !*asked);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Compaction =
        Compaction { files_before: 0, bytes_before: 0, files_after: 0, bytes_after: 0, nanos: 0 };

    #[test]
    fn one_compaction_runs_at_a_time_and_a_failed_one_leaves_no_flag_behind() {
        let compactions = Compactions::new(None, 0);
        let done = compactions.run(|| {
            assert!(compactions.is_running() && compactions.stats().is_running);
            let second = compactions.run(|| Ok(NOTHING)).unwrap_err();
            assert_eq!(second.kind(), Some(ErrorKind::Busy));
            Err(Error::corruption("bad block").into())
        });
        assert!(done.is_err() && !compactions.is_running());
        compactions.run(|| Ok(NOTHING)).unwrap();
        let stats = compactions.stats();
        assert_eq!((stats.completed, stats.failed, stats.last), (1, 1, Some(NOTHING)));
        assert_eq!(stats.last_failure.as_deref(), Some("corruption: bad block"));
    }

    #[test]
    fn the_next_is_due_one_to_two_intervals_after_the_last() {
        let timer = Timer::new(Duration::from_nanos(1000), 5);
        for now in [5, 5000, 123_456] {
            timer.start(now);
            assert!((1000..2000).contains(&timer.due_in_nanos(now)));
            assert_eq!(timer.due_in_nanos(now + 2000), 0);
        }
    }

    #[test]
    fn without_an_interval_none_is_ever_due() {
        assert_eq!(Compactions::new(None, 0).due_in_nanos(u64::MAX), None);
    }
}
