//! The two hash functions of RocksDB's on-disk structures.
//!
//! | function | who uses it |
//! |---|---|
//! | [`hash64`] | Bloom filters of format version 5 and later, Ribbon filters |
//! | [`hash32`] | legacy Bloom filters, the hash index of data blocks |
//!
//! Both are frozen: their values stand in files. Checksums have hashes of their own ([`super::checksum`]).

mod hash32;
mod xxph3;

pub use hash32::hash32;
pub use xxph3::hash64;

/// Inputs that the tests of both functions share: byte `i` is `7 * i + 3`.
#[cfg(test)]
fn test_input(len: usize) -> Vec<u8> {
    (0..len).map(|i| (7 * i + 3) as u8).collect()
}
