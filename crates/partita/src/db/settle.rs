//! What recovery found becomes part of the database: tables of it, named by one edit.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::identity::new_db_id;
use super::level0::{TablePlace, write_level0};
use super::memtables::new_memtable;
use super::read_view::ReadView;
use super::{ColumnFamily, DbBuilder, DbInner};
use crate::cache::Cache;
use crate::compaction::{NewTable, Origin};
use crate::error::{Error, Result};
use crate::io::{Clock, FileSystem};
use crate::memtable::MemTable;
use crate::util::sync::lock;
use crate::version::edit::NewFile;
use crate::version::{FileName, FileNumber, VersionEdit};

/// Tables of what was too much for memory while logs were read. Dropped before an edit was to name them, it removes them.
pub(super) struct SpilledTables {
    fs: Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    dir: PathBuf,
    /// Of each family, oldest first. Nothing may be left of a memtable.
    outputs: BTreeMap<u32, Vec<NewTable>>,
}

impl SpilledTables {
    pub(super) fn new(builder: &DbBuilder) -> Self {
        Self {
            fs: Arc::clone(&builder.fs),
            clock: Arc::clone(&builder.clock),
            dir: builder.dir.clone(),
            outputs: BTreeMap::new(),
        }
    }

    /// What puts a memtable into a table here.
    pub(super) fn spill<'s>(
        &'s mut self,
        place: TablePlace<'s>,
        families: &'s BTreeMap<u32, ColumnFamily>,
        cache: &'s Cache,
        session: &'s str,
    ) -> impl FnMut(u32, &Arc<MemTable>, FileNumber) -> Result<Arc<MemTable>> + 's {
        move |id, memtable, log| {
            let family = families.get(&id).ok_or_else(|| {
                Error::invalid_argument(format!(
                    "memtable of column family {id}, which is not there"
                ))
            })?;
            place.versions.ensure_identity(new_db_id)?;
            self.write(place, family, memtable, session)?;
            let memtable = new_memtable(cache, family.key_order(), log)?;
            // Here, too, so that nothing holds the old one.
            let state = &family.0;
            let version = Arc::clone(&state.view.load().version);
            let (memtable, frozen) = (Arc::clone(&memtable), Box::default());
            state.show(ReadView { memtable, frozen, version, moment: None });
            Ok(Arc::clone(&state.view.load().memtable))
        }
    }

    fn write(
        &mut self,
        place: TablePlace<'_>,
        family: &ColumnFamily,
        memtable: &Arc<MemTable>,
        session: &str,
    ) -> Result<()> {
        let origin = Origin { session, unix_seconds: self.clock.unix_seconds() };
        let output = write_level0(place, &family.0, &[Arc::clone(memtable)], &origin)?;
        self.outputs.entry(family.id()).or_default().extend(output);
        Ok(())
    }

    /// The tables of a family, for the edit that names them.
    fn new_files(&self, family: u32) -> Vec<NewFile> {
        let outputs = self.outputs.get(&family).into_iter().flatten();
        outputs.map(|output| NewFile { level: 0, file: output.file.clone() }).collect()
    }
}

impl Drop for SpilledTables {
    fn drop(&mut self) {
        for output in self.outputs.values().flatten() {
            // What stays behind is removed by the next open.
            let _ = self.fs.remove(&FileName::Table(output.file.number).in_dir(&self.dir));
        }
    }
}

impl DbInner {
    /// Puts what the logs held into tables, in one edit for all families: if only some were ahead of a damaged log, the
    /// database would be refused from then on.
    ///
    /// With `avoid_flush_during_recovery` it stays in memory, if all of it is there and nothing was lost.
    pub(super) fn settle_recovered(&self, mut tables: SpilledTables) -> Result<()> {
        let writer = self.writing()?;
        let families = self.families.load_full();
        let current = lock(&writer.logs).current;
        let keep = self.options.avoid_flush_during_recovery
            && tables.outputs.is_empty()
            && self.lost_log_bytes.is_empty();
        let mut edits = Vec::new();
        let mut settled = Vec::new();
        for family in families.values() {
            let memtable = Arc::clone(&family.0.view.load().memtable);
            if !memtable.is_empty() {
                if keep {
                    continue;
                }
                tables.write(self.table_place(), family, &memtable, &writer.session)?;
            }
            edits.push(VersionEdit {
                family: family.id(),
                log_number: Some(current),
                new_files: tables.new_files(family.id()),
                ..VersionEdit::default()
            });
            settled.push(family);
        }
        let kept = families
            .values()
            .filter(|family| !settled.iter().any(|other| other.id() == family.id()));
        let needed = kept.map(|family| family.0.oldest_log_needed()).min().unwrap_or(current);
        self.sync_kept_logs(needed)?;
        match edits.first_mut() {
            Some(edit) => edit.min_log_number_to_keep = Some(needed),
            None => edits.push(VersionEdit::default()),
        }
        // From here on the manifest may name them, whatever comes back.
        let outputs = std::mem::take(&mut tables.outputs);
        self.versions.log_and_apply(edits)?;
        drop(outputs);
        for family in settled {
            family.0.show(ReadView {
                memtable: new_memtable(&self.cache, family.key_order(), current)?,
                frozen: Box::default(),
                version: family.0.family.current(),
                moment: None,
            });
        }
        let obsolete = lock(&writer.logs).take_older_than(needed);
        self.remove_logs(&obsolete);
        Ok(())
    }

    /// Makes durable what was read from logs that go on being needed: a process that was killed had not synced all of it, and a
    /// sync of what comes now is one of what came before.
    fn sync_kept_logs(&self, needed: FileNumber) -> Result<()> {
        let kept = lock(&self.writing()?.logs).older_from(needed);
        for log in &kept {
            self.builder.fs.append(&FileName::Log(*log).in_dir(&self.builder.dir))?.sync()?;
        }
        match kept.is_empty() {
            true => Ok(()),
            false => self.builder.fs.sync_dir(&self.builder.dir),
        }
    }
}
