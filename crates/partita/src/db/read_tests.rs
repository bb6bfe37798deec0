//! What reads cost, and where they end.

use std::sync::Arc;

use super::*;
use crate::error::ErrorKind;
use crate::io::MemoryFileSystem;
use crate::options::ColumnFamilyOptions;
use crate::table::{BlockRole, ReadContext};

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
