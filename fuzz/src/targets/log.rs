//! Logs: any bytes under every recovery mode, and real logs with edits behind right checksums.
//!
//! * Whatever the bytes, reading ends, in memory that they justify, and each record lies where it is said to lie.
//! * All modes read the same records up to the first damage; what is not read is reported.
//! * Records written by any cut of the input come back; cut off, all those before come back.

use std::path::Path;
use std::sync::{Arc, Mutex};

use partita::io::{FileSystem, MemoryFileSystem};
use partita::options::WalRecoveryMode;
use partita::wal::{LogReader, LogReaderOptions, LogWriter, LogWriterOptions};

use crate::choices::Choices;
use crate::meter;

const LOG: &str = "000007.log";
const NUMBER: u64 = 7;
/// A compressed record may expand; this is as far as it may.
const RECORD_BYTES_MAX: usize = 1 << 20;
const MODES: [WalRecoveryMode; 4] = [
    WalRecoveryMode::PointInTime,
    WalRecoveryMode::TolerateCorruptedTailRecords,
    WalRecoveryMode::AbsoluteConsistency,
    WalRecoveryMode::SkipAnyCorruptedRecords,
];

/// The first byte says whether the rest is a log or what to write into one.
pub fn run(bytes: &[u8]) {
    let Some((&what, rest)) = bytes.split_first() else { return };
    if what < 128 {
        read_any(&place(rest, what));
    } else {
        round_trip(rest);
    }
}

/// Shifts the bytes to the neighbourhood of a block's end, where most happens.
fn place(bytes: &[u8], what: u8) -> Vec<u8> {
    match what % 4 {
        0 => [&valid_filler()[..], bytes].concat(),
        _ => bytes.to_vec(),
    }
}

/// A log of one record that leaves 20 bytes of its block.
fn valid_filler() -> Vec<u8> {
    write(&[vec![0x5a; 32_768 - 27]], &LogWriterOptions::default())
}

fn write(records: &[Vec<u8>], options: &LogWriterOptions) -> Vec<u8> {
    let fs = MemoryFileSystem::new();
    let mut writer = LogWriter::new(fs.create(Path::new(LOG)).unwrap(), options).unwrap();
    for record in records {
        writer.add_record(&[record]).unwrap();
    }
    writer.flush().unwrap();
    fs.read(Path::new(LOG)).unwrap()
}

/// The records, whether the log ended as one that is whole, and whether anything was reported.
fn read(log: &[u8], mode: WalRecoveryMode) -> (Vec<Vec<u8>>, bool, bool) {
    let fs = MemoryFileSystem::new();
    let mut file = fs.create(Path::new(LOG)).unwrap();
    file.append(log).unwrap();
    file.flush().unwrap();
    let options =
        LogReaderOptions { mode, log_number: Some(NUMBER), record_bytes_max: RECORD_BYTES_MAX };
    let reported = Arc::new(Mutex::new(0u64));
    let count = Arc::clone(&reported);
    let len = log.len() as u64;
    let mut reader = LogReader::new(fs.open_sequential(Path::new(LOG)).unwrap(), options)
        .with_reporter(move |dropped| {
            assert!(dropped.offset + dropped.bytes <= len, "{dropped:?}");
            assert!(!dropped.reason.to_string().is_empty());
            *count.lock().unwrap() += 1;
        });
    let (mut records, mut end, mut clean) = (Vec::new(), 0, true);
    loop {
        match reader.read_record() {
            Ok(Some(record)) => {
                assert!(record.offset >= end, "records overlap");
                records.push(record.payload.to_vec());
            }
            Ok(None) => break,
            Err(error) => {
                assert!(error.offset().is_some() && error.file().is_some(), "{error}");
                clean = false;
                break;
            }
        }
        assert!(reader.end_offset() > end && reader.end_offset() <= len);
        end = reader.end_offset();
    }
    clean &= reader.stopped_by().is_none();
    drop(reader);
    let reported = *reported.lock().unwrap() > 0;
    (records, clean, reported)
}

fn read_any(log: &[u8]) {
    // The log itself and its copy on the file system, a block, a record with room to grow, a decompressor, messages.
    let limit = 8 * log.len() + 6 * RECORD_BYTES_MAX + (1 << 20);
    let (point_in_time, whole, _) =
        meter::within(limit * 2, || read(log, WalRecoveryMode::PointInTime));
    for mode in MODES {
        let (records, clean, reported) = read(log, mode);
        if mode == WalRecoveryMode::SkipAnyCorruptedRecords {
            assert!(records.starts_with(&point_in_time));
        } else {
            assert_eq!(records, point_in_time, "{mode}");
        }
        if mode == WalRecoveryMode::AbsoluteConsistency {
            assert_eq!(clean, whole);
        }
        assert!(clean || reported || mode == WalRecoveryMode::PointInTime || !whole);
    }
}

fn round_trip(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let options = LogWriterOptions {
        recyclable_as: choices.flag().then_some(NUMBER),
        compressed: choices.flag(),
    };
    let mut records = Vec::new();
    while !choices.is_empty() && records.len() < 16 {
        let len = match choices.byte() % 3 {
            0 => usize::from(choices.byte()),
            1 => 32_700 + usize::from(choices.byte()),
            _ => usize::from(choices.word()),
        };
        let seed = choices.short_bytes();
        let at = |at: usize| seed.get(at % seed.len().max(1)).copied().unwrap_or(at as u8);
        records.push((0..len).map(at).collect::<Vec<u8>>());
    }
    let log = write(&records, &options);
    let cut = choices.long() as usize % (log.len() + 1);
    for mode in MODES {
        assert_eq!(read(&log, mode), (records.clone(), true, false), "{mode}");
        let (found, ..) = read(&log[..cut], mode);
        assert!(records.starts_with(&found), "{mode}");
    }
}

/// Logs of every form, whole and with their special records.
pub fn seeds() -> Vec<Vec<u8>> {
    let records = [b"first".to_vec(), Vec::new(), vec![7; 300]];
    let mut seeds = Vec::new();
    for recyclable_as in [None, Some(NUMBER), Some(5)] {
        for compressed in [false, true] {
            let log = write(&records, &LogWriterOptions { recyclable_as, compressed });
            seeds.push([&[1], &log[..]].concat());
            seeds.push([&[0], &log[..]].concat());
        }
    }
    seeds.push([&[200, 1, 1], &[5; 60][..]].concat());
    seeds.push([&[200, 0, 0], &[4; 60][..]].concat());
    seeds
}
