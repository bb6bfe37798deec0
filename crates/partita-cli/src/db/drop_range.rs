//! `partita db drop-range`: whole tables dropped, without reading them.

use std::io::{self, Write as _};
use std::ops::Bound;

use clap::Args;
use partita::Result;
use serde::Serialize;

use super::target::Target;
use crate::outcome::Outcome;
use crate::output;
use crate::units::counted;

/// Drop the tables all of whose keys lie in a range, without reading them.
///
/// It is for keys that nobody will ask for again, and gives their room back at once. Tables with other keys beside them stay,
/// and those of level 0; what keys of the range show afterwards is not defined: a deletion may have gone, and what it deleted
/// stayed. Other keys are as before. To delete all keys of a range, and nothing but these, write a range deletion.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db drop-range /var/lib/db --to 2026-02
  partita db drop-range --cf keys --hex --from 0a --to 0b db/

--json prints one object: tables.

Exit code: 0 it was done, also if no table lay in the range; 2 something failed, and all are there.")]
pub(crate) struct DropRange {
    #[command(flatten)]
    target: Target,
    /// Leave tables with keys before KEY.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true, required_unless_present = "to")]
    from: Option<String>,
    /// Leave tables with KEY, or keys behind it.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    to: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What was dropped, as JSON.
#[derive(Serialize)]
struct Told {
    tables: u64,
}

impl DropRange {
    /// Drops the tables. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let tables = match self.drop_tables() {
            Ok(tables) => tables as u64,
            Err(error) => return Ok(output::outcome_of(Err(error))),
        };
        let mut out = output::stdout();
        if self.json {
            serde_json::to_writer(&mut out, &Told { tables })?;
            out.write_all(b"\n")?;
        } else {
            writeln!(out, "{} dropped", counted(tables, "table"))?;
        }
        out.flush()?;
        Ok(Outcome::Clean)
    }

    fn drop_tables(&self) -> Result<usize> {
        let key = |what, text: &Option<String>| {
            text.as_deref().map(|text| self.target.bytes(what, text)).transpose()
        };
        let (from, to) = (key("--from", &self.from)?, key("--to", &self.to)?);
        let (db, family) = self.target.open_to_write(false)?;
        let from = from.as_deref().map_or(Bound::Unbounded, Bound::Included);
        let to = to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let dropped = db.delete_files_in_range(&family, (from, to))?;
        drop(family);
        db.close()?;
        Ok(dropped)
    }
}
