use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use super::block::DataBlock;

/// Bytes inside a data block, which they keep in memory.
#[derive(Clone)]
pub struct PinnedBytes {
    block: Arc<DataBlock>,
    range: Range<usize>,
}

impl PinnedBytes {
    pub(super) fn new(block: Arc<DataBlock>, range: Range<usize>) -> Self {
        Self { block, range }
    }

    /// Bytes of memory that are kept alive for these bytes.
    pub fn pinned_memory_bytes(&self) -> usize {
        self.block.memory_bytes()
    }
}

impl Deref for PinnedBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.block.value(self.range.clone())
    }
}

impl AsRef<[u8]> for PinnedBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for PinnedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl PartialEq<[u8]> for PinnedBytes {
    fn eq(&self, other: &[u8]) -> bool {
        **self == *other
    }
}
