//! Cells and paired runs as tasks, which a child process does, so that what one leaves in memory is not counted against
//! the next. The parent starts its own program again with the task as JSON in one argument; the child answers on
//! standard output.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::cell::{Cell, CellId, Effort, measure};
use super::engine::Engine;
use super::files::{FileSet, Layout, Shape};
use super::paired::{Contender, Paired, Turns, in_turns};
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
    Cell(Cell),
    /// A paired run.
    Paired(Paired),
}

/// The name in a paired run of an engine on files of a layout.
pub(super) fn contender_name(engine: &str, layout: Layout) -> String {
    format!("{engine}, {layout}")
}

/// Does a task in this process.
pub(super) fn perform(task: &Task, engines: &dyn Engines) -> Result<Outcome, String> {
    match task {
        Task::Cell { id, effort, files } => {
            let files = FileSet::load(files)?;
            let base = Resident::of_this_process();
            let engine = engines.open(&id.engine, &files, id.budget_bytes)?;
            measure(id.clone(), &*engine, files.keyspace, effort, base).map(Outcome::Cell)
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

/// Has tasks done.
pub trait Runner {
    /// Does one.
    fn run(&self, task: &Task) -> Result<Outcome, String>;
}

/// Settings of children's allocators. They are such that resident memory follows the budget: few arenas, since what one
/// thread frees another takes, and what was freed goes back to the system soon. And memory comes in huge pages, so that
/// lookups spend less time on address translation.
const ALLOCATOR_SETTINGS: [(&str, &str); 3] = [
    ("MALLOC_CONF", "thp:always,narenas:2,dirty_decay_ms:200,muzzy_decay_ms:0"), // jemalloc
    ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"),
    ("MALLOC_ARENA_MAX", "1"), // glibc
];

/// In a child of this program.
#[derive(Debug)]
pub struct InChildren {
    /// Arguments before the task.
    pub arguments: &'static [&'static str],
}

impl Runner for InChildren {
    fn run(&self, task: &Task) -> Result<Outcome, String> {
        let json = serde_json::to_string(task).map_err(|error| error.to_string())?;
        let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
        let output = Command::new(program)
            .args(self.arguments)
            .arg(&json)
            .envs(ALLOCATOR_SETTINGS)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("a child cannot be started: {error}"))?;
        if !output.status.success() {
            return Err(format!("the child for {json} ended with {}", output.status));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("the answer of the child for {json}: {error}"))
    }
}

/// In this process: for tests, since resident memory means nothing then.
pub struct InThisProcess<'a>(pub &'a dyn Engines);

impl Runner for InThisProcess<'_> {
    fn run(&self, task: &Task) -> Result<Outcome, String> {
        perform(task, self.0)
    }
}

/// What a child is started for: does the task in `json` and returns the answer to print.
pub fn perform_json(json: &str, engines: &dyn Engines) -> Result<String, String> {
    let task = serde_json::from_str(json).map_err(|error| format!("the task: {error}"))?;
    let outcome = perform(&task, engines)?;
    serde_json::to_string(&outcome).map_err(|error| error.to_string())
}
