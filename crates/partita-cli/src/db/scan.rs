//! `partita db scan`: the keys of a database with their values, as readers see them.

use std::io::{self, Write as _};

use clap::Args;
use partita::db::{DbIterator, IterOptions};
use partita::iter::Bounds;
use serde::Serialize;

use super::target::Target;
use crate::escape::Form;
use crate::outcome::Outcome;
use crate::output::{self, Out};
use crate::progress::Progress;

/// Print keys and values.
///
/// One line for each key, in the order of the column family: key, tab, value. Deleted keys are left out, operands are
/// merged, and what only the write-ahead logs hold is there as well. The database is opened to be read: nothing in its
/// directory changes.
///
/// Keys and values are printed as ASCII with these escapes: \\ for a backslash, \t, \n, \r, and \xHH for all other
/// bytes outside of the printable characters. With --hex they are hexadecimal. Either form can be given back to
/// --from and --to.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db scan /var/lib/db | head
  partita db scan --cf keys --hex --from 0a --to 0b db/
  partita db scan --reverse --limit 1 db/     the last key

--json prints one object a key, each on a line of its own: key, value.

Exit code: 0 all was printed, 2 something failed; what was printed before stands.")]
pub(crate) struct Scan {
    #[command(flatten)]
    target: Target,
    /// Leave out keys before KEY.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    from: Option<String>,
    /// Leave out KEY and the keys after it.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    to: Option<String>,
    /// Print in reverse order.
    #[arg(long)]
    reverse: bool,
    /// Print at most N keys.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Scan {
    /// Prints the keys. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let mut out = output::stdout();
        let mut iter = match self.iter() {
            Ok(iter) => iter,
            Err(error) => {
                output::complain(&error);
                return Ok(Outcome::Unseen);
            }
        };
        let quiet = self.target.quiet || output::stdout_is_terminal();
        let mut progress = Progress::new(1, quiet);
        progress.next_file(self.target.dir());
        let result = self.print(&mut iter, &mut out, &mut progress)?;
        progress.clear();
        out.flush()?;
        Ok(match result {
            Ok(()) => Outcome::Clean,
            Err(error) => {
                output::complain(&error);
                Outcome::Unseen
            }
        })
    }

    fn iter(&self) -> partita::Result<DbIterator> {
        let key = |what, text: &Option<String>| {
            text.as_deref().map(|text| self.target.bytes(what, text)).transpose()
        };
        let (from, to) = (key("--from", &self.from)?, key("--to", &self.to)?);
        let (db, family) = self.target.open_to_read()?;
        let bounds = Bounds::half_open(from.as_deref(), to.as_deref());
        let options = IterOptions { bounds, ..IterOptions::default() };
        db.iter_cf(&family, options)
    }

    /// Prints up to the limit. The outer error is one of standard output, the inner one of the database.
    fn print(
        &self,
        iter: &mut DbIterator,
        out: &mut Out,
        progress: &mut Progress,
    ) -> io::Result<partita::Result<()>> {
        let mut left = self.limit.unwrap_or(u64::MAX);
        let mut moved = match self.reverse {
            _ if left == 0 => return Ok(Ok(())),
            true => iter.seek_to_last(),
            false => iter.seek_to_first(),
        };
        loop {
            if moved.is_err() || !iter.is_valid() {
                return Ok(moved);
            }
            self.print_pair(out, iter.key(), iter.value())?;
            left -= 1;
            if left == 0 {
                return Ok(Ok(()));
            }
            progress.tick((iter.key().len() + iter.value().len()) as u64);
            moved = if self.reverse { iter.prev() } else { iter.next() };
        }
    }

    fn print_pair(&self, out: &mut Out, key: &[u8], value: &[u8]) -> io::Result<()> {
        let form = self.target.form();
        if self.json {
            serde_json::to_writer(&mut *out, &Pair::new(form, key, Some(value)))?;
        } else {
            form.write(out, key)?;
            out.write_all(b"\t")?;
            form.write(out, value)?;
        }
        out.write_all(b"\n")
    }
}

/// A key with its value as JSON.
#[derive(Serialize)]
pub(super) struct Pair {
    key: String,
    /// `null` for a key that is not there.
    value: Option<String>,
}

impl Pair {
    pub(super) fn new(form: Form, key: &[u8], value: Option<&[u8]>) -> Self {
        Self { key: form.text(key), value: value.map(|value| form.text(value)) }
    }
}
