//! Every variant that the builder writes, read in every way.

use std::sync::Arc;

use partita::filter::FilterPolicy;
use partita::io::{MemoryWriter, RandomAccessFile};
use partita::iter::InternalIterator;
use partita::key::{InternalKey, KeyOrder, PrefixExtractor, SeqNo, ValueType};
use partita::options::{FilterLayout, TableOptions};
use partita::table::{
    LookupKey, ReadContext, ReaderOptions, TableBuilder, TableContext, TableReader, TableSummary,
    verify_table,
};
use partita_testkit::table_check::check_all;
use partita_testkit::variants::{Contents, Variant, variants};

fn open(file: Arc<dyn RandomAccessFile>) -> Arc<TableReader> {
    let ctx = &mut ReadContext::default();
    Arc::new(TableReader::open(file, &ReaderOptions::default(), ctx).unwrap())
}

/// Fewer entries than the comparisons with RocksDB take, so that all variants are read in seconds.
fn smaller(mut variant: Variant) -> Variant {
    variant.count = match variant.contents {
        Contents::LargeValues => variant.count.min(2),
        Contents::Binary => variant.count.min(60),
        _ => variant.count.min(150),
    };
    variant
}

#[test]
fn every_variant_reads_as_it_was_written() {
    let (mut tables, mut absent, mut ruled_out) = (0, 0, 0);
    for variant in variants().into_iter().map(smaller) {
        let name = &variant.name;
        let entries = variant.entries();
        let writer = MemoryWriter::new(format!("{name}.sst"));
        let summary = variant.write(Box::new(writer.clone())).unwrap();
        let file: Arc<dyn RandomAccessFile> = Arc::new(writer.into_file());
        let report = verify_table(&file, &ReaderOptions::default(), &mut |_| ());
        assert!(report.damages.is_empty() && report.not_opened.is_none(), "{name}: {report:?}");
        assert!(report.complete, "{name}");
        let table = open(file);
        let counts = check_all(&table, &entries, name);
        if table.filters_whole_keys() {
            absent += counts.absent_keys;
            ruled_out += counts.absent_ruled_out;
        }
        check_tombstones(&table, &variant, name);
        check_summary(&table, &summary, name);
        tables += 1;
    }
    assert!(tables > 300 && absent > 5_000, "{tables} tables, {absent} absent keys");
    assert!(ruled_out * 100 > absent * 85, "{ruled_out} of {absent} absent keys ruled out");
}

fn check_tombstones(table: &TableReader, variant: &Variant, name: &str) {
    let found = table.range_tombstones(&mut ReadContext::default()).unwrap();
    let mut found: Vec<_> =
        found.iter().map(|t| (t.start.to_vec(), t.end.to_vec(), t.seqno)).collect();
    let mut expected = variant.tombstones();
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "{name}");
}

fn check_summary(table: &TableReader, summary: &TableSummary, name: &str) {
    assert_eq!(table.properties(), &summary.properties, "{name}");
    assert_eq!(table.file_len(), summary.file_size, "{name}");
}

/// Options with as small partitions as can be, and the prefix that the reports want.
fn small_partitions(layout: FilterLayout, whole_keys: bool, prefix_len: usize) -> TableOptions {
    TableOptions {
        block_size: 1,
        metadata_block_size: 1,
        filter_layout: layout,
        whole_key_filtering: whole_keys,
        filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 100.0 }),
        prefix_extractor: Some(PrefixExtractor::Fixed(prefix_len)),
        ..TableOptions::default()
    }
}

fn table_of(options: TableOptions, keys: &[String]) -> Arc<TableReader> {
    let writer = MemoryWriter::new("report.sst");
    let (file, context) = (Box::new(writer.clone()), TableContext::default());
    let mut builder = TableBuilder::new(file, options, KeyOrder::Bytewise, context).unwrap();
    for key in keys {
        let key = InternalKey::new(key.as_bytes(), SeqNo::new(1).unwrap(), ValueType::Value);
        builder.add(&key.encode(), b"v").unwrap();
    }
    builder.finish().unwrap();
    open(Arc::new(writer.into_file()))
}

/// rocksdb#5835: the separator between two partitions can equal the prefix of the next one's keys, and a search for
/// that prefix lands in the partition before.
#[test]
fn a_prefix_is_found_from_the_partition_before_it() {
    for layout in [FilterLayout::PartitionedWithIndex, FilterLayout::Partitioned] {
        for whole_keys in [false, true] {
            // Five keys fill a partition: whichever is the last of its partition, the next prefix must be known there.
            for before in 1..12 {
                let mut keys: Vec<String> = (0..before).map(|i| format!("aaK{i:02}")).collect();
                keys.extend(["abK2", "acK3"].map(String::from));
                let table = table_of(small_partitions(layout, whole_keys, 2), &keys);
                let ctx = &mut ReadContext::default();
                for target in ["ab", "ab\0", "abK1", "ac"] {
                    let name =
                        format!("{layout:?}, whole keys {whole_keys}, {before} before {target:?}");
                    assert!(table.prefix_may_match(target.as_bytes(), ctx).unwrap(), "{name}");
                    let mut iter = table.iter();
                    iter.seek_internal(InternalKey::for_seek(target.as_bytes(), SeqNo::MAX))
                        .unwrap();
                    assert!(
                        iter.is_valid() && iter.key().starts_with(&target.as_bytes()[..2]),
                        "{name}"
                    );
                }
            }
        }
    }
}

/// rocksdb#4024: leaving out repeated prefixes must start afresh in each partition.
#[test]
fn a_prefix_over_many_partitions_is_in_each_of_them() {
    for layout in [FilterLayout::PartitionedWithIndex, FilterLayout::Partitioned] {
        let mut keys: Vec<String> = (0..20_000).map(|i| format!("pref{i:05}")).collect();
        keys.extend((0..20).map(|i| format!("qref{i:02}")));
        let options = TableOptions {
            block_size: 300,
            metadata_block_size: 300,
            ..small_partitions(layout, false, 4)
        };
        let table = table_of(options, &keys);
        let ctx = &mut ReadContext::default();
        for key in &keys {
            let lookup = LookupKey::new(key.as_bytes(), SeqNo::MAX);
            assert!(table.prefix_may_match(key.as_bytes(), ctx).unwrap(), "{layout:?} {key}");
            assert!(table.get(&lookup, ctx).unwrap().is_some(), "{layout:?} {key}");
        }
        assert!(!table.prefix_may_match(b"zzzz", ctx).unwrap(), "{layout:?}");
    }
}
