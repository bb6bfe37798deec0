//! Cells and paired runs as tasks, which a child process does.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::cell::{Cell, CellId};
use super::files::{FileSet, Shape};
use super::paired::{Contender, Paired, Turns, in_turns};
use crate::layout::Layout;
use crate::lookups::{Effort, Engine, Population, measure};
use crate::memory::Resident;

/// The engines that take part.
pub trait Engines {
    /// Their names; Partita's is [`PARTITA`].
    fn names(&self) -> &'static [&'static str];

    /// Opens files with one of them.
    fn open(
        &self,
        name: &str,
        files: &FileSet,
        budget_bytes: u64,
    ) -> Result<Box<dyn Engine>, String>;
}

/// The engine whose cells are judged.
pub const PARTITA: &str = "partita";

/// What to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Measure a cell.
    Cell {
        /// Which one.
        id: CellId,
        /// How.
        effort: Effort,
        /// Directory of the files.
        files: PathBuf,
    },
    /// Run all engines on both layouts in turns.
    Paired {
        /// Shape of the files.
        shape: Shape,
        /// How much.
        turns: Turns,
        /// The budget of each, enough for everything.
        budget_bytes: u64,
        /// Directory of the full files.
        full: PathBuf,
        /// Directory of the partitioned files.
        partitioned: PathBuf,
    },
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// A cell.
    Cell(Box<Cell>),
    /// A paired run.
    Paired(Paired),
}

/// The name in a paired run of an engine on files of a layout.
pub(super) fn contender_name(engine: &str, layout: Layout) -> String {
    format!("{engine}, {layout}")
}

/// Does a task in this process.
pub fn perform(task: &Task, engines: &dyn Engines) -> Result<Outcome, String> {
    match task {
        Task::Cell { id, effort, files } => {
            let files = FileSet::load(files)?;
            let base = Resident::of_this_process();
            let engine = engines.open(&id.engine, &files, id.budget_bytes)?;
            let lookups = measure(&*engine, &Population::Made(files.keyspace), effort)?;
            let resident = Resident::of_this_process();
            let cell = Cell {
                id: id.clone(),
                lookups,
                resident_base_bytes: base.now,
                resident_bytes: resident.now,
                resident_peak_bytes: resident.peak,
            };
            Ok(Outcome::Cell(Box::new(cell)))
        }
        Task::Paired { shape, turns, budget_bytes, full, partitioned } => {
            let layouts = [FileSet::load(full)?, FileSet::load(partitioned)?];
            let mut open = Vec::new();
            for &name in engines.names() {
                for files in &layouts {
                    open.push((name, files.layout, engines.open(name, files, *budget_bytes)?));
                }
            }
            let contenders: Vec<Contender<'_>> = open
                .iter()
                .map(|(name, layout, engine)| Contender {
                    name: contender_name(name, *layout),
                    engine: &**engine,
                })
                .collect();
            in_turns(*shape, &contenders, layouts[0].keyspace, turns).map(Outcome::Paired)
        }
    }
}
