//! What RocksDB charges a cache for a block: what the allocator gave for its bytes, the object around them, and the
//! cache's own entry.
//!
//! The allocator is taken to be glibc's: eight bytes before each allocation, sizes in steps of 16. jemalloc rounds larger
//! blocks up by more, a fifth at most; a figure on the border between fitting and not fitting can tip on it.

use crate::simulate::trace::Part;

/// The entry of an LRU cache: 71 bytes and the 16 of the key.
pub(crate) const LRU_ENTRY_BYTES: u64 = 88;
/// The object of a parsed block.
const BLOCK_OBJECT_BYTES: u64 = 104;
/// The object of a filter.
const FILTER_OBJECT_BYTES: u64 = 32;
/// Type and checksum, which stay behind a block that was not compressed.
pub(crate) const TRAILER_BYTES: u64 = 5;

/// What a block of `len` bytes is charged.
///
/// * `is_compressed`: whether it is decompressed when it is read.
pub(crate) fn charge(part: Part, len: u64, is_compressed: bool) -> u64 {
    let buffer = if is_compressed { len } else { len + TRAILER_BYTES };
    let object = match part {
        Part::Filter => FILTER_OBJECT_BYTES,
        _ => BLOCK_OBJECT_BYTES,
    };
    usable(buffer) + object
}

/// What an allocation of `bytes` can hold.
fn usable(bytes: u64) -> u64 {
    (bytes + 8).next_multiple_of(16).saturating_sub(8).max(24)
}
