//! Logs written and read back, cut off, damaged, recycled.

use std::path::Path;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::blocks::{Blocks, Found};
use super::format::{BLOCK_BYTES, FragmentType, HEADER_BYTES, RECYCLABLE_HEADER_BYTES, checksum};
use super::*;
use crate::error::{Error, ErrorKind};
use crate::io::{
    CallKind, Fault, FaultFileSystem, FileSystem, MemoryFileSystem, SequentialFile, Unsynced,
    WritableFile,
};
use crate::options::WalRecoveryMode;

const LOG: &str = "000007.log";
const NUMBER: u64 = 7;
const MODES: [WalRecoveryMode; 4] = [
    WalRecoveryMode::TolerateCorruptedTailRecords,
    WalRecoveryMode::AbsoluteConsistency,
    WalRecoveryMode::PointInTime,
    WalRecoveryMode::SkipAnyCorruptedRecords,
];

const FRESH: LogWriterOptions = LogWriterOptions { recyclable_as: None, compressed: false };
const RECYCLABLE: LogWriterOptions =
    LogWriterOptions { recyclable_as: Some(NUMBER), compressed: false };

/// Every form of log.
fn forms() -> [LogWriterOptions; 4] {
    [
        FRESH,
        RECYCLABLE,
        LogWriterOptions { compressed: true, ..FRESH },
        LogWriterOptions { compressed: true, ..RECYCLABLE },
    ]
}

/// Writes records to a new file; returns its bytes and where each record ends.
fn written(options: &LogWriterOptions, records: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
    let fs = MemoryFileSystem::new();
    let mut writer = LogWriter::new(fs.create(Path::new(LOG)).unwrap(), options).unwrap();
    let mut ends = Vec::new();
    for record in records {
        let before = writer.offset();
        let (front, behind) = record.split_at(record.len() / 3);
        let placed = writer.add_record(&[front, b"", behind]).unwrap();
        assert_eq!(placed, Placed { offset: before, bytes: writer.offset() - before });
        ends.push(writer.offset() as usize);
    }
    writer.flush().unwrap();
    (fs.read(Path::new(LOG)).unwrap(), ends)
}

fn file_of(bytes: &[u8]) -> Box<dyn SequentialFile> {
    let fs = MemoryFileSystem::new();
    let mut file = fs.create(Path::new(LOG)).unwrap();
    file.append(bytes).unwrap();
    file.flush().unwrap();
    fs.open_sequential(Path::new(LOG)).unwrap()
}

/// What came of reading a log.
#[derive(Debug)]
struct Read {
    records: Vec<Vec<u8>>,
    dropped: Vec<Dropped>,
    error: Option<Error>,
    stopped: bool,
}

impl Read {
    /// Whether the log ended as one that nothing happened to.
    fn is_clean(&self) -> bool {
        self.error.is_none() && !self.stopped
    }

    fn reasons(&self) -> Vec<&DropReason> {
        self.dropped.iter().map(|dropped| &dropped.reason).collect()
    }
}

fn read_file(file: Box<dyn SequentialFile>, mode: WalRecoveryMode) -> Read {
    let options = LogReaderOptions { mode, log_number: Some(NUMBER), ..Default::default() };
    let dropped = Arc::new(Mutex::new(Vec::new()));
    let reports = Arc::clone(&dropped);
    let mut reader = LogReader::new(file, options)
        .with_reporter(move |dropped| reports.lock().unwrap().push(dropped.clone()));
    let mut records = Vec::new();
    let error = loop {
        match reader.read_record() {
            Ok(Some(record)) => records.push(record.payload.to_vec()),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    assert!(reader.read_record().unwrap().is_none(), "after its end a reader stays there");
    let stopped = reader.stopped_by().is_some();
    drop(reader);
    let dropped = Arc::into_inner(dropped).unwrap().into_inner().unwrap();
    Read { records, dropped, error, stopped }
}

fn read(bytes: &[u8], mode: WalRecoveryMode) -> Read {
    read_file(file_of(bytes), mode)
}

/// A record that says which one it is, and how long.
fn numbered(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (number * 31 + at * 7 + at / 251) as u8).collect()
}

/// One fragment with a right checksum.
fn fragment(kind: u8, log_number: u32, payload: &[u8]) -> Vec<u8> {
    let mut covered = vec![kind];
    if FragmentType(kind).is_recyclable() {
        covered.extend_from_slice(&log_number.to_le_bytes());
    }
    covered.extend_from_slice(payload);
    let mut out = checksum(&covered).to_le_bytes().to_vec();
    out.extend_from_slice(&(payload.len() as u16).to_le_bytes());
    out.extend_from_slice(&covered);
    out
}

fn record_len() -> impl Strategy<Value = usize> {
    prop_oneof![0usize..40, 0usize..3000, 32_700usize..32_800, 0usize..150_000]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn records_come_back_from_every_form(
        form in 0usize..4,
        lens in proptest::collection::vec(record_len(), 0..12),
    ) {
        let records: Vec<Vec<u8>> =
            lens.iter().enumerate().map(|(number, &len)| numbered(number, len)).collect();
        let (bytes, _) = written(&forms()[form], &records);
        for mode in MODES {
            let read = read(&bytes, mode);
            prop_assert!(read.is_clean(), "{:?}", read.error);
            prop_assert_eq!(&read.dropped, &[]);
            prop_assert!(read.records == records);
        }
    }

    /// Damage never makes a record that was not written, nor two of one, nor a wrong order.
    #[test]
    fn damage_only_takes_records_away(
        form in 0usize..4,
        flips in proptest::collection::vec((any::<u32>(), 1u8..=255), 1..4),
        lens in proptest::collection::vec(prop_oneof![0usize..200, 32_000usize..34_000], 1..12),
    ) {
        let records: Vec<Vec<u8>> =
            lens.iter().enumerate().map(|(number, &len)| numbered(number, len)).collect();
        let (mut bytes, _) = written(&forms()[form], &records);
        for (at, flip) in flips {
            let at = at as usize % bytes.len();
            bytes[at] ^= flip;
        }
        for mode in MODES {
            let read = read(&bytes, mode);
            let mut rest = records.iter();
            for record in &read.records {
                prop_assert!(rest.any(|written| written == record), "a record out of nothing");
            }
            if mode != WalRecoveryMode::SkipAnyCorruptedRecords {
                prop_assert_eq!(&read.records[..], &records[..read.records.len()]);
            }
            if read.is_clean() && read.records.len() < records.len() {
                prop_assert!(!read.dropped.is_empty(), "records lost without a word");
            }
        }
    }

    #[test]
    fn any_bytes_are_read_to_their_end(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for mode in MODES {
            read(&bytes, mode);
        }
    }
}

/// A record that ended with its block was once marked as one to be continued (leveldb ports: dain/leveldb#20).
#[test]
fn records_at_every_distance_from_the_end_of_a_block() {
    for options in [FRESH, RECYCLABLE] {
        for first in BLOCK_BYTES - 40..BLOCK_BYTES + 4 {
            for second in [0, 1, 20] {
                let records = [first, second, 3].map(|len| numbered(len, len));
                let (bytes, ends) = written(&options, &records);
                let read = read(&bytes, WalRecoveryMode::AbsoluteConsistency);
                assert!(read.is_clean() && read.records == records, "{first} {second}");
                let header = match options.recyclable_as {
                    Some(_) => RECYCLABLE_HEADER_BYTES,
                    None => HEADER_BYTES,
                };
                if first + header <= BLOCK_BYTES {
                    assert_eq!(ends[0], first + header, "one fragment");
                }
            }
        }
    }
}

/// Appending goes on where the file ends, in the middle of a block.
#[test]
fn a_log_is_gone_on_with() {
    let fs = MemoryFileSystem::new();
    let records = [10, 40_000, 0, 70_000].map(|len| numbered(len, len));
    for (at, record) in records.iter().enumerate() {
        let open = if at == 0 { fs.create(Path::new(LOG)) } else { fs.append(Path::new(LOG)) };
        let mut writer = LogWriter::new(open.unwrap(), &FRESH).unwrap();
        writer.add_record(&[record]).unwrap();
        writer.sync().unwrap();
    }
    let file = fs.open_sequential(Path::new(LOG)).unwrap();
    let read = read_file(file, WalRecoveryMode::AbsoluteConsistency);
    assert!(read.is_clean() && read.records == records);
    let compressed = LogWriterOptions { compressed: true, ..FRESH };
    let error = LogWriter::new(fs.append(Path::new(LOG)).unwrap(), &compressed).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

/// Cut at every byte around a block's end: a prefix of the records is there, and each mode says what it is to say.
#[test]
fn a_log_torn_at_any_byte_gives_the_records_before() {
    for options in forms() {
        let lens = if options.compressed { [200, 20, 0, 300, 9] } else { [32_500, 20, 0, 400, 9] };
        let records: Vec<Vec<u8>> = lens.iter().map(|&len| numbered(len, len)).collect();
        let (bytes, ends) = written(&options, &records);
        // In a compressed log the first record is the one that says so.
        let start = if options.compressed { 0 } else { ends[0] - 20 };
        let special = HEADER_BYTES + 4;
        for cut in start..=bytes.len() {
            let whole = ends.iter().filter(|&&end| end <= cut).count();
            let at_boundary =
                cut == 0 || ends.contains(&cut) || (options.compressed && cut == special);
            for mode in MODES {
                let read = read(&bytes[..cut], mode);
                assert!(read.records == records[..whole], "{options:?} {mode} {cut}");
                let forgives = matches!(
                    mode,
                    WalRecoveryMode::TolerateCorruptedTailRecords
                        | WalRecoveryMode::SkipAnyCorruptedRecords
                );
                assert_eq!(read.is_clean(), at_boundary || forgives, "{options:?} {mode} {cut}");
                assert_eq!(read.dropped.is_empty(), at_boundary, "{options:?} {mode} {cut}");
                let end = read.dropped.iter().map(|dropped| dropped.offset + dropped.bytes).max();
                assert!(at_boundary || end == Some(cut as u64), "every byte is accounted for");
                if let Some(error) = read.error {
                    assert_eq!(mode, WalRecoveryMode::AbsoluteConsistency);
                    assert_eq!(error.kind(), ErrorKind::Corruption);
                    assert!(error.file().is_some() && error.offset().is_some(), "{error}");
                }
            }
        }
    }
}

/// A turned bit is no torn tail: what stands behind it had been written, and its writer been told so.
#[test]
fn no_bit_of_a_log_is_turned_unnoticed() {
    for options in [FRESH, RECYCLABLE] {
        let records = [40, 3, 0, 200, 9].map(|len| numbered(len, len));
        let (bytes, ends) = written(&options, &records);
        for bit in 0..8 * bytes.len() {
            let mut turned = bytes.clone();
            turned[bit / 8] ^= 1 << (bit % 8);
            let before = ends.iter().filter(|&&end| end <= bit / 8).count();
            for mode in MODES {
                let read = read(&turned, mode);
                let what = format!("{options:?} {mode}, bit {bit}: {:?}", read.reasons());
                match mode {
                    // It goes on behind, or does not.
                    WalRecoveryMode::SkipAnyCorruptedRecords => {
                        assert!(read.records.iter().all(|it| records.contains(it)), "{what}");
                    }
                    _ => assert_eq!(read.records, records[..before], "{what}"),
                }
                assert!(!read.dropped.is_empty(), "{what}");
                // Of a recycled file nobody knows where its new life ends.
                let is_noticed = match mode {
                    WalRecoveryMode::SkipAnyCorruptedRecords => false,
                    _ => options.recyclable_as.is_none(),
                };
                assert!(!is_noticed || !read.is_clean(), "{what}");
            }
        }
    }
}

/// Report R07: a log extended with zeros, its last record torn after the first of three fragments.
#[test]
fn a_torn_record_before_zeros_is_a_torn_tail() {
    let records = [numbered(1, 100), numbered(2, 80_000)];
    let (bytes, _) = written(&FRESH, &records);
    let mut padded = bytes[..BLOCK_BYTES].to_vec();
    let cut = padded.clone();
    padded.resize(4 * 1024 * 1024, 0);
    for bytes in [cut, padded] {
        for mode in MODES {
            let read = read(&bytes, mode);
            assert_eq!(read.records, records[..1], "{mode}");
            assert_eq!(read.reasons(), [&DropReason::MissingEnd], "{mode}");
            assert_eq!(read.dropped[0].offset, 107);
            match mode {
                WalRecoveryMode::AbsoluteConsistency => assert_eq!(
                    read.error.unwrap().to_string(),
                    "corruption: 000007.log, log record at 0x6b (32661 bytes): \
                     the end of a record is missing"
                ),
                WalRecoveryMode::PointInTime => assert!(read.stopped),
                _ => assert!(read.is_clean()),
            }
        }
    }
}

#[test]
fn zeros_between_and_behind_records_are_no_damage() {
    let mut bytes = fragment(1, 0, b"one");
    bytes.resize(BLOCK_BYTES, 0);
    bytes.extend(fragment(1, 0, b"two"));
    bytes.resize(3 * BLOCK_BYTES + 5000, 0);
    for mode in MODES {
        let read = read(&bytes, mode);
        assert_eq!(read.records, [b"one", b"two"]);
        assert!(read.is_clean() && read.dropped.is_empty());
    }
}

#[test]
fn what_follows_a_bad_checksum_depends_on_the_mode() {
    let records: Vec<Vec<u8>> = (0..40).map(|number| numbered(number, 3000)).collect();
    let (mut bytes, ends) = written(&FRESH, &records);
    bytes[ends[1] + 100] ^= 1;
    for mode in MODES {
        let read = read(&bytes, mode);
        let DropReason::ChecksumMismatch { stored, computed } = read.dropped[0].reason else {
            panic!("{:?}", read.dropped);
        };
        assert_ne!(stored, computed);
        assert_eq!(read.dropped[0].offset, ends[1] as u64);
        if mode == WalRecoveryMode::SkipAnyCorruptedRecords {
            assert!(read.is_clean());
            // The rest of the block is not trusted, and the record that crosses its end is torn.
            let next = ends.iter().filter(|&&end| end <= BLOCK_BYTES).count() + 1;
            assert!(read.records[..2] == records[..2] && read.records[2..] == records[next..]);
            assert_eq!(read.reasons()[1..], [&DropReason::MissingStart]);
        } else {
            assert_eq!(read.records, records[..2]);
            assert_eq!(read.stopped, mode == WalRecoveryMode::PointInTime);
            assert_eq!(read.error.is_some(), mode != WalRecoveryMode::PointInTime);
        }
    }
}

/// The file of log 5 becomes log 7: what log 7 has not written over is no record of its.
#[test]
fn a_recycled_file_ends_where_its_new_life_does() {
    let old = LogWriterOptions { recyclable_as: Some(5), ..FRESH };
    for old in [old, FRESH] {
        for count in [1, 3, 7, 20] {
            let fs = MemoryFileSystem::new();
            let path = Path::new(LOG);
            let mut writer = LogWriter::new(fs.create(path).unwrap(), &old).unwrap();
            for number in 0..50 {
                writer.add_record(&[&numbered(number, 4000)]).unwrap();
            }
            writer.flush().unwrap();
            let mut writer = LogWriter::new(fs.overwrite(path).unwrap(), &RECYCLABLE).unwrap();
            // As long as the old ones, so that an old header stands behind the last one.
            let len = 4000 + HEADER_BYTES + 4 * usize::from(old.recyclable_as.is_some());
            let records: Vec<Vec<u8>> =
                (0..count).map(|at| numbered(at, len - RECYCLABLE_HEADER_BYTES)).collect();
            for record in &records {
                writer.add_record(&[record]).unwrap();
            }
            writer.flush().unwrap();
            for mode in MODES {
                let read = read_file(fs.open_sequential(path).unwrap(), mode);
                assert_eq!(read.records, records, "{mode}");
                if count == 3 {
                    let expected = DropReason::OldRecord {
                        log_number: old.recyclable_as.map(|number| number as u32),
                    };
                    assert!(read.is_clean(), "{mode} {:?} {:?}", read.error, read.dropped);
                    assert_eq!(read.dropped[0].reason, expected);
                }
            }
        }
    }
}

#[test]
fn a_recyclable_record_in_a_file_that_is_not_is_damage() {
    let bytes = [fragment(1, 0, b"one"), fragment(5, NUMBER as u32, b"two")].concat();
    for mode in MODES {
        let read = read(&bytes, mode);
        assert_eq!(read.records, [b"one"]);
        assert_eq!(read.reasons(), [&DropReason::NotRecycled]);
        assert_eq!(
            read.error.is_some(),
            matches!(
                mode,
                WalRecoveryMode::AbsoluteConsistency
                    | WalRecoveryMode::TolerateCorruptedTailRecords
            )
        );
    }
}

#[test]
fn parts_out_of_place_are_damage() {
    let (first, middle, last) = (2, 3, 4);
    let cases: [(&[u8], DropReason, u64); 4] = [
        (&[middle], DropReason::MissingStart, 0),
        (&[last], DropReason::MissingStart, 0),
        (&[first, first], DropReason::MissingEnd, 0),
        (&[first, 1], DropReason::MissingEnd, 0),
    ];
    for (kinds, reason, offset) in cases {
        let mut bytes: Vec<u8> = kinds.iter().flat_map(|&kind| fragment(kind, 0, b"x")).collect();
        bytes.extend(fragment(1, 0, b"behind"));
        for mode in MODES {
            let read = read(&bytes, mode);
            assert_eq!((&read.dropped[0].reason, read.dropped[0].offset), (&reason, offset));
            let skips = mode == WalRecoveryMode::SkipAnyCorruptedRecords;
            assert_eq!(read.records.last().is_some_and(|record| record == b"behind"), skips);
        }
    }
}

#[test]
fn an_empty_first_part_before_another_start_is_forgiven() {
    let bytes = [fragment(2, 0, b""), fragment(2, 0, b"a"), fragment(4, 0, b"b")].concat();
    for mode in MODES {
        let read = read(&bytes, mode);
        assert!(read.is_clean());
        assert_eq!(read.records, [b"ab"]);
    }
}

#[test]
fn unknown_types_are_passed_over_only_if_they_say_so() {
    let with =
        |kind| [fragment(1, 0, b"a"), fragment(kind, 7, b"?"), fragment(1, 0, b"b")].concat();
    for mode in MODES {
        let ignorable = read(&with(0x84), mode);
        assert!(ignorable.is_clean());
        assert_eq!(ignorable.records, [b"a", b"b"]);
        assert_eq!(ignorable.reasons(), [&DropReason::IgnoredType(0x84)]);
        let unknown = read(&with(0x40), mode);
        assert_eq!(unknown.reasons(), [&DropReason::UnknownType(0x40)]);
        let skips = mode == WalRecoveryMode::SkipAnyCorruptedRecords;
        assert_eq!(unknown.records.len(), 1 + usize::from(skips));
    }
}

#[test]
fn records_about_the_log_are_understood_or_refused() {
    let head = |special: Vec<u8>| [special, fragment(1, 0, b"a")].concat();
    let words = [5u64, 1000, 42].map(u64::to_le_bytes).concat();
    let bytes = head(fragment(130, 0, &words));
    let mut reader = LogReader::new(file_of(&bytes), LogReaderOptions::default());
    assert_eq!(reader.read_record().unwrap().unwrap().payload, b"a");
    let expected = PredecessorWal { log_number: 5, size_bytes: 1000, last_sequence: 42 };
    assert_eq!(reader.predecessor(), Some(expected));

    for (special, named) in [
        (fragment(9, 0, &[4, 0, 0, 0]), "log compression of type 4"),
        (
            fragment(10, 0, &[3, 0, 0, 0, 8, 0]),
            "user-defined timestamps (of 8 bytes in column family 3)",
        ),
    ] {
        for mode in MODES {
            let error = read(&head(special.clone()), mode).error.unwrap();
            assert_eq!(error.kind(), ErrorKind::NotSupported);
            assert_eq!(error.message(), named);
            assert_eq!(error.offset(), Some(0));
        }
    }
    // No timestamps, no compression: nothing to refuse.
    for special in [fragment(10, 0, &[3, 0, 0, 0, 0, 0]), fragment(9, 0, &[0; 4])] {
        let read = read(&head(special), WalRecoveryMode::AbsoluteConsistency);
        assert!(read.is_clean() && read.records == [b"a"]);
    }
    for special in [
        fragment(130, 0, &words[..23]),
        fragment(10, 0, &[3, 0, 0, 0, 8]),
        fragment(9, 0, &[7, 0, 0]),
        [fragment(9, 0, &[7, 0, 0, 0]), fragment(9, 0, &[7, 0, 0, 0])].concat(),
        [fragment(2, 0, b"x"), fragment(130, 0, &words)].concat(),
    ] {
        let read = read(&head(special), WalRecoveryMode::PointInTime);
        assert!(read.stopped && read.records.is_empty());
    }
}

#[test]
fn a_compressed_record_that_is_none_is_damage() {
    let head = fragment(9, 0, &[7, 0, 0, 0]);
    let (good, _) = written(&LogWriterOptions { compressed: true, ..FRESH }, &[numbered(1, 50)]);
    let frame = &good[head.len() + HEADER_BYTES..];
    for payload in [b"no frame".as_slice(), &frame[..frame.len() - 1], b""] {
        let bytes = [&head[..], &fragment(1, 0, payload), &good[head.len()..]].concat();
        let read = read(&bytes, WalRecoveryMode::SkipAnyCorruptedRecords);
        assert!(matches!(read.dropped[0].reason, DropReason::Compression(_)));
        assert_eq!(read.records, [numbered(1, 50)], "the next record is a frame of its own");
    }
}

#[test]
fn a_record_that_expands_too_far_is_damage() {
    let options = LogWriterOptions { compressed: true, ..FRESH };
    let (bytes, _) = written(&options, &[vec![0; 5_000_000]]);
    assert!(bytes.len() < 2000);
    for (most, records) in [(5_000_000, 1), (4_999_999, 0)] {
        let options = LogReaderOptions { record_bytes_max: most, ..Default::default() };
        let mut reader = LogReader::new(file_of(&bytes), options);
        assert_eq!(reader.read_record().unwrap().is_some(), records == 1);
        assert_eq!(reader.stopped_by().is_some(), records == 0);
    }
}

#[test]
fn a_rejected_record_is_damage() {
    let records = [numbered(1, 20), numbered(2, 40_000), numbered(3, 20)];
    let (bytes, ends) = written(&FRESH, &records);
    for mode in MODES {
        let options = LogReaderOptions { mode, ..Default::default() };
        let mut reader = LogReader::new(file_of(&bytes), options);
        reader.read_record().unwrap().unwrap();
        let record = reader.read_record().unwrap().unwrap();
        assert_eq!(record.offset, ends[0] as u64);
        let why = Error::corruption("unknown tag").in_part("write batch").at(12);
        let outcome = reader.reject(&why);
        let goes_on = reader.read_record().unwrap().is_some();
        assert_eq!(goes_on, mode == WalRecoveryMode::SkipAnyCorruptedRecords);
        let stopped = reader.stopped_by().map(ToString::to_string);
        let message = outcome.err().map(|error| error.to_string()).or(stopped);
        assert_eq!(message.is_none(), goes_on);
        if let Some(message) = message {
            let expected = "corruption: 000007.log, log record at 0x1b (40014 bytes): \
                            corruption: write batch at 0xc: unknown tag";
            assert_eq!(message, expected);
        }
    }
}

/// Fewer bytes than asked are no end of the file (google/leveldb#1285).
#[test]
fn short_reads_change_nothing_and_failed_ones_are_errors_in_every_mode() {
    let records: Vec<Vec<u8>> = (0..30).map(|number| numbered(number, 5000)).collect();
    let (bytes, _) = written(&FRESH, &records);
    let disk = MemoryFileSystem::new();
    let mut file = disk.create(Path::new(LOG)).unwrap();
    file.append(&bytes).unwrap();
    file.flush().unwrap();
    for mode in MODES {
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        fs.set_rule(|call| Some(Fault::Short(1 + call.index as usize * 37 % 900)));
        let read = read_file(fs.open_sequential(Path::new(LOG)).unwrap(), mode);
        assert!(read.is_clean() && read.records == records);
        fs.fail_nth(
            CallKind::ReadNext,
            fs.calls_of(CallKind::ReadNext) + 2,
            std::io::ErrorKind::Other,
        );
        let read = read_file(fs.open_sequential(Path::new(LOG)).unwrap(), mode);
        assert_eq!(read.error.unwrap().kind(), ErrorKind::Io);
        assert!(read.records == records[..read.records.len()]);
    }
}

/// Behind a torn record nothing may stand, and nobody is told that it does.
#[test]
fn after_a_failed_call_a_writer_is_done_for() {
    for (kind, nth) in [(CallKind::Write, 2), (CallKind::Flush, 1), (CallKind::Sync, 1)] {
        let disk = MemoryFileSystem::new();
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        fs.set_rule(move |call| {
            let torn = Fault::Torn(11, std::io::ErrorKind::StorageFull);
            (call.kind == kind && call.nth == nth).then_some(torn)
        });
        let mut writer = LogWriter::new(fs.create(Path::new(LOG)).unwrap(), &FRESH).unwrap();
        let mut told = Vec::new();
        for number in 0..5 {
            let record = numbered(number, 100);
            let added = writer.add_record(&[&record]).map(drop);
            if added.and_then(|()| writer.flush()).and_then(|()| writer.sync()).is_ok() {
                told.push(record);
            }
        }
        assert_eq!(told.len() as u64, nth);
        let error = writer.sync().unwrap_err();
        assert_eq!(error.to_string(), "I/O error: 000007.log: an earlier write of this log failed");
        let file = disk.open_sequential(Path::new(LOG)).unwrap();
        let read = read_file(file, WalRecoveryMode::PointInTime);
        assert!(read.records.starts_with(&told) && read.records.len() <= told.len() + 1);
    }
}

/// Writes are few: one for each record, however many parts and fragments it has.
#[test]
fn a_record_is_one_write() {
    let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
    let file: Box<dyn WritableFile> = fs.create(Path::new(LOG)).unwrap();
    let mut writer = LogWriter::new(file, &FRESH).unwrap();
    let before = fs.calls_of(CallKind::Write);
    writer.add_record(&[&[1; 100_000], &[2; 100_000], &[3; 100_000]]).unwrap();
    assert_eq!(fs.calls_of(CallKind::Write) - before, 1);
}

/// RocksDB 7.8 tells a new fragment by its address in a buffer of one block: two in a row must not share it.
#[test]
fn fragments_of_a_compressed_record_never_start_at_the_same_place_in_a_row() {
    let mut seed = 1u32;
    let mut noise = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    };
    let records = [1000, 200_000, 32_768].map(|len| (0..len).map(|_| noise()).collect::<Vec<u8>>());
    for recyclable_as in [None, Some(NUMBER)] {
        let options = LogWriterOptions { recyclable_as, compressed: true };
        let (bytes, _) = written(&options, &records);
        let mut blocks = Blocks::new(file_of(&bytes), Some(NUMBER as u32));
        let (mut last, mut fragments) = (None, 0);
        while let Found::Fragment { payload, .. } = blocks.next().unwrap().found {
            assert_ne!(last, Some(payload.start));
            last = Some(payload.start);
            fragments += 1;
        }
        assert!(fragments > 14, "{fragments}");
    }
}

/// The power fails at every call, and leaves something else each time: what was synced is there, and nothing that was not
/// written is.
#[test]
fn a_power_cut_takes_no_record_that_was_synced() {
    fn history(
        fs: &dyn FileSystem,
        options: &LogWriterOptions,
        synced: &mut usize,
    ) -> crate::error::Result<()> {
        let file = match options.recyclable_as {
            Some(_) => fs.overwrite(Path::new("old.log"))?,
            None => fs.create_new(Path::new("old.log"))?,
        };
        fs.rename(Path::new("old.log"), Path::new(LOG))?;
        fs.sync_dir(Path::new("/"))?;
        let mut writer = LogWriter::new(file, options)?;
        for number in 0..6 {
            writer.add_record(&[&numbered(number, 700 * number)])?;
            if number % 2 == 1 {
                writer.sync()?;
                *synced = number + 1;
            } else {
                writer.flush()?;
            }
        }
        Ok(())
    }
    let records: Vec<Vec<u8>> = (0..6).map(|number| numbered(number, 700 * number)).collect();
    for options in forms() {
        for cut in 0.. {
            let disk = MemoryFileSystem::new();
            if options.recyclable_as.is_some() {
                // An obsolete log to write over.
                let old = LogWriterOptions { recyclable_as: Some(5), ..FRESH };
                let mut writer =
                    LogWriter::new(disk.create(Path::new("old.log")).unwrap(), &old).unwrap();
                for number in 0..9 {
                    writer.add_record(&[&numbered(number, 900)]).unwrap();
                }
                writer.sync().unwrap();
                disk.sync_dir(Path::new("/")).unwrap();
            }
            let fs = FaultFileSystem::new(Arc::new(disk.clone()));
            fs.fail_from(cut, std::io::ErrorKind::Other);
            let mut synced = 0;
            let done = history(&fs, &options, &mut synced).is_ok();
            for seed in 0..20 {
                let unsynced = if seed == 0 { Unsynced::Lost } else { Unsynced::Random(seed) };
                let image = disk.after_crash(unsynced);
                let Ok(file) = image.open_sequential(Path::new(LOG)) else {
                    assert_eq!(synced, 0, "the log's name was synced before its records");
                    continue;
                };
                let read = read_file(file, WalRecoveryMode::PointInTime);
                assert!(read.error.is_none() && read.records.len() >= synced, "{options:?} {cut}");
                assert!(read.records == records[..read.records.len()], "{options:?} {cut}");
            }
            if done {
                assert_eq!(synced, 6);
                break;
            }
        }
    }
}
