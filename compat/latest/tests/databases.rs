//! Whole databases between Partita and RocksDB 11.8.1: turns taken at databases of any shape, as with the older versions in
//! `debian/tests/same_files.rs`, and golden databases written again.
//!
//! `PARTITA_COMPAT_SEEDS=20` takes 20 histories for each setup instead of one, `PARTITA_COMPAT_ONLY=universal` only setups
//! with that in their names.

use partita_compat_rocks::compacted::{hand_over, rewrite};
use partita_compat_rocks::history::History;
use partita_compat_rocks::matrix::Version;
use partita_compat_rocks::sessions::{Counts, Place};
use partita_compat_rocks::setups::{Setup, seeds, selected};
use partita_testkit::golden;

fn take_turns(setup: &Setup, seed: u64) -> Counts {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("db");
    let mut history = History::new(setup, seed);
    // Further histories are longer.
    let batches = 250 * (1 + seed as usize / 1000 % 4);
    let mut place = Place { dir: &dir, setup, batches, counts: Counts::default() };
    if seed % 2 == 1 {
        place.rocksdb(&mut history, false);
    }
    for _ in 0..3 {
        place.partita(&mut history);
        place.rocksdb(&mut history, false);
    }
    place.partita(&mut history);
    place.counts
}

/// Every other setup, so that the two halves run side by side.
fn half(which: usize) {
    let (mut counts, all) = (Counts::default(), selected(Version::V11_8));
    for seed in 0..seeds() {
        for (at, setup) in all.iter().enumerate().filter(|(at, _)| at % 2 == which) {
            let begun = std::time::Instant::now();
            counts.add(take_turns(setup, seed * 1000 + at as u64 / 2));
            println!("{}, seed {seed}: {:?}", setup.name, begun.elapsed());
        }
    }
    println!("{counts:?}");
    if all.len() > 20 {
        assert!(counts.compactions > 100 && counts.moves > 10, "{counts:?}");
        assert!(counts.filters_useful > 100_000, "{counts:?}");
    }
}

#[test]
fn engines_take_turns_at_a_database_of_any_shape() {
    half(0);
}

#[test]
fn engines_take_turns_at_a_database_of_any_other_shape() {
    half(1);
}

#[test]
fn golden_databases_are_written_again_and_read_by_rocksdb() {
    let mut handed_over = 0;
    for golden in golden::all() {
        let rewritten = rewrite(&golden).is_some();
        // Its order is not RocksDB's to know.
        if rewritten && golden.name() != "foreign-comparator" {
            hand_over(&golden);
            handed_over += 1;
        }
    }
    assert_eq!(handed_over, 13);
}
