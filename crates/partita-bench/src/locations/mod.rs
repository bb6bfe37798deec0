//! The index of a bookie's entry locations: loaded, and read under budgets from too small to more than enough.
//!
//! ```text
//! arguments.rs    the command line
//! plan.rs         which directories, which cells, in which order     report.rs   the tables      page.rs   charts
//!   task.rs       one load or one cell, in a child process
//!     store.rs    a directory that is loaded once and kept
//!     sample.rs   what to ask of a directory that somebody else made
//!     engine.rs   what an engine does to take part                   partita_engine.rs   Partita's index
//! ```
//! [`lookups`](crate::lookups) has the keys and how they are looked up.
//!
//! [`Settings`] say what to run, [`run`] runs it, [`Report`] is the result; with the feature `page` it can be made a
//! page. An engine takes part through [`Engines`].

mod arguments;
mod engine;
#[cfg(feature = "page")]
mod page;
mod partita_engine;
mod plan;
mod report;
mod sample;
mod store;
mod task;

pub use arguments::Arguments;
pub use engine::{Engines, Index, Loader, Opening, ReadMode, Tables};
pub use partita_engine::{PARTITA, PartitaAlone, load_partita, open_partita};
pub use plan::{Contender, Files, Settings, Source, run};
pub use report::{Directory, LEGEND, Report};
pub use store::{Load, Store};
pub use task::{Cell, CellId, Outcome, Task, perform};
