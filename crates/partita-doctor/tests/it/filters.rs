//! Filters that do not pay, and tombstones.

use std::fs;
use std::path::Path;

use partita::db::{Db, DbBuilder, FamilyConfig};
use partita::filter::FilterPolicy;
use partita::io::DiskFileSystem;
use partita::options::{ColumnFamilyOptions, DbOptions};
use partita_doctor::finding::Value;
use partita_doctor::read::read_database;
use partita_doctor::{Finding, Request, examine};
use partita_testkit::golden;

fn findings(dir: &Path) -> Vec<Finding> {
    let mut report = examine(&DiskFileSystem, &[dir.to_owned()], &Request::default());
    assert_eq!(report.problems, []);
    report.databases.remove(0).findings
}

fn of<'f>(findings: &'f [Finding], code: &str) -> Option<&'f Finding> {
    findings.iter().find(|finding| finding.code == code)
}

fn create(dir: &Path, bits_per_key: f64) -> Db {
    let mut family = ColumnFamilyOptions { disable_auto_compactions: true, ..Default::default() };
    family.table.filter_policy = Some(FilterPolicy::Bloom { bits_per_key });
    DbBuilder::new(dir)
        .options(DbOptions { create_if_missing: true, ..DbOptions::default() })
        .family("default", FamilyConfig { options: Some(family), ..FamilyConfig::default() })
        .open()
        .unwrap()
}

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

#[test]
fn rates_of_filters_are_measured_as_theory_expects_them() {
    for name in ["locations-full-filter", "locations-partitioned", "ribbon-zstd-dictionary"] {
        let database = read_database(&DiskFileSystem, &golden::get(name).path()).unwrap();
        let measured: Vec<(f64, f64)> = database
            .layouts()
            .filter_map(|(_, layout)| {
                Some((layout.filter.measured_false_positives?, layout.filter.false_positives?))
            })
            .collect();
        assert_eq!(measured.len(), 1, "{name}: one a family");
        let (measured, expected) = measured[0];
        // 10,000 probes at 1 % have a deviation of 0.1 %.
        assert!((measured - expected).abs() < 0.005, "{name}: {measured} {expected}");
        assert!(of(&findings(&golden::get(name).path()), "weak-filters").is_none());
    }
}

#[test]
fn a_filter_of_few_bits_is_weak() {
    let dir = tempfile::tempdir().unwrap();
    let db = create(dir.path(), 3.0);
    for number in 0..5000 {
        db.put(&key(number), b"v").unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    let found = findings(dir.path());
    let weak = of(&found, "weak-filters").unwrap();
    match weak.evidence.as_ref().unwrap().rows[0][5] {
        Value::Share(measured) => assert!((0.1..0.4).contains(&measured), "{measured}"),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn ranges_of_tombstones_are_told_with_their_keys() {
    let dir = tempfile::tempdir().unwrap();
    let db = create(dir.path(), 10.0);
    for number in 0..4000 {
        db.put(&key(number), b"v").unwrap();
    }
    db.flush().unwrap();
    for number in 1000..3000 {
        db.delete(&key(number)).unwrap();
    }
    db.flush().unwrap();
    let found = findings(dir.path());
    let tombstones = of(&found, "tombstones").unwrap();
    assert_eq!(tombstones.value("tombstones"), Some(&Value::Count(2000)));
    let evidence = tombstones.evidence.as_ref().unwrap();
    assert_eq!(evidence.total, 1, "the table without tombstones is not among them");
    let cells: Vec<String> = evidence.rows[0].iter().map(ToString::to_string).collect();
    assert_eq!(
        cells,
        ["default", "L0", "1", "2,000", "100 %", "\\x00\\x00\\x03\\xe8", "\\x00\\x00\\x0b\\xb7"]
    );
    // The compaction that it names helps.
    db.compact_range(&db.default_family(), None, None).unwrap();
    db.close().unwrap();
    assert!(of(&findings(dir.path()), "tombstones").is_none());
}

#[test]
fn range_tombstones_in_numbers_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let db = create(dir.path(), 10.0);
    for number in 0..1500_u32 {
        db.delete_range(&key(number * 10), &key(number * 10 + 5)).unwrap();
    }
    db.put(b"key", b"v").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let found = findings(dir.path());
    let ranges = of(&found, "range-tombstones").unwrap();
    assert_eq!(ranges.value("range_tombstones"), Some(&Value::Count(1500)));
    let few = findings(&golden::get("families-merge-ranges-wal").path());
    assert!(of(&few, "range-tombstones").is_none());
}

#[test]
fn filters_of_prefixes_alone_are_told() {
    let golden = golden::get("prefix-hash-index");
    let table = golden::table("prefix-only");
    fs::copy(table.path(), &golden.sst_paths()[0]).unwrap();
    let found = findings(&golden.path());
    let prefixes = of(&found, "prefix-filters").unwrap();
    assert_eq!(prefixes.evidence.as_ref().unwrap().total, 1);
    assert!(
        of(&findings(&golden::get("locations-full-filter").path()), "prefix-filters").is_none()
    );
}
