//! Changes that wait to be written: those that operations add to, and those that are being written.
//!
//! ```text
//! operations ──> current ──flush──> writing ──one batch──> tables
//!                   ^                  |
//!                   '---- if it fails, below what came meanwhile
//! reads:  current, then writing, then the table
//! ```

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::rows::{BucketInfo, VolumeInfo};
use super::transaction::TransactionInfo;
use crate::batch::Change;
use crate::codec::{KeyCodec, ValueCodec};
use crate::{MayExist, Result, StoreBatch, Table};

/// Both batches, and what is always in memory.
pub(super) struct Buffers {
    pub(super) current: StoreBatch,
    /// Transactions in `current`.
    pub(super) transactions: u64,
    pub(super) writing: Option<Arc<StoreBatch>>,
    /// The last transaction that was begun.
    pub(super) last: TransactionInfo,
    pub(super) volumes: HashMap<String, VolumeInfo>,
    /// By volume and name.
    pub(super) buckets: HashMap<(String, String), BucketInfo>,
}

impl Buffers {
    /// Begins a transaction: its number, which is that of what it makes.
    pub(super) fn begin(&mut self) -> u64 {
        self.last.index += 1;
        self.transactions += 1;
        self.last.index
    }

    /// What waits to become of a key: `None` if it stays as it is, `Some(None)` if it goes.
    pub(super) fn pending<K: KeyCodec, V: ValueCodec>(
        &self,
        table: &Table<K, V>,
        key: K::Ref<'_>,
    ) -> Result<Option<Option<V::Value>>> {
        match (self.current.pending(table, key)?, &self.writing) {
            (None, Some(writing)) => writing.pending(table, key),
            (found, _) => Ok(found),
        }
    }

    /// The row of a key. Of the table it is asked first whether the key may be there, as Ozone does.
    pub(super) fn get<K: KeyCodec, V: ValueCodec>(
        &self,
        table: &Table<K, V>,
        key: K::Ref<'_>,
    ) -> Result<Option<V::Value>> {
        if let Some(pending) = self.pending(table, key)? {
            return Ok(pending);
        }
        match table.may_exist(key)? {
            MayExist::Absent => Ok(None),
            MayExist::Present(value) => Ok(Some(value)),
            MayExist::Unknown => table.get(key),
        }
    }

    /// What waits to become of the keys that begin with these bytes, in their order.
    pub(super) fn pending_with_prefix<K, V>(
        &self,
        table: &Table<K, V>,
        prefix: &[u8],
    ) -> BTreeMap<Vec<u8>, Change> {
        let mut all = BTreeMap::new();
        // What came later counts.
        for batch in self.writing.as_deref().into_iter().chain([&self.current]) {
            let Some(changes) = batch.changes(table) else { continue };
            let range = (Bound::Included(prefix), Bound::Unbounded);
            let changes = changes.range::<[u8], _>(range);
            let changes = changes.take_while(|(key, _)| key.starts_with(prefix));
            all.extend(changes.map(|(key, change)| (key.clone(), change.clone())));
        }
        all
    }
}
