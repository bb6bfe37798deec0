//! Layouts and caches: filters that a release does not use, families with caches of their own.

use std::fs;

use partita::io::DiskFileSystem;
use partita_doctor::finding::Value;
use partita_doctor::{Finding, Request, examine};
use partita_testkit::golden::{self, GoldenDb};

fn findings(golden: &GoldenDb) -> Vec<Finding> {
    let mut report = examine(&DiskFileSystem, &[golden.path()], &Request::default());
    report.databases.remove(0).findings
}

fn of<'f>(findings: &'f [Finding], code: &str) -> Option<&'f Finding> {
    findings.iter().find(|finding| finding.code == code)
}

fn log(golden: &GoldenDb, lines: &str) {
    let text: String =
        lines.lines().map(|line| format!("2026/11/30-19:34:03.43 7 {line}\n")).collect();
    // Lines that go on with a message have no time.
    let text = text.replace("2026/11/30-19:34:03.43 7 +", " ");
    fs::write(golden.path().join("LOG"), text).unwrap();
}

#[test]
fn a_ribbon_filter_is_not_used_by_releases_that_do_not_know_it() {
    let golden = golden::get("ribbon-zstd-dictionary");
    assert!(of(&findings(&golden), "filters-not-used").is_none());
    log(&golden, "RocksDB version: 6.14.0\n");
    let found = findings(&golden);
    let unused = of(&found, "filters-not-used").unwrap();
    let why = unused.evidence.as_ref().unwrap().rows[0][2].to_string();
    assert!(why.contains("Ribbon filter is used from RocksDB 6.15 on"), "{why}");
    log(&golden, "RocksDB version: 6.15.0\n");
    assert!(of(&findings(&golden), "filters-not-used").is_none());
}

#[test]
fn families_that_each_have_a_cache_are_told_with_their_sum() {
    let golden = golden::get("families-merge-ranges-wal");
    let lines = |third: &str| {
        let family = |name: &str, address: &str| {
            format!(
                "[x.cc:1] --------------- Options for column family [{name}]:\n\
                 table_factory options: x\n+block_cache: {address}\n+block_cache_name: LRUCache\n+capacity : 8388608\n"
            )
        };
        family("default", "0x1") + &family("keys", "0x1") + &family("openKeys", third)
    };
    log(&golden, &lines("0x1"));
    assert!(of(&findings(&golden), "private-caches").is_none());
    log(&golden, &lines("0x2"));
    let found = findings(&golden);
    let private = of(&found, "private-caches").unwrap();
    assert_eq!(private.value("total_bytes"), Some(&Value::Bytes(16 << 20)));
    assert_eq!(private.evidence.as_ref().unwrap().rows[0][2].to_string(), "default, keys");
}

#[test]
fn tables_of_one_layout_are_not_called_mixed() {
    for name in ["locations-full-filter", "locations-partitioned", "plain-defaults", "ingested"] {
        let found = findings(&golden::get(name));
        assert!(of(&found, "mixed-layouts").is_none(), "{name}: {found:?}");
    }
}

#[test]
fn caches_that_everybody_has_by_default_are_added_up_over_all_databases() {
    let (one, other) = (golden::get("plain-defaults"), golden::get("families-merge-ranges-wal"));
    let dirs = [one.path(), other.path()];
    let report = examine(&DiskFileSystem, &dirs, &Request::default());
    let together = of(&report.findings, "default-caches-together").unwrap();
    let families = 1 + other.families().len() as u64;
    assert_eq!(together.value("caches"), Some(&Value::Count(families)));
    // Both were written by 11.8.1, whose default is 32 MiB.
    assert_eq!(together.value("total_bytes"), Some(&Value::Bytes(families * (32 << 20))));
    assert_eq!(together.severity, partita_doctor::Severity::Note);
    let given = Request { cache_bytes: Some(64 << 20), ..Request::default() };
    assert!(examine(&DiskFileSystem, &dirs, &given).findings.is_empty());
    let tight = Request { memory_bytes: Some(64 << 20), ..Request::default() };
    let report = examine(&DiskFileSystem, &dirs, &tight);
    assert_eq!(report.findings[0].severity, partita_doctor::Severity::Warning);
}
