use std::ops::Range;
use std::path::Path;

use super::dropped::DropReason;
use super::format::{
    BLOCK_BYTES, CHECKED_FROM, FragmentType, HEADER_BYTES, RECYCLABLE_HEADER_BYTES, checksum,
    is_turned,
};
use crate::error::Result;
use crate::io::SequentialFile;
use crate::util::coding::Cursor;

/// Reads a log block by block and finds the fragments in it.
#[derive(Debug)]
pub(super) struct Blocks {
    file: Box<dyn SequentialFile>,
    /// One block, or what the file has of the last one.
    block: Vec<u8>,
    /// Where `block` starts in the file.
    block_offset: u64,
    /// Bytes of `block` that have been seen.
    seen: usize,
    at_end: bool,
    log_number: Option<u32>,
    kind: FileKind,
}

/// Which headers a file has; the first fragment of a record decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Unknown,
    Fresh,
    Recyclable,
}

/// What stands at a place in the log.
#[derive(Debug)]
pub(super) enum Found {
    /// A fragment with a right checksum; its payload is that range of [`Blocks::block`].
    Fragment {
        kind: FragmentType,
        payload: Range<usize>,
    },
    /// Bytes that are no fragment; the next call goes on behind them.
    Damage {
        reason: DropReason,
        at_end: bool,
    },
    /// A record of the file's earlier life.
    Old {
        log_number: Option<u32>,
    },
    /// A file that was extended with zeros; the rest of the block is skipped.
    Zeros,
    End,
}

/// Something found, and where.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) found: Found,
}

impl Blocks {
    /// * `log_number`: of a file that may have been recycled.
    pub(super) fn new(file: Box<dyn SequentialFile>, log_number: Option<u32>) -> Self {
        Self {
            file,
            block: Vec::new(),
            block_offset: 0,
            seen: 0,
            at_end: false,
            log_number,
            kind: FileKind::Unknown,
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn block(&self) -> &[u8] {
        &self.block
    }

    /// Where the next fragment would start.
    pub(super) fn offset(&self) -> u64 {
        self.block_offset + self.seen as u64
    }

    pub(super) fn is_recyclable(&self) -> bool {
        self.kind == FileKind::Recyclable
    }

    /// What comes next.
    pub(super) fn next(&mut self) -> Result<Place> {
        loop {
            let needed = match self.rest().get(HEADER_BYTES - 1) {
                Some(&kind) => FragmentType(kind).header_bytes(),
                None => HEADER_BYTES,
            };
            if self.rest().len() >= needed {
                return Ok(self.fragment());
            }
            if self.at_end {
                return Ok(match self.rest().len() {
                    0 => Place { offset: self.offset(), bytes: 0, found: Found::End },
                    left => self.truncated(left, DropReason::TruncatedHeader),
                });
            }
            // What is left of a whole block is padding.
            self.fill()?;
        }
    }

    /// Whether everything behind what was seen is zero. Reads to the end of the file if so.
    pub(super) fn only_zeros_follow(&mut self) -> Result<bool> {
        loop {
            if self.rest().iter().any(|&byte| byte != 0) {
                return Ok(false);
            }
            self.seen = self.block.len();
            if self.at_end {
                return Ok(true);
            }
            self.fill()?;
        }
    }

    /// Goes on behind the file's end, which has moved. What was seen stays seen.
    pub(super) fn go_on(&mut self) -> Result<()> {
        if !self.at_end {
            return Ok(());
        }
        let had = self.block.len();
        self.block.resize(BLOCK_BYTES, 0);
        let read = self.file.read_full(&mut self.block[had..]);
        self.block.truncate(had + read.as_ref().map_or(0, |count| *count));
        self.at_end = read.is_err() || self.block.len() < BLOCK_BYTES;
        read.map(drop)
    }

    fn rest(&self) -> &[u8] {
        self.block.get(self.seen..).unwrap_or_default()
    }

    fn fill(&mut self) -> Result<()> {
        self.block_offset += self.block.len() as u64;
        self.seen = 0;
        self.block.resize(BLOCK_BYTES, 0);
        let count = self.file.read_full(&mut self.block).inspect_err(|_| self.at_end = true)?;
        self.block.truncate(count);
        self.at_end = count < BLOCK_BYTES;
        Ok(())
    }

    /// The fragment whose header, of whichever length, is there.
    fn fragment(&mut self) -> Place {
        let rest = self.rest();
        let mut cursor = Cursor::new(rest);
        let (Some(stored), Some(len), Some(kind)) =
            (cursor.fixed32(), cursor.bytes(2), cursor.byte())
        else {
            return self.damage(rest.len(), DropReason::TruncatedHeader);
        };
        let kind = FragmentType(kind);
        let len = usize::from(len[0]) | usize::from(len[1]) << 8;
        let end = kind.header_bytes() + len;
        if let Some((bytes, found)) = self.other_life(kind, cursor.fixed32(), end) {
            return self.take(bytes, found);
        }
        if end > rest.len() {
            let left = rest.len();
            return match self.at_end {
                true => self.truncated(left, DropReason::TruncatedBody),
                false => self.damage(left, DropReason::BadLength),
            };
        }
        if kind == FragmentType::ZERO && len == 0 && stored == 0 {
            return self.take(rest.len(), Found::Zeros);
        }
        let computed = checksum(&rest[CHECKED_FROM..end]);
        if stored != computed {
            // The length may be what is wrong, so what seems to follow may be the inside of a record.
            return self.damage(rest.len(), DropReason::ChecksumMismatch { stored, computed });
        }
        if self.kind == FileKind::Unknown && !matches!(kind, FragmentType::SET_COMPRESSION) {
            self.kind = match kind.is_recyclable() {
                true => FileKind::Recyclable,
                false => FileKind::Fresh,
            };
        }
        let payload = self.seen + kind.header_bytes()..self.seen + end;
        self.take(end, Found::Fragment { kind, payload })
    }

    /// A fragment that is not of this log, if it is none. Looked at before anything else in it is believed.
    fn other_life(
        &self,
        kind: FragmentType,
        number: Option<u32>,
        end: usize,
    ) -> Option<(usize, Found)> {
        let left = self.rest().len();
        if kind.is_recyclable() && self.kind == FileKind::Fresh {
            let found = Found::Damage { reason: DropReason::NotRecycled, at_end: self.at_end };
            return Some((left, found));
        }
        let log_number = match kind.is_recyclable() {
            true if number == self.log_number => return None,
            true => number,
            // The records of this life have numbers. RocksDB never recycles a file without, others did.
            false if self.kind == FileKind::Recyclable && matches!(kind.0, 1..=4) => None,
            false => return None,
        };
        if self.kind == FileKind::Unknown && is_turned(self.rest()) {
            let found = Found::Damage { reason: DropReason::TurnedHeader, at_end: self.at_end };
            return Some((left, found));
        }
        Some((end.min(left), Found::Old { log_number }))
    }

    /// The file ends within a fragment, or seems to.
    fn truncated(&mut self, bytes: usize, reason: DropReason) -> Place {
        match is_turned(self.rest()) {
            true => self.damage(bytes, DropReason::TurnedHeader),
            false => self.damage(bytes, reason),
        }
    }

    fn damage(&mut self, bytes: usize, reason: DropReason) -> Place {
        let at_end = self.at_end;
        self.take(bytes, Found::Damage { reason, at_end })
    }

    fn take(&mut self, bytes: usize, found: Found) -> Place {
        let offset = self.offset();
        self.seen += bytes;
        Place { offset, bytes: bytes as u64, found }
    }
}

const _: () = assert!(RECYCLABLE_HEADER_BYTES < BLOCK_BYTES);
