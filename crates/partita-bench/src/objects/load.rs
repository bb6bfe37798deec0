//! A load from its beginning, or from where it was interrupted, to its end.
//!
//! ```text
//! home/om.db        the store
//! home/load.json    what is loaded, and the rows so far
//! ```
//!
//! Every batch ends with a round. So the open keys that are found in the store tell which round is the next, whatever was lost
//! with the process (`Driver::recover`); what the description says is only where to look first.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};

use super::contents::Contents;
use super::engine::{Engine, Engines, Opening};
use super::plan::Plan;
use super::recovery::{self, Recovery};
use super::row::{Meter, Row};
use super::target::Driver;
use crate::json_files::{failed, read_json, write_json};
use crate::memory::Resident;
use crate::progress::progress_bar;

/// What a child does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// What is loaded.
    pub loaded: Loaded,
    /// Where.
    pub home: PathBuf,
    /// Transactions of a batch: those of the rounds that complete it.
    pub batch_transactions: u64,
    /// Keys that are due in a second; as many as can be if there is no such number.
    pub keys_per_second: Option<f64>,
    /// Keys of a row.
    pub row_keys: u64,
    /// Whether all tables are compacted in the end, and lookups made before and after.
    pub compacts: bool,
}

/// What is loaded. A load that goes on has to be the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// Its name in the report.
    pub name: String,
    /// The engine.
    pub engine: String,
    /// How its store is opened.
    pub opening: Opening,
    /// What the load is made of.
    pub plan: Plan,
}

/// How a load went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// What was loaded.
    pub loaded: Loaded,
    /// The rows. Where a load was interrupted, what was not yet in a row is in none.
    pub rows: Vec<Row>,
    /// Resident memory before anything was opened.
    pub resident_base_bytes: u64,
    /// How often it was taken up again.
    pub resumed: u64,
    /// Seconds until everything was in tables and no compaction was due, behind the last row; none while it is under way.
    pub settle_seconds: Option<f64>,
    /// What a compaction of all tables did to reads, if there was one.
    #[serde(default)]
    pub recovery: Option<Recovery>,
    /// What is in the store, if it is to be compared.
    #[serde(default)]
    pub contents: Option<Contents>,
}

const STORE: &str = "om.db";
const DESCRIPTION: &str = "load.json";

/// Does a load, or the rest of it.
///
/// * Errors: the engine's; wrong answers; a directory in which something else was loaded.
pub fn perform(task: &Task, engines: &dyn Engines) -> Result<Load, String> {
    let Task { loaded, home, .. } = task;
    fs::create_dir_all(home).map_err(|error| failed(home, &error))?;
    let mut load = find(loaded, home)?;
    if load.settle_seconds.is_some() {
        return Ok(load);
    }
    load.resident_base_bytes = load.resident_base_bytes.max(Resident::of_this_process().now);
    let mut engine = engines.open(&loaded.engine, &home.join(STORE), &loaded.opening)?;
    let known = load.rows.last().map_or(0, |row| row.keys);
    let (driver, next) = Driver::recover(&loaded.plan, known, &mut *engine)?;
    load.rows.retain(|row| row.keys <= next);
    load.resumed += u64::from(next > 0);
    let progress = progress_bar(loaded.plan.rounds(), "keys");
    progress.set_position(next);
    progress.reset_eta();
    let mut loading = Loading { task, engines, engine, driver, unwritten: 0, progress };
    let shown = loading.engine.store().map(|store| engines.show(store));
    let mut pacer = Pacer::new(task.keys_per_second);
    let mut next = next;
    while next < loaded.plan.rounds() {
        let rounds = next..row_end(next, task.row_keys, loaded.plan.rounds());
        next = rounds.end;
        load.rows.push(loading.row(rounds, &mut pacer)?);
        write_json(&home.join(DESCRIPTION), &load)?;
    }
    loading.progress.set_message("keys, compacting");
    if task.compacts {
        let Loading { engine, driver, .. } = &mut loading;
        load.recovery = Some(recovery::measure(&loaded.plan, &mut **engine, driver)?);
    }
    let begun = Instant::now();
    loading.engine.settle()?;
    load.settle_seconds = Some(begun.elapsed().as_secs_f64());
    loading.progress.finish_and_clear();
    drop((shown, loading));
    load.contents = engines.contents(&home.join(STORE))?;
    write_json(&home.join(DESCRIPTION), &load)?;
    Ok(load)
}

/// Where the row ends that begins with a round: at a multiple of its keys. A rest of less than half a row is part of the last one:
/// its rate would say little.
fn row_end(round: u64, row_keys: u64, rounds: u64) -> u64 {
    let end = (round / row_keys + 1).saturating_mul(row_keys);
    if rounds.saturating_sub(end) < row_keys.div_ceil(2) { rounds } else { end }
}

/// What was loaded so far.
fn find(loaded: &Loaded, home: &Path) -> Result<Load, String> {
    let description = home.join(DESCRIPTION);
    if description.is_file() {
        let load: Load = read_json(&description)?;
        if load.loaded != *loaded {
            return Err(failed(home, &"something else was loaded there"));
        }
        return Ok(load);
    }
    let load = Load {
        loaded: loaded.clone(),
        rows: Vec::new(),
        resident_base_bytes: 0,
        resumed: 0,
        settle_seconds: None,
        recovery: None,
        contents: None,
    };
    write_json(&description, &load)?;
    Ok(load)
}

struct Loading<'a> {
    task: &'a Task,
    engines: &'a dyn Engines,
    engine: Box<dyn Engine>,
    driver: Driver,
    /// Transactions that wait for the next batch.
    unwritten: u64,
    progress: ProgressBar,
}

impl Loading<'_> {
    /// Does the rounds of a row.
    fn row(&mut self, rounds: std::ops::Range<u64>, pacer: &mut Pacer) -> Result<Row, String> {
        let mut meter = Meter::begin(&*self.engine, self.driver.done())?;
        let end = rounds.end;
        for number in rounds {
            let due = pacer.wait();
            let before = self.driver.done().transactions();
            self.driver.perform(number, &mut *self.engine)?;
            self.unwritten += self.driver.done().transactions() - before;
            if self.unwritten >= self.task.batch_transactions || number + 1 == end {
                self.engine.write()?;
                self.unwritten = 0;
                self.progress.set_position(number + 1);
            }
            let took = due.elapsed();
            meter.round(took);
            self.engines.tell_round(took);
        }
        let row = meter.end(end, &*self.engine, self.driver.done());
        // Rows are shown as they come where somebody looks.
        self.progress.println(super::report::line(&row));
        Ok(row)
    }
}

/// When rounds are due.
struct Pacer {
    each: Option<Duration>,
    due: Instant,
}

impl Pacer {
    fn new(per_second: Option<f64>) -> Self {
        let each = per_second.map(|rate| Duration::from_secs_f64(1.0 / rate));
        Self { each, due: Instant::now() }
    }

    /// Waits until the next round is due, and returns when that was: a round that has to wait for others is late from then on.
    fn wait(&mut self) -> Instant {
        let now = Instant::now();
        let Some(each) = self.each else { return now };
        let due = self.due;
        self.due += each;
        if let Some(early) = due.checked_duration_since(now) {
            thread::sleep(early);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use crate::objects::{PARTITA, PartitaAlone, open_partita};

    #[test]
    fn rounds_are_due_at_a_rate_and_late_ones_stay_late() {
        let mut pacer = Pacer::new(Some(1000.0));
        let first = pacer.wait();
        thread::sleep(Duration::from_millis(5));
        assert_eq!(pacer.wait() - first, Duration::from_millis(1));
        assert!((0..10).map(|_| pacer.wait()).last().unwrap() <= Instant::now());
        let mut open = Pacer::new(None);
        assert!(open.wait() >= first);
    }

    #[test]
    fn rows_end_at_multiples_and_the_last_one_takes_a_short_rest() {
        assert_eq!(row_end(0, 10, 34), 10);
        assert_eq!(row_end(13, 10, 34), 20);
        assert_eq!((row_end(20, 10, 34), row_end(20, 10, 35)), (34, 30));
        assert_eq!((row_end(30, 10, 35), row_end(3, u64::MAX, 35)), (35, 35));
    }

    #[test]
    fn a_load_goes_on_behind_the_last_batch_that_was_written() {
        let home = tempfile::tempdir().unwrap();
        let plan = Plan { keys: 400, open_keys: 10, lookups: 2, ..Plan::default() };
        let opening = Opening { layout: Layout::Full, budget_bytes: 2 << 20 };
        let loaded = Loaded { name: "full".into(), engine: PARTITA.into(), opening, plan };
        let task = Task {
            loaded,
            home: home.path().to_owned(),
            batch_transactions: 20,
            keys_per_second: None,
            row_keys: 100,
            compacts: true,
        };
        let mut engine = open_partita(&home.path().join(STORE), &opening).unwrap();
        let mut driver = Driver::begin(&task.loaded.plan, &mut *engine).unwrap();
        for number in 0..270 {
            driver.perform(number, &mut *engine).unwrap();
            if number == 249 {
                engine.write().unwrap();
            }
        }
        drop(engine);
        let load = perform(&task, &PartitaAlone).unwrap();
        let rows: Vec<(u64, u64)> = load.rows.iter().map(|row| (row.keys, row.rounds)).collect();
        assert_eq!(rows, [(300, 50), (410, 110)]);
        assert_eq!((load.resumed, load.rows[0].done.commits), (1, 50));
        let settled = load.settle_seconds.expect("it is done");
        assert!(settled > 0.0);
        let recovery = load.recovery.expect("it was asked for");
        assert!(recovery.before >= 0.0 && recovery.lookups > 0, "{recovery:?}");
        // One that is done stays so, and another does not take its place.
        assert_eq!(perform(&task, &PartitaAlone).unwrap(), load);
        let mut other = task;
        other.loaded.plan.seed += 1;
        assert!(perform(&other, &PartitaAlone).unwrap_err().contains("something else"));
    }
}
