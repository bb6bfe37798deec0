//! Tables between Partita and RocksDB 11.8.1, in both directions, with what only 11.x writes.

use std::path::{Path, PathBuf};

use partita::io::DiskWriter;
use partita::key::{InternalKey, KeyOrder};
use partita_compat_latest::sst_reader;
use partita_compat_rocks::Row;
use partita_compat_rocks::check::{Counts, check_table};
use partita_compat_rocks::db::Db;
use partita_compat_rocks::matrix::{Case, Version, matrix};
use partita_compat_rocks::rebuild::compare_filters;
use partita_testkit::variants::{Contents, Variant, variants};

#[test]
fn every_table_that_rocksdb_writes_is_read_with_equal_entries_and_rebuilt_with_equal_filters() {
    let (mut counts, mut filters, mut differ) = (Counts::default(), 0, Vec::new());
    for case in matrix(Version::V11_8) {
        let name = &case.name;
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let db = case.make(dir.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let [sst] = db.sst_paths().try_into().unwrap_or_else(|paths| panic!("{name}: {paths:?}"));
        let entries =
            sst_reader::scan(&sst, &case.options()).unwrap_or_else(|e| panic!("{name}: {e}"));
        counts.add(check_table(&case, &db, &sst, &entries));
        if case.is_uncompressed() && !is_cut_with_the_index(&case) {
            match compare_filters(&case, &sst, &entries, dir.path()) {
                Ok(equal) => filters += equal,
                Err(difference) => differ.push(difference),
            }
        }
    }
    println!("{counts:?}, {filters} filter blocks equal");
    assert!(differ.is_empty(), "{differ:#?}");
    let Counts { tables, absent, ruled_out, .. } = counts;
    assert!(tables > 180 && filters > 250, "{tables} tables, {filters} filter blocks");
    assert!(ruled_out * 10 > absent * 8, "{ruled_out} of {absent} absent keys ruled out");
}

/// Partitions that are cut with the index stand where RocksDB before 9.7 puts them: `debian/tests/rebuild.rs`.
fn is_cut_with_the_index(case: &Case) -> bool {
    case.table_option("decouple_partitioned_filters").is_some_and(|on| on == "false")
}

fn write(variant: &Variant, dir: &Path) -> PathBuf {
    let path = dir.join(format!("{}.sst", variant.name));
    let file = DiskWriter::create(&path).expect("the file is new");
    variant.write(Box::new(file)).unwrap_or_else(|error| panic!("{}: {error}", variant.name));
    path
}

fn reading_options(variant: &Variant) -> String {
    let mut options = "merge_operator=stringappend;\
         block_based_table_factory={filter_policy=bloomfilter:10:false}"
        .to_owned();
    if variant.order == KeyOrder::ReverseBytewise {
        options += ";comparator=rocksdb.ReverseBytewiseComparator";
    }
    if let Some(extractor) = &variant.options.prefix_extractor {
        options += &format!(";prefix_extractor={}", extractor.name());
    }
    options
}

#[test]
fn rocksdb_opens_and_verifies_every_variant_with_equal_entries() {
    let dir = tempfile::tempdir().unwrap();
    let (mut tables, mut entries) = (0, 0);
    for variant in &variants() {
        let (name, options) = (&variant.name, reading_options(variant));
        let path = write(variant, dir.path());
        sst_reader::verify(&path, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        let scanned = sst_reader::scan(&path, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
        let expected = variant.entries();
        assert!(scanned == expected, "{name}: {} entries and {}", scanned.len(), expected.len());
        tables += 1;
        entries += expected.len();
        std::fs::remove_file(&path).unwrap();
    }
    println!("{tables} tables, {entries} entries");
    assert!(tables > 300);
}

#[test]
fn rocksdb_ingests_every_variant_and_finds_every_key() {
    let dir = tempfile::tempdir().unwrap();
    let (mut tables, mut rows_total, mut useful) = (0, 0, 0);
    for mut variant in variants() {
        variant.is_external = true;
        if variant.contents == Contents::Empty {
            (variant.contents, variant.count) = (Contents::Sequential, 10);
        }
        let name = &variant.name;
        let path = write(&variant, dir.path());
        let expected = visible_rows(&variant);
        let database = dir.path().join("db");
        let mut db = Db::open(&database, &reading_options(&variant)).unwrap();
        db.ingest(&[path]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(db.rows_forward().unwrap() == expected, "{name}: forward");
        assert!(db.rows_backward().unwrap().iter().eq(expected.iter().rev()), "{name}: backward");
        for (key, value) in &expected {
            assert!(db.get(key).unwrap().as_ref() == Some(value), "{name}: get {key:02x?}");
            let absent = [key.as_slice(), b"\x01?"].concat();
            assert_eq!(db.get(&absent).unwrap(), None, "{name}: get {absent:02x?}");
        }
        useful += db.filters_useful();
        tables += 1;
        rows_total += expected.len();
        drop(db);
        std::fs::remove_dir_all(&database).unwrap();
    }
    println!("{tables} tables, {rows_total} rows; filters ruled {useful} absent keys out");
    assert!(tables > 300);
    assert!(useful * 2 > rows_total as u64, "filters ruled out only {useful} absent keys");
}

/// What a database shows after ingesting the table: see `debian/tests/writes.rs`.
fn visible_rows(variant: &Variant) -> Vec<Row> {
    let mut rows = Vec::new();
    for (key, value) in variant.entries() {
        let key = InternalKey::decode(&key).unwrap();
        if !key.value_type.is_deletion() {
            rows.push((key.user_key.to_vec(), value));
        }
    }
    rows
}
