//! Locks on files that RocksDB respects, and that respect RocksDB's.
//!
//! RocksDB takes a POSIX record lock (`fcntl(F_SETLK)`) on the whole of `LOCK`. Such a lock belongs to the process: a second
//! one of the same process is granted, and closing *any* descriptor of the file drops it, even one that a backup tool opened.
//! On Linux we take a lock of the open file instead (`F_OFD_SETLK`), which conflicts with RocksDB's in other processes and
//! in this one, and is gone only with our descriptor. Elsewhere it is a record lock.
//!
//! The table of the files that this process has locked makes the second attempt fail on all systems alike, before the file
//! is opened, and with a message that says so.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::error::{Error, ErrorKind, Result};
use crate::io::FileLock;

/// Device and inode: one file, whatever its path is called.
type FileId = (u64, u64);

static HELD_HERE: LazyLock<Mutex<HashSet<FileId>>> = LazyLock::new(Mutex::default);

fn held_here() -> MutexGuard<'static, HashSet<FileId>> {
    HELD_HERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A locked file.
#[derive(Debug)]
pub(super) struct DiskLock {
    path: PathBuf,
    id: FileId,
    /// `None` once the lock is released.
    file: Option<File>,
}

impl DiskLock {
    /// See [`crate::io::FileSystem::lock`].
    pub(super) fn take(path: &Path) -> Result<Self> {
        let at = |doing, source| Error::io(doing, source).in_file(path);
        let mut held = held_here();
        if let Ok(metadata) = fs::metadata(path)
            && held.contains(&(metadata.dev(), metadata.ino()))
        {
            return Err(busy(path, "locked by this process"));
        }
        let options = &mut OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|source| at("open", source))?;
        if let Err(errno) = fcntl(&file, set_lock(&whole_file(libc::F_WRLCK))) {
            return Err(match errno {
                nix::Error::EACCES | nix::Error::EAGAIN => busy(path, &holder(&file)),
                other => at("lock", other.into()),
            });
        }
        let metadata = file.metadata().map_err(|source| at("stat", source))?;
        let id = (metadata.dev(), metadata.ino());
        held.insert(id);
        Ok(Self { path: path.to_owned(), id, file: Some(file) })
    }
}

impl FileLock for DiskLock {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for DiskLock {
    fn drop(&mut self) {
        let mut held = held_here();
        // In this order, and under the table's lock: whom the table lets through finds the file unlocked.
        if let Some(file) = self.file.take() {
            // Closing it would not do: a process that is being started has a copy of each descriptor for a moment, and the
            // lock with it. If this fails, there is nothing left but to close it.
            let _ = fcntl(&file, set_lock(&whole_file(libc::F_UNLCK)));
        }
        held.remove(&self.id);
    }
}

fn busy(path: &Path, holder: &str) -> Error {
    Error::new(ErrorKind::Busy, holder).in_file(path)
}

/// From the first byte to the end, however long the file gets.
///
/// * `kind`: `F_WRLCK`, an exclusive lock, or `F_UNLCK`, none.
fn whole_file(kind: libc::c_int) -> libc::flock {
    libc::flock { l_type: kind as _, l_whence: libc::SEEK_SET as _, l_start: 0, l_len: 0, l_pid: 0 }
}

#[cfg(target_os = "linux")]
fn set_lock(lock: &libc::flock) -> FcntlArg<'_> {
    FcntlArg::F_OFD_SETLK(lock)
}

#[cfg(not(target_os = "linux"))]
fn set_lock(lock: &libc::flock) -> FcntlArg<'_> {
    FcntlArg::F_SETLK(lock)
}

/// Who has the file locked, in words. The system names the process of a record lock, but not of an open file's lock.
fn holder(file: &File) -> String {
    let mut lock = whole_file(libc::F_WRLCK);
    match fcntl(file, FcntlArg::F_GETLK(&mut lock)) {
        Ok(_) if lock.l_pid > 0 => format!("locked by process {}", lock.l_pid),
        _ => "locked by another database handle".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_is_refused_until_the_first_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("LOCK");
        let lock = DiskLock::take(&path).unwrap();
        // By another name, too, and after others have opened and closed the file.
        let link = dir.path().join("LINK");
        fs::hard_link(&path, &link).unwrap();
        drop(File::open(&path).unwrap());
        let error = DiskLock::take(&link).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        assert_eq!(error.message(), "locked by this process");
        drop(lock);
        DiskLock::take(&link).unwrap();
    }

    /// Between `fork` and `exec` a child has the parent's descriptors, those with `O_CLOEXEC` among them. A database that was
    /// closed while another thread started a program could not be opened again for that moment.
    #[test]
    fn a_copy_of_the_descriptor_does_not_keep_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("LOCK");
        let lock = DiskLock::take(&path).unwrap();
        let of_a_child = lock.file.as_ref().unwrap().try_clone().unwrap();
        drop(lock);
        DiskLock::take(&path).unwrap();
        drop(of_a_child);
    }

    /// A plain `fcntl` lock, as RocksDB takes it, sees ours although it comes from the same process.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_record_lock_and_ours_exclude_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("LOCK");
        let lock = DiskLock::take(&path).unwrap();
        let options = &mut OpenOptions::new();
        let theirs = options.read(true).write(true).open(&path).unwrap();
        assert!(fcntl(&theirs, FcntlArg::F_SETLK(&whole_file(libc::F_WRLCK))).is_err());
        drop(lock);
        fcntl(&theirs, FcntlArg::F_SETLK(&whole_file(libc::F_WRLCK))).unwrap();
        let error = DiskLock::take(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        drop(theirs);
        DiskLock::take(&path).unwrap();
    }
}
