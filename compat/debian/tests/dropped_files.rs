//! Tables dropped by range: we drop what RocksDB 7.8.3 drops, and it reads what is left.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use partita::db::{BottommostLevel, CompactRangeOptions, DbBuilder};
use partita::io::DiskFileSystem;
use partita::version::{VersionSet, VersionSetOptions};
use partita_compat_debian::directories::{copy, open_with_small_tables};
use partita_compat_debian::ldb;
use partita_compat_rocks::history::{History, key};
use partita_compat_rocks::matrix::Version;
use partita_compat_rocks::sessions::{self, assert_rows, rows_of_all};
use partita_compat_rocks::setups::{FAMILIES, selected};
use partita_compat_rocks::whole::WholeDb;

/// Levels and numbers of the tables of the first family.
fn tables(dir: &Path) -> Vec<(usize, u64)> {
    let options = VersionSetOptions { read_only: true, ..VersionSetOptions::default() };
    let versions = VersionSet::recover(Arc::new(DiskFileSystem), dir, options).unwrap();
    let version = versions.families()[0].current();
    version.files().map(|(level, file)| (level, file.number.get())).collect()
}

#[test]
fn we_drop_the_tables_that_rocksdb_drops() {
    let holder = tempfile::tempdir().unwrap();
    let at = |name: &str| holder.path().join(name);
    let mut dropped = 0;
    let setups = selected(Version::V7_8);
    for (number, setup) in setups.iter().step_by(3).enumerate() {
        let mut history = History::new(setup, 5 + number as u64);
        let (ours, theirs) = (at(&format!("ours{number}")), at(&format!("theirs{number}")));
        let db = open_with_small_tables(&ours, setup, false);
        let families = FAMILIES.map(|name| db.family(name).unwrap());
        for round in 0..4 {
            for _ in 0..100 {
                sessions::write(&db, &families, history.next_batch()).unwrap();
            }
            let how = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
            if round == 1 {
                db.compact_range_with(&families[0], None, None, &how).unwrap();
            }
            db.flush().unwrap();
        }
        // Else it is chance how many tables there are.
        db.wait_for_background_work().unwrap();
        drop((families, db));
        copy(&ours, &theirs);
        let order_is_reverse = setup.family_options().contains("Reverse");
        for _ in 0..12 {
            let (a, b) = (key(history.random.below(1200)), key(history.random.below(1200)));
            let (from, to) = if (a < b) != order_is_reverse { (a, b) } else { (b, a) };
            let before = tables(&ours).len();
            let by_hand = "disable_auto_compactions=true";
            let rocksdb = WholeDb::load(&theirs, &FAMILIES, false, by_hand).unwrap();
            rocksdb.delete_files_in_range(0, &from, &to).unwrap();
            drop(rocksdb);
            let db = open_with_small_tables(&ours, setup, true);
            let range = (Bound::Included(&from[..]), Bound::Included(&to[..]));
            let count = db.delete_files_in_range(&db.default_family(), range).unwrap();
            drop(db);
            dropped += count;
            assert_eq!(tables(&ours).len(), before - count, "{}", setup.name);
            assert_eq!(tables(&ours), tables(&theirs), "{}: {from:?} to {to:?}", setup.name);
        }
        ldb::check_consistency(&ours).unwrap_or_else(|said| panic!("{}: {said}", setup.name));
        let rows = rows_of_all(&DbBuilder::new(&ours).open_read_only().unwrap());
        let expected = rows_of_all(&DbBuilder::new(&theirs).open_read_only().unwrap());
        for ((ours, theirs), family) in rows.iter().zip(&expected).zip(FAMILIES) {
            assert_rows(ours, theirs, setup.name);
            let said = ldb::rows(&at(&format!("ours{number}")), family).unwrap();
            assert_rows(&said, ours, &format!("{}, read by RocksDB", setup.name));
        }
    }
    assert!(dropped > 30 || setups.len() < 20, "{dropped}");
}
