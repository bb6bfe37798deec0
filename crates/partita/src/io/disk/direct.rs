//! A file whose reads go past the system's cache of files (`O_DIRECT`).
//!
//! ```text
//! file    |.......|.......|.......|.......|.......|     blocks of 4 KiB
//! asked               [==========]
//! read            [.......|.......|.......]             whole blocks, into a buffer at an address that is a multiple, too
//! ```
//!
//! 1. Offset, length and address of every read are multiples of [`BLOCK_BYTES`], whatever was asked: devices want that of
//!    their own block size, which is 512 bytes or this.
//! 2. A thread keeps its buffer for the next read, of [`KEPT_BYTES`] at most, so that usual reads allocate nothing. Longer
//!    ones, of whole filters and of compactions, have one of their own: what they wait for the device hides it.
//! 3. The last block of a file is short, and so is the read of it.

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::file::{open_regular, read_error};
use crate::error::{Error, ErrorKind, Result};
use crate::io::RandomAccessFile;

/// What everything about a read is a multiple of.
pub(super) const BLOCK_BYTES: usize = 4096;
/// The longest buffer that a thread keeps: data blocks, and what an iterator reads ahead.
const KEPT_BYTES: usize = 256 * 1024;

thread_local! {
    static KEPT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A file on disk, read past the system's cache.
#[derive(Debug)]
pub(super) struct DirectFile {
    file: File,
    len: u64,
    path: PathBuf,
}

impl DirectFile {
    /// Opens the file for reading.
    ///
    /// * Errors: `NotSupported` if the file system or the platform has no such reads.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let (file, len) =
            open_regular(path, &direct(path)?).map_err(|error| refusal(error, path))?;
        Ok(Self { file, len, path: path.to_owned() })
    }
}

/// How a file is opened to be read so.
#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "other platforms refuse")]
pub(super) fn direct(_: &Path) -> Result<OpenOptions> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(nix::libc::O_DIRECT);
    Ok(options)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn direct(path: &Path) -> Result<OpenOptions> {
    Err(Error::not_supported("direct I/O on this platform").in_file(path))
}

/// A file system without direct I/O says so when a file is opened or, some of them, when it is read or written.
pub(super) fn refusal(error: Error, path: &Path) -> Error {
    let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref());
    let refused = source.is_some_and(|source: &io::Error| {
        matches!(source.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
    });
    match refused {
        true => Error::new(ErrorKind::NotSupported, "direct I/O: the file system has none")
            .with_source(error)
            .in_file(path),
        false => error,
    }
}

impl RandomAccessFile for DirectFile {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let wanted = Wanted::new(offset, buf.len());
        let mut read = |buffer: &mut Vec<u8>| wanted.read(&self.file, buffer, buf);
        let outcome = match wanted.buffer_len() <= KEPT_BYTES {
            true => KEPT.with_borrow_mut(read),
            false => read(&mut Vec::new()),
        };
        outcome.map_err(|source| {
            let error = read_error(source, offset, wanted.end - wanted.start);
            refusal(error.in_file(&self.path), &self.path)
        })
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// The first `len` bytes of `buffer` from an aligned address on; so it is that much longer, a block less one byte.
pub(super) fn aligned(buffer: &mut [u8], len: usize) -> &mut [u8] {
    let unaligned = buffer.as_ptr().addr().wrapping_neg() % BLOCK_BYTES;
    &mut buffer[unaligned..][..len]
}

/// What is asked for, in whole blocks.
#[derive(Clone, Copy)]
struct Wanted {
    /// Of the first block.
    offset: u64,
    /// Where what is asked for begins and ends, from there.
    start: usize,
    end: usize,
}

impl Wanted {
    fn new(offset: u64, len: usize) -> Self {
        let start = (offset % BLOCK_BYTES as u64) as usize;
        Self { offset: offset - start as u64, start, end: start + len }
    }

    fn blocks_len(self) -> usize {
        self.end.next_multiple_of(BLOCK_BYTES)
    }

    /// Somewhere in so many bytes there is an address that will do.
    fn buffer_len(self) -> usize {
        self.blocks_len() + BLOCK_BYTES - 1
    }

    /// Reads the blocks into `buffer`, which grows as needed, and copies what is asked for.
    fn read(self, file: &File, buffer: &mut Vec<u8>, asked: &mut [u8]) -> io::Result<()> {
        if asked.is_empty() {
            return Ok(());
        }
        if buffer.len() < self.buffer_len() {
            buffer.resize(self.buffer_len(), 0);
        }
        let blocks = aligned(buffer, self.blocks_len());
        let mut filled = 0;
        while filled < self.end {
            match file.read_at(&mut blocks[filled..], self.offset + filled as u64) {
                Ok(count) if filled + count >= self.end => break,
                Ok(count) if count > 0 && count.is_multiple_of(BLOCK_BYTES) => filled += count,
                // Nothing, or less than a block: this is the end of the file.
                Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        asked.copy_from_slice(&blocks[self.start..self.end]);
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
pub(super) mod tests {
    use std::fs;

    use nix::sys::statfs::{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, statfs};

    use super::*;
    use crate::io::DiskFile;

    const FILE_BYTES: usize = 70 * BLOCK_BYTES + 100;

    /// A file whose bytes differ from block to block; nothing if its file system has no direct reads.
    fn file() -> Option<(tempfile::TempDir, Vec<u8>, DirectFile)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes: Vec<u8> = (0..FILE_BYTES).map(|at| (at % 251) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        match DirectFile::open(&path) {
            Ok(file) => Some((dir, bytes, file)),
            Err(error) if error.kind() == ErrorKind::NotSupported => None,
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn bytes_are_those_of_the_file_wherever_they_begin_and_end() {
        let Some((_dir, bytes, file)) = file() else { return };
        assert_eq!(file.len(), FILE_BYTES as u64);
        let edges = [0, 1, 511, 4095, 4096, 4097, 8192, 12_345, 64 * 4096, FILE_BYTES - 1];
        for start in edges {
            for len in [0, 1, 4095, 4096, 4097, 20_000, 63 * 4096, 65 * 4096, FILE_BYTES] {
                let Some(expected) = bytes.get(start..start + len) else { continue };
                let mut read = vec![0xee; len];
                file.read_exact_at(start as u64, &mut read).unwrap();
                assert!(read == expected, "{len} bytes at {start}");
            }
        }
        let mut rest = [0; 100];
        file.read_exact_at(70 * 4096, &mut rest).unwrap();
        assert_eq!(rest, bytes[70 * 4096..], "the last block is short");
    }

    #[test]
    fn what_the_file_does_not_have_is_told_as_by_any_file() {
        let Some((dir, _, file)) = file() else { return };
        let plain = DiskFile::open(dir.path().join("file")).unwrap();
        for (offset, len) in
            [(FILE_BYTES as u64, 1), (70 * 4096, 101), (0, FILE_BYTES + 1), (1 << 40, 5)]
        {
            let mut buf = vec![0; len];
            let error = file.read_exact_at(offset, &mut buf).unwrap_err();
            let expected = plain.read_exact_at(offset, &mut buf).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption);
            assert_eq!(error.to_string(), expected.to_string());
        }
    }

    #[test]
    fn a_file_system_without_direct_reads_is_refused_by_name() {
        let error = DirectFile::open(Path::new("/proc/self/status")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
        let told = "not supported: /proc/self/status: direct I/O: the file system has none";
        assert_eq!(error.to_string(), told);
        let missing = DirectFile::open(Path::new("/proc/self/missing")).unwrap_err();
        assert!(missing.is_not_found(), "{missing}");
    }

    #[test]
    fn a_thread_keeps_its_buffer_unless_it_is_long() {
        let Some((_dir, _, file)) = file() else { return };
        let kept = || KEPT.with_borrow(|kept| (kept.as_ptr().addr(), kept.len()));
        file.read_exact_at(5, &mut [0; 60_000]).unwrap();
        let after_first = kept();
        assert!(after_first.1 >= 60_000);
        file.read_exact_at(4096, &mut [0; 60_000]).unwrap();
        file.read_exact_at(0, &mut vec![0; KEPT_BYTES]).unwrap();
        assert_eq!(kept(), after_first);
    }

    /// Whether [`fetched`] says what there is to know of files in a directory. Some file systems have no device, or do not
    /// count what they fetch.
    pub(crate) fn counts_fetches(dir: &Path) -> bool {
        let kind = statfs(dir).unwrap().filesystem_type();
        [EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC].contains(&kind)
            && Path::new("/proc/thread-self/io").exists()
    }

    /// Bytes that this thread has had fetched from devices.
    pub(crate) fn fetched() -> u64 {
        let text = fs::read_to_string("/proc/thread-self/io").unwrap();
        text.lines().find_map(|line| line.strip_prefix("read_bytes: ")).unwrap().parse().unwrap()
    }

    #[test]
    fn every_read_goes_to_the_device() {
        let Some((dir, _, file)) = file() else { return };
        if !counts_fetches(dir.path()) {
            return;
        }
        let plain = DiskFile::open(dir.path().join("file")).unwrap();
        plain.read_exact_at(0, &mut vec![0; FILE_BYTES]).unwrap();
        let before = fetched();
        for _ in 0..10 {
            plain.read_exact_at(4000, &mut [0; 100]).unwrap();
        }
        assert_eq!(fetched() - before, 0, "from the system's cache");
        for _ in 0..10 {
            file.read_exact_at(4000, &mut [0; 100]).unwrap();
        }
        assert_eq!(fetched() - before, 10 * 2 * 4096, "two blocks each time, cached or not");
    }
}
