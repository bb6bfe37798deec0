//! Ingestion: what readers see of it, where files go, what is refused, and what crashes and faults leave.

use std::collections::BTreeMap;
use std::io::ErrorKind as IoKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::place::{Numbers, Tree, place_all};
use super::*;
use crate::cache::Cache;
use crate::db::churn_testing::{check_files, disk, must_end, tables_in};
use crate::db::compact::Running;
use crate::db::testing::{Draw, Pairs, all, backward, forward};
use crate::db::{DbBuilder, FamilyConfig, IterOptions, ReadOptions, WriteOptions};
use crate::error::ErrorKind;
use crate::io::{
    CallKind, Fault, FaultFileSystem, FileSystem, ManualScheduler, MemoryFileSystem, Unsynced,
};
use crate::key::KeyOrder;
use crate::options::{ColumnFamilyOptions, CompactionStyle, DbOptions, ObjectName, TableOptions};
use crate::table::ReadContext;

mod histories;

fn family_options() -> ColumnFamilyOptions {
    ColumnFamilyOptions {
        write_buffer_size: 64 << 10,
        level0_file_num_compaction_trigger: 3,
        target_file_size_base: 2 << 10,
        max_bytes_for_level_base: 8 << 10,
        max_bytes_for_level_multiplier: 4.0,
        level_compaction_dynamic_level_bytes: false,
        table: TableOptions { block_size: 256, ..TableOptions::default() },
        merge_operator: ObjectName::new("StringAppendOperator"),
        ..ColumnFamilyOptions::default()
    }
}

fn builder(fs: Arc<dyn FileSystem>, family: &ColumnFamilyOptions) -> DbBuilder {
    let options = DbOptions {
        create_if_missing: true,
        create_missing_column_families: true,
        max_background_jobs: 4,
        ..DbOptions::default()
    };
    let config = FamilyConfig { options: Some(family.clone()), ..FamilyConfig::default() };
    DbBuilder::new("/db")
        .file_system(fs)
        .cache(Cache::new(8 << 20))
        .options(options)
        .family("default", config.clone())
        .family("more", config)
}

fn open_with(fs: &FaultFileSystem, family: &ColumnFamilyOptions) -> Db {
    let scheduler = Arc::new(ManualScheduler::in_order());
    builder(Arc::new(fs.clone()), family).scheduler(scheduler).open().unwrap()
}

fn open(fs: &FaultFileSystem) -> Db {
    open_with(fs, &family_options())
}

/// Writes an external file of puts.
fn external(db: &Db, path: &str, pairs: &[(&str, &str)]) -> String {
    let path = format!("/{path}");
    let mut writer = db.sst_file_writer(&db.default_family(), &path).unwrap();
    for (key, value) in pairs {
        writer.put(key.as_bytes(), value.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    path
}

fn pairs(pairs: &[(&str, &str)]) -> Pairs {
    pairs.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.as_bytes().to_vec())).collect()
}

fn state(db: &Db) -> Pairs {
    let family = db.default_family();
    let found = all(db, &family);
    assert_eq!(backward(&mut db.iter_cf(&family, IterOptions::default()).unwrap()), found);
    for (key, value) in &found {
        assert_eq!(db.get(key).unwrap().as_deref(), Some(&value[..]), "{key:?}");
    }
    found
}

const DEFAULT: IngestOptions = IngestOptions {
    transfer: FileTransfer::Copy,
    snapshot_consistency: true,
    allow_global_seqno: true,
    allow_blocking_flush: true,
    verify: true,
    behind: false,
    fail_if_not_bottommost_level: false,
};

#[test]
fn every_kind_of_entry_counts_over_what_was_there_and_not_for_those_who_looked_before() {
    let (disk, fs) = disk();
    let db = open(&fs);
    let family = db.default_family();
    for (key, value) in [("a", "1"), ("b", "1"), ("m", "1"), ("x", "1"), ("y", "1")] {
        db.put(key.as_bytes(), value.as_bytes()).unwrap();
    }
    let before = db.snapshot();
    let mut walk = db.iter_cf(&family, IterOptions::default()).unwrap();
    let mut writer = db.sst_file_writer(&family, "/e.sst").unwrap();
    writer.put(b"a", b"2").unwrap();
    writer.delete(b"b").unwrap();
    writer.merge(b"m", b"2").unwrap();
    // It hides x and y of the database, not x of its own file.
    writer.delete_range(b"n", b"z").unwrap();
    writer.put(b"x", b"2").unwrap();
    writer.finish().unwrap();
    let seqno = db.visible_seqno();
    let files = db.ingest(&family, &["/e.sst"], &DEFAULT).unwrap();
    assert_eq!((files.len(), files[0].level, files[0].seqno.get()), (1, 0, seqno.get() + 1));
    assert_eq!(db.visible_seqno(), files[0].seqno);
    let expected = pairs(&[("a", "2"), ("m", "1,2"), ("x", "2")]);
    assert_eq!(state(&db), expected);
    let old = pairs(&[("a", "1"), ("b", "1"), ("m", "1"), ("x", "1"), ("y", "1")]);
    assert_eq!(forward(&mut walk), old);
    let reads = ReadOptions { snapshot: Some(before.clone()), ..ReadOptions::default() };
    let at = IterOptions { read: reads, ..IterOptions::default() };
    assert_eq!(forward(&mut db.iter_cf(&family, at).unwrap()), old);
    // What is written later counts over it, in memory, in tables, and opened again.
    db.put(b"a", b"3").unwrap();
    let expected = pairs(&[("a", "3"), ("m", "1,2"), ("x", "2")]);
    for _ in 0..2 {
        assert_eq!(state(&db), expected);
        db.flush().unwrap();
    }
    drop((before, walk));
    db.compact_range(&family, None, None).unwrap();
    assert_eq!(state(&db), expected);
    check_files(&db, &fs, "compacted");
    drop((db, family));
    let again = FaultFileSystem::new(Arc::new(disk.after_crash(Unsynced::Lost)));
    assert_eq!(state(&open(&again)), expected);
}

fn levels(files: &[IngestedFile]) -> Vec<usize> {
    files.iter().map(|file| file.level).collect()
}

#[test]
fn a_file_goes_as_deep_as_nothing_with_keys_of_its_range_is_above() {
    let (_, fs) = disk();
    let db = open(&fs);
    let family = db.default_family();
    let ingest = |name: &str, keys: &[(&str, &str)]| {
        let file = external(&db, name, keys);
        levels(&db.ingest(&family, &[file], &DEFAULT).unwrap())
    };
    assert_eq!(ingest("1", &[("c", "1"), ("k", "1")]), [6], "nothing is there");
    assert_eq!(ingest("2", &[("p", "2"), ("z", "2")]), [6], "beside it");
    assert_eq!(ingest("3", &[("d", "3"), ("e", "3")]), [5], "between its keys");
    assert_eq!(ingest("4", &[("e", "4"), ("f", "4")]), [4], "over a key on level 5");
    assert_eq!(ingest("5", &[("e", "5"), ("z", "5")]), [3]);
    assert_eq!(ingest("6", &[("g", "6"), ("h", "6")]), [5], "passed between keys of level 3");
    db.put(b"g", b"7").unwrap();
    assert_eq!(ingest("7", &[("l", "7")]), [6], "the memtable has no such key");
    assert_eq!(ingest("8", &[("a", "8"), ("m", "8")]), [0], "it was flushed");
    // A tombstone in memory over no key.
    db.delete_range_cf(&family, b"zb", b"zd").unwrap();
    assert_eq!(ingest("9", &[("zc", "9")]), [0]);
    let expected = pairs(&[
        ("a", "8"),
        ("c", "1"),
        ("d", "3"),
        ("e", "5"),
        ("f", "4"),
        ("g", "7"),
        ("h", "6"),
        ("k", "1"),
        ("l", "7"),
        ("m", "8"),
        ("p", "2"),
        ("z", "5"),
        ("zc", "9"),
    ]);
    assert_eq!(state(&db), expected);
    db.compact_range(&family, None, None).unwrap();
    assert_eq!(state(&db), expected);
    check_files(&db, &fs, "after all");
}

#[test]
fn of_files_that_overlap_the_later_counts() {
    let (_, fs) = disk();
    let db = open(&fs);
    let family = db.default_family();
    let files = [
        external(&db, "1", &[("a", "1"), ("c", "1"), ("e", "1")]),
        external(&db, "2", &[("x", "2")]),
        external(&db, "3", &[("c", "3"), ("d", "3")]),
        external(&db, "4", &[("d", "4"), ("x", "4")]),
    ];
    let ingested = db.ingest(&family, &files, &DEFAULT).unwrap();
    assert_eq!(levels(&ingested), [6, 6, 5, 4]);
    assert!(ingested.windows(2).all(|pair| pair[0].seqno < pair[1].seqno));
    assert_eq!(state(&db), pairs(&[("a", "1"), ("c", "3"), ("d", "4"), ("e", "1"), ("x", "4")]));
    // More than there are levels.
    let files: Vec<String> =
        (0..9).map(|i| external(&db, &format!("m{i}"), &[("c", &i.to_string())])).collect();
    let ingested = db.ingest(&family, &files, &DEFAULT).unwrap();
    assert_eq!(levels(&ingested)[..6], [4, 3, 2, 1, 0, 0]);
    assert_eq!(db.get(b"c").unwrap().unwrap(), b"8");
    db.compact_range(&family, None, None).unwrap();
    assert_eq!(db.get(b"c").unwrap().unwrap(), b"8");
}

#[test]
fn where_a_tombstone_ends_the_next_file_may_begin() {
    let (_, fs) = disk();
    let db = open(&fs);
    let family = db.default_family();
    let mut writer = db.sst_file_writer(&family, "/1").unwrap();
    writer.delete_range(b"a", b"k").unwrap();
    writer.finish().unwrap();
    let other = external(&db, "2", &[("k", "2")]);
    let ingested = db.ingest(&family, &["/1".to_owned(), other], &DEFAULT).unwrap();
    assert_eq!(levels(&ingested), [6, 6]);
    assert_eq!(state(&db), pairs(&[("k", "2")]));
    db.put(b"b", b"1").unwrap();
    assert_eq!(state(&db), pairs(&[("b", "1"), ("k", "2")]));
}

#[test]
fn fifo_and_universal_families_take_files_in() {
    for (style, expected) in [(CompactionStyle::Fifo, [0, 0]), (CompactionStyle::Universal, [6, 5])]
    {
        let (_, fs) = disk();
        let family = ColumnFamilyOptions { compaction_style: style, ..family_options() };
        let db = open_with(&fs, &family);
        let family = db.default_family();
        let one = external(&db, "1", &[("a", "1"), ("b", "1")]);
        let two = external(&db, "2", &[("b", "2"), ("c", "2")]);
        let first = db.ingest(&family, &[one], &DEFAULT).unwrap();
        let second = db.ingest(&family, &[two], &DEFAULT).unwrap();
        assert_eq!([first[0].level, second[0].level], expected, "{style:?}");
        let expected = pairs(&[("a", "1"), ("b", "2"), ("c", "2")]);
        assert_eq!(state(&db), expected);
        db.compact_range(&family, None, None).unwrap();
        assert_eq!(state(&db), expected);
    }
}

#[test]
fn files_for_several_families_come_together() {
    let (_, fs) = disk();
    let db = open(&fs);
    let more = db.family("more").unwrap();
    db.put_cf(&more, b"k", b"old").unwrap();
    let one = external(&db, "1", &[("k", "1")]);
    let mut writer = db.sst_file_writer(&more, "/2").unwrap();
    writer.put(b"k", b"2").unwrap();
    writer.finish().unwrap();
    let both = [(db.default_family(), vec![one.into()]), (more.clone(), vec!["/2".into()])];
    let before = db.snapshot();
    let files = db.ingest_several(&both, &DEFAULT).unwrap();
    assert_eq!(levels(&files), [6, 0]);
    let counted = |family: &ColumnFamily, level: usize| {
        let counters = db.family_stats(family).levels[level].counters;
        (counters.ingested, counters.bytes_ingested)
    };
    assert_eq!(counted(&db.default_family(), 6), (1, files[0].file_bytes));
    assert_eq!(counted(&more, 0), (1, files[1].file_bytes));
    assert_eq!(db.get(b"k").unwrap().unwrap(), b"1");
    assert_eq!(db.get_cf(&more, b"k").unwrap().unwrap(), b"2");
    let reads = ReadOptions { snapshot: Some(before), ..ReadOptions::default() };
    assert_eq!(
        db.get_with(&more, b"k", &reads, &mut ReadContext::default()).unwrap().unwrap(),
        b"old"
    );
    assert_eq!(
        db.get_with(&db.default_family(), b"k", &reads, &mut ReadContext::default()).unwrap(),
        None
    );
    // A file of one family is none of another.
    let error = db.ingest(&db.default_family(), &["/2"], &DEFAULT).unwrap_err();
    assert!(error.message().contains("written for column family 1"), "{error}");
    let twice = [(more.clone(), vec!["/2".into()]), (more, vec!["/2".into()])];
    assert_eq!(db.ingest_several(&twice, &DEFAULT).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn links_are_made_and_names_are_taken_away_as_asked() {
    for (transfer, stays) in
        [(FileTransfer::Copy, true), (FileTransfer::Link, true), (FileTransfer::Move, false)]
    {
        for linkable in [true, false] {
            let (disk, fs) = disk();
            let db = open(&fs);
            let file = external(&db, "e", &[("k", "1")]);
            let links = fs.calls_of(CallKind::HardLink);
            if !linkable {
                fs.set_rule(|call| {
                    (call.kind == CallKind::HardLink).then_some(Fault::Error(IoKind::Unsupported))
                });
            }
            let options = IngestOptions { transfer, ..DEFAULT };
            db.ingest(&db.default_family(), &[&file], &options).unwrap();
            assert_eq!(fs.exists(file.as_ref()).unwrap(), stays, "{transfer:?}");
            let tried = fs.calls_of(CallKind::HardLink) > links;
            assert_eq!(tried, transfer != FileTransfer::Copy);
            // It was never synced by who wrote it, perhaps.
            let after = FaultFileSystem::new(Arc::new(disk.after_crash(Unsynced::Lost)));
            assert_eq!(state(&open(&after)), pairs(&[("k", "1")]), "{transfer:?}");
        }
    }
}

/// What is refused, and why, leaves the database and its directory as they were, and the file where it was.
#[test]
fn what_cannot_be_ingested_is_refused_by_name_and_leaves_no_trace() {
    let (_, fs) = disk();
    let db = open(&fs);
    let family = db.default_family();
    db.put(b"k", b"old").unwrap();
    db.flush().unwrap();
    let before = state(&db);
    let refused = |path: &str, options: &IngestOptions, kind: ErrorKind, why: &str| {
        let error = db.ingest(&family, &[path], options).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(why), "{error}");
        assert!(error.to_string().contains(path) || error.file().is_none(), "{error}");
        assert_eq!(state(&db), before);
        check_files(&db, &fs, why);
        assert!(path == "/none" || fs.exists(path.as_ref()).unwrap());
    };
    use ErrorKind::{Corruption, InvalidArgument, Io};
    refused("/none", &DEFAULT, Io, "none");
    let own = db.ingest(&family, &[external(&db, "own", &[("q", "1")])], &DEFAULT).unwrap();
    db.delete(b"q").unwrap();
    db.compact_range(&family, None, None).unwrap();
    assert_eq!(own[0].level, 6);
    let tables: Vec<_> = family.0.family.current().files().map(|(_, file)| file.number).collect();
    let table = crate::version::FileName::Table(tables[0]).in_dir("/db".as_ref());
    refused(table.to_str().unwrap(), &DEFAULT, InvalidArgument, "external_sst_file.version");

    let write = |path: &str, order: KeyOrder| {
        let file = fs.create(path.as_ref()).unwrap();
        let context = TableContext::default();
        let mut writer = SstFileWriter::new(file, TableOptions::default(), order, context).unwrap();
        writer.put(b"k", &[7; 400]).unwrap();
        writer.finish().unwrap();
    };
    write("/reverse", KeyOrder::ReverseBytewise);
    refused("/reverse", &DEFAULT, InvalidArgument, "rocksdb.ReverseBytewiseComparator");
    write("/good", KeyOrder::Bytewise);
    let good = fs.read("/good".as_ref()).unwrap();
    let with = |path: &str, bytes: &[u8]| {
        let mut file = fs.create(path.as_ref()).unwrap();
        file.append(bytes).unwrap();
        file.flush().unwrap();
    };
    let mut flipped = good.clone();
    flipped[3] ^= 1;
    with("/flipped", &flipped);
    refused("/flipped", &DEFAULT, Corruption, "data block");
    with("/short", &good[..good.len() - 3]);
    refused("/short", &DEFAULT, Corruption, "footer");
    with("/empty", b"");
    refused("/empty", &DEFAULT, Corruption, "footer");

    let without_numbers = IngestOptions { allow_global_seqno: false, ..DEFAULT };
    refused("/good", &without_numbers, InvalidArgument, "allow_global_seqno");
    db.put(b"k", b"old").unwrap();
    let without_flush = IngestOptions { allow_blocking_flush: false, ..DEFAULT };
    refused("/good", &without_flush, InvalidArgument, "allow_blocking_flush");
    let nothing: [&str; 0] = [];
    assert!(db.ingest(&family, &nothing, &DEFAULT).is_err());
    db.ingest(&family, &["/good"], &DEFAULT).unwrap();
    assert_eq!(db.get(b"k").unwrap().unwrap(), [7; 400]);
}

#[test]
fn without_a_number_a_file_comes_only_where_nothing_can_tell() {
    let (_, fs) = disk();
    let db = open(&fs);
    let family = db.default_family();
    db.put(b"k", b"1").unwrap();
    let without = IngestOptions { allow_global_seqno: false, ..DEFAULT };
    let (one, two) = (external(&db, "1", &[("a", "1")]), external(&db, "2", &[("a", "2")]));
    let snapshot = db.snapshot();
    let error = db.ingest(&family, &[&one], &without).unwrap_err();
    assert!(error.message().contains("snapshot"), "{error}");
    assert!(db.ingest(&family, &[&one, &two], &without).is_err());
    // Shown to the snapshot.
    let shown = IngestOptions { snapshot_consistency: false, ..without };
    let files = db.ingest(&family, &[&one], &shown).unwrap();
    assert_eq!((files[0].seqno, files[0].level), (SeqNo::ZERO, 6));
    let reads = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    assert_eq!(
        db.get_with(&family, b"a", &reads, &mut ReadContext::default()).unwrap().unwrap(),
        b"1"
    );
    // It has no number to be newer by.
    assert!(db.ingest(&family, &[&two], &shown).is_err());
    let files =
        db.ingest(&family, &[&two], &IngestOptions { snapshot_consistency: false, ..DEFAULT });
    assert!(files.unwrap()[0].seqno > SeqNo::ZERO);
    assert_eq!(state(&db), pairs(&[("a", "2"), ("k", "1")]));
}

/// Synced writes and an ingestion into two families, then more.
fn history(fs: &FaultFileSystem, told: &mut (u32, bool)) -> Result<()> {
    let scheduler = Arc::new(ManualScheduler::in_order());
    let db = builder(Arc::new(fs.clone()), &family_options()).scheduler(scheduler).open()?;
    let more = db.family("more")?;
    let (synced, not) = (WriteOptions::SYNC, WriteOptions::default());
    let write = |number: u32, options: &WriteOptions| {
        let mut batch = crate::batch::WriteBatch::new();
        batch.put(format!("w{number}").as_bytes(), b"v")?;
        batch.put_cf(more.id(), format!("w{number}").as_bytes(), b"v")?;
        db.write(batch, options)
    };
    write(1, &synced)?;
    told.0 = 1;
    write(2, &not)?;
    for (family, path) in [(db.default_family(), "/1"), (more.clone(), "/2")] {
        let mut writer = db.sst_file_writer(&family, path)?;
        writer.put(b"e", b"v")?;
        // What is in memory is covered.
        writer.put(b"w0", b"v")?;
        writer.put(b"w11", b"v")?;
        writer.finish()?;
    }
    let files = [(db.default_family(), vec!["/1".into()]), (more.clone(), vec!["/2".into()])];
    db.ingest_several(&files, &IngestOptions { transfer: FileTransfer::Move, ..DEFAULT })?;
    *told = (2, true);
    write(3, &not)
}

#[test]
fn cut_at_any_call_all_files_are_there_or_none_with_all_that_was_written_before() {
    let fs = FaultFileSystem::new(Arc::new(MemoryFileSystem::new()));
    history(&fs, &mut (0, false)).unwrap();
    let calls = fs.calls();
    let (mut there, mut not) = (0, 0);
    for cut in 0..calls {
        let disk = MemoryFileSystem::new();
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        fs.fail_from(cut, IoKind::Other);
        let mut told = (0, false);
        let _ = history(&fs, &mut told);
        for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Random(cut)] {
            let what = format!("cut at {cut}, {unsynced:?}");
            let after = FaultFileSystem::new(Arc::new(disk.after_crash(unsynced)));
            let db = open(&after);
            let keys = |family: &str| -> Vec<String> {
                let found = all(&db, &db.family(family).unwrap());
                found.into_iter().map(|(key, _)| String::from_utf8(key).unwrap()).collect()
            };
            let found = keys("default");
            assert_eq!(found, keys("more"), "{what}");
            let written = (1..=3).take_while(|i| found.contains(&format!("w{i}"))).count() as u32;
            assert!(written >= told.0, "{what}: {found:?}");
            let ingested = ["e", "w0", "w11"].map(|key| found.contains(&key.to_owned()));
            assert!(ingested == [true; 3] || ingested == [false; 3], "{what}: {found:?}");
            assert!(ingested[0] || !told.1, "{what}: {found:?}");
            // All that came before a file comes with it, and nothing that came behind without it.
            assert!(!ingested[0] || written >= 2, "{what}: {found:?}");
            assert!(ingested[0] || written <= 2, "{what}: {found:?}");
            if ingested[0] {
                there += 1;
            } else {
                not += 1;
            }
            check_files(&db, &after, &what);
            // It can be written on, over the file.
            db.put(b"e", b"new").unwrap();
            db.flush().unwrap();
            assert_eq!(db.get(b"e").unwrap().unwrap(), b"new", "{what}");
        }
    }
    assert!(there > 8 && not > 100, "{there}, {not}");
}

#[test]
fn any_call_may_fail_and_it_can_be_done_again() {
    let mut tried = 0;
    for nth in 0.. {
        let (disk, fs) = disk();
        let db = open(&fs);
        let family = db.default_family();
        db.put(b"b", b"old").unwrap();
        let file = external(&db, "e", &[("a", "1"), ("b", "1"), ("c", "1")]);
        let fault = [Fault::Error(IoKind::StorageFull), Fault::ErrorAfterwards(IoKind::Other)];
        let fault = fault[nth as usize % 2];
        let mut seen = 0;
        fs.set_rule(move |_| {
            seen += 1;
            (seen == nth + 1).then_some(fault)
        });
        let result = db.ingest(&family, &[&file], &DEFAULT);
        fs.clear_rule();
        let found = db.get(b"b").unwrap().unwrap().to_vec();
        assert_eq!(found, if result.is_ok() { b"1".to_vec() } else { b"old".to_vec() }, "{nth}");
        if result.is_err() {
            tried += 1;
            // The number of a file in doubt is not given to a write.
            let _ = db.resume();
            db.put(b"a", b"2").unwrap();
            let after = FaultFileSystem::new(Arc::new(disk.after_crash(Unsynced::Kept)));
            assert_eq!(open(&after).get(b"a").unwrap().unwrap(), b"2", "{nth}");
            db.ingest(&family, &[&file], &DEFAULT).unwrap_or_else(|e| panic!("{nth}: {e}"));
        }
        assert_eq!(state(&db), pairs(&[("a", "1"), ("b", "1"), ("c", "1")]), "{nth}");
        db.put(b"z", b"").unwrap();
        db.flush().unwrap();
        // A log that could not be removed is the next opening's; tables are looked for.
        let named: std::collections::BTreeSet<u64> =
            db.inner().versions.live_tables().iter().map(|number| number.get()).collect();
        assert_eq!(tables_in(&fs), named, "{nth}");
        if result.is_ok() && nth > 60 {
            break;
        }
    }
    assert!(tried > 30, "{tried}");
}

/// RocksDB before 7.10 orders level 0 by sequence numbers, and we by epochs: it must come to the same.
fn assert_level0_in_order(family: &ColumnFamily, what: &str) {
    let version = family.0.family.current();
    let numbers = version.levels()[0].files().iter();
    let numbers: Vec<_> = numbers.map(|it| (it.smallest_seqno, it.largest_seqno)).collect();
    let in_order = numbers.windows(2).all(|pair| pair[0].0 > pair[1].1);
    assert!(in_order, "{what}: newest first {numbers:?}");
}

#[test]
fn a_file_that_is_merged_on_level_0_has_not_overtaken_what_is_in_memory() {
    let (_, fs) = disk();
    let options = ColumnFamilyOptions {
        compaction_style: CompactionStyle::Universal,
        level0_file_num_compaction_trigger: 3,
        ..ColumnFamilyOptions::default()
    };
    let db = open_with(&fs, &options);
    let family = db.default_family();
    // The oldest run is much larger, so that the two newer ones are merged by themselves.
    for at in 0..500 {
        db.put(format!("key{at:03}").as_bytes(), &[at as u8; 200]).unwrap();
    }
    db.flush().unwrap();
    db.put(b"key100", b"old").unwrap();
    db.put(b"key300", b"old").unwrap();
    db.flush().unwrap();
    db.put(b"key100", b"new").unwrap();
    let path = external(&db, "1", &[("key200", "ingested")]);
    let no_flush = IngestOptions { allow_blocking_flush: false, ..DEFAULT };
    let refused = db.ingest(&family, &[&path], &no_flush).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
    assert_eq!(db.ingest(&family, &[path], &DEFAULT).unwrap()[0].level, 0);
    db.wait_for_background_work().unwrap();
    db.flush().unwrap();
    assert_level0_in_order(&family, "merged");
    assert_eq!(db.get(b"key100").unwrap().unwrap(), b"new");
}

/// The version that it was looked for in does not have what the compaction wrote, and the compaction is no more.
#[test]
fn a_compaction_that_ends_while_a_place_is_looked_for_is_still_in_the_way() {
    let (_, fs) = disk();
    let db = open(&fs);
    let (inner, family) = (db.inner(), db.default_family());
    for key in ["a", "m", "z"] {
        db.put(key.as_bytes(), b"old").unwrap();
        db.flush().unwrap();
    }
    let file = external(&db, "1", &[("b", "new")]);
    let file = External::judge(inner, &family, file.as_ref(), &DEFAULT).unwrap();
    let picker = &family.0.picker;
    let compaction =
        inner.pick(&family, |moment, version| picker.pick(version, moment)).expect("it is due");
    let output = compaction.output_level;
    assert!(output > 0);
    let none_picked = family.0.under_way.lock();
    let tree = Tree::new(&family.0, &none_picked);
    let running = Running::new(&inner.writing().unwrap().compactions);
    inner.compact(&family, compaction).unwrap();
    drop(running);
    let placed = |tree: &Tree<'_>| {
        let mut numbers = Numbers::behind(inner.versions.last_sequence(), false);
        let places = place_all(tree, std::slice::from_ref(&file), &mut numbers).unwrap();
        (places[0].level, numbers.given())
    };
    assert_eq!(placed(&tree), (0, true), "the output is on level {output}");
    drop(none_picked);
}
