//! A file from elsewhere, on its way into the directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::DbInner;
use crate::error::{ErrorKind, Result};
use crate::io::{FileSystem, RandomAccessFile, copy_front};
use crate::version::{FileName, FileNumber, PendingOutput};

/// How a file of others gets into the directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileTransfer {
    /// Its bytes are copied.
    #[default]
    Copy,
    /// It is linked, and the name that it had stays: nobody may write to it any more.
    Link,
    /// It is linked, and when all is done the name that it had is removed.
    Move,
}

/// A table that gets a name in the directory, which no version knows yet. Dropped before [`Incoming::keep`], what it has there is
/// removed.
pub(super) struct Incoming {
    fs: Arc<dyn FileSystem>,
    source: PathBuf,
    file: Arc<dyn RandomAccessFile>,
    path: PathBuf,
    pending: PendingOutput,
    /// Whether there may be something of that name which is to be removed.
    is_ours: bool,
}

impl Incoming {
    pub(super) fn new(db: &DbInner, source: &Path, file: Arc<dyn RandomAccessFile>) -> Self {
        let pending = db.versions.new_output();
        Self {
            fs: Arc::clone(&db.fs),
            source: source.to_owned(),
            file,
            path: FileName::Table(pending.number()).in_dir(db.versions.dir()),
            pending,
            is_ours: false,
        }
    }

    /// Puts the file into the directory, durable but for its name.
    pub(super) fn take_in(&mut self, transfer: FileTransfer) -> Result<()> {
        // Nobody else makes a file of this number; what fails may have left a part.
        self.is_ours = true;
        if transfer != FileTransfer::Copy {
            match self.fs.hard_link(&self.source, &self.path) {
                // Who wrote it may not have made it durable.
                Ok(()) => return self.fs.append(&self.path)?.sync(),
                Err(error) if error.kind() == ErrorKind::NotSupported => {}
                Err(error) => return Err(error),
            }
        }
        copy_front(&*self.fs, &*self.file, self.file.len(), &self.path)
    }

    /// Leaves the file in the directory, come what may.
    pub(super) fn keep(&mut self) {
        self.is_ours = false;
    }

    /// Removes the name that a moved file had. It has become a second name of a file of ours; who wants it gone can see to it.
    pub(super) fn finish(&self, transfer: FileTransfer) {
        if transfer == FileTransfer::Move {
            let _ = self.fs.remove(&self.source);
        }
    }

    /// What it was called.
    pub(super) fn source(&self) -> &Path {
        &self.source
    }

    /// What it is called in the directory.
    pub(super) fn number(&self) -> FileNumber {
        self.pending.number()
    }

    pub(super) fn file_bytes(&self) -> u64 {
        self.file.len()
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if self.is_ours {
            // What stays behind is removed by the next open.
            let _ = self.fs.remove(&self.path);
        }
    }
}
