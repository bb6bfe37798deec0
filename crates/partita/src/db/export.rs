//! One column family as a directory of its own, and back into a database, this one or another.
//!
//! ```text
//! export     flush ─> the family's version, held ─> TARGET.tmp: tables linked, a manifest that names them ─> TARGET
//! import     manifest and tables of the other directory, checked ─> linked or copied under new numbers
//!            front of the commit queue: a manifest is begun that has the family with its tables ─> it is shown
//! ```
//!
//! What is exported is a database itself, with one family called `default`: RocksDB and all tools can open it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::identity::new_db_id;
use super::incoming::{FileTransfer, Incoming};
use super::new_dir::NewDir;
use super::recover::{logs_from, names_in};
use super::{BackgroundWork, ColumnFamily, Db, DbInner, FamilyConfig};
use crate::error::{Error, Result};
use crate::io::RandomAccessFile;
use crate::key::{KeyOrder, SeqNo};
use crate::options::file::{Mode, OptionsFile};
use crate::table::{ReadContext, ReaderOptions, TableReader, verify_table};
use crate::util::sync::lock;
use crate::version::edit::NewFile;
use crate::version::{
    DEFAULT_FAMILY_NAME, Family, FileMeta, FileName, FileNumber, TableFile, VersionEdit,
    VersionSet, VersionSetOptions,
};

/// What was exported.
#[derive(Clone, Debug, PartialEq)]
pub struct FamilyExport {
    /// The name of the order of its keys.
    pub comparator: String,
    /// Its tables with their levels, those of level 0 newest first.
    pub files: Vec<NewFile>,
}

/// How a column family is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportOptions<'o> {
    /// What it is called where it comes from. Default: `default`, as in an export.
    pub family: &'o str,
    /// How tables get into the directory. Where links are not to be had they are copied.
    pub transfer: FileTransfer,
    /// Whether every block of each table is read and checked first. Default: yes.
    pub verify: bool,
}

impl Default for ImportOptions<'_> {
    fn default() -> Self {
        Self { family: DEFAULT_FAMILY_NAME, transfer: FileTransfer::Copy, verify: true }
    }
}

impl Db {
    /// Makes a new directory with the tables of one column family as they are now, linked where that can be, and what is
    /// needed to import them ([`Db::create_family_from_import`]).
    ///
    /// * It holds all that was written to the family before the call; memtables are flushed first.
    /// * It is a database whose default family this is, with the family's options.
    /// * Errors: `InvalidArgument` if `target` exists; `NotSupported` for families with tables in several directories, and with
    ///   values in blob files; `Io`, `NoSpace`: then there is no `target`.
    /// * Source: contract of RocksDB `Checkpoint::ExportColumnFamily`, which leaves it to the caller to store what it returns.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// use partita::db::{FamilyConfig, ImportOptions};
    ///
    /// let ledger = db.create_family("ledger", FamilyConfig::default())?;
    /// db.put_cf(&ledger, b"1", b"entry")?;
    /// db.export_family(&ledger, "/exported")?;
    /// let config = FamilyConfig::default();
    /// let copy = db.create_family_from_import("copy", config, "/exported", &ImportOptions::default())?;
    /// assert_eq!(db.get_cf(&copy, b"1")?.unwrap(), b"entry");
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn export_family(
        &self,
        family: &ColumnFamily,
        target: impl AsRef<Path>,
    ) -> Result<FamilyExport> {
        let db = self.inner();
        let writer = self.writer()?;
        let _job = writer.jobs.begin();
        let _copying = lock(&writer.copying);
        let dir = NewDir::begin(&db.fs, target.as_ref())?;
        db.flush_families(std::slice::from_ref(family))?;
        let version = family.0.family.current();
        if let Some(number) = version.blob_files().keys().next() {
            let message = format!("export of a column family with blob file {number}");
            return Err(Error::not_supported(message));
        }
        let mut files = Vec::new();
        for (level, file) in version.files() {
            if file.path_id != 0 {
                let message = format!("table {} stands in directory {}", file.number, file.path_id);
                return Err(Error::not_supported(message));
            }
            dir.link_table(db.versions.dir(), FileName::Table(file.number))?;
            files.push(NewFile { level: level as u32, file: (***file).clone() });
        }
        let last = db.versions.last_sequence();
        db.write_manifest(dir.path(), family, &files, last)?;
        db.write_options(&dir, family)?;
        dir.publish()?;
        // What left the family meanwhile was held.
        drop(version);
        db.remove_obsolete_files();
        Ok(FamilyExport { comparator: family.key_order().name().to_owned(), files })
    }

    /// Creates a column family that has the tables of another one: of an export, or of any other database that nobody has open
    /// and that has nothing in its logs, a checkpoint say.
    ///
    /// * `source`: the directory; `options` says which family of it.
    /// * Tables keep their levels and sequence numbers, and get new names. Snapshots that are there may see of it what is as
    ///   old as they are.
    /// * Errors: `InvalidArgument` if there is a family of that name, if the orders of keys differ, if tables stand deeper than
    ///   `config` has levels, and if the other database's logs hold something; `NotSupported` for blob files and for tables
    ///   in other directories; `Corruption` of its manifest and tables; `Io`, `NoSpace`. There is no such family then. After a
    ///   crash, and if the manifest could not be written and then the process ends, there is none or the whole of it.
    /// * Cost: a new manifest.
    /// * Source: contract of RocksDB `CreateColumnFamilyWithImport`.
    pub fn create_family_from_import(
        &self,
        name: &str,
        config: FamilyConfig,
        source: impl AsRef<Path>,
        options: &ImportOptions<'_>,
    ) -> Result<ColumnFamily> {
        let db = self.inner();
        let writer = self.writer()?;
        let _job = writer.jobs.begin();
        writer.check()?;
        if self.family(name).is_ok() {
            return Err(Error::invalid_argument(format!("column family {name:?} exists already")));
        }
        let found = Found::read(db, source.as_ref(), options)?;
        let mut tables = found.check_tables(db, options)?;
        for table in &mut tables {
            table.incoming.take_in(options.transfer)?;
        }
        db.fs.sync_dir(self.dir())?;
        let created = self.create_family_with(name, config, |family| {
            found.refuse_misfits(family)?;
            db.new_files_of(family, &mut tables)
        });
        let family = match created {
            Ok(family) => family,
            Err(error) => {
                // What is in the directory is nobody's now, unless the manifest is in doubt.
                drop(tables);
                db.remove_obsolete_files();
                return Err(error);
            }
        };
        tables.iter().for_each(|table| table.incoming.finish(options.transfer));
        db.pressure_changed(&family.0);
        db.schedule_compactions();
        Ok(family)
    }
}

impl DbInner {
    /// Makes a manifest in a directory that names these tables as those of the default family.
    fn write_manifest(
        &self,
        dir: &Path,
        family: &ColumnFamily,
        files: &[NewFile],
        last: SeqNo,
    ) -> Result<()> {
        let options = VersionSetOptions {
            comparators: self.builder.comparators.clone(),
            ..VersionSetOptions::default()
        };
        let (fs, order) = (Arc::clone(&self.fs), family.key_order().clone());
        let set = VersionSet::create_new(fs, dir, order, &new_db_id(), options)?;
        for new in files {
            set.mark_file_number_used(new.file.number);
        }
        set.raise_last_sequence(last);
        let new_files = files.to_vec();
        set.log_and_apply(vec![VersionEdit { new_files, ..VersionEdit::default() }])
    }

    fn write_options(&self, dir: &NewDir, family: &ColumnFamily) -> Result<()> {
        let mut options = self.options_file();
        options.db.wal_dir.clear();
        options.families.retain(|other| other.name == family.name());
        for family in &mut options.families {
            DEFAULT_FAMILY_NAME.clone_into(&mut family.name);
        }
        let name = FileName::Options(self.versions.new_file_number());
        dir.write(name, options.to_text().as_bytes())
    }

    /// What the manifest is to say of tables that stand in the directory, as those of a new family. The caller leads the commit
    /// queue.
    fn new_files_of(&self, family: &Family, tables: &mut [ImportedTable]) -> Result<Vec<NewFile>> {
        let writer = self.writing()?;
        lock(&writer.logs)
            .sync()
            .inspect_err(|error| self.background_failed(BackgroundWork::Log, error))?;
        // The deepest, and those of level 0 that are oldest, are given the first epochs.
        tables.sort_by_key(|table| std::cmp::Reverse(table.level));
        let level0 = tables.partition_point(|table| table.level > 0);
        tables[level0..].reverse();
        let new_files: Vec<NewFile> = tables
            .iter()
            .map(|table| {
                let (number, epoch) = (table.incoming.number(), family.new_epoch());
                let file = FileMeta { number, epoch, path_id: 0, ..table.meta.clone() };
                NewFile { level: table.level as u32, file }
            })
            .collect();
        let known = new_files.iter().map(|new| new.file.largest_seqno);
        let last = known.filter(|seqno| *seqno < SeqNo::MAX).max().unwrap_or_default();
        self.versions.raise_last_sequence(last);
        // From here on the manifest may name them, whatever comes back.
        tables.iter_mut().for_each(|table| table.incoming.keep());
        Ok(new_files)
    }
}

/// The family that is to be imported, as the other database has it.
struct Found<'s> {
    dir: &'s Path,
    family: Arc<Family>,
}

/// A table of it.
struct ImportedTable {
    level: usize,
    meta: FileMeta,
    incoming: Incoming,
}

impl<'s> Found<'s> {
    fn read(db: &DbInner, dir: &'s Path, options: &ImportOptions<'_>) -> Result<Self> {
        let set_options = VersionSetOptions {
            comparators: db.builder.comparators.clone(),
            only_families: Some(vec![options.family.to_owned()]),
            read_only: true,
            ..VersionSetOptions::default()
        };
        let versions = VersionSet::recover(Arc::clone(&db.fs), dir, set_options)?;
        let family = versions.family_named(options.family).ok_or_else(|| {
            let message = format!("there is no column family {:?}", options.family);
            Error::invalid_argument(message).in_file(dir)
        })?;
        refuse_logs(db, dir, family.log_number())?;
        let version = family.current();
        if let Some(number) = version.blob_files().keys().next() {
            return Err(Error::not_supported(format!("import of blob file {number}")).in_file(dir));
        }
        Ok(Self { dir, family })
    }

    fn refuse_misfits(&self, family: &Family) -> Result<()> {
        let (found, wanted) = (self.family.key_order().name(), family.key_order().name());
        if found != wanted {
            let message =
                format!("the keys are in order {found:?}, the new family's in {wanted:?}");
            return Err(Error::invalid_argument(message).in_file(self.dir));
        }
        let levels = family.current().levels().len();
        match self.family.current().last_level() {
            Some(last) if last >= levels => {
                let message =
                    format!("there are tables on level {last}, and num_levels is {levels}");
                Err(Error::invalid_argument(message).in_file(self.dir))
            }
            _ => Ok(()),
        }
    }

    fn check_tables(
        &self,
        db: &DbInner,
        options: &ImportOptions<'_>,
    ) -> Result<Vec<ImportedTable>> {
        let version = self.family.current();
        let check = |(level, table): (usize, &Arc<TableFile>)| {
            let meta = (***table).clone();
            let path = FileName::Table(meta.number).in_dir(self.dir);
            let file = db.fs.open(&path)?;
            check_table(db, &file, &meta, self.family.key_order(), options)
                .map_err(|error| error.in_file(&path))?;
            Ok(ImportedTable { level, meta, incoming: Incoming::new(db, &path, file) })
        };
        version.files().map(check).collect()
    }
}

/// Whether a table is the one that the manifest describes, and sound if that is asked.
fn check_table(
    db: &DbInner,
    file: &Arc<dyn RandomAccessFile>,
    meta: &FileMeta,
    order: &KeyOrder,
    options: &ImportOptions<'_>,
) -> Result<()> {
    if meta.path_id != 0 {
        return Err(Error::not_supported(format!("a table in directory {}", meta.path_id)));
    }
    if file.len() != meta.file_bytes {
        let (bytes, said) = (file.len(), meta.file_bytes);
        let message = format!("the file has {bytes} bytes, the manifest says {said}");
        return Err(Error::corruption(message));
    }
    let reader_options = ReaderOptions {
        comparators: db.builder.comparators.clone(),
        largest_seqno: Some(meta.largest_seqno).filter(|seqno| *seqno < SeqNo::MAX),
        cache: db.cache.clone(),
        fill_cache: false,
        ..ReaderOptions::default()
    };
    let table = TableReader::open(Arc::clone(file), &reader_options, &mut ReadContext::default())?;
    if table.key_order().name() != order.name() {
        let message = format!("the keys are in order {:?}", table.key_order().name());
        return Err(Error::corruption(message));
    }
    if !options.verify {
        return Ok(());
    }
    let report = verify_table(file, &reader_options, &mut |_| {});
    match report.damages.into_iter().next().or(report.not_opened) {
        Some(damage) => Err(damage),
        None => Ok(()),
    }
}

/// Refuses a database whose logs hold something that may be of the family.
fn refuse_logs(db: &DbInner, dir: &Path, needed: FileNumber) -> Result<()> {
    let stored = OptionsFile::load_newest(&*db.fs, dir, Mode::Lenient)?;
    let elsewhere = stored.map(|(_, report)| PathBuf::from(report.options.db.wal_dir));
    let elsewhere = elsewhere.filter(|dir| !dir.as_os_str().is_empty());
    for dir in [Some(dir.to_owned()), elsewhere].into_iter().flatten() {
        if !db.fs.exists(&dir)? {
            continue;
        }
        for number in logs_from(&names_in(&*db.fs, &dir)?, needed) {
            let path = FileName::Log(number).in_dir(&dir);
            if db.fs.file_len(&path)? > 0 {
                let message = "this log may hold entries of the column family that are in no table: open the database, and \
                               close it after a flush, or import an export or a checkpoint";
                return Err(Error::invalid_argument(message).in_file(path));
            }
        }
    }
    Ok(())
}
