//! Files in memory.

mod content;
mod file;
mod file_system;
mod tree;

pub use file::{MemoryFile, MemoryWriter};
pub use file_system::MemoryFileSystem;

/// What a power cut leaves of what was written but not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynced {
    /// Nothing: bytes and names are as at the last sync.
    Lost,
    /// Everything that was flushed: not the power failed, but the process was killed.
    Kept,
    /// Names are kept, and of each file the first so many bytes that were not synced.
    KeptUpTo(u64),
    /// For each file and each name something else, drawn from the seed: nothing, all, a part that ends at any byte, some
    /// sectors with zeros between them; names in order or out of order.
    Random(u64),
}
