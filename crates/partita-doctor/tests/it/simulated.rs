//! Lookups played through models of caches, on directories that RocksDB wrote.

use std::fs;
use std::path::Path;

use partita::io::DiskFileSystem;
use partita_doctor::simulate::{Asked, Lookups, Replayed, Shards, SimulatedCache, Simulation};
use partita_doctor::{Report, Request, examine};
use partita_testkit::golden::{self, GoldenDb};

fn report(dir: &Path, asked: Asked) -> Report {
    let request = Request { simulate: Some(asked), ..Request::default() };
    examine(&DiskFileSystem, &[dir.to_owned()], &request)
}

fn simulation(dir: &Path, asked: Asked) -> Simulation {
    let mut report = report(dir, asked);
    report.databases.remove(0).simulation.unwrap_or_else(|| panic!("{:?}", report.problems))
}

fn asked(lookups: Lookups) -> Asked {
    Asked { lookups, count: 4000, budgets: vec![64 << 10, 16 << 20], ..Asked::default() }
}

fn of(simulation: &Simulation, cache: SimulatedCache, budget_bytes: u64) -> &Replayed {
    let mut found = simulation.caches.iter();
    found.find(|one| one.cache == cache && one.budget_bytes == budget_bytes).expect("it was tried")
}

/// Has index and filter go through the cache.
pub(crate) fn caching_metadata(golden: &GoldenDb) {
    for entry in fs::read_dir(golden.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("OPTIONS-") {
            let text = fs::read_to_string(&path).unwrap();
            let on = text.replace(
                "cache_index_and_filter_blocks=false",
                "cache_index_and_filter_blocks=true",
            );
            fs::write(&path, on).unwrap();
        }
    }
}

#[test]
fn a_large_cache_reads_every_block_once_and_a_small_one_again_and_again() {
    let golden = golden::get("locations-full-filter");
    caching_metadata(&golden);
    let simulation = simulation(&golden.path(), asked(Lookups::Uniform));
    assert_eq!((simulation.replayed, simulation.counted), (4000, 2000));
    assert!(simulation.found_share > 0.99, "{}", simulation.found_share);
    for cache in [SimulatedCache::Lru, SimulatedCache::HyperClock, SimulatedCache::Partita] {
        let (small, large) = (of(&simulation, cache, 64 << 10), of(&simulation, cache, 16 << 20));
        assert!(large.blocks.total() < 0.05, "{cache}: {large:?}");
        assert!(small.blocks.total() > 0.5, "{cache}: {small:?}");
    }
    // Two tables of level 0 lie over one of level 1.
    let lru = of(&simulation, SimulatedCache::Lru, 64 << 10);
    assert!((1.3..2.5).contains(&lru.asked.filter), "{lru:?}");
    assert!((1.0..1.1).contains(&lru.asked.data), "{lru:?}");
    assert_eq!((lru.shards, lru.shard_bytes), (Some(1), Some(64 << 10)));
}

#[test]
fn metadata_outside_of_the_cache_is_not_asked_for() {
    let golden = golden::get("locations-full-filter");
    let simulation = simulation(&golden.path(), asked(Lookups::Uniform));
    let lru = of(&simulation, SimulatedCache::Lru, 64 << 10);
    assert_eq!((lru.asked.filter, lru.asked.index, lru.asked.top_level), (0.0, 0.0, 0.0));
}

#[test]
fn the_same_seed_gives_the_same_figures_of_the_models_and_another_one_others() {
    let golden = golden::get("locations-partitioned");
    let run = |seed| {
        let asked = Asked { seed, ..asked(Lookups::Zipf { theta: 0.99 }) };
        let mut caches = simulation(&golden.path(), asked).caches;
        caches.retain(|one| one.cache != SimulatedCache::Partita);
        serde_json::to_value(caches).unwrap()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_lookup_of_a_key_that_is_not_there_asks_filters_and_hardly_any_data() {
    let golden = golden::get("locations-partitioned");
    let simulation = simulation(&golden.path(), asked(Lookups::Absent));
    assert!(simulation.found_share < 0.01, "{}", simulation.found_share);
    let lru = of(&simulation, SimulatedCache::Lru, 64 << 10);
    assert!(lru.asked.filter > 0.9 && lru.asked.data < 0.1, "{lru:?}");
}

#[test]
fn the_newest_keys_and_those_of_a_trace_are_few_enough_for_a_small_cache() {
    let golden = golden::get("locations-partitioned");
    let uniform = simulation(&golden.path(), asked(Lookups::Uniform));
    let recent = simulation(&golden.path(), asked(Lookups::Recent { theta: 1.2 }));
    let reads = |simulation: &Simulation| of(simulation, SimulatedCache::Lru, 64 << 10).blocks.data;
    assert!(reads(&recent) < reads(&uniform) / 2.0, "{} {}", reads(&recent), reads(&uniform));

    let rows = golden.expected("default");
    let hex: String = rows
        .iter()
        .take(3)
        .map(|(key, _)| key.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n")
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys");
    fs::write(&path, hex).unwrap();
    let trace = Lookups::Trace { path: path.clone(), hex: true, family: "default".to_owned() };
    let traced = simulation(&golden.path(), asked(trace));
    assert_eq!((traced.found_share, reads(&traced)), (1.0, 0.0));

    let nowhere = Lookups::Trace { path, hex: true, family: "none".to_owned() };
    let refused = report(&golden.path(), asked(nowhere));
    assert!(refused.databases[0].simulation.is_none());
    assert!(refused.problems[0].message.contains("not there"), "{:?}", refused.problems);
}

#[test]
fn shards_are_drawn_where_the_release_does_not_tell_them() {
    // Written by 11.8.1, whose shards depend on the host.
    let golden = golden::get("locations-full-filter");
    assert_eq!(simulation(&golden.path(), asked(Lookups::Uniform)).shards, Shards::Drawn);
    // A LOG of 7.8.3: with the same files that release has known shards.
    fs::write(golden.path().join("LOG"), "2026/11/30-19:34:03.4 7 RocksDB version: 7.8.3\n")
        .unwrap();
    assert_eq!(simulation(&golden.path(), asked(Lookups::Uniform)).shards, Shards::Exact);
}

#[test]
fn an_order_of_keys_that_is_not_built_in_is_refused_by_name() {
    let golden = golden::get("foreign-comparator");
    let report = report(&golden.path(), asked(Lookups::Uniform));
    assert!(report.databases[0].simulation.is_none());
    assert!(
        report.problems.iter().any(|problem| problem.message.contains("keys in the order of")),
        "{:?}",
        report.problems
    );
}

#[test]
fn where_no_table_has_an_entry_no_lookup_can_be_drawn() {
    let golden = golden::get("wal-only");
    let report = report(&golden.path(), asked(Lookups::Uniform));
    assert!(report.databases[0].simulation.is_none());
    assert!(report.problems[0].message.contains("nothing to draw lookups from"));
}
