//! Logs that RocksDB wrote: every record is read, and what they say agrees with what RocksDB read from its database.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use partita::batch::{BatchReader, Record};
use partita::io::{DiskFileSystem, FileSystem as _, MemoryFileSystem};
use partita::options::WalRecoveryMode;
use partita::wal::{LogReader, LogReaderOptions};
use partita_testkit::golden::{self, GoldenDb};
use std::path::Path;

/// The logs of a database with their numbers, oldest first.
fn logs(db: &GoldenDb) -> Vec<(u64, PathBuf)> {
    let names = DiskFileSystem.list(&db.path()).unwrap();
    let number = |name: &str| name.strip_suffix(".log")?.parse().ok();
    let names = names.iter().filter_map(|name| name.to_str());
    names.filter_map(|name| Some((number(name)?, db.path().join(name)))).collect()
}

/// The payloads of a log's records; nothing may be dropped but what the file's earlier life left.
fn payloads(number: u64, path: &Path) -> Vec<Vec<u8>> {
    let file = DiskFileSystem.open_sequential(path).unwrap();
    let options = LogReaderOptions {
        mode: WalRecoveryMode::AbsoluteConsistency,
        log_number: Some(number),
        ..Default::default()
    };
    let mut reader = LogReader::new(file, options);
    let mut payloads = Vec::new();
    while let Some(record) = reader.read_record().unwrap() {
        payloads.push(record.payload.to_vec());
    }
    payloads
}

/// What the logs of a database say last about each key of a column family.
#[derive(Default)]
struct LastWords {
    /// `None`: the key was removed.
    values: BTreeMap<(u32, Vec<u8>), Option<Vec<u8>>>,
    /// Keys whose value depends on more than the last record.
    merged: BTreeSet<(u32, Vec<u8>)>,
    records: usize,
}

impl LastWords {
    fn of(db: &GoldenDb) -> Self {
        let mut words = Self::default();
        let mut next = None;
        for (number, path) in logs(db) {
            for payload in payloads(number, &path) {
                let batch = BatchReader::new(&payload).unwrap();
                assert!(
                    next.is_none_or(|next| next == batch.sequence().get()),
                    "{}",
                    path.display()
                );
                next = Some(batch.sequence().get() + u64::from(batch.count()));
                for record in batch.records() {
                    words.hear(record.unwrap());
                }
            }
        }
        words
    }

    fn hear(&mut self, record: Record<'_>) {
        self.records += 1;
        match record {
            Record::Put { family, key, value } => {
                self.merged.remove(&(family, key.to_vec()));
                self.values.insert((family, key.to_vec()), Some(value.to_vec()));
            }
            Record::Delete { family, key } | Record::SingleDelete { family, key } => {
                self.merged.remove(&(family, key.to_vec()));
                self.values.insert((family, key.to_vec()), None);
            }
            Record::DeleteRange { family, begin, end } => {
                let range = (family, begin.to_vec())..(family, end.to_vec());
                for (key, value) in self.values.range_mut(range) {
                    *value = None;
                    self.merged.remove(key);
                }
            }
            Record::Merge { family, key, .. } => {
                self.merged.insert((family, key.to_vec()));
            }
            other => panic!("unexpected record {other:?}"),
        }
    }
}

#[test]
fn golden_logs_agree_with_what_rocksdb_read() {
    for (name, at_least) in [
        ("wal-only", 1000),
        ("wal-compressed", 1000),
        ("wal-recycled", 1000),
        ("families-merge-ranges-wal", 1000),
    ] {
        let db = golden::get(name);
        let words = LastWords::of(&db);
        assert!(words.records >= at_least, "{name}: {} records", words.records);
        let mut compared = 0;
        for (family, expected) in ["default", "keys", "openKeys"].iter().enumerate() {
            if !db.families().iter().any(|name| name == expected) {
                continue;
            }
            let expected: BTreeMap<Vec<u8>, Vec<u8>> = db.expected(expected).into_iter().collect();
            for ((_, key), value) in
                words.values.iter().filter(|((number, _), _)| *number == family as u32)
            {
                if !words.merged.contains(&(family as u32, key.clone())) {
                    assert_eq!(expected.get(key), value.as_ref(), "{name} {family} {key:?}");
                    compared += 1;
                }
            }
            if name == "wal-only" {
                let rows = words.values.values().filter(|value| value.is_some()).count();
                assert_eq!(rows, expected.len(), "the log is all there is");
            }
        }
        assert!(compared >= at_least / 4, "{name}: {compared} keys compared");
    }
}

/// RocksDB's logs cut off near each record: the records before are there, whatever the mode.
#[test]
fn golden_logs_torn_anywhere_give_a_prefix() {
    for name in ["wal-only", "wal-compressed", "wal-recycled"] {
        let db = golden::get(name);
        let (number, path) = logs(&db).pop().unwrap();
        let bytes = DiskFileSystem.read(&path).unwrap();
        let whole = payloads(number, &path);
        let fs = MemoryFileSystem::new();
        for cut in (0..bytes.len()).step_by(bytes.len() / 60).chain(33_000..33_010) {
            let mut file = fs.create(Path::new("torn.log")).unwrap();
            file.append(&bytes[..cut]).unwrap();
            file.flush().unwrap();
            for mode in
                [WalRecoveryMode::TolerateCorruptedTailRecords, WalRecoveryMode::PointInTime]
            {
                let options =
                    LogReaderOptions { mode, log_number: Some(number), ..Default::default() };
                let file = fs.open_sequential(Path::new("torn.log")).unwrap();
                let mut reader = LogReader::new(file, options);
                let mut expected = whole.iter();
                while let Some(record) = reader.read_record().unwrap() {
                    assert_eq!(
                        Some(record.payload),
                        expected.next().map(Vec::as_slice),
                        "{name} {cut}"
                    );
                }
                assert!(cut > bytes.len() / 2 || expected.next().is_some());
            }
        }
    }
}
