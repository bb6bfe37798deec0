//! Index: from a key to the handle of the data block that may hold it.
//!
//! ```text
//! one block:    index block -> data blocks
//! two levels:   top level -> index partitions of about 4 KiB -> data blocks
//! ```
//!
//! An entry's key y says `last key of its block <= y < first key of the next block`. Both shapes are handled alike: an
//! index of one block is one of a single partition, so nothing above this module asks which it is. Partitions are read
//! at first use and kept in the slots of [`Partitions`].

mod cursor;
mod partitions;

pub(crate) use cursor::IndexCursor;
pub(crate) use partitions::{Partitions, Slot};
