//! Files that come behind all that is there, and files of version 1.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::batch::WriteBatch;
use crate::cache::Cache;
use crate::db::churn_testing::must_end;
use crate::db::testing::{Draw, all};
use crate::db::{DbBuilder, FamilyConfig, WriteOptions};
use crate::error::ErrorKind;
use crate::io::{FileSystem, ManualScheduler, MemoryFileSystem};
use crate::key::{InternalKey, KeyOrder, ValueType};
use crate::options::{ColumnFamilyOptions, CompactionStyle, DbOptions, ObjectName, TableOptions};
use crate::table::{TableBuilder, TableProperties};

const BEHIND: IngestOptions = IngestOptions {
    transfer: FileTransfer::Copy,
    snapshot_consistency: true,
    allow_global_seqno: true,
    allow_blocking_flush: true,
    verify: true,
    behind: true,
    fail_if_not_bottommost_level: true,
};

fn family_options(style: CompactionStyle) -> ColumnFamilyOptions {
    ColumnFamilyOptions {
        compaction_style: style,
        num_levels: 4,
        level0_file_num_compaction_trigger: 2,
        target_file_size_base: 2 << 10,
        max_bytes_for_level_base: 4 << 10,
        max_bytes_for_level_multiplier: 2.0,
        level_compaction_dynamic_level_bytes: false,
        periodic_compaction_seconds: 0,
        table: TableOptions { block_size: 256, ..TableOptions::default() },
        merge_operator: ObjectName::new("StringAppendOperator"),
        ..ColumnFamilyOptions::default()
    }
}

fn open_with(fs: &MemoryFileSystem, all_families: bool, family: ColumnFamilyOptions) -> Result<Db> {
    let options = DbOptions {
        create_if_missing: true,
        allow_ingest_behind: all_families,
        ..DbOptions::default()
    };
    DbBuilder::new("/db")
        .file_system(Arc::new(fs.clone()))
        .cache(Cache::new(8 << 20))
        .options(options)
        .scheduler(Arc::new(ManualScheduler::in_order()))
        .family("default", FamilyConfig { options: Some(family), ..FamilyConfig::default() })
        .open()
}

fn open(fs: &MemoryFileSystem, style: CompactionStyle) -> Db {
    open_with(fs, true, family_options(style)).unwrap()
}

fn external(db: &Db, path: &str, pairs: &[(&[u8], &[u8])]) -> String {
    let path = format!("/{path}");
    let mut writer = db.sst_file_writer(&db.default_family(), &path).unwrap();
    for (key, value) in pairs {
        writer.put(key, value).unwrap();
    }
    writer.finish().unwrap();
    path
}

fn value(db: &Db, key: &[u8]) -> Option<Vec<u8>> {
    db.get(key).unwrap().map(|value| value.to_vec())
}

#[test]
fn what_comes_behind_counts_only_where_nothing_newer_is() {
    for style in [CompactionStyle::Level, CompactionStyle::Universal] {
        let fs = MemoryFileSystem::new();
        let db = open(&fs, style);
        let family = db.default_family();
        for key in [b"deleted", b"merging", b"present"] {
            db.put(key, b"new").unwrap();
        }
        db.flush().unwrap();
        db.delete(b"deleted").unwrap();
        db.delete(b"never there").unwrap();
        db.delete_range(b"r", b"s").unwrap();
        db.delete(b"merging").unwrap();
        db.merge(b"merging", b"operand").unwrap();
        db.merge(b"waiting", b"operand").unwrap();
        db.put(b"present", b"newer").unwrap();
        // All the way down, as far as it goes, and again: nothing that hides something behind may be lost.
        for bottommost_level in
            [crate::db::BottommostLevel::Skip, crate::db::BottommostLevel::Rewrite]
        {
            let options = crate::db::CompactRangeOptions { bottommost_level };
            db.compact_range_with(&family, None, None, &options).unwrap();
        }
        db.wait_for_background_work().unwrap();
        let before = db.snapshot();
        let pairs: Vec<(&[u8], &[u8])> = [
            &b"absent"[..],
            b"deleted",
            b"merging",
            b"never there",
            b"present",
            b"range",
            b"waiting",
        ]
        .map(|key| (key, &b"old"[..]))
        .to_vec();
        let file = external(&db, "old", &pairs);
        let files = db.ingest(&family, &[file], &BEHIND).unwrap();
        assert_eq!((files[0].level, files[0].seqno), (3, SeqNo::ZERO));
        for round in 0..3 {
            let expected = [
                (&b"absent"[..], Some(&b"old"[..])),
                (b"deleted", None),
                (b"merging", Some(b"operand")),
                (b"never there", None),
                (b"present", Some(b"newer")),
                (b"range", None),
                (b"waiting", Some(b"old,operand")),
            ];
            for (key, expected) in expected {
                assert_eq!(value(&db, key).as_deref(), expected, "{style:?} {round}: {key:?}");
            }
            // It is as old as can be: snapshots see it, too.
            assert_eq!(db.get_at(&before, &family, b"absent").unwrap().unwrap(), b"old");
            db.put(b"zzz", &[round]).unwrap();
            db.compact_range(&family, None, None).unwrap();
            let version = family.0.family.current();
            assert_eq!(version.levels()[3].len(), 1, "compactions leave the last level alone");
            assert_eq!(version.levels()[3].files()[0].epoch, BEHIND_EPOCH);
        }
    }
}

#[test]
fn nothing_is_flushed_for_what_comes_behind() {
    let fs = MemoryFileSystem::new();
    let db = open(&fs, CompactionStyle::Universal);
    db.put(b"b", b"new").unwrap();
    db.delete(b"c").unwrap();
    let file = external(&db, "old", &[(b"a", b"old"), (b"b", b"old"), (b"c", b"old")]);
    let options = IngestOptions { allow_blocking_flush: false, ..BEHIND };
    db.ingest(&db.default_family(), &[&file], &options).unwrap();
    let check = |db: &Db| {
        let values = [&b"a"[..], b"b", b"c"].map(|key| value(db, key));
        assert_eq!(values, [Some(b"old".to_vec()), Some(b"new".to_vec()), None]);
    };
    check(&db);
    assert_eq!(db.default_family().0.family.current().files().count(), 1);
    drop(db);
    check(&open(&fs, CompactionStyle::Universal));
}

#[test]
fn what_cannot_come_behind_is_refused_and_says_why() {
    let fs = MemoryFileSystem::new();
    let db = open(&fs, CompactionStyle::Level);
    let family = db.default_family();
    let refused = |files: &[&String], why: &str| {
        let error = db.ingest(&family, files, &BEHIND).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains(why), "{error}");
    };
    let one = external(&db, "1", &[(b"b", b"1"), (b"d", b"1")]);
    let two = external(&db, "2", &[(b"c", b"2"), (b"e", b"2")]);
    let three = external(&db, "3", &[(b"x", b"3")]);
    refused(&[&one, &two], "overlap each other");
    db.ingest(&family, &[&one, &three], &BEHIND).unwrap();
    refused(&[&two], "on the last level overlaps");
    // In front, as ever.
    let front = IngestOptions { behind: false, fail_if_not_bottommost_level: false, ..BEHIND };
    let files = db.ingest(&family, &[&two], &front).unwrap();
    assert!(files[0].level < 3 && files[0].seqno > SeqNo::ZERO, "{files:?}");
    assert_eq!(value(&db, b"d").unwrap(), b"1");
}

#[test]
fn who_did_not_keep_a_level_free_has_no_place_behind() {
    let fs = MemoryFileSystem::new();
    let db = open_with(&fs, false, family_options(CompactionStyle::Level)).unwrap();
    let file = external(&db, "1", &[(b"b", b"1")]);
    let error = db.ingest(&db.default_family(), &[&file], &BEHIND).unwrap_err();
    assert!(error.to_string().contains("allow_ingest_behind"), "{error}");
    // Merged at the bottom, entries have lost their numbers, and deletions are gone.
    db.put(b"a", b"1").unwrap();
    db.put(b"m", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"k", b"1").unwrap();
    db.compact_range(&db.default_family(), None, None).unwrap();
    drop(db);
    let db = open(&fs, CompactionStyle::Level);
    let error = db.ingest(&db.default_family(), &[&file], &BEHIND).unwrap_err();
    assert!(error.to_string().contains("sequence number 0"), "{error}");
}

#[test]
fn one_family_may_keep_its_level_free_and_has_to_have_three() {
    let fs = MemoryFileSystem::new();
    let alone = ColumnFamilyOptions {
        cf_allow_ingest_behind: true,
        ..family_options(CompactionStyle::Level)
    };
    let db = open_with(&fs, false, alone.clone()).unwrap();
    let other = FamilyConfig {
        options: Some(family_options(CompactionStyle::Level)),
        ..FamilyConfig::default()
    };
    let other = db.create_family("other", other).unwrap();
    assert!(db.default_family().0.keeps_last_level_free && !other.0.keeps_last_level_free);
    let shallow = ColumnFamilyOptions { num_levels: 2, ..alone };
    let config = FamilyConfig { options: Some(shallow.clone()), ..FamilyConfig::default() };
    let error = db.create_family("shallow", config).unwrap_err();
    assert!(error.to_string().contains("3 levels"), "{error}");
    let error = open_with(&MemoryFileSystem::new(), false, shallow).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("num_levels=2"), "{error}");
}

#[test]
fn a_file_that_would_not_reach_the_last_level_can_be_refused() {
    let fs = MemoryFileSystem::new();
    let db = open_with(&fs, false, family_options(CompactionStyle::Level)).unwrap();
    let family = db.default_family();
    let options = IngestOptions { behind: false, ..BEHIND };
    let (one, two) = (external(&db, "1", &[(b"b", b"1")]), external(&db, "2", &[(b"b", b"2")]));
    assert_eq!(db.ingest(&family, &[&one], &options).unwrap()[0].level, 3);
    let error = db.ingest(&family, &[&two], &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("level 2 of 3"), "{error}");
    assert_eq!(value(&db, b"b").unwrap(), b"1");
}

/// Random writes and compactions, and files behind them; the model has an old value under each key.
#[test]
fn random_histories_with_files_behind_come_to_what_a_model_says() {
    must_end(|| {
        for style in [CompactionStyle::Level, CompactionStyle::Universal] {
            (0..3).for_each(|seed| random_history(style, seed));
        }
    });
}

/// What the newest entries of a key make of what is behind them.
#[derive(Clone, Debug)]
enum Newest {
    Value(Option<Vec<u8>>),
    /// Operands, over whatever comes.
    Over(Vec<Vec<u8>>),
}

fn random_history(style: CompactionStyle, seed: u64) {
    let mut draw = Draw(seed);
    let fs = MemoryFileSystem::new();
    let mut db = open(&fs, style);
    let mut newest: BTreeMap<Vec<u8>, Newest> = BTreeMap::new();
    let mut behind: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let key = |number: u64| format!("key{number:03}").into_bytes();
    let mut stretches: Vec<u64> = (0..20).collect();
    for step in 0..160 {
        match draw.below(12) {
            0..=6 => {
                let mut batch = WriteBatch::new();
                for _ in 0..10 {
                    let key = key(draw.below(200));
                    let value = format!("{step}{}", "x".repeat(30)).into_bytes();
                    match draw.below(8) {
                        0..=3 => {
                            batch.put(&key, &value).unwrap();
                            newest.insert(key, Newest::Value(Some(value)));
                        }
                        4 => {
                            batch.merge(&key, &value).unwrap();
                            match newest.entry(key).or_insert(Newest::Over(Vec::new())) {
                                Newest::Value(Some(base)) => {
                                    base.extend([b",", &value[..]].concat());
                                }
                                Newest::Value(empty) => *empty = Some(value),
                                Newest::Over(operands) => operands.push(value),
                            }
                        }
                        _ => {
                            batch.delete(&key).unwrap();
                            newest.insert(key, Newest::Value(None));
                        }
                    }
                }
                db.write(batch, &WriteOptions::default()).unwrap();
            }
            7 => db.flush().unwrap(),
            8 => db.compact_range(&db.default_family(), None, None).unwrap(),
            9 if draw.below(3) == 0 => {
                drop(db);
                db = open(&fs, style);
            }
            10 if !stretches.is_empty() => {
                let stretch = stretches.swap_remove(draw.below(stretches.len() as u64) as usize);
                let pairs: Vec<(Vec<u8>, Vec<u8>)> = (stretch * 10..stretch * 10 + 10)
                    .map(|number| (key(number), format!("behind{number}").into_bytes()))
                    .collect();
                let borrowed: Vec<(&[u8], &[u8])> =
                    pairs.iter().map(|(key, value)| (&key[..], &value[..])).collect();
                let file = external(&db, &format!("{step}"), &borrowed);
                db.ingest(&db.default_family(), &[file], &BEHIND).unwrap();
                behind.extend(pairs);
            }
            _ => {}
        }
        if step % 8 != 0 {
            continue;
        }
        let mut expected = behind.clone();
        for (key, newest) in &newest {
            match newest {
                Newest::Value(Some(value)) => drop(expected.insert(key.clone(), value.clone())),
                Newest::Value(None) => drop(expected.remove(key)),
                Newest::Over(operands) => {
                    let base = expected.get(key).cloned();
                    let parts: Vec<Vec<u8>> = base.into_iter().chain(operands.clone()).collect();
                    expected.insert(key.clone(), parts.join(&b","[..]));
                }
            }
        }
        let expected: Vec<_> = expected.into_iter().collect();
        assert_eq!(all(&db, &db.default_family()), expected, "{style:?}, seed {seed}, step {step}");
    }
}

/// RocksDB's first external files have no place for a sequence number: their entries have 0 for ever.
fn external_of_version_1(fs: &MemoryFileSystem, path: &str, key: &[u8]) -> String {
    let path = format!("/{path}");
    let file = fs.create(path.as_ref()).unwrap();
    let mut builder =
        TableBuilder::new(file, TableOptions::default(), KeyOrder::Bytewise, Default::default())
            .unwrap();
    builder.carry_properties(&TableProperties {
        external_sst_file_version: Some(1),
        ..TableProperties::default()
    });
    builder.add(&InternalKey::new(key, SeqNo::ZERO, ValueType::Value).encode(), b"old").unwrap();
    builder.finish().unwrap();
    path
}

#[test]
fn a_file_of_version_1_comes_only_without_a_number() {
    let fs = MemoryFileSystem::new();
    let db = open(&fs, CompactionStyle::Level);
    let family = db.default_family();
    let file = external_of_version_1(&fs, "1", b"k");
    let front = IngestOptions { behind: false, fail_if_not_bottommost_level: false, ..BEHIND };
    let error = db.ingest(&family, &[&file], &front).unwrap_err();
    assert!(error.to_string().contains("version 1"), "{error}");
    let without = IngestOptions { allow_global_seqno: false, ..front };
    let files = db.ingest(&family, &[&file], &without).unwrap();
    assert_eq!((files[0].level, files[0].seqno), (3, SeqNo::ZERO));
    assert_eq!(value(&db, b"k").unwrap(), b"old");
    // Where a number would be needed there is no place for it.
    let again = external_of_version_1(&fs, "2", b"k");
    let error = db.ingest(&family, &[&again], &without).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    drop((db, family));
    assert_eq!(value(&open(&fs, CompactionStyle::Level), b"k").unwrap(), b"old");
}
