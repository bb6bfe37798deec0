//! Lines on their way into a database: gathered into batches, which are written whole.

use std::io::{BufRead, Read as _};

use partita::batch::{Record, WriteBatch};
use partita::db::{ColumnFamily, Db, WriteOptions};
use partita::{Error, Result};
use serde::Serialize;

use super::line::{Kind, Line, LineBuffers};
use crate::escape::Form;
use crate::progress::Progress;

/// Bytes at which a batch is written, however few changes it has.
const BATCH_BYTES: usize = 4 << 20;
/// The longest line.
const LINE_BYTES_MAX: usize = 1 << 30;

/// How many changes were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    put: u64,
    delete: u64,
    single_delete: u64,
    merge: u64,
    delete_range: u64,
    flush: u64,
    compact: u64,
    batches: u64,
}

impl Counts {
    fn of(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Put => &mut self.put,
            Kind::Delete => &mut self.delete,
            Kind::SingleDelete => &mut self.single_delete,
            Kind::Merge => &mut self.merge,
            Kind::DeleteRange => &mut self.delete_range,
            Kind::Flush => &mut self.flush,
            Kind::Compact => &mut self.compact,
        }
    }

    /// Each kind's name and number.
    pub(super) fn by_kind(mut self) -> impl Iterator<Item = (&'static str, u64)> {
        Kind::ALL.iter().map(move |kind| (kind.name(), *self.of(*kind)))
    }
}

/// Changes to a column family.
pub(super) struct Loading<'d> {
    db: &'d Db,
    family: &'d ColumnFamily,
    form: Form,
    batch_changes: u32,
    options: WriteOptions,
    /// Changes that are not written yet, and the lines of the first and the last.
    batch: WriteBatch,
    batch_lines: (u64, u64),
    /// The line that was read last.
    line: u64,
    /// With what the batch holds, and without.
    taken: Counts,
    written: Counts,
}

impl<'d> Loading<'d> {
    /// * `batch_changes`: changes that are written at a time at most.
    pub(super) fn new(
        db: &'d Db,
        family: &'d ColumnFamily,
        form: Form,
        batch_changes: u32,
        options: WriteOptions,
    ) -> Self {
        Self {
            db,
            family,
            form,
            batch_changes,
            options,
            batch: WriteBatch::new(),
            batch_lines: (0, 0),
            line: 0,
            taken: Counts::default(),
            written: Counts::default(),
        }
    }

    /// What was done.
    pub(super) fn written(&self) -> Counts {
        self.written
    }

    /// Applies all lines, or those before the first that cannot be.
    pub(super) fn take(&mut self, mut input: impl BufRead, progress: &mut Progress) -> Result<()> {
        let mut text = Vec::new();
        let mut buffers = LineBuffers::default();
        let result = loop {
            let read = read_line(&mut input, &mut text);
            self.line += u64::from(read != Ok(false));
            match read {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(why) => break Err(self.in_line(&why)),
            }
            let line = match Line::parse(&text, self.form, &mut buffers) {
                Ok(line) => line,
                Err(why) => break Err(self.in_line(&why)),
            };
            match line.record(self.family.id()) {
                Some(record) => {
                    if let Err(error) = self.check(&record).and_then(|()| self.add(&record)) {
                        break Err(self.in_line(error.message()));
                    }
                    *self.taken.of(line.kind) += 1;
                    self.write_if_full()?;
                }
                None => self.settle(line.kind)?,
            }
            progress.tick(text.len() as u64 + 1);
        };
        self.write_batch()?;
        result
    }

    /// Refuses what the database would refuse, while it is known which line it is.
    fn check(&self, record: &Record<'_>) -> Result<()> {
        match record {
            Record::DeleteRange { begin, end, .. }
                if self.family.key_order().compare(begin, end).is_gt() =>
            {
                Err(Error::invalid_argument("the range ends before it begins"))
            }
            Record::Merge { .. } if self.family.options().merge_operator.id().is_none() => {
                Err(Error::invalid_argument(format!(
                    "column family {:?} has no merge operator; --merge-operator gives it one",
                    self.family.name()
                )))
            }
            _ => Ok(()),
        }
    }

    fn add(&mut self, record: &Record<'_>) -> Result<()> {
        if self.batch.is_empty() {
            self.batch_lines.0 = self.line;
        }
        self.batch_lines.1 = self.line;
        self.batch.add(record)
    }

    /// Flushes or compacts.
    fn settle(&mut self, kind: Kind) -> Result<()> {
        self.write_batch()?;
        match kind {
            Kind::Compact => self.db.compact_range(self.family, None, None)?,
            _ => self.db.flush_cf(self.family)?,
        }
        *self.taken.of(kind) += 1;
        self.written = self.taken;
        Ok(())
    }

    fn write_if_full(&mut self) -> Result<()> {
        if self.batch.count() >= self.batch_changes || self.batch.len_bytes() >= BATCH_BYTES {
            self.write_batch()?;
        }
        Ok(())
    }

    /// Writes what was gathered.
    fn write_batch(&mut self) -> Result<()> {
        if !self.batch.is_empty() {
            // The next will be about as long.
            let next = WriteBatch::with_capacity(self.batch.len_bytes());
            let batch = std::mem::replace(&mut self.batch, next);
            self.db.write(batch, &self.options).map_err(|error| self.in_batch(&error))?;
            self.taken.batches += 1;
        }
        self.written = self.taken;
        Ok(())
    }

    fn in_line(&self, why: &str) -> Error {
        Error::invalid_argument(format!("standard input, line {}: {why}", self.line))
    }

    fn in_batch(&self, error: &Error) -> Error {
        let (first, last) = self.batch_lines;
        Error::new(error.kind(), format!("standard input, lines {first} to {last}: {error}"))
    }
}

/// Reads a line without its end; false if there is none.
fn read_line(input: &mut impl BufRead, text: &mut Vec<u8>) -> std::result::Result<bool, String> {
    text.clear();
    let mut input = input.take(LINE_BYTES_MAX as u64 + 1);
    if input.read_until(b'\n', text).map_err(|error| error.to_string())? == 0 {
        return Ok(false);
    }
    if text.last() == Some(&b'\n') {
        text.pop();
    } else if text.len() > LINE_BYTES_MAX {
        return Err(format!("it has more than {LINE_BYTES_MAX} bytes"));
    }
    Ok(true)
}
