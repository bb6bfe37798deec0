//! Options files that Partita writes, loaded by RocksDB 7.8.3 (`ldb`) and 9.8.4 (`rocksdict`), which then write their own:
//! every value must have arrived.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use partita::io::DiskFileSystem;
use partita::options::file::{FamilyOptions, Mode, OptionsFile};
use tempfile::TempDir;

/// Number of our file: greater than that of any file in the new database.
const OURS: u64 = 500;

fn ldb(db: &Path, arguments: &[&str]) -> String {
    let output = Command::new("ldb")
        .arg(format!("--db={}", db.display()))
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("ldb cannot be started ({error}): run .ci/install-oracles"));
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success() && said.contains("OK"), "{arguments:?}: {said}");
    said
}

/// A new database with the families `default` and `one`.
fn new_database() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    ldb(&db, &["--create_if_missing", "put", "key", "value"]);
    ldb(&db, &["create_column_family", "one"]);
    dir
}

/// What RocksDB settles itself when it opens a database of universal compaction.
const SETTLED: [&str; 3] = [
    // 0 asks for what suits the write buffer.
    "arena_block_size",
    "level_compaction_dynamic_level_bytes",
    "periodic_compaction_seconds",
];

/// Options with settings of all kinds, valid in every version that reads them.
fn files() -> Vec<(&'static str, OptionsFile)> {
    let with = |db: &[(&str, &str)], family: &[(&str, &str)], table: &[(&str, &str)]| {
        let mut file = OptionsFile::default();
        for (name, value) in db {
            file.db.set(name, value).unwrap();
        }
        let options = &mut file.families[0].options;
        for (name, value) in family {
            options.set(name, value).unwrap();
        }
        for (name, value) in table {
            options.table.set(name, value).unwrap();
        }
        options.validate().unwrap();
        let options = options.clone();
        file.families.push(FamilyOptions { name: "one".to_owned(), options });
        file
    };
    vec![
        ("defaults", with(&[], &[], &[])),
        (
            "an index of entry locations",
            with(
                &[
                    ("max_background_jobs", "32"),
                    ("max_total_wal_size", "512m"),
                    ("keep_log_file_num", "30"),
                ],
                &[
                    ("compression", "kLZ4Compression"),
                    ("bottommost_compression", "kDisableCompressionOption"),
                    ("max_write_buffer_number", "4"),
                    ("num_levels", "5"),
                ],
                &[
                    ("block_size", "65536"),
                    ("checksum", "kxxHash"),
                    ("cache_index_and_filter_blocks", "true"),
                ],
            ),
        ),
        (
            "everything else",
            with(
                &[
                    ("wal_recovery_mode", "kAbsoluteConsistency"),
                    ("bytes_per_sync", "1048576"),
                    ("WAL_ttl_seconds", "1200"),
                    ("use_fsync", "true"),
                    ("info_log_level", "ERROR_LEVEL"),
                    ("stats_dump_period_sec", "0"),
                    ("max_open_files", "100"),
                ],
                &[
                    ("compression", "kSnappyCompression"),
                    ("bottommost_compression", "kZSTD"),
                    (
                        "bottommost_compression_opts",
                        "{level=7;max_dict_bytes=16384;zstd_max_train_bytes=1638400;enabled=true;}",
                    ),
                    ("compression_per_level", "kNoCompression:kSnappyCompression:kZSTD"),
                    ("compaction_style", "kCompactionStyleUniversal"),
                    (
                        "compaction_options_universal",
                        "{size_ratio=7;min_merge_width=3;allow_trivial_move=true;}",
                    ),
                    (
                        "compaction_options_fifo",
                        "{max_table_files_size=123456789;allow_compaction=true;}",
                    ),
                    ("max_bytes_for_level_multiplier", "8.5"),
                    ("max_bytes_for_level_multiplier_additional", "1:2:3"),
                    ("prefix_extractor", "rocksdb.FixedPrefix.8"),
                    ("merge_operator", "UInt64AddOperator"),
                    ("memtable_prefix_bloom_size_ratio", "0.125"),
                ],
                &[
                    ("filter_policy", "ribbonfilter:9.5:2"),
                    ("partition_filters", "false"),
                    ("index_type", "kBinarySearchWithFirstKey"),
                    ("index_shortening", "kNoShortening"),
                    ("data_block_index_type", "kDataBlockBinaryAndHash"),
                    ("data_block_hash_table_util_ratio", "0.5"),
                    ("format_version", "4"),
                    ("whole_key_filtering", "false"),
                    (
                        "metadata_cache_options",
                        "{unpartitioned_pinning=kAll;partition_pinning=kNone;top_level_index_pinning=kFlushedAndSimilar;}",
                    ),
                ],
            ),
        ),
    ]
}

type Statements = BTreeMap<(String, String), String>;

/// Sections and names with values, by the plainest of readers.
fn statements(text: &str) -> Statements {
    let mut section = String::new();
    let mut found = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if line.starts_with('[') {
            section = line.to_owned();
        } else if let Some((name, value)) = line.split_once('=') {
            found.insert((section.clone(), name.to_owned()), value.to_owned());
        }
    }
    found
}

/// What the newest options file in the directory says.
fn newest(db: &Path) -> (u64, Statements) {
    let (number, _) = OptionsFile::load_newest(&DiskFileSystem, db, Mode::Strict).unwrap().unwrap();
    let path = db.join(partita::options::file::file_name(number));
    (number, statements(&fs::read_to_string(path).unwrap()))
}

/// Whether each part of our value is in theirs; they list parts in another order, and more of them.
fn arrived(ours: &str, theirs: &str) -> bool {
    let parts = |value: &str| -> Vec<String> {
        value
            .trim_matches(['{', '}'])
            .split(';')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    };
    // Objects come back with their settings, decimals with six places.
    let id = theirs.strip_prefix("{id=").and_then(|rest| rest.split(';').next());
    let number = |text: &str| text.parse::<f64>().ok();
    match ours.starts_with('{') {
        true => parts(ours).iter().all(|part| parts(theirs).contains(part)),
        false => {
            ours == theirs
                || id == Some(ours)
                || number(ours).is_some_and(|ours| number(theirs) == Some(ours))
        }
    }
}

/// Stores each of the files into a database, lets `open` load it, and compares what RocksDB then writes.
///
/// * `own`: options that the opening program sets itself, or that RocksDB settles by others.
fn check(version: &str, open: impl Fn(&Path), own: &[&str]) {
    for (name, file) in files() {
        let dir = new_database();
        let db = dir.path().join("db");
        file.store(&DiskFileSystem, &db, OURS).unwrap();
        let (number, ours) = newest(&db);
        assert_eq!(number, OURS);
        open(&db);
        let (number, theirs) = newest(&db);
        assert!(number > OURS, "{version} wrote a file of its own");
        let mut compared = 0;
        for (place, value) in &ours {
            let (section, option) = place;
            if section == "[Version]"
                || own.contains(&option.as_str())
                || SETTLED.contains(&option.as_str())
            {
                continue;
            }
            let theirs = theirs
                .get(place)
                .unwrap_or_else(|| panic!("{version}, {name}: {section} {option} is not there"));
            assert!(
                arrived(value, theirs),
                "{version}, {name}: {section} {option}={value} became {theirs}"
            );
            compared += 1;
        }
        assert!(compared > 200, "{version}, {name}: {compared}");
    }
}

#[test]
fn rocksdb_7_8_3_loads_our_files_without_a_word() {
    let open = |db: &Path| {
        ldb(db, &["--try_load_options", "put", "another", "value"]);
    };
    // ldb brings an operator of its own, and no identity for the manifest.
    check("7.8.3", open, &["merge_operator", "write_dbid_to_manifest"]);
}

#[test]
fn rocksdb_9_8_4_loads_our_files_without_a_word() {
    let open = |db: &Path| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("load_options.py");
        let output =
            Command::new("python3").arg(script).arg(db).output().expect("python3 can be started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{said}: is rocksdict installed? .ci/install-oracles does it"
        );
    };
    check("9.8.4", open, &[]);
}
