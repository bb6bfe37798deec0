//! Floors, ceilings, many keys and prefixes against sorted maps, over random runs of tables and memtables.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::read_tests::move_tables;
use super::testing::{Draw, backward, forward};
use super::*;
use crate::batch::WriteBatch;
use crate::io::MemoryFileSystem;
use crate::iter::Bounds;
use crate::key::{KeyOrder, PrefixExtractor};
use crate::options::{ColumnFamilyOptions, ObjectName, TableOptions};
use crate::table::ReadContext;

/// By keys as the order sees them: reversed bytes compare the other way round.
type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// Keys of two to four letters, so that many share prefixes and some are prefixes of others.
fn key(draw: &mut Draw) -> Vec<u8> {
    let len = 2 + draw.below(3);
    (0..len).map(|_| [b'a', b'b', b'c', 0xff][draw.below(4) as usize]).collect()
}

fn bound(draw: &mut Draw) -> Bound<Vec<u8>> {
    match draw.below(7) {
        0 => Bound::Unbounded,
        1..=3 => Bound::Excluded(key(draw)),
        _ => Bound::Included(key(draw)),
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(|key| &key[..])
}

fn open(fs: &MemoryFileSystem, order: &KeyOrder, prefixes: Option<PrefixExtractor>) -> Db {
    let family = ColumnFamilyOptions {
        merge_operator: ObjectName::new("StringAppendOperator"),
        comparator: ObjectName::new(order.name()),
        disable_auto_compactions: true,
        table: TableOptions {
            block_size: 100,
            prefix_extractor: prefixes,
            ..ColumnFamilyOptions::default().table
        },
        ..ColumnFamilyOptions::default()
    };
    let config = FamilyConfig { options: Some(family), ..FamilyConfig::default() };
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let builder = DbBuilder::new("/db").file_system(Arc::new(fs.clone())).options(options);
    builder.cache(Cache::new(4 << 20)).family("default", config).open().unwrap()
}

fn change(draw: &mut Draw, batch: &mut WriteBatch, order: &KeyOrder, map: &mut Map, at: usize) {
    let key = key(draw);
    match draw.below(11) {
        0..=4 => {
            let value = format!("value{at}{}", "x".repeat(draw.below(60) as usize)).into_bytes();
            batch.put(&key, &value).unwrap();
            map.insert(key, value);
        }
        5 | 6 => {
            batch.delete(&key).unwrap();
            map.remove(&key);
        }
        8 => {
            let operand = format!("{at}").into_bytes();
            batch.merge(&key, &operand).unwrap();
            match map.get_mut(&key) {
                Some(value) => value.extend([&b","[..], &operand].concat()),
                None => drop(map.insert(key, operand)),
            }
        }
        _ => {
            let mut range = [key, self::key(draw)];
            range.sort_by(|a, b| order.compare(a, b));
            let [begin, end] = range;
            batch.delete_range(&begin, &end).unwrap();
            let is_inside =
                |key: &[u8]| order.compare(&begin, key).is_le() && order.compare(key, &end).is_lt();
            map.retain(|key, _| !is_inside(key));
        }
    }
}

/// The pairs of a map in the family's order, inside of bounds.
fn sorted(map: &Map, order: &KeyOrder, bounds: &Bounds) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs: Vec<_> = map.clone().into_iter().collect();
    pairs.sort_by(|(a, _), (b, _)| order.compare(a, b));
    pairs.retain(|(key, _)| bounds.contains(order, key));
    pairs
}

fn pair(found: Option<KeyValue>) -> Option<(Vec<u8>, Vec<u8>)> {
    found.map(|KeyValue { key, value }| (key.to_vec(), value.into_vec()))
}

fn compare(db: &Db, draw: &mut Draw, order: &KeyOrder, map: &Map, read: &ReadOptions, what: &str) {
    let family = db.default_family();
    let ctx = &mut ReadContext::default();
    for _ in 0..60 {
        let (lower, upper) = (bound(draw), bound(draw));
        let bounds = Bounds { lower: lower.clone(), upper: upper.clone() };
        let expected = sorted(map, order, &bounds);
        let range = (as_slice(&lower), as_slice(&upper));
        let last = db.get_floor_with(&family, range, read, ctx).unwrap();
        assert_eq!(pair(last), expected.last().cloned(), "{what}: floor of {bounds:?}");
        // The first time, and once more when the floor may be known.
        for _ in 0..2 {
            let last = db.get_floor_key_with(&family, range, read, ctx).unwrap();
            let expected = expected.last().map(|(key, _)| &key[..]);
            assert_eq!(last.as_deref(), expected, "{what}: floor of {bounds:?}");
        }
        let first = db.get_ceil_with(&family, range, read, ctx).unwrap();
        assert_eq!(pair(first), expected.first().cloned(), "{what}: ceiling of {bounds:?}");

        let options = IterOptions { bounds, read: read.clone(), ..IterOptions::default() };
        let mut iter = db.iter_cf(&family, options).unwrap();
        assert_eq!(forward(&mut iter), expected, "{what}: forward in {range:?}");
        assert_eq!(backward(&mut iter), expected, "{what}: backward in {range:?}");
    }
    let keys: Vec<Vec<u8>> = (0..50).map(|_| key(draw)).collect();
    let got = db.multi_get_with(&family, &keys, read, ctx).unwrap();
    for (key, got) in keys.iter().zip(got) {
        let one = db.get_with(&family, key, read, ctx).unwrap();
        assert_eq!(got.as_deref(), one.as_deref(), "{what}: multi_get of {key:?}");
        assert_eq!(got.as_deref(), map.get(key).map(|value| &value[..]), "{what}: get of {key:?}");
    }
}

/// Moves the only table of level 0 as deep as nothing is in its way.
fn sink(db: &Db) {
    db.flush().unwrap();
    let version = Arc::clone(&db.default_family().0.view.load().version);
    let levels = version.levels();
    let deepest = (1..levels.len()).take_while(|level| levels[*level].is_empty()).last();
    if let Some(deepest) = deepest.filter(|_| levels[0].len() == 1) {
        move_tables(db, deepest);
    }
}

#[test]
fn floors_ceilings_bounded_walks_and_many_keys_agree_with_sorted_maps() {
    let prefixes = [None, Some(PrefixExtractor::Fixed(2)), Some(PrefixExtractor::Capped(3)), None];
    for seed in 0..12 {
        let order = [KeyOrder::Bytewise, KeyOrder::ReverseBytewise][seed as usize / 4 % 2].clone();
        let prefixes = prefixes[seed as usize % 4].clone();
        let fs = MemoryFileSystem::new();
        let mut draw = Draw(seed);
        let mut map = Map::new();
        let mut db = open(&fs, &order, prefixes.clone());
        let mut snapshots: Vec<(Snapshot, Map)> = Vec::new();
        for at in 0..400 {
            let what = format!("seed {seed}, step {at}");
            let mut batch = WriteBatch::new();
            for _ in 0..=draw.below(3) {
                change(&mut draw, &mut batch, &order, &mut map, at);
            }
            db.write(batch, &WriteOptions::default()).unwrap();
            match draw.below(80) {
                0..=2 => db.flush().unwrap(),
                6..=8 => sink(&db),
                3 => snapshots.push((db.snapshot(), map.clone())),
                4 if !snapshots.is_empty() => drop(snapshots.swap_remove(0)),
                5 => {
                    snapshots.clear();
                    drop(db);
                    db = open(&fs, &order, prefixes.clone());
                }
                _ => {}
            }
            if at % 40 == 39 {
                compare(&db, &mut draw, &order, &map, &ReadOptions::default(), &what);
                for (snapshot, map) in &snapshots {
                    compare(&db, &mut draw, &order, map, &ReadOptions::at(snapshot), &what);
                }
            }
        }
    }
}
