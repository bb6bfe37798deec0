//! Tables that RocksDB wrote, read in every way, against what its own tools read from them.

use partita::io::{DiskFile, RandomAccessFile as _};
use partita::key::{InternalKey, SeqNo};
use partita::table::{FilterStatus, ReadContext, ReaderOptions, TableProperties};
use partita_testkit::golden;

use partita_testkit::table_check::{check_all, open};

#[test]
fn tables_of_every_kind_read_as_rocksdb_reads_them() {
    let (mut tables, mut entry_count) = (0, 0);
    let (mut absent, mut passed, mut expected) = (0, 0, 0.0);
    for golden in golden::tables() {
        let name = golden.name();
        let table = open(&golden.path(), &ReaderOptions::default()).unwrap();
        let entries = golden.entries();
        let counts = check_all(&table, &entries, name);
        if table.filters_whole_keys() {
            absent += counts.absent_keys;
            passed += counts.absent_keys - counts.absent_ruled_out;
            expected += bloom_rate(table.properties()) * counts.absent_keys as f64;
        }
        let properties = table.properties();
        assert_eq!(properties.malformed, [], "{name}");
        let ranges = properties.num_range_deletions.unwrap_or(0);
        assert_eq!(properties.num_entries, Some(entries.len() as u64 + ranges), "{name}");
        tables += 1;
        entry_count += entries.len();
    }
    assert_eq!(tables, 48);
    assert!(entry_count > 10_000, "only {entry_count} entries");
    assert!(absent > 5_000, "only {absent} absent keys");
    let bound = 1.2 * expected + 4.0 * expected.sqrt();
    assert!(passed as f64 <= bound, "{passed} of {absent} absent keys passed, expected {expected}");
}

/// The rate of false positives in theory of a Bloom filter with the table's bits per entry; a Ribbon filter has less.
fn bloom_rate(properties: &TableProperties) -> f64 {
    let bytes = properties.filter_size.unwrap_or(0) as f64;
    let entries = properties.num_filter_entries.unwrap_or(0).max(1) as f64;
    0.5f64.powf(std::f64::consts::LN_2 * 8.0 * bytes / entries)
}

#[test]
fn range_tombstones_cover_what_rocksdb_says() {
    let mut checked = 0;
    for golden in golden::tables() {
        let pieces = golden.range_deletions();
        let table = open(&golden.path(), &ReaderOptions::default()).unwrap();
        let tombstones = table.range_tombstones(&mut ReadContext::default()).unwrap();
        assert_eq!(tombstones.is_empty(), pieces.is_empty(), "{}", golden.name());
        let covered = |key: &[u8]| tombstones.covering_seqno(key, SeqNo::MAX).is_some();
        for (start, end) in &pieces {
            assert!(covered(start), "{}", golden.name());
            let end_covered = pieces.iter().any(|(other, _)| other == end);
            assert_eq!(covered(end), end_covered, "{}", golden.name());
            checked += 1;
        }
    }
    assert!(checked > 5, "only {checked} pieces");
}

/// The reader's view of a golden database's files is checked against itself (walk, seek and get must agree) and
/// against the counts in the properties; the database's visible rows are checked where the levels are put together.
#[test]
fn tables_of_golden_databases_read_whole() {
    let (mut tables, mut entry_count) = (0, 0);
    for db in golden::all() {
        if db.name() == "foreign-comparator" {
            continue;
        }
        for path in db.sst_paths() {
            let table = open(&path, &ReaderOptions::default()).unwrap();
            let entries = partita_testkit::table_check::read_all(&table);
            let name = path.display().to_string();
            check_all(&table, &entries, &name);
            let ranges = table.properties().num_range_deletions.unwrap_or(0);
            assert_eq!(table.properties().num_entries, Some(entries.len() as u64 + ranges));
            tables += 1;
            entry_count += entries.len();
        }
    }
    assert_eq!(tables, 44);
    assert!(entry_count > 100_000, "only {entry_count} entries");
}

#[test]
fn a_comparator_that_is_not_registered_is_refused_by_name() {
    let db = golden::get("foreign-comparator");
    let path = db.sst_paths().remove(0);
    let error = open(&path, &ReaderOptions::default()).unwrap_err();
    assert_eq!(error.kind(), partita::ErrorKind::NotSupported);
    assert!(error.to_string().contains("comparator \""), "{error}");
    assert_eq!(error.file(), Some(&*path));
}

#[test]
fn an_ingested_file_has_the_sequence_number_of_the_manifest() {
    let db = golden::get("ingested");
    let mut external = 0;
    for path in db.sst_paths() {
        let plain = open(&path, &ReaderOptions::default()).unwrap();
        if plain.properties().external_sst_file_version != Some(2) {
            continue;
        }
        assert_eq!(plain.global_seqno(), None);
        let largest = SeqNo::new(1234);
        let options = ReaderOptions { largest_seqno: largest, ..Default::default() };
        let table = open(&path, &options).unwrap();
        assert_eq!(table.global_seqno(), largest);
        let mut entries = partita_testkit::table_check::read_all(&plain);
        for (key, _) in &mut entries {
            let decoded = InternalKey::decode(key).unwrap();
            assert_eq!(decoded.seqno, SeqNo::ZERO);
            let (user_key, value_type) = (decoded.user_key, decoded.value_type);
            *key = InternalKey::new(user_key, largest.unwrap(), value_type).encode();
        }
        check_all(&table, &entries, "ingested");
        external += 1;
    }
    assert!(external > 0);
}

#[test]
fn filters_are_found_in_both_layouts() {
    for (name, expected) in [
        ("locations-full-filter", FilterStatus::Full),
        ("locations-partitioned", FilterStatus::Partitioned),
    ] {
        for path in golden::get(name).sst_paths() {
            let table = open(&path, &ReaderOptions::default()).unwrap();
            assert_eq!(table.filter_status(), expected, "{name}");
            assert!(DiskFile::open(&path).unwrap().len() == table.file_len());
        }
    }
}
