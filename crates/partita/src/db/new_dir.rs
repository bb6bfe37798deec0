//! A directory that appears whole, or not at all.
//!
//! ```text
//! TARGET.tmp     files linked, copied and written, each durable
//!   sync         their names
//!   rename       TARGET.tmp -> TARGET
//!   sync         the directory that TARGET stands in
//! ```
//!
//! A crash before the last step leaves `TARGET.tmp`, which the next one of the same target removes; RocksDB's checkpoints use
//! the same name. What stands in it under other names than a database's files have is not removed, and an error.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::open_write::create_durable_dir;
use crate::error::{Error, Result};
use crate::io::{FileSystem, RandomAccessFile, copy_front, link_or_copy};
use crate::version::FileName;

/// A directory that is being filled with a database. Dropped before it is published, it is removed.
///
/// ```
/// # use std::path::Path;
/// # use std::sync::Arc;
/// # use partita::io::{FileSystem, MemoryFileSystem};
/// use partita::db::NewDir;
///
/// let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
/// let dir = NewDir::begin(&fs, Path::new("/copy"))?;
/// assert_eq!(dir.path(), Path::new("/copy.tmp"));
/// assert!(!fs.exists(Path::new("/copy"))?);
/// dir.publish()?;
/// assert!(fs.exists(Path::new("/copy"))?);
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Debug)]
pub struct NewDir {
    fs: Arc<dyn FileSystem>,
    target: PathBuf,
    /// Where its files are until it is published.
    unfinished: PathBuf,
    published: bool,
}

impl NewDir {
    /// Begins a directory.
    ///
    /// * Errors: `InvalidArgument` if something is called `target` already, and if what an attempt before left is more than files
    ///   of a database; `Io`.
    pub fn begin(fs: &Arc<dyn FileSystem>, target: &Path) -> Result<Self> {
        let Some(name) = target.file_name() else {
            return Err(Error::invalid_argument("no name of a new directory").in_file(target));
        };
        if fs.exists(target)? {
            let message = "this exists already; a new directory is made";
            return Err(Error::invalid_argument(message).in_file(target));
        }
        let mut unfinished = name.to_owned();
        unfinished.push(".tmp");
        let unfinished = target.with_file_name(unfinished);
        if fs.exists(&unfinished)? {
            remove_files(&**fs, &unfinished)?;
        }
        let dir =
            Self { fs: Arc::clone(fs), target: target.to_owned(), unfinished, published: false };
        create_durable_dir(&*dir.fs, &dir.unfinished)?;
        Ok(dir)
    }

    /// Gives a file, which is durable, a second name in the directory; a copy where that cannot be.
    pub(super) fn link(&self, from: &Path, name: FileName) -> Result<()> {
        link_or_copy(&*self.fs, from, &name.in_dir(&self.unfinished))
    }

    /// The same for a table of the database in `dir`.
    pub(super) fn link_table(&self, dir: &Path, name: FileName) -> Result<()> {
        let from = name.in_dir(dir);
        match self.link(&from, name) {
            // LevelDB's name.
            Err(error) if error.is_not_found() => {
                let to = name.in_dir(&self.unfinished).with_extension("ldb");
                let done = link_or_copy(&*self.fs, &from.with_extension("ldb"), &to);
                done.map_err(|_| error)
            }
            done => done,
        }
    }

    /// Copies the first `bytes` of a file.
    pub(super) fn copy_front(
        &self,
        from: &dyn RandomAccessFile,
        bytes: u64,
        name: FileName,
    ) -> Result<()> {
        copy_front(&*self.fs, from, bytes, &name.in_dir(&self.unfinished))
    }

    /// Where its files are now.
    pub fn path(&self) -> &Path {
        &self.unfinished
    }

    /// Writes a file of this name.
    pub(super) fn write(&self, name: FileName, contents: &[u8]) -> Result<()> {
        let mut file = self.fs.create_new(&name.in_dir(&self.unfinished))?;
        file.append(contents)?;
        file.sync()
    }

    /// Gives the directory its name. On return it survives a power cut.
    ///
    /// * Errors: only if it was the last sync that failed can the directory be there.
    pub fn publish(mut self) -> Result<()> {
        self.fs.sync_dir(&self.unfinished)?;
        self.fs.rename(&self.unfinished, &self.target)?;
        self.published = true;
        let holder = self.target.parent().filter(|holder| !holder.as_os_str().is_empty());
        self.fs.sync_dir(holder.unwrap_or(Path::new(".")))
    }
}

impl Drop for NewDir {
    fn drop(&mut self) {
        if !self.published {
            // What stays is removed by the next one.
            let _ = remove_files(&*self.fs, &self.unfinished);
        }
    }
}

/// Removes a directory with files of a database.
fn remove_files(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    for name in fs.list(dir)? {
        if FileName::parse(&name).is_some() {
            fs.remove(&dir.join(name))?;
        }
    }
    fs.remove_dir(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::io::{MemoryFileSystem, Unsynced};

    fn begin(fs: &MemoryFileSystem, target: &str) -> Result<NewDir> {
        let fs: Arc<dyn FileSystem> = Arc::new(fs.clone());
        NewDir::begin(&fs, target.as_ref())
    }

    #[test]
    fn a_published_directory_survives_and_an_abandoned_one_leaves_nothing() {
        let fs = MemoryFileSystem::new();
        let abandoned = begin(&fs, "/a/b").unwrap();
        abandoned.write(FileName::Current, b"x").unwrap();
        drop(abandoned);
        assert!(fs.list("/a".as_ref()).unwrap().is_empty());
        let dir = begin(&fs, "/a/b").unwrap();
        dir.write(FileName::Current, b"x").unwrap();
        assert!(!fs.exists("/a/b".as_ref()).unwrap());
        dir.publish().unwrap();
        let after = fs.after_crash(Unsynced::Lost);
        assert_eq!(after.list("/a".as_ref()).unwrap(), ["b"]);
        assert_eq!(after.read("/a/b/CURRENT".as_ref()).unwrap(), b"x");
    }

    #[test]
    fn what_exists_is_refused_and_only_files_of_a_database_are_swept_away() {
        let fs = MemoryFileSystem::new();
        fs.create_dir_all("/a/b".as_ref()).unwrap();
        for target in ["/a/b", "/a/b/", "/", ""] {
            let error = begin(&fs, target).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{target}: {error}");
        }
        // Of a crash.
        fs.create_dir_all("/a/c.tmp".as_ref()).unwrap();
        fs.create("/a/c.tmp/000012.sst".as_ref()).unwrap();
        drop(begin(&fs, "/a/c").unwrap());
        fs.create_dir_all("/a/c.tmp".as_ref()).unwrap();
        fs.create("/a/c.tmp/letter.txt".as_ref()).unwrap();
        assert!(begin(&fs, "/a/c").is_err());
        assert!(fs.exists("/a/c.tmp/letter.txt".as_ref()).unwrap());
    }
}
