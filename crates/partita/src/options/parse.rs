//! Options in RocksDB's own words: `block_size=4096;filter_policy=bloomfilter:10:false`.

use super::value::Given;
use super::{DataBlockIndex, FilterLayout, IndexShortening, IndexType, TableOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::filter::FilterPolicy;
use crate::key::PrefixExtractor;
use crate::util::checksum::ChecksumType;
use crate::util::compression::CompressionType;

/// RocksDB's default for `data_block_hash_table_util_ratio`.
const HASH_UTIL_RATIO: f64 = 0.75;

impl TableOptions {
    /// Changes the options that `text` names, in RocksDB's option string form.
    ///
    /// Options of the table and those of the column family that shape a file are known under RocksDB's names, alone or
    /// within `block_based_table_factory={…}` and `compression_opts={…}`. The last of equal names counts; apart from
    /// that the order means nothing, as in RocksDB, whose versions list options in different orders.
    /// `optimize_filters_for_memory` is accepted and has no effect: filters are sized exactly.
    ///
    /// * Errors: `InvalidArgument` for an unknown option or a value that is not one of its own, quoted beside what is
    ///   expected. The combination is judged by [`TableOptions::validate`].
    ///
    /// ```
    /// use partita::options::{IndexType, TableOptions};
    ///
    /// let mut options = TableOptions::default();
    /// options.apply("compression=kZSTD;block_based_table_factory={block_size=16384;index_type=kBinarySearch}")?;
    /// assert_eq!(options.block_size, 16384);
    /// assert_eq!(options.index_type, IndexType::BinarySearch);
    /// assert!(options.apply("blok_size=1").unwrap_err().message().contains("blok_size"));
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn apply(&mut self, text: &str) -> Result<()> {
        let mut named = Vec::new();
        for option in split_outside_braces(text) {
            named.push(Given::split(option).ok_or_else(|| {
                Error::invalid_argument(format!(
                    "option \"{option}\" has no value, expected {option}=VALUE"
                ))
            })?);
        }
        named.sort_by_key(|given| refines_another(given.name));
        named.into_iter().try_for_each(|given| self.apply_one(given))
    }

    /// The table's options in braces, or the only factory there is by its name alone.
    fn apply_factory(&mut self, given: Given<'_>) -> Result<()> {
        match given.unbraced() {
            // A factory within a factory means nothing, and must not nest without end.
            Some(options) if options.contains("table_factory") => {
                Err(given.refused("options of the table"))
            }
            Some(options) => self.apply(options),
            None if given.value == "BlockBasedTable" => Ok(()),
            None => Err(given.refused("options in braces, or BlockBasedTable")),
        }
    }

    fn apply_one(&mut self, given: Given<'_>) -> Result<()> {
        match given.name {
            "block_based_table_factory" | "table_factory" => return self.apply_factory(given),
            "compression_opts" => {
                let braced = given.unbraced();
                return self.apply_compression(braced.ok_or_else(|| {
                    given.refused("options in braces such as {level=9;max_dict_bytes=16384}")
                })?);
            }
            "format_version" => self.format_version = given.number(5)?,
            "checksum" => {
                self.checksum =
                    given.one_of(ChecksumType::ALL.map(|kind| (kind.as_str(), kind)))?;
            }
            "block_size" => self.block_size = given.bytes()?,
            "block_size_deviation" => self.block_size_deviation = given.number(10)?,
            "block_restart_interval" => {
                self.block_restart_interval = given.number(16)?;
            }
            "use_delta_encoding" => self.use_delta_encoding = given.switch()?,
            "data_block_index_type" => {
                let hash = match self.data_block_index {
                    DataBlockIndex::BinarySearch => {
                        DataBlockIndex::BinaryAndHash { util_ratio: HASH_UTIL_RATIO }
                    }
                    hash => hash,
                };
                self.data_block_index = given.one_of([
                    ("kDataBlockBinarySearch", DataBlockIndex::BinarySearch),
                    ("kDataBlockBinaryAndHash", hash),
                ])?;
            }
            "data_block_hash_table_util_ratio" => {
                let ratio = given.number(HASH_UTIL_RATIO)?;
                if let DataBlockIndex::BinaryAndHash { util_ratio } = &mut self.data_block_index {
                    *util_ratio = ratio;
                }
            }
            "separate_key_value_in_data_block" => {
                self.separate_key_value_in_data_block = given.switch()?;
            }
            "block_align" => self.block_align = given.switch()?,
            "super_block_alignment_size" => {
                self.super_block_alignment_size = given.bytes()?;
            }
            "super_block_alignment_space_overhead_ratio" => {
                self.super_block_alignment_space_overhead_ratio = given.number(128)?;
            }
            "compression" => self.compression.kind = compression_type(given)?,
            "optimize_filters_for_memory" => drop(given.switch()?),
            _ => return self.apply_index_or_filter(given),
        }
        Ok(())
    }

    fn apply_index_or_filter(&mut self, given: Given<'_>) -> Result<()> {
        match given.name {
            "index_type" => {
                self.index_type = given.one_of(IndexType::ALL.map(|kind| (kind.as_str(), kind)))?;
            }
            "index_block_restart_interval" => {
                self.index_block_restart_interval = given.number(1)?;
            }
            "index_shortening" => {
                self.index_shortening = given.one_of([
                    ("kNoShortening", IndexShortening::None),
                    ("kShortenSeparators", IndexShortening::Separators),
                    ("kShortenSeparatorsAndSuccessor", IndexShortening::SeparatorsAndSuccessor),
                ])?;
            }
            "metadata_block_size" => self.metadata_block_size = given.bytes()?,
            "enable_index_compression" => {
                self.enable_index_compression = given.switch()?;
            }
            "filter_policy" => self.filter_policy = FilterPolicy::parse(given.value)?,
            "partition_filters" => {
                let partitioned = match self.filter_layout {
                    FilterLayout::Full => FilterLayout::Partitioned,
                    partitioned => partitioned,
                };
                let on = given.switch()?;
                self.filter_layout = if on { partitioned } else { FilterLayout::Full };
            }
            "decouple_partitioned_filters" => {
                let on = given.switch()?;
                if self.filter_layout != FilterLayout::Full {
                    self.filter_layout = match on {
                        true => FilterLayout::Partitioned,
                        false => FilterLayout::PartitionedWithIndex,
                    };
                }
            }
            "whole_key_filtering" => self.whole_key_filtering = given.switch()?,
            "prefix_extractor" => {
                self.prefix_extractor = prefix_extractor(given.value).ok_or_else(|| {
                    given.refused("fixed:N, capped:N, rocksdb.FixedPrefix.N or nullptr")
                })?;
            }
            name => {
                return Err(Error::invalid_argument(format!("unknown table option \"{name}\"")));
            }
        }
        Ok(())
    }

    fn apply_compression(&mut self, text: &str) -> Result<()> {
        let compression = &mut self.compression;
        for option in split_outside_braces(text) {
            let unknown = || {
                Error::invalid_argument(format!(
                    "compression_opts cannot hold \"{option}\", expected level, max_dict_bytes, \
                     zstd_max_train_bytes, max_dict_buffer_bytes or max_compressed_bytes_per_kb, =NUMBER each"
                ))
            };
            let given = Given::split(option).ok_or_else(unknown)?;
            match given.name {
                "level" => compression.level = given.number(3)?,
                "max_dict_bytes" => compression.max_dict_bytes = given.bytes()?,
                "zstd_max_train_bytes" => {
                    compression.zstd_max_train_bytes = given.bytes()?;
                }
                "max_dict_buffer_bytes" => {
                    // 0 means the size of the file there, which is not known here.
                    let bytes: usize = given.bytes()?;
                    if bytes > 0 {
                        compression.max_dict_buffer_bytes = bytes;
                    }
                }
                "max_compressed_bytes_per_kb" => {
                    compression.max_compressed_bytes_per_kb = given.number(896)?;
                }
                // What the file does not show: threads, and settings that have one value here.
                "window_bits"
                | "strategy"
                | "parallel_threads"
                | "enabled"
                | "use_zstd_dict_trainer"
                | "checksum" => {}
                _ => return Err(unknown()),
            }
        }
        Ok(())
    }
}

/// Whether an option says more about what another one chooses, and so has to be applied after it.
fn refines_another(name: &str) -> bool {
    matches!(name, "data_block_hash_table_util_ratio" | "decouple_partitioned_filters")
}

/// Splits at semicolons; those within braces belong to a value.
fn split_outside_braces(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    let parts = text.split(move |c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ';' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

/// An algorithm that is known, but not had here, keeps its own error.
fn compression_type(given: Given<'_>) -> Result<CompressionType> {
    given.value.parse().map_err(|error: Error| match error.kind() {
        ErrorKind::InvalidArgument => {
            let names = CompressionType::ALL.map(CompressionType::options_name);
            given.refused(format_args!("one of {}", names.join(", ")))
        }
        _ => error,
    })
}

/// `nullptr`, a name as files record it, or the short forms `fixed:8` and `capped:8`.
fn prefix_extractor(value: &str) -> Option<Option<PrefixExtractor>> {
    if value == "nullptr" || value.is_empty() {
        return Some(None);
    }
    let long = value
        .strip_prefix("fixed:")
        .map(|len| format!("rocksdb.FixedPrefix.{len}"))
        .or_else(|| Some(format!("rocksdb.CappedPrefix.{}", value.strip_prefix("capped:")?)));
    PrefixExtractor::builtin(long.as_deref().unwrap_or(value)).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str) -> TableOptions {
        let mut options = TableOptions::rocksdb_defaults();
        options.apply(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        options
    }

    #[test]
    fn a_factory_is_options_in_braces_or_the_one_that_exists() {
        let mut options = TableOptions::default();
        options.apply("table_factory=BlockBasedTable;block_based_table_factory={}").unwrap();
        assert_eq!(options, TableOptions::default());
        for text in ["table_factory=PlainTable", "block_based_table_factory=block_size=1"] {
            let error = options.apply(text).unwrap_err();
            assert!(error.message().contains("BlockBasedTable"), "{error}");
        }
        let nested = "block_based_table_factory={".repeat(100_000) + &"}".repeat(100_000);
        assert!(options.apply(&nested).is_err());
    }

    #[test]
    fn every_option_is_read() {
        let options = applied(
            "compression=kZSTD;prefix_extractor=capped:9;compression_opts={level=7;max_dict_bytes=100;\
             zstd_max_train_bytes=200;max_dict_buffer_bytes=0;parallel_threads=1;window_bits=-14};\
             block_based_table_factory={format_version=7;checksum=kxxHash64;block_size=100;block_size_deviation=20;\
             block_restart_interval=3;use_delta_encoding=false;data_block_index_type=kDataBlockBinaryAndHash;\
             data_block_hash_table_util_ratio=0.5;separate_key_value_in_data_block=true;\
             super_block_alignment_size=4096;super_block_alignment_space_overhead_ratio=64;\
             index_type=kTwoLevelIndexSearch;index_block_restart_interval=4;index_shortening=kNoShortening;\
             metadata_block_size=200;enable_index_compression=false;filter_policy=ribbonfilter:9.5:2;\
             partition_filters=true;decouple_partitioned_filters=false;whole_key_filtering=false;\
             optimize_filters_for_memory=true;}",
        );
        assert_eq!(options.prefix_extractor, Some(PrefixExtractor::Capped(9)));
        assert_eq!(options.compression.kind, CompressionType::Zstd);
        assert_eq!(options.compression.level, 7);
        assert_eq!(options.compression.max_dict_bytes, 100);
        assert_eq!(options.compression.zstd_max_train_bytes, 200);
        assert_eq!(options.compression.max_dict_buffer_bytes, 64 << 20);
        assert_eq!((options.format_version, options.checksum), (7, ChecksumType::XxHash64));
        assert_eq!((options.block_size, options.block_size_deviation), (100, 20));
        assert_eq!((options.block_restart_interval, options.use_delta_encoding), (3, false));
        assert_eq!(options.data_block_index, DataBlockIndex::BinaryAndHash { util_ratio: 0.5 });
        assert!(options.separate_key_value_in_data_block);
        assert_eq!(options.super_block_alignment_size, 4096);
        assert_eq!(options.super_block_alignment_space_overhead_ratio, 64);
        assert_eq!(options.index_type, IndexType::TwoLevel);
        assert_eq!(options.index_block_restart_interval, 4);
        assert_eq!(options.index_shortening, IndexShortening::None);
        assert_eq!((options.metadata_block_size, options.enable_index_compression), (200, false));
        let ribbon = FilterPolicy::Ribbon { bits_per_key: 9.5, bloom_before_level: 2 };
        assert_eq!(options.filter_policy, Some(ribbon));
        assert_eq!(options.filter_layout, FilterLayout::PartitionedWithIndex);
        assert!(!options.whole_key_filtering);
        options.validate().unwrap();
    }

    #[test]
    fn partitions_can_be_turned_on_and_off() {
        assert_eq!(applied("partition_filters=true").filter_layout, FilterLayout::Partitioned);
        assert_eq!(
            applied("partition_filters=true;partition_filters=false").filter_layout,
            FilterLayout::Full
        );
        assert_eq!(applied("decouple_partitioned_filters=true").filter_layout, FilterLayout::Full);
        assert_eq!(applied("prefix_extractor=nullptr").prefix_extractor, None);
        let named = applied("prefix_extractor=rocksdb.FixedPrefix.3").prefix_extractor;
        assert_eq!(named, Some(PrefixExtractor::Fixed(3)));
    }

    #[test]
    fn the_order_of_options_means_nothing() {
        let parts = [
            "data_block_index_type=kDataBlockBinaryAndHash",
            "data_block_hash_table_util_ratio=0.2",
            "partition_filters=true",
            "decouple_partitioned_filters=false",
            "index_type=kTwoLevelIndexSearch",
        ];
        let expected = applied(&parts.join(";"));
        assert_eq!(expected.data_block_index, DataBlockIndex::BinaryAndHash { util_ratio: 0.2 });
        assert_eq!(expected.filter_layout, FilterLayout::PartitionedWithIndex);
        for first in 0..parts.len() {
            let mut turned = parts;
            turned.rotate_left(first);
            assert_eq!(applied(&turned.join(";")), expected, "{turned:?}");
            turned.reverse();
            let within = format!("block_based_table_factory={{{}}}", turned.join(";"));
            assert_eq!(applied(&within), expected, "{turned:?}");
        }
        let mut again = expected.clone();
        again.apply("data_block_index_type=kDataBlockBinaryAndHash").unwrap();
        assert_eq!(again, expected);
    }

    #[test]
    fn what_is_not_known_is_quoted_beside_what_is_expected() {
        for (text, quoted, expected) in [
            ("blok_size=1", "\"blok_size\"", "unknown"),
            ("block_size", "\"block_size\"", "block_size=VALUE"),
            ("block_size=64K", "\"64K\"", "a number of bytes such as 65536"),
            ("format_version=new", "\"new\"", "a number such as 5"),
            ("data_block_hash_table_util_ratio=x", "\"x\"", "a number such as 0.75"),
            ("checksum=kMD5", "\"kMD5\"", "kNoChecksum, kCRC32c, kxxHash, kxxHash64, kXXH3"),
            ("compression=kMiddling", "\"kMiddling\"", "kLZ4HCCompression, kZSTD"),
            ("compression_opts=7", "\"7\"", "{level=9;"),
            ("compression_opts={lavel=7}", "\"lavel=7\"", "expected level, max_dict_bytes"),
            ("compression_opts={level=high}", "\"high\"", "a number such as 3"),
            ("compression_opts={max_dict_bytes=1K}", "\"1K\"", "a number of bytes"),
            ("index_type=kBest", "\"kBest\"", "kBinarySearch, kHashSearch, kTwoLevelIndexSearch"),
            ("index_shortening=no", "\"no\"", "kNoShortening, kShortenSeparators, "),
            ("data_block_index_type=x", "\"x\"", "kDataBlockBinarySearch, kDataBlockBinaryAndHash"),
            ("filter_policy=sieve:10", "\"sieve:10\"", "bloomfilter:BITS"),
            ("prefix_extractor=fixed:x", "\"fixed:x\"", "fixed:N, capped:N"),
            ("whole_key_filtering=yes", "\"yes\"", "true or false"),
        ] {
            let error = TableOptions::default().apply(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            let message = error.message();
            assert!(message.contains(quoted) && message.contains(expected), "{text}: {message}");
        }
        let xpress = TableOptions::default().apply("compression=kXpressCompression").unwrap_err();
        assert_eq!(xpress.kind(), ErrorKind::NotSupported);
    }
}
