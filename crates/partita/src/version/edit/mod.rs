//! One record of the manifest: what changes in the set of files.
//!
//! ```text
//! record:  field, field, …                        to the end of the record
//! field:   tag varint32 | payload                 the payload's form depends on the tag
//!          tag varint32 | length varint32 | bytes tags with bit 13: may be skipped by who does not know them
//! ```
//!
//! * Fields may come in any order; [`VersionEdit::encode_to`] writes them in RocksDB's, so that what RocksDB wrote comes
//!   back byte by byte.
//! * A field that we do not know is kept and written again if it may be skipped, and refused by its number if not. The
//!   same holds for the custom fields of tables ([`FileMeta`]) and blob files.
//! * Every byte may be wrong: bounds are checked, and no memory is taken that the record's length does not justify.
//! * All tags, with the versions that write them: `docs/format/manifest.md`.

mod blob;
mod decode;
mod encode;
mod file;
mod tags;
#[cfg(test)]
mod tests;

pub use blob::{BlobFileAddition, BlobFileGarbage};

use super::{FileMeta, FileNumber};
use crate::key::SeqNo;

/// A field of the manifest that we do not know, but which may be skipped: its tag and what stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    /// Its number.
    pub tag: u32,
    /// Its payload without the length.
    pub bytes: Box<[u8]>,
}

/// A table that an edit adds.
#[derive(Clone, Debug, PartialEq)]
pub struct NewFile {
    /// The level it stands on.
    pub level: u32,
    /// The table.
    pub file: FileMeta,
}

/// A table that an edit takes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletedFile {
    /// The level it stood on.
    pub level: u32,
    /// Its number.
    pub number: FileNumber,
}

/// Where the next compaction of a level is to start; a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactCursor {
    /// The level.
    pub level: u32,
    /// An encoded internal key.
    pub key: Box<[u8]>,
}

/// A log file that must be there at recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalAddition {
    /// Its number.
    pub number: FileNumber,
    /// Bytes that were synced, once it was closed or synced.
    pub synced_bytes: Option<u64>,
}

/// One record of the manifest. What is `None` or empty does not change.
///
/// ```
/// use partita::version::VersionEdit;
///
/// let edit = VersionEdit { log_number: Some(7.into()), ..VersionEdit::default() };
/// let bytes = edit.encode();
/// assert_eq!(bytes, [2, 7]);
/// assert_eq!(VersionEdit::decode(&bytes).unwrap(), edit);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VersionEdit {
    /// The database's identity.
    pub db_id: Option<String>,
    /// Name of the comparator of the edit's column family.
    pub comparator: Option<String>,
    /// Logs with a smaller number hold nothing of the column family that is not in tables.
    pub log_number: Option<FileNumber>,
    /// A second log that LevelDB had; always 0 nowadays.
    pub prev_log_number: Option<FileNumber>,
    /// The next file's number.
    pub next_file_number: Option<FileNumber>,
    /// The greatest number ever given to a column family.
    pub max_family: Option<u32>,
    /// Logs with a smaller number are not needed by any column family.
    pub min_log_number_to_keep: Option<FileNumber>,
    /// The last sequence number in use.
    pub last_sequence: Option<SeqNo>,
    /// Where compactions go on.
    pub compact_cursors: Vec<CompactCursor>,
    /// Tables that leave. They leave before new ones come.
    pub deleted_files: Vec<DeletedFile>,
    /// Tables that come.
    pub new_files: Vec<NewFile>,
    /// Blob files that come.
    pub blob_additions: Vec<BlobFileAddition>,
    /// Garbage that was found in blob files.
    pub blob_garbage: Vec<BlobFileGarbage>,
    /// Logs that recovery must find.
    pub wal_additions: Vec<WalAddition>,
    /// Logs with a smaller number are gone.
    pub wal_deletion: Option<FileNumber>,
    /// The column family that the edit is about; 0 is the default one.
    pub family: u32,
    /// The column family is created, with this name.
    pub family_added: Option<String>,
    /// The column family is dropped.
    pub family_dropped: bool,
    /// The edit is one of a group that counts all or nothing; so many follow.
    pub atomic_group_remaining: Option<u32>,
    /// Under a comparator with timestamps: what is older may have lost its history.
    pub full_history_ts_low: Option<Box<[u8]>>,
    /// Under a comparator with timestamps: whether files hold them.
    pub persist_user_defined_timestamps: Option<bool>,
    /// How far a compaction got, in RocksDB's own form; a hint.
    pub subcompaction_progress: Option<Box<[u8]>>,
    /// Size of the manifest when it was begun, after its snapshot.
    pub last_compacted_manifest_bytes: Option<u64>,
    /// Fields from later versions that may be skipped.
    pub unknown: Vec<UnknownField>,
}

impl VersionEdit {
    /// Whether the edit changes which files a column family has.
    pub(crate) fn changes_files(&self) -> bool {
        !self.deleted_files.is_empty()
            || !self.new_files.is_empty()
            || !self.blob_additions.is_empty()
            || !self.blob_garbage.is_empty()
            || !self.compact_cursors.is_empty()
    }
}
