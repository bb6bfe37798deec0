//! Tables that RocksDB 7.8.3 writes, over the whole matrix of its options, read by Partita.

use std::path::Path;
use std::sync::Arc;

use partita::io::{DiskFile, RandomAccessFile};
use partita::key::{InternalKey, SeqNo};
use partita::table::{FilterStatus, ReadContext, ReaderOptions, TableReader, verify_table};
use partita_compat_debian::sst_dump;
use partita_compat_rocks::Row;
use partita_compat_rocks::matrix::{Case, Version, matrix};
use partita_testkit::table_check::{check_all, open};

#[test]
fn every_table_that_rocksdb_writes_is_read_with_equal_entries() {
    let (mut tables, mut entries, mut absent, mut ruled_out) = (0, 0, 0, 0);
    for case in matrix(Version::V7_8) {
        let counts = check_case(&case);
        tables += 1;
        entries += counts.entries;
        absent += counts.absent;
        ruled_out += counts.ruled_out;
    }
    println!("{tables} tables, {entries} entries; {ruled_out} of {absent} absent keys ruled out");
    assert!(tables > 130);
    assert!(ruled_out * 10 > absent * 8, "{ruled_out} of {absent} absent keys ruled out");
}

struct CaseCounts {
    entries: usize,
    absent: u64,
    ruled_out: u64,
}

fn check_case(case: &Case) -> CaseCounts {
    let name = &case.name;
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let db = case.make(dir.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let [sst] = db.sst_paths().try_into().unwrap_or_else(|paths| panic!("{name}: {paths:?}"));
    let entries = sst_dump::scan(&sst).unwrap_or_else(|error| panic!("{name}: {error}"));
    let table = open(&sst, &ReaderOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"));

    check_filter_kind(&table, case);
    let counts = check_all(&table, &entries, name);
    check_range_deletions(&table, &sst, name);
    check_verification(&sst, &entries, name);
    if case.shape.is_plain() {
        let (forward, backward) = (db.rows_forward().unwrap(), db.rows_backward().unwrap());
        check_against_rows(&entries, &forward, &backward, name);
    }
    let is_counted = table.filters_whole_keys();
    CaseCounts {
        entries: entries.len(),
        absent: if is_counted { counts.absent_keys } else { 0 },
        ruled_out: counts.absent_ruled_out,
    }
}

/// A filter that was asked for must be found, or nothing else would say that it is used.
fn check_filter_kind(table: &TableReader, case: &Case) {
    let policy = case.table_option("filter_policy").unwrap_or_default();
    let is_partitioned = case.table_option("partition_filters").is_some_and(|on| on == "true");
    let status = table.filter_status();
    let expected = match (policy.as_str(), is_partitioned) {
        ("nullptr", _) => FilterStatus::Absent,
        (_, true) => FilterStatus::Partitioned,
        (_, false) => FilterStatus::Full,
    };
    let has_points = table.properties().num_entries != table.properties().num_range_deletions;
    assert!(status == expected || !has_points, "{}: {status:?}", case.name);
}

fn check_range_deletions(table: &Arc<TableReader>, sst: &Path, name: &str) {
    let mut expected = sst_dump::range_deletions(sst).unwrap_or_else(|e| panic!("{name}: {e}"));
    expected.dedup(); // a piece that several tombstones cover is listed for each
    let tombstones = table.range_tombstones(&mut ReadContext::default()).unwrap();
    let pieces: Vec<Row> = (0..tombstones.fragment_count())
        .filter(|&at| tombstones.covering_fragment(at, SeqNo::MAX).is_some())
        .filter_map(|at| tombstones.fragment(at))
        .map(|piece| (piece.start.to_vec(), piece.end.to_vec()))
        .collect();
    assert!(pieces == expected, "{name}: {} pieces and {}", pieces.len(), expected.len());
}

fn check_verification(sst: &Path, entries: &[Row], name: &str) {
    let file: Arc<dyn RandomAccessFile> = Arc::new(DiskFile::open(sst).unwrap());
    let report = verify_table(&file, &ReaderOptions::default(), &mut |_| {});
    assert!(report.is_clean() && report.complete, "{name}: {report:?}");
    assert!(report.not_opened.is_none(), "{name}: {report:?}");
    assert_eq!(report.entries, entries.len() as u64, "{name}");
}

/// Of content without versions, the database shows just the entries.
fn check_against_rows(entries: &[Row], forward: &[Row], backward: &[Row], name: &str) {
    let rows: Vec<Row> = entries
        .iter()
        .map(|(key, value)| (InternalKey::decode(key).unwrap().user_key.to_vec(), value.clone()))
        .collect();
    assert!(rows == forward, "{name}: RocksDB's iterator shows other rows");
    assert!(rows.iter().rev().eq(backward), "{name}: RocksDB's iterator shows others backward");
}
