//! Options that are refused or told of when a database is opened.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::error::ErrorKind;
use crate::io::MemoryFileSystem;
use crate::merge::MergeOperator;
use crate::options::file::{FindingKind, Mode, OptionsFile, Severity, file_name, newest};
use crate::options::{ColumnFamilyOptions, ObjectName};
use crate::version::edit::{DeletedFile, NewFile};
use crate::version::{FileMeta, VersionEdit, VersionSetOptions};

const DIR: &str = "/db";

fn builder(fs: &MemoryFileSystem) -> DbBuilder {
    DbBuilder::new(DIR).file_system(Arc::new(fs.clone())).cache(Cache::new(4 << 20))
}

fn creating() -> DbOptions {
    DbOptions {
        create_if_missing: true,
        create_missing_column_families: true,
        ..DbOptions::default()
    }
}

fn with_options(options: ColumnFamilyOptions) -> FamilyConfig {
    FamilyConfig { options: Some(options), ..FamilyConfig::default() }
}

fn contents(fs: &MemoryFileSystem) -> Vec<(String, Vec<u8>)> {
    let names = fs.list(Path::new(DIR)).unwrap();
    let names = names.iter().map(|name| name.to_str().unwrap().to_owned());
    let read = |name: String| {
        let bytes = fs.read(&Path::new(DIR).join(&name)).unwrap();
        (name, bytes)
    };
    names.filter(|name| name != "LOCK").map(read).collect()
}

/// A database whose options file has `line` in the section of this title.
fn database_with(title: &str, line: &str) -> MemoryFileSystem {
    let fs = MemoryFileSystem::new();
    let db = builder(&fs).options(creating()).family("f", FamilyConfig::default()).open().unwrap();
    db.put(b"k", b"v").unwrap();
    drop(db);
    let names: Vec<String> = contents(&fs).into_iter().map(|(name, _)| name).collect();
    let number = newest(names.iter().map(String::as_str)).unwrap();
    let path = Path::new(DIR).join(file_name(number));
    let text = String::from_utf8(fs.read(&path).unwrap()).unwrap();
    let head = format!("[{title}]\n");
    assert!(text.contains(&head), "{text}");
    let name = line.split('=').next().unwrap();
    let section = text.find(&head).unwrap() + head.len();
    let (before, after) = text.split_at(section);
    // The first of two counts: the new one.
    let text = format!("{before}  {line}\n{}", after.replacen(&format!("  {name}="), "  x_", 0));
    fs.remove(&path).unwrap();
    let mut file = fs.create(&path).unwrap();
    file.append(text.as_bytes()).unwrap();
    file.sync().unwrap();
    fs
}

const REFUSED: [(&str, &str, &str); 3] = [
    ("DBOptions", "allow_2pc=true", "two-phase"),
    ("CFOptions \"default\"", "persist_user_defined_timestamps=false", "timestamps"),
    ("CFOptions \"f\"", "compression=kXpressCompression", "kXpress"),
];

#[test]
fn options_that_ask_for_what_is_not_there_are_refused_by_name_before_anything_is_touched() {
    for (title, line, why) in REFUSED {
        let fs = database_with(title, line);
        let before = contents(&fs);
        let error = builder(&fs).open().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotSupported, "{error}");
        let text = error.to_string();
        let name = line.split('=').next().unwrap();
        assert!(text.contains(name) && text.contains(why), "{text}");
        assert!(text.contains("OPTIONS-") && text.contains("line "), "{text}");
        assert!(contents(&fs) == before, "{line}");
    }
}

#[test]
fn they_do_not_keep_a_database_from_being_read_and_are_told() {
    for (title, line, _) in REFUSED {
        let fs = database_with(title, line);
        let db = builder(&fs).open_read_only().unwrap();
        assert_eq!(db.get(b"k").unwrap().unwrap(), b"v");
        let name = line.split('=').next().unwrap();
        let told = db.option_findings().iter().find(|found| found.option.as_deref() == Some(name));
        let told = told.unwrap();
        assert_eq!((told.kind, told.severity), (FindingKind::NotSupported, Severity::Error));
        assert_eq!(told.section, title);
    }
}

#[test]
fn options_that_the_caller_gives_replace_those_of_the_file_and_what_is_wrong_with_them() {
    for (title, line, _) in REFUSED {
        let fs = database_with(title, line);
        let builder = match title {
            "DBOptions" => builder(&fs).options(DbOptions::default()),
            "CFOptions \"f\"" => {
                builder(&fs).family("f", with_options(ColumnFamilyOptions::default()))
            }
            _ => builder(&fs).family("default", with_options(ColumnFamilyOptions::default())),
        };
        let db = builder.open().unwrap();
        assert_eq!(db.option_findings(), [], "{line}");
    }
}

#[test]
fn senseless_options_of_the_caller_are_refused_before_a_directory_is_made() {
    let fs = MemoryFileSystem::new();
    let senseless = {
        let mut options = ColumnFamilyOptions::default();
        options.table.index_type = crate::options::IndexType::BinarySearch;
        options
    };
    let error = builder(&fs).options(creating()).family("f", with_options(senseless.clone()));
    let error = error.open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("partition_filters=true"), "{error}");
    assert!(!fs.exists(Path::new(DIR)).unwrap());

    let db = builder(&fs).options(creating()).open().unwrap();
    let error = db.create_family("f", with_options(senseless)).unwrap_err();
    assert!(error.to_string().contains("partition_filters=true"), "{error}");
    assert!(db.family("f").is_err());
}

#[test]
fn findings_tell_line_and_kind_of_what_has_no_effect() {
    for (title, line, kind) in [
        ("DBOptions", "max_open_file=7", FindingKind::MisspeltOption),
        ("DBOptions", "allow_mmap_reads=true", FindingKind::NoEffect),
        ("DBOptions", "stats_dump_period_sec=many", FindingKind::BadValue),
        ("CFOptions \"f\"", "merge_operator=example.Own", FindingKind::RuntimeObject),
        ("CFOptions \"f\"", "qwertz=1", FindingKind::UnknownOption),
        ("TableOptions/BlockBasedTable \"f\"", "index_type=kBinarySearch", FindingKind::Conflict),
    ] {
        let fs = database_with(title, line);
        let db = builder(&fs).open_read_only().unwrap();
        let told = db.option_findings().iter().find(|found| found.kind == kind).unwrap();
        assert!(told.line.is_some() && told.section == title, "{told}");
        // What every file of RocksDB has is no reason to refuse it.
        assert!(told.severity < Severity::Error, "{told}");
    }
}

/// Joins operands, under a name of its own.
#[derive(Debug)]
struct Join;

impl MergeOperator for Join {
    fn name(&self) -> &str {
        "example.Join"
    }

    fn full_merge(
        &self,
        _: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        base.iter().chain(operands).for_each(|part| out.extend_from_slice(part));
        Ok(())
    }
}

#[test]
fn an_unknown_merge_operator_is_missed_where_it_is_needed_and_refused_for_writing() {
    let fs = MemoryFileSystem::new();
    let config = FamilyConfig { merge_operator: Some(Arc::new(Join)), ..Default::default() };
    let db = builder(&fs).options(creating()).family("f", config).open().unwrap();
    let family = db.family("f").unwrap();
    db.put(b"k", b"v").unwrap();
    db.put_cf(&family, b"a", b"plain").unwrap();
    db.merge_cf(&family, b"m", b"1").unwrap();
    drop((family, db));

    let before = contents(&fs);
    let db = builder(&fs).open_read_only().unwrap();
    let family = db.family("f").unwrap();
    assert_eq!(family.missing_merge_operator(), Some("example.Join"));
    assert_eq!(db.default_family().missing_merge_operator(), None);
    assert_eq!(db.get(b"k").unwrap().unwrap(), b"v");
    assert_eq!(db.get_cf(&family, b"a").unwrap().unwrap(), b"plain");
    let error = db.get_cf(&family, b"m").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert!(error.to_string().contains("\"example.Join\", which is neither built in"), "{error}");
    let mut iter = db.iter_cf(&family, IterOptions::default()).unwrap();
    iter.seek_to_first().unwrap();
    assert_eq!(iter.value(), b"plain");
    assert!(iter.next().unwrap_err().to_string().contains("example.Join"));
    drop((iter, family, db));

    let error = builder(&fs).open().unwrap_err().to_string();
    assert!(error.contains("\"f\" has merge operator \"example.Join\""), "{error}");
    assert!(contents(&fs) == before);
    let known = builder(&fs).merge_operator(Arc::new(Join));
    for db in [known.open_read_only().unwrap(), known.open().unwrap()] {
        let family = db.family("f").unwrap();
        assert_eq!(family.missing_merge_operator(), None);
        assert_eq!(db.get_cf(&family, b"m").unwrap().unwrap(), b"1");
    }
}

fn with_levels(num_levels: i32) -> FamilyConfig {
    with_options(ColumnFamilyOptions { num_levels, ..ColumnFamilyOptions::default() })
}

fn levels(family: &ColumnFamily) -> usize {
    family.0.family.current().levels().len()
}

#[test]
fn a_family_has_the_levels_that_its_options_say() {
    let fs = MemoryFileSystem::new();
    let creating = builder(&fs).options(creating());
    let db =
        creating.family("default", with_levels(3)).family("f", with_levels(12)).open().unwrap();
    let later = db.create_family("later", with_levels(1)).unwrap();
    let family = |db: &Db, name| levels(&db.family(name).unwrap());
    assert_eq!((family(&db, "default"), family(&db, "f"), levels(&later)), (3, 12, 2));
    drop((later, db));
    // From the options file, and from the caller.
    let db = builder(&fs).open().unwrap();
    assert_eq!([family(&db, "default"), family(&db, "f"), family(&db, "later")], [3, 12, 2]);
    drop(db);
    let db = builder(&fs).family("f", with_levels(4)).open_read_only().unwrap();
    assert_eq!((family(&db, "default"), family(&db, "f")), (3, 4));
}

/// Moves the only table of the default family from level 0 to another.
fn move_table(fs: &MemoryFileSystem, level: u32) {
    let dir = Path::new(DIR);
    let set = VersionSet::recover(Arc::new(fs.clone()), dir, VersionSetOptions::default()).unwrap();
    let version = set.families()[0].current();
    let (_, file) = version.files().next().unwrap();
    set.log_and_apply(vec![VersionEdit {
        deleted_files: vec![DeletedFile { level: 0, number: file.number }],
        new_files: vec![NewFile { level, file: FileMeta::clone(file) }],
        ..VersionEdit::default()
    }])
    .unwrap();
}

#[test]
fn tables_below_the_levels_of_the_options_are_read_and_not_written() {
    let fs = MemoryFileSystem::new();
    let db = builder(&fs).options(creating()).open().unwrap();
    db.put(b"k", b"v").unwrap();
    db.flush().unwrap();
    drop(db);
    move_table(&fs, 5);
    let few = builder(&fs).family("default", with_levels(5));
    let db = few.open_read_only().unwrap();
    assert_eq!(levels(&db.default_family()), 6);
    assert_eq!(db.get(b"k").unwrap().unwrap(), b"v");
    drop(db);
    let before = contents(&fs);
    let error = few.open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("tables on level 5, and num_levels=5"), "{error}");
    assert!(contents(&fs) == before);
    let db = builder(&fs).family("default", with_levels(6)).open().unwrap();
    assert_eq!(db.get(b"k").unwrap().unwrap(), b"v");
}

#[test]
fn more_levels_than_there_can_be_are_no_value() {
    let mut options = ColumnFamilyOptions::default();
    options.set("num_levels", "64").unwrap();
    assert!(options.set("num_levels", "65").unwrap_err().message().contains("1 to 64"));
    let text = "[DBOptions]\n[CFOptions \"default\"]\nnum_levels=1000\n";
    let read = OptionsFile::read(text.as_bytes(), Mode::Lenient);
    assert_eq!(read.findings[0].kind, FindingKind::BadValue);
    assert_eq!(options.merge_operator, ObjectName::default());
}
