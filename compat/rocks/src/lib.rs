//! A small safe face of RocksDB's C API, and the matrix of tables that compatibility tests make with it.
//!
//! The same source serves RocksDB 7.8.3 (feature `system`: Debian's shared library) and 11.8.1 (feature `latest`: the
//! `rocksdb` crate's static library): it uses only functions that both have, and sets every option through RocksDB's
//! option strings.
//!
//! | module | holds |
//! |---|---|
//! | [`db`] | open, write, flush, ingest, iterate, get; writing external files |
//! | [`whole`] | a database with all its column families, opened with the options of its OPTIONS file |
//! | [`guests`] | what else can be done with it: families that come and go, snapshots, checkpoints, exports |
//! | [`ping_pong`] | engines take turns at one directory, which a random history goes through |
//! | [`directories`] | copies of directories, as a kill leaves them |
//! | [`batch`] | write batches with column families, as bytes |
//! | [`matrix`] | which tables to make: every option that shapes a file |
//! | [`shape`] | what to put into them |
//! | [`setups`] | whole databases to make: every option that shapes a tree of tables |
//! | [`random`] | choices, the same in every run |
//! | [`history`] | what to write into them, and what they should hold then |
//! | [`sessions`] | an engine's turn: it opens, reads all, writes, compacts and leaves |
//! | [`compacted`] | the golden databases, written again by Partita |
//! | [`check`] | Partita's reader on such a table |
//! | [`rebuild`] | the same table written by Partita, to compare blocks |

// Linked for its symbols only.
#[cfg(feature = "latest")]
use rocksdb as _;

pub mod batch;
pub mod check;
pub mod compacted;
pub mod db;
pub mod directories;
mod ffi;
pub mod guests;
pub mod history;
pub mod matrix;
pub mod ping_pong;
pub mod random;
pub mod rebuild;
pub mod sessions;
pub mod setups;
pub mod shape;
pub mod whole;

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);
