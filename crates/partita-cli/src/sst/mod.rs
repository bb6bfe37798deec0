//! `partita sst …`: tools for single tables, one file a command.
//!
//! All of them take files and directories, never write to what they read, and go on with the next file when one
//! fails; the exit code tells ([`crate::outcome`]).

mod finding;
mod rewrite;
mod scan;
mod show;
pub(crate) mod verify;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;
use partita::io::{DiskFile, RandomAccessFile};
use partita::table::{ReadContext, ReaderOptions, TableReader};

use crate::inputs;
use crate::outcome::Outcome;
use crate::output;

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    Show(show::Show),
    Scan(scan::Scan),
    Verify(verify::Verify),
    Rewrite(rewrite::Rewrite),
}

impl Command {
    /// Runs the command. The error is one of standard output.
    pub(crate) fn run(&self) -> io::Result<Outcome> {
        match self {
            Self::Show(show) => show.run(),
            Self::Scan(scan) => scan.run(),
            Self::Verify(verify) => verify.run(),
            Self::Rewrite(rewrite) => rewrite.run(),
        }
    }
}

/// The tables that the command line names; what cannot be listed is complained about.
fn report_inputs(paths: &[PathBuf], outcome: &mut Outcome) -> Vec<PathBuf> {
    let (tables, errors) = inputs::tables(paths);
    for error in errors {
        output::complain(&error);
        outcome.merge(Outcome::Unseen);
    }
    tables
}

/// Opens the file of a table.
pub(crate) fn open_file(path: &Path) -> partita::Result<Arc<dyn RandomAccessFile>> {
    let file: Arc<dyn RandomAccessFile> = Arc::new(DiskFile::open(path)?);
    Ok(file)
}

/// Opens a table for reading its entries.
fn open(path: &Path) -> partita::Result<Arc<TableReader>> {
    let file = open_file(path)?;
    let table = TableReader::open(file, &ReaderOptions::default(), &mut ReadContext::default())?;
    Ok(Arc::new(table))
}

/// Complains about a file, and notes what that means for the exit code.
fn complain_about(path: &Path, error: &partita::Error, outcome: &mut Outcome) {
    output::complain(error);
    outcome.merge(outcome_of(path, error));
}

/// What an error in a file means for the exit code.
///
/// A file that does not end like a table is damage only if its name says that it is one.
fn outcome_of(path: &Path, error: &partita::Error) -> Outcome {
    let no_table = error.part() == Some("footer") && !inputs::is_table_name(path);
    if no_table { Outcome::Unseen } else { Outcome::of_error(error) }
}
