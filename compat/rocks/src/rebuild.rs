//! The same table written by Partita, to compare blocks with RocksDB's.

use std::path::Path;

use partita::filter::FilterPolicy;
use partita::io::{DiskFile, DiskWriter, RandomAccessFile};
use partita::key::{KeyOrder, PrefixExtractor};
use partita::options::{
    CompressionOptions, DataBlockIndex, FilterLayout, IndexShortening, IndexType, TableOptions,
};
use partita::table::{
    BlockRole, ReadContext, ReaderOptions, TableBuilder, TableContext, TableReader,
};
use partita::util::checksum::ChecksumType;
use partita::util::compression::CompressionType;
use partita_testkit::table_check::open;

use crate::Row;
use crate::matrix::Case;

/// Our options for what a case's option string asks of RocksDB; without compression.
fn table_options(case: &Case) -> TableOptions {
    let text = |name: &str| case.table_option(name);
    let number = |name: &str, default: usize| {
        text(name).map_or(default, |value| value.parse().expect("the matrix holds numbers"))
    };
    let is_on = |name: &str| text(name).is_some_and(|value| value == "true");
    let format_version = u32::try_from(number("format_version", 5)).expect("versions are small");
    let named = text("index_type").unwrap_or_else(|| "kBinarySearch".to_owned());
    let index_type = IndexType::ALL.into_iter().find(|kind| kind.as_str() == named);
    let filter_layout = match (is_on("partition_filters"), is_on("decouple_partitioned_filters")) {
        (false, _) => FilterLayout::Full,
        (true, false) => FilterLayout::PartitionedWithIndex,
        (true, true) => FilterLayout::Partitioned,
    };
    let policy = text("filter_policy").unwrap_or_default();
    TableOptions {
        // Values apart are for 7 only where we write; the filter is the same from 5 on.
        format_version: if is_on("separate_key_value_in_data_block") { 7 } else { format_version },
        allow_obsolete_formats: true,
        checksum: ChecksumType::Crc32c, // the only one that every format version knows
        block_size: number("block_size", 4096),
        block_restart_interval: number("block_restart_interval", 16),
        use_delta_encoding: text("use_delta_encoding").is_none_or(|value| value == "true"),
        data_block_index: match text("data_block_index_type").as_deref() {
            Some("kDataBlockBinaryAndHash") => DataBlockIndex::BinaryAndHash {
                util_ratio: text("data_block_hash_table_util_ratio")
                    .map_or(0.75, |ratio| ratio.parse().expect("the matrix holds numbers")),
            },
            _ => DataBlockIndex::BinarySearch,
        },
        separate_key_value_in_data_block: is_on("separate_key_value_in_data_block"),
        block_align: is_on("block_align"),
        index_type: index_type.expect("the matrix holds known index types"),
        index_block_restart_interval: match index_type {
            Some(IndexType::HashSearch) => 1,
            _ => number("index_block_restart_interval", 1),
        },
        index_shortening: match text("index_shortening").as_deref() {
            Some("kNoShortening") => IndexShortening::None,
            Some("kShortenSeparatorsAndSuccessor") => IndexShortening::SeparatorsAndSuccessor,
            _ => IndexShortening::Separators,
        },
        metadata_block_size: number("metadata_block_size", 4096),
        filter_policy: FilterPolicy::parse(&policy).expect("the matrix holds known policies"),
        filter_layout,
        whole_key_filtering: text("whole_key_filtering").is_none_or(|value| value == "true"),
        prefix_extractor: prefix_extractor(&case.family),
        compression: CompressionOptions::new(CompressionType::None),
        ..TableOptions::default()
    }
}

fn prefix_extractor(family: &str) -> Option<PrefixExtractor> {
    let (_, rest) = family.split_once("prefix_extractor=")?;
    let (kind, len) = rest.split(';').next()?.split_once(':')?;
    let len = len.parse().ok()?;
    Some(match kind {
        "capped" => PrefixExtractor::Capped(len),
        _ => PrefixExtractor::Fixed(len),
    })
}

/// Writes the table's point entries with Partita and compares the filter blocks; returns how many were equal, byte by
/// byte.
///
/// * Errors: in words, which block differs.
///
/// Data blocks must be cut alike for partitions to be, so the case has no compression.
pub fn compare_filters(
    case: &Case,
    sst: &Path,
    entries: &[Row],
    scratch: &Path,
) -> Result<usize, String> {
    let name = &case.name;
    let order = match case.family.contains("ReverseBytewise") {
        true => KeyOrder::ReverseBytewise,
        false => KeyOrder::Bytewise,
    };
    let path = scratch.join("rebuilt.sst");
    let file = DiskWriter::create(&path).expect("the file is new");
    let context = TableContext::default();
    let mut builder = TableBuilder::new(Box::new(file), table_options(case), order, context)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    for (key, value) in entries {
        builder.add(key, value).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    builder.finish().unwrap_or_else(|error| panic!("{name}: {error}"));
    let (theirs, ours) = (filter_blocks(sst), filter_blocks(&path));
    std::fs::remove_file(&path).expect("the file is there");
    let lens = |blocks: &[Vec<u8>]| blocks.iter().map(Vec::len).collect::<Vec<_>>();
    if let Some(i) = (0..theirs.len().max(ours.len())).find(|&i| theirs.get(i) != ours.get(i)) {
        let (their_lens, our_lens) = (lens(&theirs), lens(&ours));
        return Err(format!("{name}: filter block {i}; theirs {their_lens:?}, ours {our_lens:?}"));
    }
    Ok(theirs.len())
}

/// The contents of a table's filter and filter partitions, which are never compressed.
fn filter_blocks(path: &Path) -> Vec<Vec<u8>> {
    let table = open(path, &ReaderOptions::default()).expect("it was read before");
    let file = DiskFile::open(path).expect("it was read before");
    let is_filter = |role| matches!(role, BlockRole::Filter | BlockRole::FilterPartition);
    blocks_where(&table, &file, is_filter)
}

fn blocks_where(
    table: &TableReader,
    file: &DiskFile,
    wanted: impl Fn(BlockRole) -> bool,
) -> Vec<Vec<u8>> {
    let blocks = table.blocks(&mut ReadContext::default()).expect("it was verified before");
    blocks
        .iter()
        .filter(|block| wanted(block.role))
        .map(|block| {
            let mut contents = vec![0; usize::try_from(block.handle.size).expect("blocks fit")];
            file.read_exact_at(block.handle.offset, &mut contents).expect("it was read before");
            contents
        })
        .collect()
}
