//! Texts and maps of properties, in RocksDB's form where that is known to tools: titles, columns, and names of fields.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::estimates::TableSums;
use super::stats::{DbStats, FamilyStats, HolderStats, LevelCounters, LevelStats};
use super::{StallCause, StallStats};
use crate::cache::{CacheStats, Role};
use crate::key::InternalKey;
use crate::version::Version;

const MB: f64 = 1_048_576.0;
const GB: f64 = 1_073_741_824.0;

/// What RocksDB says where there are no blob files, as there are none here.
pub(super) const NO_BLOBS: &str = "Number of blob files: 0\nTotal size of blob files: 0\n\
                                   Total size of garbage in blob files: 0\nBlob file space amplification: 0\n";

type Map = BTreeMap<String, String>;

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// `amount` by `per`; 0 where there is nothing to divide by.
fn rate(amount: f64, per: f64) -> f64 {
    if per > 0.0 { amount / per } else { 0.0 }
}

/// The figures of a row of the table of levels, under RocksDB's names.
fn level_fields(
    files: u64,
    being_compacted: u64,
    bytes: u64,
    score: f64,
    work: &LevelCounters,
) -> Vec<(&'static str, f64)> {
    let jobs = work.flushes + work.compactions;
    let read = (work.bytes_read + work.bytes_read_above) as f64;
    let written = work.bytes_written as f64;
    let took = seconds(work.micros);
    vec![
        ("NumFiles", files as f64),
        ("CompactedFiles", being_compacted as f64),
        ("SizeBytes", bytes as f64),
        ("Score", score),
        ("ReadGB", read / GB),
        ("RnGB", work.bytes_read_above as f64 / GB),
        ("Rnp1GB", work.bytes_read as f64 / GB),
        ("WriteGB", written / GB),
        ("WnewGB", (written - work.bytes_read as f64) / GB),
        ("MovedGB", work.bytes_moved as f64 / GB),
        ("WriteAmp", work.write_amplification().unwrap_or(0.0)),
        ("ReadMBps", rate(read / MB, took)),
        ("WriteMBps", rate(written / MB, took)),
        ("CompSec", took),
        ("CompCount", jobs as f64),
        ("AvgSec", rate(took, jobs as f64)),
        ("KeyIn", work.entries_read as f64),
        ("KeyDrop", work.entries_dropped as f64),
    ]
}

fn fields_of(level: &LevelStats) -> Vec<(&'static str, f64)> {
    let LevelStats { files, files_being_compacted, bytes, score, counters, .. } = *level;
    level_fields(files, files_being_compacted, bytes, score, &counters)
}

fn fields_of_all(stats: &FamilyStats) -> Vec<(&'static str, f64)> {
    let compacting = stats.levels.iter().map(|level| level.files_being_compacted).sum();
    level_fields(stats.files(), compacting, stats.bytes(), 0.0, &stats.counters())
}

/// Levels that have tables or were written to, with their titles.
fn rows(stats: &FamilyStats) -> Vec<(String, Vec<(&'static str, f64)>)> {
    let is_used =
        |level: &&LevelStats| level.files > 0 || level.counters != LevelCounters::default();
    let used = stats.levels.iter().filter(is_used);
    let mut rows: Vec<_> =
        used.map(|level| (format!("L{}", level.level), fields_of(level))).collect();
    rows.push(("Sum".to_owned(), fields_of_all(stats)));
    rows
}

/// Compactions and levels of a column family.
pub(super) fn family_text(stats: &FamilyStats, uptime_micros: u64) -> String {
    let mut out = format!("\n** Compaction Stats [{}] **\n", stats.name);
    let titles = [
        "Level",
        "Files",
        "Size(MB)",
        "Score",
        "Read(GB)",
        "Rn(GB)",
        "Rnp1(GB)",
        "Write(GB)",
        "Wnew(GB)",
        "Moved(GB)",
        "W-Amp",
        "Rd(MB/s)",
        "Wr(MB/s)",
        "Comp(sec)",
        "Comp(cnt)",
        "Avg(sec)",
        "KeyIn",
        "KeyDrop",
    ];
    let line = titles.map(|title| format!("{title:>9}")).join(" ");
    let _ = writeln!(out, "{line}\n{}", "-".repeat(line.len()));
    for (title, fields) in rows(stats) {
        let value = |name: &str| {
            fields.iter().find(|(other, _)| *other == name).map_or(0.0, |(_, value)| *value)
        };
        let files = format!("{}/{}", value("NumFiles"), value("CompactedFiles"));
        let _ = write!(out, "{title:>9} {files:>9} {:>9.2}", value("SizeBytes") / MB);
        for (name, digits) in [
            ("Score", 1),
            ("ReadGB", 1),
            ("RnGB", 1),
            ("Rnp1GB", 1),
            ("WriteGB", 1),
            ("WnewGB", 1),
            ("MovedGB", 1),
            ("WriteAmp", 1),
            ("ReadMBps", 1),
            ("WriteMBps", 1),
            ("CompSec", 2),
            ("CompCount", 0),
            ("AvgSec", 3),
            ("KeyIn", 0),
            ("KeyDrop", 0),
        ] {
            let _ = write!(out, " {:>9.digits$}", value(name));
        }
        out.push('\n');
    }
    let flushed = stats.levels.first().map_or(0, |level| level.counters.bytes_written);
    let _ = writeln!(out, "\nUptime(secs): {:.1} total", seconds(uptime_micros));
    let _ = writeln!(out, "Flush(GB): cumulative {:.3}", flushed as f64 / GB);
    let _ = writeln!(out, "Estimated pending compaction bytes: {}", stats.pending_compaction_bytes);
    out
}

/// The same as a map.
pub(super) fn family_map(stats: &FamilyStats) -> Map {
    let mut map = Map::new();
    for (title, fields) in rows(stats) {
        for (name, value) in fields {
            map.insert(format!("compaction.{title}.{name}"), format!("{value:.6}"));
        }
    }
    map.insert(
        "estimated_pending_compaction_bytes".to_owned(),
        stats.pending_compaction_bytes.to_string(),
    );
    map
}

/// Writes, logs and stalls of the database.
pub(super) fn db_text(stats: &DbStats) -> String {
    let writes = &stats.writes;
    let uptime = seconds(stats.uptime_micros);
    let stalls = stats.stalls.total();
    let mut out = "\n** DB Stats **\n".to_owned();
    let _ = writeln!(out, "Uptime(secs): {uptime:.1} total");
    let _ = writeln!(
        out,
        "Cumulative writes: {} writes, {} keys, {} commit groups, {:.1} writes per commit group, ingest: {:.2} GB, {:.2} MB/s",
        writes.batches,
        writes.keys,
        writes.groups,
        rate(writes.batches as f64, writes.groups as f64),
        writes.bytes as f64 / GB,
        rate(writes.bytes as f64 / MB, uptime)
    );
    let _ = writeln!(
        out,
        "Cumulative WAL: {} writes, {} syncs, {:.2} writes per sync, written: {:.2} GB, {:.2} MB/s",
        writes.log_records,
        writes.log_syncs,
        rate(writes.log_records as f64, writes.log_syncs as f64),
        writes.log_bytes as f64 / GB,
        rate(writes.log_bytes as f64 / MB, uptime)
    );
    let stalled = stalls.micros / 1000;
    let _ = writeln!(
        out,
        "Cumulative stall: {:02}:{:02}:{:02}.{:03} H:M:S, {:.1} percent",
        stalled / 3_600_000,
        stalled / 60_000 % 60,
        stalled / 1000 % 60,
        stalled % 1000,
        rate(seconds(stalls.micros) * 100.0, uptime)
    );
    out + &stall_text(&stats.stalls) + &holders_text(&stats.holders)
}

/// Who keeps old states alive, and what that costs.
fn holders_text(holders: &HolderStats) -> String {
    let pinned = &holders.pinned;
    let mut out = format!(
        "Holders: {} iterators, {} snapshots, pinned: {} tables ({:.2} MB), {} memtables ({:.2} MB)\n",
        holders.iterators,
        holders.snapshots,
        pinned.tables,
        pinned.table_bytes as f64 / MB,
        pinned.memtables,
        pinned.memtable_bytes as f64 / MB
    );
    for holder in &holders.oldest {
        let tag = holder.tag.as_ref().map_or(String::new(), |tag| format!(" {tag:?}"));
        let family = holder.family.as_ref().map_or(String::new(), |name| format!(" [{name}]"));
        let _ = writeln!(
            out,
            "  {}{tag}{family} {:.1} s, seqno {}, pinned: {} tables ({:.2} MB), {} memtables ({:.2} MB)",
            holder.kind.name(),
            holder.age.as_secs_f64(),
            holder.seqno.get(),
            holder.pinned.tables,
            holder.pinned.table_bytes as f64 / MB,
            holder.pinned.memtables,
            holder.pinned.memtable_bytes as f64 / MB
        );
    }
    out
}

/// The same as a map.
pub(super) fn db_map(stats: &DbStats) -> Map {
    let writes = &stats.writes;
    let by_leaders = writes.groups.min(writes.batches);
    let fields = [
        ("db.uptime", stats.uptime_micros / 1_000_000),
        ("db.wal_bytes_written", writes.log_bytes),
        ("db.wal_syncs", writes.log_syncs),
        ("db.user_bytes_written", writes.bytes),
        ("db.user_keys_written", writes.keys),
        ("db.user_writes_by_self", by_leaders),
        ("db.user_writes_by_other", writes.batches - by_leaders),
        ("db.user_writes_with_wal", writes.log_records),
        ("db.user_write_stall_micros", stats.stalls.total().micros),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect()
}

/// RocksDB's words for the causes of stalls.
const fn cause_name(cause: StallCause) -> &'static str {
    match cause {
        StallCause::Level0Files => "l0-file-count-limit",
        StallCause::PendingBytes => "pending-compaction-bytes",
        StallCause::Memtables => "memtable-limit",
        StallCause::MemoryBudget => "write-buffer-manager-limit",
    }
}

/// Delays and stops by cause. They are counted for the database: writers of all families wait in one queue.
pub(super) fn stall_map(stats: &StallStats) -> Map {
    let mut map = Map::new();
    let mut put = |name: String, value: u64| map.insert(name, value.to_string());
    for cause in StallCause::ALL {
        let count = stats.cause(cause);
        put(format!("{}-delays", cause_name(cause)), count.delays);
        put(format!("{}-stops", cause_name(cause)), count.stops);
    }
    put("total-delays".to_owned(), stats.total().delays);
    put("total-stops".to_owned(), stats.total().stops);
    map
}

pub(super) fn stall_text(stats: &StallStats) -> String {
    let all: Vec<String> =
        stall_map(stats).iter().map(|(name, value)| format!("{name}: {value}")).collect();
    format!("Write Stall (count): {}\n", all.join(", "))
}

/// Tables and bytes of each level.
pub(super) fn level_text(stats: &FamilyStats) -> String {
    let mut out = "Level Files Size(MB)\n--------------------\n".to_owned();
    for level in &stats.levels {
        let _ =
            writeln!(out, "{:>3} {:>8} {:>8.0}", level.level, level.files, level.bytes as f64 / MB);
    }
    out
}

/// The tables of each level: number, bytes, sequence numbers, bounds.
pub(super) fn tables_text(version: &Version) -> String {
    let boundary = |key: &[u8]| match InternalKey::decode(key) {
        Ok(key) => {
            format!("'{}' seq:{}, type:{}", hex(key.user_key), key.seqno, key.value_type as u8)
        }
        Err(_) => format!("'{}'", hex(key)),
    };
    let mut out = String::new();
    for (at, level) in version.levels().iter().enumerate() {
        let _ = writeln!(out, "--- level {at} ---");
        for file in level.files() {
            let _ = writeln!(
                out,
                " {}:{}[{} .. {}][{} .. {}]",
                file.number.get(),
                file.file_bytes,
                file.smallest_seqno,
                file.largest_seqno,
                boundary(&file.smallest),
                boundary(&file.largest)
            );
        }
    }
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// Sums of tables' properties, on one line.
pub(super) fn sums_text(sums: &TableSums) -> String {
    let average = |bytes: u64| rate(bytes as f64, sums.entries as f64);
    let fields = [
        ("# data blocks", sums.data_blocks.to_string()),
        ("# entries", sums.entries.to_string()),
        ("# deletions", sums.deletions.to_string()),
        ("# merge operands", sums.merge_operands.to_string()),
        ("# range deletions", sums.range_deletions.to_string()),
        ("raw key size", sums.raw_key_bytes.to_string()),
        ("raw average key size", format!("{:.6}", average(sums.raw_key_bytes))),
        ("raw value size", sums.raw_value_bytes.to_string()),
        ("raw average value size", format!("{:.6}", average(sums.raw_value_bytes))),
        ("data block size", sums.data_bytes.to_string()),
        ("index block size", sums.index_bytes.to_string()),
        ("filter block size", sums.filter_bytes.to_string()),
        ("# entries for filter", sums.filter_entries.to_string()),
        (
            "(estimated) table size",
            sums.data_bytes
                .saturating_add(sums.index_bytes)
                .saturating_add(sums.filter_bytes)
                .to_string(),
        ),
    ];
    fields.iter().map(|(name, value)| format!("{name}={value}; ")).collect()
}

/// RocksDB's name of what a role is there.
const fn entry_role(role: Role) -> &'static str {
    match role {
        Role::Data => "data-block",
        Role::IndexPiece => "index-block",
        Role::FilterPiece => "filter-block",
        Role::TopLevel => "filter-meta-block",
        Role::TableHandle => "block-based-table-reader",
        Role::Memtable => "write-buffer",
        _ => "misc",
    }
}

/// Bytes in the cache by role.
pub(super) fn cache_map(cache: &CacheStats) -> Map {
    let mut bytes: BTreeMap<&str, u64> = BTreeMap::new();
    for role in Role::ALL {
        *bytes.entry(entry_role(role)).or_default() += cache.role(role).bytes;
    }
    let mut map = Map::from([("capacity".to_owned(), cache.budget_bytes().to_string())]);
    for (role, bytes) in bytes {
        let percent = rate(bytes as f64 * 100.0, cache.budget_bytes() as f64);
        map.insert(format!("bytes.{role}"), bytes.to_string());
        map.insert(format!("percent.{role}"), format!("{percent:.6}"));
    }
    map
}

pub(super) fn cache_text(cache: &CacheStats) -> String {
    let mut out = format!(
        "Block cache capacity: {:.2} MB usage: {:.2} MB\nBlock cache entry stats(size,portion):",
        cache.budget_bytes() as f64 / MB,
        cache.usage_bytes() as f64 / MB
    );
    for role in Role::ALL {
        let bytes = cache.role(role).bytes;
        if bytes > 0 {
            let percent = rate(bytes as f64 * 100.0, cache.budget_bytes() as f64);
            let _ = write!(out, " {}({:.2} KB,{percent:.3}%)", role.name(), bytes as f64 / 1024.0);
        }
    }
    out.push('\n');
    out
}

/// Counters under RocksDB's names, those that are counted here.
pub(super) fn ticker_text(stats: &DbStats) -> String {
    let cache = &stats.cache;
    let of = |roles: &[Role]| {
        roles.iter().fold((0, 0), |(hits, misses), role| {
            let found = cache.role(*role);
            (hits + found.hits, misses + found.misses)
        })
    };
    let index = of(&[Role::IndexPiece]);
    let filter = of(&[Role::FilterPiece]);
    let data = of(&[Role::Data]);
    let total = cache.total();
    let writes = &stats.writes;
    let counters = [
        ("rocksdb.block.cache.miss", total.misses),
        ("rocksdb.block.cache.hit", total.hits),
        ("rocksdb.block.cache.add", total.inserts),
        ("rocksdb.block.cache.index.miss", index.1),
        ("rocksdb.block.cache.index.hit", index.0),
        ("rocksdb.block.cache.filter.miss", filter.1),
        ("rocksdb.block.cache.filter.hit", filter.0),
        ("rocksdb.block.cache.data.miss", data.1),
        ("rocksdb.block.cache.data.hit", data.0),
        ("rocksdb.block.cache.bytes.write", total.inserted_bytes),
        ("rocksdb.number.keys.written", writes.keys),
        ("rocksdb.bytes.written", writes.bytes),
        ("rocksdb.write.self", writes.groups.min(writes.batches)),
        ("rocksdb.write.other", writes.batches.saturating_sub(writes.groups)),
        ("rocksdb.write.wal", writes.log_records),
        ("rocksdb.wal.synced", writes.log_syncs),
        ("rocksdb.wal.bytes", writes.log_bytes),
        ("rocksdb.stall.micros", stats.stalls.total().micros),
    ];
    counters.iter().map(|(name, value)| format!("{name} COUNT : {value}\n")).collect()
}
