//! Histories of writes, and what they come to.

use std::collections::BTreeMap;
use std::fmt;

use partita::key::KeyOrder;
use proptest::prelude::*;

/// A write. Its sequence number is its place in the history, from 1.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    SingleDelete(Vec<u8>),
    Merge(Vec<u8>, Vec<u8>),
    DeleteRange(Vec<u8>, Vec<u8>),
}

/// Few keys, some of them long and alike, so that versions and ranges meet.
pub(crate) fn user_key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => (0u8..24).prop_map(|n| vec![b'a' + n / 4, b'0' + n % 4]),
        1 => (0u8..4).prop_map(|n| [&[b'c'; 20][..], &[n]].concat()),
        1 => Just(Vec::new()),
        1 => Just(vec![0xff, 0xff]),
    ]
}

pub(crate) fn write() -> impl Strategy<Value = Write> {
    let value = || prop::collection::vec(b'0'..=b'9', 0..6);
    prop_oneof![
        6 => (user_key(), value()).prop_map(|(key, value)| Write::Put(key, value)),
        2 => user_key().prop_map(Write::Delete),
        1 => user_key().prop_map(Write::SingleDelete),
        3 => (user_key(), value()).prop_map(|(key, value)| Write::Merge(key, value)),
        2 => (user_key(), user_key()).prop_map(|(a, b)| Write::DeleteRange(a, b)),
    ]
}

/// Writes most of which delete ranges: short ones, that adjoin, and wide ones.
pub(crate) fn range_heavy_write() -> impl Strategy<Value = Write> {
    let neighbours = (0u8..24, 1u8..3).prop_map(|(n, len)| {
        let key = |n: u8| vec![b'a' + n / 4, b'0' + n % 4];
        Write::DeleteRange(key(n), key(n + len))
    });
    prop_oneof![5 => neighbours, 5 => write()]
}

/// A user key in its order.
#[derive(Clone)]
pub(crate) struct Ordered(pub(crate) KeyOrder, pub(crate) Vec<u8>);

impl fmt::Debug for Ordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.1.escape_ascii())
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.compare(&self.1, &other.1)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// What a reader sees after these writes, sorted. Operands are strung together with commas.
pub(crate) fn replay<'w>(
    writes: impl Iterator<Item = &'w Write>,
    order: &KeyOrder,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut map: BTreeMap<Ordered, Vec<u8>> = BTreeMap::new();
    let ordered = |key: &Vec<u8>| Ordered(order.clone(), key.clone());
    for write in writes {
        match write {
            Write::Put(key, value) => {
                map.insert(ordered(key), value.clone());
            }
            Write::Delete(key) | Write::SingleDelete(key) => {
                map.remove(&ordered(key));
            }
            Write::Merge(key, operand) => match map.get_mut(&ordered(key)) {
                Some(value) => {
                    value.push(b',');
                    value.extend_from_slice(operand);
                }
                None => {
                    map.insert(ordered(key), operand.clone());
                }
            },
            Write::DeleteRange(start, end) => {
                map.retain(|key, _| {
                    order.compare(&key.1, start).is_lt() || order.compare(&key.1, end).is_ge()
                });
            }
        }
    }
    map.into_iter().map(|(key, value)| (key.1, value)).collect()
}
