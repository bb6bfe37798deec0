//! Public bug reports about other engines, re-created in a database that is compacted.

use std::ops::Bound;
use std::sync::Arc;

use super::churn_testing::*;
use super::testing::{Pairs, backward, forward};
use super::*;
use crate::cache::Role;
use crate::io::{CallKind, Fault, FaultFileSystem, ManualClock, ManualScheduler, MemoryFileSystem};
use crate::iter::Bounds;
use crate::key::PrefixExtractor;
use crate::options::{ColumnFamilyOptions, TableOptions};
use crate::table::ReadContext;

fn quiet() -> ColumnFamilyOptions {
    ColumnFamilyOptions { disable_auto_compactions: true, ..small_tables() }
}

fn open(fs: Arc<dyn FileSystem>, options: &ColumnFamilyOptions) -> Db {
    builder(fs, options).open().unwrap()
}

fn in_memory(options: &ColumnFamilyOptions) -> Db {
    open(Arc::new(MemoryFileSystem::new()), options)
}

/// Keys and values as a walk of these options shows them, after walking backward showed the same.
fn shown(db: &Db, options: IterOptions) -> Pairs {
    let mut iter = db.iter_cf(&db.default_family(), options).unwrap();
    let entries = forward(&mut iter);
    assert_eq!(backward(&mut iter), entries);
    entries
}

fn keys_of(db: &Db, options: IterOptions) -> Vec<Vec<u8>> {
    shown(db, options).into_iter().map(|(key, _)| key).collect()
}

fn at(snapshot: &Snapshot) -> ReadOptions {
    ReadOptions::at(snapshot)
}

/// The keys of these that each way of reading finds, which is the same.
fn found(db: &Db, keys: &[Vec<u8>], read: &ReadOptions) -> Vec<Vec<u8>> {
    let (family, ctx) = (db.default_family(), &mut ReadContext::default());
    let many = db.multi_get_with(&family, keys, read, ctx).unwrap();
    let walked = keys_of(db, IterOptions { read: read.clone(), ..IterOptions::default() });
    for (key, value) in keys.iter().zip(&many) {
        let got = db.get_with(&family, key, read, ctx).unwrap();
        assert_eq!(got.as_deref(), value.as_deref(), "{key:?}");
        assert_eq!(value.is_some(), walked.contains(key), "{key:?}");
    }
    let there = keys.iter().zip(&many).filter(|(_, value)| value.is_some());
    there.map(|(key, _)| key.clone()).collect()
}

/// rocksdb#9453: the filter of the memtable hid a range delete from reads of many keys.
#[test]
fn r08_a_range_delete_in_the_memtable_counts_in_every_way_of_reading() {
    for prefix_extractor in [None, Some(PrefixExtractor::Fixed(1))] {
        let table = TableOptions { prefix_extractor, ..small_tables().table };
        let db = in_memory(&ColumnFamilyOptions { table, ..quiet() });
        let keys: Vec<Vec<u8>> = (b'a'..=b'z').map(|key| vec![key]).collect();
        for key in &keys {
            db.put(key, b"v").unwrap();
        }
        db.flush().unwrap();
        let before = db.snapshot();
        db.delete_range(b"b", b"y").unwrap();
        let left: Vec<Vec<u8>> = [b"a", b"y", b"z"].map(|key| key.to_vec()).into();
        for _ in 0..2 {
            assert_eq!(found(&db, &keys, &ReadOptions::default()), left);
            assert_eq!(found(&db, &keys, &at(&before)), keys);
            // Once more from tables that were merged.
            db.compact_range(&db.default_family(), None, None).unwrap();
        }
    }
}

/// rocksdb#6953, #12295: of a key that was asked for twice only the first copy got the right answer, or an error of one
/// misled the others.
#[test]
fn r09_a_key_asked_for_several_times_has_one_answer() {
    let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
    let table = TableOptions { block_size: 64, ..TableOptions::default() };
    let options = ColumnFamilyOptions { table, target_file_size_base: 1 << 20, ..quiet() };
    // Nothing stays in the cache.
    let given = builder(Arc::new(fs.clone()), &options).cache(Cache::new(2 << 10));
    let db = given.open().unwrap();
    let family = db.default_family();
    db.put(b"m", b"base").unwrap();
    db.put(b"z", b"last").unwrap();
    db.compact_range(&family, None, None).unwrap();
    db.put(b"a", b"first").unwrap();
    let mut held = Vec::new();
    for number in 0..9 {
        db.merge(b"m", format!("{number:020}").as_bytes()).unwrap();
        held.push(db.snapshot());
    }
    db.flush().unwrap();
    let single = db.get(b"m").unwrap().unwrap().to_vec();
    assert_eq!(single.len(), 4 + 9 * 21);
    let ask = |keys: &[&[u8]]| {
        let read = ReadOptions { fill_cache: false, ..ReadOptions::default() };
        let many = db.multi_get_with(&family, keys, &read, &mut ReadContext::default())?;
        Ok::<_, crate::error::Error>(
            many.into_iter().map(|it| it.map(|it| it.to_vec())).collect::<Vec<_>>(),
        )
    };
    let (m, a, z) = (Some(single), Some(b"first".to_vec()), Some(b"last".to_vec()));
    let cases: [(&[&[u8]], Vec<_>); 2] = [
        (&[b"m", b"m", b"m"], vec![m.clone(), m.clone(), m.clone()]),
        (&[b"a", b"m", b"m", b"z"], vec![a, m.clone(), m, z]),
    ];
    for (keys, expected) in cases {
        assert_eq!(ask(keys).unwrap(), expected);
        // Whichever read fails: an error, and never another value.
        let mut failed = 0;
        for nth in 0..20 {
            let mut before = 0;
            fs.set_rule(move |call| {
                before += u32::from(call.kind == CallKind::ReadAt);
                let hit = call.kind == CallKind::ReadAt && before == nth + 1;
                hit.then_some(Fault::Error(std::io::ErrorKind::Other))
            });
            match ask(keys) {
                Ok(answers) => assert_eq!(answers, expected, "read {nth}"),
                Err(_) => failed += 1,
            }
        }
        fs.clear_rule();
        assert!(failed > 3, "{failed}");
    }
}

/// MystenLabs/sui#26455: an inclusive bound of 0xff bytes has no successor, and lost its entry.
#[test]
fn r10_the_last_keys_are_within_their_bounds() {
    let db = in_memory(&quiet());
    let keys: [&[u8]; 4] = [&[0x64], &[0xff], &[0xff, 0xff], &[0xff, 0xff, 0]];
    for key in keys {
        db.put(key, b"v").unwrap();
    }
    for _ in 0..2 {
        let up_to = |end: &[u8]| {
            let bounds = Bounds { upper: Bound::Included(end.to_vec()), ..Bounds::default() };
            keys_of(&db, IterOptions { bounds, ..IterOptions::default() })
        };
        assert_eq!(up_to(&[0xff]), keys[..2]);
        assert_eq!(up_to(&[0xff, 0xff]), keys[..3]);
        let of_prefix = |prefix: &[u8]| {
            let bounds = Bounds::prefix(&crate::key::KeyOrder::Bytewise, prefix).unwrap();
            keys_of(&db, IterOptions { bounds, ..IterOptions::default() })
        };
        assert_eq!(of_prefix(&[0xff]), keys[1..]);
        assert_eq!(of_prefix(&[0xff, 0xff]), keys[2..]);
        assert_eq!(of_prefix(&[]), keys);
        // Compacting includes both ends of its range, too.
        db.flush().unwrap();
        let end: &[u8] = &[0xff, 0xff, 0];
        db.compact_range(&db.default_family(), Some(end), Some(end)).unwrap();
        assert_eq!(files_by_level(&db)[0], 0);
    }
}

/// cockroachdb/pebble#1023: an empty start key was taken for no limit, and a flush or a compaction did not end.
#[test]
fn r11_a_range_delete_may_start_at_the_empty_key() {
    must_end(|| {
        let db = in_memory(&quiet());
        let compact = || {
            let options = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
            db.compact_range_with(&db.default_family(), None, None, &options).unwrap();
        };
        db.delete_range(b"", b"b").unwrap();
        let held = db.snapshot();
        db.flush().unwrap();
        assert_eq!(files_by_level(&db)[0], 1, "one file holds it");
        assert_eq!(keys_of(&db, IterOptions::default()), Vec::<Vec<u8>>::new());
        drop(held);
        compact();
        assert_eq!(files_by_level(&db).iter().sum::<usize>(), 0, "nothing is left to be deleted");
        for key in [&b""[..], b"a", b"b"] {
            db.put(key, b"").unwrap();
        }
        db.flush().unwrap();
        let before = db.snapshot();
        db.delete_range(b"", b"b").unwrap();
        db.delete_range(b"b", b"b").unwrap();
        for step in [
            |db: &Db| db.flush().unwrap(),
            |db: &Db| {
                db.compact_range(&db.default_family(), None, None).unwrap();
            },
        ] {
            assert_eq!(keys_of(&db, IterOptions::default()), [b"b"]);
            let read = ReadOptions::at(&before);
            let then = keys_of(&db, IterOptions { read, ..IterOptions::default() });
            assert_eq!(then, [&b""[..], b"a", b"b"]);
            step(&db);
        }
        drop(before);
        compact();
        assert_eq!(keys_of(&db, IterOptions::default()), [b"b"]);
    });
}

/// cockroachdb/pebble#26, rocksdb#4432: versions of a key in neighbouring files, and a range tombstone over the border,
/// of which one side is compacted before the other.
#[test]
fn r12_a_range_tombstone_over_the_border_of_files_covers_what_it_covered() {
    // Every entry fills a table.
    let options = ColumnFamilyOptions { target_file_size_base: 1, ..quiet() };
    for first in [&b"a"[..], b"c", b"cc"] {
        let db = in_memory(&options);
        let value = |text: &str| [text.as_bytes(), &[7; 300]].concat();
        for key in ["a", "b", "c", "cc", "d"] {
            db.put(key.as_bytes(), &value("0")).unwrap();
        }
        db.compact_range(&db.default_family(), None, None).unwrap();
        let oldest = db.snapshot();
        db.put(b"a", &value("1")).unwrap();
        db.put(b"c", &value("old")).unwrap();
        let old = db.snapshot();
        db.put(b"c", &value("new")).unwrap();
        let new = db.snapshot();
        db.delete_range(b"b", b"d").unwrap();
        let check = |what: &str| {
            let state = |read: ReadOptions| {
                let entries = shown(&db, IterOptions { read, ..IterOptions::default() });
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                let entry = |(key, value): &(Vec<u8>, Vec<u8>)| {
                    format!("{}={}", text(key), text(&value[..value.len() - 300]))
                };
                entries.iter().map(entry).collect::<Vec<_>>().join(" ")
            };
            assert_eq!(state(ReadOptions::default()), "a=1 d=0", "{what}");
            assert_eq!(state(at(&new)), "a=1 b=0 c=new cc=0 d=0", "{what}");
            assert_eq!(state(at(&old)), "a=1 b=0 c=old cc=0 d=0", "{what}");
            assert_eq!(state(at(&oldest)), "a=0 b=0 c=0 cc=0 d=0", "{what}");
        };
        check("in memory");
        db.flush().unwrap();
        check("flushed");
        db.compact_range(&db.default_family(), Some(first), Some(first)).unwrap();
        check("one side compacted");
        db.compact_range(&db.default_family(), Some(b"b"), Some(b"b")).unwrap();
        check("more compacted");
        db.compact_range(&db.default_family(), None, None).unwrap();
        check("all compacted");
    }
}

/// cockroachdb/pebble#445: a delete between two operands that a snapshot kept apart was lost.
#[test]
fn r13_operands_are_not_merged_over_a_deletion() {
    for flushed_between in [false, true] {
        let db = in_memory(&quiet());
        let family = db.default_family();
        let flush = || {
            if flushed_between {
                db.flush().unwrap();
            }
        };
        db.merge(b"a", b"1").unwrap();
        let snapshot = db.snapshot();
        flush();
        db.delete(b"a").unwrap();
        flush();
        db.merge(b"a", b"5").unwrap();
        let rewrite = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
        for _ in 0..2 {
            db.compact_range_with(&family, None, None, &rewrite).unwrap();
            assert_eq!(db.get(b"a").unwrap().unwrap(), b"5");
            assert_eq!(db.get_at(&snapshot, &family, b"a").unwrap().unwrap(), b"1");
        }
        drop(snapshot);
        db.compact_range_with(&family, None, None, &rewrite).unwrap();
        assert_eq!(db.get(b"a").unwrap().unwrap(), b"5");
    }
}

/// rocksdb#3482: a budget smaller than one index block failed flushes; so with compactions.
#[test]
fn r17_a_budget_smaller_than_a_block_fails_no_compaction() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let options = ColumnFamilyOptions {
        target_file_size_base: 64 << 10,
        max_bytes_for_level_base: 128 << 10,
        ..small_tables()
    };
    let db = builder(fs, &options).cache(Cache::new(2 << 10)).open().unwrap();
    for number in 0..4_000u32 {
        db.put(&number.wrapping_mul(2_654_435_761).to_be_bytes(), &number.to_be_bytes()).unwrap();
    }
    db.flush().unwrap();
    db.compact_range(&db.default_family(), None, None).unwrap();
    db.wait_for_background_work().unwrap();
    for number in (0..4_000u32).step_by(97) {
        let key = number.wrapping_mul(2_654_435_761).to_be_bytes();
        assert_eq!(db.get(&key).unwrap().unwrap(), number.to_be_bytes());
    }
}

/// Demand row 4: a queue. Keys are put and deleted oldest first; who looks for the first one left passes few deletions once
/// background work has ended, whatever was held meanwhile.
#[test]
fn seeks_over_deleted_keys_pass_few_once_background_work_has_ended() {
    let key = |number: u32| number.to_be_bytes();
    const ALL: u32 = 20_000;
    const LEFT: u32 = 20;
    for held in [false, true] {
        let options = ColumnFamilyOptions {
            write_buffer_size: 64 << 10,
            target_file_size_base: 32 << 10,
            max_bytes_for_level_base: 32 << 10,
            ..small_tables()
        };
        // Work in the background comes at the same places each time: what the upper levels hold depends on that.
        let scheduler = Arc::new(ManualScheduler::in_order());
        let clock = Arc::new(ManualClock::default());
        let db = by_hand(Arc::new(MemoryFileSystem::new()), &options, &scheduler, &clock);
        for number in 0..ALL {
            if number % 100 == 0 {
                scheduler.run_all();
            }
            db.put(&key(number), b"value").unwrap();
        }
        let snapshot = held.then(|| db.snapshot());
        for number in 0..ALL - LEFT {
            if number % 100 == 0 {
                scheduler.run_all();
            }
            db.delete(&key(number)).unwrap();
        }
        // From the first key, from within what is gone, and to the last one before a key that is gone.
        let skipped = || {
            let mut iter = db.iter().unwrap();
            iter.seek_to_first().unwrap();
            assert_eq!(iter.key(), key(ALL - LEFT));
            iter.seek(&key(ALL / 2)).unwrap();
            assert_eq!(iter.key(), key(ALL - LEFT));
            iter.seek_for_prev(&key(ALL / 2)).unwrap();
            assert!(!iter.is_valid());
            iter.skipped().entries()
        };
        assert!(skipped() > 0, "they are counted");
        db.flush().unwrap();
        scheduler.run_all();
        drop(snapshot);
        scheduler.pass(super::tick::TICK);
        scheduler.run_all();
        let after = skipped();
        // Each of the three passed twenty thousand entries or more. Pairs that a snapshot kept apart stay above the
        // bottom until their level is merged: no more than what the upper levels hold.
        let most = if held { ALL } else { ALL / 10 };
        assert!(after < u64::from(most), "held {held}: {after}");
    }
}

/// Demand row 33: blocks of tables that are gone leave the cache with them.
#[test]
fn blocks_of_dead_tables_leave_the_cache() {
    let fs = MemoryFileSystem::new();
    let open = || {
        let cache = Cache::new(64 << 20);
        let db = builder(Arc::new(fs.clone()), &small_tables()).cache(cache.clone());
        (db.open().unwrap(), cache)
    };
    let (db, cache) = open();
    for number in 1..=150 {
        db.write(batch(&db, number), &WriteOptions::default()).unwrap();
        if number % 3 == 0 {
            db.flush().unwrap();
            // Has all blocks in the cache.
            state_of(&db);
        }
    }
    for family in db.families() {
        db.compact_range(&family, None, None).unwrap();
    }
    db.wait_for_background_work().unwrap();
    state_of(&db);
    // The cache's own lists are as long as they ever had to be.
    let roles = || Role::ALL.into_iter().filter(|role| *role != Role::Bookkeeping);
    let bytes = |cache: &Cache| -> Vec<_> {
        roles().map(|role| (role, cache.stats().role(role).bytes)).collect()
    };
    let churned = bytes(&cache);
    drop(db);
    let (db, cache) = open();
    db.wait_for_background_work().unwrap();
    state_of(&db);
    assert_eq!(churned, bytes(&cache), "of the same tables, read anew");
}
