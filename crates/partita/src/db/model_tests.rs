//! Random histories against sorted maps.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::testing::{Draw, all, backward, forward};
use super::*;
use crate::batch::WriteBatch;
use crate::io::MemoryFileSystem;
use crate::options::{ColumnFamilyOptions, ObjectName, TableOptions};
use crate::table::ReadContext;

const FAMILIES: [&str; 2] = ["default", "more"];

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(draw: &mut Draw) -> Vec<u8> {
    format!("key{:03}", draw.below(200)).into_bytes()
}

fn open(fs: &MemoryFileSystem, keep: bool) -> Db {
    let options = DbOptions {
        create_if_missing: true,
        create_missing_column_families: true,
        avoid_flush_during_recovery: keep,
        max_background_jobs: 3,
        max_subcompactions: 3,
        ..DbOptions::default()
    };
    let family = ColumnFamilyOptions {
        write_buffer_size: 16 << 10,
        // A tree that grows several levels deep, and in which something is always due.
        level0_file_num_compaction_trigger: 2,
        target_file_size_base: 512,
        max_bytes_for_level_base: 3 << 10,
        max_bytes_for_level_multiplier: 2.0,
        level_compaction_dynamic_level_bytes: keep,
        table: TableOptions { block_size: 200, ..TableOptions::default() },
        merge_operator: ObjectName::new("StringAppendOperator"),
        ..ColumnFamilyOptions::default()
    };
    let config = FamilyConfig { options: Some(family), ..FamilyConfig::default() };
    let builder = DbBuilder::new("/db").file_system(Arc::new(fs.clone())).options(options);
    let builder = builder.cache(Cache::new(4 << 20));
    FAMILIES
        .iter()
        .fold(builder, |builder, name| builder.family(name, config.clone()))
        .open()
        .unwrap()
}

/// Adds a random record to a batch and does the same to the model.
fn change(
    draw: &mut Draw,
    batch: &mut WriteBatch,
    id: u32,
    map: &mut Map,
    once: &mut Vec<Vec<u8>>,
    at: usize,
) {
    let key = key(draw);
    match draw.below(12) {
        0..=4 => {
            let value = format!("value{at}{}", "x".repeat(draw.below(60) as usize)).into_bytes();
            batch.put_cf(id, &key, &value).unwrap();
            map.insert(key, value);
        }
        5 => {
            batch.delete_cf(id, &key).unwrap();
            map.remove(&key);
        }
        7 | 8 => {
            let operand = format!("{at}").into_bytes();
            batch.merge_cf(id, &key, &operand).unwrap();
            match map.get_mut(&key) {
                Some(value) => value.extend([&b","[..], &operand].concat()),
                None => drop(map.insert(key, operand)),
            }
        }
        // Wide ones, and neighbours that adjoin.
        kind @ (6 | 9) => {
            let end = match kind {
                6 => [&key[..], b"~"].concat(),
                _ => self::key(draw),
            };
            let mut range = [key, end];
            range.sort();
            let [begin, end] = range;
            batch.delete_range_cf(id, &begin, &end).unwrap();
            map.retain(|key, _| *key < begin || *key >= end);
        }
        10 => {
            // Keys that are put once, to be single-deleted. No range gets to them.
            let key = format!("once{at:06}{}", batch.count()).into_bytes();
            batch.put_cf(id, &key, b"1").unwrap();
            map.insert(key.clone(), b"1".to_vec());
            once.push(key);
        }
        _ => {
            if let Some(key) = once.pop() {
                batch.single_delete_cf(id, &key).unwrap();
                map.remove(&key);
            }
        }
    }
}

fn compare(db: &Db, name: &str, map: &Map, snapshot: Option<&Snapshot>, what: &str) {
    let family = db.family(name).unwrap();
    let read = ReadOptions { snapshot: snapshot.cloned(), ..ReadOptions::default() };
    let options = IterOptions { read, ..IterOptions::default() };
    let expected: Vec<_> = map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut iter = db.iter_cf(&family, options).unwrap();
    assert_eq!(forward(&mut iter), expected, "{what}, {name}: forward");
    assert_eq!(backward(&mut iter), expected, "{what}, {name}: backward");
    for number in (0..200).step_by(7) {
        let key = format!("key{number:03}").into_bytes();
        let got = match snapshot {
            Some(snapshot) => db.get_at(snapshot, &family, &key).unwrap(),
            None => db.get_cf(&family, &key).unwrap(),
        };
        assert_eq!(got.as_deref(), map.get(&key).map(|value| &value[..]), "{what}, {name}: get");
    }
    // In no order, some twice, some absent.
    let keys: Vec<Vec<u8>> =
        (0..240).map(|at| format!("key{:03}", at * 77 % 210).into_bytes()).collect();
    let read = ReadOptions { snapshot: snapshot.cloned(), ..ReadOptions::default() };
    let got = db.multi_get_with(&family, &keys, &read, &mut ReadContext::default()).unwrap();
    assert_eq!(got.len(), keys.len());
    for (key, got) in keys.iter().zip(got) {
        let expected = map.get(key).map(|value| &value[..]);
        assert_eq!(got.as_deref(), expected, "{what}, {name}: multi_get");
    }
}

#[test]
fn random_histories_are_those_of_sorted_maps() {
    for seed in 0..12 {
        let fs = MemoryFileSystem::new();
        let mut draw = Draw(seed);
        let mut maps: [Map; 2] = Default::default();
        let mut once: [Vec<Vec<u8>>; 2] = Default::default();
        let mut db = open(&fs, seed % 3 == 0);
        let mut snapshots: Vec<(Snapshot, [Map; 2])> = Vec::new();
        for at in 0..600 {
            let what = format!("seed {seed}, step {at}");
            let mut batch = WriteBatch::new();
            for _ in 0..=draw.below(4) {
                let which = draw.below(2) as usize;
                let id = db.family(FAMILIES[which]).unwrap().id();
                change(&mut draw, &mut batch, id, &mut maps[which], &mut once[which], at);
            }
            let disable_wal = draw.below(20) == 0;
            let sync = !disable_wal && draw.below(10) == 0;
            db.write(batch, &WriteOptions { sync, disable_wal, ..Default::default() }).unwrap();
            match draw.below(40) {
                0 => db.flush().unwrap(),
                1 => db.flush_cf(&db.family("more").unwrap()).unwrap(),
                2 => snapshots.push((db.snapshot(), maps.clone())),
                3 if !snapshots.is_empty() => drop(snapshots.swap_remove(0)),
                4 => {
                    snapshots.clear();
                    drop(db);
                    db = open(&fs, seed % 3 == 0);
                }
                5 => {
                    let mut range = [key(&mut draw), key(&mut draw)];
                    range.sort();
                    let [from, to] = &range;
                    let bottommost_level = match draw.below(3) {
                        0 => BottommostLevel::Skip,
                        1 => BottommostLevel::IfFilter,
                        _ => BottommostLevel::Rewrite,
                    };
                    let family = db.family(FAMILIES[draw.below(2) as usize]).unwrap();
                    let from = (draw.below(3) > 0).then_some(&from[..]);
                    let to = (draw.below(3) > 0).then_some(&to[..]);
                    let options = CompactRangeOptions { bottommost_level };
                    db.compact_range_with(&family, from, to, &options).unwrap();
                }
                _ => {}
            }
            if at % 50 == 49 {
                for (which, name) in FAMILIES.iter().enumerate() {
                    compare(&db, name, &maps[which], None, &what);
                    for (snapshot, maps) in &snapshots {
                        compare(&db, name, &maps[which], Some(snapshot), &what);
                    }
                }
            }
        }
    }
}

#[test]
fn writers_at_once_write_all_they_have_in_whole_batches() {
    let fs = MemoryFileSystem::new();
    let db = open(&fs, false);
    std::thread::scope(|scope| {
        for thread in 0..8u32 {
            let db = db.clone();
            scope.spawn(move || {
                for number in 0..100u32 {
                    let mut batch = WriteBatch::new();
                    for part in 0..4u32 {
                        let key = [thread, number, part].map(u32::to_be_bytes).concat();
                        batch.put(&key, &[7; 400]).unwrap();
                    }
                    let sync = number % 40 == 0;
                    db.write(batch, &WriteOptions { sync, ..WriteOptions::default() }).unwrap();
                    let last = [thread, number, 3].map(u32::to_be_bytes).concat();
                    assert!(db.get(&last).unwrap().is_some(), "who wrote it reads it");
                }
            });
        }
        // Whoever looks meanwhile sees whole batches.
        for _ in 0..20 {
            assert_eq!(all(&db, &db.default_family()).len() % 4, 0);
        }
    });
    assert_eq!(db.visible_seqno().get(), 8 * 100 * 4);
    drop(db);
    let db = open(&fs, false);
    assert_eq!(all(&db, &db.default_family()).len(), 8 * 100 * 4);
}
