//! The load of an object store's metadata manager: keys that are allocated, committed, looked up, listed, deleted and purged.
//!
//! ```text
//! arguments.rs     the command line
//! settings.rs      which loads           report.rs   the table      page.rs   charts
//!   load.rs        one load, begun or taken up again, in a child process
//!     row.rs       a stretch of it, measured
//!     recovery.rs  lookups before and after a compaction of everything
//!     contents.rs  what is in the store in the end, to be compared
//!     engine.rs    what an engine does to take part, and what it tells     partita_engine.rs   Partita's objects
//!   plan.rs        what the load is made of
//!     round.rs     what happens in a round: a function of its number, so that a run can stop and go on anywhere
//!     names.rs     names of keys, and notes that make rows as long as they have to be
//!     target.rs    the operations of an engine, and how a round is done with them   partita_target.rs   Partita's
//! ```
//!
//! [`Settings`] say what to run, [`run`] runs it, [`Report`] is the result; an engine takes part through [`Engines`].
//!
//! ```
//! # use std::sync::Arc;
//! # use partita::io::MemoryFileSystem;
//! use partita_bench::objects::{Driver, Plan};
//! use partita_store::StoreBuilder;
//! use partita_store::objects::{ObjectOptions, ObjectStore};
//!
//! let builder = StoreBuilder::new("/om.db").budget_bytes(8 << 20);
//! # let builder = builder.file_system(Arc::new(MemoryFileSystem::new()));
//! let mut objects = ObjectStore::open(&builder, ObjectOptions::default()).map_err(|error| error.to_string())?;
//! let plan = Plan { keys: 500, delete_percent: 30, delete_age: 100, ..Plan::default() };
//! let mut driver = Driver::begin(&plan, &mut objects)?;
//! for number in 0..plan.rounds() {
//!     driver.perform(number, &mut objects)?;
//! }
//! assert_eq!(driver.done().commits, 500);
//! # Ok::<(), String>(())
//! ```

mod arguments;
mod contents;
mod engine;
mod load;
mod names;
#[cfg(feature = "page")]
mod page;
mod partita_engine;
mod partita_target;
mod plan;
mod recovery;
mod report;
mod round;
mod row;
mod settings;
mod target;

pub use arguments::Arguments;
pub use contents::{Contents, Sum};
pub use engine::{Engine, Engines, Figures, Opening};
pub use load::{Load, Loaded, Task, perform};
pub use names::Name;
pub use partita_engine::{PARTITA, PartitaAlone, open_partita};
pub use plan::Plan;
pub use recovery::Recovery;
pub use report::{LEGEND, Report};
pub use round::{Listed, Lookup, Round};
pub use row::Row;
pub use settings::{Contender, Settings, run};
pub use target::{Done, Driver, Target};
