//! The bytes behind every block: how it is compressed, and its checksum.
//!
//! ```text
//! | block as stored (size of its handle) || compression type | checksum |
//! |                                      || u8               | u32 LE   |
//! ```
//!
//! The checksum covers the stored bytes and the type byte. From format version 6 a context made from the file's base
//! and the block's offset is added to it ([`context_modifier`]), so that a block read from the wrong place is noticed.

use super::BLOCK_TRAILER_LEN;
use crate::error::Result;
use crate::util::checksum::{BlockHasher, ChecksumType, context_modifier};

/// How one file's blocks are checksummed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockChecksum {
    /// The function.
    pub checksum: ChecksumType,
    /// The file's random base for context checksums; 0 before format version 6.
    pub base_context: u32,
}

impl BlockChecksum {
    /// The value stored for the block at `offset`.
    ///
    /// * `stored`: the block as it stands in the file, compressed or not.
    /// * `compression`: the compression type byte that follows it.
    pub fn compute(&self, offset: u64, stored: &[u8], compression: u8) -> u32 {
        self.in_place(offset, self.checksum.of_block(stored, compression))
    }

    /// The value stored for a block at `offset` whose checksum by itself is `plain`.
    fn in_place(&self, offset: u64, plain: u32) -> u32 {
        plain.wrapping_add(context_modifier(self.base_context, offset))
    }

    /// The trailer of the block at `offset`.
    pub fn trailer(&self, offset: u64, stored: &[u8], compression: u8) -> [u8; BLOCK_TRAILER_LEN] {
        let [a, b, c, d] = self.compute(offset, stored, compression).to_le_bytes();
        [compression, a, b, c, d]
    }

    /// Checks the block at `offset` against its trailer.
    ///
    /// With [`ChecksumType::None`] the stored value is not looked at, as in RocksDB.
    ///
    /// * Errors: `Corruption` that names both values; the caller adds offset, length and part.
    pub fn verify(
        &self,
        offset: u64,
        stored: &[u8],
        trailer: [u8; BLOCK_TRAILER_LEN],
    ) -> Result<()> {
        if self.checksum == ChecksumType::None {
            return Ok(());
        }
        self.verify_plain(offset, self.checksum.of_block(stored, trailer[0]), trailer)
    }

    /// The same for a block that has passed by in pieces.
    ///
    /// * `hasher`: it has seen the whole block as stored.
    pub(super) fn verify_hashed(
        &self,
        offset: u64,
        hasher: BlockHasher,
        trailer: [u8; BLOCK_TRAILER_LEN],
    ) -> Result<()> {
        if self.checksum == ChecksumType::None {
            return Ok(());
        }
        self.verify_plain(offset, hasher.finish(trailer[0]), trailer)
    }

    fn verify_plain(
        &self,
        offset: u64,
        plain: u32,
        [_, a, b, c, d]: [u8; BLOCK_TRAILER_LEN],
    ) -> Result<()> {
        let (found, computed) = (u32::from_le_bytes([a, b, c, d]), self.in_place(offset, plain));
        if found == computed {
            return Ok(());
        }
        Err(self.checksum.mismatch(found, computed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailer_verifies_only_in_its_own_place() {
        for checksum in &ChecksumType::ALL[1..] {
            let plain = BlockChecksum { checksum: *checksum, base_context: 0 };
            let trailer = plain.trailer(7, b"block", 4);
            plain.verify(7, b"block", trailer).unwrap();
            plain.verify(8, b"block", trailer).unwrap();
            assert!(plain.verify(7, b"blocK", trailer).unwrap_err().is_corruption());
            let mut retyped = trailer;
            retyped[0] = 7;
            assert!(plain.verify(7, b"block", retyped).unwrap_err().is_corruption());

            let placed = BlockChecksum { base_context: 0x1234_5678, ..plain };
            let trailer = placed.trailer(7, b"block", 4);
            let mut hasher = checksum.hasher();
            hasher.update(b"block");
            placed.verify_hashed(7, hasher.clone(), trailer).unwrap();
            assert!(placed.verify_hashed(8, hasher, trailer).unwrap_err().is_corruption());
            placed.verify(7, b"block", trailer).unwrap();
            assert!(placed.verify(8, b"block", trailer).unwrap_err().is_corruption());
        }
    }

    #[test]
    fn a_mismatch_says_the_function_and_both_values() {
        for (checksum, name) in [
            (ChecksumType::Crc32c, "CRC32C"),
            (ChecksumType::XxHash, "xxHash"),
            (ChecksumType::XxHash64, "xxHash64"),
            (ChecksumType::Xxh3, "XXH3"),
        ] {
            let checksum = BlockChecksum { checksum, base_context: 0 };
            let computed = checksum.compute(7, b"block", 4);
            let stored = computed ^ 1;
            let [a, b, c, d] = stored.to_le_bytes();
            let error = checksum.verify(7, b"block", [4, a, b, c, d]).unwrap_err();
            let expected =
                format!("checksum mismatch ({name}): stored {stored:08x}, computed {computed:08x}");
            assert_eq!(error.message(), expected);
        }
    }

    #[test]
    fn without_a_checksum_the_trailer_holds_only_the_context() {
        let none = BlockChecksum { checksum: ChecksumType::None, base_context: 0 };
        assert_eq!(none.trailer(7, b"block", 4), [4, 0, 0, 0, 0]);
        none.verify(7, b"block", [4, 1, 2, 3, 4]).unwrap();
        let placed = BlockChecksum { base_context: 0xff, ..none };
        assert_eq!(placed.trailer(0x100, b"block", 0), [0, 0xff, 1, 0, 0]);
    }
}
