//! What a budget of memory buys: lookups in a bookie's files under budgets from far too small to more than enough.
//!
//! ```text
//! plan.rs       which cells, in which order      report.rs, verdict.rs   tables, and the criteria with their figures
//!   task.rs     one cell, in a child process     paired.rs               differences of a percent, in turns
//!     files.rs  what is read                     partita_engine.rs       Partita's tables as levels
//! ```
//! [`lookups`](crate::lookups) has the keys and how they are looked up.
//!
//! [`Settings`] say what to run, [`run`] runs it, [`Report`] is the result. An engine takes part through [`Engines`];
//! files come from a [`FileMaker`].

mod cell;
mod files;
mod paired;
mod partita_engine;
mod plan;
mod report;
mod task;
mod verdict;

pub use cell::{Cell, CellId};
pub use files::{FILE_BYTES, FileMaker, FileSet, Shape, Step, TableFile};
pub use paired::{Paired, Ratio, Turns};
pub use partita_engine::{PartitaAlone, PartitaEngine, PartitaMaker};
pub use plan::{Settings, parse_budgets, run};
pub use report::{LEGEND, Report};
pub use task::{Engines, Outcome, PARTITA, Task, perform};
pub use verdict::Verdict;
