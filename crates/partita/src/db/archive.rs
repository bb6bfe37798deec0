//! The archive: logs that the database needs no more, kept for a time for those who follow it.
//!
//! ```text
//! WAL_ttl_seconds     a log goes when it was written last so long ago
//! WAL_size_limit_MB   the oldest go until the rest is within the limit
//! both 0              there is no archive
//! ```
//!
//! RocksDB keeps its own in the same place, `archive` in the directory of the logs, and both take what they find there.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::batch::BATCH_HEADER_BYTES;
use crate::error::Result;
use crate::io::{Clock, FileSystem};
use crate::options::DbOptions;
use crate::util::sync::{Mutex, lock};
use crate::version::{FileName, FileNumber};

/// Where obsolete logs are kept, and how long.
pub(super) struct Archive {
    dir: PathBuf,
    clock: Arc<dyn Clock>,
    /// 0: without a limit.
    ttl_seconds: u64,
    /// 0: without a limit.
    bytes_max: u64,
    /// By number.
    kept: Mutex<VecDeque<Kept>>,
}

/// The archive of the logs in a directory.
pub(super) fn archive_of(wal_dir: &Path) -> PathBuf {
    wal_dir.join("archive")
}

/// What a batch takes in a log at least: a fragment's header and its own.
const RECORD_BYTES_MIN: u64 = 7 + BATCH_HEADER_BYTES as u64;

struct Kept {
    number: FileNumber,
    bytes: u64,
    written_unix_seconds: u64,
}

impl Archive {
    /// The archive of a database's logs, with what is in it; `None` if the options want none.
    pub(super) fn open(
        fs: &dyn FileSystem,
        wal_dir: &Path,
        options: &DbOptions,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<Self>> {
        if options.wal_ttl_seconds == 0 && options.wal_size_limit_mb == 0 {
            return Ok(None);
        }
        let archive = Self {
            dir: archive_of(wal_dir),
            clock: Arc::clone(clock),
            ttl_seconds: options.wal_ttl_seconds,
            bytes_max: options.wal_size_limit_mb.saturating_mul(1 << 20),
            kept: Mutex::default(),
        };
        fs.create_dir_all(&archive.dir)?;
        let mut found = Vec::new();
        for name in fs.list(&archive.dir)? {
            if let Some(FileName::Log(number)) = FileName::parse(&name) {
                found.push(archive.look_at(fs, number)?);
            }
        }
        found.sort_unstable_by_key(|kept| kept.number);
        *lock(&archive.kept) = found.into();
        archive.purge(fs);
        Ok(Some(archive))
    }

    fn look_at(&self, fs: &dyn FileSystem, number: FileNumber) -> Result<Kept> {
        let path = FileName::Log(number).in_dir(&self.dir);
        let written = fs.modified_unix_seconds(&path);
        // Where there are no times, it was written when it is seen first.
        let written_unix_seconds = written.unwrap_or_else(|_| self.clock.unix_seconds());
        Ok(Kept { number, bytes: fs.file_len(&path)?, written_unix_seconds })
    }

    /// Moves a log here. One without records is of no use to anybody, and if it says that it is compressed it does harm:
    /// RocksDB takes it for one that starts at number 1, and who asks for later ones misses those in logs before it.
    pub(super) fn take(&self, fs: &dyn FileSystem, path: &Path, number: FileNumber) -> Result<()> {
        if fs.file_len(path)? < RECORD_BYTES_MIN {
            return fs.remove(path);
        }
        fs.rename(path, &FileName::Log(number).in_dir(&self.dir))?;
        let taken = self.look_at(fs, number)?;
        let mut kept = lock(&self.kept);
        let at = kept.partition_point(|other| other.number < number);
        kept.insert(at, taken);
        Ok(())
    }

    /// Removes what is too old or too much.
    pub(super) fn purge(&self, fs: &dyn FileSystem) {
        let oldest = match self.ttl_seconds {
            0 => 0,
            ttl => self.clock.unix_seconds().saturating_sub(ttl),
        };
        let mut kept = lock(&self.kept);
        let mut bytes: u64 = kept.iter().map(|log| log.bytes).sum();
        while let Some(first) = kept.front() {
            let too_much = self.bytes_max > 0 && bytes > self.bytes_max;
            if first.written_unix_seconds >= oldest && !too_much {
                break;
            }
            bytes -= first.bytes;
            // What cannot be removed now is found by the next open.
            let _ = fs.remove(&FileName::Log(first.number).in_dir(&self.dir));
            kept.pop_front();
        }
    }
}
