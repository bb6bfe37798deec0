//! Tables that RocksDB 7.8.3 writes, over the whole matrix of its options, read by Partita.

use std::path::Path;

use partita::key::SeqNo;
use partita::table::{ReadContext, ReaderOptions};
use partita_compat_debian::sst_dump;
use partita_compat_rocks::Row;
use partita_compat_rocks::check::{Counts, check_table};
use partita_compat_rocks::matrix::{Version, matrix};
use partita_testkit::table_check::open;

#[test]
fn every_table_that_rocksdb_writes_is_read_with_equal_entries() {
    let mut counts = Counts::default();
    for case in matrix(Version::V7_8) {
        let name = &case.name;
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let db = case.make(dir.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let [sst] = db.sst_paths().try_into().unwrap_or_else(|paths| panic!("{name}: {paths:?}"));
        let entries = sst_dump::scan(&sst).unwrap_or_else(|error| panic!("{name}: {error}"));
        counts.add(check_table(&case, &db, &sst, &entries));
        check_range_deletions(&sst, name);
    }
    println!("{counts:?}");
    let Counts { tables, absent, ruled_out, .. } = counts;
    assert!(tables > 130, "{tables} tables");
    assert!(ruled_out * 10 > absent * 8, "{ruled_out} of {absent} absent keys ruled out");
}

fn check_range_deletions(sst: &Path, name: &str) {
    let mut expected = sst_dump::range_deletions(sst).unwrap_or_else(|e| panic!("{name}: {e}"));
    expected.dedup(); // a piece that several tombstones cover is listed for each
    let table = open(sst, &ReaderOptions::default()).unwrap();
    let tombstones = table.range_tombstones(&mut ReadContext::default()).unwrap();
    let pieces: Vec<Row> = (0..tombstones.fragment_count())
        .filter(|&at| tombstones.covering_fragment(at, SeqNo::MAX).is_some())
        .filter_map(|at| tombstones.fragment(at))
        .map(|piece| (piece.start.to_vec(), piece.end.to_vec()))
        .collect();
    assert!(pieces == expected, "{name}: {} pieces and {}", pieces.len(), expected.len());
}
