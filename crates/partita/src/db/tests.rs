//! Reading databases that RocksDB 11.8.1 wrote: every one gives what RocksDB's own iterator gave.

use std::ops::Bound;
use std::path::Path;

use partita_testkit::golden;

use super::testing::{backward, forward};
use super::*;
use crate::error::ErrorKind;

fn open(dir: &Path) -> Result<Db> {
    DbBuilder::new(dir).cache(Cache::new(1 << 20)).open_read_only()
}

/// Many keys at once, and floors and ceilings of keys and of what lies between them, against the sorted pairs.
fn compare_neighbors(db: &Db, family: &ColumnFamily, sorted: &[(Vec<u8>, Vec<u8>)], what: &str) {
    let order = family.key_order();
    let keys: Vec<&[u8]> = sorted.iter().rev().map(|(key, _)| &key[..]).collect();
    let values = db.multi_get_cf(family, &keys).unwrap();
    for (value, (_, expected)) in values.iter().zip(sorted.iter().rev()) {
        assert_eq!(value.as_deref(), Some(&expected[..]), "{what}: multi_get");
    }
    let pair =
        |found: Option<KeyValue>| found.map(|found| (found.key.to_vec(), found.value.to_vec()));
    let step = sorted.len() / 500 + 1;
    for (key, _) in sorted.iter().step_by(step) {
        for target in [&key[..], &[key, &b"\0"[..]].concat()] {
            let before = sorted.partition_point(|(key, _)| order.compare(key, target).is_lt());
            let up_to = sorted.partition_point(|(key, _)| order.compare(key, target).is_le());
            for (bound, floor, ceil) in [
                (Bound::Included(target), up_to.checked_sub(1), before),
                (Bound::Excluded(target), before.checked_sub(1), up_to),
            ] {
                let found = pair(db.get_floor_cf(family, bound).unwrap());
                assert_eq!(found.as_ref(), floor.and_then(|at| sorted.get(at)), "{what}: floor");
                let found = pair(db.get_ceil_cf(family, bound).unwrap());
                assert_eq!(found.as_ref(), sorted.get(ceil), "{what}: ceiling");
            }
        }
    }
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
            assert!(forward(&mut iter) == expected, "{} {name}: forward", golden.name());
            assert!(backward(&mut iter) == expected, "{} {name}: backward", golden.name());
            for (key, value) in &expected {
                let got = db.get_cf(&family, key).unwrap();
                assert_eq!(got.as_deref(), Some(&value[..]), "{} {name}: get", golden.name());
                let absent = [key, &b"\0"[..]].concat();
                let is_there = expected.iter().any(|(other, _)| *other == absent);
                assert_eq!(db.get_cf(&family, &absent).unwrap().is_some(), is_there);
            }
            compare_neighbors(&db, &family, &expected, &format!("{} {name}", golden.name()));
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
