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
//! crowd         many threads that use one database at once
//! schedules     crowds in memory, in schedules drawn from a seed
//! soak          a crowd on a disk, for a long time
//! ```
//!
//! A history is data: it knows nothing of who does it, so the same one can be done under other options, on a file system
//! that fails, by RocksDB, or by several engines in turns.

pub mod campaign;
pub mod crash;
pub mod crowd;
pub mod driven;
pub mod faults;
pub mod history;
pub mod metamorphic;
pub mod options;
pub mod ours;
pub mod schedules;
#[cfg(not(shuttle))]
pub mod soak;
pub mod state;
pub mod step;
pub mod subject;
