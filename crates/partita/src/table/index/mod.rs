//! Index: from a key to the handle of the data block that may hold it.
//!
//! ```text
//! one block:    index block -> data blocks
//! two levels:   top level -> index partitions of about 4 KiB -> data blocks
//! ```
//!
//! An entry's key y says `last key of its block <= y < first key of the next block`. Both shapes are handled alike, as
//! pieces of about 4 KiB ([`IndexPieces`]), so nothing above this module asks which it is. The pieces are found at the
//! first use of the index; each is read when it is needed and stays as long as the cache has room.

mod cursor;
mod partitions;
mod pieces;
mod separators;
mod slices;

pub(crate) use cursor::IndexCursor;
pub(crate) use partitions::Partitions;
pub(crate) use pieces::{IndexPieces, IndexSource};
