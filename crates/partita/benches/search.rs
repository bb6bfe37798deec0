//! What each way of searching gains alone: directories of cold blocks, floors, filters of several tables, many keys at
//! once, walks in both directions.
//!
//! ```text
//! cargo bench -p partita --bench search -- [blocks | tables]
//! BLOCKS_MIB=64 cargo bench -p partita --bench search -- blocks
//! TABLE_KEYS=5000000 cargo bench -p partita --bench search -- tables
//! ```
//!
//! Figures of one run may be compared with each other; runs may not.

#![allow(clippy::disallowed_methods, reason = "benchmarks use the machine as it is")]

use std::hint::black_box;
use std::ops::Bound;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use partita::io::{DiskFile, DiskWriter, RandomAccessFile};
use partita::iter::InternalIterator;
use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
use partita::options::TableOptions;
use partita::table::block::DataBlock;
use partita::table::{
    Candidates, LookupKey, ReadContext, ReaderOptions, TableBuilder, TableContext, TableReader,
};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let wants = |part: &str| {
        let named = |name: &String| name == "blocks" || name == "tables";
        !args.iter().any(named) || args.iter().any(|arg| arg == part)
    };
    if wants("blocks") {
        for block_len in [4096, 65536] {
            bench_blocks(block_len);
        }
    }
    if wants("tables") {
        bench_tables();
    }
}

/// The keys of a bookie: ledger and entry, 8 bytes each.
fn user_key(number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(number / 50_000).to_be_bytes());
    key[8..].copy_from_slice(&(number % 50_000).to_be_bytes());
    key
}

/// A block of entries from `first` on with a restart point at each sixteenth, and how many entries it took.
fn write_block(first: u64, len: usize) -> (Vec<u8>, u64) {
    let (mut out, mut restarts): (Vec<u8>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut previous: Vec<u8> = Vec::new();
    let mut count = 0;
    while out.len() + 4 * restarts.len() < len {
        let number = first + count;
        let seqno = SeqNo::new(number).unwrap();
        let key = InternalKey::new(&user_key(number), seqno, ValueType::Value).encode();
        let shared = match count % 16 {
            0 => {
                restarts.push(out.len() as u32);
                0
            }
            _ => key.iter().zip(&previous).take_while(|(a, b)| a == b).count(),
        };
        out.extend([shared as u8, (key.len() - shared) as u8, 8]);
        out.extend_from_slice(&key[shared..]);
        out.extend_from_slice(&number.to_le_bytes());
        previous = key;
        count += 1;
    }
    out.extend(restarts.iter().flat_map(|at| at.to_le_bytes()));
    out.extend((restarts.len() as u32).to_le_bytes());
    (out, count)
}

/// Blocks that no processor cache holds, asked in random order.
fn bench_blocks(block_len: usize) {
    let mib: usize = std::env::var("BLOCKS_MIB").map_or(256, |mib| mib.parse().unwrap());
    let order = KeyOrder::Bytewise;
    let mut contents = Vec::new();
    let mut first = 0;
    while contents.len() * block_len < mib << 20 {
        let (bytes, count) = write_block(first, block_len);
        contents.push((bytes, first, count));
        first += count;
    }
    println!("{} blocks of {block_len} bytes", contents.len());
    let mut random = random_numbers();
    let probes: Vec<(usize, [u8; 16])> = (0..200_000)
        .map(|_| {
            let at = (random() % contents.len() as u64) as usize;
            let (_, first, count) = contents[at];
            (at, user_key(first + random() % count))
        })
        .collect();
    let sample = contents[0].0.clone();
    measure("copy and parse", 1000, || {
        for _ in 0..1000 {
            black_box(DataBlock::parse_data(sample.clone(), &order).unwrap());
        }
    });
    measure("and build the directory", 1000, || {
        for _ in 0..1000 {
            let block = DataBlock::parse_data(sample.clone(), &order).unwrap();
            block.touch().unwrap();
            black_box(block.touch().unwrap());
        }
    });
    let blocks: Vec<DataBlock> = contents
        .into_iter()
        .map(|(bytes, ..)| DataBlock::parse_data(bytes, &order).unwrap())
        .collect();
    let find_all = || {
        for (at, user_key) in &probes {
            let found = blocks[*at].find(&order, user_key, u64::MAX).unwrap();
            black_box(found);
        }
    };
    measure("find without directory", probes.len(), find_all);
    let mut grown = 0;
    for block in &blocks {
        block.touch().unwrap();
        grown += block.touch().unwrap();
    }
    measure("find with directory", probes.len(), find_all);
    println!("  directories take {:.1} % of the blocks", 100.0 * grown as f64 / (mib << 20) as f64);
}

const TABLES: u64 = 4;

/// Filters are larger than the processor's caches from some ten millions on.
fn keys_per_table() -> u64 {
    std::env::var("TABLE_KEYS").map_or(500_000, |keys| keys.parse().unwrap())
}

/// Tables that hold every fourth key each, so that every key lies between keys of the others.
fn write_tables(dir: &std::path::Path) -> Vec<Arc<TableReader>> {
    let open = |number| {
        let path = dir.join(format!("{number:06}.sst"));
        let writer = Box::new(DiskWriter::create(&path).unwrap());
        let (options, context) = (TableOptions::default(), TableContext::default());
        let mut builder = TableBuilder::new(writer, options, KeyOrder::Bytewise, context).unwrap();
        for i in 0..keys_per_table() {
            let seqno = SeqNo::new(i + 1).unwrap();
            let user_key = user_key(i * TABLES + number);
            let key = InternalKey::new(&user_key, seqno, ValueType::Value);
            builder.add(&key.encode(), &i.to_le_bytes()).unwrap();
        }
        builder.finish().unwrap();
        let file: Arc<dyn RandomAccessFile> = Arc::new(DiskFile::open(path).unwrap());
        let options = ReaderOptions::default();
        Arc::new(TableReader::open(file, &options, &mut ReadContext::default()).unwrap())
    };
    (0..TABLES).map(open).collect()
}

fn bench_tables() {
    let dir = tempfile::tempdir().unwrap();
    let tables = write_tables(dir.path());
    println!(
        "{TABLES} tables of {} keys, cached as far as the default budget goes",
        keys_per_table()
    );
    let ctx = &mut ReadContext::default();
    let mut random = random_numbers();
    let range = keys_per_table() * TABLES;
    let numbers: Vec<u64> = (0..50_000).map(|_| random() % range).collect();

    // Keys that no table has, one byte longer: the filters answer.
    let absent: Vec<Vec<u8>> =
        numbers.iter().map(|number| [&user_key(*number)[..], b"x"].concat()).collect();
    measure("absent in all, one by one", absent.len(), || {
        for user_key in &absent {
            let key = LookupKey::new(user_key, SeqNo::MAX);
            for table in &tables {
                black_box(table.get(&key, ctx).unwrap());
            }
        }
    });
    measure("absent in all, as candidates", absent.len(), || {
        for user_key in &absent {
            let key = LookupKey::new(user_key, SeqNo::MAX);
            black_box(Candidates::new(&tables, key).next_entry(ctx).unwrap());
        }
    });

    let table = &tables[0];
    let floors: Vec<[u8; 16]> = numbers.iter().take(10_000).map(|n| user_key(*n)).collect();
    measure("floor, new iterator", floors.len(), || {
        for user_key in &floors {
            let mut iter = table.iter();
            iter.seek_for_prev(&InternalKey::for_seek_for_prev(user_key).encode()).unwrap();
            let found = iter.key().to_vec();
            // Whether there are newer versions shows one step further.
            iter.prev().unwrap();
            black_box(found);
        }
    });
    let mut iter = table.iter();
    measure("floor, iterator kept", floors.len(), || {
        for user_key in &floors {
            iter.seek_for_prev(&InternalKey::for_seek_for_prev(user_key).encode()).unwrap();
            let found = iter.key().to_vec();
            iter.prev().unwrap();
            black_box(found);
        }
    });
    measure("get_floor", floors.len(), || {
        for user_key in &floors {
            black_box(table.get_floor(Bound::Included(user_key), SeqNo::MAX, ctx).unwrap());
        }
    });
    measure("get_ceil", floors.len(), || {
        for user_key in &floors {
            black_box(table.get_ceil(Bound::Included(user_key), SeqNo::MAX, ctx).unwrap());
        }
    });

    for (what, spread) in [("near", 4_000), ("far", range)] {
        let batches: Vec<Vec<[u8; 16]>> = numbers
            .chunks(32)
            .take(300)
            .map(|batch| {
                let base = batch[0] / TABLES * TABLES;
                batch.iter().map(|n| user_key((base + n % spread * TABLES) % range)).collect()
            })
            .collect();
        measure(&format!("32 {what} keys, one by one"), 32 * batches.len(), || {
            for user_key in batches.iter().flatten() {
                black_box(table.get(&LookupKey::new(user_key, SeqNo::MAX), ctx).unwrap());
            }
        });
        measure(&format!("32 {what} keys, multi_get"), 32 * batches.len(), || {
            for batch in &batches {
                let keys: Vec<_> =
                    batch.iter().map(|key| LookupKey::new(key, SeqNo::MAX)).collect();
                black_box(table.multi_get(&keys, ctx).unwrap());
            }
        });
    }

    let entries = keys_per_table() as usize;
    measure("next, whole table", entries, || {
        iter.seek_to_first().unwrap();
        while iter.is_valid() {
            black_box(iter.value());
            iter.next().unwrap();
        }
    });
    measure("prev, whole table", entries, || {
        iter.seek_to_last().unwrap();
        while iter.is_valid() {
            black_box(iter.value());
            iter.prev().unwrap();
        }
    });
}

/// Numbers without a pattern, the same in every run.
fn random_numbers() -> impl FnMut() -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// The best of five rounds.
fn measure(what: &str, operations: usize, mut round: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = cpu_nanos();
        round();
        best = best.min((cpu_nanos() - start) as f64 / operations as f64);
    }
    println!("  {what:<32}{best:>10.1} ns");
}

/// Time that this thread has run, so that what else the machine does counts less; where the system does not say, the
/// time on the wall.
fn cpu_nanos() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = stat.and_then(|stat| stat.split_whitespace().next()?.parse().ok());
    nanos.unwrap_or_else(|| START.elapsed().as_nanos() as u64)
}
