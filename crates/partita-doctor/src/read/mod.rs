//! Reading directories without opening them as databases: nothing is written, no lock is taken, no comparator is needed.
//!
//! ```text
//! find.rs        a path -> directories of databases at it or below it
//! database.rs    a directory -> Database; looks again where files vanish meanwhile
//!   manifest.rs    CURRENT and MANIFEST -> which tables there are, even up to damage
//!   table.rs       a table's end, index top level and filter -> TableLayout
//!   filter_rate.rs a filter, asked for absent keys -> its rate of false positives
//!   logs.rs        write-ahead logs -> what is torn or damaged in them
//!   verify.rs      every block of every table, if that is asked for
//!   info_log.rs    LOG files -> caches, settings, stalls
//! block_trace.rs a trace of RocksDB's block cache -> the blocks that were asked for
//! ```

mod block_trace;
mod database;
mod filter_rate;
mod find;
mod info_log;
mod logs;
mod manifest;
mod table;
mod verify;

pub use block_trace::{BlockAccess, BlockTraceReader, TracedBlock, TracedData, TracedGet};
pub(crate) use database::open_table;
pub use database::{read_database, read_database_in};
pub(crate) use logs::read_all as read_all_logs;
pub(crate) use verify::verify;

pub use find::find_databases;
