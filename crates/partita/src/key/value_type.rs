use std::fmt;

/// What an internal key stands for. The numbers are RocksDB's on-disk codes.
///
/// Codes that only occur in a WAL (column family forms, prepare and commit marks) belong to the write batch and are
/// not listed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ValueType {
    /// The key is absent from here on.
    Deletion = 0x00,
    /// The key has this value.
    Value = 0x01,
    /// An operand that the merge operator applies to what is older.
    Merge = 0x02,
    /// Cancels exactly one older [`ValueType::Value`].
    SingleDeletion = 0x07,
    /// A range of keys is absent; only in range deletion blocks and file boundaries.
    RangeDeletion = 0x0F,
    /// The value is a reference into a blob file.
    BlobIndex = 0x11,
    /// A deletion under a comparator with user-defined timestamps.
    DeletionWithTimestamp = 0x14,
    /// A value made of named columns (since RocksDB 7.9).
    WideColumnEntity = 0x16,
    /// A value followed by the sequence number the writer prefers (since RocksDB 9).
    ValuePreferredSeqno = 0x18,
}

impl ValueType {
    /// The greatest code, which sorts first among equal keys and sequence numbers: the type for seeks.
    pub const FOR_SEEK: Self = Self::ValuePreferredSeqno;

    /// The type that `code` stands for on disk, or `None` for a code unknown in SST files.
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0x00 => Self::Deletion,
            0x01 => Self::Value,
            0x02 => Self::Merge,
            0x07 => Self::SingleDeletion,
            0x0F => Self::RangeDeletion,
            0x11 => Self::BlobIndex,
            0x14 => Self::DeletionWithTimestamp,
            0x16 => Self::WideColumnEntity,
            0x18 => Self::ValuePreferredSeqno,
            _ => return None,
        })
    }

    /// The on-disk code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Whether an entry of this type may stand in a data block.
    pub const fn is_point(self) -> bool {
        !matches!(self, Self::RangeDeletion)
    }

    /// Whether an entry of this type says that the key is absent.
    pub const fn is_deletion(self) -> bool {
        matches!(self, Self::Deletion | Self::SingleDeletion | Self::DeletionWithTimestamp)
    }

    /// The type's name in output for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deletion => "delete",
            Self::Value => "put",
            Self::Merge => "merge",
            Self::SingleDeletion => "single-delete",
            Self::RangeDeletion => "range-delete",
            Self::BlobIndex => "blob-index",
            Self::DeletionWithTimestamp => "delete-with-timestamp",
            Self::WideColumnEntity => "entity",
            Self::ValuePreferredSeqno => "timed-put",
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
