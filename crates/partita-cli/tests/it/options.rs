//! `partita db options`: findings by line, what holds, exit codes.

use std::fs;

use partita_testkit::golden;
use serde_json::Value;

use crate::run::{assert_golden, fingerprint, partita};

const IN_VAIN: &str = "\
[DBOptions]
  create_if_missing=true
  colour=green
  max_open_fils=10
[CFOptions \"default\"]
  write_buffer_size=lots
  compression=kLZ4Compression
[TableOptions/BlockBasedTable \"default\"]
  partition_filters=true
  index_type=kBinarySearch
  pin_l0_filter_and_index_blocks_in_cache=true
  block_cache=206150041";

/// The output of a run over `text`, with the file's directory left out.
fn told(text: &str, arguments: &[&str]) -> (i32, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("my.ini");
    fs::write(&path, text).unwrap();
    let arguments = ["db", "options"].iter().chain(arguments).copied();
    let run = partita(arguments.chain([path.to_str().unwrap()]));
    assert_eq!(run.stderr, "");
    (run.code, run.stdout.replace(&format!("{}/", dir.path().display()), ""))
}

#[test]
fn everything_asked_in_vain_is_told_by_line() {
    let (code, text) = told(IN_VAIN, &[]);
    assert_eq!(code, 1);
    assert_golden("options-in-vain.txt", &text);
}

#[test]
fn every_option_is_shown_as_asked_and_as_it_holds() {
    let (code, text) = told(IN_VAIN, &["--effective", "--lenient"]);
    assert_eq!(code, 0);
    assert_golden("options-effective.txt", &text);
}

#[test]
fn json_holds_the_findings_and_what_holds() {
    let (code, text) = told(IN_VAIN, &["--json", "--effective"]);
    assert_eq!(code, 1);
    let json: Value = serde_json::from_str(&text).unwrap();
    let findings = json["findings"].as_array().unwrap();
    let errors: Vec<&str> = findings
        .iter()
        .filter(|finding| finding["severity"] == "error")
        .map(|finding| finding["code"].as_str().unwrap())
        .collect();
    assert_eq!(errors, ["unknown-option", "misspelt-option", "bad-value", "conflict", "conflict"]);
    assert_eq!(findings[0]["line"], 3);
    let options = json["options"].as_array().unwrap();
    let cache = options.iter().find(|option| option["name"] == "block_cache").unwrap();
    assert_eq!(
        (cache["asked"].as_str(), cache["effect"].as_str()),
        (Some("206150041"), Some("run-time object"))
    );
    assert!(options.len() > 200);
}

#[test]
fn a_directory_stands_for_its_newest_file_and_nothing_is_touched() {
    let db = golden::get("families-merge-ranges-wal");
    fs::write(db.path().join("OPTIONS-000006"), "[nonsense]\n").unwrap();
    let before = fingerprint(&db.path());
    let run = partita(["db", "options", "--json", db.path().to_str().unwrap()]);
    let json: Value = serde_json::from_str(&run.clean()).unwrap();
    assert!(json["file"].as_str().unwrap().ends_with("OPTIONS-000007"), "{json}");
    assert_eq!(json["rocksdb_version"], "11.8.1");
    assert!(
        json["findings"].as_array().unwrap().iter().all(|finding| finding["severity"] != "error")
    );
    assert_eq!(fingerprint(&db.path()), before);
}

#[test]
fn what_cannot_be_read_is_complained_about() {
    let dir = tempfile::tempdir().unwrap();
    for (path, complaint) in
        [(dir.path().to_owned(), "no OPTIONS file"), (dir.path().join("none"), "read: ")]
    {
        let run = partita(["db", "options", path.to_str().unwrap()]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        assert!(run.stderr.contains(complaint), "{}", run.stderr);
    }
}

#[test]
fn a_stores_file_is_judged_over_its_profile() {
    let text = "[CFOptions \"keyTable\"]\nwrite_buffer_size=8m\nuse_fsync=true\n\
                [TableOptions/BlockBasedTable \"keyTable\"]\ncache_index_and_filter_blocks=true\n";
    let (code, output) = told(text, &["--profile", "ssd", "--json", "--effective"]);
    assert_eq!(code, 1);
    let json: Value = serde_json::from_str(&output).unwrap();
    let findings = json["findings"].as_array().unwrap();
    let told_of: Vec<_> = findings
        .iter()
        .map(|found| (found["line"].as_u64(), found["code"].as_str(), found["severity"].as_str()))
        .collect();
    let error = Some("error");
    assert_eq!(
        told_of,
        [(Some(3), Some("misplaced-option"), error), (Some(5), Some("no-effect"), error)]
    );
    let of = |family: Option<&str>, name: &str| {
        let options = json["options"].as_array().unwrap();
        let found = options.iter().find(|o| o["family"].as_str() == family && o["name"] == name);
        let found = found.unwrap();
        (found["asked"].clone(), found["holds"].clone(), found["why"].clone())
    };
    let text = |text: &str| Value::from(text);
    let asked = of(Some("keyTable"), "write_buffer_size");
    assert_eq!(asked, (text("8m"), text("8388608"), text("as asked")));
    let of_profile = of(Some("keyTable"), "block_size");
    assert_eq!(of_profile, (Value::Null, text("16384"), text("profile ssd")));
}

#[test]
fn a_profile_is_shown_without_a_file_and_a_store_says_which_tables_there_are() {
    let run = partita(["db", "options", "--profile", "disk", "--effective"]);
    let text = run.clean();
    assert!(text.starts_with("profile disk: built in, "), "{text}");
    let line =
        text.lines().find(|line| line.trim_start().starts_with("write_buffer_size")).unwrap();
    assert!(line.contains("134217728") && line.contains("profile disk"), "{line}");

    let db = golden::get("families-merge-ranges-wal");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("my.ini");
    fs::write(&file, "[CFOptions \"keyTable\"]\n").unwrap();
    let (file, store) = (file.to_str().unwrap().to_owned(), db.path());
    let run =
        partita(["db", "options", "--profile", "ssd", "--store", store.to_str().unwrap(), &file]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("line 1, [CFOptions \"keyTable\"]: "), "{}", run.stdout);
    assert_eq!(partita(["db", "options"]).code, 2);
}
