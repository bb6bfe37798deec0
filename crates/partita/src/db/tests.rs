//! Reading databases that RocksDB 11.8.1 wrote: every one gives what RocksDB's own iterator gave.

use std::path::Path;

use partita_testkit::golden;

use super::*;
use crate::error::ErrorKind;

fn open(dir: &Path) -> Result<Db> {
    DbBuilder::new(dir).cache(Cache::new(1 << 20)).open_read_only()
}

/// Every file of a directory with its contents.
fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn every_golden_database_is_read_as_rocksdb_read_it_and_left_alone() {
    for golden in golden::all() {
        let before = contents(&golden.path());
        let db = match open(&golden.path()) {
            Ok(db) => db,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
                assert!(["blob-files", "foreign-comparator"].contains(&golden.name()), "{error}");
                continue;
            }
        };
        for name in golden.families() {
            let family = db.family(&name).unwrap();
            let expected = golden.expected(&name);
            let mut iter = db.iter_cf(&family, IterOptions::default()).unwrap();
            let mut found = Vec::new();
            iter.seek_to_first().unwrap();
            while iter.is_valid() {
                found.push((iter.key().to_vec(), iter.value().to_vec()));
                iter.next().unwrap();
            }
            assert!(found == expected, "{} {name}: forward", golden.name());
            found.clear();
            iter.seek_to_last().unwrap();
            while iter.is_valid() {
                found.push((iter.key().to_vec(), iter.value().to_vec()));
                iter.prev().unwrap();
            }
            found.reverse();
            assert!(found == expected, "{} {name}: backward", golden.name());
            for (key, value) in &expected {
                let got = db.get_cf(&family, key).unwrap();
                assert_eq!(got.as_deref(), Some(&value[..]), "{} {name}: get", golden.name());
                let absent = [key, &b"\0"[..]].concat();
                let is_there = expected.iter().any(|(other, _)| *other == absent);
                assert_eq!(db.get_cf(&family, &absent).unwrap().is_some(), is_there);
            }
        }
        drop(db);
        assert!(contents(&golden.path()) == before, "{} was changed", golden.name());
    }
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let error = open(&golden::get("blob-files").path()).unwrap_err().to_string();
    assert!(error.contains("blob files"), "{error}");
    let error = open(&golden::get("foreign-comparator").path()).unwrap_err().to_string();
    assert!(error.contains("omparator"), "{error}");
}
