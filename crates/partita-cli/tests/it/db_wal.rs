//! `partita db wal`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use partita_testkit::golden;

use crate::run::partita;

fn wal(path: &Path, args: &[&str]) -> crate::run::Run {
    partita(["db", "wal", path.to_str().unwrap()].iter().chain(args))
}

/// Of a database that is all log, the changes come to the rows that RocksDB reads.
#[test]
fn the_changes_of_a_log_come_to_the_rows_of_the_database() {
    let golden = golden::get("wal-only");
    let json = wal(&golden.path(), &["--json", "--hex"]).stdout;
    let mut rows = BTreeMap::new();
    let mut next = 1;
    for line in json.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["sequence"], next, "{line}");
        next += record["count"].as_u64().unwrap();
        for change in record["changes"].as_array().unwrap() {
            let text = |field: &str| change[field].as_str().unwrap().to_owned();
            match &*text("op") {
                "put" => drop(rows.insert(text("key"), text("value"))),
                "delete" => drop(rows.remove(&text("key"))),
                other => panic!("{other}"),
            }
        }
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let expected: BTreeMap<String, String> =
        golden.expected("default").iter().map(|(key, value)| (hex(key), hex(value))).collect();
    assert!(rows == expected, "{} and {}", rows.len(), expected.len());
}

#[test]
fn damage_is_told_and_what_stands_around_it_is_printed() {
    let golden = golden::get("wal-only");
    let clean = wal(&golden.path(), &[]);
    let log = clean.stdout.lines().next().unwrap().to_owned();
    assert!(log.ends_with(".log"), "{log}");
    let records = |text: &str| text.lines().filter(|line| line.starts_with("0x")).count();
    let mut bytes = fs::read(&log).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(&log, bytes).unwrap();
    let run = wal(Path::new(&log), &[]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("are not used: "), "{}", run.stderr);
    let (before, after) = (records(&clean.stdout), records(&run.stdout));
    assert!(after > before / 4 && after < before, "{before} and {after}");
}

#[test]
fn a_log_that_is_not_there_is_told_with_exit_code_2() {
    let run = wal(Path::new("/nonexistent/000001.log"), &[]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("000001.log"), "{}", run.stderr);
}
