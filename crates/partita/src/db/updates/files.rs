//! The logs there are, in use and archived, and one of them being read.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::batch::{BatchReader, WriteBatch};
use crate::db::archive::archive_of;
use crate::db::file_front::FileFront;
use crate::db::recover::{logs_from, names_in};
use crate::error::{Error, Result};
use crate::io::{FileSystem, SequentialFile};
use crate::options::WalRecoveryMode;
use crate::util::sync::atomic::{AtomicU64, Ordering};
use crate::version::{FileName, FileNumber};
use crate::wal::{LogReader, LogReaderOptions};

/// Where logs are found.
pub(super) struct LogFiles {
    pub(super) fs: Arc<dyn FileSystem>,
    pub(super) dir: PathBuf,
}

impl LogFiles {
    /// The numbers of all logs from this one on.
    ///
    /// The archive is looked at last: a log that is moved there meanwhile is seen twice, and not missed.
    pub(super) fn numbers_from(&self, first: FileNumber) -> Result<BTreeSet<FileNumber>> {
        let mut numbers = BTreeSet::new();
        for dir in [&self.dir, &archive_of(&self.dir)] {
            match names_in(&*self.fs, dir) {
                Ok(names) => numbers.extend(logs_from(&names, first)),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(numbers)
    }

    /// Opens a log, wherever it is by now; `None` if it has gone.
    ///
    /// * `readable_bytes`: of it, as far as it is known.
    pub(super) fn open(
        &self,
        number: FileNumber,
        readable_bytes: Option<u64>,
    ) -> Result<Option<OpenLog>> {
        let name = FileName::Log(number);
        for dir in [&self.dir, &archive_of(&self.dir)] {
            match self.fs.open_sequential(&name.in_dir(dir)) {
                Ok(file) => return Ok(Some(OpenLog::new(number, file, readable_bytes))),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// A log being read.
pub(super) struct OpenLog {
    pub(super) number: FileNumber,
    reader: LogReader,
    readable_bytes: Arc<AtomicU64>,
}

impl OpenLog {
    fn new(number: FileNumber, file: Box<dyn SequentialFile>, readable_bytes: Option<u64>) -> Self {
        let readable_bytes = Arc::new(AtomicU64::new(readable_bytes.unwrap_or(u64::MAX)));
        let front = FileFront::new(file, Arc::clone(&readable_bytes));
        let options = LogReaderOptions {
            // Behind damage nothing is used; whether something is missing the next log tells.
            mode: WalRecoveryMode::PointInTime,
            log_number: Some(number.get()),
            ..LogReaderOptions::default()
        };
        Self { number, reader: LogReader::new(Box::new(front), options), readable_bytes }
    }

    /// The next batch; `None` where the log ends, as far as it may be read.
    pub(super) fn next_batch(&mut self) -> Result<Option<WriteBatch>> {
        let Some(record) = self.reader.read_record()? else { return Ok(None) };
        match WriteBatch::from_bytes(record.payload.to_vec()) {
            Ok(batch) => Ok(Some(batch)),
            Err(error) => {
                Err(error.in_part("log record").at(record.offset).in_file(self.reader.path()))
            }
        }
    }

    /// The sequence number at which the next batch starts, which is passed over.
    pub(super) fn next_sequence(&mut self) -> Result<Option<u64>> {
        let Some(record) = self.reader.read_record()? else { return Ok(None) };
        let batch = BatchReader::new(record.payload);
        // Who reads the log says what is wrong with it.
        Ok(batch.ok().map(|batch| batch.sequence().get()))
    }

    /// Lets it be read up to there. Returns whether that is further than before.
    pub(super) fn read_up_to(&mut self, readable_bytes: Option<u64>) -> Result<bool> {
        let now = readable_bytes.unwrap_or(u64::MAX);
        let before = self.readable_bytes.swap(now, Ordering::Relaxed);
        if now > before {
            self.reader.read_on()?;
        }
        Ok(now > before)
    }

    /// Whether it ended with damage.
    pub(super) fn is_damaged(&self) -> bool {
        self.reader.stopped_by().is_some()
    }

    /// That damage.
    pub(super) fn into_damage(self) -> Option<Error> {
        self.reader.into_stopped_by()
    }
}
