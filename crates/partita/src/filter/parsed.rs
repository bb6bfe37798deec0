//! A filter in memory.

use super::lines::Lines;
use super::meta::Geometry;
use super::{FilterImpl, FilterKind, FilterMeta, KeyHash, METADATA_LEN};
use crate::util::prefetch::{prefetch, prefetch_address};

/// A parsed filter block that owns its bytes.
///
/// Queries take no lock and change nothing, so any number of threads may ask at once.
pub struct Filter {
    meta: FilterMeta,
    /// The block without its metadata.
    lines: Lines,
}

/// Queries of a batch whose bytes are on their way from memory at the same time.
const BATCH_LEN: usize = 32;

impl Filter {
    /// Parses a filter block (without trailer). Never fails: what cannot be explained matches everything, and
    /// [`Filter::kind`] says so.
    ///
    /// * Cost: one copy of the block, into memory that starts at a cache line. Without it three of four queries would
    ///   miss two cache lines instead of one.
    pub fn parse(block: &[u8]) -> Self {
        let (bits, metadata) = block.split_last_chunk().unwrap_or((&[], &[0; METADATA_LEN]));
        let meta = FilterMeta::parse(block.len(), *metadata);
        let bits = match meta.geometry() {
            Geometry::Empty | Geometry::AlwaysTrue => &[],
            _ => bits,
        };
        Self { meta, lines: Lines::copy_of(bits) }
    }

    /// The same filter, answering with other instructions: for tests and benchmarks.
    #[must_use]
    pub fn with_impl(mut self, path: FilterImpl) -> Self {
        self.meta = self.meta.with_impl(path);
        self
    }

    /// What the block is.
    pub fn kind(&self) -> FilterKind {
        self.meta.kind()
    }

    /// The filter's geometry.
    pub fn meta(&self) -> &FilterMeta {
        &self.meta
    }

    /// Bytes of memory held, this object included.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.lines.memory_bytes()
    }

    /// Bytes of memory held outside of this object.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.lines.memory_bytes()
    }

    /// Whether `key` may have been added; if not, it certainly was not.
    #[inline]
    pub fn may_contain(&self, key: &KeyHash<'_>) -> bool {
        // The kind that nearly all filters are of is one comparison away, without the registers that others need.
        match self.meta.geometry() {
            Geometry::Bloom(bloom) => {
                bloom.may_contain_in(self.meta.implementation(), self.lines.lines(), key.hash64())
            }
            _ => self.may_contain_other(key),
        }
    }

    #[inline(never)]
    fn may_contain_other(&self, key: &KeyHash<'_>) -> bool {
        match self.meta.geometry() {
            Geometry::Empty => false,
            Geometry::AlwaysTrue => true,
            Geometry::Bloom(_) => self.may_contain(key), // not reached
            Geometry::Ribbon(ribbon) => {
                let probe = ribbon.probe(key.hash64());
                let segments = self.lines.bytes().get(probe.bytes()).unwrap_or_default();
                probe.may_contain(self.meta.implementation(), segments)
            }
            Geometry::Legacy(legacy) => {
                let hash = key.legacy_hash();
                let start = legacy.line_start(hash);
                match self.lines.bytes().get(start..start + legacy.line_len()) {
                    Some(line) => legacy.may_contain(hash, line),
                    None => true, // not reached: the geometry counts these lines
                }
            }
        }
    }

    /// Answers for many keys; their memory is fetched at the same time.
    ///
    /// * `answers`: as many as keys; `answers[i]` becomes the answer for `keys[i]`. If the lengths differ, the shorter
    ///   one counts.
    pub fn may_contain_batch(&self, keys: &[KeyHash<'_>], answers: &mut [bool]) {
        for (keys, answers) in keys.chunks(BATCH_LEN).zip(answers.chunks_mut(BATCH_LEN)) {
            if let Geometry::Bloom(bloom) = self.meta.geometry() {
                let path = self.meta.implementation();
                bloom.may_contain_batch(path, self.lines.lines(), keys, answers);
                continue;
            }
            for key in keys {
                self.prefetch(key);
            }
            for (key, answer) in keys.iter().zip(answers) {
                *answer = self.may_contain(key);
            }
        }
    }

    /// Asks for the memory of this object, without waiting for it.
    ///
    /// For callers with many filters who have keys to hash before they ask: the processor, which cannot look past the
    /// hashing, then fetches the object while it still waits for the lines of the batch before.
    #[inline]
    pub fn prefetch_self(&self) {
        let start: *const u8 = std::ptr::from_ref(self).cast();
        prefetch_address(start);
        prefetch_address(start.wrapping_add(size_of::<Self>() - 1));
    }

    /// Asks for the memory that the answer for `key` needs, without waiting for it.
    #[inline]
    pub fn prefetch(&self, key: &KeyHash<'_>) {
        let bytes = self.lines.bytes();
        match self.meta.geometry() {
            Geometry::Empty | Geometry::AlwaysTrue => {}
            Geometry::Bloom(bloom) => {
                prefetch(bytes, bloom.line_of(key.hash64()) * super::lines::LINE_LEN);
            }
            Geometry::Ribbon(ribbon) => {
                let range = ribbon.bytes_of(key.hash64());
                for at in range.clone().step_by(super::lines::LINE_LEN) {
                    prefetch(bytes, at);
                }
                prefetch(bytes, range.end.saturating_sub(1));
            }
            Geometry::Legacy(legacy) => prefetch(bytes, legacy.line_start(key.legacy_hash())),
        }
    }
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Filter")
            .field("kind", &self.kind())
            .field("len", &self.lines.bytes().len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_a_filter_and_pieces_answer_like_the_whole(
            mut block in prop::collection::vec(any::<u8>(), 0..3000),
            metadata in prop_oneof![
                (1_u8..31).prop_map(|probes| vec![0xff, 0, probes, 0, 0]),
                (any::<u8>(), 2_u8..12).prop_map(|(seed, blocks)| vec![0xfe, seed, blocks, 0, 0]),
                (1_u8..128, 1_u8..9).prop_map(|(probes, lines)| vec![probes, lines, 0, 0, 0]),
                prop::collection::vec(any::<u8>(), 5),
            ],
            keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 50),
        ) {
            block.extend(metadata);
            let filter = Filter::parse(&block);
            let keys: Vec<KeyHash<'_>> = keys.iter().map(|key| KeyHash::new(key)).collect();
            let mut answers = vec![false; keys.len()];
            filter.may_contain_batch(&keys, &mut answers);
            for (key, answer) in keys.iter().zip(answers) {
                prop_assert_eq!(filter.may_contain(key), answer);
                let piecewise = match filter.meta().probe(key) {
                    crate::filter::Probe::Known(answer) => answer,
                    crate::filter::Probe::Bytes(range) => filter.meta().may_contain(key, &block[range]),
                };
                prop_assert_eq!(piecewise, answer);
            }
            for path in FilterImpl::available() {
                let filter = Filter::parse(&block).with_impl(path);
                for (key, other) in keys.iter().map(|key| (key, Filter::parse(&block).with_impl(FilterImpl::plain()).may_contain(key))) {
                    prop_assert_eq!(filter.may_contain(key), other, "{}", path);
                }
            }
        }
    }

    #[test]
    fn markers_keep_no_bytes() {
        let filter = Filter::parse(&[0; 6]);
        assert_eq!(filter.kind(), FilterKind::AlwaysTrue);
        assert!(filter.may_contain(&KeyHash::new(b"x")));
        assert_eq!(filter.memory_bytes(), size_of::<Filter>());
        let filter = Filter::parse(&[]);
        assert_eq!(filter.kind(), FilterKind::Empty);
        assert!(!filter.may_contain(&KeyHash::new(b"x")));
    }
}
