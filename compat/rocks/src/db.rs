//! A RocksDB database and its external-file writer, as far as the tests need them.
//!
//! # Safety
//!
//! Every pointer here comes from the C API's own constructor, is checked by it (the constructors never return null;
//! `rocksdb_open` returns null only together with an error), is owned by exactly one Rust value and is destroyed in its
//! `Drop`. Key and value pointers are only used during the call they are passed to. No value is shared between
//! threads.

use std::ffi::{CStr, CString, c_char};
use std::fs;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::ptr;

use crate::Row;
use crate::ffi;

/// What RocksDB said when it refused, or `Ok`.
pub type Result<T> = std::result::Result<T, String>;

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Sets a key.
    Put(Vec<u8>, Vec<u8>),
    /// Adds a merge operand.
    Merge(Vec<u8>, Vec<u8>),
    /// Deletes a key.
    Delete(Vec<u8>),
    /// Deletes a key that was put once.
    SingleDelete(Vec<u8>),
    /// Deletes the keys from the first (inclusive) to the second (exclusive).
    DeleteRange(Vec<u8>, Vec<u8>),
    /// Takes a snapshot and holds it until the database is closed, so that older versions stay.
    Snapshot,
}

/// Runs a C function that reports errors through its last argument.
pub(crate) fn checked<T>(call: impl FnOnce(*mut *mut c_char) -> T) -> Result<T> {
    let mut error = ptr::null_mut();
    let value = call(&mut error);
    if error.is_null() {
        return Ok(value);
    }
    // SAFETY: a non-null error is a NUL-terminated string that the caller owns.
    let message = unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned();
    // SAFETY: as above; it is not used afterwards.
    unsafe { ffi::rocksdb_free(error.cast()) };
    Err(message)
}

pub(crate) fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_encoded_bytes()).expect("test paths hold no NUL")
}

pub(crate) fn c_bytes(bytes: &[u8]) -> (*const c_char, usize) {
    (bytes.as_ptr().cast(), bytes.len())
}

/// Options made from RocksDB's option string.
pub(crate) struct Options(pub(crate) *mut ffi::Options);

impl Options {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        // SAFETY: see the module.
        let base = Self(unsafe { ffi::rocksdb_options_create() });
        // SAFETY: see the module.
        let options = Self(unsafe { ffi::rocksdb_options_create() });
        let c_text = CString::new(text).expect("option strings hold no NUL");
        // SAFETY: both options live through the call, the text is NUL-terminated.
        checked(|error| unsafe {
            ffi::rocksdb_get_options_from_string(base.0, c_text.as_ptr(), options.0, error);
        })
        .map_err(|error| format!("{text}: {error}"))?;
        Ok(options)
    }
}

impl Options {
    /// How often a filter ruled a file out since these options' database was opened.
    pub(crate) fn filters_useful(&self) -> u64 {
        // SAFETY: live; statistics were enabled before the database was opened.
        let text = unsafe { ffi::rocksdb_options_statistics_get_string(self.0) };
        // SAFETY: a NUL-terminated string that the caller owns.
        let report = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        // SAFETY: as above; it is not used afterwards.
        unsafe { ffi::rocksdb_free(text.cast()) };
        ["rocksdb.bloom.filter.useful COUNT : ", "rocksdb.bloom.filter.prefix.useful COUNT : "]
            .into_iter()
            .filter_map(|ticker| report.lines().find_map(|line| line.strip_prefix(ticker)))
            .map(|count| count.trim().parse::<u64>().expect("tickers are numbers"))
            .sum()
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: owned; see the module.
        unsafe { ffi::rocksdb_options_destroy(self.0) };
    }
}

/// An open database.
pub struct Db {
    db: *mut ffi::Db,
    write: *mut ffi::WriteOptions,
    read: *mut ffi::ReadOptions,
    snapshots: Vec<*const ffi::Snapshot>,
    path: PathBuf,
    options: Options,
}

impl Db {
    /// Opens the database at `path`, or creates it, with options in RocksDB's option string form. Compactions run only
    /// on request and iterators ignore prefixes.
    pub fn open(path: &Path, options: &str) -> Result<Self> {
        let options = Options::parse(&format!(
            "create_if_missing=true;disable_auto_compactions=true;{options}"
        ))?;
        // SAFETY: live.
        unsafe { ffi::rocksdb_options_enable_statistics(options.0) };
        let c_path = c_path(path);
        // SAFETY: the options live as long as the database; the path is NUL-terminated.
        let db = checked(|error| unsafe { ffi::rocksdb_open(options.0, c_path.as_ptr(), error) })?;
        // SAFETY: see the module.
        let write = unsafe { ffi::rocksdb_writeoptions_create() };
        // SAFETY: see the module.
        let read = unsafe { ffi::rocksdb_readoptions_create() };
        // SAFETY: see the module.
        unsafe { ffi::rocksdb_readoptions_set_total_order_seek(read, 1) };
        let path = path.to_owned();
        Ok(Self { db, write, read, snapshots: Vec::new(), path, options })
    }

    /// Applies one write; each takes one sequence number.
    pub fn apply(&mut self, op: &Op) -> Result<()> {
        if *op == Op::Snapshot {
            // SAFETY: the database is open; the snapshot is released before it closes.
            self.snapshots.push(unsafe { ffi::rocksdb_create_snapshot(self.db) });
            return Ok(());
        }
        let batch = Batch::of(op);
        // SAFETY: all three are live.
        checked(|error| unsafe { ffi::rocksdb_write(self.db, self.write, batch.0, error) })
    }

    /// Writes the memtable to a new SST file.
    pub fn flush(&mut self) -> Result<()> {
        // SAFETY: see the module.
        let options = unsafe { ffi::rocksdb_flushoptions_create() };
        // SAFETY: both are live.
        let flushed = checked(|error| unsafe { ffi::rocksdb_flush(self.db, options, error) });
        // SAFETY: owned and not used afterwards.
        unsafe { ffi::rocksdb_flushoptions_destroy(options) };
        flushed
    }

    /// Takes copies of external files into the database.
    pub fn ingest(&mut self, files: &[PathBuf]) -> Result<()> {
        let names: Vec<CString> = files.iter().map(|file| c_path(file)).collect();
        let pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        // SAFETY: see the module.
        let options = unsafe { ffi::rocksdb_ingestexternalfileoptions_create() };
        // SAFETY: `pointers` holds that many NUL-terminated paths; all live through the call.
        let ingested = checked(|error| unsafe {
            let (pointers, count) = (pointers.as_ptr(), pointers.len());
            ffi::rocksdb_ingest_external_file(self.db, pointers, count, options, error);
        });
        // SAFETY: owned and not used afterwards.
        unsafe { ffi::rocksdb_ingestexternalfileoptions_destroy(options) };
        ingested
    }

    /// The value of `key`, or `None`. Filters are used.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let (key, key_len) = c_bytes(key);
        let mut len = 0;
        // SAFETY: database and options are live; key and length describe a live slice.
        let value = checked(|error| unsafe {
            ffi::rocksdb_get(self.db, self.read, key, key_len, &mut len, error)
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

    /// Whether `key` is there; its value is not copied.
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        let (key, key_len) = c_bytes(key);
        // SAFETY: database and options are live; key and length describe a live slice.
        let slice = checked(|error| unsafe {
            ffi::rocksdb_get_pinned(self.db, self.read, key, key_len, error)
        })?;
        if slice.is_null() {
            return Ok(false);
        }
        // SAFETY: the caller owns the slice; it is not used afterwards.
        unsafe { ffi::rocksdb_pinnableslice_destroy(slice) };
        Ok(true)
    }

    /// Makes an iterator and lets it go.
    pub fn make_iterator(&self) {
        drop(self.iter());
    }

    /// The first row whose key is not before `key`, by a new iterator.
    pub fn ceil(&self, key: &[u8]) -> Result<Option<Row>> {
        let mut iter = self.iter();
        iter.seek(key);
        iter.current()
    }

    /// The last row whose key is not behind `key`, by a new iterator.
    pub fn floor(&self, key: &[u8]) -> Result<Option<Row>> {
        let mut iter = self.iter();
        iter.seek_for_prev(key);
        iter.current()
    }

    /// How many rows there are, by a walk that copies nothing.
    pub fn count_rows(&self) -> Result<u64> {
        let mut iter = self.iter();
        let mut count = 0;
        iter.seek_to_first();
        while iter.is_valid() {
            count += 1;
            iter.next();
        }
        iter.check()?;
        Ok(count)
    }

    /// All visible rows, first to last.
    pub fn rows_forward(&self) -> Result<Vec<Row>> {
        let mut iter = self.iter();
        iter.seek_to_first();
        iter.collect_with(Iter::next)
    }

    /// All visible rows, last to first.
    pub fn rows_backward(&self) -> Result<Vec<Row>> {
        let mut iter = self.iter();
        iter.seek_to_last();
        iter.collect_with(Iter::prev)
    }

    /// Paths of the SST files in the database's directory, oldest first.
    pub fn sst_paths(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.path).expect("an open database's directory can be listed");
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.expect("its entries too").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "sst"));
        paths.sort_unstable();
        paths
    }

    /// A property that is a number; `None` if it is not one.
    pub fn int_property(&self, name: &str) -> Option<u64> {
        let name = CString::new(name).ok()?;
        let mut number = 0;
        // SAFETY: the database is open, the name is NUL-terminated, `number` is written during the call only.
        let failed = unsafe { ffi::rocksdb_property_int(self.db, name.as_ptr(), &mut number) };
        (failed == 0).then_some(number)
    }

    /// How often a filter ruled a file out, whole keys and prefixes together.
    pub fn filters_useful(&self) -> u64 {
        self.options.filters_useful()
    }

    fn iter(&self) -> Iter<'_> {
        // SAFETY: both are live and outlive the iterator, whose lifetime is bound to `self`.
        Iter { iter: unsafe { ffi::rocksdb_create_iterator(self.db, self.read) }, db: PhantomData }
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        for &snapshot in &self.snapshots {
            // SAFETY: taken from this database, released once.
            unsafe { ffi::rocksdb_release_snapshot(self.db, snapshot) };
        }
        // SAFETY: owned; iterators cannot outlive `self`.
        unsafe { ffi::rocksdb_close(self.db) };
        // SAFETY: owned.
        unsafe { ffi::rocksdb_writeoptions_destroy(self.write) };
        // SAFETY: owned.
        unsafe { ffi::rocksdb_readoptions_destroy(self.read) };
    }
}

pub(crate) struct Iter<'db> {
    pub(crate) iter: *mut ffi::Iter,
    pub(crate) db: PhantomData<&'db ()>,
}

impl Iter<'_> {
    pub(crate) fn seek_to_first(&mut self) {
        // SAFETY: live.
        unsafe { ffi::rocksdb_iter_seek_to_first(self.iter) };
    }

    pub(crate) fn seek_to_last(&mut self) {
        // SAFETY: live.
        unsafe { ffi::rocksdb_iter_seek_to_last(self.iter) };
    }

    pub(crate) fn seek(&mut self, key: &[u8]) {
        let (key, len) = c_bytes(key);
        // SAFETY: live; key and length describe a live slice.
        unsafe { ffi::rocksdb_iter_seek(self.iter, key, len) };
    }

    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) {
        let (key, len) = c_bytes(key);
        // SAFETY: live; pointer and length describe a live slice.
        unsafe { ffi::rocksdb_iter_seek_for_prev(self.iter, key, len) };
    }

    pub(crate) fn next(&mut self) {
        // SAFETY: live; only called while valid.
        unsafe { ffi::rocksdb_iter_next(self.iter) };
    }

    pub(crate) fn prev(&mut self) {
        // SAFETY: live; only called while valid.
        unsafe { ffi::rocksdb_iter_prev(self.iter) };
    }

    fn is_valid(&self) -> bool {
        // SAFETY: live.
        unsafe { ffi::rocksdb_iter_valid(self.iter) != 0 }
    }

    fn row(&self) -> Row {
        let (mut key_len, mut value_len) = (0, 0);
        // SAFETY: live and valid.
        let key = unsafe { ffi::rocksdb_iter_key(self.iter, &mut key_len) };
        // SAFETY: live and valid.
        let value = unsafe { ffi::rocksdb_iter_value(self.iter, &mut value_len) };
        [(key, key_len), (value, value_len)]
            // SAFETY: pointer and length as the iterator gave them; it does not move while they are copied.
            .map(|(start, len)| unsafe { copied(start, len) })
            .into()
    }

    /// Where it stands, or why it stands nowhere.
    pub(crate) fn current(&self) -> Result<Option<Row>> {
        if self.is_valid() {
            return Ok(Some(self.row()));
        }
        self.check()?;
        Ok(None)
    }

    fn check(&self) -> Result<()> {
        // SAFETY: live.
        checked(|error| unsafe { ffi::rocksdb_iter_get_error(self.iter, error) })
    }

    pub(crate) fn collect_with(&mut self, step: fn(&mut Self)) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        while let Some(row) = self.current()? {
            rows.push(row);
            step(self);
        }
        Ok(rows)
    }
}

impl Drop for Iter<'_> {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { ffi::rocksdb_iter_destroy(self.iter) };
    }
}

/// A copy of `len` bytes at `start`; an empty slice may have a null start.
///
/// # Safety
///
/// If `len` is not 0, `start` must point to that many readable bytes.
pub(crate) unsafe fn copied(start: *const c_char, len: usize) -> Vec<u8> {
    if len == 0 {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) }.to_vec()
}

pub(crate) struct Batch(pub(crate) *mut ffi::WriteBatch);

impl Batch {
    fn of(op: &Op) -> Self {
        // SAFETY: see the module.
        let batch = Self(unsafe { ffi::rocksdb_writebatch_create() });
        let target = batch.0;
        match op {
            Op::Put(key, value) => {
                let ((key, key_len), (value, value_len)) = (c_bytes(key), c_bytes(value));
                // SAFETY: the batch is live; pointers and lengths describe live slices.
                unsafe { ffi::rocksdb_writebatch_put(target, key, key_len, value, value_len) };
            }
            Op::Merge(key, operand) => {
                let ((key, key_len), (operand, len)) = (c_bytes(key), c_bytes(operand));
                // SAFETY: as above.
                unsafe { ffi::rocksdb_writebatch_merge(target, key, key_len, operand, len) };
            }
            Op::Delete(key) => {
                let (key, key_len) = c_bytes(key);
                // SAFETY: as above.
                unsafe { ffi::rocksdb_writebatch_delete(target, key, key_len) };
            }
            Op::SingleDelete(key) => {
                let (key, key_len) = c_bytes(key);
                // SAFETY: as above.
                unsafe { ffi::rocksdb_writebatch_singledelete(target, key, key_len) };
            }
            Op::DeleteRange(start, end) => {
                let ((start, start_len), (end, end_len)) = (c_bytes(start), c_bytes(end));
                // SAFETY: as above.
                unsafe {
                    ffi::rocksdb_writebatch_delete_range(target, start, start_len, end, end_len);
                }
            }
            Op::Snapshot => unreachable!("a snapshot is no write"),
        }
        batch
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { ffi::rocksdb_writebatch_destroy(self.0) };
    }
}

/// Writes an external file with RocksDB's `SstFileWriter`: `rows` in key order.
pub fn write_external_file(path: &Path, options: &str, rows: &[Row]) -> Result<()> {
    let options = Options::parse(options)?;
    // SAFETY: see the module.
    let env = unsafe { ffi::rocksdb_envoptions_create() };
    // SAFETY: both live as long as the writer.
    let writer = unsafe { ffi::rocksdb_sstfilewriter_create(env, options.0) };
    let written = write_rows(writer, path, rows);
    // SAFETY: owned and not used afterwards.
    unsafe { ffi::rocksdb_sstfilewriter_destroy(writer) };
    // SAFETY: owned and not used afterwards.
    unsafe { ffi::rocksdb_envoptions_destroy(env) };
    written
}

fn write_rows(writer: *mut ffi::SstFileWriter, path: &Path, rows: &[Row]) -> Result<()> {
    let path = c_path(path);
    // SAFETY: the writer is live, the path NUL-terminated.
    checked(|error| unsafe { ffi::rocksdb_sstfilewriter_open(writer, path.as_ptr(), error) })?;
    for (key, value) in rows {
        let ((key, key_len), (value, value_len)) = (c_bytes(key), c_bytes(value));
        // SAFETY: the writer is live; pointers and lengths describe live slices.
        checked(|error| unsafe {
            ffi::rocksdb_sstfilewriter_put(writer, key, key_len, value, value_len, error);
        })?;
    }
    // SAFETY: live.
    checked(|error| unsafe { ffi::rocksdb_sstfilewriter_finish(writer, error) })
}
