use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// What the load is made of. Rows are those of keys that are open, committed or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Keys that are allocated and committed.
    pub keys: u64,
    /// Loads of different seeds have no names in common.
    pub seed: u64,
    /// Buckets that the keys are spread over; at least 1.
    pub buckets: u64,
    /// Keys that are open at a time.
    pub open_keys: u64,
    /// Bytes of a row, within what numbers in it vary by.
    pub value_bytes: RangeInclusive<u64>,
    /// Lookups of keys that were committed, for each key; some of them were deleted since.
    pub lookups: u32,
    /// Percent of keys that are deleted.
    pub delete_percent: u64,
    /// Keys that are committed between a key and its deletion; at least 1.
    pub delete_age: u64,
    /// Keys between two purges of deleted ones; 0: none.
    pub purge_every: u64,
    /// Keys between two listings; 0: none.
    pub list_every: u64,
    /// Most keys that a listing shows.
    pub list_limit: usize,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            keys: 500_000,
            seed: 1,
            buckets: 10,
            open_keys: 100,
            value_bytes: 300..=600,
            lookups: 1,
            delete_percent: 0,
            delete_age: 10_000,
            purge_every: 1000,
            list_every: 0,
            list_limit: 100,
        }
    }
}

impl Plan {
    /// Rounds until all keys are committed: one for each key, and one for each that is still open then.
    pub fn rounds(&self) -> u64 {
        self.keys + self.open_keys
    }
}
