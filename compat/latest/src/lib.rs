//! Partita beside RocksDB 11.8.1: helpers of the tests and the benchmarks.
//!
//! | module | holds |
//! |---|---|
//! | [`compare`] | the contenders in turns, and the ratios of what they took |
//! | [`contender`] | one engine's filters, built and asked in loops that are timed |
//! | [`rocks_filters`] | RocksDB's filters, compiled plainly or with AVX2, as a contender |
//! | [`partita_filters`] | Partita's filters as a contender |
//! | [`budget_engines`] | both engines in the budget benchmark |
//! | [`location_cells`] | what was aimed at in it |
//! | [`location_engines`] | both engines in the benchmark of entry locations |
//! | [`rocks_budget`] | RocksDB's databases under a budget of memory |
//! | [`object_engines`] | both engines in the load of an object store's metadata |
//! | [`rocks_objects`] | that store on RocksDB |
//! | [`rocks_families`] | RocksDB's databases of many column families |
//! | [`database_bench`] | databases of both engines, in turns |
//! | [`partita_database`], [`rocks_database`] | the engines in it |
//! | [`ping_pong`] | who takes turns at random histories |
//! | [`sst_reader`] | single tables through RocksDB's `SstFileReader` |
//! | [`workload`] | the keys and queries that all contenders get |
//! | [`samples`] | measurements in turns, and their medians |
//! | [`table_bench`] | tables written and read by both engines, in turns |
//! | [`rocks_table`] | RocksDB's SST files as a contender |
//! | [`partita_table`] | Partita's |
//! | [`rows`] | the entries that all tables get |

// Linked for their symbols, which `sst_reader` uses.
use partita_compat_rocks as _;

pub mod budget_engines;
pub mod compare;
pub mod contender;
pub mod database_bench;
pub mod location_cells;
pub mod location_engines;
pub mod object_engines;
pub mod partita_database;
pub mod partita_filters;
pub mod partita_table;
pub mod ping_pong;
pub mod rocks_budget;
pub mod rocks_database;
pub mod rocks_families;
pub mod rocks_filters;
pub mod rocks_objects;
pub mod rocks_table;
pub mod rows;
pub mod samples;
pub mod sst_reader;
pub mod table_bench;
pub mod workload;
