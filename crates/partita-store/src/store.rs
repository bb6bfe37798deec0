use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use partita::batch::WriteBatch;
use partita::db::{ColumnFamily, Db, Snapshot, WriteOptions};

use crate::batch::{StoreBatch, other_store};
use crate::codec::{Bytes, KeyCodec, ValueCodec};
use crate::error::{Error, Result};
use crate::metadata::{Metadata, MetadataReport, needed_bytes};
use crate::settings::SettingsReport;
use crate::stats::{Counters, StoreStats};
use crate::table::Table;

/// A store of typed tables: a database with a column family for each. Cheap to clone; any number of threads may use it at
/// once.
///
/// [`StoreBuilder`](crate::StoreBuilder) opens one. It is closed when the last who has it, or a table of it, lets go;
/// [`Store::close`] does it sooner, and says whether that went well.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    db: Db,
    /// Tables that the schema has.
    declared: &'static [&'static str],
    metadata: Metadata,
    settings: SettingsReport,
    /// By the number of the column family.
    counters: Mutex<BTreeMap<u32, Arc<Counters>>>,
}

impl Store {
    pub(crate) fn new(
        db: Db,
        declared: &'static [&'static str],
        metadata: Metadata,
        settings: SettingsReport,
    ) -> Self {
        let counters = Mutex::default();
        Self(Arc::new(Inner { db, declared, metadata, settings, counters }))
    }

    /// The table of this name, with codecs of the caller's choice: for tables that no schema has.
    ///
    /// * Errors: `InvalidArgument` if there is none, or if its keys are not in the order of their bytes.
    pub fn table<K: KeyCodec, V: ValueCodec>(&self, name: &str) -> Result<Table<K, V>> {
        let in_table = |error| Error::from(error).in_table(name);
        let family = self.0.db.family(name).map_err(in_table)?;
        family.require_bytewise_order("a table").map_err(in_table)?;
        let counters = self.counters(&family);
        Ok(Table::new(self.clone(), family, counters))
    }

    /// The same with keys and values as they are.
    pub fn raw_table(&self, name: &str) -> Result<Table<Bytes, Bytes>> {
        self.table(name)
    }

    /// The names of all tables, those that the schema does not have included.
    pub fn table_names(&self) -> Vec<String> {
        self.0.db.families().iter().map(|family| family.name().to_owned()).collect()
    }

    /// The names of tables that were found on disk and that the schema does not have. They are open like all others.
    pub fn unknown_tables(&self) -> Vec<String> {
        let is_declared = |name: &String| self.0.declared.contains(&&**name);
        let names = self.table_names().into_iter();
        names.filter(|name| !is_declared(name) && name != DEFAULT_TABLE).collect()
    }

    /// An empty batch of changes.
    pub fn batch(&self) -> StoreBatch {
        StoreBatch::new(self.clone())
    }

    /// Writes a batch: all of it, or nothing, seen by readers at one moment. It survives the end of the process; a power cut
    /// only with the next sync.
    ///
    /// * The batch stays as it is, and can be written again.
    /// * Errors: those of [`Db::write`]; `InvalidArgument` if the batch is one of another store.
    pub fn write(&self, batch: &StoreBatch) -> Result<()> {
        self.write_with(batch, &WriteOptions::default())
    }

    /// The same with options: synced, without a log, without a wait.
    pub fn write_with(&self, batch: &StoreBatch, options: &WriteOptions) -> Result<()> {
        if !batch.store().is_same(self) {
            return Err(other_store().into());
        }
        batch.write(options)
    }

    /// Makes all writes before it survive a power cut.
    ///
    /// * Errors: those of [`Db::write`].
    pub fn sync(&self) -> Result<()> {
        Ok(self.0.db.write(WriteBatch::new(), &WriteOptions::SYNC)?)
    }

    /// This moment, to be read at later: [`ReadOptions::at`](partita::db::ReadOptions::at),
    /// [`Scan::at`](crate::Scan::at).
    pub fn snapshot(&self) -> Snapshot {
        self.0.db.snapshot()
    }

    /// Writes what is in memory of all tables into files.
    ///
    /// * Errors: those of [`Db::flush_cf`], of the first table that meets one.
    pub fn flush(&self) -> Result<()> {
        for family in self.0.db.families() {
            let flushed = self.0.db.flush_cf(&family);
            flushed.map_err(|error| Error::from(error).in_table(family.name()))?;
        }
        Ok(())
    }

    /// Makes a store in a new directory that holds what this one holds at one moment; files are linked, not copied, where the
    /// file system allows.
    ///
    /// * Errors: those of [`Db::checkpoint`].
    pub fn checkpoint(&self, target: impl AsRef<Path>) -> Result<()> {
        Ok(self.0.db.checkpoint(target)?)
    }

    /// What finds data in tables takes in memory. Reads no file.
    pub fn metadata(&self) -> MetadataReport {
        MetadataReport::new(self.0.metadata, &self.0.db)
    }

    /// Bytes of index and filter of all tables: about what [`Metadata::Resident`] needs to keep all of it.
    ///
    /// * Errors: those of opening tables.
    /// * Cost: opens the tables that are not open yet.
    pub fn metadata_needed(&self) -> Result<u64> {
        Ok(needed_bytes(&self.0.db)?)
    }

    /// All figures at this moment. Reads no file.
    pub fn stats(&self) -> StoreStats {
        let db = &self.0.db;
        let tables = db.families();
        let tables =
            tables.iter().map(|family| self.counters(family).stats(db.family_stats(family)));
        StoreStats { db: db.stats(), tables: tables.collect(), metadata: self.metadata() }
    }

    /// The options that it was opened with: what was asked for, what holds, and why.
    pub fn settings(&self) -> &SettingsReport {
        &self.0.settings
    }

    /// Ends all writing: later writes are `Closed`, reads go on.
    ///
    /// * Errors: those of [`Db::close`].
    pub fn close(&self) -> Result<()> {
        Ok(self.0.db.close()?)
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        self.0.db.dir()
    }

    /// The database, for all that a store has no words for.
    pub fn db(&self) -> &Db {
        &self.0.db
    }

    /// Whether two handles are the same store.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn counters(&self, family: &ColumnFamily) -> Arc<Counters> {
        let mut all = self.0.counters.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(family.id()).or_insert_with(|| Arc::new(Counters::new())))
    }
}

/// The column family that every database has, whether a schema uses it or not.
const DEFAULT_TABLE: &str = partita::options::file::FamilyOptions::DEFAULT;

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("dir", &self.dir()).finish_non_exhaustive()
    }
}
