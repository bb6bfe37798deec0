//! Manifests of which a record is damaged, and what came after it.

use super::*;
use crate::db::{ColumnFamily, IngestOptions};

/// A database whose jobs are done when somebody says so.
fn create(disk: &MemoryFileSystem) -> Db {
    let scheduler = Arc::new(ManualScheduler::in_order());
    by_hand(Arc::new(disk.clone()), &small_tables(), &scheduler, &Arc::new(ManualClock::default()))
}

/// Damages the record that is `from_end` records before the last.
fn damage(disk: &MemoryFileSystem, from_end: usize) {
    let offsets = records(disk);
    let at = offsets[offsets.len() - 1 - from_end];
    rewrite(disk, &path_of(manifest(disk)), |bytes| bytes[at + 8] ^= 1);
}

fn put(db: &Db, family: &ColumnFamily, key: &str) {
    db.put_cf(family, key.as_bytes(), b"value").unwrap();
}

fn keys(db: &Db, family: &str) -> Vec<String> {
    let family = db.family(family).unwrap();
    all(db, &family).into_iter().map(|(key, _)| String::from_utf8(key).unwrap()).collect()
}

#[test]
fn a_flush_counts_although_one_of_another_family_came_before_it_with_newer_entries() {
    let disk = MemoryFileSystem::new();
    let db = create(&disk);
    let more = db.family("more").unwrap();
    put(&db, &db.default_family(), "a");
    put(&db, &more, "b");
    db.flush_cf(&more).unwrap();
    put(&db, &db.default_family(), "c");
    put(&db, &more, "d");
    // Its first log can go now.
    db.flush_cf(&db.default_family()).unwrap();
    put(&db, &db.default_family(), "e");
    db.merge(b"f", b"once").unwrap();
    drop(db);
    damage(&disk, 0);
    let (report, db) = repair(&disk);
    assert!(matches!(report.basis, RepairBasis::Manifest { .. }), "{report:?}");
    assert_eq!(keys(&db, "default"), ["a", "c", "e", "f"], "{report:?}");
    assert_eq!(keys(&db, "more"), ["b", "d"], "{report:?}");
    assert!(!report.has_losses());
}

#[test]
fn operands_in_a_late_table_and_in_a_log_that_is_still_there_count_once() {
    let disk = MemoryFileSystem::new();
    let db = create(&disk);
    let more = db.family("more").unwrap();
    db.merge(b"key", b"1").unwrap();
    db.flush_cf(&more).unwrap();
    // Keeps the second log, and the first one goes.
    put(&db, &more, "x");
    db.flush_cf(&more).unwrap();
    db.merge(b"key", b"2").unwrap();
    put(&db, &more, "y");
    db.flush_cf(&db.default_family()).unwrap();
    db.merge(b"key", b"3").unwrap();
    drop(db);
    damage(&disk, 0);
    let (report, db) = repair(&disk);
    assert_eq!(db.get(b"key").unwrap().unwrap(), b"1,2,3", "{report:?}");
    assert_eq!(keys(&db, "more"), ["x", "y"], "{report:?}");
}

#[test]
fn a_family_created_after_the_damage_is_there_with_its_tables_or_with_its_log_alone() {
    for flushes in [true, false] {
        let disk = MemoryFileSystem::new();
        let db = create(&disk);
        put(&db, &db.default_family(), "a");
        db.flush().unwrap();
        let before = records(&disk).len();
        let ledger = db.create_family("ledger", FamilyConfig::default()).unwrap();
        put(&db, &ledger, "b");
        if flushes {
            db.flush_cf(&ledger).unwrap();
        }
        put(&db, &ledger, "c");
        drop((ledger, db));
        let after = records(&disk).len() - before;
        damage(&disk, after - 1);
        let (report, db) = repair(&disk);
        assert!(matches!(report.basis, RepairBasis::Manifest { .. }), "{report:?}");
        assert_eq!(keys(&db, "ledger"), ["b", "c"], "{report:?}");
        assert!(report.notes.iter().any(|note| note.contains("\"ledger\"")), "{report:?}");
    }
}

#[test]
fn a_file_ingested_after_the_damage_is_told_to_be_lost() {
    let disk = MemoryFileSystem::new();
    let db = create(&disk);
    put(&db, &db.default_family(), "a");
    db.flush().unwrap();
    let family = db.default_family();
    let mut writer = db.sst_file_writer(&family, "/external.sst").unwrap();
    writer.put(b"b", b"ingested").unwrap();
    writer.finish().unwrap();
    db.ingest(&family, &["/external.sst"], &IngestOptions::default()).unwrap();
    drop((family, db));
    damage(&disk, 0);
    let (report, db) = repair(&disk);
    assert_eq!(keys(&db, "default"), ["a"]);
    assert!(matches!(&report.lost[..], [Lost::Table { .. }]), "{report:?}");
}

/// As a crash leaves it, with flushes and compactions of two families one at a time.
#[test]
fn wherever_a_manifest_is_damaged_all_is_there_or_something_is_told() {
    for damaged in 0.. {
        let disk = killed(14, &small_tables());
        // The first two records make the database and its families.
        if damaged + 3 >= records(&disk).len() {
            assert!(damaged > 5, "too few records");
            break;
        }
        damage(&disk, damaged);
        let (report, db) = repair(&disk);
        let is_told = report.has_losses() || report.basis == RepairBasis::Tables;
        assert!(is_told || state_of(&db) == state_after(14), "{damaged}: {report:#?}");
    }
}
