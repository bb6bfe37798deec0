//! Checksums of blocks and footers (format: RocksDB's `ChecksumType`, one byte in the table footer).
//!
//! ```text
//! type        block trailer (data D, compression type t)         footer (buffer B, format version 6 and later)
//! 0 none      0                                                  0
//! 1 CRC32C    mask(crc32c(D + t))                                mask(crc32c(B))
//! 2 xxHash    XXH32(D + t)                                       XXH32(B)
//! 3 xxHash64  low 32 bits of XXH64(D + t)                        low 32 bits of XXH64(B)
//! 4 XXH3      low 32 bits of XXH3_64(D), XOR t * 0x6b9083d9      the same with B split before its last byte
//! ```
//!
//! From format version 6 a *context* is added to the stored value, made from the file's random base and the block's
//! offset, so that a block cannot pass for another one, of this file or of another.

use std::fmt;
use std::hash::Hasher as _;

use crate::error::Error;

/// How the blocks of a file are checksummed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ChecksumType {
    /// Nothing is verified.
    None = 0,
    /// Castagnoli CRC, masked.
    Crc32c = 1,
    /// XXH32.
    XxHash = 2,
    /// The low half of XXH64.
    XxHash64 = 3,
    /// The low half of XXH3 (64 bits); read by RocksDB 6.27 and later, its default since.
    #[default]
    Xxh3 = 4,
}

impl ChecksumType {
    /// All types, in the order of their codes.
    pub const ALL: [Self; 5] = [Self::None, Self::Crc32c, Self::XxHash, Self::XxHash64, Self::Xxh3];

    /// The type that `code` stands for on disk.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The on-disk code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The type's name in RocksDB's options files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "kNoChecksum",
            Self::Crc32c => "kCRC32c",
            Self::XxHash => "kxxHash",
            Self::XxHash64 => "kxxHash64",
            Self::Xxh3 => "kXXH3",
        }
    }

    /// The function's name, as messages say it.
    pub const fn plain_name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Crc32c => "CRC32C",
            Self::XxHash => "xxHash",
            Self::XxHash64 => "xxHash64",
            Self::Xxh3 => "XXH3",
        }
    }

    /// The error of a stored checksum that is not the computed one.
    #[cold]
    pub(crate) fn mismatch(self, stored: u32, computed: u32) -> Error {
        Error::corruption(format!(
            "checksum mismatch ({}): stored {stored:08x}, computed {computed:08x}",
            self.plain_name()
        ))
    }

    /// The checksum in the trailer of a block, before the context is added.
    ///
    /// * `stored`: the block as it stands in the file, compressed or not.
    /// * `last_byte`: the compression type byte that follows it.
    pub fn of_block(self, stored: &[u8], last_byte: u8) -> u32 {
        match self {
            Self::None => 0,
            Self::Crc32c => {
                mask_crc32c(crc32c::crc32c_append(crc32c::crc32c(stored), &[last_byte]))
            }
            Self::XxHash => {
                let mut hasher = twox_hash::XxHash32::with_seed(0);
                hasher.write(stored);
                hasher.write(&[last_byte]);
                hasher.finish_32()
            }
            Self::XxHash64 => {
                let mut hasher = twox_hash::XxHash64::with_seed(0);
                hasher.write(stored);
                hasher.write(&[last_byte]);
                hasher.finish() as u32
            }
            Self::Xxh3 => {
                let hash = twox_hash::XxHash3_64::oneshot(stored) as u32;
                hash ^ u32::from(last_byte).wrapping_mul(XXH3_LAST_BYTE_FACTOR)
            }
        }
    }

    /// The checksum of a whole buffer: a block whose last byte stands inside it.
    pub fn of_buffer(self, buffer: &[u8]) -> u32 {
        match buffer.split_last() {
            Some((&last, rest)) => self.of_block(rest, last),
            None if self == Self::Crc32c => mask_crc32c(0),
            None => 0,
        }
    }
}

/// The checksum of a block that passes by in pieces.
///
/// ```
/// use partita::util::checksum::ChecksumType;
///
/// let mut hasher = ChecksumType::Xxh3.hasher();
/// hasher.update(b"some bytes, ");
/// hasher.update(b"and more");
/// assert_eq!(hasher.finish(0), ChecksumType::Xxh3.of_block(b"some bytes, and more", 0));
/// ```
#[derive(Clone)]
pub struct BlockHasher(State);

#[derive(Clone)]
enum State {
    None,
    Crc32c(u32),
    XxHash(twox_hash::XxHash32),
    XxHash64(twox_hash::XxHash64),
    Xxh3(Box<twox_hash::XxHash3_64>),
}

impl ChecksumType {
    /// A hasher that has seen nothing yet.
    pub fn hasher(self) -> BlockHasher {
        BlockHasher(match self {
            Self::None => State::None,
            Self::Crc32c => State::Crc32c(0),
            Self::XxHash => State::XxHash(twox_hash::XxHash32::with_seed(0)),
            Self::XxHash64 => State::XxHash64(twox_hash::XxHash64::with_seed(0)),
            Self::Xxh3 => State::Xxh3(Box::new(twox_hash::XxHash3_64::new())),
        })
    }
}

impl BlockHasher {
    /// Takes the next bytes of the block.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::None => {}
            State::Crc32c(crc) => *crc = crc32c::crc32c_append(*crc, bytes),
            State::XxHash(hasher) => hasher.write(bytes),
            State::XxHash64(hasher) => hasher.write(bytes),
            State::Xxh3(hasher) => hasher.write(bytes),
        }
    }

    /// What [`ChecksumType::of_block`] gives for all bytes so far.
    pub fn finish(self, last_byte: u8) -> u32 {
        match self.0 {
            State::None => 0,
            State::Crc32c(crc) => mask_crc32c(crc32c::crc32c_append(crc, &[last_byte])),
            State::XxHash(mut hasher) => {
                hasher.write(&[last_byte]);
                hasher.finish_32()
            }
            State::XxHash64(mut hasher) => {
                hasher.write(&[last_byte]);
                hasher.finish() as u32
            }
            State::Xxh3(hasher) => {
                hasher.finish() as u32 ^ u32::from(last_byte).wrapping_mul(XXH3_LAST_BYTE_FACTOR)
            }
        }
    }
}

impl fmt::Debug for BlockHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockHasher").finish_non_exhaustive()
    }
}

impl fmt::Display for ChecksumType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// RocksDB's factor for the byte that XXH3 checksums leave out of the hash.
const XXH3_LAST_BYTE_FACTOR: u32 = 0x6b90_83d9;

/// Rotates and offsets a CRC, so that a CRC over bytes that contain CRCs stays sound (LevelDB's masking).
pub const fn mask_crc32c(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The inverse of [`mask_crc32c`].
pub const fn unmask_crc32c(masked: u32) -> u32 {
    masked.wrapping_sub(0xa282_ead8).rotate_left(15)
}

/// What format version 6 adds (wrapping) to the checksum of the block at `offset`.
///
/// * `base`: the file's `base_context_checksum`; 0 means that the file has no context, and the result is 0.
pub const fn context_modifier(base: u32, offset: u64) -> u32 {
    if base == 0 { 0 } else { base ^ (offset as u32).wrapping_add((offset >> 32) as u32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_is_castagnoli_and_masking_is_undone() {
        assert_eq!(crc32c::crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(ChecksumType::Crc32c.of_block(b"12345678", b'9'), mask_crc32c(0xE306_9283));
        assert_eq!(unmask_crc32c(mask_crc32c(0x1234_5678)), 0x1234_5678);
    }

    #[test]
    fn splitting_a_buffer_changes_nothing() {
        for checksum in ChecksumType::ALL {
            assert_eq!(checksum.of_buffer(b"abc\x07"), checksum.of_block(b"abc", 7));
            assert_eq!(ChecksumType::from_code(checksum.code()), Some(checksum));
        }
        assert_eq!(ChecksumType::from_code(5), None);
    }

    #[test]
    fn a_block_that_passes_by_in_pieces_has_the_same_checksum() {
        let block: Vec<u8> = (0..3000).map(|at| (at * 7 % 251) as u8).collect();
        for checksum in ChecksumType::ALL {
            for len in [0, 1, 15, 240, 241, 3000] {
                for piece in [1, 64, 1000] {
                    let mut hasher = checksum.hasher();
                    block[..len].chunks(piece).for_each(|piece| hasher.update(piece));
                    let expected = checksum.of_block(&block[..len], 7);
                    assert_eq!(hasher.finish(7), expected, "{checksum}, {len} by {piece}");
                }
            }
        }
    }

    #[test]
    fn the_context_is_absent_without_a_base() {
        assert_eq!(context_modifier(0, 1 << 40), 0);
        assert_eq!(context_modifier(0xff, 0x1_0000_0002), 0xff ^ 3);
    }
}
