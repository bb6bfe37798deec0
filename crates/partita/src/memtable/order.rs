use std::cmp::Ordering;

use crate::key::Comparator;

/// The order of user keys, known when the code is compiled: one copy of a search for each, without a branch inside.
pub(super) trait UserKeyOrder {
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;
}

pub(super) struct Bytewise;
pub(super) struct ReverseBytewise;

impl UserKeyOrder for Bytewise {
    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        compare_words(a, b)
    }
}

impl UserKeyOrder for ReverseBytewise {
    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        compare_words(b, a)
    }
}

impl UserKeyOrder for &dyn Comparator {
    #[inline]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        Comparator::compare(*self, a, b)
    }
}

/// Compares like `a.cmp(b)`, a word at a time: keys are short, and a call of `memcmp` costs more than they do.
#[inline]
fn compare_words(a: &[u8], b: &[u8]) -> Ordering {
    let (a_words, a_rest) = a.as_chunks::<8>();
    let (b_words, b_rest) = b.as_chunks::<8>();
    for (a, b) in a_words.iter().zip(b_words) {
        if a != b {
            return u64::from_be_bytes(*a).cmp(&u64::from_be_bytes(*b));
        }
    }
    match a_words.len().cmp(&b_words.len()) {
        Ordering::Equal => a_rest.cmp(b_rest),
        _ => {
            let at = 8 * a_words.len().min(b_words.len());
            a[at..].cmp(&b[at..])
        }
    }
}

/// Runs `$body` with `$order` bound to the order's own type.
macro_rules! with_order {
    ($key_order:expr, $order:ident => $body:expr) => {
        match $key_order {
            crate::key::KeyOrder::Bytewise => {
                let $order = &$crate::memtable::order::Bytewise;
                $body
            }
            crate::key::KeyOrder::ReverseBytewise => {
                let $order = &$crate::memtable::order::ReverseBytewise;
                $body
            }
            crate::key::KeyOrder::Custom(comparator) => {
                let $order = &&**comparator;
                $body
            }
        }
    };
}

pub(super) use with_order;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyOrder;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_compare_like_bytes(
            shared in proptest::collection::vec(any::<u8>(), 0..20),
            a in proptest::collection::vec(0u8..2, 0..20),
            b in proptest::collection::vec(0u8..2, 0..20),
        ) {
            let (a, b) = ([&shared[..], &a].concat(), [&shared[..], &b].concat());
            prop_assert_eq!(Bytewise.compare(&a, &b), a.cmp(&b));
            prop_assert_eq!(ReverseBytewise.compare(&a, &b), b.cmp(&a));
            for order in [KeyOrder::Bytewise, KeyOrder::ReverseBytewise] {
                let compared = with_order!(&order, order => order.compare(&a, &b));
                prop_assert_eq!(compared, order.compare(&a, &b));
            }
        }
    }
}
