//! Many who use a database at once, and jobs in any order. What hangs fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use super::churn_testing::*;
use super::*;
use crate::batch::WriteBatch;
use crate::error::ErrorKind;
use crate::io::{ManualClock, ManualScheduler, MemoryFileSystem, SplitMix64};
use crate::key::ValueType;
use crate::merge::{CompactionFilter, FilterDecision};
use crate::options::{ColumnFamilyOptions, CompactionStyle};

const WRITERS: u8 = 3;
const KEYS: u8 = 12;
const ROUNDS: u32 = 120;

/// Set when it goes: whoever looks at it ends, also after a panic.
struct Ends<'e>(&'e AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The round of each writer, whose entries must all be of the same one.
fn rounds(db: &Db, family: &ColumnFamily, read: &ReadOptions) -> [u32; WRITERS as usize] {
    let options = IterOptions { read: read.clone(), ..IterOptions::default() };
    let mut iter = db.iter_cf(family, options).unwrap();
    let mut found = [None; WRITERS as usize];
    let mut count = 0;
    iter.seek_to_first().unwrap();
    while iter.is_valid() {
        let round = u32::from_be_bytes(iter.value()[..4].try_into().unwrap());
        let writer = usize::from(iter.key()[0]);
        assert!(found[writer].is_none_or(|other| other == round), "a part of a batch");
        found[writer] = Some(round);
        count += 1;
        iter.next().unwrap();
    }
    let writers = found.iter().flatten().count();
    assert_eq!(count, writers * usize::from(KEYS), "a hole");
    found.map(Option::unwrap_or_default)
}

fn write_rounds(db: &Db, writer: u8) {
    for round in 1..=ROUNDS {
        let mut batch = WriteBatch::new();
        for family in FAMILIES {
            let id = db.family(family).unwrap().id();
            for key in 0..KEYS {
                let value = [&round.to_be_bytes()[..], &[writer; 60]].concat();
                batch.put_cf(id, &[writer, key], &value).unwrap();
                batch.delete_cf(id, &[writer, key, round as u8]).unwrap();
            }
        }
        let sync = round % 40 == 0;
        db.write(batch, &WriteOptions { sync, ..WriteOptions::default() }).unwrap();
    }
}

fn read_rounds(db: &Db) {
    for family in FAMILIES {
        let family = db.family(family).unwrap();
        let snapshot = db.snapshot();
        let before = rounds(db, &family, &ReadOptions::at(&snapshot));
        let now = rounds(db, &family, &ReadOptions::default());
        assert!(before.iter().zip(now).all(|(before, now)| *before <= now), "time goes back");
        assert_eq!(rounds(db, &family, &ReadOptions::at(&snapshot)), before);
        let key = [1, KEYS / 2];
        let value = db.get_at(&snapshot, &family, &key).unwrap();
        let got = value.map_or(0, |value| u32::from_be_bytes(value[..4].try_into().unwrap()));
        assert_eq!(got, before[1]);
    }
}

fn come_and_go(db: &Db, number: u32) {
    let name = format!("guest{number}");
    let options = Some(small_tables());
    let config = FamilyConfig { options, ..FamilyConfig::default() };
    let family = db.create_family(&name, config).unwrap();
    for round in 0..3 {
        for key in 0..40u8 {
            db.put_cf(&family, &[key], &[round; 40]).unwrap();
        }
        db.flush_cf(&family).unwrap();
    }
    db.drop_family(&family).unwrap();
    assert_eq!(db.get_cf(&family, &[7]).unwrap().unwrap(), [2; 40], "who holds it reads on");
}

#[test]
fn writers_readers_compactions_by_hand_and_families_that_go_leave_each_other_alone() {
    must_end(|| {
        let fs = MemoryFileSystem::new();
        let db = builder(Arc::new(fs.clone()), &small_tables()).open().unwrap();
        let (ended, left) = (AtomicBool::new(false), AtomicU64::new(u64::from(WRITERS)));
        let until_the_end = |work: &(dyn Fn(&Db, u32) + Sync)| {
            let ends = Ends(&ended);
            let mut number = 0;
            while !ended.load(Ordering::Acquire) {
                work(&db, number);
                number += 1;
            }
            std::mem::forget(ends);
        };
        let until_the_end = &until_the_end;
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (db, ended, left) = (&db, &ended, &left);
                scope.spawn(move || {
                    let unfinished = Ends(ended);
                    write_rounds(db, writer);
                    // The last one to finish has the others end; so has one that fails.
                    if left.fetch_sub(1, Ordering::AcqRel) > 1 {
                        std::mem::forget(unfinished);
                    }
                });
            }
            scope.spawn(|| until_the_end(&|db, _| read_rounds(db)));
            scope.spawn(|| until_the_end(&|db, _| db.flush().unwrap()));
            scope.spawn(|| until_the_end(&come_and_go));
            for thread in 0..2u32 {
                scope.spawn(move || {
                    until_the_end(&|db, number| {
                        let family = db.family(FAMILIES[(number % 2) as usize]).unwrap();
                        let bottommost_level = match (number + thread) % 3 {
                            0 => BottommostLevel::Rewrite,
                            _ => BottommostLevel::Skip,
                        };
                        let options = CompactRangeOptions { bottommost_level };
                        let from = [number as u8 % WRITERS, 3];
                        let from = (number % 4 < 2).then_some(&from[..]);
                        db.compact_range_with(&family, from, None, &options).unwrap();
                    });
                });
            }
        });
        db.flush().unwrap();
        db.wait_for_background_work().unwrap();
        let check = |db: &Db| {
            for family in FAMILIES {
                let found = rounds(db, &db.family(family).unwrap(), &ReadOptions::default());
                assert_eq!(found, [ROUNDS; WRITERS as usize]);
            }
        };
        check(&db);
        assert_eq!(db.families().len(), 2);
        db.close().unwrap();
        drop(db);
        let db = builder(Arc::new(fs.clone()), &small_tables()).open().unwrap();
        check(&db);
        db.wait_for_background_work().unwrap();
        db.flush().unwrap();
        db.close().unwrap();
        check_files(&db, &fs, "in the end");
    });
}

/// Both take some of the files that the other one wants, and neither may take that for the end of the work.
#[test]
fn a_range_that_two_compact_at_once_is_compacted_when_each_returns() {
    must_end(|| {
        let quiet = ColumnFamilyOptions {
            level0_file_num_compaction_trigger: 20,
            max_bytes_for_level_base: 1 << 20,
            ..small_tables()
        };
        let db = builder(Arc::new(MemoryFileSystem::new()), &quiet).open().unwrap();
        let family = db.default_family();
        for number in 1..=30 {
            for _ in 0..3 {
                db.write(batch(&db, number), &WriteOptions::default()).unwrap();
                db.flush().unwrap();
            }
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        db.compact_range(&family, None, None).unwrap();
                        assert_eq!(files_by_level(&db)[0], 0);
                    });
                }
            });
        }
    });
}

/// FIFO compaction merges nothing that is not due, whoever asks.
#[test]
fn compacting_by_hand_ends_where_there_is_nothing_to_merge() {
    must_end(|| {
        for compaction_style in
            [CompactionStyle::Fifo, CompactionStyle::Universal, CompactionStyle::Level]
        {
            let options = ColumnFamilyOptions { compaction_style, ..small_tables() };
            let db = builder(Arc::new(MemoryFileSystem::new()), &options).open().unwrap();
            for number in 1..=5 {
                db.write(batch(&db, number), &WriteOptions::default()).unwrap();
                db.flush().unwrap();
            }
            let options = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
            thread::scope(|scope| {
                for family in [db.default_family(), db.default_family(), db.family("more").unwrap()]
                {
                    let (db, options) = (&db, &options);
                    scope.spawn(move || db.compact_range_with(&family, None, None, options));
                }
            });
            assert_eq!(state_of(&db), state_after(5));
        }
    });
}

/// Holds up the compaction that asks it, until it is told to let it go on.
#[derive(Debug, Default)]
struct Gate {
    judged: AtomicU64,
    open: AtomicBool,
}

impl CompactionFilter for Gate {
    fn name(&self) -> &str {
        "gate"
    }

    fn filter(&self, _: u8, _: &[u8], _: ValueType, _: &[u8]) -> FilterDecision {
        self.judged.fetch_add(1, Ordering::AcqRel);
        while !self.open.load(Ordering::Acquire) {
            thread::yield_now();
        }
        FilterDecision::Keep
    }
}

#[test]
fn closing_ends_a_compaction_in_its_midst() {
    must_end(|| {
        let fs = MemoryFileSystem::new();
        let gate = Arc::new(Gate::default());
        let options = ColumnFamilyOptions { write_buffer_size: 1 << 20, ..small_tables() };
        let config = FamilyConfig {
            options: Some(options.clone()),
            compaction_filter: Some(Arc::<Gate>::clone(&gate)),
            ..FamilyConfig::default()
        };
        let given = builder(Arc::new(fs.clone()), &options).family("default", config);
        let given =
            given.options(DbOptions { max_subcompactions: 1, ..super::churn_testing::options() });
        let db = given.open().unwrap();
        const ENTRIES: u32 = 6000;
        for round in 0..2u8 {
            for number in 0..ENTRIES {
                db.put(&number.to_be_bytes(), &[round; 8]).unwrap();
            }
            db.flush().unwrap();
        }
        while gate.judged.load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        thread::scope(|scope| {
            let closing = scope.spawn(|| db.close());
            while db.put(b"k", b"v").is_ok() {
                thread::yield_now();
            }
            gate.open.store(true, Ordering::Release);
            closing.join().unwrap().unwrap();
        });
        let judged = gate.judged.load(Ordering::Acquire);
        assert!(judged < u64::from(ENTRIES) / 2, "{judged} of {ENTRIES} entries");
        assert_eq!(db.put(b"k", b"v").unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(db.get(&7u32.to_be_bytes()).unwrap().unwrap(), [1; 8]);
        check_files(&db, &fs, "closed");
    });
}

/// Background jobs in every order, between writes, reads, compactions by hand, families and snapshots that come and go.
#[test]
fn in_whatever_order_jobs_run_the_database_shows_the_same() {
    for seed in 0..25 {
        let what = format!("seed {seed}");
        let mut random = SplitMix64::new(seed);
        let fs = MemoryFileSystem::new();
        let scheduler = Arc::new(ManualScheduler::seeded(seed));
        let clock = Arc::new(ManualClock::default());
        let options = ColumnFamilyOptions {
            write_buffer_size: 8 << 10,
            compaction_style: match seed % 3 {
                0 => CompactionStyle::Universal,
                _ => CompactionStyle::Level,
            },
            ..small_tables()
        };
        let db = by_hand(Arc::new(fs.clone()), &options, &scheduler, &clock);
        let mut snapshots: Vec<(Snapshot, u32)> = Vec::new();
        let mut guest: Option<ColumnFamily> = None;
        let mut number = 0;
        for _ in 0..60 {
            match random.below(10) {
                0..=4 => {
                    number += 1;
                    // A guest is written to, too; its entries are not looked at.
                    db.write(batch(&db, number), &WriteOptions::default()).unwrap();
                }
                5 => db.flush_cf(&db.family(FAMILIES[random.below(2) as usize]).unwrap()).unwrap(),
                6 if snapshots.len() < 3 => snapshots.push((db.snapshot(), number)),
                6 => drop(snapshots.swap_remove(random.below(3) as usize)),
                7 => match guest.take() {
                    Some(family) => db.drop_family(&family).unwrap(),
                    None => {
                        let config = FamilyConfig {
                            options: Some(options.clone()),
                            ..FamilyConfig::default()
                        };
                        guest = Some(db.create_family("guest", config).unwrap());
                    }
                },
                8 => {
                    let family = db.family(FAMILIES[random.below(2) as usize]).unwrap();
                    db.compact_range(&family, Some(b"key1"), Some(b"key4")).unwrap();
                }
                _ => {
                    scheduler.pass(super::tick::TICK);
                }
            }
            for _ in 0..random.below(4) {
                crate::io::Scheduler::run_waiting(&*scheduler);
            }
            if random.below(6) == 0 {
                assert_eq!(state_of(&db), state_after(number), "{what}");
                for (snapshot, number) in &snapshots {
                    let expected = state_after(*number);
                    for (key, value) in &expected {
                        let family = db.default_family();
                        let got = db.get_at(snapshot, &family, key).unwrap();
                        assert_eq!(got.as_deref(), Some(&value[..]), "{what}");
                    }
                }
            }
        }
        drop((snapshots, guest));
        scheduler.pass(super::tick::TICK);
        scheduler.run_all();
        assert_eq!(state_of(&db), state_after(number), "{what}");
        db.flush().unwrap();
        scheduler.pass(super::tick::TICK);
        scheduler.run_all();
        check_files(&db, &fs, &what);
        drop(db);
        let db = by_hand(Arc::new(fs), &options, &scheduler, &clock);
        assert_eq!(state_of(&db), state_after(number), "{what}");
    }
}
