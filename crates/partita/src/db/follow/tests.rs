//! A database that follows another one in the same process, on a file system in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::churn_testing::{
    FAMILIES, State, batch, builder, options, small_tables, state_after,
};
use super::super::testing::{Draw, all, forward};
use super::super::*;
use crate::io::{
    CallKind, Fault, FaultFileSystem, FileSystem, ManualScheduler, MemoryFileSystem, ThreadPool,
};
use crate::key::SeqNo;
use crate::table::ReadContext;

fn primary_builder(fs: &Arc<MemoryFileSystem>, recycled: usize) -> DbBuilder {
    let options = DbOptions {
        max_manifest_file_size: 3000,
        recycle_log_file_num: recycled,
        avoid_flush_during_recovery: recycled > 0,
        ..options()
    };
    builder(Arc::clone(fs) as _, &small_tables()).options(options)
}

fn by_hand(fs: &Arc<MemoryFileSystem>, recycled: usize) -> Db {
    let scheduler = Arc::new(ManualScheduler::in_order());
    primary_builder(fs, recycled).scheduler(scheduler).open().unwrap()
}

fn write(db: &Db, number: u32) {
    db.write(batch(db, number), &WriteOptions::default()).unwrap();
}

fn pairs(state: State) -> Vec<(Vec<u8>, Vec<u8>)> {
    state.into_iter().collect()
}

/// The number of the last batch that is seen; all of it and of those before must be there, in all families.
fn seen(db: &Db) -> u32 {
    let snapshot = db.snapshot();
    let last = |family: &ColumnFamily| {
        let last = db.get_at(&snapshot, family, b"last").unwrap();
        last.map_or(0, |last| u32::from_be_bytes(*last.first_chunk().unwrap()))
    };
    let number = last(&db.default_family());
    let expected = pairs(state_after(number));
    for name in FAMILIES {
        let family = db.family(name).unwrap();
        assert_eq!(last(&family), number, "{name}");
        let options = IterOptions { read: ReadOptions::at(&snapshot), ..IterOptions::default() };
        assert_eq!(forward(&mut db.iter_cf(&family, options).unwrap()), expected, "{name}");
    }
    number
}

struct Old {
    number: u32,
    snapshot: Snapshot,
    iter: DbIterator,
}

impl Old {
    fn of(db: &Db, number: u32) -> Self {
        Self { number, snapshot: db.snapshot(), iter: db.iter().unwrap() }
    }

    /// What was seen is seen.
    fn check(mut self, db: &Db) {
        let expected = pairs(state_after(self.number));
        assert_eq!(forward(&mut self.iter), expected);
        let options = ReadOptions::at(&self.snapshot);
        let mut ctx = ReadContext::default();
        for name in FAMILIES {
            let family = db.family(name).unwrap();
            let read = IterOptions { read: options.clone(), ..IterOptions::default() };
            assert_eq!(forward(&mut db.iter_cf(&family, read).unwrap()), expected);
            for (key, value) in &expected {
                let found = db.get_with(&family, key, &options, &mut ctx).unwrap();
                assert_eq!(found.as_deref(), Some(&value[..]));
            }
        }
    }
}

/// Random histories of a writer that flushes, compacts, is opened again, and makes and drops families.
#[test]
fn a_secondary_shows_what_was_written_before_it_caught_up_and_keeps_what_it_showed() {
    for seed in 0..6 {
        let mut draw = Draw(seed);
        let recycled = 2 * (seed as usize % 2);
        let fs = Arc::new(MemoryFileSystem::new());
        let mut primary = by_hand(&fs, recycled);
        let secondary = primary_builder(&fs, recycled).open_secondary().unwrap();
        let (mut number, mut shown) = (0, 0);
        let mut old: Vec<Old> = Vec::new();
        for _ in 0..150 {
            match draw.below(14) {
                0..=4 => {
                    number += 1;
                    write(&primary, number);
                }
                5 => primary.flush().unwrap(),
                6 => primary.flush_cf(&primary.family("more").unwrap()).unwrap(),
                7 => primary.compact_range(&primary.default_family(), None, None).unwrap(),
                8 if draw.below(3) == 0 => {
                    drop(primary);
                    primary = by_hand(&fs, recycled);
                }
                9 => match primary.family("passing") {
                    Ok(family) => primary.drop_family(&family).unwrap(),
                    Err(_) => {
                        let options = Some(small_tables());
                        let config = FamilyConfig { options, ..FamilyConfig::default() };
                        primary.create_family("passing", config).unwrap();
                    }
                },
                10 if !old.is_empty() => {
                    let which = draw.below(old.len() as u64) as usize;
                    old.swap_remove(which).check(&secondary);
                }
                11 => old.push(Old::of(&secondary, shown)),
                _ => {
                    secondary.try_catch_up_with_primary().unwrap();
                    shown = number;
                    let names = |db: &Db| {
                        db.families()
                            .iter()
                            .map(|family| family.name().to_owned())
                            .collect::<Vec<_>>()
                    };
                    assert_eq!(names(&secondary), names(&primary));
                    assert_eq!(secondary.visible_seqno(), primary.visible_seqno());
                }
            }
            assert_eq!(seen(&secondary), shown, "seed {seed}");
        }
        old.into_iter().for_each(|old| old.check(&secondary));
    }
}

#[test]
fn what_is_not_caught_up_with_is_not_seen_though_the_memtable_is_shared() {
    let fs = Arc::new(MemoryFileSystem::new());
    let primary = by_hand(&fs, 0);
    primary.put(b"a", b"1").unwrap();
    let secondary = primary_builder(&fs, 0).open_secondary().unwrap();
    let (mut iter, snapshot) = (secondary.iter().unwrap(), secondary.snapshot());
    let family = secondary.default_family();
    let shared = Arc::clone(&family.0.view.load().memtable);
    primary.put(b"a", b"2").unwrap();
    primary.put(b"b", b"2").unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert!(Arc::ptr_eq(&shared, &family.0.view.load().memtable), "it was read on, not anew");
    assert_eq!(forward(&mut iter), [(b"a".to_vec(), b"1".to_vec())]);
    assert_eq!(secondary.get_at(&snapshot, &family, b"a").unwrap().unwrap(), b"1");
    assert_eq!(secondary.get(b"a").unwrap().unwrap(), b"2");
    assert_eq!(secondary.multi_get(&["a", "b"]).unwrap()[1].as_deref(), Some(&b"2"[..]));
}

#[test]
fn a_family_that_came_after_a_snapshot_is_empty_there() {
    let fs = Arc::new(MemoryFileSystem::new());
    let primary = by_hand(&fs, 0);
    let secondary = primary_builder(&fs, 0).open_secondary().unwrap();
    let before = secondary.snapshot();
    let ledger = primary.create_family("ledger", FamilyConfig::default()).unwrap();
    primary.put_cf(&ledger, b"1", b"entry").unwrap();
    primary.flush_cf(&ledger).unwrap();
    // At the bottom, entries lose their numbers, and every reader would see them.
    primary.compact_range(&ledger, None, None).unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    let ledger = secondary.family("ledger").unwrap();
    assert_eq!(secondary.get_cf(&ledger, b"1").unwrap().unwrap(), b"entry");
    assert_eq!(secondary.get_at(&before, &ledger, b"1").unwrap(), None);
    primary.drop_family(&primary.family("ledger").unwrap()).unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert!(secondary.family("ledger").is_err());
    assert_eq!(
        secondary.get_cf(&ledger, b"1").unwrap().unwrap(),
        b"entry",
        "who holds it reads on"
    );
}

#[test]
fn memtables_go_when_the_primary_has_them_in_tables() {
    let fs = Arc::new(MemoryFileSystem::new());
    let primary = by_hand(&fs, 0);
    let secondary = primary_builder(&fs, 0).open_secondary().unwrap();
    write(&primary, 1);
    secondary.try_catch_up_with_primary().unwrap();
    let memtables = |db: &Db| db.family_stats(&db.default_family()).memtables;
    assert!(memtables(&secondary).active.entries > 0);
    primary.flush().unwrap();
    let held = secondary.iter().unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    let now = memtables(&secondary);
    assert_eq!((now.active.entries, now.frozen.count), (0, 0));
    assert_eq!(now.retired_count, 1, "an iterator has it");
    assert_eq!(secondary.holders()[0].pinned.memtables, 1);
    drop(held);
    assert_eq!(memtables(&secondary).retired_count, 0);
    assert_eq!(seen(&secondary), 1);
}

/// Whatever the writer does between two calls, and whichever of them fails.
#[test]
fn a_catch_up_looks_again_where_the_primary_was_faster_and_leaves_what_was_where_it_fails() {
    for recycled in [0, 2] {
        let mut ended = 0;
        for call in 0..200 {
            let disk = Arc::new(MemoryFileSystem::new());
            let fs = Arc::new(FaultFileSystem::new(disk.clone() as _));
            let primary = by_hand(&disk, recycled);
            let reader = builder(Arc::clone(&fs) as _, &small_tables())
                .options(DbOptions { recycle_log_file_num: recycled, ..options() });
            write(&primary, 1);
            let secondary = reader.open_secondary().unwrap();
            write(&primary, 2);
            primary.flush().unwrap();
            write(&primary, 3);
            let (writer, start) = (primary.clone(), fs.calls());
            let fails = call % 2 == 1;
            let at = start + call / 2;
            fs.set_rule(move |now| {
                if now.index != at {
                    return None;
                }
                if fails {
                    return Some(Fault::Error(std::io::ErrorKind::Other));
                }
                write(&writer, 4);
                writer.flush().unwrap();
                write(&writer, 5);
                writer.compact_range(&writer.default_family(), None, None).unwrap();
                write(&writer, 6);
                None
            });
            let caught_up = secondary.try_catch_up_with_primary();
            let calls = fs.calls();
            fs.clear_rule();
            let last = seen(&secondary);
            match caught_up {
                Ok(()) => assert!(last == 3 || last == 6 && !fails, "call {call}: {last}"),
                Err(error) => assert!(fails && last == 1, "call {call}: {last}, {error}"),
            }
            secondary.try_catch_up_with_primary().unwrap();
            assert_eq!(seen(&secondary), seen(&primary));
            if calls <= at {
                ended += 1;
                break;
            }
        }
        assert_eq!(ended, 1);
    }
}

#[test]
fn a_secondary_changes_nothing_in_the_directory() {
    let disk = Arc::new(MemoryFileSystem::new());
    let fs = Arc::new(FaultFileSystem::new(disk.clone() as _));
    let primary = by_hand(&disk, 0);
    let reads = [
        CallKind::Open,
        CallKind::OpenSequential,
        CallKind::Exists,
        CallKind::FileLen,
        CallKind::List,
        CallKind::ReadAt,
        CallKind::ReadNext,
    ];
    fs.set_rule(move |call| {
        assert!(reads.contains(&call.kind), "{:?} {:?}", call.kind, call.path);
        None
    });
    let secondary = builder(Arc::clone(&fs) as _, &small_tables()).open_secondary().unwrap();
    for number in 1..20 {
        write(&primary, number);
        primary.flush().unwrap();
        secondary.try_catch_up_with_primary().unwrap();
        assert_eq!(seen(&secondary), number);
    }
    assert!(secondary.put(b"a", b"1").is_err());
    secondary.close().unwrap();
    drop(secondary);
}

#[test]
fn only_what_is_new_is_read() {
    let disk = Arc::new(MemoryFileSystem::new());
    let fs = Arc::new(FaultFileSystem::new(disk.clone() as _));
    let primary = builder(disk.clone() as _, &small_tables())
        .scheduler(Arc::new(ManualScheduler::in_order()))
        .open()
        .unwrap();
    for number in 1..=30 {
        write(&primary, number);
        if number % 10 == 0 {
            primary.flush().unwrap();
        }
    }
    let secondary = builder(Arc::clone(&fs) as _, &small_tables()).open_secondary().unwrap();
    assert_eq!(seen(&secondary), 30);
    let opened = fs.calls_of(CallKind::Open);
    write(&primary, 31);
    secondary.try_catch_up_with_primary().unwrap();
    let again = fs.calls_of(CallKind::OpenSequential);
    let read = fs.calls_of(CallKind::ReadNext);
    write(&primary, 32);
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(seen(&secondary), 32);
    let opened_again = fs.calls_of(CallKind::OpenSequential) - again;
    assert_eq!(opened_again, 3, "CURRENT, and the manifest's beginning: both files stay open");
    assert!(fs.calls_of(CallKind::ReadNext) - read <= 10);
    assert_eq!(fs.calls_of(CallKind::Open), opened, "no table is opened again");
    // A new manifest has the same tables.
    drop(primary);
    let _primary = by_hand(&disk, 2);
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(seen(&secondary), 32);
    assert_eq!(fs.calls_of(CallKind::Open), opened, "no table is opened again");
}

#[test]
fn who_follows_nobody_and_who_follows_another_database_is_told() {
    let fs = Arc::new(MemoryFileSystem::new());
    let primary = by_hand(&fs, 0);
    write(&primary, 1);
    assert!(primary.try_catch_up_with_primary().is_err());
    let reader = primary_builder(&fs, 0).open_read_only().unwrap();
    assert!(reader.try_catch_up_with_primary().is_err());
    let secondary = primary_builder(&fs, 0).open_secondary().unwrap();
    drop(primary);
    for name in fs.list(Path::new("/db")).unwrap() {
        fs.remove(&Path::new("/db").join(name)).unwrap();
    }
    assert!(secondary.try_catch_up_with_primary().is_err());
    let _other = by_hand(&fs, 0);
    let error = secondary.try_catch_up_with_primary().unwrap_err();
    assert!(error.to_string().contains("another database"), "{error}");
    assert_eq!(seen(&secondary), 1);
    assert!(secondary.visible_seqno() > SeqNo::ZERO);
}

/// The numbers of files are the same, and so may be the length of the manifest.
#[test]
fn another_database_that_came_between_two_looks_is_told_whatever_was_written_to_it() {
    for batches in [0, 1, 7] {
        let fs = Arc::new(MemoryFileSystem::new());
        let primary = by_hand(&fs, 0);
        write(&primary, 1);
        let secondary = primary_builder(&fs, 0).open_secondary().unwrap();
        drop(primary);
        for name in fs.list(Path::new("/db")).unwrap() {
            fs.remove(&Path::new("/db").join(name)).unwrap();
        }
        let other = by_hand(&fs, 0);
        (0..batches).for_each(|number| write(&other, number));
        if batches > 1 {
            other.flush().unwrap();
        }
        let error = secondary.try_catch_up_with_primary().unwrap_err();
        assert!(error.to_string().contains("another database"), "{error}");
        assert_eq!(seen(&secondary), 1);
    }
}

struct End<'e>(&'e AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn readers_and_a_secondary_go_on_while_the_primary_writes_flushes_and_compacts() {
    for recycled in [0, 2] {
        let fs = Arc::new(MemoryFileSystem::new());
        let pool = Arc::new(ThreadPool::new(1, 2));
        let primary = primary_builder(&fs, recycled).scheduler(pool).open().unwrap();
        let secondary = primary_builder(&fs, recycled).open_secondary().unwrap();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _end = End(&ended);
                for number in 1..=150 {
                    write(&primary, number);
                    if number % 5 == 0 {
                        primary.flush().unwrap();
                    }
                }
            });
            scope.spawn(|| {
                let mut before = 0;
                while !ended.load(Ordering::Acquire) {
                    let last = seen(&secondary);
                    assert!(last >= before, "{last} after {before}");
                    before = last;
                }
            });
            while !ended.load(Ordering::Acquire) {
                match secondary.try_catch_up_with_primary() {
                    Ok(()) => {}
                    // It may be too fast for us.
                    Err(error) => {
                        assert_eq!(error.kind(), crate::error::ErrorKind::Busy, "{error}");
                    }
                }
            }
        });
        secondary.try_catch_up_with_primary().unwrap();
        assert_eq!((seen(&secondary), seen(&primary)), (150, 150));
        let family = secondary.default_family();
        assert_eq!(all(&secondary, &family), all(&primary, &primary.default_family()));
    }
}
