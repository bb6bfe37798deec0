//! The targets, one module each: `run` takes any bytes, `seeds` gives inputs worth mutating.

pub mod coding;
pub mod compress;
pub mod data_block;
pub mod decompress;
pub mod filter_bloom;
pub mod filter_build;
pub mod filter_bytes;
pub mod filter_legacy;
pub mod filter_ribbon;
pub mod footer;
pub mod hashes;
pub mod index_block;
pub mod options_text;
pub mod properties;
pub mod range_deletions;
pub mod table;
pub mod table_round_trip;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: module, binary and corpus folder.
    pub name: &'static str,
    /// Feeds bytes to the part under test; panics if it breaks its word.
    pub run: fn(&[u8]),
    /// Well-formed inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Inputs of the smoke run: fast targets take more.
    pub smoke_runs: usize,
}

macro_rules! targets {
    ($($name:ident: $smoke_runs:literal,)*) => {
        /// All targets.
        pub const ALL: &[Target] = &[
            $(Target {
                name: stringify!($name),
                run: $name::run,
                seeds: $name::seeds,
                smoke_runs: $smoke_runs,
            },)*
        ];
    };
}

targets! {
    coding: 100_000,
    compress: 3_000,
    data_block: 20_000,
    decompress: 10_000,
    filter_bloom: 20_000,
    filter_build: 300,
    filter_bytes: 20_000,
    filter_legacy: 20_000,
    filter_ribbon: 3_000,
    footer: 100_000,
    hashes: 20_000,
    index_block: 20_000,
    options_text: 50_000,
    properties: 10_000,
    range_deletions: 5_000,
    table: 2_000,
    table_round_trip: 2_000,
}
