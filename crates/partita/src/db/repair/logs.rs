//! Logs up to damage, and what is lost behind it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

use super::{Lost, RepairWatch};
use crate::batch::{BatchReader, Record};
use crate::error::Result;
use crate::io::FileSystem;
use crate::options::WalRecoveryMode;
use crate::version::{FileName, FileNumber};
use crate::wal::{DropReason, Dropped, LogReader, LogReaderOptions};

/// The part of a log that is used.
#[derive(Debug)]
pub(super) struct LogFront {
    pub(super) number: FileNumber,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) batches: u64,
    /// What of each family stands in it.
    pub(super) families: BTreeMap<u32, Changes>,
}

/// Changes of a family in a log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changes {
    pub(super) count: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) has_operands: bool,
}

/// All logs.
#[derive(Debug, Default)]
pub(super) struct LogsFound {
    pub(super) fronts: Vec<LogFront>,
    pub(super) lost: Vec<Lost>,
    /// The last sequence number in use.
    pub(super) last_sequence: u64,
}

impl LogsFound {
    /// What the logs hold of a family, from a log on.
    pub(super) fn changes_of(
        &self,
        family: u32,
        from: FileNumber,
    ) -> impl Iterator<Item = (FileNumber, Changes)> + '_ {
        let logs = self.fronts.iter().filter(move |log| log.number >= from);
        logs.filter_map(move |log| Some((log.number, *log.families.get(&family)?)))
    }

    /// The first log that has something of a family that tables up to `flushed` have not; `None` if all have.
    ///
    /// A flush takes all that a family has in a log, and what is behind it goes to the next one; so a log of which the tables have
    /// the last change is done with.
    pub(super) fn first_behind(&self, family: u32, flushed: u64) -> Option<FileNumber> {
        let done = self
            .changes_of(family, FileNumber::default())
            .filter(|(_, changes)| changes.last <= flushed);
        done.map(|(number, _)| number.next()).max()
    }

    /// How what the logs hold of a family, from a log on, lies to its tables.
    ///
    /// * `greatest`: the tables' greatest sequence number. `is_compacted`: whether some are of compactions that set numbers to 0,
    ///   so that it does not tell which logs they held.
    pub(super) fn against(
        &self,
        family: u32,
        from: FileNumber,
        greatest: u64,
        is_compacted: bool,
    ) -> Overlap {
        let mut overlap = Overlap::default();
        for (_, changes) in self.changes_of(family, from) {
            overlap.is_mixed |= changes.first <= greatest;
            overlap.operands_may_count_twice |= changes.has_operands;
        }
        overlap.operands_may_count_twice &= overlap.is_mixed || is_compacted;
        overlap
    }
}

/// What is in logs, against what is in tables.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overlap {
    /// Whether something in logs is no newer than all in tables: it may be there as well.
    pub(super) is_mixed: bool,
    pub(super) operands_may_count_twice: bool,
}

/// Reads logs, oldest first.
///
/// * `last_sequence`: of the manifest, or of the tables.
pub(super) fn read_logs(
    fs: &dyn FileSystem,
    dir: &Path,
    numbers: &[FileNumber],
    last_sequence: u64,
    watch: &mut RepairWatch<'_>,
) -> Result<LogsFound> {
    let mut found = LogsFound { last_sequence, ..LogsFound::default() };
    // The log at whose damage it ended, as a place in `lost`.
    let mut stopped: Option<usize> = None;
    // The manifest's number may be further on: of one family tables have come since.
    let mut last_in_logs = last_sequence;
    for &number in numbers {
        let path = FileName::Log(number).in_dir(dir);
        let log = OneLog::read(fs, number, &path, watch)?;
        let goes_on = log.first_sequence == Some(last_in_logs + 1);
        if let Some(at) = stopped {
            if !goes_on {
                let why = "an earlier log is damaged, and this one does not go on where that ends";
                found.lost.extend(log.lost_whole(why));
                continue;
            }
            // Nothing was there.
            if let Some(Lost::LogBytes { torn_end, .. }) = found.lost.get_mut(at) {
                *torn_end = true;
            }
            stopped = None;
        }
        found.last_sequence = found.last_sequence.max(log.last_sequence);
        if log.first_sequence.is_some() {
            last_in_logs = log.last_sequence;
        }
        if let Some(lost) = log.lost {
            stopped = Some(found.lost.len());
            found.lost.push(lost);
        }
        found.fronts.push(log.front);
    }
    Ok(found)
}

struct OneLog {
    front: LogFront,
    file_bytes: u64,
    first_sequence: Option<u64>,
    last_sequence: u64,
    lost: Option<Lost>,
    /// Families of all records that can be read.
    all_families: BTreeSet<u32>,
}

impl OneLog {
    fn read(
        fs: &dyn FileSystem,
        number: FileNumber,
        path: &Path,
        watch: &mut RepairWatch<'_>,
    ) -> Result<Self> {
        let file_bytes = fs.file_len(path)?;
        let mut log = Self {
            front: LogFront {
                number,
                path: path.to_owned(),
                bytes: 0,
                batches: 0,
                families: BTreeMap::new(),
            },
            file_bytes,
            first_sequence: None,
            last_sequence: 0,
            lost: None,
            all_families: BTreeSet::new(),
        };
        let options = LogReaderOptions {
            mode: WalRecoveryMode::SkipAnyCorruptedRecords,
            log_number: Some(number.get()),
            ..LogReaderOptions::default()
        };
        let (sender, dropped) = channel();
        let mut reader =
            LogReader::new(fs.open_sequential(path)?, options).with_reporter(move |dropped| {
                // The receiver outlives the reader.
                let _ = sender.send(Dropped::clone(dropped));
            });
        let mut behind = BTreeSet::new();
        let mut damage = None;
        let mut records_behind = 0_u64;
        while let Some(record) = reader.read_record()? {
            damage = damage.or_else(|| first_damage(&dropped));
            let len = record.payload.len() as u64;
            let batch =
                BatchReader::new(record.payload).and_then(|batch| batch.validate().map(|()| batch));
            match batch {
                Ok(batch) if damage.is_none() => log.take(&batch)?,
                Ok(batch) => {
                    records_behind += 1;
                    behind.extend(batch.records().filter_map(|record| record.ok()?.family()));
                }
                Err(error) => reader.reject(&error)?,
            }
            damage = damage.or_else(|| first_damage(&dropped));
            if damage.is_none() {
                log.front.bytes = reader.end_offset();
            }
            watch(path, len);
        }
        let rest: Vec<Dropped> = dropped.try_iter().collect();
        let recycled = rest.iter().any(|drop| matches!(drop.reason, DropReason::OldRecord { .. }));
        let damage = damage.or_else(|| rest.into_iter().find(is_damage));
        log.all_families.extend(&behind);
        if let Some(damage) = damage {
            let torn = recycled
                || matches!(
                    damage.reason,
                    DropReason::TruncatedHeader
                        | DropReason::TruncatedBody
                        | DropReason::MissingEnd
                );
            log.lost = Some(Lost::LogBytes {
                path: path.to_owned(),
                offset: log.front.bytes,
                bytes: file_bytes.saturating_sub(log.front.bytes),
                families: behind.into_iter().collect(),
                why: format!("at {:#x}: {}", damage.offset, damage.reason),
                torn_end: torn && records_behind == 0,
            });
        }
        Ok(log)
    }

    fn take(&mut self, batch: &BatchReader<'_>) -> Result<()> {
        let first = batch.sequence().get();
        self.first_sequence.get_or_insert(first);
        let mut records = batch.records();
        loop {
            let seqno = first + records.counted();
            let Some(record) = records.next() else { break };
            let record = record?;
            let Some(family) = record.family() else { continue };
            self.all_families.insert(family);
            let changes = self.front.families.entry(family).or_insert(Changes {
                count: 0,
                first: seqno,
                last: seqno,
                has_operands: false,
            });
            changes.count += 1;
            changes.first = changes.first.min(seqno);
            changes.last = changes.last.max(seqno);
            changes.has_operands |= matches!(record, Record::Merge { .. });
        }
        let end = (first + records.counted()).saturating_sub(1);
        self.last_sequence = self.last_sequence.max(end);
        self.front.batches += 1;
        Ok(())
    }

    /// The log, if it holds anything.
    fn lost_whole(self, why: &str) -> Option<Lost> {
        (self.file_bytes > 0).then(|| Lost::LogBytes {
            path: self.front.path,
            offset: 0,
            bytes: self.file_bytes,
            families: self.all_families.into_iter().collect(),
            why: why.to_owned(),
            torn_end: false,
        })
    }
}

fn first_damage(dropped: &Receiver<Dropped>) -> Option<Dropped> {
    dropped.try_iter().find(is_damage)
}

/// Whether something is missing, and not only passed over.
fn is_damage(dropped: &Dropped) -> bool {
    !matches!(dropped.reason, DropReason::OldRecord { .. } | DropReason::IgnoredType(_))
}
