use super::prefix::{common_prefix_len, prefix_word};

/// The restart points' keys, as words that compare like the keys: a search touches one small array.
///
/// All restart keys of a block start with the same `common` bytes; of what follows, the first 8 bytes are kept as a
/// big-endian integer, padded with zeros. A smaller word means a smaller key; equal words say nothing, and the search
/// looks at the keys themselves. Only for the bytewise order.
#[derive(Debug, Default)]
pub(super) struct Directory {
    common: Box<[u8]>,
    words: Box<[u64]>,
}

impl Directory {
    /// The directory of these restart keys (user keys, in the order of the block).
    pub(super) fn new<'k>(keys: impl Iterator<Item = &'k [u8]> + Clone, count: usize) -> Self {
        let Some(first) = keys.clone().next() else {
            return Self::default();
        };
        // A damaged block may be out of order, so each key is looked at, not only the last.
        let common =
            keys.clone().map(|key| common_prefix_len(first, key)).min().unwrap_or_default();
        let mut words = Vec::with_capacity(count);
        words.extend(keys.map(|key| prefix_word(&key[common..])));
        Self { common: first[..common].into(), words: words.into() }
    }

    /// The restart points whose order to `target` the words do not tell: those before the range are smaller, those
    /// behind it greater.
    #[inline]
    pub(super) fn undecided(&self, target: &[u8]) -> std::ops::Range<usize> {
        let Some(rest) = target.strip_prefix(&*self.common) else {
            // All keys start with `common`, so all are on the same side, or longer than a target that `common`
            // starts with.
            let smaller = *self.common < *target;
            let at = if smaller { self.words.len() } else { 0 };
            return at..at;
        };
        let word = prefix_word(rest);
        let start = self.words.partition_point(|&other| other < word);
        let len = self.words[start..].partition_point(|&other| other == word);
        start..start + len
    }

    /// Heap bytes held.
    pub(super) fn heap_bytes(&self) -> usize {
        self.common.len() + size_of_val(&*self.words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            let directory = Directory::new(keys.iter().map(|key| &key[..]), keys.len());
            let mut target = [&lead[..], &target].concat();
            target.truncate(target.len().saturating_sub(cut));
            let undecided = directory.undecided(&target);
            prop_assert!(keys[..undecided.start].iter().all(|key| *key < target));
            prop_assert!(keys[undecided.end..].iter().all(|key| *key >= target));
        }
    }

    #[test]
    fn long_equal_runs_are_left_to_the_keys() {
        let keys: Vec<Vec<u8>> = (0..100u8).map(|n| [&b"12345678"[..], &[n]].concat()).collect();
        let mut all = vec![b"1".to_vec()];
        all.extend(keys);
        let directory = Directory::new(all.iter().map(|key| &key[..]), all.len());
        assert_eq!(directory.common[..], *b"1");
        let undecided = directory.undecided(&all[50]);
        assert!(undecided.contains(&50));
        assert!(undecided.len() < 100);
    }
}
