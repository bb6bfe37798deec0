//! A history with compactions of every kind, cut at every call of the file system that changes something.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::churn_testing::*;
use super::*;
use crate::io::{ManualClock, ManualScheduler, MemoryFileSystem, Unsynced};

/// Of the cuts one in so many is looked at; by hand, with 1, all are. No multiple of the ways in which there are cuts.
const STEP: usize = 5;

/// More can be tried by hand.
const SEEDS: std::ops::Range<u64> = 0..1;

struct Cut {
    what: String,
    disk: MemoryFileSystem,
    /// Batches begun, and batches that were synced.
    begun: u32,
    synced: u32,
    /// Whether all that was written to files is there.
    kept: bool,
}

/// What a power cut leaves before each call, in one way or another.
fn cuts(seed: u64) -> Vec<Cut> {
    let (disk, fs) = disk();
    let scheduler = Arc::new(ManualScheduler::seeded(seed));
    let clock = Arc::new(ManualClock::default());
    let db = by_hand(Arc::new(fs.clone()), &small_tables(), &scheduler, &clock);
    let counts = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let cuts = Arc::new(Mutex::new(Vec::new()));
    let (seen, taken) = (Arc::clone(&counts), Arc::clone(&cuts));
    fs.set_rule(move |call| {
        if !call.kind.changes() {
            return None;
        }
        let mut cuts = taken.lock().unwrap();
        let at = cuts.len() as u64;
        let unsynced = match (at + seed) % 4 {
            0 => Unsynced::Lost,
            1 => Unsynced::Random(at * 31 + seed),
            2 => Unsynced::Kept,
            _ => Unsynced::KeptUpTo(at % 40),
        };
        let [begun, synced] = [0, 1].map(|which| seen[which].load(Ordering::Relaxed));
        cuts.push(Cut {
            what: format!(
                "seed {seed}, cut {at} before {:?} {:?}, {unsynced:?}",
                call.kind, call.path
            ),
            disk: disk.after_crash(unsynced),
            begun,
            synced,
            kept: unsynced == Unsynced::Kept,
        });
        None
    });
    let note = |begun, synced| {
        counts[0].store(begun, Ordering::Relaxed);
        counts[1].store(synced, Ordering::Relaxed);
    };
    history(&db, || scheduler.run_all(), note).unwrap();
    let levels: Vec<_> = db.stats().families.iter().map(|it| it.levels.clone()).collect();
    let sum = |count: fn(&LevelCounters) -> u64| -> u64 {
        levels.iter().flatten().map(|level| count(&level.counters)).sum()
    };
    assert!(sum(|it| it.compactions) > 10 && sum(|it| it.moves) > 0, "{levels:?}");
    assert_eq!(state_of(&db), state_after(24));
    fs.clear_rule();
    check_files(&db, &fs, "at the end");
    std::mem::take(&mut *cuts.lock().unwrap())
}

#[test]
fn a_cut_in_the_midst_of_compactions_loses_nothing_synced_and_leaves_no_files() {
    for seed in SEEDS {
        let cuts = cuts(seed);
        assert!(cuts.len() > 300, "{}", cuts.len());
        for (at, Cut { what, disk, begun, synced, kept }) in
            cuts.into_iter().enumerate().step_by(STEP)
        {
            let scheduler = Arc::new(ManualScheduler::in_order());
            let clock = Arc::new(ManualClock::default());
            let open = || by_hand(Arc::new(disk.clone()), &small_tables(), &scheduler, &clock);
            let db = open();
            let state = state_of(&db);
            let count = count_in(&state);
            // The one that had begun may not be there.
            let least = if kept { begun.saturating_sub(1).max(synced) } else { synced };
            assert!((least..=begun).contains(&count), "{what}: {count} of {least}..={begun}");
            assert_eq!(state, state_after(count), "{what}");
            check_files(&db, &disk, &what);
            if at % (3 * STEP) != 0 {
                continue;
            }
            // It is compacted and written on, and found again.
            scheduler.run_all();
            db.write(batch(&db, count + 1), &WriteOptions::SYNC).unwrap();
            db.compact_range(&db.default_family(), None, None).unwrap();
            scheduler.run_all();
            assert_eq!(state_of(&db), state_after(count + 1), "{what}");
            check_files(&db, &disk, &what);
            drop(db);
            assert_eq!(state_of(&open()), state_after(count + 1), "{what}");
        }
    }
}
