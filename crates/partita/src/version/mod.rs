//! Which files make up the database now, and the manifest that says so.

mod builder;
pub mod edit;
mod file_meta;
mod file_number;
mod level;
mod lookup;
mod obsolete;
mod table_cache;
mod table_file;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod version;

pub use builder::VersionBuilder;
pub use edit::VersionEdit;
pub use file_meta::{FileChecksum, FileMeta, RareFields};
pub use file_number::FileNumber;
pub use level::Level;
pub use lookup::{Candidate, Candidates};
pub use obsolete::{ObsoleteFile, ObsoleteFiles, PendingOutput, PendingOutputs};
pub use table_file::TableFile;
pub use version::{BlobFile, LEVELS_MAX, Version};
