use partita::batch::WriteBatch;
use partita::db::{Db, WriteOptions};

use crate::error::Result;
use crate::key::encode;

/// Bytes that a record of one location takes in a batch.
const RECORD_BYTES: usize = 27;
/// Records for which room is made at once.
const ROOM_RECORDS: usize = 64;

/// Changes of an index, written together.
///
/// * Each change counts one. When as many are in it as the index allows
///   ([`IndexOptions::batch_operations_max`](crate::IndexOptions::batch_operations_max), 100,000 by default), they are
///   written, synced, and forgotten. So what is in a batch is written at one moment only as far as it stays below that.
/// * [`LocationBatch::flush`] writes, synced, and forgets nothing: the count goes on, and a second flush writes the same
///   changes again, over what others have written meanwhile. [`LocationBatch::clear`] forgets them.
/// * What was not flushed is gone with the batch.
///
/// [`EntryLocationIndex::new_batch`](crate::EntryLocationIndex::new_batch) makes one.
///
/// ```
/// # use std::sync::Arc;
/// # use partita::io::MemoryFileSystem;
/// use partita_ledger::{IndexBuilder, IndexOptions};
///
/// # let disk = Arc::new(MemoryFileSystem::new());
/// let builder = IndexBuilder::new("/locations", IndexOptions::new(8 << 20));
/// # let builder = builder.file_system(disk);
/// let index = builder.open()?;
/// let mut batch = index.new_batch();
/// for entry_id in 0..1000 {
///     batch.add(7, entry_id, 4096 + entry_id)?;
/// }
/// assert_eq!(index.get_location(7, 999)?, None);
/// batch.flush()?;
/// assert_eq!(index.get_location(7, 999)?, Some(5095));
/// # Ok::<(), partita_ledger::Error>(())
/// ```
#[derive(Debug)]
pub struct LocationBatch<'i> {
    db: &'i Db,
    records: WriteBatch,
    operations: usize,
    operations_max: usize,
}

impl<'i> LocationBatch<'i> {
    pub(crate) fn new(db: &'i Db, operations_max: usize) -> Self {
        let room = operations_max.min(ROOM_RECORDS) * RECORD_BYTES;
        let records = WriteBatch::with_capacity(room);
        Self { db, records, operations: 0, operations_max }
    }

    /// Sets the location of an entry.
    ///
    /// * Errors: those of [`LocationBatch::flush`], if the batch is full now.
    pub fn add(&mut self, ledger_id: i64, entry_id: i64, location: i64) -> Result<()> {
        self.records.put(&encode(ledger_id, entry_id), &location.to_be_bytes())?;
        self.count_one()
    }

    /// Removes an entry, whether it is there or not.
    ///
    /// * Errors: those of [`LocationBatch::flush`], if the batch is full now.
    pub fn remove(&mut self, ledger_id: i64, entry_id: i64) -> Result<()> {
        self.records.delete(&encode(ledger_id, entry_id))?;
        self.count_one()
    }

    /// Removes the entries of a ledger from 0 on, as BookKeeper removes a deleted ledger: the entry `i64::MAX`, which the
    /// range ends before, and entries with negative numbers, which sort behind it, stay.
    ///
    /// * Errors: those of [`LocationBatch::flush`], if the batch is full now.
    pub fn remove_ledger(&mut self, ledger_id: i64) -> Result<()> {
        self.records.delete_range(&encode(ledger_id, 0), &encode(ledger_id, i64::MAX))?;
        self.count_one()
    }

    /// Changes since the batch was new, cleared or full.
    pub fn operations(&self) -> usize {
        self.operations
    }

    /// Writes the changes; they survive a power cut when it returns. They stay in the batch.
    ///
    /// * Errors: those of [`Db::write`].
    pub fn flush(&self) -> Result<()> {
        Ok(self.db.write(self.records.clone(), &WriteOptions::SYNC)?)
    }

    /// Forgets the changes.
    pub fn clear(&mut self) {
        self.records.clear();
        self.operations = 0;
    }

    fn count_one(&mut self) -> Result<()> {
        self.operations += 1;
        if self.operations >= self.operations_max {
            // After a failure they stay, so that they can be flushed again.
            self.flush()?;
            self.clear();
        }
        Ok(())
    }
}
