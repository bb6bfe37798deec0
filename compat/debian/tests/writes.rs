//! Tables that Partita writes, in every variant, read by RocksDB 7.8.3 and 9.8.4.

use std::path::{Path, PathBuf};

use partita::filter::FilterPolicy;
use partita::io::DiskWriter;
use partita::key::{InternalKey, KeyOrder, ValueType};
use partita::table::{RangeTombstone, RangeTombstones};
use partita::util::compression::CompressionType;
use partita_compat_debian::rocksdict::{self, Ingestion};
use partita_compat_debian::sst_dump;
use partita_compat_rocks::Row;
use partita_compat_rocks::db::Db;
use partita_testkit::variants::{Contents, Variant, variants};

fn write(variant: &Variant, dir: &Path) -> PathBuf {
    let path = dir.join(format!("{}.sst", variant.name));
    let file = DiskWriter::create(&path).expect("the file is new");
    variant.write(Box::new(file)).unwrap_or_else(|error| panic!("{}: {error}", variant.name));
    path
}

#[test]
fn sst_dump_reads_and_verifies_every_variant_with_equal_entries() {
    let dir = tempfile::tempdir().unwrap();
    let (mut tables, mut entries) = (0, 0);
    for variant in variants().iter().filter(|variant| variant.is_read_by_7_8()) {
        let name = &variant.name;
        let path = write(variant, dir.path());
        sst_dump::check(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        sst_dump::verify(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = variant.entries();
        let scanned = sst_dump::scan(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(scanned == expected, "{name}: {} entries and {}", scanned.len(), expected.len());
        check_range_deletions(variant, &path);
        tables += 1;
        entries += expected.len();
        std::fs::remove_file(&path).unwrap();
    }
    println!("{tables} tables, {entries} entries");
    assert!(tables > 150);
}

/// RocksDB cuts the tombstones into the same pieces as we do.
fn check_range_deletions(variant: &Variant, path: &Path) {
    let tombstones: Vec<RangeTombstone> = variant
        .tombstones()
        .into_iter()
        .map(|(start, end, seqno)| RangeTombstone { start, end, seqno })
        .collect();
    if tombstones.is_empty() {
        return;
    }
    let ours = RangeTombstones::new(tombstones, &variant.order);
    let covered = |at: &usize| ours.covering_fragment(*at, partita::key::SeqNo::MAX).is_some();
    let pieces: Vec<Row> = (0..ours.fragment_count())
        .filter(covered)
        .filter_map(|at| ours.fragment(at))
        .map(|piece| (piece.start.to_vec(), piece.end.to_vec()))
        .collect();
    let mut theirs = sst_dump::range_deletions(path).unwrap();
    theirs.dedup(); // a piece that several tombstones cover is listed for each
    assert!(pieces == theirs, "{}: {} pieces, {}", variant.name, pieces.len(), theirs.len());
}

/// Each variant as an external file; a table of nothing becomes one of something, since an external file needs it.
fn external_variants() -> Vec<Variant> {
    let mut variants = variants();
    for variant in &mut variants {
        variant.is_external = true;
        if variant.contents == Contents::Empty {
            (variant.contents, variant.count) = (Contents::Sequential, 10);
        }
    }
    variants
}

/// What a database shows after ingesting the table: deletions hide nothing but themselves, since all entries have the
/// same sequence number, and one merge operand alone is the value.
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

#[test]
fn rocksdb_7_8_ingests_every_variant_and_finds_every_key() {
    let dir = tempfile::tempdir().unwrap();
    let (mut tables, mut rows_total, mut asked, mut useful) = (0, 0, 0, 0);
    for variant in external_variants().iter().filter(|variant| variant.is_read_by_7_8()) {
        let name = &variant.name;
        let path = write(variant, dir.path());
        let expected = visible_rows(variant);
        let database = dir.path().join("db");
        let mut db = Db::open(&database, &reading_options(variant)).unwrap();
        db.ingest(&[path]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(db.rows_forward().unwrap() == expected, "{name}: forward");
        assert!(db.rows_backward().unwrap().iter().eq(expected.iter().rev()), "{name}: backward");
        for (key, value) in &expected {
            assert!(db.get(key).unwrap().as_ref() == Some(value), "{name}: get {key:02x?}");
        }
        if has_effective_filter(variant) {
            asked += ask_for_absent_keys(&db, &expected, name);
            useful += db.filters_useful();
        }
        tables += 1;
        rows_total += expected.len();
        drop(db);
        std::fs::remove_dir_all(&database).unwrap();
    }
    println!("{tables} tables, {rows_total} rows; {useful} of {asked} absent keys ruled out");
    assert!(tables > 150);
    assert!(useful * 10 > asked * 8, "{useful} of {asked} absent keys ruled out");
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

/// Whether whole keys are in a filter of enough bits to rule most absent keys out.
fn has_effective_filter(variant: &Variant) -> bool {
    let has_bits = match variant.options.filter_policy {
        Some(FilterPolicy::Bloom { bits_per_key } | FilterPolicy::Ribbon { bits_per_key, .. }) => {
            bits_per_key >= 10.0
        }
        _ => false,
    };
    has_bits && variant.options.whole_key_filtering
}

/// Asks for a key behind each of those that are there; returns how many.
fn ask_for_absent_keys(db: &Db, rows: &[Row], name: &str) -> u64 {
    let mut asked = 0;
    // The last key is left out: what is behind it is outside the file, and the filter is not asked.
    for (key, _) in rows.iter().skip(1).rev().skip(1) {
        let absent = [key.as_slice(), b"\x01?"].concat();
        assert_eq!(db.get(&absent).unwrap(), None, "{name}: get {absent:02x?}");
        asked += 1;
    }
    asked
}

#[test]
fn rocksdb_9_8_ingests_every_variant_and_finds_every_key() {
    let dir = tempfile::tempdir().unwrap();
    // rocksdict can be given neither a comparator nor a merge operator.
    let chosen = external_variants().into_iter().filter(|variant| {
        let options = &variant.options;
        variant.order == KeyOrder::Bytewise
            && options.format_version <= 6
            && !options.separate_key_value_in_data_block
    });
    let ingestions: Vec<Ingestion> = chosen
        .map(|mut variant| {
            if has_merges(&variant) {
                variant.contents = Contents::Sequential;
            }
            // The wheel is built without zlib: it cannot read RocksDB 7.8.3's own zlib tables either.
            if variant.options.compression.kind == CompressionType::Zlib {
                variant.options.compression.kind = CompressionType::Zstd;
            }
            Ingestion { table: write(&variant, dir.path()), expected: visible_rows(&variant) }
        })
        .collect();
    let answers = rocksdict::ingest_all(&ingestions);
    let rows: usize = ingestions.iter().map(|ingestion| ingestion.expected.len()).sum();
    let refused: Vec<String> = answers
        .into_iter()
        .zip(&ingestions)
        .filter_map(|(answer, ingestion)| {
            Some(format!("{}: {}", ingestion.table.display(), answer.err()?))
        })
        .collect();
    println!("{} tables, {rows} rows", ingestions.len());
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(ingestions.len() > 200);
}

fn has_merges(variant: &Variant) -> bool {
    let is_merge = |key: &[u8]| InternalKey::decode(key).unwrap().value_type == ValueType::Merge;
    variant.entries().iter().any(|(key, _)| is_merge(key))
}
