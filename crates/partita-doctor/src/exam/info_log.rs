//! What LOG tells of the past: stalls by cause, trouble by kind, and who hit the cache.

use crate::exam::Case;
use crate::finding::{Evidence, Finding, Remedy, Setting, Severity, Value};
use crate::model::StallCause;
use crate::units::{count, counted};

pub(super) fn examine(case: &Case<'_>) -> Vec<Finding> {
    [stalls(case), trouble(case), cache(case)].into_iter().flatten().collect()
}

fn cause_in_words(cause: StallCause) -> &'static str {
    match cause {
        StallCause::Memtables => "memtables waited for their flush",
        StallCause::Level0 => "tables gathered on level 0",
        StallCause::PendingCompaction => "compactions fell behind",
    }
}

fn stalls(case: &Case<'_>) -> Option<Finding> {
    let stalls = &case.database.info_log.stalls;
    if stalls.is_empty() {
        return None;
    }
    let total: u64 = stalls.iter().map(|stall| stall.count).sum();
    let stops: u64 = stalls.iter().filter(|stall| stall.stopped).map(|stall| stall.count).sum();
    let title = format!(
        "writes were held up {}, and stopped in {} of them",
        counted(total, "time"),
        count(stops)
    );
    let consequence = "All writers of the database wait, whatever family they write to. Writes come faster than flushes and \
        compactions get rid of them, at least in bursts.";
    let mut sorted: Vec<_> = stalls.iter().collect();
    sorted.sort_by_key(|stall| (std::cmp::Reverse(stall.stopped), std::cmp::Reverse(stall.count)));
    let rows = sorted.iter().map(|stall| {
        vec![
            Value::text(stall.family.as_str()),
            Value::text(if stall.stopped { "stopped" } else { "slowed down" }),
            Value::Count(stall.count),
            Value::text(cause_in_words(stall.cause)),
        ]
    });
    let evidence = Evidence::new("kind", &["family", "writes", "times", "because"], rows);
    let mut finding =
        Finding::new(Severity::Warning, "write-stalls", title, consequence).evidence(evidence);
    for cause in [StallCause::Memtables, StallCause::Level0, StallCause::PendingCompaction] {
        if stalls.iter().any(|stall| stall.cause == cause) {
            finding = finding.remedy(remedy(cause));
        }
    }
    Some(finding)
}

fn remedy(cause: StallCause) -> Remedy {
    let (what, settings) = match cause {
        StallCause::Memtables => (
            "memtables: allow more of them, and more flushes at a time",
            [family("max_write_buffer_number", "6", "setMaxWriteBufferNumber(6)"), jobs()],
        ),
        StallCause::Level0 => (
            "level 0: let more compactions run, each in several parts",
            [jobs(), db("max_subcompactions", "4", "setMaxSubcompactions(4)")],
        ),
        StallCause::PendingCompaction => (
            "compactions: give them more threads; raise the limit only if the backlog is worked off in time",
            [
                jobs(),
                family(
                    "soft_pending_compaction_bytes_limit",
                    "137438953472",
                    "setSoftPendingCompactionBytesLimit(137438953472L)",
                ),
            ],
        ),
    };
    Remedy::new(what)
        .settings(settings)
        .partita("slows writers by measure before it stops them; Db::stall_stats counts by cause")
}

fn jobs() -> Setting {
    db("max_background_jobs", "8", "setMaxBackgroundJobs(8)")
}

fn db(option: &str, value: &str, java: &str) -> Setting {
    setting("DBOptions", option, value, java)
}

fn family(option: &str, value: &str, java: &str) -> Setting {
    setting("ColumnFamilyOptions", option, value, java)
}

fn setting(class: &str, option: &str, value: &str, java: &str) -> Setting {
    Setting {
        cpp: format!("{class}::{option} = {value}"),
        java: format!("{class}.{java}"),
        options_file: Some(format!("{option}={value}")),
        bookie: None,
    }
}

fn trouble(case: &Case<'_>) -> Option<Finding> {
    let errors = &case.database.info_log.errors;
    if errors.is_empty() {
        return None;
    }
    let total: u64 = errors.iter().map(|error| error.count).sum();
    let title = format!("LOG tells of trouble in {}", counted(total, "line"));
    let consequence = "What it was about may be over. After a failed flush or compaction RocksDB takes no writes until it is \
        resumed or opened again.";
    let rows = errors.iter().map(|error| {
        vec![
            Value::text(error.kind),
            Value::Count(error.count),
            Value::text(shortened(&error.example)),
        ]
    });
    let finding = Finding::new(Severity::Warning, "logged-trouble", title, consequence)
        .evidence(Evidence::new("kind", &["what", "lines", "the first"], rows));
    Some(finding)
}

fn shortened(line: &str) -> String {
    const CHARS_MAX: usize = 70;
    match line.char_indices().nth(CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// Hits and misses by role, where statistics are collected.
fn cache(case: &Case<'_>) -> Option<Finding> {
    let log = &case.database.info_log;
    let ticker =
        |role: &str, what: &str| log.ticker(&format!("block.cache.{role}.{what}")).unwrap_or(0);
    let roles: Vec<(&str, u64, u64, u64)> = ["filter", "index", "data"]
        .into_iter()
        .map(|role| (role, ticker(role, "hit"), ticker(role, "miss"), ticker(role, "bytes.insert")))
        .filter(|(_, hits, misses, _)| hits + misses > 0)
        .collect();
    if roles.is_empty() {
        return None;
    }
    let gets = log.ticker("number.keys.read").unwrap_or(0);
    let metadata_misses: u64 =
        roles.iter().filter(|(role, ..)| *role != "data").map(|(_, _, misses, _)| misses).sum();
    let is_bad = gets >= GETS_MIN && metadata_misses as f64 / gets as f64 > MISSES_PER_GET_MAX;
    let severity = if is_bad { Severity::Warning } else { Severity::Note };
    let title = match is_bad {
        true => "lookups miss index and filter blocks in the cache",
        false => "what the cache did, as LOG counts",
    };
    let consequence = "Counted since the last open. A filter or index block that is missed is read as a whole; RocksDB counts it \
        like a data block, whatever its size.";
    let rows = roles.iter().map(|(role, hits, misses, bytes)| {
        let mut row = vec![
            Value::text(*role),
            Value::Count(*hits),
            Value::Count(*misses),
            Value::Share(*hits as f64 / (hits + misses) as f64),
            Value::Bytes(*bytes),
        ];
        row.push(bytes.checked_div(gets).map_or(Value::text(""), Value::Bytes));
        row
    });
    let columns = ["blocks", "hits", "misses", "hit rate", "read", "read per get"];
    let finding = Finding::new(severity, "logged-cache", title, consequence)
        .figure("gets", "gets", Value::Count(gets))
        .evidence(Evidence::new("role", &columns, rows));
    Some(finding)
}

/// Lookups before their misses say something.
const GETS_MIN: u64 = 1000;
/// Misses of index and filter per lookup that are too many.
const MISSES_PER_GET_MAX: f64 = 0.2;
