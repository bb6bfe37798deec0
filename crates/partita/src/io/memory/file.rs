use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use crate::error::{Error, Result};
use crate::io::{RandomAccessFile, WritableFile};
use crate::util::sync::{Mutex, MutexGuard};

/// A file that is a byte vector, for tests and for bytes that never reach a disk.
pub struct MemoryFile {
    bytes: Vec<u8>,
    path: PathBuf,
}

impl MemoryFile {
    /// A file of these bytes; `path` is only for messages.
    pub fn new(path: impl Into<PathBuf>, bytes: Vec<u8>) -> Self {
        Self { bytes, path: path.into() }
    }
}

/// Without the bytes: they are the user's data.
impl fmt::Debug for MemoryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryFile")
            .field("path", &self.path)
            .field("len", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

impl RandomAccessFile for MemoryFile {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        copy_from(&self.bytes, offset, buf).map_err(|error| error.in_file(&self.path))
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// Fills `buf` from `bytes`, as [`RandomAccessFile::read_exact_at`] says.
pub(super) fn copy_from(bytes: &[u8], offset: u64, buf: &mut [u8]) -> Result<()> {
    let start = usize::try_from(offset).ok();
    match start.and_then(|start| bytes.get(start..start.checked_add(buf.len())?)) {
        Some(found) => {
            buf.copy_from_slice(found);
            Ok(())
        }
        None => Err(Error::corruption(format!("file ends at {:#x}", bytes.len()))
            .at(offset)
            .with_len(buf.len() as u64)),
    }
}

/// A new file in memory. Clones share its bytes, so that they can be looked at after a writer has been given away.
///
/// ```
/// use partita::io::{MemoryWriter, RandomAccessFile, WritableFile};
///
/// let mut writer = MemoryWriter::new("x");
/// writer.append(b"abc").unwrap();
/// let file = writer.into_file();
/// let mut buf = [0; 2];
/// file.read_exact_at(1, &mut buf).unwrap();
/// assert_eq!(&buf, b"bc");
/// ```
#[derive(Clone, Debug)]
pub struct MemoryWriter {
    bytes: Arc<Mutex<Vec<u8>>>,
    path: PathBuf,
}

impl MemoryWriter {
    /// An empty file; `path` is only for messages.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { bytes: Arc::default(), path: path.into() }
    }

    /// What was written, by this writer and its clones.
    pub fn into_bytes(self) -> Vec<u8> {
        std::mem::take(&mut *self.lock())
    }

    /// What was written, for reading.
    pub fn into_file(self) -> MemoryFile {
        MemoryFile::new(self.path.clone(), self.into_bytes())
    }

    /// The bytes are whole between calls, so a panic elsewhere does not spoil them.
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WritableFile for MemoryWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.lock().extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn offset(&self) -> u64 {
        self.lock().len() as u64
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
