//! Keys from their allocation to the end of their blocks.
//!
//! ```text
//! allocate        openKeyTable + row
//! allocate_block  openKeyTable   row with one more block
//! commit          openKeyTable - row    keyTable + row    bucketTable usage    deletedTable + what was overwritten
//! rename          keyTable - row, + row under the new name
//! delete          keyTable - row    bucketTable usage    deletedTable + row
//! purge_deleted   deletedTable - rows, from the front
//! ```

use super::buffer::Buffers;
use super::error::{ObjectError, ObjectResult};
use super::keys::{KeyPath, KeyPathBuf};
use super::rows::{BlockLocation, DeletedKeys, KeyInfo, KeyValue};
use super::store::{ObjectStore, lock};

/// What a new key begins with.
#[derive(Clone, Debug, Default)]
pub struct NewKey {
    /// Whose it is.
    pub owner: String,
    /// What its owner notes.
    pub metadata: Vec<KeyValue>,
    /// Bytes of its first block; more are allocated as they are needed.
    pub block_length: u64,
}

/// A key that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenKey {
    /// Where it will be.
    pub path: KeyPathBuf,
    /// Who writes it: several may write keys of one name, and each commits its own.
    pub client_id: u64,
    /// Whether there was a key of that name when it was opened.
    pub overwrites: bool,
}

/// What a purge took away.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Purged {
    /// Rows of the table of deleted keys.
    pub rows: usize,
    /// Keys, whose blocks nobody can find any more.
    pub keys: Vec<KeyInfo>,
}

impl ObjectStore {
    /// Opens a key to be written, with its first block.
    ///
    /// * Errors: [`ObjectError::NotFound`] if there is no such bucket; [`ObjectError::InvalidName`] for an empty key; those
    ///   of reading.
    pub fn allocate(&self, path: KeyPath<'_>, new: &NewKey) -> ObjectResult<OpenKey> {
        if path.key.is_empty() {
            return Err(ObjectError::InvalidName(path.key.to_owned()));
        }
        self.transaction(|buffers, now| {
            buffers.bucket_of(path)?;
            let overwrites = buffers.get(&self.tables.keys, path)?.is_some();
            let id = buffers.begin();
            let info = KeyInfo {
                volume: path.volume.to_owned(),
                bucket: path.bucket.to_owned(),
                key: path.key.to_owned(),
                data_size: 0,
                blocks: vec![block(id, new.block_length)],
                creation_unix_millis: now,
                modification_unix_millis: now,
                object_id: id,
                update_id: id,
                owner: new.owner.clone(),
                metadata: new.metadata.clone(),
            };
            buffers.current.put(&self.tables.open_keys, (path, id), &info)?;
            Ok(OpenKey { path: path.to_buf(), client_id: id, overwrites })
        })
    }

    /// Allocates a further block for an open key.
    ///
    /// * Errors: [`ObjectError::NotFound`] if the key is not open.
    pub fn allocate_block(&self, open: &OpenKey, length: u64) -> ObjectResult<BlockLocation> {
        let row = (open.path.as_path(), open.client_id);
        self.transaction(|buffers, now| {
            let mut info = self.open_key(buffers, open)?;
            let id = buffers.begin();
            let block = block(id, length);
            info.blocks.push(block.clone());
            (info.modification_unix_millis, info.update_id) = (now, id);
            buffers.current.put(&self.tables.open_keys, row, &info)?;
            Ok(block)
        })
    }

    /// Makes an open key one that is read under its name. What had the name before is deleted.
    ///
    /// * `data_size`: bytes that were written.
    /// * Returns the key.
    /// * Errors: [`ObjectError::NotFound`] if it is not open; those of reading.
    pub fn commit(&self, open: &OpenKey, data_size: u64) -> ObjectResult<KeyInfo> {
        let path = open.path.as_path();
        self.transaction(|buffers, now| {
            let mut info = self.open_key(buffers, open)?;
            let old = buffers.get(&self.tables.keys, path)?;
            buffers.bucket_of(path)?;
            let id = buffers.begin();
            (info.data_size, info.modification_unix_millis, info.update_id) = (data_size, now, id);
            buffers.current.delete(&self.tables.open_keys, (path, open.client_id))?;
            buffers.current.put(&self.tables.keys, path, &info)?;
            let bucket = buffers.bucket_of(path)?;
            bucket.used_bytes = bucket.used_bytes.saturating_add(data_size);
            bucket.key_count += 1;
            if let Some(old) = old {
                self.put_deleted(buffers, path, old)?;
            }
            self.put_bucket(buffers, path, id)?;
            Ok(info)
        })
    }

    /// Gives a key another name in its bucket.
    ///
    /// * Errors: [`ObjectError::NotFound`], [`ObjectError::AlreadyExists`], [`ObjectError::InvalidName`]; those of reading.
    pub fn rename(&self, path: KeyPath<'_>, to: &str) -> ObjectResult<()> {
        if to.is_empty() {
            return Err(ObjectError::InvalidName(to.to_owned()));
        }
        let new_path = KeyPath { key: to, ..path };
        self.transaction(|buffers, now| {
            let mut info = self.key(buffers, path)?;
            if buffers.get(&self.tables.keys, new_path)?.is_some() {
                let what = format!("key /{}/{}/{to}", path.volume, path.bucket);
                return Err(ObjectError::AlreadyExists(what));
            }
            let id = buffers.begin();
            to.clone_into(&mut info.key);
            (info.modification_unix_millis, info.update_id) = (now, id);
            buffers.current.delete(&self.tables.keys, path)?;
            buffers.current.put(&self.tables.keys, new_path, &info)?;
            Ok(())
        })
    }

    /// Deletes a key. Its blocks are there until [`ObjectStore::purge_deleted`] gives them out.
    ///
    /// * Errors: [`ObjectError::NotFound`]; those of reading.
    pub fn delete(&self, path: KeyPath<'_>) -> ObjectResult<()> {
        self.transaction(|buffers, _| {
            let info = self.key(buffers, path)?;
            buffers.bucket_of(path)?;
            let id = buffers.begin();
            buffers.current.delete(&self.tables.keys, path)?;
            self.put_deleted(buffers, path, info)?;
            self.put_bucket(buffers, path, id)?;
            Ok(())
        })
    }

    /// Takes rows from the front of the table of deleted keys: what is written of it, as Ozone's service does.
    ///
    /// * `limit`: most rows.
    /// * Errors: those of walks.
    pub fn purge_deleted(&self, limit: usize) -> ObjectResult<Purged> {
        let _purging = lock(&self.purging);
        let table = &self.tables.deleted;
        let mut rows = Vec::new();
        for row in table.scan().fill_cache(false).start()? {
            if rows.len() >= limit {
                break;
            }
            let ((path, object_id), keys) = row?;
            // One that was purged already may still be there, until the batch is written.
            if self.buffers().pending(table, (path.as_path(), object_id))?.is_none() {
                rows.push(((path, object_id), keys));
            }
        }
        if rows.is_empty() {
            return Ok(Purged::default());
        }
        self.transaction(|buffers, _| {
            buffers.begin();
            let mut purged = Purged { rows: rows.len(), keys: Vec::new() };
            for ((path, object_id), keys) in rows {
                buffers.current.delete(table, (path.as_path(), object_id))?;
                purged.keys.extend(keys.keys);
            }
            Ok(purged)
        })
    }

    fn open_key(&self, buffers: &Buffers, open: &OpenKey) -> ObjectResult<KeyInfo> {
        let path = open.path.as_path();
        let found = match buffers.pending(&self.tables.open_keys, (path, open.client_id))? {
            Some(pending) => pending,
            None => self.tables.open_keys.get((path, open.client_id))?,
        };
        found.ok_or_else(|| ObjectError::no_key("open key", path))
    }

    fn key(&self, buffers: &Buffers, path: KeyPath<'_>) -> ObjectResult<KeyInfo> {
        let found = buffers.get(&self.tables.keys, path)?;
        found.ok_or_else(|| ObjectError::no_key("key", path))
    }

    /// Puts a key that is no more among the deleted ones, and takes it off its bucket.
    fn put_deleted(
        &self,
        buffers: &mut Buffers,
        path: KeyPath<'_>,
        info: KeyInfo,
    ) -> ObjectResult<()> {
        let bucket = buffers.bucket_of(path)?;
        bucket.used_bytes = bucket.used_bytes.saturating_sub(info.data_size);
        bucket.key_count = bucket.key_count.saturating_sub(1);
        let object_id = info.object_id;
        let row = DeletedKeys { keys: vec![info] };
        Ok(buffers.current.put(&self.tables.deleted, (path, object_id), &row)?)
    }

    fn put_bucket(
        &self,
        buffers: &mut Buffers,
        path: KeyPath<'_>,
        update_id: u64,
    ) -> ObjectResult<()> {
        let bucket = buffers.bucket_of(path)?;
        bucket.update_id = update_id;
        let bucket = bucket.clone();
        Ok(buffers.current.put(&self.tables.buckets, (path.volume, path.bucket), &bucket)?)
    }
}

/// Blocks that a container takes.
const CONTAINER_BLOCKS: u64 = 1000;

/// A block of its own for a transaction.
fn block(transaction: u64, length: u64) -> BlockLocation {
    BlockLocation {
        container_id: 1 + transaction / CONTAINER_BLOCKS,
        local_id: transaction,
        length,
    }
}
