//! Tools that know nothing of databases: integer coding, checksums, hashes, compression, prefetching, locks, counting by many threads.

pub mod checksum;
pub mod coding;
pub mod compression;
pub mod hash;
pub(crate) mod prefetch;
pub(crate) mod prefix;
pub mod sharded;
pub(crate) mod sync;
