use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::PACKED_LEN;

/// Name of the bytewise order in files.
pub const BYTEWISE_NAME: &str = "leveldb.BytewiseComparator";
/// Name of the reverse bytewise order in files.
pub const REVERSE_BYTEWISE_NAME: &str = "rocksdb.ReverseBytewiseComparator";

/// A caller's order of user keys.
///
/// It must be a total order, the same on every run: files are sorted by it. Its name is written into files and
/// checked when they are opened.
pub trait Comparator: Send + Sync + fmt::Debug {
    /// The name stored in files.
    fn name(&self) -> &str;

    /// The order of two user keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// Whether keys that compare equal always have equal bytes. Filters and hash indexes need that.
    fn equal_keys_have_equal_bytes(&self) -> bool {
        true
    }

    /// Replaces `key` by a short key `s` with `key <= s < limit`, if there is one. Called with `key < limit`.
    fn shorten_separator(&self, _key: &mut Vec<u8>, _limit: &[u8]) {}

    /// Replaces `key` by a short key that is not less.
    fn shorten_successor(&self, _key: &mut Vec<u8>) {}
}

/// The order of user keys: one of the two built-in ones, compared without a virtual call, or the caller's.
///
/// ```
/// use std::cmp::Ordering;
/// use partita::key::KeyOrder;
///
/// assert_eq!(KeyOrder::Bytewise.compare(b"a", b"ab"), Ordering::Less);
/// assert_eq!(KeyOrder::ReverseBytewise.compare(b"a", b"ab"), Ordering::Greater);
/// ```
#[derive(Clone, Debug, Default)]
pub enum KeyOrder {
    /// Unsigned bytes, shorter first: `leveldb.BytewiseComparator`.
    #[default]
    Bytewise,
    /// The opposite: `rocksdb.ReverseBytewiseComparator`.
    ReverseBytewise,
    /// The caller's.
    Custom(Arc<dyn Comparator>),
}

impl KeyOrder {
    /// The built-in order of this name, if it is one.
    pub fn builtin(name: &str) -> Option<Self> {
        match name {
            BYTEWISE_NAME => Some(Self::Bytewise),
            REVERSE_BYTEWISE_NAME => Some(Self::ReverseBytewise),
            _ => None,
        }
    }

    /// The name stored in files.
    pub fn name(&self) -> &str {
        match self {
            Self::Bytewise => BYTEWISE_NAME,
            Self::ReverseBytewise => REVERSE_BYTEWISE_NAME,
            Self::Custom(comparator) => comparator.name(),
        }
    }

    /// The order of two user keys.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Bytewise => a.cmp(b),
            Self::ReverseBytewise => b.cmp(a),
            Self::Custom(comparator) => comparator.compare(a, b),
        }
    }

    /// The order of two encoded internal keys: user key ascending, then packed word descending.
    ///
    /// A key shorter than 8 bytes counts as an empty user key; parsers refuse such keys before they get here.
    #[inline]
    pub fn compare_internal(&self, a: &[u8], b: &[u8]) -> Ordering {
        let (a_user, a_packed) = split(a);
        let (b_user, b_packed) = split(b);
        self.compare(a_user, b_user).then_with(|| b_packed.cmp(&a_packed))
    }

    /// Whether keys that compare equal always have equal bytes.
    pub fn equal_keys_have_equal_bytes(&self) -> bool {
        match self {
            Self::Bytewise | Self::ReverseBytewise => true,
            Self::Custom(comparator) => comparator.equal_keys_have_equal_bytes(),
        }
    }

    /// Replaces `key` by a short key `s` with `key <= s < limit`, if there is one; `key < limit` must hold.
    pub fn shorten_separator(&self, key: &mut Vec<u8>, limit: &[u8]) {
        match self {
            Self::Bytewise => shorten_separator_bytewise(key, limit),
            Self::ReverseBytewise => shorten_separator_reverse(key, limit),
            Self::Custom(comparator) => comparator.shorten_separator(key, limit),
        }
    }

    /// Replaces `key` by a short key that is not less.
    pub fn shorten_successor(&self, key: &mut Vec<u8>) {
        match self {
            Self::Bytewise => {
                if let Some(at) = key.iter().position(|&byte| byte != 0xff) {
                    key[at] += 1;
                    key.truncate(at + 1);
                }
            }
            Self::ReverseBytewise => {}
            Self::Custom(comparator) => comparator.shorten_successor(key),
        }
    }
}

impl PartialEq for KeyOrder {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

#[inline]
fn split(encoded: &[u8]) -> (&[u8], u64) {
    match encoded.split_last_chunk::<PACKED_LEN>() {
        Some((user_key, packed)) => (user_key, u64::from_le_bytes(*packed)),
        None => (&[], 0),
    }
}

fn shorten_separator_bytewise(key: &mut Vec<u8>, limit: &[u8]) {
    let at = key.iter().zip(limit).take_while(|(a, b)| a == b).count();
    if at >= key.len() || at >= limit.len() || key[at] >= limit[at] {
        return;
    }
    if at < limit.len() - 1 || key[at] + 1 < limit[at] {
        key[at] += 1;
        key.truncate(at + 1);
        return;
    }
    // `limit` ends right after a byte that is one greater, so raising `key[at]` would reach it. Raise a later byte.
    if let Some(next) = key[at + 1..].iter().position(|&byte| byte != 0xff) {
        let next = at + 1 + next;
        key[next] += 1;
        key.truncate(next + 1);
    }
}

fn shorten_separator_reverse(key: &mut Vec<u8>, limit: &[u8]) {
    let at = key.iter().zip(limit).take_while(|(a, b)| a == b).count();
    if at < limit.len() && at + 1 < key.len() && key[at] > limit[at] {
        key.truncate(at + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{InternalKey, SeqNo, ValueType};
    use proptest::prelude::*;

    fn separator(order: &KeyOrder, key: &[u8], limit: &[u8]) -> Vec<u8> {
        let mut key = key.to_vec();
        order.shorten_separator(&mut key, limit);
        key
    }

    #[test]
    fn separators_are_those_of_rocksdb() {
        let bytewise = KeyOrder::Bytewise;
        assert_eq!(separator(&bytewise, b"abc1xyz", b"abc3xy"), b"abc2");
        assert_eq!(separator(&bytewise, b"abc1xyz", b"abc2xy"), b"abc2");
        assert_eq!(separator(&bytewise, b"abc1xyz", b"abc2"), b"abc1y");
        assert_eq!(separator(&bytewise, b"abc1\xff\xff", b"abc2"), b"abc1\xff\xff");
        assert_eq!(separator(&bytewise, b"abc", b"abcd"), b"abc");
        let reverse = KeyOrder::ReverseBytewise;
        assert_eq!(separator(&reverse, b"abc3xyz", b"abc2xyz"), b"abc3");
        assert_eq!(separator(&reverse, b"abc3", b"abc2xyz"), b"abc3");
    }

    #[test]
    fn newer_entries_of_a_key_sort_first() {
        let seqno = |n| SeqNo::new(n).unwrap();
        let newer = InternalKey::new(b"k", seqno(9), ValueType::Deletion).encode();
        let older = InternalKey::new(b"k", seqno(8), ValueType::Value).encode();
        let longer = InternalKey::new(b"k\0", seqno(99), ValueType::Value).encode();
        assert_eq!(KeyOrder::Bytewise.compare_internal(&newer, &older), Ordering::Less);
        assert_eq!(KeyOrder::Bytewise.compare_internal(&older, &longer), Ordering::Less);
        assert_eq!(KeyOrder::ReverseBytewise.compare_internal(&older, &longer), Ordering::Greater);
    }

    proptest! {
        #[test]
        fn a_separator_lies_between_its_keys(
            a in proptest::collection::vec(0u8..4, 0..6),
            b in proptest::collection::vec(0u8..4, 0..6),
            high in any::<bool>(),
        ) {
            let widen = |key: Vec<u8>| -> Vec<u8> {
                key.into_iter().map(|byte| if high && byte == 3 { 0xff } else { byte }).collect()
            };
            let (a, b) = (widen(a), widen(b));
            for order in [KeyOrder::Bytewise, KeyOrder::ReverseBytewise] {
                let (low, limit) =
                    if order.compare(&a, &b).is_lt() { (&a, &b) } else { (&b, &a) };
                if low == limit {
                    continue;
                }
                let between = separator(&order, low, limit);
                prop_assert!(order.compare(low, &between).is_le());
                prop_assert!(order.compare(&between, limit).is_lt());
                let mut successor = low.clone();
                order.shorten_successor(&mut successor);
                prop_assert!(order.compare(low, &successor).is_le());
            }
        }
    }
}
