//! The numbers of fields, as RocksDB gave them out.

/// Fields of an edit.
pub(super) mod edit {
    pub(crate) const COMPARATOR: u32 = 1;
    pub(crate) const LOG_NUMBER: u32 = 2;
    pub(crate) const NEXT_FILE_NUMBER: u32 = 3;
    pub(crate) const LAST_SEQUENCE: u32 = 4;
    pub(crate) const COMPACT_CURSOR: u32 = 5;
    pub(crate) const DELETED_FILE: u32 = 6;
    /// LevelDB's: without sequence numbers.
    pub(crate) const NEW_FILE_1: u32 = 7;
    pub(crate) const PREV_LOG_NUMBER: u32 = 9;
    pub(crate) const MIN_LOG_NUMBER_TO_KEEP: u32 = 10;
    /// With sequence numbers.
    pub(crate) const NEW_FILE_2: u32 = 100;
    /// With a path id.
    pub(crate) const NEW_FILE_3: u32 = 102;
    /// With custom fields; the only one written since RocksDB 5.
    pub(crate) const NEW_FILE_4: u32 = 103;
    pub(crate) const FAMILY: u32 = 200;
    pub(crate) const FAMILY_ADD: u32 = 201;
    pub(crate) const FAMILY_DROP: u32 = 202;
    pub(crate) const MAX_FAMILY: u32 = 203;
    pub(crate) const ATOMIC_GROUP: u32 = 300;
    pub(crate) const BLOB_FILE_ADDITION: u32 = 400;
    pub(crate) const BLOB_FILE_GARBAGE: u32 = 401;

    /// A field with this bit starts with its length and may be skipped, but for the two obsolete forms below.
    pub(crate) const MAY_BE_SKIPPED: u32 = 1 << 13;
    pub(crate) const DB_ID: u32 = 8193;
    pub(crate) const BLOB_FILE_ADDITION_OBSOLETE: u32 = 8194;
    pub(crate) const BLOB_FILE_GARBAGE_OBSOLETE: u32 = 8195;
    /// Has no length before it, in spite of its bit.
    pub(crate) const WAL_ADDITION_OBSOLETE: u32 = 8196;
    /// Has no length before it, in spite of its bit.
    pub(crate) const WAL_DELETION_OBSOLETE: u32 = 8197;
    pub(crate) const FULL_HISTORY_TS_LOW: u32 = 8198;
    pub(crate) const WAL_ADDITION: u32 = 8199;
    pub(crate) const WAL_DELETION: u32 = 8200;
    pub(crate) const PERSIST_USER_DEFINED_TIMESTAMPS: u32 = 8201;
    pub(crate) const SUBCOMPACTION_PROGRESS: u32 = 8202;
    pub(crate) const LAST_COMPACTED_MANIFEST_BYTES: u32 = 8203;
}

/// Custom fields of a table.
pub(super) mod file {
    pub(crate) const END: u32 = 1;
    pub(crate) const NEED_COMPACTION: u32 = 2;
    /// The edit's, hidden in its first table so that old versions skip it.
    pub(crate) const MIN_LOG_NUMBER_TO_KEEP: u32 = 3;
    pub(crate) const OLDEST_BLOB_FILE: u32 = 4;
    pub(crate) const OLDEST_ANCESTOR_TIME: u32 = 5;
    pub(crate) const CREATION_TIME: u32 = 6;
    pub(crate) const CHECKSUM: u32 = 7;
    pub(crate) const CHECKSUM_FUNCTION: u32 = 8;
    pub(crate) const TEMPERATURE: u32 = 9;
    pub(crate) const MIN_TIMESTAMP: u32 = 10;
    pub(crate) const MAX_TIMESTAMP: u32 = 11;
    pub(crate) const UNIQUE_ID: u32 = 12;
    pub(crate) const EPOCH_NUMBER: u32 = 13;
    pub(crate) const COMPENSATED_RANGE_DELETION_BYTES: u32 = 14;
    pub(crate) const TAIL_BYTES: u32 = 15;
    pub(crate) const USER_DEFINED_TIMESTAMPS_PERSISTED: u32 = 16;
    pub(crate) const OPEN_METADATA: u32 = 17;
    /// Whoever does not know a field with this bit must not open the database.
    pub(crate) const MUST_BE_KNOWN: u32 = 1 << 6;
    pub(crate) const PATH_ID: u32 = 65;
}

/// Custom fields of a blob file.
pub(super) mod blob {
    pub(crate) const END: u32 = 0;
    /// Whoever does not know a field with this bit must not open the database.
    pub(crate) const MUST_BE_KNOWN: u32 = 1 << 6;
}

/// Fields of a log's addition.
pub(super) mod wal {
    pub(crate) const END: u32 = 1;
    pub(crate) const SYNCED_BYTES: u32 = 2;
}
