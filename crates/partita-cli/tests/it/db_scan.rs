//! `partita db scan` and `partita db get`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use partita_testkit::golden::{self, GoldenDb};

use crate::run::{Run, command, fingerprint, partita};

/// Databases that are refused, with what the refusal must name.
const REFUSED: [(&str, &str); 2] =
    [("blob-files", "blob files"), ("foreign-comparator", "omparator")];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn db(command: &str, db: &GoldenDb, args: &[&str]) -> Run {
    let path = db.path();
    let dir = path.to_str().unwrap();
    partita(["db", command, dir].iter().chain(args))
}

fn scan(golden: &GoldenDb, args: &[&str]) -> Vec<String> {
    db("scan", golden, args).clean().lines().map(str::to_owned).collect()
}

fn expected(golden: &GoldenDb, family: &str) -> Vec<String> {
    let line = |(key, value): &(Vec<u8>, Vec<u8>)| format!("{}\t{}", hex(key), hex(value));
    golden.expected(family).iter().map(line).collect()
}

#[test]
fn every_golden_database_is_printed_as_rocksdb_reads_it_and_left_alone() {
    for golden in golden::all() {
        let before = fingerprint(&golden.path());
        if let Some((_, why)) = REFUSED.iter().find(|(name, _)| *name == golden.name()) {
            let run = db("scan", &golden, &[]);
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", golden.name());
            assert!(run.stderr.contains(why), "{}", run.stderr);
            continue;
        }
        for family in golden.families() {
            let mut rows = expected(&golden, &family);
            let args = ["--hex", "--cf", &family];
            assert!(scan(&golden, &args) == rows, "{} {family}", golden.name());
            rows.reverse();
            let reverse = scan(&golden, &[&args[..], &["--reverse"]].concat());
            assert!(reverse == rows, "{} {family}, reverse", golden.name());
        }
        assert!(fingerprint(&golden.path()) == before, "{} was changed", golden.name());
    }
}

#[test]
fn bounds_and_limits_cut_the_output_in_both_directions() {
    // Tables of several levels, merges, range deletions, and a log.
    let golden = golden::get("families-merge-ranges-wal");
    let all = expected(&golden, "keys");
    let key = |at: usize| all[at].split('\t').next().unwrap();
    let bounds = ["--hex", "--cf", "keys", "--from", key(100), "--to", key(200)];
    assert_eq!(scan(&golden, &bounds), all[100..200]);
    assert_eq!(scan(&golden, &[&bounds[..], &["--limit", "3"]].concat()), all[100..103]);
    let reverse = scan(&golden, &[&bounds[..], &["--reverse", "--limit", "2"]].concat());
    assert_eq!(reverse, [all[199].clone(), all[198].clone()]);
    assert_eq!(scan(&golden, &["--limit", "0"]), Vec::<String>::new());
    let backwards = ["--hex", "--cf", "keys", "--from", key(200), "--to", key(100)];
    assert_eq!(scan(&golden, &backwards), Vec::<String>::new());
    assert_eq!(scan(&golden, &[&backwards[..], &["--reverse"]].concat()), Vec::<String>::new());
}

#[test]
fn a_key_copied_from_the_output_is_found_again() {
    for name in ["odd-keys", "ribbon-zstd-dictionary", "wal-only"] {
        let golden = golden::get(name);
        let lines = scan(&golden, &["--limit", "20"]);
        for line in &lines {
            let (key, value) = line.split_once('\t').unwrap();
            let got = db("get", &golden, &["--", key]).clean();
            assert_eq!(got.strip_suffix('\n'), Some(value), "{name} {key:?}");
            assert_eq!(&scan(&golden, &["--limit", "1", "--from", key])[0], line, "{name}");
        }
    }
}

#[test]
fn get_prints_the_value_and_says_by_its_exit_code_when_there_is_none() {
    let golden = golden::get("families-merge-ranges-wal");
    for (key, value) in golden.expected("openKeys").iter().step_by(97) {
        let run = db("get", &golden, &["--hex", "--cf", "openKeys", &hex(key)]);
        assert_eq!(run.clean(), format!("{}\n", hex(value)));
    }
    let run = db("get", &golden, &["no such key"]);
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (1, "", ""));
    let run = db("get", &golden, &["--json", "no such key"]);
    assert_eq!((run.code, &*run.stdout), (1, "{\"key\":\"no such key\",\"value\":null}\n"));
    // A key of another family.
    let (key, _) = &golden.expected("openKeys")[0];
    if !golden.expected("keys").iter().any(|(other, _)| other == key) {
        assert_eq!(db("get", &golden, &["--hex", "--cf", "keys", &hex(key)]).code, 1);
    }
}

#[test]
fn json_is_one_object_a_key() {
    let golden = golden::get("odd-keys");
    let lines = scan(&golden, &["--hex", "--json"]);
    let rows: Vec<String> = lines
        .iter()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|pair| {
            format!("{}\t{}", pair["key"].as_str().unwrap(), pair["value"].as_str().unwrap())
        })
        .collect();
    assert!(rows == expected(&golden, "default"));
}

#[test]
fn what_cannot_be_read_is_told_with_exit_code_2() {
    let golden = golden::get("families-merge-ranges-wal");
    let empty = tempfile::tempdir().unwrap();
    let fails = |run: Run, why: &str| {
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
        assert!(run.stderr.starts_with("partita: ") && run.stderr.contains(why), "{}", run.stderr);
    };
    fails(db("scan", &golden, &["--cf", "none"]), "no column family \"none\"");
    fails(db("scan", &golden, &["--hex", "--from", "xyz"]), "--from \"xyz\"");
    fails(db("get", &golden, &["--hex", "0"]), "KEY \"0\"");
    fails(db("scan", &golden, &["--merge-operator", "none"]), "--merge-operator \"none\"");
    let dir = empty.path().to_str().unwrap();
    fails(partita(["db", "scan", dir]), "holds no database");
    fails(partita(["db", "get", dir, "k"]), "holds no database");
}

#[test]
fn damage_ends_the_output_with_a_complaint_and_exit_code_2() {
    let golden = golden::get("plain-defaults");
    let table = &golden.sst_paths()[0];
    let mut bytes = std::fs::read(table).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(table, bytes).unwrap();
    let run = db("scan", &golden, &["--hex"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.starts_with("partita: corruption: "), "{}", run.stderr);
    let rows: Vec<String> = run.stdout.lines().map(str::to_owned).collect();
    let all = expected(&golden, "default");
    assert!(!rows.is_empty() && rows.len() < all.len() && all.starts_with(&rows));
}

#[test]
fn the_operator_of_the_command_line_goes_before_the_one_of_the_options_file() {
    let golden = golden::get("families-merge-ranges-wal");
    let options = |name: &str| {
        let scanned = db("scan", &golden, &["--cf", "keys", "--merge-operator", name]);
        scanned.clean()
    };
    let by_file = db("scan", &golden, &["--cf", "keys"]).clean();
    assert_eq!(options("StringAppendOperator"), by_file);
    assert_eq!(options("stringappend"), by_file);
    assert_ne!(options("MaxOperator"), by_file);
}

#[test]
fn an_unknown_operator_is_told_by_name_and_bars_its_own_family_only() {
    let golden = golden::get("families-merge-ranges-wal");
    let entries = fs::read_dir(golden.path()).unwrap().map(|entry| entry.unwrap().path());
    let options = entries.filter(|path| path.to_string_lossy().contains("/OPTIONS-")).max();
    let options = options.unwrap();
    let text = fs::read_to_string(&options).unwrap();
    let section = text.find("[CFOptions \"keys\"]").unwrap();
    let at = section + text[section..].find("merge_operator=").unwrap();
    let end = at + text[at..].find('\n').unwrap();
    let text = format!("{}merge_operator=example.Own{}", &text[..at], &text[end..]);
    fs::write(&options, text).unwrap();
    let before = fingerprint(&golden.path());
    let run = db("scan", &golden, &["--cf", "keys"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("example.Own"), "{}", run.stderr);
    assert!(scan(&golden, &["--hex"]) == expected(&golden, "default"));
    let args = ["--hex", "--cf", "keys", "--merge-operator", "StringAppendOperator"];
    assert!(scan(&golden, &args) == expected(&golden, "keys"));
    assert!(fingerprint(&golden.path()) == before);
}

/// RocksDB 6 writes the database's own directory into its OPTIONS file as that of the logs. A copy that names the original,
/// which still lives, must not be read with the original's logs.
#[test]
fn a_copy_is_read_with_its_own_logs_and_logs_that_stand_apart_are_found() {
    let name_wal_dir = |golden: &GoldenDb, dir: &Path| {
        let entries = fs::read_dir(golden.path()).unwrap().map(|entry| entry.unwrap().path());
        let is_options = |path: &PathBuf| path.to_string_lossy().contains("/OPTIONS-");
        let options = entries.filter(is_options).max().unwrap();
        let section = "[DBOptions]\n";
        let named = format!("{section}  wal_dir={}\n", dir.display());
        let text = fs::read_to_string(&options).unwrap();
        assert!(text.contains(section));
        fs::write(&options, text.replace(section, &named)).unwrap();
    };
    let (copy, original) = (golden::get("wal-only"), golden::get("families-merge-ranges-wal"));
    name_wal_dir(&copy, &original.path());
    assert!(scan(&copy, &["--hex"]) == expected(&copy, "default"));

    let apart = golden::get("wal-only");
    let logs = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(apart.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "log") {
            fs::copy(&path, logs.path().join(path.file_name().unwrap())).unwrap();
            fs::remove_file(&path).unwrap();
        }
    }
    name_wal_dir(&apart, logs.path());
    assert!(scan(&apart, &["--hex"]) == expected(&apart, "default"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let golden = golden::get("locations-full-filter");
    let mut child = command(["db", "scan"])
        .arg(golden.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::with_capacity(100, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(line.contains('\t'), "{line}");
}
