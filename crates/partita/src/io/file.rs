use std::fmt;
use std::path::Path;

use crate::error::Result;

/// A file that is read at any offset, by any number of threads at once.
pub trait RandomAccessFile: Send + Sync + fmt::Debug {
    /// Fills `buf` from the bytes at `offset`.
    ///
    /// * Errors: `Corruption` if the file ends before `buf` is full; `Io` if the read fails. Both name the file.
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()>;

    /// Length of the file in bytes when it was opened.
    fn len(&self) -> u64;

    /// Whether the file had no bytes when it was opened.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The path, for messages.
    fn path(&self) -> &Path;
}

/// A file that is written front to back, once.
pub trait WritableFile: Send + fmt::Debug {
    /// Appends `bytes`; they may stay in a buffer until [`WritableFile::sync`].
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Hands everything to the device; on return it survives a power cut.
    fn sync(&mut self) -> Result<()>;

    /// The path, for messages.
    fn path(&self) -> &Path;
}
