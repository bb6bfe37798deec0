//! Partita: RocksDB's table files (SSTs) and filters, read and written; the base of a storage engine that is to open
//! RocksDB databases.
//!
//! The modules stand in layers; each uses only those listed below it:
//!
//! | module | holds |
//! |---|---|
//! | [`db`] | a database: opened, read, written and flushed |
//! | `compaction` | which tables are merged, and what is left of their entries |
//! | [`version`] | which files make up the database now; the manifest |
//! | [`memtable`] | what was written last, sorted, in memory |
//! | [`table`] | SST files: reading, writing, iterating |
//! | [`iter`] | iterators over internal keys, range tombstones |
//! | [`merge`] | merge operators, and what the versions of a key come to |
//! | [`filter`] | Bloom and Ribbon filters: bits only |
//! | [`wal`] | log records: the write-ahead log and the manifest |
//! | [`batch`] | write batches, byte for byte as RocksDB has them |
//! | [`cache`] | one budget of memory for blocks, pieces and all else |
//! | [`io`] | the seams to the outside: files, clock, threads |
//! | [`options`] | settings of databases, column families and tables; options files |
//! | [`statistics`] | what a database tells about itself |
//! | [`key`] | internal keys, sequence numbers, comparators |
//! | [`util`] | integer coding, checksums, hashes, compression |
//! | [`error`] | one error type that names file, offset and cause |

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests use the machine as it is"))]

pub mod batch;
pub mod cache;
mod compaction;
pub mod db;
pub mod error;
pub mod filter;
pub mod io;
pub mod iter;
pub mod key;
pub mod memtable;
pub mod merge;
pub mod options;
pub mod statistics;
pub mod table;
pub mod util;
pub mod version;
pub mod wal;

pub use error::{Error, ErrorKind, Result};

/// The README's program runs as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
