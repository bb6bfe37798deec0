//! What the doctor's models of caches predict, held against RocksDB 7.8.3 itself, and 9.8.4 for a HyperClock cache that grows: `db_bench` reads keys at random from databases of
//! several levels, and its counters of block-cache misses must be those of the model.
//!
//! The keys that it draws are not ours, but as likely; the blocks fall on the same shards. `cargo test … simulated -- --nocapture`
//! prints the table.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use partita::io::DiskFileSystem;
use partita_doctor::cache::CacheKind;
use partita_doctor::simulate::{
    Asked, Lookups, PerGet, Replayed, Shards, SimulatedCache, Simulation,
};
use partita_doctor::{Request, examine};

const KEYS: u32 = 400_000;
const LOOKUPS: u32 = 60_000;
/// How far a prediction may be off, as a share of what happened.
const TOLERANCE: f64 = 0.15;
/// Blocks per get that are too few to count: a hundred of the lookups.
const NEXT_TO_NOTHING: f64 = 0.002;

/// A cache, over a layout of tables.
#[derive(Clone, Copy)]
struct Cell {
    kind: CacheKind,
    bytes: u64,
    /// -1 for RocksDB's choice.
    shard_bits: i32,
    pool_ratio: f64,
}

const fn lru(bytes: u64, shard_bits: i32, pool_ratio: f64) -> Cell {
    Cell { kind: CacheKind::Lru, bytes, shard_bits, pool_ratio }
}

const fn clock(bytes: u64, shard_bits: i32) -> Cell {
    Cell { kind: CacheKind::HyperClock, bytes, shard_bits, pool_ratio: 0.5 }
}

const MIB: u64 = 1 << 20;
const CELLS: [Cell; 11] = [
    lru(MIB / 2, -1, 0.0),
    lru(MIB / 2, -1, 0.5),
    lru(MIB, -1, 0.0),
    lru(MIB, -1, 0.5),
    lru(2 * MIB, -1, 0.0),
    lru(4 * MIB, -1, 0.5),
    // Shards smaller than a filter, and such that hold one.
    lru(MIB, 6, 0.0),
    lru(2 * MIB, 5, 0.5),
    clock(MIB, -1),
    clock(4 * MIB, -1),
    clock(4 * MIB, 2),
];

#[test]
fn reads_of_whole_filters_are_those_of_rocksdb_in_every_cache() {
    compare("full", &[]);
}

#[test]
fn reads_of_partitions_are_those_of_rocksdb_in_every_cache() {
    compare("partitioned", &["--partition_index_and_filters=1"]);
}

#[test]
fn reads_through_a_hyper_clock_cache_that_grows_are_those_of_rocksdb_9_8() {
    let home = tempfile::tempdir().unwrap();
    for bytes in [MIB / 4, MIB / 2, MIB, 4 * MIB] {
        let dir = home.path().join(bytes.to_string());
        make(&dir, &[]);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("growing.py");
        let numbers = [bytes, KEYS.into(), LOOKUPS.into(), 3].map(|number| number.to_string());
        let output = Command::new("python3").arg(script).arg(&dir).args(numbers).output();
        let output = output.expect("python3 is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8_lossy(&output.stdout);
        let counted: Vec<Vec<f64>> = printed
            .lines()
            .map(|line| line.split(' ').map(|count| count.parse().unwrap()).collect())
            .collect();
        let cell = clock(bytes, -1);
        let asked = Asked { entry_bytes: Some(0), ..asked(cell) };
        let simulation = play(&dir, cell, asked);
        assert_eq!(simulation.entry_bytes, None, "it grows");
        let blocks = of_rocksdb(&simulation, cell).blocks;
        for (at, what, predicted) in
            [(0, "filter", blocks.filter), (1, "index", blocks.index), (2, "data", blocks.data)]
        {
            let real = (counted[1][at] - counted[0][at]) / f64::from(LOOKUPS);
            println!("growing      {:>4} KiB {what:<7} {real:.4} {predicted:.4}", bytes >> 10);
            let off = (predicted - real).abs();
            assert!(
                off <= NEXT_TO_NOTHING.max(real * TOLERANCE),
                "{bytes} bytes: {what} blocks per get {real}, predicted {predicted}"
            );
        }
    }
}

/// Gets that a trace has.
const TRACED: u32 = 40_000;

#[test]
fn gets_of_a_trace_that_rocksdb_wrote_read_what_it_read_when_it_wrote_it() {
    for (layout, args) in [("full", &[][..]), ("partitioned", &["--partition_index_and_filters=1"])]
    {
        let home = tempfile::tempdir().unwrap();
        let (dir, path) = (home.path().join(layout), home.path().join("trace"));
        make(&dir, args);
        let cell = lru(MIB, 0, 0.5);
        let trace = format!("--block_cache_trace_file={}", path.display());
        let mut settings = reading(cell, TRACED);
        settings.extend([trace, "--threads=2".to_owned()]);
        db_bench(&dir, args, &settings);
        let lookups = Lookups::Trace { path, hex: false, family: "default".to_owned() };
        let simulation = play(&dir, cell, Asked { lookups, ..asked(cell) });
        let traced = simulation.traced.as_ref().expect("it is of a trace");
        assert_eq!(simulation.replayed, 2 * u64::from(TRACED), "{layout}: two threads");
        assert_eq!(simulation.found_share, 1.0, "{layout}");
        assert_eq!((traced.tables_gone, traced.torn_bytes, traced.is_cut), (0, 0, false));
        let predicted = of_rocksdb(&simulation, cell);
        // A trace counts a top level with what it leads to, and the model by itself.
        let metadata = |per_get: &PerGet| per_get.total() - per_get.data;
        for (what, real, predicted) in [
            ("data asked", traced.asked.data, predicted.asked.data),
            ("data read", traced.missed.data, predicted.blocks.data),
            ("rest asked", metadata(&traced.asked), metadata(&predicted.asked)),
            ("rest read", metadata(&traced.missed), metadata(&predicted.blocks)),
        ] {
            println!("{layout:<12} {what:<13} {real:.4} {predicted:.4}");
            let off = (predicted - real).abs();
            assert!(
                off <= NEXT_TO_NOTHING.max(real * 0.05),
                "{layout}: {what} {real}, predicted {predicted}: {traced:?}"
            );
        }
    }
}

fn compare(layout: &str, args: &[&str]) {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join(layout);
    make(&dir, args);
    println!("{layout:<12} cache      size    shards  pool   data          index         filter");
    for cell in CELLS {
        let real = real(&dir, args, cell);
        let predicted = predicted(&dir, cell);
        println!(
            "{layout:<12} {:<10} {:>4} KiB {:>4}  {:>4}   {:.4} {:.4} {:.4} {:.4} {:.4} {:.4}",
            cell.kind.to_string(),
            cell.bytes >> 10,
            cell.shard_bits,
            cell.pool_ratio,
            real.data,
            predicted.data,
            real.index,
            predicted.index,
            real.filter,
            predicted.filter
        );
        for (what, real, predicted) in [
            ("filter", real.filter, predicted.filter),
            ("index", real.index, predicted.index),
            ("data", real.data, predicted.data),
        ] {
            let off = (predicted - real).abs();
            assert!(
                off <= NEXT_TO_NOTHING.max(real * TOLERANCE),
                "{layout}, {} of {} bytes, {} bits, pool {}: {what} blocks per get {real}, predicted {predicted}",
                cell.kind,
                cell.bytes,
                cell.shard_bits,
                cell.pool_ratio
            );
        }
    }
}

fn db_bench(dir: &Path, args: &[&str], more: &[String]) -> String {
    let output = Command::new("db_bench")
        .arg(format!("--db={}", dir.display()))
        .args([
            &*format!("--num={KEYS}"),
            "--key_size=16",
            "--value_size=24",
            "--block_size=4096",
            "--compression_type=none",
            "--bloom_bits=10",
            "--optimize_filters_for_memory=0",
            "--threads=1",
        ])
        .args(args)
        .args(more)
        .output()
        .expect("db_bench is installed: .ci/install-oracles");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A tree of two levels and more, with about a dozen tables.
fn make(dir: &Path, args: &[&str]) {
    let settings = [
        "--benchmarks=filluniquerandom,flush,waitforcompaction",
        "--write_buffer_size=1048576",
        "--target_file_size_base=2097152",
        "--max_bytes_for_level_base=6291456",
        "--seed=7",
    ];
    db_bench(dir, args, &settings.map(str::to_owned));
}

/// Block-cache misses per get, of the second half of the lookups.
fn real(dir: &Path, args: &[&str], cell: Cell) -> PerGet {
    let misses = |lookups: u32| {
        let settings = reading(cell, lookups);
        tickers(&db_bench(dir, args, &settings))
    };
    let (half, whole) = (misses(LOOKUPS), misses(2 * LOOKUPS));
    let per_get = |role: &str| {
        let name = format!("rocksdb.block.cache.{role}.miss");
        (whole[&name] - half[&name]) as f64 / f64::from(LOOKUPS)
    };
    // RocksDB counts top levels with what they lead to.
    PerGet {
        data: per_get("data"),
        index: per_get("index"),
        filter: per_get("filter"),
        top_level: 0.0,
    }
}

/// Reads keys at random through a cache.
fn reading(cell: Cell, lookups: u32) -> Vec<String> {
    let kind = match cell.kind {
        CacheKind::Lru => "lru_cache",
        CacheKind::HyperClock => "hyper_clock_cache",
    };
    vec![
        "--benchmarks=readrandom".to_owned(),
        "--use_existing_db=1".to_owned(),
        "--disable_auto_compactions=1".to_owned(),
        "--statistics=1".to_owned(),
        "--seed=11".to_owned(),
        "--cache_index_and_filter_blocks=1".to_owned(),
        format!("--reads={lookups}"),
        format!("--cache_type={kind}"),
        format!("--cache_size={}", cell.bytes),
        format!("--cache_numshardbits={}", cell.shard_bits),
        format!("--cache_high_pri_pool_ratio={}", cell.pool_ratio),
    ]
}

fn tickers(output: &str) -> HashMap<String, u64> {
    let counted = output.lines().filter_map(|line| {
        let (name, count) = line.split_once(" COUNT : ")?;
        Some((name.trim().to_owned(), count.trim().parse().ok()?))
    });
    counted.collect()
}

fn asked(cell: Cell) -> Asked {
    Asked {
        count: 2 * LOOKUPS as usize,
        budgets: vec![cell.bytes],
        pool_ratio: Some(cell.pool_ratio),
        // What db_bench says that an entry takes.
        entry_bytes: Some(4096),
        ..Asked::default()
    }
}

fn play(dir: &Path, cell: Cell, asked: Asked) -> Simulation {
    let request = Request {
        cache_bytes: Some(cell.bytes),
        cache_kind: Some(cell.kind),
        shard_bits: u32::try_from(cell.shard_bits).ok(),
        simulate: Some(asked),
        ..Request::default()
    };
    let mut report = examine(&DiskFileSystem, &[dir.to_owned()], &request);
    let simulation = report.databases.remove(0).simulation;
    simulation.unwrap_or_else(|| panic!("{:?}", report.problems))
}

fn of_rocksdb(simulation: &Simulation, cell: Cell) -> &Replayed {
    let wanted = SimulatedCache::from(cell.kind);
    simulation.caches.iter().find(|one| one.cache == wanted).expect("it was tried")
}

fn predicted(dir: &Path, cell: Cell) -> PerGet {
    let simulation = play(dir, cell, asked(cell));
    assert_eq!(simulation.shards, Shards::Exact, "7.8.3 wrote it");
    let blocks = of_rocksdb(&simulation, cell).blocks;
    // Half of the top levels, which db_bench does not pin, are of filters.
    PerGet {
        index: blocks.index + blocks.top_level / 2.0,
        filter: blocks.filter + blocks.top_level / 2.0,
        ..blocks
    }
}
