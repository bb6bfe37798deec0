//! Databases of RocksDB 7.8.3 and of ours, damaged and repaired: both engines open the result with the same rows, as far as nothing
//! is said to be lost.

use std::fs;
use std::path::{Path, PathBuf};

use partita::db::{DbBuilder, RepairBasis, RepairOptions, RepairReport};
use partita::io::{DiskFileSystem, FileSystem};
use partita::version::{FileName, ManifestReader};
use partita_compat_debian::{directories, ldb};
use partita_compat_rocks::Row;
use partita_compat_rocks::history::History;
use partita_compat_rocks::matrix::Version;
use partita_compat_rocks::sessions::{self, assert_rows, rows_of_all};
use partita_compat_rocks::setups::{FAMILIES, Setup, selected};
use partita_compat_rocks::whole::{LastLevel, WholeDb};

/// A database that RocksDB made and was killed with, with tables on several levels and logs.
fn make_theirs(dir: &Path, setup: &Setup, history: &mut History) {
    let running = dir.with_extension("running");
    let rocksdb = WholeDb::create(&running, setup.db, &FAMILIES, &setup.family_options()).unwrap();
    for round in 0..90 {
        rocksdb.write(&history.next_batch()).unwrap();
        match round {
            30 => rocksdb.compact(1, LastLevel::Force),
            60 => rocksdb.flush(0).unwrap(),
            _ => {}
        }
    }
    directories::copy(&running, dir);
}

fn make_ours(dir: &Path, setup: &Setup, history: &mut History) {
    let running = dir.with_extension("running");
    let db = sessions::open(&running, setup).unwrap();
    let families = FAMILIES.map(|name| db.family(name).unwrap());
    for round in 0..90 {
        sessions::write(&db, &families, history.next_batch()).unwrap();
        match round {
            30 => db.compact_range(&families[1], None, None).unwrap(),
            60 => db.flush_cf(&families[0]).unwrap(),
            _ => {}
        }
    }
    directories::copy(&running, dir);
}

fn named(dir: &Path, is_wanted: impl Fn(FileName) -> bool) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().and_then(FileName::parse).is_some_and(&is_wanted))
        .collect();
    paths.sort_unstable();
    paths
}

/// What is done to a directory.
#[derive(Clone, Copy, Debug)]
enum Damage {
    None,
    EmptyCurrent,
    NoManifest,
    /// In so many records from the last one on, backwards.
    DamagedManifest(usize),
}

impl Damage {
    const ALL: [Self; 7] = [
        Self::None,
        Self::EmptyCurrent,
        Self::NoManifest,
        Self::DamagedManifest(0),
        Self::DamagedManifest(1),
        Self::DamagedManifest(2),
        Self::DamagedManifest(3),
    ];

    fn apply(self, dir: &Path) {
        let manifest = named(dir, |name| matches!(name, FileName::Manifest(_))).pop().unwrap();
        match self {
            Self::None => {}
            Self::EmptyCurrent => fs::write(dir.join("CURRENT"), "").unwrap(),
            Self::NoManifest => fs::remove_file(manifest).unwrap(),
            Self::DamagedManifest(from_end) => {
                let mut reader =
                    ManifestReader::new(DiskFileSystem.open_sequential(&manifest).unwrap());
                let mut offsets = Vec::new();
                while let Some(found) = reader.next_edit().unwrap() {
                    offsets.push(found.offset as usize);
                }
                let mut bytes = fs::read(&manifest).unwrap();
                bytes[offsets[offsets.len() - 1 - from_end]] ^= 1;
                fs::write(&manifest, bytes).unwrap();
            }
        }
    }
}

fn repair(dir: &Path, to: &Path) -> RepairReport {
    let options = RepairOptions { force: true };
    DbBuilder::new(dir).repair_to(to, &options, &mut |_, _| {}).unwrap()
}

/// Leaves nothing in logs that is in tables, too, and no tables beside those that they became. Without a manifest nobody can tell
/// such things apart once a compaction has set sequence numbers to 0: operands count twice, and what was deleted comes back.
fn settle(dir: &Path, setup: &Setup) {
    let db = sessions::open(dir, setup).unwrap();
    db.flush().unwrap();
    db.wait_for_background_work().unwrap();
    db.close().unwrap();
}

/// Both engines read the rows, RocksDB after it merged everything, too.
fn check(dir: &Path, setup: &Setup, expected: &[Vec<Row>], what: &str) {
    ldb::check_consistency(dir).unwrap_or_else(|said| panic!("{what}: {said}"));
    let db = sessions::open(dir, setup).unwrap();
    for (found, expected) in rows_of_all(&db).iter().zip(expected) {
        assert_rows(found, expected, &format!("{what}, ours"));
    }
    drop(db);
    let rocksdb = WholeDb::load(dir, &FAMILIES, false, "").unwrap();
    for (at, expected) in expected.iter().enumerate() {
        assert_rows(&rocksdb.rows_forward(at).unwrap(), expected, what);
        rocksdb.compact(at, LastLevel::Force);
        assert_rows(&rocksdb.rows_forward(at).unwrap(), expected, &format!("{what}, compacted"));
        for (key, value) in expected {
            assert_eq!(rocksdb.get(at, key).unwrap().as_ref(), Some(value), "{what}");
        }
    }
}

#[test]
fn repaired_databases_have_the_same_rows_in_both_engines() {
    let holder = tempfile::tempdir().unwrap();
    let (mut by_tables, mut checked, mut uncertain) = (0, 0, 0);
    for (number, setup) in selected(Version::V7_8).iter().step_by(4).enumerate() {
        for theirs in [true, false] {
            let mut history = History::new(setup, 91 + number as u64);
            let dir = holder.path().join(format!("{number}-{theirs}"));
            match theirs {
                true => make_theirs(&dir, setup, &mut history),
                false => make_ours(&dir, setup, &mut history),
            }
            for damage in Damage::ALL {
                let what = format!("{}, theirs: {theirs}, {damage:?}", setup.name);
                let broken = dir.with_extension(format!("{damage:?}"));
                directories::copy(&dir, &broken);
                if matches!(damage, Damage::NoManifest) {
                    settle(&broken, setup);
                }
                damage.apply(&broken);
                let to = broken.with_extension(format!("{damage:?}-repaired"));
                let report = repair(&broken, &to);
                by_tables += u32::from(report.basis == RepairBasis::Tables);
                assert!(!report.has_losses(), "{what}: {report:?}");
                // Compactions hide which logs their inputs held. That is told, and operands may count twice.
                if report.notes.iter().any(|note| note.contains("count twice")) {
                    uncertain += 1;
                    continue;
                }
                checked += 1;
                check(&to, setup, &history.all_rows(), &what);
            }
        }
    }
    assert!(by_tables > 0);
    assert!(checked > uncertain && uncertain > 0, "{checked} {uncertain}");
}
