//! Where a table keeps a filter.

use std::sync::OnceLock;

use super::Filter;

/// A place for a filter that is read at its first use: what a table has one of for each piece of its filter.
///
/// The filter lies in the slot itself, and a slot is one cache line. So a query on its way through a table takes the
/// steps that one of a bare filter takes, from the object to the bits, and misses no more cache lines.
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

    /// The slot; it becomes `None` if the filter is damaged, so that it is not read again.
    #[inline]
    pub(crate) fn cell(&self) -> &OnceLock<Option<Filter>> {
        &self.0
    }
}

impl From<Filter> for FilterSlot {
    fn from(filter: Filter) -> Self {
        Self(Some(filter).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_empty_before_its_first_use_and_stays_so_if_the_filter_is_damaged() {
        let slot = FilterSlot::default();
        assert!(slot.filter().is_none());
        slot.cell().get_or_init(|| None);
        slot.cell().get_or_init(|| Some(Filter::parse(&[])));
        assert!(slot.filter().is_none());
        assert!(FilterSlot::from(Filter::parse(&[])).filter().is_some());
    }
}
