//! What the write-ahead logs hold that is not in tables yet, brought back into memtables.
//!
//! ```text
//! logs that some family needs, by number
//!   each record = a write batch: checked whole, then applied
//!     to a family whose tables do not have it yet: its log number is not greater than this log's
//!     not to one that is gone: its records are passed over, but they count
//! ```
//!
//! **Memory.** When a memtable has reached its size, or all together the budget, it goes into a table while the logs are
//! read on ([`SpillMemTable`]). No version names such tables before the logs are at their end: until then the old logs
//! count, and a crash leaves tables that the next open removes.
//!
//! A batch is applied whole or not at all. After damage at which the recovery mode stops, a later log is used only if it
//! goes on with the very next sequence number: then nothing was there. If a family's tables have what comes behind the
//! damage, its state would be ahead of the others', and the database is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::apply::{Hints, Target, apply};
use crate::batch::BatchReader;
use crate::error::{Error, Result};
use crate::io::{FileSystem, SequentialFile};
use crate::key::SeqNo;
use crate::memtable::MemTable;
use crate::options::WalRecoveryMode;
use crate::version::edit::WalAddition;
use crate::version::{FileName, FileNumber};
use crate::wal::{Dropped, LogReader, LogReaderOptions};

/// Bytes of logs that were not used, and why.
#[derive(Clone, Debug)]
pub struct LostLogBytes {
    /// The log.
    pub path: PathBuf,
    /// Where and why.
    pub dropped: Dropped,
}

/// A family as recovery sees it.
pub(super) struct Recovering {
    pub(super) memtable: Arc<MemTable>,
    /// Logs with a smaller number hold nothing of it that is not in tables.
    pub(super) log_number: FileNumber,
    pub(super) name: String,
    pub(super) has_tables: bool,
    /// Bytes at which its memtable is full.
    pub(super) write_buffer_size: usize,
}

/// What recovery found.
pub(super) struct Recovered {
    pub(super) last_sequence: SeqNo,
    pub(super) lost: Vec<LostLogBytes>,
    /// What is left in memory, by family.
    pub(super) memtables: BTreeMap<u32, Arc<MemTable>>,
}

/// Puts a family's memtable into a table and returns a new one, whose first entries will be from that log.
pub(super) type SpillMemTable<'s> =
    dyn FnMut(u32, &Arc<MemTable>, FileNumber) -> Result<Arc<MemTable>> + 's;

/// What recovery may hold in memory.
pub(super) struct MemoryBound<'s> {
    /// Bytes of all memtables.
    pub(super) bytes_max: usize,
    pub(super) spill: Box<SpillMemTable<'s>>,
}

/// Bytes of log after which it is looked how large memtables are, at most.
const CHECK_BYTES: usize = 256 << 10;

/// The names in a directory that a database may give.
pub(super) fn names_in(fs: &dyn FileSystem, dir: &Path) -> Result<Vec<FileName>> {
    Ok(fs.list(dir)?.iter().filter_map(|name| FileName::parse(name)).collect())
}

/// The logs among names that are not older than `oldest`, by number.
pub(super) fn logs_from(names: &[FileName], oldest: FileNumber) -> Vec<FileNumber> {
    let log = |name: &FileName| match *name {
        FileName::Log(number) if number >= oldest => Some(number),
        _ => None,
    };
    let mut logs: Vec<FileNumber> = names.iter().filter_map(log).collect();
    logs.sort_unstable();
    logs
}

/// Refuses a database that has lost a log, or the end of one, which the manifest lists as synced. RocksDB lists logs with
/// `track_and_verify_wals_in_manifest`; our manifests list none.
///
/// * `oldest`: the first log that is needed.
pub(super) fn refuse_lost_logs(
    fs: &dyn FileSystem,
    wal_dir: &Path,
    oldest: FileNumber,
    wals: &[WalAddition],
) -> Result<()> {
    for wal in wals.iter().filter(|wal| wal.number >= oldest) {
        let path = FileName::Log(wal.number).in_dir(wal_dir);
        let needed = wal.synced_bytes.unwrap_or(0);
        let why = match fs.file_len(&path) {
            Ok(bytes) if bytes >= needed => continue,
            Ok(bytes) => {
                format!("the log has {bytes} bytes, and {needed} were synced by the manifest")
            }
            Err(error) if error.is_not_found() => {
                "the log is missing, and the manifest lists it".into()
            }
            Err(error) => return Err(error),
        };
        return Err(Error::corruption(why).in_file(&path));
    }
    Ok(())
}

/// Opens the log of a number and path.
pub(super) type OpenLog<'l> = dyn Fn(FileNumber, &Path) -> Result<Box<dyn SequentialFile>> + 'l;

/// The logs to be read, and how.
pub(super) struct Logs<'l> {
    /// Opens one of them.
    pub(super) open: &'l OpenLog<'l>,
    pub(super) dir: &'l Path,
    pub(super) numbers: &'l [FileNumber],
    pub(super) mode: WalRecoveryMode,
}

/// Reads the logs into the families' memtables.
///
/// * `last_sequence`: of the manifest.
/// * `bound`: `None` keeps everything in memory.
pub(super) fn replay(
    logs: &Logs<'_>,
    families: BTreeMap<u32, Recovering>,
    last_sequence: SeqNo,
    bound: Option<MemoryBound<'_>>,
) -> Result<Recovered> {
    let smallest = families.values().map(|family| family.write_buffer_size).min();
    let mut replay = Replay {
        open: logs.open,
        mode: logs.mode,
        check_bytes: smallest.map_or(CHECK_BYTES, |bytes| CHECK_BYTES.min(bytes / 8)),
        unchecked_bytes: 0,
        bound,
        families,
        hints: Hints::default(),
        next: last_sequence.get() + 1,
        next_in_logs: last_sequence.get() + 1,
        stopped: None,
        lost: Vec::new(),
    };
    for &log in logs.numbers {
        let path = FileName::Log(log).in_dir(logs.dir);
        replay.log(log, &path).map_err(|error| error.in_file(&path))?;
    }
    replay.refuse_families_ahead().map_err(|error| error.in_file(logs.dir))?;
    let last_sequence = SeqNo::new(replay.next - 1).unwrap_or(SeqNo::MAX);
    let memtables = replay.families.into_iter().map(|(id, family)| (id, family.memtable)).collect();
    Ok(Recovered { last_sequence, lost: replay.lost, memtables })
}

struct Replay<'r> {
    open: &'r OpenLog<'r>,
    mode: WalRecoveryMode,
    families: BTreeMap<u32, Recovering>,
    bound: Option<MemoryBound<'r>>,
    check_bytes: usize,
    /// Bytes of batches since it was looked how large memtables are.
    unchecked_bytes: usize,
    hints: Hints,
    /// One more than the last sequence number seen.
    next: u64,
    /// With what a log begins that goes on with the one before. Where logs are, `next` may be further on: of one family tables
    /// have come since.
    next_in_logs: u64,
    /// The log at whose damage recovery stopped, and what it was.
    stopped: Option<(FileNumber, String)>,
    lost: Vec<LostLogBytes>,
}

impl Replay<'_> {
    fn log(&mut self, log: FileNumber, path: &Path) -> Result<()> {
        let options = LogReaderOptions {
            mode: self.mode,
            log_number: Some(log.get()),
            ..LogReaderOptions::default()
        };
        let (sender, dropped) = std::sync::mpsc::channel();
        let mut reader = LogReader::new((self.open)(log, path)?, options).with_reporter(
            move |dropped: &Dropped| {
                // The receiver outlives the reader.
                let _ = sender.send(dropped.clone());
            },
        );
        let mut first = true;
        loop {
            let Some(record) = reader.read_record()? else { break };
            let batch = BatchReader::new(record.payload)
                .and_then(|batch| batch.validate().map(|()| batch))
                .map_err(|error| error.at(record.offset));
            let why = match batch {
                Ok(batch) => {
                    if std::mem::take(&mut first) && !self.goes_on_with(batch.sequence()) {
                        break;
                    }
                    self.batch(log, &batch)?;
                    continue;
                }
                Err(error) => error,
            };
            reader.reject(&why)?;
        }
        if let (None, Some(error)) = (&self.stopped, reader.stopped_by()) {
            self.stopped = Some((log, error.to_string()));
        }
        drop(reader);
        self.lost.extend(dropped.iter().map(|dropped| LostLogBytes { path: path.into(), dropped }));
        Ok(())
    }

    /// Whether a log that starts with this number may be used.
    fn goes_on_with(&mut self, sequence: SeqNo) -> bool {
        if self.stopped.is_some() && sequence.get() == self.next_in_logs {
            self.stopped = None;
        }
        self.stopped.is_none()
    }

    fn batch(&mut self, log: FileNumber, batch: &BatchReader<'_>) -> Result<()> {
        let families = &self.families;
        let end = apply(batch, batch.sequence(), &mut self.hints, |id| {
            Ok(match families.get(&id) {
                Some(family) if family.log_number <= log => Target::MemTable(&family.memtable),
                _ => Target::Nowhere,
            })
        })?;
        self.next = self.next.max(end);
        self.next_in_logs = end;
        self.unchecked_bytes += batch.as_bytes().len();
        if self.unchecked_bytes >= self.check_bytes {
            self.unchecked_bytes = 0;
            self.spill_what_is_too_large(log)?;
        }
        Ok(())
    }

    /// Between two batches, so that whatever is in tables at the end was applied whole.
    fn spill_what_is_too_large(&mut self, log: FileNumber) -> Result<()> {
        let Some(bound) = &mut self.bound else { return Ok(()) };
        loop {
            let bytes = |family: &Recovering| family.memtable.memory_bytes();
            let total: usize = self.families.values().map(bytes).sum();
            let largest = self.families.iter_mut().max_by_key(|(_, family)| {
                (bytes(family) >= family.write_buffer_size, bytes(family))
            });
            let Some((id, family)) = largest else { return Ok(()) };
            let is_full = bytes(family) >= family.write_buffer_size;
            if family.memtable.is_empty() || !(is_full || total > bound.bytes_max) {
                return Ok(());
            }
            family.memtable = (bound.spill)(*id, &family.memtable, log)?;
        }
    }

    /// Refuses a database of which one family has in tables what others have lost.
    ///
    /// Asked at the end: damage behind which a later log goes on was none.
    fn refuse_families_ahead(&self) -> Result<()> {
        let Some((log, damage)) = &self.stopped else { return Ok(()) };
        let is_ahead = |family: &&Recovering| family.log_number > *log && family.has_tables;
        match self.families.values().find(is_ahead) {
            Some(ahead) => Err(Error::corruption(format!(
                "the log is damaged ({damage}), and tables of column family {:?} hold what comes behind the damage: \
                 the families would not be of one moment",
                ahead.name
            ))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
