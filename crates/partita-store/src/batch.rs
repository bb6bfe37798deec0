use std::collections::BTreeMap;
use std::sync::Arc;

use partita::batch::WriteBatch;
use partita::db::WriteOptions;

use crate::codec::{KeyCodec, ValueCodec};
use crate::error::{Error, Result};
use crate::stats::Counters;
use crate::store::Store;
use crate::table::{Table, encoded};

/// Changes of any tables of a store that take effect together, or not at all. [`Store::batch`] gives it.
///
/// For each key of a table the last change counts, as in Ozone's batches: the others are not written. A removal is written
/// also if the key was set in the same batch, since it may have been there before.
///
/// ```
/// # use std::sync::Arc;
/// # use partita::io::MemoryFileSystem;
/// # use partita_store::codec::Utf8;
/// # use partita_store::StoreBuilder;
/// use partita_store::Schema;
///
/// # partita_store::schema! { struct Shop { users: Table<Utf8, Utf8> = "users", carts: Table<Utf8, Utf8> = "carts" } }
/// # let disk = Arc::new(MemoryFileSystem::new());
/// # let shop: Shop = StoreBuilder::new("/shop.db").file_system(disk).open()?;
/// let mut batch = shop.store().batch();
/// batch.put(&shop.users, "anne", "Ann")?;
/// batch.put(&shop.users, "anne", "Anne")?;
/// batch.delete(&shop.carts, "anne")?;
/// assert_eq!(batch.len(), 2);
/// assert_eq!(batch.get(&shop.users, "anne")?.as_deref(), Some("Anne"));
/// assert_eq!(shop.users.get("anne")?, None);
/// shop.store().write(&batch)?;
/// assert_eq!(shop.users.get("anne")?.as_deref(), Some("Anne"));
/// # Ok::<(), partita_store::Error>(())
/// ```
#[derive(Clone)]
pub struct StoreBatch {
    store: Store,
    /// By the number of the column family.
    tables: BTreeMap<u32, TableChanges>,
    /// Changes of all tables.
    len: usize,
}

/// What becomes of keys of a table, in their order: it is the cheapest one to write.
#[derive(Clone)]
struct TableChanges {
    name: Arc<str>,
    counters: Arc<Counters>,
    changes: BTreeMap<Vec<u8>, Change>,
}

/// The value that a key gets; `None`: it is removed.
pub(crate) type Change = Option<Vec<u8>>;

impl StoreBatch {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, tables: BTreeMap::new(), len: 0 }
    }

    /// Sets the value of a key.
    ///
    /// * Errors: `InvalidArgument` if the value cannot be encoded, or the table is one of another store.
    pub fn put<K: KeyCodec, V: ValueCodec>(
        &mut self,
        table: &Table<K, V>,
        key: K::Ref<'_>,
        value: &V::Borrowed,
    ) -> Result<()> {
        let key = encoded::<K>(key);
        let value = table.encode_value(&key, value)?;
        self.change(table, key, Some(value))
    }

    /// Removes a key, whether it is there or not.
    ///
    /// * Errors: `InvalidArgument` if the table is one of another store.
    pub fn delete<K: KeyCodec, V: ValueCodec>(
        &mut self,
        table: &Table<K, V>,
        key: K::Ref<'_>,
    ) -> Result<()> {
        self.change(table, encoded::<K>(key), None)
    }

    /// The value that a key will have when the batch is written.
    ///
    /// * Errors: those of [`Table::get`].
    pub fn get<K: KeyCodec, V: ValueCodec>(
        &self,
        table: &Table<K, V>,
        key: K::Ref<'_>,
    ) -> Result<Option<V::Value>> {
        match self.pending(table, key)? {
            Some(change) => Ok(change),
            None => table.get(key),
        }
    }

    /// What the batch makes of a key: `None` if it leaves it as it is, `Some(None)` if it removes it.
    ///
    /// * Errors: `Corruption` if what was put by another codec cannot be decoded.
    pub fn pending<K: KeyCodec, V: ValueCodec>(
        &self,
        table: &Table<K, V>,
        key: K::Ref<'_>,
    ) -> Result<Option<Option<V::Value>>> {
        let Some(changes) = self.changes(table) else { return Ok(None) };
        let key = encoded::<K>(key);
        let Some(change) = changes.get(&key) else { return Ok(None) };
        let value = change.as_ref().map(|value| table.decode_value(&key, value));
        Ok(Some(value.transpose()?))
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Changes of one table, in the order of keys.
    pub(crate) fn changes<K, V>(&self, table: &Table<K, V>) -> Option<&BTreeMap<Vec<u8>, Change>> {
        self.tables.get(&table.family.id()).map(|table| &table.changes)
    }

    /// Keys that it changes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets all changes.
    pub fn clear(&mut self) {
        self.tables.clear();
        self.len = 0;
    }

    /// Puts the changes of an earlier batch of the same store below these: where both change a key, these count.
    ///
    /// * Errors: `InvalidArgument` if it is one of another store.
    pub fn follow(&mut self, earlier: &Self) -> Result<()> {
        if !earlier.store.is_same(&self.store) {
            return Err(other_store().into());
        }
        for (family, table) in &earlier.tables {
            let own = self
                .tables
                .entry(*family)
                .or_insert_with(|| TableChanges { changes: BTreeMap::new(), ..table.clone() });
            for (key, change) in &table.changes {
                if !own.changes.contains_key(key) {
                    own.changes.insert(key.clone(), change.clone());
                    self.len += 1;
                }
            }
        }
        Ok(())
    }

    fn change<K: KeyCodec, V: ValueCodec>(
        &mut self,
        table: &Table<K, V>,
        key: Vec<u8>,
        change: Change,
    ) -> Result<()> {
        if !table.store.is_same(&self.store) {
            return Err(table.error(other_store()).at_key(&key));
        }
        let changes = self.tables.entry(table.family.id()).or_insert_with(|| TableChanges {
            name: table.name().into(),
            counters: Arc::clone(&table.counters),
            changes: BTreeMap::new(),
        });
        if changes.changes.insert(key, change).is_none() {
            self.len += 1;
        }
        Ok(())
    }

    /// Writes the changes.
    pub(crate) fn write(&self, options: &WriteOptions) -> Result<()> {
        let mut records = WriteBatch::new();
        for (family, table) in &self.tables {
            for (key, change) in &table.changes {
                let added = match change {
                    Some(value) => records.put_cf(*family, key, value),
                    None => records.delete_cf(*family, key),
                };
                added.map_err(|error| Error::from(error).in_table(&table.name).at_key(key))?;
            }
        }
        self.store.db().write(records, options)?;
        self.tables.values().for_each(TableChanges::count);
        Ok(())
    }
}

/// The error of a batch and a table, store or batch that do not belong together.
pub(crate) fn other_store() -> partita::Error {
    partita::Error::invalid_argument("the batch is one of another store")
}

impl TableChanges {
    fn count(&self) {
        let (mut puts, mut deletes, mut bytes) = (0, 0, 0);
        for (key, change) in &self.changes {
            match change {
                Some(_) => puts += 1,
                None => deletes += 1,
            }
            bytes += (key.len() + change.as_ref().map_or(0, Vec::len)) as u64;
        }
        self.counters.wrote(puts, deletes, bytes);
    }
}

impl std::fmt::Debug for StoreBatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreBatch").field("len", &self.len).finish_non_exhaustive()
    }
}
