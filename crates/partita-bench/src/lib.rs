//! Benchmarks that this engine and others run alike.
//!
//! Each benchmark is a workload over a small trait; an engine takes part by implementing the trait, so that figures of
//! one run compare the engines and nothing else.
#![forbid(unsafe_code)]

pub mod amounts;
mod arguments;
pub mod budget;
pub mod children;
pub mod clock;
pub mod filter_bench;
mod json_files;
pub mod layout;
pub mod links;
pub mod locations;
pub mod lookups;
pub mod memory;
pub mod objects;
#[cfg(feature = "page")]
mod page_file;
mod partita_figures;
mod progress;
pub mod setup;

#[cfg(feature = "page")]
pub use page_file::PageFile;
