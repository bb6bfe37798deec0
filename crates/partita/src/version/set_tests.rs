//! The set of versions: created, written, recovered, with crashes at every call.

use std::collections::BTreeMap;
use std::io::ErrorKind as IoKind;
use std::path::Path;
use std::sync::Arc;

use super::testing::{adds, deletes, file, numbers};
use super::*;
use crate::error::{Error, ErrorKind};
use crate::io::{CallKind, FaultFileSystem, FileSystem, MemoryFileSystem, Unsynced};
use crate::key::{KeyOrder, SeqNo};
use crate::wal::{LogWriter, LogWriterOptions};

const DB: &str = "/db";
const ID: &str = "b5a1c2d3-0000-4000-8000-00000000abcd";

fn new_disk() -> MemoryFileSystem {
    let disk = MemoryFileSystem::new();
    disk.create_dir_all(Path::new(DB)).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    disk
}

fn create(
    fs: &(impl FileSystem + Clone + 'static),
    options: VersionSetOptions,
) -> crate::error::Result<VersionSet> {
    VersionSet::create_new(Arc::new(fs.clone()), Path::new(DB), KeyOrder::Bytewise, ID, options)
}

fn recover(fs: &(impl FileSystem + Clone + 'static)) -> crate::error::Result<VersionSet> {
    recover_with(fs, VersionSetOptions::default())
}

fn recover_with(
    fs: &(impl FileSystem + Clone + 'static),
    options: VersionSetOptions,
) -> crate::error::Result<VersionSet> {
    VersionSet::recover(Arc::new(fs.clone()), Path::new(DB), options)
}

fn read_only() -> VersionSetOptions {
    VersionSetOptions { read_only: true, ..VersionSetOptions::default() }
}

fn of_family(id: u32, edit: VersionEdit) -> VersionEdit {
    VersionEdit { family: id, ..edit }
}

/// Of each family its id, its log number and its tables with their levels.
type State = BTreeMap<String, (u32, u64, Vec<(u32, FileMeta)>)>;

/// Everything that a manifest has to bring back.
fn state(set: &VersionSet) -> State {
    let files = |family: &Family| -> Vec<(u32, FileMeta)> {
        let version = family.current();
        version.files().map(|(level, file)| (level as u32, FileMeta::clone(file))).collect()
    };
    set.families()
        .iter()
        .map(|family| {
            let value = (family.id(), family.log_number().get(), files(family));
            (family.name().to_owned(), value)
        })
        .collect()
}

fn names(fs: &impl FileSystem) -> Vec<FileName> {
    let names = fs.list(Path::new(DB)).unwrap();
    names.iter().filter_map(|name| FileName::parse(name)).collect()
}

#[test]
fn what_was_applied_is_recovered() {
    let disk = new_disk();
    let set = create(&disk, VersionSetOptions::default()).unwrap();
    let more = set
        .create_family("more", KeyOrder::ReverseBytewise, 7.into(), 7, |_| Ok(Vec::new()))
        .unwrap();
    let gone =
        set.create_family("gone", KeyOrder::Bytewise, 7.into(), 7, |_| Ok(Vec::new())).unwrap();
    set.log_and_apply(vec![VersionEdit {
        log_number: Some(12.into()),
        min_log_number_to_keep: Some(11.into()),
        ..adds([(0, file(9, b"a", b"k")), (3, file(8, b"b", b"c"))])
    }])
    .unwrap();
    set.log_and_apply(vec![of_family(more.id(), adds([(1, file(10, b"k", b"a"))]))]).unwrap();
    set.drop_family(gone.id()).unwrap();
    set.raise_last_sequence(SeqNo::new(1234).unwrap());
    set.log_and_apply(vec![of_family(0, deletes([(3, 8)]))]).unwrap();

    let disk = disk.after_crash(Unsynced::Lost);
    let again = recover(&disk).unwrap();
    assert_eq!(state(&again), state(&set));
    assert_eq!(state(&again).keys().collect::<Vec<_>>(), ["default", "more"]);
    assert_eq!(again.last_sequence().get(), 1234);
    assert_eq!(again.min_log_number_to_keep().get(), 11);
    assert_eq!(again.db_id(), Some(ID));
    assert_eq!(again.family_named("more").unwrap().key_order(), &KeyOrder::ReverseBytewise);
    assert!(again.new_file_number() > set.new_file_number());
    // The number of a dropped family is not used again.
    let next =
        again.create_family("next", KeyOrder::Bytewise, 12.into(), 7, |_| Ok(Vec::new())).unwrap();
    assert_eq!(next.id(), gone.id() + 1);
    let third = recover(&disk).unwrap();
    assert_eq!(state(&third), state(&again));
}

#[test]
fn a_new_manifest_has_everything_that_the_old_one_had() {
    let disk = new_disk();
    let options = VersionSetOptions { manifest_bytes_max: 1, ..VersionSetOptions::default() };
    let set = create(&disk, options).unwrap();
    let unknown = edit::UnknownField { tag: 40, bytes: (*b"later").into() };
    let rare = RareFields { unknown: vec![unknown], ..RareFields::default() };
    let kept = FileMeta { rare: Some(Box::new(rare)), ..file(1 << 30, b"x", b"y") };
    set.log_and_apply(vec![adds([(5, kept)])]).unwrap();
    let mut manifests = vec![set.manifest_number()];
    for i in 0..40u64 {
        let key = [i as u8];
        set.log_and_apply(vec![adds([(1, file(100 + i, &key, &key))])]).unwrap();
        manifests.push(set.manifest_number());
    }
    manifests.dedup();
    // It doubles each time, so that what is written stays in proportion.
    assert!((3..10).contains(&manifests.len()), "{manifests:?}");
    let again = recover(&disk.after_crash(Unsynced::Lost)).unwrap();
    assert_eq!(state(&again), state(&set));
    assert_eq!(state(&again)["default"].2.len(), 41);
    let obsolete = set.obsolete_files().take();
    let last = manifests.pop().unwrap();
    assert_eq!(obsolete.len(), manifests.len() + 1 - usize::from(manifests[0] != 1.into()));
    assert!(!obsolete.contains(&ObsoleteFile::Manifest(last)));
}

#[test]
fn a_snapshot_of_many_tables_is_many_records() {
    let disk = new_disk();
    let set = create(&disk, VersionSetOptions::default()).unwrap();
    let key = |i: u64| (i as u32).to_be_bytes();
    let files = (0..2500u64).map(|i| (1, file(100 + i, &key(i), &key(i))));
    set.log_and_apply(vec![adds(files)]).unwrap();
    let again = recover(&disk).unwrap();
    again.log_and_apply(vec![VersionEdit::default()]).unwrap();
    let third = recover(&disk.after_crash(Unsynced::Lost)).unwrap();
    assert_eq!(state(&third), state(&set));
}

#[test]
fn an_edit_that_does_not_fit_changes_nothing() {
    let disk = new_disk();
    let set = create(&disk, VersionSetOptions::default()).unwrap();
    set.log_and_apply(vec![adds([(1, file(9, b"a", b"k"))])]).unwrap();
    let before = (
        state(&set),
        disk.read(&FileName::Manifest(set.manifest_number()).in_dir(Path::new(DB))).unwrap(),
    );
    let no_epoch = FileMeta { epoch: 0, ..file(11, b"x", b"y") };
    let cases = [
        (vec![deletes([(1, 10)])], ErrorKind::Corruption, "000010"),
        (vec![adds([(1, file(10, b"c", b"z"))])], ErrorKind::Corruption, "overlap"),
        (
            vec![of_family(5, adds([(1, file(10, b"c", b"z"))]))],
            ErrorKind::InvalidArgument,
            "family 5",
        ),
        (vec![adds([(0, no_epoch)])], ErrorKind::InvalidArgument, "no epoch"),
        (
            vec![VersionEdit { family_dropped: true, ..VersionEdit::default() }],
            ErrorKind::InvalidArgument,
            "default",
        ),
        // The first would fit, the second does not.
        (
            vec![adds([(2, file(10, b"c", b"z"))]), deletes([(4, 4)])],
            ErrorKind::Corruption,
            "000004",
        ),
    ];
    for (edits, kind, expected) in cases {
        let error = set.log_and_apply(edits).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(expected), "{error}");
    }
    let error = set
        .create_family("default", KeyOrder::Bytewise, 1.into(), 7, |_| Ok(Vec::new()))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let after = (
        state(&set),
        disk.read(&FileName::Manifest(set.manifest_number()).in_dir(Path::new(DB))).unwrap(),
    );
    assert_eq!(before, after);
}

#[test]
fn nothing_is_written_by_reading() {
    let disk = new_disk();
    create(&disk, VersionSetOptions::default()).unwrap();
    disk.remove(&FileName::Identity.in_dir(Path::new(DB))).unwrap();
    let contents = || -> Vec<(FileName, Vec<u8>)> {
        names(&disk)
            .into_iter()
            .map(|name| (name, disk.read(&name.in_dir(Path::new(DB))).unwrap()))
            .collect()
    };
    let before = contents();
    let fs = FaultFileSystem::new(Arc::new(disk.clone()));
    let set = recover_with(&fs, read_only()).unwrap();
    assert_eq!(set.log_and_apply(vec![]).unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(set.drop_family(1).unwrap_err().kind(), ErrorKind::ReadOnly);
    assert!(set.create_family("x", KeyOrder::Bytewise, 1.into(), 7, |_| Ok(Vec::new())).is_err());
    assert!(set.ensure_identity(|| "new".to_owned()).is_err());
    for kind in
        [CallKind::Create, CallKind::Append, CallKind::Rename, CallKind::Remove, CallKind::Sync]
    {
        assert_eq!(fs.calls_of(kind), 0, "{kind:?}");
    }
    assert_eq!(contents(), before);
}

#[test]
fn a_reader_may_leave_families_out_and_a_writer_may_not() {
    let disk = new_disk();
    let set = create(&disk, VersionSetOptions::default()).unwrap();
    set.create_family("more", KeyOrder::Bytewise, 1.into(), 7, |_| Ok(Vec::new())).unwrap();
    let only = VersionSetOptions {
        only_families: Some(vec!["default".to_owned()]),
        ..VersionSetOptions::default()
    };
    let error = recover_with(&disk, only.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("more"), "{error}");
    let reader = recover_with(&disk, VersionSetOptions { read_only: true, ..only }).unwrap();
    assert_eq!(reader.families().len(), 1);
    assert_eq!(reader.unopened_families().values().collect::<Vec<_>>(), ["more"]);
}

#[test]
fn the_identity_comes_from_the_manifest_else_from_its_file_else_anew() {
    let disk = new_disk();
    let path = FileName::Identity.in_dir(Path::new(DB));
    create(&disk, VersionSetOptions::default()).unwrap();
    assert_eq!(disk.read(&path).unwrap(), ID.as_bytes());
    disk.remove(&path).unwrap();
    let set = recover(&disk).unwrap();
    assert_eq!(set.ensure_identity(|| "other".to_owned()).unwrap(), ID);
    assert_eq!(disk.after_crash(Unsynced::Lost).read(&path).unwrap(), ID.as_bytes());
}

#[test]
fn a_reader_finds_the_identity_in_its_file_where_the_manifest_has_none() {
    let disk = hand_made(&[globals().encode()]);
    let identity = || recover_with(&disk, read_only()).unwrap().stored_identity().unwrap();
    assert_eq!(identity(), None);
    let mut file = disk.create(&FileName::Identity.in_dir(Path::new(DB))).unwrap();
    file.append(format!("{ID}\n").as_bytes()).unwrap();
    file.flush().unwrap();
    assert_eq!(identity().as_deref(), Some(ID));
}

#[test]
fn files_become_obsolete_when_the_last_version_that_names_them_goes() {
    let disk = new_disk();
    let set = create(&disk, VersionSetOptions::default()).unwrap();
    set.log_and_apply(vec![adds([(1, file(50, b"a", b"b")), (1, file(51, b"c", b"d"))])]).unwrap();
    let family = set.family(DEFAULT_FAMILY).unwrap();
    let reader = family.current();
    let mut moves = deletes([(1, 50), (1, 51)]);
    moves.new_files = adds([(2, file(51, b"c", b"d"))]).new_files;
    set.log_and_apply(vec![moves]).unwrap();
    let tables = || -> Vec<ObsoleteFile> {
        let files = set.obsolete_files().take();
        files.into_iter().filter(|file| matches!(file, ObsoleteFile::Table { .. })).collect()
    };
    assert_eq!(tables(), []);
    assert!(set.live_tables().contains(&50.into()));
    assert_eq!(numbers(&reader, 1), [50, 51]);
    drop(reader);
    assert_eq!(tables(), [ObsoleteFile::Table { number: 50.into(), path_id: 0 }]);
    assert_eq!(set.live_tables().into_iter().collect::<Vec<_>>(), [51.into()]);
    drop(set);
    drop(family);
}

#[test]
fn tables_of_a_dropped_family_go_when_its_last_reader_does() {
    let disk = new_disk();
    let set = create(&disk, VersionSetOptions::default()).unwrap();
    let family =
        set.create_family("more", KeyOrder::Bytewise, 1.into(), 7, |_| Ok(Vec::new())).unwrap();
    set.log_and_apply(vec![of_family(family.id(), adds([(1, file(50, b"a", b"b"))]))]).unwrap();
    set.drop_family(family.id()).unwrap();
    assert!(family.is_dropped());
    assert!(set.family(family.id()).is_none());
    let all = [FileName::Table(50.into())];
    assert_eq!(set.unneeded(&all), []);
    set.obsolete_files().take();
    drop(family);
    let table = ObsoleteFile::Table { number: 50.into(), path_id: 0 };
    assert_eq!(set.obsolete_files().take(), [table]);
    assert_eq!(set.unneeded(&all), all);
    let error = set.log_and_apply(vec![of_family(1, VersionEdit::default())]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_scan_of_the_directory_tells_what_nobody_needs() {
    let disk = new_disk();
    let set = create(&disk, VersionSetOptions::default()).unwrap();
    set.log_and_apply(vec![VersionEdit {
        log_number: Some(40.into()),
        ..adds([(1, file(50, b"a", b"b"))])
    }])
    .unwrap();
    let output = set.new_output();
    let current = set.manifest_number();
    let needed = [
        FileName::Current,
        FileName::Lock,
        FileName::Identity,
        FileName::InfoLog,
        FileName::Manifest(current),
        FileName::Options(1.into()),
        FileName::Table(50.into()),
        FileName::Table(output.number()),
        FileName::Log(40.into()),
    ];
    let not_needed = [
        FileName::Manifest(1.into()),
        FileName::Table(49.into()),
        FileName::Blob(49.into()),
        FileName::Log(39.into()),
        FileName::Temporary(1.into()),
    ];
    assert!(current > 1.into());
    assert_eq!(set.unneeded(needed.iter().chain(&not_needed)), not_needed);
    let given_up = FileName::Table(output.number());
    drop(output);
    assert_eq!(set.unneeded(&[given_up]), [given_up]);
}

/// Three edits of two families and a switch of the manifest in between: what crash tests cut.
fn history(fs: &FaultFileSystem, reached: &mut Vec<State>) -> crate::error::Result<()> {
    let set = recover(fs)?;
    reached.push(state(&set));
    let more = set.create_family("more", KeyOrder::Bytewise, 1.into(), 7, |_| Ok(Vec::new()))?;
    reached.push(state(&set));
    set.log_and_apply(vec![
        adds([(0, file(60, b"a", b"b"))]),
        of_family(more.id(), adds([(0, file(61, b"c", b"d"))])),
    ])?;
    reached.push(state(&set));
    let again = recover(fs)?;
    again.log_and_apply(vec![VersionEdit {
        log_number: Some(70.into()),
        ..adds([(1, file(62, b"e", b"f"))])
    }])?;
    reached.push(state(&again));
    again.drop_family(more.id())?;
    reached.push(state(&again));
    Ok(())
}

#[test]
fn a_cut_at_any_call_leaves_the_old_version_or_the_new_one() {
    let start = new_disk();
    create(&start, VersionSetOptions::default()).unwrap();
    let fs = FaultFileSystem::new(Arc::new(start.after_crash(Unsynced::Lost)));
    let mut all = Vec::new();
    history(&fs, &mut all).unwrap();
    assert_eq!(all.len(), 5);
    let calls = fs.calls();
    assert!(calls > 25, "{calls}");
    for cut in 0..calls {
        let disk = start.after_crash(Unsynced::Lost);
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        fs.fail_from(cut, IoKind::Other);
        let mut reached = Vec::new();
        history(&fs, &mut reached).unwrap_err();
        for unsynced in
            [Unsynced::Lost, Unsynced::Kept, Unsynced::KeptUpTo(9), Unsynced::Random(cut)]
        {
            let after = disk.after_crash(unsynced);
            let found = match recover(&after) {
                Ok(set) => state(&set),
                Err(error) => panic!("cut at call {cut}, {unsynced:?}: {error}"),
            };
            // What was acknowledged is there; the step under way may be.
            let acknowledged = reached.len().max(1) - 1;
            let legal = &all[acknowledged..(acknowledged + 2).min(all.len())];
            assert!(
                legal.contains(&found),
                "cut at call {cut}, {unsynced:?}: {acknowledged} steps were acknowledged, found {found:#?}"
            );
            // And it can be written on.
            let set = recover(&after).unwrap();
            set.log_and_apply(vec![adds([(3, file(90, b"y", b"z"))])]).unwrap();
            assert_eq!(state(&recover(&after).unwrap()), state(&set));
        }
    }
}

#[test]
fn after_a_failed_call_the_set_goes_on_with_a_new_manifest() {
    let start = new_disk();
    create(&start, VersionSetOptions::default()).unwrap();
    let run = |fs: &FaultFileSystem| {
        let set = recover(fs).unwrap();
        let first = set.log_and_apply(vec![adds([(0, file(60, b"a", b"b"))])]);
        let second = set.log_and_apply(vec![adds([(0, file(61, b"a", b"b"))])]);
        (set, first.is_ok(), second.is_ok())
    };
    let fs = FaultFileSystem::new(Arc::new(start.after_crash(Unsynced::Lost)));
    run(&fs);
    let reading = {
        let fs = FaultFileSystem::new(Arc::new(start.after_crash(Unsynced::Lost)));
        recover(&fs).unwrap();
        fs.calls()
    };
    for call in reading..fs.calls() {
        let disk = start.after_crash(Unsynced::Lost);
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        fs.fail_call(call, IoKind::StorageFull);
        let (set, first, second) = run(&fs);
        assert!(!first || !second, "call {call} did not matter");
        let mut expected: Vec<u64> = Vec::new();
        expected.extend(second.then_some(61));
        expected.extend(first.then_some(60));
        assert_eq!(numbers(&set.family(0).unwrap().current(), 0), expected, "call {call}");
        // What failed may be on disk until something else succeeds.
        let doubtful = [(60, first), (61, second)].into_iter().find(|(_, ok)| !ok).unwrap().0;
        let name = [FileName::Table(doubtful.into())];
        if second {
            assert_eq!(set.unneeded(&name), name, "call {call}");
        } else {
            assert_eq!(set.unneeded(&name), [], "call {call}");
        }
        let named = read_current(&disk, Path::new(DB)).unwrap();
        assert_eq!(set.unneeded(&[FileName::Manifest(named)]), []);
        set.log_and_apply(vec![adds([(2, file(99, b"a", b"b"))])]).unwrap();
        let after = disk.after_crash(Unsynced::Lost);
        assert_eq!(state(&recover(&after).unwrap()), state(&set), "call {call}");
        let obsolete = set.obsolete_files().take();
        assert!(!obsolete.contains(&ObsoleteFile::Manifest(set.manifest_number())));
    }
}

#[test]
fn a_current_of_no_use_is_damage_that_says_what_to_do() {
    let disk = new_disk();
    let error = recover(&disk).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("no database"), "{error}");
    create(&disk, VersionSetOptions::default()).unwrap();
    let path = FileName::Current.in_dir(Path::new(DB));
    let manifest = String::from_utf8(disk.read(&path).unwrap()).unwrap().trim_end().to_owned();
    let damaged = |text: Option<&str>| -> Error {
        disk.remove(&path).unwrap();
        if let Some(text) = text {
            let mut file = disk.create(&path).unwrap();
            file.append(text.as_bytes()).unwrap();
            file.sync().unwrap();
        }
        let error = recover(&disk).unwrap_err();
        if text.is_none() {
            disk.create(&path).unwrap();
        }
        error
    };
    let advice = format!("write \"{manifest}\" and a line feed");
    for (text, expected) in [
        (None, "missing"),
        (Some(""), "empty"),
        (Some(&*manifest), "found \"MANIFEST-"),
        (Some("MANIFEST-000002\r\n"), r"\r\n"),
        (Some("CURRENT\n"), "found \"CURRENT"),
        (Some("MANIFEST-000099\n"), "CURRENT names it, and it is missing"),
    ] {
        let error = damaged(text);
        assert!(error.is_corruption(), "{error}");
        assert!(error.message().contains(expected), "{error}");
        assert!(error.message().contains(&advice), "{error}");
        assert!(error.file().is_some());
    }
}

/// A manifest of these records, named by CURRENT.
fn hand_made(records: &[Vec<u8>]) -> MemoryFileSystem {
    let disk = new_disk();
    let file = disk.create(Path::new("/db/MANIFEST-000001")).unwrap();
    let mut log = LogWriter::new(file, &LogWriterOptions::default()).unwrap();
    for record in records {
        log.add_record(&[record]).unwrap();
    }
    log.sync().unwrap();
    current::set_current(&disk, Path::new(DB), 1.into()).unwrap();
    disk
}

fn globals() -> VersionEdit {
    VersionEdit {
        log_number: Some(3.into()),
        next_file_number: Some(200.into()),
        last_sequence: SeqNo::new(9),
        ..VersionEdit::default()
    }
}

fn added(id: u32, name: &str) -> VersionEdit {
    VersionEdit { family: id, family_added: Some(name.to_owned()), ..VersionEdit::default() }
}

fn grouped(remaining: u32, edit: VersionEdit) -> VersionEdit {
    VersionEdit { atomic_group_remaining: Some(remaining), ..edit }
}

fn recover_edits(edits: &[VersionEdit]) -> crate::error::Result<VersionSet> {
    let records: Vec<Vec<u8>> = edits.iter().map(VersionEdit::encode).collect();
    recover(&hand_made(&records))
}

#[test]
fn records_that_do_not_fit_are_refused_by_what_is_wrong() {
    let bytewise = |name: &str| VersionEdit { comparator: Some(name.to_owned()), ..globals() };
    let no_sequence = VersionEdit { last_sequence: None, ..globals() };
    let no_log = VersionEdit { log_number: None, ..globals() };
    let no_next = VersionEdit { next_file_number: None, ..globals() };
    let dropped = VersionEdit { family: 4, family_dropped: true, ..VersionEdit::default() };
    let cases: &[(&[VersionEdit], &str)] = &[
        (&[no_sequence], "no record has the last sequence number"),
        (&[no_log], "no record has the log number"),
        (&[no_next], "no record has the next file number"),
        (&[], "no record has"),
        (&[globals(), of_family(4, VersionEdit::default())], "column family 4, which is not there"),
        (&[globals(), dropped], "column family 4 is dropped and is not there"),
        (&[globals(), added(1, "x"), added(1, "y")], "column family 1 \"y\" is added"),
        (&[globals(), grouped(2, added(1, "x")), added(2, "y")], "atomic group is broken off"),
        (&[globals(), grouped(2, added(1, "x")), grouped(0, added(2, "y"))], "1 says Some(2)"),
        (&[globals(), deletes([(1, 5)])], "000005 is to leave level 1"),
        (
            &[globals(), adds([(1, file(5, b"a", b"c")), (1, file(6, b"b", b"d"))])],
            "column family \"default\": tables 000005 and 000006 on level 1 overlap",
        ),
        (&[bytewise("mine")], "comparator \"mine\" of column family \"default\""),
        (&[bytewise("leveldb.BytewiseComparator.u64ts")], "user-defined timestamps"),
        (
            &[bytewise(crate::key::BYTEWISE_NAME), bytewise(crate::key::REVERSE_BYTEWISE_NAME)],
            "an earlier record says",
        ),
    ];
    for (edits, expected) in cases {
        let error = recover_edits(edits).unwrap_err();
        let expected = expected.trim_start_matches("1 says ");
        assert!(error.message().contains(expected), "{error} should say {expected}");
        assert!(error.file().is_some_and(|file| file.ends_with("MANIFEST-000001")), "{error}");
    }
}

#[test]
fn an_unknown_field_is_refused_with_file_and_offset() {
    let disk = hand_made(&[globals().encode(), vec![77, 0]]);
    let error = recover(&disk).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert_eq!(error.offset(), Some(7 + globals().encode().len() as u64));
    assert!(error.to_string().contains("MANIFEST-000001, version edit"), "{error}");
}

#[test]
fn an_atomic_group_counts_whole_or_not_at_all() {
    let group = [
        grouped(1, adds([(0, file(60, b"a", b"b"))])),
        grouped(0, of_family(1, adds([(0, file(61, b"a", b"b"))]))),
    ];
    let start = [globals(), added(1, "x")];
    let whole = recover_edits(&[&start[..], &group].concat()).unwrap();
    assert_eq!(whole.live_tables().len(), 2);
    let half = recover_edits(&[&start[..], &group[..1]].concat()).unwrap();
    assert_eq!(half.live_tables().len(), 0);
}

#[test]
fn a_torn_tail_is_the_end_and_damage_before_it_is_an_error() {
    let records: Vec<Vec<u8>> =
        [globals(), adds([(1, file(5, b"a", b"c"))]), adds([(2, file(6, b"a", b"c"))])]
            .iter()
            .map(VersionEdit::encode)
            .collect();
    let path = Path::new("/db/MANIFEST-000001");
    let whole = hand_made(&records).read(path).unwrap();
    let last = 7 + records[2].len();
    for cut in 1..=last {
        let disk = hand_made(&records);
        let mut file = disk.create(path).unwrap();
        file.append(&whole[..whole.len() - cut]).unwrap();
        file.sync().unwrap();
        let set = recover(&disk).unwrap();
        assert_eq!(set.live_tables().into_iter().collect::<Vec<_>>(), [5.into()], "cut {cut}");
    }
    for at in [0, 4, 7, whole.len() - 1] {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        let disk = hand_made(&records);
        let mut file = disk.create(path).unwrap();
        file.append(&flipped).unwrap();
        file.sync().unwrap();
        let error = recover(&disk).unwrap_err();
        assert!(error.is_corruption(), "{error}");
        assert!(error.file().is_some(), "{error}");
    }
}

/// All of it was acknowledged: what a turned bit hides is no torn tail.
#[test]
fn no_bit_of_a_manifest_is_turned_unnoticed() {
    let number =
        |next: u64| VersionEdit { next_file_number: Some(next.into()), ..VersionEdit::default() };
    // The last ones are shorter than the header of a recycled log's record is longer than that of others.
    let edits = [globals(), adds([(1, file(5, b"a", b"c"))]), number(300), number(7)];
    let records: Vec<Vec<u8>> = edits.iter().map(VersionEdit::encode).collect();
    let path = Path::new("/db/MANIFEST-000001");
    let whole = hand_made(&records).read(path).unwrap();
    for bit in 0..8 * whole.len() {
        let mut turned = whole.clone();
        turned[bit / 8] ^= 1 << (bit % 8);
        let disk = hand_made(&records);
        let mut file = disk.create(path).unwrap();
        file.append(&turned).unwrap();
        file.sync().unwrap();
        let error = recover(&disk).map(|_| ()).expect_err(&format!("bit {bit}"));
        assert!(error.is_corruption(), "bit {bit}: {error}");
    }
}

#[test]
fn logs_and_numbers_only_go_up() {
    let log =
        |number: u64| VersionEdit { log_number: Some(number.into()), ..VersionEdit::default() };
    let wal = |number: u64, synced_bytes| VersionEdit {
        wal_additions: vec![edit::WalAddition { number: number.into(), synced_bytes }],
        ..VersionEdit::default()
    };
    let deletion = VersionEdit { wal_deletion: Some(8.into()), ..VersionEdit::default() };
    let edits = [
        globals(),
        log(9),
        log(7),
        wal(7, None),
        wal(8, None),
        wal(8, Some(5)),
        deletion,
        wal(9, None),
    ];
    let set = recover_edits(&edits).unwrap();
    assert_eq!(set.family(0).unwrap().log_number(), 9.into());
    let wals: Vec<_> =
        set.recovered_wals().iter().map(|wal| (wal.number.get(), wal.synced_bytes)).collect();
    assert_eq!(wals, [(8, Some(5)), (9, None)]);
    assert_eq!(set.new_file_number(), 201.into());
    set.mark_file_number_used(500.into());
    assert_eq!(set.new_file_number(), 501.into());
}

#[test]
fn the_manifest_never_says_less_than_its_tables() {
    let disk = new_disk();
    let set = create(&disk, VersionSetOptions::default()).unwrap();
    set.log_and_apply(vec![adds([(0, file(60, b"a", b"b"))])]).unwrap();
    // Readers do not see it before whoever wrote the table says so.
    assert_eq!(set.last_sequence(), SeqNo::ZERO);
    assert_eq!(recover(&disk).unwrap().last_sequence().get(), 9);
}
