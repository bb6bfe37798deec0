//! The same files in turns: Partita, RocksDB 7.8.3 and RocksDB 9.8.4 open what the one before left, with the options that it
//! left, read all of it, write, compact and leave. Whoever creates the database, in every shape of tree and table.
//!
//! `PARTITA_COMPAT_SEEDS=20` takes 20 histories for each setup instead of one, `PARTITA_COMPAT_ONLY=universal` only setups
//! with that in their names.

use std::path::Path;

use partita_compat_debian::{ldb, rocksdict, sst_dump};
use partita_compat_rocks::history::History;
use partita_compat_rocks::matrix::Version;
use partita_compat_rocks::sessions::{Counts, Place, assert_rows};
use partita_compat_rocks::setups::{FAMILIES, Setup, seeds, selected};

/// What `ldb` and `sst_dump` say of a database that nobody has open; how many tables there are.
fn inspect(dir: &Path, history: &History, name: &str) -> usize {
    let fail = |said: String| -> ! { panic!("{name}: {said}") };
    ldb::check_consistency(dir).unwrap_or_else(|said| fail(said));
    for (at, family) in FAMILIES.iter().enumerate() {
        let rows = ldb::rows(dir, family).unwrap_or_else(|said| fail(said));
        assert_rows(&rows, &history.rows(at), &format!("{name}, ldb, {family}"));
    }
    sst_dump::verify_all(dir).unwrap_or_else(|said| fail(said))
}

fn take_turns(setup: &Setup, seed: u64) -> (Counts, usize) {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("db");
    let mut history = History::new(setup, seed);
    // Further histories are longer.
    let batches = 250 * (1 + seed as usize / 1000 % 4);
    let mut place = Place { dir: &dir, setup, batches, counts: Counts::default() };
    if seed % 2 == 1 {
        place.rocksdb(&mut history, false);
    }
    place.partita(&mut history);
    place.rocksdb(&mut history, false);
    place.partita(&mut history);
    let tables = inspect(&dir, &history, setup.name);
    // The wheel has no zlib.
    if !setup.family_options().contains("kZlib") {
        rocksdict::turn(&dir, &mut history, 150)
            .unwrap_or_else(|said| panic!("{}, seed {seed}, 9.8.4: {said}", setup.name));
    }
    place.partita(&mut history);
    place.rocksdb(&mut history, true);
    place.partita(&mut history);
    (place.counts, tables)
}

/// Every other setup, so that the two halves run side by side.
fn half(which: usize) {
    let (mut counts, mut tables) = (Counts::default(), 0);
    let all = selected(Version::V7_8);
    for seed in 0..seeds() {
        for (at, setup) in all.iter().enumerate().filter(|(at, _)| at % 2 == which) {
            let begun = std::time::Instant::now();
            let (counted, verified) = take_turns(setup, seed * 1000 + at as u64 / 2);
            println!("{}, seed {seed}: {:?}", setup.name, begun.elapsed());
            counts.add(counted);
            tables += verified;
        }
    }
    println!("{counts:?}, {tables} tables verified");
    if all.len() > 20 {
        assert!(counts.compactions > 100 && counts.moves > 10, "{counts:?}");
        assert!(counts.filters_useful > 100_000 && tables > 40, "{counts:?}, {tables} tables");
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
