//! The load of an object store's metadata manager: keys that are allocated, committed, looked up, listed, deleted and purged.
//!
//! ```text
//! plan.rs        what the load is made of
//!   round.rs     what happens in a round: a function of its number, so that a run can stop and go on anywhere
//!   names.rs     names of keys, and notes that make rows as long as they have to be
//! target.rs      what an engine does to take part, and how a round is done on it      partita_target.rs   Partita's objects
//! ```
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

mod names;
mod partita_target;
mod plan;
mod round;
mod target;

pub use names::Name;
pub use plan::Plan;
pub use round::{Listed, Lookup, Round};
pub use target::{Done, Driver, Target};
