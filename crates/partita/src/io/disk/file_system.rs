use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use super::direct::DirectFile;
use super::direct_writer::DirectWriter;
use super::lock::DiskLock;
use super::{DiskFile, DiskReader, DiskWriter};
use crate::error::{Error, ErrorKind, Result};
use crate::io::{FileLock, FileSystem, RandomAccessFile, SequentialFile, WritableFile};

/// The machine's file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFileSystem;

impl FileSystem for DiskFileSystem {
    fn open(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        Ok(Arc::new(DiskFile::open(path)?))
    }

    fn open_direct(&self, path: &Path) -> Result<Arc<dyn RandomAccessFile>> {
        Ok(Arc::new(DirectFile::open(path)?))
    }

    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialFile>> {
        Ok(Box::new(DiskReader::open(path)?))
    }

    fn create(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(DiskWriter::create_or_empty(path)?))
    }

    fn create_new(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(DiskWriter::create(path)?))
    }

    fn create_new_direct(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(DirectWriter::create(path)?))
    }

    fn append(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(DiskWriter::append_to(path)?))
    }

    fn overwrite(&self, path: &Path) -> Result<Box<dyn WritableFile>> {
        Ok(Box::new(DiskWriter::overwrite(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        in_file(from, "rename", fs::rename(from, to))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        in_file(path, "remove", fs::remove_file(path))
    }

    fn hard_link(&self, existing: &Path, new: &Path) -> Result<()> {
        fs::hard_link(existing, new).map_err(|source| {
            use std::io::ErrorKind::{CrossesDevices, Unsupported};
            let unlinkable = matches!(source.kind(), CrossesDevices | Unsupported);
            let error = match unlinkable {
                true => Error::new(ErrorKind::NotSupported, format!("link: {source}"))
                    .with_source(source),
                false => Error::io("link", source),
            };
            error.in_file(new)
        })
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        in_file(path, "stat", fs::exists(path))
    }

    fn file_len(&self, path: &Path) -> Result<u64> {
        let metadata = in_file(path, "stat", fs::metadata(path))?;
        match metadata.is_file() {
            true => Ok(metadata.len()),
            false => Err(Error::invalid_argument("not a regular file").in_file(path)),
        }
    }

    fn modified_unix_seconds(&self, path: &Path) -> Result<u64> {
        let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
        let since = in_file(path, "stat", modified)?.duration_since(std::time::UNIX_EPOCH);
        Ok(since.map_or(0, |since| since.as_secs()))
    }

    fn list(&self, dir: &Path) -> Result<Vec<OsString>> {
        let entries = in_file(dir, "list", fs::read_dir(dir))?;
        let names = entries.map(|entry| entry.map(|entry| entry.file_name())).collect();
        let mut names: Vec<OsString> = in_file(dir, "list", names)?;
        names.sort_unstable();
        Ok(names)
    }

    fn create_dir_all(&self, dir: &Path) -> Result<()> {
        in_file(dir, "create directory", fs::create_dir_all(dir))
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        in_file(dir, "remove directory", fs::remove_dir(dir))
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        in_file(dir, "sync directory", File::open(dir).and_then(|opened| opened.sync_all()))
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        Ok(Box::new(DiskLock::take(path)?))
    }
}

fn in_file<T>(path: &Path, doing: &str, outcome: std::io::Result<T>) -> Result<T> {
    outcome.map_err(|source| Error::io(doing, source).in_file(path))
}
