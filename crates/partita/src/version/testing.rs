//! Tables and versions for tests of this module.

use std::sync::Arc;

use super::edit::{DeletedFile, NewFile};
use super::{FileMeta, Version, VersionBuilder, VersionEdit};
use crate::key::{InternalKey, KeyOrder, SeqNo, ValueType};

/// A table from (`from`, seqno 9) to (`to`, seqno 5); its number is its epoch, too.
pub(super) fn file(number: u64, from: &[u8], to: &[u8]) -> FileMeta {
    let key = |user_key, seqno| {
        InternalKey::new(user_key, SeqNo::new(seqno).unwrap(), ValueType::Value).encode()
    };
    FileMeta {
        epoch: number,
        smallest_seqno: SeqNo::new(5).unwrap(),
        largest_seqno: SeqNo::new(9).unwrap(),
        ..FileMeta::new(number.into(), 100 * number, &key(from, 9), &key(to, 5))
    }
}

/// A table that ends with the end of a range tombstone.
pub(super) fn file_to_tombstone_end(number: u64, from: &[u8], end: &[u8]) -> FileMeta {
    let largest = InternalKey::new(end, SeqNo::MAX, ValueType::RangeDeletion).encode();
    FileMeta { largest: largest.into(), ..file(number, from, end) }
}

/// An edit that adds tables.
pub(super) fn adds(files: impl IntoIterator<Item = (u32, FileMeta)>) -> VersionEdit {
    let new_files = files.into_iter().map(|(level, file)| NewFile { level, file }).collect();
    VersionEdit { new_files, ..VersionEdit::default() }
}

/// An edit that takes tables out.
pub(super) fn deletes(files: impl IntoIterator<Item = (u32, u64)>) -> VersionEdit {
    let deleted = |(level, number): (u32, u64)| DeletedFile { level, number: number.into() };
    let deleted_files = files.into_iter().map(deleted).collect();
    VersionEdit { deleted_files, ..VersionEdit::default() }
}

/// The version after `edits`, from nothing.
pub(super) fn version(order: KeyOrder, edits: &[VersionEdit]) -> crate::error::Result<Version> {
    after(&Arc::new(Version::empty(order, 7)), edits)
}

/// The version after `base` and `edits`.
pub(super) fn after(base: &Arc<Version>, edits: &[VersionEdit]) -> crate::error::Result<Version> {
    let mut builder = VersionBuilder::new(Arc::clone(base));
    for edit in edits {
        builder.apply(edit)?;
    }
    builder.build()
}

/// Numbers of the tables of a level, in its order.
pub(super) fn numbers(version: &Version, level: usize) -> Vec<u64> {
    version.levels()[level].files().iter().map(|file| file.number.get()).collect()
}
