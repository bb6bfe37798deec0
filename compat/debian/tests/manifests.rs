//! Manifests that Partita writes, opened, read and compacted by RocksDB 7.8.3 and 9.8.4, and read again by Partita.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use partita::io::{DiskFileSystem, FileSystem as _};
use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
use partita::options::TableOptions;
use partita::table::{ReadContext, ReaderOptions, TableBuilder, TableContext};
use partita::version::edit::NewFile;
use partita::version::{
    FileMeta, FileName, FileNumber, TableCache, VersionEdit, VersionSet, VersionSetOptions,
    unique_id,
};
use partita_compat_debian::{ldb, rocksdict};
use partita_compat_rocks::Row;
use partita_testkit::golden;

/// Golden databases that RocksDB 7.8.3 opens with the options it makes up for itself.
const READ_BY_7_8: [&str; 7] = [
    "format2-crc-zlib",
    "format4-xxh64-bzip2-partindex",
    "ingested",
    "locations-full-filter",
    "locations-partitioned",
    "odd-keys",
    "wal-only",
];

fn recover(db: &Path) -> VersionSet {
    VersionSet::recover(Arc::new(DiskFileSystem), db, VersionSetOptions::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn tables_in(db: &Path) -> BTreeSet<FileNumber> {
    let names = DiskFileSystem.list(db).unwrap();
    names
        .iter()
        .filter_map(|name| match FileName::parse(name) {
            Some(FileName::Table(number)) => Some(number),
            _ => None,
        })
        .collect()
}

/// Every table that the manifest names is there and is what the manifest says.
fn check_tables(db: &Path) {
    let set = recover(db);
    assert_eq!(set.live_tables(), tables_in(db), "{}", db.display());
    for family in set.families() {
        let order = family.key_order().name();
        let options = ReaderOptions::default();
        let fs = Arc::new(DiskFileSystem);
        let cache = TableCache::new(fs, vec![db.to_owned()], options, order, Arc::default());
        for (level, file) in family.current().files() {
            cache
                .get(file, level, &mut ReadContext::default())
                .unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn rocksdb_goes_on_where_partita_rewrote_the_manifest() {
    for name in READ_BY_7_8 {
        let db = golden::get(name);
        let dir = db.path();
        let set = recover(&dir);
        let before = set.manifest_number();
        set.log_and_apply(vec![VersionEdit::default()]).unwrap();
        assert!(set.manifest_number() > before);
        drop(set);
        let manifest = FileName::Manifest(recover(&dir).manifest_number()).in_dir(&dir);
        let path = format!("--path={}", manifest.display());
        ldb::on(&dir, &["manifest_dump", &path]).unwrap_or_else(|said| panic!("{name}: {said}"));
        let expected = db.expected("default");
        let check = |when: &str| {
            ldb::check_consistency(&dir).unwrap_or_else(|said| panic!("{name} {when}: {said}"));
            let rows = ldb::rows(&dir, "default").unwrap_or_else(|said| panic!("{name}: {said}"));
            assert!(rows == expected, "{name} {when}: {} and {}", rows.len(), expected.len());
        };
        check("rewritten");
        ldb::on(&dir, &["compact"]).unwrap_or_else(|said| panic!("{name}: {said}"));
        check_tables(&dir);
        // And again over the manifest of the other engine.
        recover(&dir).log_and_apply(vec![VersionEdit::default()]).unwrap();
        check("rewritten again");
        check_tables(&dir);
    }
}

#[test]
fn rocksdb_9_8_goes_on_where_partita_rewrote_the_manifest() {
    for name in READ_BY_7_8.into_iter().filter(|name| *name != "format2-crc-zlib") {
        let db = golden::get(name);
        let dir = db.path();
        recover(&dir).log_and_apply(vec![VersionEdit::default()]).unwrap();
        for compact in [false, true] {
            let rows = rocksdict::open_and_scan(&dir, compact)
                .unwrap_or_else(|said| panic!("{name}: {said}"));
            assert!(rows == db.expected("default"), "{name}, compacted: {compact}");
        }
        check_tables(&dir);
    }
}

const SESSION: &str = "ABCDEFGH0123456789AB";
const ID: &str = "b5a1c2d3-0000-4000-8000-00000000abcd";

/// Writes a table of one row and returns what the manifest is to say about it.
fn write_table(db: &Path, set: &VersionSet, family: u64, row: &Row, seqno: u64) -> FileMeta {
    let output = set.new_output();
    let number = output.number();
    let path = FileName::Table(number).in_dir(db);
    let context = TableContext {
        column_family_id: family,
        db_id: ID.to_owned(),
        db_session_id: SESSION.to_owned(),
        file_number: number.get(),
        ..TableContext::default()
    };
    let file = DiskFileSystem.create_new(&path).unwrap();
    // What 7.8.3 from Debian and the wheel both have.
    let options = TableOptions::default();
    let mut builder = TableBuilder::new(file, options, KeyOrder::Bytewise, context).unwrap();
    let seqno = SeqNo::new(seqno).unwrap();
    let key = InternalKey::new(&row.0, seqno, ValueType::Value).encode();
    builder.add(&key, &row.1).unwrap();
    builder.finish().unwrap();
    FileMeta {
        smallest_seqno: seqno,
        largest_seqno: seqno,
        unique_id: Some(unique_id::of_file(ID, SESSION, number.get())),
        ..FileMeta::new(number, DiskFileSystem.file_len(&path).unwrap(), &key, &key)
    }
}

fn rows_of(family: usize) -> Vec<Row> {
    let key = |i: usize| format!("family {family} key {i:04}").into_bytes();
    (0..120).map(|i| (key(i), format!("value {i}").into_bytes())).collect()
}

/// A database of three families with 360 tables, on levels 0, 1 and 6, made by Partita alone.
fn make_database(dir: &Path) {
    let fs = Arc::new(DiskFileSystem);
    let options = VersionSetOptions { manifest_bytes_max: 4096, ..VersionSetOptions::default() };
    let set = VersionSet::create_new(fs, dir, KeyOrder::Bytewise, ID, options).unwrap();
    for name in ["second", "third", "gone"] {
        set.create_family(name, KeyOrder::Bytewise, 1.into(), 7, |_| Ok(Vec::new())).unwrap();
    }
    set.drop_family(set.family_named("gone").unwrap().id()).unwrap();
    let mut seqno = 0;
    for (at, family) in set.families().into_iter().enumerate() {
        for (i, row) in rows_of(at).iter().enumerate() {
            seqno += 1;
            let level = [6, 6, 1, 0][i % 4];
            let mut file = write_table(dir, &set, u64::from(family.id()), row, seqno);
            file.epoch = family.new_epoch();
            let new_files = vec![NewFile { level, file }];
            let edit = VersionEdit { family: family.id(), new_files, ..VersionEdit::default() };
            set.raise_last_sequence(SeqNo::new(seqno).unwrap());
            set.log_and_apply(vec![edit]).unwrap();
        }
    }
    // All or nothing: a group of three edits.
    let edits = set.families().into_iter().map(|family| VersionEdit {
        family: family.id(),
        log_number: Some(500.into()),
        ..VersionEdit::default()
    });
    set.log_and_apply(edits.collect()).unwrap();
    let names: Vec<FileName> =
        DiskFileSystem.list(dir).unwrap().iter().filter_map(|name| FileName::parse(name)).collect();
    for name in set.unneeded(&names) {
        DiskFileSystem.remove(&name.in_dir(dir)).unwrap();
    }
}

#[test]
fn a_database_of_several_families_and_many_files_is_opened_and_compacted() {
    let dir = tempfile::tempdir().unwrap();
    make_database(dir.path());
    let dir = dir.path();
    assert_eq!(tables_in(dir).len(), 360);
    let check = |when: &str| {
        ldb::check_consistency(dir).unwrap_or_else(|said| panic!("{when}: {said}"));
        for (at, family) in ["default", "second", "third"].into_iter().enumerate() {
            let rows = ldb::rows(dir, family).unwrap_or_else(|said| panic!("{when}: {said}"));
            assert!(rows == rows_of(at), "{when}: family {family}: {} rows", rows.len());
        }
    };
    check("as made");
    assert!(ldb::rows(dir, "gone").is_err());
    check_tables(dir);
    let rows = rocksdict::open_and_scan(dir, false).unwrap_or_else(|said| panic!("{said}"));
    assert!(rows == rows_of(0));
    check_tables(dir);
    // `ldb` would read the OPTIONS file, with a format version that 7.8 does not have.
    for name in DiskFileSystem.list(dir).unwrap() {
        if let Some(FileName::Options(_)) = FileName::parse(&name) {
            DiskFileSystem.remove(&dir.join(name)).unwrap();
        }
    }
    for family in ["default", "second", "third"] {
        let family = format!("--column_family={family}");
        ldb::on(dir, &["compact", &family]).unwrap_or_else(|said| panic!("{said}"));
    }
    check_tables(dir);
    assert!(tables_in(dir).len() < 360);
    recover(dir).log_and_apply(vec![VersionEdit::default()]).unwrap();
    check("compacted by RocksDB, rewritten by Partita");
}
