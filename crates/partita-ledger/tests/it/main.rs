//! The index as a whole: what a bookie relies on, in memory, over restarts, and in directories that RocksDB made.

mod behaviour;
mod compaction;
mod directories;
mod latencies;
mod model;
mod support;
