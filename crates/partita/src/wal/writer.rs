use std::fmt;

use super::compression::{Compressor, ZSTD_CODE};
use super::format::{BLOCK_BYTES, CHECKED_FROM, FragmentType, HEADER_BYTES, Part, checksum};
use crate::error::{Error, ErrorKind, Result};
use crate::io::WritableFile;

/// Fragments gathered before they are handed on: a longer record takes several writes, so that it is not held twice.
const BUFFER_BYTES: usize = 1024 * 1024;

/// Most payload of a fragment in a compressed log.
///
/// RocksDB 7.8 takes a fragment whose payload lies where the one before it lay, in a buffer that holds a block, for the
/// same input again and leaves it out. That happens where a record fills whole blocks with one fragment each; with two or
/// more in a block no two in a row start at the same place.
const COMPRESSED_FRAGMENT_BYTES: usize = BLOCK_BYTES / 2;

/// How a log is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogWriterOptions {
    /// The number in the file's name, if the file may be recycled: it is written over an obsolete log, or may itself be
    /// written over later. Only such headers tell what belongs to which of the two.
    pub recyclable_as: Option<u64>,
    /// Compresses each record with ZSTD. RocksDB reads that since 7.2.
    pub compressed: bool,
}

/// Where a record was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where it starts in the file; zeros at the end of a block count to the record behind them.
    pub offset: u64,
    /// Bytes it takes, headers and zeros included.
    pub bytes: u64,
}

/// Appends records to a log.
///
/// * A record is handed to the file whole, with one write unless it is longer than a megabyte; [`LogWriter::flush`] and
///   [`LogWriter::sync`] say how far it has to get.
/// * After a failed call all later ones fail: a record behind a torn one would be lost to readers. Start another log.
/// * A file opened for appending goes on where it ends. It must end with a whole record: one that does not, from a crash,
///   would turn its harmless tail into damage.
pub struct LogWriter {
    file: Box<dyn WritableFile>,
    recyclable_as: Option<u32>,
    compressor: Option<Compressor>,
    /// Where the next fragment starts within its block.
    in_block: usize,
    buffer: Vec<u8>,
    failed: bool,
}

impl fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogWriter")
            .field("path", &self.file.path())
            .field("offset", &self.file.offset())
            .field("recyclable_as", &self.recyclable_as)
            .field("compressed", &self.compressor.is_some())
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

impl LogWriter {
    /// Writes to `file` from where it stands.
    ///
    /// * Errors: `InvalidArgument` if the log is to be compressed and the file has bytes already, for only the first record
    ///   can say so; `Io` if that record cannot be written.
    pub fn new(file: Box<dyn WritableFile>, options: &LogWriterOptions) -> Result<Self> {
        let at = file.offset();
        let mut writer = Self {
            file,
            recyclable_as: options.recyclable_as.map(|number| number as u32),
            compressor: None,
            in_block: (at % BLOCK_BYTES as u64) as usize,
            buffer: Vec::new(),
            failed: false,
        };
        if options.compressed {
            if at != 0 {
                let message = "a log is compressed from its first record on or not at all";
                return Err(Error::invalid_argument(message).in_file(writer.file.path()));
            }
            writer.put_fragment(FragmentType::SET_COMPRESSION, &ZSTD_CODE.to_le_bytes());
            writer.hand_on()?;
            writer.compressor = Some(Compressor::new()?);
        }
        Ok(writer)
    }

    /// Appends a record of these parts, one behind the other.
    pub fn add_record(&mut self, parts: &[&[u8]]) -> Result<Placed> {
        self.check()?;
        let start = self.file.offset();
        match self.compressor.take() {
            None => self.put_record(parts, BLOCK_BYTES)?,
            Some(mut compressor) => {
                let frame = compressor.compress(parts);
                let put =
                    frame.and_then(|frame| self.put_record(&[frame], COMPRESSED_FRAGMENT_BYTES));
                self.compressor = Some(compressor);
                put?;
            }
        }
        self.hand_on()?;
        Ok(Placed { offset: start, bytes: self.file.offset() - start })
    }

    /// Hands what was added to the operating system: it survives the process.
    pub fn flush(&mut self) -> Result<()> {
        self.check()?;
        self.file.flush().inspect_err(|_| self.failed = true)
    }

    /// Hands what was added to the device: it survives a power cut.
    pub fn sync(&mut self) -> Result<()> {
        self.check()?;
        // After a failed sync nobody knows what is on the device, and trying again would not tell.
        self.file.sync().inspect_err(|_| self.failed = true)
    }

    /// Ends the log: what a recycled file has left behind its last record is cut off, and all of it handed to the device.
    /// Records can still be added.
    pub fn finish(&mut self) -> Result<()> {
        self.check()?;
        if self.recyclable_as.is_some() {
            self.file.truncate_rest().inspect_err(|_| self.failed = true)?;
        }
        self.sync()
    }

    /// Bytes written so far, buffered ones included.
    pub fn offset(&self) -> u64 {
        self.file.offset()
    }

    fn check(&self) -> Result<()> {
        match self.failed {
            true => Err(Error::new(ErrorKind::Io, "an earlier write of this log failed")
                .in_file(self.file.path())),
            false => Ok(()),
        }
    }

    /// Cuts a record into fragments of at most so many bytes each.
    fn put_record(&mut self, parts: &[&[u8]], most: usize) -> Result<()> {
        let mut left: usize = parts.iter().map(|part| part.len()).sum();
        let mut parts = Parts { parts, at: 0 };
        let header_bytes =
            FragmentType::of_record(Part::Full, self.recyclable_as.is_some()).header_bytes();
        let mut first = true;
        // A record without bytes takes a fragment, too.
        while first || left > 0 {
            let mut room = BLOCK_BYTES - self.in_block;
            if room < header_bytes {
                self.buffer.resize(self.buffer.len() + room, 0);
                self.in_block = 0;
                room = BLOCK_BYTES;
            }
            let len = left.min(room - header_bytes).min(most);
            left -= len;
            let part = match (first, left == 0) {
                (true, true) => Part::Full,
                (true, false) => Part::First,
                (false, false) => Part::Middle,
                (false, true) => Part::Last,
            };
            let start =
                self.start_fragment(FragmentType::of_record(part, self.recyclable_as.is_some()));
            parts.take(len, &mut self.buffer);
            self.end_fragment(start);
            first = false;
            if self.buffer.len() >= BUFFER_BYTES {
                self.hand_on()?;
            }
        }
        Ok(())
    }

    /// A fragment that fits where it is put.
    fn put_fragment(&mut self, kind: FragmentType, payload: &[u8]) {
        let start = self.start_fragment(kind);
        self.buffer.extend_from_slice(payload);
        self.end_fragment(start);
    }

    /// Puts a header without checksum and length; returns where.
    fn start_fragment(&mut self, kind: FragmentType) -> usize {
        let start = self.buffer.len();
        self.buffer.resize(start + CHECKED_FROM, 0);
        self.buffer.push(kind.0);
        if kind.is_recyclable() {
            self.buffer.extend_from_slice(&self.recyclable_as.unwrap_or(0).to_le_bytes());
        }
        start
    }

    /// Fills in checksum and length, now that the payload stands behind the header.
    fn end_fragment(&mut self, start: usize) {
        let fragment = &mut self.buffer[start..];
        let header_bytes = FragmentType(fragment[HEADER_BYTES - 1]).header_bytes();
        let len = (fragment.len() - header_bytes) as u16;
        let crc = checksum(&fragment[CHECKED_FROM..]);
        fragment[..4].copy_from_slice(&crc.to_le_bytes());
        fragment[4..CHECKED_FROM].copy_from_slice(&len.to_le_bytes());
        self.in_block += fragment.len();
    }

    fn hand_on(&mut self) -> Result<()> {
        let outcome = self.file.append(&self.buffer);
        self.buffer.clear();
        outcome.inspect_err(|_| self.failed = true)
    }
}

/// The bytes of several slices, from front to back.
struct Parts<'a> {
    parts: &'a [&'a [u8]],
    /// Bytes of the first part that were taken.
    at: usize,
}

impl Parts<'_> {
    /// Appends the next `len` bytes to `out`.
    fn take(&mut self, mut len: usize, out: &mut Vec<u8>) {
        while len > 0 {
            let Some((&first, rest)) = self.parts.split_first() else { return };
            let available = &first[self.at..];
            let taken = available.len().min(len);
            out.extend_from_slice(&available[..taken]);
            len -= taken;
            self.at += taken;
            if self.at == first.len() {
                self.parts = rest;
                self.at = 0;
            }
        }
    }
}
