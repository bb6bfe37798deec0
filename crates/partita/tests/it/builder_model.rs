//! Random tables with random options, read in every way against the sorted list they were made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita::filter::FilterPolicy;
use partita::io::{MemoryWriter, RandomAccessFile};
use partita::key::{InternalKey, KeyOrder, PrefixExtractor, SeqNo, ValueType};
use partita::options::{DataBlockIndex, FilterLayout, IndexShortening, IndexType, TableOptions};
use partita::table::{
    ReadContext, ReaderOptions, TableBuilder, TableContext, TableReader, TableSummary, verify_table,
};
use partita::util::checksum::ChecksumType;
use partita::util::compression::CompressionType;
use partita_testkit::table_check::check_all;
use proptest::prelude::*;
use proptest::sample::select;

fn blocks() -> impl Strategy<Value = TableOptions> {
    (
        2u32..=7,
        select(ChecksumType::ALL.to_vec()),
        select(vec![1usize, 40, 200, 1000, 4096]),
        0u32..=100,
        1usize..20,
        any::<bool>(),
        select(vec![None, Some(0.1), Some(0.75), Some(5.0)]),
        any::<bool>(),
    )
        .prop_map(
            |(version, checksum, block_size, deviation, restarts, shares, hash, apart)| {
                TableOptions {
                    format_version: version,
                    checksum,
                    block_size,
                    block_size_deviation: deviation,
                    block_restart_interval: restarts,
                    use_delta_encoding: shares,
                    data_block_index: hash.map_or(DataBlockIndex::BinarySearch, |util_ratio| {
                        DataBlockIndex::BinaryAndHash { util_ratio }
                    }),
                    separate_key_value_in_data_block: apart && version == 7,
                    ..TableOptions::default()
                }
            },
        )
}

pub(crate) fn options() -> impl Strategy<Value = TableOptions> {
    let index = (
        select(IndexType::ALL.to_vec()),
        1usize..20,
        select(vec![
            IndexShortening::None,
            IndexShortening::Separators,
            IndexShortening::SeparatorsAndSuccessor,
        ]),
        select(vec![1usize, 30, 100, 4096]),
        any::<bool>(),
    );
    let filter = (
        select(vec![
            None,
            Some(FilterPolicy::Bloom { bits_per_key: 1.0 }),
            Some(FilterPolicy::Bloom { bits_per_key: 12.0 }),
            Some(FilterPolicy::Bloom { bits_per_key: 100.0 }),
            Some(FilterPolicy::Ribbon { bits_per_key: 10.0, bloom_before_level: 0 }),
        ]),
        select(vec![
            FilterLayout::Full,
            FilterLayout::PartitionedWithIndex,
            FilterLayout::Partitioned,
        ]),
        any::<bool>(),
        select(vec![
            None,
            Some(PrefixExtractor::Fixed(2)),
            Some(PrefixExtractor::Capped(3)),
            Some(PrefixExtractor::Whole),
        ]),
    );
    let compression = (select(CompressionType::ALL.to_vec()), any::<bool>(), 1usize..3000);
    (blocks(), index, filter, compression).prop_map(|(mut options, index, filter, compression)| {
        (
            options.index_type,
            options.index_block_restart_interval,
            options.index_shortening,
            options.metadata_block_size,
            options.enable_index_compression,
        ) = index;
        let (policy, layout, whole_keys, extractor) = filter;
        options.whole_key_filtering = whole_keys || extractor.is_none();
        options.prefix_extractor = extractor;
        options.filter_policy = policy;
        options.filter_layout = match options.index_type {
            IndexType::TwoLevel => layout,
            _ => FilterLayout::Full,
        };
        if options.index_type == IndexType::HashSearch {
            options.index_block_restart_interval = 1;
            options.prefix_extractor.get_or_insert(PrefixExtractor::Fixed(1));
        }
        let (kind, has_dictionary, held) = compression;
        options.compression.kind = kind;
        if has_dictionary && kind.uses_dictionary() {
            options.compression.max_dict_bytes = 500;
            options.compression.max_dict_buffer_bytes = held;
        }
        options
    })
}

/// Short keys over few letters, so that versions, prefixes and neighbours occur.
pub(crate) fn user_key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(select(vec![b'a', b'b', 0x00, 0xff]), 0..5),
        1 => prop::collection::vec(any::<u8>(), 0..40),
    ]
}

pub(crate) fn entries() -> impl Strategy<Value = Vec<(Vec<u8>, u64, ValueType, Vec<u8>)>> {
    let value_type = select(vec![
        ValueType::Value,
        ValueType::Value,
        ValueType::Deletion,
        ValueType::SingleDeletion,
        ValueType::Merge,
    ]);
    let value = prop::collection::vec(select(vec![b'x', b'y', 0u8]), 0..30);
    prop::collection::vec((user_key(), 0u64..30, value_type, value), 0..150)
}

/// The entries as a table has them: one for each user key and sequence number, as in databases.
pub(crate) fn sorted(
    entries: Vec<(Vec<u8>, u64, ValueType, Vec<u8>)>,
    order: &KeyOrder,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let entries: BTreeMap<_, _> = entries
        .into_iter()
        .map(|(user_key, seqno, value_type, value)| ((user_key, seqno), (value_type, value)))
        .collect();
    let mut sorted: Vec<(Vec<u8>, Vec<u8>)> = entries
        .into_iter()
        .map(|((user_key, seqno), (value_type, value))| {
            let seqno = SeqNo::new(seqno).unwrap();
            (InternalKey::new(&user_key, seqno, value_type).encode(), value)
        })
        .collect();
    sorted.sort_by(|(a, _), (b, _)| order.compare_internal(a, b));
    sorted
}

/// A table of these entries, verified and opened.
pub(crate) fn build(
    options: TableOptions,
    order: &KeyOrder,
    sorted: &[(Vec<u8>, Vec<u8>)],
) -> (Arc<TableReader>, TableSummary) {
    let writer = MemoryWriter::new("model.sst");
    let context = TableContext::default();
    let mut builder =
        TableBuilder::new(Box::new(writer.clone()), options, order.clone(), context).unwrap();
    for (key, value) in sorted {
        builder.add(key, value).unwrap();
    }
    let summary = builder.finish().unwrap();
    let file: Arc<dyn RandomAccessFile> = Arc::new(writer.into_file());
    let comparators = match order {
        KeyOrder::Custom(comparator) => vec![Arc::clone(comparator)],
        _ => Vec::new(),
    };
    let reader_options = ReaderOptions { comparators, ..ReaderOptions::default() };
    let report = verify_table(&file, &reader_options, &mut |_| ());
    assert!(report.is_clean() && report.not_opened.is_none(), "{report:?}");
    assert_eq!(report.entries, sorted.len() as u64);
    let ctx = &mut ReadContext::default();
    let table = TableReader::open(file, &reader_options, ctx).unwrap();
    (Arc::new(table), summary)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_goes_in_comes_out(options in options(), entries in entries(), reverse in any::<bool>()) {
        let order = if reverse { KeyOrder::ReverseBytewise } else { KeyOrder::Bytewise };
        options.validate().unwrap();
        let sorted = sorted(entries, &order);
        let (table, summary) = build(options, &order, &sorted);
        prop_assert_eq!(summary.smallest.as_ref(), sorted.first().map(|entry| &entry.0));
        prop_assert_eq!(summary.largest.as_ref(), sorted.last().map(|entry| &entry.0));
        prop_assert_eq!(table.properties(), &summary.properties);
        check_all(&table, &sorted, "model");
    }
}
