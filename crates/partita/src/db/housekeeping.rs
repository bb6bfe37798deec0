//! Files that come and go with the database: options files, and those that nobody needs any more.

use std::path::Path;

use super::{ColumnFamily, DbInner};
use crate::error::Result;
use crate::options::file::{FamilyOptions, OptionsFile};
use crate::version::{FileName, FileNumber, ObsoleteFile};

impl DbInner {
    /// Writes an options file that says how the database is opened, and removes those that are too old.
    pub(super) fn store_options(&self) -> Result<()> {
        let families = self.families.load();
        let of_family = |family: &ColumnFamily| FamilyOptions {
            name: family.name().to_owned(),
            options: family.options().clone(),
        };
        let file = OptionsFile {
            rocksdb_version: None,
            db: self.options.clone(),
            families: families.values().map(of_family).collect(),
        };
        let number = self.versions.new_file_number();
        file.store(&*self.fs, self.versions.dir(), number.get())?;
        Ok(())
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
    }

    pub(super) fn remove_logs(&self, logs: &[FileNumber]) {
        let Some(writer) = &self.writer else { return };
        writer.place.discard(logs);
    }

    /// What cannot be removed now is removed by the next open.
    fn remove(&self, name: FileName, dir: &Path) {
        let _ = self.fs.remove(&name.in_dir(dir));
    }
}
