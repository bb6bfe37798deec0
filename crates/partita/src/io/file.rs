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

/// A file that is read front to back, by one thread.
pub trait SequentialFile: Send + fmt::Debug {
    /// Reads the next bytes into `buf` and returns how many. Fewer than asked does **not** mean the end; only 0 does,
    /// for a `buf` that is not empty.
    fn read(&mut self, buf: &mut [u8]) -> Result<usize>;

    /// Reads until `buf` is full or the file ends; returns how many bytes it read.
    fn read_full(&mut self, buf: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buf.len() {
            match self.read(&mut buf[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }

    /// The path, for messages.
    fn path(&self) -> &Path;
}

/// A file that is written front to back, by one thread at a time.
///
/// * What was not flushed when it is dropped may be lost.
/// * After an error the file's end is unknown, and later calls fail, too: whoever writes on starts another file.
pub trait WritableFile: Send + fmt::Debug {
    /// Appends `bytes`; they may stay in a buffer until [`WritableFile::flush`].
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Hands everything to the operating system: on return it is seen by readers and survives the process.
    fn flush(&mut self) -> Result<()>;

    /// Hands everything to the device: on return it survives a power cut, provided that the file's name does
    /// ([`super::FileSystem::sync_dir`]).
    fn sync(&mut self) -> Result<()>;

    /// Hands everything to the operating system, and cuts off what stands behind it: what a file that is written over
    /// ([`super::FileSystem::overwrite`]) has left of its earlier life. Other files end here anyway.
    fn truncate_rest(&mut self) -> Result<()> {
        self.flush()
    }

    /// Where the next append goes: the bytes in front of it, whether they have left the buffer or not.
    fn offset(&self) -> u64;

    /// The path, for messages.
    fn path(&self) -> &Path;
}
