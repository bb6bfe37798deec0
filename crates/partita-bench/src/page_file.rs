//! The file that a page goes to.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use partita_charts::Page;
use tempfile::NamedTempFile;

/// A place for a page, taken before the run, which takes minutes: what cannot be written is to be known before it.
///
/// What is at the path stays as it is until the page is whole, and a run that fails leaves nothing behind.
#[derive(Debug)]
pub struct PageFile {
    path: PathBuf,
    page: NamedTempFile,
}

/// As far as the process's mask allows: of any new file.
const MODE: u32 = 0o666;

impl PageFile {
    /// Takes the place.
    ///
    /// * Errors: if no file can be written there.
    pub fn reserve(path: &Path) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let dir = match path.parent() {
            _ if path.is_dir() || path.file_name().is_none() => {
                return Err(failed(&"a file is wanted for the page"));
            }
            Some(dir) if dir != Path::new("") => dir,
            _ => Path::new("."),
        };
        if !dir.exists() {
            let missing = format!("there is no directory {}; make it first", dir.display());
            return Err(failed(&missing));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".partita-report").permissions(Permissions::from_mode(MODE));
        let page = builder.tempfile_in(dir).map_err(|error| failed(&error.kind()))?;
        Ok(Self { path: path.to_owned(), page })
    }

    /// Writes the page.
    pub fn write(mut self, page: &Page) -> Result<(), String> {
        let written = self.page.write_all(page.to_html().as_bytes());
        written
            .and_then(|()| Ok(self.page.persist(&self.path).map(drop)?))
            .map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_refused_at_once() {
        let home = tempfile::tempdir().unwrap();
        let missing = home.path().join("missing/page.html");
        let error = PageFile::reserve(&missing).unwrap_err();
        assert!(error.contains("missing/page.html: there is no directory "), "{error}");
        assert!(error.ends_with("missing; make it first"), "{error}");
        let error = PageFile::reserve(home.path()).unwrap_err();
        assert!(error.contains("a file is wanted"), "{error}");
    }

    #[test]
    fn a_page_takes_the_place_of_the_last_one_when_it_is_whole() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("page.html");
        std::fs::write(&path, "the last one").unwrap();
        drop(PageFile::reserve(&path).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "the last one");
        PageFile::reserve(&path).unwrap().write(&Page::new("A page")).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("<!DOCTYPE html>"));
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1, "nothing else is left");
        // A page is for others to read, as far as files are here.
        let plain = home.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        let mode = |path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
    }
}
