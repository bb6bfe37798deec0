//! Writers wait: for how long, for what, and never for ever.

use std::sync::Arc;
use std::time::Duration;

use super::compact::ByHand;
use super::*;
use crate::batch::WriteBatch;
use crate::cache::Role;
use crate::error::ErrorKind;
use crate::io::{Clock as _, ManualClock, ManualScheduler, MemoryFileSystem, Unsynced};
use crate::options::ColumnFamilyOptions;
use crate::version::FileName;

struct Bench {
    disk: MemoryFileSystem,
    clock: Arc<ManualClock>,
    scheduler: Arc<ManualScheduler>,
    cache: Cache,
}

impl Bench {
    fn new(cache_bytes: usize) -> Self {
        Self {
            disk: MemoryFileSystem::new(),
            clock: Arc::default(),
            scheduler: Arc::new(ManualScheduler::in_order()),
            cache: Cache::new(cache_bytes),
        }
    }

    fn builder(&self, options: DbOptions) -> DbBuilder {
        let options =
            DbOptions { create_if_missing: true, create_missing_column_families: true, ..options };
        DbBuilder::new("/db")
            .file_system(Arc::new(self.disk.clone()))
            .cache(self.cache.clone())
            .clock(Arc::<ManualClock>::clone(&self.clock))
            .scheduler(Arc::<ManualScheduler>::clone(&self.scheduler))
            .options(options)
    }

    fn micros(&self) -> u64 {
        self.clock.monotonic_nanos() / 1000
    }
}

fn with(options: ColumnFamilyOptions) -> FamilyConfig {
    FamilyConfig { options: Some(options), ..FamilyConfig::default() }
}

fn tables(db: &Db) -> usize {
    db.families().iter().map(|family| family.0.view.load().version.file_count()).sum()
}

/// Level-0 tables from 4 to 16 slow writers down.
fn few_files() -> ColumnFamilyOptions {
    ColumnFamilyOptions {
        level0_file_num_compaction_trigger: 4,
        level0_slowdown_writes_trigger: 4,
        level0_stop_writes_trigger: 16,
        ..ColumnFamilyOptions::default()
    }
}

/// Nobody merges the tables: where writers would have to stop they crawl.
#[test]
fn writers_slow_down_with_each_table_of_level_0_and_never_wait_for_nobody() {
    let bench = Bench::new(64 << 20);
    let db =
        bench.builder(DbOptions::default()).family("default", with(few_files())).open().unwrap();
    let _nobody_compacts = ByHand::begin(db.inner()).unwrap();
    let mut delays = Vec::new();
    for _ in 0..20 {
        let before = bench.micros();
        for number in 0..8u32 {
            db.put(&number.to_be_bytes(), &[7; 40_000]).unwrap();
        }
        delays.push(bench.micros() - before);
        db.flush().unwrap();
    }
    assert_eq!(delays[..3], [0, 0, 0]);
    assert!(delays[5] > 0 && delays[6..16].is_sorted(), "{delays:?}");
    assert!(delays.iter().all(|delay| *delay < 1_000_000), "{delays:?}");
    let count = db.stall_stats().cause(StallCause::Level0Files);
    assert!(count.delays > 20 && count.stops == 0, "{count:?}");
    assert_eq!(count.micros, delays.iter().sum::<u64>());
    assert!(count.micros_max >= count.micros / count.delays);
    assert_eq!(db.stall_stats().total(), count);
}

#[test]
fn compactions_by_hand_are_waited_for_by_nobody() {
    let bench = Bench::new(64 << 20);
    let options = ColumnFamilyOptions { disable_auto_compactions: true, ..few_files() };
    let db = bench.builder(DbOptions::default()).family("default", with(options)).open().unwrap();
    for _ in 0..20 {
        db.put(b"k", &[7; 100_000]).unwrap();
        db.flush().unwrap();
    }
    assert_eq!((bench.micros(), db.stall_stats()), (0, StallStats::default()));
}

#[test]
fn who_must_not_wait_is_sent_away_and_low_priority_waits_first() {
    let bench = Bench::new(64 << 20);
    let options = ColumnFamilyOptions { level0_slowdown_writes_trigger: 12, ..few_files() };
    let db = bench.builder(DbOptions::default()).family("default", with(options)).open().unwrap();
    let _nobody_compacts = ByHand::begin(db.inner()).unwrap();
    let write = |options: WriteOptions| {
        let mut batch = WriteBatch::new();
        batch.put(b"k", &[7; 100_000]).unwrap();
        db.write(batch, &options)
    };
    let no_slowdown = WriteOptions { no_slowdown: true, ..WriteOptions::default() };
    let low_pri = WriteOptions { low_pri: true, ..WriteOptions::default() };
    for _ in 0..8 {
        write(no_slowdown).unwrap();
        db.flush().unwrap();
    }
    write(WriteOptions::default()).unwrap();
    assert_eq!(bench.micros(), 0);
    write(low_pri).unwrap();
    assert!(bench.micros() > 10_000, "{}", bench.micros());
    let both = WriteOptions { no_slowdown: true, low_pri: true, ..WriteOptions::default() };
    let refused = write(both).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Busy);
    for _ in 0..7 {
        db.put(b"k", b"v").unwrap();
        db.flush().unwrap();
    }
    write(WriteOptions::default()).unwrap();
    let refused = write(no_slowdown).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Busy);
    assert!(refused.message().contains("level-0 files"), "{refused}");
    assert_eq!(db.stall_stats().cause(StallCause::Level0Files).refused, 2);
    // The time of what was written passes without it.
    bench.clock.advance(Duration::from_secs(10));
    write(no_slowdown).unwrap();
}

/// While the leader waits, those behind it that must not wait are told so.
#[test]
fn who_must_not_wait_does_not_wait_behind_others_either() {
    use super::commit::{CommitOptions, CommitQueue, LogRecord, Stages};
    use crate::key::SeqNo;
    struct Nothing;
    impl Stages for Nothing {
        fn make_room(&self, _may_wait: bool) -> Result<()> {
            Ok(())
        }
        fn log(&self, _record: &LogRecord<'_>) -> Result<()> {
            Ok(())
        }
        fn insert(&self, _batch: &WriteBatch, _first: SeqNo) -> Result<()> {
            Ok(())
        }
        fn last(&self) -> SeqNo {
            SeqNo::ZERO
        }
        fn publish(&self, _last: SeqNo) {}
        fn fail(&self, _error: &crate::error::Error) {}
    }
    let queue = CommitQueue::new(1 << 20);
    let error = || crate::error::Error::new(ErrorKind::Busy, "later");
    let options = CommitOptions { no_slowdown: true, ..CommitOptions::default() };
    let waits = std::thread::scope(|scope| {
        queue
            .exclusive(|| {
                let early = scope.spawn(|| queue.commit(&Nothing, WriteBatch::new(), options));
                let patient = scope
                    .spawn(|| queue.commit(&Nothing, WriteBatch::new(), CommitOptions::default()));
                while queue.len() < 3 {
                    std::thread::yield_now();
                }
                let mark = queue.begin_stall(error);
                assert_eq!(early.join().unwrap().unwrap_err().kind(), ErrorKind::Busy);
                let late = queue.commit(&Nothing, WriteBatch::new(), options);
                assert_eq!(late.unwrap_err().kind(), ErrorKind::Busy);
                assert!(queue.try_exclusive(|| ()).is_none());
                drop(mark);
                patient
            })
            .join()
            .unwrap()
    });
    waits.unwrap();
    queue.commit(&Nothing, WriteBatch::new(), options).unwrap();
    assert!(queue.try_exclusive(|| ()).is_some());
}

/// 64 families share a limit, none near its own: writes go on, and memory stays within the limit.
#[test]
fn many_families_that_are_far_from_their_own_limits_do_not_fill_the_memory_together() {
    const LIMIT: usize = 4 << 20;
    for of_cache in [false, true] {
        let bench = Bench::new(if of_cache { 2 * LIMIT } else { 1 << 30 });
        let db_write_buffer_size = if of_cache { 0 } else { LIMIT };
        let options = DbOptions { db_write_buffer_size, ..DbOptions::default() };
        let mut builder = bench.builder(options);
        let by_hand = ColumnFamilyOptions {
            disable_auto_compactions: true,
            ..ColumnFamilyOptions::default()
        };
        for number in 0..64 {
            builder = builder.family(&format!("family {number}"), with(by_hand.clone()));
        }
        let db = builder.open().unwrap();
        let families = db.families();
        let mut most = 0;
        for round in 0..200u32 {
            for family in &families {
                db.put_cf(family, &round.to_be_bytes(), &[7; 1000]).unwrap();
                most = most.max(bench.cache.reserved_bytes(Role::Memtable));
            }
        }
        assert!(most > LIMIT / 2, "{most}");
        // One block of a memtable may come on top: none has grown beyond 128 KiB here.
        assert!(most <= LIMIT + (128 << 10), "{most}");
        let count = db.stall_stats().total();
        assert!(count.micros_max < 2_000_000, "{count:?}");
        assert!(tables(&db) > 64, "{}", tables(&db));
        for family in &families {
            for round in [0, 77, 199u32] {
                assert!(db.get_cf(family, &round.to_be_bytes()).unwrap().is_some());
            }
        }
    }
}

#[test]
fn a_database_that_holds_much_and_writes_nothing_makes_room_for_one_that_writes() {
    let bench = Bench::new(8 << 20);
    let idle = bench.builder(DbOptions::default()).open().unwrap();
    for number in 0..1500u32 {
        idle.put(&number.to_be_bytes(), &[7; 1000]).unwrap();
    }
    assert_eq!(tables(&idle), 0);
    let disk: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let hot = bench.builder(DbOptions::default()).file_system(disk).open().unwrap();
    for number in 0..500u32 {
        hot.put(&number.to_be_bytes(), &[7; 1000]).unwrap();
        bench.scheduler.run_all();
    }
    assert_eq!((tables(&idle), tables(&hot)), (1, 0), "the largest holder goes first");
    assert!(bench.cache.reserved_bytes(Role::Memtable) < 2 << 20);
    // It takes nearly all, and is closed without leaving a trace.
    drop(idle);
    for number in 0..9000u32 {
        hot.put(&number.to_be_bytes(), &[7; 1000]).unwrap();
        assert!(bench.cache.reserved_bytes(Role::Memtable) < (4 << 20) + (1 << 20));
    }
    assert!(tables(&hot) > 1);
}

/// What readers hold of flushed memtables is charged, but there is nothing that a writer could wait for.
#[test]
fn what_readers_hold_slows_down_nobody() {
    let bench = Bench::new(8 << 20);
    let by_hand =
        ColumnFamilyOptions { disable_auto_compactions: true, ..ColumnFamilyOptions::default() };
    let db = bench.builder(DbOptions::default()).family("default", with(by_hand)).open().unwrap();
    let mut readers = Vec::new();
    for round in 0..6u32 {
        for number in 0..1000u32 {
            db.put(&[round.to_be_bytes(), number.to_be_bytes()].concat(), &[7; 1000]).unwrap();
        }
        readers.push(db.iter().unwrap());
        db.flush().unwrap();
    }
    assert!(bench.cache.reserved_bytes(Role::Memtable) > 5 << 20);
    assert_eq!((bench.micros(), db.stall_stats()), (0, StallStats::default()));
}

#[test]
fn as_many_memtables_become_one_table_as_are_to_be_merged() {
    let bench = Bench::new(64 << 20);
    let options = ColumnFamilyOptions {
        write_buffer_size: 64 << 10,
        max_write_buffer_number: 5,
        min_write_buffer_number_to_merge: 3,
        ..ColumnFamilyOptions::default()
    };
    let db = bench.builder(DbOptions::default()).family("default", with(options)).open().unwrap();
    let frozen = || db.default_family().0.view.load().frozen.len();
    let mut most = 0;
    for number in 0..400u32 {
        db.put(&number.to_be_bytes(), &[7; 1000]).unwrap();
        bench.scheduler.run_all();
        most = most.max(frozen());
    }
    assert_eq!(most, 2, "the third is flushed with them");
    let full_tables = tables(&db);
    assert!((2..=3).contains(&full_tables), "{full_tables}");
    db.flush().unwrap();
    assert_eq!((frozen(), tables(&db)), (0, full_tables + 1), "who asks does not wait for more");
    assert_eq!(db.default_family().0.view.load().version.files().count(), full_tables + 1);
}

/// Without a log, what is flushed is all that there is: the families must be of one moment.
#[test]
fn families_that_are_flushed_together_are_found_together() {
    use crate::io::FaultFileSystem;
    let run = |cut: u64| {
        let disk = MemoryFileSystem::new();
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        let open = |fs: Arc<dyn FileSystem>| {
            let options = DbOptions { atomic_flush: true, ..DbOptions::default() };
            let bench = Bench::new(8 << 20);
            bench.builder(options).file_system(fs).family("more", FamilyConfig::default()).open()
        };
        let Ok(db) = open(Arc::new(fs.clone())) else { return (0, None) };
        let begin = fs.calls();
        fs.fail_from(begin + cut, std::io::ErrorKind::Other);
        for number in 0..4u8 {
            let mut batch = WriteBatch::new();
            for family in db.families() {
                batch.put_cf(family.id(), &[number], b"v").unwrap();
            }
            let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
            let _ = db.write(batch, &unlogged);
            // One family is asked for; all go.
            let _ = db.flush_cf(&db.default_family());
        }
        let calls = fs.calls() - begin;
        let db = open(Arc::new(disk.after_crash(Unsynced::Lost))).unwrap();
        let count = |family: &ColumnFamily| {
            (0..4u8).filter(|number| db.get_cf(family, &[*number]).unwrap().is_some()).count()
        };
        let counts: Vec<usize> = db.families().iter().map(count).collect();
        assert_eq!(counts[0], counts[1], "cut at {cut}");
        (calls, Some(counts[0]))
    };
    let (calls, all) = run(u64::MAX / 2);
    assert_eq!(all, Some(4));
    let found: Vec<Option<usize>> = (0..calls).map(|cut| run(cut).1).collect();
    assert!(found.is_sorted() && found.contains(&Some(2)), "{found:?}");
}

/// Databases that write at once, with less memory than any of them wants: none waits for another for ever.
#[test]
fn databases_that_fight_for_memory_all_get_on() {
    let bench = Bench::new(2 << 20);
    let open = || {
        let options = ColumnFamilyOptions {
            disable_auto_compactions: true,
            ..ColumnFamilyOptions::default()
        };
        bench
            .builder(DbOptions::default())
            .file_system(Arc::new(MemoryFileSystem::new()))
            .clock(Arc::new(crate::io::SystemClock))
            .scheduler(Arc::new(crate::io::ThreadPool::new(1, 1)))
            .family("default", with(options))
            .open()
            .unwrap()
    };
    let databases: Vec<Db> = (0..3).map(|_| open()).collect();
    std::thread::scope(|scope| {
        for thread in 0..6u32 {
            let db = &databases[thread as usize % 3];
            scope.spawn(move || {
                for number in 0..400u32 {
                    let key = [thread.to_be_bytes(), number.to_be_bytes()].concat();
                    db.put(&key, &[7; 2000]).unwrap();
                }
            });
        }
    });
    for (at, db) in databases.iter().enumerate() {
        for number in 0..400u32 {
            for thread in [at as u32, at as u32 + 3] {
                let key = [thread.to_be_bytes(), number.to_be_bytes()].concat();
                assert!(db.get(&key).unwrap().is_some());
            }
        }
        assert!(tables(db) > 0);
        db.close().unwrap();
    }
}

/// A writer that is stopped by a full set of memtables is let go by whoever flushes, on whatever thread.
#[test]
fn a_stopped_writer_goes_on_when_another_thread_has_flushed() {
    let bench = Bench::new(64 << 20);
    let options =
        ColumnFamilyOptions { write_buffer_size: 64 << 10, ..ColumnFamilyOptions::default() };
    let builder = bench.builder(DbOptions::default());
    let builder = builder.clock(Arc::new(crate::io::SystemClock));
    let builder = builder.scheduler(Arc::new(crate::io::ThreadPool::new(1, 1)));
    let db = builder.family("default", with(options)).open().unwrap();
    for number in 0..3000u32 {
        db.put(&number.to_be_bytes(), &[7; 1000]).unwrap();
    }
    db.flush().unwrap();
    assert!(tables(&db) > 10);
    let names = bench.disk.list("/db".as_ref()).unwrap();
    let logs = names.iter().filter_map(|name| FileName::parse(name));
    assert_eq!(logs.filter(|name| matches!(name, FileName::Log(_))).count(), 1);
}
