//! Options in RocksDB's own words: `block_size=4096;filter_policy=bloomfilter:10:false`.

use super::TableOptions;
use super::known::Ignored;
use super::nested::split_outside_braces;
use super::spec::OptionGroup as _;
use super::value::{Given, OptionValue as _};
use crate::error::{Error, Result};
use crate::key::PrefixExtractor;

/// The only kind of table.
const FACTORY: &str = "BlockBasedTable";

impl TableOptions {
    /// Changes the options that `text` names, in RocksDB's option string form.
    ///
    /// Options of the table and those of the column family that shape a file are known under RocksDB's names, alone or
    /// within `block_based_table_factory={…}` and `compression_opts={…}`. The last of equal names counts; apart from
    /// that the order means nothing, as in RocksDB, whose versions list options in different orders. Options on which
    /// nothing acts, such as `optimize_filters_for_memory`, are accepted and kept.
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
        for given in in_order(text)? {
            match given.name {
                "block_based_table_factory" | "table_factory" => self.assign_factory(given)?,
                "compression" => self.compression.kind.assign(given)?,
                "compression_opts" => self.compression.assign(given)?,
                "prefix_extractor" => self.prefix_extractor = prefix_extractor(given)?,
                _ => self.assign_own(given)?,
            }
        }
        Ok(())
    }

    /// The table's options in braces, or the only factory there is by its name alone. Factories do not nest.
    pub(super) fn assign_factory(&mut self, given: Given<'_>) -> Result<()> {
        let Some(options) = given.unbraced() else {
            return check_factory(given);
        };
        for option in in_order(options)? {
            match option.name {
                "id" => check_factory(option)?,
                _ => self.assign_own(option)?,
            }
        }
        Ok(())
    }

    fn assign_own(&mut self, given: Given<'_>) -> Result<()> {
        if Self::row(given.name).is_some() {
            return self.assign_option(given);
        }
        match Ignored::of_table(given.name) {
            Some(_) => Ok(()),
            None => {
                Err(Error::invalid_argument(format!("unknown table option \"{}\"", given.name)))
            }
        }
    }
}

/// Checks that the value names the factory that there is.
fn check_factory(given: Given<'_>) -> Result<()> {
    match given.value {
        FACTORY => Ok(()),
        "PlainTable" | "CuckooTable" | "AdaptiveTable" => Err(Error::not_supported(format!(
            "{}={}: tables are of the kind {FACTORY}",
            given.name, given.value
        ))),
        _ => Err(given.refused(format_args!("options in braces, or {FACTORY}"))),
    }
}

/// The options of a text in the order in which they have to be applied.
fn in_order(text: &str) -> Result<Vec<Given<'_>>> {
    let mut options = split_outside_braces(text).map(Given::of).collect::<Result<Vec<_>>>()?;
    options.sort_by_key(|given| refines_another(given.name));
    Ok(options)
}

/// Whether an option says more about what another one chooses, and so has to be applied after it.
pub(super) fn refines_another(name: &str) -> bool {
    matches!(name, "data_block_hash_table_util_ratio" | "decouple_partitioned_filters")
}

/// `nullptr`, a name as files record it, or the short forms `fixed:8` and `capped:8`.
pub(super) fn prefix_extractor(given: Given<'_>) -> Result<Option<PrefixExtractor>> {
    let value = given.value;
    if value == "nullptr" || value.is_empty() {
        return Ok(None);
    }
    let long = value
        .strip_prefix("fixed:")
        .map(|len| format!("rocksdb.FixedPrefix.{len}"))
        .or_else(|| Some(format!("rocksdb.CappedPrefix.{}", value.strip_prefix("capped:")?)));
    match PrefixExtractor::builtin(long.as_deref().unwrap_or(value)) {
        Some(extractor) => Ok(Some(extractor)),
        None => Err(given.refused("fixed:N, capped:N, rocksdb.FixedPrefix.N or nullptr")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DataBlockIndex, FilterLayout, IndexShortening, IndexType};
    use super::*;
    use crate::error::ErrorKind;
    use crate::filter::FilterPolicy;
    use crate::util::checksum::ChecksumType;
    use crate::util::compression::CompressionType;

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
            ("block_size=64Q", "\"64Q\"", "a number from 1 to 4294967295"),
            ("format_version=new", "\"new\"", "a number from 0 to 4294967295"),
            ("data_block_hash_table_util_ratio=x", "\"x\"", "a number such as 0.75"),
            ("checksum=kMD5", "\"kMD5\"", "kNoChecksum, kCRC32c, kxxHash, kxxHash64, kXXH3"),
            ("compression=kMiddling", "\"kMiddling\"", "kLZ4HCCompression, kZSTD"),
            ("compression_opts=7", "\"7\"", "{name=value;"),
            ("compression_opts={lavel=7}", "\"lavel\"", "expected level, max_dict_bytes"),
            (
                "compression_opts={level=high}",
                "\"high\"",
                "a number from -2147483648 to 2147483647",
            ),
            ("compression_opts={max_dict_bytes=1.5}", "\"1.5\"", "a number from 0"),
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
