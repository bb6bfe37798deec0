//! A history cut at every call of the file system that changes something: what a power cut there may leave is opened, and
//! holds all that was durable, a beginning of the rest, and batches whole or not at all.
//!
//! ```text
//! step     0     1     2     3     4 ...        each changes what there is, or nothing
//! state  S0    S1    S2    S3    S4 ...
//!               ^           ^     ^
//!               durable     |     begun          after a cut in step 4 any of S1 … S4 may be found,
//!                      acknowledged              after a kill S3 or S4
//! ```
//!
//! * Cuts lose what was not synced, tear it at any byte or sector, keep it in one file and lose it in another, and lose or
//!   keep names of files ([`Unsynced`]).
//! * An image is opened with any of the history's option sets.
//! * Of the images some are cut again while they are opened; some are written on, compacted, and opened once more.
//! * A purge is several steps to a disk: of the keys that it is about any may be there while it is not durable.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind as IoKind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use partita::io::{FaultFileSystem, ManualScheduler, MemoryFileSystem, Unsynced};

use crate::driven::{self, Driven};
use crate::history::{Plan, history};
use crate::options::{Common, OptionSet, Readers};
use crate::ours::Ours;
use crate::state::{Model, Order, State};
use crate::step::{Durability, LastLevel, Op, Row, Slot, Step};
use crate::subject::{Subject, check, run};

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// Calls at which the history could be cut.
    pub calls: u64,
    /// Images that were opened.
    pub images: u64,
    /// Images that were cut again while they were opened.
    pub cut_again: u64,
    /// Images that were written on.
    pub written_on: u64,
}

impl Cuts {
    /// Adds those of another history.
    pub fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.images += other.images;
        self.cut_again += other.cut_again;
        self.written_on += other.written_on;
    }
}

/// What a power cut left, and what may be found in it.
#[derive(Debug)]
pub struct Image {
    /// Which cut it was.
    pub name: String,
    /// The disk.
    pub disk: MemoryFileSystem,
    /// The order of keys.
    pub order: Order,
    /// The option sets with which it may be opened.
    pub options: Vec<OptionSet>,
    /// The number of the cut.
    pub cut: u64,
    states: Vec<State>,
    purged: BTreeSet<(Slot, u32)>,
}

impl Image {
    /// What was found, if it is one of the states that there may be.
    pub fn find(&self, found: &BTreeMap<Slot, Vec<Row>>) -> Result<State, String> {
        let found = State::found(self.order, found);
        let known = found.without(&self.purged);
        let same = |state: &State| state.without(&self.purged).has_rows_of(&known);
        if self.states.iter().any(same) {
            return Ok(found);
        }
        let differences: Vec<String> =
            self.states.iter().map(|state| state.difference(&found)).collect();
        Err(format!("none of {} states was found: {differences:#?}", self.states.len()))
    }
}

/// The plan of the history with this seed: every fourth goes backward.
pub fn plan(seed: u64, steps: usize) -> Plan {
    let order = if seed % 4 == 3 { Order::Reverse } else { Order::Forward };
    Plan { order, keys: 60, unlogged: false, check_every: 0, ..Plan::everything(steps) }
}

/// The option sets that the history with this seed goes through.
pub fn sets(seed: u64, readers: Readers) -> Vec<OptionSet> {
    let (order, is_universal) = (plan(seed, 0).order, seed % 5 == 4);
    let common = Common { order, is_universal, readers };
    (0..4).map(|at| OptionSet::draw((seed << 20) + at, common)).collect()
}

/// Cuts the history with this seed at one of so many calls and looks at all images.
pub fn prove(seed: u64, steps: usize, every: u64) -> Result<Cuts, String> {
    let mut cuts = Cuts::default();
    cuts.calls = visit(seed, steps, every, Readers::Rocks11, &mut |image| {
        cuts.images += 1;
        look_at(&image, &mut cuts).map_err(|said| format!("{}: {said}", image.name))
    })?;
    Ok(cuts)
}

/// Does the history with this seed, and calls `visit` with what cuts leave at one of so many calls; returns how many calls
/// there were.
pub fn visit(
    seed: u64,
    steps: usize,
    every: u64,
    readers: Readers,
    visit: &mut dyn FnMut(Image) -> Result<(), String>,
) -> Result<u64, String> {
    let plan = plan(seed, steps);
    let (options, steps) = (sets(seed, readers), history(seed, &plan));
    let disk = MemoryFileSystem::new();
    let camera = Camera::watch(&disk, seed, every);
    let scheduler = Arc::new(ManualScheduler::seeded(seed));
    let place = driven::place(Arc::new(camera.fs.clone()), &scheduler, plan.order, options.clone());
    let mut timeline = Timeline::new(plan.order);
    let mut show = |timeline: &Timeline, step: &str| -> Result<(), String> {
        for Shot { cut, name, disk, progress } in camera.take_shots() {
            let (states, purged) = timeline.between(progress);
            let name = format!("{step}, {name}");
            let order = plan.order;
            visit(Image { name, disk, order, options: options.clone(), cut, states, purged })?;
        }
        Ok(())
    };
    let opened = place.open(0).map_err(|error| format!("created: {error}"))?;
    show(&timeline, "while it is created")?;
    let mut ours = Driven::new(opened, scheduler, seed);
    for (at, step) in steps.iter().enumerate() {
        let what = format!("step {at}, {step:?}");
        timeline.begin(step);
        camera.progress(timeline.progress);
        ours.ours.apply(step).map_err(|error| format!("{what}: {error}"))?;
        timeline.end(step);
        camera.progress(timeline.progress);
        ours.let_jobs_run();
        show(&timeline, &what)?;
    }
    drop(ours);
    show(&timeline, "at the end")?;
    Ok(camera.calls())
}

/// How far a history has come: numbers of states.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    durable: usize,
    acknowledged: usize,
    begun: usize,
}

/// The states of a history, one after the other.
struct Timeline {
    states: Vec<State>,
    /// With the number of the state that they lead to.
    purges: Vec<(usize, (Slot, u32))>,
    progress: Progress,
}

impl Timeline {
    fn new(order: Order) -> Self {
        Self { states: vec![State::new(order)], purges: Vec::new(), progress: Progress::default() }
    }

    fn begin(&mut self, step: &Step) {
        if !State::is_changed_by(step) {
            return;
        }
        let mut state = self.states[self.states.len() - 1].clone();
        state.apply(step);
        self.states.push(state);
        self.progress.begun = self.states.len() - 1;
        if let Step::Purge(slot, epoch) = step {
            self.purges.push((self.progress.begun, (*slot, *epoch)));
        }
    }

    fn end(&mut self, step: &Step) {
        self.progress.acknowledged = self.progress.begun;
        let is_durable = match step {
            Step::Write(_, durability) => *durability == Durability::Synced,
            // A flush of one family syncs nothing where that family has nothing to flush.
            Step::SyncLog | Step::Flush(None) | Step::Ingest(_) => true,
            _ => false,
        };
        if is_durable {
            self.progress.durable = self.progress.acknowledged;
        }
    }

    /// The states that a cut may leave, and what was being purged meanwhile.
    fn between(&self, progress: Progress) -> (Vec<State>, BTreeSet<(Slot, u32)>) {
        let Progress { durable, begun, .. } = progress;
        let purges = self.purges.iter().filter(|(state, _)| (durable + 1..=begun).contains(state));
        (self.states[durable..=begun].to_vec(), purges.map(|(_, purged)| *purged).collect())
    }
}

/// What a cut left, and how far the history was.
struct Shot {
    cut: u64,
    name: String,
    disk: MemoryFileSystem,
    progress: Progress,
}

/// Takes an image before calls that change something.
struct Camera {
    fs: FaultFileSystem,
    progress: Arc<[AtomicUsize; 3]>,
    film: Arc<Mutex<Film>>,
}

#[derive(Default)]
struct Film {
    calls: u64,
    shots: Vec<Shot>,
}

impl Camera {
    fn watch(disk: &MemoryFileSystem, seed: u64, every: u64) -> Self {
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        let progress = Arc::<[AtomicUsize; 3]>::default();
        let film = Arc::<Mutex<Film>>::default();
        let (seen, shots, disk) = (Arc::clone(&progress), Arc::clone(&film), disk.clone());
        fs.set_rule(move |call| {
            if !call.kind.changes() {
                return None;
            }
            let mut film = shots.lock().unwrap_or_else(PoisonError::into_inner);
            let cut = film.calls;
            film.calls += 1;
            if (cut + seed).is_multiple_of(every) {
                let [durable, acknowledged, begun] =
                    [0, 1, 2].map(|at| seen[at].load(Ordering::Relaxed));
                let (unsynced, durable) = match (cut / every + seed) % 5 {
                    0 => (Unsynced::Lost, durable),
                    1 => (Unsynced::Kept, acknowledged),
                    2 => (Unsynced::KeptUpTo(cut % 50), durable),
                    _ => (Unsynced::Random(cut * 31 + seed), durable),
                };
                let name =
                    format!("cut {cut} before {:?} of {:?}, {unsynced:?}", call.kind, call.path);
                let disk = disk.after_crash(unsynced);
                let progress = Progress { durable, acknowledged, begun };
                film.shots.push(Shot { cut, name, disk, progress });
            }
            None
        });
        Self { fs, progress, film }
    }

    fn progress(&self, progress: Progress) {
        let Progress { durable, acknowledged, begun } = progress;
        for (shared, value) in self.progress.iter().zip([durable, acknowledged, begun]) {
            shared.store(value, Ordering::Relaxed);
        }
    }

    fn take_shots(&self) -> Vec<Shot> {
        let mut film = self.film.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut film.shots)
    }

    fn calls(&self) -> u64 {
        self.film.lock().unwrap_or_else(PoisonError::into_inner).calls
    }
}

fn look_at(image: &Image, cuts: &mut Cuts) -> Result<(), String> {
    let cut = image.cut;
    let mut disk = image.disk.clone();
    if cut.is_multiple_of(7) {
        cuts.cut_again += 1;
        disk = cut_again(image)?;
    }
    let scheduler = Arc::new(ManualScheduler::seeded(cut));
    let place =
        driven::place(Arc::new(disk.clone()), &scheduler, image.order, image.options.clone());
    let mut ours = place.open(cut as usize).map_err(|error| format!("opened: {error}"))?;
    let state = image.find(&contents(&ours)?)?;
    let mut model = Model::of(state);
    check(&mut ours, &model).map_err(|said| format!("read in every way: {said}"))?;
    if !cut.is_multiple_of(5) {
        return Ok(());
    }
    cuts.written_on += 1;
    let mut steps: Vec<Step> = model
        .state
        .slots()
        .map(|slot| {
            let (key, value) = (b"key0007 and on".to_vec(), cut.to_be_bytes().to_vec());
            Step::write_one(slot, Op::Put(key, value), Durability::Synced)
        })
        .collect();
    steps.extend(model.state.slots().map(|slot| Step::Compact {
        slot,
        from: None,
        to: None,
        last_level: LastLevel::Rewrite,
    }));
    steps.push(Step::Reopen(cut as usize + 1));
    run(&mut ours, &mut model, &steps).map_err(|said| format!("on: {said}"))?;
    scheduler.run_all();
    check(&mut ours, &model).map_err(|said| format!("written on: {said}"))?;
    ours.close().map_err(|error| format!("closed: {error}"))
}

/// The image, opened and cut again before that was done.
fn cut_again(image: &Image) -> Result<MemoryFileSystem, String> {
    let disk = image.disk.clone();
    let fs = FaultFileSystem::new(Arc::new(disk.clone()));
    fs.fail_from(image.cut * 13 % 97, IoKind::Other);
    let scheduler = Arc::new(ManualScheduler::seeded(image.cut));
    let place = driven::place(Arc::new(fs), &scheduler, image.order, image.options.clone());
    // It fails, or it got that far.
    drop(place.open(image.cut as usize + 1));
    Ok(disk.after_crash(Unsynced::Random(image.cut * 17)))
}

/// All rows of all families.
pub fn contents(ours: &Ours) -> Result<BTreeMap<Slot, Vec<Row>>, String> {
    let rows = |slot| ours.rows(slot, None, false).map_err(|error| format!("read: {error}"));
    ours.slots().into_iter().map(|slot| Ok((slot, rows(slot)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_cut_leaves_is_a_state_that_there_was() {
        let mut cuts = Cuts::default();
        for seed in 0..4 {
            cuts.add(prove(seed, 30, 11).unwrap_or_else(|said| panic!("seed {seed}: {said}")));
        }
        assert!(cuts.images > 100 && cuts.cut_again > 10 && cuts.written_on > 10, "{cuts:?}");
    }
}
