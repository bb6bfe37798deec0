use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use super::Unsynced;
use super::file::copy_from;
use super::tree::{FileNode, Tree};
use crate::error::{Error, ErrorKind, Result};
use crate::io::{FileLock, FileSystem, RandomAccessFile, SequentialFile, WritableFile};
use crate::util::sync::{Mutex, MutexGuard};

/// A file system in memory that knows what a power cut would leave of it. Clones are the same file system.
///
/// * Absolute and relative paths start from one root, which always exists; `..` is not understood.
/// * Appended bytes stay with their writer until they are flushed; what a dropped writer still has is lost.
///
/// ```
/// use std::path::Path;
/// use partita::io::{FileSystem, MemoryFileSystem, Unsynced};
///
/// let fs = MemoryFileSystem::new();
/// let mut log = fs.create(Path::new("000001.log"))?;
/// fs.sync_dir(Path::new("/"))?;
/// log.append(b"synced")?;
/// log.sync()?;
/// log.append(b", lost")?;
/// log.flush()?;
/// let after = fs.after_crash(Unsynced::Lost);
/// assert_eq!(after.read(Path::new("000001.log"))?, b"synced");
/// let after = fs.after_crash(Unsynced::KeptUpTo(3));
/// assert_eq!(after.read(Path::new("000001.log"))?, b"synced, l");
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryFileSystem {
    tree: Arc<Mutex<Tree>>,
    locked: Locked,
}

/// The files that are locked, by identity: a name may change.
type Locked = Arc<Mutex<Vec<FileNode>>>;

impl MemoryFileSystem {
    /// An empty file system.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is on disk after a power cut now, as a file system of its own. Nothing in it is locked.
    #[must_use]
    pub fn after_crash(&self, unsynced: Unsynced) -> Self {
        let tree = self.tree().after_crash(unsynced);
        Self { tree: Arc::new(Mutex::new(tree)), locked: Locked::default() }
    }

    /// Whole between calls, so a panic elsewhere does not spoil it.
    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileSystem for MemoryFileSystem {
    fn open(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        let node = self.tree().file("open", path)?;
        let len = node.content().bytes().len() as u64;
        Ok(Arc::new(OpenFile { node, len, path: path.to_owned() }))
    }

    /// There is no cache to pass by.
    fn open_direct(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        self.open(path)
    }

    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialFile>> {
        let node = self.tree().file("open", path)?;
        Ok(Box::new(Reader { node, position: 0, path: path.to_owned() }))
    }

    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        let node = self.tree().file_or_new(path)?;
        if !node.content().bytes().is_empty() {
            node.content().clear();
        }
        Ok(Writer::boxed(node, 0, path))
    }

    fn create_new(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        let node = FileNode::default();
        self.tree().link(&node, "create", path)?;
        Ok(Writer::boxed(node, 0, path))
    }

    fn create_new_direct(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        self.create_new(path)
    }

    fn append(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        let node = self.tree().file("open", path)?;
        let end = node.content().bytes().len();
        Ok(Writer::boxed(node, end, path))
    }

    fn overwrite(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        let node = self.tree().file("open", path)?;
        Ok(Writer::boxed(node, 0, path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.tree().rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.tree().remove(path)
    }

    fn hard_link(&self, existing: &Path, new: &Path) -> Result<()> {
        let mut tree = self.tree();
        let node = tree.file("link", existing)?;
        tree.link(&node, "link", new)
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        Ok(self.tree().find(path).is_some())
    }

    fn file_len(&self, path: &Path) -> Result<u64> {
        let node = self.tree().file("stat", path)?;
        let len = node.content().bytes().len();
        Ok(len as u64)
    }

    fn list(&self, dir: &Path) -> Result<Vec<OsString>> {
        self.tree().list(dir)
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        self.tree().create_dir_all(dir)
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        self.tree().remove_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.tree().sync_dir(dir)
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        let node = self.tree().file_or_new(path)?;
        let mut locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        if locked.iter().any(|other| other.is(&node)) {
            return Err(Error::new(ErrorKind::Busy, "locked by this process").in_file(path));
        }
        locked.push(node.clone());
        Ok(Box::new(Lock { node, locked: Arc::clone(&self.locked), path: path.to_owned() }))
    }
}

#[derive(Debug)]
struct OpenFile {
    node: FileNode,
    len: u64,
    path: PathBuf,
}

impl RandomAccessFile for OpenFile {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        copy_from(self.node.content().bytes(), offset, buf)
            .map_err(|error| error.in_file(&self.path))
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[derive(Debug)]
struct Reader {
    node: FileNode,
    position: usize,
    path: PathBuf,
}

impl SequentialFile for Reader {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        let content = self.node.content();
        let rest = content.bytes().get(self.position..).unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        self.position += count;
        Ok(count)
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[derive(Debug)]
struct Writer {
    node: FileNode,
    /// Where `buffer` goes.
    position: usize,
    buffer: Vec<u8>,
    path: PathBuf,
}

impl Writer {
    fn boxed(node: FileNode, position: usize, path: &Path) -> Box<dyn WritableFile> {
        Box::new(Self { node, position, buffer: Vec::new(), path: path.to_owned() })
    }
}

impl WritableFile for Writer {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.node.content().write(self.position, &self.buffer);
            self.position += self.buffer.len();
            self.buffer.clear();
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        self.node.content().sync();
        Ok(())
    }

    fn truncate_rest(&mut self) -> Result<()> {
        self.flush()?;
        self.node.content().truncate(self.position);
        Ok(())
    }

    fn offset(&self) -> u64 {
        (self.position + self.buffer.len()) as u64
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[derive(Debug)]
struct Lock {
    node: FileNode,
    locked: Locked,
    path: PathBuf,
}

impl FileLock for Lock {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        locked.retain(|other| !other.is(&self.node));
    }
}
