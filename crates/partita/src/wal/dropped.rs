use std::fmt;
use std::path::PathBuf;

use crate::error::Error;
use crate::util::checksum::ChecksumType;

/// Bytes of a log that were not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The log.
    pub file: PathBuf,
    /// Where the bytes start.
    pub offset: u64,
    /// How many there are. Where a reader stopped there may be more behind them, which it did not read.
    pub bytes: u64,
    /// Why they were not used.
    pub reason: DropReason,
}

/// Why bytes of a log were not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DropReason {
    /// The file ends within a header.
    TruncatedHeader,
    /// The file ends within a fragment.
    TruncatedBody,
    /// A fragment claims to go beyond its block.
    BadLength,
    /// The file seems to end within a fragment all of which is there, but for a turned bit in its length or its type.
    TurnedHeader,
    /// The checksum is wrong.
    ChecksumMismatch {
        /// What stands in the header.
        stored: u32,
        /// What it would have to be.
        computed: u32,
    },
    /// The start of a record whose end is missing: the file ends, another record starts, or damage is between.
    MissingEnd,
    /// The middle or end of a record whose start is missing.
    MissingStart,
    /// Left by an earlier life of a recycled file.
    OldRecord {
        /// The lower half of the number of the log of which it was a record, if its header says so.
        log_number: Option<u32>,
    },
    /// A fragment of a recyclable file in one that is not.
    NotRecycled,
    /// A type that is not known and not said to be ignorable.
    UnknownType(u8),
    /// A type that is not known but may be passed over.
    IgnoredType(u8),
    /// The record cannot be decompressed.
    Compression(&'static str),
    /// A record about the log itself does not say what it should.
    SpecialRecord(&'static str),
    /// The record was read, but its contents were refused.
    Contents(String),
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TruncatedHeader => f.write_str("the file ends within a header"),
            Self::TruncatedBody => f.write_str("the file ends within a record"),
            Self::BadLength => f.write_str("a record goes beyond its block"),
            Self::TurnedHeader => {
                f.write_str("a bit is turned in the length or type of a record that is there")
            }
            Self::ChecksumMismatch { stored, computed } => {
                f.write_str(ChecksumType::Crc32c.mismatch(*stored, *computed).message())
            }
            Self::MissingEnd => f.write_str("the end of a record is missing"),
            Self::MissingStart => f.write_str("the start of a record is missing"),
            Self::OldRecord { log_number: Some(number) } => {
                write!(f, "left by log number {number} when the file was recycled")
            }
            Self::OldRecord { log_number: None } => {
                f.write_str("left by another log when the file was recycled")
            }
            Self::NotRecycled => f.write_str("a recyclable record in a file that is not recycled"),
            Self::UnknownType(code) => write!(f, "unknown record type {code}"),
            Self::IgnoredType(code) => write!(f, "unknown record type {code}, may be ignored"),
            Self::Compression(what) => write!(f, "decompression: {what}"),
            Self::SpecialRecord(what) => f.write_str(what),
            Self::Contents(what) => f.write_str(what),
        }
    }
}

impl Dropped {
    /// As an error, where it is one.
    pub(super) fn error(&self) -> Error {
        Error::corruption(self.reason.to_string())
            .in_part("log record")
            .at(self.offset)
            .with_len(self.bytes)
            .in_file(&self.file)
    }
}
