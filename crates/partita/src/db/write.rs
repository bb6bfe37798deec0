//! Writing: a batch is checked whole, then goes through the commit queue.

use std::sync::Arc;

use super::apply::{Hints, Target, apply, check, no_family};
use super::commit::{CommitOptions, LogRecord, Stages};
use super::counters::add;
use super::read_view::ReadView;
use super::writer::Writer;
use super::{BackgroundWork, ColumnFamily, Db, DbInner};
use crate::batch::{BatchReader, WriteBatch};
use crate::error::{Error, ErrorKind, Result};
use crate::key::SeqNo;
use crate::util::sync::atomic::Ordering;
use crate::util::sync::lock;

/// Room for a batch of one record, as they mostly are.
const ONE_RECORD_BYTES: usize = 112;

/// How a write is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Whether the write, and all before it, survive a power cut when the call returns. Default: they survive the end of
    /// the process.
    pub sync: bool,
    /// Whether the write is left out of the log: it is lost with the process unless its memtable was flushed. Together with
    /// `sync` it is an `InvalidArgument`.
    pub disable_wal: bool,
    /// Whether the write fails with `Busy` rather than wait, when writes are delayed or stopped because flushes and
    /// compactions have to catch up.
    pub no_slowdown: bool,
    /// Whether the write waits sooner than others for compactions to catch up, and lets others pass by meanwhile.
    pub low_pri: bool,
}

impl WriteOptions {
    /// A write that survives a power cut.
    pub const SYNC: Self =
        Self { sync: true, disable_wal: false, no_slowdown: false, low_pri: false };
}

impl Db {
    /// Sets a value in the default column family.
    ///
    /// * Errors: those of [`Db::write`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use partita::db::DbBuilder;
    /// use partita::io::MemoryFileSystem;
    /// use partita::options::DbOptions;
    ///
    /// let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// let disk = Arc::new(MemoryFileSystem::new());
    /// let builder = DbBuilder::new("/db").file_system(disk).options(options);
    /// let db = builder.open()?;
    /// db.put(b"apple", b"red")?;
    /// db.put(b"kiwi", b"green")?;
    /// db.delete(b"apple")?;
    /// drop(db);
    ///
    /// let db = builder.open()?;
    /// assert_eq!(db.get(b"apple")?, None);
    /// assert_eq!(db.get(b"kiwi")?.unwrap(), b"green");
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.one(|batch| batch.put(key, value))
    }

    /// Sets a value in a column family.
    pub fn put_cf(&self, family: &ColumnFamily, key: &[u8], value: &[u8]) -> Result<()> {
        self.one(|batch| batch.put_cf(family.id(), key, value))
    }

    /// Removes a key from the default column family, whether it is there or not.
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        self.one(|batch| batch.delete(key))
    }

    /// Removes a key from a column family.
    pub fn delete_cf(&self, family: &ColumnFamily, key: &[u8]) -> Result<()> {
        self.one(|batch| batch.delete_cf(family.id(), key))
    }

    /// Removes a key of the default column family that was put exactly once since it was removed last, and never merged;
    /// with other keys, what readers find afterwards is not defined.
    pub fn single_delete(&self, key: &[u8]) -> Result<()> {
        self.one(|batch| batch.single_delete(key))
    }

    /// The same in a column family.
    pub fn single_delete_cf(&self, family: &ColumnFamily, key: &[u8]) -> Result<()> {
        self.one(|batch| batch.single_delete_cf(family.id(), key))
    }

    /// Removes the keys of the default column family from `begin` on, `end` excluded.
    ///
    /// * Errors: `InvalidArgument` if `end` is before `begin`; equal ones remove nothing.
    pub fn delete_range(&self, begin: &[u8], end: &[u8]) -> Result<()> {
        self.one(|batch| batch.delete_range(begin, end))
    }

    /// The same in a column family.
    pub fn delete_range_cf(&self, family: &ColumnFamily, begin: &[u8], end: &[u8]) -> Result<()> {
        self.one(|batch| batch.delete_range_cf(family.id(), begin, end))
    }

    /// Adds an operand for the merge operator of the default column family.
    ///
    /// * Errors: `InvalidArgument` if it has no merge operator.
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.one(|batch| batch.merge(key, operand))
    }

    /// The same in a column family.
    pub fn merge_cf(&self, family: &ColumnFamily, key: &[u8], operand: &[u8]) -> Result<()> {
        self.one(|batch| batch.merge_cf(family.id(), key, operand))
    }

    fn one(&self, add: impl FnOnce(&mut WriteBatch) -> Result<()>) -> Result<()> {
        let mut batch = WriteBatch::with_capacity(ONE_RECORD_BYTES);
        add(&mut batch)?;
        self.write(batch, &WriteOptions::default())
    }

    /// Writes a batch: all of it, or nothing, seen by readers at one moment.
    ///
    /// * An empty batch with `sync` makes everything before it survive a power cut.
    /// * May wait for flushes and compactions, if it leaves them behind: [`Db::stall_stats`] counts that by cause.
    /// * Errors: `InvalidArgument` for a column family that is not there, a range whose end is before its beginning, an
    ///   operand without merge operator; `NotSupported` for blob references and marks of two-phase commit: nothing was
    ///   written. `Io`, `NoSpace` of the log: the batch will not be there, unless the process ends before writes go on;
    ///   then the next opening tells. Until they do all are `ReadOnly`, with the cause, and reads go on
    ///   ([`Db::background_error`]). `Busy` with `no_slowdown`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use partita::batch::WriteBatch;
    /// use partita::db::{DbBuilder, WriteOptions};
    /// use partita::io::MemoryFileSystem;
    /// use partita::options::DbOptions;
    ///
    /// let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// let disk = Arc::new(MemoryFileSystem::new());
    /// let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// let mut batch = WriteBatch::new();
    /// batch.put(b"a", b"1")?;
    /// batch.put(b"b", b"2")?;
    /// batch.delete_range(b"a", b"b")?;
    /// db.write(batch, &WriteOptions::SYNC)?;
    /// assert_eq!(db.get(b"a")?, None);
    /// assert_eq!(db.get(b"b")?.unwrap(), b"2");
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn write(&self, batch: WriteBatch, options: &WriteOptions) -> Result<()> {
        let writer = self.writer()?;
        let WriteOptions { sync, disable_wal, no_slowdown, low_pri } = *options;
        if sync && disable_wal {
            return Err(Error::invalid_argument("a write that is not in the log cannot be synced"));
        }
        if batch.record_bytes().is_empty() && !sync {
            return Ok(());
        }
        self.check_batch(&batch)?;
        if disable_wal {
            writer.unlogged.store(true, Ordering::Release);
        }
        if low_pri {
            self.inner().pay_for_low_priority(batch.record_bytes().len(), !no_slowdown)?;
        }
        let options = CommitOptions { sync, disable_wal, no_slowdown };
        writer.queue.commit(&**self.inner(), batch, options)
    }

    /// Refuses what could not be inserted, before it is in the log.
    fn check_batch(&self, batch: &WriteBatch) -> Result<()> {
        let families = self.inner().families.load();
        let contents = batch.contents();
        if contents.is_plain() {
            let missing = contents.families().iter().find(|id| !families.contains_key(id));
            return missing.map_or(Ok(()), |id| Err(no_family(*id)));
        }
        for record in batch.records() {
            check(&record?, |id| families.get(&id).map(|family| &*family.0))?;
        }
        Ok(())
    }

    /// The writing half.
    pub(super) fn writer(&self) -> Result<&Writer> {
        self.inner().writer.as_ref().ok_or_else(|| {
            let error = Error::new(ErrorKind::ReadOnly, "the database was opened to be read");
            error.in_file(self.dir())
        })
    }
}

impl DbInner {
    /// The writing half, of those who got here through it.
    pub(super) fn writing(&self) -> Result<&Writer> {
        self.writer
            .as_ref()
            .ok_or_else(|| Error::new(ErrorKind::ReadOnly, "the database was opened to be read"))
    }

    fn insert_with(&self, batch: &WriteBatch, first: SeqNo, hints: &mut Hints) -> Result<()> {
        let writer = self.writing()?;
        let families = self.families.load();
        let reader = BatchReader::new(batch.as_bytes())?;
        let ids = batch.contents().families();
        // A family that is gone since the batch was checked: as if it had gone right after the write.
        let open = |id: &u32| {
            let family = &families.get(id)?.0;
            Some((*id, family.view.load_full(), family.options.write_buffer_size))
        };
        let one = ids.first().and_then(open);
        let more: Vec<_> = ids.iter().skip(1).filter_map(open).collect();
        let find = |id| match &one {
            Some(one) if one.0 == id => Some(one),
            _ => more.binary_search_by_key(&id, |(id, ..)| *id).ok().and_then(|at| more.get(at)),
        };
        apply(&reader, first, hints, |id| {
            Ok(find(id).map_or(Target::Nowhere, |(_, view, _)| Target::MemTable(&view.memtable)))
        })?;
        let is_full =
            |(_, view, size): &(u32, Arc<ReadView>, usize)| view.memtable.memory_bytes() >= *size;
        if one.iter().chain(&more).any(is_full) {
            writer.some_full.store(true, Ordering::Release);
        }
        let bytes = batch.record_bytes().len();
        writer.stall.wrote(bytes);
        add(&self.counters.batches, 1);
        add(&self.counters.batch_bytes, bytes as u64);
        Ok(())
    }
}

impl Stages for DbInner {
    fn make_room(&self, may_wait: bool) -> Result<()> {
        if may_wait {
            self.check_or_resume()?;
        } else {
            self.writing()?.check()?;
        }
        // What writers would wait for must be on its way.
        self.make_room_for_writes(may_wait)?;
        self.pay_for_writes(may_wait)
    }

    fn log(&self, record: &LogRecord<'_>) -> Result<()> {
        let writer = self.writing()?;
        lock(&writer.logs).write(&writer.place, record).inspect_err(|error| {
            let end = record.first.get() + u64::from(record.count);
            writer.failure.doubt_up_to(SeqNo::new(end).unwrap_or(SeqNo::MAX));
            self.background_failed(BackgroundWork::Log, error);
        })?;
        let counters = &self.counters;
        add(&counters.log_records, 1);
        add(&counters.log_bytes, record.parts.iter().map(|part| part.len() as u64).sum());
        add(&counters.log_syncs, u64::from(record.sync));
        Ok(())
    }

    fn insert(&self, batch: &WriteBatch, first: SeqNo) -> Result<()> {
        let writer = self.writing()?;
        // Members of a group insert at once; one of them has the hints.
        match writer.logs.try_lock() {
            Ok(mut logs) => self.insert_with(batch, first, &mut logs.hints),
            Err(_) => self.insert_with(batch, first, &mut Hints::default()),
        }
    }

    fn last(&self) -> SeqNo {
        self.versions.last_sequence()
    }

    fn publish(&self, last: SeqNo) {
        add(&self.counters.groups, 1);
        add(&self.counters.keys, last.get().saturating_sub(self.last().get()));
        self.versions.raise_last_sequence(last);
    }

    fn fail(&self, error: &Error) {
        self.background_failed(BackgroundWork::Memtable, error);
    }
}
