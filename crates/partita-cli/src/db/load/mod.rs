//! `partita db load`: applies changes from standard input.
//!
//! | file | holds |
//! |---|---|
//! | `line.rs` | what a line asks for |
//! | `loading.rs` | batches on their way into the database |

mod line;
mod loading;

use std::io::{self, Write as _};
use std::num::NonZeroU32;
use std::path::Path;

use clap::Args;
use partita::db::WriteOptions;

use self::loading::{Counts, Loading};
use super::target::Target;
use crate::outcome::Outcome;
use crate::output;
use crate::progress::Progress;

/// Bytes gathered from standard input at a time.
const BUFFER_BYTES: usize = 256 * 1024;

/// Apply changes from standard input.
///
/// One change a line, its parts separated by tabs:
///
///   put KEY VALUE          sets a value
///   delete KEY             removes a key, whether it is there or not
///   single_delete KEY      removes a key that was put once since it was removed last
///   merge KEY VALUE        adds an operand for the merge operator
///   delete_range FROM TO   removes the keys from FROM on, TO excluded
///   flush                  writes what is in memory into a table
///   compact                flushes, and merges all tables of the column family
///
/// Keys and values are escaped as `partita db scan` prints them (\\, \t, \n, \r, \xHH; other bytes stand for themselves), or
/// hexadecimal with --hex. Changes are written in batches, each of them whole or not at all. A line that cannot be
/// understood ends the command; the changes before it are written first. At the end, or then, one line for each kind of
/// change says how many were made: kind, tab, number. All of them survive a power cut then; while the command runs, with
/// --sync.
#[derive(Args)]
#[command(verbatim_doc_comment)]
#[command(after_help = "\
Examples:
  printf 'put\\tapple\\tred\\ndelete\\tkiwi\\n' | partita db load --create db/
  partita db scan --hex old/ | sed 's/^/put\\t/' | partita db load --hex --create new/

--json prints one object: put, delete, single_delete, merge, delete_range, flush, compact, and batches.

Exit code: 0 all was applied, 2 something failed; what was applied before stays.")]
pub(crate) struct Load {
    #[command(flatten)]
    target: Target,
    /// Write N changes at a time; fewer if they are long.
    #[arg(long, value_name = "N", default_value = "1000")]
    batch: NonZeroU32,
    /// Have each batch survive a power cut before the next is written.
    #[arg(long)]
    sync: bool,
    /// Make the database and the column family if they are not there.
    #[arg(long)]
    create: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Load {
    /// Applies the changes. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let (db, family) = match self.target.open_to_write(self.create) {
            Ok(opened) => opened,
            Err(error) => return Ok(output::outcome_of(Err(error))),
        };
        let options = WriteOptions { sync: self.sync, ..WriteOptions::default() };
        let form = self.target.form();
        let mut loading = Loading::new(&db, &family, form, self.batch.get(), options);
        let mut progress = Progress::new(1, self.target.quiet);
        progress.next_file(Path::new("standard input"));
        let input = io::BufReader::with_capacity(BUFFER_BYTES, io::stdin().lock());
        let result = loading.take(input, &mut progress).and_then(|()| db.close());
        progress.clear();
        self.print(&loading.written())?;
        Ok(output::outcome_of(result))
    }

    fn print(&self, counts: &Counts) -> io::Result<()> {
        let mut out = output::stdout();
        if self.json {
            serde_json::to_writer(&mut out, counts)?;
            out.write_all(b"\n")?;
        } else {
            for (kind, count) in counts.by_kind() {
                writeln!(out, "{kind}\t{count}")?;
            }
        }
        out.flush()
    }
}
