//! What a compaction costs: tables of level 0, each over all keys, merged by hand into the last level.
//!
//! ```text
//! cargo bench -p partita --bench compact -- [RECORDS] [TABLES] [DIR]
//! ```
//!
//! Records have keys of 16 bytes and values of 8, as in a bookie's entry locations. Figures of one run may be compared
//! with each other; runs may not.

#![allow(clippy::disallowed_methods, reason = "benchmarks use the machine as it is")]

use std::path::PathBuf;
use std::time::Instant;

use partita::batch::WriteBatch;
use partita::cache::Cache;
use partita::db::{Db, DbBuilder, FamilyConfig, WriteOptions};
use partita::options::{ColumnFamilyOptions, DbOptions};

const BATCH: u64 = 10_000;

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    let records = args.next().and_then(|arg| arg.parse().ok()).unwrap_or(200_000);
    let tables = args.next().and_then(|arg| arg.parse().ok()).unwrap_or(4);
    let dir =
        args.next().map_or_else(|| std::env::temp_dir().join("partita-compact"), PathBuf::from);
    let _ = std::fs::remove_dir_all(&dir);
    let db = open(&dir);
    let (start, written) = (Instant::now(), write(&db, records, tables));
    println!("{written} records in {tables} tables, {:.2} s", start.elapsed().as_secs_f64());
    let family = db.default_family();
    let start = Instant::now();
    db.compact_range(&family, None, None).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let counters = db.family_stats(&family).counters();
    println!(
        "compaction: {seconds:.2} s, {:.2} million records/s, {} MiB read, {} MiB written",
        written as f64 / seconds / 1e6,
        (counters.bytes_read_above + counters.bytes_read) >> 20,
        counters.bytes_written >> 20,
    );
    drop(db);
    let _ = std::fs::remove_dir_all(&dir);
}

fn open(dir: &std::path::Path) -> Db {
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let family = ColumnFamilyOptions {
        disable_auto_compactions: true,
        write_buffer_size: 1 << 30,
        ..ColumnFamilyOptions::default()
    };
    let config = FamilyConfig { options: Some(family), ..FamilyConfig::default() };
    let builder = DbBuilder::new(dir).options(options).family("default", config);
    builder.cache(Cache::new(4 << 30)).open().unwrap()
}

/// Sorted batches; each table has every so-many-th of them.
fn write(db: &Db, records: u64, tables: u64) -> u64 {
    let batches = records.div_ceil(BATCH);
    for table in 0..tables {
        for batch_number in (table..batches).step_by(tables as usize) {
            let mut batch = WriteBatch::new();
            for n in batch_number * BATCH..(batch_number + 1) * BATCH {
                // Entries of neighbouring tables alternate.
                let entry = (n % BATCH * tables + table) + (batch_number / tables) * BATCH * tables;
                let key = [(entry / 50_000).to_be_bytes(), (entry % 50_000).to_be_bytes()].concat();
                batch.put(&key, &n.to_be_bytes()).unwrap();
            }
            db.write(batch, &WriteOptions { disable_wal: true, ..WriteOptions::default() })
                .unwrap();
        }
        db.flush().unwrap();
    }
    batches * BATCH
}
