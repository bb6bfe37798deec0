//! What the tool writes, read by RocksDB 7.8.3 and 9.8.4; and properties, which both answer alike.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use partita::db::DbBuilder;
use partita_compat_debian::random::Random;
use partita_compat_debian::tool::tool;
use partita_compat_debian::{ldb, rocksdict};
use partita_compat_rocks::Row;

/// Runs `partita db load` on these lines; what it printed.
fn load(db: &Path, args: &[&str], lines: &str) -> String {
    let mut child = Command::new(tool(env!("CARGO_TARGET_TMPDIR")))
        .args(["db", "load"])
        .arg(db)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let mut stdin = child.stdin.take().expect("standard input was asked for");
    stdin.write_all(lines.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Changes of every kind, in hexadecimal, and the rows that they come to.
fn changes(random: &mut Random, count: usize, merges: bool) -> (String, Vec<Row>) {
    let mut model = std::collections::BTreeMap::new();
    let mut once = std::collections::BTreeSet::new();
    let mut lines = String::new();
    for i in 0..count {
        let key = format!("k{:04}\0\u{e9}", random.below(500)).into_bytes();
        let value = random.bytes(40);
        match random.below(20) {
            0..=10 => {
                lines += &format!("put\t{}\t{}\n", hex(&key), hex(&value));
                model.insert(key, value);
            }
            11 | 12 => {
                lines += &format!("delete\t{}\n", hex(&key));
                model.remove(&key);
            }
            13 => {
                // A key of its own, put once.
                let key = format!("s{i:06}").into_bytes();
                lines += &format!("put\t{}\t{}\n", hex(&key), hex(&value));
                model.insert(key.clone(), value);
                once.insert(key);
            }
            14 => {
                if let Some(key) = once.pop_first() {
                    lines += &format!("single_delete\t{}\n", hex(&key));
                    model.remove(&key);
                }
            }
            15..=17 if merges => {
                lines += &format!("merge\t{}\t{}\n", hex(&key), hex(&value));
                match model.get_mut(&key) {
                    Some(old) => old.extend([b",", &value[..]].concat()),
                    None => drop(model.insert(key, value)),
                }
            }
            18 if i % 5 == 0 => {
                let from = random.below(500);
                let (from, to) = (format!("k{from:04}"), format!("k{:04}", from + 20));
                lines +=
                    &format!("delete_range\t{}\t{}\n", hex(from.as_bytes()), hex(to.as_bytes()));
                let gone = model.range(from.into_bytes()..to.into_bytes());
                let gone: Vec<Vec<u8>> = gone.map(|(key, _)| key.clone()).collect();
                gone.iter().for_each(|key| drop(model.remove(key)));
            }
            19 if i % 40 == 0 => lines += "flush\n",
            _ => {}
        }
    }
    (lines, model.into_iter().collect())
}

#[test]
fn what_was_loaded_is_read_equal_by_ldb_and_rocksdict() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let mut random = Random(41);
    let mut expected = Vec::new();
    for (family, merges, batch) in
        [("default", false, "1"), ("one", false, "64"), ("sums", true, "100000")]
    {
        let (lines, rows) = changes(&mut random, 6000, merges);
        let mut args = vec!["--create", "--hex", "--cf", family, "--batch", batch];
        if merges {
            args.extend(["--merge-operator", "StringAppendOperator"]);
        }
        let said = load(&db, &args, &lines);
        let puts = lines.lines().filter(|line| line.starts_with("put")).count();
        assert!(said.starts_with(&format!("put\t{puts}\n")), "{said}");
        assert!(rows.len() > 200);
        expected.push((family, rows));
    }
    ldb::check_consistency(&db).unwrap();
    for (family, rows) in &expected {
        assert!(ldb::rows(&db, family).unwrap() == *rows, "{family}");
    }
    // The default family has no operands; rocksdict reads that one, and compacts.
    for compact in [false, true] {
        assert!(rocksdict::open_and_scan(&db, compact).unwrap() == expected[0].1);
    }
    let ours = DbBuilder::new(&db).open_read_only().unwrap();
    for (key, value) in &expected[0].1 {
        assert_eq!(ours.get(key).unwrap().as_deref(), Some(&value[..]));
    }
}

/// Properties that the files alone define.
const OF_FILES: [&str; 12] = [
    "rocksdb.num-files-at-level0",
    "rocksdb.num-files-at-level1",
    "rocksdb.num-files-at-level6",
    "rocksdb.num-files-at-level7",
    "rocksdb.compression-ratio-at-level6",
    "rocksdb.total-sst-files-size",
    "rocksdb.live-sst-files-size",
    "rocksdb.estimate-num-keys",
    "rocksdb.estimate-live-data-size",
    "rocksdb.num-entries-active-mem-table",
    "rocksdb.num-snapshots",
    "rocksdb.min-obsolete-sst-number-to-keep",
];

/// As RocksDB answers: family, name, first line.
fn properties_of_rocksdb(db: &Path, names: &[&str]) -> Vec<(String, String, String)> {
    let output = Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("properties.py"))
        .arg(db)
        .args(names)
        .output()
        .unwrap_or_else(|error| panic!("python3 cannot be started: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let answer = |line: &str| {
        let mut fields = line.split('\t').map(str::to_owned);
        (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap())
    };
    said.lines().map(answer).collect()
}

#[test]
fn properties_of_files_are_what_rocksdb_says() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let mut random = Random(43);
    for family in ["default", "other"] {
        let (lines, _) = changes(&mut random, 4000, false);
        load(&db, &["--create", "--hex", "--cf", family], &(lines + "flush\n"));
    }
    // Levels below, made by RocksDB; then tables above them again.
    rocksdict::open_and_scan(&db, true).unwrap();
    for family in ["default", "other"] {
        let (lines, _) = changes(&mut random, 2000, false);
        load(&db, &["--create", "--hex", "--cf", family], &(lines + "flush\n"));
    }
    let ours = DbBuilder::new(&db).open_read_only().unwrap();
    let sums = "rocksdb.aggregated-table-properties";
    let names: Vec<&str> = OF_FILES.iter().copied().chain([sums]).collect();
    let theirs = properties_of_rocksdb(&db, &names);
    assert_eq!(theirs.len(), 2 * names.len());
    for (family, name, answer) in theirs {
        let column = ours.family(&family).unwrap();
        let own = ours.property(&column, &name).unwrap_or_else(|| "none".to_owned());
        if name != sums {
            assert_eq!(own, answer, "{family} {name}");
            continue;
        }
        // Each field that we print is one of theirs; the index's has notes behind its name.
        for field in own.split("; ").filter(|field| !field.is_empty()) {
            let (title, value) = field.split_once('=').unwrap();
            let found = answer
                .split("; ")
                .any(|other| other.starts_with(title) && other.ends_with(&format!("={value}")));
            assert!(found, "{family}: {field} in {answer}");
        }
    }
}
