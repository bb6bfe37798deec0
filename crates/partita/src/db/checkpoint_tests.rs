//! Checkpoints: what is in them, and what a crash or a fault leaves of them.

use std::io::ErrorKind as IoKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::churn_testing::*;
use super::*;
use crate::error::ErrorKind;
use crate::io::{
    CallKind, Fault, FaultFileSystem, ManualClock, ManualScheduler, MemoryFileSystem, Unsynced,
};
use crate::version::FileName;

const LOGS_ONLY: CheckpointOptions = CheckpointOptions { log_bytes_for_flush: u64::MAX };

fn open_at(fs: &MemoryFileSystem, dir: &str) -> Result<Db> {
    DbBuilder::new(dir).file_system(Arc::new(fs.clone())).cache(Cache::new(4 << 20)).open()
}

fn names(fs: &dyn FileSystem, dir: &str) -> Vec<FileName> {
    let names = fs.list(dir.as_ref()).unwrap();
    names.iter().map(|name| FileName::parse(name).unwrap_or_else(|| panic!("{name:?}"))).collect()
}

fn manual(fs: &FaultFileSystem) -> Db {
    let scheduler = Arc::new(ManualScheduler::in_order());
    by_hand(Arc::new(fs.clone()), &small_tables(), &scheduler, &Arc::new(ManualClock::default()))
}

#[test]
fn a_checkpoint_holds_all_that_was_written_and_a_live_database_goes_on() {
    let (disk, fs) = disk();
    let db = manual(&fs);
    for options in [CheckpointOptions::default(), LOGS_ONLY] {
        let flushes = options == CheckpointOptions::default();
        let first = if flushes { 1 } else { 11 };
        for number in first..first + 10 {
            db.write(batch(&db, number), &WriteOptions::default()).unwrap();
            if number % 4 == 1 {
                db.flush().unwrap();
            }
        }
        let dir = format!("/deep/copies/{first}");
        db.checkpoint_with(&dir, &options).unwrap();
        let kinds = names(&disk, &dir);
        let count = |is: fn(&FileName) -> bool| kinds.iter().filter(|name| is(name)).count();
        assert_eq!(count(|name| *name == FileName::Current), 1);
        assert_eq!(count(|name| matches!(name, FileName::Manifest(_))), 1);
        assert_eq!(count(|name| matches!(name, FileName::Options(_))), 1);
        assert_eq!(count(|name| matches!(name, FileName::Log(_))) == 0, flushes);
        let other = |name: &FileName| {
            matches!(name, FileName::Identity | FileName::Lock | FileName::Temporary(_))
        };
        assert_eq!(kinds.iter().filter(|name| other(name)).count(), 0, "{kinds:?}");
        let copy = disk.after_crash(Unsynced::Lost);
        let there = open_at(&copy, &dir).unwrap();
        assert_eq!(state_of(&there), state_after(first + 9));
        there.write(batch(&there, first + 10), &WriteOptions::default()).unwrap();
        assert_eq!(state_of(&there), state_after(first + 10));
    }
    // Nothing of it is held any more.
    for family in db.families() {
        db.compact_range(&family, None, None).unwrap();
    }
    check_files(&db, &fs, "after all");
    assert_eq!(state_of(&db), state_after(20));
}

#[test]
fn tables_are_links_and_stay_when_the_database_has_compacted_them_away() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let db = DbBuilder::new(at("db")).options(options).open().unwrap();
    db.put(b"k", b"1").unwrap();
    db.checkpoint(at("copy")).unwrap();
    let tables = |dir: &str| -> Vec<_> {
        let names = std::fs::read_dir(at(dir)).unwrap().map(|entry| entry.unwrap().path());
        names.filter(|path| path.extension().is_some_and(|it| it == "sst")).collect()
    };
    let (here, there) = (tables("db"), tables("copy"));
    assert_eq!(here.len(), 1);
    assert_eq!(here[0].file_name(), there[0].file_name());
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let inode = |path: &std::path::Path| std::fs::metadata(path).unwrap().ino();
        assert_eq!(inode(&here[0]), inode(&there[0]));
    }
    db.put(b"k", b"2").unwrap();
    db.compact_range(&db.default_family(), None, None).unwrap();
    db.close().unwrap();
    assert!(!here[0].exists());
    assert_eq!(DbBuilder::new(at("copy")).open().unwrap().get(b"k").unwrap().unwrap(), b"1");
}

#[test]
fn a_target_that_exists_is_refused_and_so_is_a_database_that_is_only_read() {
    let (disk, fs) = disk();
    let db = manual(&fs);
    disk.create_dir_all("/there".as_ref()).unwrap();
    for target in ["/there", "/db"] {
        let error = db.checkpoint(target).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(target), "{error}");
    }
    db.close().unwrap();
    assert_eq!(db.checkpoint("/copy").unwrap_err().kind(), ErrorKind::Closed);
    drop(db);
    let reader =
        DbBuilder::new("/db").file_system(Arc::new(disk.clone())).open_read_only().unwrap();
    assert_eq!(reader.checkpoint("/copy").unwrap_err().kind(), ErrorKind::ReadOnly);
    assert!(!disk.exists("/copy".as_ref()).unwrap());
}

#[test]
fn writes_without_a_log_are_in_a_checkpoint_whatever_the_options_say() {
    let (disk, fs) = disk();
    let db = manual(&fs);
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    db.write(batch(&db, 1), &unlogged).unwrap();
    db.checkpoint_with("/copy", &LOGS_ONLY).unwrap();
    assert_eq!(state_of(&open_at(&disk, "/copy").unwrap()), state_after(1));
}

/// The copy would be written over under the checkpoint's name.
#[test]
fn logs_that_a_checkpoint_has_are_not_recycled() {
    let (disk, fs) = disk();
    let mut settings = options();
    settings.recycle_log_file_num = 4;
    settings.wal_dir = "/logs".to_owned();
    let family = crate::options::ColumnFamilyOptions {
        max_write_buffer_number: 8,
        min_write_buffer_number_to_merge: 7,
        ..small_tables()
    };
    let db = builder(Arc::new(fs.clone()), &family).options(settings).open().unwrap();
    let mut logs = 0;
    for round in 0..4_u32 {
        for number in 4 * round + 1..=4 * round + 4 {
            db.write(batch(&db, number), &WriteOptions::default()).unwrap();
            if number % 4 != 0 {
                // Memtables are frozen, which begins a log, and not flushed.
                let inner = db.inner();
                let ids = db.families().iter().map(ColumnFamily::id).collect();
                let frozen = db
                    .writer()
                    .unwrap()
                    .queue
                    .exclusive(|| inner.freeze(&ids, &std::collections::BTreeSet::new()));
                frozen.unwrap();
            }
        }
        db.checkpoint_with(format!("/copy{round}"), &LOGS_ONLY).unwrap();
        let kinds = names(&disk, &format!("/copy{round}"));
        logs = kinds.iter().filter(|name| matches!(name, FileName::Log(_))).count().max(logs);
        db.flush().unwrap();
    }
    assert!(logs > 2, "{logs}");
    for round in 0..4 {
        // The stored options have no wal_dir, and the logs stand beside the tables.
        let copy = open_at(&disk, &format!("/copy{round}")).unwrap();
        assert_eq!(state_of(&copy), state_after(4 * round + 4), "{round}");
    }
}

/// Two batches, one in a table; a checkpoint; one more.
fn short_history(fs: &FaultFileSystem, options: &CheckpointOptions) -> Result<()> {
    let db = builder(Arc::new(fs.clone()), &small_tables())
        .scheduler(Arc::new(ManualScheduler::in_order()))
        .open()?;
    db.write(batch(&db, 1), &WriteOptions::SYNC)?;
    db.flush()?;
    db.write(batch(&db, 2), &WriteOptions::SYNC)?;
    db.checkpoint_with("/copy", options)?;
    db.write(batch(&db, 3), &WriteOptions::SYNC)
}

#[test]
fn cut_at_any_call_a_checkpoint_is_whole_or_not_there() {
    for options in [CheckpointOptions::default(), LOGS_ONLY] {
        let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
        short_history(&fs, &options).unwrap();
        let (calls, mut there, mut leftovers) = (fs.calls(), 0, 0);
        for cut in 0..calls {
            let disk = MemoryFileSystem::new();
            let fs = FaultFileSystem::new(Arc::new(disk.clone()));
            fs.fail_from(cut, IoKind::Other);
            let result = short_history(&fs, &options);
            for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Random(cut)] {
                let what = format!("cut at {cut}, {unsynced:?}");
                let after = disk.after_crash(unsynced);
                if after.exists("/copy".as_ref()).unwrap() {
                    there += 1;
                    let copy = open_at(&after, "/copy").unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert_eq!(state_of(&copy), state_after(2), "{what}");
                } else {
                    assert!(result.is_err(), "{what}");
                }
                // The database is as always, and the next checkpoint can be made.
                if after.exists("/copy.tmp".as_ref()).unwrap() {
                    leftovers += 1;
                    let db = open_at(&after, "/db").unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert_eq!(state_of(&db), state_after(2), "{what}");
                    db.checkpoint("/copy").unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert!(!after.exists("/copy.tmp".as_ref()).unwrap());
                    assert_eq!(state_of(&open_at(&after, "/copy").unwrap()), state_after(2));
                }
            }
        }
        assert!(there > 0 && leftovers > 10, "{there} and {leftovers} of {calls}");
    }
}

#[test]
fn a_fault_fails_the_checkpoint_alone_and_leaves_nothing() {
    let mut tried = 0;
    for nth in 0.. {
        let (disk, fs) = disk();
        let db = manual(&fs);
        db.write(batch(&db, 1), &WriteOptions::SYNC).unwrap();
        db.flush().unwrap();
        db.write(batch(&db, 2), &WriteOptions::SYNC).unwrap();
        let mut seen = 0;
        fs.set_rule(move |call| {
            // What happens in the directory that is made.
            let hit = call.path.starts_with("/copy.tmp") || call.kind == CallKind::HardLink;
            seen += u64::from(hit);
            (hit && seen == nth + 1).then_some(Fault::Error(IoKind::StorageFull))
        });
        let result = db.checkpoint_with("/copy", &LOGS_ONLY);
        fs.clear_rule();
        if result.is_ok() {
            break;
        }
        tried += 1;
        assert_eq!(result.unwrap_err().kind(), ErrorKind::NoSpace, "{nth}");
        assert!(!disk.exists("/copy".as_ref()).unwrap(), "{nth}");
        assert!(db.background_error().is_none(), "{nth}");
        db.write(batch(&db, 3), &WriteOptions::SYNC).unwrap();
        db.checkpoint("/copy").unwrap();
        assert_eq!(state_of(&open_at(&disk, "/copy").unwrap()), state_after(3), "{nth}");
        db.flush().unwrap();
        check_files(&db, &fs, "after a fault");
    }
    assert!(tried > 12, "{tried}");
}

#[test]
fn where_files_cannot_be_linked_they_are_copied() {
    let (disk, fs) = disk();
    let db = manual(&fs);
    db.write(batch(&db, 1), &WriteOptions::SYNC).unwrap();
    fs.set_rule(|call| {
        (call.kind == CallKind::HardLink).then_some(Fault::Error(IoKind::Unsupported))
    });
    db.checkpoint("/copy").unwrap();
    let after = disk.after_crash(Unsynced::Lost);
    assert_eq!(state_of(&open_at(&after, "/copy").unwrap()), state_after(1));
}

/// Writers, flushes and compactions go on: each checkpoint has whole batches, all up to some number, and none older than what
/// was acknowledged before it was asked for.
#[test]
fn checkpoints_under_writers_are_moments() {
    must_end(|| {
        let disk = MemoryFileSystem::new();
        let mut settings = options();
        settings.recycle_log_file_num = 2;
        let db = builder(Arc::new(disk.clone()), &small_tables()).options(settings).open().unwrap();
        let (written, done) = (AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 1.. {
                    if done.load(Ordering::Acquire) {
                        return;
                    }
                    db.write(batch(&db, number), &WriteOptions::default()).unwrap();
                    written.store(number, Ordering::Release);
                    if number % 7 == 0 {
                        db.flush().unwrap();
                    }
                }
            });
            for round in 0..12 {
                let least = written.load(Ordering::Acquire);
                let options = [CheckpointOptions::default(), LOGS_ONLY][round % 2];
                let target = format!("/copy{round}");
                let made = db.checkpoint_with(&target, &options);
                let most = written.load(Ordering::Acquire) + 1;
                if made.is_err() {
                    done.store(true, Ordering::Release);
                }
                made.unwrap();
                let reader = DbBuilder::new(&target).file_system(Arc::new(disk.clone()));
                let state = state_of(&reader.open_read_only().unwrap());
                let count = count_in(&state);
                let right = (least..=most).contains(&count) && state == state_after(count);
                if !right {
                    done.store(true, Ordering::Release);
                }
                assert!(right, "{least} to {most}: {count}");
            }
            done.store(true, Ordering::Release);
        });
        drop(db);
        // Opened again, it has no logs to be recycled.
        let db = manual(&FaultFileSystem::new(Arc::new(disk.clone())));
        assert_eq!(state_of(&db), state_after(written.into_inner()));
        check_files(&db, &disk, "after all");
    });
}
