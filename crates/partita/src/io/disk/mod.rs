//! The machine's file system.
#![expect(clippy::disallowed_methods, reason = "this is the seam that others use instead")]

mod direct;
mod direct_writer;
mod file;
mod file_system;
mod lock;

pub use file::{DiskFile, DiskReader, DiskWriter};
pub use file_system::DiskFileSystem;
