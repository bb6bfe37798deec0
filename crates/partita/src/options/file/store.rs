//! Options files in a database's directory.
//!
//! ```text
//! 000012.dbtmp     written, synced
//! OPTIONS-000012   the same under its name, then the directory synced: the newest
//! OPTIONS-000007   the one before stays, for the case that the newest is damaged
//! OPTIONS-000004   goes
//! ```
//!
//! A power cut at any moment leaves the newest file whole: a file has its name only when its contents are on disk.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Mode, OptionsFile, ReadReport, file_name, newest, obsolete};
use crate::error::Result;
use crate::io::{FileSystem, replace_file};

/// What files are called that are not finished; whoever opens the database removes them.
const UNFINISHED: &str = "dbtmp";

impl OptionsFile {
    /// Writes the options file with this number into `dir`, and removes all but the two newest.
    ///
    /// * `number`: greater than that of every file in the database.
    /// * Returns the file's path. It survives a power cut.
    /// * Errors: `Io` or `NoSpace`, and then the file before is still the newest. An old file that cannot be removed is
    ///   no error: the next call tries again.
    ///
    /// ```
    /// use std::path::Path;
    /// use partita::io::{FileSystem, MemoryFileSystem};
    /// use partita::options::file::{Mode, OptionsFile};
    ///
    /// let fs = MemoryFileSystem::new();
    /// let dir = Path::new("/db");
    /// fs.create_dir_all(dir)?;
    /// for number in [4, 7, 12] {
    ///     OptionsFile::default().store(&fs, dir, number)?;
    /// }
    /// assert_eq!(fs.list(dir)?, ["OPTIONS-000007", "OPTIONS-000012"]);
    /// let (number, report) = OptionsFile::load_newest(&fs, dir, Mode::Lenient)?.unwrap();
    /// assert_eq!((number, report.options.db), (12, OptionsFile::default().db));
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn store(&self, fs: &dyn FileSystem, dir: &Path, number: u64) -> Result<PathBuf> {
        let (name, temporary) = (file_name(number), format!("{number:06}.{UNFINISHED}"));
        replace_file(fs, dir, &temporary, &name, self.to_text().as_bytes())?;
        for old in obsolete(names(fs, dir)?.iter().map(String::as_str)) {
            let _ = fs.remove(&dir.join(file_name(old)));
        }
        Ok(dir.join(name))
    }

    /// Reads the newest options file in `dir`, with its number; `None` if there is none.
    ///
    /// * Errors: `Io`. What is wrong with the file's contents stands in the report.
    pub fn load_newest(
        fs: &dyn FileSystem,
        dir: &Path,
        mode: Mode,
    ) -> Result<Option<(u64, ReadReport)>> {
        let Some(number) = newest(names(fs, dir)?.iter().map(String::as_str)) else {
            return Ok(None);
        };
        let text = fs.read(&dir.join(file_name(number)))?;
        Ok(Some((number, Self::read(&text, mode))))
    }
}

/// The names in a directory that are text; no other is one of ours.
fn names(fs: &dyn FileSystem, dir: &Path) -> Result<Vec<String>> {
    let names = fs.list(dir)?;
    Ok(names
        .iter()
        .filter_map(|name: &std::ffi::OsString| OsStr::to_str(name))
        .map(str::to_owned)
        .collect())
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::sync::Arc;

    use super::*;
    use crate::io::{FaultFileSystem, MemoryFileSystem, Unsynced};

    fn with_open_files(max_open_files: i32) -> OptionsFile {
        let mut file = OptionsFile::default();
        file.db.max_open_files = max_open_files;
        file
    }

    fn newest_in(fs: &dyn FileSystem, dir: &Path) -> (u64, i32) {
        let (number, report) = OptionsFile::load_newest(fs, dir, Mode::Strict).unwrap().unwrap();
        assert_eq!(report.findings, [], "the file is whole");
        (number, report.options.db.max_open_files)
    }

    /// Whatever call fails, and if the power fails with it, a whole file is the newest.
    #[test]
    fn a_failure_at_any_call_leaves_the_old_file_or_the_new_one() {
        let dir = Path::new("/db");
        let disk = MemoryFileSystem::new();
        disk.create_dir_all(dir).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        let fs = FaultFileSystem::new(Arc::new(disk.clone()));
        with_open_files(1).store(&fs, dir, 1).unwrap();
        let mut stored = 2;
        loop {
            let number = stored as u64;
            let before = fs.calls();
            let mut failed = 0;
            // Fails the first call, then the second, until none is left to fail.
            loop {
                fs.fail_from(fs.calls() + failed, ErrorKind::Other);
                let result = with_open_files(stored).store(&fs, dir, number);
                fs.clear_rule();
                let standing = [(number - 1, stored - 1), (number, stored)];
                assert!(standing.contains(&newest_in(&disk, dir)));
                for unsynced in [Unsynced::Lost, Unsynced::Kept] {
                    assert!(standing.contains(&newest_in(&disk.after_crash(unsynced), dir)));
                }
                if result.is_ok() {
                    assert_eq!(newest_in(&disk.after_crash(Unsynced::Lost), dir), (number, stored));
                    break;
                }
                failed += 1;
            }
            assert!(failed >= 4, "writing, syncing, renaming and the directory can fail: {failed}");
            assert!(fs.calls() > before);
            if stored == 4 {
                break;
            }
            stored += 1;
        }
    }

    #[test]
    fn unfinished_files_are_not_read_and_the_two_newest_stay() {
        let dir = Path::new("/db");
        let fs = MemoryFileSystem::new();
        fs.create_dir_all(dir).unwrap();
        assert!(OptionsFile::load_newest(&fs, dir, Mode::Strict).unwrap().is_none());
        for number in [3, 5, 9] {
            with_open_files(number).store(&fs, dir, number as u64).unwrap();
        }
        fs.create(&dir.join("OPTIONS-000010.dbtmp")).unwrap();
        assert_eq!(newest_in(&fs, dir), (9, 9));
        assert_eq!(
            fs.list(dir).unwrap(),
            ["OPTIONS-000005", "OPTIONS-000009", "OPTIONS-000010.dbtmp"]
        );
    }
}
