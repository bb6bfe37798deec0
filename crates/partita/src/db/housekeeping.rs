//! Files that come and go with the database: options files, and those that nobody needs any more.

use std::path::Path;

use super::{ColumnFamily, DbInner};
use crate::error::Result;
use crate::options::file::{FamilyOptions, OptionsFile};
use crate::util::sync::atomic::Ordering;
use crate::version::{FileName, FileNumber, ObsoleteFile, VersionEdit};

impl DbInner {
    /// Writes an options file that says how the database is opened, and removes those that are too old.
    pub(super) fn store_options(&self) -> Result<()> {
        let number = self.versions.new_file_number();
        self.options_file().store(&*self.fs, self.versions.dir(), number.get())?;
        Ok(())
    }

    /// What an options file says now.
    pub(super) fn options_file(&self) -> OptionsFile {
        let families = self.families.load();
        let of_family = |family: &ColumnFamily| FamilyOptions {
            name: family.name().to_owned(),
            options: family.options().clone(),
        };
        OptionsFile {
            rocksdb_version: None,
            db: self.options.clone(),
            families: families.values().map(of_family).collect(),
        }
    }

    /// Removes what a crash, or somebody before us, left behind. Names that are not a database's are left alone.
    pub(super) fn remove_unneeded(&self, wal_dir: &Path) -> Result<()> {
        let dir = self.versions.dir();
        for dir in [dir, wal_dir].iter().take(1 + usize::from(wal_dir != dir)) {
            let names = self.fs.list(dir)?;
            let names: Vec<_> = names.iter().filter_map(|name| FileName::parse(name)).collect();
            for name in self.versions.unneeded(&names) {
                // Of another directory, logs are all that is ours.
                match name {
                    FileName::Log(number) if *dir == wal_dir => self.remove_logs(&[number]),
                    _ if *dir == self.versions.dir() => self.remove(name, dir),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Makes edits durable. Where that fails, the files that they add are looked for later: it is not known yet whether the
    /// manifest names them.
    pub(super) fn apply_edits(&self, edits: Vec<VersionEdit>) -> Result<()> {
        self.versions.log_and_apply(edits).inspect_err(|_| self.note_leftovers())
    }

    /// Notes that files may have stayed that nobody will ask for.
    pub(super) fn note_leftovers(&self) {
        if let Some(writer) = &self.writer {
            writer.leftovers.store(true, Ordering::Release);
        }
    }

    /// Looks through the directory for tables and manifests of work that failed, once all doubts about them are over.
    fn remove_leftovers(&self) {
        let Some(writer) = &self.writer else { return };
        if !writer.leftovers.load(Ordering::Acquire) || self.versions.is_in_doubt() {
            return;
        }
        writer.leftovers.store(false, Ordering::Release);
        let dir = self.versions.dir();
        let Ok(names) = self.fs.list(dir) else { return self.note_leftovers() };
        let names: Vec<_> = names.iter().filter_map(|name| FileName::parse(name)).collect();
        for name in self.versions.unneeded(&names) {
            // Logs are kept to be recycled, and removed by who keeps them.
            if matches!(name, FileName::Table(_) | FileName::Blob(_) | FileName::Manifest(_)) {
                self.remove(name, dir);
            }
        }
    }

    /// Removes the files that no version names any more.
    pub(super) fn remove_obsolete_files(&self) {
        for file in self.versions.obsolete_files().take() {
            let name = match file {
                ObsoleteFile::Table { number, path_id: 0 } => FileName::Table(number),
                ObsoleteFile::Blob(number) => FileName::Blob(number),
                ObsoleteFile::Manifest(number) => FileName::Manifest(number),
                ObsoleteFile::Table { .. } => continue,
            };
            self.remove(name, self.versions.dir());
        }
        self.remove_leftovers();
    }

    pub(super) fn remove_logs(&self, logs: &[FileNumber]) {
        let Some(writer) = &self.writer else { return };
        writer.place.discard(logs);
    }

    /// What cannot be removed now is removed later, at the latest by the next open.
    pub(super) fn remove(&self, name: FileName, dir: &Path) {
        if self.fs.remove(&name.in_dir(dir)).is_err_and(|error| !error.is_not_found()) {
            self.note_leftovers();
        }
    }
}
