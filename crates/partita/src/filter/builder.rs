//! Keys in, filter block out: the same bytes as RocksDB writes for the same keys and settings.
//!
//! Which entries count is part of that, since their number sets the size: an entry equal to the one before is
//! dropped, and with whole keys *and* prefixes in one filter each kind is compared to the last of its own.
//!
//! Two settings of RocksDB that do not change what readers need are left out: `optimize_filters_for_memory` (sizes
//! that suit the allocator) and `detect_filter_construct_corruption`.

use super::lines::Lines;
use super::policy::{FilterLevel, FilterPolicy};
use super::{FilterImpl, METADATA_LEN, bloom, legacy, ribbon};
use crate::util::hash::hash64;

/// Builds filter blocks, one after the other.
///
/// ```
/// use partita::filter::{FilterBuilder, FilterLevel, FilterPolicy};
///
/// let policy = FilterPolicy::Bloom { bits_per_key: 10.0 };
/// let mut builder = FilterBuilder::new(&policy, 5, FilterLevel::Level(6)).unwrap();
/// builder.add_key(b"a");
/// builder.add_key(b"a");
/// builder.add_key(b"b");
/// assert_eq!(builder.len(), 2);
/// assert_eq!(builder.finish().len(), 64 + 5);
/// assert!(builder.is_empty());
/// ```
#[derive(Debug)]
pub struct FilterBuilder {
    recipe: Recipe,
    path: FilterImpl,
    /// One hash per entry; legacy filters use the low half.
    hashes: Vec<u64>,
    last_prefix: Option<u64>,
    /// The filter's bits under construction, kept for the next block.
    lines: Lines,
    ribbon_scratch: ribbon::Scratch,
}

/// What to build.
#[derive(Clone, Copy, Debug)]
enum Recipe {
    Legacy { bits_per_key: u32 },
    Bloom { millibits: u32 },
    Ribbon { target: ribbon::sizing::Target, millibits: u32 },
}

impl FilterBuilder {
    /// A builder of what `policy` asks for; `None` if it asks for no filter.
    ///
    /// * `format_version`: of the table; a Bloom policy builds legacy filters below 5.
    /// * `level`: where the table will stand; a Ribbon policy builds Bloom filters (never legacy ones) for the upper
    ///   levels.
    pub fn new(policy: &FilterPolicy, format_version: u32, level: FilterLevel) -> Option<Self> {
        let bits_per_key = policy.effective_bits_per_key()?;
        let millibits = policy.millibits_per_key();
        let recipe = if policy.is_ribbon_at(level) {
            let target = ribbon::sizing::Target::new(bits_per_key, millibits);
            Recipe::Ribbon { target, millibits }
        } else if format_version < 5 && matches!(policy, FilterPolicy::Bloom { .. }) {
            Recipe::Legacy { bits_per_key: (millibits + 500) / 1000 }
        } else {
            Recipe::Bloom { millibits }
        };
        Some(Self {
            recipe,
            path: FilterImpl::best(),
            hashes: Vec::new(),
            last_prefix: None,
            lines: Lines::empty(),
            ribbon_scratch: ribbon::Scratch::default(),
        })
    }

    /// The same, building with other instructions: for tests and benchmarks.
    #[must_use]
    pub fn with_impl(mut self, path: FilterImpl) -> Self {
        self.path = path;
        self
    }

    /// Adds a whole key, or a prefix where the filter holds prefixes only. Keys come in table order.
    #[inline]
    pub fn add_key(&mut self, key: &[u8]) {
        let hash = self.hash(key);
        if self.hashes.last() != Some(&hash) {
            self.hashes.push(hash);
        }
    }

    /// Adds a whole key and its prefix.
    ///
    /// The prefix goes in front, so that the last entry is always a whole key; that is RocksDB's order since 9.7.
    /// Older versions put the key in front: the same Bloom filter, but a Ribbon filter with another seed.
    pub fn add_key_and_prefix(&mut self, key: &[u8], prefix: &[u8]) {
        let (key, prefix) = (self.hash(key), self.hash(prefix));
        let last_key = self.hashes.last().copied();
        let last_prefix = self.last_prefix.replace(prefix);
        if prefix != key && Some(prefix) != last_prefix && Some(prefix) != last_key {
            self.hashes.push(prefix);
        }
        // A key can equal the last prefix where a reverse order puts it behind the longer keys.
        if Some(key) != last_key && Some(key) != last_prefix {
            self.hashes.push(key);
        }
    }

    #[inline]
    fn hash(&self, key: &[u8]) -> u64 {
        match self.recipe {
            Recipe::Legacy { .. } => u64::from(crate::key::legacy_hash(key)),
            Recipe::Bloom { .. } | Recipe::Ribbon { .. } => hash64(key),
        }
    }

    /// Entries added since the last block.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether no entry was added since the last block.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Length of the block that [`FilterBuilder::finish`] would return now. Exact, but for the rare Ribbon filter that
    /// no seed solves.
    pub fn block_len(&self) -> usize {
        let (entries, Some(&first)) = (self.len(), self.hashes.first()) else {
            return 0;
        };
        match self.recipe {
            Recipe::Legacy { bits_per_key } => legacy::block_len(entries, bits_per_key),
            Recipe::Bloom { millibits } => bloom::sizing::block_len(entries, millibits),
            Recipe::Ribbon { target, millibits } => match target.sizing(entries, first) {
                Some(sizing) => sizing.segments_len + METADATA_LEN,
                None => bloom::sizing::block_len(entries, millibits),
            },
        }
    }

    /// How many entries a block of `len` bytes takes; partitions are cut at this number.
    ///
    /// As RocksDB counts them: `len` is `metadata_block_size` less `block_size_deviation` percent, rounded up. A length
    /// too small for any entry grows by a quarter until one fits, and with a prefix extractor the caller takes one
    /// less (but not less than one), since cutting adds the next key's prefix.
    pub fn entries_that_fit(&self, len: usize) -> usize {
        let fitting = |len| match self.recipe {
            Recipe::Legacy { bits_per_key } => legacy::entries_that_fit(len, bits_per_key),
            Recipe::Bloom { millibits } => bloom::sizing::entries_that_fit(len, millibits),
            Recipe::Ribbon { target, .. } => target.entries_that_fit(len),
        };
        let mut entries = fitting(len);
        let mut larger = (len + 4).max(16);
        while entries == 0 {
            entries = fitting(larger);
            larger += larger / 4;
        }
        entries
    }

    /// Builds the block of the entries added (content without trailer) and starts over.
    ///
    /// Without entries the block is empty, which a reader takes for "nothing matches".
    pub fn finish(&mut self) -> Vec<u8> {
        let mut block = Vec::new();
        if let Some(&first) = self.hashes.first() {
            let metadata = self.build(first);
            block.reserve_exact(self.lines.bytes().len() + METADATA_LEN);
            block.extend_from_slice(self.lines.bytes());
            block.extend_from_slice(&metadata);
        }
        self.hashes.clear();
        self.last_prefix = None;
        block
    }

    /// Leaves the bits in `self.lines` and returns the metadata.
    fn build(&mut self, first: u64) -> [u8; METADATA_LEN] {
        match self.recipe {
            Recipe::Legacy { bits_per_key } => {
                self.lines.reset(self.block_len() - METADATA_LEN);
                legacy::build(self.lines.bytes_mut(), &self.hashes, bits_per_key)
            }
            Recipe::Bloom { millibits } => self.build_bloom(millibits),
            Recipe::Ribbon { target, millibits } => {
                let solved = target.sizing(self.hashes.len(), first).and_then(|sizing| {
                    ribbon::build(
                        &mut self.ribbon_scratch,
                        &mut self.lines,
                        &self.hashes,
                        sizing,
                        self.path,
                    )
                });
                solved.unwrap_or_else(|| self.build_bloom(millibits))
            }
        }
    }

    fn build_bloom(&mut self, millibits: u32) -> [u8; METADATA_LEN] {
        let len = bloom::sizing::block_len(self.hashes.len(), millibits);
        self.lines.reset(len - METADATA_LEN);
        bloom::build(self.lines.lines_mut(), &self.hashes, bloom::sizing::probes(millibits))
    }
}
