//! Readers change over to what an edit of the database has led to.
//!
//! A flush takes a memtable out of the view and puts the table that it became in. Whoever installs a version meanwhile
//! must not show both: an entry would count twice, and a merge operand would be applied twice. So:
//!
//! 1. A flush holds `Writer::installing` from its edit until its view is in place.
//! 2. Others make their edit without it, and hold it while they put the newest version into the view.

use std::sync::Arc;

use super::read_view::ReadView;
use super::{ColumnFamily, DbInner};
use crate::error::Result;
use crate::memtable::MemTable;
use crate::util::sync::lock;
use crate::version::VersionEdit;

impl DbInner {
    /// Makes edits durable that put memtables into tables, and has readers look into the tables.
    pub(super) fn install_flushed(
        &self,
        edits: Vec<VersionEdit>,
        flushed: &[(&ColumnFamily, &[Arc<MemTable>])],
    ) -> Result<()> {
        let writer = self.writing()?;
        let _installing = lock(&writer.installing);
        self.apply_edits(edits)?;
        let _views = writer.views();
        for (family, memtables) in flushed {
            family.0.show_current_version(memtables);
        }
        Ok(())
    }

    /// Has readers of a family look into its newest version.
    pub(super) fn install_version(&self, family: &ColumnFamily) -> Result<()> {
        let writer = self.writing()?;
        let _installing = lock(&writer.installing);
        let _views = writer.views();
        family.0.show_current_version(&[]);
        Ok(())
    }
}

impl super::family::FamilyState {
    /// The caller holds the lock of the views.
    fn show_current_version(&self, without: &[Arc<MemTable>]) {
        let view = self.view.load();
        let is_left =
            |memtable: &&Arc<MemTable>| !without.iter().any(|other| Arc::ptr_eq(other, memtable));
        self.counters.retire(without.iter().map(Arc::downgrade));
        self.show(ReadView {
            memtable: Arc::clone(&view.memtable),
            frozen: view.frozen.iter().filter(is_left).cloned().collect(),
            version: self.family.current(),
            moment: None,
        });
    }
}
