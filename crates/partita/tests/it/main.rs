//! Partita's integration tests, as one binary.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "tests use the machine as it is")]

mod builder_model;
mod cache_policy;
mod database_reports;
mod golden_tables;
mod hostile;
mod iterators;
mod layering;
mod open_reads;
mod options_files;
mod options_reference;
mod options_round_trip;
mod pieces;
mod public_reports;
mod random_questions;
mod rebuild;
mod support;
mod survey;
mod table_damage;
mod table_refusals;
mod variants;
mod wal;
