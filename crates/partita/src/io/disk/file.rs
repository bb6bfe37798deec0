use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::{RandomAccessFile, WritableFile};
use crate::error::{Error, Result};

/// Bytes gathered before a write call; about the size at which a write's fixed cost stops to matter.
const WRITE_BUFFER_BYTES: usize = 256 * 1024;

/// A file on disk, read by `pread`.
#[derive(Debug)]
pub struct DiskFile {
    file: File,
    len: u64,
    path: PathBuf,
}

impl DiskFile {
    /// Opens the file for reading.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let at = |doing, source| Error::io(doing, source).in_file(&path);
        let refuse_others = |metadata: &Metadata| match metadata.is_file() {
            true => Ok(()),
            false => Err(Error::invalid_argument("not a regular file").in_file(&path)),
        };
        // Looked at before it is opened, for opening a pipe waits for its writer; and after, for what was opened counts.
        refuse_others(&fs::metadata(&path).map_err(|source| at("open", source))?)?;
        let file = File::open(&path).map_err(|source| at("open", source))?;
        let metadata = file.metadata().map_err(|source| at("stat", source))?;
        refuse_others(&metadata)?;
        Ok(Self { file, len: metadata.len(), path })
    }
}

impl RandomAccessFile for DiskFile {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(buf, offset).map_err(|source| {
            let error = if source.kind() == std::io::ErrorKind::UnexpectedEof {
                Error::corruption(format!("file ends before {:#x}", offset + buf.len() as u64))
                    .with_source(source)
            } else {
                Error::io("read", source)
            };
            error.at(offset).with_len(buf.len() as u64).in_file(&self.path)
        })
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// A new file on disk, written through a buffer.
#[derive(Debug)]
pub struct DiskWriter {
    file: BufWriter<File>,
    path: PathBuf,
}

impl DiskWriter {
    /// Creates the file.
    ///
    /// * Errors: `Io` if it exists already or cannot be created.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|source| Error::io("create", source).in_file(&path))?;
        Ok(Self { file: BufWriter::with_capacity(WRITE_BUFFER_BYTES, file), path })
    }
}

impl WritableFile for DiskWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|source| Error::io("write", source).in_file(&self.path))
    }

    fn sync(&mut self) -> Result<()> {
        self.file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all())
            .map_err(|source| Error::io("sync", source).in_file(&self.path))
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::error::ErrorKind;

    /// Opening a pipe waits for a writer that may never come; a walk over a directory stood still there.
    #[test]
    fn what_is_no_file_is_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("000001.sst");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [pipe, dir.path().to_owned(), PathBuf::from("/dev/null")] {
            let (sender, receiver) = mpsc::channel();
            std::thread::spawn(move || sender.send(DiskFile::open(path).map(drop)));
            let opened = receiver.recv_timeout(Duration::from_secs(60));
            let error = opened.expect("an answer").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        }
    }
}
