//! A history in which one call of the file system goes wrong: an error, a full disk, a torn or short transfer, a turned bit.
//!
//! * No answer is wrong, before and after; what fails says why.
//! * Of a step that failed, nothing is there, or all of it: of a batch whose write failed, nothing.
//! * Reads go on while a disk is full.
//! * Once the fault is gone, the database goes on in the same process, and the step can be done again; only where it says
//!   that nothing else helps, it is opened again.
//! * At the end the power is cut, and all that was acknowledged is there.
//!
//! Bits are turned in tables and manifests, on their way to the disk or from it; what damage of a log means is for the mode
//! of recovery to say, and is shown elsewhere.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::ErrorKind as IoKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use partita::io::{
    Call, CallKind, Fault, FaultFileSystem, ManualScheduler, MemoryFileSystem, Scheduler, Unsynced,
};
use partita::{Error, ErrorKind};

use crate::crash::{contents, plan, sets};
use crate::driven;
use crate::history::{Plan, history};
use crate::options::{OptionSet, Readers};
use crate::ours::{Ours, Place};
use crate::state::{Model, State};
use crate::step::{Row, Slot, Step};
use crate::subject::{Subject, check};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The call fails.
    Error,
    /// The call is done, and fails all the same.
    ErrorAfterwards,
    /// The call and all later ones that take room fail, until the disk has been cleaned.
    Full,
    /// A part of what is to be written is; then it fails.
    Torn,
    /// Fewer bytes are read than were asked for, without an error.
    Short,
    /// A bit of what is read is turned.
    FlippedRead,
    /// A bit of what is written is turned.
    FlippedWrite,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Error,
        Self::ErrorAfterwards,
        Self::Full,
        Self::Torn,
        Self::Short,
        Self::FlippedRead,
        Self::FlippedWrite,
    ];

    /// What happens to a call, if it is one to which this can happen.
    fn fault(self, call: &Call<'_>, number: u64) -> Option<Fault> {
        let io = if number.is_multiple_of(2) { IoKind::Other } else { IoKind::StorageFull };
        let is_log = call.path.extension() == Some(OsStr::new("log"));
        let (reads, writes) = (
            matches!(call.kind, CallKind::ReadAt | CallKind::ReadNext),
            call.kind == CallKind::Write,
        );
        match self {
            Self::Error => Some(Fault::Error(io)),
            Self::ErrorAfterwards => call.kind.changes().then_some(Fault::ErrorAfterwards(io)),
            Self::Full => takes_room(call.kind).then_some(Fault::Error(IoKind::StorageFull)),
            Self::Torn => writes.then_some(Fault::Torn(number as usize % 40, io)),
            Self::Short => reads.then_some(Fault::Short(1 + number as usize % 7)),
            Self::FlippedRead => {
                (reads && !is_log && holds_data(call)).then_some(Fault::FlippedBit(number * 7919))
            }
            Self::FlippedWrite => {
                (writes && !is_log && holds_data(call)).then_some(Fault::FlippedBit(number * 7919))
            }
        }
    }

    fn is_damage(self) -> bool {
        self == Self::FlippedWrite
    }
}

fn takes_room(kind: CallKind) -> bool {
    matches!(
        kind,
        CallKind::Create
            | CallKind::CreateNew
            | CallKind::Write
            | CallKind::HardLink
            | CallKind::CreateDirAll
    )
}

/// Tables and manifests: what is in other files are names and texts without sums.
fn holds_data(call: &Call<'_>) -> bool {
    let name = call.path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".sst") || name.starts_with("MANIFEST")
}

/// What was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Runs with a fault that came about.
    pub runs: u64,
    /// Steps that failed.
    pub failed_steps: u64,
    /// Databases that were opened again because nothing else helped.
    pub opened_again: u64,
    /// Runs that damage ended with an error.
    pub ended_by_damage: u64,
}

impl Faults {
    /// Adds those of another history.
    pub fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.failed_steps += other.failed_steps;
        self.opened_again += other.opened_again;
        self.ended_by_damage += other.ended_by_damage;
    }
}

/// Does the history with this seed with a fault at one of so many calls, of one kind after the other.
pub fn prove(seed: u64, steps: usize, every: u64) -> Result<Faults, String> {
    let plan = Plan { reopens: true, ..plan(seed, steps) };
    let steps = history(seed, &plan);
    let sets = sets(seed, Readers::Rocks11);
    let calls = Run::new(seed, &plan, &sets, |_| None)?.go(&steps, &mut Faults::default(), None)?;
    let mut faults = Faults::default();
    for (count, at) in (seed % every..calls).step_by(every as usize).enumerate() {
        let kind = Kind::ALL[(count + seed as usize) % Kind::ALL.len()];
        let what = |said: String| format!("{kind:?} at call {at}: {said}");
        let struck = Arc::new(AtomicBool::new(false));
        let strikes = Arc::clone(&struck);
        let rule = move |call: &Call<'_>| {
            let is_due =
                call.index >= at && (kind == Kind::Full || !strikes.load(Ordering::Relaxed));
            let fault = kind.fault(call, at).filter(|_| is_due)?;
            strikes.store(true, Ordering::Relaxed);
            Some(fault)
        };
        let run = Run::new(seed, &plan, &sets, rule).map_err(what)?;
        run.go(&steps, &mut faults, Some((kind, &struck))).map_err(what)?;
        faults.runs += u64::from(struck.load(Ordering::Relaxed));
    }
    Ok(faults)
}

/// One run of a history.
struct Run {
    disk: MemoryFileSystem,
    fs: FaultFileSystem,
    scheduler: Arc<ManualScheduler>,
    place: Place,
    model: Model,
}

type Struck<'a> = Option<(Kind, &'a Arc<AtomicBool>)>;

/// Whether a run goes on.
enum Goes {
    On,
    /// What is on disk is damaged, and said to be.
    NoFurther,
}

impl Run {
    fn new(
        seed: u64,
        plan: &Plan,
        sets: &[OptionSet],
        rule: impl FnMut(&Call<'_>) -> Option<Fault> + Send + 'static,
    ) -> Result<Self, String> {
        let disk = MemoryFileSystem::new();
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        let scheduler = Arc::new(ManualScheduler::seeded(seed));
        let place = driven::place(Arc::new(fs.clone()), &scheduler, plan.order, sets.to_vec());
        fs.set_rule(rule);
        Ok(Self { disk, fs, scheduler, place, model: Model::new(plan.order) })
    }

    /// Does the steps; returns how many calls there were.
    fn go(
        mut self,
        steps: &[Step],
        faults: &mut Faults,
        struck: Struck<'_>,
    ) -> Result<u64, String> {
        let mut ours = match self.place.open(0) {
            Ok(ours) => ours,
            Err(error) => {
                self.expected(&error, struck)?;
                faults.failed_steps += 1;
                self.fs.clear_rule();
                match self.place.open(0) {
                    Ok(ours) => ours,
                    Err(error) => return self.damaged(&error, struck, faults),
                }
            }
        };
        for (at, step) in steps.iter().enumerate() {
            let what = |said: String| format!("step {at}, {step:?}: {said}");
            match self.step(&mut ours, step, faults, struck).map_err(what)? {
                Goes::On => {}
                Goes::NoFurther => return Ok(self.fs.calls()),
            }
        }
        let calls = self.fs.calls();
        self.fs.clear_rule();
        if let Err(error) = ours.db().flush_wal(true) {
            self.expected(&error, struck)?;
            ours = self.made_whole(ours, faults)?;
            ours.db().flush_wal(true).map_err(|error| format!("the log, synced: {error}"))?;
        }
        let after = self.disk.after_crash(Unsynced::Lost);
        drop(ours);
        self.model.forget_snapshots();
        let place = Place { fs: Arc::new(after), ..self.place.clone() };
        match place.open(1) {
            Ok(mut ours) => match check(&mut ours, &self.model) {
                Ok(_) => Ok(calls),
                Err(said) if is_damage(&said, struck) => Ok(calls),
                Err(said) => Err(format!("after the power was cut: {said}")),
            },
            Err(error) => self.damaged(&error, struck, faults),
        }
    }

    fn step(
        &mut self,
        ours: &mut Ours,
        step: &Step,
        faults: &mut Faults,
        struck: Struck<'_>,
    ) -> Result<Goes, String> {
        let applied =
            if *step == Step::Check { self.checked(ours, struck)? } else { ours.apply(step) };
        if let Err(error) = applied {
            faults.failed_steps += 1;
            self.expected(&error, struck)?;
            if struck.is_some_and(|(kind, _)| kind.is_damage()) {
                faults.ended_by_damage += 1;
                return Ok(Goes::NoFurther);
            }
            self.after_failure(ours, step, faults)?;
        }
        self.model.apply(step);
        self.scheduler.pass(Duration::from_millis(200));
        while self.scheduler.waiting() > 2 {
            self.scheduler.run_waiting();
        }
        Ok(Goes::On)
    }

    /// Compares; a read that fails is an error as of any other step.
    fn checked(&self, ours: &mut Ours, struck: Struck<'_>) -> Result<Result<(), Error>, String> {
        match check(ours, &self.model) {
            Ok(_) => Ok(Ok(())),
            Err(said) if said.contains("injected") || is_damage(&said, struck) => {
                Ok(Err(Error::corruption(said)))
            }
            Err(said) => Err(said),
        }
    }

    /// The step failed because of the fault.
    fn after_failure(
        &mut self,
        ours: &mut Ours,
        step: &Step,
        faults: &mut Faults,
    ) -> Result<(), String> {
        let (before, after) = (self.model.state.clone(), self.after(step));
        let is_opening = matches!(step, Step::Reopen(_) | Step::Kill(_));
        let mut found = None;
        if !is_opening {
            // A full disk does not keep anybody from reading.
            let seen = self.find(ours, step, &before, &after)?;
            found = Some(seen);
        }
        self.fs.clear_rule();
        if is_opening || ours.db().background_error().is_some_and(|error| error.is_fatal()) {
            faults.opened_again += u64::from(!is_opening);
            self.model.forget_snapshots();
            self.open_again(ours)?;
        } else {
            self.resume(ours)?;
        }
        let now = self.find(ours, step, &before, &after)?;
        if found.is_some_and(|found| found != now) {
            return Err("what was there after the failure changed when writing went on".to_owned());
        }
        if now == After::All || matches!(step, Step::Reopen(_) | Step::Kill(_) | Step::Snapshot(_))
        {
            return Ok(());
        }
        ours.apply(step).map_err(|error| format!("again: {error}"))
    }

    fn after(&self, step: &Step) -> State {
        let mut after = self.model.state.clone();
        after.apply(step);
        after
    }

    /// Whether the step's effect is there.
    fn find(
        &self,
        ours: &Ours,
        step: &Step,
        before: &State,
        after: &State,
    ) -> Result<After, String> {
        let found: BTreeMap<Slot, Vec<Row>> =
            contents(ours).map_err(|said| format!("after the failure: {said}"))?;
        let found = State::found(before.order(), &found);
        let purged = match step {
            Step::Purge(slot, epoch) => [(*slot, *epoch)].into(),
            _ => Default::default(),
        };
        let same = |state: &State| state.without(&purged).has_rows_of(&found.without(&purged));
        match step {
            _ if same(before) => Ok(After::Nothing),
            Step::Write(..) if same(after) => {
                Err("a batch is there whose write had failed".to_owned())
            }
            _ if same(after) => Ok(After::All),
            _ => Err(format!(
                "neither before nor after the step: {} or {}",
                before.difference(&found),
                after.difference(&found)
            )),
        }
    }

    /// Has the database go on in the process.
    fn resume(&self, ours: &Ours) -> Result<(), String> {
        self.scheduler.pass(Duration::from_secs(10));
        ours.db().resume().map_err(|error| format!("resumed: {error}"))
    }

    fn open_again(&self, ours: &mut Ours) -> Result<(), String> {
        ours.open_again().map_err(|error| format!("opened again: {error}"))
    }

    fn made_whole(&self, mut ours: Ours, faults: &mut Faults) -> Result<Ours, String> {
        if ours.db().background_error().is_some_and(|error| error.is_fatal()) {
            faults.opened_again += 1;
            self.open_again(&mut ours)?;
        } else {
            self.resume(&ours)?;
        }
        Ok(ours)
    }

    /// A failure is one of the fault, and says so.
    fn expected(&self, error: &Error, struck: Struck<'_>) -> Result<(), String> {
        let said = error.to_string();
        let Some((kind, has_struck)) = struck else { return Err(said) };
        if !has_struck.load(Ordering::Relaxed) {
            return Err(format!("before anything had gone wrong: {said}"));
        }
        let names_it = match kind {
            Kind::Short => false,
            // A version of footers without a sum may be one that there is not, and the number that ingestion writes into
            // a file, which no sum covers, one that nobody wrote.
            Kind::FlippedRead | Kind::FlippedWrite => {
                error.kind() == ErrorKind::Corruption
                    || said.contains("corruption")
                    || said.contains("footer")
                    || said.contains("and sequence number")
            }
            _ => said.contains("injected"),
        };
        names_it.then_some(()).ok_or_else(|| format!("the cause is not said: {said}"))
    }

    /// The database cannot be opened any more, and says that it is damaged.
    fn damaged(
        &self,
        error: &Error,
        struck: Struck<'_>,
        faults: &mut Faults,
    ) -> Result<u64, String> {
        self.expected(error, struck)?;
        if !struck.is_some_and(|(kind, _)| kind.is_damage()) {
            return Err(format!("opened after the fault: {error}"));
        }
        faults.ended_by_damage += 1;
        Ok(self.fs.calls())
    }
}

/// What is there of a step that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Nothing,
    All,
}

fn is_damage(said: &str, struck: Struck<'_>) -> bool {
    struck.is_some_and(|(kind, has_struck)| {
        matches!(kind, Kind::FlippedRead | Kind::FlippedWrite)
            && has_struck.load(Ordering::Relaxed)
            && said.contains("corruption")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_call_goes_wrong_no_answer_does_and_nothing_is_lost() {
        let mut faults = Faults::default();
        for seed in 0..4 {
            faults.add(prove(seed, 30, 17).unwrap_or_else(|said| panic!("seed {seed}: {said}")));
        }
        assert!(faults.runs > 50 && faults.failed_steps > 30, "{faults:?}");
    }
}
