//! The file that a rewrite makes: nothing stands under its name until all of it does.
//!
//! ```text
//! create NAME.partita-tmp -> write -> sync -> verify -> link as NAME -> remove NAME.partita-tmp -> sync directory
//! ```
//!
//! A link, unlike a renaming, fails if the name is taken meanwhile, so no file is ever replaced.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use partita::io::DiskWriter;
use partita::{Error, Result};

/// A file under way. Dropped before [`Target::publish`], it leaves nothing behind.
#[derive(Debug)]
pub(super) struct Target {
    path: PathBuf,
    temporary: PathBuf,
}

impl Target {
    /// Starts the file `path`, which must not exist, under a temporary name in the same directory.
    pub(super) fn create(path: &Path) -> Result<(Self, DiskWriter)> {
        if path.symlink_metadata().is_ok() {
            return Err(exists(path));
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".partita-tmp");
        let temporary = path.with_file_name(name);
        let dir = directory_of(path);
        if !dir.is_dir() {
            return Err(Error::invalid_argument(format!(
                "the directory {} does not exist",
                dir.display()
            ))
            .in_file(path));
        }
        if temporary.symlink_metadata().is_ok() {
            return Err(Error::invalid_argument(
                "left over from a rewrite that was interrupted, unless one is under way; remove it and try again",
            )
            .in_file(&temporary));
        }
        let writer = DiskWriter::create(&temporary)?;
        Ok((Self { path: path.to_owned(), temporary }, writer))
    }

    /// Where the file is until it is published.
    pub(super) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Gives the file, written and synced, its name.
    pub(super) fn publish(self) -> Result<()> {
        fs::hard_link(&self.temporary, &self.path).map_err(|source| {
            if source.kind() == std::io::ErrorKind::AlreadyExists {
                exists(&self.path)
            } else {
                Error::io("link", source).in_file(&self.path)
            }
        })?;
        let path = self.path.clone();
        drop(self);
        sync_directory_of(&path)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // The temporary file is ours alone; if it cannot be removed, its name says what it is.
        let _ = fs::remove_file(&self.temporary);
    }
}

pub(super) fn exists(path: &Path) -> Error {
    Error::invalid_argument("exists already; nothing is overwritten").in_file(path)
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

/// Makes a new name survive a power cut.
fn sync_directory_of(path: &Path) -> Result<()> {
    let dir = directory_of(path);
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(|source| Error::io("sync", source).in_file(dir))
}

#[cfg(test)]
mod tests {
    use partita::io::WritableFile as _;

    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1.sst");
        let (target, mut writer) = Target::create(&path).unwrap();
        writer.append(b"abc").unwrap();
        writer.sync().unwrap();
        assert!(!path.exists());
        target.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"abc");

        let (target, _writer) = Target::create(&dir.path().join("2.sst")).unwrap();
        drop(target);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_overwritten_even_if_it_appears_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1.sst");
        let (target, _writer) = Target::create(&path).unwrap();
        fs::write(&path, b"other").unwrap();
        assert!(target.publish().unwrap_err().to_string().contains("exists already"));
        assert!(Target::create(&path).unwrap_err().to_string().contains("exists already"));
        assert_eq!(fs::read(&path).unwrap(), b"other");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
