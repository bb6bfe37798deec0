use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use partita::batch::WriteBatch;
use partita::db::{ColumnFamily, PinnedValue, Presence, ReadOptions, WriteOptions};
use partita::table::ReadContext;

use crate::codec::{KeyCodec, ValueCodec};
use crate::error::{Error, Result};
use crate::scan::Scan;
use crate::stats::{Counters, ReadKind, TableStats};
use crate::store::Store;

/// A table of a store: keys of codec `K`, values of codec `V`, in a column family of its own.
///
/// Cheap to clone; any number of threads may use it at once. A [`Schema`](crate::Schema) has it, or
/// [`Store::table`] gives it. Errors name the table and, where there is one, the key.
pub struct Table<K, V> {
    pub(crate) store: Store,
    pub(crate) family: ColumnFamily,
    pub(crate) counters: Arc<Counters>,
    codecs: PhantomData<fn() -> (K, V)>,
}

/// What is known of a key without a look at files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MayExist<T> {
    /// It is certainly not there.
    Absent,
    /// Only files can tell.
    Unknown,
    /// It is there, with this value.
    Present(T),
}

impl<T> MayExist<T> {
    /// Whether the key may be there.
    pub fn may_exist(&self) -> bool {
        !matches!(self, Self::Absent)
    }
}

impl<K: KeyCodec, V: ValueCodec> Table<K, V> {
    pub(crate) fn new(store: Store, family: ColumnFamily, counters: Arc<Counters>) -> Self {
        Self { store, family, counters, codecs: PhantomData }
    }

    /// The name of the column family.
    pub fn name(&self) -> &str {
        self.family.name()
    }

    /// The column family.
    pub fn family(&self) -> &ColumnFamily {
        &self.family
    }

    /// The store that it is in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The value of a key; `None` if it has none.
    ///
    /// * Errors: those of [`Db::get`](partita::db::Db::get); `Corruption` if the value cannot be decoded.
    pub fn get(&self, key: K::Ref<'_>) -> Result<Option<V::Value>> {
        self.get_with(key, &ReadOptions::default())
    }

    /// The same with options: at a snapshot, from memory only, without an effect on the cache.
    ///
    /// * Errors: also `Incomplete`, if the read was limited to memory and needs more.
    pub fn get_with(&self, key: K::Ref<'_>, options: &ReadOptions) -> Result<Option<V::Value>> {
        let key = encoded::<K>(key);
        let found = self.read(&key, options)?;
        found.map(|value| self.decode_value(&key, &value)).transpose()
    }

    /// The value's bytes, where they lie.
    ///
    /// * Errors: those of [`Table::get_with`], but that nothing is decoded.
    pub fn get_bytes(&self, key: K::Ref<'_>, options: &ReadOptions) -> Result<Option<PinnedValue>> {
        self.read(&encoded::<K>(key), options)
    }

    /// Whether a key is there.
    ///
    /// * Errors: those of [`Table::get`], but that nothing is decoded.
    pub fn contains(&self, key: K::Ref<'_>) -> Result<bool> {
        Ok(self.get_bytes(key, &ReadOptions::default())?.is_some())
    }

    /// What is known of a key without a look at files: memtables, and filters and blocks that are in memory.
    ///
    /// * Returns [`MayExist::Absent`] only if the key is certainly not there.
    /// * Errors: those of [`Table::get`], but nothing is read.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita_store::codec::Utf8;
    /// # use partita_store::StoreBuilder;
    /// use partita_store::MayExist;
    ///
    /// # partita_store::schema! { struct Shop { users: Table<Utf8, Utf8> = "users" } }
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let shop: Shop = StoreBuilder::new("/shop.db").file_system(disk).open()?;
    /// shop.users.put("anne", "Anne")?;
    /// assert_eq!(shop.users.may_exist("anne")?, MayExist::Present("Anne".to_owned()));
    /// assert_eq!(shop.users.may_exist("bob")?, MayExist::Absent);
    /// # Ok::<(), partita_store::Error>(())
    /// ```
    pub fn may_exist(&self, key: K::Ref<'_>) -> Result<MayExist<V::Value>> {
        let key = encoded::<K>(key);
        let presence = self.counters.read(|ctx| {
            let options = ReadOptions::default();
            let presence = self.store.db().may_exist_with(&self.family, &key, &options, ctx);
            let kind = match &presence {
                Ok(Presence::Absent) => ReadKind::RuledOut,
                Ok(Presence::Present(_)) => ReadKind::KnownPresent,
                Ok(Presence::Unknown) => ReadKind::Unknown,
                Err(_) => ReadKind::Failed,
            };
            (kind, presence)
        });
        match presence.map_err(|error| self.error(error).at_key(&key))? {
            Presence::Absent => Ok(MayExist::Absent),
            Presence::Unknown => Ok(MayExist::Unknown),
            Presence::Present(value) => Ok(MayExist::Present(self.decode_value(&key, &value)?)),
        }
    }

    /// Sets the value of a key. It survives the end of the process; a power cut only with the next sync.
    ///
    /// * Errors: those of [`Db::write`](partita::db::Db::write); `InvalidArgument` if the value cannot be encoded.
    pub fn put(&self, key: K::Ref<'_>, value: &V::Borrowed) -> Result<()> {
        let key = encoded::<K>(key);
        let value = self.encode_value(&key, value)?;
        let mut batch = WriteBatch::new();
        batch
            .put_cf(self.family.id(), &key, &value)
            .and_then(|()| self.store.db().write(batch, &WriteOptions::default()))
            .map_err(|error| self.error(error).at_key(&key))?;
        self.counters.wrote(1, 0, (key.len() + value.len()) as u64);
        Ok(())
    }

    /// Removes a key, whether it is there or not.
    ///
    /// * Errors: those of [`Db::write`](partita::db::Db::write).
    pub fn delete(&self, key: K::Ref<'_>) -> Result<()> {
        let key = encoded::<K>(key);
        let deleted = self.store.db().delete_cf(&self.family, &key);
        deleted.map_err(|error| self.error(error).at_key(&key))?;
        self.counters.wrote(0, 1, key.len() as u64);
        Ok(())
    }

    /// A walk over keys and values: all of them, in order, unless [`Scan`] is told otherwise.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita_store::codec::Utf8;
    /// # use partita_store::StoreBuilder;
    /// # partita_store::schema! { struct Shop { users: Table<Utf8, Utf8> = "users" } }
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let shop: Shop = StoreBuilder::new("/shop.db").file_system(disk).open()?;
    /// for name in ["anne", "annika", "bob"] {
    ///     shop.users.put(name, "x")?;
    /// }
    /// let mut names = Vec::new();
    /// for entry in shop.users.scan().prefix("ann").backward().start()? {
    ///     names.push(entry?.0);
    /// }
    /// assert_eq!(names, ["annika", "anne"]);
    /// assert_eq!(shop.users.scan().range("anne".."bob").keys()?.count(), 2);
    /// # Ok::<(), partita_store::Error>(())
    /// ```
    pub fn scan(&self) -> Scan<'_, K, V> {
        Scan::new(self)
    }

    /// About how many keys there are: [`Db::estimate_num_keys`](partita::db::Db::estimate_num_keys).
    pub fn estimate_keys(&self) -> Result<u64> {
        self.store.db().estimate_num_keys(&self.family).map_err(|error| self.error(error))
    }

    /// Writes what is in memory of this table into a file.
    ///
    /// * Errors: those of [`Db::flush_cf`](partita::db::Db::flush_cf).
    pub fn flush(&self) -> Result<()> {
        self.store.db().flush_cf(&self.family).map_err(|error| self.error(error))
    }

    /// The figures of this table.
    pub fn stats(&self) -> TableStats {
        self.counters.stats(self.store.db().family_stats(&self.family))
    }

    fn read(&self, key: &[u8], options: &ReadOptions) -> Result<Option<PinnedValue>> {
        let found = self.counters.read(|ctx: &mut ReadContext| {
            let found = self.store.db().get_with(&self.family, key, options, ctx);
            let kind = match &found {
                Ok(Some(_)) => ReadKind::Found,
                Ok(None) => ReadKind::Absent,
                Err(_) => ReadKind::Failed,
            };
            (kind, found)
        });
        found.map_err(|error| self.error(error).at_key(key))
    }

    pub(crate) fn encode_value(&self, key: &[u8], value: &V::Borrowed) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        V::encode(value, &mut bytes)
            .map_err(|error| Error::not_encoded(error).in_table(self.name()).at_key(key))?;
        Ok(bytes)
    }

    pub(crate) fn decode_value(&self, key: &[u8], value: &[u8]) -> Result<V::Value> {
        V::decode(value)
            .map_err(|error| Error::not_decoded(error).in_table(self.name()).at_key(key))
    }

    pub(crate) fn decode_key(&self, key: &[u8]) -> Result<K::Key> {
        K::decode(key).map_err(|error| Error::not_decoded(error).in_table(self.name()).at_key(key))
    }

    pub(crate) fn error(&self, cause: partita::Error) -> Error {
        Error::from(cause).in_table(self.name())
    }
}

/// The bytes of a key.
pub(crate) fn encoded<K: KeyCodec>(key: K::Ref<'_>) -> Vec<u8> {
    /// Most keys are shorter: a path that grows part by part is not moved each time.
    const CAPACITY: usize = 128;
    let mut bytes = Vec::with_capacity(CAPACITY);
    K::encode(key, &mut bytes);
    bytes
}

impl<K, V> Clone for Table<K, V> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            family: self.family.clone(),
            counters: Arc::clone(&self.counters),
            codecs: PhantomData,
        }
    }
}

impl<K, V> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Table").field(&self.family.name()).finish()
    }
}
