//! The remedy carried out: the same rows under the same options, with index and filters in partitions.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use partita::ErrorKind;
use partita::db::DbBuilder;
use partita::io::{DiskFileSystem, FaultFileSystem, FileSystem};
use partita::options::file::{Mode, OptionsFile};
use partita_doctor::fix;
use partita_doctor::model::FilterShape;
use partita_doctor::read::read_database;
use partita_testkit::golden;

fn disk() -> Arc<dyn FileSystem> {
    Arc::new(DiskFileSystem)
}

type Rows = BTreeMap<String, Vec<(Vec<u8>, Vec<u8>)>>;

fn rows(dir: &Path) -> Rows {
    let db = DbBuilder::new(dir).open_read_only().unwrap();
    let rows_of = |family: &partita::db::ColumnFamily| {
        let mut iter = db.iter_cf(family, Default::default()).unwrap();
        iter.seek_to_first().unwrap();
        let mut rows = Vec::new();
        while iter.is_valid() {
            rows.push((iter.key().to_vec(), iter.value().to_vec()));
            iter.next().unwrap();
        }
        rows
    };
    db.families().iter().map(|family| (family.name().to_owned(), rows_of(family))).collect()
}

fn options(dir: &Path) -> OptionsFile {
    OptionsFile::load_newest(&DiskFileSystem, dir, Mode::Lenient).unwrap().unwrap().1.options
}

/// A directory's files with their contents.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap())
        })
        .collect()
}

fn is_partitioned(dir: &Path) {
    let database = read_database(&DiskFileSystem, dir).unwrap();
    assert!(database.layouts().count() > 0);
    for (table, layout) in database.layouts() {
        assert!(layout.index.is_partitioned, "{}", table.name());
        let shape = layout.filter.shape;
        assert!(matches!(shape, FilterShape::Partitioned | FilterShape::None), "{shape:?}");
    }
}

/// The options are those from before, but for the remedy's.
fn has_options_of(dir: &Path, before: &OptionsFile) {
    let mut after = options(dir);
    assert_eq!(after.db.create_if_missing, before.db.create_if_missing);
    for family in &mut after.families {
        let old = before.family(&family.name).expect("no family came");
        assert_ne!(family.options.table, old.table, "the remedy is there");
        family.options.table = old.table.clone();
        assert_eq!(family.options, *old, "{}", family.name);
    }
    assert_eq!(after.families.len(), before.families.len());
    assert_eq!(after.db, before.db);
}

#[test]
fn a_copy_has_the_rows_the_options_and_the_remedy_and_the_original_is_as_it_was() {
    for name in ["locations-full-filter", "families-merge-ranges-wal"] {
        let golden = golden::get(name);
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("fixed");
        let (before, all_rows) = (contents(&golden.path()), rows(&golden.path()));
        let mut told = 0;
        let fixed =
            fix::copy(&disk(), &golden.path(), &target, &mut |_, bytes| told += bytes).unwrap();
        assert_eq!(contents(&golden.path()), before, "{name}");
        assert_eq!(rows(&target), all_rows, "{name}");
        is_partitioned(&target);
        has_options_of(&target, &options(&golden.path()));
        assert!(told > 0);
        assert_eq!(fixed.rows, all_rows.values().map(|rows| rows.len() as u64).sum::<u64>());
        assert!(!home.path().join("fixed.tmp").exists());
    }
}

#[test]
fn a_directory_that_is_there_is_left_alone() {
    let golden = golden::get("locations-full-filter");
    let home = tempfile::tempdir().unwrap();
    let error = fix::copy(&disk(), &golden.path(), home.path(), &mut |_, _| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

/// Whatever call fails: there is no database of the new name, and the next run makes it.
#[test]
fn an_interrupted_copy_leaves_no_database_and_does_not_hinder_the_next() {
    let golden = golden::get("locations-full-filter");
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("fixed");
    let faulty = FaultFileSystem::new(disk());
    let calls = {
        let fs: Arc<dyn FileSystem> = Arc::new(faulty.clone());
        let before = faulty.calls();
        fix::copy(&fs, &golden.path(), &target, &mut |_, _| ()).unwrap();
        fs::remove_dir_all(&target).unwrap();
        faulty.calls() - before
    };
    for share in [1, 3, 5, 7, 9] {
        let fs: Arc<dyn FileSystem> = Arc::new(faulty.clone());
        faulty.fail_from(faulty.calls() + calls * share / 10, std::io::ErrorKind::Other);
        fix::copy(&fs, &golden.path(), &target, &mut |_, _| ()).unwrap_err();
        faulty.clear_rule();
        assert!(!target.exists(), "{share}");
    }
    fix::copy(&disk(), &golden.path(), &target, &mut |_, _| ()).unwrap();
    assert_eq!(rows(&target), rows(&golden.path()));
}

#[test]
fn in_place_there_is_a_checkpoint_first() {
    let golden = golden::get("locations-full-filter");
    let home = tempfile::tempdir().unwrap();
    let checkpoint = home.path().join("before");
    let (all_rows, before) = (rows(&golden.path()), options(&golden.path()));
    let fixed = fix::in_place(&disk(), &golden.path(), &checkpoint, &mut |_, _| ()).unwrap();
    assert_eq!(fixed.checkpoint.as_deref(), Some(&*checkpoint));
    assert_eq!(rows(&golden.path()), all_rows);
    is_partitioned(&golden.path());
    has_options_of(&golden.path(), &before);
    assert_eq!(rows(&checkpoint), all_rows);
    let old = read_database(&DiskFileSystem, &checkpoint).unwrap();
    assert!(old.layouts().any(|(_, layout)| layout.filter.shape == FilterShape::Full));
}

#[test]
fn in_place_is_refused_while_somebody_has_it_open() {
    let golden = golden::get("locations-full-filter");
    let home = tempfile::tempdir().unwrap();
    let checkpoint = home.path().join("before");
    let owner = DbBuilder::new(golden.path()).open().unwrap();
    let error = fix::in_place(&disk(), &golden.path(), &checkpoint, &mut |_, _| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(!checkpoint.exists());
    owner.close().unwrap();
}
