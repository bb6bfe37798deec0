//! Logs recycled, archived, and held.

use std::collections::BTreeMap;
use std::io::ErrorKind as IoKind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;
use crate::cache::Cache;
use crate::db::testing::all;
use crate::db::{Db, DbBuilder, FamilyConfig, WriteOptions};
use crate::io::{
    CallKind, FaultFileSystem, ManualClock, ManualScheduler, MemoryFileSystem, Scheduler, Unsynced,
};

const DIR: &str = "/db";

fn recycling() -> DbOptions {
    DbOptions { create_if_missing: true, recycle_log_file_num: 2, ..DbOptions::default() }
}

fn builder(fs: &(impl FileSystem + Clone + 'static), options: &DbOptions) -> DbBuilder {
    DbBuilder::new(DIR)
        .file_system(Arc::new(fs.clone()))
        .cache(Cache::new(4 << 20))
        .scheduler(Arc::new(ManualScheduler::in_order()))
        .options(options.clone())
}

/// Write number `n` sets one of four keys to a value that tells the number; its length changes from write to write, so
/// that what is written over does not end where records of the earlier life do.
fn write(db: &Db, n: u32, sync: bool) -> Result<()> {
    let mut batch = WriteBatch::new();
    let value = [&n.to_be_bytes()[..], &vec![b'v'; 300 + (n as usize * 37) % 700]].concat();
    batch.put(&[n as u8 % 4], &value)?;
    db.write(batch, &WriteOptions { sync, ..WriteOptions::default() })
}

/// What `n` writes come to: the last number of each key.
fn expected(n: u32) -> BTreeMap<u8, u32> {
    (1..=n).map(|n| (n as u8 % 4, n)).collect()
}

fn found(db: &Db) -> BTreeMap<u8, u32> {
    let number = |value: Vec<u8>| u32::from_be_bytes(*value.first_chunk().unwrap());
    let pairs = all(db, &db.default_family()).into_iter();
    pairs.map(|(key, value)| (key[0], number(value))).collect()
}

fn logs(fs: &impl FileSystem, dir: &str) -> Vec<u64> {
    let names = fs.list(Path::new(dir)).unwrap();
    let logs = names.iter().filter_map(|name| match FileName::parse(name)? {
        FileName::Log(number) => Some(number.get()),
        _ => None,
    });
    logs.collect()
}

#[test]
fn obsolete_logs_are_written_over_and_never_more_are_kept_than_asked_for() {
    let disk = MemoryFileSystem::new();
    let fs = FaultFileSystem::new(Arc::new(disk.clone()));
    let db = builder(&fs, &recycling()).open().unwrap();
    for n in 1..=60 {
        write(&db, n, false).unwrap();
        if n % 6 == 0 {
            db.flush().unwrap();
        }
        assert!(logs(&disk, DIR).len() <= 3);
    }
    assert_eq!(fs.calls_of(CallKind::Overwrite), 9);
    drop(db);
    // A clean end leaves no ruins, and spares are not taken for logs.
    for mode in [
        WalRecoveryMode::AbsoluteConsistency,
        WalRecoveryMode::TolerateCorruptedTailRecords,
        WalRecoveryMode::SkipAnyCorruptedRecords,
        WalRecoveryMode::PointInTime,
    ] {
        let options = DbOptions { wal_recovery_mode: mode, ..recycling() };
        let db = builder(&disk, &options).open_read_only().unwrap();
        assert_eq!(found(&db), expected(60));
        assert!(db.lost_log_bytes().is_empty(), "{mode:?}: {:?}", db.lost_log_bytes());
    }
    let db = builder(&disk, &recycling()).open().unwrap();
    assert_eq!(found(&db), expected(60));
    assert_eq!(logs(&disk, DIR).len(), 1);
}

/// cockroachdb/pebble#567: a log without numbers, which another engine had written, was recycled, and its tail replayed.
#[test]
fn logs_of_others_and_logs_in_forms_that_tell_nothing_are_not_written_over() {
    let overwritten = |first: &DbOptions, then: &DbOptions| {
        let disk = MemoryFileSystem::new();
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        let db = builder(&fs, first).open().unwrap();
        (1..=10).for_each(|n| write(&db, n, false).unwrap());
        drop(db);
        let db = builder(&fs, then).open().unwrap();
        for n in 11..=20 {
            write(&db, n, false).unwrap();
            db.flush().unwrap();
        }
        assert_eq!(found(&db), expected(20));
        drop(db);
        assert_eq!(found(&builder(&disk, then).open().unwrap()), expected(20));
        fs.calls_of(CallKind::Overwrite)
    };
    let plain = DbOptions { recycle_log_file_num: 0, ..recycling() };
    // The first flush has nothing to write over: the old log is not ours, the new one is in use.
    assert_eq!(overwritten(&plain, &recycling()), 9);
    assert_eq!(overwritten(&recycling(), &recycling()), 9);
    assert_eq!(overwritten(&recycling(), &plain), 0);
    let with = |change: fn(&mut DbOptions)| {
        let mut options = recycling();
        change(&mut options);
        options
    };
    for refused in [
        with(|o| o.wal_recovery_mode = WalRecoveryMode::AbsoluteConsistency),
        with(|o| o.wal_recovery_mode = WalRecoveryMode::TolerateCorruptedTailRecords),
        with(|o| o.wal_compression = CompressionType::Zstd),
        with(|o| o.wal_ttl_seconds = 60),
    ] {
        assert_eq!(overwritten(&plain, &refused), 0);
    }
}

/// Two openings, each with flushes, so that logs are written over again and again; every fourth write is synced.
fn history(fs: &FaultFileSystem, written: &AtomicU64, synced: &AtomicU64) -> Result<()> {
    for opening in 0..2 {
        let db = builder(fs, &recycling()).open()?;
        for step in 0..12 {
            let n = opening * 12 + step + 1;
            let sync = step % 4 == 3;
            write(&db, n, sync)?;
            written.store(n.into(), Ordering::Relaxed);
            if sync {
                synced.store(n.into(), Ordering::Relaxed);
            }
            if step % 3 == 2 {
                db.flush()?;
            }
        }
    }
    Ok(())
}

#[test]
fn a_cut_at_a_call_brings_nothing_back_from_a_logs_earlier_life() {
    let counting = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
    history(&counting, &AtomicU64::new(0), &AtomicU64::new(0)).unwrap();
    assert!(counting.calls_of(CallKind::Overwrite) > 4);
    for cut in (0..counting.calls()).step_by(2) {
        let disk = MemoryFileSystem::new();
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        fs.fail_from(cut, IoKind::Other);
        let (written, synced) = (AtomicU64::new(0), AtomicU64::new(0));
        // Cut at the very end, it may not notice.
        let _ = history(&fs, &written, &synced);
        let (written, synced) = (written.into_inner() as u32, synced.into_inner() as u32);
        let random = Unsynced::Random(cut);
        let all = [Unsynced::Lost, Unsynced::Kept, Unsynced::KeptUpTo(700), random, random];
        for unsynced in [all[cut as usize / 2 % all.len()]] {
            let what = format!("cut at call {cut}, {unsynced:?}");
            let after = disk.after_crash(unsynced);
            let least = if unsynced == Unsynced::Kept { written } else { synced };
            let db = builder(&after, &recycling())
                .open()
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            let state = found(&db);
            let count = (least..=written + 1).find(|n| expected(*n) == state);
            let count = count.unwrap_or_else(|| panic!("{what}: {state:?}, {least}..={written}"));
            // Written on, with old logs about.
            for n in count + 1..=count + 4 {
                write(&db, n, false).unwrap();
                db.flush().unwrap();
            }
            drop(db);
            let db = builder(&after, &recycling()).open().unwrap();
            assert_eq!(found(&db), expected(count + 4), "{what}");
        }
    }
}

#[test]
fn the_archive_keeps_logs_by_age_and_by_size() {
    let disk = MemoryFileSystem::new();
    let clock = Arc::new(ManualClock::at_unix_micros(1_000_000_000_000_000));
    let open = |options: &DbOptions| builder(&disk, options).clock(clock.clone()).open().unwrap();
    let by_age = DbOptions { wal_ttl_seconds: 60, recycle_log_file_num: 0, ..recycling() };
    let db = open(&by_age);
    let mut n = 0;
    let mut write_and_flush = |db: &Db| {
        n += 1;
        write(db, n, false).unwrap();
        db.flush().unwrap();
    };
    let archived = || logs(&disk, "/db/archive");
    write_and_flush(&db);
    clock.advance(Duration::from_secs(40));
    write_and_flush(&db);
    let both = archived();
    assert_eq!(both.len(), 2);
    assert_eq!(logs(&disk, DIR).len(), 1);
    clock.advance(Duration::from_secs(21));
    write_and_flush(&db);
    assert!(!archived().contains(&both[0]) && archived().contains(&both[1]));
    drop(db);
    // What an open finds is needed no more is archived, too; and what it finds in the archive is kept on.
    let before = archived();
    let db = open(&by_age);
    write_and_flush(&db);
    assert!(before.iter().all(|log| archived().contains(log)));
    drop(db);
    let by_size = DbOptions { wal_size_limit_mb: 1, wal_ttl_seconds: 0, ..by_age };
    let db = open(&by_size);
    for n in 0..40u8 {
        db.put(&[n], &vec![n; 100 << 10]).unwrap();
        db.flush().unwrap();
    }
    // One has 100 KiB: ten are within the limit.
    assert_eq!(archived().len(), 10);
    let bytes = |log: &u64| {
        disk.file_len(&FileName::Log((*log).into()).in_dir(Path::new("/db/archive"))).unwrap()
    };
    assert!(archived().iter().map(bytes).sum::<u64>() <= 1 << 20);
}

/// A family that is written once holds the log of that moment.
#[test]
fn idle_families_do_not_make_the_logs_grow() {
    const LIMIT: u64 = 64 << 10;
    let disk = MemoryFileSystem::new();
    let options = DbOptions {
        max_total_wal_size: LIMIT,
        create_missing_column_families: true,
        recycle_log_file_num: 0,
        ..recycling()
    };
    let names: Vec<String> = (0..20).map(|n| format!("idle{n}")).collect();
    let with_families =
        |builder: DbBuilder, name: &String| builder.family(name, FamilyConfig::default());
    let scheduler = Arc::new(ManualScheduler::in_order());
    let builder = builder(&disk, &options).scheduler(scheduler.clone());
    let db = names.iter().fold(builder, with_families).open().unwrap();
    for name in &names {
        db.put_cf(&db.family(name).unwrap(), b"once", b"v").unwrap();
    }
    let held = db.log_stats().unwrap();
    assert_eq!((held.count, held.holders.len()), (1, 20));
    for n in 1..=400 {
        write(&db, n, false).unwrap();
        while scheduler.run_waiting() {}
        let stats = db.log_stats().unwrap();
        assert!(stats.bytes <= LIMIT + 2048, "{stats:?}");
        assert!(stats.holders.iter().all(|holder| holder.oldest_log >= stats.oldest));
    }
    // The idle ones were flushed once, for the log's sake.
    let stats = db.log_stats().unwrap();
    let names: Vec<&str> = stats.holders.iter().map(|holder| &*holder.family).collect();
    assert_eq!(names, ["default"]);
    for name in db.families() {
        assert_eq!(db.get_cf(&name, b"once").unwrap().is_some(), name.name() != "default");
    }
}

#[test]
fn a_log_flushed_by_hand_stays_in_the_process_until_then() {
    let options = DbOptions { manual_wal_flush: true, recycle_log_file_num: 0, ..recycling() };
    let disk = MemoryFileSystem::new();
    let db = builder(&disk, &options).open().unwrap();
    write(&db, 1, false).unwrap();
    let count = |disk: &MemoryFileSystem, unsynced| {
        found(&builder(&disk.after_crash(unsynced), &options).open().unwrap()).len()
    };
    assert_eq!(count(&disk, Unsynced::Kept), 0);
    db.flush_wal(false).unwrap();
    assert_eq!((count(&disk, Unsynced::Kept), count(&disk, Unsynced::Lost)), (1, 0));
    db.flush_wal(true).unwrap();
    assert_eq!(count(&disk, Unsynced::Lost), 1);
    write(&db, 2, false).unwrap();
    db.close().unwrap();
    assert_eq!(count(&disk, Unsynced::Lost), 2);
}
