//! Exported families are databases that RocksDB 7.8.3 opens; families of RocksDB's databases are imported, and RocksDB reads what
//! they became.

use std::path::Path;

use partita::db::{DbBuilder, FamilyConfig, FileTransfer, ImportOptions, IngestOptions};
use partita_compat_debian::ldb;
use partita_compat_rocks::history::History;
use partita_compat_rocks::matrix::Version;
use partita_compat_rocks::sessions::{self, assert_rows};
use partita_compat_rocks::setups::{FAMILIES, Setup, selected};
use partita_compat_rocks::whole::{LastLevel, WholeDb};

/// A database that RocksDB made, with tables on several levels and nothing in its log.
fn make_theirs(dir: &Path, setup: &Setup, history: &mut History) {
    let rocksdb = WholeDb::create(dir, setup.db, &FAMILIES, &setup.family_options()).unwrap();
    for round in 0..120 {
        rocksdb.write(&history.next_batch()).unwrap();
        if round == 60 {
            rocksdb.compact(1, LastLevel::Force);
        }
    }
    for family in 0..FAMILIES.len() {
        rocksdb.flush(family).unwrap();
    }
}

#[test]
fn rocksdb_opens_exports_and_reads_what_was_imported_from_its_own() {
    let holder = tempfile::tempdir().unwrap();
    let at = |name: &str| holder.path().join(name);
    for (number, setup) in selected(Version::V7_8).iter().step_by(3).enumerate() {
        let mut history = History::new(setup, 33 + number as u64);
        let theirs = at(&format!("theirs{number}"));
        make_theirs(&theirs, setup, &mut history);
        let expected = history.rows(1);

        let (ours, exported) = (at(&format!("ours{number}")), at(&format!("exported{number}")));
        let mut of_ours = History::new(setup, 34 + number as u64);
        let db = sessions::open(&ours, setup).unwrap();
        let families = FAMILIES.map(|name| db.family(name).unwrap());
        for _ in 0..30 {
            sessions::write(&db, &families, of_ours.next_batch()).unwrap();
        }
        let config = || FamilyConfig {
            options: Some(setup.our_family_options()),
            ..FamilyConfig::default()
        };
        let transfer = [FileTransfer::Copy, FileTransfer::Link][number % 2];
        let from = ImportOptions { family: FAMILIES[1], transfer, ..ImportOptions::default() };
        // Its last log is empty, or holds what is in tables: opening it once sees to that.
        drop(DbBuilder::new(&theirs).open().unwrap());
        let imported = db
            .create_family_from_import("imported", config(), &theirs, &from)
            .unwrap_or_else(|error| panic!("{}: {error}", setup.name));
        // Something newer over it, in a table that has one number for all.
        let file = at(&format!("external{number}"));
        let mut writer = db.sst_file_writer(&imported, &file).unwrap();
        let first = &expected[0].0;
        writer.put(first, b"ingested").unwrap();
        writer.finish().unwrap();
        db.ingest(&imported, &[&file], &IngestOptions::default()).unwrap();
        let mut expected = expected.clone();
        expected[0].1 = b"ingested".to_vec();
        db.export_family(&imported, &exported).unwrap();
        let last = &expected.last().unwrap().0;
        db.put_cf(&imported, last, b"later").unwrap();
        drop((families, imported, db));

        // The export is as it was.
        ldb::check_consistency(&exported).unwrap_or_else(|said| panic!("{}: {said}", setup.name));
        let rows = ldb::rows(&exported, "default").unwrap();
        assert_rows(&rows, &expected, &format!("{}, exported", setup.name));
        expected.last_mut().unwrap().1 = b"later".to_vec();
        let names = [FAMILIES[0], FAMILIES[1], "imported"];
        let rocksdb = WholeDb::load(&ours, &names, false, "").unwrap();
        assert_rows(&rocksdb.rows_forward(2).unwrap(), &expected, setup.name);
        for (at, rows) in of_ours.all_rows().iter().enumerate() {
            assert_rows(&rocksdb.rows_forward(at).unwrap(), rows, setup.name);
        }
        rocksdb.compact(2, LastLevel::Force);
        assert_rows(&rocksdb.rows_forward(2).unwrap(), &expected, setup.name);
        for (key, value) in &expected {
            assert_eq!(rocksdb.get(2, key).unwrap().as_ref(), Some(value), "{}", setup.name);
        }
    }
}
