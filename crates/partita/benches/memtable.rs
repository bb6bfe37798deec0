//! What a memtable costs beside crossbeam's skip list: inserts, gets, walks.
//!
//! ```text
//! cargo bench -p partita --bench memtable -- [ENTRIES]
//! ```
//!
//! Keys have 16 bytes and values 8, as in a bookie's entry locations: batches of 10,000 are sorted within, and overlap in
//! what they cover. Figures of one run may be compared with each other; runs may not.

#![allow(clippy::disallowed_methods, reason = "benchmarks use the machine as it is")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use crossbeam_skiplist::SkipMap;
use partita::iter::InternalIterator;
use partita::key::{LookupKey, SeqNo, ValueType};
use partita::memtable::{InsertHint, MemTable, MemTableFilter, MemTableOptions};
use partita::merge::VersionWalk;

type Key = [u8; 16];

const BATCH: usize = 10_000;
const LEDGERS: u64 = 1000;

fn main() {
    let entries = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    let sorted = sorted_batches(entries);
    let mut random = sorted.clone();
    shuffle(&mut random);
    println!("{entries} entries of 24 bytes");
    for (name, keys) in [("sorted batches", &sorted), ("random", &random)] {
        println!("{name}");
        bench_memtable(keys, &random);
        bench_crossbeam(keys, &random);
    }
}

/// Each batch has entries of all ledgers, the next ones of each.
fn sorted_batches(entries: usize) -> Vec<Key> {
    let per_ledger = (BATCH as u64 / LEDGERS).max(1);
    (0..entries as u64)
        .map(|n| {
            let (batch, within) = (n / BATCH as u64, n % BATCH as u64);
            key(within / per_ledger, batch * per_ledger + within % per_ledger)
        })
        .collect()
}

fn key(ledger: u64, entry: u64) -> Key {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&ledger.to_be_bytes());
    key[8..].copy_from_slice(&entry.to_be_bytes());
    key
}

fn shuffle(keys: &mut [Key]) {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for at in (1..keys.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        keys.swap(at, (state % (at as u64 + 1)) as usize);
    }
}

fn filled(keys: &[Key], filter: Option<MemTableFilter>) -> Arc<MemTable> {
    let options = MemTableOptions { filter, ..MemTableOptions::default() };
    let memtable = Arc::new(MemTable::new(options).unwrap());
    insert(&memtable, keys, 1);
    memtable
}

fn insert(memtable: &MemTable, keys: &[Key], first_seqno: usize) {
    let mut hint = InsertHint::default();
    for (batch, keys) in keys.chunks(BATCH).enumerate() {
        let mut writer = memtable.writer(&mut hint);
        for (at, key) in keys.iter().enumerate() {
            let seqno = SeqNo::new((first_seqno + batch * BATCH + at) as u64).unwrap();
            writer.insert(seqno, ValueType::Value, key, &key[8..]).unwrap();
        }
    }
}

fn bench_memtable(keys: &[Key], probes: &[Key]) {
    let count = keys.len();
    measure("insert", count, || {
        black_box(filled(keys, None));
    });
    measure("insert by two threads", count, || {
        let memtable = MemTable::new(MemTableOptions::default()).unwrap();
        let (first, second) = keys.split_at(count / 2);
        std::thread::scope(|scope| {
            scope.spawn(|| insert(&memtable, first, 1));
            scope.spawn(|| insert(&memtable, second, count));
        });
    });
    let memtable = filled(keys, None);
    println!("  {:<30}{:>10.1}", "bytes an entry", memtable.memory_bytes() as f64 / count as f64);
    let filter =
        MemTableFilter { size_bytes: count * 10 / 8, whole_keys: true, prefix_extractor: None };
    let filtered = filled(keys, Some(filter));
    let mut walk = VersionWalk::default();
    let mut get = |memtable: &MemTable, key: &[u8]| {
        walk.reset();
        black_box(memtable.get(&LookupKey::new(key, SeqNo::MAX), &mut walk).unwrap());
    };
    measure("get, present", count, || probes.iter().for_each(|key| get(&memtable, key)));
    let absent: Vec<Vec<u8>> = probes.iter().map(|key| [&key[..], b"x"].concat()).collect();
    measure("get, absent", count, || absent.iter().for_each(|key| get(&memtable, key)));
    measure("get, absent, filter", count, || absent.iter().for_each(|key| get(&filtered, key)));
    let mut iter = memtable.iter();
    measure("next", count, || {
        iter.seek_to_first().unwrap();
        while iter.is_valid() {
            black_box(iter.value());
            iter.next().unwrap();
        }
    });
    measure("prev", count, || {
        iter.seek_to_last().unwrap();
        while iter.is_valid() {
            black_box(iter.value());
            iter.prev().unwrap();
        }
    });
    bench_tombstones(&memtable, probes);
}

/// Gets under 10,000 range tombstones, and how long an iterator's share of them takes to get.
fn bench_tombstones(memtable: &Arc<MemTable>, probes: &[Key]) {
    let mut hint = InsertHint::default();
    let mut writer = memtable.writer(&mut hint);
    for n in 0..10_000 {
        // Beside the keys, half of them one within the other.
        let (start, end) = match n % 2 {
            0 => (key(2 * LEDGERS + n, 0), key(2 * LEDGERS + n, u64::MAX)),
            _ => (key(100 * LEDGERS + n, 0), key(200 * LEDGERS - n, 0)),
        };
        writer.delete_range(SeqNo::new(1 << 40 | n).unwrap(), &start, &end).unwrap();
    }
    drop(writer);
    measure("10,000 tombstones, first time", 1, || {
        black_box(memtable.range_tombstone_sets());
    });
    measure("their sets for an iterator", 1000, || {
        for _ in 0..1000 {
            black_box(memtable.range_tombstone_sets());
        }
    });
    let mut walk = VersionWalk::default();
    measure("get, present, under them", probes.len(), || {
        for key in probes {
            walk.reset();
            black_box(memtable.get(&LookupKey::new(key, SeqNo::MAX), &mut walk).unwrap());
        }
    });
}

fn bench_crossbeam(keys: &[Key], probes: &[Key]) {
    let count = keys.len();
    // Newer entries of a key first, as in a memtable.
    type List = SkipMap<(Key, u64), [u8; 8]>;
    let insert = |list: &List, keys: &[Key], first: u64| {
        for (at, key) in keys.iter().enumerate() {
            let value = key[8..].try_into().unwrap();
            list.insert((*key, u64::MAX - first - at as u64), value);
        }
    };
    measure("crossbeam: insert", count, || {
        let list = SkipMap::new();
        insert(&list, keys, 0);
        black_box(&list);
    });
    measure("crossbeam: by two threads", count, || {
        let list = SkipMap::new();
        let (first, second) = keys.split_at(count / 2);
        std::thread::scope(|scope| {
            scope.spawn(|| insert(&list, first, 0));
            scope.spawn(|| insert(&list, second, count as u64));
        });
    });
    let list = SkipMap::new();
    insert(&list, keys, 0);
    measure("crossbeam: get, present", count, || {
        for key in probes {
            black_box(list.lower_bound(std::ops::Bound::Included(&(*key, 0))).map(|e| *e.value()));
        }
    });
    measure("crossbeam: next", count, || {
        for entry in &list {
            black_box(entry.value());
        }
    });
    measure("crossbeam: prev", count, || {
        for entry in list.iter().rev() {
            black_box(entry.value());
        }
    });
}

/// The best of three rounds.
fn measure(what: &str, operations: usize, mut round: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        round();
        best = best.min(start.elapsed().as_nanos() as f64 / operations as f64);
    }
    println!("  {what:<30}{best:>10.1} ns");
}
