//! Databases that RocksDB made, all of whose tables Partita writes again: the golden ones of 11.8.1 and those of `db_bench`
//! 7.8.3. RocksDB 7.8.3 and 9.8.4 then read what was there before.

use std::path::Path;
use std::process::Command;

use partita::db::{BottommostLevel, CompactRangeOptions, DbBuilder};
use partita_compat_debian::{ldb, rocksdict, sst_dump};
use partita_compat_rocks::compacted::{hand_over, rewrite};
use partita_testkit::golden;

#[test]
fn golden_databases_are_written_again_and_read_by_older_versions() {
    let (mut rewritten, mut by_7, mut by_9) = (0, 0, 0);
    for golden in golden::all() {
        if rewrite(&golden).is_none() {
            continue;
        }
        rewritten += 1;
        let name = golden.name();
        let about = golden.about();
        if name == "foreign-comparator" {
            continue;
        }
        let has_format_7 = about.contains("format_version 7");
        if !has_format_7 && !about.contains("format_version 6") {
            ldb::check_consistency(&golden.path()).unwrap_or_else(|said| panic!("{name}: {said}"));
            sst_dump::verify_all(&golden.path()).unwrap_or_else(|said| panic!("{name}: {said}"));
            hand_over(&golden);
            by_7 += 1;
        }
        // The wheel has no zlib, and opens databases without the options, which name the merge operator. It
        // leaves options of its own, with format 6.
        if !has_format_7 && !about.contains("zlib") && !about.contains("merge true") {
            let rows = rocksdict::open_and_scan(&golden.path(), false);
            let rows = rows.unwrap_or_else(|said| panic!("{name}, 9.8.4: {said}"));
            assert!(rows == golden.expected("default"), "{name}, 9.8.4");
            by_9 += 1;
        }
    }
    assert_eq!((rewritten, by_7, by_9), (14, 11, 10));
}

/// What `db_bench` is to do.
const BENCHES: [(&str, &[&str]); 8] = [
    ("fillrandom", &["--benchmarks=fillrandom"]),
    ("overwrite", &["--benchmarks=fillrandom,overwrite"]),
    ("deletions", &["--benchmarks=filluniquerandom,deleterandom", "--deletes=9000"]),
    ("universal", &["--benchmarks=overwrite", "--compaction_style=1"]),
    (
        "universal on one level",
        &["--benchmarks=overwrite", "--compaction_style=1", "--num_levels=1"],
    ),
    (
        "many runs",
        &[
            "--benchmarks=overwrite",
            "--compaction_style=1",
            "--disable_auto_compactions=1",
            "--level0_slowdown_writes_trigger=1000",
            "--level0_stop_writes_trigger=1000",
        ],
    ),
    (
        "first in, first out",
        &[
            "--benchmarks=fillrandom",
            "--compaction_style=2",
            "--fifo_compaction_max_table_files_size_mb=1000",
        ],
    ),
    (
        "range deletions",
        &[
            "--benchmarks=fillrandom",
            "--writes_per_range_tombstone=100",
            "--range_tombstone_width=50",
            "--max_num_range_tombstones=150",
        ],
    ),
];

fn make(name: &str, args: &[&str], db: &Path) {
    let output = Command::new("db_bench")
        .arg(format!("--db={}", db.display()))
        .args(["--num=15000", "--seed=11", "--value_size=60", "--write_buffer_size=65536"])
        .args(["--target_file_size_base=32768", "--max_bytes_for_level_base=131072"])
        .args(args)
        .output()
        .unwrap_or_else(|error| panic!("db_bench cannot be started ({error})"));
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn databases_of_db_bench_are_written_again_and_read_by_ldb_as_before() {
    for (name, args) in BENCHES {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        make(name, args, &path);
        let before = ldb::rows(&path, "default").unwrap_or_else(|said| panic!("{name}: {said}"));
        assert!(before.len() > 5000, "{name}: {}", before.len());
        let db = DbBuilder::new(&path).open().unwrap_or_else(|error| panic!("{name}: {error}"));
        let options = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
        db.compact_range_with(&db.default_family(), None, None, &options)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        db.wait_for_background_work().unwrap();
        // More on top, so that compactions of our own choice follow.
        for (key, _) in before.iter().step_by(3) {
            db.put(key, b"ours").unwrap();
        }
        for (key, _) in before.iter().skip(1).step_by(3) {
            db.delete(key).unwrap();
        }
        db.flush().unwrap();
        db.wait_for_background_work().unwrap();
        db.close().unwrap();
        drop(db);
        let thirds = before.iter().enumerate().filter(|(at, _)| at % 3 != 1);
        let expected: Vec<_> = thirds
            .map(|(at, (key, value))| {
                (key.clone(), if at % 3 == 0 { b"ours".to_vec() } else { value.clone() })
            })
            .collect();
        ldb::check_consistency(&path).unwrap_or_else(|said| panic!("{name}: {said}"));
        sst_dump::verify_all(&path).unwrap_or_else(|said| panic!("{name}: {said}"));
        assert!(ldb::rows(&path, "default").unwrap() == expected, "{name}, after us");
        ldb::on(&path, &["compact"]).unwrap_or_else(|said| panic!("{name}: {said}"));
        let db = DbBuilder::new(&path).open().unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut iter = db.iter().unwrap();
        iter.seek_to_first().unwrap();
        for (key, value) in &expected {
            assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]), "{name}");
            iter.next().unwrap();
        }
        assert!(!iter.is_valid(), "{name}");
    }
}
