//! Which files the command line names: files as they are, directories with all tables below them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use partita::{Error, Result};

/// Extensions of table files: RocksDB's and LevelDB's.
const EXTENSIONS: [&str; 2] = ["sst", "ldb"];

/// The tables that `paths` name, directories replaced by the tables below them.
///
/// Each directory's tables come in order of file number, then those of its subdirectories by name. Links to
/// directories are not followed below a named directory, so a walk always ends. What could not be listed, and
/// directories without a table, are among the errors; the rest is returned all the same.
pub(crate) fn tables(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<Error>) {
    let mut found = Vec::new();
    let mut errors = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let before = (found.len(), errors.len());
        walk(path, &mut found, &mut errors);
        if (found.len(), errors.len()) == before {
            let error = Error::invalid_argument("no .sst or .ldb file in this directory");
            errors.push(error.in_file(path));
        }
    }
    (found, errors)
}

/// Whether the file's name claims that it is a table.
pub(crate) fn is_table_name(path: &Path) -> bool {
    path.extension().and_then(OsStr::to_str).is_some_and(|found| EXTENSIONS.contains(&found))
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>, errors: &mut Vec<Error>) {
    let mut files = Vec::new();
    let mut dirs = Vec::new();
    if let Err(error) = list(dir, &mut files, &mut dirs) {
        errors.push(error);
    }
    files.sort_unstable_by_key(|path| (file_number(path), path.clone()));
    found.append(&mut files);
    dirs.sort_unstable();
    for dir in dirs {
        walk(&dir, found, errors);
    }
}

fn list(dir: &Path, files: &mut Vec<PathBuf>, dirs: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |source| Error::io("list", source).in_file(dir);
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            dirs.push(path);
        } else if is_table_name(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// The number that names a database's file; others sort behind all numbers.
fn file_number(path: &Path) -> u64 {
    path.file_stem().and_then(OsStr::to_str).and_then(|stem| stem.parse().ok()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_give_their_tables_in_order_of_number() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("b/c")).unwrap();
        let names =
            ["000009.sst", "000010.sst", "1000000.sst", "x.sst", "b/000001.ldb", "b/c/7.sst"];
        for name in names.iter().rev().chain(&["CURRENT", "000011.log", "sst", "b/LOG"]) {
            fs::write(dir.path().join(name), b"").unwrap();
        }
        let (found, errors) = tables(&[dir.path().to_owned()]);
        assert!(errors.is_empty(), "{errors:?}");
        let expected: Vec<_> = names.iter().map(|name| dir.path().join(name)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn files_are_taken_as_named_and_empty_directories_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("missing");
        let (found, errors) = tables(&[missing.clone(), dir.path().to_owned()]);
        assert_eq!(found, [missing]);
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].file(), Some(dir.path()));
    }
}
