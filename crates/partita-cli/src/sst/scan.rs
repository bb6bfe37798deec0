//! `partita sst scan`: the entries of a table as lines of text.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use partita::iter::InternalIterator as _;
use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType, pack};
use partita::table::{BlockRole, RangeTombstone, ReadContext, TableIter, TableReader};

use super::{complain_about, open, report_inputs};
use crate::escape::Form;
use crate::outcome::Outcome;
use crate::output::{self, Out};
use crate::progress::Progress;

/// Print the entries of SST files.
///
/// One line for each entry: user key, sequence number, type and value, with tabs between them. All versions of a key
/// are printed, newest first, in the order of the file. Of several files, the file's path comes first on each line.
///
/// Keys and values are printed as ASCII with these escapes: \\ for a backslash, \t, \n, \r, and \xHH for all other
/// bytes outside of the printable characters. With --hex they are hexadecimal. Either form can be given back to
/// --from and --to.
///
/// Types: put, delete, single-delete, merge, range-delete, blob-index, entity, timed-put.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita sst scan 000012.sst | head
  partita sst scan --hex --from 0a --to 0b 000012.sst
  partita sst scan --reverse --limit 1 000012.sst     the last entry
  partita sst scan --range-tombstones db/             everything that a database's tables hold

Exit code: 0 all was printed, 1 damage was found, 2 a file could not be looked at.")]
pub(crate) struct Scan {
    /// SST files, and directories to search for them.
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Print and take keys and values in hexadecimal.
    #[arg(long)]
    hex: bool,
    /// Leave out entries whose user key is before KEY.
    #[arg(long, value_name = "KEY")]
    from: Option<String>,
    /// Leave out entries whose user key is KEY or after it.
    #[arg(long, value_name = "KEY")]
    to: Option<String>,
    /// Print in reverse order: greatest key first, oldest version first.
    #[arg(long)]
    reverse: bool,
    /// Print at most N lines for each file.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Also print range tombstones, in the order of their start keys: the value is the end of the range, which does
    /// not belong to it. --from and --to are held against the start.
    #[arg(long)]
    range_tombstones: bool,
    /// Show no progress.
    #[arg(long)]
    quiet: bool,
}

impl Scan {
    /// Prints all files. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let mut outcome = Outcome::Clean;
        let Some(bounds) = self.bounds() else { return Ok(Outcome::Unseen) };
        let files = report_inputs(&self.paths, &mut outcome);
        let mut out = output::stdout();
        let mut progress = Progress::new(files.len(), self.quiet || output::stdout_is_terminal());
        for path in &files {
            progress.next_file(path);
            let named = (files.len() > 1).then_some(path.as_path());
            let mut printer = Printer {
                out: &mut out,
                form: Form::hex_if(self.hex),
                file: named,
                left: self.limit.unwrap_or(u64::MAX),
            };
            match self.print(path, &bounds, &mut printer, &mut progress) {
                Ok(()) => {}
                Err(Failure::Output(error)) => return Err(error),
                Err(Failure::Table(error)) => {
                    out.flush()?;
                    progress.clear();
                    complain_about(path, &error, &mut outcome);
                }
            }
        }
        progress.clear();
        out.flush()?;
        Ok(outcome)
    }

    /// The bounds as bytes; complains and returns `None` if one is not in its form.
    fn bounds(&self) -> Option<Bounds> {
        let form = Form::hex_if(self.hex);
        let parse = |name: &str, text: &Option<String>| match text {
            None => Some(None),
            Some(text) => match form.parse(text) {
                Ok(key) => Some(Some(key)),
                Err(error) => {
                    output::complain(format_args!("--{name} {text:?}: {error}"));
                    None
                }
            },
        };
        Some(Bounds { from: parse("from", &self.from)?, to: parse("to", &self.to)? })
    }

    fn print(
        &self,
        path: &Path,
        bounds: &Bounds,
        printer: &mut Printer<'_>,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let table = open(path)?;
        let mut tombstones = Vec::new();
        if self.range_tombstones {
            let all = table.range_tombstones(&mut ReadContext::default())?;
            let order = table.key_order();
            tombstones.extend(all.iter().filter(|tombstone| bounds.hold(order, &tombstone.start)));
        }
        let mut iter = table.iter();
        iter.pass_cache_by();
        let mut walk = Walk { iter, reverse: self.reverse, bytes: 0 };
        walk.start(&table, bounds)?;
        let tombstones: &mut dyn Iterator<Item = &RangeTombstone> = if self.reverse {
            &mut tombstones.into_iter().rev()
        } else {
            &mut tombstones.into_iter()
        };
        let mut tombstones = tombstones.peekable();
        loop {
            progress.tick(walk.take_bytes());
            let entry = walk.entry(table.key_order(), bounds)?;
            match (entry, tombstones.peek()) {
                (None, None) => return Ok(()),
                (Some(entry), Some(tombstone)) if !walk.comes_first(&table, entry, tombstone) => {
                    printer.tombstone(tombstone)?;
                    tombstones.next();
                }
                (Some(entry), _) => {
                    printer.entry(entry, walk.iter.value())?;
                    walk.advance()?;
                }
                (None, Some(tombstone)) => {
                    printer.tombstone(tombstone)?;
                    tombstones.next();
                }
            }
            if printer.left == 0 {
                return Ok(());
            }
        }
    }
}

/// What ends the printing of a file.
enum Failure {
    /// Standard output is gone: the command ends.
    Output(io::Error),
    /// The table is damaged or cannot be read: on to the next file.
    Table(partita::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<partita::Error> for Failure {
    fn from(error: partita::Error) -> Self {
        Self::Table(error)
    }
}

/// Which user keys are printed: `from` to before `to`.
struct Bounds {
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
}

impl Bounds {
    fn hold(&self, order: &KeyOrder, user_key: &[u8]) -> bool {
        let before = self.from.as_ref().is_some_and(|from| order.compare(user_key, from).is_lt());
        let behind = self.to.as_ref().is_some_and(|to| order.compare(user_key, to).is_ge());
        !before && !behind
    }
}

/// The point entries within the bounds, in one direction.
struct Walk {
    iter: TableIter,
    reverse: bool,
    /// Bytes read up to the last look.
    bytes: u64,
}

impl Walk {
    fn start(&mut self, table: &TableReader, bounds: &Bounds) -> partita::Result<()> {
        let seek_key = |key: &[u8]| InternalKey::for_seek(key, SeqNo::MAX).encode();
        match (self.reverse, &bounds.from, &bounds.to) {
            (false, Some(from), _) => self.iter.seek(&seek_key(from)),
            (false, None, _) => self.iter.seek_to_first(),
            // The seek key sorts before all entries of its user key, which do not belong to the range.
            (true, _, Some(to)) => self.iter.seek_for_prev(&seek_key(to)),
            (true, _, None) => self.iter.seek_to_last(),
        }
        .map_err(|error| error.in_file(table.path()))
    }

    fn advance(&mut self) -> partita::Result<()> {
        if self.reverse { self.iter.prev() } else { self.iter.next() }
    }

    /// The entry there; `None` behind the bounds.
    fn entry(&self, order: &KeyOrder, bounds: &Bounds) -> partita::Result<Option<InternalKey<'_>>> {
        if !self.iter.is_valid() {
            return Ok(None);
        }
        let key = InternalKey::decode(self.iter.key())?;
        Ok(bounds.hold(order, key.user_key).then_some(key))
    }

    /// Whether the entry is printed before the tombstone.
    fn comes_first(
        &self,
        table: &TableReader,
        entry: InternalKey<'_>,
        tombstone: &RangeTombstone,
    ) -> bool {
        let by_key = table.key_order().compare(entry.user_key, &tombstone.start);
        // Newest first; of equal numbers the tombstone, whose type is the greater one, unless the entry's is greater.
        let tombstone_packed = pack(tombstone.seqno, ValueType::RangeDeletion);
        let order = by_key.then(tombstone_packed.cmp(&entry.packed()));
        if self.reverse { order.is_gt() } else { order.is_lt() }
    }

    /// Bytes read since the last call.
    fn take_bytes(&mut self) -> u64 {
        let total = self.iter.context().bytes_read[BlockRole::Data];
        total - std::mem::replace(&mut self.bytes, total)
    }
}

/// Writes lines.
struct Printer<'o> {
    out: &'o mut Out,
    form: Form,
    /// Printed first on each line.
    file: Option<&'o Path>,
    /// Lines that may still be printed.
    left: u64,
}

impl Printer<'_> {
    fn entry(&mut self, key: InternalKey<'_>, value: &[u8]) -> io::Result<()> {
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        if let Some(file) = self.file {
            Form::Escaped.write(self.out, file.as_os_str().as_encoded_bytes())?;
            self.out.write_all(b"\t")?;
        }
        self.form.write(self.out, key.user_key)?;
        write!(self.out, "\t{}\t{}\t", key.seqno, key.value_type)?;
        self.form.write(self.out, value)?;
        self.out.write_all(b"\n")
    }

    fn tombstone(&mut self, tombstone: &RangeTombstone) -> io::Result<()> {
        let key = InternalKey::new(&tombstone.start, tombstone.seqno, ValueType::RangeDeletion);
        self.entry(key, &tombstone.end)
    }
}
