use std::ops::Bound;

use crate::key::KeyOrder;

/// Which user keys an iterator shows.
///
/// ```
/// use partita::iter::Bounds;
/// use partita::key::KeyOrder;
///
/// let order = KeyOrder::Bytewise;
/// let bounds = Bounds::half_open(Some(b"b"), Some(b"d"));
/// assert!(bounds.contains(&order, b"b") && bounds.contains(&order, b"c\xff"));
/// assert!(!bounds.contains(&order, b"a") && !bounds.contains(&order, b"d"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// No key before it is shown.
    pub lower: Bound<Vec<u8>>,
    /// No key behind it is shown.
    pub upper: Bound<Vec<u8>>,
}

impl Default for Bounds {
    /// All keys.
    fn default() -> Self {
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }
}

impl Bounds {
    /// Keys from `lower` up to `upper`, exclusive, as RocksDB's read options bound them.
    pub fn half_open(lower: Option<&[u8]>, upper: Option<&[u8]>) -> Self {
        Self {
            lower: lower.map_or(Bound::Unbounded, |key| Bound::Included(key.to_vec())),
            upper: upper.map_or(Bound::Unbounded, |key| Bound::Excluded(key.to_vec())),
        }
    }

    /// The keys that start with `prefix`, if they are neighbours in this order: `None` for a caller's order.
    ///
    /// A prefix of `0xff` bytes only has no key behind it that bounds it.
    pub fn prefix(order: &KeyOrder, prefix: &[u8]) -> Option<Self> {
        let behind = match prefix.iter().rposition(|byte| *byte != 0xff) {
            Some(at) => {
                let mut behind = prefix[..=at].to_vec();
                behind[at] += 1;
                Bound::Excluded(behind)
            }
            None => Bound::Unbounded,
        };
        let start = Bound::Included(prefix.to_vec());
        match order {
            KeyOrder::Bytewise => Some(Self { lower: start, upper: behind }),
            KeyOrder::ReverseBytewise => Some(Self { lower: behind, upper: start }),
            KeyOrder::Custom(_) => None,
        }
    }

    /// Whether `user_key` is neither before nor behind the bounds.
    pub fn contains(&self, order: &KeyOrder, user_key: &[u8]) -> bool {
        !self.is_below(order, user_key) && !self.is_above(order, user_key)
    }

    /// Whether `user_key` is before the lower bound.
    #[inline]
    pub fn is_below(&self, order: &KeyOrder, user_key: &[u8]) -> bool {
        match &self.lower {
            Bound::Unbounded => false,
            Bound::Included(lower) => order.compare(user_key, lower).is_lt(),
            Bound::Excluded(lower) => order.compare(user_key, lower).is_le(),
        }
    }

    /// Whether `user_key` is behind the upper bound.
    #[inline]
    pub fn is_above(&self, order: &KeyOrder, user_key: &[u8]) -> bool {
        match &self.upper {
            Bound::Unbounded => false,
            Bound::Included(upper) => order.compare(user_key, upper).is_gt(),
            Bound::Excluded(upper) => order.compare(user_key, upper).is_ge(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_of_the_greatest_bytes_has_no_end() {
        let keys: [&[u8]; 5] = [b"\x64", b"\xff", b"\xff\xff", b"\xff\xff\x00", b""];
        for order in [KeyOrder::Bytewise, KeyOrder::ReverseBytewise] {
            for prefix in [&b""[..], b"\xff", b"\xff\xff", b"\x64", b"\x64\xff", b"\xfe"] {
                let bounds = Bounds::prefix(&order, prefix).unwrap();
                for key in keys {
                    let inside = bounds.contains(&order, key);
                    assert_eq!(inside, key.starts_with(prefix), "{key:?} {prefix:?}");
                }
            }
        }
    }
}
