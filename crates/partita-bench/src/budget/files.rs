//! The files that are read: made once, kept, and listed in `files.json` with levels and key ranges, so that an engine
//! without a database can open them as levels.
//!
//! Two shapes. *run*: everything compacted into one sorted run. *natural*: what a bookie's database comes to at rest, the
//! oldest four fifths of every ledger in level 2, newer entries in level 1, the newest in two files of level 0; as all
//! ledgers are written side by side, every level has keys of all of them.

use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::layout::Layout;
use crate::lookups::{Key, Keyspace};

/// Bytes at which a file ends.
pub const FILE_BYTES: u64 = 64 << 20;
/// The list of files, in their directory.
const MANIFEST: &str = "files.json";

/// How the entries are spread over levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// One sorted run.
    Run,
    /// Levels 0, 1 and 2.
    Natural,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Run => "run",
            Self::Natural => "natural",
        })
    }
}

/// Some of the entries of every ledger, and the level they end in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which entries.
    pub entries: Range<u64>,
    /// Their level; what is for level 0 becomes one file of its own.
    pub level: u32,
}

impl Shape {
    /// What to write, oldest first.
    pub fn steps(self, keyspace: Keyspace) -> Vec<Step> {
        let parts: &[(u64, u32)] = match self {
            Self::Run => &[(1000, 6)],
            Self::Natural => &[(800, 2), (950, 1), (975, 0), (1000, 0)],
        };
        let mut start = 0;
        let mut steps = Vec::new();
        for &(thousandths, level) in parts {
            let end = keyspace.entries * thousandths / 1000;
            steps.push(Step { entries: start..end, level });
            start = end;
        }
        steps.retain(|step| !step.entries.is_empty());
        steps
    }
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableFile {
    /// Its name in the directory.
    pub name: String,
    /// Its level.
    pub level: u32,
    /// Its first key.
    pub smallest: Key,
    /// Its last key.
    pub largest: Key,
    /// Its entries.
    pub entries: u64,
    /// Its length.
    pub bytes: u64,
    /// Greater than that of every older file of level 0.
    pub age: u64,
}

/// A directory of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSet {
    /// Who made them.
    pub maker: String,
    /// Index and filter.
    pub layout: Layout,
    /// Levels.
    pub shape: Shape,
    /// What they hold.
    pub keyspace: Keyspace,
    /// The files: level by level, level 0 newest first, others by key.
    pub files: Vec<TableFile>,
    /// Where they are.
    #[serde(skip)]
    pub dir: PathBuf,
}

/// Makes files of one layout.
pub trait FileMaker {
    /// What to call the maker; part of the directory's name.
    fn name(&self) -> &'static str;

    /// Writes the steps' entries as files in the empty directory `dir`.
    fn make(
        &self,
        dir: &Path,
        layout: Layout,
        keyspace: Keyspace,
        steps: &[Step],
    ) -> Result<Vec<TableFile>, String>;
}

impl FileSet {
    /// The files of this description below `root`; made if they are not there.
    pub fn prepare(
        root: &Path,
        maker: &dyn FileMaker,
        layout: Layout,
        shape: Shape,
        keyspace: Keyspace,
    ) -> Result<Self, String> {
        let name =
            format!("{}-{}x{}-{layout}-{shape}", maker.name(), keyspace.ledgers, keyspace.entries);
        let dir = root.join(&name);
        if dir.join(MANIFEST).is_file() {
            return Self::load(&dir);
        }
        // A run that was interrupted leaves its files under the other name, never half a set under this one.
        let unfinished = root.join(format!("{name}.unfinished"));
        let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(|error| failed(&unfinished, error))?;
        }
        fs::create_dir_all(&unfinished).map_err(|error| failed(&unfinished, error))?;
        let mut files = maker.make(&unfinished, layout, keyspace, &shape.steps(keyspace))?;
        files.sort_by_key(|file| {
            (file.level, if file.level == 0 { u64::MAX - file.age } else { 0 }, file.smallest)
        });
        let maker = maker.name().to_owned();
        let set = Self { maker, layout, shape, keyspace, files, dir: dir.clone() };
        let json = serde_json::to_string_pretty(&set).map_err(|error| error.to_string())?;
        fs::write(unfinished.join(MANIFEST), json).map_err(|error| failed(&unfinished, error))?;
        fs::rename(&unfinished, &dir).map_err(|error| failed(&dir, error))?;
        Ok(set)
    }

    /// The files in a directory.
    pub fn load(dir: &Path) -> Result<Self, String> {
        let path = dir.join(MANIFEST);
        let failed = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
        let json = fs::read_to_string(&path).map_err(|error| failed(&error))?;
        let set: Self = serde_json::from_str(&json).map_err(|error| failed(&error))?;
        let known: u64 = set.files.iter().map(|file| file.entries).sum();
        if known != set.keyspace.len() {
            return Err(failed(&format!(
                "{known} entries in the files, not {}",
                set.keyspace.len()
            )));
        }
        Ok(Self { dir: dir.to_owned(), ..set })
    }

    /// Reads all files once, so that they are in the operating system's cache.
    pub fn read_through(&self) -> Result<(), String> {
        for file in &self.files {
            let path = self.dir.join(&file.name);
            let copied = fs::File::open(&path)
                .and_then(|mut file| std::io::copy(&mut file, &mut std::io::sink()));
            copied.map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_cover_all_entries_once_and_the_newest_stay_above() {
        for entries in [1, 7, 1000, 10_000] {
            let keyspace = Keyspace { ledgers: 3, entries };
            for shape in [Shape::Run, Shape::Natural] {
                let steps = shape.steps(keyspace);
                let mut next = 0;
                for step in &steps {
                    assert_eq!(step.entries.start, next);
                    next = step.entries.end;
                }
                assert_eq!(next, entries);
                assert!(steps.is_sorted_by(|older, newer| older.level >= newer.level));
            }
        }
    }
}
