//! The write-ahead logs in use: the one being written, and older ones that some memtable needs.
//!
//! 1. A log is synced before the next one is begun, and the next one's name is made durable before anything is written to
//!    it. So one sync of the current log makes everything before it durable, and what a crash leaves of the logs is
//!    always a beginning of what was written.
//! 2. Only the leader of the commit queue writes or begins logs.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use super::apply::Hints;
use super::commit::LogRecord;
use crate::batch::WriteBatch;
use crate::error::Result;
use crate::io::FileSystem;
use crate::options::DbOptions;
use crate::util::compression::CompressionType;
use crate::version::{FileName, FileNumber};
use crate::wal::{LogWriter, LogWriterOptions};

/// Where logs are, and how they are written.
pub(super) struct LogPlace {
    pub(super) fs: Arc<dyn FileSystem>,
    pub(super) dir: PathBuf,
    compressed: bool,
    /// Whether records stay in the process until somebody asks for more.
    keeps_buffered: bool,
}

impl LogPlace {
    pub(super) fn new(fs: Arc<dyn FileSystem>, dir: PathBuf, options: &DbOptions) -> Self {
        let compressed = options.wal_compression == CompressionType::Zstd;
        Self { fs, dir, compressed, keeps_buffered: options.manual_wal_flush }
    }

    /// Begins a log.
    pub(super) fn begin(&self, number: FileNumber) -> Result<LogWriter> {
        let path = FileName::Log(number).in_dir(&self.dir);
        let options = LogWriterOptions { recyclable_as: None, compressed: self.compressed };
        let writer = LogWriter::new(self.fs.create_new(&path)?, &options)?;
        self.fs.sync_dir(&self.dir)?;
        Ok(writer)
    }
}

/// The logs in use.
pub(super) struct Logs {
    pub(super) current: FileNumber,
    writer: LogWriter,
    /// Older ones that are needed, with their lengths, oldest first.
    older: VecDeque<(FileNumber, u64)>,
    /// Where each family's sorted keys were inserted last.
    pub(super) hints: Hints,
}

impl Logs {
    pub(super) fn new(
        current: FileNumber,
        writer: LogWriter,
        older: Vec<(FileNumber, u64)>,
    ) -> Self {
        Self { current, writer, older: older.into(), hints: Hints::default() }
    }

    pub(super) fn write(&mut self, place: &LogPlace, record: &LogRecord<'_>) -> Result<()> {
        if !record.parts.is_empty() {
            let header = WriteBatch::header(record.first, record.count);
            if let [only] = record.parts[..] {
                self.writer.add_record(&[&header, only])?;
            } else {
                let mut parts: Vec<&[u8]> = Vec::with_capacity(1 + record.parts.len());
                parts.push(&header);
                parts.extend(&record.parts);
                self.writer.add_record(&parts)?;
            }
            if !place.keeps_buffered && !record.sync {
                self.writer.flush()?;
            }
        }
        if record.sync { self.writer.sync() } else { Ok(()) }
    }

    pub(super) fn sync(&mut self) -> Result<()> {
        self.writer.sync()
    }

    /// Puts a new log in the place of the current one, which was synced.
    pub(super) fn replace(&mut self, number: FileNumber, writer: LogWriter) {
        let old = std::mem::replace(&mut self.writer, writer);
        let number = std::mem::replace(&mut self.current, number);
        self.older.push_back((number, old.offset()));
    }

    /// Bytes of all logs.
    pub(super) fn bytes(&self) -> u64 {
        let older: u64 = self.older.iter().map(|(_, bytes)| bytes).sum();
        older + self.writer.offset()
    }

    /// The oldest log.
    pub(super) fn oldest(&self) -> FileNumber {
        self.older.front().map_or(self.current, |(number, _)| *number)
    }

    /// Takes out the logs that nothing needs any more.
    pub(super) fn take_older_than(&mut self, needed: FileNumber) -> Vec<FileNumber> {
        let count = self.older.iter().take_while(|(number, _)| *number < needed).count();
        self.older.drain(..count).map(|(number, _)| number).collect()
    }
}
