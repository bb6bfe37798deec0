use std::time::Duration;

use partita::filter::FilterPolicy;
use partita::options::{ColumnFamilyOptions, DbOptions, FilterLayout, IndexType, TableOptions};
use partita::util::checksum::ChecksumType;
use partita::util::compression::CompressionType;

/// How the index and the filter of a new table are laid out. Tables of both kinds are read side by side, at the same speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableLayout {
    /// One index block and one filter a table, as a bookie has them.
    Full,
    /// Pieces of 4 KiB of both, with a small index over them.
    #[default]
    Partitioned,
}

impl TableLayout {
    /// Has tables written in this layout.
    pub fn apply(self, table: &mut TableOptions) {
        (table.index_type, table.filter_layout) = match self {
            Self::Full => (IndexType::BinarySearch, FilterLayout::Full),
            Self::Partitioned => (IndexType::TwoLevel, FilterLayout::Partitioned),
        };
    }
}

/// How an index is kept: what a bookie's settings come to.
///
/// [`SettingsReport`](crate::SettingsReport) makes them of a bookie's configuration files.
///
/// ```
/// use partita_ledger::{IndexOptions, TableLayout};
///
/// let mut options = IndexOptions::new(256 << 20);
/// assert_eq!(options.family.table.block_size, 64 << 10);
/// TableLayout::Full.apply(&mut options.family.table);
/// options.family.validate()?;
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct IndexOptions {
    /// Bytes of memory for blocks, pieces of index and filter, and memtables, if the builder is given no cache. Memtables
    /// have half of it at most, and are flushed sooner than their own size says if that is less.
    pub cache_bytes: usize,
    /// Options of the database.
    pub db: DbOptions,
    /// Options of its one column family.
    pub family: ColumnFamilyOptions,
    /// Changes at which a batch is written by itself; at least 1. BookKeeper's
    /// `maxOperationNumbersInSingleRocksdbWriteBatch`, 100,000.
    pub batch_operations_max: usize,
    /// Between two compactions of the whole index that a thread of the index starts, and up to as much again by chance;
    /// `None`: only by hand. BookKeeper's `entryLocationCompactionInterval`.
    pub compaction_interval: Option<Duration>,
}

impl IndexOptions {
    /// Changes at which a batch is written by itself, by default.
    pub const BATCH_OPERATIONS_MAX: usize = 100_000;

    /// What a bookie has where its configuration says nothing, with partitioned tables.
    ///
    /// LZ4, blocks of 64 KiB, a Bloom filter of 10 bits a key, format version 5, checksums `kxxHash`; four write buffers of
    /// 64 MiB, tables of 64 MiB, 256 MiB on the first level; 32 background jobs, 512 MiB of logs.
    pub fn new(cache_bytes: usize) -> Self {
        let db = DbOptions {
            create_if_missing: true,
            max_background_jobs: 32,
            max_total_wal_size: 512 << 20,
            delete_obsolete_files_period_micros: 3_600_000_000,
            ..DbOptions::default()
        };
        let table = TableOptions {
            block_size: 64 << 10,
            format_version: 5,
            checksum: ChecksumType::XxHash,
            filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 10.0 }),
            ..TableOptions::with_compression(CompressionType::Lz4)
        };
        let family = ColumnFamilyOptions {
            write_buffer_size: 64 << 20,
            max_write_buffer_number: 4,
            level0_file_num_compaction_trigger: 4,
            max_bytes_for_level_base: 256 << 20,
            target_file_size_base: 64 << 20,
            level_compaction_dynamic_level_bytes: true,
            bottommost_compression: None,
            table,
            ..ColumnFamilyOptions::default()
        };
        Self {
            cache_bytes,
            db,
            family,
            batch_operations_max: Self::BATCH_OPERATIONS_MAX,
            compaction_interval: None,
        }
    }
}
