//! The write-ahead logs in use: the one being written, and older ones that some memtable needs.
//!
//! 1. A log is synced before the next one is begun, and the next one's name is made durable before anything is written to
//!    it. So one sync of the current log makes everything before it durable, and what a crash leaves of the logs is
//!    always a beginning of what was written.
//! 2. Only the leader of the commit queue writes or begins logs.
//! 3. A log is written over if we wrote it ourselves, in this opening, in the form whose records carry the log's number,
//!    and if the manifest says that nothing needs it. Records of the earlier life are then known by their number.
//! 4. Before the next log is begun, and at the end, what a recycled log has left behind its last record is cut off: only a
//!    crash leaves ruins, and only in the last log. So no reader has to tell them from damage between two logs.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::apply::Hints;
use super::archive::Archive;
use super::commit::LogRecord;
use crate::batch::WriteBatch;
use crate::error::Result;
use crate::io::{Clock, FileSystem, copy_front};
use crate::options::{DbOptions, WalRecoveryMode};
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
    /// How many obsolete logs are kept to be written over.
    spares_max: usize,
    archive: Option<Archive>,
}

impl LogPlace {
    pub(super) fn new(
        fs: Arc<dyn FileSystem>,
        dir: PathBuf,
        options: &DbOptions,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self> {
        let compressed = options.wal_compression == CompressionType::Zstd;
        let archive = Archive::open(&*fs, &dir, options, clock)?;
        // Where a crash leaves a recycled log, its last record has ruins behind it. These modes take them for damage, or
        // could not tell them from damage. What says that a log is compressed has no number to tell whose it is.
        let tells_ruins = matches!(
            options.wal_recovery_mode,
            WalRecoveryMode::PointInTime | WalRecoveryMode::SkipAnyCorruptedRecords
        );
        let may_recycle = tells_ruins && !compressed && archive.is_none();
        let spares_max = if may_recycle { options.recycle_log_file_num } else { 0 };
        let keeps_buffered = options.manual_wal_flush;
        Ok(Self { fs, dir, compressed, keeps_buffered, spares_max, archive })
    }

    /// Begins a log, in the place of an obsolete one if there is a spare.
    pub(super) fn begin(&self, number: FileNumber, spare: Option<FileNumber>) -> Result<LogWriter> {
        let path = FileName::Log(number).in_dir(&self.dir);
        let file = match self.rename_spare(spare, &path)? {
            true => self.fs.overwrite(&path)?,
            false => self.fs.create_new(&path)?,
        };
        let recyclable_as = (self.spares_max > 0).then_some(number.get());
        let options = LogWriterOptions { recyclable_as, compressed: self.compressed };
        let writer = LogWriter::new(file, &options)?;
        self.fs.sync_dir(&self.dir)?;
        Ok(writer)
    }

    fn rename_spare(&self, spare: Option<FileNumber>, path: &Path) -> Result<bool> {
        let Some(spare) = spare else { return Ok(false) };
        match self.fs.rename(&FileName::Log(spare).in_dir(&self.dir), path) {
            Ok(()) => Ok(true),
            // Somebody tidied up.
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Cuts off what an abandoned log has behind its readable bytes, if it goes to the archive: nobody who follows the logs
    /// shall take a failed write for one that was made. Where that fails the log goes.
    pub(super) fn cut_off(&self, number: FileNumber, readable_bytes: u64) {
        if self.archive.is_none() {
            return;
        }
        let path = FileName::Log(number).in_dir(&self.dir);
        let copy = FileName::Temporary(number).in_dir(&self.dir);
        let file = self.fs.open(&path);
        let cut = file
            .and_then(|file| copy_front(&*self.fs, &*file, readable_bytes, &copy))
            .and_then(|()| self.fs.rename(&copy, &path));
        if cut.is_err() {
            let _ = self.fs.remove(&copy);
            let _ = self.fs.remove(&path);
        }
    }

    /// Removes logs from the archive that are too old.
    pub(super) fn purge_archive(&self) {
        if let Some(archive) = &self.archive {
            archive.purge(&*self.fs);
        }
    }

    /// Removes obsolete logs, or puts them into the archive. What fails is tried again by the next open.
    pub(super) fn discard(&self, logs: &[FileNumber]) {
        for &number in logs {
            let path = FileName::Log(number).in_dir(&self.dir);
            let _ = match &self.archive {
                Some(archive) => archive.take(&*self.fs, &path, number),
                None => self.fs.remove(&path),
            };
        }
        if let Some(archive) = &self.archive {
            archive.purge(&*self.fs);
        }
    }
}

/// A log that some memtable needs, and that is not written to any more.
struct OldLog {
    number: FileNumber,
    bytes: u64,
    /// Whether we wrote it, in the form that can be written over.
    recyclable: bool,
}

/// The logs in use.
pub(super) struct Logs {
    pub(super) current: FileNumber,
    writer: LogWriter,
    /// Bytes of the current one that readers find in the file, and that are whole records of writes that did not fail.
    readable_bytes: u64,
    /// Those that ended with a failure, and the same of each.
    abandoned: Vec<(FileNumber, u64)>,
    /// Older ones that are needed, oldest first.
    older: VecDeque<OldLog>,
    /// Obsolete ones that will be written over.
    spares: Vec<FileNumber>,
    spares_max: usize,
    /// How many copy logs now; until they are done no log goes.
    copying: usize,
    /// Where each family's sorted keys were inserted last.
    pub(super) hints: Hints,
}

impl Logs {
    /// * `older`: logs that were found, with their lengths, oldest first.
    pub(super) fn new(
        place: &LogPlace,
        current: FileNumber,
        writer: LogWriter,
        older: Vec<(FileNumber, u64)>,
    ) -> Self {
        let found = |(number, bytes)| OldLog { number, bytes, recyclable: false };
        Self {
            current,
            writer,
            readable_bytes: 0,
            abandoned: Vec::new(),
            older: older.into_iter().map(found).collect(),
            spares: Vec::new(),
            spares_max: place.spares_max,
            copying: 0,
            hints: Hints::default(),
        }
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
                self.flush()?;
            }
        }
        if record.sync { self.sync() } else { Ok(()) }
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.writer.flush()?;
        self.readable_bytes = self.writer.offset();
        Ok(())
    }

    pub(super) fn sync(&mut self) -> Result<()> {
        self.writer.sync()?;
        self.readable_bytes = self.writer.offset();
        Ok(())
    }

    /// Ends the current log, and hands it to the device. It can be written on.
    pub(super) fn finish_current(&mut self) -> Result<()> {
        self.writer.finish()?;
        self.readable_bytes = self.writer.offset();
        Ok(())
    }

    /// Begins a log, which takes the place of the current one by [`Logs::replace`].
    pub(super) fn begin_next(&mut self, place: &LogPlace, number: FileNumber) -> Result<LogWriter> {
        place.begin(number, self.spares.pop())
    }

    /// Puts a new log in the place of the current one, which was finished, or failed.
    pub(super) fn replace(&mut self, number: FileNumber, writer: LogWriter) {
        let old = std::mem::replace(&mut self.writer, writer);
        let number = std::mem::replace(&mut self.current, number);
        let readable_bytes = std::mem::take(&mut self.readable_bytes);
        if readable_bytes < old.offset() {
            self.abandoned.push((number, readable_bytes));
        }
        self.older.push_back(OldLog {
            number,
            bytes: old.offset(),
            recyclable: self.spares_max > 0,
        });
    }

    /// Hands the current log to the device and returns all logs with their lengths, oldest first. They stay as they are, but
    /// for what is appended to the last, until [`Logs::end_copy`].
    pub(super) fn begin_copy(&mut self) -> Result<Vec<(FileNumber, u64)>> {
        self.sync()?;
        self.copying += 1;
        // Who has a link to one has it for good: it is not written over.
        self.older.iter_mut().for_each(|log| log.recyclable = false);
        let older = self.older.iter().map(|log| (log.number, log.bytes));
        Ok(older.chain([(self.current, self.writer.offset())]).collect())
    }

    /// Ends what [`Logs::begin_copy`] began. Logs that nothing needs are forgotten at the next [`Logs::take_older_than`].
    pub(super) fn end_copy(&mut self) {
        self.copying -= 1;
    }

    /// The current log, and how many bytes of it readers may take.
    pub(super) fn readable(&self) -> (FileNumber, u64) {
        (self.current, self.readable_bytes)
    }

    /// The same of a log that ended with a failure: behind that many bytes may stand a write that was told to have failed.
    pub(super) fn readable_of_abandoned(&self, number: FileNumber) -> Option<u64> {
        let found = self.abandoned.iter().find(|(abandoned, _)| *abandoned == number);
        found.map(|(_, bytes)| *bytes)
    }

    /// Bytes of all logs that are needed.
    pub(super) fn bytes(&self) -> u64 {
        let older: u64 = self.older.iter().map(|log| log.bytes).sum();
        older + self.writer.offset()
    }

    /// How many are needed.
    pub(super) fn count(&self) -> usize {
        self.older.len() + 1
    }

    /// The oldest log.
    pub(super) fn oldest(&self) -> FileNumber {
        self.older.front().map_or(self.current, |log| log.number)
    }

    /// Those before the current one, from a number on.
    pub(super) fn older_from(&self, first: FileNumber) -> Vec<FileNumber> {
        let numbers = self.older.iter().map(|log| log.number);
        numbers.filter(|number| *number >= first).collect()
    }

    /// Forgets the logs that nothing needs any more, and keeps spares. Returns those to be discarded.
    ///
    /// The manifest must say, durably, that they are not needed: what is written over them is of another log, and a
    /// crash may leave it under the old name.
    pub(super) fn take_older_than(&mut self, needed: FileNumber) -> Vec<FileNumber> {
        if self.copying > 0 {
            return Vec::new();
        }
        let count = self.older.iter().take_while(|log| log.number < needed).count();
        let mut discarded = Vec::new();
        for log in self.older.drain(..count) {
            match log.recyclable && self.spares.len() < self.spares_max {
                true => self.spares.push(log.number),
                false => discarded.push(log.number),
            }
        }
        discarded
    }
}

#[cfg(test)]
mod tests;
