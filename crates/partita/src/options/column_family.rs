use super::choice::{CompactionPriority, CompactionStyle};
use super::parse::prefix_extractor;
use super::spec::{Effect, Kind, options};
use super::value::{ObjectName, OptionValue};
use super::{CompressionOptions, FifoOptions, TableOptions, UniversalOptions};
use crate::filter::FilterLevel;
use crate::key::{BYTEWISE_NAME, PrefixExtractor};
use crate::util::compression::CompressionType;

const FLUSH_NOW: Effect = Effect::Honoured("flush");
const PICKER: Effect = Effect::Honoured("compaction");
const STALL: Effect = Effect::Honoured("write stalls");
const TABLE: Effect = Effect::Honoured("table");

/// Nothing acts on it, for that reason.
const fn no(why: &'static str) -> Effect {
    Effect::NoEffect(why)
}

const BLOBS: Effect =
    no("values are written into tables; a database with blob files is refused by them");
const MEMTABLE: Effect = no("there is one kind of memtable, a skip list that grows as it needs");
const MEMTABLE_BLOOM: Effect = no("memtables have no filter: finding nothing in one is cheap");
const MEMTABLE_CHECKS: Effect = no("entries in memory carry no checksum");
const TEMPERATURE: Effect = no("files have no temperature here");
const OBJECT: Effect = Effect::RuntimeObject("registered by the caller under its name");
const BY_DENSITY: Effect = no("tables are picked for compaction by their share of tombstones");

options! {
    /// Options of a column family: RocksDB's `ColumnFamilyOptions`, with those of its tables in [`Self::table`].
    ///
    /// ```
    /// use partita::filter::FilterLevel;
    /// use partita::options::ColumnFamilyOptions;
    /// use partita::util::compression::CompressionType;
    ///
    /// let options = ColumnFamilyOptions::default();
    /// // ZSTD where data stays, LZ4 where it is soon written again.
    /// let kind = |level, bottommost| options.table_options(level, 1, bottommost).compression.kind;
    /// assert_eq!(kind(FilterLevel::Flush, false), CompressionType::Lz4);
    /// assert_eq!(kind(FilterLevel::Level(6), true), CompressionType::Zstd);
    /// ```
    pub struct ColumnFamilyOptions;
    fields {
        /// Bytes of a memtable at which it is flushed.
        write_buffer_size: usize = 64 << 20, rocksdb "67108864", in 1 to usize::MAX, since "6.2", FLUSH_NOW;
        /// Most memtables in memory, the one being written included; writes wait beyond.
        max_write_buffer_number: i32 = 2, rocksdb "2", in 1 to i32::MAX, since "6.2", FLUSH_NOW;
        /// Memtables that are merged into one table.
        min_write_buffer_number_to_merge: i32 = 1, rocksdb "1", in 1 to i32::MAX, since "6.2", FLUSH_NOW;
        /// How tables are merged over time.
        compaction_style: CompactionStyle = CompactionStyle::Level, rocksdb "kCompactionStyleLevel", since "6.2", PICKER;
        /// Which table of a level is compacted first; `kRoundRobin` is taken for `kMinOverlappingRatio`.
        compaction_pri: CompactionPriority = CompactionPriority::MinOverlappingRatio, rocksdb "kMinOverlappingRatio", since "6.2", PICKER;
        /// Whether compactions run by hand only.
        disable_auto_compactions: bool = false, rocksdb "false", since "6.2", PICKER;
        /// Levels, level 0 included.
        num_levels: i32 = 7, rocksdb "7", in 1 to 64, since "6.2", Effect::Honoured("version");
        /// Tables in level 0 that start a compaction.
        level0_file_num_compaction_trigger: i32 = 4, rocksdb "4", in 1 to i32::MAX, since "6.2", PICKER;
        /// Tables in level 0 above which writes are delayed.
        level0_slowdown_writes_trigger: i32 = 20, rocksdb "20", in 0 to i32::MAX, since "6.2", STALL;
        /// Tables in level 0 above which writes wait.
        level0_stop_writes_trigger: i32 = 36, rocksdb "36", in 1 to i32::MAX, since "6.2", STALL;
        /// Bytes that compactions owe above which writes are delayed; 0: no such limit.
        soft_pending_compaction_bytes_limit: u64 = 64 << 30, rocksdb "68719476736", since "6.2", STALL;
        /// Bytes that compactions owe above which writes wait; 0: no such limit.
        hard_pending_compaction_bytes_limit: u64 = 256 << 30, rocksdb "274877906944", since "6.2", STALL;
        /// Bytes of the first level below level 0.
        max_bytes_for_level_base: u64 = 256 << 20, rocksdb "268435456", in 1 to u64::MAX, since "6.2", PICKER;
        /// How much larger each level is than the one above.
        max_bytes_for_level_multiplier: f64 = 10.0, rocksdb "10.000000", since "6.2", PICKER;
        /// A further factor for each level.
        max_bytes_for_level_multiplier_additional: Vec<i32> = vec![1; 7], rocksdb "1:1:1:1:1:1:1", since "6.2", PICKER;
        /// Whether the sizes of levels follow that of the last, so that nine tenths of the data lie there.
        level_compaction_dynamic_level_bytes: bool = true, rocksdb "true", since "6.2", PICKER;
        /// Bytes of a table in the first level below level 0.
        target_file_size_base: u64 = 64 << 20, rocksdb "67108864", in 1 to u64::MAX, since "6.2", PICKER;
        /// How much larger a table is than one of the level above.
        target_file_size_multiplier: i32 = 1, rocksdb "1", in 1 to i32::MAX, since "6.2", PICKER;
        /// Most bytes of one compaction; 0 asks for 25 times `target_file_size_base`.
        max_compaction_bytes: u64 = 25 * (64 << 20), rocksdb "1677721600", since "6.2", PICKER;
        /// Seconds after which data is compacted, so that what is deleted goes; 0: never. FIFO drops tables by it.
        ttl: u64 = 2_592_000, rocksdb "2592000", since "6.2", PICKER;
        /// Seconds after which a table is written again; 0: never.
        periodic_compaction_seconds: u64 = 0, rocksdb "0", since "6.2", PICKER;
        /// Universal compaction.
        compaction_options_universal: UniversalOptions = UniversalOptions::default(),
            rocksdb "{size_ratio=1;min_merge_width=2;max_merge_width=4294967295;max_size_amplification_percent=200;compression_size_percent=-1;stop_style=kCompactionStopStyleTotalSize;allow_trivial_move=false;incremental=false;}",
            since "6.2", PICKER;
        /// FIFO compaction.
        compaction_options_fifo: FifoOptions = FifoOptions::default(),
            rocksdb "{max_table_files_size=1073741824;allow_compaction=false;age_for_warm=0;}", since "6.2", PICKER;
        /// Compression of the last level with data; `None`: as the levels above.
        bottommost_compression: Option<CompressionType> = Some(CompressionType::Zstd), rocksdb "kDisableCompressionOption"
            because "most data lies there, and stays", since "6.2", PICKER;
        /// Compression of each level, instead of `compression`; empty: none of its own. The last counts for all below.
        compression_per_level: Vec<CompressionType> = Vec::new(), rocksdb "", since "6.2", PICKER;
        /// Whether tables of the last level get no filter, because what is looked for is there.
        optimize_filters_for_hits: bool = false, rocksdb "false", since "6.2", PICKER;
        /// Whether changes of the file layout are checked for consistency.
        force_consistency_checks: bool = true, rocksdb "true", since "6.2", no("changes of the file layout are always checked");
        /// Whether a table is read back after it was written.
        paranoid_file_checks: bool = false, rocksdb "false", since "6.2", PICKER;
        /// Whether the last level is kept free for files that are ingested behind all others: `allow_ingest_behind` of this
        /// column family alone.
        cf_allow_ingest_behind: bool = false, rocksdb "false", since "11.8", Effect::Honoured("ingestion, compaction picker");
        /// Versions of one key that an iterator steps over before it seeks.
        max_sequential_skip_in_iterations: u64 = 8, rocksdb "8", since "6.2", no("an iterator seeks where a step would cost more");
        /// The name of the order of keys.
        comparator: ObjectName = ObjectName::new(BYTEWISE_NAME), rocksdb "leveldb.BytewiseComparator", since "6.2",
            Effect::RuntimeObject("bytewise and reverse bytewise are built in, others registered by the caller under their name");
        /// The name of the merge operator.
        merge_operator: ObjectName = ObjectName::default(), rocksdb "nullptr", since "6.2",
            Effect::RuntimeObject("string append and 64-bit addition are built in, others registered by the caller under their name");
        /// The name of the compaction filter.
        compaction_filter: ObjectName = ObjectName::default(), rocksdb "nullptr", since "6.2", OBJECT;
        /// The name of what makes compaction filters.
        compaction_filter_factory: ObjectName = ObjectName::default(), rocksdb "nullptr", since "6.2", OBJECT;
    }
    beside {
        /// Options of tables, with those of the column family that shape a file: `compression`, `compression_opts` and
        /// `prefix_extractor`.
        table: TableOptions = TableOptions::default();
        /// Level and dictionary of `bottommost_compression`, RocksDB's `bottommost_compression_opts`; `None`: those of
        /// `compression_opts`. The kind in it means nothing.
        bottommost_compression_opts: Option<CompressionOptions> = None;
    }
    rows {
        /// Compression of blocks.
        "compression": Kind::Compression, rocksdb "kLZ4Compression", since "6.2", TABLE,
            set |family, given| family.table.compression.kind.assign(given),
            get |family| family.table.compression.kind.print();
        /// Level and dictionary of the compression.
        "compression_opts": Kind::Group("level; max_dict_bytes; …"),
            rocksdb "{level=32767;max_dict_bytes=0;zstd_max_train_bytes=0;max_dict_buffer_bytes=0;enabled=false;window_bits=-14;strategy=0;parallel_threads=1;use_zstd_dict_trainer=true;}",
            since "6.11", TABLE,
            set |family, given| family.table.compression.assign(given),
            get |family| family.table.compression.print();
        /// Level and dictionary of `bottommost_compression`; they count if `enabled=true` stands among them.
        "bottommost_compression_opts": Kind::Group("level; max_dict_bytes; …; enabled"),
            rocksdb "{level=32767;max_dict_bytes=0;zstd_max_train_bytes=0;max_dict_buffer_bytes=0;enabled=false;window_bits=-14;strategy=0;parallel_threads=1;use_zstd_dict_trainer=true;}",
            since "6.11", PICKER,
            set |family, given| {
                let mut options = CompressionOptions::default();
                options.assign(given)?;
                family.bottommost_compression_opts = options.is_enabled().then_some(options);
                Ok(())
            },
            get |family| family.bottommost_compression_opts.as_ref().unwrap_or(&CompressionOptions::default()).print();
        /// What takes the prefix out of a key, for filters and the hash index.
        "prefix_extractor": Kind::Object, rocksdb "nullptr", since "6.2", TABLE,
            set |family, given| {
                family.table.prefix_extractor = prefix_extractor(given)?;
                Ok(())
            },
            get |family| family.table.prefix_extractor.as_ref().map_or("nullptr".to_owned(), PrefixExtractor::name);
        /// The kind of tables.
        "table_factory": Kind::Object, rocksdb "BlockBasedTable", since "6.2", TABLE,
            set |family, given| family.table.assign_factory(given),
            get |_| "BlockBasedTable".to_owned();
    }
    carried {
        arena_block_size: Kind::U64, "0", since "6.2", MEMTABLE, "Bytes a memtable allocates at once; 0: an eighth of the write buffer, 1 MiB at most.";
        blob_compaction_readahead_size: Kind::U64, "0", since "6.28", BLOBS, "Bytes read ahead in blob files.";
        blob_compression_opts: Kind::Object, "{checksum=false;max_dict_buffer_bytes=0;enabled=false;max_dict_bytes=0;max_compressed_bytes_per_kb=896;parallel_threads=1;zstd_max_train_bytes=0;level=32767;use_zstd_dict_trainer=true;strategy=0;window_bits=-14;}",
            since "11.8", BLOBS, "Level of compression in blob files.";
        blob_compression_type: Kind::Compression, "kNoCompression", since "6.20", BLOBS, "Compression in blob files.";
        blob_direct_write_partitions: Kind::U32, "1", since "11.8", BLOBS, "Blob files written at once.";
        blob_file_size: Kind::U64, "268435456", since "6.20", BLOBS, "Bytes of a blob file.";
        blob_file_starting_level: Kind::I32, "0", since "7.4", BLOBS, "The first level with blob files.";
        blob_garbage_collection_age_cutoff: Kind::Decimal, "0.250000", since "6.20", BLOBS, "The oldest share of blob files that is collected.";
        blob_garbage_collection_force_threshold: Kind::Decimal, "1.000000", since "6.28", BLOBS, "The share of garbage that forces collection.";
        block_protection_bytes_per_key: Kind::Number { min: 0, max: 8 }, "0", since "8.10", MEMTABLE_CHECKS, "Checksum bytes a key in cached blocks.";
        bloom_locality: Kind::U32, "0", since "6.2", MEMTABLE_BLOOM, "Locality of old filters.";
        bottommost_file_compaction_delay: Kind::U32, "0", since "8.10", no("a table of the last level waits for snapshots only"), "Seconds before a table of the last level is compacted.";
        bottommost_temperature: Kind::Object, "kUnknown", since "7.4" until "7.9", TEMPERATURE, "Temperature of the last level.";
        check_flush_compaction_key_order: Kind::Switch, "true", since "6.20" until "10.4", no("the order of keys is always checked"), "Checks the order of keys.";
        compression_manager: Kind::Object, "nullptr", since "10.4", no("compression is chosen by its type"), "Compressors of the application.";
        default_temperature: Kind::Object, "kUnknown", since "8.10", TEMPERATURE, "Temperature of tables that have none.";
        default_write_temperature: Kind::Object, "kUnknown", since "10.4", TEMPERATURE, "Temperature of new tables.";
        disallow_memtable_writes: Kind::Switch, "false", since "10.4", no("every column family can be written"), "Allows ingestion only.";
        enable_blob_direct_write: Kind::Switch, "false", since "11.8", BLOBS, "Writes blob files at once.";
        enable_blob_files: Kind::Switch, "false", since "6.20", BLOBS, "Writes large values into files of their own.";
        enable_blob_garbage_collection: Kind::Switch, "false", since "6.20", BLOBS, "Collects garbage in blob files.";
        experimental_mempurge_threshold: Kind::Decimal, "0.000000", since "7.4", MEMTABLE, "Cleans memtables instead of flushing them.";
        ignore_max_compaction_bytes_for_input: Kind::Switch, "true", since "7.8" until "10.4", no("inputs of a compaction are never cut"), "Counts inputs without the level below.";
        inplace_update_num_locks: Kind::U64, "10000", since "6.2", MEMTABLE, "Locks for updates in place.";
        inplace_update_support: Kind::Switch, "false", since "6.2", MEMTABLE, "Updates values in memtables in place.";
        last_level_temperature: Kind::Object, "kUnknown", since "7.8", TEMPERATURE, "Temperature of the last level.";
        level_compaction_dynamic_file_size: Kind::Switch, "true", since "7.8" until "10.4", no("tables are always cut where the level below suggests it"), "Cuts tables at borders of the level below.";
        max_successive_merges: Kind::U64, "0", since "6.2", no("operands are merged by reads, flushes and compactions"), "Operands merged when written.";
        max_write_buffer_number_to_maintain: Kind::I32, "0", since "6.2" until "10.4", MEMTABLE, "Flushed memtables kept.";
        max_write_buffer_size_to_maintain: Kind::Number { min: i64::MIN as i128, max: i64::MAX as i128 }, "0", since "6.11", MEMTABLE, "Bytes of flushed memtables kept.";
        memtable_avg_op_scan_flush_trigger: Kind::U32, "0", since "10.4", BY_DENSITY, "Skipped entries an operation, on average, that flush a memtable.";
        memtable_batch_lookup_optimization: Kind::Switch, "false", since "11.8", MEMTABLE, "Looks up sorted keys together.";
        memtable_factory: Kind::Object, "SkipListFactory", since "6.2", MEMTABLE, "The kind of memtable.";
        memtable_huge_page_size: Kind::U64, "0", since "6.2", MEMTABLE, "Huge pages for memtables.";
        memtable_insert_with_hint_prefix_extractor: Kind::Object, "nullptr", since "6.2", MEMTABLE, "Remembers where prefixes stand.";
        memtable_max_range_deletions: Kind::U32, "0", since "8.10", no("range deletions in memory are found in logarithmic time"), "Range deletions that flush a memtable.";
        memtable_op_scan_flush_trigger: Kind::U32, "0", since "10.4", BY_DENSITY, "Skipped entries of one operation that flush a memtable.";
        memtable_prefix_bloom_size_ratio: Kind::Decimal, "0.000000", since "6.2", MEMTABLE_BLOOM, "The filter's share of the write buffer.";
        memtable_protection_bytes_per_key: Kind::Number { min: 0, max: 8 }, "0", since "7.8", MEMTABLE_CHECKS, "Checksum bytes a key in memtables.";
        memtable_verify_per_key_checksum_on_seek: Kind::Switch, "false", since "11.8", MEMTABLE_CHECKS, "Checks them when seeking.";
        memtable_whole_key_filtering: Kind::Switch, "false", since "6.2", MEMTABLE_BLOOM, "Whole keys in memtable filters.";
        min_blob_size: Kind::U64, "0", since "6.20", BLOBS, "Bytes from which a value goes into a blob file.";
        min_tombstones_for_range_conversion: Kind::U32, "0", since "11.8", no("deletions stay what they are"), "Deletions that become a range deletion.";
        paranoid_memory_checks: Kind::Switch, "false", since "10.4", MEMTABLE_CHECKS, "Checks the skip list while reading.";
        persist_user_defined_timestamps: Kind::Switch, "true", since "8.10",
            Effect::Refused { harmless: "true", why: "there are no user-defined timestamps" }, "Keeps timestamps in tables.";
        preclude_last_level_data_seconds: Kind::U64, "0", since "7.8", TEMPERATURE, "Seconds before data may reach the last level.";
        prepopulate_blob_cache: Kind::Choice(&["kDisable", "kFlushOnly"]), "kDisable", since "7.8", BLOBS, "Warms the cache with new values.";
        preserve_internal_time_seconds: Kind::U64, "0", since "7.8", TEMPERATURE, "Seconds for which writing times are kept.";
        read_triggered_compaction_threshold: Kind::Decimal, "0.000000", since "11.8", BY_DENSITY, "Reads that start a compaction.";
        report_bg_io_stats: Kind::Switch, "false", since "6.2", no("I/O is always counted"), "Counts the I/O of background work.";
        sample_for_compression: Kind::U64, "0", since "6.2", no("no block is compressed only to see how small it gets"), "Blocks compressed as a sample.";
        sst_partitioner_factory: Kind::Object, "nullptr", since "6.28", no("tables are cut by size and by the level below"), "Cuts tables at prefixes.";
        strict_max_successive_merges: Kind::Switch, "false", since "10.4", no("operands are merged by reads, flushes and compactions"), "Reads from disk to merge.";
        table_properties_collectors: Kind::Object, "", since "6.28", OBJECT, "Collectors of table properties.";
        target_file_size_is_upper_bound: Kind::Switch, "false", since "11.8", no("a table ends with the entry that fills it"), "Never exceeds the size of a table.";
        uncache_aggressiveness: Kind::U32, "0", since "10.4", no("the cache drops all blocks of a table at once when that goes"), "How eagerly blocks of deleted tables are dropped.";
        verify_output_flags: Kind::U32, "0", since "11.8", no("`paranoid_file_checks` reads tables back"), "What is checked of new tables.";
    }
}

impl ColumnFamilyOptions {
    /// Levels that a column family has with these options: `num_levels`, but two at least where they have sizes.
    pub(crate) fn level_count(&self) -> usize {
        let least = if self.compaction_style == CompactionStyle::Level { 2 } else { 1 };
        usize::try_from(self.num_levels).unwrap_or(least).max(least)
    }

    /// Most bytes of one compaction: `max_compaction_bytes`, or else those of 25 tables.
    pub(crate) fn compaction_bytes_max(&self) -> u64 {
        match self.max_compaction_bytes {
            0 => self.target_file_size_base.saturating_mul(25),
            bytes => bytes,
        }
    }

    /// How a table is written that goes to `level`.
    ///
    /// * `base_level`: the first level below level 0 that has data; 1 unless sizes of levels are dynamic.
    /// * `bottommost`: no older version of its keys lies below.
    pub fn table_options(
        &self,
        level: FilterLevel,
        base_level: i32,
        bottommost: bool,
    ) -> TableOptions {
        let mut table = self.table.clone();
        let own = self.bottommost_compression.filter(|_| bottommost);
        if let Some(kind) = own {
            if let Some(options) = &self.bottommost_compression_opts {
                table.compression = options.clone();
            }
            table.compression.kind = kind;
        } else if let Some(last) = self.compression_per_level.len().checked_sub(1) {
            let at = match level {
                FilterLevel::Flush | FilterLevel::Level(..=0) => 0,
                FilterLevel::Level(level) => {
                    usize::try_from(level - base_level.max(1) + 1).unwrap_or(0)
                }
                FilterLevel::Unknown => last,
            };
            table.compression.kind = self.compression_per_level[at.min(last)];
        }
        if bottommost && self.optimize_filters_for_hits {
            table.filter_policy = None;
        }
        table.compression.leave_out_what_the_kind_lacks();
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_goes_by_level_counted_from_the_base() {
        let options = ColumnFamilyOptions {
            bottommost_compression: None,
            compression_per_level: vec![
                CompressionType::None,
                CompressionType::Snappy,
                CompressionType::Zlib,
            ],
            ..ColumnFamilyOptions::default()
        };
        let kind = |level, base| options.table_options(level, base, true).compression.kind;
        assert_eq!(kind(FilterLevel::Flush, 1), CompressionType::None);
        assert_eq!(kind(FilterLevel::Level(0), 1), CompressionType::None);
        assert_eq!(kind(FilterLevel::Level(4), 4), CompressionType::Snappy);
        assert_eq!(kind(FilterLevel::Level(5), 4), CompressionType::Zlib);
        assert_eq!(kind(FilterLevel::Level(6), 4), CompressionType::Zlib);
        assert_eq!(kind(FilterLevel::Unknown, 4), CompressionType::Zlib);
    }

    #[test]
    fn options_of_the_last_level_count_if_they_are_enabled() {
        let mut options = ColumnFamilyOptions::default();
        options.set("bottommost_compression_opts", "{level=9;}").unwrap();
        assert_eq!(options.bottommost_compression_opts, None);
        options.set("bottommost_compression_opts", "{level=9;enabled=true;}").unwrap();
        let level = |bottommost| {
            options.table_options(FilterLevel::Level(6), 1, bottommost).compression.level
        };
        assert_eq!(level(true), 9);
        assert_eq!(level(false), 32_767);
    }

    #[test]
    fn the_last_level_has_no_filter_if_lookups_hit() {
        let mut options =
            ColumnFamilyOptions { optimize_filters_for_hits: true, ..Default::default() };
        options.table.filter_policy = crate::filter::FilterPolicy::parse("bloomfilter:10").unwrap();
        assert!(options.table_options(FilterLevel::Level(6), 1, true).filter_policy.is_none());
        assert!(options.table_options(FilterLevel::Level(5), 1, false).filter_policy.is_some());
    }

    #[test]
    fn a_dictionary_stays_away_from_compression_that_has_none() {
        let mut options = ColumnFamilyOptions {
            bottommost_compression: Some(CompressionType::Snappy),
            ..Default::default()
        };
        options.set("compression", "kZSTD").unwrap();
        options
            .set("compression_opts", "{level=5;max_dict_bytes=4096;zstd_max_train_bytes=409600;}")
            .unwrap();
        for bottommost in [false, true] {
            options.table_options(FilterLevel::Level(6), 1, bottommost).validate().unwrap();
        }
    }
}
