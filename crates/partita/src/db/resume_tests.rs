//! Databases that fail, and come back in the process.

use std::io::ErrorKind as IoKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::churn_testing::{State, state_of};
use super::*;
use crate::batch::WriteBatch;
use crate::error::ErrorKind;
use crate::io::{
    CallKind, Fault, FaultFileSystem, ManualClock, ManualScheduler, MemoryFileSystem, Unsynced,
};
use crate::options::ColumnFamilyOptions;

struct Bench {
    disk: MemoryFileSystem,
    fs: FaultFileSystem,
    clock: Arc<ManualClock>,
    scheduler: Arc<ManualScheduler>,
    options: DbOptions,
}

impl Bench {
    fn new() -> Self {
        let disk = MemoryFileSystem::new();
        Self {
            fs: FaultFileSystem::new(Arc::new(disk.clone())),
            disk,
            clock: Arc::default(),
            scheduler: Arc::new(ManualScheduler::in_order()),
            options: DbOptions {
                create_if_missing: true,
                create_missing_column_families: true,
                ..DbOptions::default()
            },
        }
    }

    fn open_on(&self, fs: Arc<dyn FileSystem>) -> Db {
        let family = || FamilyConfig {
            options: Some(ColumnFamilyOptions {
                write_buffer_size: 32 << 10,
                ..ColumnFamilyOptions::default()
            }),
            ..FamilyConfig::default()
        };
        let builder = DbBuilder::new("/db")
            .file_system(fs)
            .cache(Cache::new(4 << 20))
            .clock(Arc::<ManualClock>::clone(&self.clock))
            .scheduler(Arc::<ManualScheduler>::clone(&self.scheduler))
            .options(self.options.clone());
        builder.family("default", family()).family("more", family()).open().unwrap()
    }

    fn open(&self) -> Db {
        self.open_on(Arc::new(self.fs.clone()))
    }

    /// What another process finds when this one ends here.
    fn after_crash(&self, unsynced: Unsynced) -> State {
        let db = self.open_on(Arc::new(self.disk.after_crash(unsynced)));
        state_of(&db)
    }
}

/// Batch `number`: it overwrites what earlier ones wrote, in both families.
fn batch(db: &Db, number: u32, bytes: usize) -> WriteBatch {
    let mut batch = WriteBatch::new();
    let value = [&number.to_be_bytes()[..], &vec![7; bytes]].concat();
    for family in db.families() {
        batch.put_cf(family.id(), &[number as u8 % 5], &value).unwrap();
        batch.put_cf(family.id(), b"last", &number.to_be_bytes()).unwrap();
    }
    batch
}

fn state_after(numbers: &[u32], bytes: usize) -> State {
    let mut state = State::new();
    for number in numbers {
        let value = [&number.to_be_bytes()[..], &vec![7; bytes]].concat();
        state.insert(vec![*number as u8 % 5], value);
        state.insert(b"last".to_vec(), number.to_be_bytes().to_vec());
    }
    state
}

const BYTES: usize = 3000;

/// Writes batches until one fails; returns its number.
fn write_until_failure(bench: &Bench, db: &Db, written: &mut Vec<u32>, most: u32) -> Option<u32> {
    for number in 1..=most {
        let number = 100 * (1 + written.len() as u32 / 100) + number;
        let sync = number.is_multiple_of(4);
        let options = WriteOptions { sync, ..WriteOptions::default() };
        match db.write(batch(db, number, BYTES), &options) {
            Ok(()) => written.push(number),
            Err(_) => return Some(number),
        }
        bench.scheduler.run_all();
    }
    None
}

#[test]
fn writes_go_on_by_themselves_after_a_full_disk_was_cleaned() {
    let of = |part: &'static str| move |path: &Path| path.to_string_lossy().contains(part);
    for part in [".log", ".sst", "MANIFEST"] {
        for atomic_flush in [false, true] {
            let mut bench = Bench::new();
            bench.options.atomic_flush = atomic_flush;
            let db = bench.open();
            let mut written = Vec::new();
            assert_eq!(write_until_failure(&bench, &db, &mut written, 3), None);
            let is_full = of(part);
            bench.fs.set_rule(move |call| {
                (call.kind == CallKind::Write && is_full(call.path))
                    .then_some(Fault::Torn(5, IoKind::StorageFull))
            });
            let failed = write_until_failure(&bench, &db, &mut written, 60);
            assert!(failed.is_some(), "{part}");
            let error = db.background_error().unwrap();
            assert_eq!((error.kind, error.retries), (ErrorKind::NoSpace, true), "{error}");
            assert!(error.message.contains(part), "{part}: {error}");
            // It is still full: attempts are put off, and reads go on.
            for attempt in 0..20 {
                let refused = db.put(b"x", b"y").unwrap_err();
                // The first one tries at once, and may get as far as its own record.
                let kind = if attempt == 0 { refused.kind() } else { ErrorKind::ReadOnly };
                assert_eq!(refused.kind(), kind, "{part}: {refused}");
                assert!(refused.to_string().contains(part), "{part}: {refused}");
            }
            assert_eq!(state_of(&db), state_after(&written, BYTES), "{part}");
            bench.fs.clear_rule();
            bench.clock.advance(Duration::from_secs(5));
            let next = 1000;
            db.write(batch(&db, next, BYTES), &WriteOptions::SYNC).unwrap();
            written.push(next);
            assert_eq!(db.background_error(), None);
            assert_eq!(state_of(&db), state_after(&written, BYTES), "{part}");
            for unsynced in [Unsynced::Lost, Unsynced::Kept] {
                let found = bench.after_crash(unsynced);
                assert_eq!(found, state_after(&written, BYTES), "{part}, {unsynced:?}");
            }
            drop(db);
            assert_eq!(state_of(&bench.open()), state_after(&written, BYTES), "{part}");
        }
    }
}

#[test]
fn attempts_to_resume_cost_little_while_nothing_has_changed() {
    let bench = Bench::new();
    let db = bench.open();
    bench.fs.set_room(Some(0));
    db.put(b"k", b"v").unwrap_err();
    let calls = |count: u32| {
        let before = bench.fs.calls();
        for _ in 0..count {
            db.put(b"k", b"v").unwrap_err();
        }
        bench.fs.calls() - before
    };
    assert!(calls(1) > 0, "the first attempt is due at once");
    assert_eq!(calls(100), 0);
    bench.clock.advance(Duration::from_secs(1));
    assert!(calls(1) > 0);
    assert_eq!(calls(100), 0);
    bench.fs.set_room(None);
    assert_eq!(calls(1), 0);
    // Who asks need not wait.
    db.resume().unwrap();
    db.resume().unwrap();
    db.put(b"k", b"v").unwrap();
}

#[test]
fn an_error_that_does_not_pass_waits_for_the_caller_and_the_current_cause_is_told() {
    let mut bench = Bench::new();
    bench.options.max_bgerror_resume_count = 0;
    let db = bench.open();
    db.write(batch(&db, 1, 10), &WriteOptions::default()).unwrap();
    bench.fs.set_rule(|call| (call.kind == CallKind::Sync).then_some(Fault::Error(IoKind::Other)));
    db.put(b"k", b"v").unwrap();
    db.delete(b"k").unwrap();
    db.write(WriteBatch::new(), &WriteOptions::SYNC).unwrap_err();
    assert_eq!(db.background_error().unwrap().work, BackgroundWork::Log);
    bench.fs.set_room(Some(0));
    assert_eq!(db.resume().unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(db.background_error().unwrap().kind, ErrorKind::NoSpace, "not the stale one");
    bench.fs.set_room(None);
    bench.fs.clear_rule();
    assert_eq!(db.put(b"k", b"v").unwrap_err().kind(), ErrorKind::ReadOnly);
    db.resume().unwrap();
    assert_eq!(state_of(&db), state_after(&[1], 10));
    assert_eq!(bench.after_crash(Unsynced::Lost), state_after(&[1], 10), "all is in tables now");
    db.close().unwrap();
    assert_eq!(db.resume().unwrap_err().kind(), ErrorKind::Closed);
}

/// Looks at a database: at its beginning, after a write that failed, and at the end if it has not come back. Given what was
/// written, and what failed.
type Check<'c> = Box<dyn FnMut(&Db, &mut Vec<u32>, Option<u32>) + 'c>;

/// Every call of a history fails once, in different ways. What was acknowledged is there, what failed is not, in the
/// process and after a crash, and never the one without the other.
#[test]
fn any_call_may_fail_once_and_the_database_comes_back_with_what_was_acknowledged() {
    let history = |bench: &Bench, mut check: Check<'_>| {
        let db = bench.open();
        let mut written = Vec::new();
        bench.fs.clear_rule();
        check(&db, &mut written, None);
        for number in 1..=14u32 {
            let options =
                WriteOptions { sync: number.is_multiple_of(5), ..WriteOptions::default() };
            match db.write(batch(&db, number, BYTES), &options) {
                Ok(()) => written.push(number),
                Err(_) => check(&db, &mut written, Some(number)),
            }
            if number.is_multiple_of(6) && db.flush().is_err() {
                check(&db, &mut written, None);
            }
            bench.scheduler.run_all();
        }
        if db.background_error().is_some() {
            check(&db, &mut written, None);
        }
        assert_eq!(state_of(&db), state_after(&written, BYTES));
        written
    };
    let (bench, calls) = (Bench::new(), Arc::new(AtomicU64::new(0)));
    let count = |_: &Db, _: &mut Vec<u32>, _: Option<u32>| {
        let calls = Arc::clone(&calls);
        bench.fs.set_rule(move |call| {
            calls.fetch_add(u64::from(call.kind.changes()), Ordering::Relaxed);
            None
        });
    };
    let written = history(&bench, Box::new(count));
    let calls = calls.load(Ordering::Relaxed);
    assert!(calls > 60 && written.len() == 14, "{calls} {}", written.len());
    for at in 0..calls {
        let fault = match at % 3 {
            0 => Fault::Error(IoKind::StorageFull),
            1 => Fault::ErrorAfterwards(IoKind::Other),
            _ => Fault::Torn(3 + at as usize, IoKind::Other),
        };
        let mut bench = Bench::new();
        bench.options.atomic_flush = at % 2 == 0;
        let armed = std::cell::Cell::new(false);
        let check = |db: &Db, written: &mut Vec<u32>, failed: Option<u32>| {
            if !armed.replace(true) {
                let mut before = 0;
                bench.fs.set_rule(move |call| {
                    before += u64::from(call.kind.changes());
                    (call.kind.changes() && before == at + 1).then_some(fault)
                });
                return;
            }
            let what = format!("call {at}, {fault:?}, {failed:?}");
            assert_eq!(state_of(db), state_after(written, BYTES), "{what}");
            // The process may end here: the record that failed may be there, as the last.
            let found = bench.after_crash(Unsynced::Kept);
            let with = [&written[..], failed.as_slice()].concat();
            let legal = [state_after(written, BYTES), state_after(&with, BYTES)];
            assert!(legal.contains(&found), "{what}: {found:?}");
            db.resume().unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(db.background_error(), None, "{what}");
            assert_eq!(state_of(db), state_after(written, BYTES), "{what}");
        };
        let written = history(&bench, Box::new(check));
        let kept = bench.after_crash(Unsynced::Kept);
        assert_eq!(kept, state_after(&written, BYTES), "call {at}, {fault:?}");
        let lost = bench.after_crash(Unsynced::Lost);
        let synced =
            written.iter().rposition(|number| number.is_multiple_of(5)).map_or(0, |at| at + 1);
        let is_prefix = |count: usize| lost == state_after(&written[..count], BYTES);
        assert!((synced..=written.len()).any(is_prefix), "call {at}, {fault:?}: {lost:?}");
    }
}

#[test]
fn writers_that_wait_for_a_flush_are_told_that_it_failed() {
    let bench = Bench::new();
    let db = bench.open();
    bench.fs.set_rule(|call| {
        let is_table = call.path.extension().is_some_and(|extension| extension == "sst");
        (is_table && call.kind == CallKind::Sync).then_some(Fault::Error(IoKind::Other))
    });
    let mut written = 0u32;
    let error = loop {
        match db.put(&written.to_be_bytes(), &[7; 1000]) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1000);
    };
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
    assert_eq!(db.background_error().unwrap().work, BackgroundWork::Flush);
    let waits = db.stall_stats().cause(StallCause::Memtables);
    assert!(waits.stops + waits.delays > 0, "{waits:?}");
    for number in 0..written {
        assert!(db.get(&number.to_be_bytes()).unwrap().is_some());
    }
}
