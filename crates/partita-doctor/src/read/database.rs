//! A directory as a [`Database`].
//!
//! The owner may be at work: tables that a manifest names go while we look, and a new manifest takes the old one's place.
//! Then the manifest is read again, and only tables that are new are looked at. A table is missing if it is not there
//! although the manifest still names it and nothing has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use partita::io::{FileSystem, RandomAccessFile};
use partita::options::file as options_file;
use partita::table::ReaderOptions;
use partita::version::{FileMeta, FileName, FileNumber};

use super::manifest::State;
use super::table;
use super::{filter_rate, info_log, logs};
use crate::model::{Database, OptionsText, Problem, Table, TableState, dir_of};

/// How often a directory that changes is looked at again. Then what vanished is left out.
const TRIES: u32 = 10;

/// Reads what stands in a directory, and writes nothing.
///
/// What cannot be read is among the problems; a table that is damaged has them in its layout.
///
/// * Errors: if the directory cannot be listed.
pub fn read_database(fs: &dyn FileSystem, dir: &Path) -> partita::Result<Database> {
    read_database_in(fs, dir, &[])
}

/// The same for a database whose tables stand in several directories.
///
/// * `table_dirs`: these directories, as `db_paths` has them; empty for that of the database.
pub fn read_database_in(
    fs: &dyn FileSystem,
    dir: &Path,
    table_dirs: &[PathBuf],
) -> partita::Result<Database> {
    let mut seen = BTreeMap::new();
    let mut changes_seen = 0;
    let reader = ReaderOptions::default();
    let (names, state) = loop {
        let names = names(fs, dir)?;
        let state = State::read(fs, dir, newest_manifest(&names));
        let vanished = look_at_tables(fs, (dir, table_dirs), &state, &reader, &mut seen);
        if vanished == 0 || changes_seen == TRIES {
            break (names, state);
        }
        let names_now = self::names(fs, dir)?;
        if State::read(fs, dir, newest_manifest(&names_now)).is_same(&state) {
            break (names, state);
        }
        changes_seen += 1;
    };
    let mut database = Database {
        dir: dir.to_owned(),
        table_dirs: table_dirs.to_owned(),
        families: state.families().cloned().collect(),
        tables: tables(&state, seen),
        problems: state.problems.clone(),
        changes_seen,
        ..Database::default()
    };
    filter_rate::measure(fs, (dir, table_dirs), &mut database.tables);
    database.files.live_blobs = state.blobs().collect();
    list_files(fs, dir, &names, &mut database);
    database.manifest = state.manifest;
    database.logs = logs::read(fs, &database);
    database.options = newest_options(fs, dir, &names, &mut database.problems);
    database.info_log = info_log::read(fs, dir, &names);
    Ok(database)
}

/// A name of a database's file, and the name as it stands there.
type Names = BTreeMap<FileName, Vec<String>>;

fn names(fs: &dyn FileSystem, dir: &Path) -> partita::Result<Names> {
    let mut names = Names::new();
    for name in fs.list(dir)? {
        if let (Some(parsed), Some(name)) = (FileName::parse(&name), name.to_str()) {
            names.entry(parsed).or_default().push(name.to_owned());
        }
    }
    Ok(names)
}

fn newest_manifest(names: &Names) -> Option<u64> {
    let number = |name: &FileName| match name {
        FileName::Manifest(number) => Some(number.get()),
        _ => None,
    };
    names.keys().filter_map(number).max()
}

/// Looks at the tables that were not seen before; returns how many are not there.
fn look_at_tables(
    fs: &dyn FileSystem,
    (dir, table_dirs): (&Path, &[PathBuf]),
    state: &State,
    reader: &ReaderOptions,
    seen: &mut BTreeMap<u64, TableState>,
) -> usize {
    let mut vanished = 0;
    for (_, _, meta) in state.tables() {
        let number = meta.number.get();
        if seen.get(&number).is_some_and(|state| !matches!(state, TableState::Missing)) {
            continue;
        }
        let found = look_at_table(fs, dir_of(dir, table_dirs, meta.path_id), meta, reader);
        vanished += usize::from(matches!(found, TableState::Missing));
        seen.insert(number, found);
    }
    vanished
}

/// Opens a table's file.
pub(crate) fn open_table(
    fs: &dyn FileSystem,
    dir: &Path,
    table: &Table,
) -> partita::Result<Arc<dyn RandomAccessFile>> {
    open_by_number(fs, dir, table.number)
}

/// The same, also by the name that LevelDB gave it.
fn open_by_number(
    fs: &dyn FileSystem,
    dir: &Path,
    number: u64,
) -> partita::Result<Arc<dyn RandomAccessFile>> {
    let path = FileName::Table(FileNumber::from(number)).in_dir(dir);
    match fs.open(&path) {
        Err(error) if error.is_not_found() => fs.open(&path.with_extension("ldb")),
        opened => opened,
    }
}

fn look_at_table(
    fs: &dyn FileSystem,
    dir: &Path,
    meta: &FileMeta,
    reader: &ReaderOptions,
) -> TableState {
    let file = open_by_number(fs, dir, meta.number.get());
    let reader = ReaderOptions { largest_seqno: Some(meta.largest_seqno), ..reader.clone() };
    match file.and_then(|file| table::look(&file, &reader)) {
        Ok(layout) => TableState::Seen(Box::new(layout)),
        Err(error) if error.is_not_found() && meta.path_id > 0 => TableState::Elsewhere,
        Err(error) if error.is_not_found() => TableState::Missing,
        Err(error) => TableState::Unread(Problem::new(&error)),
    }
}

fn tables(state: &State, mut seen: BTreeMap<u64, TableState>) -> Vec<Table> {
    let mut tables: Vec<Table> = state
        .tables()
        .filter_map(|(family, level, meta)| {
            Some(Table {
                family,
                level,
                number: meta.number.get(),
                path_id: meta.path_id,
                file_bytes: meta.file_bytes,
                largest_seqno: meta.largest_seqno,
                smallest: meta.smallest_user_key().into(),
                largest: meta.largest_user_key().into(),
                state: seen.remove(&meta.number.get())?,
            })
        })
        .collect();
    tables.sort_by_key(|table| (table.family, table.level, table.number));
    tables
}

/// Notes the files that are no live tables, with their sizes. One that goes meanwhile is left out.
fn list_files(fs: &dyn FileSystem, dir: &Path, names: &Names, database: &mut Database) {
    let live: BTreeSet<u64> = database.tables.iter().map(|table| table.number).collect();
    let bytes = |name: &str| fs.file_len(&dir.join(name)).ok();
    let files = &mut database.files;
    for (parsed, spelt) in names {
        let Some(name) = spelt.first() else { continue };
        let sized = |number: &FileNumber| Some((number.get(), bytes(name)?));
        match parsed {
            FileName::Table(number) if !live.contains(&number.get()) => {
                files.orphan_tables.extend(sized(number));
            }
            FileName::Log(number) => files.logs.extend(sized(number)),
            FileName::Blob(number) => files.blobs.extend(sized(number)),
            FileName::Temporary(_) => files.temporaries.push(name.clone()),
            FileName::Manifest(number) => files.manifests.push(number.get()),
            _ => {}
        }
    }
}

fn newest_options(
    fs: &dyn FileSystem,
    dir: &Path,
    names: &Names,
    problems: &mut Vec<Problem>,
) -> Option<OptionsText> {
    let newest = options_file::newest(names.values().flatten().map(String::as_str))?;
    let path = dir.join(options_file::file_name(newest));
    match fs.read(&path) {
        Ok(text) => {
            let rocksdb_version = version_line(&text);
            let partita_version = partita_line(&text);
            Some(OptionsText { path, text, rocksdb_version, partita_version })
        }
        Err(error) => {
            // The owner replaced it: it is one of several sources, and not the last.
            if !error.is_not_found() {
                problems.push(Problem::new(&error));
            }
            None
        }
    }
}

fn version_line(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().find_map(|line| line.trim().strip_prefix("rocksdb_version="))?;
    Some(line.trim().to_owned())
}

/// The version in the first line of a file that Partita wrote.
fn partita_line(text: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(text.split(|&byte| byte == b'\n').next()?).into_owned();
    let (_, version) = line.strip_prefix('#')?.split_once("written by Partita ")?;
    Some(version.trim().trim_end_matches('.').to_owned())
}
