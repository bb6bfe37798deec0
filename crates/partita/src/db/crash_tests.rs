//! A short history, cut at every call of the file system.

use std::io::ErrorKind as IoKind;
use std::sync::Arc;

use super::testing::all;
use super::*;
use crate::batch::WriteBatch;
use crate::error::ErrorKind;
use crate::io::{CallKind, FaultFileSystem, ManualScheduler, MemoryFileSystem, Unsynced};

fn open(fs: &(impl FileSystem + Clone + 'static)) -> Result<Db> {
    let options = DbOptions {
        create_if_missing: true,
        create_missing_column_families: true,
        ..DbOptions::default()
    };
    DbBuilder::new("/db")
        .file_system(Arc::new(fs.clone()))
        .cache(Cache::new(4 << 20))
        .scheduler(Arc::new(ManualScheduler::in_order()))
        .options(options)
        .family("more", FamilyConfig::default())
        .open()
}

/// What was acknowledged.
#[derive(Default)]
struct Acknowledged {
    written: u32,
    synced: u32,
}

/// The batch of this number: one entry in each of two families.
fn batch(db: &Db, number: u32) -> Result<WriteBatch> {
    let mut batch = WriteBatch::new();
    batch.put(&number.to_be_bytes(), b"value")?;
    batch.put_cf(db.family("more")?.id(), &number.to_be_bytes(), b"value")?;
    Ok(batch)
}

/// Two openings; batches of which every third is synced, an empty one that is, and flushes.
fn history(fs: &FaultFileSystem, acknowledged: &mut Acknowledged) -> Result<()> {
    for opening in 0..2 {
        let db = open(fs)?;
        for step in 0..6 {
            let number = acknowledged.written + 1;
            let sync = step % 3 == 2;
            db.write(batch(&db, number)?, &WriteOptions { sync, ..WriteOptions::default() })?;
            acknowledged.written = number;
            if sync {
                acknowledged.synced = number;
            }
            if step == 3 {
                db.write(WriteBatch::new(), &WriteOptions::SYNC)?;
                acknowledged.synced = number;
            }
            if step == 4 && opening == 0 {
                db.flush_cf(&db.family("more")?)?;
            }
            if step == 4 && opening == 1 {
                db.flush()?;
            }
        }
    }
    Ok(())
}

/// The numbers of the batches that are there, which must be all up to some number, in both families.
fn found(db: &Db, what: &str) -> u32 {
    let numbers = |family: &str| -> Vec<u32> {
        let Ok(family) = db.family(family) else { return Vec::new() };
        let number = |key: Vec<u8>| u32::from_be_bytes(key.try_into().unwrap());
        all(db, &family).into_iter().map(|(key, _)| number(key)).collect()
    };
    let default = numbers("default");
    assert_eq!(default, numbers("more"), "{what}: half a batch");
    let count = default.len() as u32;
    assert_eq!(default, (1..=count).collect::<Vec<_>>(), "{what}: a hole");
    count
}

#[test]
fn a_cut_at_any_call_loses_nothing_synced_and_leaves_whole_batches() {
    let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
    history(&fs, &mut Acknowledged::default()).unwrap();
    let calls = fs.calls();
    assert!(calls > 100, "{calls}");
    for cut in 0..calls {
        let disk = MemoryFileSystem::new();
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        fs.fail_from(cut, IoKind::Other);
        let mut acknowledged = Acknowledged::default();
        // Cut at the very end, it may not notice.
        let _ = history(&fs, &mut acknowledged);
        let other = [Unsynced::Kept, Unsynced::KeptUpTo(9), Unsynced::Random(cut)];
        for unsynced in [Unsynced::Lost, other[cut as usize % 3]] {
            let what = format!("cut at call {cut}, {unsynced:?}");
            let after = disk.after_crash(unsynced);
            // Now and then once more, and on.
            for round in 0..1 + u32::from(cut % 4 == 0) {
                let db = open(&after).unwrap_or_else(|error| panic!("{what}, {round}: {error}"));
                let count = found(&db, &what);
                let least = match unsynced {
                    Unsynced::Kept => acknowledged.written,
                    _ => acknowledged.synced,
                };
                assert!(count >= least, "{what}: {count} of {least}");
                assert!(count <= acknowledged.written + 1, "{what}: {count}");
                // And it can be written on.
                if round == 1 {
                    let next = count + 1;
                    db.write(batch(&db, next).unwrap(), &WriteOptions::SYNC).unwrap();
                    assert_eq!(found(&db, &what), next);
                }
            }
        }
    }
}

#[test]
fn after_a_failed_sync_writes_are_refused_with_the_cause_and_reads_go_on() {
    let disk = MemoryFileSystem::new();
    let fs = FaultFileSystem::new(Arc::new(disk.clone()));
    let db = open(&fs).unwrap();
    db.write(batch(&db, 1).unwrap(), &WriteOptions::SYNC).unwrap();
    fs.set_rule(|call| {
        (call.kind == CallKind::Sync).then_some(crate::io::Fault::Error(IoKind::Other))
    });
    let error = db.write(batch(&db, 2).unwrap(), &WriteOptions::SYNC).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    for refused in
        [db.put(b"k", b"v"), db.flush(), db.create_family("x", FamilyConfig::default()).map(drop)]
    {
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ReadOnly);
        assert!(refused.to_string().contains(error.message()), "{refused}");
    }
    assert_eq!(found(&db, "reads go on"), 1);
    assert_eq!(db.background_error().unwrap().work, BackgroundWork::Log);
    assert!(db.close().is_err());
    drop(db);
    let db = open(&disk.after_crash(Unsynced::Lost)).unwrap();
    assert_eq!(found(&db, "opened again"), 1);
}

#[test]
fn a_failed_flush_ends_the_wait_of_writers() {
    let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
    let db = open(&fs).unwrap();
    db.write(batch(&db, 1).unwrap(), &WriteOptions::default()).unwrap();
    fs.set_rule(|call| {
        let is_table = call.path.extension().is_some_and(|extension| extension == "sst");
        (is_table && call.kind == CallKind::CreateNew)
            .then_some(crate::io::Fault::Error(IoKind::StorageFull))
    });
    let error = db.flush().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
    assert_eq!(db.put(b"k", b"v").unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(found(&db, "reads go on"), 1);
}
