//! `partita doctor fix`: index and filters cut into partitions, in a copy or in place.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use partita::io::{DiskFileSystem, FileSystem};
use partita_doctor::fix::{self, Fixed};

use crate::outcome::Outcome;
use crate::output;
use crate::progress::Progress;
use crate::units::{count, counted, size};

/// Write the tables anew with index and filters cut into partitions, so that no block of them is larger than its shard.
///
/// All other options stay as they are. With --to a copy is made: DIR is only read, its owner may be at work, and what is written
/// after the start is not in the copy. NEW_DIR appears when all of it is there. With --in-place DIR itself is rewritten, once
/// its owner has closed it, and after a checkpoint was made of it as it is.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita doctor fix /var/lib/db --to /var/lib/db-fixed
  partita doctor fix /var/lib/db --in-place
  partita doctor fix /var/lib/db --in-place --checkpoint /var/backups/db-before

A program that opens the database with options of its own needs the same settings, or its next compaction writes the old
layout again: partita doctor DIR prints them.

--json prints one object: dir, checkpoint, families, rows, tables, table_bytes.

Exit code: 0 it was done, 2 something failed: there is no NEW_DIR then, and DIR can be opened as before.")]
pub(super) struct Fix {
    /// The directory of a database.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The directory to be made.
    #[arg(
        long,
        value_name = "NEW_DIR",
        required_unless_present = "in_place",
        conflicts_with = "in_place"
    )]
    to: Option<PathBuf>,
    /// Rewrite DIR itself.
    #[arg(long)]
    in_place: bool,
    /// The directory of the checkpoint that --in-place makes first. By default DIR.before-fix.
    #[arg(long, value_name = "DIR", requires = "in_place")]
    checkpoint: Option<PathBuf>,
    /// Print JSON, and no progress.
    #[arg(long)]
    json: bool,
}

impl Fix {
    /// Does it and tells. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let fixed = match self.fix() {
            Ok(fixed) => fixed,
            Err(error) => return Ok(output::outcome_of(Err(error))),
        };
        let mut out = output::stdout();
        if self.json {
            serde_json::to_writer(&mut out, &fixed)?;
            writeln!(out)?;
        } else {
            self.tell(&mut out, &fixed)?;
        }
        out.flush()?;
        Ok(Outcome::Clean)
    }

    fn fix(&self) -> partita::Result<Fixed> {
        let fs: Arc<dyn FileSystem> = Arc::new(DiskFileSystem);
        let mut progress = Progress::new(0, self.json);
        let mut on_progress = |family: &str, bytes| {
            progress.next_file(Path::new(family));
            progress.tick(bytes);
        };
        match &self.to {
            Some(target) => fix::copy(&fs, &self.dir, target, &mut on_progress),
            None => {
                let checkpoint = self.checkpoint_dir();
                if !self.json {
                    output::complain(format_args!(
                        "note: a checkpoint of the database as it is is made first, in {}",
                        checkpoint.display()
                    ));
                }
                fix::in_place(&fs, &self.dir, &checkpoint, &mut on_progress)
            }
        }
    }

    fn checkpoint_dir(&self) -> PathBuf {
        self.checkpoint.clone().unwrap_or_else(|| {
            // A path that ends in a slash has its name all the same.
            let mut name = self.dir.file_name().unwrap_or_default().to_owned();
            name.push(".before-fix");
            self.dir.with_file_name(name)
        })
    }

    fn tell(&self, out: &mut impl io::Write, fixed: &Fixed) -> io::Result<()> {
        writeln!(out, "{}", fixed.dir.display())?;
        let rows = match fixed.rows {
            0 => String::new(),
            rows => format!("{} rows, ", count(rows)),
        };
        writeln!(
            out,
            "  {rows}{}, {}, {}",
            counted(fixed.families, "column family"),
            counted(fixed.tables, "table"),
            size(fixed.table_bytes)
        )?;
        match &fixed.checkpoint {
            Some(checkpoint) => writeln!(out, "  as it was: {}", checkpoint.display()),
            None => Ok(()),
        }
    }
}
