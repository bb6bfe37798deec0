//! Directories are read as they are, also while they change, and are left alone.

use std::fs;
use std::path::Path;

use partita::io::{DiskFileSystem, FileSystem as _};
use partita::wal::{LogWriter, LogWriterOptions};
use partita_doctor::model::TableState;
use partita_doctor::read::read_database;
use partita_doctor::{Request, examine};
use partita_testkit::golden;

use crate::watched_fs::WatchedFs;

#[test]
fn every_golden_database_is_read_without_its_comparator_and_without_a_write() {
    for golden in golden::all() {
        let database = read_database(&WatchedFs::quiet(), &golden.path()).unwrap();
        assert_eq!(database.problems, [], "{}", golden.name());
        assert_eq!(database.changes_seen, 0);
        assert_eq!(database.tables.len(), golden.sst_paths().len(), "{}", golden.name());
        assert!(database.tables.iter().all(|table| table.layout().is_some()));
        assert_eq!(database.written_by(), Some("11.8.1"));
        let mut families: Vec<&str> =
            database.families.iter().map(|family| &*family.name).collect();
        families.sort_unstable();
        assert_eq!(families, golden.families(), "{}", golden.name());
    }
}

#[test]
fn a_foreign_comparator_is_named_and_keeps_partita_out_only() {
    let golden = golden::get("foreign-comparator");
    let database = read_database(&DiskFileSystem, &golden.path()).unwrap();
    assert_ne!(database.families[0].comparator, "leveldb.BytewiseComparator");
    for (_, layout) in database.layouts() {
        assert!(layout.refused.as_ref().unwrap().is_unsupported);
        assert!(layout.entries > 0);
    }
}

/// Copies the files of a directory over those of another.
fn copy_over(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

#[test]
fn a_table_that_goes_with_its_manifest_is_no_loss() {
    let (golden, next) = (golden::get("locations-full-filter"), golden::get("plain-defaults"));
    let (dir, next_dir) = (golden.path(), next.path());
    let tables = golden.sst_paths();
    // Another process compacts all tables away when the first of them is looked at.
    let mut compacted = false;
    let fs = WatchedFs::new({
        let dir = dir.clone();
        move |_| {
            if !std::mem::replace(&mut compacted, true) {
                for table in &tables {
                    fs::remove_file(table).unwrap();
                }
                copy_over(&next_dir, &dir);
            }
        }
    });
    let database = read_database(&fs, &dir).unwrap();
    assert_eq!(database.changes_seen, 1);
    assert_eq!(database.tables.len(), next.sst_paths().len());
    assert!(database.tables.iter().all(|table| table.layout().is_some()));
}

#[test]
fn a_table_that_goes_while_the_manifest_stays_is_missing() {
    let golden = golden::get("locations-full-filter");
    fs::remove_file(&golden.sst_paths()[1]).unwrap();
    let database = read_database(&DiskFileSystem, &golden.path()).unwrap();
    assert_eq!(database.changes_seen, 0);
    let missing = database.tables.iter().filter(|table| matches!(table.state, TableState::Missing));
    assert_eq!(missing.count(), 1);
}

#[test]
fn a_directory_that_never_stops_changing_is_left_after_some_tries() {
    let (golden, other) = (golden::get("locations-full-filter"), golden::get("plain-defaults"));
    let dir = golden.path();
    let (keep, others) = (tempfile::tempdir().unwrap(), other.path());
    copy_over(&dir, keep.path());
    for table in fs::read_dir(&dir).unwrap() {
        let path = table.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "sst") {
            fs::remove_file(path).unwrap();
        }
    }
    // At every look the directory becomes another one, whose tables are not there either.
    let mut looks = 0;
    let fs = WatchedFs::new({
        let (dir, keep) = (dir.clone(), keep.path().to_owned());
        move |path| {
            looks += 1;
            let from = if looks % 2 == 0 { &keep } else { &others };
            for name in ["CURRENT", "MANIFEST-000005"] {
                if from.join(name).exists() {
                    fs::copy(from.join(name), dir.join(name)).unwrap();
                }
            }
            let _ = fs::remove_file(path);
        }
    });
    let database = read_database(&fs, &dir).unwrap();
    assert!(database.tables.iter().all(|table| matches!(table.state, TableState::Missing)));
}

#[test]
fn what_is_no_database_is_a_problem_and_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let report =
        examine(&DiskFileSystem, &[dir.path().into(), dir.path().join("no")], &Request::default());
    assert_eq!((report.databases.len(), report.problems.len()), (0, 2));
    assert!(report.problems[0].message.contains("no database here"), "{:?}", report.problems);
}

#[test]
fn data_that_is_in_logs_only_is_counted_and_told() {
    let golden = golden::get("wal-only");
    let report = examine(&DiskFileSystem, &[golden.path()], &Request::default());
    let database = &report.databases[0];
    assert_eq!(database.shape.total.files, 0);
    assert!(database.logged_entries >= golden.expected("default").len() as u64);
    let told = database.findings_of("data-in-logs").next().unwrap();
    assert!(told.title.contains("all data is in logs"), "{}", told.title);
    let golden = golden::get("plain-defaults");
    let report = examine(&DiskFileSystem, &[golden.path()], &Request::default());
    assert!(report.databases[0].findings_of("data-in-logs").next().is_none());
}

#[test]
fn tables_in_other_directories_are_looked_at_where_these_are_named() {
    use partita::version::{FileMeta, FileName, ManifestReader, VersionEdit};
    let golden = golden::get("locations-full-filter");
    let home = tempfile::tempdir().unwrap();
    // The manifest is written anew: all tables have path 1.
    let (number, mut reader) =
        ManifestReader::open_current(&DiskFileSystem, &golden.path()).unwrap();
    let mut edits: Vec<VersionEdit> = Vec::new();
    while let Some(found) = reader.next_edit().unwrap() {
        let mut edit = found.edit;
        for new in &mut edit.new_files {
            new.file = FileMeta { path_id: 1, ..new.file.clone() };
        }
        edits.push(edit);
    }
    write_manifest(&FileName::Manifest(number).in_dir(&golden.path()), &edits);
    for path in golden.sst_paths() {
        fs::rename(&path, home.path().join(path.file_name().unwrap())).unwrap();
    }
    let report = examine(&DiskFileSystem, &[golden.path()], &Request::default());
    let unseen = report.databases[0].findings_of("tables-elsewhere").next().unwrap();
    assert_eq!(unseen.value("tables"), Some(&partita_doctor::finding::Value::Count(4)));
    let table_dirs = vec![golden.path(), home.path().to_owned()];
    let request = Request { table_dirs, verify: true, ..Request::default() };
    let report = examine(&DiskFileSystem, &[golden.path()], &request);
    let database = &report.databases[0];
    assert!(database.findings_of("tables-elsewhere").next().is_none());
    assert_eq!(
        (database.shape.total.unseen_files, database.verified.as_ref().unwrap().tables),
        (0, 4)
    );
}

fn write_manifest(path: &Path, edits: &[partita::version::VersionEdit]) {
    let file = DiskFileSystem.create(path).unwrap();
    let mut writer = LogWriter::new(file, &LogWriterOptions::default()).unwrap();
    for edit in edits {
        writer.add_record(&[&edit.encode()]).unwrap();
    }
    writer.finish().unwrap();
}
