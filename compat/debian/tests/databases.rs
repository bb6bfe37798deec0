//! Databases that RocksDB 7.8.3 and 9.8.4 wrote, in the state in which a kill leaves them, read by Partita: forward,
//! backward and key by key as RocksDB reads them.

use std::path::Path;
use std::process::Command;

use partita::db::{ColumnFamily, Db, DbBuilder, DbIterator, IterOptions};
use partita_compat_debian::directories::copy;
use partita_compat_debian::random::Random;
use partita_compat_debian::{ldb, rocksdict};
use partita_compat_rocks::Row;
use partita_compat_rocks::db::{Db as RocksDb, Op};

fn walk(iter: &mut DbIterator, backward: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    if backward { iter.seek_to_last() } else { iter.seek_to_first() }.unwrap();
    while iter.is_valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        if backward { iter.prev() } else { iter.next() }.unwrap();
    }
    rows
}

/// Everything that Partita reads of a family is `expected`.
fn check_family(db: &Db, family: &ColumnFamily, expected: &[Row], name: &str) {
    let mut iter = db.iter_cf(family, IterOptions::default()).unwrap();
    let forward = walk(&mut iter, false);
    assert!(forward == expected, "{name}: {} rows and {}", forward.len(), expected.len());
    let mut backward = walk(&mut iter, true);
    backward.reverse();
    assert!(backward == expected, "{name}, backward");
    for (key, value) in expected {
        let got = db.get_cf(family, key).unwrap();
        assert_eq!(got.as_deref(), Some(&value[..]), "{name}: {key:?}");
        let absent = [key, &b"\0"[..]].concat();
        let is_there = expected.binary_search_by(|row| row.0.cmp(&absent)).is_ok();
        assert_eq!(db.get_cf(family, &absent).unwrap().is_some(), is_there, "{name}: {absent:?}");
    }
}

fn open(dir: &Path, name: &str) -> Db {
    DbBuilder::new(dir).open_read_only().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What `db_bench` is to do: options that give trees of different shapes, on top of small memtables.
const BENCHES: [(&str, &[&str]); 13] = [
    ("log only", &["--benchmarks=fillrandom", "--write_buffer_size=67108864"]),
    ("levels", &["--benchmarks=fillrandom,overwrite"]),
    ("deletions", &["--benchmarks=filluniquerandom,deleterandom", "--deletes=3000"]),
    ("front deleted", &["--benchmarks=fillseq,deleteseq", "--deletes=3000"]),
    ("universal", &["--benchmarks=overwrite", "--compaction_style=1"]),
    ("fifo", &["--benchmarks=fillrandom", "--compaction_style=2"]),
    (
        "range deletions",
        &[
            "--benchmarks=fillrandom",
            "--writes_per_range_tombstone=100",
            "--range_tombstone_width=50",
            "--max_num_range_tombstones=60",
        ],
    ),
    ("dynamic levels", &["--benchmarks=overwrite", "--level_compaction_dynamic_level_bytes=1"]),
    (
        "partitioned",
        &["--benchmarks=overwrite", "--partition_index_and_filters=1", "--bloom_bits=10"],
    ),
    ("hashed blocks", &["--benchmarks=overwrite", "--use_data_block_hash_index=1"]),
    ("compressed log", &["--benchmarks=fillbatch", "--wal_compression=zstd"]),
    (
        "counters",
        &[
            "--benchmarks=mergerandom",
            "--merge_operator=uint64add",
            "--merge_keys=400",
            "--value_size=8",
        ],
    ),
    (
        "appended",
        &[
            "--benchmarks=mergerandom",
            "--merge_operator=stringappend",
            "--merge_keys=400",
            "--value_size=20",
        ],
    ),
];

#[test]
fn databases_of_db_bench_are_read_as_ldb_reads_them() {
    for (name, args) in BENCHES {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let output = Command::new("db_bench")
            .arg(format!("--db={}", path.display()))
            .args(["--num=4000", "--seed=7", "--value_size=60", "--write_buffer_size=65536"])
            .args(["--target_file_size_base=32768", "--max_bytes_for_level_base=65536"])
            .args(args)
            .output()
            .unwrap_or_else(|error| panic!("db_bench cannot be started ({error})"));
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        // First we, who change nothing; `ldb` recovers the logs into tables.
        let db = open(&path, name);
        let rows = ldb::rows(&path, "default").unwrap_or_else(|said| panic!("{name}: {said}"));
        assert!(rows.len() > 100, "{name}: {}", rows.len());
        check_family(&db, &db.default_family(), &rows, name);
        drop(db);
        let db = open(&path, name);
        check_family(&db, &db.default_family(), &rows, &format!("{name}, after ldb"));
    }
}

/// An operation on one of a few keys, so that versions, operands and ranges meet.
fn random_op(random: &mut Random, at: usize) -> Op {
    let key = |random: &mut Random| format!("key{:03}", random.below(300)).into_bytes();
    match random.below(20) {
        0..4 => Op::Delete(key(random)),
        // RocksDB watches that single and other deletes of one key are not mixed.
        4 => Op::SingleDelete(format!("single{}", at / 7 % 50).into_bytes()),
        5 => {
            let (a, b) = (key(random), key(random));
            Op::DeleteRange(a.clone().min(b.clone()), a.max(b))
        }
        6..11 => Op::Merge(key(random), random.bytes(12)),
        _ => Op::Put(key(random), random.bytes(80)),
    }
}

/// Random writes with merges, deletions and range deletions over several tables of level 0 and a log that was not
/// flushed, copied while the database is open: at every stage we read what RocksDB reads.
#[test]
fn random_writes_are_read_in_every_state_that_a_kill_leaves() {
    for (seed, options) in [
        "",
        "wal_compression=kZSTD",
        "recycle_log_file_num=2",
        "wal_recovery_mode=kTolerateCorruptedTailRecords",
        "block_based_table_factory={filter_policy=bloomfilter:10;index_type=kTwoLevelIndexSearch;\
         partition_filters=true;metadata_block_size=512;block_size=512}",
        "prefix_extractor=fixed:4;block_based_table_factory={filter_policy=bloomfilter:10;whole_key_filtering=false}",
    ]
    .into_iter()
    .enumerate()
    {
        let options = format!("merge_operator=stringappend;{options}");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let mut theirs = RocksDb::open(&path, &options).unwrap();
        let mut random = Random(seed as u64);
        for round in 0..6 {
            if round == 2 {
                theirs.apply(&Op::Snapshot).unwrap();
            }
            for at in 0..200 {
                theirs.apply(&random_op(&mut random, at)).unwrap();
            }
            let name = format!("{options}, round {round}");
            let killed = dir.path().join(format!("killed{round}"));
            copy(&path, &killed);
            let db = open(&killed, &name);
            assert!(db.lost_log_bytes().is_empty() || options.contains("recycle"), "{name}");
            let expected = theirs.rows_forward().unwrap();
            check_family(&db, &db.default_family(), &expected, &name);
            if round % 2 == 0 {
                theirs.flush().unwrap();
            }
        }
    }
}

#[test]
fn a_database_of_9_8_is_read_before_and_after_it_is_compacted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut theirs = RocksDb::open(&path, "").unwrap();
    let mut random = Random(98);
    for at in 0..3000 {
        let key = format!("key{:04}", random.below(2000)).into_bytes();
        let op = if at % 5 == 0 { Op::Delete(key) } else { Op::Put(key, random.bytes(100)) };
        theirs.apply(&op).unwrap();
    }
    drop(theirs);
    for compact in [false, true] {
        let rows = rocksdict::open_and_scan(&path, compact).unwrap_or_else(|said| panic!("{said}"));
        assert!(rows.len() > 1000);
        let name = format!("9.8.4, compacted: {compact}");
        let db = open(&path, &name);
        check_family(&db, &db.default_family(), &rows, &name);
    }
}
