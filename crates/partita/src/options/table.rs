use super::{CompressionOptions, DataBlockIndex, FilterLayout, IndexShortening, IndexType};
use crate::error::{Error, Result};
use crate::filter::{FilterLevel, FilterPolicy};
use crate::key::PrefixExtractor;
use crate::util::checksum::ChecksumType;
use crate::util::compression::CompressionType;

/// How a table is written: RocksDB's `BlockBasedTableOptions`, and what of `ColumnFamilyOptions` shapes a file.
///
/// Names are RocksDB's. Defaults are Partita's: what keeps every piece of index and filter near 4 KiB, in a format that
/// RocksDB 6.27 and later reads. A change takes effect with the next file.
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
#[derive(Clone, Debug, PartialEq)]
pub struct TableOptions {
    /// Version of the file format, 2 to 7. Default 5, the last that RocksDB before 8.6 reads; RocksDB 11: 7. Versions
    /// 0 and 1, which RocksDB 11 no longer reads, need [`TableOptions::allow_obsolete_formats`].
    pub format_version: u32,
    /// Permits format versions 0 and 1, for tests of old readers and of our own. Default false.
    pub allow_obsolete_formats: bool,
    /// Checksum of blocks. Default XXH3, the fastest; RocksDB before 6.27 needs CRC32C.
    pub checksum: ChecksumType,

    /// Bytes at which a data block is closed, before compression. Default 4,096: a point read fetches and decompresses
    /// no more than it must. Larger blocks compress better and need fewer index entries. 1 byte to 4 GiB.
    pub block_size: usize,
    /// A block is closed early if it is within this share of its size, in percent, and the next entry would not fit.
    /// Default 10; 0 closes blocks only when they are full. 0 to 100.
    pub block_size_deviation: u32,
    /// Entries of a data block between two keys stored whole. Default 16. At least 1.
    pub block_restart_interval: usize,
    /// Whether a key in a data block leaves out what it shares with the one before. Default true.
    pub use_delta_encoding: bool,
    /// How keys are found inside data blocks. Default binary search.
    pub data_block_index: DataBlockIndex,
    /// Whether data blocks hold all keys before all values. Default false: only RocksDB 11.0 and later reads it, so it
    /// needs format version 7.
    pub separate_key_value_in_data_block: bool,
    /// Whether data blocks are padded to the lesser of `block_size` and 4 KiB. Default false. Only without
    /// compression, with a `block_size` that is a power of two.
    pub block_align: bool,
    /// Bytes of a region that a data block should not straddle; 0 (default): none. A power of two.
    pub super_block_alignment_size: usize,
    /// Padding for that is less than this fraction of the region: 128 (default) spends below 1/128; 0 never pads. Not
    /// 1 to 3.
    pub super_block_alignment_space_overhead_ratio: usize,

    /// Layout of the index. Default two-level: an index piece is read and cached in about 4 KiB, however large the
    /// file. RocksDB: binary search.
    pub index_type: IndexType,
    /// Entries of an index block between two keys stored whole. Default 8: with delta-encoded values (format version
    /// 4) an index of 16-byte keys takes under half of what 1 takes, and so twice as much of it stays in memory, while
    /// a search steps over 4 entries on average. RocksDB: 1. At least 1; the hash index needs 1.
    pub index_block_restart_interval: usize,
    /// How index keys are shortened. Default separators.
    pub index_shortening: IndexShortening,
    /// Bytes at which a partition of the index or the filter is closed. Default 4,096. 1 byte to 4 GiB.
    pub metadata_block_size: usize,
    /// Whether index blocks are compressed like data blocks. Default true.
    pub enable_index_compression: bool,

    /// The filter. Default Bloom with 10 bits a key: about 1 % false positives.
    pub filter_policy: Option<FilterPolicy>,
    /// Layout of the filter. Default partitioned; RocksDB: full.
    pub filter_layout: FilterLayout,
    /// Whether the filter holds whole keys. Default true; false leaves only prefixes.
    pub whole_key_filtering: bool,
    /// What takes the prefix out of a key, for the filter and the hash index. Default none.
    pub prefix_extractor: Option<PrefixExtractor>,

    /// How blocks are compressed.
    pub compression: CompressionOptions,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            format_version: 5,
            allow_obsolete_formats: false,
            checksum: ChecksumType::Xxh3,
            block_size: 4096,
            block_size_deviation: 10,
            block_restart_interval: 16,
            use_delta_encoding: true,
            data_block_index: DataBlockIndex::BinarySearch,
            separate_key_value_in_data_block: false,
            block_align: false,
            super_block_alignment_size: 0,
            super_block_alignment_space_overhead_ratio: 128,
            index_type: IndexType::TwoLevel,
            index_block_restart_interval: 8,
            index_shortening: IndexShortening::Separators,
            metadata_block_size: 4096,
            enable_index_compression: true,
            filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 10.0 }),
            filter_layout: FilterLayout::Partitioned,
            whole_key_filtering: true,
            prefix_extractor: None,
            compression: CompressionOptions::default(),
        }
    }
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
