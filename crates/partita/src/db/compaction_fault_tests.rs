//! Compactions in which something fails.

use std::io::ErrorKind as IoKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::churn_testing::*;
use super::*;
use crate::error::ErrorKind;
use crate::io::{
    CallKind, Fault, FaultFileSystem, ManualClock, ManualScheduler, MemoryFileSystem, Unsynced,
};
use crate::key::ValueType;
use crate::merge::{CompactionFilter, FilterDecision};
use crate::options::ColumnFamilyOptions;

struct Bench {
    disk: MemoryFileSystem,
    fs: FaultFileSystem,
    scheduler: Arc<ManualScheduler>,
    clock: Arc<ManualClock>,
    db: Db,
}

/// Batches that are there before the compaction that fails.
const WRITTEN: u32 = 8;

impl Bench {
    /// A tree with files on level 1, and a compaction of level 0 that waits to be run.
    fn new() -> Self {
        let (disk, fs) = disk();
        let scheduler = Arc::new(ManualScheduler::in_order());
        let clock = Arc::new(ManualClock::default());
        let options = ColumnFamilyOptions {
            level0_file_num_compaction_trigger: 4,
            max_bytes_for_level_base: 1 << 20,
            ..small_tables()
        };
        let db = by_hand(Arc::new(fs.clone()), &options, &scheduler, &clock);
        for number in 1..=WRITTEN {
            db.write(batch(&db, number), &WriteOptions::default()).unwrap();
            if number == 4 {
                for family in db.families() {
                    db.compact_range(&family, None, None).unwrap();
                }
            }
            if number > 4 {
                db.flush().unwrap();
            }
        }
        let levels = files_by_level(&db);
        assert!(levels[0] == 4 && levels[1] > 1, "{levels:?}");
        assert!(scheduler.waiting() > 0);
        Self { disk, fs, scheduler, clock, db }
    }

    /// Counts the calls of a kind that the compactions make.
    fn count(matches: fn(CallKind) -> bool) -> u64 {
        let bench = Self::new();
        let count = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&count);
        bench.fs.set_rule(move |call| {
            seen.fetch_add(u64::from(matches(call.kind)), Ordering::Relaxed);
            None
        });
        bench.scheduler.run_all();
        bench.fs.clear_rule();
        assert_eq!(files_by_level(&bench.db)[0], 0);
        assert_eq!(state_of(&bench.db), state_after(WRITTEN));
        check_files(&bench.db, &bench.fs, "without faults");
        count.load(Ordering::Relaxed)
    }

    /// Has such a call, and those of the same kind behind it if `all`, go wrong.
    fn fail(&self, at: u64, all: bool, matches: fn(CallKind) -> bool, fault: Fault) {
        let mut before = 0;
        self.fs.set_rule(move |call| {
            let hit = matches(call.kind);
            before += u64::from(hit);
            (hit && (before == at + 1 || all && before > at)).then_some(fault)
        });
    }

    fn check_state(&self, count: u32, what: &str) {
        assert_eq!(state_of(&self.db), state_after(count), "{what}");
    }

    /// What is found by the next process, if this one ends here.
    fn check_crash(&self, unsynced: Unsynced, what: &str) {
        let disk = Arc::new(self.disk.after_crash(unsynced));
        let scheduler = Arc::new(ManualScheduler::in_order());
        let db = by_hand(
            Arc::<MemoryFileSystem>::clone(&disk),
            &small_tables(),
            &scheduler,
            &self.clock,
        );
        assert_eq!(state_of(&db), state_after(WRITTEN), "{what}, {unsynced:?}");
        check_files(&db, &*disk, what);
    }
}

/// One call of the compactions fails, or all from there on, as with a full disk. Nothing is lost, what was not finished is
/// removed, the failure is told, and when it is over the next write has the work done.
#[test]
fn any_call_of_a_compaction_may_fail_and_it_is_made_up_for() {
    let changes: fn(CallKind) -> bool = CallKind::changes;
    let calls = Bench::count(changes);
    assert!(calls > 60, "{calls}");
    let (mut failed, mut tried) = (0, 0);
    // The kinds of faults take turns.
    for at in (0..calls).step_by(2) {
        tried += 1;
        let all_behind_it = at % 8 == 0;
        for all in [false, true].into_iter().take(1 + usize::from(all_behind_it)) {
            let fault = match (at + u64::from(all)) % 3 {
                0 => Fault::Error(IoKind::StorageFull),
                1 => Fault::ErrorAfterwards(IoKind::Other),
                _ => Fault::Torn(3 + at as usize, IoKind::StorageFull),
            };
            let what = format!("call {at} of {calls}, all behind it: {all}, {fault:?}");
            let bench = Bench::new();
            bench.fail(at, all, changes, fault);
            bench.scheduler.run_all();
            let error = bench.db.background_error();
            if let Some(error) = &error {
                failed += 1;
                assert_eq!(error.work, BackgroundWork::Compaction, "{what}: {error}");
                assert!(!error.stops_writes && error.retries, "{what}: {error}");
                assert!(error.message.contains("/db"), "{what}: no file in {error}");
            }
            bench.check_state(WRITTEN, &what);
            bench.fs.clear_rule();
            bench.check_crash(Unsynced::Lost, &what);
            bench.check_crash(Unsynced::Kept, &what);
            // Writes go on, and have it done.
            bench.db.write(batch(&bench.db, WRITTEN + 1), &WriteOptions::default()).unwrap();
            assert_eq!(bench.db.background_error(), None, "{what}");
            bench.scheduler.run_all();
            bench.check_state(WRITTEN + 1, &what);
            assert!(files_by_level(&bench.db)[0] < 4, "{what}: {:?}", files_by_level(&bench.db));
            // What could not be removed is, with the next flush at the latest.
            bench.db.flush().unwrap();
            bench.scheduler.run_all();
            bench.check_state(WRITTEN + 1, &what);
            check_files(&bench.db, &bench.fs, &what);
        }
    }
    assert!(failed > tried / 2, "{failed} of {tried}");
}

/// Nobody writes to a database whose disk was full, and is not any more.
#[test]
fn a_compaction_that_ran_out_of_room_is_done_again_without_a_write() {
    // Somewhere in the tables, in the manifest, or right at the beginning.
    for room in [0, 700, 2000, 4000, 6000, 7000] {
        let bench = Bench::new();
        let what = format!("room for {room} bytes");
        bench.fs.set_room(Some(room));
        bench.scheduler.run_all();
        let error = bench.db.background_error().unwrap_or_else(|| panic!("{what}"));
        assert_eq!((error.work, error.kind), (BackgroundWork::Compaction, ErrorKind::NoSpace));
        bench.check_state(WRITTEN, &what);
        let look = || {
            bench.clock.advance(Duration::from_secs(1));
            bench.scheduler.pass(Duration::from_secs(1));
            bench.scheduler.run_all();
        };
        // It tries again, in vain.
        let failures = bench.db.stats().background_errors;
        (0..5).for_each(|_| look());
        let tried = bench.db.stats().background_errors - failures;
        assert!((2..=5).contains(&tried), "{what}: {tried}");
        assert_eq!(bench.db.background_error().unwrap().kind, ErrorKind::NoSpace, "{what}");
        bench.fs.set_room(None);
        (0..5).for_each(|_| look());
        assert_eq!(bench.db.background_error(), None, "{what}");
        assert_eq!(files_by_level(&bench.db)[0], 0, "{what}");
        bench.check_state(WRITTEN, &what);
        check_files(&bench.db, &bench.fs, &what);
    }
}

/// A read that fails or finds something else than was written. What is wrong is told with file and place; no table is
/// written from it.
#[test]
fn any_read_of_a_compaction_may_fail_or_lie() {
    let reads: fn(CallKind) -> bool = |kind| kind == CallKind::ReadAt;
    let calls = Bench::count(reads);
    assert!(calls > 10, "{calls}");
    let mut damaged = 0;
    for at in (0..calls).step_by(2) {
        for fault in [Fault::Error(IoKind::Other), Fault::FlippedBit(at * 1001)] {
            let what = format!("read {at} of {calls}, {fault:?}");
            let bench = Bench::new();
            bench.fail(at, false, reads, fault);
            bench.scheduler.run_all();
            bench.fs.clear_rule();
            bench.check_state(WRITTEN, &what);
            bench.check_crash(Unsynced::Lost, &what);
            let Some(error) = bench.db.background_error() else {
                // Of pieces that nobody needs, loaded for later.
                assert_eq!(files_by_level(&bench.db)[0], 0, "{what}");
                continue;
            };
            assert_eq!(error.work, BackgroundWork::Compaction, "{what}");
            assert!(error.message.contains(".sst"), "{what}: {error}");
            let is_damage = error.kind == ErrorKind::Corruption;
            assert_eq!(is_damage, matches!(fault, Fault::FlippedBit(_)), "{what}: {error}");
            if is_damage {
                damaged += 1;
                assert!(error.message.contains(" at 0x"), "{what}: no offset in {error}");
                assert!(error.stops_writes && !error.retries, "{what}: {error}");
                let refused = bench.db.put(b"k", b"v").unwrap_err();
                assert!(refused.message().contains(&error.message), "{what}: {refused}");
                bench.db.resume().unwrap();
            } else {
                bench.db.resume().unwrap();
            }
            bench.scheduler.run_all();
            assert_eq!(bench.db.background_error(), None, "{what}");
            assert_eq!(files_by_level(&bench.db)[0], 0, "{what}");
            bench.check_state(WRITTEN, &what);
            check_files(&bench.db, &bench.fs, &what);
        }
    }
    assert!(damaged > 5, "{damaged}");
}

/// A table that is damaged for good stops what would have to read it. Everything else goes on.
#[test]
fn a_damaged_table_stops_its_compaction_and_nothing_else() {
    for paranoid_checks in [true, false] {
        let (_, fs) = disk();
        let scheduler = Arc::new(ManualScheduler::in_order());
        let given = builder(Arc::new(fs.clone()), &small_tables());
        let given = given.options(DbOptions { paranoid_checks, ..options() });
        let db = given.scheduler(Arc::<ManualScheduler>::clone(&scheduler)).open().unwrap();
        let put = |keys: &[&str]| {
            for key in keys {
                db.put(key.as_bytes(), &[7; 50]).unwrap();
            }
            db.flush().unwrap();
        };
        put(&["a", "b", "m", "n"]);
        let good = tables_in(&fs);
        fs.set_rule(move |call| {
            let number = call.path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
            let damaged = number.is_some_and(|number| !good.contains(&number));
            (call.kind == CallKind::ReadAt && damaged).then_some(Fault::FlippedBit(99))
        });
        put(&["m", "n", "z"]);
        for round in 0..2 {
            scheduler.run_all();
            let error = db.background_error().unwrap();
            assert_eq!(error.kind, ErrorKind::Corruption, "{error}");
            assert!(error.message.contains(".sst") && error.message.contains("0x"), "{error}");
            assert_eq!(error.stops_writes, paranoid_checks);
            for key in ["a", "b"] {
                assert_eq!(db.get(key.as_bytes()).unwrap().unwrap(), [7; 50]);
            }
            assert_eq!(db.get(b"z").unwrap_err().kind(), ErrorKind::Corruption);
            assert_eq!(files_by_level(&db)[0], 2, "both are still there");
            if !paranoid_checks {
                db.put(format!("o{round}").as_bytes(), b"v").unwrap();
            }
            // Who asks to go on is told the same again.
            db.resume().unwrap();
        }
        fs.clear_rule();
        db.resume().unwrap();
        scheduler.run_all();
        assert_eq!(db.background_error(), None);
        assert!(files_by_level(&db)[0] < 2);
        assert_eq!(db.get(b"z").unwrap().unwrap(), [7; 50]);
        check_files(&db, &fs, "made good");
    }
}

/// A filter of the caller's that panics, in one part of a compaction or in all.
#[derive(Debug)]
struct Panicking {
    /// Entries until it does.
    left: AtomicU64,
}

impl CompactionFilter for Panicking {
    fn name(&self) -> &str {
        "panicking"
    }

    fn filter(&self, _: u8, _: &[u8], _: ValueType, _: &[u8]) -> FilterDecision {
        let one_less = |left: u64| left.checked_sub(1);
        match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
            Ok(_) => FilterDecision::Keep,
            // Without a message on the standard error.
            Err(_) => std::panic::resume_unwind(Box::new("on purpose")),
        }
    }
}

#[test]
fn a_panic_in_a_compaction_is_a_failure_and_nobody_waits_for_ever() {
    must_end(|| {
        let (_, fs) = disk();
        let filter = Arc::new(Panicking { left: AtomicU64::new(u64::MAX) });
        let config = FamilyConfig {
            options: Some(small_tables()),
            compaction_filter: Some(Arc::<Panicking>::clone(&filter)),
            ..FamilyConfig::default()
        };
        let given = builder(Arc::new(fs.clone()), &small_tables());
        let db = given.family("default", config).open().unwrap();
        for number in 1..=8 {
            db.write(batch(&db, number), &WriteOptions::default()).unwrap();
            db.flush().unwrap();
        }
        db.wait_for_background_work().unwrap();
        for left in [3, 100] {
            filter.left.store(left, Ordering::Relaxed);
            let error = loop {
                let number = count_in(&state_of(&db)) + 1;
                let written = db.write(batch(&db, number), &WriteOptions::default());
                let flushed = written.and_then(|()| db.flush());
                if let Err(error) = flushed.and_then(|()| db.wait_for_background_work()) {
                    break error;
                }
            };
            assert!(error.to_string().contains("panicked"), "{error}");
            assert_eq!(db.background_error().unwrap().work, BackgroundWork::Compaction);
            let count = count_in(&state_of(&db));
            assert_eq!(state_of(&db), state_after(count), "reads go on");
            // By hand, it is the caller who panics; the filter still does.
            let family = db.default_family();
            let options = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
            db.resume().unwrap();
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                db.compact_range_with(&family, None, None, &options)
            }));
            assert!(panicked.is_err() || db.background_error().is_some());
            filter.left.store(u64::MAX, Ordering::Relaxed);
            // One that was under way may have panicked just now.
            let good = (0..10).any(|_| {
                let done = db.resume().is_ok() && db.flush().is_ok();
                let done = done && db.compact_range_with(&family, None, None, &options).is_ok();
                done && db.wait_for_background_work().is_ok()
            });
            assert!(good, "{:?}", db.background_error());
            db.flush().unwrap();
            assert_eq!(state_of(&db), state_after(count));
            check_files(&db, &fs, "made good");
        }
        db.close().unwrap();
    });
}
