//! Real databases and tables written by RocksDB, with what RocksDB itself read from them.
//!
//! They stand packed in `crates/partita-testkit/golden` and are unpacked into a temporary directory that lives as
//! long as the handle. [`GoldenDb::about`] and [`GoldenTable::about`] say how each was made.
//!
//! * Databases are by RocksDB 11.8.1; expected are the visible rows of its iterator.
//! * Tables are single files by RocksDB 7.8.3 in every format up to version 5; expected are the internal entries that
//!   `sst_dump` lists.
//!
//! ```
//! use partita_testkit::golden;
//!
//! let db = golden::get("locations-partitioned");
//! assert_eq!(db.families(), ["default"]);
//! assert_eq!(db.sst_paths().len(), 4);
//! assert_eq!(db.expected("default").len(), 16_235);
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use crate::archive::{self, Row};

const SUFFIX: &str = ".tar.zst";

/// A golden database, unpacked.
#[derive(Debug)]
pub struct GoldenDb {
    name: String,
    dir: TempDir,
}

/// The golden database called `name`.
///
/// * Panics if there is none of that name; the message lists those there are.
pub fn get(name: &str) -> GoldenDb {
    let archive = databases_dir().join(format!("{name}{SUFFIX}"));
    assert!(archive.exists(), "no golden database {name:?}; there are {:?}", names());
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    archive::unpack(&archive, dir.path())
        .unwrap_or_else(|error| panic!("unpack {}: {error}", archive.display()));
    GoldenDb { name: name.to_owned(), dir }
}

/// All golden databases, sorted by name.
pub fn all() -> Vec<GoldenDb> {
    names().iter().map(|name| get(name)).collect()
}

/// The names of all golden databases, sorted.
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = list(&databases_dir())
        .iter()
        .filter_map(|path| Some(file_name(path).strip_suffix(SUFFIX)?.to_owned()))
        .collect();
    names.sort_unstable();
    names
}

impl GoldenDb {
    /// The database's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it was made: one line what it is for, one line of options.
    pub fn about(&self) -> String {
        let path = self.dir.path().join("about.txt");
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The database's directory. It is a copy: tests may write to it.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("db")
    }

    /// Paths of its SST files, in order of file number.
    pub fn sst_paths(&self) -> Vec<PathBuf> {
        let mut paths = list(&self.path());
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "sst"));
        paths.sort_unstable();
        paths
    }

    /// The names of its column families, sorted.
    pub fn families(&self) -> Vec<String> {
        let mut families: Vec<String> = list(self.dir.path())
            .iter()
            .filter_map(|path| {
                let name = file_name(path).strip_prefix("expect.")?.strip_suffix(".rows")?;
                Some(name.to_owned())
            })
            .collect();
        families.sort_unstable();
        families
    }

    /// What RocksDB's iterator returned for a column family: user keys with values, in key order.
    ///
    /// This is the view of the whole database: newest versions only, deletions and merges applied, WAL replayed.
    ///
    /// * Panics if there is no such family.
    pub fn expected(&self, family: &str) -> Vec<Row> {
        read_rows(&self.dir.path().join(format!("expect.{family}.rows")))
            .unwrap_or_else(|error| panic!("golden database {}, {family}: {error}", self.name))
    }
}

/// A golden table: one SST file, unpacked.
#[derive(Clone, Debug)]
pub struct GoldenTable {
    name: String,
    dir: Arc<TempDir>,
}

/// All golden tables, sorted by name.
///
/// ```
/// use partita_testkit::golden;
///
/// for table in golden::tables() {
///     let entries = table.entries();
///     assert!(entries.len() + table.range_deletions().len() > 0, "{} is empty", table.name());
/// }
/// ```
pub fn tables() -> Vec<GoldenTable> {
    let dir = Arc::new(tempfile::tempdir().expect("a temporary directory can be made"));
    let archive = golden_dir().join("tables.tar.zst");
    archive::unpack(&archive, dir.path())
        .unwrap_or_else(|error| panic!("unpack {}: {error}", archive.display()));
    let mut paths = list(dir.path());
    paths.sort_unstable();
    paths
        .iter()
        .map(|path| GoldenTable { name: file_name(path).to_owned(), dir: Arc::clone(&dir) })
        .collect()
}

/// The golden table called `name`.
///
/// * Panics if there is none of that name; the message lists those there are.
pub fn table(name: &str) -> GoldenTable {
    let tables = tables();
    tables.iter().find(|table| table.name == name).cloned().unwrap_or_else(|| {
        let names: Vec<&str> = tables.iter().map(GoldenTable::name).collect();
        panic!("no golden table {name:?}; there are {names:?}")
    })
}

impl GoldenTable {
    /// The table's name, which tells what is special about it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version that wrote it and its options, as RocksDB's option string.
    pub fn about(&self) -> String {
        let path = self.dir.path().join(&self.name).join("about.txt");
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Path of the SST file. It is a copy: tests may write to it.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join(&self.name).join("table.sst")
    }

    /// All point entries in table order: encoded internal keys with values.
    pub fn entries(&self) -> Vec<Row> {
        self.rows("entries.rows")
    }

    /// The range deletions as RocksDB's reader cuts them into pieces that do not overlap: user keys, start inclusive,
    /// end exclusive, in order.
    pub fn range_deletions(&self) -> Vec<Row> {
        self.rows("range-deletions.rows")
    }

    fn rows(&self, file: &str) -> Vec<Row> {
        read_rows(&self.dir.path().join(&self.name).join(file))
            .unwrap_or_else(|error| panic!("golden table {}, {file}: {error}", self.name))
    }
}

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

fn databases_dir() -> PathBuf {
    golden_dir().join("databases")
}

fn list(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .unwrap_or_else(|error| panic!("list {}: {error}", dir.display()))
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn read_rows(path: &Path) -> io::Result<Vec<Row>> {
    archive::decode_rows(&fs::read(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_golden_database_unpacks_with_its_expected_rows_in_order() {
        let databases = all();
        assert_eq!(databases.len(), 15);
        for db in &databases {
            assert!(db.about().contains("format_version"), "{}", db.name());
            assert!(db.path().join("CURRENT").exists(), "{}", db.name());
            assert!(!db.families().is_empty(), "{}", db.name());
            for family in db.families() {
                let rows = db.expected(&family);
                assert!(rows.len() > 400, "{} {family}", db.name());
                let mut keys: Vec<_> = rows.iter().map(|row| &row.0).collect();
                if db.name() != "foreign-comparator" {
                    assert!(keys.is_sorted(), "{} {family}", db.name());
                }
                keys.sort_unstable();
                assert!(keys.is_sorted_by(|a, b| a < b), "{} {family}", db.name());
            }
        }
        let tables: usize = databases.iter().map(|db| db.sst_paths().len()).sum();
        assert_eq!(tables, 47);
    }

    #[test]
    fn every_golden_table_unpacks_with_its_entries() {
        let tables = tables();
        assert_eq!(tables.len(), 48);
        for table in &tables {
            assert!(table.about().starts_with("RocksDB 7.8.3\n"), "{}", table.name());
            assert!(table.path().exists(), "{}", table.name());
            let expected_ranges = matches!(table.name(), "ranges" | "only-ranges");
            assert_eq!(!table.range_deletions().is_empty(), expected_ranges, "{}", table.name());
            assert_eq!(table.entries().is_empty(), table.name() == "only-ranges");
        }
    }

    #[test]
    #[should_panic(expected = "plain-defaults")]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        get("no-such-database");
    }
}
