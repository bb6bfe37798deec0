//! Filters over sets of keys: bits only, no files and no caches.
//!
//! A filter says "certainly absent" or "may be present". RocksDB knows three kinds, all under the name
//! [`FilterPolicy::COMPATIBILITY_NAME`]; the last five bytes of a filter block tell which one it is.
//!
//! | kind | written | memory at 1 % false positives | reads per query |
//! |---|---|---|---|
//! | legacy Bloom | below format version 5 | 10.5 bits per key | one line |
//! | Bloom (FastLocalBloom) | from format version 5 | 10 bits per key | one line |
//! | Ribbon | by a Ribbon policy | 7 bits per key | two adjacent blocks, 224 bytes |
//!
//! * [`FilterPolicy`] says what to build; [`FilterBuilder`] turns keys into a block, bit for bit as RocksDB does.
//! * [`KeyHash`] is a key hashed once; [`Filter`] answers for it, one at a time or in batches.
//! * [`FilterMeta`] is a filter's geometry without its bytes: from the block's length and its last five bytes it tells
//!   which bytes a query needs, so that a huge filter can be read piece by piece.
//! * [`FilterImpl`] names the processor instructions in use.
//!
//! ```
//! use partita::filter::{Filter, FilterBuilder, FilterLevel, FilterPolicy, KeyHash};
//!
//! let policy = FilterPolicy::Bloom { bits_per_key: 10.0 };
//! let mut builder = FilterBuilder::new(&policy, 5, FilterLevel::Unknown).unwrap();
//! builder.add_key(b"apple");
//! builder.add_key(b"pear");
//! let filter = Filter::parse(&builder.finish());
//! assert!(filter.may_contain(&KeyHash::new(b"apple")));
//! assert!(!filter.may_contain(&KeyHash::new(b"plum")));
//! ```

mod bloom;
mod builder;
mod chunks;
#[cfg(test)]
mod golden_tests;
mod legacy;
mod lines;
mod meta;
mod parsed;
mod path;
mod policy;
mod rate;
mod ribbon;

pub use crate::key::KeyHash;
pub use builder::FilterBuilder;
pub(crate) use chunks::{ChunkLayout, ChunkProbe, FilterChunk};
pub use meta::{FilterKind, FilterMeta, Probe};
pub use parsed::Filter;
pub use path::FilterImpl;
pub use policy::{FilterLevel, FilterPolicy};

/// Bytes at the end of every filter block that say what it is.
const METADATA_LEN: usize = 5;
