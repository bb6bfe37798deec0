use std::path::{Path, PathBuf};
use std::sync::Arc;

use partita::cache::Cache;
use partita::db::{DbBuilder, FamilyConfig};
use partita::io::{Clock, DiskFileSystem, FileSystem, Scheduler, SystemClock};
use partita::options::file::FamilyOptions;

use crate::error::Result;
use crate::index::EntryLocationIndex;
use crate::options::IndexOptions;

/// How an index is opened.
///
/// ```no_run
/// use partita_ledger::{IndexBuilder, IndexOptions};
///
/// let index = IndexBuilder::new("/bookie/data/current/locations", IndexOptions::new(1 << 30)).open()?;
/// println!("about {} entries", index.count()?);
/// # Ok::<(), partita_ledger::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct IndexBuilder {
    dir: PathBuf,
    options: IndexOptions,
    cache: Option<Cache>,
    fs: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    scheduler: Option<Arc<dyn Scheduler>>,
}

impl IndexBuilder {
    /// The name of an index's directory, in each of a bookie's ledger directories, below `current`.
    pub const DIR_NAME: &'static str = "locations";

    /// An index in this directory, which RocksDB may have made.
    pub fn new(dir: impl AsRef<Path>, options: IndexOptions) -> Self {
        Self {
            dir: dir.as_ref().to_owned(),
            options,
            cache: None,
            fs: Arc::new(DiskFileSystem),
            clock: Arc::new(SystemClock),
            scheduler: None,
        }
    }

    /// The budget of memory, which other indexes may share. Default: one of its own, of [`IndexOptions::cache_bytes`].
    #[must_use]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// The file system that the directory is on. Default: the disk.
    #[must_use]
    pub fn file_system(mut self, fs: Arc<dyn FileSystem>) -> Self {
        self.fs = fs;
        self
    }

    /// The clock that latencies and intervals are taken from. Default: the system's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Who runs flushes and compactions of levels; other indexes may share it. Default: threads of its own.
    #[must_use]
    pub fn scheduler(mut self, scheduler: Arc<dyn Scheduler>) -> Self {
        self.scheduler = Some(scheduler);
        self
    }

    /// Opens the index to be written and read, and makes it if there is none.
    ///
    /// * What RocksDB made is read as it is, whatever options its tables were written with; new tables are written with
    ///   [`IndexOptions::family`]. RocksDB opens the directory again afterwards.
    /// * A thread is started if there is a [`IndexOptions::compaction_interval`].
    /// * Errors: those of [`DbBuilder::open`]; `InvalidArgument` if keys of the directory are not ordered by their bytes.
    pub fn open(&self) -> Result<EntryLocationIndex> {
        let index = EntryLocationIndex::new(self.db_builder().open()?, self)?;
        index.start_periodic_compaction()?;
        Ok(index)
    }

    /// Opens the index to be read, as it is now, while a bookie may have it open.
    ///
    /// * Nothing in the directory changes; writes are errors of kind `ReadOnly`.
    /// * Errors: those of [`DbBuilder::open_read_only`]; `InvalidArgument` as [`IndexBuilder::open`].
    pub fn open_read_only(&self) -> Result<EntryLocationIndex> {
        EntryLocationIndex::new(self.db_builder().open_read_only()?, self)
    }

    fn db_builder(&self) -> DbBuilder {
        let cache = self.cache.clone().unwrap_or_else(|| Cache::new(self.options.cache_bytes));
        let family =
            FamilyConfig { options: Some(self.options.family.clone()), ..FamilyConfig::default() };
        let builder = DbBuilder::new(&self.dir)
            .file_system(Arc::clone(&self.fs))
            .clock(Arc::clone(&self.clock))
            .cache(cache)
            .options(self.options.db.clone())
            .family(FamilyOptions::DEFAULT, family);
        match &self.scheduler {
            Some(scheduler) => builder.scheduler(Arc::clone(scheduler)),
            None => builder,
        }
    }

    pub(crate) fn options(&self) -> &IndexOptions {
        &self.options
    }

    pub(crate) fn shared_clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }
}
