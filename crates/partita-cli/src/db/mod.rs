//! `partita db …`: tools for databases, one file a command.

mod manifest;
mod options;

use std::io;

use clap::Subcommand;

use crate::outcome::Outcome;

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    Manifest(manifest::Manifest),
    Options(options::Options),
}

impl Command {
    /// Runs the command. The error is one of standard output.
    pub(crate) fn run(&self) -> io::Result<Outcome> {
        match self {
            Self::Manifest(manifest) => manifest.run(),
            Self::Options(options) => options.run(),
        }
    }
}
