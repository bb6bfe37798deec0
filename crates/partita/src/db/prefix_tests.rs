//! Prefixes: whatever filters there are, walks show the same; and where a filter can tell, they read nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::testing::Draw;
use super::*;
use crate::io::MemoryFileSystem;
use crate::iter::Bounds;
use crate::key::PrefixExtractor;
use crate::options::{ColumnFamilyOptions, FilterLayout, IndexType, TableOptions};
use crate::table::BlockRole;

/// A key or a target: shorter than the prefix, as long, longer, or all `0xff`.
fn key(draw: &mut Draw) -> Vec<u8> {
    if draw.below(20) == 0 {
        return vec![0xff; draw.below(6) as usize];
    }
    let len = draw.below(6);
    (0..len).map(|_| [b'a', b'b', 0x00, 0xff][draw.below(4) as usize]).collect()
}

struct Case {
    prefixes: PrefixExtractor,
    has_filter: bool,
    is_partitioned: bool,
}

fn open(fs: &MemoryFileSystem, case: &Case) -> Db {
    let (filter_layout, index_type) = match case.is_partitioned {
        true => (FilterLayout::Partitioned, IndexType::TwoLevel),
        false => (FilterLayout::Full, IndexType::BinarySearch),
    };
    let defaults = ColumnFamilyOptions::default().table;
    let table = TableOptions {
        block_size: 64,
        metadata_block_size: 128,
        filter_layout,
        index_type,
        filter_policy: defaults.filter_policy.filter(|_| case.has_filter),
        prefix_extractor: Some(case.prefixes.clone()),
        ..defaults
    };
    let family = ColumnFamilyOptions {
        disable_auto_compactions: true,
        table,
        ..ColumnFamilyOptions::default()
    };
    let config = FamilyConfig { options: Some(family), ..FamilyConfig::default() };
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let builder = DbBuilder::new("/db").file_system(Arc::new(fs.clone())).options(options);
    builder.cache(Cache::new(4 << 20)).family("default", config).open().unwrap()
}

/// What random seeks of a walk show: up to three keys forward, or backward, from each target.
fn shown(db: &Db, same_prefix: bool, seeks: u32) -> Vec<Vec<Vec<u8>>> {
    let mut draw = Draw(7);
    let options = IterOptions { same_prefix, ..IterOptions::default() };
    let mut iter = db.iter_cf(&db.default_family(), options).unwrap();
    let mut shown = Vec::new();
    for _ in 0..seeks {
        let target = key(&mut draw);
        let is_forward = draw.below(2) == 0;
        match is_forward {
            true => iter.seek(&target).unwrap(),
            false => iter.seek_for_prev(&target).unwrap(),
        }
        let mut keys = Vec::new();
        for step in 0..4 {
            if !iter.is_valid() {
                break;
            }
            keys.push(iter.key().to_vec());
            // One step in the other direction at the end.
            match is_forward == (step < 2) {
                true => iter.next().unwrap(),
                false => iter.prev().unwrap(),
            }
        }
        shown.push(keys);
    }
    shown
}

/// What they should show, by the definition.
fn expected(
    keys: &BTreeSet<Vec<u8>>,
    prefixes: Option<&PrefixExtractor>,
    seeks: u32,
) -> Vec<Vec<Vec<u8>>> {
    let mut draw = Draw(7);
    let mut expected = Vec::new();
    for _ in 0..seeks {
        let target = key(&mut draw);
        let is_forward = draw.below(2) == 0;
        let prefix = prefixes.and_then(|prefixes| prefixes.prefix(&target));
        let is_shown = |key: &Vec<u8>| {
            prefix.is_none() || prefixes.and_then(|prefixes| prefixes.prefix(key)) == prefix
        };
        // A walk ends at the first key that is not shown.
        let next = |key: &[u8], from_it: bool| -> Option<Vec<u8>> {
            let mut behind = keys.range(key.to_vec()..);
            behind.find(|found| from_it || found[..] != *key).filter(|key| is_shown(key)).cloned()
        };
        let prev = |key: &[u8], from_it: bool| -> Option<Vec<u8>> {
            let mut before = keys.range(..=key.to_vec()).rev();
            before.find(|found| from_it || found[..] != *key).filter(|key| is_shown(key)).cloned()
        };
        let mut at = if is_forward { next(&target, true) } else { prev(&target, true) };
        let mut shown = Vec::new();
        for step in 0..4 {
            let Some(key) = at else { break };
            at = if is_forward == (step < 2) { next(&key, false) } else { prev(&key, false) };
            shown.push(key);
        }
        expected.push(shown);
    }
    expected
}

/// rocksdb#5110, #7318, #11718: seeks that depended on filters, on what was flushed, and on how it was opened.
#[test]
fn filters_flushes_and_openings_change_nothing_that_a_walk_shows() {
    for (number, prefixes) in
        [PrefixExtractor::Fixed(3), PrefixExtractor::Capped(2), PrefixExtractor::Whole]
            .into_iter()
            .enumerate()
    {
        for (has_filter, is_partitioned) in [(false, false), (true, false), (true, true)] {
            let case = Case { prefixes: prefixes.clone(), has_filter, is_partitioned };
            let fs = MemoryFileSystem::new();
            let mut db = open(&fs, &case);
            let mut draw = Draw(number as u64);
            let mut keys = BTreeSet::new();
            for at in 0..240 {
                let key = key(&mut draw);
                if draw.below(5) == 0 {
                    db.delete(&key).unwrap();
                    keys.remove(&key);
                } else {
                    db.put(&key, b"1").unwrap();
                    keys.insert(key);
                }
                if at % 50 == 49 {
                    db.flush().unwrap();
                }
            }
            let seeks = if number == 0 && is_partitioned { 10_000 } else { 800 };
            let total = expected(&keys, None, seeks);
            let same_prefix = expected(&keys, Some(&prefixes), seeks);
            for state in ["in memtables and tables", "flushed", "opened again"] {
                let what = format!("{prefixes:?}, filter {has_filter}, {state}");
                assert!(shown(&db, false, seeks) == total, "{what}: total order");
                assert!(shown(&db, true, seeks) == same_prefix, "{what}: same prefix");
                match state {
                    "flushed" => {
                        drop(db);
                        db = open(&fs, &case);
                    }
                    _ => db.flush().unwrap(),
                }
            }
        }
    }
}

#[test]
fn walks_over_a_prefix_that_is_in_no_table_read_no_data() {
    for is_partitioned in [false, true] {
        let case = Case { prefixes: PrefixExtractor::Fixed(4), has_filter: true, is_partitioned };
        let fs = MemoryFileSystem::new();
        let db = open(&fs, &case);
        // 20 runs over the same range, each without every third prefix, one prefix in none.
        for run in 0..20u32 {
            for number in 0..300u32 {
                if number != 150 && !(number + run).is_multiple_of(3) {
                    db.put(&[&number.to_be_bytes()[..], &run.to_be_bytes()].concat(), b"1")
                        .unwrap();
                }
            }
            db.flush().unwrap();
        }
        let family = db.default_family();
        let absent = 150u32.to_be_bytes();
        let behind = 151u32.to_be_bytes();
        let bounds = Bounds::half_open(Some(&absent), Some(&behind));
        let bounded = IterOptions { bounds, ..IterOptions::default() };
        let of_prefix = IterOptions { same_prefix: true, ..IterOptions::default() };
        // Opens the tables.
        db.iter().unwrap().seek_to_first().unwrap();
        for options in [bounded, of_prefix] {
            let mut iter = db.iter_cf(&family, options.clone()).unwrap();
            iter.seek(&absent).unwrap();
            assert!(!iter.is_valid());
            iter.seek_for_prev(&[&absent[..], &[0xff; 4]].concat()).unwrap();
            assert!(!iter.is_valid());
            let cost = iter.context();
            // Each filter was asked once, and one in 100 answers wrongly.
            let data = cost.blocks_read[BlockRole::Data] + cost.cache_hits[BlockRole::Data];
            assert!(data <= 4, "partitioned {is_partitioned}: {cost:?}");
            assert!(cost.range_filters_ruled_out >= 19, "{cost:?}");
            let asked = if options.same_prefix { 40 } else { 20 };
            assert_eq!(cost.range_filters_checked, asked, "{cost:?}");
        }
        // The same without a question to filters.
        let mut iter = db.iter().unwrap();
        iter.seek(&absent).unwrap();
        assert!(iter.key().starts_with(&behind));
        assert_eq!(iter.context().range_filters_checked, 0);

        // A present prefix is in two thirds of the runs.
        let mut iter = db
            .iter_cf(&family, IterOptions { same_prefix: true, ..IterOptions::default() })
            .unwrap();
        iter.seek(&behind).unwrap();
        let mut count = 0;
        while iter.is_valid() {
            count += 1;
            iter.next().unwrap();
        }
        assert_eq!(count, (0..20).filter(|run| (151 + run) % 3 != 0).count());
        assert!((5..8).contains(&iter.context().range_filters_ruled_out));

        // A floor asks them, too.
        let range =
            (std::ops::Bound::Included(&absent[..]), std::ops::Bound::Excluded(&behind[..]));
        let mut ctx = crate::table::ReadContext::default();
        let found = db.get_floor_with(&family, range, &ReadOptions::default(), &mut ctx).unwrap();
        assert!(found.is_none());
        assert_eq!(ctx.range_filters_checked, 20);
        assert!(ctx.range_filters_ruled_out >= 19, "{ctx:?}");
        assert!(ctx.blocks_read[BlockRole::Data] <= 1, "{ctx:?}");
    }
}
