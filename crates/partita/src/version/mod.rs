//! Which files make up the database now, and the manifest that says so.
//!
//! ```text
//! VersionSet            version_set.rs   all families; numbers of the whole database; edits are made durable and installed
//!   |                   version_set/start.rs   how it begins: made new, of a state, recovered; its identity
//!   |- Family           family.rs        a column family: its current version
//!   |    '- Version     version.rs       its files at one moment; never changes
//!   |         '- Level  level.rs         the tables of a level, in flat arrays for the search
//!   |              '- TableFile          table_file.rs   a table, shared by all versions that name it; holds its reader
//!   |                   '- FileMeta      file_meta.rs    what the manifest says about it
//!   |- VersionEdit      edit/            one record of the manifest: what changes
//!   '- ManifestWriter   manifest.rs      a snapshot of everything, then edits
//! ```
//!
//! * A lookup asks [`Version::candidates`] (`lookup.rs`) which tables may hold its key, and a [`TableCache`] to open them.
//! * A flush or compaction writes tables, then gives [`VersionSet::log_and_apply`] an edit that names them.
//!   [`VersionBuilder`] makes the next version, in which all that did not change is shared.
//! * Opening reads CURRENT and its manifest (`current.rs`, `recover.rs`, `replay.rs`) and no table.
//!
//! The format, byte by byte, with its versions: `docs/format/manifest.md`.

mod builder;
mod current;
mod cut;
pub mod edit;
mod family;
mod file_meta;
mod file_name;
mod file_number;
mod follow;
#[cfg(test)]
mod golden_tests;
mod level;
mod lookup;
mod manifest;
mod manifest_reader;
mod obsolete;
mod plan;
mod recover;
mod replay;
#[cfg(test)]
mod set_tests;
mod state;
mod table_cache;
#[cfg(test)]
mod table_cache_tests;
mod table_file;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod unique_id;
#[allow(clippy::module_inception, reason = "a file is named after its main type")]
mod version;
mod version_set;

pub(crate) use builder::BEHIND_EPOCH;
pub use builder::VersionBuilder;
pub use current::{database_exists, read_current};
pub use cut::Cut;
pub use edit::VersionEdit;
pub use family::{DEFAULT_FAMILY, DEFAULT_FAMILY_NAME, Family};
pub use file_meta::{FileChecksum, FileMeta, RareFields, TableCounts};
pub use file_name::FileName;
pub use file_number::FileNumber;
pub(crate) use follow::{Followed, FollowedFamily, ManifestFollower};
pub use level::Level;
pub use lookup::{Candidate, Candidates};
pub use manifest_reader::{ManifestEdit, ManifestReader};
pub use obsolete::{ObsoleteFile, ObsoleteFiles, PendingOutput, PendingOutputs};
pub(crate) use state::{DatabaseState, FamilyFiles, ManifestFront};
pub use table_cache::{OpenTable, OpenTables, TableCache};
pub use table_file::TableFile;
pub use version::{BlobFile, LEVELS_MAX, Version};
pub use version_set::{VersionSet, VersionSetOptions};
