use crate::error::{Error, Result};
use crate::util::coding::{Cursor, put_varint};

/// Bytes after every block: compression type (u8) and checksum (u32 LE).
pub const BLOCK_TRAILER_LEN: usize = 5;

/// Where a block stands in its file.
///
/// ```text
/// encoded: offset varint64 | size varint64
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlockHandle {
    /// Offset of the block's first byte in the file.
    pub offset: u64,
    /// Stored size in bytes, without the trailer.
    pub size: u64,
}

impl BlockHandle {
    /// The handle of no block.
    pub const NULL: Self = Self { offset: 0, size: 0 };

    /// Reads a handle from the cursor.
    ///
    /// * Errors: `Corruption` if the bytes end early or a number does not fit.
    pub fn decode_from(cursor: &mut Cursor<'_>) -> Result<Self> {
        match (cursor.varint64(), cursor.varint64()) {
            (Some(offset), Some(size)) => Ok(Self { offset, size }),
            _ => Err(Error::corruption("block handle: expected two varints")),
        }
    }

    /// Appends the encoded handle.
    pub fn encode_to(&self, out: &mut Vec<u8>) {
        put_varint(out, self.offset);
        put_varint(out, self.size);
    }

    /// Offset just behind the block and its trailer, or `None` if that is no offset.
    pub fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.size)?.checked_add(BLOCK_TRAILER_LEN as u64)
    }

    /// Checks that the block stands behind `previous`, the one that the index names before it.
    ///
    /// Writers put the blocks of an index into the file in its order. So a table has no more of them than fit into it,
    /// and whoever walks over them, or keeps them, pays for the file once, even if the index is hostile.
    ///
    /// * Errors: `Corruption` that names both.
    pub(super) fn follow(&self, previous: &Self) -> Result<()> {
        if previous.end().is_some_and(|end| end <= self.offset) {
            return Ok(());
        }
        Err(Error::corruption(format!(
            "block at {:#x} does not stand behind the one before it, at {:#x} ({} bytes)",
            self.offset, previous.offset, previous.size
        )))
    }
}
