//! `partita doctor`.

use std::fs;
use std::path::Path;

use partita_testkit::archive;
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
    let told = "/no/such/dir/report.html: there is no directory /no/such/dir; make it first";
    assert!(run.stderr.contains(told), "{}", run.stderr);
}

#[test]
fn lookups_are_played_through_caches_and_told_as_text_numbers_and_charts() {
    let golden = sick();
    let before = fingerprint(&golden.path());
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("report.html");
    let few = ["--lookups", "2000", "--budgets", "64k,4m", "--html", page.to_str().unwrap()];
    let run = doctor(&golden, &[&["--simulate=zipf"], &few[..]].concat());
    for text in [
        "What lookups would read",
        "some often (Zipf, 0.99)",
        "LRU",
        "HyperClock",
        "Partita",
        "64.0 KiB",
    ] {
        assert!(run.stdout.contains(text), "{text}: {}", run.stdout);
    }
    let page = fs::read_to_string(page).unwrap();
    for text in ["What lookups would read", "Bytes read for a get", "Blocks read for a get"] {
        assert!(page.contains(text), "{text}");
    }
    let run =
        doctor(&golden, &["--simulate", "--lookups", "2000", "--budgets", "64k,4m", "--json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let simulation = &report["databases"][0]["simulation"];
    assert_eq!((&simulation["replayed"], &simulation["seed"]), (&2000.into(), &1.into()));
    let caches = simulation["caches"].as_array().unwrap();
    assert_eq!(caches.len(), 6, "three caches of two sizes");
    assert!(caches.iter().all(|cache| cache["blocks"]["data"].is_number()));
    assert_eq!(fingerprint(&golden.path()), before);
}

#[test]
fn a_trace_is_a_list_of_keys() {
    let golden = sick();
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("keys");
    fs::write(&trace, "00\nzz\n").unwrap();
    let args = ["--trace", trace.to_str().unwrap(), "--trace-hex", "--lookups", "10"];
    let run = doctor(&golden, &args);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("keys: line 2: expected hexadecimal digits"), "{}", run.stderr);
    fs::write(&trace, "00\n01\n").unwrap();
    let run = doctor(&golden, &args);
    assert!(run.stdout.contains("the keys in "), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_trace_of_rocksdb_is_played_and_what_it_lacks_is_told() {
    let golden = sick();
    let dir = tempfile::tempdir().unwrap();
    let packed = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../partita-doctor/tests/data/block-cache-traces.tar.zst");
    archive::unpack(&packed, dir.path()).unwrap();
    let trace = dir.path().join("locations-full-filter.trace");
    let page = dir.path().join("report.html");
    let args = ["--trace", trace.to_str().unwrap(), "--budgets", "128k", "--html"];
    let run = doctor(&golden, &[&args[..], &[page.to_str().unwrap()]].concat());
    let page = fs::read_to_string(page).unwrap();
    for text in [
        "the gets in RocksDB's trace",
        "the trace is of RocksDB 7.8; there, a get asked its cache for these blocks: data ",
        "of a MultiGet, of whose blocks",
        "not played, since they carry no key: 6 accesses by iterator",
    ] {
        assert!(run.stdout.contains(text), "{text}: {}{}", run.stdout, run.stderr);
        let behind_the_capital = &text[1..];
        assert!(page.contains(behind_the_capital), "{text} in the page");
    }
    let queries = dir.path().join("queries");
    let start = [&[0; 8][..], &[1, 30, 0, 0, 0], b"feedcafedeadbeef\tTrace Version"].concat();
    fs::write(&queries, start).unwrap();
    let run = doctor(&golden, &["--trace", queries.to_str().unwrap()]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("StartBlockCacheTrace"), "{}", run.stderr);
}

#[test]
fn the_remedy_is_carried_out_in_a_copy_and_then_there_is_nothing_to_complain_about() {
    let golden = sick();
    let before = fingerprint(&golden.path());
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("fixed");
    let (from, to) = (golden.path(), target.to_str().unwrap());
    let fix = ["doctor", "fix", from.to_str().unwrap(), "--to", to];
    let run = partita(fix);
    assert_eq!((run.code, &*run.stderr), (0, ""));
    assert!(run.stdout.contains("rows, 1 column family"), "{}", run.stdout);
    assert_eq!(fingerprint(&golden.path()), before);
    let run = partita(["doctor", to].iter().chain(&SMALL_CACHE));
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(run.stdout.contains("Partita "), "who wrote it: {}", run.stdout);
    let again = partita(fix);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("fixed: this exists already"), "{}", again.stderr);
}

#[test]
fn in_place_the_remedy_leaves_a_checkpoint_whose_place_is_told() {
    let golden = sick();
    let home = tempfile::tempdir().unwrap();
    let checkpoint = home.path().join("before");
    let (dir, checkpoint) = (golden.path(), checkpoint.to_str().unwrap());
    let run =
        partita(["doctor", "fix", dir.to_str().unwrap(), "--in-place", "--checkpoint", checkpoint]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains(checkpoint) && run.stdout.contains(checkpoint), "{}", run.stdout);
    assert_eq!(doctor(&golden, &SMALL_CACHE).code, 0);
    assert_eq!(partita(["doctor", checkpoint].iter().chain(&SMALL_CACHE)).code, 1);
}
