//! `partita db checkpoint`: the database as it is now, in a directory of its own.

use std::io;
use std::path::PathBuf;

use clap::Args;

use super::target;
use crate::outcome::Outcome;
use crate::output;

/// Make a database in a new directory that holds what this one holds now.
///
/// Tables are linked, not copied, where both directories are on one file system; so it takes a moment and hardly any room. The
/// database is opened to be written: what its logs hold goes into tables, and RocksDB can open it again afterwards. One that
/// another process has open is refused. TARGET must not exist.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db checkpoint /var/lib/db /var/backups/db-monday

Exit code: 0 it is there, and survives a power cut; 2 something failed, and TARGET is not there.")]
pub(crate) struct Checkpoint {
    /// The directory of a database.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The directory to be made.
    #[arg(value_name = "TARGET")]
    to: PathBuf,
    /// Do not tell what was left out of damaged logs.
    #[arg(long)]
    quiet: bool,
}

impl Checkpoint {
    /// Makes the checkpoint.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        Ok(output::outcome_of(self.make()))
    }

    fn make(&self) -> partita::Result<()> {
        let db = target::open_whole_to_write(&self.dir, self.quiet)?;
        db.checkpoint(&self.to)?;
        db.close()
    }
}
