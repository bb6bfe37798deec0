//! Families exported and imported.

use std::io::ErrorKind as IoKind;
use std::sync::Arc;

use super::churn_testing::*;
use super::testing::all;
use super::*;
use crate::error::ErrorKind;
use crate::io::{
    CallKind, Fault, FaultFileSystem, ManualClock, ManualScheduler, MemoryFileSystem, Unsynced,
};
use crate::options::ColumnFamilyOptions;
use crate::version::FileName;

fn open(fs: &FaultFileSystem) -> Db {
    let scheduler = Arc::new(ManualScheduler::in_order());
    by_hand(Arc::new(fs.clone()), &small_tables(), &scheduler, &Arc::new(ManualClock::default()))
}

fn config() -> FamilyConfig {
    FamilyConfig { options: Some(small_tables()), ..FamilyConfig::default() }
}

/// A tree of several levels, an ingested table among them, after so many batches.
fn filled(fs: &FaultFileSystem, batches: u32) -> Db {
    let db = open(fs);
    for number in 1..=batches {
        db.write(batch(&db, number), &WriteOptions::default()).unwrap();
        if number % 3 == 0 {
            db.flush().unwrap();
        }
        if number == 6 {
            db.compact_range(&db.family("more").unwrap(), None, None).unwrap();
        }
    }
    db
}

fn state(db: &Db, family: &ColumnFamily) -> State {
    all(db, family).into_iter().collect()
}

const DEFAULT: ImportOptions<'static> =
    ImportOptions { family: "default", transfer: FileTransfer::Copy, verify: true };

#[test]
fn what_was_exported_is_imported_with_its_levels_and_older_than_what_is_written_then() {
    let (disk, fs) = disk();
    let db = filled(&fs, 11);
    let more = db.family("more").unwrap();
    let mut writer = db.sst_file_writer(&more, "/x.sst").unwrap();
    writer.put(b"key05", b"ingested").unwrap();
    writer.finish().unwrap();
    db.ingest(&more, &["/x.sst"], &IngestOptions::default()).unwrap();
    let export = db.export_family(&more, "/exported").unwrap();
    assert_eq!(export.comparator, "leveldb.BytewiseComparator");
    let levels: Vec<u32> = export.files.iter().map(|new| new.level).collect();
    assert!(levels.contains(&0) && levels.iter().any(|level| *level > 0), "{levels:?}");
    let mut expected = state_after(11);
    expected.insert(b"key05".to_vec(), b"ingested".to_vec());
    db.put_cf(&more, b"key05", b"later").unwrap();
    // It is a database.
    let reader = DbBuilder::new("/exported").file_system(Arc::new(disk.clone()));
    let reader = reader.open_read_only().unwrap();
    assert_eq!(state(&reader, &reader.default_family()), expected);
    assert_eq!(reader.default_family().options().target_file_size_base, 700);
    assert!(reader.family("more").is_err());

    // Into the same database, and into one that has seen fewer writes.
    let (other_disk, other_fs) = super::churn_testing::disk();
    copy_dir(&disk, &other_disk, "/exported");
    let other = open(&other_fs);
    for (db, fs) in [(&db, &fs), (&other, &other_fs)] {
        let family = db.create_family_from_import("copy", config(), "/exported", &DEFAULT).unwrap();
        assert_eq!(state(db, &family), expected);
        let version = family.0.family.current();
        let found: Vec<u32> = version.files().map(|(level, _)| level as u32).collect();
        assert_eq!(found, levels);
        // Newer than all of it.
        db.put_cf(&family, b"key05", b"new").unwrap();
        db.delete_cf(&family, b"last").unwrap();
        let mut expected = expected.clone();
        expected.insert(b"key05".to_vec(), b"new".to_vec());
        expected.remove(&b"last"[..]);
        assert_eq!(state(db, &family), expected);
        drop(version);
        db.flush().unwrap();
        assert_eq!(state(db, &family), expected);
        db.compact_range(&family, None, None).unwrap();
        assert_eq!(state(db, &family), expected);
        check_files(db, fs, "after all");
    }
    drop(other);
    let again = FaultFileSystem::new(Arc::new(other_disk.after_crash(Unsynced::Lost)));
    let again = open(&again);
    assert_eq!(again.get_cf(&again.family("copy").unwrap(), b"key05").unwrap().unwrap(), b"new");
}

fn copy_dir(from: &MemoryFileSystem, to: &MemoryFileSystem, dir: &str) {
    to.create_dir_all(dir.as_ref()).unwrap();
    for name in from.list(dir.as_ref()).unwrap() {
        let path = std::path::Path::new(dir).join(name);
        let mut file = to.create(&path).unwrap();
        file.append(&from.read(&path).unwrap()).unwrap();
        file.sync().unwrap();
    }
    to.sync_dir(dir.as_ref()).unwrap();
}

#[test]
fn a_family_of_any_closed_database_can_be_imported_if_its_logs_are_empty() {
    let (_, fs) = disk();
    let db = filled(&fs, 7);
    db.checkpoint("/copy").unwrap();
    db.checkpoint_with("/with-logs", &CheckpointOptions { log_bytes_for_flush: u64::MAX }).unwrap();
    let from_more = ImportOptions { family: "more", transfer: FileTransfer::Link, ..DEFAULT };
    let family = db.create_family_from_import("linked", config(), "/copy", &from_more).unwrap();
    assert_eq!(state(&db, &family), state_after(7));
    db.write(batch_of_last(&db), &WriteOptions::default()).unwrap();
    db.checkpoint_with("/logs", &CheckpointOptions { log_bytes_for_flush: u64::MAX }).unwrap();
    let error = db.create_family_from_import("x", config(), "/logs", &from_more).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains(".log") && error.to_string().contains("flush"), "{error}");
    let moved = ImportOptions { transfer: FileTransfer::Move, ..DEFAULT };
    db.export_family(&db.default_family(), "/exported").unwrap();
    db.create_family_from_import("moved", config(), "/exported", &moved).unwrap();
    let names = fs.list("/exported".as_ref()).unwrap();
    let is_table = |name: &FileName| matches!(name, FileName::Table(_));
    let tables = names.iter().filter_map(|name| FileName::parse(name)).filter(is_table).count();
    assert_eq!(tables, 0, "{names:?}");
}

/// Something for the log.
fn batch_of_last(db: &Db) -> crate::batch::WriteBatch {
    let mut batch = crate::batch::WriteBatch::new();
    batch.put_cf(db.family("more").unwrap().id(), b"k", b"v").unwrap();
    batch
}

#[test]
fn what_cannot_be_imported_is_refused_by_name_and_there_is_no_such_family() {
    let (disk, fs) = disk();
    let db = filled(&fs, 9);
    db.export_family(&db.family("more").unwrap(), "/exported").unwrap();
    let error = db.export_family(&db.default_family(), "/exported").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let refused = |config: FamilyConfig, dir: &str, options: &ImportOptions<'_>, why: &str| {
        let error = db.create_family_from_import("new", config, dir, options).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert!(db.family("new").is_err());
        check_files(&db, &fs, why);
        error.kind()
    };
    use ErrorKind::{Corruption, InvalidArgument};
    let other = ImportOptions { family: "none", ..DEFAULT };
    assert_eq!(refused(config(), "/exported", &other, "\"none\""), InvalidArgument);
    assert_eq!(refused(config(), "/nowhere", &DEFAULT, "/nowhere"), InvalidArgument);
    let mut reverse = small_tables();
    reverse.set("comparator", "rocksdb.ReverseBytewiseComparator").unwrap();
    let reverse = FamilyConfig { options: Some(reverse), ..FamilyConfig::default() };
    let kind = refused(reverse, "/exported", &DEFAULT, "ReverseBytewise");
    assert_eq!(kind, InvalidArgument);
    let flat = ColumnFamilyOptions { num_levels: 1, ..small_tables() };
    let flat = FamilyConfig { options: Some(flat), ..FamilyConfig::default() };
    assert_eq!(refused(flat, "/exported", &DEFAULT, "num_levels"), InvalidArgument);
    let same = db.create_family_from_import("more", config(), "/exported", &DEFAULT).unwrap_err();
    assert!(same.message().contains("exists already"), "{same}");

    let names = disk.list("/exported".as_ref()).unwrap();
    let table = names.iter().find(|name| name.to_string_lossy().ends_with(".sst")).unwrap();
    let path = std::path::Path::new("/exported").join(table);
    let mut bytes = disk.read(&path).unwrap();
    bytes[2] ^= 4;
    // Not in place: it is the same file as the database's.
    disk.remove(&path).unwrap();
    let mut file = disk.create(&path).unwrap();
    file.append(&bytes).unwrap();
    file.flush().unwrap();
    assert_eq!(refused(config(), "/exported", &DEFAULT, "data block"), Corruption);
    disk.remove(&path).unwrap();
    refused(config(), "/exported", &DEFAULT, &table.to_string_lossy());
}

/// A history with an export and an import.
fn history(fs: &FaultFileSystem) -> Result<()> {
    let db = builder(Arc::new(fs.clone()), &small_tables())
        .scheduler(Arc::new(ManualScheduler::in_order()))
        .open()?;
    for number in 1..=3 {
        db.write(batch(&db, number), &WriteOptions::SYNC)?;
    }
    db.flush()?;
    db.write(batch(&db, 4), &WriteOptions::default())?;
    db.export_family(&db.default_family(), "/exported")?;
    db.create_family_from_import("copy", config(), "/exported", &DEFAULT)?;
    Ok(())
}

#[test]
fn cut_at_any_call_an_export_is_whole_or_not_there_and_so_is_an_import() {
    let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
    history(&fs).unwrap();
    let (mut exported, mut imported, mut absent) = (0, 0, 0);
    for cut in (0..fs.calls()).rev() {
        let disk = MemoryFileSystem::new();
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        fs.fail_from(cut, IoKind::Other);
        let result = history(&fs);
        for unsynced in [Unsynced::Lost, Unsynced::Random(cut)] {
            let what = format!("cut at {cut}, {unsynced:?}");
            let after = disk.after_crash(unsynced);
            let is_there = after.exists("/exported".as_ref()).unwrap();
            if is_there {
                exported += 1;
                let reader = DbBuilder::new("/exported").file_system(Arc::new(after.clone()));
                let reader = reader.open_read_only().unwrap_or_else(|e| panic!("{what}: {e}"));
                assert_eq!(state(&reader, &reader.default_family()), state_after(4), "{what}");
            }
            let fs = FaultFileSystem::new(Arc::new(after));
            let mut db = open(&fs);
            if db.family("copy").is_ok() {
                // The options file may not know it yet.
                drop(db);
                let scheduler = Arc::new(ManualScheduler::in_order());
                let builder = builder(Arc::new(fs.clone()), &small_tables()).scheduler(scheduler);
                db = builder.family("copy", config()).open().unwrap();
            }
            match db.family("copy") {
                Err(_) => {
                    absent += u32::from(is_there);
                    assert!(result.is_err(), "{what}");
                }
                Ok(copy) => {
                    imported += 1;
                    assert!(is_there);
                    assert_eq!(state(&db, &copy), state_after(4), "{what}");
                    // What is imported was written; so was, before that, what the database has.
                    assert_eq!(state_of(&db), state_after(4), "{what}");
                }
            }
            check_files(&db, &fs, &what);
        }
    }
    assert!(exported > 30 && imported > 4 && absent > 20, "{exported}, {imported}, {absent}");
}

#[test]
fn a_fault_leaves_neither_directory_nor_family_and_both_can_be_made_again() {
    let mut tried = 0;
    for nth in 0.. {
        let (_, fs) = disk();
        let db = filled(&fs, 3);
        let mut seen = 0;
        fs.set_rule(move |call| {
            let hit = call.kind.changes() && call.kind != CallKind::Remove;
            seen += u64::from(hit);
            (hit && seen == nth + 1).then_some(Fault::Error(IoKind::StorageFull))
        });
        let export = db.export_family(&db.default_family(), "/exported");
        let import = export.as_ref().ok().map(|_| {
            db.create_family_from_import("copy", config(), "/exported", &DEFAULT).map(drop)
        });
        fs.clear_rule();
        if export.is_ok() && import.as_ref().is_some_and(Result::is_ok) {
            break;
        }
        tried += 1;
        // If it was the log that failed.
        db.resume().unwrap();
        if db.family("copy").is_err() {
            if !fs.exists("/exported".as_ref()).unwrap() {
                db.export_family(&db.default_family(), "/exported").unwrap();
            }
            db.create_family_from_import("copy", config(), "/exported", &DEFAULT).unwrap();
        }
        assert_eq!(state(&db, &db.family("copy").unwrap()), state_after(3), "{nth}");
        db.put(b"z", b"").unwrap();
        db.flush().unwrap();
        check_files(&db, &fs, &format!("fault at {nth}"));
    }
    assert!(tried > 20, "{tried}");
}
