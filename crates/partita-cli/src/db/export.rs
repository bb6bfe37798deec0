//! `partita db export`: one column family, in a directory of its own.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use partita::Result;
use partita::db::FamilyExport;
use serde::Serialize;

use super::target::Target;
use crate::outcome::Outcome;
use crate::output;
use crate::units::{counted, size};

/// Make a new directory with the tables of one column family, to be imported elsewhere.
///
/// It is a database with this family as its default one. What the logs hold is flushed before. Tables are linked, not copied,
/// where both directories are on one file system. TARGET must not exist.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db export --cf ledger /var/lib/db /var/backups/ledger
  partita db import --cf ledger other-db/ /var/backups/ledger

--json prints one object: comparator, files, bytes.

Exit code: 0 it is there, and survives a power cut; 2 something failed, and TARGET is not there.")]
pub(crate) struct Export {
    #[command(flatten)]
    target: Target,
    /// The directory to be made.
    #[arg(value_name = "TARGET")]
    to: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What was exported, as JSON.
#[derive(Serialize)]
struct Told {
    comparator: String,
    files: u64,
    bytes: u64,
}

impl Export {
    /// Exports the family. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let FamilyExport { comparator, files } = match self.export() {
            Ok(export) => export,
            Err(error) => return Ok(output::outcome_of(Err(error))),
        };
        let bytes = files.iter().map(|new| new.file.file_bytes).sum();
        let told = Told { comparator, files: files.len() as u64, bytes };
        let mut out = output::stdout();
        if self.json {
            serde_json::to_writer(&mut out, &told)?;
            out.write_all(b"\n")?;
        } else {
            writeln!(out, "{}, {}", counted(told.files, "table"), size(bytes))?;
        }
        out.flush()?;
        Ok(Outcome::Clean)
    }

    fn export(&self) -> Result<FamilyExport> {
        let (db, family) = self.target.open_to_write(false)?;
        let export = db.export_family(&family, &self.to)?;
        db.close()?;
        Ok(export)
    }
}
