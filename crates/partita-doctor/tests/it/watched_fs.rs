//! A file system that panics when it is written to, and calls back before a table is opened.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;

use partita::Result;
use partita::io::{
    DiskFileSystem, FileLock, FileSystem, RandomAccessFile, SequentialFile, WritableFile,
};

type Hook = Box<dyn FnMut(&Path) + Send>;

/// The disk, to be read only.
pub(crate) struct WatchedFs {
    before_open: Mutex<Hook>,
}

impl WatchedFs {
    /// Nothing happens meanwhile.
    pub(crate) fn quiet() -> Self {
        Self::new(|_| ())
    }

    /// Calls `before_open` with the path of each file that is opened to be read anywhere.
    pub(crate) fn new(before_open: impl FnMut(&Path) + Send + 'static) -> Self {
        Self { before_open: Mutex::new(Box::new(before_open)) }
    }
}

impl fmt::Debug for WatchedFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WatchedFs")
    }
}

fn written(what: &str, path: &Path) -> ! {
    panic!("{what} {}: the doctor writes nothing", path.display())
}

impl FileSystem for WatchedFs {
    fn open(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        (self.before_open.lock().unwrap())(path);
        DiskFileSystem.open(path)
    }

    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialFile>> {
        DiskFileSystem.open_sequential(path)
    }

    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        written("create", path)
    }

    fn create_new(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        written("create", path)
    }

    fn append(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        written("append to", path)
    }

    fn overwrite(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        written("overwrite", path)
    }

    fn rename(&self, from: &Path, _: &Path) -> Result<()> {
        written("rename", from)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        written("remove", path)
    }

    fn hard_link(&self, existing: &Path, _: &Path) -> Result<()> {
        written("link", existing)
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        DiskFileSystem.exists(path)
    }

    fn file_len(&self, path: &Path) -> Result<u64> {
        DiskFileSystem.file_len(path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<OsString>> {
        DiskFileSystem.list(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        written("create", dir)
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        written("remove", dir)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        written("sync", dir)
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        written("lock", path)
    }
}
