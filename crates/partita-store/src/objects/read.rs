use std::collections::BTreeMap;
use std::ops::Bound;

use super::error::ObjectResult;
use super::keys::{KeyPath, KeyPathBuf, ObjectKey};
use super::rows::KeyInfo;
use super::store::ObjectStore;
use crate::Result;
use crate::batch::Change;
use crate::table::encoded;

/// Which keys of a bucket a listing shows.
#[derive(Clone, Copy, Debug)]
pub struct Listing<'l> {
    /// What their names begin with; empty for all.
    pub prefix: &'l str,
    /// Only names behind it: the last one of the listing before.
    pub start_after: Option<&'l str>,
    /// Most keys.
    pub limit: usize,
}

impl Default for Listing<'_> {
    /// All keys.
    fn default() -> Self {
        Self { prefix: "", start_after: None, limit: usize::MAX }
    }
}

impl ObjectStore {
    /// A key; `None` if it is not there.
    ///
    /// * Errors: those of [`Table::get`](crate::Table::get).
    pub fn lookup(&self, path: KeyPath<'_>) -> ObjectResult<Option<KeyInfo>> {
        // What waits is looked at under the lock, files are not. What does not wait is in the table by then.
        let pending = self.buffers().pending(&self.tables.keys, path)?;
        match pending {
            Some(key) => Ok(key),
            None => Ok(self.tables.keys.get(path)?),
        }
    }

    /// Keys of a bucket, by name. What is read does not enter the cache.
    ///
    /// * Errors: [`ObjectError::NotFound`](super::ObjectError::NotFound) if there is no such bucket; those of walks.
    pub fn list(
        &self,
        volume: &str,
        bucket: &str,
        listing: &Listing<'_>,
    ) -> ObjectResult<Vec<KeyInfo>> {
        let table = &self.tables.keys;
        let prefix = KeyPath { volume, bucket, key: listing.prefix };
        let after = listing.start_after.map(|key| KeyPath { volume, bucket, key });
        // Both of one moment: what is written between the two is in the first, and counts there.
        let (mut pending, stored) = {
            let mut buffers = self.buffers();
            buffers.bucket_of(prefix)?;
            let pending = buffers.pending_with_prefix(table, &encoded::<ObjectKey>(prefix));
            let after = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
            let scan = table.scan().prefix(prefix).range(after).fill_cache(false);
            (pending, scan.start()?)
        };
        if let Some(after) = after {
            let after = encoded::<ObjectKey>(after);
            pending.retain(|key, _| *key > after);
        }
        Ok(self.merge(stored, pending, listing.limit)?)
    }

    /// Stored keys and those that wait, which count where both have one.
    fn merge(
        &self,
        stored: impl Iterator<Item = Result<(KeyPathBuf, KeyInfo)>>,
        mut pending: BTreeMap<Vec<u8>, Change>,
        limit: usize,
    ) -> Result<Vec<KeyInfo>> {
        let mut keys = Vec::new();
        for row in stored {
            let (path, info) = row?;
            let path = encoded::<ObjectKey>(path.as_path());
            // Those that come before it, and what becomes of it.
            while pending.first_key_value().is_some_and(|(key, _)| *key < path) {
                self.take(pending.pop_first(), &mut keys)?;
            }
            match pending.remove_entry(&path) {
                Some(own) => self.take(Some(own), &mut keys)?,
                None => keys.push(info),
            }
            if keys.len() >= limit {
                break;
            }
        }
        while keys.len() < limit && !pending.is_empty() {
            self.take(pending.pop_first(), &mut keys)?;
        }
        keys.truncate(limit);
        Ok(keys)
    }

    /// Adds a key that waits to be written, unless it waits to be removed.
    fn take(&self, waiting: Option<(Vec<u8>, Change)>, keys: &mut Vec<KeyInfo>) -> Result<()> {
        if let Some((key, Some(value))) = waiting {
            keys.push(self.tables.keys.decode_value(&key, &value)?);
        }
        Ok(())
    }
}
