use std::fmt;

use crate::key::ValueType;

/// What becomes of an entry that a compaction filter saw.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterDecision {
    /// It stays as it is.
    Keep,
    /// The key is absent from here on, as after a delete.
    Remove,
    /// It gets this value.
    Change(Vec<u8>),
    /// It and all keys after it up to this one, exclusive, go without a trace: older versions may come to light.
    SkipUntil(Vec<u8>),
}

/// A caller's rule that drops or rewrites entries while compactions copy them.
///
/// It sees the newest version of each key that no snapshot needs in its old form, and merge operands; deletions it does
/// not see. Several threads may call it at once, and an entry may be shown any number of times, or never.
pub trait CompactionFilter: Send + Sync + fmt::Debug {
    /// The name in messages and OPTIONS files.
    fn name(&self) -> &str;

    /// Decides about one entry.
    ///
    /// * `level`: the level that the compaction writes to.
    /// * `value_type`: `Value` or `Merge`; an operand may be kept or removed, other decisions keep it.
    fn filter(
        &self,
        level: u8,
        user_key: &[u8],
        value_type: ValueType,
        value: &[u8],
    ) -> FilterDecision;
}
