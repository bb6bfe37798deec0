//! A copy with the remedy.

use std::path::Path;
use std::sync::Arc;

use partita::batch::WriteBatch;
use partita::db::{
    ColumnFamily, Db, DbBuilder, FamilyConfig, IterOptions, NewDir, ReadOptions, WriteOptions,
};
use partita::io::FileSystem;
use partita::options::file::OptionsFile;
use partita::version::DEFAULT_FAMILY_NAME;
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
    let copy = Copy { fs: Arc::clone(fs), dir: NewDir::begin(fs, target)? };
    let from = DbBuilder::new(dir).file_system(Arc::clone(fs)).cache(cache()).open_read_only()?;
    refuse_unknown_operators(&from)?;
    let options = options_with_remedy(&**fs, dir)?;
    let mut fixed = copy.fill(&from, &options, on_progress)?;
    copy.dir.publish()?;
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

/// The copy that is being made.
struct Copy {
    fs: Arc<dyn FileSystem>,
    dir: NewDir,
}

impl Copy {
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
        let fixed = Fixed { rows, ..fixed(&db, self.dir.path()) };
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
        builder(self.dir.path(), options, families).file_system(Arc::clone(&self.fs))
    }
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
