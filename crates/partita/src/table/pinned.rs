use std::fmt;
use std::ops::{Deref, Range};

use super::block::DataBlock;
use crate::cache::{Entry, Held};

/// Bytes of a value: a copy of its own if they are few, else a reference into the data block that holds them.
///
/// Values of up to [`PinnedBytes::INLINE_LEN_MAX`] bytes are copied, which costs less than a reference: nothing shared is
/// written, and no block is kept from being evicted for a few bytes. A longer value keeps its block in memory, also after
/// the block was evicted, the table was closed and its file deleted; the cache goes on charging it as pinned.
#[derive(Clone)]
pub struct PinnedBytes(Place);

#[derive(Clone)]
enum Place {
    Inline { len: u8, bytes: [u8; PinnedBytes::INLINE_LEN_MAX] },
    Block { block: Held<DataBlock>, start: u32, end: u32 },
}

impl PinnedBytes {
    /// Length up to which bytes are copied.
    pub const INLINE_LEN_MAX: usize = 40;

    /// Bytes of a block.
    #[inline]
    pub(super) fn new(block: &Entry<DataBlock>, range: Range<usize>) -> Self {
        let value = block.value(range.clone());
        if value.len() <= Self::INLINE_LEN_MAX {
            let mut bytes = [0; Self::INLINE_LEN_MAX];
            bytes[..value.len()].copy_from_slice(value);
            return Self(Place::Inline { len: value.len() as u8, bytes });
        }
        // Offsets in blocks have 32 bits.
        let (start, end) = (range.start as u32, range.end as u32);
        Self(Place::Block { block: block.hold(), start, end })
    }

    /// Bytes of memory that are kept alive for these bytes.
    pub fn pinned_memory_bytes(&self) -> usize {
        match &self.0 {
            Place::Inline { .. } => 0,
            Place::Block { block, .. } => block.memory_bytes(),
        }
    }
}

impl Deref for PinnedBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Place::Inline { len, bytes } => &bytes[..usize::from(*len)],
            Place::Block { block, start, end } => block.value(*start as usize..*end as usize),
        }
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
