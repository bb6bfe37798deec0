//! Which files make up the database now, and the manifest that says so.

pub mod edit;
mod file_meta;
mod file_number;

pub use edit::VersionEdit;
pub use file_meta::{FileChecksum, FileMeta, RareFields};
pub use file_number::FileNumber;
