//! The shard cliff on a directory that RocksDB wrote with full filters, and with partitioned ones.

use std::fs;

use partita::io::DiskFileSystem;
use partita_doctor::cache::CacheKind;
use partita_doctor::finding::Value;
use partita_doctor::{Finding, Request, Severity, examine};
use partita_testkit::golden::{self, GoldenDb};

/// Has the options say that index and filter go through the cache.
fn caching_metadata(golden: &GoldenDb) {
    set_option(golden, "cache_index_and_filter_blocks=false", "cache_index_and_filter_blocks=true");
}

fn set_option(golden: &GoldenDb, from: &str, to: &str) {
    for entry in fs::read_dir(golden.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("OPTIONS-") {
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains(from), "{text}");
            fs::write(&path, text.replace(from, to)).unwrap();
        }
    }
}

fn findings(golden: &GoldenDb, request: &Request) -> Vec<Finding> {
    let mut report = examine(&DiskFileSystem, &[golden.path()], request);
    report.databases.remove(0).findings
}

fn of<'f>(findings: &'f [Finding], code: &str) -> Option<&'f Finding> {
    findings.iter().find(|finding| finding.code == code)
}

fn cache(bytes: u64, shard_bits: u32) -> Request {
    Request {
        cache_bytes: Some(bytes),
        cache_kind: Some(CacheKind::Lru),
        shard_bits: Some(shard_bits),
        ..Request::default()
    }
}

fn bytes(finding: &Finding, name: &str) -> u64 {
    match finding.value(name) {
        Some(Value::Bytes(bytes)) => *bytes,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn full_filters_larger_than_a_shard_are_found_with_what_they_cost() {
    let golden = golden::get("locations-full-filter");
    caching_metadata(&golden);
    // The filters of this database have 300 B, 10 KiB twice, and 24 KiB.
    let found = findings(&golden, &cache(256 << 10, 5));
    let cliff = of(&found, "shard-cliff").expect("8 KiB a shard");
    assert_eq!(cliff.severity, Severity::Error);
    assert_eq!(bytes(cliff, "shard_bytes"), 8 << 10);
    let largest = bytes(cliff, "largest_block_bytes");
    assert!((24_000..25_000).contains(&largest), "{largest}");
    // Two tables of level 0 lie over one of level 1. All lookups ask the newer of the two (8,428 of 36,850 entries), those that
    // are left the older (8,422), and the rest, 19,468 and few more, that of level 1.
    let per_get = bytes(cliff, "bytes_per_get");
    let expected = 10_565.0 * (1.0 + 0.77) + 24_389.0 * 0.53;
    assert!((per_get as f64 / expected - 1.0).abs() < 0.03, "{per_get} {expected}");
    assert_eq!(bytes(cliff, "fits_from_bytes"), 1 << 20, "24 KiB by 32, in whole MiB");
    assert!(bytes(cliff, "safe_from_bytes") >= bytes(cliff, "fits_from_bytes"));
    let evidence = cliff.evidence.as_ref().unwrap();
    assert_eq!(evidence.total, 3);
    assert_eq!(evidence.rows[0][3], Value::Text("filter".to_owned()));
    let settings = &cliff.remedies[0].rocksdb;
    assert!(
        settings.iter().any(|one| one.options_file.as_deref() == Some("partition_filters=true"))
    );
}

#[test]
fn a_shard_that_holds_the_filters_has_no_cliff() {
    let golden = golden::get("locations-full-filter");
    caching_metadata(&golden);
    let found = findings(&golden, &cache(256 << 10, 0));
    assert!(of(&found, "shard-cliff").is_none(), "{found:?}");
    assert!(of(&found, "shard-crowding").is_none(), "{found:?}");
    assert!(of(&found, "metadata-exceeds-cache").is_none(), "{found:?}");
}

#[test]
fn blocks_that_fill_a_shard_may_crowd_each_other_out() {
    let golden = golden::get("locations-full-filter");
    caching_metadata(&golden);
    let found = findings(&golden, &cache(128 << 10, 2));
    let crowding = of(&found, "shard-crowding").expect("32 KiB hold one of 24 KiB alone");
    assert_eq!(crowding.severity, Severity::Warning);
}

#[test]
fn partitions_have_no_cliff_where_full_filters_have_one() {
    // Its options have index and filter go through the cache.
    let golden = golden::get("locations-partitioned");
    let found = findings(&golden, &cache(256 << 10, 5));
    assert!(of(&found, "shard-cliff").is_none(), "{found:?}");
}

#[test]
fn filters_that_stay_out_of_the_cache_know_no_cliff() {
    let golden = golden::get("locations-full-filter");
    let found = findings(&golden, &cache(256 << 10, 5));
    assert!(of(&found, "shard-cliff").is_none(), "{found:?}");
    caching_metadata(&golden);
    set_option(&golden, "no_block_cache=false", "no_block_cache=true");
    let found = findings(&golden, &cache(256 << 10, 5));
    assert!(of(&found, "shard-cliff").is_none(), "{found:?}");
}

#[test]
fn the_cache_of_the_log_counts_unless_another_is_given() {
    let golden = golden::get("locations-full-filter");
    caching_metadata(&golden);
    let log = "2026/11/30-19:34:03.4 7 [x.cc:1] --------------- Options for column family [default]:\n\
               2026/11/30-19:34:03.4 7   table_factory options:  x\n\
               \x20 block_cache: 0x1\n  block_cache_name: LRUCache\n    capacity : 262144\n    num_shard_bits : 5\n";
    fs::write(golden.path().join("LOG"), log).unwrap();
    let found = findings(&golden, &Request::default());
    let cliff = of(&found, "shard-cliff").expect("8 KiB a shard");
    assert_eq!(bytes(cliff, "shard_bytes"), 8 << 10);
    assert!(cliff.value("cache").unwrap().to_string().contains("as LOG says"));
    let found = findings(&golden, &cache(256 << 10, 0));
    assert!(of(&found, "shard-cliff").is_none());
}
