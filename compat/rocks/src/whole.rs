//! A whole RocksDB database: all its column families, opened with the options of its newest OPTIONS file.
//!
//! # Safety
//!
//! As in [`crate::db`]. Handles of column families and snapshots belong to their database and go before it.

use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::ptr;

use partita::batch::Record;

use crate::Row;
use crate::batch::{add, bytes_of};
use crate::db::{Batch, Iter, Op, Options, Result, c_bytes, c_path, checked};
use crate::ffi;

/// A write to one of the families.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which family, in the order of their names' list.
    pub family: usize,
    /// What is written; never a snapshot.
    pub op: Op,
}

/// What a compaction by hand does with the last level: RocksDB's `BottommostLevelCompaction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLevel {
    /// `kSkip`
    Skip = 0,
    /// `kIfHaveCompactionFilter`
    IfFilter = 1,
    /// `kForce`
    Force = 2,
}

/// How far a batch gets before its write returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logging {
    /// To the device.
    Synced,
    /// To the operating system.
    Buffered,
    /// To memory only.
    None,
}

/// How files are ingested, where it is not RocksDB's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "as RocksDB has them")]
pub struct Ingestion {
    /// `move_files`
    pub moved: bool,
    /// Not `snapshot_consistency`
    pub shown_to_snapshots: bool,
    /// Not `allow_global_seqno`
    pub without_global_seqno: bool,
    /// Not `allow_blocking_flush`
    pub without_flush: bool,
    /// `ingest_behind`
    pub behind: bool,
}

/// What was written since a sequence number.
pub struct Updates {
    /// Batches with the sequence numbers at which they start.
    pub batches: Vec<(u64, Vec<u8>)>,
    /// Why there are no more.
    pub status: Result<()>,
}

type SetIngestion = unsafe extern "C" fn(*mut ffi::IngestOptions, u8);

/// An open database.
pub struct WholeDb {
    pub(crate) db: *mut ffi::Db,
    /// Null where the family was dropped.
    pub(crate) handles: Vec<*mut ffi::ColumnFamily>,
    pub(crate) write: *mut ffi::WriteOptions,
    pub(crate) read: *mut ffi::ReadOptions,
    /// Null where the snapshot was released.
    pub(crate) snapshots: Vec<*const ffi::Snapshot>,
    pub(crate) options: Options,
    pub(crate) family_options: Vec<Options>,
}

impl WholeDb {
    /// Creates a database with these families, of which one is called `default`, or opens it with these options.
    ///
    /// * `options`: of the database; `family_options`: of each family. RocksDB's option strings.
    pub fn create(
        path: &Path,
        options: &str,
        families: &[&str],
        family_options: &str,
    ) -> Result<Self> {
        let options = Options::parse(&format!(
            "create_if_missing=true;create_missing_column_families=true;{options}"
        ))?;
        let each = families.iter().map(|_| Options::parse(family_options));
        Self::open(path, options, families, each.collect::<Result<_>>()?)
    }

    /// Opens a database with the options of its OPTIONS file.
    ///
    /// * `families`: all of them, in the order in which they are to be numbered.
    /// * `ignore_unknown_options`: whether a later version may have written the file.
    /// * `extra`: options that count instead of those of the file, for database and families.
    pub fn load(
        path: &Path,
        families: &[&str],
        ignore_unknown_options: bool,
        extra: &str,
    ) -> Result<Self> {
        let stored = Stored::load(path, ignore_unknown_options)?;
        let options = stored.with(stored.options, extra)?;
        let of = |name: &&str| {
            let at = stored.names().iter().position(|stored| stored == name);
            let at = at.ok_or_else(|| format!("the OPTIONS file knows no family {name}"))?;
            // SAFETY: there are as many options as names.
            let of_family = unsafe { stored.family_options.add(at) };
            // SAFETY: each was set when the file was loaded.
            stored.with(unsafe { *of_family }, extra)
        };
        let family_options = families.iter().map(of).collect::<Result<_>>()?;
        Self::open(path, options, families, family_options)
    }

    fn open(
        path: &Path,
        options: Options,
        families: &[&str],
        family_options: Vec<Options>,
    ) -> Result<Self> {
        // SAFETY: live.
        unsafe { ffi::rocksdb_options_enable_statistics(options.0) };
        let path = c_path(path);
        let names: Vec<CString> =
            families.iter().map(|name| CString::new(*name).expect("names hold no NUL")).collect();
        let names: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let pointers: Vec<*const ffi::Options> =
            family_options.iter().map(|options| options.0.cast_const()).collect();
        let mut handles = vec![ptr::null_mut(); families.len()];
        let count = i32::try_from(families.len()).expect("there are few families");
        // SAFETY: the three lists have `count` elements, which live through the call, as the path does; the options live
        // as long as the database.
        let db = checked(|error| unsafe {
            let (names, pointers, handles) =
                (names.as_ptr(), pointers.as_ptr(), handles.as_mut_ptr());
            let (options, path) = (options.0, path.as_ptr());
            ffi::rocksdb_open_column_families(options, path, count, names, pointers, handles, error)
        })?;
        // SAFETY: see the module.
        let write = unsafe { ffi::rocksdb_writeoptions_create() };
        // SAFETY: see the module.
        let read = unsafe { ffi::rocksdb_readoptions_create() };
        // SAFETY: see the module.
        unsafe { ffi::rocksdb_readoptions_set_total_order_seek(read, 1) };
        let snapshots = Vec::new();
        Ok(Self { db, handles, write, read, snapshots, options, family_options })
    }

    /// Writes one batch.
    pub fn write(&self, changes: &[Change]) -> Result<()> {
        let records = changes.iter().map(|Change { family, op }| (*family, record(op)));
        self.write_records(records, Logging::Buffered)
    }

    /// Writes the records for these families, whatever family the records themselves name.
    pub fn write_records<'r>(
        &self,
        records: impl IntoIterator<Item = (usize, Record<'r>)>,
        logging: Logging,
    ) -> Result<()> {
        // SAFETY: a constructor.
        let batch = Batch(unsafe { ffi::rocksdb_writebatch_create() });
        for (family, record) in records {
            add(batch.0, Some(self.handles[family]), &record);
        }
        let (sync, unlogged) = (logging == Logging::Synced, logging == Logging::None);
        // SAFETY: live.
        unsafe { ffi::rocksdb_writeoptions_set_sync(self.write, sync.into()) };
        // SAFETY: live.
        unsafe { ffi::rocksdb_writeoptions_disable_WAL(self.write, unlogged.into()) };
        // SAFETY: all three are live.
        checked(|error| unsafe { ffi::rocksdb_write(self.db, self.write, batch.0, error) })
    }

    /// Takes a snapshot, which is released with the database at the latest; its number.
    pub fn take_snapshot(&mut self) -> usize {
        // SAFETY: the database is open; the snapshot is released before it closes.
        self.snapshots.push(unsafe { ffi::rocksdb_create_snapshot(self.db) });
        self.snapshots.len() - 1
    }

    /// Writes the memtable of a family to a new table.
    pub fn flush(&self, family: usize) -> Result<()> {
        // SAFETY: see the module.
        let options = unsafe { ffi::rocksdb_flushoptions_create() };
        let handle = self.handles[family];
        // SAFETY: all are live.
        let flushed =
            checked(|error| unsafe { ffi::rocksdb_flush_cf(self.db, options, handle, error) });
        // SAFETY: owned and not used afterwards.
        unsafe { ffi::rocksdb_flushoptions_destroy(options) };
        flushed
    }

    /// Compacts all of a family. (RocksDB's C API does not say how that went; what is read afterwards does.)
    pub fn compact(&self, family: usize, last_level: LastLevel) {
        self.compact_range(family, None, None, last_level);
    }

    /// Compacts a range of a family, both ends included.
    pub fn compact_range(
        &self,
        family: usize,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
        last_level: LastLevel,
    ) {
        // SAFETY: see the module.
        let options = unsafe { ffi::rocksdb_compactoptions_create() };
        let how = last_level as u8;
        // SAFETY: live.
        unsafe { ffi::rocksdb_compactoptions_set_bottommost_level_compaction(options, how) };
        let handle = self.handles[family];
        let ((from, from_len), (to, to_len)) = (bound(from), bound(to));
        // SAFETY: all are live; pointers and lengths describe live slices, and no bound is a null pointer.
        unsafe {
            ffi::rocksdb_compact_range_cf_opt(self.db, handle, options, from, from_len, to, to_len);
        }
        // SAFETY: owned and not used afterwards.
        unsafe { ffi::rocksdb_compactoptions_destroy(options) };
    }

    /// Drops the tables of a family all of whose keys are between these, both included.
    pub fn delete_files_in_range(&self, family: usize, from: &[u8], to: &[u8]) -> Result<()> {
        let handle = self.handles[family];
        let ((from, from_len), (to, to_len)) = (c_bytes(from), c_bytes(to));
        // SAFETY: all are live; pointers and lengths describe live slices.
        checked(|error| unsafe {
            ffi::rocksdb_delete_file_in_range_cf(
                self.db, handle, from, from_len, to, to_len, error,
            );
        })
    }

    /// Ingests files into a family.
    pub fn ingest(&self, family: usize, files: &[PathBuf], how: Ingestion) -> Result<()> {
        let names: Vec<CString> = files.iter().map(|file| c_path(file)).collect();
        let pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let handle = self.handles[family];
        // SAFETY: see the module.
        let options = unsafe { ffi::rocksdb_ingestexternalfileoptions_create() };
        for (set, on) in [
            (ffi::rocksdb_ingestexternalfileoptions_set_move_files as SetIngestion, how.moved),
            (
                ffi::rocksdb_ingestexternalfileoptions_set_snapshot_consistency,
                !how.shown_to_snapshots,
            ),
            (
                ffi::rocksdb_ingestexternalfileoptions_set_allow_global_seqno,
                !how.without_global_seqno,
            ),
            (ffi::rocksdb_ingestexternalfileoptions_set_allow_blocking_flush, !how.without_flush),
            (ffi::rocksdb_ingestexternalfileoptions_set_ingest_behind, how.behind),
        ] {
            // SAFETY: live.
            unsafe { set(options, on.into()) };
        }
        // SAFETY: `pointers` holds that many NUL-terminated paths; all live through the call.
        let ingested = checked(|error| unsafe {
            let (pointers, count) = (pointers.as_ptr(), pointers.len());
            ffi::rocksdb_ingest_external_file_cf(self.db, handle, pointers, count, options, error);
        });
        // SAFETY: owned and not used afterwards.
        unsafe { ffi::rocksdb_ingestexternalfileoptions_destroy(options) };
        ingested
    }

    /// The last sequence number.
    pub fn last_sequence(&self) -> u64 {
        // SAFETY: the database is open.
        unsafe { ffi::rocksdb_get_latest_sequence_number(self.db) }
    }

    /// What `GetUpdatesSince` gives: batches with their sequence numbers, and the status at the end.
    pub fn updates_since(&self, sequence: u64) -> Result<Updates> {
        // SAFETY: the database is open; no options are a null pointer.
        let iter = checked(|error| unsafe {
            ffi::rocksdb_get_updates_since(self.db, sequence, ptr::null(), error)
        })?;
        let mut batches = Vec::new();
        // SAFETY: live.
        while unsafe { ffi::rocksdb_wal_iter_valid(iter) } != 0 {
            let mut first = 0;
            // SAFETY: live and valid; the batch is the caller's.
            let batch = Batch(unsafe { ffi::rocksdb_wal_iter_get_batch(iter, &mut first) });
            batches.push((first, bytes_of(&batch)));
            // SAFETY: live and valid.
            unsafe { ffi::rocksdb_wal_iter_next(iter) };
        }
        // SAFETY: live.
        let status = checked(|error| unsafe { ffi::rocksdb_wal_iter_status(iter, error) });
        // SAFETY: owned and not used afterwards.
        unsafe { ffi::rocksdb_wal_iter_destroy(iter) };
        Ok(Updates { batches, status })
    }

    /// All visible rows of a family, first to last.
    pub fn rows_forward(&self, family: usize) -> Result<Vec<Row>> {
        let mut iter = self.iter(family, self.read);
        iter.seek_to_first();
        iter.collect_with(Iter::next)
    }

    /// All visible rows of a family, last to first.
    pub fn rows_backward(&self, family: usize) -> Result<Vec<Row>> {
        let mut iter = self.iter(family, self.read);
        iter.seek_to_last();
        iter.collect_with(Iter::prev)
    }

    /// The value of `key`, or `None`. Filters are used.
    pub fn get(&self, family: usize, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get_with(self.read, family, key)
    }

    pub(crate) fn get_with(
        &self,
        options: *const ffi::ReadOptions,
        family: usize,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let (key, key_len) = c_bytes(key);
        let (mut len, handle) = (0, self.handles[family]);
        // SAFETY: database, options and handle are live; key and length describe a live slice.
        let value = checked(|error| unsafe {
            ffi::rocksdb_get_cf(self.db, options, handle, key, key_len, &mut len, error)
        })?;
        if value.is_null() {
            return Ok(None);
        }
        // SAFETY: a non-null value has `len` bytes.
        let bytes = unsafe { std::slice::from_raw_parts(value.cast::<u8>(), len) }.to_vec();
        // SAFETY: the caller owns the value; it is not used afterwards.
        unsafe { ffi::rocksdb_free(value.cast()) };
        Ok(Some(bytes))
    }

    /// How often a filter ruled a file out since the database was opened.
    pub fn filters_useful(&self) -> u64 {
        self.options.filters_useful()
    }

    /// An iterator with options that live as long as the database or, if they name a snapshot, as the iterator.
    pub(crate) fn iter(&self, family: usize, options: *const ffi::ReadOptions) -> Iter<'_> {
        let handle = self.handles[family];
        // SAFETY: all are live and outlive the iterator, whose lifetime is bound to `self`.
        let iter = unsafe { ffi::rocksdb_create_iterator_cf(self.db, options, handle) };
        Iter { iter, db: PhantomData }
    }
}

impl Drop for WholeDb {
    fn drop(&mut self) {
        for &snapshot in self.snapshots.iter().filter(|snapshot| !snapshot.is_null()) {
            // SAFETY: taken from this database, released once.
            unsafe { ffi::rocksdb_release_snapshot(self.db, snapshot) };
        }
        for &handle in self.handles.iter().filter(|handle| !handle.is_null()) {
            // SAFETY: owned, and the database is still open.
            unsafe { ffi::rocksdb_column_family_handle_destroy(handle) };
        }
        // SAFETY: owned; iterators cannot outlive `self`.
        unsafe { ffi::rocksdb_close(self.db) };
        // SAFETY: owned.
        unsafe { ffi::rocksdb_writeoptions_destroy(self.write) };
        // SAFETY: owned.
        unsafe { ffi::rocksdb_readoptions_destroy(self.read) };
    }
}

fn bound(key: Option<&[u8]>) -> (*const c_char, usize) {
    key.map_or((ptr::null(), 0), c_bytes)
}

fn record(op: &Op) -> Record<'_> {
    let family = 0;
    match op {
        Op::Put(key, value) => Record::Put { family, key, value },
        Op::Merge(key, operand) => Record::Merge { family, key, operand },
        Op::Delete(key) => Record::Delete { family, key },
        Op::SingleDelete(key) => Record::SingleDelete { family, key },
        Op::DeleteRange(begin, end) => Record::DeleteRange { family, begin, end },
        Op::Snapshot => unreachable!("a snapshot is no write"),
    }
}

/// What an OPTIONS file says.
struct Stored {
    options: *mut ffi::Options,
    names: *mut *mut c_char,
    family_options: *mut *mut ffi::Options,
    count: usize,
}

impl Stored {
    fn load(path: &Path, ignore_unknown_options: bool) -> Result<Self> {
        // SAFETY: see the module.
        let env = unsafe { ffi::rocksdb_create_default_env() };
        // SAFETY: see the module.
        let cache = unsafe { ffi::rocksdb_cache_create_lru(8 << 20) };
        let path = c_path(path);
        let (options, names, family_options) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let mut stored = Self { options, names, family_options, count: 0 };
        // SAFETY: path, env and cache live through the call (options share the cache); the rest is written to.
        let loaded = checked(|error| unsafe {
            let Self { options, names, family_options, count } = &mut stored;
            let (path, ignore) = (path.as_ptr(), ignore_unknown_options);
            ffi::rocksdb_load_latest_options(
                path,
                env,
                ignore,
                cache,
                options,
                count,
                names,
                family_options,
                error,
            );
        });
        // SAFETY: owned; options have a share of their own.
        unsafe { ffi::rocksdb_cache_destroy(cache) };
        // SAFETY: owned; the default environment itself stays.
        unsafe { ffi::rocksdb_env_destroy(env) };
        match loaded {
            Ok(()) => Ok(stored),
            // Nothing was made, and nothing is to be destroyed.
            Err(error) => {
                std::mem::forget(stored);
                Err(error)
            }
        }
    }

    fn names(&self) -> Vec<String> {
        (0..self.count)
            .map(|at| {
                // SAFETY: there are `count` names.
                let name = unsafe { self.names.add(at) };
                // SAFETY: each was set when the file was loaded.
                let name = unsafe { *name };
                // SAFETY: each is NUL-terminated.
                unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
            })
            .collect()
    }

    /// These options, with what `extra` says instead.
    fn with(&self, base: *const ffi::Options, extra: &str) -> Result<Options> {
        // SAFETY: a constructor.
        let options = Options(unsafe { ffi::rocksdb_options_create() });
        let text = CString::new(extra).expect("option strings hold no NUL");
        // SAFETY: both options live through the call, the text is NUL-terminated.
        checked(|error| unsafe {
            ffi::rocksdb_get_options_from_string(base, text.as_ptr(), options.0, error);
        })?;
        Ok(options)
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        let Self { options, names, family_options, count } = *self;
        // SAFETY: as they came from `rocksdb_load_latest_options`, and owned.
        unsafe { ffi::rocksdb_load_latest_options_destroy(options, names, family_options, count) };
    }
}
