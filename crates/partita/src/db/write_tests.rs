//! Databases written, closed and opened again.

use std::path::Path;
use std::sync::Arc;

use super::testing::{Pairs, all, forward};
use super::*;
use crate::batch::WriteBatch;
use crate::error::ErrorKind;
use crate::io::{ManualScheduler, MemoryFileSystem};
use crate::options::{ColumnFamilyOptions, ObjectName};
use crate::version::FileName;

const DIR: &str = "/db";

fn options() -> DbOptions {
    DbOptions {
        create_if_missing: true,
        create_missing_column_families: true,
        ..DbOptions::default()
    }
}

fn builder(fs: &(impl FileSystem + Clone + 'static)) -> DbBuilder {
    DbBuilder::new(DIR)
        .file_system(Arc::new(fs.clone()))
        .cache(Cache::new(4 << 20))
        .options(options())
}

/// Families with a merge operator and small memtables. Their tables are those that flushes make.
fn small(write_buffer_size: usize) -> FamilyConfig {
    let options = ColumnFamilyOptions {
        write_buffer_size,
        disable_auto_compactions: true,
        merge_operator: ObjectName::new("StringAppendOperator"),
        ..ColumnFamilyOptions::default()
    };
    FamilyConfig { options: Some(options), ..FamilyConfig::default() }
}

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Pairs {
    pairs.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.as_bytes().to_vec())).collect()
}

fn files(fs: &impl FileSystem) -> Vec<FileName> {
    let names = fs.list(Path::new(DIR)).unwrap();
    names.iter().filter_map(|name| FileName::parse(name)).collect()
}

fn count(fs: &impl FileSystem, is: impl Fn(&FileName) -> bool) -> usize {
    files(fs).iter().filter(|name| is(name)).count()
}

#[test]
fn what_was_written_is_read_and_found_again_by_the_next_open() {
    let disk = MemoryFileSystem::new();
    let expected = pairs([("a", "1"), ("m", "x,y"), ("z", "26")]);
    {
        let db = builder(&disk).family("default", small(1 << 20)).open().unwrap();
        db.put(b"a", b"0").unwrap();
        db.put(b"a", b"1").unwrap();
        db.put(b"b", b"2").unwrap();
        db.put(b"once", b"3").unwrap();
        db.put(b"z", b"26").unwrap();
        db.delete(b"b").unwrap();
        db.single_delete(b"once").unwrap();
        db.put(b"r", b"4").unwrap();
        db.delete_range(b"q", b"s").unwrap();
        db.merge(b"m", b"x").unwrap();
        db.merge(b"m", b"y").unwrap();
        assert_eq!(all(&db, &db.default_family()), expected);
    }
    for round in 0..3 {
        let db = builder(&disk).open().unwrap();
        assert_eq!(all(&db, &db.default_family()), expected, "round {round}");
        assert_eq!(db.get(b"m").unwrap().unwrap(), b"x,y");
        assert!(db.lost_log_bytes().is_empty());
        // What the log held is in one table, and the logs before are gone.
        assert_eq!(count(&disk, |name| matches!(name, FileName::Table(_))), 1);
        assert_eq!(count(&disk, |name| matches!(name, FileName::Log(_))), 1);
        assert_eq!(count(&disk, |name| matches!(name, FileName::Manifest(_))), 1);
        assert!(count(&disk, |name| matches!(name, FileName::Options(_))) <= 2);
    }
}

#[test]
fn a_kept_memtable_keeps_its_log_through_openings() {
    let disk = MemoryFileSystem::new();
    let options = DbOptions { avoid_flush_during_recovery: true, ..options() };
    let builder = builder(&disk).options(options);
    for round in 0..4u8 {
        let db = builder.open().unwrap();
        assert_eq!(all(&db, &db.default_family()).len(), usize::from(round));
        assert_eq!(count(&disk, |name| matches!(name, FileName::Table(_))), 0);
        db.put(&[round], b"v").unwrap();
    }
    let db = builder.open().unwrap();
    db.flush().unwrap();
    // Logs go behind the flush, and before the end.
    drop(db);
    assert_eq!(count(&disk, |name| matches!(name, FileName::Table(_))), 1);
    assert_eq!(count(&disk, |name| matches!(name, FileName::Log(_))), 1);
    let db = builder.open().unwrap();
    assert_eq!(all(&db, &db.default_family()).len(), 4);
}

#[test]
fn opening_does_what_it_was_asked_for_or_changes_nothing() {
    let disk = MemoryFileSystem::new();
    let kind = |builder: DbBuilder| builder.open().unwrap_err().kind();
    assert_eq!(kind(builder(&disk).options(DbOptions::default())), ErrorKind::InvalidArgument);
    assert!(!disk.exists(Path::new(DIR)).unwrap());
    let db = builder(&disk).open().unwrap();
    assert_eq!(kind(builder(&disk)), ErrorKind::Busy);
    drop(db);
    let before = disk.list(Path::new(DIR)).unwrap();
    let only_new = DbOptions { error_if_exists: true, ..options() };
    assert_eq!(kind(builder(&disk).options(only_new)), ErrorKind::InvalidArgument);
    let no_families = DbOptions { create_missing_column_families: false, ..options() };
    let named = builder(&disk).options(no_families).family("more", FamilyConfig::default());
    assert_eq!(kind(named), ErrorKind::InvalidArgument);
    let foreign = ColumnFamilyOptions {
        merge_operator: ObjectName::new("SomebodysOperator"),
        ..ColumnFamilyOptions::default()
    };
    let foreign = FamilyConfig { options: Some(foreign), ..FamilyConfig::default() };
    assert_eq!(kind(builder(&disk).family("default", foreign)), ErrorKind::NotSupported);
    assert_eq!(disk.list(Path::new(DIR)).unwrap(), before);
    // The tables of a database that lost its CURRENT are not overwritten by a new one.
    disk.remove(&FileName::Current.in_dir(Path::new(DIR))).unwrap();
    assert_eq!(kind(builder(&disk)), ErrorKind::InvalidArgument);
}

#[test]
fn files_that_are_not_ours_stay_and_those_of_a_crash_go() {
    let disk = MemoryFileSystem::new();
    drop(builder(&disk).open().unwrap());
    for name in ["notes.txt", "000900.sst.bak", "LOG", "000901.sst", "000902.dbtmp"] {
        disk.create(&Path::new(DIR).join(name)).unwrap();
    }
    let db = builder(&disk).open().unwrap();
    let exists = |name: &str| disk.exists(&Path::new(DIR).join(name)).unwrap();
    assert!(exists("notes.txt") && exists("000900.sst.bak") && exists("LOG"));
    assert!(!exists("000901.sst"));
    db.put(b"k", b"v").unwrap();
    db.flush().unwrap();
    assert!(files(&disk).iter().all(|name| *name != FileName::Table(901.into())));
}

#[test]
fn batches_over_families_are_whole_and_what_cannot_be_inserted_is_refused() {
    let disk = MemoryFileSystem::new();
    let db = builder(&disk).family("more", small(1 << 20)).open().unwrap();
    let more = db.family("more").unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"k", b"default").unwrap();
    batch.put_cf(more.id(), b"k", b"more").unwrap();
    batch.merge_cf(more.id(), b"k", b"again").unwrap();
    db.write(batch.clone(), &WriteOptions::SYNC).unwrap();
    assert_eq!(db.visible_seqno().get(), 3);
    for (kind, add) in [
        (
            ErrorKind::InvalidArgument,
            &(|b: &mut WriteBatch| b.put_cf(9, b"k", b"v"))
                as &dyn Fn(&mut WriteBatch) -> Result<()>,
        ),
        (ErrorKind::InvalidArgument, &|b| b.merge(b"k", b"v")),
        (ErrorKind::InvalidArgument, &|b| b.delete_range(b"z", b"a")),
        (ErrorKind::NotSupported, &|b| {
            b.add(&crate::batch::Record::BlobIndex { family: 0, key: b"k", index: b"" })
        }),
    ] {
        let mut batch = batch.clone();
        batch.put(b"other", b"v").unwrap();
        add(&mut batch).unwrap();
        assert_eq!(db.write(batch, &WriteOptions::default()).unwrap_err().kind(), kind);
    }
    assert_eq!(db.visible_seqno().get(), 3);
    assert_eq!(all(&db, &db.default_family()), pairs([("k", "default")]));
    assert_eq!(all(&db, &more), pairs([("k", "more,again")]));
    drop(db);
    let db = builder(&disk).open().unwrap();
    assert_eq!(all(&db, &db.default_family()), pairs([("k", "default")]));
    assert_eq!(all(&db, &db.family("more").unwrap()), pairs([("k", "more,again")]));
}

#[test]
fn families_are_created_and_dropped_and_their_names_can_come_again() {
    let disk = MemoryFileSystem::new();
    let db = builder(&disk).open().unwrap();
    let first = db.create_family("more", FamilyConfig::default()).unwrap();
    assert!(db.create_family("more", FamilyConfig::default()).is_err());
    db.put_cf(&first, b"k", b"first").unwrap();
    db.flush_cf(&first).unwrap();
    db.put_cf(&first, b"l", b"first").unwrap();
    db.drop_family(&first).unwrap();
    assert_eq!(db.put_cf(&first, b"k", b"v").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(all(&db, &first), pairs([("k", "first"), ("l", "first")]));
    let second = db.create_family("more", FamilyConfig::default()).unwrap();
    assert_eq!(all(&db, &second), []);
    db.put_cf(&second, b"k", b"second").unwrap();
    db.put(b"d", b"1").unwrap();
    drop((db, first));
    let db = builder(&disk).open().unwrap();
    assert_eq!(all(&db, &db.family("more").unwrap()), pairs([("k", "second")]));
    assert_eq!(all(&db, &db.default_family()), pairs([("d", "1")]));
    // The dropped family's table is gone.
    assert_eq!(count(&disk, |name| matches!(name, FileName::Table(_))), 2);
    assert_eq!(
        db.drop_family(&db.default_family()).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
}

#[test]
fn a_snapshot_sees_its_moment_through_flushes() {
    let disk = MemoryFileSystem::new();
    let db = builder(&disk).family("default", small(1 << 20)).open().unwrap();
    let family = db.default_family();
    db.put(b"a", b"1").unwrap();
    db.put(b"b", b"1").unwrap();
    db.merge(b"m", b"1").unwrap();
    let snapshot = db.snapshot();
    db.put(b"a", b"2").unwrap();
    db.delete_range(b"b", b"c").unwrap();
    db.merge(b"m", b"2").unwrap();
    for _ in 0..2 {
        let read = ReadOptions::at(&snapshot);
        let options = IterOptions { read, ..IterOptions::default() };
        assert_eq!(
            forward(&mut db.iter_cf(&family, options).unwrap()),
            pairs([("a", "1"), ("b", "1"), ("m", "1")])
        );
        assert_eq!(db.get_at(&snapshot, &family, b"b").unwrap().unwrap(), b"1");
        assert_eq!(all(&db, &family), pairs([("a", "2"), ("m", "1,2")]));
        db.flush().unwrap();
    }
}

#[test]
fn full_memtables_are_flushed_and_their_logs_removed() {
    let disk = MemoryFileSystem::new();
    let scheduler = Arc::new(ManualScheduler::in_order());
    let builder = builder(&disk).scheduler(scheduler).family("default", small(64 << 10));
    let db = builder.open().unwrap();
    for number in 0..400u32 {
        db.put(&number.to_be_bytes(), &[7; 1000]).unwrap();
        let frozen = db.default_family().0.view.load().frozen.len();
        assert!(frozen <= 1, "{frozen} frozen memtables, and one is written to");
    }
    // Nobody ran the jobs but the writers, when they had to wait.
    let tables = count(&disk, |name| matches!(name, FileName::Table(_)));
    assert!(tables >= 3, "{tables}");
    assert!(count(&disk, |name| matches!(name, FileName::Log(_))) <= 2);
    assert_eq!(all(&db, &db.default_family()).len(), 400);
    drop(db);
    let db = builder.open().unwrap();
    assert_eq!(all(&db, &db.default_family()).len(), 400);
}

#[test]
fn too_much_log_flushes_who_keeps_the_oldest() {
    let disk = MemoryFileSystem::new();
    let options = DbOptions { max_total_wal_size: 100_000, ..options() };
    let scheduler = Arc::new(ManualScheduler::in_order());
    let builder = builder(&disk).options(options).scheduler(scheduler.clone());
    let db = builder.family("more", small(1 << 20)).open().unwrap();
    let more = db.family("more").unwrap();
    db.put_cf(&more, b"k", b"v").unwrap();
    for number in 0..500u32 {
        db.put(&number.to_be_bytes(), &[7; 1000]).unwrap();
        scheduler.run_all();
    }
    db.flush().unwrap();
    assert!(more.0.view.load().memtable.is_empty());
    let tables = count(&disk, |name| matches!(name, FileName::Table(_)));
    assert!(tables >= 3, "without the limit there are two: {tables}");
    assert_eq!(count(&disk, |name| matches!(name, FileName::Log(_))), 1);
}

#[test]
fn what_no_log_has_is_flushed_at_the_end_unless_it_is_not_wanted() {
    for leave in [false, true] {
        let disk = MemoryFileSystem::new();
        let options = DbOptions { avoid_flush_during_shutdown: leave, ..options() };
        let builder = builder(&disk).options(options);
        let db = builder.open().unwrap();
        let mut batch = WriteBatch::new();
        batch.put(b"k", b"v").unwrap();
        let options = WriteOptions { disable_wal: true, ..WriteOptions::default() };
        let both = WriteOptions { sync: true, ..options };
        assert_eq!(db.write(batch.clone(), &both).unwrap_err().kind(), ErrorKind::InvalidArgument);
        db.write(batch, &options).unwrap();
        db.close().unwrap();
        db.close().unwrap();
        assert_eq!(db.put(b"l", b"v").unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(db.get(b"k").unwrap().unwrap(), b"v");
        drop(db);
        assert_eq!(builder.open().unwrap().get(b"k").unwrap().is_none(), leave);
    }
}

/// rocksdb#3480, #5486, #14461: the lengths in the format have 32 bits.
#[test]
fn keys_and_values_of_four_gibibytes_are_refused_and_nothing_is_written() {
    let disk = MemoryFileSystem::new();
    let db = builder(&disk).open().unwrap();
    // Zeros that nobody touches take no memory.
    let large = vec![0u8; 1 << 32];
    for refused in [
        db.put(b"k", &large),
        db.put(&large, b"v"),
        db.delete(&large),
        db.single_delete(&large),
        db.delete_range(b"", &large),
        db.merge(b"k", &large),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("4294967296 bytes"), "{error}");
    }
    assert_eq!(db.visible_seqno().get(), 0);
    db.put(b"k", b"v").unwrap();
}

/// rocksdb#3482: an index block that did not fit in the cache failed the flush, and the database went read-only.
#[test]
fn a_budget_smaller_than_one_block_fails_no_flush() {
    let disk = MemoryFileSystem::new();
    let options =
        ColumnFamilyOptions { write_buffer_size: 64 << 10, ..ColumnFamilyOptions::default() };
    let config = FamilyConfig { options: Some(options), ..FamilyConfig::default() };
    let builder = builder(&disk).cache(Cache::new(2 << 10)).family("default", config);
    let db = builder.open().unwrap();
    for n in 0..1_500u32 {
        db.put(&n.wrapping_mul(2_654_435_761).to_be_bytes(), &n.to_be_bytes()).unwrap();
    }
    db.flush().unwrap();
    for n in (0..1_500u32).step_by(97) {
        let found = db.get(&n.wrapping_mul(2_654_435_761).to_be_bytes()).unwrap().unwrap();
        assert_eq!(found, n.to_be_bytes());
    }
}

/// A memtable that waits for another to be merged with is not due: waiting for it had no end.
#[test]
fn background_work_is_done_while_a_memtable_waits_for_its_partner() {
    let disk = MemoryFileSystem::new();
    let options = ColumnFamilyOptions {
        write_buffer_size: 64 << 10,
        min_write_buffer_number_to_merge: 2,
        max_write_buffer_number: 4,
        ..ColumnFamilyOptions::default()
    };
    let config = FamilyConfig { options: Some(options), ..FamilyConfig::default() };
    let db = builder(&disk).family("default", config).open().unwrap();
    let frozen = |db: &Db| db.default_family().0.view.load().frozen.len();
    for n in 0..10_000u32 {
        db.put(&n.to_be_bytes(), &[7; 100]).unwrap();
        if frozen(&db) == 1 {
            break;
        }
    }
    assert_eq!(frozen(&db), 1);
    let (tell, told) = std::sync::mpsc::channel();
    let waiting = db.clone();
    std::thread::spawn(move || tell.send(waiting.wait_for_background_work()));
    told.recv_timeout(std::time::Duration::from_secs(60)).unwrap().unwrap();
    assert_eq!(frozen(&db), 1);
}
