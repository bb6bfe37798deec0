//! The `partita` binary on real tables: golden databases written by RocksDB.

mod db_checkpoint;
mod db_families;
mod db_ingest;
mod db_load;
mod db_repair;
mod db_scan;
mod db_stats;
mod db_verify;
mod db_wal;
mod doctor;
mod manifest;
mod options;
mod pipes;
mod rewrite;
mod run;
mod scan;
mod show;
mod verify;
mod watch;
