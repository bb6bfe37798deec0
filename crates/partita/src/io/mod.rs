//! The seam to the outside: files behind traits, so that tests can inject memory and faults.

mod disk;
mod file;
mod memory;

pub use disk::{DiskFile, DiskWriter};
pub use file::{RandomAccessFile, WritableFile};
pub use memory::{MemoryFile, MemoryWriter};
