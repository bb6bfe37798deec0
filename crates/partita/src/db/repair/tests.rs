//! Directories damaged by hand, and what is left of them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind as IoKind;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::batch::WriteBatch;
use crate::cache::Cache;
use crate::db::churn_testing::*;
use crate::db::testing::all;
use crate::db::{ColumnFamily, Db, FamilyConfig, WriteOptions};
use crate::error::ErrorKind;
use crate::io::{
    DiskFileSystem, FaultFileSystem, FileSystem, ManualClock, ManualScheduler, MemoryFileSystem,
    Unsynced,
};
use crate::options::{ColumnFamilyOptions, DbOptions};
use crate::version::{FileNumber, ManifestReader, read_current};

mod late;

const DIR: &str = "/db";
const TARGET: &str = "/repaired";

/// A database with tables on several levels and a log that holds the last batches, as a kill leaves it.
fn killed(batches: u32, family: &ColumnFamilyOptions) -> MemoryFileSystem {
    let disk = MemoryFileSystem::new();
    let scheduler = Arc::new(ManualScheduler::in_order());
    let db = by_hand(Arc::new(disk.clone()), family, &scheduler, &Arc::new(ManualClock::default()));
    for number in 1..=batches {
        db.write(batch(&db, number), &WriteOptions::SYNC).unwrap();
        if number % 3 == 0 && number < batches {
            db.flush().unwrap();
        }
        if number == 6 {
            db.compact_range(&db.family("more").unwrap(), None, None).unwrap();
        }
    }
    disk.after_crash(Unsynced::Lost)
}

fn fs_of(disk: &MemoryFileSystem) -> Arc<dyn FileSystem> {
    Arc::new(disk.clone())
}

fn broken(disk: &MemoryFileSystem) -> DbBuilder {
    DbBuilder::new(DIR).file_system(fs_of(disk)).cache(Cache::new(4 << 20))
}

fn contents(fs: &dyn FileSystem, dir: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let names = fs.list(dir).unwrap();
    names.into_iter().map(|name| (name.clone(), fs.read(&dir.join(name)).unwrap())).collect()
}

/// Repairs, sees to it that the directory stays as it is and that the plan said what was done, and opens the result.
fn repair_with(disk: &MemoryFileSystem, options: &RepairOptions) -> (RepairReport, Db) {
    let before = contents(disk, DIR.as_ref());
    let plan = broken(disk).plan_repair(&mut |_, _| {}).unwrap();
    assert!(!disk.exists(TARGET.as_ref()).unwrap(), "a plan writes nothing");
    let report = broken(disk).repair_to(TARGET, options, &mut |_, _| {}).unwrap();
    assert_eq!(contents(disk, DIR.as_ref()), before, "the directory is only read");
    assert_eq!((&plan.lost, &plan.kept, &plan.basis), (&report.lost, &report.kept, &report.basis));
    let builder = DbBuilder::new(TARGET).file_system(fs_of(disk)).cache(Cache::new(4 << 20));
    let strict = VerifiedOpen(&builder).open();
    (report, strict)
}

fn repair(disk: &MemoryFileSystem) -> (RepairReport, Db) {
    repair_with(disk, &RepairOptions::default())
}

/// An opening after which every table was read whole, and nothing was to be told of logs.
struct VerifiedOpen<'b>(&'b DbBuilder);

impl VerifiedOpen<'_> {
    fn open(&self) -> Db {
        let sound = self.0.plan_repair(&mut |_, _| {}).unwrap();
        assert!(sound.is_sound(), "{sound:?}");
        assert_eq!((&sound.lost[..], &sound.unused[..]), (&[][..], &[][..]));
        self.0.open().unwrap()
    }
}

fn rewrite(disk: &MemoryFileSystem, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = disk.read(path).unwrap();
    change(&mut bytes);
    let mut file = disk.create(path).unwrap();
    file.append(&bytes).unwrap();
    file.sync().unwrap();
}

fn path_of(name: FileName) -> std::path::PathBuf {
    name.in_dir(DIR.as_ref())
}

fn set_current(disk: &MemoryFileSystem, text: &str) {
    rewrite(disk, &path_of(FileName::Current), |bytes| *bytes = text.as_bytes().to_vec());
}

fn names(disk: &MemoryFileSystem) -> Vec<FileName> {
    crate::db::recover::names_in(disk, DIR.as_ref()).unwrap()
}

fn manifest(disk: &MemoryFileSystem) -> FileName {
    FileName::Manifest(read_current(disk, DIR.as_ref()).unwrap())
}

fn last_log(disk: &MemoryFileSystem) -> std::path::PathBuf {
    let logs = names(disk).into_iter().filter(|name| matches!(name, FileName::Log(_)));
    let log = logs.max().unwrap();
    path_of(log)
}

fn expect_all(disk: &MemoryFileSystem, batches: u32) -> RepairReport {
    let (report, db) = repair(disk);
    assert_eq!(state_of(&db), state_after(batches));
    assert_eq!(report.lost, []);
    assert!(!report.is_sound() && !report.has_losses());
    report
}

#[test]
fn a_current_that_is_empty_missing_cut_or_of_another_system_is_made_again() {
    for text in ["", "MANIFEST-", "x\n"] {
        let disk = killed(11, &small_tables());
        set_current(&disk, text);
        let report = expect_all(&disk, 11);
        let trouble = report.trouble.unwrap();
        assert!(trouble.to_string().contains("CURRENT"), "{trouble}");
        assert!(matches!(report.basis, RepairBasis::Manifest { damage: None, .. }));
        assert!(report.families.iter().all(|family| !family.merged && family.log_records > 0));
    }
    for ending in ["", "\r\n"] {
        let disk = killed(11, &small_tables());
        set_current(&disk, &format!("{}{ending}", manifest(&disk)));
        expect_all(&disk, 11);
    }
    let disk = killed(11, &small_tables());
    disk.remove(&path_of(FileName::Current)).unwrap();
    expect_all(&disk, 11);
}

#[test]
fn a_current_that_names_a_missing_manifest_gives_way_to_one_that_is_there() {
    let disk = killed(11, &small_tables());
    set_current(&disk, "MANIFEST-000999\n");
    let report = expect_all(&disk, 11);
    assert!(report.notes.iter().any(|note| note.contains("newest manifest")), "{report:?}");
    assert!(report.trouble.unwrap().to_string().contains("MANIFEST-000999"));
}

#[test]
fn a_manifest_that_was_only_begun_gives_way_to_the_one_before() {
    let disk = killed(11, &small_tables());
    let whole = disk.read(&path_of(manifest(&disk))).unwrap();
    // The snapshot of the first family is there, and nothing of the second.
    let mut reader = ManifestReader::new(disk.open_sequential(&path_of(manifest(&disk))).unwrap());
    let mut end = 0;
    while let Some(found) = reader.next_edit().unwrap() {
        if found.edit.family_added.is_some() {
            break;
        }
        end = found.offset as usize + found.record_bytes + 7;
    }
    assert!(end > 0 && end < whole.len());
    let mut file = disk.create("/db/MANIFEST-000998".as_ref()).unwrap();
    file.append(&whole[..end]).unwrap();
    file.sync().unwrap();
    set_current(&disk, "");
    expect_all(&disk, 11);
}

/// Where the records of the manifest start.
fn records(disk: &MemoryFileSystem) -> Vec<usize> {
    let mut reader = ManifestReader::new(disk.open_sequential(&path_of(manifest(disk))).unwrap());
    let mut offsets = Vec::new();
    while let Some(found) = reader.next_edit().unwrap() {
        offsets.push(found.offset as usize);
    }
    offsets
}

#[test]
fn a_manifest_with_a_damaged_record_counts_up_to_it_and_newer_tables_and_logs_have_the_rest() {
    for damaged in [1, 2, 3] {
        let disk = killed(11, &small_tables());
        let at = records(&disk);
        let at = at[at.len() - damaged];
        rewrite(&disk, &path_of(manifest(&disk)), |bytes| bytes[at + 8] ^= 1);
        let (report, db) = repair(&disk);
        assert!(
            matches!(&report.basis, RepairBasis::Manifest { damage: Some(_), .. }),
            "{report:?}"
        );
        let trouble = report.trouble.unwrap().to_string();
        assert!(trouble.contains("MANIFEST") && trouble.contains(&format!("{at:#x}")), "{trouble}");
        assert_eq!(state_of(&db), state_after(11), "{damaged}");
    }
}

#[test]
fn a_manifest_that_is_damaged_where_it_begins_gives_way_to_the_one_before_and_newer_tables() {
    // A power cut before the removal of the old manifest was durable.
    let disk = killed(11, &small_tables());
    // Without work in the background, which would make it durable.
    let db = broken(&disk).scheduler(Arc::new(ManualScheduler::in_order())).open().unwrap();
    let at_crash = disk.after_crash(Unsynced::Lost);
    drop(db);
    let last = *records(&at_crash).last().unwrap();
    rewrite(&at_crash, &path_of(manifest(&at_crash)), |bytes| bytes[last + 8] ^= 1);
    let (report, db) = repair(&at_crash);
    assert!(matches!(&report.basis, RepairBasis::Manifest { damage: None, .. }), "{report:?}");
    assert!(report.trouble.unwrap().to_string().contains("MANIFEST"));
    // The logs are gone by then: the tables that they became are newer than all that the old manifest knows.
    assert_eq!(report.notes.iter().filter(|note| note.contains("all in it is newer")).count(), 2);
    assert_eq!(state_of(&db), state_after(11));
}

#[test]
fn a_manifest_cut_anywhere_in_its_last_record_opens_as_it_is_and_is_not_repaired() {
    let disk = killed(11, &small_tables());
    let last = *records(&disk).last().unwrap();
    rewrite(&disk, &path_of(manifest(&disk)), |bytes| bytes.truncate(last + 9));
    // The edit was that of a flush whose log is still there, or the tables that it names are left out.
    broken(&disk).open_read_only().unwrap();
    let error = broken(&disk).repair_to(TARGET, &RepairOptions::default(), &mut |_, _| {});
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn without_current_and_manifest_the_tables_and_logs_tell_all() {
    for batches in [11, 23] {
        for family in
            [small_tables(), ColumnFamilyOptions { write_buffer_size: 4 << 20, ..small_tables() }]
        {
            let disk = killed(batches, &family);
            disk.remove(&path_of(manifest(&disk))).unwrap();
            disk.remove(&path_of(FileName::Current)).unwrap();
            let (report, db) = repair(&disk);
            assert_eq!(report.basis, RepairBasis::Tables);
            assert_eq!(report.lost, []);
            assert_eq!(state_of(&db), state_after(batches));
            let ids: Vec<_> = report.families.iter().map(|f| (f.id, &f.name[..])).collect();
            assert_eq!(ids, [(0, "default"), (1, "more")]);
            // The options are the database's own.
            let options = db.family("more").unwrap().options().clone();
            assert_eq!(options.target_file_size_base, 700);
            assert!(!options.disable_auto_compactions);
            assert_eq!(options.merge_operator.id(), Some("StringAppendOperator"));
        }
    }
}

#[test]
fn a_damaged_log_counts_up_to_the_damage_and_the_rest_is_told() {
    let disk = MemoryFileSystem::new();
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let db = broken(&disk).options(options).open().unwrap();
    for round in 0..6_u8 {
        let mut batch = WriteBatch::new();
        batch.put(&[round], &[round; 9_000]).unwrap();
        db.write(batch, &WriteOptions::SYNC).unwrap();
    }
    let disk = disk.after_crash(Unsynced::Lost);
    drop(db);
    let log = last_log(&disk);
    let len = disk.file_len(&log).unwrap();
    // In the second of the batches; of those behind it, some can be read.
    rewrite(&disk, &log, |bytes| bytes[12_000] ^= 1);
    let (report, db) = repair(&disk);
    assert_eq!(all(&db, &db.default_family()), [(vec![0], vec![0; 9_000])]);
    match &report.lost[..] {
        [Lost::LogBytes { path, offset, bytes, families, torn_end, why }] => {
            assert!((9_000..9_200).contains(offset), "{why}");
            assert_eq!((path, offset + bytes), (&log, len));
            assert_eq!((&families[..], *torn_end), (&[0][..], false));
        }
        other => panic!("{other:?}"),
    }
    assert!(report.has_losses());
    assert!(report.trouble.unwrap().to_string().contains(".log"));
}

#[test]
fn a_log_cut_within_its_last_record_is_no_damage_and_counts_without_it_when_something_else_is() {
    let disk = killed(11, &small_tables());
    rewrite(&disk, &last_log(&disk), |bytes| bytes.truncate(bytes.len() - 3));
    let plan = broken(&disk).plan_repair(&mut |_, _| {}).unwrap();
    assert!(plan.is_sound(), "{plan:?}");
    set_current(&disk, "");
    let (report, db) = repair(&disk);
    assert_eq!(state_of(&db), state_after(10));
    assert!(matches!(report.lost[..], [Lost::LogBytes { torn_end: true, .. }]));
    assert!(!report.has_losses());
}

/// The tables of the default family, deepest level last, with their first and last keys.
fn tables(disk: &MemoryFileSystem) -> Vec<(FileNumber, usize, Vec<u8>, Vec<u8>)> {
    let db = broken(disk).open_read_only().unwrap();
    let version = db.default_family().0.family.current();
    let files = version.files();
    files
        .map(|(level, file)| {
            let (first, last) = (file.smallest_user_key(), file.largest_user_key());
            (file.number, level, first.to_vec(), last.to_vec())
        })
        .collect()
}

#[test]
fn a_missing_table_is_lost_with_its_range_and_all_else_is_kept() {
    let disk = killed(11, &small_tables());
    let (number, _, first, last) = tables(&disk).pop().unwrap();
    disk.remove(&path_of(FileName::Table(number))).unwrap();
    let (report, db) = repair(&disk);
    match &report.lost[..] {
        [Lost::Table { path, family: Some(0), range: Some(range), .. }] => {
            assert_eq!(path, &path_of(FileName::Table(number)));
            assert_eq!(range, &(first.clone(), last.clone()));
        }
        other => panic!("{other:?}"),
    }
    let outside = |state: State| -> State {
        state.into_iter().filter(|(key, _)| *key < first || *key > last).collect()
    };
    let found: State = all(&db, &db.default_family()).into_iter().collect();
    assert_eq!(outside(found), outside(state_after(11)));
    let more: State = all(&db, &db.family("more").unwrap()).into_iter().collect();
    assert_eq!(more, state_after(11));
}

#[test]
fn of_a_table_with_a_damaged_block_the_other_blocks_are_kept_and_the_gap_is_told() {
    let disk = MemoryFileSystem::new();
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let db = broken(&disk).options(options).open().unwrap();
    for number in 0..4000_u32 {
        db.put(format!("{number:06}").as_bytes(), format!("value {number}").as_bytes()).unwrap();
    }
    db.delete_range(b"000100", b"000200").unwrap();
    db.flush().unwrap();
    drop(db);
    let [(number, ..)] = &tables(&disk)[..] else { panic!() };
    let path = path_of(FileName::Table(*number));
    rewrite(&disk, &path, |bytes| bytes[9000] ^= 1);
    // The database opens, but cannot be read.
    broken(&disk).open_read_only().unwrap();
    let (report, db) = repair(&disk);
    let [salvaged] = &report.salvaged[..] else { panic!("{report:?}") };
    let [gap] = &salvaged.lost[..] else { panic!("{salvaged:?}") };
    assert_eq!(report.lost.len(), 1);
    assert_eq!((gap.blocks, &salvaged.path), (1, &path));
    let after = gap.after.clone().unwrap();
    let is_lost = |key: &[u8]| key > &after[..] && key <= &gap.up_to[..];
    let found: State = all(&db, &db.default_family()).into_iter().collect();
    let mut lost = 0;
    for number in (0..4000_u32).filter(|number| !(100..200).contains(number)) {
        let key = format!("{number:06}").into_bytes();
        lost += u32::from(is_lost(&key));
        assert_eq!(found.contains_key(&key), !is_lost(&key), "{number}");
    }
    assert!((10..2000).contains(&lost), "{lost}");
    assert_eq!(found.len() as u32 + lost, 3900);
}

#[test]
fn a_table_with_a_damaged_filter_loses_nothing() {
    let disk = MemoryFileSystem::new();
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let db = broken(&disk).options(options).open().unwrap();
    for number in 0..3000_u32 {
        db.put(format!("{number:06}").as_bytes(), b"v").unwrap();
    }
    db.flush().unwrap();
    drop(db);
    let [(number, ..)] = &tables(&disk)[..] else { panic!() };
    let path = path_of(FileName::Table(*number));
    let survey = crate::table::TableSurvey::open(disk.open(&path).unwrap()).unwrap();
    let mut filter_at = None;
    survey.visit_blocks(&mut |block| {
        let block = block.unwrap();
        if block.filter_kind.is_some() {
            filter_at = Some(block.handle.offset as usize);
        }
    });
    rewrite(&disk, &path, |bytes| bytes[filter_at.unwrap() + 2] ^= 1);
    let (report, db) = repair(&disk);
    assert_eq!(report.lost, []);
    assert_eq!(report.salvaged[0].entries, 3000);
    assert_eq!(all(&db, &db.default_family()).len(), 3000);
}

#[test]
fn of_a_table_that_was_cut_nothing_is_left() {
    let disk = killed(11, &small_tables());
    let (number, ..) = tables(&disk)[0];
    rewrite(&disk, &path_of(FileName::Table(number)), |bytes| bytes.truncate(bytes.len() / 2));
    let (report, _db) = repair(&disk);
    assert!(matches!(&report.lost[..], [Lost::Table { range: Some(_), .. }]), "{report:?}");
}

#[test]
fn tables_that_the_manifest_has_seen_leave_do_not_bring_deleted_keys_back() {
    let disk = MemoryFileSystem::new();
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let db = broken(&disk).options(options).open().unwrap();
    db.put(b"deleted", b"old").unwrap();
    db.put(b"kept", b"value").unwrap();
    db.flush().unwrap();
    let stale = tables_in(&disk).into_iter().next().unwrap();
    let path = path_of(FileName::Table(stale.into()));
    let bytes = disk.read(&path).unwrap();
    db.delete(b"deleted").unwrap();
    db.compact_range(&db.default_family(), None, None).unwrap();
    drop(db);
    // As a crash may leave it, before the old table is removed.
    let mut file = disk.create(&path).unwrap();
    file.append(&bytes).unwrap();
    file.sync().unwrap();
    set_current(&disk, "");
    let (report, db) = repair(&disk);
    assert_eq!(all(&db, &db.default_family()), [(b"kept".to_vec(), b"value".to_vec())]);
    assert_eq!(report.unused.len(), 1);
    assert_eq!(report.unused[0].path, path);
}

#[test]
fn a_dropped_family_stays_dropped_when_a_manifest_knows_and_when_another_has_its_name() {
    let make = || {
        let disk = MemoryFileSystem::new();
        let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
        let db = broken(&disk).options(options).open().unwrap();
        let old = db.create_family("ledger", FamilyConfig::default()).unwrap();
        db.put_cf(&old, b"old", b"1").unwrap();
        db.flush_cf(&old).unwrap();
        let stale = tables_in(&disk).into_iter().next().unwrap();
        let path = path_of(FileName::Table(stale.into()));
        let bytes = disk.read(&path).unwrap();
        db.drop_family(&old).unwrap();
        drop(old);
        let new = db.create_family("ledger", FamilyConfig::default()).unwrap();
        db.put_cf(&new, b"new", b"1").unwrap();
        db.flush_cf(&new).unwrap();
        drop(new);
        drop(db);
        let mut file = disk.create(&path).unwrap();
        file.append(&bytes).unwrap();
        file.sync().unwrap();
        disk
    };
    let by_manifest = make();
    set_current(&by_manifest, "");
    let by_tables = make();
    by_tables.remove(&path_of(manifest(&by_tables))).unwrap();
    for disk in [by_manifest, by_tables] {
        let (report, db) = repair(&disk);
        assert_eq!(report.unused.len(), 1, "{report:?}");
        let ledger = db.family("ledger").unwrap();
        assert_eq!(all(&db, &ledger), [(b"new".to_vec(), b"1".to_vec())]);
        assert_eq!(db.families().len(), 2);
    }
}

/// Five families, some flushed and some not, with deletions, as rocksdb#5073 has them.
fn five_families() -> (MemoryFileSystem, BTreeMap<String, State>) {
    let disk = MemoryFileSystem::new();
    let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    let db = broken(&disk).options(options).open().unwrap();
    let mut families = vec![db.default_family()];
    for name in ["one", "two", "three", "four"] {
        families.push(db.create_family(name, FamilyConfig::default()).unwrap());
    }
    let mut expected: BTreeMap<String, State> = BTreeMap::new();
    for round in 0..4_u32 {
        let mut batch = WriteBatch::new();
        for (at, family) in families.iter().enumerate() {
            let state = expected.entry(family.name().to_owned()).or_default();
            for number in 0..50_u32 {
                let key = format!("{:04}", number * 7 % 50 + round * 20).into_bytes();
                let value = format!("{at} {round} {number}").into_bytes();
                batch.put_cf(family.id(), &key, &value).unwrap();
                state.insert(key, value);
            }
            let gone = format!("{:04}", round * 20 + 3).into_bytes();
            batch.delete_cf(family.id(), &gone).unwrap();
            state.remove(&gone);
        }
        db.write(batch, &WriteOptions::SYNC).unwrap();
        // One family is never flushed, another one always.
        for (at, family) in families.iter().enumerate().skip(1) {
            if round < 3 && (at as u32 + round).is_multiple_of(4) || at == 4 {
                db.flush_cf(family).unwrap();
            }
        }
    }
    drop(families);
    let disk = disk.after_crash(Unsynced::Lost);
    (disk, expected)
}

fn states(db: &Db) -> BTreeMap<String, State> {
    let state = |family: &ColumnFamily| all(db, family).into_iter().collect();
    db.families().iter().map(|family| (family.name().to_owned(), state(family))).collect()
}

#[test]
fn a_database_that_opens_is_refused_and_by_force_all_its_families_and_logs_are_there() {
    let (disk, expected) = five_families();
    let error = broken(&disk).repair_to(TARGET, &RepairOptions::default(), &mut |_, _| {});
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("nothing to repair"), "{error}");
    assert!(!disk.exists(TARGET.as_ref()).unwrap());
    let (report, db) = repair_with(&disk, &RepairOptions { force: true });
    assert!(report.is_sound() && report.lost.is_empty(), "{report:?}");
    assert_eq!(states(&db), expected);
}

#[test]
fn five_families_with_unflushed_logs_come_back_without_a_manifest() {
    let (disk, expected) = five_families();
    disk.remove(&path_of(manifest(&disk))).unwrap();
    let (report, db) = repair(&disk);
    assert_eq!(report.basis, RepairBasis::Tables);
    assert_eq!(states(&db), expected);
    // Without options the names of families that were flushed are known, and those of others are made up.
    let (disk, expected) = five_families();
    for name in names(&disk) {
        if matches!(name, FileName::Manifest(_) | FileName::Options(_) | FileName::Current) {
            disk.remove(&path_of(name)).unwrap();
        }
    }
    let (_, db) = repair(&disk);
    let found = states(&db);
    for (name, state) in expected {
        let id =
            ["default", "one", "two", "three", "four"].iter().position(|n| *n == name).unwrap();
        let found = found.get(&name).or_else(|| found.get(&format!("column-family-{id}")));
        assert_eq!(found, Some(&state), "{name}");
    }
}

#[test]
fn what_is_no_database_what_is_open_and_what_is_in_the_way_is_refused() {
    let refused = |disk: &MemoryFileSystem, target: &str, kind: ErrorKind, what: &str| {
        let options = RepairOptions { force: true };
        let error = broken(disk).repair_to(target, &options, &mut |_, _| {}).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(what), "{error}");
    };
    let disk = MemoryFileSystem::new();
    disk.create_dir_all(DIR.as_ref()).unwrap();
    refused(&disk, TARGET, ErrorKind::InvalidArgument, "holds no database");
    let disk = killed(3, &small_tables());
    refused(&disk, "/db/inside", ErrorKind::InvalidArgument, "in the directory");
    refused(&disk, DIR, ErrorKind::InvalidArgument, "in the directory");
    disk.create_dir_all(TARGET.as_ref()).unwrap();
    refused(&disk, TARGET, ErrorKind::InvalidArgument, "exists already");
    let _db = broken(&disk).open().unwrap();
    refused(&disk, "/else", ErrorKind::Busy, "LOCK");
    assert_eq!(disk.list("/".as_ref()).unwrap(), ["db", "repaired"]);
}

#[test]
fn cut_at_any_call_the_directory_is_as_it_was_and_the_new_one_is_whole_or_not_there() {
    let made = || {
        let disk = killed(8, &small_tables());
        set_current(&disk, "");
        let number = tables_in(&disk).into_iter().next().unwrap();
        rewrite(&disk, &path_of(FileName::Table(number.into())), |bytes| bytes[5] ^= 1);
        // Synced, as it was before.
        disk.sync_dir(DIR.as_ref()).unwrap();
        disk
    };
    let run = |fs: &FaultFileSystem| {
        let builder = DbBuilder::new(DIR).file_system(Arc::new(fs.clone()));
        let scheduler = Arc::new(ManualScheduler::in_order());
        let builder = builder.cache(Cache::new(4 << 20)).scheduler(scheduler);
        builder.repair_to(TARGET, &RepairOptions::default(), &mut |_, _| {})
    };
    let made = made();
    let before = contents(&made, DIR.as_ref());
    let fs = FaultFileSystem::new(fs_of(&made.after_crash(Unsynced::Lost)));
    let expected = run(&fs).unwrap();
    let calls = fs.calls();
    let (mut whole, mut absent) = (0, 0);
    for cut in (0..calls).rev().filter(|cut| cut % 6 == 0 || *cut > calls - 20) {
        let disk = made.after_crash(Unsynced::Lost);
        let fs = FaultFileSystem::new(fs_of(&disk));
        fs.fail_from(cut, IoKind::Other);
        let result = run(&fs);
        for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Random(cut)] {
            let after = disk.after_crash(unsynced);
            assert!(contents(&after, DIR.as_ref()) == before, "cut at {cut}");
            if after.exists(TARGET.as_ref()).unwrap() {
                whole += 1;
                let builder = DbBuilder::new(TARGET).file_system(fs_of(&after));
                drop(VerifiedOpen(&builder).open());
                continue;
            }
            absent += 1;
            assert!(result.is_err(), "cut at {cut}");
            // What is left of it does not stand in the way.
            if cut % 24 == 0 {
                let fs = FaultFileSystem::new(fs_of(&after));
                assert_eq!(run(&fs).unwrap().lost, expected.lost, "cut at {cut}");
            }
        }
    }
    assert!(whole > 0 && absent > 50, "{whole}, {absent}");
}

/// Golden databases of RocksDB 11.8.1 without CURRENT and manifest.
///
/// All rows come back where the sequence numbers in tables and logs tell which version is the newest: always, but for tables
/// that were ingested without their number being written into them, and for merge operands that stand in a log and in a table
/// with others.
#[test]
fn golden_databases_come_back_without_current_and_manifest() {
    let disk = DiskFileSystem;
    let mut repaired = 0;
    for golden in partita_testkit::golden::all() {
        let dir = golden.path();
        let whole = DbBuilder::new(&dir);
        let Ok(report) = whole.plan_repair(&mut |_, _| {}) else { continue };
        assert!(report.is_sound(), "{}: {report:?}", golden.name());
        for name in disk.list(&dir).unwrap() {
            if let Some(FileName::Current | FileName::Manifest(_)) = FileName::parse(&name) {
                disk.remove(&dir.join(name)).unwrap();
            }
        }
        let target = dir.with_file_name("repaired");
        let report = match whole.repair_to(&target, &RepairOptions::default(), &mut |_, _| {}) {
            Ok(report) => report,
            Err(error) => panic!("{}: {error}", golden.name()),
        };
        assert_eq!(report.lost, [], "{}", golden.name());
        let db = DbBuilder::new(&target).open_read_only().unwrap();
        for family in golden.families() {
            let found = all(&db, &db.family(&family).unwrap());
            assert!(found == golden.expected(&family), "{}, {family}: {report:?}", golden.name());
        }
        repaired += 1;
    }
    assert!(repaired > 5, "{repaired}");
}
