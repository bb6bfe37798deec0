//! The hash of one key, computed once and asked of many filters.

use crate::util::hash::{hash32, hash64};

/// Seed of `Hash32` in legacy Bloom filters.
const LEGACY_SEED: u32 = 0xbc9f_1d34;

/// A key (or prefix) with its filter hash.
///
/// All filters of a lookup share one `KeyHash`: Bloom and Ribbon filters use the hash, and only a legacy Bloom filter
/// goes back to the key's bytes.
///
/// ```
/// use partita::key::KeyHash;
///
/// let key = KeyHash::new(b"user_key");
/// assert_eq!(key.hash64(), partita::util::hash::hash64(b"user_key"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct KeyHash<'a> {
    hash: u64,
    key: &'a [u8],
}

impl<'a> KeyHash<'a> {
    /// Hashes `key`, a user key without timestamp or a prefix of one.
    #[inline]
    pub fn new(key: &'a [u8]) -> Self {
        Self { hash: hash64(key), key }
    }

    /// The key.
    #[inline]
    pub fn key(&self) -> &'a [u8] {
        self.key
    }

    /// The hash that Bloom and Ribbon filters use.
    #[inline]
    pub fn hash64(&self) -> u64 {
        self.hash
    }

    /// The hash that legacy Bloom filters use; computed at each call.
    #[inline]
    pub fn legacy_hash(&self) -> u32 {
        legacy_hash(self.key)
    }
}

/// The hash that legacy Bloom filters use.
#[inline]
pub(crate) fn legacy_hash(key: &[u8]) -> u32 {
    hash32(key, LEGACY_SEED)
}
