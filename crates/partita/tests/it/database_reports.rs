//! Faults that users of other engines reported, re-created on databases: through files of others, reopenings, and reads that fail.
//!
//! `docs/public-reports.md` lists all reports with the tests that guard them.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use partita::ErrorKind;
use partita::batch::WriteBatch;
use partita::cache::{Cache, Role};
use partita::db::{
    Db, DbBuilder, DbIterator, FamilyConfig, IngestOptions, IterOptions, ReadOptions, WriteOptions,
};
use partita::io::{
    CallKind, Fault, FaultFileSystem, FileSystem, ManualScheduler, MemoryFileSystem, Unsynced,
};
use partita::key::{PrefixExtractor, SeqNo};
use partita::options::file::FindingKind;
use partita::options::{
    ColumnFamilyOptions, DataBlockIndex, DbOptions, FilterLayout, IndexType, TableOptions,
    WalRecoveryMode,
};
use partita::table::ReadContext;
use partita::version::{FileName, VersionEdit, read_current};
use partita::wal::{LogReader, LogReaderOptions};

const DIR: &str = "/db";
const MODES: [WalRecoveryMode; 4] = [
    WalRecoveryMode::PointInTime,
    WalRecoveryMode::TolerateCorruptedTailRecords,
    WalRecoveryMode::AbsoluteConsistency,
    WalRecoveryMode::SkipAnyCorruptedRecords,
];

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn creating() -> DbOptions {
    DbOptions { create_if_missing: true, ..DbOptions::default() }
}

fn quiet() -> ColumnFamilyOptions {
    ColumnFamilyOptions { disable_auto_compactions: true, ..ColumnFamilyOptions::default() }
}

fn builder(fs: &(impl FileSystem + Clone + 'static), options: &ColumnFamilyOptions) -> DbBuilder {
    let options = Some(options.clone());
    DbBuilder::new(DIR)
        .file_system(Arc::new(fs.clone()))
        .cache(Cache::new(4 << 20))
        .scheduler(Arc::new(ManualScheduler::in_order()))
        .options(creating())
        .family("default", FamilyConfig { options, ..FamilyConfig::default() })
}

/// What a walk shows, or how it fails.
fn walk(db: &Db) -> partita::Result<Pairs> {
    let mut pairs = Pairs::new();
    let mut iter = db.iter()?;
    iter.seek_to_first()?;
    while iter.is_valid() {
        pairs.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next()?;
    }
    Ok(pairs)
}

/// The same from behind.
fn walk_back(db: &Db) -> partita::Result<Pairs> {
    let mut pairs = Pairs::new();
    let mut iter = db.iter()?;
    iter.seek_to_last()?;
    while iter.is_valid() {
        pairs.insert(0, (iter.key().to_vec(), iter.value().to_vec()));
        iter.prev()?;
    }
    Ok(pairs)
}

fn key(number: u32) -> Vec<u8> {
    format!("key{number:04}").into_bytes()
}

fn write_file(fs: &dyn FileSystem, name: FileName, bytes: &[u8]) {
    let mut file = fs.create(&name.in_dir(Path::new(DIR))).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

fn names(fs: &dyn FileSystem) -> Vec<FileName> {
    let names = fs.list(Path::new(DIR)).unwrap();
    names.iter().filter_map(|name| FileName::parse(name)).collect()
}

// rocksdb#6245
#[test]
fn r04_an_ingested_file_counts_over_all_that_was_there_before_it_at_every_opening() {
    let fs = MemoryFileSystem::new();
    for _ in 0..3 {
        let db = builder(&fs, &quiet()).open().unwrap();
        db.put(b"k", b"a").unwrap();
        db.flush().unwrap();
        db.close().unwrap();
    }
    let db = builder(&fs, &quiet()).open().unwrap();
    let family = db.default_family();
    let before = db.snapshot();
    let mut writer = db.sst_file_writer(&family, "/external.sst").unwrap();
    writer.put(b"k", b"b").unwrap();
    writer.finish().unwrap();
    let files = db.ingest(&family, &["/external.sst"], &IngestOptions::default()).unwrap();
    assert_eq!(files[0].level, 0, "it overlaps three tables there");
    let check = |db: &Db, when: &str| {
        assert_eq!(db.get(b"k").unwrap().unwrap(), b"b", "{when}");
        assert_eq!(db.multi_get(&[b"k"]).unwrap()[0].as_deref(), Some(&b"b"[..]), "{when}");
        assert_eq!(walk(db).unwrap()[0], (b"k".to_vec(), b"b".to_vec()), "{when}");
        let floor = db.get_floor(Bound::Unbounded).unwrap();
        assert!(floor.is_some(), "{when}");
    };
    check(&db, "ingested");
    let read = ReadOptions::at(&before);
    let then = db.get_with(&family, b"k", &read, &mut ReadContext::default()).unwrap();
    assert_eq!(then.unwrap(), b"a");
    drop(before);
    db.close().unwrap();
    drop((family, db));
    let db = builder(&fs, &quiet()).open_read_only().unwrap();
    check(&db, "opened to be read");
    let db = builder(&fs, &quiet()).open().unwrap();
    check(&db, "opened again");
    db.put(b"unrelated", b"c").unwrap();
    db.flush().unwrap();
    check(&db, "after the flush of another key");
    db.compact_range(&db.default_family(), None, None).unwrap();
    check(&db, "compacted");
}

// rocksdb#9005
#[test]
fn the_last_number_after_an_ingestion_into_two_families_is_the_greatest_and_no_sum() {
    // If snapshots need not be kept from seeing the files, the one gets no number, since nothing is there that it must be
    // newer than; the other does in any case.
    for (snapshot_consistency, numbers) in [(false, [0, 8]), (true, [8, 9])] {
        let fs = MemoryFileSystem::new();
        let db = builder(&fs, &quiet()).open().unwrap();
        let one = db.default_family();
        let other = db.create_family("other", FamilyConfig::default()).unwrap();
        for number in 0..7 {
            db.put_cf(&other, &key(number), b"old").unwrap();
        }
        assert_eq!(db.visible_seqno().get(), 7);
        for (family, path) in [(&one, "/1.sst"), (&other, "/2.sst")] {
            let mut writer = db.sst_file_writer(family, path).unwrap();
            writer.put(&key(3), b"new").unwrap();
            writer.finish().unwrap();
        }
        let files = [(one, vec!["/1.sst".into()]), (other.clone(), vec!["/2.sst".into()])];
        let options = IngestOptions { snapshot_consistency, ..IngestOptions::default() };
        let ingested = db.ingest_several(&files, &options).unwrap();
        assert_eq!([0, 1].map(|at| ingested[at].seqno.get()), numbers);
        assert_eq!(db.visible_seqno().get(), numbers[1]);
        db.put(b"next", b"").unwrap();
        assert_eq!(db.visible_seqno().get(), numbers[1] + 1);
        db.close().unwrap();
        drop((files, other, db));
        let db = builder(&fs, &quiet()).open().unwrap();
        assert_eq!(db.visible_seqno().get(), numbers[1] + 1);
        let other = db.family("other").unwrap();
        assert_eq!(db.get_cf(&other, &key(3)).unwrap().unwrap(), b"new");
        assert_eq!(db.get(&key(3)).unwrap().unwrap(), b"new");
    }
}

// rocksdb#10007
#[test]
fn the_number_of_an_ingested_file_is_missing_in_the_log_and_no_damage_to_it() {
    let fs = MemoryFileSystem::new();
    let options = DbOptions { wal_ttl_seconds: 3600, ..creating() };
    let db = builder(&fs, &quiet()).options(options.clone()).open().unwrap();
    db.put(b"a", b"1").unwrap();
    let held = db.snapshot();
    let family = db.default_family();
    let mut writer = db.sst_file_writer(&family, "/external.sst").unwrap();
    writer.put(b"b", b"2").unwrap();
    writer.finish().unwrap();
    db.ingest(&family, &["/external.sst"], &IngestOptions::default()).unwrap();
    db.put(b"c", b"3").unwrap();
    let follow = |db: &Db| {
        let updates = db.updates_since(SeqNo::new(1).unwrap()).unwrap();
        let (mut sequences, mut told) = (Vec::new(), Vec::new());
        for update in updates {
            match update {
                Ok(batch) => sequences.push(batch.sequence().get()),
                Err(error) => told.push(error),
            }
            assert!(told.len() < 2, "told once: {told:?}");
        }
        assert_eq!(sequences, [1, 3]);
        assert!(told.iter().all(|error| error.kind() == ErrorKind::Incomplete), "{told:?}");
    };
    follow(&db);
    drop(held);
    // In every mode, the strict one too, the log is whole.
    let killed = fs.after_crash(Unsynced::Kept);
    for mode in MODES {
        let fs = killed.after_crash(Unsynced::Kept);
        let options = DbOptions { wal_recovery_mode: mode, ..options.clone() };
        let db = builder(&fs, &quiet()).options(options).open().unwrap();
        assert_eq!(walk(&db).unwrap().len(), 3, "{mode}");
        follow(&db);
    }
}

// google/leveldb#1287
#[test]
fn a_log_with_a_torn_end_is_never_written_on() {
    for avoid_flush_during_recovery in [false, true] {
        let fs = MemoryFileSystem::new();
        let options = DbOptions { avoid_flush_during_recovery, ..creating() };
        let open =
            |fs: &MemoryFileSystem| builder(fs, &quiet()).options(options.clone()).open().unwrap();
        let db = open(&fs);
        for number in 0..20 {
            db.put(&key(number), &[7; 100]).unwrap();
        }
        let mut fs = fs.after_crash(Unsynced::Kept);
        let mut expected = 20;
        drop(db);
        for round in 0..3 {
            let newest = names(&fs).into_iter().filter_map(|name| match name {
                FileName::Log(number) => Some(number),
                _ => None,
            });
            let newest = newest.max().unwrap();
            let path = FileName::Log(newest).in_dir(Path::new(DIR));
            let bytes = fs.read(&path).unwrap();
            write_file(&fs, FileName::Log(newest), &bytes[..bytes.len() - 5]);
            expected -= 1;
            let db = open(&fs);
            assert_eq!(walk(&db).unwrap().len(), expected, "round {round}");
            for number in 0..5 {
                db.put(&key(1000 * (round + 1) + number), b"later").unwrap();
            }
            expected += 5;
            // What was written behind the torn end is found, and so is what stood before it.
            let killed = fs.after_crash(Unsynced::Kept);
            drop(db);
            let db = open(&killed.after_crash(Unsynced::Kept));
            assert_eq!(walk(&db).unwrap().len(), expected, "round {round}, opened again");
            fs = killed;
        }
    }
}

// google/leveldb#1285
#[test]
fn short_reads_of_any_file_are_no_end_of_it() {
    let disk = MemoryFileSystem::new();
    let db = builder(&disk, &quiet()).open().unwrap();
    for number in 0..300 {
        db.put(&key(number), &[number as u8; 40]).unwrap();
        if number % 70 == 69 {
            db.flush().unwrap();
        }
    }
    let killed = disk.after_crash(Unsynced::Kept);
    let expected = walk(&db).unwrap();
    assert_eq!(expected.len(), 300);
    drop(db);
    for step in [1, 7, 100] {
        let fs = FaultFileSystem::new(Arc::new(killed.after_crash(Unsynced::Kept)));
        fs.set_rule(move |call| Some(Fault::Short(1 + call.index as usize * step % 90)));
        let db = builder(&fs, &quiet()).open_read_only().unwrap();
        assert_eq!(walk(&db).unwrap(), expected);
        assert_eq!(walk_back(&db).unwrap(), expected);
        drop(db);
        let db = builder(&fs, &quiet()).open().unwrap();
        assert_eq!(walk(&db).unwrap(), expected);
        assert!(db.lost_log_bytes().is_empty());
        db.close().unwrap();
    }
}

// google/leveldb#160
#[test]
fn a_manifest_whose_last_record_is_cut_at_the_end_of_a_page_opens_from_what_is_whole() {
    const PAGE_BYTES: usize = 4096;
    let fs = MemoryFileSystem::new();
    let options = DbOptions { max_manifest_file_size: 1 << 20, ..creating() };
    let open =
        |fs: &MemoryFileSystem| builder(fs, &quiet()).options(options.clone()).open().unwrap();
    let db = open(&fs);
    let manifest = FileName::Manifest(read_current(&fs, Path::new(DIR)).unwrap());
    let path = manifest.in_dir(Path::new(DIR));
    let mut states = vec![walk(&db).unwrap()];
    while fs.file_len(&path).unwrap() <= 3 * PAGE_BYTES as u64 {
        db.put(&key(states.len() as u32), &[1; 30]).unwrap();
        db.flush().unwrap();
        states.push(walk(&db).unwrap());
    }
    let killed = fs.after_crash(Unsynced::Kept);
    drop(db);
    let whole = killed.read(&path).unwrap();
    for page in 1..=3 {
        let cut = page * PAGE_BYTES;
        let fs = killed.after_crash(Unsynced::Kept);
        write_file(&fs, manifest, &whole[..cut]);
        let mut reader = LogReader::new(
            fs.open_sequential(&path).unwrap(),
            LogReaderOptions {
                mode: WalRecoveryMode::TolerateCorruptedTailRecords,
                ..LogReaderOptions::default()
            },
        );
        let mut tables = 0;
        while let Some(record) = reader.read_record().unwrap() {
            tables += VersionEdit::decode(record.payload).unwrap().new_files.len();
        }
        assert!(reader.end_offset() < cut as u64, "the page's end cuts a record");
        assert!(tables > 10 && tables < states.len() - 1);
        // Logs whose tables are not in the manifest any more were removed, so that it is the state of that record.
        let db = builder(&fs, &quiet()).open_read_only().unwrap();
        let found = walk(&db).unwrap();
        assert_eq!(found, states[tables], "page {page}");
        drop(db);
        let db = open(&fs);
        assert_eq!(walk(&db).unwrap(), states[tables], "page {page}, to be written");
        db.put(b"later", b"").unwrap();
        db.close().unwrap();
        drop(db);
        assert_eq!(walk(&open(&fs)).unwrap().len(), tables + 1);
    }
}

// rocksdb#10128
#[test]
fn a_database_may_change_its_prefix_extractor_and_change_it_back() {
    for index_type in [IndexType::HashSearch, IndexType::BinarySearch] {
        let fs = MemoryFileSystem::new();
        let options = |extractor: Option<PrefixExtractor>| {
            let table = TableOptions {
                // The hash index is there only for who has an extractor.
                index_type: if extractor.is_some() { index_type } else { IndexType::BinarySearch },
                index_block_restart_interval: 1,
                block_size: 200,
                filter_layout: FilterLayout::Full,
                whole_key_filtering: extractor.is_none(),
                data_block_index: DataBlockIndex::BinaryAndHash { util_ratio: 0.75 },
                prefix_extractor: extractor,
                ..TableOptions::default()
            };
            ColumnFamilyOptions { table, ..quiet() }
        };
        let turns = [
            Some(PrefixExtractor::Fixed(3)),
            Some(PrefixExtractor::Fixed(5)),
            None,
            Some(PrefixExtractor::Capped(2)),
            Some(PrefixExtractor::Fixed(3)),
        ];
        let mut expected = Pairs::new();
        for (turn, extractor) in turns.into_iter().enumerate() {
            let db = builder(&fs, &options(extractor.clone())).open().unwrap();
            for number in 0..60usize {
                let key = format!("{:03}{turn}{number:04}", number % 20).into_bytes();
                db.put(&key, &[turn as u8]).unwrap();
                expected.push((key, vec![turn as u8]));
            }
            expected.sort_unstable();
            db.flush().unwrap();
            assert_eq!(walk(&db).unwrap(), expected, "{index_type}, turn {turn}");
            assert_eq!(walk_back(&db).unwrap(), expected, "{index_type}, turn {turn}");
            for (at, (key, value)) in expected.iter().enumerate() {
                assert_eq!(db.get(key).unwrap().as_deref(), Some(&value[..]));
                let mut iter = db.iter().unwrap();
                iter.seek(key).unwrap();
                assert_eq!(iter.key(), key);
                iter.seek(&[&key[..], b"\0"].concat()).unwrap();
                let next = expected.get(at + 1).map(|(key, _)| &key[..]);
                assert_eq!(iter.is_valid().then(|| iter.key()), next);
                // A walk over one prefix shows its keys, whatever the tables' filters were built with.
                let Some(prefix) = extractor.as_ref().and_then(|it| it.prefix(key)) else {
                    continue;
                };
                let options = IterOptions { same_prefix: true, ..IterOptions::default() };
                let mut iter = db.iter_cf(&db.default_family(), options).unwrap();
                iter.seek(prefix).unwrap();
                let first = expected.iter().find(|(key, _)| key.starts_with(prefix)).unwrap();
                assert_eq!(iter.key(), first.0, "{index_type}, turn {turn}");
            }
            db.close().unwrap();
        }
    }
}

// rocksdb#11786
#[test]
fn a_read_that_fails_below_a_range_tombstone_is_an_error_and_never_an_early_end() {
    let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
    let table = TableOptions { block_size: 64, ..TableOptions::default() };
    let options = ColumnFamilyOptions { table, target_file_size_base: 300, ..quiet() };
    // Nothing stays in the cache.
    let db = builder(&fs, &options).cache(Cache::new(4 << 10)).open().unwrap();
    let family = db.default_family();
    for number in 0..60 {
        db.put(&key(number), &[1; 30]).unwrap();
    }
    db.compact_range(&family, None, None).unwrap();
    // Two levels with tombstones over stretches of what is below, so that walks are sought over them.
    for from in [10, 25, 40] {
        db.delete_range(&key(from), &key(from + 8)).unwrap();
    }
    for number in (0..60).step_by(7) {
        db.put(&key(number), &[2; 30]).unwrap();
    }
    db.flush().unwrap();
    db.delete_range(&key(30), &key(37)).unwrap();
    db.put(&key(33), &[3; 30]).unwrap();
    db.flush().unwrap();
    let expected = walk(&db).unwrap();
    assert!((20..60).contains(&expected.len()), "{}", expected.len());
    let directions: [fn(&Db) -> partita::Result<Pairs>; 2] = [walk, walk_back];
    for direction in directions {
        let reads = fs.calls_of(CallKind::ReadAt);
        direction(&db).unwrap();
        let reads = fs.calls_of(CallKind::ReadAt) - reads;
        assert!(reads > 10, "{reads}");
        let mut failed = 0;
        for nth in 0..reads {
            fs.fail_nth(
                CallKind::ReadAt,
                fs.calls_of(CallKind::ReadAt) + nth,
                std::io::ErrorKind::Other,
            );
            match direction(&db) {
                Ok(found) => assert_eq!(found, expected, "read {nth}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Io);
                    failed += 1;
                }
            }
            fs.clear_rule();
        }
        assert!(failed * 2 > reads, "{failed} of {reads}");
    }
    // A seek that fails leaves the walk nowhere, and the next one starts afresh.
    let mut iter = db.iter().unwrap();
    let mut failed = 0;
    for number in 0..60 {
        let place = fs.calls_of(CallKind::ReadAt);
        fs.fail_nth(CallKind::ReadAt, place, std::io::ErrorKind::Other);
        let sought = iter.seek(&key(number));
        fs.clear_rule();
        if sought.is_err() {
            assert!(!iter.is_valid());
            failed += 1;
            iter.seek(&key(number)).unwrap();
        }
        let next = expected.iter().find(|(known, _)| *known >= key(number));
        let found = iter.is_valid().then(|| iter.key().to_vec());
        assert_eq!(found, next.map(|(key, _)| key.clone()));
    }
    assert!(failed > 10, "{failed}");
}

// rocksdb#12989, rocksdb#7612
#[test]
fn unknown_options_are_told_and_open_whichever_release_wrote_them() {
    let fs = MemoryFileSystem::new();
    let db = builder(&fs, &quiet()).open().unwrap();
    db.put(b"k", b"v").unwrap();
    db.close().unwrap();
    drop(db);
    let newest = |fs: &MemoryFileSystem| {
        names(fs)
            .into_iter()
            .filter_map(|name| match name {
                FileName::Options(number) => Some(number),
                _ => None,
            })
            .max()
            .unwrap()
    };
    let name = FileName::Options(newest(&fs));
    let text = String::from_utf8(fs.read(&name.in_dir(Path::new(DIR))).unwrap()).unwrap();
    let version = text.lines().find(|line| line.contains("rocksdb_version=")).unwrap();
    for release in ["6.2.4", "7.8.3", "11.8.1", "99.0.0"] {
        let changed = text
            .replace(version, &format!("rocksdb_version={release}"))
            .replace("[DBOptions]\n", "[DBOptions]\n  colour_of_the_log=green\n");
        assert!(changed.contains("colour_of_the_log"));
        let fs = fs.after_crash(Unsynced::Kept);
        write_file(&fs, name, changed.as_bytes());
        let plain = || {
            DbBuilder::new(DIR)
                .file_system(Arc::new(fs.clone()))
                .scheduler(Arc::new(ManualScheduler::in_order()))
        };
        let told = |db: &Db| {
            let finding = db
                .option_findings()
                .iter()
                .find(|finding| finding.option.as_deref() == Some("colour_of_the_log"))
                .unwrap_or_else(|| panic!("{release}: nobody is told"));
            assert_eq!(finding.kind, FindingKind::UnknownOption, "{release}");
            assert_eq!(db.get(b"k").unwrap().unwrap(), b"v");
        };
        told(&plain().open_read_only().unwrap());
        let db = plain().open().unwrap();
        told(&db);
        db.put(b"l", b"w").unwrap();
        db.close().unwrap();
    }
}

// rocksdb#5073
#[test]
fn families_that_were_never_flushed_are_there_after_a_kill_with_all_their_keys() {
    let fs = MemoryFileSystem::new();
    let db = builder(&fs, &quiet()).open().unwrap();
    for number in 0..5u8 {
        let family = db.create_family(&format!("f{number}"), FamilyConfig::default()).unwrap();
        let mut batch = WriteBatch::new();
        batch.put_cf(family.id(), &[number], b"v").unwrap();
        batch.put(&[number], b"v").unwrap();
        db.write(batch, &WriteOptions::default()).unwrap();
    }
    let killed = fs.after_crash(Unsynced::Kept);
    drop(db);
    let opened: [fn(&DbBuilder) -> partita::Result<Db>; 2] =
        [DbBuilder::open_read_only, DbBuilder::open];
    for open in opened {
        let db = open(&builder(&killed, &quiet())).unwrap();
        assert_eq!(walk(&db).unwrap().len(), 5);
        for number in 0..5u8 {
            let family = db.family(&format!("f{number}")).unwrap();
            let mut iter: DbIterator = db.iter_cf(&family, IterOptions::default()).unwrap();
            iter.seek_to_first().unwrap();
            assert_eq!(iter.key(), [number]);
            iter.next().unwrap();
            assert!(!iter.is_valid());
        }
    }
}

// rocksdb#8682, rocksdb#4322
#[test]
fn a_current_that_a_crash_or_an_editor_spoilt_is_refused_by_all_who_open_and_left_as_it_is() {
    let fs = MemoryFileSystem::new();
    let db = builder(&fs, &quiet()).open().unwrap();
    db.put(b"k", b"v").unwrap();
    db.close().unwrap();
    drop(db);
    let current = fs.read(&FileName::Current.in_dir(Path::new(DIR))).unwrap();
    let name = current.trim_ascii_end().to_vec();
    let spoilt = [
        Vec::new(),
        name.clone(),
        [&name[..], b"\r\n"].concat(),
        [&name[..], b"\n\n"].concat(),
        b"MANIFEST-999999\n".to_vec(),
        vec![0; name.len() + 1],
    ];
    for text in spoilt {
        let fs = fs.after_crash(Unsynced::Kept);
        write_file(&fs, FileName::Current, &text);
        let opened: [fn(&DbBuilder) -> partita::Result<Db>; 2] =
            [DbBuilder::open_read_only, DbBuilder::open];
        for open in opened {
            let error = open(&builder(&fs, &quiet())).unwrap_err();
            assert!(error.is_corruption(), "{error}");
            let advice = format!("write \"{}\"", String::from_utf8_lossy(&name));
            assert!(error.to_string().contains(&advice), "{error}");
            assert_eq!(fs.read(&FileName::Current.in_dir(Path::new(DIR))).unwrap(), text);
        }
        // What it says to do helps.
        write_file(&fs, FileName::Current, &[&name[..], b"\n"].concat());
        let db = builder(&fs, &quiet()).open().unwrap();
        assert_eq!(db.get(b"k").unwrap().unwrap(), b"v");
    }
}

// rocksdb#3482
#[test]
fn r17_a_strict_cache_of_tiny_shards_in_a_file_is_told_of_and_fails_no_flush() {
    let fs = MemoryFileSystem::new();
    builder(&fs, &quiet()).open().unwrap().close().unwrap();
    let options = names(&fs).into_iter().filter(|name| matches!(name, FileName::Options(_))).max();
    let name = options.unwrap();
    let text = String::from_utf8(fs.read(&name.in_dir(Path::new(DIR))).unwrap()).unwrap();
    let section = "[TableOptions/BlockBasedTable \"default\"]\n";
    assert!(text.contains(section));
    let cache = "  block_cache={capacity=1G;num_shard_bits=16;strict_capacity_limit=true}\n";
    write_file(&fs, name, text.replace(section, &format!("{section}{cache}")).as_bytes());
    // Less than the index and the filter of a table.
    const BUDGET_BYTES: usize = 16 << 10;
    let cache = Cache::new(BUDGET_BYTES);
    let db = DbBuilder::new(DIR)
        .file_system(Arc::new(fs.clone()))
        .cache(cache.clone())
        .scheduler(Arc::new(ManualScheduler::in_order()))
        .open()
        .unwrap();
    let told = db.option_findings().iter().find(|it| it.option.as_deref() == Some("block_cache"));
    assert_eq!(told.expect("nobody is told").kind, FindingKind::RuntimeObject);
    for round in 0..2u8 {
        for number in 0..200 {
            db.put(&key(number), &[round; 20]).unwrap();
        }
        db.flush().unwrap();
    }
    db.compact_range(&db.default_family(), None, None).unwrap();
    for number in 0..200 {
        assert_eq!(db.get(&key(number)).unwrap().unwrap(), [1; 20]);
    }
    assert!(db.background_error().is_none());
    let data = cache.stats().role(Role::Data).bytes + cache.stats().role(Role::IndexPiece).bytes;
    assert!(data as usize <= BUDGET_BYTES + (8 << 10), "{data}");
    db.close().unwrap();
}
