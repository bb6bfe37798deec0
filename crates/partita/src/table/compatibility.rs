//! Which releases of RocksDB can read a table, and why.
//!
//! Two things decide: what the file's own metadata says ([`TableFeatures::footer`], [`TableFeatures::properties`]), and
//! what only a look at its blocks shows (compression types, kinds of filters, types of entries). Whoever has not
//! looked leaves those fields empty, and the answer holds for what was seen.
//!
//! Releases are those named in RocksDB's HISTORY.md and in the comments on `format_version` and `ChecksumType` in its
//! `table.h`. Checked on real files: 7.8.3 reads versions 0 to 5 and refuses 6; 11.8.1 reads 2 to 7 and refuses 0 and 1.

use std::collections::BTreeSet;
use std::fmt;

use super::{Footer, TableProperties};
use crate::key::ValueType;
use crate::util::checksum::ChecksumType;

/// A release of RocksDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The first number.
    pub major: u16,
    /// The second number.
    pub minor: u16,
}

impl Release {
    const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A feature of a table, and the release from or before which it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// The release.
    pub release: Release,
    /// The feature, in words: `"XXH3 checksums"`.
    pub feature: String,
}

/// What is known about a table.
#[derive(Clone, Debug)]
pub struct TableFeatures<'a> {
    /// The footer.
    pub footer: &'a Footer,
    /// The properties.
    pub properties: &'a TableProperties,
    /// Codes of the compression types that blocks were seen to have.
    pub compression_codes: BTreeSet<u8>,
    /// Whether there is a compression dictionary.
    pub has_dictionary: bool,
    /// Whether there are range tombstones.
    pub has_range_deletions: bool,
    /// Whether the filter is partitioned.
    pub has_partitioned_filter: bool,
    /// Whether a cache-local Bloom filter was seen.
    pub has_fast_local_bloom: bool,
    /// Whether a Ribbon filter was seen.
    pub has_ribbon: bool,
    /// Whether data blocks with a hash index were seen.
    pub has_data_block_hash_index: bool,
    /// Types of the entries that were seen.
    pub value_types: BTreeSet<ValueType>,
}

impl<'a> TableFeatures<'a> {
    /// The features that the metadata alone tells.
    pub fn new(footer: &'a Footer, properties: &'a TableProperties) -> Self {
        Self {
            footer,
            properties,
            compression_codes: BTreeSet::new(),
            has_dictionary: false,
            has_range_deletions: properties.num_range_deletions.is_some_and(|count| count > 0),
            has_partitioned_filter: false,
            has_fast_local_bloom: false,
            has_ribbon: false,
            has_data_block_hash_index: false,
            value_types: BTreeSet::new(),
        }
    }

    /// Which releases of RocksDB can read the table.
    ///
    /// ```
    /// use partita::table::{BlockChecksum, BlockHandle, Footer, TableFeatures, TableProperties};
    /// use partita::util::checksum::ChecksumType;
    ///
    /// let footer = Footer {
    ///     format_version: 5,
    ///     checksum: BlockChecksum { checksum: ChecksumType::Xxh3, base_context: 0 },
    ///     metaindex: BlockHandle { offset: 900, size: 95 },
    ///     index: Some(BlockHandle { offset: 700, size: 195 }),
    /// };
    /// let properties = TableProperties::default();
    /// let readers = TableFeatures::new(&footer, &properties).readers();
    /// assert_eq!(readers.to_string(), "RocksDB 6.27 and later");
    /// assert_eq!(readers.required[0].feature, "XXH3 checksums");
    /// ```
    pub fn readers(&self) -> Readers {
        let mut required: Vec<Requirement> =
            self.required_by_metadata().chain(self.required_by_content()).map(because).collect();
        required.sort_by_key(|requirement| std::cmp::Reverse(requirement.release));
        let dropped = self.dropped().map(because).min_by_key(|dropped| dropped.release);
        let filter_used = self.filter_used().map(because).max_by_key(|used| used.release);
        Readers { required, dropped, filter_used }
    }

    fn required_by_metadata(&self) -> impl Iterator<Item = (Release, String)> {
        let properties = self.properties;
        let version = self.footer.format_version;
        let since = match version {
            0 => None,
            1 => Some(Release::new(3, 0)),
            2 => Some(Release::new(3, 10)),
            3 => Some(Release::new(5, 15)),
            4 => Some(Release::new(5, 16)),
            5 => Some(Release::new(6, 6)),
            6 => Some(Release::new(8, 6)),
            _ => Some(Release::new(10, 4)),
        };
        let format = since.map(|since| (since, format!("format version {version}")));
        let checksum = match self.footer.checksum.checksum {
            ChecksumType::None | ChecksumType::Crc32c => None,
            ChecksumType::XxHash => Some((Release::new(3, 0), "xxHash checksums")),
            ChecksumType::XxHash64 => Some((Release::new(5, 18), "xxHash64 checksums")),
            ChecksumType::Xxh3 => Some((Release::new(6, 27), "XXH3 checksums")),
        };
        let index = match properties.index_type {
            Some(2) => Some((Release::new(5, 2), "two-level index")),
            Some(3) => Some((Release::new(6, 2), "index with first keys")),
            _ => None,
        };
        let marks = [
            (self.has_dictionary, Release::new(4, 8), "compression dictionary"),
            (self.has_range_deletions, Release::new(5, 0), "range tombstones"),
            (
                properties.user_defined_timestamps_persisted == Some(false),
                Release::new(8, 4),
                "user-defined timestamps that are not stored",
            ),
            (
                properties.separate_key_value_in_data_block == Some(true),
                Release::new(11, 0),
                "data blocks that hold keys and values apart",
            ),
            (
                properties.num_uniform_blocks.is_some_and(|count| count > 0),
                Release::new(11, 1),
                "blocks marked for interpolation search",
            ),
            (properties.embedded_blob_stats.is_some(), Release::new(11, 4), "embedded blobs"),
        ];
        let named = checksum.into_iter().chain(index).chain(present(marks));
        format.into_iter().chain(named.map(|(since, feature)| (since, feature.to_owned())))
    }

    fn required_by_content(&self) -> impl Iterator<Item = (Release, String)> {
        let compressions = self.compression_codes.iter().filter_map(|&code| match code {
            7 => Some((Release::new(4, 12), "ZSTD compression".to_owned())),
            ZSTD_NOT_FINAL => Some((Release::new(4, 0), "early ZSTD compression".to_owned())),
            0x80..=0xfe => {
                Some((Release::new(10, 4), format!("custom compression type {code:#04x}")))
            }
            _ => None,
        });
        let types = self.value_types.iter().filter_map(|value_type| match value_type {
            ValueType::SingleDeletion => Some((Release::new(4, 1), "single deletions")),
            ValueType::WideColumnEntity => Some((Release::new(7, 9), "wide-column entities")),
            ValueType::ValuePreferredSeqno => Some((Release::new(9, 1), "timed puts")),
            _ => None,
        });
        let hash_index =
            (self.has_data_block_hash_index, Release::new(5, 16), "data blocks with a hash index");
        let named = types.chain(present([hash_index]));
        compressions.chain(named.map(|(since, feature)| (since, feature.to_owned())))
    }

    fn dropped(&self) -> impl Iterator<Item = (Release, String)> {
        let version = self.footer.format_version;
        let format =
            (version < 2).then(|| (Release::new(11, 0), format!("format version {version}")));
        let zstd = self
            .compression_codes
            .contains(&ZSTD_NOT_FINAL)
            .then(|| (Release::new(10, 0), "early ZSTD compression".to_owned()));
        format.into_iter().chain(zstd)
    }

    fn filter_used(&self) -> impl Iterator<Item = (Release, String)> {
        let kinds = [
            (self.has_partitioned_filter, Release::new(5, 4), "partitioned filter"),
            (self.has_fast_local_bloom, Release::new(6, 6), "cache-local Bloom filter"),
            (self.has_ribbon, Release::new(6, 15), "Ribbon filter"),
        ];
        present(kinds).map(|(since, feature)| (since, feature.to_owned()))
    }
}

/// The code of ZSTD before its format was final.
const ZSTD_NOT_FINAL: u8 = 0x40;

fn present<const N: usize>(
    marks: [(bool, Release, &'static str); N],
) -> impl Iterator<Item = (Release, &'static str)> {
    marks.into_iter().filter(|mark| mark.0).map(|(_, since, feature)| (since, feature))
}

fn because((release, feature): (Release, String)) -> Requirement {
    Requirement { release, feature }
}

/// The releases of RocksDB that can read a table. Displays as a sentence's object: `RocksDB 6.27 and later`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readers {
    /// What the table needs, the newest release first.
    pub required: Vec<Requirement>,
    /// The first release that no longer reads it, if one is known.
    pub dropped: Option<Requirement>,
    /// Since when the filter is used, if there is one of a known kind; older releases read the file without it.
    pub filter_used: Option<Requirement>,
}

impl Readers {
    /// The oldest release that can read the table; `None` if every release could.
    pub fn oldest(&self) -> Option<Release> {
        self.required.first().map(|requirement| requirement.release)
    }

    /// The first release that no longer reads the table, if one is known.
    pub fn first_without(&self) -> Option<Release> {
        self.dropped.as_ref().map(|dropped| dropped.release)
    }
}

impl fmt::Display for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.oldest(), self.first_without()) {
            (None, None) => f.write_str("every RocksDB"),
            (None, Some(end)) => write!(f, "RocksDB before {end}"),
            (Some(oldest), None) => write!(f, "RocksDB {oldest} and later"),
            (Some(oldest), Some(end)) => write!(f, "RocksDB {oldest} and later, before {end}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{BlockChecksum, BlockHandle};

    fn footer(format_version: u32, checksum: ChecksumType) -> Footer {
        Footer {
            format_version,
            checksum: BlockChecksum { checksum, base_context: 0 },
            metaindex: BlockHandle::NULL,
            index: None,
        }
    }

    fn readers(version: u32, checksum: ChecksumType, properties: &TableProperties) -> Readers {
        TableFeatures::new(&footer(version, checksum), properties).readers()
    }

    #[test]
    fn the_format_version_bounds_the_releases_on_both_sides() {
        let plain = TableProperties::default();
        for (version, text) in [
            (0, "RocksDB before 11.0"),
            (1, "RocksDB 3.0 and later, before 11.0"),
            (2, "RocksDB 3.10 and later"),
            (3, "RocksDB 5.15 and later"),
            (4, "RocksDB 5.16 and later"),
            (5, "RocksDB 6.6 and later"),
            (6, "RocksDB 8.6 and later"),
            (7, "RocksDB 10.4 and later"),
        ] {
            assert_eq!(readers(version, ChecksumType::Crc32c, &plain).to_string(), text);
        }
    }

    #[test]
    fn the_newest_requirement_decides_and_stands_first() {
        let properties = TableProperties {
            index_type: Some(2),
            num_range_deletions: Some(3),
            separate_key_value_in_data_block: Some(true),
            ..Default::default()
        };
        let readers = readers(5, ChecksumType::Xxh3, &properties);
        let lines: Vec<_> = readers
            .required
            .iter()
            .map(|requirement| format!("{} {}", requirement.release, requirement.feature))
            .collect();
        assert_eq!(
            lines,
            [
                "11.0 data blocks that hold keys and values apart",
                "6.27 XXH3 checksums",
                "6.6 format version 5",
                "5.2 two-level index",
                "5.0 range tombstones",
            ]
        );
        assert_eq!(readers.oldest(), Some(Release::new(11, 0)));
    }

    #[test]
    fn what_blocks_hold_counts_too() {
        let (footer, properties) = (footer(4, ChecksumType::Crc32c), TableProperties::default());
        let features = TableFeatures::new(&footer, &properties);
        let early_zstd = TableFeatures { compression_codes: [0x40].into(), ..features.clone() };
        assert_eq!(early_zstd.readers().to_string(), "RocksDB 5.16 and later, before 10.0");
        let timed = TableFeatures {
            value_types: [ValueType::ValuePreferredSeqno, ValueType::WideColumnEntity].into(),
            ..features
        };
        assert_eq!(timed.readers().to_string(), "RocksDB 9.1 and later");
    }

    #[test]
    fn a_filter_is_no_condition_for_reading() {
        let (footer, properties) = (footer(4, ChecksumType::Crc32c), TableProperties::default());
        let ribbon = TableFeatures { has_ribbon: true, ..TableFeatures::new(&footer, &properties) };
        let readers = ribbon.readers();
        assert_eq!(readers.to_string(), "RocksDB 5.16 and later");
        assert_eq!(readers.filter_used.unwrap().release, Release::new(6, 15));
    }
}
