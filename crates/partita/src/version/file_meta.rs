use super::FileNumber;
use super::edit::UnknownField;
use crate::error::Result;
use crate::key::{InternalKey, SeqNo, user_key};
use crate::table::TableProperties;

/// What the manifest says about a table.
///
/// Everything that stands there survives a rewrite of the manifest, what we do not interpret included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileMeta {
    /// Its number.
    pub number: FileNumber,
    /// Which of the database's directories it stands in; 0 is the first.
    pub path_id: u8,
    /// Its length in bytes.
    pub file_bytes: u64,
    /// The first internal key, of entries and range tombstones.
    pub smallest: Box<[u8]>,
    /// The last internal key. Where a range tombstone ends the table it is (end, [`SeqNo::MAX`], range deletion), which
    /// sorts before every entry of `end`: the range does not hold its end.
    pub largest: Box<[u8]>,
    /// The smallest sequence number.
    pub smallest_seqno: SeqNo,
    /// The greatest sequence number.
    pub largest_seqno: SeqNo,
    /// The order among the tables of level 0: greater is newer. 0 is unknown, as RocksDB before 7.10 leaves it.
    pub epoch: u64,
    /// Time of the oldest data, in seconds since 1970; 0 is unknown.
    pub oldest_ancestor_time: u64,
    /// When it was made, in seconds since 1970; 0 is unknown.
    pub creation_time: u64,
    /// Identity of the table, as its properties give it; `None` is not checked.
    pub unique_id: Option<[u8; 16]>,
    /// Bytes from its first meta block to its end; 0 is unknown.
    pub tail_bytes: u64,
    /// What its range tombstones are thought to delete, in bytes.
    pub compensated_range_deletion_bytes: u64,
    /// Whether it waits for a compaction.
    pub need_compaction: bool,
    /// RocksDB's code of the storage it belongs on; 0 is unknown.
    pub temperature: u8,
    /// Whether user-defined timestamps are in the file; only where the comparator has them.
    pub timestamps_persisted: bool,
    /// The oldest blob file that its entries refer to.
    pub oldest_blob_file: Option<FileNumber>,
    /// Fields that few files have.
    pub rare: Option<Box<RareFields>>,
    /// How many entries it has, from whoever wrote it. Not in the manifest: after that was read, the table's first use tells
    /// ([`TableFile::counts`](super::TableFile::counts)).
    pub counts: Option<TableCounts>,
}

/// How many entries a table has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCounts {
    /// All entries, range tombstones included.
    pub entries: u64,
    /// Deletions, single deletions and range tombstones.
    pub deletions: u64,
    /// Range tombstones.
    pub range_deletions: u64,
    /// Merge operands.
    pub merge_operands: u64,
}

impl TableCounts {
    /// What a table's properties say; `None` if they leave out entries or deletions.
    pub fn of_table(properties: &TableProperties) -> Option<Self> {
        Some(Self {
            entries: properties.num_entries?,
            deletions: properties.num_deletions?,
            range_deletions: properties.num_range_deletions.unwrap_or(0),
            merge_operands: properties.num_merge_operands.unwrap_or(0),
        })
    }
}

/// What the manifest says about few tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RareFields {
    /// Checksum of the whole file, and the name of its function. RocksDB 7.8 writes the name `Unknown` for none.
    pub checksum: Option<FileChecksum>,
    /// The smallest user-defined timestamp; empty is unknown.
    pub min_timestamp: Box<[u8]>,
    /// The greatest user-defined timestamp; empty is unknown.
    pub max_timestamp: Box<[u8]>,
    /// What RocksDB keeps to open the table faster.
    pub open_metadata: Box<[u8]>,
    /// Fields from later versions that may be skipped.
    pub unknown: Vec<UnknownField>,
}

/// A checksum over a whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChecksum {
    /// The function's name.
    pub function: Box<[u8]>,
    /// Its value.
    pub value: Box<[u8]>,
}

impl FileMeta {
    /// A table of which only the necessary is known.
    ///
    /// * `smallest`, `largest`: encoded internal keys.
    pub fn new(number: FileNumber, file_bytes: u64, smallest: &[u8], largest: &[u8]) -> Self {
        Self {
            number,
            file_bytes,
            smallest: smallest.into(),
            largest: largest.into(),
            timestamps_persisted: true,
            ..Self::default()
        }
    }

    /// The user key of the first internal key.
    #[inline]
    pub fn smallest_user_key(&self) -> &[u8] {
        user_key(&self.smallest)
    }

    /// The user key of the last internal key. A table need not have an entry of it.
    #[inline]
    pub fn largest_user_key(&self) -> &[u8] {
        user_key(&self.largest)
    }

    /// The rare fields, to be changed.
    pub(super) fn rare_mut(&mut self) -> &mut RareFields {
        self.rare.get_or_insert_default()
    }

    /// Whether both boundaries are internal keys; the decoder sees to it for what was read.
    pub(super) fn check_boundaries(&self) -> Result<()> {
        InternalKey::decode(&self.smallest)?;
        InternalKey::decode(&self.largest)?;
        Ok(())
    }
}
