//! `partita db wal`: the records of write-ahead logs, decoded.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

use clap::Args;
use partita::batch::{BatchReader, Record};
use partita::io::{DiskFileSystem, FileSystem as _};
use partita::options::WalRecoveryMode;
use partita::version::FileName;
use partita::wal::{DropReason, Dropped, LogReader, LogReaderOptions};
use partita::{Error, Result};
use serde::Serialize;

use crate::escape::Form;
use crate::outcome::Outcome;
use crate::output::{self, Out};
use crate::units::count;

/// Print the records of write-ahead logs.
///
/// One line for each record (a write batch): its offset, the sequence number of its first change, how many changes it
/// says it has. Below it a line for each change: column family, what is done, key, value. Bytes that are not used are told
/// on standard error with offset and reason, and the walk goes on behind them where it can.
#[derive(Args)]
#[command(after_help = "\
Examples:
  partita db wal /var/lib/db               all logs of a directory, by number
  partita db wal --hex db/000012.log
  partita db wal --json db/ | jq 'select(.count > 1000)'

--json prints one object a record, each on a line of its own.
  file, offset, sequence, count, changes [family, op, key, value]

Exit code: 0 all was printed, 1 damage was found, 2 a log could not be looked at. The remains of an earlier life of a
recycled log, and a record that is cut off where the log ends, are no damage.")]
pub(crate) struct Wal {
    /// The directory of a database, or of logs, or a log.
    #[arg(value_name = "DIR|FILE")]
    path: PathBuf,
    /// Print keys and values in hexadecimal.
    #[arg(long)]
    hex: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Wal {
    /// Prints the records. The error is one of standard output.
    pub(super) fn run(&self) -> io::Result<Outcome> {
        let mut outcome = Outcome::Clean;
        let mut out = output::stdout();
        let logs = match self.logs() {
            Ok(logs) => logs,
            Err(error) => {
                output::complain(&error);
                return Ok(Outcome::Unseen);
            }
        };
        for path in &logs {
            if !self.json {
                writeln!(out, "{}", path.display())?;
            }
            let (sender, dropped) = channel();
            let reporter = move |bytes: &Dropped| {
                // The receiver outlives the reader.
                let _ = sender.send(bytes.clone());
            };
            let result = match open(path) {
                Ok(reader) => self.print(path, &mut reader.with_reporter(reporter), &mut out)?,
                Err(error) => Err(error),
            };
            out.flush()?;
            outcome.merge(complain_about(&dropped));
            if let Err(error) = result {
                output::complain(&error);
                outcome.merge(Outcome::of_error(&error));
            }
        }
        Ok(outcome)
    }

    fn logs(&self) -> Result<Vec<PathBuf>> {
        if !self.path.is_dir() {
            return Ok(vec![self.path.clone()]);
        }
        let names = DiskFileSystem.list(&self.path)?;
        let mut logs: Vec<FileName> = names
            .iter()
            .filter_map(|name| FileName::parse(name))
            .filter(|name| matches!(name, FileName::Log(_)))
            .collect();
        logs.sort_unstable();
        Ok(logs.into_iter().map(|name| name.in_dir(&self.path)).collect())
    }

    /// Prints a log. The outer error is one of standard output, the inner one of the log.
    fn print(&self, path: &Path, reader: &mut LogReader, out: &mut Out) -> io::Result<Result<()>> {
        loop {
            let record = match reader.read_record() {
                Ok(Some(record)) => record,
                Ok(None) => return Ok(Ok(())),
                Err(error) => return Ok(Err(error)),
            };
            let offset = record.offset;
            let refused = match decode(record.payload) {
                Ok((batch, records)) => {
                    self.print_batch(path, offset, &batch, &records, out)?;
                    continue;
                }
                Err(error) => error,
            };
            if let Err(error) = reader.reject(&refused) {
                return Ok(Err(error));
            }
        }
    }

    fn print_batch(
        &self,
        path: &Path,
        offset: u64,
        batch: &BatchReader<'_>,
        records: &[Record<'_>],
        out: &mut Out,
    ) -> io::Result<()> {
        let form = Form::hex_if(self.hex);
        let changes = records.iter().map(|record| Change::new(record, form));
        let (sequence, counted) = (batch.sequence().get(), batch.count());
        if self.json {
            let file = path.display().to_string();
            let changes = changes.collect();
            let told = Told { file, offset, sequence, count: counted, changes };
            serde_json::to_writer(&mut *out, &told)?;
            return writeln!(out);
        }
        let noun = if counted == 1 { "change" } else { "changes" };
        writeln!(out, "{offset:#x}: sequence {sequence}, {} {noun}", count(u64::from(counted)))?;
        for Change { family, op, key, value } in changes {
            let family = family.map_or_else(|| "-".to_owned(), |family| family.to_string());
            writeln!(
                out,
                "  {family}\t{op}\t{}\t{}",
                key.unwrap_or_default(),
                value.unwrap_or_default()
            )?;
        }
        Ok(())
    }
}

/// Opens a log, to be read as far as it can be read at all.
fn open(path: &Path) -> Result<LogReader> {
    let number = match path.file_name().and_then(FileName::parse) {
        Some(FileName::Log(number)) => Some(number.get()),
        _ => None,
    };
    let options = LogReaderOptions {
        mode: WalRecoveryMode::SkipAnyCorruptedRecords,
        log_number: number,
        ..LogReaderOptions::default()
    };
    Ok(LogReader::new(DiskFileSystem.open_sequential(path)?, options))
}

/// The batch in a record with all its changes.
fn decode(payload: &[u8]) -> Result<(BatchReader<'_>, Vec<Record<'_>>)> {
    let batch = BatchReader::new(payload)?;
    let records = batch.records().collect::<Result<_>>()?;
    Ok((batch, records))
}

/// Tells which bytes were not used, and what that means for the exit code.
fn complain_about(dropped: &Receiver<Dropped>) -> Outcome {
    let mut outcome = Outcome::Clean;
    for Dropped { file, offset, bytes, reason } in dropped.try_iter() {
        let is_ordinary = matches!(
            reason,
            DropReason::OldRecord { .. } | DropReason::TruncatedHeader | DropReason::TruncatedBody
        );
        let path = file.display();
        let note = if is_ordinary { "note: " } else { "" };
        output::complain(format_args!(
            "{note}{path}: {bytes} bytes at {offset:#x} are not used: {reason}"
        ));
        if !is_ordinary {
            outcome.merge(Outcome::of_error(&Error::corruption("")));
        }
    }
    outcome
}

/// A record as JSON.
#[derive(Serialize)]
struct Told {
    file: String,
    offset: u64,
    sequence: u64,
    count: u32,
    changes: Vec<Change>,
}

/// A change in a batch.
#[derive(Serialize)]
struct Change {
    family: Option<u32>,
    op: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

impl Change {
    fn new(record: &Record<'_>, form: Form) -> Self {
        let text = |bytes: &[u8]| Some(form.text(bytes));
        let (family, op, key, value) = match *record {
            Record::Put { family, key, value } => (Some(family), "put", text(key), text(value)),
            Record::Delete { family, key } => (Some(family), "delete", text(key), None),
            Record::SingleDelete { family, key } => {
                (Some(family), "single_delete", text(key), None)
            }
            Record::DeleteRange { family, begin, end } => {
                (Some(family), "delete_range", text(begin), text(end))
            }
            Record::Merge { family, key, operand } => {
                (Some(family), "merge", text(key), text(operand))
            }
            Record::BlobIndex { family, key, index } => {
                (Some(family), "blob_index", text(key), text(index))
            }
            Record::LogData(bytes) => (None, "log_data", None, text(bytes)),
            Record::Transaction(_) => (None, "transaction", None, None),
            Record::Noop => (None, "noop", None, None),
        };
        Self { family, op, key, value }
    }
}
