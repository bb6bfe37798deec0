use std::fmt;
use std::ops::{Bound, RangeBounds};

use partita::db::{DbIterator, IterOptions, ReadOptions, Snapshot};
use partita::iter::Bounds;
use partita::key::KeyOrder;

use crate::codec::{KeyCodec, PrefixCodec, ValueCodec};
use crate::error::Result;
use crate::table::{Table, encoded};

/// Which keys of a table a walk shows, and how.
///
/// [`Table::scan`] gives it. Range and prefix narrow one another.
#[derive(Clone)]
pub struct Scan<'t, K, V> {
    table: &'t Table<K, V>,
    bounds: Bounds,
    read: ReadOptions,
    backward: bool,
}

impl<'t, K: KeyCodec, V: ValueCodec> Scan<'t, K, V> {
    pub(crate) fn new(table: &'t Table<K, V>) -> Self {
        Self { table, bounds: Bounds::default(), read: ReadOptions::default(), backward: false }
    }

    /// Only keys of this range.
    #[must_use]
    pub fn range<'r>(self, range: impl RangeBounds<K::Ref<'r>>) -> Self {
        let bytes = |bound: Bound<&K::Ref<'r>>| bound.map(|key| encoded::<K>(*key));
        self.narrow(Bounds { lower: bytes(range.start_bound()), upper: bytes(range.end_bound()) })
    }

    /// Only keys that begin so.
    #[must_use]
    pub fn prefix(self, prefix: K::Prefix<'_>) -> Self
    where
        K: PrefixCodec,
    {
        let mut bytes = Vec::new();
        K::encode_prefix(prefix, &mut bytes);
        self.narrow(Bounds::prefix(&KeyOrder::Bytewise, &bytes).unwrap_or_default())
    }

    /// From the last key to the first.
    #[must_use]
    pub fn backward(mut self) -> Self {
        self.backward = true;
        self
    }

    /// Whether data blocks that are read enter the cache. Default: yes; a listing that comes by once does better without.
    #[must_use]
    pub fn fill_cache(mut self, fill: bool) -> Self {
        self.read.fill_cache = fill;
        self
    }

    /// What was there when the snapshot was taken. Default: what is there now.
    #[must_use]
    pub fn at(mut self, snapshot: &Snapshot) -> Self {
        self.read.snapshot = Some(snapshot.clone());
        self
    }

    /// Begins the walk.
    ///
    /// * Errors: those of opening tables. What is met later is an item of the walk, and ends it: `Corruption` also if a key
    ///   or a value cannot be decoded.
    pub fn start(self) -> Result<Entries<K, V>> {
        Ok(Entries(self.walk()?))
    }

    /// The same, of keys alone: values are not decoded.
    pub fn keys(self) -> Result<Keys<K, V>> {
        Ok(Keys(self.walk()?))
    }

    fn walk(self) -> Result<Walk<K, V>> {
        let Self { table, bounds, read, backward } = self;
        // Bounds that leave nothing may be in the wrong order; such a walk shows nothing.
        let is_empty = is_empty(&bounds);
        let options = IterOptions { bounds, read, ..IterOptions::default() };
        let options = if is_empty { IterOptions::default() } else { options };
        let iter = table.store.db().iter_cf(&table.family, options);
        let iter = iter.map_err(|error| table.error(error))?;
        let place = if is_empty { Place::End } else { Place::BeforeFirst };
        Ok(Walk { table: table.clone(), iter, backward, place, entries: 0 })
    }

    fn narrow(mut self, by: Bounds) -> Self {
        let Bounds { lower, upper } = self.bounds;
        self.bounds = Bounds {
            lower: narrower(lower, by.lower, std::cmp::Ordering::Greater),
            upper: narrower(upper, by.upper, std::cmp::Ordering::Less),
        };
        self
    }
}

/// The bound that leaves less: the one that stands on the side `inner` of the other, or excludes where both stand.
fn narrower(a: Bound<Vec<u8>>, b: Bound<Vec<u8>>, inner: std::cmp::Ordering) -> Bound<Vec<u8>> {
    let (of_a, of_b) = match (&a, &b) {
        (Bound::Unbounded, _) => return b,
        (_, Bound::Unbounded) => return a,
        (
            Bound::Included(of_a) | Bound::Excluded(of_a),
            Bound::Included(of_b) | Bound::Excluded(of_b),
        ) => (of_a, of_b),
    };
    let order = of_a.cmp(of_b);
    if order == inner || order.is_eq() && matches!(a, Bound::Excluded(_)) { a } else { b }
}

/// Whether no key lies between the bounds.
fn is_empty(bounds: &Bounds) -> bool {
    match (&bounds.lower, &bounds.upper) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
        (
            Bound::Included(lower) | Bound::Excluded(lower),
            Bound::Included(upper) | Bound::Excluded(upper),
        ) => lower >= upper,
    }
}

/// A walk over keys and values, as they were when it began. An error ends it.
pub struct Entries<K: KeyCodec, V: ValueCodec>(Walk<K, V>);

/// A walk over keys, as they were when it began. An error ends it.
pub struct Keys<K: KeyCodec, V: ValueCodec>(Walk<K, V>);

struct Walk<K: KeyCodec, V: ValueCodec> {
    table: Table<K, V>,
    iter: DbIterator,
    backward: bool,
    place: Place,
    /// Shown so far.
    entries: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    BeforeFirst,
    /// The entry there was given out.
    OnLast,
    End,
}

impl<K: KeyCodec, V: ValueCodec> Walk<K, V> {
    /// Goes to the next entry; whether there is one.
    fn advance(&mut self) -> Result<bool> {
        let moved = match (self.place, self.backward) {
            (Place::End, _) => return Ok(false),
            (Place::BeforeFirst, false) => self.iter.seek_to_first(),
            (Place::BeforeFirst, true) => self.iter.seek_to_last(),
            (Place::OnLast, false) => self.iter.next(),
            (Place::OnLast, true) => self.iter.prev(),
        };
        self.place = Place::End;
        moved.map_err(|error| self.table.error(error))?;
        if self.iter.is_valid() {
            self.place = Place::OnLast;
            self.entries += 1;
        }
        Ok(self.iter.is_valid())
    }

    fn next<T>(&mut self, show: impl FnOnce(&Self) -> Result<T>) -> Option<Result<T>> {
        let next = match self.advance() {
            Ok(false) => return None,
            Ok(true) => show(self),
            Err(error) => Err(error),
        };
        if next.is_err() {
            self.place = Place::End;
        }
        Some(next)
    }

    fn key(&self) -> Result<K::Key> {
        self.table.decode_key(self.iter.key())
    }

    fn value(&self) -> Result<V::Value> {
        self.table.decode_value(self.iter.key(), self.iter.value())
    }
}

impl<K: KeyCodec, V: ValueCodec> Drop for Walk<K, V> {
    fn drop(&mut self) {
        self.table.counters.walked(self.entries, &self.iter.context());
    }
}

impl<K: KeyCodec, V: ValueCodec> Iterator for Entries<K, V> {
    type Item = Result<(K::Key, V::Value)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(|walk| Ok((walk.key()?, walk.value()?)))
    }
}

impl<K: KeyCodec, V: ValueCodec> Iterator for Keys<K, V> {
    type Item = Result<K::Key>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(Walk::key)
    }
}

impl<K: KeyCodec, V: ValueCodec> std::iter::FusedIterator for Entries<K, V> {}
impl<K: KeyCodec, V: ValueCodec> std::iter::FusedIterator for Keys<K, V> {}

impl<K, V> fmt::Debug for Scan<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan")
            .field("table", &self.table)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

impl<K: KeyCodec, V: ValueCodec> fmt::Debug for Entries<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entries").field(&self.0.table).finish()
    }
}

impl<K: KeyCodec, V: ValueCodec> fmt::Debug for Keys<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keys").field(&self.0.table).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Bound::{Excluded, Included, Unbounded};

    use super::*;

    #[test]
    fn of_two_bounds_the_one_that_leaves_less_holds() {
        let key = |byte: u8| vec![byte];
        let all = || [Unbounded, Included(key(1)), Excluded(key(1)), Included(key(2))];
        let lower = |a, b| narrower(a, b, std::cmp::Ordering::Greater);
        let upper = |a, b| narrower(a, b, std::cmp::Ordering::Less);
        for (a, b) in all().into_iter().flat_map(|a| all().map(|b| (a.clone(), b))) {
            for probe in 0..4 {
                let probe = &key(probe)[..];
                let is_in = |lower: &Bound<Vec<u8>>, upper: &Bound<Vec<u8>>| {
                    let bounds = Bounds { lower: lower.clone(), upper: upper.clone() };
                    bounds.contains(&KeyOrder::Bytewise, probe)
                };
                let both = is_in(&a, &Unbounded) && is_in(&b, &Unbounded);
                assert_eq!(is_in(&lower(a.clone(), b.clone()), &Unbounded), both, "{a:?} {b:?}");
                let both = is_in(&Unbounded, &a) && is_in(&Unbounded, &b);
                assert_eq!(is_in(&Unbounded, &upper(a.clone(), b.clone())), both, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn bounds_that_cross_leave_nothing() {
        let bounds = |lower, upper| Bounds { lower, upper };
        let key = |byte: u8| vec![byte];
        assert!(is_empty(&bounds(Included(key(2)), Included(key(1)))));
        assert!(is_empty(&bounds(Included(key(1)), Excluded(key(1)))));
        assert!(!is_empty(&bounds(Included(key(1)), Included(key(1)))));
        assert!(!is_empty(&bounds(Excluded(key(1)), Unbounded)));
    }
}
