//! Directories that are opened and left alone.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;

/// A directory beside another, with links to its tables and copies of all else: opening a database writes to its directory,
/// and only one program can have it open. It is removed when it is dropped.
#[derive(Debug)]
pub struct LinkedCopy(TempDir);

impl LinkedCopy {
    /// A copy of `dir`.
    pub fn of(dir: &Path) -> Result<Self, String> {
        Self::make(dir).map_err(|error| format!("{}: {error}", dir.display()))
    }

    fn make(dir: &Path) -> io::Result<Self> {
        let parent = dir.parent().unwrap_or(dir);
        let links = tempfile::Builder::new().prefix("links-").tempdir_in(parent)?;
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let to = links.path().join(entry.file_name());
            if entry.path().extension().is_some_and(|extension| extension == "sst") {
                fs::hard_link(entry.path(), to)?;
            } else {
                fs::copy(entry.path(), to)?;
            }
        }
        Ok(Self(links))
    }

    /// The copy.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
