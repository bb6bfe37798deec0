use std::path::{Path, PathBuf};
use std::sync::Arc;

use partita::cache::Cache;
use partita::db::{Db, DbBuilder, FamilyConfig};
use partita::io::{Clock, DiskFileSystem, FileSystem, Scheduler};
use partita::options::file::{FamilyOptions, Mode, OptionsFile};

use crate::error::Result;
use crate::metadata::Metadata;
use crate::profile::Profile;
use crate::schema::Schema;
use crate::settings::SettingsReport;
use crate::store::Store;

/// How a store is opened.
///
/// ```no_run
/// use partita_store::codec::Utf8;
/// use partita_store::{Metadata, Profile, StoreBuilder};
///
/// partita_store::schema! {
///     struct Shop {
///         users: Table<Utf8, Utf8> = "users",
///     }
/// }
///
/// let shop: Shop = StoreBuilder::new("/var/lib/shop.db")
///     .profile(Profile::Ssd)
///     .budget_bytes(1 << 30)
///     .metadata(Metadata::Resident { limit_bytes: 512 << 20 })
///     .config_dir("/etc/shop")
///     .open()?;
/// # Ok::<(), partita_store::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StoreBuilder {
    db: DbBuilder,
    dir: PathBuf,
    fs: Arc<dyn FileSystem>,
    cache: Option<Cache>,
    profile: Profile,
    metadata: Metadata,
    config_dir: Option<PathBuf>,
    options_file: Option<PathBuf>,
}

impl StoreBuilder {
    /// A store in this directory, which RocksDB may have made.
    pub fn new(dir: impl AsRef<Path>) -> Self {
        Self {
            db: DbBuilder::new(&dir),
            dir: dir.as_ref().to_owned(),
            fs: Arc::new(DiskFileSystem),
            cache: None,
            profile: Profile::default(),
            metadata: Metadata::default(),
            config_dir: None,
            options_file: None,
        }
    }

    /// The options that hold where an options file says nothing. Default: [`Profile::Partita`].
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Bytes of memory for all tables together: data, index and filter, memtables. Default:
    /// [`Profile::BUDGET_BYTES_DEFAULT`]. No options file changes it.
    #[must_use]
    pub fn budget_bytes(self, bytes: usize) -> Self {
        self.cache(Cache::new(bytes))
    }

    /// The same, shared with others.
    #[must_use]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Where index and filter have their memory. Default: in the budget.
    #[must_use]
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// The directory in which `<name>.ini` is looked for, where the store's own directory is called `<name>`; it is looked
    /// for beside the store, too.
    #[must_use]
    pub fn config_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.config_dir = Some(dir.as_ref().to_owned());
        self
    }

    /// The options file, which has to be there. Default: `<name>.ini`, if it is there.
    #[must_use]
    pub fn options_file(mut self, path: impl AsRef<Path>) -> Self {
        self.options_file = Some(path.as_ref().to_owned());
        self
    }

    /// The file system that directory and options file are on. Default: the disk.
    #[must_use]
    pub fn file_system(mut self, fs: Arc<dyn FileSystem>) -> Self {
        self.db = self.db.file_system(Arc::clone(&fs));
        self.fs = fs;
        self
    }

    /// Who runs flushes and compactions; other stores may share it. Default: threads of its own.
    #[must_use]
    pub fn scheduler(mut self, scheduler: Arc<dyn Scheduler>) -> Self {
        self.db = self.db.scheduler(scheduler);
        self
    }

    /// The clock whose time is noted in files. Default: the system's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.db = self.db.clock(clock);
        self
    }

    /// Opens the store to be written and read. It is made, with all tables of the schema, if it is not there.
    ///
    /// * Tables on disk that the schema does not have are opened, too: [`Store::unknown_tables`]. They keep the options of
    ///   the directory's OPTIONS file.
    /// * Errors: those of the options file, with its line: whatever in it is not known, is no value, or comes to nothing.
    ///   Nothing is touched, then. Those of [`DbBuilder::open`]; `InvalidArgument` for tables whose keys are in another order
    ///   than that of their bytes.
    pub fn open<S: Schema>(&self) -> Result<S> {
        self.open_with(DbBuilder::open)
    }

    /// Opens the store to be read, as it is now, while somebody else may have it open.
    ///
    /// * Nothing in the directory changes; writes are errors of kind `ReadOnly`.
    /// * Errors: those of [`StoreBuilder::open`]; `InvalidArgument` if a table of the schema is not there.
    pub fn open_read_only<S: Schema>(&self) -> Result<S> {
        self.open_with(DbBuilder::open_read_only)
    }

    /// The options that the store would be opened with.
    ///
    /// * Errors: `Io`; `InvalidArgument` if there are two options files. What is wrong in the file stands in the report.
    pub fn settings<S: Schema>(&self) -> Result<SettingsReport> {
        let file = match &self.options_file {
            Some(path) => Some(path.clone()),
            None => SettingsReport::find_file(&self.dir, self.config_dir.as_deref(), &*self.fs)?,
        };
        let others = self.unknown_tables(S::TABLES)?;
        SettingsReport::read(
            self.profile,
            S::TABLES.iter().copied(),
            &others,
            file.as_deref(),
            &*self.fs,
        )
    }

    /// Tables on disk that the schema does not have, with the options that they were written with, as far as they are known.
    fn unknown_tables(&self, declared: &[&str]) -> Result<Vec<FamilyOptions>> {
        let mut names = self.db.families_on_disk()?;
        names.retain(|name| !declared.contains(&&**name) && name != FamilyOptions::DEFAULT);
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let stored = OptionsFile::load_newest(&*self.fs, &self.dir, Mode::Lenient)?;
        let stored = stored.map(|(_, report)| report.options);
        let of = |name: &str| stored.as_ref()?.family(name).cloned();
        let table = |name: String| FamilyOptions {
            options: of(&name).unwrap_or_else(|| self.profile.family_options()),
            name,
        };
        Ok(names.into_iter().map(table).collect())
    }

    fn open_with<S: Schema>(&self, open: fn(&DbBuilder) -> partita::Result<Db>) -> Result<S> {
        let settings = self.settings::<S>()?;
        settings.check()?;
        let cache = self.cache.clone();
        let cache = cache.unwrap_or_else(|| Cache::new(Profile::BUDGET_BYTES_DEFAULT));
        let mut db = self.db.clone().cache(cache).options(settings.options().db.clone());
        if let Some(cache) = self.metadata.cache() {
            db = db.metadata_cache(cache);
        }
        for FamilyOptions { name, options } in &settings.options().families {
            let config = FamilyConfig { options: Some(options.clone()), ..FamilyConfig::default() };
            db = db.family(name, config);
        }
        S::bind(Store::new(open(&db)?, S::TABLES, self.metadata, settings))
    }
}
