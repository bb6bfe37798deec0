//! Partita's integration tests, as one binary.
#![forbid(unsafe_code)]

mod layering;

mod golden_tables;
mod table_damage;
