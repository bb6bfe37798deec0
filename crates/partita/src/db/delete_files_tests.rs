//! Tables dropped by range.

use std::collections::BTreeMap;
use std::io::ErrorKind as IoKind;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::churn_testing::*;
use super::testing::{Draw, all, forward};
use super::*;
use crate::error::ErrorKind;
use crate::io::{CallKind, Fault, FaultFileSystem, ManualClock, ManualScheduler, Unsynced};

const KEYS: u32 = 240;

fn key(number: u32) -> Vec<u8> {
    format!("k{number:04}").into_bytes()
}

fn value(number: u32) -> Vec<u8> {
    format!("{number}{}", "v".repeat(40)).into_bytes()
}

fn open(fs: &FaultFileSystem) -> Db {
    let scheduler = Arc::new(ManualScheduler::in_order());
    by_hand(Arc::new(fs.clone()), &small_tables(), &scheduler, &Arc::new(ManualClock::default()))
}

/// Many tables on one level below 0; each key is in one table.
fn filled(fs: &FaultFileSystem) -> Db {
    let db = open(fs);
    for number in 0..KEYS {
        db.put(&key(number), &value(number)).unwrap();
    }
    db.compact_range(&db.default_family(), None, None).unwrap();
    let files = files_by_level(&db);
    assert!(files.iter().sum::<usize>() > 8 && files[0] == 0, "{files:?}");
    db
}

/// Of each table its first and last key.
fn tables(db: &Db) -> Vec<(Vec<u8>, Vec<u8>)> {
    let version = db.default_family().0.family.current();
    let ends = |file: &crate::version::TableFile| {
        (file.smallest_user_key().to_vec(), file.largest_user_key().to_vec())
    };
    version.files().map(|(_, file)| ends(file)).collect()
}

#[test]
fn what_is_inside_goes_at_once_and_all_else_stays() {
    let (_, fs) = disk();
    let db = filled(&fs);
    let family = db.default_family();
    let mut draw = Draw(5);
    let mut expected: BTreeMap<Vec<u8>, Vec<u8>> =
        (0..KEYS).map(|number| (key(number), value(number))).collect();
    let mut gone = 0;
    for _ in 0..14 {
        let from = key(draw.below(u64::from(KEYS)) as u32);
        let to = key(draw.below(u64::from(KEYS)) as u32);
        let mut before = db.iter_cf(&family, IterOptions::default()).unwrap();
        let inside: Vec<_> =
            tables(&db).into_iter().filter(|(first, last)| *first >= from && *last <= to).collect();
        let count = db
            .delete_files_in_range(&family, (Bound::Included(&from), Bound::Included(&to)))
            .unwrap();
        assert_eq!(count, inside.len());
        gone += count;
        // Who looked before sees it as it was.
        assert_eq!(forward(&mut before), expected.clone().into_iter().collect::<Vec<_>>());
        drop(before);
        for (first, last) in inside {
            expected.retain(|key, _| *key < first || *key > last);
        }
        assert_eq!(all(&db, &family), expected.clone().into_iter().collect::<Vec<_>>());
        assert_eq!(db.family_stats(&family).files(), tables(&db).len() as u64);
    }
    assert!(gone > 6, "{gone}");
    // The files themselves go when the last reader has gone.
    db.put(b"x", b"").unwrap();
    db.flush().unwrap();
    check_files(&db, &fs, "after all");
    drop(db);
    let db = open(&fs);
    db.delete(b"x").unwrap();
    assert_eq!(all(&db, &db.default_family()), expected.into_iter().collect::<Vec<_>>());
}

#[test]
fn memtables_level_0_and_the_other_families_stay() {
    let (_, fs) = disk();
    let db = filled(&fs);
    db.put(b"k0001", b"new").unwrap();
    db.put_cf(&db.family("more").unwrap(), b"k0001", b"other").unwrap();
    db.compact_range(&db.family("more").unwrap(), None, None).unwrap();
    db.put(b"k0002", b"newer").unwrap();
    db.flush_cf(&db.default_family()).unwrap();
    db.put(b"k0003", b"newest").unwrap();
    let everything = (Bound::Unbounded, Bound::Unbounded);
    assert!(db.delete_files_in_range(&db.default_family(), everything).unwrap() > 8);
    let pair = |key: &str, value: &str| (key.as_bytes().to_vec(), value.as_bytes().to_vec());
    let left = [pair("k0001", "new"), pair("k0002", "newer"), pair("k0003", "newest")];
    assert_eq!(all(&db, &db.default_family()), left);
    assert_eq!(all(&db, &db.family("more").unwrap()), [pair("k0001", "other")]);
    assert_eq!(db.delete_files_in_range(&db.default_family(), everything).unwrap(), 0);
}

#[test]
fn several_ranges_go_in_one_step_and_the_bounds_may_be_open() {
    let (_, fs) = disk();
    let db = filled(&fs);
    let family = db.default_family();
    let tables = tables(&db);
    let (second, third, last) = (&tables[1], &tables[2], &tables[tables.len() - 1]);
    let before = db.inner().versions.cut().unwrap().manifest_bytes;
    let count = db
        .delete_files_in_ranges(
            &family,
            &[
                (Bound::Included(&second.0), Bound::Included(&second.1)),
                (Bound::Included(&third.0), Bound::Excluded(&third.1)),
                (Bound::Excluded(&tables[tables.len() - 2].1), Bound::Unbounded),
            ],
        )
        .unwrap();
    assert_eq!(count, 2);
    assert!(db.inner().versions.cut().unwrap().manifest_bytes > before);
    assert_eq!(db.get(&second.0).unwrap(), None);
    assert!(db.get(&third.0).unwrap().is_some());
    assert_eq!(db.get(&last.1).unwrap(), None);
}

#[test]
fn a_dropped_family_and_a_closed_database_are_refused() {
    let (_, fs) = disk();
    let db = filled(&fs);
    let more = db.family("more").unwrap();
    db.put_cf(&more, b"k", b"v").unwrap();
    db.compact_range(&more, None, None).unwrap();
    db.drop_family(&more).unwrap();
    let everything = (Bound::Unbounded, Bound::Unbounded);
    let error = db.delete_files_in_range(&more, everything).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    db.close().unwrap();
    let error = db.delete_files_in_range(&db.default_family(), everything).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[test]
fn cut_at_any_call_the_files_are_all_there_or_all_gone() {
    let middle = (Bound::Included(&b"k0050"[..]), Bound::Included(&b"k0150"[..]));
    let (mut there, mut gone) = (0, 0);
    for nth in 0.. {
        let (disk, fs) = disk();
        let db = filled(&fs);
        let before = all(&db, &db.default_family());
        let mut seen = 0;
        fs.set_rule(move |call| {
            seen += u64::from(call.kind.changes());
            (seen > nth).then_some(Fault::Error(IoKind::Other))
        });
        let result = db.delete_files_in_range(&db.default_family(), middle);
        let is_whole = result.is_ok() && nth > 20;
        let after = all(&db, &db.default_family());
        let lost = || {
            before.iter().filter(|(key, _)| !after.iter().any(|(other, _)| key == other)).count()
        };
        assert!(result.is_err() && after == before || result.is_ok() && lost() > 50, "{nth}");
        for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Random(nth)] {
            let fs = FaultFileSystem::new(Arc::new(disk.after_crash(unsynced)));
            let found = open(&fs);
            let found = all(&found, &found.default_family());
            match found.len() == before.len() {
                true => there += 1,
                false => gone += 1,
            }
            let dropped = found.len() < before.len() - 50;
            assert!(found == before || dropped, "{nth}");
            assert!(result.is_err() || dropped, "{nth}, {unsynced:?}: what was told is not so");
            assert!(found.iter().all(|pair| before.contains(pair)), "{nth}");
            assert!(found.iter().any(|(key, _)| key == b"k0049"), "{nth}");
        }
        if is_whole {
            break;
        }
    }
    assert!(there > 0 && gone > 0, "{there}, {gone}");
}

#[test]
fn after_a_fault_it_can_be_done_again() {
    let (_, fs) = disk();
    let db = filled(&fs);
    let everything = (Bound::Unbounded, Bound::Unbounded);
    fs.set_rule(|call| {
        (call.kind == CallKind::Sync).then_some(Fault::ErrorAfterwards(IoKind::StorageFull))
    });
    let error = db.delete_files_in_range(&db.default_family(), everything).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace);
    fs.clear_rule();
    assert_eq!(all(&db, &db.default_family()).len(), KEYS as usize);
    assert!(db.delete_files_in_range(&db.default_family(), everything).unwrap() > 8);
    assert!(all(&db, &db.default_family()).is_empty());
    check_files(&db, &fs, "after all");
}

/// Compactions have files in hand, and make others, while ranges are dropped. What is outside of them is never touched.
#[test]
fn among_compactions_only_the_range_goes() {
    must_end(|| {
        let disk = crate::io::MemoryFileSystem::new();
        let db = builder(Arc::new(disk.clone()), &small_tables()).open().unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let range = (Bound::Included(&b"k1000"[..]), Bound::Included(&b"k1999"[..]));
                let mut dropped = 0;
                while !done.load(Ordering::Acquire) {
                    dropped += db.delete_files_in_range(&db.default_family(), range).unwrap_or(0);
                    std::thread::yield_now();
                }
                assert!(dropped > 0);
            });
            let work = || -> Result<()> {
                for round in 0..12 {
                    for number in 0..300 {
                        db.put(&key(number * 10), &value(number + round))?;
                    }
                    db.flush()?;
                    if round % 3 == 2 {
                        db.compact_range(&db.default_family(), None, None)?;
                    }
                }
                Ok(())
            };
            let result = work();
            done.store(true, Ordering::Release);
            result.unwrap();
        });
        let outside: Vec<_> = (0..300)
            .filter(|number| !(100..200).contains(number))
            .map(|number| (key(number * 10), value(number + 11)))
            .collect();
        let mut found = all(&db, &db.default_family());
        found.retain(|(key, _)| !(&b"k1000"[..]..=&b"k1999"[..]).contains(&&key[..]));
        assert!(found == outside);
    });
}
