//! Public reports in which one engine read what another had written: each directory is opened by Partita and by RocksDB 7.8.3, a
//! copy each. `docs/public-reports.md` lists all reports.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use partita::batch::WriteBatch;
use partita::db::{
    BottommostLevel, CheckpointOptions, CompactRangeOptions, Db, DbBuilder, FamilyConfig,
    IngestOptions, ReadOptions, WriteOptions,
};
use partita::io::{DiskFileSystem, FileSystem as _};
use partita::key::SeqNo;
use partita::options::{ColumnFamilyOptions, DbOptions, WalRecoveryMode};
use partita::table::ReadContext;
use partita::wal::{LogWriter, LogWriterOptions};
use partita_compat_debian::directories::copy;
use partita_compat_debian::ldb;
use partita_compat_rocks::Row;
use partita_compat_rocks::db::{self, Op, write_external_file};
use partita_compat_rocks::whole::{LastLevel, WholeDb};

const DEFAULT: [&str; 1] = ["default"];
const QUIET: &str = "disable_auto_compactions=true";

fn creating() -> DbOptions {
    DbOptions { create_if_missing: true, ..DbOptions::default() }
}

fn open_with(dir: &Path, options: &DbOptions, family: ColumnFamilyOptions) -> Db {
    let family = ColumnFamilyOptions { disable_auto_compactions: true, ..family };
    let config = FamilyConfig { options: Some(family), ..FamilyConfig::default() };
    let builder = DbBuilder::new(dir).options(options.clone()).family("default", config);
    builder.open().unwrap_or_else(|error| panic!("{error}"))
}

fn open(dir: &Path) -> Db {
    open_with(dir, &creating(), ColumnFamilyOptions::default())
}

fn rows(db: &Db) -> Vec<Row> {
    let mut iter = db.iter().unwrap();
    let mut rows = Vec::new();
    iter.seek_to_first().unwrap();
    while iter.is_valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next().unwrap();
    }
    rows
}

/// What RocksDB finds in a copy of the directory, forward and backward, and its last sequence number.
fn theirs(dir: &Path, extra: &str) -> Result<(Vec<Row>, u64), String> {
    let holder = tempfile::tempdir().unwrap();
    let path = holder.path().join("db");
    copy(dir, &path);
    let db = WholeDb::load(&path, &DEFAULT, true, &format!("{QUIET};{extra}"))?;
    let found = db.rows_forward(0)?;
    let mut backward = db.rows_backward(0)?;
    backward.reverse();
    assert!(found == backward, "RocksDB's walks differ");
    Ok((found, db.last_sequence()))
}

fn last_log(dir: &Path) -> (u64, PathBuf) {
    let number = |path: &PathBuf| -> Option<u64> {
        path.file_name()?.to_str()?.strip_suffix(".log")?.parse().ok()
    };
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.filter_map(|path| Some((number(&path)?, path))).max().expect("a database has a log")
}

// rocksdb#6245
#[test]
fn r04_an_ingested_file_counts_for_both_over_the_older_ones_beside_it() {
    let holder = tempfile::tempdir().unwrap();
    let at = |name: &str| holder.path().join(name);
    let expected = vec![(b"k".to_vec(), b"b".to_vec())];
    // Ingested by us, read by both; the newest entry is the first of the dump.
    for _ in 0..3 {
        let db = open(&at("ours"));
        db.put(b"k", b"a").unwrap();
        db.close().unwrap();
    }
    write_external_file(&at("1.sst"), "", &expected).unwrap();
    let db = open(&at("ours"));
    let family = db.default_family();
    db.ingest(&family, &[at("1.sst")], &IngestOptions::default()).unwrap();
    assert_eq!(rows(&db), expected);
    db.close().unwrap();
    drop((family, db));
    assert_eq!(theirs(&at("ours"), "").unwrap().0, expected);
    let dump = ldb::on(&at("ours"), &["idump"]).unwrap();
    let first = dump.lines().find(|line| line.contains("seq:")).expect("entries");
    assert!(first.ends_with("=> b"), "{dump}");
    // Ingested by RocksDB, read by us, also after an unrelated flush of either.
    for round in 0..3 {
        let mut rocksdb = db::Db::open(&at("theirs"), "").unwrap();
        rocksdb.apply(&Op::Put(b"k".to_vec(), b"a".to_vec())).unwrap();
        rocksdb.flush().unwrap();
        if round == 2 {
            write_external_file(&at("2.sst"), "", &expected).unwrap();
            rocksdb.ingest(&[at("2.sst")]).unwrap();
        }
    }
    let db = open(&at("theirs"));
    assert_eq!(db.get(b"k").unwrap().unwrap(), b"b");
    db.put(b"unrelated", b"c").unwrap();
    db.flush().unwrap();
    assert_eq!(db.get(b"k").unwrap().unwrap(), b"b");
    db.close().unwrap();
    drop(db);
    let both = [&expected[..], &[(b"unrelated".to_vec(), b"c".to_vec())]].concat();
    assert_eq!(rows(&open(&at("theirs"))), both);
    assert_eq!(theirs(&at("theirs"), "").unwrap().0, both);
}

// rocksdb#11719
#[test]
fn r05_records_of_a_dropped_family_stop_neither() {
    let holder = tempfile::tempdir().unwrap();
    let at = |name: &str| holder.path().join(name);
    let db = open(&at("db"));
    let x = db.create_family("x", FamilyConfig::default()).unwrap();
    for number in 0..10u8 {
        let mut batch = WriteBatch::new();
        batch.put_cf(x.id(), &[number], b"old").unwrap();
        batch.put(&[number], b"kept").unwrap();
        db.write(batch, &WriteOptions::default()).unwrap();
    }
    db.drop_family(&x).unwrap();
    copy(&at("db"), &at("dropped"));
    let again = db.create_family("x", FamilyConfig::default()).unwrap();
    db.put_cf(&again, b"other", b"new").unwrap();
    copy(&at("db"), &at("again"));
    let kept: Vec<Row> = (0..10u8).map(|number| (vec![number], b"kept".to_vec())).collect();
    for (name, families) in [("dropped", &["default"][..]), ("again", &["default", "x"])] {
        copy(&at(name), &at("theirs"));
        let rocksdb = WholeDb::load(&at("theirs"), families, true, QUIET).unwrap();
        assert_eq!(rocksdb.rows_forward(0).unwrap(), kept, "{name}");
        if families.len() == 2 {
            assert_eq!(rocksdb.rows_forward(1).unwrap(), [(b"other".to_vec(), b"new".to_vec())]);
        }
        drop(rocksdb);
        fs::remove_dir_all(at("theirs")).unwrap();
        let db = open(&at(name));
        assert_eq!(rows(&db), kept, "{name}");
        assert_eq!(db.families().len(), families.len());
    }
}

// cockroachdb/pebble#567
#[test]
fn r06_a_log_of_rocksdb_is_never_written_over_and_nothing_in_it_comes_back() {
    const RECORDS: u32 = 5000;
    let key = |number: u32| format!("key{number:05}").into_bytes();
    let holder = tempfile::tempdir().unwrap();
    let at = |name: &str| holder.path().join(name);
    let mut rocksdb = db::Db::open(&at("theirs"), "recycle_log_file_num=0").unwrap();
    for number in 0..RECORDS {
        rocksdb.apply(&Op::Put(key(number), vec![7; 200])).unwrap();
    }
    // As a kill leaves it.
    copy(&at("theirs"), &at("db"));
    let (number, log) = last_log(&at("db"));
    let bytes = fs::read(log).unwrap();
    drop(rocksdb);

    let recycling = DbOptions { recycle_log_file_num: 4, ..creating() };
    let db = open_with(&at("db"), &recycling, ColumnFamilyOptions::default());
    for number in (0..RECORDS).step_by(2) {
        db.delete(&key(number)).unwrap();
    }
    db.flush().unwrap();
    let last = 3u8;
    for number in 0..last {
        db.put(&[b'z', number], b"later").unwrap();
    }
    let (of_ours, log) = last_log(&at("db"));
    assert!(of_ours > number);
    // What was written behind is short, and there is no byte of the other log behind it.
    let now = fs::read(log).unwrap();
    assert!(now.len() < 1000 && !bytes.ends_with(&now[now.len() - 50..]), "{}", now.len());
    copy(&at("db"), &at("killed"));
    let expected: Vec<Row> = (1..RECORDS)
        .step_by(2)
        .map(|number| (key(number), vec![7; 200]))
        .chain((0..last).map(|number| (vec![b'z', number], b"later".to_vec())))
        .collect();
    assert!(rows(&db) == expected);
    drop(db);
    let last_number = u64::from(RECORDS + RECORDS / 2) + u64::from(last);
    let (found, sequence) = theirs(&at("killed"), "").unwrap();
    assert!(found == expected, "RocksDB finds {} rows", found.len());
    assert_eq!(sequence, last_number);
    let db = open_with(&at("killed"), &recycling, ColumnFamilyOptions::default());
    assert!(rows(&db) == expected);
    assert_eq!(db.visible_seqno().get(), last_number);
}

// cockroachdb/pebble#566
#[test]
fn r07_a_record_torn_after_its_first_part_is_the_end_of_a_log_padded_or_not() {
    const BLOCK: usize = 32 << 10;
    let modes = [
        WalRecoveryMode::TolerateCorruptedTailRecords,
        WalRecoveryMode::PointInTime,
        WalRecoveryMode::SkipAnyCorruptedRecords,
        WalRecoveryMode::AbsoluteConsistency,
    ];
    for padded in [false, true] {
        let holder = tempfile::tempdir().unwrap();
        let base = holder.path().join("base");
        drop(db::Db::open(&base, "").unwrap());
        let number = last_log(&base).0 + 10;
        let log = base.join(format!("{number:06}.log"));
        let file = DiskFileSystem.create_new(&log).unwrap();
        let mut writer = LogWriter::new(file, &LogWriterOptions::default()).unwrap();
        let mut expected = Vec::new();
        let mut add = |sequence: u64, key: &[u8], value: Vec<u8>| {
            let mut batch = WriteBatch::new();
            batch.put(key, &value).unwrap();
            batch.set_sequence(SeqNo::new(sequence).unwrap());
            writer.add_record(&[batch.as_bytes()]).unwrap();
            (key.to_vec(), value)
        };
        for sequence in 1..=10u8 {
            expected.push(add(sequence.into(), &[sequence], vec![sequence; 100]));
        }
        // Three blocks, of which the first is there.
        add(11, b"torn", vec![7; 80_000]);
        writer.sync().unwrap();
        drop(writer);
        let mut bytes = fs::read(&log).unwrap();
        assert!(bytes.len() > 2 * BLOCK);
        bytes.truncate(BLOCK);
        bytes.resize(if padded { 4 << 20 } else { BLOCK }, 0);
        fs::write(&log, bytes).unwrap();
        for mode in modes {
            let name = format!("{mode}, padded {padded}");
            let dir = holder.path().join("ours");
            copy(&base, &dir);
            let options = DbOptions { wal_recovery_mode: mode, ..creating() };
            let opened = DbBuilder::new(&dir).options(options).open();
            let told = theirs(&base, &format!("wal_recovery_mode={mode}"));
            match opened {
                Ok(db) => {
                    assert_ne!(mode, WalRecoveryMode::AbsoluteConsistency);
                    assert_eq!(rows(&db), expected, "{name}");
                }
                Err(error) => {
                    assert_eq!(mode, WalRecoveryMode::AbsoluteConsistency, "{error}");
                    assert!(error.is_corruption(), "{error}");
                    assert_eq!(error.file().unwrap().file_name(), log.file_name());
                    assert!(error.offset().is_some(), "{error}");
                }
            }
            // RocksDB refuses in one mode what we take: the zeros behind the part are damage to it there.
            let stricter = padded && mode == WalRecoveryMode::TolerateCorruptedTailRecords;
            match told {
                Ok((found, _)) => assert_eq!(found, expected, "{name}: RocksDB's"),
                Err(said) => {
                    let strict = mode == WalRecoveryMode::AbsoluteConsistency;
                    assert!(strict || stricter, "{name}: RocksDB says {said}");
                }
            }
            fs::remove_dir_all(dir).unwrap();
        }
    }
    // Ours never shows a length that was not written.
    let holder = tempfile::tempdir().unwrap();
    let dir = holder.path().join("db");
    let db = open(&dir);
    for number in 0..50u8 {
        db.put(&[number], &[number; 100]).unwrap();
        let (_, log) = last_log(&dir);
        let len = fs::metadata(&log).unwrap().len();
        assert_eq!(len, 123 * (u64::from(number) + 1), "{}", log.display());
    }
}

// cockroachdb/pebble#26, rocksdb#4432
#[test]
fn r12_a_range_tombstone_over_the_border_of_files_is_read_alike_in_every_state_between() {
    let value = |text: &str| [text.as_bytes(), &[7; 300]].concat();
    let every_entry_a_table =
        || ColumnFamilyOptions { target_file_size_base: 1, ..ColumnFamilyOptions::default() };
    let expected = vec![(b"a".to_vec(), value("1")), (b"d".to_vec(), value("0"))];
    let mut states = 0;
    for first in [&b"a"[..], b"c", b"cc"] {
        let holder = tempfile::tempdir().unwrap();
        let dir = holder.path().join("db");
        let db = open_with(&dir, &creating(), every_entry_a_table());
        for key in ["a", "b", "c", "cc", "d"] {
            db.put(key.as_bytes(), &value("0")).unwrap();
        }
        db.compact_range(&db.default_family(), None, None).unwrap();
        db.put(b"a", &value("1")).unwrap();
        db.put(b"c", &value("old")).unwrap();
        let old = db.snapshot();
        db.put(b"c", &value("new")).unwrap();
        let new = db.snapshot();
        db.delete_range(b"b", b"d").unwrap();
        let mut check = |what: &str| {
            assert_eq!(rows(&db), expected, "{what}");
            for (snapshot, text) in [(&old, "old"), (&new, "new")] {
                let (family, read) = (db.default_family(), ReadOptions::at(snapshot));
                let found = db.get_with(&family, b"c", &read, &mut ReadContext::default()).unwrap();
                assert_eq!(found.unwrap(), value(text), "{what}");
            }
            let (found, _) = theirs(&dir, "").unwrap_or_else(|said| panic!("{what}: {said}"));
            assert_eq!(found, expected, "{what}: RocksDB's");
            states += 1;
        };
        check("in the log");
        db.flush().unwrap();
        check("flushed");
        for (from, what) in [(first, "one side compacted"), (b"c", "the other, too")] {
            db.compact_range(&db.default_family(), Some(from), Some(from)).unwrap();
            check(what);
        }
        let all = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
        db.compact_range_with(&db.default_family(), None, None, &all).unwrap();
        check("all compacted");
    }
    assert_eq!(states, 15);

    // The same with tables of RocksDB, held apart by its snapshots, which we compact one after the other.
    let holder = tempfile::tempdir().unwrap();
    let dir = holder.path().join("theirs");
    let mut rocksdb =
        WholeDb::create(&dir, "", &DEFAULT, &format!("{QUIET};target_file_size_base=1")).unwrap();
    let write = |db: &WholeDb, op: Op| {
        db.write(&[partita_compat_rocks::whole::Change { family: 0, op }]).unwrap();
    };
    for key in ["a", "b", "c", "cc", "d"] {
        write(&rocksdb, Op::Put(key.into(), value("0")));
    }
    rocksdb.compact(0, LastLevel::Force);
    write(&rocksdb, Op::Put(b"a".to_vec(), value("1")));
    write(&rocksdb, Op::Put(b"c".to_vec(), value("old")));
    rocksdb.take_snapshot();
    write(&rocksdb, Op::Put(b"c".to_vec(), value("new")));
    rocksdb.take_snapshot();
    write(&rocksdb, Op::DeleteRange(b"b".to_vec(), b"d".to_vec()));
    rocksdb.flush(0).unwrap();
    copy(&dir, &holder.path().join("flushed"));
    rocksdb.compact(0, LastLevel::Skip);
    copy(&dir, &holder.path().join("compacted"));
    drop(rocksdb);
    for name in ["flushed", "compacted"] {
        let dir = holder.path().join(name);
        let db = open_with(&dir, &creating(), every_entry_a_table());
        assert_eq!(rows(&db), expected, "{name}");
        for from in [&b"c"[..], b"a", b"cc", b"d"] {
            db.compact_range(&db.default_family(), Some(from), Some(from)).unwrap();
            assert_eq!(rows(&db), expected, "{name}, compacted from {from:?}");
            assert_eq!(theirs(&dir, "").unwrap().0, expected, "{name}: RocksDB's");
        }
    }
}

// rocksdb#12670
#[test]
fn r16_checkpoints_under_writers_open_in_the_strict_mode_of_both() {
    const WRITERS: usize = 8;
    const CHECKPOINTS: usize = 40;
    const PARTS: usize = 4;
    let holder = tempfile::tempdir().unwrap();
    let dir = holder.path().join("db");
    let db = open_with(
        &dir,
        &creating(),
        ColumnFamilyOptions { write_buffer_size: 2 << 20, ..ColumnFamilyOptions::default() },
    );
    let done = AtomicBool::new(false);
    let acknowledged: [AtomicUsize; WRITERS] = Default::default();
    let mut taken = Vec::new();
    std::thread::scope(|scope| {
        for (writer, acknowledged) in acknowledged.iter().enumerate() {
            let (db, done) = (&db, &done);
            scope.spawn(move || {
                let mut number = 0usize;
                // So many that a checkpoint that fails ends the test, not the disk.
                while !done.load(Ordering::Relaxed) && number < 4000 {
                    let mut batch = WriteBatch::new();
                    for part in 0..PARTS {
                        let len = 200 + (number * 7919 + part * 104_729) % 5000;
                        let key = format!("{writer}.{number:06}.{part}");
                        batch.put(key.as_bytes(), &vec![part as u8; len]).unwrap();
                    }
                    db.write(batch, &WriteOptions::default()).unwrap();
                    number += 1;
                    acknowledged.store(number, Ordering::Release);
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            });
        }
        for number in 0..CHECKPOINTS {
            let before: Vec<usize> =
                acknowledged.iter().map(|count| count.load(Ordering::Acquire)).collect();
            let path = holder.path().join(format!("checkpoint{number}"));
            let log_bytes_for_flush = if number % 4 == 3 { 0 } else { u64::MAX };
            let made = db.checkpoint_with(&path, &CheckpointOptions { log_bytes_for_flush });
            if made.is_err() {
                done.store(true, Ordering::Relaxed);
            }
            made.unwrap();
            taken.push((path, before));
        }
        done.store(true, Ordering::Relaxed);
    });
    let strict = "wal_recovery_mode=kAbsoluteConsistency";
    for (number, (path, before)) in taken.iter().enumerate() {
        let mode = WalRecoveryMode::AbsoluteConsistency;
        let options = DbOptions { wal_recovery_mode: mode, ..DbOptions::default() };
        // Each second one by RocksDB alone, before we have recovered it.
        let found = if number % 2 == 0 {
            theirs(path, strict).unwrap_or_else(|said| panic!("checkpoint {number}: {said}")).0
        } else {
            rows(&DbBuilder::new(path).options(options).open().unwrap())
        };
        let mut parts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (key, _) in &found {
            let text = std::str::from_utf8(key).unwrap();
            let fields: Vec<usize> = text.split('.').map(|field| field.parse().unwrap()).collect();
            *parts.entry((fields[0], fields[1])).or_default() += 1;
        }
        assert!(parts.values().all(|count| *count == PARTS), "checkpoint {number}: half a batch");
        for (writer, before) in before.iter().enumerate() {
            let numbers: Vec<usize> =
                parts.keys().filter(|(of, _)| *of == writer).map(|(_, number)| *number).collect();
            assert_eq!(numbers, (0..numbers.len()).collect::<Vec<_>>(), "checkpoint {number}");
            assert!(numbers.len() >= *before, "checkpoint {number}: {} of {before}", numbers.len());
        }
    }
}
