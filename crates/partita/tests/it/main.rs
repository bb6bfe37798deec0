//! Partita's integration tests, as one binary.
#![forbid(unsafe_code)]

mod layering;

mod builder_model;
mod golden_tables;
mod rebuild;
mod survey;
mod table_damage;
mod variants;
