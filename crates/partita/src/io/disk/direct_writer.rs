//! A new file whose bytes go past the system's cache of files (`O_DIRECT`).
//!
//! ```text
//! file      |.......|.......|.......|....|           written: whole blocks
//!           0                       |written
//! buffer                            [======= filled         ]
//! flush                             [=======|===0000]       the last block is filled up with zeros, which are cut off,
//! after it                                  [===            ]     and stays in the buffer, to be written again
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::direct::{BLOCK_BYTES, aligned, direct, refusal};
use crate::error::{Error, Result};
use crate::io::WritableFile;

/// Bytes of a write, which waits for the device: enough for it to be busy with.
const BUFFER_BYTES: usize = 1024 * 1024;

/// A file on disk, written past the system's cache.
///
/// After a failed call nothing more is written, as by [`super::DiskWriter`].
#[derive(Debug)]
pub(super) struct DirectWriter {
    blocks: Blocks,
    failed: bool,
    path: PathBuf,
}

#[derive(Debug)]
struct Blocks {
    file: File,
    /// [`BUFFER_BYTES`] of it are used, from an aligned address on.
    buffer: Vec<u8>,
    /// Bytes in the buffer; never all of it between calls.
    filled: usize,
    /// Bytes of the file in front of them: whole blocks.
    written: u64,
    /// Whether the file has all that is in the buffer.
    flushed: bool,
}

impl DirectWriter {
    /// Creates the file.
    ///
    /// * Errors: `Io` if it exists already; `NotSupported` if the file system or the platform has no such writes.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let mut options = direct(path)?;
        let created = options.read(false).write(true).create_new(true).open(path);
        let file =
            created.map_err(|source| refusal(Error::io("create", source).in_file(path), path))?;
        let buffer = vec![0; BUFFER_BYTES + BLOCK_BYTES - 1];
        let blocks = Blocks { file, buffer, filled: 0, written: 0, flushed: true };
        Ok(Self { blocks, failed: false, path: path.to_owned() })
    }

    /// Runs a step, unless one failed before; remembers if it fails.
    fn attempt(
        &mut self,
        doing: &str,
        step: impl FnOnce(&mut Blocks) -> io::Result<()>,
    ) -> Result<()> {
        let outcome = match self.failed {
            true => Err(io::Error::other("an earlier call failed")),
            false => step(&mut self.blocks),
        };
        outcome.map_err(|source| {
            self.failed = true;
            refusal(Error::io(doing, source).in_file(&self.path), &self.path)
        })
    }
}

impl Blocks {
    fn append(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = &mut aligned(&mut self.buffer, BUFFER_BYTES)[self.filled..];
            let count = room.len().min(bytes.len());
            let (now, later) = bytes.split_at(count);
            room[..count].copy_from_slice(now);
            bytes = later;
            self.filled += count;
            self.flushed = false;
            if self.filled == BUFFER_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.flushed {
            return Ok(());
        }
        let buffer = aligned(&mut self.buffer, BUFFER_BYTES);
        let blocks = &mut buffer[..self.filled.next_multiple_of(BLOCK_BYTES)];
        blocks[self.filled..].fill(0);
        self.file.write_all_at(blocks, self.written)?;
        let whole = self.filled - self.filled % BLOCK_BYTES;
        if whole < self.filled {
            self.file.set_len(self.written + self.filled as u64)?;
        }
        buffer.copy_within(whole..self.filled, 0);
        self.filled -= whole;
        self.written += whole as u64;
        self.flushed = true;
        Ok(())
    }
}

impl WritableFile for DirectWriter {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.attempt("write", |blocks| blocks.append(bytes))
    }

    fn flush(&mut self) -> Result<()> {
        self.attempt("write", Blocks::flush)
    }

    fn sync(&mut self) -> Result<()> {
        self.flush()?;
        // The device may have a cache of its own, and the length is not there yet.
        self.attempt("sync", |blocks| blocks.file.sync_data())
    }

    fn offset(&self) -> u64 {
        self.blocks.written + self.blocks.filled as u64
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::super::direct::tests::{counts_fetches, fetched};
    use super::super::{DiskFile, DiskWriter};
    use super::*;
    use crate::error::ErrorKind;
    use crate::io::{RandomAccessFile as _, SplitMix64};

    /// Nothing if there are no direct writes here.
    fn writer(path: &Path) -> Option<DirectWriter> {
        match DirectWriter::create(path) {
            Ok(writer) => Some(writer),
            Err(error) if error.kind() == ErrorKind::NotSupported => None,
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn after_every_flush_the_file_has_what_was_appended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let Some(mut writer) = writer(&path) else { return };
        let mut random = SplitMix64::new(7);
        let mut expected = Vec::new();
        let lengths = [0, 1, 100, 4095, 4096, 5000, 70_000, BUFFER_BYTES, 2 * BUFFER_BYTES + 9];
        for step in 0..60 {
            let length = lengths[random.below(lengths.len() as u64) as usize];
            let bytes: Vec<u8> = (0..length).map(|at| (at % 253 + step) as u8).collect();
            writer.append(&bytes).unwrap();
            expected.extend(bytes);
            assert_eq!(writer.offset(), expected.len() as u64);
            match random.below(3) {
                0 => writer.flush().unwrap(),
                1 => writer.sync().unwrap(),
                _ => continue,
            }
            assert!(fs::read(&path).unwrap() == expected, "step {step}");
        }
    }

    #[test]
    fn a_file_that_exists_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "mine").unwrap();
        let error = DirectWriter::create(&path).unwrap_err();
        assert!(error.is_already_there() || error.kind() == ErrorKind::NotSupported, "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }

    #[test]
    fn what_is_written_is_not_in_the_system_s_cache() {
        let dir = tempfile::tempdir().unwrap();
        let (direct, plain) = (dir.path().join("direct"), dir.path().join("plain"));
        let Some(mut writer) = writer(&direct).filter(|_| counts_fetches(dir.path())) else {
            return;
        };
        let bytes = vec![5; 256 * 1024];
        let fetched_for = |path: &Path| {
            let before = fetched();
            DiskFile::open(path).unwrap().read_exact_at(0, &mut vec![0; bytes.len()]).unwrap();
            fetched() - before
        };
        writer.append(&bytes).unwrap();
        writer.sync().unwrap();
        assert!(fetched_for(&direct) >= bytes.len() as u64);
        let mut writer = DiskWriter::create(&plain).unwrap();
        writer.append(&bytes).unwrap();
        writer.sync().unwrap();
        assert_eq!(fetched_for(&plain), 0);
    }
}
