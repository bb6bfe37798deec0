//! Column families created and dropped while the database is open.

use std::sync::Arc;

use super::open::{Opening, Unknown, configure, order_named};
use super::settings::refuse_too_few_levels;
use super::{ColumnFamily, Db, FamilyConfig};
use crate::error::Result;
use crate::util::sync::lock;
use crate::version::Family;
use crate::version::edit::NewFile;

impl Db {
    /// Creates a column family.
    ///
    /// * When it returns, the family survives a power cut, and so does all that was written to the log before.
    /// * Errors: `InvalidArgument` if there is one of that name, and for options that are senseless together
    ///   ([`ColumnFamilyOptions::validate`](crate::options::ColumnFamilyOptions::validate)); `NotSupported` for a comparator or merge operator that the
    ///   options name and nobody registered; `Io`, `NoSpace`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::{DbBuilder, FamilyConfig};
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// let ledger = db.create_family("ledger", FamilyConfig::default())?;
    /// db.put_cf(&ledger, b"1", b"entry")?;
    /// assert_eq!(db.get(b"1")?, None);
    /// db.drop_family(&ledger)?;
    /// assert!(db.family("ledger").is_err());
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn create_family(&self, name: &str, config: FamilyConfig) -> Result<ColumnFamily> {
        self.create_family_with(name, config, |_| Ok(Vec::new()))
    }

    /// The same, with tables that `fill` gives it. A crash leaves the family with all of them, or none.
    pub(super) fn create_family_with(
        &self,
        name: &str,
        config: FamilyConfig,
        fill: impl FnOnce(&Family) -> Result<Vec<NewFile>>,
    ) -> Result<ColumnFamily> {
        let inner = self.inner();
        let writer = self.writer()?;
        let builder = &inner.builder;
        let filled = configure(builder, None, name, config, Unknown::Refused)?;
        filled.options.validate()?;
        refuse_too_few_levels(inner.options.allow_ingest_behind, name, &filled.options)?;
        let levels = filled.options.level_count();
        let order = order_named(builder, &filled.options)?;
        let family = writer.queue.exclusive(|| -> Result<ColumnFamily> {
            inner.check_or_resume()?;
            inner.sync_log()?;
            let log = lock(&writer.logs).current;
            let created = inner.versions.create_family(name, order, log, levels, fill);
            let family = created.inspect_err(|_| inner.note_leftovers())?;
            let state = Opening::of(inner).family_state(family, filled, log)?;
            let family = ColumnFamily(Arc::new(state));
            let mut families = (**inner.families.load()).clone();
            families.insert(family.id(), family.clone());
            inner.families.store(Arc::new(families));
            Ok(family)
        })?;
        inner.store_options()?;
        Ok(family)
    }

    /// Drops a column family with all that is in it. Who holds it can read on; writes to it are refused.
    ///
    /// * When it returns, that survives a power cut, and so does all that was written to the log before: where its entries
    ///   were copied to, they are.
    /// * Errors: `InvalidArgument` for the default one, and for one that was dropped already; `Io`, `NoSpace`.
    pub fn drop_family(&self, family: &ColumnFamily) -> Result<()> {
        let inner = self.inner();
        let writer = self.writer()?;
        writer.queue.exclusive(|| -> Result<()> {
            inner.check_or_resume()?;
            inner.sync_log()?;
            inner.versions.drop_family(family.id())?;
            let mut families = (**inner.families.load()).clone();
            families.remove(&family.id());
            inner.families.store(Arc::new(families));
            Ok(())
        })?;
        inner.pressure_changed(&family.0);
        inner.store_options()
    }
}
