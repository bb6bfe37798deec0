//! Random histories of whole databases, and what is proven with them.
//!
//! ```text
//! step      what is done with a database: batches, flushes, compactions, ingests, snapshots, checkpoints, kills, …
//! state     what it must hold then: sorted maps
//! history   steps, drawn from a seed
//! options   option sets, drawn from a seed
//! subject   an engine to which a history is done; the comparison with the model
//! ours      Partita as a subject
//!
//! campaign      a proof over many seeds
//! driven        Partita with background jobs in the order of a seed
//! metamorphic   one history under many option sets
//! crash         one history, cut at every call of the file system
//! faults        one history in which a call of the file system goes wrong
//! ```
//!
//! A history is data: it knows nothing of who does it, so the same one can be done under other options, on a file system
//! that fails, by RocksDB, or by several engines in turns.

pub mod campaign;
pub mod crash;
pub mod driven;
pub mod faults;
pub mod history;
pub mod metamorphic;
pub mod options;
pub mod ours;
pub mod state;
pub mod step;
pub mod subject;
