//! The targets, one module each: `run` takes any bytes, `seeds` gives inputs worth mutating.

pub mod block_trace;
pub mod bookie_conf;
pub mod coding;
pub mod compress;
pub mod current_file;
pub mod data_block;
pub mod decompress;
pub mod directory;
pub mod doctor;
pub mod filter_bloom;
pub mod filter_build;
pub mod filter_bytes;
pub mod filter_legacy;
pub mod filter_ribbon;
pub mod footer;
pub mod hashes;
pub mod index_block;
pub mod log;
pub mod log_text;
pub mod manifest;
pub mod object_rows;
pub mod options_file;
pub mod options_text;
pub mod properties;
pub mod range_deletions;
pub mod table;
pub mod table_round_trip;
pub mod version_edit;
pub mod write_batch;

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
    block_trace: 8_000,
    bookie_conf: 1_000,
    coding: 800_000,
    compress: 24_000,
    current_file: 20_000,
    data_block: 160_000,
    decompress: 80_000,
    directory: 300,
    doctor: 300,
    filter_bloom: 160_000,
    filter_build: 2_400,
    filter_bytes: 160_000,
    filter_legacy: 160_000,
    filter_ribbon: 24_000,
    footer: 800_000,
    hashes: 160_000,
    index_block: 160_000,
    log: 8_000,
    log_text: 4_000,
    manifest: 16_000,
    object_rows: 20_000,
    options_file: 4_000,
    options_text: 400_000,
    properties: 80_000,
    range_deletions: 40_000,
    table: 16_000,
    table_round_trip: 16_000,
    version_edit: 160_000,
    write_batch: 400_000,
}
