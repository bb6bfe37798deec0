//! A database: a directory of tables, logs and a manifest, as RocksDB makes them.
//!
//! ```text
//! DbBuilder ---> Db ---> get              get.rs        memtables, then the tables that may hold the key
//!                    \-> iter             iterator.rs   source.rs merges memtables, tables and levels
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `builder.rs`, `open.rs` | how a database is opened |
//! | `recover.rs`, `apply.rs` | from logs and batches to memtables |
//! | `family.rs`, `read_view.rs` | what a column family has in memory |
//! | `get.rs`, `value.rs` | point lookups |
//! | `iterator.rs`, `source.rs`, `level_run.rs` | walks |

mod apply;
mod builder;
mod family;
mod get;
mod iterator;
mod level_run;
mod open;
mod read_view;
mod recover;
mod source;
#[cfg(test)]
mod tests;
mod value;

pub use builder::DbBuilder;
pub use family::{ColumnFamily, FamilyConfig};
pub use iterator::{DbIterator, IterOptions};
pub use recover::LostLogBytes;
pub use value::PinnedValue;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::key::{LookupKey, SeqNo};
use crate::options::DbOptions;
use crate::table::ReadContext;
use crate::version::{DEFAULT_FAMILY, VersionSet};

/// An open database. Cheap to clone; all clones are the same database, and any number of threads may use it at once.
#[derive(Clone)]
pub struct Db(Arc<DbInner>);

struct DbInner {
    versions: VersionSet,
    options: DbOptions,
    cache: Cache,
    families: BTreeMap<u32, ColumnFamily>,
    lost_log_bytes: Vec<LostLogBytes>,
}

impl Db {
    /// The value of a key in the default column family; `None` if it has none.
    ///
    /// * Errors: `Corruption` and `Io` of the files; `NotSupported` for a key with merge operands and no merge operator.
    pub fn get(&self, key: &[u8]) -> Result<Option<PinnedValue>> {
        self.get_cf(&self.default_family(), key)
    }

    /// The value of a key in a column family.
    pub fn get_cf(&self, family: &ColumnFamily, key: &[u8]) -> Result<Option<PinnedValue>> {
        self.get_with(family, key, &mut ReadContext::default())
    }

    /// The same, counting into `ctx` what it cost. A context that is used again saves allocations.
    pub fn get_with(
        &self,
        family: &ColumnFamily,
        key: &[u8],
        ctx: &mut ReadContext,
    ) -> Result<Option<PinnedValue>> {
        // The view first: a later one may lack versions that only an earlier reader sees.
        let view = family.0.view.load();
        let key = LookupKey::new(key, self.visible_seqno());
        get::get(&family.0, &view, &key, ctx)
    }

    /// A walk over the default column family.
    pub fn iter(&self) -> Result<DbIterator> {
        self.iter_cf(&self.default_family(), IterOptions::default())
    }

    /// A walk over a column family.
    pub fn iter_cf(&self, family: &ColumnFamily, options: IterOptions) -> Result<DbIterator> {
        // The view first: a later one may lack versions that only an earlier reader sees.
        let view = family.0.view.load_full();
        DbIterator::new(family, view, self.visible_seqno(), options)
    }

    /// The column family that every database has.
    pub fn default_family(&self) -> ColumnFamily {
        match self.0.families.get(&DEFAULT_FAMILY) {
            Some(family) => family.clone(),
            None => unreachable!("the manifest was refused without it"),
        }
    }

    /// The column family of this name.
    pub fn family(&self, name: &str) -> Result<ColumnFamily> {
        let found = self.0.families.values().find(|family| family.name() == name);
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = self.0.families.values().map(ColumnFamily::name).collect();
            Error::invalid_argument(format!("no column family {name:?}; there are {names:?}"))
                .in_file(self.dir())
        })
    }

    /// All column families, by number.
    pub fn families(&self) -> Vec<ColumnFamily> {
        self.0.families.values().cloned().collect()
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        self.0.versions.dir()
    }

    /// The options that it was opened with.
    pub fn options(&self) -> &DbOptions {
        &self.0.options
    }

    /// The budget that its memory is charged to.
    pub fn cache(&self) -> &Cache {
        &self.0.cache
    }

    /// Bytes of logs that recovery did not use, as the recovery mode allows.
    pub fn lost_log_bytes(&self) -> &[LostLogBytes] {
        &self.0.lost_log_bytes
    }

    /// The sequence number of the last write that readers see.
    pub fn visible_seqno(&self) -> SeqNo {
        self.0.versions.last_sequence()
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Db")
            .field("dir", &self.dir())
            .field("families", &self.families())
            .finish_non_exhaustive()
    }
}
