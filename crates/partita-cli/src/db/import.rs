//! `partita db import`: a column family made of the tables of another database.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use partita::Result;
use partita::db::{DbBuilder, FamilyConfig, FileTransfer, ImportOptions};
use partita::version::DEFAULT_FAMILY_NAME;
use serde::Serialize;

use super::target;
use crate::outcome::Outcome;
use crate::output;
use crate::units::{counted, size};

/// Create a column family that has the tables of another one, all of them or none.
///
/// They come from an export, or from any other database that nobody has open and that has nothing in its logs, a checkpoint
/// say; it is only read. Each table is read and checked before anything changes, and keeps its level and its sequence numbers.
/// Tables are copied, unless --link is given. The family has the options that it had there.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db import --cf ledger /var/lib/db /var/backups/ledger
  partita db import --cf ledger --from-cf old-ledger --link db/ checkpoint/

--json prints one object: files, bytes.

Exit code: 0 the family is there, 2 something failed, and it is not.")]
pub(crate) struct Import {
    /// The directory of a database.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The directory that the tables come from.
    #[arg(value_name = "SOURCE")]
    from: PathBuf,
    /// What the new column family is called.
    #[arg(long, value_name = "NAME")]
    cf: String,
    /// What it is called where it comes from.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_FAMILY_NAME)]
    from_cf: String,
    /// Link the tables: nobody may write to them any more.
    #[arg(long)]
    link: bool,
    /// Do not read and check the tables before.
    #[arg(long)]
    no_verify: bool,
    /// Do not tell what was left out of damaged logs.
    #[arg(long)]
    quiet: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What was imported, as JSON.
#[derive(Serialize)]
struct Told {
    files: u64,
    bytes: u64,
}

impl Import {
    /// Imports the family. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let told = match self.import() {
            Ok(told) => told,
            Err(error) => return Ok(output::outcome_of(Err(error))),
        };
        let mut out = output::stdout();
        if self.json {
            serde_json::to_writer(&mut out, &told)?;
            out.write_all(b"\n")?;
        } else {
            writeln!(out, "{}, {}", counted(told.files, "table"), size(told.bytes))?;
        }
        out.flush()?;
        Ok(Outcome::Clean)
    }

    fn import(&self) -> Result<Told> {
        let source = DbBuilder::new(&self.from).open_read_only()?;
        let options = source.family(&self.from_cf)?.options().clone();
        drop(source);
        let transfer = if self.link { FileTransfer::Link } else { FileTransfer::Copy };
        let import = ImportOptions { family: &self.from_cf, transfer, verify: !self.no_verify };
        let config = FamilyConfig { options: Some(options), ..FamilyConfig::default() };
        let db = target::open_whole_to_write(&self.dir, self.quiet)?;
        let family = db.create_family_from_import(&self.cf, config, &self.from, &import)?;
        let stats = db.family_stats(&family);
        let told = Told { files: stats.files(), bytes: stats.bytes() };
        drop((family, stats));
        db.close()?;
        Ok(told)
    }
}
