use super::prefix::prefix_word;

/// The restart points' keys, as words that compare like the keys: a search touches one small array.
///
/// All restart keys of a block start with the same `common` bytes; of what follows, the first 8 bytes are kept as a
/// big-endian integer, padded with zeros. A smaller word means a smaller key; equal words say nothing, and the search
/// looks at the keys themselves. Only for the bytewise order.
#[derive(Debug)]
pub(super) struct Directory {
    words: Box<[u64]>,
    common_len: usize,
}

impl Directory {
    /// * `words`: [`prefix_word`] of each restart key behind its first `common_len` bytes, in the order of the block.
    /// * `common_len`: how many bytes all restart keys start with.
    pub(super) fn new(words: Box<[u64]>, common_len: usize) -> Self {
        Self { words, common_len }
    }

    /// The restart points whose order to `target` the words do not tell: those before the range are smaller, those
    /// behind it greater.
    ///
    /// * `first`: the first restart key, which has the bytes that all have in common.
    #[inline]
    pub(super) fn undecided(&self, first: &[u8], target: &[u8]) -> std::ops::Range<usize> {
        let common = first.get(..self.common_len).unwrap_or_default();
        let Some(rest) = target.strip_prefix(common) else {
            // All keys start with `common`, so all are on the same side, or longer than a target that `common`
            // starts with.
            let smaller = *common < *target;
            let at = if smaller { self.words.len() } else { 0 };
            return at..at;
        };
        let word = prefix_word(rest);
        let start = self.words.partition_point(|&other| other < word);
        match self.words.get(start) {
            Some(&other) if other == word => {
                start..start + self.words[start..].partition_point(|&other| other == word)
            }
            _ => start..start,
        }
    }

    /// Heap bytes held.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::super::prefix::common_prefix_len;
    use super::*;
    use proptest::prelude::*;

    fn directory(keys: &[Vec<u8>]) -> Directory {
        let common_len = keys.iter().map(|key| common_prefix_len(&keys[0], key)).min().unwrap();
        Directory::new(keys.iter().map(|key| prefix_word(&key[common_len..])).collect(), common_len)
    }

    proptest! {
        #[test]
        fn the_words_never_contradict_the_keys(
            lead in proptest::collection::vec(any::<u8>(), 0..4),
            tails in proptest::collection::btree_set(proptest::collection::vec(0u8..3, 0..12), 1..40),
            target in proptest::collection::vec(0u8..3, 0..12),
            cut in 0usize..6,
        ) {
            let keys: Vec<Vec<u8>> =
                tails.into_iter().map(|tail| [&lead[..], &tail].concat()).collect();
            let mut target = [&lead[..], &target].concat();
            target.truncate(target.len().saturating_sub(cut));
            let undecided = directory(&keys).undecided(&keys[0], &target);
            prop_assert!(keys[..undecided.start].iter().all(|key| *key < target));
            prop_assert!(keys[undecided.end..].iter().all(|key| *key >= target));
        }
    }

    #[test]
    fn keys_that_are_equal_in_their_words_are_left_to_be_compared() {
        let mut keys = vec![b"1".to_vec()];
        keys.extend((0..100u8).map(|n| [&b"123456789"[..], &[n]].concat()));
        let directory = directory(&keys);
        assert_eq!(directory.common_len, 1);
        assert_eq!(directory.undecided(&keys[0], &keys[50]), 1..101);
        assert_eq!(directory.undecided(&keys[0], b"2"), 101..101);
        assert_eq!(directory.undecided(&keys[0], b""), 0..0);
    }
}
