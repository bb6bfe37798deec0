//! The `partita` binary on real tables: golden databases written by RocksDB.

mod pipes;
mod rewrite;
mod run;
mod scan;
mod show;
mod verify;
