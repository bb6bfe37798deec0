//! The declarations.

use partita_store::MetadataReport;

use super::Metric;
use super::read::Read::{
    Cache, Contents, Database, Family, Following, Level, MemTables, Metadata, Role, Server, Stall,
    Table, TableBlocks, TableBy, Times,
};

/// Every metric, in the order of `/metrics`.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "process_resident_memory_bytes",
        help: "Resident memory of the process that serves these figures.",
        read: Server(|server| server.process.resident_bytes.map(Into::into)),
    },
    Metric {
        name: "process_cpu_seconds_total",
        help: "Processor time of all threads of that process.",
        read: Server(|server| Some(server.process.cpu_seconds.into())),
    },
    Metric {
        name: "partita_databases",
        help: "Databases that are shown: 1, or 0 while none is open.",
        read: Server(|server| Some(server.databases.into())),
    },
    Metric {
        name: "partita_healthy",
        help: "1 if /health says that all is well, else 0.",
        read: Server(|server| Some(u64::from(server.is_healthy).into())),
    },
    Metric {
        name: "partita_follow_catch_ups_total",
        help: "Times that what the owner of the database had written was looked at.",
        read: Following(|following| following.catch_ups.into()),
    },
    Metric {
        name: "partita_follow_failures_total",
        help: "Times that this failed.",
        read: Following(|following| following.failures.into()),
    },
    Metric {
        name: "partita_follow_age_seconds",
        help: "Seconds since the figures were last brought up to date with the owner.",
        read: Following(|following| following.age_seconds.into()),
    },
    Metric {
        name: "partita_operation_seconds",
        help: "How long operations of the program took, as it tells: of a benchmark, rounds.",
        read: Times,
    },
    Metric {
        name: "partita_uptime_seconds",
        help: "Seconds since the database was opened.",
        read: Database(|db| Some(seconds(db.uptime_micros).into())),
    },
    Metric {
        name: "partita_last_sequence_number",
        help: "The sequence number of the last write that readers see: grows by one with each change.",
        read: Database(|db| Some(db.last_seqno.into())),
    },
    Metric {
        name: "partita_write_batches_total",
        help: "Write batches.",
        read: Database(|db| Some(db.writes.batches.into())),
    },
    Metric {
        name: "partita_write_keys_total",
        help: "Changes in write batches.",
        read: Database(|db| Some(db.writes.keys.into())),
    },
    Metric {
        name: "partita_write_bytes_total",
        help: "Bytes of write batches.",
        read: Database(|db| Some(db.writes.bytes.into())),
    },
    Metric {
        name: "partita_write_groups_total",
        help: "Groups that write batches were committed in.",
        read: Database(|db| Some(db.writes.groups.into())),
    },
    Metric {
        name: "partita_log_records_total",
        help: "Records in write-ahead logs.",
        read: Database(|db| Some(db.writes.log_records.into())),
    },
    Metric {
        name: "partita_log_bytes_total",
        help: "Bytes of write batches in write-ahead logs.",
        read: Database(|db| Some(db.writes.log_bytes.into())),
    },
    Metric {
        name: "partita_log_syncs_total",
        help: "Log records that had to survive a power cut before their writers went on.",
        read: Database(|db| Some(db.writes.log_syncs.into())),
    },
    Metric {
        name: "partita_background_errors_total",
        help: "Failures of flushes, compactions and other work in the background.",
        read: Database(|db| Some(db.background_errors.into())),
    },
    Metric {
        name: "partita_running_flushes",
        help: "Flushes under way.",
        read: Database(|db| Some(db.running_flushes.into())),
    },
    Metric {
        name: "partita_running_compactions",
        help: "Compactions under way.",
        read: Database(|db| Some(db.running_compactions.into())),
    },
    Metric {
        name: "partita_snapshots",
        help: "Snapshots that are held.",
        read: Database(|db| Some(db.snapshots.count.into())),
    },
    Metric {
        name: "partita_oldest_snapshot_timestamp_seconds",
        help: "When the oldest of them was taken, as Unix time; absent without one.",
        read: Database(|db| {
            (db.snapshots.count > 0).then(|| db.snapshots.oldest_unix_seconds.into())
        }),
    },
    Metric {
        name: "partita_iterators",
        help: "Iterators that live.",
        read: Database(|db| Some(db.holders.iterators.into())),
    },
    Metric {
        name: "partita_pinned_memtable_bytes",
        help: "Bytes of flushed memtables that iterators and snapshots keep.",
        read: Database(|db| Some(db.holders.pinned.memtable_bytes.into())),
    },
    Metric {
        name: "partita_pinned_table_bytes",
        help: "Bytes of replaced tables that iterators and snapshots keep on disk.",
        read: Database(|db| Some(db.holders.pinned.table_bytes.into())),
    },
    Metric {
        name: "partita_stall_delays_total",
        help: "Writes that waited as long as what they left to do asked for.",
        read: Stall(|stall| stall.delays.into()),
    },
    Metric {
        name: "partita_stall_stops_total",
        help: "Writes that waited until something had been done.",
        read: Stall(|stall| stall.stops.into()),
    },
    Metric {
        name: "partita_stall_refused_total",
        help: "Writes that must not wait, and were refused.",
        read: Stall(|stall| stall.refused.into()),
    },
    Metric {
        name: "partita_stall_seconds_total",
        help: "Seconds that writers waited.",
        read: Stall(|stall| seconds(stall.micros).into()),
    },
    Metric {
        name: "partita_stall_longest_seconds",
        help: "Seconds of the longest wait since the database was opened.",
        read: Stall(|stall| seconds(stall.micros_max).into()),
    },
    Metric {
        name: "partita_cache_budget_bytes",
        help: "The budget of memory for all that is cached or held.",
        read: Cache(|cache| cache.budget_bytes().into()),
    },
    Metric {
        name: "partita_cache_usage_bytes",
        help: "Bytes charged to the budget.",
        read: Cache(|cache| cache.usage_bytes().into()),
    },
    Metric {
        name: "partita_cache_bytes",
        help: "Bytes charged to the budget, by role.",
        read: Role(|role| role.bytes.into()),
    },
    Metric {
        name: "partita_cache_pinned_bytes",
        help: "Those among them that cannot be evicted: held by somebody, or reserved.",
        read: Role(|role| role.pinned_bytes.into()),
    },
    Metric {
        name: "partita_cache_waiting_bytes",
        help: "Bytes that were evicted and that a reader may still see.",
        read: Role(|role| role.waiting_bytes.into()),
    },
    Metric {
        name: "partita_cache_hits_total",
        help: "Lookups in the cache that found their object.",
        read: Role(|role| role.hits.into()),
    },
    Metric {
        name: "partita_cache_misses_total",
        help: "Lookups that had to load it, or to wait for somebody who loaded it.",
        read: Role(|role| role.misses.into()),
    },
    Metric {
        name: "partita_cache_inserts_total",
        help: "Objects that entered the cache.",
        read: Role(|role| role.inserts.into()),
    },
    Metric {
        name: "partita_cache_inserted_bytes_total",
        help: "Bytes of objects that entered the cache.",
        read: Role(|role| role.inserted_bytes.into()),
    },
    Metric {
        name: "partita_cache_evictions_total",
        help: "Objects that left the cache to make room.",
        read: Role(|role| role.evictions.into()),
    },
    Metric {
        name: "partita_pending_compaction_bytes",
        help: "Compaction debt: bytes to write until the levels have their sizes.",
        read: Family(|family| family.pending_compaction_bytes.into()),
    },
    Metric {
        name: "partita_table_bytes",
        help: "Bytes of all tables that are in use, those that only readers hold among them.",
        read: Family(|family| family.total_table_bytes.into()),
    },
    Metric {
        name: "partita_live_versions",
        help: "Sets of tables that are in use, the newest among them.",
        read: Family(|family| family.live_versions.into()),
    },
    Metric {
        name: "partita_flush_pending",
        help: "1 if memtables wait to be flushed and nobody does it yet.",
        read: Family(|family| u64::from(family.memtables.is_flush_pending).into()),
    },
    Metric {
        name: "partita_retired_memtables",
        help: "Memtables that were flushed and are still held by readers.",
        read: Family(|family| family.memtables.retired_count.into()),
    },
    Metric {
        name: "partita_retired_memtable_bytes",
        help: "Bytes of these.",
        read: Family(|family| family.memtables.retired_bytes.into()),
    },
    Metric {
        name: "partita_skipped_entries_total",
        help: "Entries that walks and lookups of neighbours passed over.",
        read: Family(|family| family.skipped.entries.into()),
    },
    Metric {
        name: "partita_skipped_tombstones_total",
        help: "Deletions among them, and entries that range tombstones hid.",
        read: Family(|family| family.skipped.tombstones.into()),
    },
    Metric {
        name: "partita_skipped_stretches_total",
        help: "Stretches under range tombstones that a source was sought over.",
        read: Family(|family| family.skipped.stretches.into()),
    },
    Metric {
        name: "partita_memtables",
        help: "Memtables: active, or frozen and waiting to be flushed.",
        read: MemTables(|sum| sum.count.into()),
    },
    Metric {
        name: "partita_memtable_bytes",
        help: "Bytes of memtables.",
        read: MemTables(|sum| sum.bytes.into()),
    },
    Metric {
        name: "partita_memtable_entries",
        help: "Entries of memtables, deletions included.",
        read: MemTables(|sum| sum.entries.into()),
    },
    Metric {
        name: "partita_memtable_deletions",
        help: "Deletions of single keys among them.",
        read: MemTables(|sum| sum.deletions.into()),
    },
    Metric {
        name: "partita_level_files",
        help: "Tables of a level.",
        read: Level(|level| level.files.into()),
    },
    Metric {
        name: "partita_level_bytes",
        help: "Bytes of the tables of a level.",
        read: Level(|level| level.bytes.into()),
    },
    Metric {
        name: "partita_level_files_being_compacted",
        help: "Tables among them that compactions have reserved.",
        read: Level(|level| level.files_being_compacted.into()),
    },
    Metric {
        name: "partita_level_score",
        help: "How urgently a level asks for a compaction; from 1 on it does.",
        read: Level(|level| level.score.into()),
    },
    Metric {
        name: "partita_flushes_total",
        help: "Flushes.",
        read: Level(|level| level.counters.flushes.into()),
    },
    Metric {
        name: "partita_compactions_total",
        help: "Compactions that merged tables into a level.",
        read: Level(|level| level.counters.compactions.into()),
    },
    Metric {
        name: "partita_moved_compactions_total",
        help: "Compactions that moved tables to a level as they are.",
        read: Level(|level| level.counters.moves.into()),
    },
    Metric {
        name: "partita_moved_bytes_total",
        help: "Bytes of tables that were moved.",
        read: Level(|level| level.counters.bytes_moved.into()),
    },
    Metric {
        name: "partita_ingested_files_total",
        help: "Tables that were ingested.",
        read: Level(|level| level.counters.ingested.into()),
    },
    Metric {
        name: "partita_ingested_bytes_total",
        help: "Bytes of tables that were ingested.",
        read: Level(|level| level.counters.bytes_ingested.into()),
    },
    Metric {
        name: "partita_compaction_read_bytes_total",
        help: "Bytes that compactions into a level read.",
        read: Level(|level| (level.counters.bytes_read_above + level.counters.bytes_read).into()),
    },
    Metric {
        name: "partita_table_written_bytes_total",
        help: "Bytes of tables that flushes and compactions wrote to a level.",
        read: Level(|level| level.counters.bytes_written.into()),
    },
    Metric {
        name: "partita_compaction_read_entries_total",
        help: "Entries that compactions into a level read.",
        read: Level(|level| level.counters.entries_read.into()),
    },
    Metric {
        name: "partita_compaction_dropped_entries_total",
        help: "Entries that they did not write again.",
        read: Level(|level| level.counters.entries_dropped.into()),
    },
    Metric {
        name: "partita_flush_compaction_seconds_total",
        help: "Seconds that flushes and compactions into a level took.",
        read: Level(|level| seconds(level.counters.micros).into()),
    },
    Metric {
        name: "partita_store_reads_total",
        help: "Reads of a typed table: lookups that found their key or not, questions without a look at files, and errors.",
        read: TableBy(
            &["table", "outcome"],
            &[
                ("found", |table| table.reads.found),
                ("absent", |table| table.reads.absent),
                ("ruled_out", |table| table.reads.ruled_out),
                ("known_present", |table| table.reads.known_present),
                ("unknown", |table| table.reads.unknown),
                ("failed", |table| table.reads.failed),
            ],
        ),
    },
    Metric {
        name: "partita_store_walks_total",
        help: "Walks over a typed table that ended.",
        read: Table(|table| table.reads.walks),
    },
    Metric {
        name: "partita_store_walked_entries_total",
        help: "Entries that they showed.",
        read: Table(|table| table.reads.walked_entries),
    },
    Metric {
        name: "partita_store_changes_total",
        help: "Changes of a typed table.",
        read: TableBy(
            &["table", "kind"],
            &[("put", |table| table.writes.puts), ("delete", |table| table.writes.deletes)],
        ),
    },
    Metric {
        name: "partita_store_change_bytes_total",
        help: "Bytes of keys and values in them.",
        read: Table(|table| table.writes.bytes),
    },
    Metric {
        name: "partita_store_block_hits_total",
        help: "Blocks and pieces that reads of a typed table found in the cache.",
        read: TableBlocks(|cost| &cost.cache_hits),
    },
    Metric {
        name: "partita_store_block_misses_total",
        help: "Blocks and pieces that they did not find there.",
        read: TableBlocks(|cost| &cost.cache_misses),
    },
    Metric {
        name: "partita_store_blocks_read_total",
        help: "Blocks and pieces that they read from files.",
        read: TableBlocks(|cost| &cost.blocks_read),
    },
    Metric {
        name: "partita_store_read_bytes_total",
        help: "Bytes of these, as stored.",
        read: TableBlocks(|cost| &cost.bytes_read),
    },
    Metric {
        name: "partita_store_filters_total",
        help: "Filters that reads of a typed table came to, by what came of it.",
        read: TableBy(
            &["table", "outcome"],
            &[
                ("ruled_out", |table| table.cost.filters_ruled_out),
                ("found", |table| table.cost.filters_true_positive),
                ("in_vain", |table| {
                    let right = table.cost.filters_ruled_out + table.cost.filters_true_positive;
                    table.cost.filters_checked.saturating_sub(right)
                }),
                ("skipped", |table| table.cost.filters_skipped),
                ("unreadable", |table| table.cost.filters_unreadable),
            ],
        ),
    },
    Metric {
        name: "partita_store_metadata_bytes",
        help: "Bytes of index, filter and open tables in memory, of all typed tables.",
        read: Metadata(MetadataReport::bytes),
    },
    Metric {
        name: "partita_store_metadata_limit_bytes",
        help: "The budget that these are charged to, alone or with data.",
        read: Metadata(|metadata| metadata.limit_bytes),
    },
    Metric {
        name: "partita_level_entries",
        help: "Entries in the tables of a level.",
        read: Contents(|sums| sums.entries),
    },
    Metric {
        name: "partita_level_deletions",
        help: "Deletions among them.",
        read: Contents(|sums| sums.deletions),
    },
    Metric {
        name: "partita_level_merge_operands",
        help: "Merge operands among them.",
        read: Contents(|sums| sums.merge_operands),
    },
    Metric {
        name: "partita_level_range_deletions",
        help: "Range deletions among them.",
        read: Contents(|sums| sums.range_deletions),
    },
    Metric {
        name: "partita_level_raw_key_bytes",
        help: "Bytes of all keys in the tables of a level, uncompressed.",
        read: Contents(|sums| sums.raw_key_bytes),
    },
    Metric {
        name: "partita_level_raw_value_bytes",
        help: "Bytes of all values in the tables of a level, uncompressed.",
        read: Contents(|sums| sums.raw_value_bytes),
    },
    Metric {
        name: "partita_level_index_bytes",
        help: "Bytes of the indexes in the tables of a level.",
        read: Contents(|sums| sums.index_bytes),
    },
    Metric {
        name: "partita_level_filter_bytes",
        help: "Bytes of the filters in the tables of a level.",
        read: Contents(|sums| sums.filter_bytes),
    },
];

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
