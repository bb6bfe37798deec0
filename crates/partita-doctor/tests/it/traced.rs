//! The gets of RocksDB's block-cache traces, played over the databases that they were recorded on.
//!
//! `tests/data/block_cache_trace.cc` says what was recorded: 80 gets, a MultiGet of nine keys, a walk.

use std::fs;
use std::path::{Path, PathBuf};

use partita::io::DiskFileSystem;
use partita_doctor::simulate::{Asked, Lookups, PerGet, SimulatedCache, Simulation, Traced};
use partita_doctor::{Report, Request, examine};
use partita_testkit::{archive, golden};
use tempfile::TempDir;

use crate::simulated::caching_metadata;

const GETS: usize = 80;

fn trace(of: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let packed =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/block-cache-traces.tar.zst");
    archive::unpack(&packed, dir.path()).unwrap();
    let path = dir.path().join(format!("{of}.trace"));
    (dir, path)
}

fn played(dir: &Path, trace: &Path, count: usize) -> Report {
    let path = trace.to_owned();
    let lookups = Lookups::Trace { path, hex: false, family: "default".to_owned() };
    let asked = Asked { lookups, count, budgets: vec![128 << 10], ..Asked::default() };
    let request = Request { simulate: Some(asked), ..Request::default() };
    examine(&DiskFileSystem, &[dir.to_owned()], &request)
}

fn simulation(dir: &Path, trace: &Path, count: usize) -> (Simulation, Traced) {
    let mut report = played(dir, trace, count);
    let simulation = report.databases.remove(0).simulation;
    let simulation = simulation.unwrap_or_else(|| panic!("{:?}", report.problems));
    let traced = simulation.traced.clone().expect("it is of a trace");
    (simulation, traced)
}

fn asked(simulation: &Simulation) -> PerGet {
    let lru = simulation.caches.iter().find(|one| one.cache == SimulatedCache::Lru);
    lru.expect("it was tried").asked
}

#[test]
fn the_gets_of_a_trace_ask_for_the_blocks_that_rocksdb_asked_for() {
    for name in ["locations-full-filter", "locations-partitioned"] {
        let golden = golden::get(name);
        caching_metadata(&golden);
        let (_home, path) = trace(name);
        let (simulation, traced) = simulation(&golden.path(), &path, GETS);
        assert_eq!((simulation.replayed, simulation.counted), (80, 40));
        assert_eq!(simulation.lookups, Lookups::Gets { path });
        assert_eq!(simulation.found_share, 70.0 / 80.0, "{name}: every eighth is not there");
        let model = asked(&simulation);
        assert_eq!(model.data, traced.asked.data, "{name}");
        // Top levels are pinned, and so nothing that the cache is asked for.
        assert_eq!(
            (model.filter, model.index),
            (traced.asked.filter, traced.asked.index),
            "{name}"
        );
        assert!(
            traced.missed.data > 0.5 && traced.missed.total() < traced.asked.total(),
            "{traced:?}"
        );
        assert_eq!((traced.tables_gone, traced.torn_bytes), (0, 0));
        assert_eq!(traced.release, "7.8");
        assert!(traced.is_cut && traced.has_metadata);
    }
}

#[test]
fn keys_of_a_multiget_are_played_and_who_carries_no_key_is_counted() {
    let golden = golden::get("locations-full-filter");
    let (_home, path) = trace("locations-full-filter");
    let (simulation, traced) = simulation(&golden.path(), &path, 1000);
    // Two keys of the nine are ruled out by every filter, or are found by none: no data block was asked for them.
    assert_eq!(traced.multi_gets, simulation.replayed - GETS as u64);
    assert!((6..=8).contains(&traced.multi_gets), "{traced:?}");
    assert!(!traced.is_cut);
    let walk: Vec<_> = traced.others.iter().map(|one| (one.caller, one.accesses)).collect();
    assert_eq!(walk, [("iterator", 6)]);
    assert_eq!(traced.accesses, 333);
}

#[test]
fn tables_and_families_of_the_trace_that_are_not_there_are_told() {
    let golden = golden::get("locations-partitioned");
    let (_home, path) = trace("locations-full-filter");
    let (_, traced) = simulation(&golden.path(), &path, GETS);
    assert_eq!(traced.tables_gone, 0, "both databases number their tables alike");

    let bytes = fs::read(&path).unwrap();
    let other: Vec<u8> = replaced(&bytes, b"\x07default", b"\x07another");
    fs::write(&path, other).unwrap();
    let report = played(&golden.path(), &path, GETS);
    assert!(report.databases[0].simulation.is_none());
    assert!(
        report.problems[0].message.contains("families that are not there"),
        "{:?}",
        report.problems
    );

    let golden = golden::get("plain-defaults");
    fs::write(&path, bytes).unwrap();
    let (_, traced) = simulation(&golden.path(), &path, GETS);
    assert!(traced.tables_gone > 0, "{traced:?}");
}

#[test]
fn a_damaged_trace_is_a_problem_with_its_place_and_a_torn_one_is_told() {
    let golden = golden::get("locations-full-filter");
    let (_home, path) = trace("locations-full-filter");
    let bytes = fs::read(&path).unwrap();

    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let (simulation, traced) = simulation(&golden.path(), &path, 1000);
    assert!(traced.torn_bytes > 0 && !traced.is_cut && simulation.replayed < GETS as u64);

    let mut damaged = bytes;
    // The type of the first access, behind a header of 38 bytes.
    damaged[38 + 8] = 5;
    fs::write(&path, &damaged).unwrap();
    let report = played(&golden.path(), &path, 1000);
    assert!(report.databases[0].simulation.is_none());
    let problem = &report.problems[0];
    assert!(problem.is_damage && problem.message.contains("0x26"), "{problem:?}");
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len().saturating_sub(from.len()) {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    bytes
}
