//! Manifests that RocksDB wrote.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use partita_testkit::golden::{self, GoldenDb};

use super::*;
use crate::error::ErrorKind;
use crate::io::{DiskFileSystem, FileSystem};
use crate::key::{Comparator, KeyOrder};
use crate::table::{ReadContext, ReaderOptions};

/// The comparator of `foreign-comparator`: backward.
#[derive(Debug)]
struct Foreign(String);

impl Comparator for Foreign {
    fn name(&self) -> &str {
        &self.0
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        b.cmp(a)
    }
}

fn disk() -> Arc<dyn FileSystem> {
    Arc::new(DiskFileSystem)
}

fn recover(db: &GoldenDb) -> crate::error::Result<VersionSet> {
    VersionSet::recover(disk(), &db.path(), VersionSetOptions::default())
}

#[test]
fn every_manifest_comes_back_byte_by_byte() {
    let mut records = 0;
    for db in golden::all() {
        let (_, mut reader) = ManifestReader::open_current(&*disk(), &db.path()).unwrap();
        while let Some(record) = reader.next_record().unwrap() {
            let edit = VersionEdit::decode(record.payload).unwrap();
            assert_eq!(
                edit.encode(),
                record.payload,
                "{} at {}: {edit:?}",
                db.name(),
                record.offset
            );
            assert!(edit.unknown.is_empty(), "{}", db.name());
            records += 1;
        }
    }
    assert!(records > 100, "{records}");
}

#[test]
fn the_tables_of_every_database_are_those_in_its_directory() {
    for db in golden::all().into_iter().filter(|db| db.name() != "foreign-comparator") {
        let set = recover(&db).unwrap();
        let names: Vec<String> = set.families().iter().map(|family| family.name().into()).collect();
        assert_eq!(names, db.families(), "{}", db.name());
        let found: BTreeSet<FileNumber> = db
            .sst_paths()
            .iter()
            .filter_map(|path| FileName::parse(path.file_name()?)?.number())
            .collect();
        assert_eq!(set.live_tables(), found, "{}", db.name());
        assert!(set.last_sequence() > crate::key::SeqNo::ZERO || db.name().starts_with("wal"));
        assert!(set.db_id().is_some_and(|id| id.len() == 36), "{}", db.name());
    }
}

#[test]
fn every_table_is_the_one_that_its_manifest_means() {
    let mut checked = 0;
    for db in golden::all().into_iter().filter(|db| db.name() != "foreign-comparator") {
        let set = recover(&db).unwrap();
        for family in set.families() {
            let tables = TableCache::new(
                disk(),
                vec![db.path()],
                ReaderOptions::default(),
                family.key_order().name(),
                Arc::default(),
            );
            for (level, file) in family.current().files() {
                let table = tables.get(file, level, &mut ReadContext::default()).unwrap();
                assert_eq!(unique_id::of_table(table.properties()), file.unique_id);
                assert!(file.unique_id.is_some());
                let mut entries = table.iter();
                crate::iter::InternalIterator::seek_to_first(&mut entries).unwrap();
                let first = crate::iter::InternalIterator::key(&entries);
                // A file boundary may be a range tombstone's, which the entries do not show.
                assert!(family.key_order().compare_internal(&file.smallest, first).is_le());
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 44);
}

#[test]
fn a_foreign_comparator_is_refused_by_name_until_it_is_registered() {
    let db = golden::get("foreign-comparator");
    let error = recover(&db).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    let name = error.message().split('"').nth(1).unwrap().to_owned();
    assert!(!name.is_empty() && KeyOrder::builtin(&name).is_none(), "{error}");
    let options = VersionSetOptions {
        comparators: vec![Arc::new(Foreign(name.clone()))],
        ..VersionSetOptions::default()
    };
    let set = VersionSet::recover(disk(), &db.path(), options).unwrap();
    assert_eq!(set.family(DEFAULT_FAMILY).unwrap().key_order().name(), name);
}

#[test]
fn blob_files_stay_in_the_manifest_when_it_is_rewritten() {
    let db = golden::get("blob-files");
    let blobs = |set: &VersionSet| {
        let family = set.family(DEFAULT_FAMILY).unwrap();
        (family.current().blob_files().clone(), set.live_tables())
    };
    let set = recover(&db).unwrap();
    let before = blobs(&set);
    assert_eq!(before.0.len(), 3);
    set.log_and_apply(vec![VersionEdit::default()]).unwrap();
    let blob_names: Vec<FileName> = before.0.keys().map(|number| FileName::Blob(*number)).collect();
    assert_eq!(set.unneeded(&blob_names), []);
    assert_eq!(blobs(&recover(&db).unwrap()), before);
}

#[test]
fn another_table_under_the_same_name_is_found_out() {
    let db = golden::get("locations-partitioned");
    let set = recover(&db).unwrap();
    let version = set.family(DEFAULT_FAMILY).unwrap().current();
    let (level, file) = version.files().next().unwrap();
    let mut meta = FileMeta::clone(file);
    meta.unique_id.as_mut().unwrap()[3] ^= 1;
    let level = level as u32;
    let edit = super::testing::adds([(level, meta)]);
    let wrong = super::testing::version(KeyOrder::Bytewise, &[edit]).unwrap();
    let options = ReaderOptions::default();
    let name = crate::key::BYTEWISE_NAME;
    let tables = TableCache::new(disk(), vec![db.path()], options, name, Arc::default());
    let (_, file) = wrong.files().next().unwrap();
    let error = tables.get(file, 1, &mut ReadContext::default()).unwrap_err();
    assert!(error.is_corruption() && error.message().contains("unique id"), "{error}");
}

#[test]
fn a_database_is_opened_without_a_look_at_its_tables() {
    let db = golden::get("families-merge-ranges-wal");
    // Tables that are not there do not matter until they are read.
    let paths: Vec<PathBuf> = db.sst_paths();
    let fs = disk();
    for path in &paths {
        fs.remove(path).unwrap();
    }
    let set = recover(&db).unwrap();
    assert_eq!(set.live_tables().len(), paths.len());
}
