//! What was written since a sequence number: batches from the logs, their records as rows of tables.
//!
//! 1. Between two batches, and before the first one, no sequence number is passed over in silence: what the next batch's
//!    number does not follow is told as [`UpdatesError::Missing`], before that batch.
//! 2. A batch is shown whole, or not at all: it took effect at one moment.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use partita::ErrorKind;
use partita::batch::{Record, WriteBatch};
use partita::db::{self, ColumnFamily};
use partita::key::SeqNo;

use crate::batch::other_store;
use crate::codec::{KeyCodec, ValueCodec};
use crate::error::{Error, Result};
use crate::store::Store;
use crate::table::Table;

impl Store {
    /// The batches that were written since a sequence number, in order, as long as the logs that have them are kept
    /// (`wal_ttl_seconds`, `wal_size_limit_mb`).
    ///
    /// * The first one is that with `since` in it, so that it may start before; from 0 on, the first one there is.
    ///   [`UpdateBatch::next_seqno`] of the last one that was taken over is where a follower goes on.
    /// * [`Updates`] says how the walk goes on, and what is told of numbers that are in no log.
    /// * Errors: those of [`Db::updates_since`](db::Db::updates_since).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita_store::codec::{BigEndian, Utf8};
    /// # use partita_store::StoreBuilder;
    /// use partita::key::SeqNo;
    /// use partita_store::{Schema, TypedChange};
    ///
    /// # partita_store::schema! {
    /// #     struct Shop { users: Table<Utf8, Utf8> = "users", stock: Table<Utf8, BigEndian<u32>> = "stock" }
    /// # }
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let shop: Shop = StoreBuilder::new("/shop.db").file_system(disk).open()?;
    /// let mut batch = shop.store().batch();
    /// batch.put(&shop.users, "anne", "Anne")?;
    /// batch.put(&shop.stock, "tea", &5)?;
    /// shop.store().write(&batch)?;
    ///
    /// let mut updates = shop.store().updates_since(SeqNo::new(1).unwrap())?;
    /// let batch = updates.next().unwrap()?;
    /// let mut stock = Vec::new();
    /// for row in batch.rows() {
    ///     // Rows of other tables are `None`.
    ///     stock.extend(row?.typed(&shop.stock)?);
    /// }
    /// assert_eq!(stock, [TypedChange::Put("tea".to_owned(), 5)]);
    /// assert!(updates.next().is_none());
    /// // It goes on with what is written then.
    /// shop.users.delete("anne")?;
    /// let batch = updates.next().unwrap()?;
    /// assert_eq!(batch.rows().next().unwrap()?.table(), Some("users"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn updates_since(&self, since: SeqNo) -> Result<Updates> {
        let walk = self.db().updates_since(since)?;
        let names = Arc::new(names(self));
        Ok(Updates { store: self.clone(), walk, names, next: since.get(), behind_gap: None })
    }
}

/// Names of tables by the numbers of their column families. A number never comes again.
type Names = BTreeMap<u32, String>;

fn names(store: &Store) -> Names {
    let named = |family: ColumnFamily| (family.id(), family.name().to_owned());
    store.db().families().into_iter().map(named).collect()
}

/// The batches since a sequence number: [`Store::updates_since`].
///
/// * `None` says that all was read that readers see. It is not the end: a later call finds what was written meanwhile. So
///   missing numbers are told when there is a batch behind them, and not before.
/// * [`UpdatesError::Missing`] is followed by the batch behind the gap. A damaged log, too, is followed by what later logs
///   have: first its error, then which numbers are missing. Other errors end the walk.
///
/// It keeps the store open.
pub struct Updates {
    store: Store,
    walk: db::Updates,
    names: Arc<Names>,
    /// The sequence number that the next batch must not start behind; 0: any may come.
    next: u64,
    /// The batch behind missing numbers that were told.
    behind_gap: Option<WriteBatch>,
}

impl Iterator for Updates {
    type Item = Result<UpdateBatch, UpdatesError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(batch) = self.behind_gap.take() {
            return Some(Ok(self.hand_out(batch)));
        }
        let batch = loop {
            match self.walk.next()? {
                Ok(batch) => break batch,
                // The batch that comes next tells which numbers are missing.
                Err(error) if error.kind() == ErrorKind::Incomplete => {}
                Err(error) => return Some(Err(UpdatesError::Failed(error.into()))),
            }
        };
        let first = batch.sequence().get();
        if self.next != 0 && first > self.next {
            self.behind_gap = Some(batch);
            return Some(Err(UpdatesError::Missing { first: self.next, last: first - 1 }));
        }
        Some(Ok(self.hand_out(batch)))
    }
}

impl Updates {
    fn hand_out(&mut self, batch: WriteBatch) -> UpdateBatch {
        self.next = next_seqno(&batch);
        let is_named = |record: Record<'_>| {
            record.family().is_none_or(|family| self.names.contains_key(&family))
        };
        // Tables come while a follower follows.
        if !batch.records().flatten().all(is_named) {
            let mut all = names(&self.store);
            all.extend(self.names.iter().map(|(family, name)| (*family, name.clone())));
            self.names = Arc::new(all);
        }
        UpdateBatch { store: self.store.clone(), names: Arc::clone(&self.names), batch }
    }
}

fn next_seqno(batch: &WriteBatch) -> u64 {
    batch.sequence().get() + u64::from(batch.count())
}

/// Why a walk over updates has no next batch.
#[derive(Debug)]
#[non_exhaustive]
pub enum UpdatesError {
    /// Sequence numbers that are in no log, ends included: their log has gone, or they were written without one. Whoever
    /// follows starts anew, from a checkpoint; the batch behind them comes next.
    Missing {
        /// The first one.
        first: u64,
        /// The last one.
        last: u64,
    },
    /// The logs could not be read.
    Failed(Error),
}

impl fmt::Display for UpdatesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { first, last } => {
                write!(f, "updates with sequence numbers {first} to {last} are in no log")
            }
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for UpdatesError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Missing { .. } => None,
            Self::Failed(error) => Some(error),
        }
    }
}

/// Changes that took effect at one moment. Writes of several threads may share one.
#[derive(Clone)]
pub struct UpdateBatch {
    store: Store,
    names: Arc<Names>,
    batch: WriteBatch,
}

impl UpdateBatch {
    /// The sequence number of its first row.
    pub fn seqno(&self) -> u64 {
        self.batch.sequence().get()
    }

    /// The one behind its last row: with it, [`Store::updates_since`] goes on behind this batch.
    pub fn next_seqno(&self) -> u64 {
        next_seqno(&self.batch)
    }

    /// The rows, in the order in which they took effect, with bytes borrowed from the batch. Without any: a write that was
    /// for the log alone.
    ///
    /// * Errors, as items: `NotSupported` for records of two-phase commit, whose rows count only with a later record, and for
    ///   values in blob files.
    pub fn rows(&self) -> impl Iterator<Item = Result<UpdateRow<'_>>> {
        self.batch.records().filter_map(|record| self.row(record).transpose())
    }

    fn row<'a>(&'a self, record: partita::Result<Record<'a>>) -> Result<Option<UpdateRow<'a>>> {
        let record = record?;
        let change = match record {
            Record::Put { key, value, .. } => RowChange::Put { key, value },
            Record::Delete { key, .. } | Record::SingleDelete { key, .. } => {
                RowChange::Delete { key }
            }
            Record::DeleteRange { begin, end, .. } => RowChange::DeleteRange { begin, end },
            Record::Merge { key, operand, .. } => RowChange::Merge { key, operand },
            Record::BlobIndex { .. } => return Err(not_supported("values in blob files")),
            Record::Transaction(_) => return Err(not_supported("two-phase commit")),
            Record::LogData(_) | Record::Noop => return Ok(None),
        };
        let row = |family| UpdateRow { batch: self, family, change };
        Ok(record.family().map(row))
    }

    /// The batch as it stands in the log, for a database that takes it over.
    pub fn as_write_batch(&self) -> &WriteBatch {
        &self.batch
    }
}

fn not_supported(what: &str) -> Error {
    partita::Error::new(ErrorKind::NotSupported, format!("updates with {what}")).into()
}

/// One change of one table.
#[derive(Clone, Copy)]
pub struct UpdateRow<'a> {
    batch: &'a UpdateBatch,
    family: u32,
    change: RowChange<'a>,
}

/// What a row does, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are what their names say")]
pub enum RowChange<'a> {
    /// Sets a value.
    Put { key: &'a [u8], value: &'a [u8] },
    /// Removes a key.
    Delete { key: &'a [u8] },
    /// Removes the keys from `begin` on, `end` excluded. No typed table writes it.
    DeleteRange { begin: &'a [u8], end: &'a [u8] },
    /// Adds an operand for the merge operator. No typed table writes it.
    Merge { key: &'a [u8], operand: &'a [u8] },
}

/// What a row does, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypedChange<K, V> {
    /// Sets a value.
    Put(K, V),
    /// Removes a key.
    Delete(K),
}

impl<'a> UpdateRow<'a> {
    /// The name of the table, whether the schema has it or not; `None` if it was dropped since.
    pub fn table(&self) -> Option<&'a str> {
        self.batch.names.get(&self.family).map(String::as_str)
    }

    /// The number of the table's column family.
    pub fn family(&self) -> u32 {
        self.family
    }

    /// What it does, in bytes.
    pub fn change(&self) -> RowChange<'a> {
        self.change
    }

    /// What it does, decoded; `None` if it is a row of another table.
    ///
    /// * Errors: `Corruption` if key or value cannot be decoded; `NotSupported` if it is not the change of one key to a value:
    ///   [`UpdateRow::change`] has it; `InvalidArgument` if the table is one of another store.
    pub fn typed<K: KeyCodec, V: ValueCodec>(
        &self,
        table: &Table<K, V>,
    ) -> Result<Option<TypedChange<K::Key, V::Value>>> {
        if !table.store.is_same(&self.batch.store) {
            return Err(table.error(other_store()));
        }
        if table.family.id() != self.family {
            return Ok(None);
        }
        let change = match self.change {
            RowChange::Put { key, value } => {
                TypedChange::Put(table.decode_key(key)?, table.decode_value(key, value)?)
            }
            RowChange::Delete { key } => TypedChange::Delete(table.decode_key(key)?),
            RowChange::DeleteRange { begin, .. } => {
                let error = not_supported("range deletions, as typed rows");
                return Err(error.in_table(table.name()).at_key(begin));
            }
            RowChange::Merge { key, .. } => {
                let error = not_supported("merge operands, as typed rows");
                return Err(error.in_table(table.name()).at_key(key));
            }
        };
        Ok(Some(change))
    }
}

impl fmt::Debug for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates").field("next", &self.next).finish_non_exhaustive()
    }
}

impl fmt::Debug for UpdateBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seqno, rows) = (self.seqno(), self.batch.count());
        f.debug_struct("UpdateBatch").field("seqno", &seqno).field("rows", &rows).finish()
    }
}

impl fmt::Debug for UpdateRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (table, change) = (self.table(), self.change);
        f.debug_struct("UpdateRow").field("table", &table).field("change", &change).finish()
    }
}
