//! Faults that users of other engines reported, re-created on tables.

use std::path::Path;
use std::sync::Arc;

use partita::filter::FilterPolicy;
use partita::io::{DiskFile, DiskWriter};
use partita::iter::InternalIterator;
use partita::key::{InternalKey, KeyOrder, PrefixExtractor, SeqNo, ValueType};
use partita::options::{DataBlockIndex, FilterLayout, IndexType, TableOptions};
use partita::table::{
    BlockRole, LookupKey, ReadContext, ReaderOptions, TableBuilder, TableContext, TableReader,
};
use partita_testkit::table_check::{check_all, entry_at, open, read_all};

fn with_extractor(extractor: PrefixExtractor) -> ReaderOptions {
    ReaderOptions { prefix_extractor: Some(extractor), ..Default::default() }
}

fn fixture(name: &str, options: &ReaderOptions) -> Arc<TableReader> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures").join(name);
    open(&path, options).unwrap()
}

/// An encoded internal key with its value.
type Entry = (Vec<u8>, Vec<u8>);

/// A table of these user keys, each put once, with its entries.
fn build(
    keys: &[&[u8]],
    options: &TableOptions,
    order: &KeyOrder,
    reader_options: &ReaderOptions,
) -> (Arc<TableReader>, Vec<Entry>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("table.sst");
    let file = Box::new(DiskWriter::create(&path).unwrap());
    let context = TableContext::default();
    let mut builder = TableBuilder::new(file, options.clone(), order.clone(), context).unwrap();
    let mut keys = keys.to_vec();
    keys.sort_by(|a, b| order.compare(a, b));
    let mut entries = Vec::new();
    for (number, user_key) in keys.iter().enumerate() {
        let seqno = SeqNo::new(number as u64 + 1).unwrap();
        let key = InternalKey::new(user_key, seqno, ValueType::Value).encode();
        let value = format!("value {number}").into_bytes();
        builder.add(&key, &value).unwrap();
        entries.push((key, value));
    }
    builder.finish().unwrap();
    let file = Arc::new(DiskFile::open(&path).unwrap());
    let table = TableReader::open(file, reader_options, &mut ReadContext::default()).unwrap();
    (Arc::new(table), entries)
}

fn count(table: &TableReader, role: BlockRole) -> usize {
    let blocks = table.blocks(&mut ReadContext::default()).unwrap();
    blocks.iter().filter(|block| block.role == role).count()
}

/// One entry a data block and one data block a partition.
fn one_entry_per_partition(extractor: Option<PrefixExtractor>) -> TableOptions {
    TableOptions {
        block_size: 1,
        metadata_block_size: 1,
        prefix_extractor: extractor,
        filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 20.0 }),
        ..TableOptions::default()
    }
}

/// A prefix seek through the filter, as an iterator over one prefix does it.
fn prefix_seek(table: &Arc<TableReader>, user_key: &[u8]) -> Option<Vec<u8>> {
    if !table.prefix_may_match(user_key, &mut ReadContext::default()).unwrap() {
        return None;
    }
    let mut iter = table.iter();
    iter.seek_internal(InternalKey::for_seek(user_key, SeqNo::MAX)).unwrap();
    let found = entry_at(&iter)?.0;
    Some(InternalKey::decode(found).unwrap().user_key.to_vec())
}

#[test]
fn r01_a_prefix_at_the_border_of_two_filter_partitions_is_found() {
    let extractor = PrefixExtractor::Fixed(2);
    let mut tables = vec![
        fixture("prefix-border-whole-keys.sst", &with_extractor(extractor.clone())),
        fixture("prefix-border-prefixes-only.sst", &with_extractor(extractor.clone())),
    ];
    for whole_key_filtering in [true, false] {
        for filter_layout in [FilterLayout::Partitioned, FilterLayout::PartitionedWithIndex] {
            let options = TableOptions {
                whole_key_filtering,
                filter_layout,
                ..one_entry_per_partition(Some(extractor.clone()))
            };
            let reader_options = with_extractor(extractor.clone());
            let keys: &[&[u8]] = &[b"aaK1", b"abK2"];
            tables.push(build(keys, &options, &KeyOrder::Bytewise, &reader_options).0);
        }
    }
    for table in &tables {
        assert_eq!(count(table, BlockRole::Data), 2);
        assert!(count(table, BlockRole::FilterPartition) >= 1);
        for target in [&b"ab"[..], b"ab\0", b"abK", b"abK2"] {
            assert_eq!(prefix_seek(table, target).as_deref(), Some(&b"abK2"[..]), "{target:?}");
        }
        assert_eq!(prefix_seek(table, b"aa").as_deref(), Some(&b"aaK1"[..]));
        // The filter is in use: it rules out prefixes that are not there.
        let absent = [b"ba", b"zz", b"a0", b"AA"];
        assert!(absent.iter().any(|prefix| prefix_seek(table, *prefix).is_none()));
        for key in [b"aaK1", b"abK2"] {
            let lookup = LookupKey::new(key, SeqNo::MAX);
            assert!(table.get(&lookup, &mut ReadContext::default()).unwrap().is_some());
        }
    }
}

#[test]
fn r02_a_prefix_over_many_filter_partitions_is_in_each_of_them() {
    let extractor = PrefixExtractor::Fixed(4);
    let options = TableOptions {
        whole_key_filtering: false,
        block_size: 256,
        metadata_block_size: 64,
        prefix_extractor: Some(extractor.clone()),
        ..TableOptions::default()
    };
    let one_prefix = (0..20_000).map(|n| format!("same{n:06}"));
    let keys: Vec<String> = one_prefix.chain((0..50).map(|n| format!("tail{n:06}"))).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let reader_options = with_extractor(extractor);
    let mut tables = vec![fixture("one-prefix-many-partitions.sst", &reader_options)];
    for filter_layout in [FilterLayout::Partitioned, FilterLayout::PartitionedWithIndex] {
        let options = TableOptions { filter_layout, ..options.clone() };
        tables.push(build(&keys, &options, &KeyOrder::Bytewise, &reader_options).0);
    }
    for (number, table) in tables.iter().enumerate() {
        let entries = read_all(table);
        let partitions = count(table, BlockRole::FilterPartition) as u64;
        // Decoupled partitions are cut by their own entries, and one prefix is one entry.
        let coupled = number != 1;
        assert!(!coupled || partitions >= 3, "table {number}: {partitions} partitions");
        let filter_entries = table.properties().num_filter_entries.unwrap();
        assert!(filter_entries >= 2 && filter_entries < entries.len() as u64);
        let mut ctx = ReadContext::default();
        for (key, _) in &entries {
            let user_key = InternalKey::decode(key).unwrap().user_key;
            assert!(table.may_contain(&LookupKey::new(user_key, SeqNo::MAX), &mut ctx).unwrap());
            assert!(table.prefix_may_match(user_key, &mut ctx).unwrap());
        }
        assert_eq!(ctx.filters_unreadable, 0);
        assert!(ctx.filters_checked > 0);
        let absent = LookupKey::new(b"gone000000", SeqNo::MAX);
        assert!(!table.may_contain(&absent, &mut ctx).unwrap());
        for (key, _) in entries.iter().step_by(97) {
            let user_key = InternalKey::decode(key).unwrap().user_key;
            assert_eq!(prefix_seek(table, user_key).as_deref(), Some(user_key));
        }
    }
}

#[test]
fn r03_an_iterator_over_partitions_knows_where_it_is_after_any_moves() {
    let keys: Vec<String> = (0..40).map(|n| format!("key{n:03}")).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let options = TableOptions { metadata_block_size: 60, ..one_entry_per_partition(None) };
    let reader_options = ReaderOptions::default();
    let (table, entries) = build(&keys, &options, &KeyOrder::Bytewise, &reader_options);
    assert!(count(&table, BlockRole::IndexPartition) >= 4);

    let mut iter = table.iter();
    iter.seek(&entries[12].0).unwrap();
    iter.seek_to_last().unwrap();
    iter.seek(&entries[38].0).unwrap();
    assert_eq!(iter.key(), entries[38].0);
    iter.next().unwrap();
    assert_eq!(iter.key(), entries[39].0);
    // check_all moves one iterator in every order of {seek p1, seek p3, seek last, last, past end, first}.
    check_all(&table, &entries, "one entry a block");
}

#[test]
fn rocksdb_5139_short_seek_targets_are_user_keys() {
    let keys: Vec<Vec<u8>> = (0..=12).flat_map(|n| [vec![b'a'; n], vec![0; n]]).collect();
    let mut keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    keys.sort_unstable();
    keys.dedup();
    for format_version in 2..=7 {
        for index_type in IndexType::ALL {
            let layout = match index_type {
                IndexType::TwoLevel => FilterLayout::Partitioned,
                _ => FilterLayout::Full,
            };
            let restarts = if index_type == IndexType::HashSearch { 1 } else { 3 };
            let options = TableOptions {
                format_version,
                index_type,
                filter_layout: layout,
                index_block_restart_interval: restarts,
                prefix_extractor: Some(PrefixExtractor::Fixed(1)),
                ..one_entry_per_partition(None)
            };
            let reader_options = with_extractor(PrefixExtractor::Fixed(1));
            let (table, entries) = build(&keys, &options, &KeyOrder::Bytewise, &reader_options);
            let name = format!("version {format_version}, {index_type}");
            assert_eq!(table.index_format().user_keys, format_version >= 3, "{name}");
            check_all(&table, &entries, &name);
        }
    }
}

#[test]
fn rocksdb_10128_another_prefix_extractor_than_the_writers_changes_no_result() {
    let keys: Vec<String> = (0..500).map(|n| format!("{:03}{:05}", n % 50, n)).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    for index_type in [IndexType::HashSearch, IndexType::BinarySearch] {
        for whole_key_filtering in [true, false] {
            let options = TableOptions {
                index_type,
                index_block_restart_interval: 1,
                block_size: 200,
                filter_layout: FilterLayout::Full,
                whole_key_filtering,
                data_block_index: DataBlockIndex::BinaryAndHash { util_ratio: 0.75 },
                prefix_extractor: Some(PrefixExtractor::Fixed(3)),
                ..TableOptions::default()
            };
            for reader_options in [
                with_extractor(PrefixExtractor::Fixed(3)),
                with_extractor(PrefixExtractor::Fixed(5)),
                with_extractor(PrefixExtractor::Capped(4)),
                ReaderOptions::default(),
            ] {
                let (table, entries) = build(&keys, &options, &KeyOrder::Bytewise, &reader_options);
                check_all(&table, &entries, "other extractor");
                // The extractor that the file records decides what its filter is asked.
                let mut ctx = ReadContext::default();
                assert!(!table.prefix_may_match(b"777x", &mut ctx).unwrap());
                assert!(table.prefix_may_match(b"049", &mut ctx).unwrap());
            }
        }
    }
}

#[test]
fn rocksdb_3836_reverse_order_with_shortened_separators() {
    let keys: &[&[u8]] = &[
        b"abc3xyz",
        b"abc2",
        b"abc2xyz",
        b"abc",
        b"ab",
        b"a",
        b"",
        b"abc3",
        b"abc4",
        b"\xff\xff",
        b"\xff",
        b"\0",
        b"b",
        b"abc2xyy",
    ];
    for index_type in [IndexType::BinarySearch, IndexType::TwoLevel] {
        for format_version in [2, 5] {
            let filter_layout = match index_type {
                IndexType::TwoLevel => FilterLayout::Partitioned,
                _ => FilterLayout::Full,
            };
            let options = TableOptions {
                index_type,
                filter_layout,
                format_version,
                ..one_entry_per_partition(None)
            };
            let reader_options = ReaderOptions::default();
            let (table, entries) =
                build(keys, &options, &KeyOrder::ReverseBytewise, &reader_options);
            assert_eq!(*table.key_order(), KeyOrder::ReverseBytewise);
            assert_eq!(entries[0].0[..2], *b"\xff\xff");
            check_all(&table, &entries, "reverse");
        }
    }
}
