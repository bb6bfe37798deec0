//! Index and filters outside of the cache, now and as the data grows.

use partita::io::DiskFileSystem;
use partita_doctor::finding::Value;
use partita_doctor::{Finding, Request, Severity, examine};
use partita_testkit::golden;

const CODE: &str = "metadata-outside-cache";

fn finding(name: &str, request: &Request) -> Option<Finding> {
    let golden = golden::get(name);
    let report = examine(&DiskFileSystem, &[golden.path()], request);
    report.databases[0].findings_of(CODE).next().cloned()
}

fn memory(bytes: u64, growth: &[f64]) -> Request {
    Request { memory_bytes: Some(bytes), growth: growth.to_vec(), ..Request::default() }
}

#[test]
fn whole_filters_and_indexes_are_resident_and_partitions_are_not() {
    let full = finding("locations-full-filter", &memory(1 << 30, &[])).unwrap();
    let resident = match full.value("resident_bytes") {
        Some(Value::Bytes(bytes)) => *bytes,
        other => panic!("{other:?}"),
    };
    assert!(resident > 40_000, "{resident}");
    assert_eq!(full.severity, Severity::Note);
    // The index of this one is partitioned, its filters are not.
    let half = finding("format4-xxh64-bzip2-partindex", &memory(1 << 30, &[])).unwrap();
    let evidence = half.evidence.unwrap();
    let zero = Value::Bytes(0);
    assert!(evidence.rows.iter().all(|row| row[3] != zero && row[4] == zero && row[5] != zero));
}

#[test]
fn memory_that_does_not_last_is_a_warning_and_memory_that_is_gone_an_error() {
    let severity = |request: &Request| finding("locations-full-filter", request).unwrap().severity;
    // Some 46 KB are resident.
    assert_eq!(severity(&memory(30_000, &[])), Severity::Error);
    assert_eq!(severity(&memory(100_000, &[])), Severity::Warning);
    assert_eq!(severity(&memory(100_000, &[2.0])), Severity::Note);
    assert_eq!(severity(&memory(1_000_000, &[10.0, 40.0])), Severity::Warning);
}

#[test]
fn little_memory_is_not_worth_telling_unless_asked() {
    assert!(finding("locations-full-filter", &Request::default()).is_none());
}

#[test]
fn what_goes_through_the_cache_is_not_resident() {
    let mut names = golden::names();
    names.retain(|name| finding(name, &memory(1, &[])).is_none());
    // One has its options say so, the other has no tables.
    assert_eq!(names, ["locations-partitioned", "wal-only"]);
}
