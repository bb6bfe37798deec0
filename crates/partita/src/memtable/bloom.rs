//! A Bloom filter that grows with its memtable: lookups of keys that are not there cost one cache line.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::key::{KeyHash, LookupKey, PrefixExtractor};
use crate::util::hash::hash64;

const LINE_WORDS: usize = 8;
const PROBES: u32 = 6;

/// Which keys a memtable's filter knows.
#[derive(Clone, Debug)]
pub struct MemTableFilter {
    /// Bytes of the filter; RocksDB's `memtable_prefix_bloom_size_ratio` times the write buffer.
    pub size_bytes: usize,
    /// Whether whole keys are in it.
    pub whole_keys: bool,
    /// Whose prefixes are in it.
    pub prefix_extractor: Option<PrefixExtractor>,
}

#[derive(Debug)]
struct Line([AtomicU64; LINE_WORDS]);

#[derive(Debug)]
pub(super) struct Bloom {
    lines: Box<[Line]>,
    whole_keys: bool,
    prefix_extractor: Option<PrefixExtractor>,
}

impl Bloom {
    pub(super) fn new(filter: &MemTableFilter) -> Self {
        let lines = (filter.size_bytes / size_of::<Line>()).max(1);
        let line = || Line(std::array::from_fn(|_| AtomicU64::new(0)));
        Self {
            lines: (0..lines).map(|_| line()).collect(),
            whole_keys: filter.whole_keys,
            prefix_extractor: filter.prefix_extractor.clone(),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    pub(super) fn add(&self, user_key: &[u8]) {
        if self.whole_keys {
            self.add_hash(hash64(user_key));
        }
        if let Some(prefix) = self.prefix(user_key) {
            self.add_hash(hash64(prefix));
        }
    }

    /// `false` if no entry of the key was added.
    #[inline]
    pub(super) fn may_contain(&self, key: &LookupKey<'_>) -> bool {
        if self.whole_keys {
            return self.has_hash(key.hash().hash64());
        }
        match self.prefix(key.user_key()) {
            Some(prefix) => self.has_hash(KeyHash::new(prefix).hash64()),
            None => true,
        }
    }

    /// `false` if no key with this prefix was added.
    pub(super) fn may_contain_prefix_of(&self, user_key: &[u8]) -> bool {
        self.prefix(user_key).is_none_or(|prefix| self.has_hash(hash64(prefix)))
    }

    fn prefix<'k>(&self, user_key: &'k [u8]) -> Option<&'k [u8]> {
        self.prefix_extractor.as_ref()?.prefix(user_key)
    }

    fn line(&self, hash: u64) -> &Line {
        // The upper half of the hash, scaled to the number of lines.
        let at = (u128::from(hash) * self.lines.len() as u128) >> 64;
        &self.lines[at as usize]
    }

    /// The bits of a key in its line: nine bits of a remixed hash each.
    fn bits(hash: u64) -> impl Iterator<Item = (usize, u64)> {
        let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..PROBES).map(move |probe| {
            let bit = mixed >> (10 * probe) & 511;
            (bit as usize / 64, 1 << (bit % 64))
        })
    }

    fn add_hash(&self, hash: u64) {
        let line = self.line(hash);
        for (word, bit) in Self::bits(hash) {
            // A write is shared with all readers of the line; most bits of a hot key are set.
            if line.0[word].load(Ordering::Relaxed) & bit == 0 {
                line.0[word].fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    fn has_hash(&self, hash: u64) -> bool {
        let line = self.line(hash);
        Self::bits(hash).all(|(word, bit)| line.0[word].load(Ordering::Relaxed) & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::SeqNo;

    #[test]
    fn keys_added_are_found_and_few_others() {
        let filter =
            MemTableFilter { size_bytes: 12_500, whole_keys: true, prefix_extractor: None };
        let bloom = Bloom::new(&filter);
        let key = |n: u32| n.to_be_bytes();
        (0..10_000).for_each(|n| bloom.add(&key(n)));
        let asked = |n: u32| bloom.may_contain(&LookupKey::new(&key(n), SeqNo::MAX));
        assert!((0..10_000).all(asked));
        let wrong = (10_000..20_000).filter(|n| asked(*n)).count();
        assert!((20..300).contains(&wrong), "{wrong} of 10,000 absent keys");
    }

    #[test]
    fn prefixes_rule_out_keys_that_have_one() {
        let filter = MemTableFilter {
            size_bytes: 10_000,
            whole_keys: false,
            prefix_extractor: Some(PrefixExtractor::Fixed(2)),
        };
        let bloom = Bloom::new(&filter);
        bloom.add(b"ab1");
        bloom.add(b"x");
        let asked = |key: &[u8]| bloom.may_contain(&LookupKey::new(key, SeqNo::MAX));
        assert!(asked(b"ab1") && asked(b"ab2") && asked(b"x") && asked(b"y"));
        assert!(!asked(b"cd1"));
        assert!(bloom.may_contain_prefix_of(b"ab") && !bloom.may_contain_prefix_of(b"cd"));
    }
}
