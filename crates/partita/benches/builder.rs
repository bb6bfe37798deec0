//! How fast tables are built: nanoseconds an entry, by options.
//!
//! `cargo bench -p partita --bench builder [-- WORD…]` runs the cases whose names hold a word. As a test
//! (`cargo test --benches`) it runs once over few entries.
//!
//! Figures are CPU time, the least of several runs: the machine's noise only adds.
#![allow(clippy::disallowed_methods, reason = "benchmarks use the machine as it is")]

use std::time::SystemTime;

use partita::io::WritableFile;
use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType, append_internal_key, pack};
use partita::options::{CompressionOptions, TableOptions};
use partita::table::{TableBuilder, TableContext};
use partita::util::compression::CompressionType;

/// Takes what is written and forgets it, so that the builder alone is measured.
#[derive(Debug)]
struct Discard {
    discarded: u64,
}

impl WritableFile for Discard {
    fn append(&mut self, bytes: &[u8]) -> partita::Result<()> {
        self.discarded += bytes.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> partita::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> partita::Result<()> {
        Ok(())
    }

    fn offset(&self) -> u64 {
        self.discarded
    }

    fn path(&self) -> &std::path::Path {
        std::path::Path::new("discarded.sst")
    }
}

/// Entry locations as a ledger store writes them: 16-byte keys (ledger, entry), 8-byte values.
const LOCATIONS: (usize, usize) = (16, 8);
/// `db_bench`'s default: 16-byte keys, 100-byte values, half compressible.
const DB_BENCH: (usize, usize) = (16, 100);

struct Entries {
    keys: Vec<u8>,
    key_len: usize,
    values: Vec<u8>,
    value_len: usize,
    count: usize,
}

impl Entries {
    fn new((key_len, value_len): (usize, usize), count: usize) -> Self {
        let mut keys = Vec::new();
        let mut key = Vec::new();
        for i in 0..count as u64 {
            key.clear();
            key.resize(key_len - 8, 0);
            // Five thousand entries to a ledger.
            key[key_len - 16..].copy_from_slice(&(i / 5000).to_be_bytes());
            key.extend_from_slice(&(i % 5000).to_be_bytes());
            // As in the lowest level, where most tables are.
            append_internal_key(&mut keys, &key, pack(SeqNo::ZERO, ValueType::Value));
        }
        let mut state = 88_172_645_463_325_252u64;
        let values = (0..1 << 20).map(|i| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if i % value_len < value_len / 2 { (state >> 11) as u8 } else { b'x' }
        });
        Self { keys, key_len: key_len + 8, values: values.collect(), value_len, count }
    }

    fn build(&self, options: &TableOptions) -> u64 {
        let context = TableContext::default();
        let mut builder = TableBuilder::new(
            Box::new(Discard { discarded: 0 }),
            options.clone(),
            KeyOrder::Bytewise,
            context,
        )
        .unwrap();
        let values = self.values.chunks_exact(self.value_len).cycle();
        for (key, value) in self.keys.chunks_exact(self.key_len).zip(values) {
            builder.add(key, value).unwrap();
        }
        builder.finish().unwrap().file_size
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_test = !std::env::args().any(|arg| arg == "--bench");
    let (count, runs) = if is_test { (2000, 1) } else { (500_000, 7) };
    assert!(InternalKey::decode(&Entries::new(LOCATIONS, 1).keys).is_ok());
    println!("{:32} {:>10} {:>12} {:>10}", "case", "ns/entry", "MB/s (raw)", "bytes/entry");
    for (shape, entries) in
        [("locations", Entries::new(LOCATIONS, count)), ("db_bench", Entries::new(DB_BENCH, count))]
    {
        for (name, options) in cases() {
            let name = format!("{shape}/{name}");
            if words.is_empty() || words.iter().any(|word| name.contains(word.as_str())) {
                measure(&name, &entries, &options, runs);
            }
        }
    }
}

/// CPU time of this thread in seconds where Linux tells it, else the time of day.
fn seconds() -> f64 {
    let nanos = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    match nanos {
        Some(nanos) => nanos as f64 / 1e9,
        None => SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |since| since.as_secs_f64()),
    }
}

fn measure(name: &str, entries: &Entries, options: &TableOptions, runs: usize) {
    let mut best = f64::INFINITY;
    let mut size = 0;
    for _ in 0..runs {
        let start = seconds();
        size = entries.build(options);
        best = best.min(seconds() - start);
    }
    let raw = (entries.count * (entries.key_len + entries.value_len)) as f64;
    println!(
        "{name:32} {:>10.1} {:>12.0} {:>10.2}",
        best * 1e9 / entries.count as f64,
        raw / best / 1e6,
        size as f64 / entries.count as f64
    );
}

fn cases() -> Vec<(&'static str, TableOptions)> {
    let with = |kind, change: fn(&mut TableOptions)| {
        let mut options = TableOptions::with_compression(kind);
        change(&mut options);
        options
    };
    let none = CompressionType::None;
    vec![
        ("none-no-filter", with(none, |o| o.filter_policy = None)),
        ("none", with(none, |_| {})),
        ("none-64k-blocks", with(none, |o| o.block_size = 65_536)),
        ("lz4", with(CompressionType::Lz4, |_| {})),
        ("lz4-64k-blocks", with(CompressionType::Lz4, |o| o.block_size = 65_536)),
        ("snappy", with(CompressionType::Snappy, |_| {})),
        ("zstd", with(CompressionType::Zstd, |_| {})),
        ("rocksdb-shape", {
            let compression = CompressionOptions::new(none);
            TableOptions { compression, ..TableOptions::rocksdb_defaults() }
        }),
    ]
}
