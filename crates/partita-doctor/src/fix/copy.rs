//! A copy with the remedy.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use partita::batch::WriteBatch;
use partita::db::{
    ColumnFamily, Db, DbBuilder, FamilyConfig, IterOptions, ReadOptions, WriteOptions,
};
use partita::io::FileSystem;
use partita::options::file::OptionsFile;
use partita::version::{DEFAULT_FAMILY_NAME, FileName};
use partita::{Error, Result};

use crate::fix::remedy::{builder, cache, fixed, options_with_remedy, rewrite};
use crate::fix::{Fixed, OnProgress};

/// Bytes of rows that are written at a time.
const BATCH_BYTES: usize = 1 << 20;

pub(super) fn copy(
    fs: &Arc<dyn FileSystem>,
    dir: &Path,
    target: &Path,
    on_progress: &mut OnProgress<'_>,
) -> Result<Fixed> {
    let unfinished = Unfinished::begin(fs, target)?;
    let from = DbBuilder::new(dir).file_system(Arc::clone(fs)).cache(cache()).open_read_only()?;
    refuse_unknown_operators(&from)?;
    let options = options_with_remedy(&**fs, dir)?;
    let mut fixed = unfinished.fill(&from, &options, on_progress)?;
    unfinished.publish()?;
    fixed.dir = target.to_owned();
    Ok(fixed)
}

fn refuse_unknown_operators(db: &Db) -> Result<()> {
    for family in db.families() {
        if let Some(name) = family.missing_merge_operator() {
            return Err(Error::not_supported(format!(
                "column family {:?} has merge operator {name:?}, which is not built in",
                family.name()
            )));
        }
    }
    Ok(())
}

/// The directory under the name that it has until it is whole. Dropped before, it is removed.
struct Unfinished {
    fs: Arc<dyn FileSystem>,
    target: PathBuf,
    dir: PathBuf,
    is_whole: bool,
}

impl Unfinished {
    fn begin(fs: &Arc<dyn FileSystem>, target: &Path) -> Result<Self> {
        let Some(name) = target.file_name() else {
            return Err(Error::invalid_argument("no name of a new directory").in_file(target));
        };
        if fs.exists(target)? {
            let message = "this exists already; a new directory is made";
            return Err(Error::invalid_argument(message).in_file(target));
        }
        let mut unfinished = name.to_owned();
        unfinished.push(".tmp");
        let dir = target.with_file_name(unfinished);
        if fs.exists(&dir)? {
            // Left by a run that was interrupted.
            remove_database(&**fs, &dir)?;
        }
        fs.create_dir_all(&dir)?;
        Ok(Self { fs: Arc::clone(fs), target: target.to_owned(), dir, is_whole: false })
    }

    /// Makes the database in it.
    fn fill(
        &self,
        from: &Db,
        options: &OptionsFile,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<Fixed> {
        let mut creating = options.clone();
        // The copy is one directory, wherever the database has its parts.
        creating.db.wal_dir.clear();
        let lasting = creating.db.clone();
        creating.db.create_if_missing = true;
        creating.db.error_if_exists = false;
        let default = [DEFAULT_FAMILY_NAME.to_owned()];
        let db = self.builder(&creating, &default).open()?;
        let mut rows = 0;
        for family in from.families() {
            let to = match family.name() {
                DEFAULT_FAMILY_NAME => db.default_family(),
                name => {
                    let options = creating.family(name).cloned();
                    let options = Some(options.unwrap_or_else(|| family.options().clone()));
                    db.create_family(name, FamilyConfig { options, ..FamilyConfig::default() })?
                }
            };
            rows += copy_family(from, &family, &db, &to, on_progress)?;
        }
        db.flush()?;
        rewrite(&db)?;
        let fixed = Fixed { rows, ..fixed(&db, &self.target) };
        db.close()?;
        drop(db);
        // Opened as it will be, it writes down options that say so.
        creating.db = lasting;
        let families: Vec<String> =
            from.families().iter().map(|one| one.name().to_owned()).collect();
        self.builder(&creating, &families).open()?.close()?;
        Ok(fixed)
    }

    fn builder(&self, options: &OptionsFile, families: &[String]) -> DbBuilder {
        builder(&self.dir, options, families).file_system(Arc::clone(&self.fs))
    }

    /// Gives it its name.
    fn publish(mut self) -> Result<()> {
        self.fs.sync_dir(&self.dir)?;
        self.fs.rename(&self.dir, &self.target)?;
        self.is_whole = true;
        let parent = self.target.parent().filter(|parent| !parent.as_os_str().is_empty());
        self.fs.sync_dir(parent.unwrap_or(Path::new(".")))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_whole {
            // What cannot be removed is removed by the next run.
            let _ = remove_database(&*self.fs, &self.dir);
        }
    }
}

/// Removes a database's files, and the directory if nothing else is in it.
fn remove_database(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    for name in fs.list(dir)? {
        if FileName::parse(&name).is_some() {
            fs.remove(&dir.join(name))?;
        }
    }
    fs.remove_dir(dir)
}

/// Copies the rows of a column family; returns how many there were.
fn copy_family(
    from: &Db,
    family: &ColumnFamily,
    db: &Db,
    to: &ColumnFamily,
    on_progress: &mut OnProgress<'_>,
) -> Result<u64> {
    let read = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    let mut rows = from.iter_cf(family, IterOptions { read, ..IterOptions::default() })?;
    // Until the flush at the end nothing of it counts.
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    let (mut batch, mut bytes, mut count) = (WriteBatch::new(), 0, 0);
    rows.seek_to_first()?;
    while rows.is_valid() {
        batch.put_cf(to.id(), rows.key(), rows.value())?;
        bytes += rows.key().len() + rows.value().len();
        count += 1;
        rows.next()?;
        if bytes >= BATCH_BYTES || !rows.is_valid() {
            db.write(std::mem::take(&mut batch), &unlogged)?;
            on_progress(family.name(), std::mem::take(&mut bytes) as u64);
        }
    }
    Ok(count)
}
