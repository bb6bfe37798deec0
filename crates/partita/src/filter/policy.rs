//! Which filter a table gets: RocksDB's `filter_policy` option.
//!
//! ```text
//! option string                        policy
//! nullptr, empty                       none
//! bloomfilter:10:false                 Bloom; also rocksdb.BloomFilter:10, and ":true" (the obsolete block filter)
//! ribbonfilter:10:0                    Ribbon; also rocksdb.RibbonFilter:10, {id=...;bloom_before_level=0;}
//! rocksdb.BuiltinBloomFilter           reads filters and writes none
//! ```

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Which filter to build for a table, as RocksDB's `filter_policy` option says it.
///
/// ```
/// use partita::filter::FilterPolicy;
///
/// let policy = FilterPolicy::parse("rocksdb.BloomFilter:10:false")?.unwrap();
/// assert_eq!(policy, FilterPolicy::Bloom { bits_per_key: 10.0 });
/// assert_eq!(policy.to_string(), "bloomfilter:10:false");
/// assert_eq!(FilterPolicy::parse("nullptr")?, None);
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum FilterPolicy {
    /// Filters are read but not written; `rocksdb.BuiltinBloomFilter` in old options files.
    ReadOnly,
    /// A Bloom filter: legacy below format version 5, cache-local from there on.
    Bloom {
        /// Memory per key in bits. Below 0.5: no filter; at most 100. 10 gives about 1 % false positives.
        bits_per_key: f64,
    },
    /// A Ribbon filter: 30 % smaller than Bloom at the same rate of false positives, three times as long to build.
    Ribbon {
        /// The Bloom filter's memory per key that has the wanted rate of false positives.
        bits_per_key: f64,
        /// Levels above this one get Bloom filters; a flush counts as level -1, `i32::MAX` means Bloom everywhere.
        bloom_before_level: i32,
    },
}

/// Where the table that gets the filter will stand; a Ribbon policy builds Bloom filters for the upper levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterLevel {
    /// The table comes from a memtable.
    Flush,
    /// The table is written to this level by a leveled or universal compaction.
    Level(i32),
    /// Unknown, or levels mean nothing (FIFO compaction, external files): counts as the last level.
    Unknown,
}

impl FilterPolicy {
    /// The suffix of the meta blocks' names: readers find filters by it, whatever their kind.
    pub const COMPATIBILITY_NAME: &'static str = "rocksdb.BuiltinBloomFilter";

    /// Parses an option string; `None` if it asks for no policy.
    ///
    /// * Errors: `InvalidArgument` for a name that is not known or a number that is none; the error quotes it and says what is
    ///   expected.
    pub fn parse(text: &str) -> Result<Option<Self>> {
        let text = text.trim();
        if text.is_empty() || text == "nullptr" {
            return Ok(None);
        }
        let unknown = || {
            Error::invalid_argument(format!(
                "unknown filter policy \"{text}\", expected bloomfilter:BITS[:false], ribbonfilter:BITS[:LEVEL] or \
                 nullptr"
            ))
        };
        let (id, level) = split_properties(text).ok_or_else(unknown)?;
        let mut parts = id.split(':');
        let name = parts.next().unwrap_or_default();
        let arguments: Vec<&str> = parts.collect();
        let mut policy = match (name, arguments.as_slice()) {
            (Self::COMPATIBILITY_NAME, []) => Some(Self::ReadOnly),
            ("bloomfilter" | "rocksdb.BloomFilter", [bits] | [bits, "false" | "true"]) => {
                number(bits).map(|bits_per_key| Self::Bloom { bits_per_key })
            }
            ("ribbonfilter" | "rocksdb.RibbonFilter", [bits]) => number(bits)
                .map(|bits_per_key| Self::Ribbon { bits_per_key, bloom_before_level: 0 }),
            ("ribbonfilter" | "rocksdb.RibbonFilter", [bits, level]) => {
                number(bits).zip(number(level)).map(|(bits_per_key, bloom_before_level)| {
                    Self::Ribbon { bits_per_key, bloom_before_level }
                })
            }
            _ => None,
        };
        if let Some(level) = level {
            match &mut policy {
                Some(Self::Ribbon { bloom_before_level, .. }) => {
                    *bloom_before_level = number(level).ok_or_else(unknown)?;
                }
                _ => policy = None,
            }
        }
        policy.map(Some).ok_or_else(unknown)
    }

    /// The name that RocksDB stores in the property `rocksdb.filter.policy`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ReadOnly => Self::COMPATIBILITY_NAME,
            Self::Bloom { .. } => "bloomfilter",
            Self::Ribbon { .. } => "ribbonfilter",
        }
    }

    /// The setting in bits per key, brought into RocksDB's range; `None` if no filter is to be built.
    pub(super) fn effective_bits_per_key(&self) -> Option<f64> {
        match *self {
            Self::ReadOnly => None,
            Self::Bloom { bits_per_key } | Self::Ribbon { bits_per_key, .. } => {
                if bits_per_key < 0.5 {
                    None
                } else if bits_per_key < 100.0 {
                    Some(bits_per_key.max(1.0))
                } else {
                    Some(100.0) // NaN, too
                }
            }
        }
    }

    /// The same in thousandths of a bit, 0 for no filter.
    pub(super) fn millibits_per_key(&self) -> u32 {
        self.effective_bits_per_key().map_or(0, millibits)
    }

    /// Whether a table at `level` gets a Ribbon filter.
    pub(super) fn is_ribbon_at(&self, level: FilterLevel) -> bool {
        let Self::Ribbon { bloom_before_level, .. } = *self else {
            return false;
        };
        let level = match level {
            FilterLevel::Flush => -1,
            FilterLevel::Level(level) => level,
            FilterLevel::Unknown => i32::MAX - 1,
        };
        level >= bloom_before_level
    }
}

/// Thousandths of a bit per key; the nudge makes three decimals exact on every platform.
pub(super) fn millibits(bits_per_key: f64) -> u32 {
    (bits_per_key * 1000.0 + 0.500_001) as u32
}

impl fmt::Display for FilterPolicy {
    /// The option string as RocksDB writes it; `Display` and [`FilterPolicy::parse`] are inverses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = || f64::from(self.millibits_per_key()) / 1000.0;
        match self {
            Self::ReadOnly => f.write_str(Self::COMPATIBILITY_NAME),
            // 6.29 and earlier demand the last argument.
            Self::Bloom { .. } => write!(f, "{}:{}:false", self.name(), bits()),
            Self::Ribbon { bloom_before_level, .. } => {
                write!(f, "{}:{}:{bloom_before_level}", self.name(), bits())
            }
        }
    }
}

impl FromStr for FilterPolicy {
    type Err = Error;

    /// Like [`FilterPolicy::parse`], but "no policy" is an error.
    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)?.ok_or_else(|| Error::invalid_argument("no filter policy"))
    }
}

/// Splits `{id=ribbonfilter:10:0;bloom_before_level=3;}` into id and level; a bare id stands for itself.
fn split_properties(text: &str) -> Option<(&str, Option<&str>)> {
    let inner = text.strip_prefix('{').map_or(Some(text), |rest| rest.strip_suffix('}'))?;
    if !inner.contains('=') {
        return Some((inner, None));
    }
    let (mut id, mut level) = (None, None);
    for property in inner.split(';').map(str::trim).filter(|property| !property.is_empty()) {
        match property.split_once('=')? {
            ("id", value) => id = Some(value.trim()),
            ("bloom_before_level", value) => level = Some(value.trim()),
            _ => return None,
        }
    }
    Some((id?, level))
}

/// A plain number; Rust's `inf` and `nan` are none.
fn number<T: FromStr>(text: &str) -> Option<T> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> FilterPolicy {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn option_strings_are_read_in_all_their_forms() {
        let bloom = FilterPolicy::Bloom { bits_per_key: 10.0 };
        for text in [
            "bloomfilter:10",
            "bloomfilter:10:false",
            "rocksdb.BloomFilter:10:true",
            " {id=bloomfilter:10:false;} ",
        ] {
            assert_eq!(parsed(text), bloom, "{text}");
        }
        let ribbon = FilterPolicy::Ribbon { bits_per_key: 9.9, bloom_before_level: -1 };
        for text in [
            "ribbonfilter:9.9:-1",
            "rocksdb.RibbonFilter:9.9:-1",
            "{id=ribbonfilter:9.9:0;bloom_before_level=-1;}",
            "id=ribbonfilter:9.9;bloom_before_level=-1",
        ] {
            assert_eq!(parsed(text), ribbon, "{text}");
        }
        assert_eq!(parsed("rocksdb.BuiltinBloomFilter"), FilterPolicy::ReadOnly);
        assert_eq!(FilterPolicy::parse("").unwrap(), None);
    }

    #[test]
    fn unknown_policies_are_refused_by_name() {
        for text in [
            "cuckoo:10",
            "bloomfilter",
            "bloomfilter:x",
            "bloomfilter:inf",
            "bloomfilter:10:maybe",
            "ribbonfilter:10:0:1",
            "{id=bloomfilter:10;bloom_before_level=1}",
            "{bloom_before_level=1}",
            "{id=ribbonfilter:10;level=1}",
            "{id=ribbonfilter:10",
        ] {
            let error = FilterPolicy::parse(text).unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
            assert!(error.message().contains("expected bloomfilter:BITS"), "{error}");
        }
    }

    #[test]
    fn printing_and_parsing_are_inverse() {
        for text in [
            "bloomfilter:10:false",
            "bloomfilter:9.75:false",
            "bloomfilter:12.345:false",
            "bloomfilter:0:false",
            "ribbonfilter:9.9:-1",
            "ribbonfilter:100:2147483647",
            "rocksdb.BuiltinBloomFilter",
        ] {
            assert_eq!(parsed(text).to_string(), text);
        }
    }

    #[test]
    fn settings_are_brought_into_range() {
        let bits = |bits_per_key| FilterPolicy::Bloom { bits_per_key }.millibits_per_key();
        assert_eq!(bits(0.49), 0);
        assert_eq!(bits(-3.0), 0);
        assert_eq!(bits(0.5), 1000);
        assert_eq!(bits(9.9994), 9999);
        assert_eq!(bits(9.9996), 10000);
        assert_eq!(bits(1e9), 100_000);
        assert_eq!(bits(f64::NAN), 100_000);
        assert_eq!(FilterPolicy::ReadOnly.millibits_per_key(), 0);
    }

    #[test]
    fn ribbon_starts_at_its_level() {
        let ribbon =
            |bloom_before_level| FilterPolicy::Ribbon { bits_per_key: 10.0, bloom_before_level };
        assert!(!ribbon(0).is_ribbon_at(FilterLevel::Flush));
        assert!(ribbon(-1).is_ribbon_at(FilterLevel::Flush));
        assert!(ribbon(0).is_ribbon_at(FilterLevel::Level(0)));
        assert!(!ribbon(3).is_ribbon_at(FilterLevel::Level(2)));
        assert!(ribbon(3).is_ribbon_at(FilterLevel::Unknown));
        assert!(!ribbon(i32::MAX).is_ribbon_at(FilterLevel::Unknown));
        assert!(!FilterPolicy::Bloom { bits_per_key: 10.0 }.is_ribbon_at(FilterLevel::Unknown));
    }
}
