//! Checkpoints: RocksDB 7.8.3 and 9.8.4 open ours, we open RocksDB's, and both consist of the same kinds of files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use partita::db::{CheckpointOptions, DbBuilder};
use partita_compat_debian::{ldb, rocksdict};
use partita_compat_rocks::history::History;
use partita_compat_rocks::matrix::Version;
use partita_compat_rocks::sessions::{self, assert_rows, rows_of_all};
use partita_compat_rocks::setups::{FAMILIES, selected};

/// How many files there are of each kind.
fn kinds(dir: &Path) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let kind = name.trim_matches(|c: char| c.is_ascii_digit()).to_owned();
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

#[test]
fn rocksdb_opens_our_checkpoints_and_we_open_its() {
    let holder = tempfile::tempdir().unwrap();
    let at = |name: &str| holder.path().join(name);
    let mut by_9_8 = 0;
    let setups = selected(Version::V7_8);
    for (number, setup) in setups.iter().step_by(4).enumerate() {
        let mut history = History::new(setup, 77 + number as u64);
        let options = setup.family_options();
        // The wheel has no merge operators of ours, no zlib, and one order.
        let is_plain = !["kZlib", "comparator"].iter().any(|word| options.contains(word));
        history.plain_changes_only = is_plain;
        let dir = at(&format!("db{number}"));
        let mut copies = Vec::new();
        let db = sessions::open(&dir, setup).unwrap();
        let families = FAMILIES.map(|name| db.family(name).unwrap());
        for (round, log_bytes_for_flush) in [0, u64::MAX, 0, u64::MAX].into_iter().enumerate() {
            for _ in 0..60 {
                sessions::write(&db, &families, history.next_batch()).unwrap();
            }
            let copy = at(&format!("copy{number}.{round}"));
            db.checkpoint_with(&copy, &CheckpointOptions { log_bytes_for_flush }).unwrap();
            copies.push((copy, history.all_rows()));
        }
        db.compact_range(&families[0], None, None).unwrap();
        drop((families, db));
        // Theirs, of the same database.
        let theirs = at(&format!("theirs{number}"));
        ldb::on(&dir, &["checkpoint", &format!("--checkpoint_dir={}", theirs.display())]).unwrap();
        let found = rows_of_all(&DbBuilder::new(&theirs).open_read_only().unwrap());
        for (found, expected) in found.iter().zip(history.all_rows()) {
            assert_rows(found, &expected, &format!("{}, RocksDB's checkpoint", setup.name));
        }
        let kinds_of_theirs: Vec<_> = kinds(&theirs).into_keys().collect();
        for (round, (copy, expected)) in copies.iter().enumerate() {
            let name = format!("{}, round {round}", setup.name);
            let kinds = kinds(copy);
            let mut of_ours: Vec<_> = kinds.keys().cloned().collect();
            if round % 2 == 1 {
                assert_eq!(of_ours.remove(0), ".log", "{name}: nothing was flushed");
            }
            assert_eq!(of_ours, kinds_of_theirs, "{name}");
            assert_eq!((kinds["CURRENT"], kinds["MANIFEST-"], kinds["OPTIONS-"]), (1, 1, 1));
            ldb::check_consistency(copy).unwrap_or_else(|said| panic!("{name}: {said}"));
            // 9.8.4 reads the logs of some, 7.8.3 those of the others; what it writes of them 7.8.3 cannot read.
            if is_plain && round >= 2 {
                let rows = rocksdict::open_and_scan(copy, false);
                let rows = rows.unwrap_or_else(|said| panic!("{name}: {said}"));
                assert_rows(&rows, &expected[0], &name);
                by_9_8 += 1;
                continue;
            }
            for (at, family) in FAMILIES.iter().enumerate() {
                let rows = ldb::rows(copy, family).unwrap_or_else(|said| panic!("{name}: {said}"));
                assert_rows(&rows, &expected[at], &name);
            }
        }
    }
    assert!(by_9_8 >= 4 || setups.len() < 20, "{by_9_8}");
}
