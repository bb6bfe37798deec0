//! Iterators over whole LSM trees, against what a plain reading of the history says.
//!
//! A history of writes is cut into segments, oldest first. Each becomes a source: a memtable, a table by itself, or a
//! run of tables cut anywhere, also between two versions of a key, with range tombstones that reach over the cuts. Random
//! walks over the sources, as of random sequence numbers and within random bounds, must show the same as a sorted map
//! into which the history was replayed. `CASES=100000 cargo test --release -p partita --test it iterators` runs longer.

mod costs;
mod faults;
mod history;
mod reports;
mod sources;
mod walks;
