use std::ops::Deref;

/// Keys up to this length are kept in place.
const INLINE_LEN: usize = 56;

/// A key that is put together from pieces, without the heap if it is short.
///
/// Nearly all keys fit, and then neither a cursor nor a lookup that returns a key allocates.
#[derive(Clone)]
pub struct KeyBuf {
    /// Up to [`INLINE_LEN`] the key is in `inline`, beyond that in `heap`.
    len: usize,
    inline: [u8; INLINE_LEN],
    heap: Vec<u8>,
}

impl KeyBuf {
    /// The empty key.
    pub const fn new() -> Self {
        Self { len: 0, inline: [0; INLINE_LEN], heap: Vec::new() }
    }

    /// The key's bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match self.inline.get(..self.len) {
            Some(key) => key,
            None => &self.heap,
        }
    }

    /// Becomes the empty key.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Becomes `key`.
    #[inline]
    pub(crate) fn set(&mut self, key: &[u8]) {
        self.clear();
        self.replace_tail(0, key);
    }

    /// Replaces everything behind the first `keep` bytes, of which there must be so many.
    #[inline]
    pub(crate) fn replace_tail(&mut self, keep: usize, tail: &[u8]) {
        debug_assert!(keep <= self.len);
        let len = keep + tail.len();
        if self.len.max(len) > INLINE_LEN {
            self.replace_long_tail(keep, tail);
        } else {
            self.inline[keep..len].copy_from_slice(tail);
        }
        self.len = len;
    }

    #[inline(never)]
    fn replace_long_tail(&mut self, keep: usize, tail: &[u8]) {
        let len = keep + tail.len();
        if self.len <= INLINE_LEN {
            self.heap.clear();
            self.heap.extend_from_slice(&self.inline[..keep]);
        }
        self.heap.truncate(keep);
        self.heap.extend_from_slice(tail);
        if len <= INLINE_LEN {
            self.inline[..len].copy_from_slice(&self.heap);
        }
    }
}

impl Default for KeyBuf {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&[u8]> for KeyBuf {
    fn from(key: &[u8]) -> Self {
        let mut buf = Self::new();
        buf.set(key);
        buf
    }
}

impl Deref for KeyBuf {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for KeyBuf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for KeyBuf {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for KeyBuf {}

/// The length only: keys are the user's data, which is nothing for logs.
impl std::fmt::Debug for KeyBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyBuf({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn replacing_tails_gives_the_key_that_a_vector_has(
            steps in proptest::collection::vec(
                (any::<prop::sample::Index>(), proptest::collection::vec(any::<u8>(), 0..80)),
                1..30,
            ),
        ) {
            let (mut buf, mut expected) = (KeyBuf::new(), Vec::new());
            for (keep, tail) in steps {
                let keep = keep.index(expected.len() + 1);
                expected.truncate(keep);
                expected.extend_from_slice(&tail);
                buf.replace_tail(keep, &tail);
                prop_assert_eq!(&*buf, &expected[..]);
                prop_assert!(KeyBuf::from(&expected[..]) == buf);
            }
        }
    }
}
