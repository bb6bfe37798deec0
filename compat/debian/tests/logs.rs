//! Logs and write batches against RocksDB 7.8.3: its bytes are ours, it replays our logs, we replay its, torn or not; and
//! its lock and ours exclude each other.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use partita::ErrorKind;
use partita::batch::{BatchReader, Record, WriteBatch};
use partita::io::{DiskFileSystem, FileSystem as _};
use partita::key::SeqNo;
use partita::options::WalRecoveryMode;
use partita::wal::{LogReader, LogReaderOptions, LogWriter, LogWriterOptions};
use partita_compat_debian::ldb;
use partita_compat_debian::random::Random;
use partita_compat_rocks::batch::Families;
use partita_compat_rocks::db::{Db, Op};

#[test]
fn random_batches_have_the_bytes_of_rocksdb() {
    let dir = tempfile::tempdir().unwrap();
    let families = Families::create(&dir.path().join("db"), 200).unwrap();
    let mut random = Random(1);
    for _ in 0..2000 {
        let fields: Vec<_> = (0..random.below(12))
            .map(|_| {
                let family = [0, 1, random.below(201) as u32][random.below(3)];
                let most = [0, 10, 300][random.below(3)];
                (random.below(6), family, random.bytes(most), random.bytes(most))
            })
            .collect();
        let records: Vec<Record<'_>> = fields
            .iter()
            .map(|(shape, family, key, other)| {
                let family = *family;
                match shape {
                    0 => Record::Put { family, key, value: other },
                    1 => Record::Delete { family, key },
                    2 => Record::SingleDelete { family, key },
                    3 => Record::DeleteRange { family, begin: key, end: other },
                    4 => Record::Merge { family, key, operand: other },
                    _ => Record::LogData(key),
                }
            })
            .collect();
        let mut batch = WriteBatch::new();
        for record in &records {
            batch.add(record).unwrap();
        }
        let theirs = families.encode(&records);
        assert_eq!(batch.as_bytes(), theirs);
        assert_eq!(WriteBatch::from_bytes(theirs).unwrap(), batch);
    }
}

fn last_log(db: &Path) -> (u64, PathBuf) {
    let number = |path: &PathBuf| -> Option<u64> {
        path.file_name()?.to_str()?.strip_suffix(".log")?.parse().ok()
    };
    let paths = fs::read_dir(db).unwrap().map(|entry| entry.unwrap().path());
    paths.filter_map(|path| Some((number(&path)?, path))).max().expect("a database has a log")
}

/// Every form of log that we write, replayed by RocksDB into the rows that it should hold.
#[test]
fn rocksdb_replays_our_logs() {
    for (form, recyclable, compressed) in [
        ("fresh", false, false),
        ("recyclable", true, false),
        ("compressed", false, true),
        ("both", true, true),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        drop(Db::open(&path, "").unwrap());
        let number = last_log(&path).0 + 10;
        let log = path.join(format!("{number:06}.log"));
        let options = LogWriterOptions { recyclable_as: recyclable.then_some(number), compressed };
        let mut writer =
            LogWriter::new(DiskFileSystem.create_new(&log).unwrap(), &options).unwrap();
        let mut random = Random(number);
        let mut rows = BTreeMap::new();
        let mut sequence = 1;
        for at in 0..300 {
            let mut batch = WriteBatch::new();
            for _ in 0..=random.below(4) {
                let key = format!("key{:04}", random.below(500)).into_bytes();
                if random.below(5) == 0 {
                    batch.delete(&key).unwrap();
                    rows.remove(&key);
                } else {
                    // Some records take several blocks.
                    let most = if at % 50 == 7 { 100_000 } else { 300 };
                    let value = random.bytes(most);
                    batch.put(&key, &value).unwrap();
                    rows.insert(key, value);
                }
            }
            batch.set_sequence(SeqNo::new(sequence).unwrap());
            sequence += u64::from(batch.count());
            let header = WriteBatch::header(batch.sequence(), batch.count());
            writer.add_record(&[&header, batch.record_bytes()]).unwrap();
        }
        writer.sync().unwrap();
        let dumped = ldb::dump_wal(&log).unwrap_or_else(|error| panic!("{form}: {error}"));
        assert!(!dumped.iter().any(|line| line.contains("orruption")), "{form}: {dumped:?}");
        let lines = dumped.iter().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        assert_eq!(lines.count(), 300, "{form}");
        let hex = |bytes: &[u8]| -> String {
            bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02X}"))
        };
        let expected: Vec<String> =
            rows.iter().map(|(key, value)| format!("{} : {}", hex(key), hex(value))).collect();
        let scanned = ldb::scan(&path).unwrap_or_else(|error| panic!("{form}: {error}"));
        assert!(scanned == expected, "{form}: {} rows and {}", scanned.len(), expected.len());
    }
}

/// What a log of one write a record says.
fn ops_of(log: &Path, number: u64, mode: WalRecoveryMode) -> (Vec<Op>, bool) {
    let options = LogReaderOptions { mode, log_number: Some(number), ..Default::default() };
    let mut reader = LogReader::new(DiskFileSystem.open_sequential(log).unwrap(), options);
    let mut ops = Vec::new();
    while let Some(record) = reader.read_record().unwrap() {
        for record in BatchReader::new(record.payload).unwrap().records() {
            ops.push(match record.unwrap() {
                Record::Put { key, value, .. } => Op::Put(key.to_vec(), value.to_vec()),
                Record::Merge { key, operand, .. } => Op::Merge(key.to_vec(), operand.to_vec()),
                Record::Delete { key, .. } => Op::Delete(key.to_vec()),
                Record::SingleDelete { key, .. } => Op::SingleDelete(key.to_vec()),
                Record::DeleteRange { begin, end, .. } => {
                    Op::DeleteRange(begin.to_vec(), end.to_vec())
                }
                other => panic!("{other:?}"),
            });
        }
    }
    (ops, reader.stopped_by().is_some())
}

fn random_ops(random: &mut Random, count: usize, most: usize) -> Vec<Op> {
    let mut op = |at: usize| {
        let key = format!("key{:04}", random.below(500)).into_bytes();
        match random.below(6) {
            0 => Op::Delete(key),
            // RocksDB watches that single and other deletes of one key are not mixed.
            1 => Op::SingleDelete(format!("single{at}").into_bytes()),
            2 => Op::DeleteRange(key.clone(), [&key[..], b"x"].concat()),
            3 => Op::Merge(key, random.bytes(20)),
            _ => Op::Put(key, random.bytes(most)),
        }
    };
    (0..count).map(&mut op).collect()
}

#[test]
fn we_replay_the_logs_of_rocksdb() {
    for options in [
        "",
        "wal_compression=kZSTD",
        "recycle_log_file_num=2",
        "recycle_log_file_num=2;wal_compression=kZSTD",
    ] {
        let options = format!("merge_operator=stringappend;{options}");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let mut db = Db::open(&path, &options).unwrap();
        let mut random = Random(7);
        // With recycling, the third log is written over the first.
        for round in 0..4 {
            let ops = random_ops(&mut random, 400 - 60 * round, 2000);
            for op in &ops {
                db.apply(op).unwrap();
            }
            let (number, log) = last_log(&path);
            let (found, stopped) = ops_of(&log, number, WalRecoveryMode::AbsoluteConsistency);
            assert!(
                !stopped && found == ops,
                "{options} {round}: {} and {}",
                found.len(),
                ops.len()
            );
            db.flush().unwrap();
        }
    }
}

/// A log of RocksDB's, cut at every byte: always a prefix, and a torn tail never goes unnoticed in the point-in-time mode.
#[test]
fn a_log_of_rocksdb_torn_at_any_byte_gives_a_prefix() {
    for options in ["", "wal_compression=kZSTD"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let mut db = Db::open(&path, options).unwrap();
        let mut random = Random(3);
        let ops: Vec<Op> = (0..30)
            .map(|at| Op::Put(vec![at], random.bytes(if at == 10 { 70_000 } else { 60 })))
            .collect();
        for op in &ops {
            db.apply(op).unwrap();
        }
        let (number, log) = last_log(&path);
        let bytes = fs::read(&log).unwrap();
        let torn = dir.path().join("torn.log");
        let (mut seen, mut silent) = (0, 0);
        let near =
            |cut: &usize| cut % 32_768 < 40 || cut % 32_768 > 32_720 || cut.is_multiple_of(97);
        for cut in (0..=bytes.len()).filter(|cut| *cut < 3000 || *cut == bytes.len() || near(cut)) {
            fs::write(&torn, &bytes[..cut]).unwrap();
            let (found, stopped) = ops_of(&torn, number, WalRecoveryMode::PointInTime);
            assert!(found[..] == ops[..found.len()], "{options} {cut}");
            assert!(found.len() >= seen, "{options} {cut}");
            silent += usize::from(!stopped);
            let tolerant = ops_of(&torn, number, WalRecoveryMode::TolerateCorruptedTailRecords);
            assert_eq!(tolerant, (found.clone(), false));
            seen = found.len();
        }
        assert_eq!(seen, ops.len());
        // Nothing tells that records are missing only where the cut falls between two: at most once for each record,
        // before the first, and behind the record that says that the log is compressed.
        assert!((1..=ops.len() + 2).contains(&silent), "{options}: {silent}");
    }
}

#[test]
fn the_lock_of_rocksdb_and_ours_exclude_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let db = Db::open(&path, "").unwrap();
    let lock = path.join("LOCK");
    assert_eq!(DiskFileSystem.lock(&lock).unwrap_err().kind(), ErrorKind::Busy);
    drop(db);
    let held = DiskFileSystem.lock(&lock).unwrap();
    // In this process and in another one.
    assert!(Db::open(&path, "").is_err());
    let put = ["put", "k", "v"];
    let db_argument = format!("--db={}", path.display());
    let error = ldb::run(&[&[db_argument.as_str()][..], &put].concat()).unwrap_err();
    assert!(error.contains("lock"), "{error}");
    drop(held);
    drop(Db::open(&path, "").unwrap());
    assert_eq!(ldb::scan(&path).unwrap(), Vec::<String>::new());
}
