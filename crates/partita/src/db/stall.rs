//! Writers wait for the work they leave behind: by measure, and at last until it is done.
//!
//! ```text
//! who installs a version or a view ─ pressure_changed ─> debts by family ─┐
//! memtables frozen, flushed; their bytes ─────────────────────────────────┴─> pressure
//!                                                                               │
//! leader of the commit queue, before its group ── bytes of earlier groups owed ─┴─> a wait, in short steps
//! ```
//!
//! 1. **The leader waits, and holds nothing but the front of the queue.** Flushes and compactions need neither; all who
//!    write wait behind it, and those that must not wait are sent away ([`StallMark`]).
//! 2. **A wait ends early** when the pressure goes, when the database fails or closes: each step looks again.
//! 3. **Nobody is stopped unless there is somebody who will end it.** Where the work that writers would wait for cannot be
//!    scheduled, they crawl instead ([`Pressure::CRAWL`]).
//! 4. Without pressure a leader reads two atomics.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::commit::StallMark;
use super::family::FamilyState;
use super::memory::MemorySeen;
use super::pressure::{Debt, Pacer, Pressed, Pressure, StallCause};
use super::writer::Writer;
use super::{ColumnFamily, Db, DbInner};
use crate::error::{Error, ErrorKind, Result};
use crate::util::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::util::sync::{Mutex, lock};

/// The longest step of a wait, and what is not worth one.
const STEP_NANOS: f64 = 1e6;
/// The longest that one group of writes is delayed where nothing is stopped.
const DELAY_NANOS_MAX: u64 = 500_000_000;
/// Bytes a second of writes with low priority, half way to where others are delayed.
const LOW_RATE: f64 = (1 << 20) as f64;

/// How often and how long writers waited, since the database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallStats {
    /// By cause, in the order of [`StallCause::ALL`].
    causes: [StallCount; StallCause::ALL.len()],
}

/// How often and how long writers waited for one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallCount {
    /// Delays: the wait was as long as what was written asked for.
    pub delays: u64,
    /// Stops: the wait lasted until something had been done.
    pub stops: u64,
    /// Writes that must not wait, and were sent away.
    pub refused: u64,
    /// Microseconds of all waits together.
    pub micros: u64,
    /// Microseconds of the longest wait.
    pub micros_max: u64,
}

impl StallStats {
    /// Those of one cause.
    pub fn cause(&self, cause: StallCause) -> StallCount {
        self.causes[cause as usize]
    }

    /// All waits.
    pub fn total(&self) -> StallCount {
        self.causes.iter().fold(StallCount::default(), |sum, count| StallCount {
            delays: sum.delays + count.delays,
            stops: sum.stops + count.stops,
            refused: sum.refused + count.refused,
            micros: sum.micros + count.micros,
            micros_max: sum.micros_max.max(count.micros_max),
        })
    }
}

impl Db {
    /// How often and how long writers waited for flushes and compactions, by cause.
    pub fn stall_stats(&self) -> StallStats {
        self.inner()
            .writer
            .as_ref()
            .map_or_else(StallStats::default, |writer| *lock(&writer.stall.stats))
    }
}

/// What is known about debts, and who waited for them.
#[derive(Debug, Default)]
pub(super) struct Stall {
    debts: Mutex<Debts>,
    /// Whether some family's debt presses on writes.
    is_pressed: AtomicBool,
    /// Bytes that were written since a leader looked.
    written: AtomicU64,
    pacer: Mutex<Pacer>,
    low_pacer: Mutex<Pacer>,
    stats: Arc<Mutex<StallStats>>,
    /// Whether there is a family of which no more memtables may be frozen.
    pub(super) is_crowded: AtomicBool,
    pub(super) memory: Mutex<MemorySeen>,
}

#[derive(Debug)]
struct Debts {
    by_family: BTreeMap<u32, (Pressed, Pressed)>,
    /// The greatest pressure of a family, on all writes and on those of low priority.
    most: (Pressed, Pressed),
}

impl Default for Debts {
    fn default() -> Self {
        Self { by_family: BTreeMap::new(), most: (Pressed::NOT, Pressed::NOT) }
    }
}

impl Stall {
    /// Notes what a family's compactions owe; `None`: the family is gone.
    fn set(&self, family: u32, pressed: Option<(Pressed, Pressed)>) {
        let mut debts = lock(&self.debts);
        match pressed {
            Some(pressed) => debts.by_family.insert(family, pressed),
            None => debts.by_family.remove(&family),
        };
        let most = |a: (Pressed, Pressed), b: &(Pressed, Pressed)| (a.0.or(b.0), a.1.or(b.1));
        debts.most = debts.by_family.values().fold((Pressed::NOT, Pressed::NOT), most);
        self.is_pressed.store(!debts.most.0.pressure.is_none(), Ordering::Release);
    }

    /// Counts bytes that a member of a group has inserted.
    pub(super) fn wrote(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn by_debts(&self) -> Pressed {
        match self.is_pressed.load(Ordering::Acquire) {
            true => lock(&self.debts).most.0,
            false => Pressed::NOT,
        }
    }

    fn low(&self) -> Pressed {
        lock(&self.debts).most.1
    }

    pub(super) fn count(&self, cause: StallCause, count: impl FnOnce(&mut StallCount)) {
        count(&mut lock(&self.stats).causes[cause as usize]);
    }
}

/// A wait that is counted when it ends.
pub(super) struct Waiting<'w> {
    writer: &'w Writer,
    began_nanos: u64,
    pub(super) cause: StallCause,
    pub(super) stopped: bool,
    /// Sends those away that must not wait, while this lives.
    _mark: Option<StallMark<'w>>,
}

impl<'w> Waiting<'w> {
    /// * `leads`: whether those in the queue wait behind this one.
    pub(super) fn new(writer: &'w Writer, cause: StallCause, leads: bool) -> Self {
        let stats = Arc::clone(&writer.stall.stats);
        let sent_away = move || {
            lock(&stats).causes[cause as usize].refused += 1;
            must_not_wait(cause)
        };
        Self {
            writer,
            began_nanos: writer.clock.monotonic_nanos(),
            cause,
            stopped: false,
            _mark: leads.then(|| writer.queue.begin_stall(sent_away)),
        }
    }

    fn nanos(&self) -> u64 {
        self.writer.clock.monotonic_nanos().saturating_sub(self.began_nanos)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let micros = self.nanos() / 1000;
        let stopped = self.stopped;
        self.writer.stall.count(self.cause, |count| {
            count.stops += u64::from(stopped);
            count.delays += u64::from(!stopped);
            count.micros += micros;
            count.micros_max = count.micros_max.max(micros);
        });
    }
}

impl DbInner {
    /// Looks at what a family's compactions owe, and wakes who waits for it. Called by whoever has installed a version or
    /// dropped a family, without the lock of the views.
    pub(super) fn pressure_changed(&self, family: &FamilyState) {
        let Some(writer) = &self.writer else { return };
        let version = family.family.current();
        let debt = Debt {
            runs: Debt::runs_of(&version, family.options.compaction_style),
            pending_bytes: family.picker.pending_bytes(&version),
        };
        let options = &family.options;
        let is_there = !family.family.is_dropped();
        let pressed = is_there.then(|| (debt.pressed(options), debt.pressed_low(options)));
        writer.stall.set(family.family.id(), pressed);
        self.note_crowd(writer);
        self.note_awaited_snapshots();
        writer.tell();
    }

    /// Looks whether there is a family of which no more memtables may be frozen. Called when one was, and after a flush.
    pub(super) fn note_crowd(&self, writer: &Writer) {
        let crowded = self.families.load().values().any(|family| !family.0.has_room_to_freeze());
        writer.stall.is_crowded.store(crowded, Ordering::Release);
    }

    /// What presses on writers now.
    pub(super) fn pressed(&self, writer: &Writer) -> Pressed {
        let pressed = writer.stall.by_debts().or(self.memory_pressed());
        match writer.stall.is_crowded.load(Ordering::Acquire) {
            true => pressed.or(self.memtables_pressed()),
            false => pressed,
        }
    }

    fn memtables_pressed(&self) -> Pressed {
        let families = self.families.load();
        let crowded = families.values().filter(|family| !family.0.has_room_to_freeze());
        let pressures = crowded.map(|ColumnFamily(family)| {
            let view = family.view.load();
            let size = family.options.write_buffer_size.max(1) as f64;
            let fill = view.memtable.memory_bytes() as f64 / size;
            let pressure = family.flushing.pressure(fill, view.frozen.len());
            Pressed::new(pressure, StallCause::Memtables)
        });
        pressures.fold(Pressed::NOT, Pressed::or)
    }

    /// Pays for what earlier groups have written. Called by the leader of the commit queue.
    ///
    /// * Errors: `Busy` if it would have to wait and must not; `Closed` and `ReadOnly` when the database closes or fails.
    pub(super) fn pay_for_writes(&self, may_wait: bool) -> Result<()> {
        let writer = self.writing()?;
        let written = writer.stall.written.swap(0, Ordering::Relaxed);
        if self.pressed(writer).pressure.is_none() {
            return Ok(());
        }
        lock(&writer.stall.pacer).add(written);
        let mut waiting: Option<Waiting<'_>> = None;
        loop {
            // Before anything is looked at, so that no change is slept over.
            let changes = writer.views().changes;
            let mut pressed = self.pressed(writer);
            let stopped = pressed.pressure.is_stop() && self.somebody_will_end(pressed.cause)?;
            if pressed.pressure.is_stop() && !stopped {
                pressed.pressure = Pressure::CRAWL;
            }
            let left = if stopped { f64::INFINITY } else { self.left_to_wait(writer, pressed) };
            let delayed = waiting.as_ref().filter(|waiting| !waiting.stopped).map(Waiting::nanos);
            if left < STEP_NANOS || (!stopped && delayed.is_some_and(|it| it > DELAY_NANOS_MAX)) {
                return Ok(());
            }
            if !may_wait {
                writer.stall.count(pressed.cause, |count| count.refused += 1);
                return Err(must_not_wait(pressed.cause));
            }
            let waiting = waiting.get_or_insert_with(|| Waiting::new(writer, pressed.cause, true));
            if stopped {
                (waiting.stopped, waiting.cause) = (true, pressed.cause);
                self.wait_for_change(writer, changes)?;
            } else {
                self.wait_a_step(writer, left)?;
            }
        }
    }

    fn left_to_wait(&self, writer: &Writer, pressed: Pressed) -> f64 {
        let rate = pressed.pressure.bytes_a_second(self.options.delayed_write_rate.max(1) as f64);
        lock(&writer.stall.pacer).wait_nanos(writer.clock.monotonic_nanos(), rate)
    }

    /// Whether a job is under way, or now is, that will lessen this pressure.
    fn somebody_will_end(&self, cause: StallCause) -> Result<bool> {
        match cause {
            StallCause::MemoryBudget => self.memory_will_be_freed(),
            // Writers wait for room where memtables are frozen.
            StallCause::Memtables => Ok(false),
            StallCause::Level0Files | StallCause::PendingBytes => Ok(self.somebody_compacts()),
        }
    }

    /// Runs a waiting job, under schedulers that leave that to those who wait.
    fn run_waiting(&self, writer: &Writer) -> bool {
        writer.scheduler.run_waiting() || self.run_waiting_of_sharers()
    }

    /// Sleeps for a step, or works, under schedulers that leave that to those who wait.
    fn wait_a_step(&self, writer: &Writer, nanos: f64) -> Result<()> {
        writer.check()?;
        if !self.run_waiting(writer) {
            writer.clock.sleep(Duration::from_nanos(nanos.min(STEP_NANOS) as u64));
        }
        writer.check()
    }

    /// Waits until something has changed since `changes` were counted: a job has ended, well or not, or a debt is another.
    fn wait_for_change(&self, writer: &Writer, changes: u64) -> Result<()> {
        writer.check()?;
        if self.run_waiting(writer) {
            return Ok(());
        }
        let views = writer.views();
        writer.check()?;
        if views.changes == changes {
            drop(writer.flushed.wait(views).unwrap_or_else(PoisonError::into_inner));
        }
        Ok(())
    }

    /// Waits as writes of low priority do while compactions have to catch up. Called outside the queue, so that others
    /// pass by.
    pub(super) fn pay_for_low_priority(&self, bytes: usize, may_wait: bool) -> Result<()> {
        let writer = self.writing()?;
        let mut pressed = writer.stall.low();
        if pressed.pressure.is_none() {
            return Ok(());
        }
        lock(&writer.stall.low_pacer).add(bytes as u64);
        let mut waiting: Option<Waiting<'_>> = None;
        loop {
            let rate = pressed.pressure.bytes_a_second(LOW_RATE);
            let now = writer.clock.monotonic_nanos();
            let left = lock(&writer.stall.low_pacer).wait_nanos(now, rate);
            if left < STEP_NANOS {
                return Ok(());
            }
            if !may_wait {
                writer.stall.count(pressed.cause, |count| count.refused += 1);
                return Err(must_not_wait(pressed.cause));
            }
            waiting.get_or_insert_with(|| Waiting::new(writer, pressed.cause, false));
            self.wait_a_step(writer, left)?;
            pressed = writer.stall.low();
        }
    }
}

#[cold]
pub(super) fn must_not_wait(cause: StallCause) -> Error {
    let cause = cause.as_str();
    Error::new(ErrorKind::Busy, format!("writes are delayed ({cause}), and this one must not wait"))
}
