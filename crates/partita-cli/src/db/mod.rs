//! `partita db …`: tools for databases, one file a command.

mod checkpoint;
mod compact;
mod delete;
mod drop_range;
mod export;
mod get;
mod import;
mod ingest;
mod load;
mod manifest;
mod options;
mod put;
mod repair;
mod scan;
mod stats;
mod target;
mod verify;
mod wal;

use std::io;

use clap::Subcommand;

use crate::outcome::Outcome;

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    Scan(scan::Scan),
    Get(get::Get),
    Put(put::Put),
    Delete(delete::Delete),
    Load(load::Load),
    Compact(compact::Compact),
    DropRange(drop_range::DropRange),
    Ingest(ingest::Ingest),
    Export(export::Export),
    Import(import::Import),
    Checkpoint(checkpoint::Checkpoint),
    Repair(repair::Repair),
    Verify(verify::Verify),
    Stats(stats::Stats),
    Manifest(manifest::Manifest),
    Wal(wal::Wal),
    Options(options::Options),
}

impl Command {
    /// Runs the command. The error is one of standard output.
    pub(crate) fn run(&self) -> io::Result<Outcome> {
        match self {
            Self::Scan(scan) => scan.run(),
            Self::Get(get) => get.run(),
            Self::Put(put) => put.run(),
            Self::Delete(delete) => delete.run(),
            Self::Load(load) => load.run(),
            Self::Compact(compact) => compact.run(),
            Self::DropRange(drop_range) => drop_range.run(),
            Self::Ingest(ingest) => ingest.run(),
            Self::Export(export) => export.run(),
            Self::Import(import) => import.run(),
            Self::Checkpoint(checkpoint) => checkpoint.run(),
            Self::Repair(repair) => repair.run(),
            Self::Verify(verify) => verify.run(),
            Self::Stats(stats) => stats.run(),
            Self::Manifest(manifest) => manifest.run(),
            Self::Wal(wal) => wal.run(),
            Self::Options(options) => options.run(),
        }
    }
}
