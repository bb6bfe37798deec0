//! What a filter block is and where its bits stand, without the bits.
//!
//! ```text
//! block length    metadata byte 0   kind
//! at most 5       -                 empty: nothing matches
//! more            0                 everything matches
//!                 1..=127           legacy Bloom with so many probes
//!                 0xff              Bloom
//!                 0xfe              Ribbon
//!                 0x80..=0xfd       reserved: everything matches
//! ```
//!
//! Metadata that its kind reserves or cannot explain means "everything matches", too: a filter may only ever be wrong
//! in that direction.

use std::ops::Range;

use super::lines::LINE_LEN;
use super::path::FilterImpl;
use super::{KeyHash, METADATA_LEN, bloom, legacy, rate, ribbon};

/// What a filter block turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterKind {
    /// No key was added; nothing matches.
    Empty,
    /// Everything matches: a marker, or something reserved or damaged.
    AlwaysTrue,
    /// The Bloom filter of format versions below 5.
    LegacyBloom {
        /// Bits tested per query.
        probes: u8,
    },
    /// FastLocalBloom.
    Bloom {
        /// Bits tested per query.
        probes: u8,
    },
    /// Standard128Ribbon.
    Ribbon {
        /// Most bits tested per query; the first blocks test one less.
        columns: u8,
    },
}

impl FilterKind {
    /// The kind in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::AlwaysTrue => "always-true",
            Self::LegacyBloom { .. } => "legacy-bloom",
            Self::Bloom { .. } => "bloom",
            Self::Ribbon { .. } => "ribbon",
        }
    }
}

/// A filter's geometry: its kind and size, known from its length and its last five bytes.
///
/// A huge filter can be asked without being in memory as a whole:
///
/// ```
/// use partita::filter::{FilterBuilder, FilterLevel, FilterMeta, FilterPolicy, KeyHash, Probe};
///
/// let policy = FilterPolicy::Bloom { bits_per_key: 10.0 };
/// let mut builder = FilterBuilder::new(&policy, 5, FilterLevel::Unknown).unwrap();
/// builder.add_key(b"apple");
/// let block = builder.finish();
///
/// let meta = FilterMeta::parse(block.len(), block.last_chunk().copied().unwrap_or_default());
/// let key = KeyHash::new(b"apple");
/// match meta.probe(&key) {
///     Probe::Known(answer) => assert!(answer),
///     Probe::Bytes(range) => assert!(meta.may_contain(&key, &block[range])),
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterMeta {
    geometry: Geometry,
    path: FilterImpl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Geometry {
    Empty,
    AlwaysTrue,
    Legacy(legacy::Geometry),
    Bloom(bloom::Geometry),
    Ribbon(ribbon::Geometry),
}

/// What it takes to answer a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The answer, without looking at any byte.
    Known(bool),
    /// The bytes of the block that [`FilterMeta::may_contain`] needs: 64 for Bloom, up to 1024 for Ribbon.
    Bytes(Range<usize>),
}

impl FilterMeta {
    /// Bytes of metadata at the end of a block.
    pub const LEN: usize = METADATA_LEN;

    /// The geometry of a block of `block_len` bytes (trailer not counted) that ends in `metadata`.
    ///
    /// Never fails: what cannot be explained matches everything. Of a block of five bytes or less, `metadata` is not
    /// looked at.
    pub fn parse(block_len: usize, metadata: [u8; METADATA_LEN]) -> Self {
        Self { geometry: Geometry::parse(block_len, metadata), path: FilterImpl::best() }
    }

    /// The same, answering with other instructions.
    #[must_use]
    pub fn with_impl(self, path: FilterImpl) -> Self {
        Self { path, ..self }
    }

    /// The instructions that answer.
    pub fn implementation(&self) -> FilterImpl {
        self.path
    }

    /// What the block is.
    pub fn kind(&self) -> FilterKind {
        match self.geometry {
            Geometry::Empty => FilterKind::Empty,
            Geometry::AlwaysTrue => FilterKind::AlwaysTrue,
            Geometry::Legacy(legacy) => FilterKind::LegacyBloom { probes: legacy.probes() },
            Geometry::Bloom(bloom) => FilterKind::Bloom { probes: bloom.probes() },
            Geometry::Ribbon(ribbon) => FilterKind::Ribbon { columns: ribbon.columns() as u8 },
        }
    }

    /// The rate of false positives that theory expects after `keys` keys were added.
    ///
    /// Hash collisions count, too: they matter for legacy filters with millions of keys.
    pub fn expected_false_positive_rate(&self, keys: usize) -> f64 {
        let bits_per_key = |lines: usize, line_len: usize| {
            8.0 * lines as f64 * line_len as f64 / keys.max(1) as f64
        };
        match self.geometry {
            Geometry::Empty => 0.0,
            Geometry::AlwaysTrue => 1.0,
            Geometry::Legacy(legacy) => {
                let bits_per_key = bits_per_key(legacy.lines(), legacy.line_len());
                rate::either(
                    rate::legacy_bloom(bits_per_key, legacy.probes(), legacy.line_len()),
                    rate::collision(keys, 32),
                )
            }
            Geometry::Bloom(bloom) => {
                let bits_per_key = bits_per_key(bloom.lines(), LINE_LEN);
                rate::either(
                    rate::local_bloom(bits_per_key, bloom.probes(), LINE_LEN),
                    rate::collision(keys, 64),
                )
            }
            Geometry::Ribbon(ribbon) => ribbon.false_positive_rate(),
        }
    }

    /// Most bytes that a query looks at; 0 if it looks at none.
    pub(super) fn window_len(&self) -> usize {
        match self.geometry {
            Geometry::Empty | Geometry::AlwaysTrue => 0,
            Geometry::Legacy(legacy) => legacy.line_len(),
            Geometry::Bloom(_) => LINE_LEN,
            Geometry::Ribbon(ribbon) => ribbon.window_len(),
        }
    }

    /// What divides the offset of every query's bytes.
    pub(super) fn window_step(&self) -> usize {
        match self.geometry {
            Geometry::Ribbon(ribbon) => ribbon.window_len().min(ribbon::SEGMENT_LEN),
            _ => self.window_len(),
        }
    }

    #[inline]
    pub(super) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// What it takes to answer for `key`. A range lies within the block and never touches the metadata.
    #[inline]
    pub fn probe(&self, key: &KeyHash<'_>) -> Probe {
        match self.geometry {
            Geometry::Empty => Probe::Known(false),
            Geometry::AlwaysTrue => Probe::Known(true),
            Geometry::Legacy(legacy) => {
                let start = legacy.line_start(key.legacy_hash());
                Probe::Bytes(start..start + legacy.line_len())
            }
            Geometry::Bloom(bloom) => {
                let start = bloom.line_of(key.hash64()) * LINE_LEN;
                Probe::Bytes(start..start + LINE_LEN)
            }
            Geometry::Ribbon(ribbon) => match ribbon.probe(key.hash64()).bytes() {
                bytes if bytes.is_empty() => Probe::Known(true),
                bytes => Probe::Bytes(bytes),
            },
        }
    }

    /// Whether `key` may have been added.
    ///
    /// * `bytes`: the part of the block that [`FilterMeta::probe`] names; empty if it names none. Of a wrong length,
    ///   the answer is "may be present".
    #[inline]
    pub fn may_contain(&self, key: &KeyHash<'_>, bytes: &[u8]) -> bool {
        match self.geometry {
            Geometry::Empty => false,
            Geometry::AlwaysTrue => true,
            Geometry::Legacy(legacy) => {
                bytes.len() != legacy.line_len() || legacy.may_contain(key.legacy_hash(), bytes)
            }
            Geometry::Bloom(bloom) => match bytes.try_into() {
                Ok(line) => bloom.may_contain(self.path, key.hash64(), line),
                Err(_) => true,
            },
            Geometry::Ribbon(ribbon) => ribbon.probe(key.hash64()).may_contain(self.path, bytes),
        }
    }
}

impl Geometry {
    fn parse(block_len: usize, metadata: [u8; METADATA_LEN]) -> Self {
        let Some(len) = block_len.checked_sub(METADATA_LEN).filter(|&len| len > 0) else {
            return Self::Empty;
        };
        if u32::try_from(block_len).is_err() {
            return Self::AlwaysTrue; // no writer makes such blocks
        }
        let parsed = match metadata[0] {
            bloom::MARKER => bloom::Geometry::parse(len, metadata).map(Self::Bloom),
            ribbon::MARKER => ribbon::Geometry::parse(len, metadata).map(Self::Ribbon),
            1..=127 => legacy::Geometry::parse(len, metadata).map(Self::Legacy),
            _ => None,
        };
        parsed.unwrap_or(Self::AlwaysTrue)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kind(block_len: usize, metadata: [u8; 5]) -> FilterKind {
        FilterMeta::parse(block_len, metadata).kind()
    }

    #[test]
    fn the_last_five_bytes_tell_the_kind() {
        for len in 0..=5 {
            assert_eq!(kind(len, [0xff; 5]), FilterKind::Empty);
        }
        assert_eq!(kind(6, [0; 5]), FilterKind::AlwaysTrue);
        assert_eq!(kind(69, [6, 1, 0, 0, 0]), FilterKind::LegacyBloom { probes: 6 });
        assert_eq!(kind(69, [0xff, 0, 6, 0, 0]), FilterKind::Bloom { probes: 6 });
        assert_eq!(kind(16 * 14 + 5, [0xfe, 77, 2, 0, 0]), FilterKind::Ribbon { columns: 7 });
    }

    #[test]
    fn what_is_reserved_or_impossible_matches_everything() {
        for metadata in [
            [0x80, 0, 6, 0, 0],
            [0xfd, 0, 6, 0, 0],
            [0xff, 1, 6, 0, 0],
            [0xff, 0, 0, 0, 0],
            [0xff, 0, 31, 0, 0],
            [0xff, 0, 6 | 1 << 5, 0, 0],
            [0xff, 0, 6, 1, 0],
            [0xff, 0, 6, 0, 1],
            [0xfe, 0, 0, 0, 0],
            [0xfe, 0, 1, 0, 0],
            [6, 0, 0, 0, 0],
            [6, 3, 0, 0, 0],
        ] {
            assert_eq!(kind(69, metadata), FilterKind::AlwaysTrue, "{metadata:?}");
        }
        assert_eq!(kind(10, [0xff, 0, 6, 0, 0]), FilterKind::AlwaysTrue); // not one line
        assert_eq!(kind(1 << 32, [0xff, 0, 6, 0, 0]), FilterKind::AlwaysTrue);
    }

    #[test]
    fn a_piece_of_the_wrong_length_matches() {
        for metadata in [[6, 1, 0, 0, 0], [0xff, 0, 6, 0, 0], [0xfe, 0, 2, 0, 0]] {
            let meta = FilterMeta::parse(69, metadata);
            let key = KeyHash::new(b"key");
            let Probe::Bytes(range) = meta.probe(&key) else { panic!("{metadata:?}") };
            assert!(!meta.may_contain(&key, &vec![0; range.len()]) || metadata[0] == 0xfe);
            assert!(meta.may_contain(&key, &vec![0; range.len() - 1]));
            assert!(meta.may_contain(&key, &vec![0; range.len() + 1]));
            assert!(meta.may_contain(&key, &[]));
        }
    }

    proptest! {
        #[test]
        fn probes_stay_within_any_block(
            block_len in 0_usize..100_000,
            marker in prop_oneof![Just(0xff_u8), Just(0xfe), any::<u8>()],
            rest in prop_oneof![any::<[u8; 4]>(), (0_u8..9, 0_u8..30).prop_map(|(a, b)| [0, b, a, 0])],
            keys in prop::collection::vec(any::<u64>(), 20),
        ) {
            let [a, b, c, d] = rest;
            let meta = FilterMeta::parse(block_len, [marker, a, b, c, d]);
            for key in keys {
                let key = key.to_le_bytes();
                let key = KeyHash::new(&key);
                if let Probe::Bytes(range) = meta.probe(&key) {
                    prop_assert!(range.start < range.end);
                    prop_assert!(range.end + METADATA_LEN <= block_len);
                    meta.may_contain(&key, &vec![0x5a; range.len()]);
                }
            }
        }
    }
}
