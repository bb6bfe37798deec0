use crate::error::{Error, Result};

/// Most bytes that the keys of a block may have together, for each byte of the block, where they are all kept.
///
/// A key may share all but its last bytes with the one before, so the keys of a damaged block can be as long together as
/// the square of its length. Writers set restart points, at which a key is whole: they stay far below.
const KEY_BYTES_PER_BLOCK_BYTE_MAX: usize = 256;

/// How many bytes of keys may still be taken out of a block and kept.
#[derive(Debug)]
pub struct KeyBudget {
    left: usize,
}

impl KeyBudget {
    pub(super) fn of_block(contents_len: usize) -> Self {
        Self { left: contents_len.saturating_mul(KEY_BYTES_PER_BLOCK_BYTE_MAX) }
    }

    /// Takes the length of a key off.
    ///
    /// * Errors: `Corruption` if the keys so far are more than any writer puts into such a block.
    pub fn spend(&mut self, key: &[u8]) -> Result<()> {
        match self.left.checked_sub(key.len()) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Error::corruption("the keys of the block share too much with each other")),
        }
    }
}
