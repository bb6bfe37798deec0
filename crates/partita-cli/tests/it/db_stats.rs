//! `partita db stats`.

use partita_testkit::golden;

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
