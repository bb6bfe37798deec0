//! A file system that does what a test wants to go wrong.

mod file_system;
mod files;
mod plan;

pub use file_system::FaultFileSystem;
pub use plan::{Call, CallKind, Fault};
