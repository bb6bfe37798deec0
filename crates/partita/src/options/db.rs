use super::choice::WalRecoveryMode;
use super::spec::{Effect, Kind, options};
use crate::util::compression::CompressionType;

const OPEN: Effect = Effect::Honoured("open");
const WRITE: Effect = Effect::Honoured("write");
const WAL_NOW: Effect = Effect::Honoured("wal");
const FLUSH_NOW: Effect = Effect::Honoured("flush");
const STALL_NOW: Effect = Effect::Honoured("write stalls");
const DAMAGE: Effect = Effect::Honoured("background errors");
const COMPACTION: Effect = Effect::Honoured("compaction");
const MANIFEST: Effect = Effect::Honoured("version");

/// Nothing acts on it, for that reason.
const fn no(why: &'static str) -> Effect {
    Effect::NoEffect(why)
}

const NO_LOG: Effect = no("there is no LOG file: what happens is counted in statistics");
const BUFFERED: Effect = no("files are read and written by calls, not through maps");
const WRITERS: Effect = no("there is one way to write, group commit, and it does not spin");
const CACHE: Effect = no("there is one cache, the caller's, and open tables are kept in it");
const FOLLOWER: Effect = no("a database is not followed while another process writes it");
const TEMPERATURE: Effect = no("files have no temperature here");
const STATISTICS: Effect = no("statistics are asked for, and not kept over time");
const AT_OPEN: Effect = no("opening a database does not touch its tables");
const ONE_SYNC: Effect = no("a table is handed to the device once, when it is whole");
const KERNEL: Effect = no("the operating system is left its own judgement");
const OBJECT: Effect =
    Effect::RuntimeObject("there are no listeners: what happens is counted in statistics");

options! {
    /// Options of a database: RocksDB's `DBOptions`.
    ///
    /// The fields are what something acts on. Everything else that RocksDB writes into options files is known, too: it
    /// is checked, kept and written back. The table of all is in `docs/options.md`.
    ///
    /// ```
    /// use partita::options::DbOptions;
    ///
    /// let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// assert_eq!(options.get("create_if_missing").as_deref(), Some("true"));
    /// assert_eq!(options.get("max_open_files").as_deref(), Some("-1"));
    /// ```
    pub struct DbOptions;
    fields {
        /// Whether a database is made where there is none.
        create_if_missing: bool = false, rocksdb "false", since "6.2", OPEN;
        /// Whether column families are made that are opened and not there.
        create_missing_column_families: bool = false, rocksdb "false", since "6.2", OPEN;
        /// Whether it is an error that the database is there.
        error_if_exists: bool = false, rocksdb "false", since "6.2", OPEN;
        /// Whether the first damage that is met stops writes, rather than the file that has it being left alone.
        paranoid_checks: bool = true, rocksdb "true", since "6.2", DAMAGE;
        /// Most tables that are kept open; -1: all. Their memory counts against the cache's budget either way.
        max_open_files: i32 = -1, rocksdb "-1", in -1 to i32::MAX, since "6.2", Effect::Honoured("table cache");
        /// Whether tables are read past the system's cache of files, so that what is read is in memory once, and the cache's
        /// budget is all of it. Linux has such reads, on most of its file systems; a database elsewhere is refused.
        use_direct_reads: bool = false, rocksdb "false", since "6.2", Effect::Honoured("table reads");
        /// Whether flushes and compactions write tables past the system's cache of files, so that new tables do not drive out
        /// what others have there. Where and when it is refused is as with `use_direct_reads`.
        use_direct_io_for_flush_and_compaction: bool = false, rocksdb "false", since "6.2", Effect::Honoured("table writes");
        /// Threads for flushes and compactions together.
        max_background_jobs: i32 = 2, rocksdb "2", in 1 to i32::MAX, since "6.2", COMPACTION;
        /// Most threads for the parts of one compaction.
        max_subcompactions: u32 = 1, rocksdb "1", in 1 to u32::MAX, since "6.2", COMPACTION;
        /// Bytes a compaction reads ahead.
        compaction_readahead_size: usize = 2 << 20, rocksdb "2097152", since "6.2",
            no("walks read ahead the more the longer they go on, up to 256 KiB a table");
        /// Bytes of a table gathered before they are written.
        writable_file_max_buffer_size: usize = 1 << 20, rocksdb "1048576", since "6.2",
            no("files are written in pieces of 256 KiB");
        /// Bytes after which a table being written is pushed towards the disk; 0: at its end.
        bytes_per_sync: u64 = 0, rocksdb "0", since "6.2", ONE_SYNC;
        /// The same for a write-ahead log.
        wal_bytes_per_sync: u64 = 0, rocksdb "0", since "6.2",
            no("a log is handed to the device when a write or flush_wal asks for it, and when it ends");
        /// Whether these pushes wait for the one before.
        strict_bytes_per_sync: bool = false, rocksdb "false", since "6.2", ONE_SYNC;
        /// Microseconds between two looks for files that nothing needs any more.
        delete_obsolete_files_period_micros: u64 = 6 * 3_600_000_000, rocksdb "21600000000", since "6.2",
            no("a file is removed when the last who needs it lets go");
        /// Bytes of write-ahead logs above which the oldest memtables are flushed; 0: four times the write buffers.
        max_total_wal_size: u64 = 0, rocksdb "0", since "6.2", WAL_NOW;
        /// Directory of the write-ahead logs; empty: that of the database.
        wal_dir: String = String::new(), rocksdb "", since "6.2", OPEN;
        /// What recovery does with a damaged log.
        wal_recovery_mode: WalRecoveryMode = WalRecoveryMode::PointInTime, rocksdb "kPointInTimeRecovery", since "6.2", OPEN;
        /// Seconds for which a log that is no longer needed is kept in `archive/`; 0 for both: deleted at once.
        wal_ttl_seconds as "WAL_ttl_seconds": u64 = 0, rocksdb "0", since "6.2", WAL_NOW;
        /// MiB of such logs that are kept.
        wal_size_limit_mb as "WAL_size_limit_MB": u64 = 0, rocksdb "0", since "6.2", WAL_NOW;
        /// Old logs kept to be written over. Only with the recovery modes kPointInTimeRecovery and kSkipAnyCorruptedRecords,
        /// and without `wal_compression`.
        recycle_log_file_num: usize = 0, rocksdb "0", since "6.2", WAL_NOW;
        /// Whether log records stay in memory until the caller flushes the log.
        manual_wal_flush: bool = false, rocksdb "false", since "6.2", WAL_NOW;
        /// Compression of log records: none or ZSTD.
        wal_compression: CompressionType = CompressionType::None, rocksdb "kNoCompression", since "7.4", WAL_NOW;
        /// Whether files are synced with their times (`fsync`) rather than their contents alone (`fdatasync`).
        use_fsync: bool = false, rocksdb "false", since "6.2",
            no("files are synced with fdatasync, which covers all that is needed to read them");
        /// Whether recovery keeps what the logs held in memtables, and their logs.
        avoid_flush_during_recovery: bool = false, rocksdb "false", since "6.2", OPEN;
        /// Whether closing the database leaves memtables unflushed that had no log.
        avoid_flush_during_shutdown: bool = false, rocksdb "false", since "6.2", FLUSH_NOW;
        /// Whether the memtables of all column families are flushed together.
        atomic_flush: bool = false, rocksdb "false", since "6.2", FLUSH_NOW;
        /// Bytes of all memtables together; 0: no such limit. Beside it, memtables of all databases that share a cache have
        /// half of its budget.
        db_write_buffer_size: usize = 0, rocksdb "0", since "6.2", FLUSH_NOW;
        /// Bytes a second that writers may write when they are half way between where they are slowed down and where they
        /// have to stop; they come from no limit, and go to nothing.
        delayed_write_rate: u64 = 16 << 20, rocksdb "16777216", since "6.2", STALL_NOW;
        /// Microseconds after which the database tries again to resume writing after an error that may have passed, if the
        /// first attempt fails; further ones are put off longer, four times as long at most.
        bgerror_resume_retry_interval: u64 = 1_000_000, rocksdb "1000000", since "6.20", DAMAGE;
        /// Most attempts that it makes by itself.
        max_bgerror_resume_count: i32 = i32::MAX, rocksdb "2147483647", since "6.20", DAMAGE;
        /// Whether a flush counts the entries it wrote, and compares.
        flush_verify_memtable_count: bool = true, rocksdb "true", since "6.28", FLUSH_NOW;
        /// Whether a compaction counts the entries it read, and compares.
        compaction_verify_record_count: bool = true, rocksdb "true", since "8.10", COMPACTION;
        /// Most bytes of write batches that share one log record.
        max_write_batch_group_size_bytes: u64 = 1 << 20, rocksdb "1048576", since "6.11", WRITE;
        /// Whether all column families keep their last level free for files that are ingested behind all others
        /// (`IngestOptions::behind`). Compactions do without it, and keep deletions and
        /// sequence numbers: older entries may come. It needs three levels at least; FIFO compaction has none to keep free.
        allow_ingest_behind: bool = false, rocksdb "false", since "6.2", Effect::Honoured("ingestion, compaction picker");
        /// Bytes of a manifest above which a new one is begun.
        max_manifest_file_size: u64 = 1 << 30, rocksdb "1073741824", since "6.2", MANIFEST;
    }
    beside {}
    rows {}
    carried {
        access_hint_on_compaction_start: Kind::Choice(&["NONE", "NORMAL", "SEQUENTIAL", "WILLNEED"]), "NORMAL",
            since "6.2" until "10.4", KERNEL, "Advice on a compaction's inputs.";
        advise_random_on_open: Kind::Switch, "true", since "6.2", KERNEL, "Advice that tables are read at random.";
        allow_2pc: Kind::Switch, "false", since "6.2",
            Effect::Refused { harmless: "false", why: "there are no two-phase transactions" },
            "Keeps logs with prepared transactions.";
        allow_concurrent_memtable_write: Kind::Switch, "true", since "6.2", no("members of a write group always insert at once"),
            "Whether writers insert into the memtable at once.";
        allow_data_in_errors: Kind::Switch, "false", since "6.20", no("errors quote no more of a key than a person reads"),
            "Whether errors may quote keys.";
        allow_fallocate: Kind::Switch, "true", since "6.2", KERNEL, "Whether space is allocated ahead.";
        allow_mmap_reads: Kind::Switch, "false", since "6.2", BUFFERED, "Maps tables into memory.";
        allow_mmap_writes: Kind::Switch, "false", since "6.2", BUFFERED, "Writes files through maps.";
        async_wal_precreate: Kind::Switch, "false", since "11.8", no("a log is made when it is needed"), "Makes the next log ahead.";
        avoid_unnecessary_blocking_io: Kind::Switch, "false", since "6.2", no("files are always deleted in the background"),
            "Leaves slow work to the background.";
        background_close_inactive_wals: Kind::Switch, "false", since "10.4", no("logs are closed where they end"),
            "Closes logs in the background.";
        best_efforts_recovery: Kind::Switch, "false", since "6.11", no("a database that lacks files is refused; the doctor says what is left of it"),
            "Opens what is left of a database that lacks files.";
        daily_offpeak_time_utc: Kind::Text, "", since "8.10", no("no work waits for the night"), "The quiet hours.";
        db_host_id: Kind::Text, "__hostname__", since "6.20", no("tables we write name no machine"), "The machine's name in table properties.";
        db_log_dir: Kind::Text, "", since "6.2", NO_LOG, "Directory of LOG.";
        dump_malloc_stats: Kind::Switch, "false", since "6.2", NO_LOG, "The allocator's figures in LOG.";
        enable_pipelined_write: Kind::Switch, "false", since "6.2", WRITERS, "Inserts one group while the next writes the log.";
        enable_thread_tracking: Kind::Switch, "false", since "6.2", STATISTICS, "Keeps what threads do.";
        enable_write_thread_adaptive_yield: Kind::Switch, "true", since "6.2", WRITERS, "Spins before waiting.";
        enforce_single_del_contracts: Kind::Switch, "true", since "7.4", no("compactions leave a single deletion that has no partner"),
            "Whether a compaction fails where single deletions are misused.";
        enforce_write_buffer_manager_during_recovery: Kind::Switch, "true", since "11.8", no("memtables count against the budget at all times"),
            "Limits memtables during recovery.";
        fail_if_options_file_error: Kind::Switch, "true", since "6.2" until "10.4", no("failing to write an options file fails the call that needed it"),
            "Whether a missing options file is an error.";
        fast_sst_open: Kind::Switch, "false", since "11.8", AT_OPEN, "Opens tables with less I/O.";
        file_checksum_gen_factory: Kind::Object, "nullptr", since "6.28", no("the manifest keeps no checksums of whole files"),
            "Makes checksums of whole files.";
        follower_catchup_retry_count: Kind::U64, "10", since "10.4", FOLLOWER, "Attempts of a follower.";
        follower_catchup_retry_wait_ms: Kind::U64, "100", since "10.4", FOLLOWER, "Milliseconds between them.";
        follower_refresh_catchup_period_ms: Kind::U64, "10000", since "10.4", FOLLOWER, "Milliseconds between its rounds.";
        info_log_level: Kind::Choice(&["DEBUG_LEVEL", "INFO_LEVEL", "WARN_LEVEL", "ERROR_LEVEL", "FATAL_LEVEL", "HEADER_LEVEL"]),
            "INFO_LEVEL", since "6.2", NO_LOG, "What is logged.";
        is_fd_close_on_exec: Kind::Switch, "true", since "6.2", no("files are always closed on exec"), "Closes files on exec.";
        keep_log_file_num: Kind::U64, "1000", since "6.2", NO_LOG, "LOG files kept.";
        listeners: Kind::Object, "", since "6.28", OBJECT, "Who is told of events.";
        log_file_time_to_roll: Kind::U64, "0", since "6.2", NO_LOG, "Seconds after which a new LOG begins.";
        log_readahead_size: Kind::U64, "0", since "6.11", no("logs are read in large pieces"), "Bytes read ahead in logs.";
        lowest_used_cache_tier: Kind::Choice(&["kVolatileTier", "kVolatileCompressedTier", "kNonVolatileBlockTier"]),
            "kNonVolatileBlockTier", since "6.28", CACHE, "Which tiers of cache are used.";
        manifest_preallocation_size: Kind::U64, "4194304", since "6.2", KERNEL, "Bytes allocated ahead for the manifest.";
        max_background_compactions: Kind::I32, "-1", since "6.2", no("`max_background_jobs` counts both"), "Threads for compactions.";
        max_background_flushes: Kind::I32, "-1", since "6.2", no("`max_background_jobs` counts both"), "Threads for flushes.";
        max_compaction_trigger_wakeup_seconds: Kind::U64, "43200", since "11.8", no("compactions are looked for when files change"),
            "Seconds between two looks for compactions that time brings.";
        max_file_opening_threads: Kind::I32, "16", since "6.2", AT_OPEN, "Threads that open tables.";
        max_log_file_size: Kind::U64, "0", since "6.2", NO_LOG, "Bytes after which a new LOG begins.";
        max_manifest_space_amp_pct: Kind::I32, "500", since "11.8", no("`max_manifest_file_size` alone decides"),
            "Percent of waste at which a new manifest is begun.";
        metadata_write_temperature: Kind::Object, "kUnknown", since "10.4", TEMPERATURE, "Temperature of manifests.";
        open_files_async: Kind::Switch, "false", since "11.8", AT_OPEN, "Opens tables after the database.";
        optimize_manifest_for_recovery: Kind::Switch, "false", since "11.8", no("a manifest is written as it always was"), "Writes manifests that recover faster.";
        persist_stats_to_disk: Kind::Switch, "false", since "6.11", STATISTICS, "Keeps statistics in a column family.";
        prefix_seek_opt_in_only: Kind::Switch, "false", since "10.4", no("iterators are in total order unless the caller opts in"),
            "Makes iterators total-ordered unless asked.";
        random_access_max_buffer_size: Kind::U64, "1048576", since "6.2" until "10.4", BUFFERED, "Windows read-ahead.";
        read_io_executor_threads: Kind::I32, "1", since "11.8", no("reads are made by the thread that asks"), "Threads that read.";
        reuse_manifest_on_open: Kind::Switch, "false", since "11.8", no("opening for writing begins a new manifest"), "Appends to the old manifest.";
        skip_checking_sst_file_sizes_on_db_open: Kind::Switch, "false", since "6.11" until "11.8", AT_OPEN, "Does not compare table sizes with the manifest.";
        skip_stats_update_on_db_open: Kind::Switch, "false", since "6.2", AT_OPEN, "Does not read table properties when opening.";
        stats_dump_period_sec: Kind::U32, "600", since "6.2", NO_LOG, "Seconds between statistics in LOG.";
        stats_history_buffer_size: Kind::U64, "1048576", since "6.2", STATISTICS, "Bytes of statistics kept.";
        stats_persist_period_sec: Kind::U32, "600", since "6.2", STATISTICS, "Seconds between statistics kept.";
        table_cache_numshardbits: Kind::I32, "6", since "6.2", CACHE, "Shards of the table cache, as a power of two.";
        track_and_verify_wals: Kind::Switch, "false", since "10.4", no("logs carry no record of the one before"), "Chains logs.";
        track_and_verify_wals_in_manifest: Kind::Switch, "false", since "6.20", no("what a manifest lists is checked at open; ours list no logs"), "Lists logs in the manifest.";
        two_write_queues: Kind::Switch, "false", since "6.2", WRITERS, "A queue for writes that skip the memtable.";
        unordered_write: Kind::Switch, "false", since "6.11", WRITERS, "Lets readers see a group in parts.";
        use_adaptive_mutex: Kind::Switch, "false", since "6.2", WRITERS, "Spins on the database's lock.";
        use_direct_io_for_compaction_reads: Kind::Switch, "false", since "11.8", no("compactions read as lookups do: `use_direct_reads`"), "Compactions read past the system's cache.";
        verify_manifest_content_on_close: Kind::Switch, "false", since "11.8", no("a manifest is checked when it is read"), "Reads the manifest again when closing.";
        verify_sst_unique_id_in_manifest: Kind::Switch, "true", since "7.4", no("a table's number and size are compared"), "Compares unique identifiers of tables.";
        wal_filter: Kind::Object, "nullptr", since "6.28", no("recovery applies every record"), "Chooses log records at recovery.";
        wal_write_temperature: Kind::Object, "kUnknown", since "10.4", TEMPERATURE, "Temperature of logs.";
        write_dbid_to_manifest: Kind::Switch, "true", since "6.11", no("the database's identity is kept wherever it was found"), "Keeps the database's identity in the manifest.";
        write_identity_file: Kind::Switch, "true", since "10.4", no("the file IDENTITY is always written"), "Keeps the database's identity in a file.";
        write_thread_max_yield_usec: Kind::U64, "100", since "6.2", WRITERS, "Microseconds of spinning.";
        write_thread_slow_yield_usec: Kind::U64, "3", since "6.2", WRITERS, "Microseconds that count as a slow turn.";
    }
}
