use super::spec::{Effect, Kind, options};
use super::value::{Given, OptionValue};
use super::{CompressionOptions, DataBlockIndex, FilterLayout, IndexShortening, IndexType};
use crate::error::{Error, Result};
use crate::filter::{FilterLevel, FilterPolicy};
use crate::key::PrefixExtractor;
use crate::util::checksum::ChecksumType;
use crate::util::compression::CompressionType;

const TABLE: Effect = Effect::Honoured("table");
const BUDGET: Effect = Effect::NoEffect(
    "every piece of index and filter is in the one budget, kept by what it is worth",
);
const READ_AHEAD: Effect = Effect::NoEffect("read-ahead grows with a scan by itself");
const UDI: Effect = Effect::NoEffect("there is no other index than RocksDB's own");

/// Nothing acts on it, for that reason.
const fn no(why: &'static str) -> Effect {
    Effect::NoEffect(why)
}

options! {
    /// How a table is written: RocksDB's `BlockBasedTableOptions`, and what of `ColumnFamilyOptions` shapes a file.
    ///
    /// Names are RocksDB's. Defaults are Partita's: what keeps every piece of index and filter near 4 KiB, in a format
    /// that RocksDB 6.27 and later reads. A change takes effect with the next file.
    ///
    /// ```
    /// use partita::options::{FilterLayout, IndexType, TableOptions};
    ///
    /// let options = TableOptions { block_size: 64 << 10, ..TableOptions::default() };
    /// options.validate().unwrap();
    ///
    /// // Partitions of the filter need those of the index.
    /// let senseless = TableOptions { index_type: IndexType::BinarySearch, ..options };
    /// assert!(senseless.validate().unwrap_err().message().contains("filter_layout"));
    /// assert_eq!(senseless.filter_layout, FilterLayout::Partitioned);
    /// ```
    pub struct TableOptions;
    fields {
        /// Version of the file format, 2 to 7. Default 5, the last that RocksDB before 8.6 reads; RocksDB 11: 7.
        /// Versions 0 and 1, which RocksDB 11 no longer reads, need [`TableOptions::allow_obsolete_formats`].
        format_version: u32 = 5, rocksdb "7" because "RocksDB before 8.6 reads no later one", since "6.2", TABLE;
        /// Checksum of blocks. Default XXH3, the fastest; RocksDB before 6.27 needs CRC32C.
        checksum: ChecksumType = ChecksumType::Xxh3, rocksdb "kXXH3", since "6.2", TABLE;
        /// Bytes at which a data block is closed, before compression. Default 4,096: a point read fetches and
        /// decompresses no more than it must. Larger blocks compress better and need fewer index entries. 1 byte to
        /// 4 GiB.
        block_size: usize = 4096, rocksdb "4096", in 1 to u32::MAX, since "6.2", TABLE;
        /// A block is closed early if it is within this share of its size, in percent, and the next entry would not
        /// fit. Default 10; 0 closes blocks only when they are full. 0 to 100.
        block_size_deviation: u32 = 10, rocksdb "10", in 0 to 100, since "6.2", TABLE;
        /// Entries of a data block between two keys stored whole. Default 16. At least 1.
        block_restart_interval: usize = 16, rocksdb "16", in 1 to i32::MAX, since "6.2", TABLE;
        /// Whether a key in a data block leaves out what it shares with the one before. Default true.
        use_delta_encoding: bool = true, rocksdb "true", since "9.8", TABLE;
        /// Whether data blocks hold all keys before all values. Default false: only RocksDB 11.0 and later reads it,
        /// so it needs format version 7.
        separate_key_value_in_data_block: bool = false, rocksdb "false", since "11.8", TABLE;
        /// Whether data blocks are padded to the lesser of `block_size` and 4 KiB. Default false. Only without
        /// compression, with a `block_size` that is a power of two.
        block_align: bool = false, rocksdb "false", since "6.2", TABLE;
        /// Bytes of a region that a data block should not straddle; 0 (default): none. A power of two.
        super_block_alignment_size: usize = 0, rocksdb "0", since "11.8", TABLE;
        /// Padding for that is less than this fraction of the region: 128 (default) spends below 1/128; 0 never pads.
        /// Not 1 to 3.
        super_block_alignment_space_overhead_ratio: usize = 128, rocksdb "128", since "11.8", TABLE;
        /// Layout of the index. Default two-level: an index piece is read and cached in about 4 KiB, however large the
        /// file. RocksDB: binary search.
        index_type: IndexType = IndexType::TwoLevel, rocksdb "kBinarySearch"
            because "an index piece is read and cached in about 4 KiB, however large the file", since "6.2", TABLE;
        /// Entries of an index block between two keys stored whole. Default 8: with delta-encoded values (format
        /// version 4) an index of 16-byte keys takes under half of what 1 takes, and so twice as much of it stays in
        /// memory, while a search steps over 4 entries on average. RocksDB: 1. At least 1; the hash index needs 1.
        index_block_restart_interval: usize = 8, rocksdb "1" because "an index takes less than half the memory",
            in 1 to i32::MAX, since "6.2", TABLE;
        /// How index keys are shortened. Default separators.
        index_shortening: IndexShortening = IndexShortening::Separators, rocksdb "kShortenSeparators", since "6.2", TABLE;
        /// Bytes at which a partition of the index or the filter is closed. Default 4,096. 1 byte to 4 GiB.
        metadata_block_size: usize = 4096, rocksdb "4096", in 1 to u32::MAX, since "6.2", TABLE;
        /// Whether index blocks are compressed like data blocks. Default true.
        enable_index_compression: bool = true, rocksdb "true", since "6.2", TABLE;
        /// Whether the filter holds whole keys. Default true; false leaves only prefixes.
        whole_key_filtering: bool = true, rocksdb "true", since "6.2", TABLE;
    }
    beside {
        /// Permits format versions 0 and 1, for tests of old readers and of our own. Default false.
        allow_obsolete_formats: bool = false;
        /// How keys are found inside data blocks. Default binary search.
        data_block_index: DataBlockIndex = DataBlockIndex::BinarySearch;
        /// The filter. Default Bloom with 10 bits a key: about 1 % false positives.
        filter_policy: Option<FilterPolicy> = Some(FilterPolicy::Bloom { bits_per_key: 10.0 });
        /// Layout of the filter. Default partitioned; RocksDB: full.
        filter_layout: FilterLayout = FilterLayout::Partitioned;
        /// What takes the prefix out of a key, for the filter and the hash index. Default none.
        prefix_extractor: Option<PrefixExtractor> = None;
        /// How blocks are compressed.
        compression: CompressionOptions = CompressionOptions::default();
    }
    rows {
        /// How keys are found inside data blocks.
        "data_block_index_type": Kind::Choice(&["kDataBlockBinarySearch", "kDataBlockBinaryAndHash"]),
            rocksdb "kDataBlockBinarySearch", since "6.2", TABLE,
            set |table, given| {
                let hash = match table.data_block_index {
                    DataBlockIndex::BinarySearch => DataBlockIndex::BinaryAndHash { util_ratio: HASH_UTIL_RATIO },
                    hash => hash,
                };
                table.data_block_index = given.one_of([
                    ("kDataBlockBinarySearch", DataBlockIndex::BinarySearch),
                    ("kDataBlockBinaryAndHash", hash),
                ])?;
                Ok(())
            },
            get |table| match table.data_block_index {
                DataBlockIndex::BinarySearch => "kDataBlockBinarySearch".to_owned(),
                DataBlockIndex::BinaryAndHash { .. } => "kDataBlockBinaryAndHash".to_owned(),
            };
        /// Keys for each bucket of the hash table in data blocks.
        "data_block_hash_table_util_ratio": Kind::Decimal, rocksdb "0.750000", since "6.2", TABLE,
            set |table, given| {
                let ratio = given.decimal()?;
                if let DataBlockIndex::BinaryAndHash { util_ratio } = &mut table.data_block_index {
                    *util_ratio = ratio;
                }
                Ok(())
            },
            get |table| match table.data_block_index {
                DataBlockIndex::BinarySearch => HASH_UTIL_RATIO.print(),
                DataBlockIndex::BinaryAndHash { util_ratio } => util_ratio.print(),
            };
        /// The filter.
        "filter_policy": Kind::Object, rocksdb "nullptr" because "most lookups of absent keys read no data block",
            since "6.2", TABLE,
            set |table, given| {
                // Bits are kept as they are printed, and so as they are read again.
                let asked = FilterPolicy::parse(given.value)?.map(|policy| policy.to_string());
                table.filter_policy = asked.map_or(Ok(None), |text| FilterPolicy::parse(&text))?;
                Ok(())
            },
            get |table| table.filter_policy.as_ref().map_or("nullptr".to_owned(), ToString::to_string);
        /// Whether the filter is cut into partitions.
        "partition_filters": Kind::Switch, rocksdb "false" because "a filter piece is read and cached in about 4 KiB",
            since "6.2", TABLE,
            set |table, given| {
                let partitioned = match table.filter_layout {
                    FilterLayout::Full => FilterLayout::Partitioned,
                    partitioned => partitioned,
                };
                table.filter_layout = if given.switch()? { partitioned } else { FilterLayout::Full };
                Ok(())
            },
            get |table| (table.filter_layout != FilterLayout::Full).print();
        /// Whether partitions of the filter are cut by their own size, not where the index is cut.
        "decouple_partitioned_filters": Kind::Switch, rocksdb "true", since "9.8", TABLE,
            set |table, given| {
                let on = given.switch()?;
                if table.filter_layout != FilterLayout::Full {
                    table.filter_layout = match on {
                        true => FilterLayout::Partitioned,
                        false => FilterLayout::PartitionedWithIndex,
                    };
                }
                Ok(())
            },
            get |table| (table.filter_layout != FilterLayout::PartitionedWithIndex).print();
    }
    carried {
        block_cache: Kind::Object, "nullptr", since "6.2", Effect::RuntimeObject("the budget is the caller's `Cache`, whatever a file says"),
            "The cache of blocks, or its bytes.";
        persistent_cache: Kind::Object, "nullptr", since "6.2", Effect::RuntimeObject("there is one cache, in memory"), "A cache on a device.";
        cache_index_and_filter_blocks: Kind::Switch, "false", since "6.2", BUDGET, "Keeps index and filter in the block cache.";
        cache_index_and_filter_blocks_with_high_priority: Kind::Switch, "true", since "6.2", BUDGET, "Evicts data blocks before them.";
        detect_filter_construct_corruption: Kind::Switch, "false", since "7.4", no("`paranoid_file_checks` reads tables back"), "Checks filters while building.";
        fail_if_no_udi_on_open: Kind::Switch, "false", since "11.8", UDI, "Refuses tables without the other index.";
        flush_block_policy_factory: Kind::Object, "FlushBlockBySizePolicyFactory", since "6.2", Effect::RuntimeObject("blocks are cut by size"), "Cuts data blocks.";
        index_block_search_type: Kind::Choice(&["kBinary", "kInterpolation", "kAuto"]), "kBinary", since "11.8", no("an index is searched by the first eight bytes of its keys"), "How index blocks are searched.";
        initial_auto_readahead_size: Kind::U64, "8192", since "7.4", READ_AHEAD, "The first bytes read ahead.";
        max_auto_readahead_size: Kind::U64, "262144", since "6.20", READ_AHEAD, "The most bytes read ahead.";
        metadata_cache_options: PINNING, "{unpartitioned_pinning=kFallback;partition_pinning=kFallback;top_level_index_pinning=kFallback;}",
            since "6.20", BUDGET, "Which pieces of index and filter stay in the cache.";
        no_block_cache: Kind::Switch, "false", since "6.2", no("there is one cache, the caller's; a small one does the same"), "Reads without a cache.";
        num_file_reads_for_auto_readahead: Kind::U64, "2", since "7.8", READ_AHEAD, "Reads after which reading ahead begins.";
        optimize_filters_for_memory: Kind::Switch, "true", since "6.20", no("filters are sized exactly"), "Sizes filters by what the allocator gives.";
        pin_l0_filter_and_index_blocks_in_cache: Kind::Switch, "false", since "6.2", BUDGET, "Keeps index and filter of level 0 in the cache.";
        pin_top_level_index_and_filter: Kind::Switch, "true", since "6.2", BUDGET, "Keeps top levels in the cache.";
        prepopulate_block_cache: Kind::Choice(&["kDisable", "kFlushOnly", "kFlushAndCompaction"]), "kDisable", since "6.28",
            no("blocks enter the cache when they are read"), "Warms the cache with new blocks.";
        read_amp_bytes_per_bit: Kind::U32, "0", since "6.2", no("what a read costs is counted by role"), "Estimates which bytes of blocks are used.";
        uniform_cv_threshold: Kind::Decimal, "-1.000000", since "11.8", no("an index is searched by the first eight bytes of its keys"), "When an index block is marked as evenly spread.";
        use_udi_as_primary_index: Kind::Switch, "false", since "11.8", UDI, "Writes the other index only.";
        user_defined_index_factory: Kind::Object, "nullptr", since "11.8", UDI, "Makes an index of the application's.";
        verify_compression: Kind::Switch, "false", since "6.2", no("`paranoid_file_checks` reads tables back"), "Decompresses each block after it was compressed.";
    }
}

/// RocksDB's default for `data_block_hash_table_util_ratio`.
const HASH_UTIL_RATIO: f64 = 0.75;
const TIER: Kind = Kind::Choice(&["kFallback", "kNone", "kFlushedAndSimilar", "kAll"]);
const PINNING: Kind = Kind::Struct(&[
    ("unpartitioned_pinning", TIER),
    ("partition_pinning", TIER),
    ("top_level_index_pinning", TIER),
]);

macro_rules! named_values {
    ($($type:ty: [$($word:literal: $value:expr,)*];)*) => {$(
        impl OptionValue for $type {
            const KIND: Kind = Kind::Choice(&[$($word),*]);

            fn assign(&mut self, given: Given<'_>) -> Result<()> {
                *self = given.one_of([$(($word, $value)),*])?;
                Ok(())
            }

            fn print(&self) -> String {
                let known = [$(($word, $value)),*];
                let found = known.iter().find(|(_, value)| value == self);
                found.map_or("", |(word, _)| word).to_owned()
            }
        }
    )*};
}

named_values! {
    ChecksumType: [
        "kNoChecksum": ChecksumType::None,
        "kCRC32c": ChecksumType::Crc32c,
        "kxxHash": ChecksumType::XxHash,
        "kxxHash64": ChecksumType::XxHash64,
        "kXXH3": ChecksumType::Xxh3,
    ];
    IndexType: [
        "kBinarySearch": IndexType::BinarySearch,
        "kHashSearch": IndexType::HashSearch,
        "kTwoLevelIndexSearch": IndexType::TwoLevel,
        "kBinarySearchWithFirstKey": IndexType::BinarySearchWithFirstKey,
    ];
    IndexShortening: [
        "kNoShortening": IndexShortening::None,
        "kShortenSeparators": IndexShortening::Separators,
        "kShortenSeparatorsAndSuccessor": IndexShortening::SeparatorsAndSuccessor,
    ];
}

/// Greatest format version that is written.
const FORMAT_VERSION_MAX: u32 = 7;
/// Page size that `block_align` and super blocks go by.
pub(crate) const ALIGNMENT_MAX: usize = 4096;

impl TableOptions {
    /// The defaults with another compression, at its default level.
    pub fn with_compression(kind: CompressionType) -> Self {
        Self { compression: CompressionOptions::new(kind), ..Self::default() }
    }

    /// The defaults for a table of a leveled tree: ZSTD on the last level, where most of the data lies and stays, LZ4
    /// above it, where data is soon written again.
    ///
    /// * `last_level`: the number of the last level. A tree of level 0 alone is written with LZ4.
    ///
    /// ```
    /// use partita::filter::FilterLevel;
    /// use partita::options::TableOptions;
    /// use partita::util::compression::CompressionType;
    ///
    /// let kind = |level| TableOptions::for_level(level, 6).compression.kind;
    /// assert_eq!(kind(FilterLevel::Flush), CompressionType::Lz4);
    /// assert_eq!(kind(FilterLevel::Level(5)), CompressionType::Lz4);
    /// assert_eq!(kind(FilterLevel::Level(6)), CompressionType::Zstd);
    /// ```
    pub fn for_level(level: FilterLevel, last_level: i32) -> Self {
        match level {
            FilterLevel::Level(level) if last_level > 0 && level >= last_level => {
                Self::with_compression(CompressionType::Zstd)
            }
            _ => Self::default(),
        }
    }

    /// What RocksDB writes by default, format version aside: one index block, no filter, Snappy. For comparisons.
    pub fn rocksdb_defaults() -> Self {
        Self {
            index_type: IndexType::BinarySearch,
            index_block_restart_interval: 1,
            filter_policy: None,
            filter_layout: FilterLayout::Full,
            ..Self::with_compression(CompressionType::Snappy)
        }
    }

    /// Whether index values are delta-encoded.
    pub(crate) fn delta_encodes_index_values(&self) -> bool {
        self.format_version >= 4 && !self.block_align
    }

    /// Judges the options, each alone and in combination.
    ///
    /// * Errors: `InvalidArgument`, naming the options that are out of range or senseless together.
    pub fn validate(&self) -> Result<()> {
        self.validate_format()?;
        self.validate_data_blocks()?;
        self.validate_alignment()?;
        self.validate_index_and_filter()?;
        self.compression.validate()
    }

    fn validate_format(&self) -> Result<()> {
        let version = self.format_version;
        let oldest = if self.allow_obsolete_formats { 0 } else { 2 };
        require((oldest..=FORMAT_VERSION_MAX).contains(&version), || {
            format!("format_version = {version}, expected {oldest} to {FORMAT_VERSION_MAX}")
        })?;
        require(version > 0 || self.checksum == ChecksumType::Crc32c, || {
            format!("format_version = 0 with checksum {}; it knows kCRC32c only", self.checksum)
        })
    }

    fn validate_data_blocks(&self) -> Result<()> {
        for (name, value) in
            [("block_size", self.block_size), ("metadata_block_size", self.metadata_block_size)]
        {
            require(u32::try_from(value).is_ok_and(|value| value > 0), || {
                format!("{name} = {value}, expected 1 to {}", u32::MAX)
            })?;
        }
        require(self.block_size_deviation <= 100, || {
            format!("block_size_deviation = {}, expected 0 to 100", self.block_size_deviation)
        })?;
        for (name, value) in [
            ("block_restart_interval", self.block_restart_interval),
            ("index_block_restart_interval", self.index_block_restart_interval),
        ] {
            require(value > 0 && i32::try_from(value).is_ok(), || {
                format!("{name} = {value}, expected 1 to {}", i32::MAX)
            })?;
        }
        if let DataBlockIndex::BinaryAndHash { util_ratio } = self.data_block_index {
            require(util_ratio > 0.0 && util_ratio.is_finite(), || {
                format!("data_block_index util_ratio = {util_ratio}, expected more than 0")
            })?;
        }
        require(!self.separate_key_value_in_data_block || self.format_version >= 7, || {
            format!(
                "separate_key_value_in_data_block with format_version = {}: readers of that version refuse such blocks, \
                 it needs 7",
                self.format_version
            )
        })
    }

    fn validate_alignment(&self) -> Result<()> {
        if self.block_align {
            require(self.compression.kind == CompressionType::None, || {
                format!("block_align with compression {}", self.compression.kind)
            })?;
            require(self.block_size.is_power_of_two(), || {
                format!("block_align with block_size = {}, which is no power of 2", self.block_size)
            })?;
            require(self.super_block_alignment_size == 0, || {
                "block_align with super_block_alignment_size".to_owned()
            })?;
        }
        let size = self.super_block_alignment_size;
        require(size == 0 || size.is_power_of_two() && u32::try_from(size).is_ok(), || {
            format!("super_block_alignment_size = {size}, expected a power of 2 below 4 GiB")
        })?;
        let ratio = self.super_block_alignment_space_overhead_ratio;
        require(!(1..4).contains(&ratio), || {
            format!(
                "super_block_alignment_space_overhead_ratio = {ratio}, expected 0 or at least 4"
            )
        })
    }

    fn validate_index_and_filter(&self) -> Result<()> {
        if self.index_type == IndexType::HashSearch {
            require(self.prefix_extractor.is_some(), || {
                "index_type kHashSearch without prefix_extractor".to_owned()
            })?;
            require(self.index_block_restart_interval == 1, || {
                format!(
                    "index_type kHashSearch with index_block_restart_interval = {}, it needs 1",
                    self.index_block_restart_interval
                )
            })?;
        }
        let partitioned = self.filter_layout != FilterLayout::Full;
        require(
            self.filter_policy.is_none() || !partitioned || self.index_type == IndexType::TwoLevel,
            || {
                format!(
                    "index_type = {} with filter_layout {:?}: partitioned filters need index_type={}; set \
                     partition_filters=false for a full filter",
                    self.index_type,
                    self.filter_layout,
                    IndexType::TwoLevel
                )
            },
        )?;
        require(
            self.filter_policy.is_none()
                || self.whole_key_filtering
                || self.prefix_extractor.is_some(),
            || "filter_policy with neither whole_key_filtering nor prefix_extractor".to_owned(),
        )
    }
}

fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::invalid_argument(otherwise())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut TableOptions);

    fn refusal(change: impl FnOnce(&mut TableOptions)) -> String {
        let mut options = TableOptions::default();
        change(&mut options);
        options.validate().unwrap_err().message().to_owned()
    }

    #[test]
    fn the_defaults_are_valid_and_stay_what_the_documents_promise() {
        let options = TableOptions::default();
        options.validate().unwrap();
        TableOptions::rocksdb_defaults().validate().unwrap();
        TableOptions::with_compression(CompressionType::Zstd).validate().unwrap();
        assert_eq!(options.format_version, 5);
        assert_eq!(options.index_type, IndexType::TwoLevel);
        assert_eq!(options.filter_layout, FilterLayout::Partitioned);
        assert_eq!(options.filter_policy, Some(FilterPolicy::Bloom { bits_per_key: 10.0 }));
        assert_eq!((options.block_size, options.metadata_block_size), (4096, 4096));
        assert_eq!(options.checksum, ChecksumType::Xxh3);
        assert_eq!(options.compression.kind, CompressionType::Lz4);
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        let cases: [(&str, Change); 12] = [
            ("format_version = 8", |o| o.format_version = 8),
            ("format_version = 1", |o| o.format_version = 1),
            ("block_size = 0", |o| o.block_size = 0),
            ("metadata_block_size = 0", |o| o.metadata_block_size = 0),
            ("block_size_deviation = 101", |o| o.block_size_deviation = 101),
            ("block_restart_interval = 0", |o| o.block_restart_interval = 0),
            ("index_block_restart_interval = 0", |o| o.index_block_restart_interval = 0),
            ("util_ratio = 0", |o| {
                o.data_block_index = DataBlockIndex::BinaryAndHash { util_ratio: 0.0 };
            }),
            ("super_block_alignment_size = 3", |o| o.super_block_alignment_size = 3),
            ("space_overhead_ratio = 3", |o| o.super_block_alignment_space_overhead_ratio = 3),
            ("max_compressed_bytes_per_kb = 0", |o| o.compression.max_compressed_bytes_per_kb = 0),
            ("max_dict_buffer_bytes", |o| {
                o.compression.max_dict_bytes = 100;
                o.compression.max_dict_buffer_bytes = 0;
            }),
        ];
        for (name, change) in cases {
            let message = refusal(change);
            assert!(message.contains(name), "{message:?} does not say {name:?}");
        }
    }

    #[test]
    fn senseless_combinations_are_refused_by_name() {
        let cases: [(&str, &str, Change); 9] = [
            ("index_type=kTwoLevelIndexSearch", "partition_filters=false", |o| {
                o.index_type = IndexType::BinarySearch;
            }),
            ("kHashSearch", "prefix_extractor", |o| {
                o.index_type = IndexType::HashSearch;
                o.index_block_restart_interval = 1;
            }),
            ("kHashSearch", "index_block_restart_interval", |o| {
                o.index_type = IndexType::HashSearch;
                o.prefix_extractor = Some(PrefixExtractor::Fixed(4));
            }),
            ("block_align", "lz4", |o| o.block_align = true),
            ("block_align", "power of 2", |o| {
                o.block_align = true;
                o.compression.kind = CompressionType::None;
                o.block_size = 3000;
            }),
            ("separate_key_value", "format_version = 5", |o| {
                o.separate_key_value_in_data_block = true;
            }),
            ("whole_key_filtering", "prefix_extractor", |o| o.whole_key_filtering = false),
            ("max_dict_bytes", "snappy", |o| {
                o.compression.kind = CompressionType::Snappy;
                o.compression.max_dict_bytes = 4096;
            }),
            ("zstd_max_train_bytes", "ZSTD", |o| o.compression.zstd_max_train_bytes = 4096),
        ];
        for (first, second, change) in cases {
            let message = refusal(change);
            assert!(
                message.contains(first) && message.contains(second),
                "{message:?}: {first}, {second}"
            );
        }
    }

    #[test]
    fn levels_outside_of_the_algorithms_range_are_refused_with_the_range() {
        let validate = |kind, level| {
            let mut options = TableOptions::with_compression(kind);
            options.compression.level = level;
            options.validate()
        };
        for (kind, below, lowest, highest) in [
            (CompressionType::Zstd, -131_073, -131_072, 22),
            (CompressionType::Zlib, -2, -1, 9),
            (CompressionType::Lz4hc, -2, -1, 12),
        ] {
            for level in [below, highest + 1, 99] {
                let error = validate(kind, level).unwrap_err();
                let range = format!("expected {lowest} to {highest}");
                assert!(error.message().contains(&range), "{error}");
                assert!(error.message().contains(&level.to_string()), "{error}");
            }
            for level in [lowest, highest, 32_767] {
                validate(kind, level).unwrap();
            }
        }
        validate(CompressionType::Lz4, 99).unwrap();
    }

    #[test]
    fn obsolete_formats_need_a_word_of_consent() {
        let mut options = TableOptions { allow_obsolete_formats: true, ..TableOptions::default() };
        options.format_version = 1;
        options.validate().unwrap();
        options.format_version = 0;
        assert!(options.validate().unwrap_err().message().contains("kCRC32c"));
        options.checksum = ChecksumType::Crc32c;
        options.validate().unwrap();
    }
}
