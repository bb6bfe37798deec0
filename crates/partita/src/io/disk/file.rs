use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::io::{RandomAccessFile, SequentialFile, WritableFile};

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
        let (file, len) = open_regular(&path, OpenOptions::new().read(true))?;
        Ok(Self { file, len, path })
    }
}

/// Opens a regular file for reading; returns it with its length.
pub(super) fn open_regular(path: &Path, options: &OpenOptions) -> Result<(File, u64)> {
    let at = |doing, source| Error::io(doing, source).in_file(path);
    let refuse_others = |metadata: &Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(Error::invalid_argument("not a regular file").in_file(path)),
    };
    // Looked at before it is opened, for opening a pipe waits for its writer; and after, for what was opened counts.
    refuse_others(&fs::metadata(path).map_err(|source| at("open", source))?)?;
    let file = options.open(path).map_err(|source| at("open", source))?;
    let metadata = file.metadata().map_err(|source| at("stat", source))?;
    refuse_others(&metadata)?;
    Ok((file, metadata.len()))
}

/// What went wrong with a read at an offset.
pub(super) fn read_error(source: std::io::Error, offset: u64, len: usize) -> Error {
    let error = match source.kind() {
        std::io::ErrorKind::UnexpectedEof => {
            let end = offset.saturating_add(len as u64);
            Error::corruption(format!("file ends before {end:#x}")).with_source(source)
        }
        _ => Error::io("read", source),
    };
    error.at(offset).with_len(len as u64)
}

impl RandomAccessFile for DiskFile {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.file
            .read_exact_at(buf, offset)
            .map_err(|source| read_error(source, offset, buf.len()).in_file(&self.path))
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// A file on disk, read front to back. It has no buffer: callers read by the block.
#[derive(Debug)]
pub struct DiskReader {
    file: File,
    path: PathBuf,
}

impl DiskReader {
    /// Opens the file for reading.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let (file, _) = open_regular(&path, OpenOptions::new().read(true))?;
        Ok(Self { file, path })
    }
}

impl SequentialFile for DiskReader {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        loop {
            match self.file.read(buf) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => {
                    return read.map_err(|source| Error::io("read", source).in_file(&self.path));
                }
            }
        }
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// A file on disk, written through a buffer.
///
/// What is buffered when it is dropped is lost. After a failed call nothing more is written: what follows a lost write must
/// not reach the file without it.
#[derive(Debug)]
pub struct DiskWriter {
    file: File,
    buffer: Vec<u8>,
    /// Bytes of the file in front of `buffer`.
    written: u64,
    failed: bool,
    path: PathBuf,
}

impl DiskWriter {
    /// Creates the file.
    ///
    /// * Errors: `Io` if it exists already or cannot be created.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self> {
        Self::open(path.into(), "create", OpenOptions::new().write(true).create_new(true))
    }

    /// Creates the file, or empties the one that exists.
    pub(super) fn create_or_empty(path: &Path) -> Result<Self> {
        let options = &mut OpenOptions::new();
        Self::open(path.to_owned(), "create", options.write(true).create(true).truncate(true))
    }

    /// Opens an existing file, to write behind its end.
    pub(super) fn append_to(path: &Path) -> Result<Self> {
        let mut writer = Self::overwrite(path)?;
        writer.written = writer
            .file
            .seek(SeekFrom::End(0))
            .map_err(|source| Error::io("seek", source).in_file(path))?;
        Ok(writer)
    }

    /// Opens an existing file, to write from its front.
    pub(super) fn overwrite(path: &Path) -> Result<Self> {
        Self::open(path.to_owned(), "open", OpenOptions::new().write(true))
    }

    fn open(path: PathBuf, doing: &str, options: &OpenOptions) -> Result<Self> {
        let opened = options.open(&path);
        let file = opened.map_err(|source| Error::io(doing, source).in_file(&path))?;
        Ok(Self { file, buffer: Vec::new(), written: 0, failed: false, path })
    }

    /// Runs a step, unless one failed before; remembers if it fails.
    fn attempt(
        &mut self,
        doing: &str,
        step: impl FnOnce(&mut Self) -> std::io::Result<()>,
    ) -> Result<()> {
        let outcome = match self.failed {
            true => Err(std::io::Error::other("an earlier call failed")),
            false => step(self),
        };
        outcome.map_err(|source| {
            self.failed = true;
            Error::io(doing, source).in_file(&self.path)
        })
    }

    fn write_buffer(&mut self) -> std::io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

impl WritableFile for DiskWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.attempt("write", |this| {
            if this.buffer.len() + bytes.len() > WRITE_BUFFER_BYTES {
                this.write_buffer()?;
            }
            if bytes.len() >= WRITE_BUFFER_BYTES {
                this.file.write_all(bytes)?;
                this.written += bytes.len() as u64;
            } else {
                this.buffer.extend_from_slice(bytes);
            }
            Ok(())
        })
    }

    fn flush(&mut self) -> Result<()> {
        self.attempt("write", Self::write_buffer)
    }

    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        // Length and blocks are synced, times are not (`fdatasync`).
        self.attempt("sync", |this| this.file.sync_data())
    }

    fn truncate_rest(&mut self) -> Result<()> {
        self.flush()?;
        self.attempt("truncate", |this| this.file.set_len(this.written))
    }

    fn offset(&self) -> u64 {
        self.written + self.buffer.len() as u64
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

    #[test]
    fn after_a_failed_write_nothing_more_is_written() {
        let mut writer =
            DiskWriter::open("/dev/full".into(), "open", OpenOptions::new().write(true));
        let writer = writer.as_mut().unwrap();
        writer.append(b"abc").unwrap();
        assert_eq!(writer.flush().unwrap_err().kind(), ErrorKind::NoSpace);
        assert_eq!(writer.offset(), 3);
        let later = writer.append(b"def").unwrap_err();
        assert_eq!(later.to_string(), "I/O error: /dev/full: write: an earlier call failed");
        assert!(writer.sync().is_err());
    }
}
