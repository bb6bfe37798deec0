//! Figures and properties against what was done to the database.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::batch::WriteBatch;
use crate::cache::Role;
use crate::io::{ManualScheduler, MemoryFileSystem};
use crate::options::{ColumnFamilyOptions, CompactionStyle, ObjectName};
use crate::statistics::{Property, PropertyKind};

const DIR: &str = "/db";

fn builder(fs: &MemoryFileSystem) -> DbBuilder {
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    DbBuilder::new(DIR)
        .file_system(Arc::new(fs.clone()))
        .cache(Cache::new(8 << 20))
        .options(options)
}

/// Background work is done by who waits for it, so that nothing of it is left when a call returns.
fn open() -> Db {
    let scheduler = Arc::new(ManualScheduler::in_order());
    builder(&MemoryFileSystem::new()).scheduler(scheduler).open().unwrap()
}

fn number(db: &Db, name: &str) -> u64 {
    db.int_property(&db.default_family(), &format!("rocksdb.{name}")).unwrap()
}

#[test]
fn keys_are_estimated_as_rocksdb_does() {
    let by_hand =
        ColumnFamilyOptions { disable_auto_compactions: true, ..ColumnFamilyOptions::default() };
    let config = FamilyConfig { options: Some(by_hand), ..FamilyConfig::default() };
    let db = builder(&MemoryFileSystem::new()).family("default", config).open().unwrap();
    let expect = |keys| assert_eq!(number(&db, "estimate-num-keys"), keys);
    expect(0);
    db.put(b"a", b"1").unwrap();
    expect(1);
    db.put(b"b", b"1").unwrap();
    expect(2);
    // Each change counts, whatever the key; a range deletion is one in memory, and takes one away in a table.
    db.put(b"b", b"2").unwrap();
    db.put(b"c", b"2").unwrap();
    expect(4);
    db.delete(b"a").unwrap();
    expect(3);
    db.delete_range(b"x", b"y").unwrap();
    expect(4);
    db.flush().unwrap();
    // b, c, the deletion and the range: 4 entries, 2 of them deletions.
    let sums = db.table_sums(&db.default_family(), None).unwrap();
    assert_eq!((sums.entries, sums.deletions, sums.range_deletions), (4, 2, 1));
    expect(0);
    db.put(b"d", b"4").unwrap();
    expect(1);
}

#[test]
fn memtables_are_counted_where_they_are() {
    let scheduler = Arc::new(ManualScheduler::in_order());
    let fs = MemoryFileSystem::new();
    let db = builder(&fs).scheduler(Arc::clone(&scheduler) as _).open().unwrap();
    let family = db.default_family();
    db.put(b"a", b"1").unwrap();
    db.delete(b"b").unwrap();
    db.delete_range(b"c", b"d").unwrap();
    assert_eq!(number(&db, "num-entries-active-mem-table"), 3);
    assert_eq!(number(&db, "num-deletes-active-mem-table"), 1);
    let active = number(&db, "cur-size-active-mem-table");
    assert!(active > 0 && number(&db, "cur-size-all-mem-tables") == active);

    let views = number(&db, "current-super-version-number");
    let iter = db.iter().unwrap();
    let ids = std::iter::once(family.id()).collect();
    let inner = db.inner();
    inner.writing().unwrap().queue.exclusive(|| inner.freeze(&ids, &ids)).unwrap();
    assert_eq!(number(&db, "num-immutable-mem-table"), 1);
    assert_eq!(number(&db, "mem-table-flush-pending"), 1);
    assert_eq!(number(&db, "num-entries-imm-mem-tables"), 3);
    assert_eq!(number(&db, "num-deletes-imm-mem-tables"), 1);
    assert_eq!(number(&db, "num-entries-active-mem-table"), 0);
    assert_eq!(number(&db, "current-super-version-number"), views + 1);

    db.flush().unwrap();
    assert_eq!(number(&db, "num-immutable-mem-table"), 0);
    assert_eq!(number(&db, "mem-table-flush-pending"), 0);
    // The iterator still reads the memtable, and the version before.
    assert_eq!(number(&db, "num-immutable-mem-table-flushed"), 1);
    let all = number(&db, "size-all-mem-tables");
    assert!(all >= number(&db, "cur-size-all-mem-tables") + active);
    assert_eq!(number(&db, "num-live-versions"), 2);
    drop(iter);
    assert_eq!(number(&db, "num-immutable-mem-table-flushed"), 0);
    assert_eq!(number(&db, "num-live-versions"), 1);
    assert_eq!(db.family_stats(&family).levels[0].counters.flushes, 1);
}

#[test]
fn figures_of_families_and_levels_sum_up() {
    let fs = MemoryFileSystem::new();
    let db = builder(&fs).open().unwrap();
    let other = db.create_family("other", FamilyConfig::default()).unwrap();
    for round in 0..3_u32 {
        for i in 0..100_u32 {
            db.put(&i.to_be_bytes(), &round.to_be_bytes()).unwrap();
            db.put_cf(&other, &i.to_be_bytes(), &[7; 100]).unwrap();
        }
        db.flush().unwrap();
    }
    let stats = db.stats();
    assert_eq!(stats.families.len(), 2);
    let mut bytes = 0;
    for family in &stats.families {
        assert_eq!((family.files(), family.levels[0].files, family.live_versions), (3, 3, 1));
        assert_eq!(family.total_table_bytes, family.bytes());
        assert_eq!(family.levels[0].counters.bytes_written, family.bytes());
        assert_eq!(family.counters().flushes, 3);
        assert_eq!(family.counters().entries_read, 300);
        bytes += family.bytes();
    }
    let names = fs.list(Path::new(DIR)).unwrap();
    let tables = names.iter().filter(|name| name.to_string_lossy().ends_with(".sst"));
    let on_disk: u64 = tables.map(|name| fs.file_len(&Path::new(DIR).join(name)).unwrap()).sum();
    assert_eq!(bytes, on_disk);
    assert_eq!((stats.writes.batches, stats.writes.keys, stats.writes.groups), (600, 600, 600));
    assert_eq!((stats.writes.log_records, stats.writes.log_bytes), (600, stats.writes.bytes));
    assert_eq!(stats.cache.total().bytes, stats.cache.usage_bytes());
}

#[test]
fn writes_are_counted_by_batch_change_and_record() {
    let db = open();
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"1").unwrap();
    batch.delete(b"b").unwrap();
    let bytes = batch.record_bytes().len() as u64;
    db.write(batch.clone(), &WriteOptions::SYNC).unwrap();
    db.write(WriteBatch::new(), &WriteOptions::SYNC).unwrap();
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    db.write(batch, &unlogged).unwrap();
    let writes = db.stats().writes;
    assert_eq!((writes.batches, writes.keys, writes.bytes), (2, 4, 2 * bytes));
    assert_eq!((writes.log_records, writes.log_bytes, writes.log_syncs), (2, bytes, 2));
    let map = db.map_property(&db.default_family(), "rocksdb.dbstats").unwrap();
    assert_eq!(map["db.user_keys_written"], "4");
    assert_eq!(map["db.wal_syncs"], "2");
}

#[test]
fn snapshots_are_counted_with_the_oldest() {
    let db = open();
    for name in ["num-snapshots", "oldest-snapshot-time", "oldest-snapshot-sequence"] {
        assert_eq!(number(&db, name), 0, "{name}");
    }
    db.put(b"a", b"1").unwrap();
    let (first, same) = (db.snapshot(), db.snapshot());
    db.put(b"a", b"2").unwrap();
    let later = db.snapshot();
    assert_eq!((number(&db, "num-snapshots"), number(&db, "oldest-snapshot-sequence")), (3, 1));
    assert!(number(&db, "oldest-snapshot-time") > 1_600_000_000);
    drop((first, same));
    assert_eq!((number(&db, "num-snapshots"), number(&db, "oldest-snapshot-sequence")), (1, 2));
    drop(later);
    assert_eq!(number(&db, "num-snapshots"), 0);
}

/// Properties without an answer: nothing here counts what they ask for.
const UNANSWERED: [Property; 5] = [
    Property::CfFileHistogram,
    Property::BlobCacheCapacity,
    Property::BlobCacheUsage,
    Property::BlobCachePinnedUsage,
    // Only FIFO compaction keeps tables by age.
    Property::EstimateOldestKeyTime,
];

#[test]
fn every_property_has_an_answer_of_its_kind_or_is_known_to_have_none() {
    let db = open();
    let family = db.default_family();
    for i in 0..100_u32 {
        db.put(&i.to_be_bytes(), b"value").unwrap();
    }
    db.flush().unwrap();
    db.delete(b"x").unwrap();
    let levels = [
        Property::NumFilesAtLevel(0),
        Property::CompressionRatioAtLevel(0),
        Property::AggregatedTablePropertiesAtLevel(0),
        Property::LiveSstFilesSizeAtTemperature(0),
    ];
    for property in Property::PLAIN.iter().copied().chain(levels) {
        let name = property.to_string();
        let (text, int, map) = (
            db.property(&family, &name),
            db.int_property(&family, &name),
            db.map_property(&family, &name),
        );
        if UNANSWERED.contains(&property) {
            assert_eq!((text, int, map), (None, None, None), "{name}");
            continue;
        }
        let text = text.unwrap_or_else(|| panic!("{name}"));
        match property.kind() {
            PropertyKind::Number => assert_eq!(text.parse().ok(), int, "{name}"),
            PropertyKind::Text => assert!(int.is_none() && map.is_none(), "{name}"),
            PropertyKind::Map => {
                assert!(int.is_none() && map.is_some_and(|map| !map.is_empty()), "{name}");
            }
        }
        assert!(!text.is_empty(), "{name}");
    }
    for name in
        ["rocksdb.num-files-at-level7", "rocksdb.aggregated-table-properties-at-level7", "nothing"]
    {
        assert_eq!(db.property(&family, name), None, "{name}");
    }
}

#[test]
fn a_database_that_is_only_read_has_properties_too() {
    let golden = partita_testkit::golden::get("locations-partitioned");
    let db = DbBuilder::new(golden.path()).open_read_only().unwrap();
    let bytes: u64 = golden.sst_paths().iter().map(|path| path.metadata().unwrap().len()).sum();
    for name in ["total-sst-files-size", "live-sst-files-size"] {
        assert_eq!(number(&db, name), bytes);
    }
    assert_eq!(number(&db, "estimate-table-readers-mem"), 0, "no table was asked for");
    // Keys that were overwritten count each time.
    let keys = golden.expected("default").len() as u64;
    assert!((keys..2 * keys).contains(&number(&db, "estimate-num-keys")));
    assert!(number(&db, "estimate-table-readers-mem") > 0);
    assert_eq!(number(&db, "block-cache-capacity"), db.cache().stats().budget_bytes());
    assert!(number(&db, "block-cache-usage") >= db.cache().stats().role(Role::TableHandle).bytes);
    assert_eq!(number(&db, "is-write-stopped"), 0);
}

#[test]
fn the_base_level_is_that_of_the_options() {
    let style = |compaction_style, level_compaction_dynamic_level_bytes| {
        let options = ColumnFamilyOptions {
            compaction_style,
            level_compaction_dynamic_level_bytes,
            merge_operator: ObjectName::default(),
            ..ColumnFamilyOptions::default()
        };
        let config = FamilyConfig { options: Some(options), ..FamilyConfig::default() };
        let fs = MemoryFileSystem::new();
        let db = builder(&fs).family("default", config).open().unwrap();
        number(&db, "base-level")
    };
    assert_eq!(style(CompactionStyle::Level, true), 6);
    assert_eq!(style(CompactionStyle::Level, false), 1);
    assert_eq!(style(CompactionStyle::Universal, true), u64::MAX);
}

/// Reads all of 8000 keys, some twice, with this room for data and for what finds it.
fn read_with_budgets(data: usize, metadata: usize) -> Db {
    let disk = MemoryFileSystem::new();
    let scheduler = Arc::new(ManualScheduler::in_order());
    let mut options = ColumnFamilyOptions::default();
    options.table.block_size = 512;
    options.table.metadata_block_size = 512;
    let config = FamilyConfig { options: Some(options), ..FamilyConfig::default() };
    let db = builder(&disk)
        .scheduler(scheduler)
        .cache(Cache::new(data))
        .metadata_cache(Cache::new(metadata))
        .family("default", config)
        .open()
        .unwrap();
    let key = |at: u32| at.wrapping_mul(0x9e37_79b9).to_be_bytes();
    for at in 0..8000 {
        db.put(&key(at), &key(at).repeat(20)).unwrap();
    }
    db.delete_range(b"\xff", b"\xff\xff").unwrap();
    db.flush().unwrap();
    for at in (0..8000).chain(0..2000) {
        let found = db.get(&key(at)).unwrap();
        assert_eq!(found.is_some(), key(at)[0] != 0xff, "{at}");
    }
    db
}

#[test]
fn metadata_with_a_budget_of_its_own_stays_whatever_data_comes_by() {
    let roles = [Role::IndexPiece, Role::FilterPiece, Role::TopLevel, Role::TableHandle];
    let db = read_with_budgets(64 << 10, 4 << 20);
    let stats = db.stats();
    let metadata = stats.metadata_cache.unwrap();
    assert!(stats.cache.role(Role::Data).evictions > 1000);
    assert_eq!(metadata.total().evictions, 0);
    for role in roles.into_iter().chain([Role::RangeTombstones]) {
        assert!(metadata.role(role).bytes > 0, "{role}");
        assert_eq!(stats.cache.role(role).bytes, 0, "{role}");
    }
    assert_eq!(metadata.role(Role::Data).bytes, 0);
    // Each piece was read once.
    let pieces = metadata.role(Role::FilterPiece);
    assert_eq!(pieces.misses, pieces.inserts);
}

#[test]
fn metadata_that_is_more_than_its_budget_leaves_and_reads_go_on() {
    let whole = read_with_budgets(64 << 10, 4 << 20).metadata_cache().unwrap().usage_bytes();
    let limit = whole / 2;
    let db = read_with_budgets(64 << 10, limit);
    let metadata = db.metadata_cache().unwrap();
    assert!(metadata.stats().total().evictions > 0);
    assert!(metadata.usage_bytes() <= limit, "{} of {limit}", metadata.usage_bytes());
}
