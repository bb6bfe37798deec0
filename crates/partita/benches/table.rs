//! What reading a table costs: gets, seeks and walks on files in the page cache, and searches inside of a block.
//!
//! ```text
//! cargo bench -p partita --bench table -- [FILE.sst ...]
//! ```
//!
//! Without files it reads the golden tables. Figures of one run may be compared with each other; runs may not.
#![allow(clippy::disallowed_methods, reason = "benchmarks use the machine as it is")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use partita::io::{DiskFile, RandomAccessFile};
use partita::iter::InternalIterator;
use partita::key::{InternalKey, KeyOrder, SeqNo};
use partita::table::block::{BlockCursor, DataBlock};
use partita::table::{BlockRole, LookupKey, ReadContext, ReaderOptions, TableReader};
use partita_testkit::golden;

fn main() {
    let paths: Vec<PathBuf> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).map(PathBuf::from).collect();
    if !paths.is_empty() {
        paths.iter().for_each(|path| bench_file(path));
        return;
    }
    for name in ["locations-full-filter", "locations-partitioned", "ribbon-zstd-dictionary"] {
        let db = golden::get(name);
        println!("{name}");
        bench_file(&db.sst_paths()[0]);
    }
}

fn bench_file(path: &Path) {
    let file: Arc<dyn RandomAccessFile> = Arc::new(DiskFile::open(path).unwrap());
    let mut ctx = ReadContext::default();
    let options = ReaderOptions::default();
    let table = Arc::new(TableReader::open(Arc::clone(&file), &options, &mut ctx).unwrap());
    let mut keys = Vec::new();
    let mut iter = table.iter();
    iter.seek_to_first().unwrap();
    while iter.is_valid() {
        keys.push(iter.key().to_vec());
        iter.next().unwrap();
    }
    println!("{} entries, {} bytes", keys.len(), table.file_len());
    let probes = shuffled(&keys, 20_000);

    measure("get, present", probes.len(), || {
        for key in &probes {
            let user_key = InternalKey::decode(key).unwrap().user_key;
            black_box(table.get(&LookupKey::new(user_key, SeqNo::MAX), &mut ctx).unwrap());
        }
    });
    let absent: Vec<Vec<u8>> =
        probes.iter().map(|key| [&key[..key.len() - 8], b"x"].concat()).collect();
    measure("get, absent", absent.len(), || {
        for user_key in &absent {
            black_box(table.get(&LookupKey::new(user_key, SeqNo::MAX), &mut ctx).unwrap());
        }
    });
    measure("filter and index only", probes.len(), || {
        for key in &probes {
            let user_key = InternalKey::decode(key).unwrap().user_key;
            let lookup = LookupKey::new(user_key, SeqNo::MAX);
            black_box(table.may_contain(&lookup, &mut ctx).unwrap());
            black_box(table.approximate_offset_of(user_key, &mut ctx).unwrap());
        }
    });
    measure("seek", probes.len(), || {
        for key in &probes {
            iter.seek(key).unwrap();
            black_box(iter.value());
        }
    });
    measure("seek_for_prev", probes.len(), || {
        for key in &probes {
            iter.seek_for_prev(key).unwrap();
            black_box(iter.value());
        }
    });
    measure("next", keys.len(), || {
        iter.seek_to_first().unwrap();
        while iter.is_valid() {
            black_box(iter.value());
            iter.next().unwrap();
        }
    });
    measure("prev", keys.len(), || {
        iter.seek_to_last().unwrap();
        while iter.is_valid() {
            black_box(iter.value());
            iter.prev().unwrap();
        }
    });
    measure("open", 1000, || {
        for _ in 0..1000 {
            let file = Arc::clone(&file);
            black_box(TableReader::open(file, &options, &mut ctx).unwrap());
        }
    });
    bench_block(&table, &*file);
}

/// Searches inside of one block that is in memory, if it is stored without compression.
fn bench_block(table: &TableReader, file: &dyn RandomAccessFile) {
    let blocks = table.blocks(&mut ReadContext::default()).unwrap();
    let data = blocks.iter().filter(|block| block.role == BlockRole::Data).nth(1);
    let Some(data) = data else { return };
    let mut contents = vec![0; data.handle.size as usize + 1];
    file.read_exact_at(data.handle.offset, &mut contents).unwrap();
    if contents.pop() != Some(0) {
        return;
    }
    let order = KeyOrder::Bytewise;
    let block = DataBlock::parse_data(contents.clone(), &order).unwrap();
    let mut cursor = BlockCursor::new();
    let mut keys = Vec::new();
    cursor.seek_to_first(&block).unwrap();
    while cursor.is_valid() {
        keys.push(cursor.key().to_vec());
        cursor.next(&block).unwrap();
    }
    let probes = shuffled(&keys, 20_000);
    println!("  a data block of {} entries, {} bytes", keys.len(), contents.len());
    measure("block parse", 1000, || {
        for _ in 0..1000 {
            black_box(DataBlock::parse_data(contents.clone(), &order).unwrap());
        }
    });
    measure("block find", probes.len(), || {
        for key in &probes {
            let user_key = &key[..key.len() - 8];
            black_box(block.find(&order, user_key, u64::MAX).unwrap());
        }
    });
    measure("block seek", probes.len(), || {
        for key in &probes {
            cursor.seek(&block, &order, key).unwrap();
            black_box(cursor.key());
        }
    });
}

/// `count` of the keys, spread over all, in an order without a pattern.
fn shuffled(keys: &[Vec<u8>], count: usize) -> Vec<Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            keys[(state % keys.len() as u64) as usize].clone()
        })
        .collect()
}

/// The best of five rounds.
fn measure(what: &str, operations: usize, mut round: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        round();
        best = best.min(start.elapsed().as_nanos() as f64 / operations as f64);
    }
    println!("  {what:<24}{best:>10.1} ns");
}
