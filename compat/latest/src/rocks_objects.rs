//! The metadata of an object store on RocksDB: what [`ObjectStore`](partita_store::objects::ObjectStore) does on Partita, in the
//! same tables, under the same keys and with the same rows.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use partita::batch::WriteBatch;
use partita::io::{Clock as _, SystemClock};
use partita_bench::objects::{Engine, Figures, Target};
use partita_store::Schema as _;
use partita_store::codec::{CodecError, KeyCodec, Protobuf, ValueCodec};
use partita_store::objects::{
    BlockLocation, BucketInfo, BucketKey, DeletedKey, DeletedKeys, KeyInfo, KeyPath, NewKey,
    ObjectKey, ObjectTables, OpenKeyKey, TransactionInfo, TransactionRow, VolumeInfo, VolumeKey,
};

use crate::rocks_families::{Families, FamiliesOptions, Known};

/// The families: the default one, and the tables of Ozone's metadata manager.
pub fn family_names() -> Vec<&'static str> {
    ["default"].into_iter().chain(ObjectTables::TABLES.iter().copied()).collect()
}

/// The place of each table among the families.
#[derive(Clone, Copy, Debug)]
struct Tables {
    volumes: usize,
    buckets: usize,
    keys: usize,
    open_keys: usize,
    deleted: usize,
    transactions: usize,
}

impl Tables {
    fn of(names: &[&str]) -> Self {
        let place = |table| {
            names.iter().position(|name| *name == table).expect("the schema has this table")
        };
        Self {
            volumes: place("volumeTable"),
            buckets: place("bucketTable"),
            keys: place("keyTable"),
            open_keys: place("openKeyTable"),
            deleted: place("deletedTable"),
            transactions: place("transactionInfoTable"),
        }
    }
}

/// The key of the one row of the table of transactions.
const TRANSACTION_INFO_KEY: &[u8] = b"#TRANSACTIONINFO";

/// An object store on RocksDB. Changes wait in memory until they are written; reads see them.
#[derive(Debug)]
pub struct RocksObjects {
    families: Families,
    ids: Vec<u32>,
    tables: Tables,
    /// What waits to be written: the last change of each key.
    waiting: BTreeMap<(usize, Vec<u8>), Option<Vec<u8>>>,
    last: TransactionInfo,
    volumes: HashMap<String, VolumeInfo>,
    buckets: HashMap<(String, String), BucketInfo>,
}

/// A key and its row.
type Entry = (Vec<u8>, Vec<u8>);

impl RocksObjects {
    /// Opens a store, and makes it if it is not there.
    pub fn open(dir: &Path, options: FamiliesOptions) -> Result<Self, String> {
        let names = family_names();
        let families = Families::open(dir, &names, options)?;
        let tables = Tables::of(&names);
        let ids = (0..names.len()).map(|family| families.id(family)).collect();
        let mut opened = Self {
            families,
            ids,
            tables,
            waiting: BTreeMap::new(),
            last: TransactionInfo::default(),
            volumes: HashMap::new(),
            buckets: HashMap::new(),
        };
        let last = opened.families.get(tables.transactions, TRANSACTION_INFO_KEY)?;
        if let Some(last) = last {
            opened.last = said(TransactionRow::decode(&last))?;
        }
        opened.last.term += 1;
        for (key, row) in opened.rows(tables.volumes)? {
            opened.volumes.insert(said(VolumeKey::decode(&key))?, message(&row)?);
        }
        for (key, row) in opened.rows(tables.buckets)? {
            opened.buckets.insert(said(BucketKey::decode(&key))?, message(&row)?);
        }
        Ok(opened)
    }

    fn rows(&self, family: usize) -> Result<Vec<Entry>, String> {
        let mut rows = Vec::new();
        self.families.walk(family, b"", true, &mut |key, value| {
            rows.push((key.to_vec(), value.to_vec()));
            true
        })?;
        Ok(rows)
    }

    /// Begins a transaction: its number.
    fn begin(&mut self) -> u64 {
        self.last.index += 1;
        self.last.index
    }

    fn put<M>(&mut self, family: usize, key: Vec<u8>, row: &M) -> Result<(), String>
    where
        Protobuf<M>: ValueCodec<Borrowed = M>,
    {
        let mut bytes = Vec::new();
        said(Protobuf::<M>::encode(row, &mut bytes))?;
        self.waiting.insert((family, key), Some(bytes));
        Ok(())
    }

    fn remove(&mut self, family: usize, key: Vec<u8>) {
        self.waiting.insert((family, key), None);
    }

    /// The row of a key, which it is first asked whether it may be there, as Ozone does.
    fn looked_for(&mut self, family: usize, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
        if let Some(waiting) = self.waiting.get(&(family, key.to_vec())) {
            return Ok(waiting.clone());
        }
        match self.families.may_exist(family, key) {
            Known::Absent => Ok(None),
            Known::Present(row) => Ok(Some(row)),
            Known::No => self.families.get(family, key),
        }
    }

    /// The row of a key.
    fn read(&mut self, family: usize, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
        match self.waiting.get(&(family, key.to_vec())) {
            Some(waiting) => Ok(waiting.clone()),
            None => self.families.get(family, key),
        }
    }

    fn bucket(&mut self, path: KeyPath<'_>) -> Result<&mut BucketInfo, String> {
        let name = (path.volume.to_owned(), path.bucket.to_owned());
        self.buckets
            .get_mut(&name)
            .ok_or_else(|| format!("there is no bucket /{}/{}", path.volume, path.bucket))
    }

    fn put_bucket(&mut self, path: KeyPath<'_>, update_id: u64) -> Result<(), String> {
        let bucket = self.bucket(path)?;
        bucket.update_id = update_id;
        let bucket = bucket.clone();
        let key = encoded::<BucketKey>((path.volume, path.bucket));
        self.put(self.tables.buckets, key, &bucket)
    }

    /// Puts a key that is no more among the deleted ones, and takes it off its bucket.
    fn put_deleted(&mut self, path: KeyPath<'_>, info: KeyInfo) -> Result<(), String> {
        let bucket = self.bucket(path)?;
        bucket.used_bytes = bucket.used_bytes.saturating_sub(info.data_size);
        bucket.key_count = bucket.key_count.saturating_sub(1);
        let key = encoded::<DeletedKey>((path, info.object_id));
        self.put(self.tables.deleted, key, &DeletedKeys { keys: vec![info] })
    }
}

impl Target for RocksObjects {
    fn create_bucket(&mut self, volume: &str, bucket: &str) -> Result<(), String> {
        let now = now_unix_millis();
        if !self.volumes.contains_key(volume) {
            let id = self.begin();
            let info = VolumeInfo {
                volume: volume.to_owned(),
                owner: volume.to_owned(),
                creation_unix_millis: now,
                object_id: id,
                update_id: id,
            };
            self.put(self.tables.volumes, encoded::<VolumeKey>(volume), &info)?;
            self.volumes.insert(volume.to_owned(), info);
        }
        let name = (volume.to_owned(), bucket.to_owned());
        if !self.buckets.contains_key(&name) {
            let id = self.begin();
            let info = BucketInfo {
                volume: volume.to_owned(),
                bucket: bucket.to_owned(),
                creation_unix_millis: now,
                object_id: id,
                update_id: id,
                used_bytes: 0,
                key_count: 0,
            };
            self.put(self.tables.buckets, encoded::<BucketKey>((volume, bucket)), &info)?;
            self.buckets.insert(name, info);
        }
        Ok(())
    }

    fn allocate(&mut self, path: KeyPath<'_>, new: &NewKey) -> Result<u64, String> {
        self.bucket(path)?;
        self.looked_for(self.tables.keys, &encoded::<ObjectKey>(path))?;
        let (id, now) = (self.begin(), now_unix_millis());
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
        self.put(self.tables.open_keys, encoded::<OpenKeyKey>((path, id)), &info)?;
        Ok(id)
    }

    fn commit(&mut self, path: KeyPath<'_>, client: u64, data_size: u64) -> Result<(), String> {
        let open_key = encoded::<OpenKeyKey>((path, client));
        let open = self.read(self.tables.open_keys, &open_key)?;
        let mut info: KeyInfo = message(&open.ok_or("the key is not open")?)?;
        let key = encoded::<ObjectKey>(path);
        let old = self.looked_for(self.tables.keys, &key)?;
        let (id, now) = (self.begin(), now_unix_millis());
        (info.data_size, info.modification_unix_millis, info.update_id) = (data_size, now, id);
        self.remove(self.tables.open_keys, open_key);
        self.put(self.tables.keys, key, &info)?;
        let bucket = self.bucket(path)?;
        bucket.used_bytes = bucket.used_bytes.saturating_add(data_size);
        bucket.key_count += 1;
        if let Some(old) = old {
            self.put_deleted(path, message(&old)?)?;
        }
        self.put_bucket(path, id)
    }

    fn lookup(&mut self, path: KeyPath<'_>) -> Result<Option<u64>, String> {
        let row = self.read(self.tables.keys, &encoded::<ObjectKey>(path))?;
        row.map(|row| Ok(message::<KeyInfo>(&row)?.data_size)).transpose()
    }

    fn list(
        &mut self,
        prefix: KeyPath<'_>,
        start_after: &str,
        limit: usize,
    ) -> Result<usize, String> {
        let prefix_bytes = encoded::<ObjectKey>(prefix);
        let after = encoded::<ObjectKey>(KeyPath { key: start_after, ..prefix });
        let from = after.clone().max(prefix_bytes.clone());
        let is_listed = |key: &[u8]| key > &after[..] && key.starts_with(&prefix_bytes);
        let family = self.tables.keys;
        let waiting = self.waiting.range((family, from.clone())..(family + 1, Vec::new()));
        let mut waiting = waiting.filter(|((_, key), _)| is_listed(key)).peekable();
        // Rows are read whole, as a listing shows them.
        let (mut listed, mut wrong) = (Vec::new(), None);
        let mut take = |row: &[u8]| match message::<KeyInfo>(row) {
            Ok(info) => listed.push(info),
            Err(error) => wrong = Some(error),
        };
        let mut count = 0;
        self.families.walk(family, &from, false, &mut |key, stored| {
            if count >= limit || !key.starts_with(&prefix_bytes) {
                return false;
            }
            if key == &after[..] {
                return true;
            }
            while let Some(((_, _), row)) = waiting.next_if(|((_, next), _)| &next[..] < key) {
                row.iter().for_each(|row| take(row));
                count += usize::from(row.is_some());
            }
            match waiting.next_if(|((_, next), _)| next == key) {
                Some((_, None)) => {}
                Some((_, Some(row))) => {
                    take(row);
                    count += 1;
                }
                None => {
                    take(stored);
                    count += 1;
                }
            }
            true
        })?;
        for (_, row) in waiting {
            row.iter().for_each(|row| take(row));
        }
        match wrong {
            Some(error) => Err(error),
            None => Ok(listed.len().min(limit)),
        }
    }

    fn delete(&mut self, path: KeyPath<'_>) -> Result<(), String> {
        let key = encoded::<ObjectKey>(path);
        let row = self.looked_for(self.tables.keys, &key)?;
        let info = message(&row.ok_or("there is no such key")?)?;
        let id = self.begin();
        self.remove(self.tables.keys, key);
        self.put_deleted(path, info)?;
        self.put_bucket(path, id)
    }

    fn purge(&mut self, limit: usize) -> Result<usize, String> {
        let family = self.tables.deleted;
        let (mut keys, mut purged, mut wrong) = (Vec::new(), 0, None);
        let waiting = &self.waiting;
        self.families.walk(family, b"", false, &mut |key, row| {
            if keys.len() >= limit {
                return false;
            }
            // One that was purged already may still be there, until the batch is written.
            if !waiting.contains_key(&(family, key.to_vec())) {
                match message::<DeletedKeys>(row) {
                    Ok(row) => purged += row.keys.len(),
                    Err(error) => wrong = Some(error),
                }
                keys.push(key.to_vec());
            }
            wrong.is_none()
        })?;
        if let Some(error) = wrong {
            return Err(error);
        }
        if !keys.is_empty() {
            self.begin();
        }
        keys.into_iter().for_each(|key| self.remove(family, key));
        Ok(purged)
    }

    fn write(&mut self) -> Result<(), String> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut last = Vec::new();
        said(TransactionRow::encode(&self.last, &mut last))?;
        self.waiting.insert((self.tables.transactions, TRANSACTION_INFO_KEY.to_vec()), Some(last));
        let mut batch = WriteBatch::new();
        for ((family, key), change) in &self.waiting {
            let id = self.ids[*family];
            let added = match change {
                Some(row) => batch.put_cf(id, key, row),
                None => batch.delete_cf(id, key),
            };
            added.map_err(|error| error.to_string())?;
        }
        self.families.write(batch.as_bytes())?;
        self.waiting.clear();
        Ok(())
    }

    fn open_keys(&mut self) -> Result<Vec<(String, u64)>, String> {
        let rows = self.rows(self.tables.open_keys)?;
        rows.iter()
            .map(|(key, _)| {
                let (path, client) = said(OpenKeyKey::decode(key))?;
                Ok((path.key, client))
            })
            .collect()
    }
}

impl Engine for RocksObjects {
    fn figures(&self) -> Figures {
        let [hits, reads, inserted_bytes] = self.families.lookups();
        let mut cached_bytes = self.families.charged();
        let amounts = self.families.amounts();
        // What readers hold is no part of any bound; it is shown, all the same.
        cached_bytes.other += amounts.reader_bytes;
        Figures {
            hits,
            reads,
            inserted_bytes,
            cached_bytes,
            memtable_bytes: amounts.memtable_bytes,
            debt_bytes: amounts.debt_bytes,
            table_bytes: amounts.table_bytes,
            batch_bytes: amounts.batch_bytes,
            written_bytes: amounts.written_bytes,
            stall_micros: amounts.stall_micros,
        }
    }

    fn compact(&mut self) -> Result<(), String> {
        self.families.compact()
    }

    fn settle(&mut self) -> Result<(), String> {
        self.write()?;
        self.families.settle()
    }
}

fn now_unix_millis() -> u64 {
    SystemClock.unix_micros() / 1000
}

/// Blocks that a container takes, as in Partita's store.
const CONTAINER_BLOCKS: u64 = 1000;

fn block(transaction: u64, length: u64) -> BlockLocation {
    let container_id = 1 + transaction / CONTAINER_BLOCKS;
    BlockLocation { container_id, local_id: transaction, length }
}

fn encoded<K: KeyCodec>(key: K::Ref<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    K::encode(key, &mut bytes);
    bytes
}

fn message<M>(row: &[u8]) -> Result<M, String>
where
    Protobuf<M>: ValueCodec<Value = M>,
{
    said(Protobuf::<M>::decode(row))
}

fn said<T>(done: Result<T, CodecError>) -> Result<T, String> {
    done.map_err(|error| error.to_string())
}
