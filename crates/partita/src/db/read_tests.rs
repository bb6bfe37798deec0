//! What reads cost, and where they end.

use std::ops::Bound;
use std::sync::Arc;

use super::*;
use crate::error::ErrorKind;
use crate::io::MemoryFileSystem;
use crate::options::ColumnFamilyOptions;
use crate::table::{BlockRole, ReadContext};
use crate::version::edit::{DeletedFile, NewFile};
use crate::version::{FileMeta, VersionEdit};

/// An empty database that compacts nothing by itself.
fn create(fs: &MemoryFileSystem, options: ColumnFamilyOptions) -> Db {
    let config = FamilyConfig {
        options: Some(ColumnFamilyOptions { disable_auto_compactions: true, ..options }),
        ..FamilyConfig::default()
    };
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let builder = DbBuilder::new("/db").file_system(Arc::new(fs.clone())).options(options);
    builder.cache(Cache::new(8 << 20)).family("default", config).open().unwrap()
}

fn key(number: u32) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

fn cache_only() -> ReadOptions {
    ReadOptions { tier: ReadTier::CacheOnly, ..ReadOptions::default() }
}

#[test]
fn a_read_limited_to_memory_reads_nothing_and_says_when_it_would_have_to() {
    let fs = MemoryFileSystem::new();
    let db = create(&fs, ColumnFamilyOptions::default());
    for number in 0..2000 {
        db.put(&key(number), &[7; 100]).unwrap();
    }
    db.flush().unwrap();
    db.put(b"fresh", b"1").unwrap();
    db.delete(&key(5)).unwrap();
    drop(db);
    let db = create(&fs, ColumnFamilyOptions::default());
    db.put(b"fresh", b"1").unwrap();
    db.delete(&key(5)).unwrap();
    let family = db.default_family();
    let mut ctx = ReadContext::default();
    let incomplete = |result: Result<Option<PinnedValue>>| {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Incomplete);
    };
    // Not even the table is open.
    incomplete(db.get_with(&family, &key(7), &cache_only(), &mut ctx));
    assert!(matches!(db.may_exist(&key(7)).unwrap(), Presence::Unknown));
    let values = db.multi_get_with(&family, &[key(7), key(8)], &cache_only(), &mut ctx);
    assert_eq!(values.unwrap_err().kind(), ErrorKind::Incomplete);
    // Memtables are asked.
    assert!(matches!(db.may_exist(b"fresh").unwrap(), Presence::Present(value) if value == b"1"));
    assert!(matches!(db.may_exist(&key(5)).unwrap(), Presence::Absent));
    let options = IterOptions { read: cache_only(), ..IterOptions::default() };
    let walk = db.iter_cf(&family, options.clone()).and_then(|mut iter| iter.seek(&key(7)));
    assert_eq!(walk.unwrap_err().kind(), ErrorKind::Incomplete);
    assert_eq!(ctx.blocks_read_total(), 0);

    // What others have read is there.
    db.iter().and_then(|mut iter| iter.seek(&key(7))).unwrap();
    assert!(db.get(&key(7)).unwrap().is_some());
    let found = db.get_with(&family, &key(7), &cache_only(), &mut ctx).unwrap();
    assert_eq!(found.unwrap(), [7; 100]);
    assert!(matches!(db.may_exist(&key(7)).unwrap(), Presence::Present(_)));
    // Another block.
    incomplete(db.get_with(&family, &key(1500), &cache_only(), &mut ctx));
    assert_eq!(ctx.blocks_read_total(), 0);
    assert_eq!(ctx.cache_misses[BlockRole::Data], 0);
    let mut iter = db.iter_cf(&family, options).unwrap();
    iter.seek(&key(7)).unwrap();
    assert_eq!(iter.key(), key(7));
    let end = loop {
        match iter.next() {
            Ok(()) => assert!(iter.is_valid(), "the end is in another block"),
            Err(error) => break error,
        }
    };
    assert_eq!(end.kind(), ErrorKind::Incomplete);
    assert!(!iter.is_valid());
}

#[test]
fn a_filter_that_is_not_in_memory_rules_nothing_out_of_it() {
    let fs = MemoryFileSystem::new();
    let db = create(&fs, ColumnFamilyOptions::default());
    for number in 0..2000 {
        db.put(&key(number), &[7; 100]).unwrap();
    }
    db.flush().unwrap();
    let absent = [&key(7)[..], b"x"].concat();
    // Opens the table, reads its index and one data block.
    let mut iter = db.iter().unwrap();
    iter.seek(&key(7)).unwrap();
    assert!(matches!(db.may_exist(&absent).unwrap(), Presence::Absent), "the data tells");
    assert!(db.may_exist(&key(1999)).unwrap().may_exist());
}

#[test]
fn reads_that_do_not_fill_the_cache_leave_it_as_it_is() {
    let fs = MemoryFileSystem::new();
    let db = create(&fs, ColumnFamilyOptions::default());
    for number in 0..2000 {
        db.put(&key(number), &[7; 100]).unwrap();
    }
    db.flush().unwrap();
    let family = db.default_family();
    let read = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    let mut ctx = ReadContext::default();
    for _ in 0..2 {
        assert!(db.get_with(&family, &key(7), &read, &mut ctx).unwrap().is_some());
        let keys = [key(7), key(900)];
        assert!(db.multi_get_with(&family, &keys, &read, &mut ctx).unwrap()[1].is_some());
    }
    let mut iter = db.iter_cf(&family, IterOptions { read, ..IterOptions::default() }).unwrap();
    iter.seek_to_first().unwrap();
    while iter.is_valid() {
        iter.next().unwrap();
    }
    assert_eq!(ctx.blocks_read[BlockRole::Data], 6);
    assert!(db.get_with(&family, &key(7), &ReadOptions::default(), &mut ctx).unwrap().is_some());
    assert_eq!(ctx.blocks_read[BlockRole::Data], 7);
    assert!(db.get_with(&family, &key(7), &ReadOptions::default(), &mut ctx).unwrap().is_some());
    assert_eq!(ctx.blocks_read[BlockRole::Data], 7);
}

#[test]
fn a_pinned_value_outlives_its_memtable_its_table_and_the_database() {
    let fs = MemoryFileSystem::new();
    let db = create(&fs, ColumnFamilyOptions::default());
    let value = |byte: u8| vec![byte; 500];
    db.put(b"a", &value(1)).unwrap();
    let of_memtable = db.get(b"a").unwrap().unwrap();
    db.put(b"a", &value(2)).unwrap();
    db.flush().unwrap();
    let of_table = db.get(b"a").unwrap().unwrap();
    db.put(b"a", &value(3)).unwrap();
    db.flush().unwrap();
    let of_many = db.multi_get(&["a", "b"]).unwrap().swap_remove(0).unwrap();
    drop(db);
    drop(fs);
    assert_eq!(of_memtable, value(1));
    assert_eq!(of_memtable.clone().into_vec(), value(1));
    assert_eq!(of_table, value(2));
    assert_eq!(of_many, value(3));
}

#[test]
fn a_multi_get_reads_each_block_once() {
    let fs = MemoryFileSystem::new();
    let db = create(&fs, ColumnFamilyOptions::default());
    for number in 0..2000 {
        db.put(&key(number), &[7; 100]).unwrap();
    }
    db.flush().unwrap();
    let keys: Vec<Vec<u8>> = (0..2000).rev().map(key).collect();
    let read = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    let mut ctx = ReadContext::default();
    let values = db.multi_get_with(&db.default_family(), &keys, &read, &mut ctx).unwrap();
    assert!(values.iter().all(|value| value.as_deref() == Some(&[7; 100])));
    // 2000 values of 100 bytes in blocks of 4 KiB.
    assert!((50..60).contains(&ctx.blocks_read[BlockRole::Data]), "{ctx:?}");
    assert!(ctx.blocks_read_total() < 80, "{ctx:?}");
}

/// Entries of ledgers, as bookies keep them: each run has the next stretch of every ledger.
fn entry(ledger: u64, number: u64) -> Vec<u8> {
    [ledger, number].map(u64::to_be_bytes).concat()
}

#[test]
fn a_floor_reads_one_data_block_where_runs_hold_different_stretches() {
    let fs = MemoryFileSystem::new();
    let db = create(&fs, ColumnFamilyOptions::default());
    // Ten runs of 2000 keys each, one behind the other, and under them one that is spread over all.
    for number in (0..20_000).step_by(10) {
        db.put(&entry(7, number), &[7; 50]).unwrap();
    }
    db.flush().unwrap();
    for run in 0..10 {
        for number in 0..2000 {
            db.put(&entry(7, 2000 * run + number), &[8; 50]).unwrap();
        }
        db.flush().unwrap();
    }
    let family = db.default_family();
    let read = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    let mut ctx = ReadContext::default();
    for at in 0..200 {
        let bound = entry(7, 97 * at + 3);
        // The key itself is in a newer run than the spread one, which is not asked any more.
        let range = (Bound::Unbounded, Bound::Included(&bound[..]));
        let found = db.get_floor_with(&family, range, &read, &mut ctx).unwrap().unwrap();
        assert_eq!((&*found.key, &*found.value), (&bound[..], &[8; 50][..]));
        let range = (Bound::Included(&bound[..]), Bound::Unbounded);
        let found = db.get_ceil_with(&family, range, &read, &mut ctx).unwrap().unwrap();
        assert_eq!(&*found.key, &bound[..]);
    }
    let blocks = ctx.blocks_read[BlockRole::Data];
    assert!((400..=404).contains(&blocks), "{blocks} blocks for 400 floors and ceilings");
    // The last key of all: eleven runs end before it, ten of them before what the newest has.
    let mut ctx = ReadContext::default();
    let range = (Bound::Unbounded, Bound::Unbounded);
    let found = db.get_floor_with(&family, range, &read, &mut ctx).unwrap().unwrap();
    assert_eq!(&*found.key, entry(7, 19_999));
    assert_eq!(ctx.blocks_read[BlockRole::Data], 1);
    // Between two stretches the spread run must be asked, too; the others end before.
    let mut ctx = ReadContext::default();
    let bound = entry(7, 4000);
    let range = (Bound::Unbounded, Bound::Excluded(&bound[..]));
    let found = db.get_floor_with(&family, range, &read, &mut ctx).unwrap().unwrap();
    assert_eq!(&*found.key, entry(7, 3999));
    assert_eq!(ctx.blocks_read[BlockRole::Data], 2);
}

#[test]
fn the_end_of_a_stream_that_many_runs_have_a_part_of_is_found_in_one_data_block() {
    const RUNS: u64 = 6;
    let fs = MemoryFileSystem::new();
    let db = create(&fs, ColumnFamilyOptions::default());
    let family = db.default_family();
    let read = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    let last = |ledger: u64, ctx: &mut ReadContext| {
        let (first, end) = (entry(ledger, 0), entry(ledger, u64::MAX));
        let range = (Bound::Included(&first[..]), Bound::Excluded(&end[..]));
        let found = db.get_floor_with(&family, range, &read, ctx).unwrap();
        found.map(|found| u64::from_be_bytes(found.key[8..].try_into().unwrap()))
    };
    // Each flush has some entries of every ledger, and the newest has none of the last one.
    for run in 0..RUNS {
        for ledger in 0..20 - u64::from(run == RUNS - 1) {
            for number in 0..10 {
                db.put(&entry(ledger, 10 * run + number), &[7; 50]).unwrap();
            }
        }
        db.flush().unwrap();
    }
    let mut ctx = ReadContext::default();
    for ledger in 0..20 {
        assert_eq!(last(ledger, &mut ctx), Some(if ledger == 19 { 49 } else { 59 }));
    }
    let blocks = ctx.blocks_read[BlockRole::Data];
    assert!((20 * RUNS - 5..=20 * RUNS).contains(&blocks), "{blocks} blocks: nothing is known yet");
    let mut ctx = ReadContext::default();
    for ledger in 0..20 {
        assert_eq!(last(ledger, &mut ctx), Some(if ledger == 19 { 49 } else { 59 }));
    }
    assert_eq!(ctx.blocks_read[BlockRole::Data], 20);
    assert_eq!(last(20, &mut ctx), None);

    let key = |ledger: u64, ctx: &mut ReadContext| {
        let (first, end) = (entry(ledger, 0), entry(ledger, u64::MAX));
        let range = (Bound::Included(&first[..]), Bound::Excluded(&end[..]));
        let found = db.get_floor_key_with(&family, range, &read, ctx).unwrap();
        found.map(|key| u64::from_be_bytes(key[8..].try_into().unwrap()))
    };
    let mut ctx = ReadContext::default();
    for ledger in 0..20 {
        assert_eq!(key(ledger, &mut ctx), Some(if ledger == 19 { 49 } else { 59 }));
    }
    // Bounds that share a pair of lines push each other out.
    assert!(ctx.blocks_read[BlockRole::Data] <= 4, "the key alone is known as a rule");

    // What is known of the tables does not stand against what is written later, nor against what is deleted.
    db.put(&entry(3, 70), b"newer").unwrap();
    db.delete(&entry(4, 59)).unwrap();
    db.flush().unwrap();
    db.delete_range(&entry(5, 20), &entry(5, 90)).unwrap();
    for _ in 0..2 {
        let found = [3, 4, 5, 6].map(|ledger| last(ledger, &mut ctx));
        assert_eq!(found, [Some(70), Some(58), Some(19), Some(59)]);
        assert_eq!([3, 4, 5, 6].map(|ledger| key(ledger, &mut ctx)), found);
    }
}

#[test]
fn what_an_older_reader_finds_is_no_floor_for_others() {
    let fs = MemoryFileSystem::new();
    let db = create(&fs, ColumnFamilyOptions::default());
    let family = db.default_family();
    db.put(b"a1", b"").unwrap();
    let snapshot = db.snapshot();
    db.put(b"a2", b"").unwrap();
    db.flush().unwrap();
    let range = (Bound::Unbounded, Bound::Excluded(&b"b"[..]));
    let key = |snapshot: Option<Snapshot>| {
        let read = ReadOptions { snapshot, fill_cache: false, ..ReadOptions::default() };
        let mut ctx = ReadContext::default();
        db.get_floor_with(&family, range, &read, &mut ctx).unwrap().unwrap().key.to_vec()
    };
    for _ in 0..3 {
        assert_eq!(key(Some(snapshot.clone())), b"a1");
        assert_eq!(key(None), b"a2");
    }
}

#[test]
fn nothing_is_read_before_the_limit_of_a_floor() {
    let fs = MemoryFileSystem::new();
    let db = create(&fs, ColumnFamilyOptions::default());
    for ledger in 0..100 {
        for number in 0..40 {
            db.put(&entry(2 * ledger, number), &[7; 100]).unwrap();
        }
    }
    db.flush().unwrap();
    let family = db.default_family();
    let read = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    let mut ctx = ReadContext::default();
    for ledger in 0..100 {
        let (from, to) = (entry(2 * ledger + 1, 0), entry(2 * ledger + 1, u64::MAX));
        let range = (Bound::Included(&from[..]), Bound::Included(&to[..]));
        assert!(db.get_floor_with(&family, range, &read, &mut ctx).unwrap().is_none());
        assert!(db.get_ceil_with(&family, range, &read, &mut ctx).unwrap().is_none());
    }
    // Ledger and bound are in one block, as a rule.
    let blocks = ctx.blocks_read[BlockRole::Data];
    assert!(blocks <= 210, "{blocks} blocks");
}

#[test]
fn floors_pass_many_deleted_keys_in_one_walk() {
    let fs = MemoryFileSystem::new();
    let db = create(&fs, ColumnFamilyOptions::default());
    db.put(&key(0), b"first").unwrap();
    for number in 1..5000 {
        db.put(&key(number), &[7; 20]).unwrap();
    }
    db.flush().unwrap();
    for number in 1..2000 {
        db.delete(&key(number)).unwrap();
    }
    db.delete_range(&key(2000), &key(4999)).unwrap();
    let family = db.default_family();
    for is_flushed in [false, true] {
        let mut ctx = ReadContext::default();
        let last = key(4998);
        let range = (Bound::Unbounded, Bound::Included(&last[..]));
        let found = db.get_floor_with(&family, range, &ReadOptions::default(), &mut ctx).unwrap();
        assert_eq!(found.unwrap().value, b"first");
        // The range is jumped over; the deletions are passed one by one, and counted.
        assert!((1999..2100).contains(&ctx.tombstones_skipped), "{ctx:?}");
        let first = key(1);
        let range = (Bound::Included(&first[..]), Bound::Unbounded);
        let found = db.get_ceil_with(&family, range, &ReadOptions::default(), &mut ctx).unwrap();
        assert_eq!(*found.unwrap().key, key(4999));
        if !is_flushed {
            db.flush().unwrap();
        }
    }
    let mut iter = db
        .iter_cf(&family, IterOptions { skipped_max: Some(1000), ..IterOptions::default() })
        .unwrap();
    iter.seek(&key(0)).unwrap();
    assert_eq!(iter.key(), key(0));
    assert_eq!(iter.next().unwrap_err().kind(), ErrorKind::Incomplete);
    assert!(!iter.is_valid());
    assert!(iter.context().entries_skipped >= 1000);
    iter.seek_to_last().unwrap();
    assert_eq!(iter.key(), key(4999));
    assert_eq!(iter.prev().unwrap_err().kind(), ErrorKind::Incomplete);
}

/// rocksdb#3634, #3959: a walk over a memtable looked at every range tombstone in it when it was made.
#[test]
fn making_a_walk_over_many_range_tombstones_costs_the_same_as_over_few() {
    for overlap in [false, true] {
        let fs = MemoryFileSystem::new();
        let db = create(&fs, ColumnFamilyOptions::default());
        for number in 0..10_000 {
            let end = if overlap { 20_000 - number } else { number + 1 };
            db.delete_range(&key(number), &key(end)).unwrap();
        }
        db.put(&key(5), b"1").unwrap();
        let mut iter = db.iter().unwrap();
        let view = db.default_family().0.view.load_full();
        let sets = view.memtable.range_tombstone_sets();
        for _ in 0..100 {
            iter = db.iter().unwrap();
            // The same sets are shared by all, however many tombstones are in them.
            let again = view.memtable.range_tombstone_sets();
            assert!(sets.len() <= 15 && sets.len() == again.len());
            assert!(sets.iter().zip(&again).all(|(a, b)| Arc::ptr_eq(a, b)));
        }
        iter.seek_to_first().unwrap();
        assert_eq!(iter.key(), key(5));
        iter.next().unwrap();
        assert!(!iter.is_valid());
    }
}

/// Moves tables of level 0 to another level; the caller knows that they do not overlap.
pub(super) fn move_tables(db: &Db, level: usize) {
    move_tables_from(db, 0, level);
}

/// The same of a sorted level.
pub(super) fn move_tables_from(db: &Db, from: u32, level: usize) {
    let family = db.default_family();
    let files = family.0.view.load().version.levels()[from as usize].files().to_vec();
    let edit = VersionEdit {
        family: family.id(),
        new_files: files
            .iter()
            .map(|file| NewFile { level: level as u32, file: FileMeta::clone(file) })
            .collect(),
        deleted_files: files
            .iter()
            .map(|file| DeletedFile { level: from, number: file.number })
            .collect(),
        ..VersionEdit::default()
    };
    db.inner().install_flushed(vec![edit], &[(&family, &[])]).unwrap();
}

#[test]
fn the_newest_version_counts_where_a_key_goes_over_the_border_of_tables() {
    let fs = MemoryFileSystem::new();
    let db = create(&fs, ColumnFamilyOptions::default());
    db.put(b"k", b"old").unwrap();
    db.put(b"z", b"last").unwrap();
    db.flush().unwrap();
    let before = db.snapshot();
    db.put(b"a", b"first").unwrap();
    db.put(b"k", b"new").unwrap();
    db.flush().unwrap();
    move_tables(&db, 3);
    let family = db.default_family();
    let version = Arc::clone(&family.0.view.load().version);
    assert_eq!(version.levels()[3].len(), 2);
    let (now, then) = (ReadOptions::default(), ReadOptions::at(&before));
    for (read, value) in [(now, &b"new"[..]), (then, b"old")] {
        let mut ctx = ReadContext::default();
        for bound in [Bound::Included(&b"k"[..]), Bound::Included(b"m"), Bound::Excluded(b"z")] {
            let range = (Bound::Unbounded, bound);
            let found = db.get_floor_with(&family, range, &read, &mut ctx).unwrap().unwrap();
            assert_eq!((&*found.key, &*found.value), (&b"k"[..], value), "{bound:?}");
        }
        for bound in [Bound::Included(&b"k"[..]), Bound::Excluded(b"b"), Bound::Excluded(b"a")] {
            let range = (bound, Bound::Unbounded);
            let found = db.get_ceil_with(&family, range, &read, &mut ctx).unwrap().unwrap();
            assert_eq!((&*found.key, &*found.value), (&b"k"[..], value), "{bound:?}");
        }
        let values = db.multi_get_with(&family, &["k", "z"], &read, &mut ctx).unwrap();
        assert_eq!(values[0].as_deref(), Some(value));
        assert_eq!(values[1].as_deref(), Some(&b"last"[..]));
    }
}
