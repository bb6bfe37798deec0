//! What is told of large databases alone: databases of RocksDB, made larger as values.

use partita::io::DiskFileSystem;
use partita_testkit::golden;

use super::{Case, examine};
use crate::finding::{Finding, Value};
use crate::model::{Database, FilterShape, LogFile, TableLayout, TableState};
use crate::read::read_database;
use crate::request::Request;
use crate::settings::Settings;

fn database(name: &str) -> Database {
    read_database(&DiskFileSystem, &golden::get(name).path()).unwrap()
}

fn found(database: &Database, code: &str) -> Option<Finding> {
    let request = Request::default();
    let settings = &Settings::of(database, &request, None);
    let case = Case { database, settings, request: &request, asked: None, verified: None };
    let mut findings = examine(&case);
    findings.retain(|finding| finding.code == code);
    assert!(findings.len() < 2, "{code} is told once: {findings:?}");
    findings.pop()
}

/// Each table so many times over.
fn repeat(database: &mut Database, times: usize) {
    let tables = std::mem::take(&mut database.tables);
    database.tables = (0..times).flat_map(|_| tables.clone()).collect();
}

fn log(number: u64, bytes: u64) -> LogFile {
    LogFile {
        number,
        bytes,
        is_needed: true,
        was_read: false,
        records: 1,
        entries: 1,
        damages: Vec::new(),
        problem: None,
    }
}

fn set_option(database: &mut Database, old: &str, new: &str) {
    let options = database.options.as_mut().unwrap();
    let text = String::from_utf8(options.text.clone()).unwrap();
    assert!(text.contains(old), "{text}");
    options.text = text.replace(old, new).into_bytes();
}

#[test]
fn an_opening_of_thousands_of_tables_is_told_unless_they_are_opened_when_they_are_asked() {
    let mut database = database("locations-full-filter");
    assert_eq!(database.tables.len(), 4);
    repeat(&mut database, 1249);
    assert!(found(&database, "slow-open").is_none());
    let four = database.tables[..4].to_vec();
    database.tables.extend(four);
    let finding = found(&database, "slow-open").unwrap();
    assert_eq!(finding.value("tables"), Some(&Value::Count(5000)));
    assert_eq!(finding.value("reads"), Some(&Value::Count(10_000)));
    set_option(&mut database, "max_open_files=-1", "max_open_files=1000");
    assert!(found(&database, "slow-open").is_none());
}

#[test]
fn tables_of_gigabytes_lean_on_the_system_s_cache_unless_reads_go_past_it() {
    let mut database = database("plain-defaults");
    let cache = 32 << 20;
    let tables = database.tables.len() as u64;
    set_file_bytes(&mut database, ((1 << 30) - (1 << 20)) / tables);
    assert!(found(&database, "page-cache").is_none());
    set_file_bytes(&mut database, (2 << 30) / tables);
    let all: u64 = database.tables.iter().map(|table| table.file_bytes).sum();
    let finding = found(&database, "page-cache").unwrap();
    assert_eq!(finding.value("page_cache_bytes"), Some(&Value::Bytes(all - cache)));
    set_option(&mut database, "use_direct_reads=false", "use_direct_reads=true");
    assert!(found(&database, "page-cache").is_none());
}

/// Changes the layouts of all tables.
fn change_layouts(database: &mut Database, change: impl Fn(&mut TableLayout)) {
    for table in &mut database.tables {
        if let TableState::Seen(layout) = &mut table.state {
            change(layout);
        }
    }
}

fn set_file_bytes(database: &mut Database, bytes: u64) {
    for table in &mut database.tables {
        table.file_bytes = bytes;
    }
}

#[test]
fn filters_of_the_last_level_are_told_if_they_are_large_and_do_not_say_no() {
    let mut database = database("locations-full-filter");
    let last = database.tables.iter().map(|table| table.level).max().unwrap();
    assert!(last > 0);
    assert!(found(&database, "last-level-filters").is_none(), "they are small");
    change_layouts(&mut database, |layout| layout.filter.pieces.bytes = 20 << 20);
    let severity = |database: &Database| {
        found(database, "last-level-filters").map(|finding| finding.severity.as_str())
    };
    assert_eq!(severity(&database), Some("note"), "nobody knows whether they pay");
    let answers = |database: &mut Database, useful, positive| {
        let tickers = &mut database.info_log.tickers;
        tickers.insert("bloom.filter.useful".to_owned(), useful);
        tickers.insert("bloom.filter.full.positive".to_owned(), positive);
    };
    answers(&mut database, 400, 9_600);
    assert_eq!(severity(&database), Some("warning"));
    answers(&mut database, 600, 9_400);
    assert_eq!(severity(&database), None, "they pay");
    answers(&mut database, 10, 100);
    assert_eq!(severity(&database), Some("note"), "too few to know");
}

#[test]
fn data_without_filters_is_told_unless_they_were_left_out_on_the_last_level() {
    let mut database = database("locations-full-filter");
    set_file_bytes(&mut database, 20 << 20);
    assert!(found(&database, "no-filters").is_none());
    change_layouts(&mut database, |layout| layout.filter.shape = FilterShape::None);
    let finding = found(&database, "no-filters").unwrap();
    assert_eq!(finding.value("bytes"), Some(&Value::Bytes(80 << 20)));
    let hits = ["optimize_filters_for_hits=false", "optimize_filters_for_hits=true"];
    set_option(&mut database, hits[0], hits[1]);
    let on_last = database.tables.iter().map(|table| table.level).max();
    let others = database.tables.iter().filter(|table| Some(table.level) != on_last).count();
    assert!(others < 4, "64 MiB are worth a word");
    assert!(found(&database, "no-filters").is_none());
}

#[test]
fn the_family_that_keeps_old_logs_is_named_first() {
    let mut database = database("families-merge-ranges-wal");
    database.logs = vec![log(100, 40 << 20), log(101, 40 << 20), log(102, 1 << 20)];
    for family in &mut database.families {
        family.log_number = if family.name == "keys" { 100 } else { 102 };
    }
    let held = found(&database, "logs-held").unwrap();
    assert_eq!(held.value("bytes"), Some(&Value::Bytes(81 << 20)));
    let evidence = held.evidence.unwrap();
    assert_eq!((evidence.total, evidence.rows[0][0].to_string()), (1, "keys".to_owned()));
    // Little is kept; everybody has flushed; there is nobody to keep it for.
    database.logs[0].bytes = 1 << 20;
    assert!(found(&database, "logs-held").is_none());
    database.logs[0].bytes = 40 << 20;
    for family in &mut database.families {
        family.log_number = 102;
    }
    assert!(found(&database, "logs-held").is_none());
    database.families.truncate(1);
    database.families[0].log_number = 100;
    assert!(found(&database, "logs-held").is_none());
}

#[test]
fn logs_that_a_manifest_lists_are_missed_if_they_are_not_there_or_shorter_than_was_synced() {
    let mut database = database("families-merge-ranges-wal");
    database.logs = vec![log(100, 500)];
    database.manifest.as_mut().unwrap().logs = vec![(100, Some(500))];
    assert!(found(&database, "logs-missing").is_none());
    database.manifest.as_mut().unwrap().logs = vec![(100, Some(501)), (99, None)];
    let finding = found(&database, "logs-missing").unwrap();
    let evidence = finding.evidence.unwrap();
    let told: Vec<String> = evidence.rows.iter().map(|row| row[0].to_string()).collect();
    assert_eq!(told, ["000100.log", "000099.log"]);
    // The owner was at work meanwhile, and has removed them.
    database.changes_seen = 1;
    assert!(found(&database, "logs-missing").is_none());
}
