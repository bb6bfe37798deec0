//! What writing costs, with the log on and not synced: sorted batches, single puts at random, one and several threads.
//!
//! ```text
//! cargo bench -p partita --bench write -- [RECORDS] [sorted|random] [THREADS] [DIR]
//! ```
//!
//! Records have keys of 16 bytes and values of 8, as in a bookie's entry locations. RocksDB's own figures for the same:
//!
//! ```text
//! db_bench --benchmarks=fillseq --batch_size=10000 --key_size=16 --value_size=8 --num=RECORDS --db=DIR
//! db_bench --benchmarks=fillrandom --key_size=16 --value_size=8 --num=RECORDS --threads=THREADS --db=DIR
//! ```
//!
//! Figures of one run may be compared with each other; runs may not.

#![allow(clippy::disallowed_methods, reason = "benchmarks use the machine as it is")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use partita::batch::WriteBatch;
use partita::db::{Db, DbBuilder, WriteOptions};
use partita::options::DbOptions;

const BATCH: u64 = 10_000;
const LEDGERS: u64 = 1000;

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    let records = args.next().and_then(|arg| arg.parse().ok()).unwrap_or(200_000);
    let what = args.next();
    let threads = args.next().and_then(|arg| arg.parse().ok());
    let dir = args.next().map_or_else(|| std::env::temp_dir().join("partita-write"), PathBuf::from);
    println!("{records} records of 24 bytes, {} processors", available_processors());
    let is_asked = |name: &str| what.as_deref().is_none_or(|what| what == name);
    if is_asked("sorted") {
        for threads in threads.map_or(vec![1, 2], |threads| vec![threads]) {
            run("sorted batches of 10000", &dir, threads, records, write_sorted_batches);
        }
    }
    if is_asked("random") {
        for threads in threads.map_or(vec![1, 2, 8], |threads| vec![threads]) {
            run("random puts", &dir, threads, records, put_at_random);
        }
    }
}

fn available_processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Writes `records` in a new database; `write` has the part of one of the threads.
fn run(name: &str, dir: &Path, threads: u64, records: u64, write: fn(&Db, u64, u64)) {
    let _ = std::fs::remove_dir_all(dir);
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let db = DbBuilder::new(dir).options(options).open().unwrap();
    let (start, cpu) = (Instant::now(), processor_time());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let db = &db;
            scope.spawn(move || write(db, thread, records / threads));
        }
    });
    let written = start.elapsed();
    db.close().unwrap();
    let per_second = records as f64 / written.as_secs_f64() / 1e6;
    println!(
        "{name:<24} {threads} threads  {per_second:6.3} million records/s  {:5.0} ns of all processors a record",
        (processor_time() - cpu).as_nanos() as f64 / records as f64
    );
    drop(db);
    let _ = std::fs::remove_dir_all(dir);
}

/// Each batch has entries of all ledgers, the next ones of each.
fn write_sorted_batches(db: &Db, thread: u64, records: u64) {
    let per_ledger = BATCH / LEDGERS;
    for batch_number in 0..records / BATCH {
        let mut batch = WriteBatch::new();
        for within in 0..BATCH {
            let ledger = thread * LEDGERS + within / per_ledger;
            let entry = batch_number * per_ledger + within % per_ledger;
            batch.put(&key(ledger, entry), &entry.to_be_bytes()).unwrap();
        }
        db.write(batch, &WriteOptions::default()).unwrap();
    }
}

fn put_at_random(db: &Db, thread: u64, records: u64) {
    let mut random = Random(thread + 1);
    for _ in 0..records {
        let (ledger, entry) = (random.next() % LEDGERS, random.next() % 1_000_000);
        db.put(&key(ledger, entry), &entry.to_be_bytes()).unwrap();
    }
}

fn key(ledger: u64, entry: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&ledger.to_be_bytes());
    key[8..].copy_from_slice(&entry.to_be_bytes());
    key
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// What the process, background threads included, has used of the processors, in steps of a hundredth of a second.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}
