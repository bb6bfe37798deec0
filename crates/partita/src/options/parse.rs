//! Options in RocksDB's own words: `block_size=4096;filter_policy=bloomfilter:10:false`.

use std::str::FromStr;

use super::{DataBlockIndex, FilterLayout, IndexShortening, IndexType, TableOptions};
use crate::error::{Error, Result};
use crate::filter::FilterPolicy;
use crate::key::PrefixExtractor;
use crate::util::checksum::ChecksumType;

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
    /// * Errors: `InvalidArgument` for an unknown option or a value that is not one of its own, quoted. The combination
    ///   is judged by [`TableOptions::validate`].
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
            let Some((name, value)) = option.split_once('=') else {
                return Err(Error::invalid_argument(format!("option \"{option}\" has no value")));
            };
            named.push((name.trim(), value.trim()));
        }
        named.sort_by_key(|(name, _)| refines_another(name));
        named.into_iter().try_for_each(|(name, value)| self.apply_one(name, value))
    }

    fn apply_one(&mut self, name: &str, value: &str) -> Result<()> {
        let bad = || Error::invalid_argument(format!("{name} cannot be \"{value}\""));
        match name {
            "block_based_table_factory" | "table_factory" => {
                return self.apply(unbraced(value).unwrap_or_default());
            }
            "compression_opts" => return self.apply_compression(unbraced(value).ok_or_else(bad)?),
            "format_version" => self.format_version = number(value).ok_or_else(bad)?,
            "checksum" => {
                let known = ChecksumType::ALL.into_iter().find(|kind| kind.as_str() == value);
                self.checksum = known.ok_or_else(bad)?;
            }
            "block_size" => self.block_size = number(value).ok_or_else(bad)?,
            "block_size_deviation" => self.block_size_deviation = number(value).ok_or_else(bad)?,
            "block_restart_interval" => {
                self.block_restart_interval = number(value).ok_or_else(bad)?;
            }
            "use_delta_encoding" => self.use_delta_encoding = switch(value).ok_or_else(bad)?,
            "data_block_index_type" => {
                self.data_block_index = match value {
                    "kDataBlockBinarySearch" => DataBlockIndex::BinarySearch,
                    "kDataBlockBinaryAndHash" => match self.data_block_index {
                        DataBlockIndex::BinarySearch => {
                            DataBlockIndex::BinaryAndHash { util_ratio: HASH_UTIL_RATIO }
                        }
                        hash => hash,
                    },
                    _ => return Err(bad()),
                };
            }
            "data_block_hash_table_util_ratio" => {
                let ratio = number(value).ok_or_else(bad)?;
                if let DataBlockIndex::BinaryAndHash { util_ratio } = &mut self.data_block_index {
                    *util_ratio = ratio;
                }
            }
            "separate_key_value_in_data_block" => {
                self.separate_key_value_in_data_block = switch(value).ok_or_else(bad)?;
            }
            "block_align" => self.block_align = switch(value).ok_or_else(bad)?,
            "super_block_alignment_size" => {
                self.super_block_alignment_size = number(value).ok_or_else(bad)?;
            }
            "super_block_alignment_space_overhead_ratio" => {
                self.super_block_alignment_space_overhead_ratio = number(value).ok_or_else(bad)?;
            }
            "compression" => self.compression.kind = value.parse()?,
            "optimize_filters_for_memory" => drop(switch(value).ok_or_else(bad)?),
            _ => return self.apply_index_or_filter(name, value),
        }
        Ok(())
    }

    fn apply_index_or_filter(&mut self, name: &str, value: &str) -> Result<()> {
        let bad = || Error::invalid_argument(format!("{name} cannot be \"{value}\""));
        match name {
            "index_type" => {
                let known = IndexType::ALL.into_iter().find(|kind| kind.as_str() == value);
                self.index_type = known.ok_or_else(bad)?;
            }
            "index_block_restart_interval" => {
                self.index_block_restart_interval = number(value).ok_or_else(bad)?;
            }
            "index_shortening" => {
                self.index_shortening = match value {
                    "kNoShortening" => IndexShortening::None,
                    "kShortenSeparators" => IndexShortening::Separators,
                    "kShortenSeparatorsAndSuccessor" => IndexShortening::SeparatorsAndSuccessor,
                    _ => return Err(bad()),
                };
            }
            "metadata_block_size" => self.metadata_block_size = number(value).ok_or_else(bad)?,
            "enable_index_compression" => {
                self.enable_index_compression = switch(value).ok_or_else(bad)?;
            }
            "filter_policy" => self.filter_policy = FilterPolicy::parse(value)?,
            "partition_filters" => {
                let partitioned = match self.filter_layout {
                    FilterLayout::Full => FilterLayout::Partitioned,
                    partitioned => partitioned,
                };
                let on = switch(value).ok_or_else(bad)?;
                self.filter_layout = if on { partitioned } else { FilterLayout::Full };
            }
            "decouple_partitioned_filters" => {
                let on = switch(value).ok_or_else(bad)?;
                if self.filter_layout != FilterLayout::Full {
                    self.filter_layout = match on {
                        true => FilterLayout::Partitioned,
                        false => FilterLayout::PartitionedWithIndex,
                    };
                }
            }
            "whole_key_filtering" => self.whole_key_filtering = switch(value).ok_or_else(bad)?,
            "prefix_extractor" => {
                self.prefix_extractor = prefix_extractor(value).ok_or_else(bad)?;
            }
            _ => return Err(Error::invalid_argument(format!("unknown table option \"{name}\""))),
        }
        Ok(())
    }

    fn apply_compression(&mut self, text: &str) -> Result<()> {
        let compression = &mut self.compression;
        for option in split_outside_braces(text) {
            let bad =
                || Error::invalid_argument(format!("compression_opts cannot hold \"{option}\""));
            let (name, value) = option.split_once('=').ok_or_else(bad)?;
            match name.trim() {
                "level" => compression.level = number(value).ok_or_else(bad)?,
                "max_dict_bytes" => compression.max_dict_bytes = number(value).ok_or_else(bad)?,
                "zstd_max_train_bytes" => {
                    compression.zstd_max_train_bytes = number(value).ok_or_else(bad)?;
                }
                "max_dict_buffer_bytes" => {
                    // 0 means the size of the file there, which is not known here.
                    let bytes: usize = number(value).ok_or_else(bad)?;
                    if bytes > 0 {
                        compression.max_dict_buffer_bytes = bytes;
                    }
                }
                "max_compressed_bytes_per_kb" => {
                    compression.max_compressed_bytes_per_kb = number(value).ok_or_else(bad)?;
                }
                // What the file does not show: threads, and settings that have one value here.
                "window_bits"
                | "strategy"
                | "parallel_threads"
                | "enabled"
                | "use_zstd_dict_trainer"
                | "checksum" => {}
                _ => return Err(bad()),
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

fn unbraced(value: &str) -> Option<&str> {
    value.strip_prefix('{')?.strip_suffix('}')
}

fn number<T: FromStr>(value: &str) -> Option<T> {
    value.trim().parse().ok()
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
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
    use crate::util::compression::CompressionType;

    fn applied(text: &str) -> TableOptions {
        let mut options = TableOptions::rocksdb_defaults();
        options.apply(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        options
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
    fn what_is_not_known_is_quoted() {
        for (text, quoted) in [
            ("blok_size=1", "blok_size"),
            ("block_size", "block_size"),
            ("block_size=many", "many"),
            ("checksum=kMD5", "kMD5"),
            ("compression=kMiddling", "kMiddling"),
            ("compression_opts=7", "\"7\""),
            ("compression_opts={lavel=7}", "lavel"),
            ("index_type=kBest", "kBest"),
            ("filter_policy=sieve:10", "sieve"),
            ("prefix_extractor=fixed:x", "fixed:x"),
            ("whole_key_filtering=yes", "yes"),
        ] {
            let error = TableOptions::default().apply(text).unwrap_err();
            assert_eq!(error.kind(), crate::error::ErrorKind::InvalidArgument);
            assert!(error.message().contains(quoted), "{error}");
        }
    }
}
