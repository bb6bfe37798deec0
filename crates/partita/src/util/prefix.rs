//! Comparing the front of keys, a word at a time.

/// The first 8 bytes as a big-endian integer, padded with zeros: compares like the bytes, except that a zero byte and
/// an absent one are the same.
#[inline]
pub(crate) fn prefix_word(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(word) => u64::from_be_bytes(*word),
        None => {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_be_bytes(word)
        }
    }
}

/// The first 16 bytes as a big-endian integer, like [`prefix_word`].
#[inline]
pub(crate) fn prefix_long_word(bytes: &[u8]) -> u128 {
    match bytes.first_chunk::<16>() {
        Some(word) => u128::from_be_bytes(*word),
        None => {
            let mut word = [0; 16];
            word[..bytes.len()].copy_from_slice(bytes);
            u128::from_be_bytes(word)
        }
    }
}

/// Number of leading bytes that `a` and `b` share.
#[inline]
pub(crate) fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    let mut at = 0;
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        let differing = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differing != 0 {
            return at + differing.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_never_contradict_the_bytes(
            a in proptest::collection::vec(0u8..3, 0..20),
            b in proptest::collection::vec(0u8..3, 0..20),
        ) {
            let long = prefix_long_word(&a).cmp(&prefix_long_word(&b));
            prop_assert!(long.is_eq() || long == a.cmp(&b));
            let short = prefix_word(&a).cmp(&prefix_word(&b));
            prop_assert!(short.is_eq() || short == long);
        }

        #[test]
        fn the_common_prefix_is_counted(
            shared in proptest::collection::vec(any::<u8>(), 0..30),
            a in proptest::collection::vec(0u8..2, 0..20),
            b in proptest::collection::vec(0u8..2, 0..20),
        ) {
            let a = [&shared[..], &a].concat();
            let b = [&shared[..], &b].concat();
            let expected = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            prop_assert_eq!(common_prefix_len(&a, &b), expected);
        }
    }
}
