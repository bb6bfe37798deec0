use super::PinnedBytes;
use crate::key::{SeqNo, ValueType};

/// An entry that a lookup found.
#[derive(Clone, Debug)]
pub struct FoundEntry {
    /// When it was written.
    pub seqno: SeqNo,
    /// What was written.
    pub value_type: ValueType,
    /// The value, in the block it was found in; empty for deletions.
    pub value: PinnedBytes,
}
