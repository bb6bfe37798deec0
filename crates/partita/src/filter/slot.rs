//! A place for a filter outside of a cache.

use std::sync::OnceLock;

use super::Filter;

/// A place for a filter that its owner keeps for good, filled or not. Tables have theirs in a cache instead.
///
/// The filter lies in the slot itself, and a slot is one cache line. So a query takes the steps that one of a bare filter
/// takes, from the object to the bits, and misses no more cache lines.
///
/// ```
/// use partita::filter::{Filter, FilterSlot, KeyHash};
///
/// let slot = FilterSlot::default();
/// assert!(slot.filter().is_none());
/// let slot = FilterSlot::from(Filter::parse(&[]));
/// assert!(slot.filter().is_some_and(|filter| !filter.may_contain(&KeyHash::new(b"apple"))));
/// ```
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct FilterSlot(OnceLock<Option<Filter>>);

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<FilterSlot>() == 64);

impl FilterSlot {
    /// The filter; `None` before its first use, and if it could not be read.
    #[inline]
    pub fn filter(&self) -> Option<&Filter> {
        self.0.get()?.as_ref()
    }
}

impl From<Filter> for FilterSlot {
    fn from(filter: Filter) -> Self {
        Self(Some(filter).into())
    }
}
