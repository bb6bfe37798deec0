//! `partita db stats`.

use partita_testkit::golden;
use partita_testkit::prometheus::Exposition;

use crate::run::{fingerprint, partita};

fn stats(args: &[&str], golden: &golden::GoldenDb) -> String {
    let path = golden.path();
    partita(["db", "stats", path.to_str().unwrap()].iter().chain(args)).clean()
}

#[test]
fn figures_of_levels_sum_up_to_the_files_of_the_directory() {
    for name in ["families-merge-ranges-wal", "locations-partitioned", "wal-only"] {
        let golden = golden::get(name);
        let before = fingerprint(&golden.path());
        let found: serde_json::Value = serde_json::from_str(&stats(&["--json"], &golden)).unwrap();
        assert_eq!(fingerprint(&golden.path()), before);
        let families = found["families"].as_array().unwrap();
        let mut names: Vec<&str> =
            families.iter().map(|family| family["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, golden.families());
        let sum = |field: &str| -> u64 {
            let levels = families.iter().flat_map(|family| family["levels"].as_array().unwrap());
            levels.map(|level| level[field].as_u64().unwrap()).sum()
        };
        let paths = golden.sst_paths();
        assert_eq!(sum("files"), paths.len() as u64, "{name}");
        let bytes: u64 = paths.iter().map(|path| path.metadata().unwrap().len()).sum();
        assert_eq!(sum("bytes"), bytes, "{name}");
        assert_eq!(sum("entries") > 0, !paths.is_empty(), "{name}");
        assert_eq!(sum("merge_operands") > 0, name == "families-merge-ranges-wal");
        assert_eq!(sum("range_deletions") > 0, name == "families-merge-ranges-wal");
        let memory = &found["memory"];
        let roles = memory["roles"].as_array().unwrap();
        let role = |name: &str| roles.iter().any(|role| role["role"] == name);
        assert!(role("memtable"), "{memory}");
        assert_eq!(role("table handle"), !paths.is_empty(), "{memory}");
    }
}

#[test]
fn the_text_has_a_line_for_each_level() {
    let golden = golden::get("locations-partitioned");
    let text = stats(&[], &golden);
    assert!(text.contains("column family \"default\" (0), leveldb.BytewiseComparator\n"), "{text}");
    assert!(text.contains("  level  tables "), "{text}");
    assert!(text.lines().any(|line| line.trim_start().starts_with("all       4  ")), "{text}");
}

#[test]
fn what_is_no_database_is_told_with_exit_code_2() {
    let empty = tempfile::tempdir().unwrap();
    let run = partita(["db", "stats", empty.path().to_str().unwrap()]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("holds no database"), "{}", run.stderr);
}

#[test]
fn properties_are_printed_under_rocksdbs_names() {
    let golden = golden::get("families-merge-ranges-wal");
    let property =
        |name: &str, args: &[&str]| stats(&[&["--property", name][..], args].concat(), &golden);
    let all: u64 = golden.sst_paths().iter().map(|path| path.metadata().unwrap().len()).sum();
    let of_families = golden.families().into_iter().map(|family| {
        let text = property("rocksdb.total-sst-files-size", &["--cf", &family]);
        text.trim_end().parse::<u64>().unwrap()
    });
    assert_eq!(of_families.sum::<u64>(), all);
    let text = property("rocksdb.levelstats", &[]);
    assert!(text.starts_with("Level Files Size(MB)\n"), "{text}");
    let json = property("rocksdb.aggregated-table-properties", &["--json", "--cf", "keys"]);
    let map: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_ne!(map["num_merge_operands"], "0");
    assert_eq!(property("rocksdb.num-snapshots", &["--json"]), "0\n");

    let path = golden.path();
    let dir = path.to_str().unwrap();
    let run = partita(["db", "stats", dir, "--property", "rocksdb.num-fools"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.contains("rocksdb.num-fools"), "{}", run.stderr);
    let run = partita(["db", "stats", dir, "--property", "rocksdb.stats", "--cf", "none"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
}

#[test]
fn prometheus_gets_every_number_with_its_family_and_level() {
    let golden = golden::get("families-merge-ranges-wal");
    let told = Exposition::parse(&stats(&["--prometheus"], &golden)).unwrap();
    let mut families = golden.families();
    families.sort_unstable();
    assert_eq!(told.metrics["rocksdb_estimate_num_keys"].labels("family"), families);
    let operands = told.metrics["partita_level_merge_operands"].labels("family");
    assert!(operands.contains(&"keys"), "{operands:?}");
    let handles = [("cache", "main"), ("role", "table handle")];
    assert!(told.value("partita_cache_bytes", &handles).unwrap() > 0.0);
    let bytes: u64 = golden.sst_paths().iter().map(|path| path.metadata().unwrap().len()).sum();
    assert_eq!(told.sum("partita_level_bytes"), bytes as f64);
}
