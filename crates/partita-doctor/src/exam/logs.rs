//! Write-ahead logs: missing or damaged ones, torn ends, and families that keep old ones alive.

use crate::exam::Case;
use crate::finding::{Evidence, Finding, Remedy, Setting, Severity, Value};
use crate::model::{LogDamage, LogFile};
use crate::units::{counted, size};

/// Logs that are kept for one family alone, worth a word from these bytes on.
const HELD_BYTES_MIN: u64 = 64 << 20;

pub(super) fn examine(case: &Case<'_>) -> Vec<Finding> {
    let findings = [missing(case), damaged(case), torn(case), held(case), unflushed(case)];
    findings.into_iter().flatten().collect()
}

/// Logs that the manifest lists, and that are not there or not as long as was synced.
fn missing(case: &Case<'_>) -> Option<Finding> {
    let listed = &case.database.manifest.as_ref()?.logs;
    let wrong = listed.iter().filter_map(|(number, synced)| {
        let found = case.database.logs.iter().find(|log| log.number == *number);
        let bytes = found.map(|log| log.bytes);
        let is_whole = bytes.is_some_and(|bytes| bytes >= synced.unwrap_or(0));
        (!is_whole).then(|| {
            vec![
                Value::text(format!("{number:06}.log")),
                synced.map_or(Value::text(""), Value::Bytes),
                bytes.map_or(Value::text("missing"), Value::Bytes),
            ]
        })
    });
    let evidence = Evidence::new("log", &["log", "synced", "there"], wrong);
    if evidence.total == 0 || case.database.changes_seen > 0 {
        return None;
    }
    let title = format!("{} are missing or too short", counted(evidence.total, "log"));
    let consequence = "Writes that were acknowledged as synced are lost, and RocksDB refuses to open the database \
        (track_and_verify_wals_in_manifest).";
    Some(
        Finding::new(Severity::Error, "logs-missing", title, consequence)
            .evidence(evidence)
            .remedy(Remedy::new("put the logs back; wal_dir may stand in another directory")),
    )
}

fn with_damage<'c>(case: &'c Case<'_>, torn: bool) -> Vec<(&'c LogFile, &'c LogDamage)> {
    let newest = case.database.logs.iter().map(|log| log.number).max();
    let damages = case.database.logs.iter().flat_map(|log| {
        log.damages.iter().map(move |damage| {
            // Only the newest log can have been in the middle of a write.
            let is_torn = damage.is_torn_tail && Some(log.number) == newest;
            (log, damage, is_torn)
        })
    });
    damages
        .filter(|(_, _, is_torn)| *is_torn == torn)
        .map(|(log, damage, _)| (log, damage))
        .collect()
}

fn rows(found: &[(&LogFile, &LogDamage)]) -> Evidence {
    let rows = found.iter().map(|(log, damage)| {
        vec![
            Value::text(format!("{:06}.log", log.number)),
            Value::Count(damage.offset),
            Value::Bytes(damage.bytes),
            Value::Count(log.records),
            Value::text(damage.reason.as_str()),
        ]
    });
    Evidence::new("damage", &["log", "offset", "bytes", "whole records", "what"], rows)
}

fn damaged(case: &Case<'_>) -> Option<Finding> {
    let found = with_damage(case, false);
    if found.is_empty() {
        return None;
    }
    let consequence = "What a recovery makes of it depends on wal_recovery_mode. kPointInTimeRecovery, the default, stops at the \
        damage and loses everything behind it, in this log and those after it; kSkipAnyCorruptedRecords loses the damaged \
        records alone and may bring back what was overwritten; the others refuse to open.";
    Some(
        Finding::new(Severity::Error, "logs-damaged", "a write-ahead log is damaged", consequence)
            .evidence(rows(&found))
            .remedy(Remedy::new("open a copy first, in the mode that loses least")),
    )
}

fn torn(case: &Case<'_>) -> Option<Finding> {
    let found = with_damage(case, true);
    if found.is_empty() {
        return None;
    }
    let consequence = "A process ended within a write, or is writing right now. That write was never acknowledged as synced; all \
        before it is whole and comes back at the next open, but with wal_recovery_mode=kAbsoluteConsistency, which refuses.";
    Some(
        Finding::new(
            Severity::Note,
            "log-torn",
            "the newest write-ahead log ends within a write",
            consequence,
        )
        .evidence(rows(&found)),
    )
}

/// Most of the data stands in logs: what is said of tables is about the rest.
fn unflushed(case: &Case<'_>) -> Option<Finding> {
    let entries: u64 = case.database.needed_logs().map(|log| log.entries).sum();
    let bytes: u64 = case.database.needed_logs().map(|log| log.bytes).sum();
    let in_tables: u64 = case.database.layouts().map(|(_, layout)| layout.entries).sum();
    if entries == 0 || entries < in_tables {
        return None;
    }
    let title = match in_tables {
        0 => "all data is in logs, and none in tables".to_owned(),
        _ => "most data is in logs, and not in tables".to_owned(),
    };
    let consequence = "Memtables have no index, no filter and no blocks for the cache: what is said here of caches and filters is about \
        tables. Each opening reads the logs again, until there was a flush.";
    Some(
        Finding::new(Severity::Note, "data-in-logs", title, consequence)
            .figure("entries", "entries in logs", Value::Count(entries))
            .figure("bytes", "bytes of these logs", Value::Bytes(bytes))
            .figure("table_entries", "entries in tables", Value::Count(in_tables)),
    )
}

/// Families that have not been flushed for long keep all logs since.
fn held(case: &Case<'_>) -> Option<Finding> {
    let newest = case.database.logs.iter().map(|log| log.number).max()?;
    // A family by itself keeps what it has not flushed yet, and no more.
    if case.database.families.len() < 2 {
        return None;
    }
    let mut holders: Vec<(&str, u64, u64)> = case
        .database
        .families
        .iter()
        .filter(|family| family.log_number < newest)
        .map(|family| {
            let held = || case.database.logs.iter().filter(|log| log.number >= family.log_number);
            let oldest = held().map(|log| log.number).min().unwrap_or(family.log_number);
            (&*family.name, oldest, held().map(|log| log.bytes).sum())
        })
        .collect();
    holders.sort_by_key(|(_, log_number, _)| *log_number);
    let bytes = holders.first().map_or(0, |first| first.2);
    if bytes < HELD_BYTES_MIN {
        return None;
    }
    let title = format!(
        "{} of write-ahead logs are kept for families that are seldom flushed",
        size(bytes)
    );
    let consequence = "A log is removed once no family has anything in it that is in no table. One that is hardly written to \
        keeps every log since its last flush: the disk fills, and the next open reads all of them.";
    let rows = holders.iter().map(|(family, log_number, bytes)| {
        vec![
            Value::text(*family),
            Value::text(format!("{log_number:06}.log")),
            Value::Bytes(*bytes),
        ]
    });
    let setting = Setting {
        cpp: "DBOptions::max_total_wal_size = 536870912".to_owned(),
        java: "DBOptions.setMaxTotalWalSize(536870912L)".to_owned(),
        options_file: Some("max_total_wal_size=536870912".to_owned()),
        bookie: None,
    };
    Some(
        Finding::new(Severity::Warning, "logs-held", title, consequence)
            .figure("bytes", "in these logs", Value::Bytes(bytes))
            .evidence(Evidence::new(
                "family",
                &["family", "oldest log needed", "bytes since"],
                rows,
            ))
            .remedy(
                Remedy::new(
                    "flush these families now, and have RocksDB do it when logs reach a size",
                )
                .settings([setting])
                .partita(
                    "knows max_total_wal_size, too; Db::log_stats names the holders while it runs",
                ),
            ),
    )
}
