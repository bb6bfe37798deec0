use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use partita::io::{Clock, SystemClock};

use super::buffer::Buffers;
use super::error::{ObjectError, ObjectResult};
use super::keys::KeyPath;
use super::rows::{BucketInfo, VolumeInfo};
use super::tables::ObjectTables;
use super::transaction::{TRANSACTION_INFO_KEY, TransactionInfo};
use crate::{Result, Schema, StoreBuilder};

/// How an [`ObjectStore`] works.
#[derive(Clone, Debug)]
pub struct ObjectOptions {
    /// Transactions that are written in one batch: the operation that completes them writes it. From 1 to
    /// [`ObjectOptions::BATCH_TRANSACTIONS_MAX`].
    pub batch_transactions: u64,
    /// The clock whose time is noted in rows. Default: the system's.
    pub clock: Arc<dyn Clock>,
}

impl ObjectOptions {
    /// Ozone waits once so many transactions are not written.
    pub const BATCH_TRANSACTIONS_MAX: u64 = 10_000;
}

impl Default for ObjectOptions {
    fn default() -> Self {
        Self { batch_transactions: 200, clock: Arc::new(SystemClock) }
    }
}

/// The metadata of an object store. Any number of threads may use it at once.
///
/// Changes are done one after the other, each a transaction with a number. They are seen at once and written in batches, all
/// tables together: what is not written is lost when the process ends. [`ObjectStore::flush`] writes all of it.
pub struct ObjectStore {
    pub(super) tables: ObjectTables,
    pub(super) buffers: Mutex<Buffers>,
    options: ObjectOptions,
    /// Held by who writes a batch.
    flushing: Mutex<()>,
    /// Held by who purges.
    pub(super) purging: Mutex<()>,
}

impl ObjectStore {
    /// Opens a store, and makes it if it is not there. Volumes and buckets are read into memory, where they stay.
    ///
    /// * Errors: those of [`StoreBuilder::open`], and of reading.
    pub fn open(builder: &StoreBuilder, options: ObjectOptions) -> Result<Self> {
        let tables: ObjectTables = builder.open()?;
        let last = tables.transactions.get(TRANSACTION_INFO_KEY)?.unwrap_or_default();
        let buffers = Buffers {
            current: tables.store().batch(),
            transactions: 0,
            writing: None,
            last: TransactionInfo { term: last.term + 1, ..last },
            volumes: tables.volumes.scan().start()?.collect::<Result<HashMap<_, _>>>()?,
            buckets: tables.buckets.scan().start()?.collect::<Result<HashMap<_, _>>>()?,
        };
        Ok(Self {
            tables,
            buffers: Mutex::new(buffers),
            options,
            flushing: Mutex::default(),
            purging: Mutex::default(),
        })
    }

    /// The tables, as they are without what waits to be written.
    pub fn tables(&self) -> &ObjectTables {
        &self.tables
    }

    /// Makes a volume.
    ///
    /// * Errors: [`ObjectError::AlreadyExists`], [`ObjectError::InvalidName`].
    pub fn create_volume(&self, volume: &str, owner: &str) -> ObjectResult<()> {
        check_name(volume)?;
        self.transaction(|buffers, now| {
            if buffers.volumes.contains_key(volume) {
                return Err(ObjectError::AlreadyExists(format!("volume /{volume}")));
            }
            let id = buffers.begin();
            let info = VolumeInfo {
                volume: volume.to_owned(),
                owner: owner.to_owned(),
                creation_unix_millis: now,
                object_id: id,
                update_id: id,
            };
            buffers.current.put(&self.tables.volumes, volume, &info)?;
            buffers.volumes.insert(volume.to_owned(), info);
            Ok(())
        })
    }

    /// Makes a bucket.
    ///
    /// * Errors: [`ObjectError::NotFound`] if there is no such volume; [`ObjectError::AlreadyExists`],
    ///   [`ObjectError::InvalidName`].
    pub fn create_bucket(&self, volume: &str, bucket: &str) -> ObjectResult<()> {
        check_name(bucket)?;
        self.transaction(|buffers, now| {
            if !buffers.volumes.contains_key(volume) {
                return Err(ObjectError::NotFound(format!("volume /{volume}")));
            }
            let name = (volume.to_owned(), bucket.to_owned());
            if buffers.buckets.contains_key(&name) {
                return Err(ObjectError::AlreadyExists(format!("bucket /{volume}/{bucket}")));
            }
            let id = buffers.begin();
            let info = BucketInfo {
                volume: volume.to_owned(),
                bucket: bucket.to_owned(),
                creation_unix_millis: now,
                object_id: id,
                update_id: id,
                used_bytes: 0,
                key_count: 0,
            };
            buffers.current.put(&self.tables.buckets, (volume, bucket), &info)?;
            buffers.buckets.insert(name, info);
            Ok(())
        })
    }

    /// A volume.
    pub fn volume(&self, volume: &str) -> Option<VolumeInfo> {
        self.buffers().volumes.get(volume).cloned()
    }

    /// A bucket, with what it holds.
    pub fn bucket(&self, volume: &str, bucket: &str) -> Option<BucketInfo> {
        let name = (volume.to_owned(), bucket.to_owned());
        self.buffers().buckets.get(&name).cloned()
    }

    /// The buckets of a volume, by name.
    pub fn buckets(&self, volume: &str) -> Vec<BucketInfo> {
        let buffers = self.buffers();
        let of_volume = buffers.buckets.values().filter(|bucket| bucket.volume == volume);
        let mut buckets: Vec<BucketInfo> = of_volume.cloned().collect();
        buckets.sort_by(|a, b| a.bucket.cmp(&b.bucket));
        buckets
    }

    /// The last transaction that was done, written or not.
    pub fn last_transaction(&self) -> TransactionInfo {
        self.buffers().last
    }

    /// The last transaction that was written; `None` if none ever was.
    ///
    /// * Errors: those of [`Table::get`](crate::Table::get).
    pub fn written_transaction(&self) -> Result<Option<TransactionInfo>> {
        self.tables.transactions.get(TRANSACTION_INFO_KEY)
    }

    /// Transactions that wait for the next batch.
    pub fn unwritten_transactions(&self) -> u64 {
        self.buffers().transactions
    }

    /// Writes what waits, in one batch, together with the number of the last transaction. Other operations go on meanwhile.
    ///
    /// * Returns how many transactions that were.
    /// * Errors: those of [`Db::write`](partita::db::Db::write); all of it waits for the next call, then.
    pub fn flush(&self) -> Result<u64> {
        let _flushing = lock(&self.flushing);
        let (writing, transactions) = {
            let mut buffers = self.buffers();
            if buffers.current.is_empty() {
                return Ok(0);
            }
            let last = buffers.last;
            buffers.current.put(&self.tables.transactions, TRANSACTION_INFO_KEY, &last)?;
            let next = self.tables.store().batch();
            let writing = Arc::new(std::mem::replace(&mut buffers.current, next));
            buffers.writing = Some(Arc::clone(&writing));
            (writing, std::mem::take(&mut buffers.transactions))
        };
        let written = self.tables.store().write(&writing);
        let mut buffers = self.buffers();
        buffers.writing = None;
        if let Err(error) = written {
            buffers.transactions += transactions;
            buffers.current.follow(&writing)?;
            return Err(error);
        }
        Ok(transactions)
    }

    /// Writes what waits, and ends all writing.
    ///
    /// * Errors: those of [`ObjectStore::flush`] and [`Store::close`](crate::Store::close).
    pub fn close(&self) -> Result<()> {
        self.flush()?;
        self.tables.store().close()
    }

    pub(super) fn buffers(&self) -> MutexGuard<'_, Buffers> {
        lock(&self.buffers)
    }

    /// Does a change, and writes the batch if it is complete. The change sees the time in Unix milliseconds.
    ///
    /// A change that fails must not have begun; one that begins is done.
    pub(super) fn transaction<T>(
        &self,
        change: impl FnOnce(&mut Buffers, u64) -> ObjectResult<T>,
    ) -> ObjectResult<T> {
        let now = self.options.clock.unix_micros() / 1000;
        let (done, is_complete) = {
            let mut buffers = self.buffers();
            let done = change(&mut buffers, now)?;
            (done, buffers.transactions >= self.batch_transactions())
        };
        if is_complete {
            self.flush()?;
        }
        Ok(done)
    }

    fn batch_transactions(&self) -> u64 {
        self.options.batch_transactions.clamp(1, ObjectOptions::BATCH_TRANSACTIONS_MAX)
    }
}

impl Buffers {
    /// The bucket that a key is in.
    pub(super) fn bucket_of(&mut self, path: KeyPath<'_>) -> ObjectResult<&mut BucketInfo> {
        let name = (path.volume.to_owned(), path.bucket.to_owned());
        self.buckets.get_mut(&name).ok_or_else(|| {
            ObjectError::NotFound(format!("bucket /{}/{}", path.volume, path.bucket))
        })
    }
}

/// Refuses names of volumes and buckets that would be two parts of a path, or none.
fn check_name(name: &str) -> ObjectResult<()> {
    if name.is_empty() || name.contains('/') {
        return Err(ObjectError::InvalidName(name.to_owned()));
    }
    Ok(())
}

/// What is locked is whole between the calls that change it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for ObjectStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectStore")
            .field("dir", &self.tables.store().dir())
            .finish_non_exhaustive()
    }
}
