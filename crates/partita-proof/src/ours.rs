//! Partita as the subject of a history.

use std::collections::BTreeMap;
use std::io::ErrorKind as IoKind;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use partita::batch::WriteBatch;
use partita::cache::Cache;
use partita::db::{
    BottommostLevel, ColumnFamily, CompactRangeOptions, Db, DbBuilder, FamilyConfig, FileTransfer,
    ImportOptions, IngestOptions, IterOptions, ReadOptions, Snapshot, WriteOptions,
};
use partita::io::{Clock, FaultFileSystem, FileSystem, MemoryFileSystem, Scheduler, Unsynced};
use partita::table::ReadContext;
use partita::{Error, Result};

use crate::options::OptionSet;
use crate::state::Order;
use crate::step::{Change, Durability, LastLevel, Op, Row, Slot, Step};
use crate::subject::Subject;

/// Where a database is, and what it is opened with.
#[derive(Clone, Debug)]
pub struct Place {
    /// The file system that it is on.
    pub fs: Arc<dyn FileSystem>,
    /// Its directory. Others beside it, whose names begin with its name, are made and removed.
    pub dir: PathBuf,
    /// Who does its background work; threads of its own, if nobody is given.
    pub scheduler: Option<Arc<dyn Scheduler>>,
    /// Its clock, if it is not the system's.
    pub clock: Option<Arc<dyn Clock>>,
    /// The order of its keys.
    pub order: Order,
    /// The option sets among which a history chooses.
    pub options: Vec<OptionSet>,
}

impl Place {
    /// How the database is opened with an option set.
    pub fn builder(&self, options: usize) -> DbBuilder {
        let set = &self.options[options % self.options.len()];
        let mut builder = DbBuilder::new(&self.dir)
            .file_system(Arc::clone(&self.fs))
            .cache(Cache::new(set.budget_bytes))
            .options(set.db_options());
        if let Some(scheduler) = &self.scheduler {
            builder = builder.scheduler(Arc::clone(scheduler));
        }
        if let Some(clock) = &self.clock {
            builder = builder.clock(Arc::clone(clock));
        }
        // Guests are opened with the same: they may be there.
        let on_disk = builder.families_on_disk().unwrap_or_default();
        for slot in (0..Slot::COUNT).map(Slot) {
            if slot.0 < Slot::RESIDENTS || on_disk.iter().any(|name| name == slot.name()) {
                builder = builder.family(slot.name(), self.family_config(options));
            }
        }
        builder
    }

    /// The options of a family.
    pub fn family_config(&self, options: usize) -> FamilyConfig {
        let set = &self.options[options % self.options.len()];
        FamilyConfig { options: Some(set.family_options()), ..FamilyConfig::default() }
    }

    /// Opens the database, or creates it.
    pub fn open(&self, options: usize) -> Result<Ours> {
        let life = self.life();
        let db = Some(self.builder(options).file_system(Arc::new(life.clone())).open()?);
        Ok(Ours {
            place: self.clone(),
            life,
            db,
            options,
            snapshots: BTreeMap::new(),
            external: 0,
            memory: None,
        })
    }

    /// The file system for one process, as it were.
    fn life(&self) -> FaultFileSystem {
        FaultFileSystem::new(Arc::clone(&self.fs))
    }

    /// A directory beside the database.
    pub fn beside(&self, what: &str) -> PathBuf {
        let name = self.dir.file_name().unwrap_or_default().to_string_lossy();
        self.dir.with_file_name(format!("{name}.{what}"))
    }
}

/// Partita with an open database.
#[derive(Debug)]
pub struct Ours {
    place: Place,
    /// The file system until the next kill, behind which nothing that the killed one does gets to the disk.
    life: FaultFileSystem,
    /// `None` while it is opened again.
    db: Option<Db>,
    options: usize,
    snapshots: BTreeMap<u32, Snapshot>,
    /// Times that external files were ingested.
    external: u64,
    /// The file system, if it is one in memory that can lose what a kill loses.
    memory: Option<MemoryFileSystem>,
}

impl Ours {
    /// The database.
    pub fn db(&self) -> &Db {
        self.db.as_ref().expect("it is open between steps")
    }

    /// The family of this number.
    pub fn family(&self, slot: Slot) -> Result<ColumnFamily> {
        self.db().family(slot.name())
    }

    /// Where a kill loses what did not leave the process; without one it loses nothing, and syncs nothing.
    pub fn killed_in(&mut self, memory: MemoryFileSystem) {
        self.memory = Some(memory);
    }

    /// The file system, which is another one after each kill.
    pub fn memory(&self) -> Option<&MemoryFileSystem> {
        self.memory.as_ref()
    }

    /// Closes it and reports what went wrong.
    pub fn close(mut self) -> Result<()> {
        self.snapshots.clear();
        self.db().close()
    }

    /// Opens it again, with the options that it has.
    pub fn open_again(&mut self) -> Result<()> {
        self.reopen(self.options)
    }

    fn reopen(&mut self, options: usize) -> Result<()> {
        self.snapshots.clear();
        self.options = options;
        // Nobody else holds it, so the lock goes with it.
        self.db = None;
        self.life = self.place.life();
        let builder = self.place.builder(options).file_system(Arc::new(self.life.clone()));
        self.db = Some(builder.open()?);
        Ok(())
    }

    fn write(&self, changes: &[Change], durability: Durability) -> Result<()> {
        let batch = batch(self.db(), changes)?;
        let options = WriteOptions {
            sync: durability == Durability::Synced,
            disable_wal: durability == Durability::Unlogged,
            ..WriteOptions::default()
        };
        self.db().write(batch, &options)
    }

    fn ingest(&mut self, files: &[(Slot, Vec<Row>)]) -> Result<()> {
        self.external += 1;
        let transfer = match self.external % 3 {
            0 => FileTransfer::Copy,
            1 => FileTransfer::Link,
            _ => FileTransfer::Move,
        };
        let options = IngestOptions { transfer, ..IngestOptions::default() };
        ingest(self.db(), &*self.place.fs, &self.place.beside("external"), files, &options)
    }

    fn purge(&self, slot: Slot, epoch: u32) -> Result<()> {
        let family = self.family(slot)?;
        let [from, to] = self.place.order.epoch(epoch);
        let range = match self.place.order {
            Order::Forward => (Bound::Included(&from[..]), Bound::Excluded(&to[..])),
            Order::Reverse => (Bound::Excluded(&from[..]), Bound::Included(&to[..])),
        };
        self.db().delete_files_in_range(&family, range)?;
        self.db().delete_range_cf(&family, &from, &to)?;
        // Backward, the end of a range is its lowest key, and is not included.
        self.db().delete_cf(&family, &to)
    }

    fn copy(&self, from: Slot, to: Slot) -> Result<()> {
        let dir = self.place.beside("export");
        remove_dir(&*self.place.fs, &dir)?;
        self.db().export_family(&self.family(from)?, &dir)?;
        let options = ImportOptions::default();
        let config = self.place.family_config(self.options);
        self.db().create_family_from_import(to.name(), config, &dir, &options)?;
        remove_dir(&*self.place.fs, &dir)
    }

    /// Makes a checkpoint, and compares it with the database.
    fn checkpoint(&self) -> Result<()> {
        let dir = self.place.beside("checkpoint");
        remove_dir(&*self.place.fs, &dir)?;
        self.db().checkpoint(&dir)?;
        let place = Place { dir: dir.clone(), ..self.place.clone() };
        let db = place.builder(self.options).open_read_only()?;
        let copy = Self {
            life: place.life(),
            place,
            db: Some(db),
            options: self.options,
            snapshots: BTreeMap::new(),
            external: 0,
            memory: None,
        };
        if copy.slots() != self.slots() {
            return Err(Error::corruption("a checkpoint has other families").in_file(&dir));
        }
        for slot in self.slots() {
            if copy.rows(slot, None, false)? != self.rows(slot, None, false)? {
                let message = format!("a checkpoint has other rows in {}", slot.name());
                return Err(Error::corruption(message).in_file(&dir));
            }
        }
        drop(copy);
        remove_dir(&*self.place.fs, &dir)
    }

    fn compact(
        &self,
        slot: Slot,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
        last_level: LastLevel,
    ) -> Result<()> {
        let bottommost_level = match last_level {
            LastLevel::Skip => BottommostLevel::Skip,
            LastLevel::IfFilter => BottommostLevel::IfFilter,
            LastLevel::Rewrite => BottommostLevel::Rewrite,
        };
        let options = CompactRangeOptions { bottommost_level };
        self.db().compact_range_with(&self.family(slot)?, from, to, &options)
    }

    fn kill(&mut self, options: usize) -> Result<()> {
        if let Some(memory) = &self.memory {
            // What the living process does from here on, its file system keeps to itself.
            let after = memory.after_crash(Unsynced::Kept);
            self.place.fs = Arc::new(after.clone());
            self.memory = Some(after);
        }
        self.life.fail_from(0, IoKind::BrokenPipe);
        self.reopen(options)
    }

    fn read(&self, snapshot: Option<u32>) -> ReadOptions {
        let snapshot = snapshot.map(|number| self.snapshots[&number].clone());
        ReadOptions { snapshot, ..ReadOptions::default() }
    }
}

/// A batch of these changes.
pub fn batch(db: &Db, changes: &[Change]) -> Result<WriteBatch> {
    let mut batch = WriteBatch::new();
    for Change { slot, op } in changes {
        let id = db.family(slot.name())?.id();
        match op {
            Op::Put(key, value) => batch.put_cf(id, key, value),
            Op::Merge(key, operand) => batch.merge_cf(id, key, operand),
            Op::Delete(key) => batch.delete_cf(id, key),
            Op::SingleDelete(key) => batch.single_delete_cf(id, key),
            Op::DeleteRange(begin, end) => batch.delete_range_cf(id, begin, end),
        }?;
    }
    Ok(batch)
}

/// Makes external files in this directory, one for each family, and ingests them in one step.
pub fn ingest(
    db: &Db,
    fs: &dyn FileSystem,
    dir: &Path,
    files: &[(Slot, Vec<Row>)],
    options: &IngestOptions,
) -> Result<()> {
    remove_dir(fs, dir)?;
    fs.create_dir_all(dir)?;
    let mut families = Vec::new();
    for (number, (slot, rows)) in files.iter().enumerate() {
        let path = dir.join(format!("{number}.sst"));
        let family = db.family(slot.name())?;
        let mut writer = db.sst_file_writer(&family, &path)?;
        for (key, value) in rows {
            writer.put(key, value)?;
        }
        writer.finish()?;
        families.push((family, vec![path]));
    }
    db.ingest_several(&families, options)?;
    remove_dir(fs, dir)
}

/// Removes a directory with its files, if it is there.
pub fn remove_dir(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    if !fs.exists(dir)? {
        return Ok(());
    }
    for name in fs.list(dir)? {
        fs.remove(&dir.join(name))?;
    }
    fs.remove_dir(dir)
}

impl Subject for Ours {
    type Error = Error;

    fn apply(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Write(changes, durability) => self.write(changes, *durability),
            Step::SyncLog => self.db().flush_wal(true),
            Step::Flush(None) => self.db().flush(),
            Step::Flush(Some(slot)) => self.db().flush_cf(&self.family(*slot)?),
            Step::Compact { slot, from, to, last_level } => {
                self.compact(*slot, from.as_deref(), to.as_deref(), *last_level)
            }
            Step::Ingest(files) => self.ingest(files),
            Step::Purge(slot, epoch) => self.purge(*slot, *epoch),
            Step::Snapshot(number) => {
                self.snapshots.insert(*number, self.db().snapshot());
                Ok(())
            }
            Step::Release(number) => {
                self.snapshots.remove(number);
                Ok(())
            }
            Step::Create(slot) => self
                .db()
                .create_family(slot.name(), self.place.family_config(self.options))
                .map(drop),
            Step::Drop(slot) => self.db().drop_family(&self.family(*slot)?),
            Step::Copy { from, to } => self.copy(*from, *to),
            Step::Checkpoint => self.checkpoint(),
            Step::Reopen(options) => {
                self.snapshots.clear();
                self.db().close()?;
                self.reopen(*options)
            }
            Step::Kill(options) => self.kill(*options),
            Step::Check => Ok(()),
        }
    }

    fn slots(&self) -> Vec<Slot> {
        let families = self.db().families();
        let is_there = |slot: &Slot| families.iter().any(|family| family.name() == slot.name());
        (0..Slot::COUNT).map(Slot).filter(is_there).collect()
    }

    fn rows(&self, slot: Slot, snapshot: Option<u32>, backward: bool) -> Result<Vec<Row>> {
        let options = IterOptions { read: self.read(snapshot), ..IterOptions::default() };
        let mut iter = self.db().iter_cf(&self.family(slot)?, options)?;
        let mut rows = Vec::new();
        if backward { iter.seek_to_last() } else { iter.seek_to_first() }?;
        while iter.is_valid() {
            rows.push((iter.key().to_vec(), iter.value().to_vec()));
            if backward { iter.prev() } else { iter.next() }?;
        }
        Ok(rows)
    }

    fn get(&self, slot: Slot, snapshot: Option<u32>, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let (family, read) = (self.family(slot)?, self.read(snapshot));
        let value = self.db().get_with(&family, key, &read, &mut ReadContext::default())?;
        Ok(value.map(partita::db::PinnedValue::into_vec))
    }

    fn multi_get(&self, slot: Slot, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        let values = self.db().multi_get_cf(&self.family(slot)?, keys)?;
        Ok(values.into_iter().map(|value| value.map(partita::db::PinnedValue::into_vec)).collect())
    }

    fn floor(&self, slot: Slot, key: &[u8]) -> Option<Result<Option<Row>>> {
        let found = self
            .family(slot)
            .and_then(|family| self.db().get_floor_cf(&family, Bound::Included(key)));
        Some(found.map(|found| found.map(|row| (row.key.to_vec(), row.value.to_vec()))))
    }
}
