//! What many tests of databases need.

use super::{ColumnFamily, Db, DbIterator, IterOptions};

/// A generator of its own, so that a failing seed can be run elsewhere.
pub(super) struct Draw(pub(super) u64);

impl Draw {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

pub(super) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// All keys and values of a family.
pub(super) fn all(db: &Db, family: &ColumnFamily) -> Pairs {
    forward(&mut db.iter_cf(family, IterOptions::default()).unwrap())
}

/// Keys and values as a walk shows them, from the first to the last.
pub(super) fn forward(iter: &mut DbIterator) -> Pairs {
    let mut pairs = Pairs::new();
    iter.seek_to_first().unwrap();
    while iter.is_valid() {
        pairs.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next().unwrap();
    }
    pairs
}

/// The same as a walk from the last to the first shows them; the first comes first.
pub(super) fn backward(iter: &mut DbIterator) -> Pairs {
    let mut pairs = Pairs::new();
    iter.seek_to_last().unwrap();
    while iter.is_valid() {
        pairs.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.prev().unwrap();
    }
    pairs.reverse();
    pairs
}
