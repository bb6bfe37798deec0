//! `partita doctor`.

use std::fs;

use partita_testkit::golden::{self, GoldenDb};
use serde_json::Value;

use crate::run::{Run, fingerprint, partita};

fn doctor(golden: &GoldenDb, args: &[&str]) -> Run {
    let path = golden.path();
    partita(["doctor", path.to_str().unwrap()].iter().chain(args))
}

/// Has the options say that index and filter go through the cache, which here is smaller than its blocks.
fn sick() -> GoldenDb {
    let golden = golden::get("locations-full-filter");
    for entry in fs::read_dir(golden.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("OPTIONS-") {
            let text = fs::read_to_string(&path).unwrap();
            let text = text.replace(
                "cache_index_and_filter_blocks=false",
                "cache_index_and_filter_blocks=true",
            );
            fs::write(&path, text).unwrap();
        }
    }
    golden
}

const SMALL_CACHE: [&str; 6] = ["--cache", "256k", "--cache-kind", "lru", "--shard-bits", "5"];

#[test]
fn golden_databases_are_looked_at_and_left_alone() {
    for golden in golden::all() {
        let before = fingerprint(&golden.path());
        let run = doctor(&golden, &[]);
        assert!(run.code < 2, "{}: {}", golden.name(), run.stderr);
        assert!(run.stdout.contains("RocksDB 11.8.1"), "{}", run.stdout);
        assert_eq!(fingerprint(&golden.path()), before, "{}", golden.name());
    }
}

#[test]
fn what_is_wrong_comes_first_with_what_mends_it() {
    let golden = sick();
    let run = doctor(&golden, &SMALL_CACHE);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let at = |text: &str| {
        run.stdout.find(text).unwrap_or_else(|| panic!("{text} is not in {}", run.stdout))
    };
    let order = [
        "1 error",
        "error: index or filter blocks of 3 of 4 tables are larger than a shard of the cache",
        "256.0 KiB LRU, 32 shards of 8.0 KiB; as given",
        "000009.sst  default  L1     filter  23.8 KiB",
        "Remedy 1: cut index and filters into partitions",
        "index_type=kTwoLevelIndexSearch",
        "BlockBasedTableConfig.setPartitionFilters(true)",
        "Partita: opens the directory as it is",
        "4 tables with full filter (bloomfilter), index kBinarySearch",
    ];
    assert!(order.map(at).is_sorted(), "{}", run.stdout);
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 130), "{}", run.stdout);
}

#[test]
fn json_has_the_same_as_numbers() {
    let golden = sick();
    let run = doctor(&golden, &[&SMALL_CACHE[..], &["--json"]].concat());
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let database = &report["databases"][0];
    assert_eq!(database["shape"]["total"]["files"], 4);
    let finding = &database["findings"][0];
    assert_eq!((&finding["severity"], &finding["code"]), (&"error".into(), &"shard-cliff".into()));
    let figures = finding["figures"].as_array().unwrap();
    let shard = figures.iter().find(|figure| figure["name"] == "shard_bytes").unwrap();
    assert_eq!(shard["value"], 8192);
}

#[test]
fn the_exit_code_is_what_was_asked_for() {
    let golden = sick();
    let well = [&SMALL_CACHE[..4], &["--shard-bits", "0"]].concat();
    assert_eq!(doctor(&golden, &well).code, 0);
    assert_eq!(doctor(&golden, &SMALL_CACHE).code, 1);
    let error_only = [&["--cache", "128k", "--shard-bits", "2", "--fail-on", "error"][..]].concat();
    assert_eq!(doctor(&golden, &error_only).code, 0, "crowding is a warning");
    let empty = tempfile::tempdir().unwrap();
    let run = partita(["doctor", empty.path().to_str().unwrap()]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("no database here"), "{}", run.stderr);
}

#[test]
fn the_page_has_what_the_text_has_and_stands_alone() {
    let golden = sick();
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("report.html");
    let html_to = ["--html", page.to_str().unwrap()];
    let run = doctor(&golden, &[&SMALL_CACHE[..], &html_to].concat());
    assert_eq!(run.code, 1, "{}", run.stderr);
    let page = fs::read_to_string(page).unwrap();
    for text in [
        "Index or filter blocks of 3 of 4 tables are larger than a shard of the cache",
        "000009.sst",
        "index_type=kTwoLevelIndexSearch",
        "The largest blocks against a shard of the cache",
        "Memory for index and filters",
        "32 shards of 8.0 KiB",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for away in ["<script", "<link", "href=\"http", "src=", "url("] {
        assert!(!page.contains(away), "{away}");
    }
    // It is no bookie's.
    assert!(!page.contains("entry_location_rocksdb.conf"));

    let nowhere = ["--html", "/no/such/dir/report.html"];
    let run = doctor(&golden, &[&SMALL_CACHE[..4], &["--shard-bits", "0"], &nowhere].concat());
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("/no/such/dir/report.html"), "{}", run.stderr);
}
