//! RocksDB's settings, spelt as C++, Java, options files and a bookie's configuration spell them.

use crate::cache::{CacheKind, CacheModel};
use crate::finding::Setting;

/// The options file of a bookie's index: settings for which `bk_server.conf` has no key.
const BOOKIE_FILE: &str = "entry_location_rocksdb.conf";

/// A setting of tables.
fn table(option: &str, value: &str, java: &str) -> Setting {
    let line = format!("{option}={value}");
    Setting {
        cpp: format!("BlockBasedTableOptions::{option} = {}", cpp_value(option, value)),
        java: format!("BlockBasedTableConfig.{java}"),
        bookie: Some(format!("{BOOKIE_FILE}: {line}")),
        options_file: Some(line),
    }
}

fn cpp_value(option: &str, value: &str) -> String {
    match option {
        "index_type" => format!("BlockBasedTableOptions::{value}"),
        "filter_policy" => {
            "std::shared_ptr<const FilterPolicy>(NewBloomFilterPolicy(10))".to_owned()
        }
        _ => value.to_owned(),
    }
}

/// Index and filter in partitions of 4 KiB.
pub(crate) fn partitions() -> Vec<Setting> {
    vec![
        two_level_index(),
        table("partition_filters", "true", "setPartitionFilters(true)"),
        table("metadata_block_size", "4096", "setMetadataBlockSize(4096)"),
        cache_metadata(true),
        table("pin_top_level_index_and_filter", "true", "setPinTopLevelIndexAndFilter(true)"),
    ]
}

/// The two-level index, without which filters are not cut.
pub(crate) fn two_level_index() -> Setting {
    table("index_type", "kTwoLevelIndexSearch", "setIndexType(IndexType.kTwoLevelIndexSearch)")
}

/// A Bloom filter of 10 bits a key.
pub(crate) fn bloom_filter() -> Setting {
    let mut setting =
        table("filter_policy", "bloomfilter:10:false", "setFilterPolicy(new BloomFilter(10))");
    setting.cpp =
        "BlockBasedTableOptions::filter_policy.reset(NewBloomFilterPolicy(10))".to_owned();
    setting.bookie = Some("bk_server.conf: dbStorage_rocksDB_bloomFilterBitsPerKey=10".to_owned());
    setting
}

/// Whole keys in the filter.
pub(crate) fn whole_keys() -> Setting {
    table("whole_key_filtering", "true", "setWholeKeyFiltering(true)")
}

/// The format version.
pub(crate) fn format_version(version: u32) -> Setting {
    let java = format!("setFormatVersion({version})");
    let mut setting = table("format_version", &version.to_string(), &java);
    setting.bookie = Some(format!("bk_server.conf: dbStorage_rocksDB_format_version={version}"));
    setting
}

/// No filter on the last level.
pub(crate) fn no_filter_on_last_level() -> Setting {
    Setting {
        cpp: "ColumnFamilyOptions::optimize_filters_for_hits = true".to_owned(),
        java: "ColumnFamilyOptions.setOptimizeFiltersForHits(true)".to_owned(),
        options_file: Some("optimize_filters_for_hits=true".to_owned()),
        bookie: Some(format!("{BOOKIE_FILE}: optimize_filters_for_hits=true")),
    }
}

/// Index and filter in the block cache, or beside it.
pub(crate) fn cache_metadata(on: bool) -> Setting {
    let java = format!("setCacheIndexAndFilterBlocks({on})");
    table("cache_index_and_filter_blocks", if on { "true" } else { "false" }, &java)
}

/// A cache of that size and kind; with so many shards, if they are not to be RocksDB's choice.
pub(crate) fn cache(kind: CacheKind, bytes: u64, shard_bits: Option<u32>) -> Setting {
    let bits = shard_bits.map_or("-1".to_owned(), |bits| bits.to_string());
    let (cpp, java) = match kind {
        CacheKind::Lru => {
            (format!("NewLRUCache({bytes}, {bits})"), format!("new LRUCache({bytes}L, {bits})"))
        }
        CacheKind::HyperClock => (
            format!("HyperClockCacheOptions({bytes}, 0, {bits}).MakeSharedCache()"),
            format!("new HyperClockCache({bytes}L, 0, {bits}, false)"),
        ),
    };
    Setting {
        cpp: format!("BlockBasedTableOptions::block_cache = {cpp}"),
        java: format!("BlockBasedTableConfig.setBlockCache({java})"),
        // Files know a number of bytes alone, and make an LRU cache with default shards of it.
        options_file: (kind == CacheKind::Lru && shard_bits.is_none())
            .then(|| format!("block_cache={bytes}")),
        bookie: (kind == CacheKind::Lru && shard_bits.is_none())
            .then(|| format!("bk_server.conf: dbStorage_rocksDB_blockCacheSize={bytes}")),
    }
}

/// The same cache with more bytes.
pub(crate) fn cache_like(model: &CacheModel, bytes: u64) -> Setting {
    cache(model.kind, bytes, model.fixed_bits)
}
