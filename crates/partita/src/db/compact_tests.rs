//! Compactions as their users see them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::*;
use crate::cache::Role;
use crate::io::{CallKind, Fault, FaultFileSystem, ManualScheduler, MemoryFileSystem};
use crate::key::ValueType;
use crate::merge::{CompactionFilter, FilterDecision};
use crate::options::ColumnFamilyOptions;
use crate::util::sync::lock;
use crate::version::FileNumber;

fn open(fs: Arc<dyn FileSystem>, cache: Cache, config: FamilyConfig) -> Db {
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    DbBuilder::new("/db")
        .file_system(fs)
        .cache(cache)
        .scheduler(Arc::new(ManualScheduler::in_order()))
        .options(options)
        .family("default", config)
        .open()
        .unwrap()
}

/// A tree that changes only by hand.
fn by_hand() -> ColumnFamilyOptions {
    ColumnFamilyOptions { disable_auto_compactions: true, ..ColumnFamilyOptions::default() }
}

fn with(options: ColumnFamilyOptions) -> FamilyConfig {
    FamilyConfig { options: Some(options), ..FamilyConfig::default() }
}

fn fill(db: &Db, keys: std::ops::Range<u32>) {
    for n in keys {
        db.put(&n.to_be_bytes(), &n.wrapping_mul(2_654_435_761).to_be_bytes()).unwrap();
    }
    db.flush().unwrap();
}

/// Numbers of the tables, by level.
fn tables(db: &Db) -> Vec<Vec<FileNumber>> {
    let version = db.default_family().0.family.current();
    let numbers =
        |level: &Arc<crate::version::Level>| level.files().iter().map(|file| file.number).collect();
    version.levels().iter().map(numbers).collect()
}

fn compact(db: &Db, bottommost_level: BottommostLevel) {
    let options = CompactRangeOptions { bottommost_level };
    db.compact_range_with(&db.default_family(), None, None, &options).unwrap();
}

#[test]
fn tables_being_written_are_charged_until_they_are_written() {
    let cache = Cache::new(64 << 20);
    let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
    let db = open(Arc::new(fs.clone()), cache.clone(), with(by_hand()));
    fill(&db, 0..20_000);
    fill(&db, 0..20_000);
    let most = Arc::new(Mutex::new(0));
    let (seen, watched) = (Arc::clone(&most), cache.clone());
    fs.set_rule(move |_| {
        let bytes = watched.stats().role(Role::Building).bytes;
        let mut seen = lock(&seen);
        *seen = bytes.max(*seen);
        None
    });
    compact(&db, BottommostLevel::Skip);
    let most = *lock(&most);
    // Ten bits of filter for each key, at least.
    assert!((25_000..1 << 20).contains(&most), "{most}");
    assert_eq!(cache.stats().role(Role::Building).bytes, 0);
}

/// Takes out odd numbers, and sets those that end with 8 to nothing.
#[derive(Debug)]
struct Odd;

impl CompactionFilter for Odd {
    fn name(&self) -> &'static str {
        "Odd"
    }

    fn filter(&self, _: u8, user_key: &[u8], _: ValueType, _: &[u8]) -> FilterDecision {
        let number = u32::from_be_bytes(user_key.try_into().unwrap());
        match number % 10 {
            n if n % 2 == 1 => FilterDecision::Remove,
            8 => FilterDecision::Change(Vec::new()),
            _ => FilterDecision::Keep,
        }
    }
}

#[test]
fn a_filter_decides_about_what_no_snapshot_needs() {
    let filter: Arc<dyn CompactionFilter> = Arc::new(Odd);
    let config = FamilyConfig { compaction_filter: Some(filter), ..with(by_hand()) };
    let db = open(Arc::new(MemoryFileSystem::new()), Cache::new(8 << 20), config);
    fill(&db, 0..50);
    let snapshot = db.snapshot();
    fill(&db, 50..100);
    db.compact_range(&db.default_family(), None, None).unwrap();
    let len = |n: u32| db.get(&n.to_be_bytes()).unwrap().map(|value| value.len());
    for n in 0..100 {
        let expected = match n % 10 {
            _ if n < 50 => Some(4),
            odd if odd % 2 == 1 => None,
            8 => Some(0),
            _ => Some(4),
        };
        assert_eq!(len(n), expected, "{n}");
    }
    // Nothing comes down any more, but the filter has not seen all in vain.
    drop(snapshot);
    db.compact_range(&db.default_family(), None, None).unwrap();
    assert_eq!((len(7), len(8), len(9)), (None, Some(0), None));
    assert_eq!(db.table_sums(&db.default_family(), None).unwrap().entries, 50);
}

#[test]
fn a_table_over_nothing_is_moved_as_it_is() {
    let options = ColumnFamilyOptions {
        level0_file_num_compaction_trigger: 2,
        ..ColumnFamilyOptions::default()
    };
    let db = open(Arc::new(MemoryFileSystem::new()), Cache::new(8 << 20), with(options));
    fill(&db, 0..100);
    fill(&db, 100..200);
    let before: BTreeSet<FileNumber> = tables(&db).into_iter().flatten().collect();
    db.wait_for_background_work().unwrap();
    let after = tables(&db);
    assert_eq!(after[6].iter().copied().collect::<BTreeSet<_>>(), before);
    let counters = db.family_stats(&db.default_family()).counters();
    assert_eq!((counters.moves, counters.compactions), (1, 0));
    assert!(counters.bytes_moved > 0);
}

#[test]
fn the_last_level_is_written_again_if_that_is_asked_for_only() {
    let options = ColumnFamilyOptions { target_file_size_base: 4 << 10, ..by_hand() };
    let db = open(Arc::new(MemoryFileSystem::new()), Cache::new(8 << 20), with(options));
    fill(&db, 0..10_000);
    compact(&db, BottommostLevel::Rewrite);
    let first = tables(&db);
    assert!(first[..6].iter().all(Vec::is_empty) && first[6].len() > 10, "{first:?}");
    compact(&db, BottommostLevel::Skip);
    compact(&db, BottommostLevel::IfFilter);
    assert_eq!(tables(&db), first);
    compact(&db, BottommostLevel::Rewrite);
    let again = tables(&db);
    assert!(again[6].iter().all(|number| !first[6].contains(number)));
    assert_eq!(
        db.get(&77u32.to_be_bytes()).unwrap().unwrap(),
        77u32.wrapping_mul(2_654_435_761).to_be_bytes()
    );
}

#[test]
fn a_range_by_hand_leaves_the_tables_beside_it() {
    let options = ColumnFamilyOptions { target_file_size_base: 4 << 10, ..by_hand() };
    let db = open(Arc::new(MemoryFileSystem::new()), Cache::new(8 << 20), with(options));
    fill(&db, 0..10_000);
    compact(&db, BottommostLevel::Rewrite);
    let before = tables(&db);
    db.delete_range(&3_000u32.to_be_bytes(), &4_000u32.to_be_bytes()).unwrap();
    let (from, to) = (3_000u32.to_be_bytes(), 4_000u32.to_be_bytes());
    db.compact_range(&db.default_family(), Some(&from), Some(&to)).unwrap();
    let after = tables(&db);
    let kept = before[6].iter().filter(|number| after[6].contains(number)).count();
    let (all, left) = (before[6].len(), after[6].len());
    assert!(kept >= all * 8 / 10 && left <= all * 19 / 20, "{kept} of {all} kept, {left} left");
    let sums = db.table_sums(&db.default_family(), None).unwrap();
    assert_eq!((sums.entries, sums.range_deletions), (9_000, 0));
}

/// A disk that turns a bit of every table while it is written.
#[test]
fn tables_are_read_back_if_that_is_asked_for_and_damaged_ones_are_not_used() {
    let disk = MemoryFileSystem::new();
    let fs = FaultFileSystem::new(Arc::new(disk.clone()));
    let options = ColumnFamilyOptions { paranoid_file_checks: true, ..by_hand() };
    let db = open(Arc::new(fs.clone()), Cache::new(8 << 20), with(options));
    fill(&db, 0..1_000);
    fill(&db, 0..1_000);
    let before = tables(&db);
    fs.set_rule(|call| {
        let is_table = call.path.extension().is_some_and(|extension| extension == "sst");
        (is_table && call.kind == CallKind::Write).then_some(Fault::FlippedBit(77))
    });
    let error = db.compact_range(&db.default_family(), None, None).unwrap_err();
    assert_eq!(error.kind(), crate::error::ErrorKind::Corruption, "{error}");
    fs.clear_rule();
    assert_eq!(tables(&db), before);
    assert_eq!(db.get(&7u32.to_be_bytes()).unwrap().unwrap().len(), 4);
}

/// Runs what is due until nothing is. That it ends is a part of the test.
fn settle(db: &Db) {
    while db.inner().wait_for_a_compaction().unwrap() {}
}

/// oxia-db/oxia#644, cockroachdb/pebble#1070: a tombstone over all keys, deep above them, took all of the level below at once.
#[test]
fn a_wide_tombstone_goes_down_by_itself_and_in_pieces() {
    const COUNT: u32 = 20_000;
    const COMPACTION_BYTES: u64 = 64 << 10;
    let options = ColumnFamilyOptions {
        num_levels: 5,
        level_compaction_dynamic_level_bytes: false,
        target_file_size_base: 8 << 10,
        max_compaction_bytes: COMPACTION_BYTES,
        ..ColumnFamilyOptions::default()
    };
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(fs, Cache::new(64 << 20), with(options));
    fill(&db, 0..COUNT);
    compact(&db, BottommostLevel::Skip);
    super::read_tests::move_tables_from(&db, 1, 3);
    let family = db.default_family();
    let bytes = family.0.family.current().levels()[3].file_bytes();
    assert!(bytes > 3 * COMPACTION_BYTES, "{bytes}");

    db.delete_range(&10_u32.to_be_bytes(), &(COUNT - 10).to_be_bytes()).unwrap();
    db.put(&(COUNT / 2).to_be_bytes(), b"newer").unwrap();
    db.flush().unwrap();
    settle(&db);
    let version = family.0.family.current();
    let range_deletions =
        version.files().filter_map(|(_, file)| file.counts()).map(|counts| counts.range_deletions);
    assert_eq!(range_deletions.sum::<u64>(), 0);
    assert!(version.files().map(|(_, file)| file.file_bytes).sum::<u64>() < bytes / 20);
    assert_eq!(super::testing::all(&db, &family).len(), 21);
    let counters = family.0.counters.level(3);
    assert!(counters.compactions >= bytes / (3 * COMPACTION_BYTES), "{counters:?}");
    // A piece lies over so much and one table more, at each end.
    let most = counters.compactions * (COMPACTION_BYTES + 4 * (8 << 10));
    assert!(counters.bytes_read <= most, "{counters:?}");
    // It does not begin again.
    let before = tables(&db);
    db.inner().schedule_compactions();
    settle(&db);
    assert_eq!(tables(&db), before);
}

/// Of many small tombstones, too, and with a snapshot in the way as long as there is one.
#[test]
fn tables_full_of_deletions_are_merged_without_being_asked_and_once() {
    for by_ranges in [false, true] {
        let options = ColumnFamilyOptions { num_levels: 4, ..ColumnFamilyOptions::default() };
        let fs = Arc::new(MemoryFileSystem::new());
        let db = open(fs, Cache::new(64 << 20), with(options));
        fill(&db, 0..1000);
        compact(&db, BottommostLevel::Skip);
        let snapshot = db.snapshot();
        for n in 100..900_u32 {
            match by_ranges {
                true => db.delete_range(&n.to_be_bytes(), &(n + 1).to_be_bytes()).unwrap(),
                false => db.delete(&n.to_be_bytes()).unwrap(),
            }
        }
        db.flush().unwrap();
        settle(&db);
        let family = db.default_family();
        let left = || -> (u64, u64) {
            let version = family.0.family.current();
            version
                .files()
                .filter_map(|(_, file)| file.counts())
                .fold((0, 0), |sum, counts| (sum.0 + counts.entries, sum.1 + counts.deletions))
        };
        assert!(left().1 > 0, "the snapshot sees what they hide");
        let before = tables(&db);
        db.inner().schedule_compactions();
        settle(&db);
        assert_eq!(tables(&db), before, "nothing is written again in vain");
        drop(snapshot);
        settle(&db);
        assert_eq!(left(), (200, 0), "{by_ranges}");
        let before = tables(&db);
        db.inner().schedule_compactions();
        settle(&db);
        assert_eq!(tables(&db), before);
    }
}
