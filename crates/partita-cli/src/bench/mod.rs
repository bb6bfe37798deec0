//! `partita bench …`: what the engine does under load.

mod locations;
mod objects;
mod page;
mod shown;

use std::io::{self, IsTerminal as _, Write as _};

use clap::Subcommand;

use crate::outcome::Outcome;
use crate::output;

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    Locations(locations::Locations),
    Objects(objects::Objects),
    Page(page::Page),
}

impl Command {
    /// Runs one. The error is one of standard output.
    pub(crate) fn run(&self) -> io::Result<Outcome> {
        match self {
            Self::Locations(command) => command.run(),
            Self::Objects(command) => command.run(),
            Self::Page(command) => command.run(),
        }
    }
}

/// Tells on standard error what is about to be done, if that is a terminal.
pub(crate) fn teller() -> impl FnMut(&str) {
    let is_shown = io::stderr().is_terminal();
    move |what| {
        if is_shown {
            eprintln!("{what}");
        }
    }
}

/// Prints what a benchmark came to, or complains. The error is one of standard output.
pub(crate) fn print(text: Result<String, String>) -> io::Result<Outcome> {
    match text {
        Ok(text) => {
            let mut out = output::stdout();
            writeln!(out, "{}", text.trim_end())?;
            out.flush()?;
            Ok(Outcome::Clean)
        }
        Err(message) => {
            output::complain(message);
            Ok(Outcome::Unseen)
        }
    }
}
