//! Benchmarks that this engine and others run alike.
//!
//! Each benchmark is a workload over a small trait; an engine takes part by implementing the trait, so that figures of
//! one run compare the engines and nothing else.
#![forbid(unsafe_code)]

pub mod amounts;
pub mod budget;
pub mod children;
pub mod clock;
pub mod filter_bench;
pub mod layout;
pub mod links;
pub mod locations;
pub mod lookups;
pub mod memory;
pub mod objects;
mod partita_figures;
pub mod setup;
