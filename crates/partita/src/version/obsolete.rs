use std::collections::BTreeSet;
use std::sync::Arc;

use super::FileNumber;
use crate::util::sync::{Mutex, lock};

/// A file that no version names any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObsoleteFile {
    /// A table.
    Table {
        /// Its number.
        number: FileNumber,
        /// The directory it stands in.
        path_id: u8,
    },
    /// A blob file.
    Blob(FileNumber),
    /// A manifest that was replaced.
    Manifest(FileNumber),
}

/// Files that may be removed, in a queue that the database drains.
///
/// 1. A file enters when a durable edit took it out **and** the last version that named it is gone, so no reader that
///    still wants it can find it removed.
/// 2. Each file enters once. Whoever takes it removes it, or loses it to the next scan of the directory for files that
///    nobody needs.
/// 3. Files that are being written are in no version, and so never here; scans of the directory ask for them
///    ([`PendingOutputs`]).
#[derive(Debug, Default)]
pub struct ObsoleteFiles {
    files: Mutex<Vec<ObsoleteFile>>,
}

impl ObsoleteFiles {
    pub(super) fn push(&self, file: ObsoleteFile) {
        lock(&self.files).push(file);
    }

    /// All files that became obsolete since the last call, sorted.
    pub fn take(&self) -> Vec<ObsoleteFile> {
        let mut files = std::mem::take(&mut *lock(&self.files));
        files.sort_unstable();
        files
    }
}

/// Numbers of files that are being written and that no version names yet.
#[derive(Clone, Debug, Default)]
pub struct PendingOutputs {
    numbers: Arc<Mutex<BTreeSet<FileNumber>>>,
}

impl PendingOutputs {
    /// Protects a file until the guard is dropped: until the edit that adds it is applied, or the file is given up.
    pub(super) fn protect(&self, number: FileNumber) -> PendingOutput {
        lock(&self.numbers).insert(number);
        PendingOutput { numbers: Arc::clone(&self.numbers), number }
    }

    pub(super) fn first(&self) -> Option<FileNumber> {
        lock(&self.numbers).first().copied()
    }

    pub(super) fn contains(&self, number: FileNumber) -> bool {
        lock(&self.numbers).contains(&number)
    }
}

/// A file that is being written; while this lives, no scan takes the file for one that nobody needs.
#[derive(Debug)]
pub struct PendingOutput {
    numbers: Arc<Mutex<BTreeSet<FileNumber>>>,
    number: FileNumber,
}

impl PendingOutput {
    /// The file's number.
    pub fn number(&self) -> FileNumber {
        self.number
    }
}

impl Drop for PendingOutput {
    fn drop(&mut self) {
        lock(&self.numbers).remove(&self.number);
    }
}
