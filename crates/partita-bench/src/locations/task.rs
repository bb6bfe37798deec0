//! Loads and cells as tasks, which a child process does.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::engine::{Asked, Engines, Opening, ReadMode};
use super::sample;
use super::store::{Load, Store};
use crate::lookups::{Effort, Keyspace, Measured, Mix, Population, measure};
use crate::memory::Resident;

/// Which cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellId {
    /// Who reads, and what.
    pub contender: String,
    /// The budget.
    pub budget_bytes: u64,
}

/// What a cell came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Which cell.
    #[serde(flatten)]
    pub id: CellId,
    /// What was asked for, and what that came to, in the order of asking.
    pub lookups: Vec<(Mix, Measured)>,
    /// Resident memory before anything was opened.
    pub resident_base_bytes: u64,
    /// The most that resident memory was, all of the process.
    pub resident_peak_bytes: u64,
}

impl Cell {
    /// Of one kind of lookups.
    pub fn of(&self, mix: Mix) -> Option<&Measured> {
        self.lookups.iter().find(|(asked, _)| *asked == mix).map(|(_, measured)| measured)
    }
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Load a store.
    Load {
        /// The directory it is to be in.
        root: PathBuf,
        /// Its name there.
        name: String,
        /// What to load.
        load: Load,
    },
    /// Draw a sample of a directory.
    Draw {
        /// The index.
        dir: PathBuf,
        /// The file that the sample goes to.
        sample: PathBuf,
        /// Of drawing.
        seed: u64,
    },
    /// Measure a cell.
    Cell {
        /// Which one.
        id: CellId,
        /// The engine that reads.
        engine: String,
        /// The index.
        dir: PathBuf,
        /// How it reads.
        read_mode: ReadMode,
        /// What there is to ask for.
        asked: AskedFor,
        /// What is asked for, in this order.
        mixes: Vec<Mix>,
        /// How.
        effort: Effort,
    },
}

/// What there is to ask for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskedFor {
    /// The keys that were loaded.
    Keyspace(Keyspace),
    /// What a file holds.
    Sample(PathBuf),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// A store.
    Loaded(Store),
    /// How many ledgers there are.
    Drawn(u64),
    /// A cell.
    Cell(Cell),
}

/// Does a task in this process.
pub fn perform(task: &Task, engines: &dyn Engines) -> Result<Outcome, String> {
    match task {
        Task::Load { root, name, load } => {
            Store::make(root, name, load, engines).map(Outcome::Loaded)
        }
        Task::Draw { dir, sample, seed } => {
            let drawn = sample::draw(dir, *seed)?;
            sample::write(&drawn, sample).map_err(|error| failed(sample, &error))?;
            Ok(Outcome::Drawn(drawn.ledgers.len() as u64))
        }
        Task::Cell { id, engine, dir, read_mode, asked, mixes, effort } => {
            let population = match asked {
                AskedFor::Keyspace(keyspace) => Population::Made(*keyspace),
                AskedFor::Sample(path) => {
                    Population::Sampled(sample::read(path).map_err(|error| failed(path, &error))?)
                }
            };
            let base = Resident::of_this_process();
            let opening = Opening { budget_bytes: id.budget_bytes, read_mode: *read_mode };
            let index = engines.open(engine, dir, opening)?;
            let _shown = index.database().map(|db| engines.show(db));
            let mut lookups = Vec::new();
            for &mix in mixes {
                let effort = Effort { mix, ..effort.clone() };
                lookups.push((mix, measure(&Asked { index: &*index, mix }, &population, &effort)?));
            }
            Ok(Outcome::Cell(Cell {
                id: id.clone(),
                lookups,
                resident_base_bytes: base.now,
                resident_peak_bytes: Resident::of_this_process().peak,
            }))
        }
    }
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
