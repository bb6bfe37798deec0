//! A large filter in chunks: a query looks at a few adjacent bytes, so it needs one chunk, not the filter.
//!
//! ```text
//! | chunk 0, 4096 bytes          |
//! |<-------- stride ------->| chunk 1, 4096 bytes          |
//!                           |<-------- stride ------->| ... |           the last one ends with the bits
//! ```
//!
//! A query belongs to the chunk in whose stride its bytes start. Chunks overlap by as much as a query's bytes may reach
//! over the stride's end: by nothing for Bloom, whose lines divide a chunk evenly, by 208 bytes for a Ribbon of 7
//! columns. So one chunk answers, and one read brings it.

use std::ops::Range;

use super::lines::{LINE_LEN, Lines};
use super::{FilterMeta, KeyHash, METADATA_LEN, Probe};
use crate::util::prefetch::prefetch;

/// Bytes of a chunk, except of the last one.
const CHUNK_LEN: usize = 4096;

/// How a filter is cut into chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkLayout {
    meta: FilterMeta,
    /// Length of the block without its metadata.
    bits_len: u32,
    stride: u32,
}

/// What it takes to answer a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChunkProbe {
    /// The answer, without any chunk.
    Known(bool),
    /// These bytes of a chunk.
    Chunk {
        /// Its number.
        number: usize,
        /// Where the bytes stand in it.
        within: Range<usize>,
    },
}

impl ChunkLayout {
    /// Cuts a block of `block_len` bytes that ends in `metadata`.
    ///
    /// * Returns `None` if queries look at more bytes than half a chunk: at legacy lines of a length that no known writer
    ///   makes.
    pub(crate) fn new(block_len: usize, metadata: [u8; METADATA_LEN]) -> Option<Self> {
        let meta = FilterMeta::parse(block_len, metadata);
        let bits_len = u32::try_from(block_len.saturating_sub(METADATA_LEN)).ok()?;
        let (window, step) = (meta.window_len(), meta.window_step());
        if window > CHUNK_LEN / 2 {
            return None;
        }
        let stride = CHUNK_LEN - (window - step.min(window));
        Some(Self { meta, bits_len, stride: stride as u32 })
    }

    /// Number of chunks.
    pub(crate) fn count(&self) -> usize {
        self.bits_len.div_ceil(self.stride) as usize
    }

    /// Where chunk `number` stands in the block; an empty range behind the last one.
    pub(crate) fn range(&self, number: usize) -> Range<usize> {
        let start = number.saturating_mul(self.stride as usize).min(self.bits_len as usize);
        start..(start + CHUNK_LEN).min(self.bits_len as usize)
    }

    /// What it takes to answer for `key`.
    #[inline]
    pub(crate) fn probe(&self, key: &KeyHash<'_>) -> ChunkProbe {
        match self.meta.probe(key) {
            Probe::Known(answer) => ChunkProbe::Known(answer),
            Probe::Bytes(Range { start, end }) => {
                // Numbers of 32 bits divide faster.
                let number = start as u32 / self.stride;
                let chunk_start = (number * self.stride) as usize;
                let within = start - chunk_start..end - chunk_start;
                ChunkProbe::Chunk { number: number as usize, within }
            }
        }
    }

    /// Whether `key` may have been added.
    ///
    /// * `chunk`, `within`: what [`ChunkLayout::probe`] says.
    #[inline]
    pub(crate) fn may_contain(
        &self,
        key: &KeyHash<'_>,
        chunk: &FilterChunk,
        within: Range<usize>,
    ) -> bool {
        self.meta.may_contain(key, chunk.0.bytes().get(within).unwrap_or_default())
    }
}

/// A chunk in memory, aligned to cache lines.
#[derive(Clone, Debug)]
pub(crate) struct FilterChunk(Lines);

impl FilterChunk {
    /// A chunk of these bytes.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self(Lines::copy_of(bytes))
    }

    /// Asks for the memory of a query's bytes, without waiting for it.
    #[inline]
    pub(crate) fn prefetch(&self, within: Range<usize>) {
        for at in within.step_by(LINE_LEN) {
            prefetch(self.0.bytes(), at);
        }
    }

    /// Bytes of memory held outside of this object.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.0.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::filter::{Filter, FilterBuilder, FilterLevel, FilterPolicy};

    fn chunks_answer_like_the_whole(block: &[u8], key: &KeyHash<'_>) {
        let metadata = block.last_chunk().copied().unwrap_or_default();
        let layout = ChunkLayout::new(block.len(), metadata).unwrap();
        let expected = Filter::parse(block).may_contain(key);
        match layout.probe(key) {
            ChunkProbe::Known(answer) => assert_eq!(answer, expected),
            ChunkProbe::Chunk { number, within } => {
                assert!(number < layout.count());
                let range = layout.range(number);
                assert!(within.end <= range.len());
                let chunk = FilterChunk::new(&block[range]);
                assert_eq!(layout.may_contain(key, &chunk, within), expected);
            }
        }
    }

    #[test]
    fn filters_of_every_kind_answer_from_one_chunk() {
        for (policy, format_version) in [
            (FilterPolicy::Bloom { bits_per_key: 10.0 }, 5),
            (FilterPolicy::Bloom { bits_per_key: 10.0 }, 4),
            (FilterPolicy::Ribbon { bits_per_key: 10.0, bloom_before_level: 0 }, 5),
        ] {
            let mut builder =
                FilterBuilder::new(&policy, format_version, FilterLevel::Unknown).unwrap();
            let keys: Vec<[u8; 4]> = (0..20_000u32).map(u32::to_be_bytes).collect();
            keys.iter().for_each(|key| builder.add_key(key));
            let block = builder.finish();
            assert!(block.len() > 4 * CHUNK_LEN);
            for key in (0..40_000u32).step_by(7).map(u32::to_be_bytes) {
                chunks_answer_like_the_whole(&block, &KeyHash::new(&key));
            }
        }
    }

    #[test]
    fn chunks_cover_the_bits_and_no_more() {
        for metadata in [[0xff, 0, 6, 0, 0], [0xfe, 0, 9, 0, 0], [0xfe, 3, 100, 0, 0]] {
            for block_len in [6, 69, 4096 + 5, 4096 + 6, 100_005] {
                let layout = ChunkLayout::new(block_len, metadata).unwrap();
                let mut covered = 0;
                for number in 0..layout.count() {
                    let range = layout.range(number);
                    assert!(range.start <= covered && range.len() <= CHUNK_LEN);
                    assert!(!range.is_empty());
                    covered = range.end;
                }
                assert_eq!(covered, block_len - METADATA_LEN);
                assert!(layout.range(layout.count()).is_empty());
            }
        }
    }

    #[test]
    fn lines_longer_than_half_a_chunk_are_refused() {
        let metadata = |lines: u8| [6, lines, 0, 0, 0];
        assert!(ChunkLayout::new((16 << 10) + 5, metadata(1)).is_none());
        assert!(ChunkLayout::new((16 << 10) + 5, metadata(8)).is_some());
    }

    proptest! {
        #[test]
        fn any_bytes_are_chunks(
            mut block in prop::collection::vec(any::<u8>(), 0..20_000),
            metadata in prop_oneof![
                (1_u8..31).prop_map(|probes| vec![0xff, 0, probes, 0, 0]),
                (any::<u8>(), 2_u8..12).prop_map(|(seed, blocks)| vec![0xfe, seed, blocks, 0, 0]),
                prop::collection::vec(any::<u8>(), 5),
            ],
            keys in prop::collection::vec(any::<u64>(), 20),
        ) {
            block.extend(metadata);
            let metadata = block.last_chunk().copied().unwrap_or_default();
            if ChunkLayout::new(block.len(), metadata).is_some() {
                for key in keys {
                    chunks_answer_like_the_whole(&block, &KeyHash::new(&key.to_le_bytes()));
                }
            }
        }
    }
}
