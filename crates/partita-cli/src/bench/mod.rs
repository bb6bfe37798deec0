//! `partita bench …`: what the engine does under load.

mod locations;
mod page;

use std::io;

use clap::Subcommand;

use crate::outcome::Outcome;

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    Locations(locations::Locations),
    Page(page::Page),
}

impl Command {
    /// Runs one. The error is one of standard output.
    pub(crate) fn run(&self) -> io::Result<Outcome> {
        match self {
            Self::Locations(command) => command.run(),
            Self::Page(command) => command.run(),
        }
    }
}
