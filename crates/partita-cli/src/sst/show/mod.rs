//! `partita sst show`: what a table is, at a glance.

mod collect;
mod properties;
mod report;
mod text;
mod total;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use partita::Error;
use serde::Serialize;

use super::finding::Finding;
use super::{complain_about, report_inputs};
use crate::outcome::Outcome;
use crate::output;
use crate::progress::Progress;
use total::Total;

/// Show what SST files are: format, index, filter, blocks, properties, and which RocksDB can read them.
///
/// Of several files, the end says how many are of which make, and where the largest pieces of index and filter are.
///
/// Reads the footer, the properties, the index, and a few bytes of every other block; no data but the first block and
/// the last. What only the entries tell (wide-column entities need RocksDB 7.9, timed puts 9.1) is therefore not in
/// "readable by".
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita sst show 000012.sst
  partita sst show /var/lib/db      all tables below a directory
  partita sst show --json db/ | jq -r 'select(.filter.layout == \"full\") | .file'
  partita sst show --json db/ | jq -s 'map(.filter.largest_piece_bytes) | max'

--json prints one object a file, each on a line of its own. A field that is not known is null.
  file, file_bytes
  format       version, checksum, base_context
  readable_by  oldest, before, filter_used_since, because [release, feature]
  entries      total, deletions, merge_operands, range_tombstones, smallest_seqno,
               largest_seqno, global_seqno, first_user_key, last_user_key (in hexadecimal)
  index        type, keys_are_user_keys, values_are_delta_encoded, pieces, stored_bytes,
               largest_piece_bytes, top_level_bytes
  filter       layout, policy, kinds, pieces, stored_bytes, largest_piece_bytes,
               top_level_bytes, whole_keys, prefixes, entries, bits_per_entry
  blocks       [role, count, stored_bytes, largest_bytes, uncompressed_bytes, compression]
  properties   by their names on disk
  warnings     texts
Of a file that cannot be looked at: file, error {kind, role, offset, bytes, message}.

Exit code: 0 all was shown, 1 damage was found, 2 a file could not be looked at.")]
pub(crate) struct Show {
    /// SST files, and directories to search for them.
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Print JSON: one object a file, one file a line.
    #[arg(long)]
    json: bool,
    /// Show no progress.
    #[arg(long)]
    quiet: bool,
}

/// What stands in the JSON for a file that has no report.
#[derive(Serialize)]
struct NotShown {
    file: String,
    error: Finding,
}

impl NotShown {
    fn new(path: &Path, error: &Error) -> Self {
        Self { file: path.display().to_string(), error: Finding::new(error) }
    }
}

impl Show {
    /// Shows all files. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let mut outcome = Outcome::Clean;
        let files = report_inputs(&self.paths, &mut outcome);
        let mut out = output::stdout();
        let mut progress = Progress::new(files.len(), self.quiet || output::stdout_is_terminal());
        let mut total = Total::default();
        for path in &files {
            progress.next_file(path);
            let (report, errors) = match collect::collect(path) {
                Ok((report, errors)) => (Some(report), errors),
                Err(error) => (None, vec![error]),
            };
            if let Some(report) = report {
                progress.tick(report.file_bytes);
                if self.json {
                    serde_json::to_writer(&mut out, &report)?;
                    writeln!(out)?;
                } else {
                    if !total.is_empty() {
                        writeln!(out)?;
                    }
                    text::write(&mut out, &report)?;
                    total.add(&report);
                }
            } else if self.json {
                // Without a report there is one error, which is the reason.
                for error in &errors {
                    serde_json::to_writer(&mut out, &NotShown::new(path, error))?;
                    writeln!(out)?;
                }
            }
            if !errors.is_empty() {
                out.flush()?;
                progress.clear();
                errors.iter().for_each(|error| complain_about(path, error, &mut outcome));
            }
        }
        total.write(&mut out)?;
        out.flush()?;
        Ok(outcome)
    }
}
