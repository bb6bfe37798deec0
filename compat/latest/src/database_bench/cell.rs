//! One workload with one engine, in a process of its own.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use partita_bench::clock::Stopwatch;
use partita_bench::lookups::{KEY_LEN, Key, Keyspace};
use partita_bench::memory::Resident;

use super::data::{Chunk, ROW_BYTES, Rows, row_key};
use super::engine::{Database, Engine, Setup, Writing};
use super::meter::{Cost, Figures, Meter};
use super::{Base, Settings, Workload};
use crate::rocks_database::forget_contents;

/// Records of a chunk of puts, so that making them is not one long pause.
const CHUNK: usize = 1_000;
/// Ledgers that a bookie writes side by side.
const LEDGERS: u64 = 1_000;
/// Entries of one ledger in a batch.
const BATCH_ENTRIES: u64 = 10;

const SETUP: Setup = Setup {
    budget_bytes: 0,
    block_bytes: 4 << 10,
    write_buffer_bytes: 64 << 20,
    file_bytes: 64 << 20,
    auto_compactions: true,
};

impl Settings {
    /// What the workload's databases are opened with.
    fn setup(&self, workload: Workload) -> Setup {
        let budget_bytes = (self.budget_mib as usize) << 20;
        let setup = Setup { budget_bytes, ..SETUP };
        let locations = Setup { block_bytes: 64 << 10, ..setup };
        match workload {
            Workload::Bookie | Workload::BookieNoLog => locations,
            Workload::Scan | Workload::Reverse => locations,
            Workload::Random | Workload::Overwrite | Workload::ReadWhileWriting => setup,
            Workload::Compact => Setup { auto_compactions: false, ..setup },
            Workload::CompactLocations => Setup { auto_compactions: false, ..locations },
            Workload::Open | Workload::OpenCold => setup,
        }
    }

    fn keyspace(&self, kilo_records: u64) -> Keyspace {
        Keyspace { ledgers: LEDGERS, entries: kilo_records }
    }

    fn rows(&self) -> u64 {
        self.kilo_rows * 1_000
    }
}

/// Makes the files that workloads start with. RocksDB does, so that both engines get the same.
pub(super) fn make(base: Base, dir: &Path, settings: &Settings) -> Result<(), String> {
    let workload = base.workload();
    let setup = settings.setup(workload);
    match base {
        Base::Rows => {
            let database = Engine::RocksDb.open(dir, &setup)?;
            put_permuted(&*database, settings.rows())?;
            database.settle()
        }
        Base::Ledgers => {
            let database = Engine::RocksDb.open(dir, &setup)?;
            put_ledgers(&*database, settings.keyspace(settings.kilo_records), Writing::Batch)?;
            database.settle()
        }
        Base::LevelZeroRows => {
            let database = Engine::RocksDb.open(dir, &setup)?;
            put_permuted(&*database, (settings.compact_mib << 20) / ROW_BYTES)?;
            database.flush()
        }
        Base::LevelZeroLedgers => {
            let record = (KEY_LEN + size_of::<u64>()) as u64;
            let kilo_records = (settings.compact_mib << 20) / record / 1_000;
            let database = Engine::RocksDb.open(dir, &setup)?;
            put_ledgers(&*database, settings.keyspace(kilo_records), Writing::BatchWithoutLog)?;
            database.flush()
        }
        Base::ManyFiles => {
            // Tables are cut when they reach their size, so that all but the last have it.
            let file_bytes = 64 << 10;
            let database = Engine::RocksDb.open(dir, &Setup { file_bytes, ..setup })?;
            put_permuted(&*database, settings.files * FILE_ROWS)?;
            database.settle()?;
            database.compact()
        }
    }
}

/// Rows in a table of 64 KiB, about: LZ4 leaves half of their bytes.
const FILE_ROWS: u64 = 1_090;

fn put_permuted(database: &dyn Database, rows: u64) -> Result<(), String> {
    let mut source = Rows::below(rows, 1);
    let mut numbers = source.permuted().peekable();
    let mut chunk = Chunk::default();
    while numbers.peek().is_some() {
        source.fill(&mut chunk, numbers.by_ref().take(CHUNK));
        database.write(chunk.records(), Writing::Each)?;
    }
    Ok(())
}

fn put_ledgers(database: &dyn Database, keys: Keyspace, how: Writing) -> Result<(), String> {
    for batch in keys.batches(0..keys.entries, BATCH_ENTRIES) {
        database.write(Chunk::of_locations(&batch).records(), how)?;
    }
    Ok(())
}

/// Runs a workload in `dir`, which is empty or has the files of its base.
pub(super) fn run(
    workload: Workload,
    engine: Engine,
    dir: &Path,
    settings: &Settings,
) -> Result<Figures, String> {
    let setup = settings.setup(workload);
    let open = || engine.open(dir, &setup);
    match workload {
        Workload::Bookie => bookie(&*open()?, settings, Writing::Batch),
        Workload::BookieNoLog => bookie(&*open()?, settings, Writing::BatchWithoutLog),
        Workload::Random => written(&*open()?, settings.rows(), ROW_BYTES, |database| {
            put_permuted(database, settings.rows())
        }),
        Workload::Overwrite => overwrite(&*open()?, settings),
        Workload::ReadWhileWriting => read_while_writing(&*open()?, settings),
        Workload::Scan => scan(&*open()?, false),
        Workload::Reverse => scan(&*open()?, true),
        Workload::Compact | Workload::CompactLocations => compact(&*open()?, settings),
        Workload::Open => open_many(engine, dir, &setup, settings),
        Workload::OpenCold => {
            forget_contents(dir)?;
            open_many(engine, dir, &setup, settings)
        }
    }
}

/// Writes, then waits until it is settled.
fn written(
    database: &dyn Database,
    records: u64,
    record_bytes: u64,
    write: impl FnOnce(&dyn Database) -> Result<(), String>,
) -> Result<Figures, String> {
    let meter = Meter::start();
    write(database)?;
    let work = meter.read();
    database.settle()?;
    let settled = meter.read();
    let peak_bytes = Resident::of_this_process().peak as f64;
    Ok(Figures {
        operations: records as f64,
        user_bytes: (records * record_bytes) as f64,
        work,
        settled,
        own_seconds: 0.0,
        peak_bytes,
        check: database.scan(false)?.count as f64,
    })
}

fn bookie(database: &dyn Database, settings: &Settings, how: Writing) -> Result<Figures, String> {
    let keys = settings.keyspace(settings.kilo_records);
    let record_bytes = (KEY_LEN + size_of::<u64>()) as u64;
    written(database, keys.len(), record_bytes, |database| put_ledgers(database, keys, how))
}

fn overwrite(database: &dyn Database, settings: &Settings) -> Result<Figures, String> {
    let rows = settings.rows();
    let mut source = Rows::below(rows, 2);
    written(database, rows, ROW_BYTES, |database| {
        let mut chunk = Chunk::default();
        for start in (0..rows).step_by(CHUNK) {
            let numbers: Vec<u64> =
                (start..rows.min(start + CHUNK as u64)).map(|_| source.any()).collect();
            source.fill(&mut chunk, numbers.into_iter());
            database.write(chunk.records(), Writing::Each)?;
        }
        Ok(())
    })
}

/// Threads that read.
const READERS: u64 = 2;
/// Keys that a reader asks for between two looks at the clock.
const READS: usize = 500;

fn read_while_writing(database: &dyn Database, settings: &Settings) -> Result<Figures, String> {
    let rows = settings.rows();
    let time = Duration::from_secs(settings.seconds);
    let stop = AtomicBool::new(false);
    let meter = Meter::start();
    let (reads, writes) = thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|seed| scope.spawn(move || read(database, rows, 10 + seed, time)))
            .collect();
        let writer = scope.spawn(|| write_steadily(database, settings, &stop));
        let reads: Vec<_> = readers
            .into_iter()
            .map(|reader| reader.join().expect("readers do not panic"))
            .collect();
        stop.store(true, Ordering::Relaxed);
        (reads, writer.join().expect("nor does the writer"))
    });
    let work = meter.read();
    let mut figures = Figures {
        user_bytes: (writes? * ROW_BYTES) as f64,
        work,
        peak_bytes: Resident::of_this_process().peak as f64,
        ..Figures::default()
    };
    for read in reads {
        let (found, seconds) = read?;
        figures.operations += found as f64;
        figures.own_seconds += seconds;
    }
    database.settle()?;
    figures.settled = meter.read();
    figures.check = database.scan(false)?.count as f64;
    Ok(figures)
}

/// Keys found, and seconds on a processor.
fn read(
    database: &dyn Database,
    rows: u64,
    seed: u64,
    time: Duration,
) -> Result<(u64, f64), String> {
    let mut source = Rows::below(rows, seed);
    let (mut found, mut seconds) = (0, 0.0);
    let start = Instant::now();
    while start.elapsed() < time {
        let keys: Vec<Key> = (0..READS).map(|_| row_key(source.any())).collect();
        let watch = Stopwatch::start();
        let now = database.get(&keys)?;
        seconds += watch.elapsed().as_secs_f64();
        if now != READS as u64 {
            return Err(format!("{} of {READS} keys were not found", READS as u64 - now));
        }
        found += now;
    }
    Ok((found, seconds))
}

/// Puts rows at the settings' rate until told to stop; returns how many.
fn write_steadily(
    database: &dyn Database,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<u64, String> {
    let mut source = Rows::below(settings.rows(), 3);
    let mut chunk = Chunk::default();
    let start = Instant::now();
    let mut written = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        let due = (start.elapsed().as_secs_f64() * settings.writes_per_second as f64) as u64;
        let behind = due.saturating_sub(written).min(CHUNK as u64);
        let numbers: Vec<u64> = (0..behind).map(|_| source.any()).collect();
        source.fill(&mut chunk, numbers.into_iter());
        database.write(chunk.records(), Writing::Each)?;
        written += behind;
        thread::sleep(Duration::from_millis(2));
    }
    Ok(written)
}

fn scan(database: &dyn Database, reverse: bool) -> Result<Figures, String> {
    let meter = Meter::start();
    let rows = database.scan(reverse)?;
    let work = meter.read();
    let peak_bytes = Resident::of_this_process().peak as f64;
    let (operations, check) = (rows.count as f64, rows.sum as f64);
    Ok(Figures { operations, work, settled: work, peak_bytes, check, ..Figures::default() })
}

fn compact(database: &dyn Database, settings: &Settings) -> Result<Figures, String> {
    let meter = Meter::start();
    database.compact()?;
    let work = meter.read();
    let peak_bytes = Resident::of_this_process().peak as f64;
    let rows = database.scan(false)?;
    Ok(Figures {
        operations: rows.count as f64,
        user_bytes: (settings.compact_mib << 20) as f64,
        work,
        settled: work,
        own_seconds: 0.0,
        peak_bytes,
        check: rows.sum as f64,
    })
}

/// From the call that opens to the first answer.
fn open_many(
    engine: Engine,
    dir: &Path,
    setup: &Setup,
    settings: &Settings,
) -> Result<Figures, String> {
    let meter = Meter::start();
    let database = engine.open(dir, setup)?;
    let opened = meter.read();
    let found = database.get(&[row_key(settings.files * FILE_ROWS / 2)])?;
    let settled: Cost = meter.read();
    let peak_bytes = Resident::of_this_process().peak as f64;
    Ok(Figures {
        operations: 1.0,
        work: opened,
        settled,
        peak_bytes,
        check: found as f64,
        ..Figures::default()
    })
}
