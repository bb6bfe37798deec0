//! What range deletions cost readers: Partita and RocksDB 7.8.3 on the same writes, in turns.
//!
//! usage: `tombstone-bench [KEYS [CASE]]` (default 1,000,000, all cases; else those whose names have this in them). Prints a
//! table for `compat/README.md`.
//!
//! A million keys are in one table. Then, each in databases of its own:
//!
//! * nothing is deleted;
//! * 1,000 ranges that lie in one another, in the memtable;
//! * 10,000 ranges apart, in the memtable;
//! * 300,000 ranges apart, each over one key in three, in three tables of level 0.
//!
//! Both run without compression, with a cache that holds everything, Bloom filters of 10 bits and no compactions. Figures are
//! medians of rounds that the engines take in turns; RocksDB's loops call its C API, some 10 ns a call.
#![forbid(unsafe_code)]

use std::ops::Bound;
use std::path::Path;
use std::time::Instant;

use partita::cache::Cache;
use partita::db::{Db, DbBuilder, FamilyConfig};
use partita::options::{ColumnFamilyOptions, DbOptions};
use partita_compat_rocks::db as rocks;
use partita_compat_rocks::db::Op;

const ROUNDS: usize = 3;
const GETS: u64 = 200_000;
const SEEKS: u64 = 5_000;
const ITERATORS: usize = 50_000;
/// Iterators that are made right after a range deletion each; RocksDB sorts all of the memtable's for it.
const AFTER_WRITES: usize = 100;

/// What is asked of both.
trait Engine {
    fn apply(&mut self, op: &Op);
    fn flush(&mut self);
    fn contains(&self, key: &[u8]) -> bool;
    fn make_iterator(&self);
    fn ceil(&self, key: &[u8]) -> Option<Vec<u8>>;
    fn floor(&self, key: &[u8]) -> Option<Vec<u8>>;
    fn count_rows(&self) -> u64;
}

impl Engine for Db {
    fn apply(&mut self, op: &Op) {
        match op {
            Op::Put(key, value) => self.put(key, value),
            Op::DeleteRange(from, to) => self.delete_range(from, to),
            _ => unreachable!("the benchmark writes nothing else"),
        }
        .expect("written");
    }

    fn flush(&mut self) {
        Db::flush(self).expect("flushed");
    }

    fn contains(&self, key: &[u8]) -> bool {
        self.get(key).expect("read").is_some()
    }

    fn make_iterator(&self) {
        drop(self.iter().expect("made"));
    }

    fn ceil(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut iter = self.iter().expect("made");
        iter.seek(key).expect("sought");
        iter.is_valid().then(|| iter.key().to_vec())
    }

    fn floor(&self, key: &[u8]) -> Option<Vec<u8>> {
        let found = self.get_floor(Bound::Included(key)).expect("found");
        found.map(|found| found.key.to_vec())
    }

    fn count_rows(&self) -> u64 {
        let mut iter = self.iter().expect("made");
        let mut count = 0;
        iter.seek_to_first().expect("sought");
        while iter.is_valid() {
            count += 1;
            iter.next().expect("stepped");
        }
        count
    }
}

impl Engine for rocks::Db {
    fn apply(&mut self, op: &Op) {
        rocks::Db::apply(self, op).expect("written");
    }

    fn flush(&mut self) {
        rocks::Db::flush(self).expect("flushed");
    }

    fn contains(&self, key: &[u8]) -> bool {
        rocks::Db::contains(self, key).expect("read")
    }

    fn make_iterator(&self) {
        rocks::Db::make_iterator(self);
    }

    fn ceil(&self, key: &[u8]) -> Option<Vec<u8>> {
        rocks::Db::ceil(self, key).expect("found").map(|row| row.0)
    }

    fn floor(&self, key: &[u8]) -> Option<Vec<u8>> {
        rocks::Db::floor(self, key).expect("found").map(|row| row.0)
    }

    fn count_rows(&self) -> u64 {
        rocks::Db::count_rows(self).expect("walked")
    }
}

const OPTIONS: &str = "compression=kNoCompression;write_buffer_size=1073741824;\
    level0_file_num_compaction_trigger=100;level0_slowdown_writes_trigger=100;level0_stop_writes_trigger=200";

fn open_ours(dir: &Path) -> Db {
    let mut options = ColumnFamilyOptions {
        write_buffer_size: 1 << 30,
        disable_auto_compactions: true,
        ..ColumnFamilyOptions::default()
    };
    options.table.apply("compression=kNoCompression").expect("an option");
    let config = FamilyConfig { options: Some(options), ..FamilyConfig::default() };
    let db = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let builder = DbBuilder::new(dir).options(db).cache(Cache::new(4 << 30));
    builder.family("default", config).open().expect("opened")
}

fn open_rocks(dir: &Path) -> rocks::Db {
    let table = "block_based_table_factory={block_cache=1073741824;filter_policy=bloomfilter:10:false;format_version=5}";
    rocks::Db::open(dir, &format!("{OPTIONS};{table}")).expect("opened")
}

fn key(number: u64) -> Vec<u8> {
    [number.to_be_bytes(), 7u64.to_be_bytes()].concat()
}

/// The same in every run, and no two alike for long.
fn drawn(at: u64, below: u64) -> u64 {
    let mut x = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) % below
}

#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    ranges: u64,
    /// Range `at` of them, over `keys` keys.
    range: fn(u64, u64) -> (u64, u64),
    flushes: u64,
}

const CASES: [Case; 4] = [
    Case { name: "none", ranges: 0, range: |_, _| (0, 0), flushes: 0 },
    Case {
        name: "1,000 in one another, memtable",
        ranges: 1_000,
        range: |at, keys| (keys / 2 - 1 - at, keys / 2 + 1 + at),
        flushes: 0,
    },
    Case {
        name: "10,000 apart, memtable",
        ranges: 10_000,
        range: |at, keys| (at * (keys / 10_000), at * (keys / 10_000) + keys / 50_000),
        flushes: 0,
    },
    Case {
        name: "300,000 apart, tables",
        ranges: 300_000,
        range: |at, _| (3 * at, 3 * at + 1),
        flushes: 3,
    },
];

fn fill(engine: &mut dyn Engine, case: &Case, keys: u64) {
    for number in 0..keys {
        engine.apply(&Op::Put(key(number), number.to_be_bytes().to_vec()));
    }
    engine.flush();
    for at in 0..case.ranges {
        let (from, to) = (case.range)(at, keys);
        engine.apply(&Op::DeleteRange(key(from), key(to)));
        if case.flushes > 0 && (at + 1).is_multiple_of(case.ranges / case.flushes) {
            engine.flush();
        }
    }
}

/// Nanoseconds of each kind of question.
#[derive(Clone, Default)]
struct Figures {
    get: f64,
    iterator_p50: f64,
    iterator_p99: f64,
    after_write_p50: f64,
    after_write_p99: f64,
    ceil: f64,
    floor: f64,
    walk: f64,
}

fn each(count: u64, mut ask: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    (0..count).for_each(&mut ask);
    start.elapsed().as_nanos() as f64 / count as f64
}

fn percentiles(mut nanos: Vec<f64>) -> (f64, f64) {
    nanos.sort_by(f64::total_cmp);
    let at = |share: f64| nanos[((nanos.len() - 1) as f64 * share) as usize];
    (at(0.5), at(0.99))
}

/// A round, and a sum of the answers.
fn round(engine: &mut dyn Engine, case: &Case, keys: u64, number: u64) -> (Figures, u64) {
    let mut answers = 0;
    let get = each(GETS, |at| {
        answers += u64::from(engine.contains(&key(drawn(at + number * GETS, keys))));
    });
    let (mut iterators, mut after_writes) = (Vec::new(), Vec::new());
    for _ in 0..ITERATORS {
        iterators.push(each(1, |_| engine.make_iterator()));
    }
    let mut sought = |found: Option<Vec<u8>>| {
        let number = found.and_then(|key| key.first_chunk().map(|head| u64::from_be_bytes(*head)));
        answers += number.unwrap_or(keys);
    };
    let ceil = each(SEEKS, |at| sought(engine.ceil(&key(drawn(at + number, keys)))));
    let floor = each(SEEKS, |at| sought(engine.floor(&key(drawn(at + number, keys)))));
    let mut rows = 0;
    let walk = each(1, |_| rows = engine.count_rows());
    if case.ranges > 0 && case.flushes == 0 {
        for at in 0..AFTER_WRITES as u64 {
            let (from, to) = (case.range)(drawn(at, case.ranges), keys);
            engine.apply(&Op::DeleteRange(key(from), key(to)));
            after_writes.push(each(1, |_| engine.make_iterator()));
        }
    } else {
        after_writes.push(0.0);
    }
    let (iterator_p50, iterator_p99) = percentiles(iterators);
    let (after_write_p50, after_write_p99) = percentiles(after_writes);
    let figures = Figures {
        get,
        iterator_p50,
        iterator_p99,
        after_write_p50,
        after_write_p99,
        ceil,
        floor,
        walk,
    };
    (figures, answers + rows)
}

type Question = (&'static str, fn(&Figures) -> f64);

fn median(rounds: &[Figures], of: impl Fn(&Figures) -> f64) -> f64 {
    percentiles(rounds.iter().map(of).collect()).0
}

fn main() {
    let keys = std::env::args().nth(1).map_or(1_000_000, |text| text.parse().expect("a number"));
    let only = std::env::args().nth(2).unwrap_or_default();
    let mut plain: Option<[Vec<Figures>; 2]> = None;
    println!(
        "| range deletions | question | Partita | RocksDB | Partita / RocksDB | Partita / none | RocksDB / none |"
    );
    println!("|---|---|---|---|---|---|---|");
    for case in CASES.iter().filter(|case| case.name.contains(&only)) {
        let dir = tempfile::tempdir().expect("a directory");
        let mut ours = open_ours(&dir.path().join("ours"));
        let mut theirs = open_rocks(&dir.path().join("theirs"));
        fill(&mut ours, case, keys);
        fill(&mut theirs, case, keys);
        let mut rounds: [Vec<Figures>; 2] = Default::default();
        for number in 0..ROUNDS as u64 {
            let (own, own_answers) = round(&mut ours, case, keys, number);
            let (their, their_answers) = round(&mut theirs, case, keys, number);
            assert_eq!(own_answers, their_answers, "{}: both give the same answers", case.name);
            rounds[0].push(own);
            rounds[1].push(their);
        }
        let base = plain.get_or_insert_with(|| rounds.clone());
        let questions: [Question; 8] = [
            ("get, µs", |f| f.get / 1e3),
            ("iterator made, p50 µs", |f| f.iterator_p50 / 1e3),
            ("iterator made, p99 µs", |f| f.iterator_p99 / 1e3),
            ("after a range deletion each, p50 µs", |f| f.after_write_p50 / 1e3),
            ("after a range deletion each, p99 µs", |f| f.after_write_p99 / 1e3),
            ("iterator and seek, µs", |f| f.ceil / 1e3),
            ("floor, µs", |f| f.floor / 1e3),
            ("walk over all, ms", |f| f.walk / 1e6),
        ];
        for (name, of) in questions {
            let [own, their] = [0, 1].map(|engine| median(&rounds[engine], of));
            let [own_base, their_base] = [0, 1].map(|engine| median(&base[engine], of));
            if own == 0.0 {
                continue;
            }
            let to_base = |figure: f64, base: f64| match base > 0.0 {
                true => format!("{:.2}", figure / base),
                false => "-".to_owned(),
            };
            println!(
                "| {} | {name} | {own:.2} | {their:.2} | **{:.5}** | {} | {} |",
                case.name,
                own / their,
                to_base(own, own_base),
                to_base(their, their_base)
            );
        }
    }
}
