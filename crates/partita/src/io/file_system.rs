use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::{RandomAccessFile, SequentialFile, WritableFile};
use crate::error::{Error, Result};

/// Directories and the files in them.
///
/// * Any thread may call any method at any time.
/// * Errors name the path and what was tried. That a path does not exist is told by
///   [`Error::is_not_found`](crate::error::Error::is_not_found), of `create_new` and `hard_link` that it exists already by
///   [`Error::is_already_there`](crate::error::Error::is_already_there).
/// * Creation, renaming, linking and removal survive a power cut after [`FileSystem::sync_dir`] of the directory (of both
///   directories, where a file moves).
///
/// ```
/// use std::path::Path;
/// use partita::io::{FileSystem, MemoryFileSystem};
///
/// let fs = MemoryFileSystem::new();
/// fs.create_dir_all(Path::new("/db"))?;
/// let mut file = fs.create_new(Path::new("/db/000001.log"))?;
/// file.append(b"abc")?;
/// file.sync()?;
/// fs.sync_dir(Path::new("/db"))?;
/// assert_eq!(fs.list(Path::new("/db"))?, ["000001.log"]);
/// assert_eq!(fs.read(Path::new("/db/000001.log"))?, b"abc");
/// # Ok::<(), partita::Error>(())
/// ```
pub trait FileSystem: Send + Sync + fmt::Debug {
    /// Opens a file for reading at any offset.
    fn open(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>>;

    /// Opens a file for reading at any offset past the system's cache of files: each read has its bytes from the device.
    ///
    /// * Errors: `NotSupported` if there are no such reads here.
    fn open_direct(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        Err(Error::not_supported("direct I/O: the file system has none").in_file(path))
    }

    /// Opens a file for reading front to back.
    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialFile>>;

    /// Creates a file, or empties the one that exists.
    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>>;

    /// Creates a file.
    ///
    /// * Errors: if one of that name exists.
    fn create_new(&self, path: &Path) -> Result<Box<dyn WritableFile>>;

    /// Creates a file to be written past the system's cache of files.
    ///
    /// * Errors: as [`FileSystem::create_new`]; `NotSupported` if there are no such writes here.
    fn create_new_direct(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        Err(Error::not_supported("direct I/O: the file system has none").in_file(path))
    }

    /// Opens an existing file to write behind its last byte.
    fn append(&self, path: &Path) -> Result<Box<dyn WritableFile>>;

    /// Opens an existing file to write over its bytes from the front; what is not written over stays. For recycled logs:
    /// the blocks of the file are allocated already.
    fn overwrite(&self, path: &Path) -> Result<Box<dyn WritableFile>>;

    /// Renames a file or directory; a file called `to` is replaced in one step.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file. Whoever has it open reads on.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Gives the file `existing` a second name.
    ///
    /// * Errors: if something is called `new` already; `NotSupported` if the file system knows no links, or the two names
    ///   would be on different devices. The caller copies then.
    fn hard_link(&self, existing: &Path, new: &Path) -> Result<()>;

    /// Whether a file or directory of that name exists.
    fn exists(&self, path: &Path) -> Result<bool>;

    /// The length of a file in bytes: what readers see now.
    fn file_len(&self, path: &Path) -> Result<u64>;

    /// When a file was written last, in seconds since 1970.
    ///
    /// * Errors: `NotSupported` if the file system does not know.
    fn modified_unix_seconds(&self, path: &Path) -> Result<u64> {
        Err(Error::not_supported("this file system keeps no times").in_file(path))
    }

    /// The names of the files and directories in a directory, sorted.
    fn list(&self, dir: &Path) -> Result<Vec<OsString>>;

    /// Creates a directory and those above it; one that exists is fine.
    fn create_dir_all(&self, dir: &Path) -> Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, dir: &Path) -> Result<()>;

    /// Makes the names in a directory survive a power cut.
    fn sync_dir(&self, dir: &Path) -> Result<()>;

    /// Creates the file if it is not there and locks it against everybody else, RocksDB included, in this process and in
    /// others. Dropping the lock releases it and leaves the file.
    ///
    /// * Errors: `Busy` if somebody holds it; the message says who, as far as the system tells.
    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>>;

    /// Reads a whole file. For small ones: CURRENT, OPTIONS, IDENTITY.
    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        const STEP_BYTES: usize = 8192;
        let mut file = self.open_sequential(path)?;
        let mut bytes = Vec::new();
        loop {
            let start = bytes.len();
            bytes.resize(start + STEP_BYTES, 0);
            let count = file.read_full(&mut bytes[start..])?;
            bytes.truncate(start + count);
            if count < STEP_BYTES {
                return Ok(bytes);
            }
        }
    }
}

/// Whether reads or writes go through the system's cache of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// They do: what was read or written lately, by anybody, is in memory twice.
    #[default]
    Cached,
    /// They go past it, to the device.
    Direct,
}

impl Access {
    /// Direct if `direct` is set.
    pub fn direct_if(direct: bool) -> Self {
        if direct { Self::Direct } else { Self::Cached }
    }

    /// Opens a file for reads of this kind at any offset.
    pub fn open(self, fs: &dyn FileSystem, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        match self {
            Self::Cached => fs.open(path),
            Self::Direct => fs.open_direct(path),
        }
    }

    /// Creates a file for writes of this kind.
    pub fn create_new(self, fs: &dyn FileSystem, path: &Path) -> Result<Box<dyn WritableFile>> {
        match self {
            Self::Cached => fs.create_new(path),
            Self::Direct => fs.create_new_direct(path),
        }
    }
}

/// A lock on a file, held until it is dropped.
pub trait FileLock: Send + Sync + fmt::Debug {
    /// The path, for messages.
    fn path(&self) -> &Path;
}
