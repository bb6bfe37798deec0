//! Lookups in a bookie's entry locations: which keys, how they are measured, and what an engine does to take part.
//!
//! ```text
//! measure.rs      warm up, time, count
//!   engine.rs     what an engine does
//!   keys.rs       what is asked for, and what the answers must be
//! ```

mod engine;
mod keys;
mod measure;

pub use engine::{Answer, Counters, Engine, PerRole, Session};
pub(crate) use keys::SplitMix;
pub use keys::{KEY_LEN, Key, KeyStream, Keyspace, LedgerEnd, Mix, Population, Sample};
pub(crate) use measure::check;
pub use measure::{Effort, Measured, measure};
