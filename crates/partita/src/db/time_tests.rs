//! What happens as time goes by, without a write.

use std::sync::Arc;
use std::time::Duration;

use super::churn_testing::*;
use super::*;
use crate::io::{ManualClock, ManualScheduler, MemoryFileSystem};
use crate::options::{ColumnFamilyOptions, CompactionStyle};

struct Bench {
    disk: MemoryFileSystem,
    scheduler: Arc<ManualScheduler>,
    clock: Arc<ManualClock>,
}

impl Bench {
    fn new() -> Self {
        Self {
            disk: MemoryFileSystem::new(),
            scheduler: Arc::new(ManualScheduler::in_order()),
            clock: Arc::new(ManualClock::at_unix_micros(1_000_000_000_000_000)),
        }
    }

    fn open(&self, family: &ColumnFamilyOptions) -> Db {
        by_hand(Arc::new(self.disk.clone()), family, &self.scheduler, &self.clock)
    }

    /// Lets seconds pass, and does what is due.
    fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        // No more looks than there are.
        for _ in 0..seconds.min(15) {
            self.scheduler.pass(Duration::from_secs(1));
            self.scheduler.run_all();
        }
    }
}

fn quiet() -> ColumnFamilyOptions {
    ColumnFamilyOptions {
        level0_file_num_compaction_trigger: 20,
        max_bytes_for_level_base: 1 << 20,
        ..small_tables()
    }
}

fn entries(db: &Db) -> u64 {
    let version = db.default_family().0.family.current();
    version.files().filter_map(|(_, file)| file.counts()).map(|counts| counts.entries).sum()
}

/// Files on the bottom that keep old versions for a snapshot are written again as soon as it goes: nobody writes, no time
/// passes.
#[test]
fn what_only_a_snapshot_needed_goes_when_the_snapshot_goes() {
    let bench = Bench::new();
    let db = bench.open(&quiet());
    let family = db.default_family();
    let mut held = Vec::new();
    for round in 0..4u8 {
        for key in 0..20u8 {
            db.put(&[key], &[round; 30]).unwrap();
        }
        held.push(db.snapshot());
    }
    db.compact_range(&family, None, None).unwrap();
    bench.scheduler.run_all();
    assert_eq!(entries(&db), 80, "all versions are seen by somebody");
    // One in the midst holds nothing off that the oldest does not.
    drop(held.remove(1));
    assert_eq!(bench.scheduler.waiting(), 0);
    assert_eq!(db.get_at(&held[0], &family, &[7]).unwrap().unwrap(), [0; 30]);
    drop(held.remove(0));
    assert_eq!(bench.scheduler.waiting(), 0, "the next one holds it off");
    let last = held.pop().unwrap();
    drop(held);
    assert!(bench.scheduler.waiting() > 0);
    bench.scheduler.run_all();
    assert_eq!(entries(&db), 20);
    // What comes later has nothing to hold off.
    drop(last);
    let later = db.snapshot();
    drop(later);
    assert_eq!((bench.scheduler.waiting(), entries(&db)), (0, 20));
    assert_eq!(db.get(&[7]).unwrap().unwrap(), [3; 30]);
    check_files(&db, &bench.disk, "in the end");
}

#[test]
fn tables_that_become_too_old_are_merged_or_dropped_while_nobody_writes() {
    let ttl = ColumnFamilyOptions { ttl: 1000, ..quiet() };
    let periodic = ColumnFamilyOptions { periodic_compaction_seconds: 1000, ..quiet() };
    let fifo =
        ColumnFamilyOptions { compaction_style: CompactionStyle::Fifo, ttl: 1000, ..quiet() };
    for (what, options) in [("ttl", ttl), ("periodic", periodic), ("fifo", fifo)] {
        let bench = Bench::new();
        let db = bench.open(&options);
        for number in 1..=3 {
            db.write(batch(&db, number), &WriteOptions::default()).unwrap();
            db.flush().unwrap();
        }
        let before = files_by_level(&db);
        assert_eq!(before[0], 3, "{what}");
        bench.pass(990);
        assert_eq!(files_by_level(&db), before, "{what}: too early");
        bench.pass(20);
        let after = files_by_level(&db);
        assert_eq!(after[0], 0, "{what}: {after:?}");
        assert_eq!(after.iter().sum::<usize>() == 0, what == "fifo", "{what}: {after:?}");
        if what != "fifo" {
            assert_eq!(state_of(&db), state_after(3), "{what}");
        }
        check_files(&db, &bench.disk, what);
    }
}

/// An iterator keeps tables that were merged meanwhile; they go soon after it.
#[test]
fn tables_that_a_reader_held_go_soon_after_the_reader() {
    let bench = Bench::new();
    let db = bench.open(&small_tables());
    for number in 1..=4 {
        db.write(batch(&db, number), &WriteOptions::default()).unwrap();
        db.flush().unwrap();
    }
    let mut iter = db.iter().unwrap();
    iter.seek_to_first().unwrap();
    for family in db.families() {
        db.compact_range(&family, None, None).unwrap();
    }
    bench.scheduler.run_all();
    let stats = db.family_stats(&db.default_family());
    assert!(stats.live_versions > 1, "it is listed");
    let held = tables_in(&bench.disk).len();
    bench.pass(5);
    assert_eq!(tables_in(&bench.disk).len(), held);
    drop(iter);
    bench.pass(1);
    assert!(tables_in(&bench.disk).len() < held);
    check_files(&db, &bench.disk, "without readers");
}

#[test]
fn old_logs_leave_the_archive_without_a_write() {
    let bench = Bench::new();
    let given = builder(Arc::new(bench.disk.clone()), &quiet());
    let clock: Arc<dyn crate::io::Clock> = Arc::<ManualClock>::clone(&bench.clock);
    let db = given
        .options(DbOptions { wal_ttl_seconds: 100, ..options() })
        .scheduler(Arc::<ManualScheduler>::clone(&bench.scheduler))
        .clock(clock)
        .open()
        .unwrap();
    db.write(batch(&db, 1), &WriteOptions::default()).unwrap();
    db.flush().unwrap();
    bench.scheduler.run_all();
    let archived = || bench.disk.list("/db/archive".as_ref()).unwrap().len();
    assert_eq!(archived(), 1);
    bench.pass(99);
    assert_eq!(archived(), 1);
    bench.pass(10);
    assert_eq!(archived(), 0);
}

/// The look around costs nothing while there is nothing to do, and ends with the database.
#[test]
fn looking_around_touches_no_file_and_ends_with_the_database() {
    let (disk, fs) = disk();
    let bench = Bench { disk, ..Bench::new() };
    let db = by_hand(Arc::new(fs.clone()), &small_tables(), &bench.scheduler, &bench.clock);
    db.write(batch(&db, 1), &WriteOptions::default()).unwrap();
    db.flush().unwrap();
    bench.pass(15);
    let calls = fs.calls();
    bench.pass(30);
    assert_eq!(fs.calls(), calls);
    bench.scheduler.pass(Duration::from_secs(1));
    assert_eq!(bench.scheduler.waiting(), 1, "one at a time");
    db.close().unwrap();
    bench.pass(5);
    bench.scheduler.pass(Duration::from_secs(5));
    assert_eq!(bench.scheduler.waiting(), 0, "no further one");
    drop(db);
    // One that waits does not keep the directory.
    let db = by_hand(Arc::new(fs.clone()), &small_tables(), &bench.scheduler, &bench.clock);
    bench.scheduler.pass(Duration::from_secs(1));
    assert_eq!(bench.scheduler.waiting(), 1);
    drop(db);
    let again = by_hand(Arc::new(fs), &small_tables(), &bench.scheduler, &bench.clock);
    assert_eq!(state_of(&again), state_after(1));
}
