//! The logs of a database that somebody else writes, read as they grow.
//!
//! 1. Logs are listed before their lengths are taken: where there is a later one, the one before has all that it gets.
//! 2. Of a log, whole records are read, up to the length that was noted. Where it ends within one, or in what a recycled log held
//!    before, it is read from its start the next time, and what was applied is passed over: sequence numbers tell.
//! 3. What stands behind damage is used as recovery does: if it goes on with the very next sequence number.
//! 4. A memtable holds entries of one log.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::super::apply::{Hints, Target, apply};
use super::super::file_front::FileFront;
use super::super::memtables::new_memtable;
use super::super::read_view::ReadView;
use super::super::recover::{logs_from, names_in};
use crate::batch::BatchReader;
use crate::cache::Cache;
use crate::error::Result;
use crate::io::FileSystem;
use crate::key::SeqNo;
use crate::memtable::MemTable;
use crate::options::WalRecoveryMode;
use crate::util::sync::atomic::{AtomicU64, Ordering};
use crate::version::{FileName, FileNumber, Followed, FollowedFamily};
use crate::wal::{LogReader, LogReaderOptions};

/// All logs that are needed, and what was read of them.
#[derive(Default)]
pub(super) struct FollowedLogs {
    logs: BTreeMap<FileNumber, FollowedLog>,
    families: BTreeMap<u32, FamilyMemTables>,
    /// One more than the last sequence number read; 0 if none was.
    next: u64,
    hints: Hints,
}

/// What was read of a family, newest first.
type FamilyMemTables = Vec<Arc<MemTable>>;

struct FollowedLog {
    reader: LogReader,
    /// Bytes of it that may be read.
    readable: Arc<AtomicU64>,
    /// One more than the last sequence number that was applied from it; 0 if none was.
    next: u64,
    /// Whether it ends with damage.
    is_damaged: bool,
}

impl FollowedLogs {
    /// Notes which logs there are, and how long they are.
    pub(super) fn look(
        &mut self,
        fs: &dyn FileSystem,
        dir: &Path,
        oldest: FileNumber,
    ) -> Result<()> {
        let numbers = logs_from(&names_in(fs, dir)?, oldest);
        self.logs = self.logs.split_off(&oldest);
        for number in numbers {
            let path = FileName::Log(number).in_dir(dir);
            let before = self.logs.remove(&number);
            let bytes = match fs.file_len(&path) {
                Ok(bytes) => bytes,
                // Its end was read through the handle, or the manifest says what became of it.
                Err(error) if error.is_not_found() && before.is_some() => continue,
                Err(error) => return Err(error),
            };
            let log = match before {
                Some(log) if log.goes_on(bytes) => log,
                before => {
                    let readable = Arc::new(AtomicU64::new(0));
                    let file = fs.open_sequential(&path)?;
                    let front = Box::new(FileFront::new(file, Arc::clone(&readable)));
                    let options = LogReaderOptions {
                        // The end of a log that is being written may be torn whatever its owner's mode is.
                        mode: WalRecoveryMode::PointInTime,
                        log_number: Some(number.get()),
                        ..LogReaderOptions::default()
                    };
                    let next = before.map_or(0, |log| log.next);
                    let reader = LogReader::new(front, options);
                    FollowedLog { reader, readable, next, is_damaged: false }
                }
            };
            log.readable.store(bytes, Ordering::Relaxed);
            self.logs.insert(number, log);
        }
        Ok(())
    }

    /// Reads what there is, up to the noted lengths, into memtables that nobody reads at the new numbers yet.
    pub(super) fn replay(&mut self, followed: &Followed, cache: &Cache) -> Result<()> {
        let Self { logs, families, next, hints } = self;
        *next = (*next).max(followed.last_sequence.get() + 1);
        let mut stopped = false;
        for (&number, log) in logs {
            let mut is_first = log.next == 0;
            let mut is_prepared = false;
            log.reader.read_on()?;
            while let Some(record) = log.reader.read_record()? {
                let batch = BatchReader::new(record.payload)
                    .and_then(|batch| batch.validate().map(|()| batch))
                    .map_err(|error| error.at(record.offset));
                let batch = match batch {
                    Ok(batch) => batch,
                    Err(error) => {
                        log.reader.reject(&error)?;
                        break;
                    }
                };
                let first = batch.sequence().get();
                if std::mem::take(&mut is_first) && stopped {
                    if first != *next {
                        return Ok(());
                    }
                    stopped = false;
                }
                if first < log.next {
                    continue;
                }
                if !std::mem::replace(&mut is_prepared, true) {
                    prepare(families, followed, number, cache)?;
                }
                let end = apply(&batch, batch.sequence(), hints, |id| {
                    Ok(match families.get(&id).and_then(|memtables| memtables.first()) {
                        Some(memtable) if memtable.oldest_log() == number.get() => {
                            Target::MemTable(memtable)
                        }
                        _ => Target::Nowhere,
                    })
                });
                let end = end.map_err(|error| error.in_file(log.reader.path()))?;
                log.next = log.next.max(end);
                *next = (*next).max(end);
            }
            log.is_damaged = log.reader.stopped_by().is_some();
            stopped |= log.is_damaged;
        }
        Ok(())
    }

    pub(super) fn last_sequence(&self) -> SeqNo {
        SeqNo::new(self.next.saturating_sub(1)).unwrap_or(SeqNo::MAX)
    }

    /// What readers of a family are to see: its tables, and the memtables that are not in these yet. Others are forgotten.
    ///
    /// * `moment`: the sequence number up to which it is read.
    pub(super) fn view(
        &mut self,
        family: &FollowedFamily,
        moment: SeqNo,
        cache: &Cache,
    ) -> Result<ReadView> {
        let FollowedFamily { family, version, log_number, .. } = family;
        let memtables = self.families.entry(family.id()).or_default();
        memtables.retain(|memtable| memtable.oldest_log() >= log_number.get());
        if memtables.is_empty() {
            memtables.push(new_memtable(cache, family.key_order(), *log_number)?);
        }
        Ok(ReadView {
            memtable: Arc::clone(&memtables[0]),
            frozen: memtables[1..].into(),
            version: Arc::clone(version),
            moment: Some(moment),
        })
    }

    /// Whether all logs stand where they stood: one that is written over later does not.
    pub(super) fn have_their_names(&self, fs: &dyn FileSystem, dir: &Path) -> Result<bool> {
        for &number in self.logs.keys() {
            if !fs.exists(&FileName::Log(number).in_dir(dir))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Gives each family whose entries of this log are wanted a memtable for it.
fn prepare(
    families: &mut BTreeMap<u32, FamilyMemTables>,
    followed: &Followed,
    log: FileNumber,
    cache: &Cache,
) -> Result<()> {
    for family in followed.families.iter().filter(|family| family.log_number <= log) {
        let memtables = families.entry(family.family.id()).or_default();
        match memtables.first() {
            Some(newest) if newest.oldest_log() == log.get() => continue,
            Some(newest) if newest.is_empty() => drop(memtables.remove(0)),
            _ => {}
        }
        memtables.insert(0, new_memtable(cache, family.family.key_order(), log)?);
    }
    Ok(())
}

impl FollowedLog {
    /// Whether it is read on where it was left, now that it has this many bytes.
    fn goes_on(&self, bytes: u64) -> bool {
        let read = self.readable.load(Ordering::Relaxed);
        read <= bytes && self.reader.end_offset() == read && !self.is_damaged
    }
}
