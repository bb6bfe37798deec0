//! Write-ahead logs: read to their ends, so that what is torn or damaged in them is known.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use partita::io::FileSystem;
use partita::options::WalRecoveryMode;
use partita::version::{FileName, FileNumber};
use partita::wal::{DropReason, Dropped, LogReader, LogReaderOptions};

use crate::model::{Database, LogDamage, LogFile, Problem};

/// Bytes of logs that are read at most, the oldest first, unless everything is to be verified.
const BYTES_MAX: u64 = 256 << 20;
/// Damages of a log that are kept.
const DAMAGES_MAX: usize = 16;

/// Reads the logs that a recovery would read, unless they are very long.
pub(super) fn read(fs: &dyn FileSystem, database: &Database) -> Vec<LogFile> {
    read_up_to(BYTES_MAX, fs, database)
}

/// Reads the logs that a recovery would read.
pub(crate) fn read_all(fs: &dyn FileSystem, database: &Database) -> Vec<LogFile> {
    read_up_to(u64::MAX, fs, database)
}

fn read_up_to(mut left: u64, fs: &dyn FileSystem, database: &Database) -> Vec<LogFile> {
    let mut logs = Vec::new();
    for (number, bytes) in &database.files.logs {
        let mut log = LogFile {
            number: *number,
            bytes: *bytes,
            is_needed: is_needed(database, *number),
            ..LogFile::default()
        };
        if log.is_needed && *bytes > 0 && *bytes <= left {
            left -= *bytes;
            walk(fs, &database.dir, &mut log);
        }
        logs.push(log);
    }
    logs
}

/// Whether some family may have entries in the log that are in no table.
fn is_needed(database: &Database, number: u64) -> bool {
    let kept_from = database.manifest.as_ref().map_or(0, |manifest| manifest.min_log_to_keep);
    let held_from = database.families.iter().map(|family| family.log_number).min().unwrap_or(0);
    number >= held_from.max(kept_from)
}

fn walk(fs: &dyn FileSystem, dir: &Path, log: &mut LogFile) {
    let path = FileName::Log(FileNumber::from(log.number)).in_dir(dir);
    // One that went is not needed any more.
    let Ok(file) = fs.open_sequential(&path) else { return };
    let dropped = Arc::new(Mutex::new(Vec::<Dropped>::new()));
    let reporter = {
        let dropped = Arc::clone(&dropped);
        move |found: &Dropped| {
            let mut dropped = dropped.lock().unwrap_or_else(PoisonError::into_inner);
            if dropped.len() < DAMAGES_MAX {
                dropped.push(found.clone());
            }
        }
    };
    let mode = WalRecoveryMode::SkipAnyCorruptedRecords;
    let options =
        LogReaderOptions { mode, log_number: Some(log.number), ..LogReaderOptions::default() };
    let mut reader = LogReader::new(file, options).with_reporter(reporter);
    loop {
        match reader.read_record() {
            Ok(Some(record)) => {
                log.records += 1;
                log.entries += entries(record.payload);
            }
            Ok(None) => break,
            Err(error) => {
                log.problem = Some(Problem::new(&error));
                break;
            }
        }
    }
    let last_good = reader.end_offset();
    log.was_read = true;
    let dropped = dropped.lock().unwrap_or_else(PoisonError::into_inner);
    log.damages = dropped.iter().filter_map(|found| damage(found, last_good)).collect();
}

/// How many entries a write batch says that it has: behind its sequence number.
fn entries(batch: &[u8]) -> u64 {
    let count = batch.get(8..).and_then(|rest| rest.first_chunk());
    count.map_or(0, |count| u64::from(u32::from_le_bytes(*count)))
}

/// What was dropped, unless that is as it should be.
fn damage(found: &Dropped, last_good: u64) -> Option<LogDamage> {
    if matches!(found.reason, DropReason::OldRecord { .. } | DropReason::IgnoredType(_)) {
        return None;
    }
    Some(LogDamage {
        offset: found.offset,
        bytes: found.bytes,
        reason: found.reason.to_string(),
        // Nothing whole comes behind it.
        is_torn_tail: found.offset >= last_good,
    })
}
