//! Databases that Partita wrote, read by RocksDB 7.8.3, written on by it, and read by Partita again.

use std::collections::BTreeMap;
use std::path::Path;

use partita::batch::WriteBatch;
use partita::db::{Db, DbBuilder, FamilyConfig, IterOptions, WriteOptions};
use partita::options::DbOptions;
use partita_compat_debian::ldb;
use partita_compat_rocks::Row;

const FAMILIES: [&str; 2] = ["default", "more"];

fn open(dir: &Path) -> Db {
    let options = DbOptions {
        create_if_missing: true,
        create_missing_column_families: true,
        ..DbOptions::default()
    };
    let builder = DbBuilder::new(dir).options(options);
    FAMILIES
        .iter()
        .fold(builder, |builder, name| builder.family(name, FamilyConfig::default()))
        .open()
        .unwrap()
}

fn open_recycling(dir: &Path) -> Db {
    let options =
        DbOptions { create_if_missing: true, recycle_log_file_num: 2, ..DbOptions::default() };
    DbBuilder::new(dir).options(options).open().unwrap()
}

/// A copy of the directory as a kill would leave it now: RocksDB must not find our lock.
fn killed(dir: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn rows(db: &Db, family: &str) -> Vec<Row> {
    let mut iter = db.iter_cf(&db.family(family).unwrap(), IterOptions::default()).unwrap();
    let mut rows = Vec::new();
    iter.seek_to_first().unwrap();
    while iter.is_valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next().unwrap();
    }
    rows
}

/// Puts, deletions, single deletions and range deletions of a seeded history, some flushed, some in the log.
fn write(db: &Db, seed: u64, maps: &mut [BTreeMap<Vec<u8>, Vec<u8>>; 2]) {
    let mut state = seed;
    let mut below = |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    for number in 0..2_000u64 {
        let which = below(2) as usize;
        let (id, map) = (db.family(FAMILIES[which]).unwrap().id(), &mut maps[which]);
        let key = below(500).to_be_bytes().to_vec();
        let mut batch = WriteBatch::new();
        match below(20) {
            0..=13 => {
                let value = vec![number as u8; below(200) as usize];
                batch.put_cf(id, &key, &value).unwrap();
                map.insert(key, value);
            }
            14..=16 => {
                batch.delete_cf(id, &key).unwrap();
                map.remove(&key);
            }
            17 => {
                let end =
                    (below(40) + u64::from_be_bytes(key[..8].try_into().unwrap())).to_be_bytes();
                batch.delete_range_cf(id, &key, &end).unwrap();
                map.retain(|other, _| *other < key || other[..] >= end[..]);
            }
            _ => {
                let once = [b"once", &seed.to_be_bytes()[..], &number.to_be_bytes()].concat();
                batch.put_cf(id, &once, b"1").unwrap();
                batch.single_delete_cf(id, &once).unwrap();
            }
        }
        let sync = number % 500 == 0;
        db.write(batch, &WriteOptions { sync, ..WriteOptions::default() }).unwrap();
        if number == 1_500 {
            db.flush().unwrap();
        }
    }
}

#[test]
fn what_partita_writes_goes_to_rocksdb_and_back() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("db");
    let mut maps: [BTreeMap<Vec<u8>, Vec<u8>>; 2] = Default::default();
    for round in 0..3 {
        let db = open(&dir);
        for (map, name) in maps.iter().zip(FAMILIES) {
            let expected: Vec<Row> = map.clone().into_iter().collect();
            assert!(rows(&db, name) == expected, "round {round}, {name}, from RocksDB");
        }
        write(&db, round, &mut maps);
        db.close().unwrap();
        drop(db);
        ldb::check_consistency(&dir).unwrap();
        for (map, name) in maps.iter().zip(FAMILIES) {
            let expected: Vec<Row> = map.clone().into_iter().collect();
            assert!(
                ldb::rows(&dir, name).unwrap() == expected,
                "round {round}, {name}, to RocksDB"
            );
        }
        // RocksDB writes and compacts.
        let key = format!("zz{round}");
        ldb::on(&dir, &["put", &key, "rocksdb"]).unwrap();
        maps[0].insert(key.into_bytes(), b"rocksdb".to_vec());
        ldb::on(&dir, &["compact"]).unwrap();
    }
}

/// Logs that were written over have records of their earlier life behind the last one, in whatever place that ends.
#[test]
fn rocksdb_reads_logs_that_we_recycled() {
    let dir = tempfile::tempdir().unwrap();
    let db_dir = dir.path().join("db");
    let mut map: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let db = open_recycling(&db_dir);
    let mut number = 0u64;
    for round in 0..12u64 {
        // A long log first, which later ones do not fill.
        for _ in 0..if round == 0 { 400 } else { 20 + 7 * round } {
            number += 1;
            let key = (number % 50).to_be_bytes().to_vec();
            let value = vec![number as u8; 100 + (number as usize * 31) % 2_000];
            db.put(&key, &value).unwrap();
            map.insert(key, value);
        }
        let copy = dir.path().join(format!("killed{round}"));
        // A copy takes its time, in which no file may go.
        db.wait_for_background_work().unwrap();
        killed(&db_dir, &copy);
        let expected: Vec<Row> = map.clone().into_iter().collect();
        assert!(ldb::rows(&copy, "default").unwrap() == expected, "round {round}, to RocksDB");
        // RocksDB writes behind what it replayed, and we read that.
        ldb::on(&copy, &["put", "zz", "rocksdb"]).unwrap();
        let back = open_recycling(&copy);
        assert_eq!(rows(&back, "default").len(), expected.len() + 1);
        drop(back);
        db.flush().unwrap();
    }
    db.close().unwrap();
    drop(db);
    let expected: Vec<Row> = map.into_iter().collect();
    ldb::check_consistency(&db_dir).unwrap();
    assert!(ldb::rows(&db_dir, "default").unwrap() == expected);
    assert!(rows(&open_recycling(&db_dir), "default") == expected);
}
