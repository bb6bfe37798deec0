use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Db, FamilyConfig, follow, open_beside, open_write};
use crate::cache::Cache;
use crate::error::Result;
use crate::io::{Clock, DiskFileSystem, FileSystem, Scheduler, SystemClock};
use crate::key::Comparator;
use crate::merge::MergeOperator;
use crate::options::DbOptions;
use crate::version::{VersionSet, VersionSetOptions, database_exists};

/// How a database is opened.
///
/// ```no_run
/// use partita::cache::Cache;
/// use partita::db::DbBuilder;
///
/// let db = DbBuilder::new("/var/lib/db").cache(Cache::new(256 << 20)).open_read_only()?;
/// assert!(db.get(b"apple")?.is_some());
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DbBuilder {
    pub(super) dir: PathBuf,
    pub(super) fs: Arc<dyn FileSystem>,
    pub(super) cache: Option<Cache>,
    pub(super) metadata_cache: Option<Cache>,
    pub(super) options: Option<DbOptions>,
    pub(super) families: BTreeMap<String, FamilyConfig>,
    pub(super) comparators: Vec<Arc<dyn Comparator>>,
    pub(super) merge_operators: Vec<Arc<dyn MergeOperator>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) scheduler: Option<Arc<dyn Scheduler>>,
}

impl DbBuilder {
    /// Bytes of the cache that a database gets if it is given none.
    pub const CACHE_BYTES_DEFAULT: usize = 64 << 20;

    /// A database in this directory.
    pub fn new(dir: impl AsRef<Path>) -> Self {
        Self {
            dir: dir.as_ref().to_owned(),
            fs: Arc::new(DiskFileSystem),
            cache: None,
            metadata_cache: None,
            options: None,
            families: BTreeMap::new(),
            comparators: Vec::new(),
            merge_operators: Vec::new(),
            clock: Arc::new(SystemClock),
            scheduler: None,
        }
    }

    /// The file system that the directory is on. Default: the disk.
    #[must_use]
    pub fn file_system(mut self, fs: Arc<dyn FileSystem>) -> Self {
        self.fs = fs;
        self
    }

    /// The budget of memory, which may be shared with other databases. Default: one of its own of 64 MiB. Nothing that is
    /// read from options files replaces it.
    #[must_use]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// A budget of its own, beside that of [`DbBuilder::cache`], for what finds data in tables: pieces of index and filter,
    /// top levels, open tables, range tombstones. Default: none, they share the one budget.
    ///
    /// They never give way to data blocks, then, and stay in memory once they are read, as long as all of them fit. If they
    /// do not, those that are worth least leave, as from any budget: [`Db::metadata_cache`] tells how much is taken and
    /// whether something had to leave. Top levels and open tables cannot.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// use partita::cache::{Cache, Role};
    /// use partita::db::DbBuilder;
    ///
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// let builder = DbBuilder::new("/db").cache(Cache::new(8 << 20)).metadata_cache(Cache::new(4 << 20));
    /// # let builder = builder.file_system(disk).options(options);
    /// let db = builder.open()?;
    /// db.put(b"apple", b"red")?;
    /// db.flush()?;
    /// assert!(db.get(b"apple")?.is_some());
    /// let metadata = db.metadata_cache().unwrap().stats();
    /// assert!(metadata.role(Role::IndexPiece).bytes > 0);
    /// assert_eq!((metadata.role(Role::Data).bytes, metadata.total().evictions), (0, 0));
    /// assert_eq!(db.cache().stats().role(Role::IndexPiece).bytes, 0);
    /// # Ok::<(), partita::Error>(())
    /// ```
    #[must_use]
    pub fn metadata_cache(mut self, cache: Cache) -> Self {
        self.metadata_cache = Some(cache);
        self
    }

    /// The database's options. Default: those of the directory's newest OPTIONS file, or else
    /// [`DbOptions::default`].
    #[must_use]
    pub fn options(mut self, options: DbOptions) -> Self {
        self.options = Some(options);
        self
    }

    /// What a column family is opened with. Families that are not named here are opened, too.
    #[must_use]
    pub fn family(mut self, name: &str, config: FamilyConfig) -> Self {
        self.families.insert(name.to_owned(), config);
        self
    }

    /// Registers an order of keys. A directory names the orders it needs; the built-in ones need no registration.
    #[must_use]
    pub fn comparator(mut self, comparator: Arc<dyn Comparator>) -> Self {
        self.comparators.push(comparator);
        self
    }

    /// Registers a merge operator, for families whose options name it.
    #[must_use]
    pub fn merge_operator(mut self, operator: Arc<dyn MergeOperator>) -> Self {
        self.merge_operators.push(operator);
        self
    }

    /// Who runs background work; may be shared with other databases. Default: threads of its own.
    #[must_use]
    pub fn scheduler(mut self, scheduler: Arc<dyn Scheduler>) -> Self {
        self.scheduler = Some(scheduler);
        self
    }

    /// The clock whose time is noted in tables. Default: the system's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Opens the database to be written and read. RocksDB can open it again afterwards.
    ///
    /// * The options' `create_if_missing`, `error_if_exists` and `create_missing_column_families` count as they are given
    ///   here; an options file in the directory does not speak for them.
    /// * All column families are opened, those that are not named here, too.
    /// * What the logs hold is written into tables of level 0 (with `avoid_flush_during_recovery` it stays in memory), a new
    ///   log, a new manifest and a new options file are begun, and files that the database does not need are removed;
    ///   names that are not a database's are left alone.
    /// * Errors: `InvalidArgument` if there is a database and should not be, or the other way round, for options that are
    ///   senseless together, and for a column family that has tables below its `num_levels`; `NotSupported` for options that
    ///   ask for what Partita has not (`allow_2pc`, …) and for merge operators that are neither built in nor registered;
    ///   `Busy` if somebody else has it open; and those of [`DbBuilder::open_read_only`]. What is refused is refused before
    ///   anything is changed in the directory, but for the file LOCK. What is accepted and has no effect is told by
    ///   [`Db::option_findings`].
    pub fn open(&self) -> Result<Db> {
        open_write::open(self)
    }

    /// The names of the column families that are in the directory, by number; none if there is no database.
    ///
    /// * Nothing in the directory changes; the manifest alone is read.
    /// * Errors: those of [`DbBuilder::open_read_only`].
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::{DbBuilder, FamilyConfig};
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// let builder = DbBuilder::new("/db");
    /// # let builder = builder.file_system(disk).options(options);
    /// assert!(builder.families_on_disk()?.is_empty());
    /// builder.open()?.create_family("ledger", FamilyConfig::default())?;
    /// assert_eq!(builder.families_on_disk()?, ["default", "ledger"]);
    /// # Ok::<(), partita::Error>(())
    /// ```
    #[doc(alias = "ListColumnFamilies")]
    pub fn families_on_disk(&self) -> Result<Vec<String>> {
        if !database_exists(&*self.fs, &self.dir)? {
            return Ok(Vec::new());
        }
        let options = VersionSetOptions {
            comparators: self.comparators.clone(),
            read_only: true,
            ..VersionSetOptions::default()
        };
        let versions = VersionSet::recover(Arc::clone(&self.fs), &self.dir, options)?;
        Ok(versions.families().iter().map(|family| family.name().to_owned()).collect())
    }

    /// Opens the database to be read, as it is now, together with what its logs hold.
    ///
    /// Nothing in the directory changes: no lock is taken, no file is made, renamed or removed. A process, RocksDB's too, that
    /// writes to it meanwhile is not followed, and may flush, compact and remove files as it likes: the opening looks again
    /// until all that it has opened was there at one moment, and tables stay open from then on, as many as `max_open_files`
    /// says; without enough handles of the system, none does before it is read.
    ///
    /// * Errors: `Busy` if the database changed each time that it was looked at; `InvalidArgument` if there is no database; `NotSupported` for what Partita has not, named: comparators that
    ///   are not registered, values in blob files, user-defined timestamps; `Corruption` with file and offset; `Io`.
    /// * A merge operator that is neither built in nor registered is no error: it is missed, by name, by reads of keys that
    ///   have operands. All others, and all other column families, can be read
    ///   ([`ColumnFamily::missing_merge_operator`](super::ColumnFamily::missing_merge_operator)). Nor are options an error that
    ///   only writing could do harm with.
    pub fn open_read_only(&self) -> Result<Db> {
        open_beside::open_read_only(self)
    }

    /// Opens the database to be read, as [`DbBuilder::open_read_only`] does, and to be brought up to date whenever it is asked
    /// for: [`Db::try_catch_up_with_primary`].
    ///
    /// * There is no directory of its own: nothing is written anywhere.
    /// * What the logs hold is in memory, charged to the cache's budget, until the writer has it in tables.
    /// * A log is read up to the first record that is not whole, whatever its recovery mode is: its end is being written.
    /// * Errors: those of [`DbBuilder::open_read_only`].
    #[doc(alias = "OpenAsSecondary")]
    pub fn open_secondary(&self) -> Result<Db> {
        follow::open_secondary(self)
    }
}
