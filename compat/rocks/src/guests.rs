//! What can be done with a [`WholeDb`] beside writing and reading it: families that come and go, snapshots that are read and
//! released, several keys at once, checkpoints, exports.
//!
//! # Safety
//!
//! As in [`crate::whole`]. A handle or snapshot that has gone is null from then on, and is used no more.

use std::ffi::{CStr, CString, c_char};
use std::path::Path;
use std::ptr;

use crate::Row;
use crate::db::{Iter, Options, Result, c_bytes, c_path, checked, copied};
use crate::ffi;
use crate::whole::WholeDb;

/// The names of the families of a database, open or not.
pub fn families_on_disk(path: &Path) -> Result<Vec<String>> {
    let options = Options::parse("")?;
    let path = c_path(path);
    let mut count = 0;
    // SAFETY: options and path live through the call; `count` is written to.
    let names = checked(|error| unsafe {
        ffi::rocksdb_list_column_families(options.0, path.as_ptr(), &mut count, error)
    })?;
    // SAFETY: there are `count` pointers.
    let pointers = unsafe { std::slice::from_raw_parts(names, count) };
    // SAFETY: each is NUL-terminated.
    let text = |&name: &*mut c_char| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let families = pointers.iter().map(text).collect();
    // SAFETY: owned, and not used afterwards.
    unsafe { ffi::rocksdb_list_column_families_destroy(names, count) };
    Ok(families)
}

impl WholeDb {
    /// Creates a family with options in RocksDB's option string form; its number.
    pub fn create_family(&mut self, name: &str, options: &str) -> Result<usize> {
        let options = Options::parse(options)?;
        let name = CString::new(name).expect("names hold no NUL");
        // SAFETY: the database is open; options and name live through the call.
        let handle = checked(|error| unsafe {
            ffi::rocksdb_create_column_family(self.db, options.0, name.as_ptr(), error)
        })?;
        self.family_options.push(options);
        self.handles.push(handle);
        Ok(self.handles.len() - 1)
    }

    /// Drops a family, whose number nobody has from then on.
    pub fn drop_family(&mut self, family: usize) -> Result<()> {
        let handle = std::mem::replace(&mut self.handles[family], ptr::null_mut());
        // SAFETY: both are live.
        let dropped = checked(|error| unsafe {
            ffi::rocksdb_drop_column_family(self.db, handle, error);
        });
        // SAFETY: owned, and used no more.
        unsafe { ffi::rocksdb_column_family_handle_destroy(handle) };
        dropped
    }

    /// Releases a snapshot.
    pub fn release_snapshot(&mut self, snapshot: usize) {
        let snapshot = std::mem::replace(&mut self.snapshots[snapshot], ptr::null());
        if !snapshot.is_null() {
            // SAFETY: taken from this database, and used no more.
            unsafe { ffi::rocksdb_release_snapshot(self.db, snapshot) };
        }
    }

    /// All rows of a family, as a snapshot sees them if one is given.
    pub fn rows(&self, family: usize, snapshot: Option<usize>, backward: bool) -> Result<Vec<Row>> {
        self.reading_at(snapshot, |options| {
            let mut iter = self.iter(family, options);
            if backward {
                iter.seek_to_last();
                iter.collect_with(Iter::prev)
            } else {
                iter.seek_to_first();
                iter.collect_with(Iter::next)
            }
        })
    }

    /// The value of `key` as a snapshot sees it.
    pub fn get_at(&self, family: usize, snapshot: usize, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.reading_at(Some(snapshot), |options| self.get_with(options, family, key))
    }

    /// The last row at or before a key.
    pub fn floor(&self, family: usize, key: &[u8]) -> Result<Option<Row>> {
        let mut iter = self.iter(family, self.read);
        iter.seek_for_prev(key);
        iter.current()
    }

    fn reading_at<T>(
        &self,
        snapshot: Option<usize>,
        read: impl FnOnce(*const ffi::ReadOptions) -> T,
    ) -> T {
        let Some(snapshot) = snapshot else { return read(self.read) };
        // SAFETY: see the module.
        let options = unsafe { ffi::rocksdb_readoptions_create() };
        // SAFETY: live.
        unsafe { ffi::rocksdb_readoptions_set_total_order_seek(options, 1) };
        // SAFETY: both are live, and the snapshot is held while it is read.
        unsafe { ffi::rocksdb_readoptions_set_snapshot(options, self.snapshots[snapshot]) };
        let result = read(options);
        // SAFETY: owned; nothing that was made with them is left.
        unsafe { ffi::rocksdb_readoptions_destroy(options) };
        result
    }

    /// The values of several keys, looked up together.
    pub fn multi_get(&self, family: usize, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        let (starts, lens): (Vec<_>, Vec<_>) = keys.iter().map(|key| c_bytes(key)).unzip();
        let mut values = vec![ptr::null_mut(); keys.len()];
        let mut errors = vec![ptr::null_mut(); keys.len()];
        let handle = self.handles[family];
        // SAFETY: all are live; the lists have as many elements as there are keys, and describe live slices.
        unsafe {
            ffi::rocksdb_batched_multi_get_cf(
                self.db,
                self.read,
                handle,
                keys.len(),
                starts.as_ptr(),
                lens.as_ptr(),
                values.as_mut_ptr(),
                errors.as_mut_ptr(),
                false,
            );
        }
        let mut found = Vec::with_capacity(keys.len());
        let mut failed = Ok(());
        for (slice, error) in values.into_iter().zip(errors) {
            failed = failed.and(checked(|place| {
                // SAFETY: a place for a pointer, which is handed over.
                unsafe { *place = error };
            }));
            found.push((!slice.is_null()).then(|| {
                let mut len = 0;
                // SAFETY: live.
                let value = unsafe { ffi::rocksdb_pinnableslice_value(slice, &mut len) };
                // SAFETY: pointer and length as the slice gave them.
                let value = unsafe { copied(value, len) };
                // SAFETY: owned, and used no more.
                unsafe { ffi::rocksdb_pinnableslice_destroy(slice) };
                value
            }));
        }
        failed.map(|()| found)
    }

    /// Syncs the log.
    pub fn sync_log(&self) -> Result<()> {
        // SAFETY: the database is open.
        checked(|error| unsafe { ffi::rocksdb_flush_wal(self.db, 1, error) })
    }

    /// Makes a checkpoint in a directory that is not there, with the log as it is, or with memtables flushed before.
    pub fn checkpoint(&self, dir: &Path, flushes: bool) -> Result<()> {
        let (dir, log_size_for_flush) = (c_path(dir), if flushes { 0 } else { u64::MAX });
        self.with_checkpoint(|checkpoint| {
            // SAFETY: live; the path is NUL-terminated.
            checked(|error| unsafe {
                ffi::rocksdb_checkpoint_create(checkpoint, dir.as_ptr(), log_size_for_flush, error);
            })
        })
    }

    fn with_checkpoint<T>(&self, act: impl FnOnce(*mut ffi::Checkpoint) -> Result<T>) -> Result<T> {
        // SAFETY: the database is open.
        let checkpoint =
            checked(|error| unsafe { ffi::rocksdb_checkpoint_object_create(self.db, error) })?;
        let result = act(checkpoint);
        // SAFETY: owned, and used no more.
        unsafe { ffi::rocksdb_checkpoint_object_destroy(checkpoint) };
        result
    }

    /// A property that is a number; `None` if it is not one.
    pub fn int_property(&self, name: &CStr) -> Option<u64> {
        let mut number = 0;
        // SAFETY: the database is open, the name is NUL-terminated, `number` is written during the call only.
        let failed = unsafe { ffi::rocksdb_property_int(self.db, name.as_ptr(), &mut number) };
        (failed == 0).then_some(number)
    }
}

/// What only RocksDB 11's C API has.
#[cfg(feature = "latest")]
impl WholeDb {
    /// Verifies the checksums of all tables.
    pub fn verify_checksums(&self) -> Result<()> {
        // SAFETY: the database is open.
        checked(|error| unsafe { ffi::latest::rocksdb_verify_checksum(self.db, error) })
    }

    /// Creates a family from an export of another, by way of a directory that is not there; its number.
    pub fn copy_family(
        &mut self,
        from: usize,
        name: &str,
        options: &str,
        dir: &Path,
    ) -> Result<usize> {
        let (dir, handle) = (c_path(dir), self.handles[from]);
        let metadata = self.with_checkpoint(|checkpoint| {
            // SAFETY: all are live, the path is NUL-terminated.
            checked(|error| unsafe {
                let dir = dir.as_ptr();
                ffi::latest::rocksdb_checkpoint_export_column_family(checkpoint, handle, dir, error)
            })
        })?;
        let options = Options::parse(options)?;
        let name = CString::new(name).expect("names hold no NUL");
        // SAFETY: a constructor.
        let import = unsafe { ffi::latest::rocksdb_import_column_family_options_create() };
        // SAFETY: live.
        unsafe { ffi::latest::rocksdb_import_column_family_options_set_move_files(import, 1) };
        // SAFETY: all are live, the name is NUL-terminated.
        let created = checked(|error| unsafe {
            let (options, name) = (options.0, name.as_ptr());
            ffi::latest::rocksdb_create_column_family_with_import(
                self.db, options, name, import, metadata, error,
            )
        });
        // SAFETY: owned, and used no more.
        unsafe { ffi::latest::rocksdb_import_column_family_options_destroy(import) };
        // SAFETY: owned, and used no more.
        unsafe { ffi::latest::rocksdb_export_import_files_metadata_destroy(metadata) };
        self.handles.push(created?);
        self.family_options.push(options);
        Ok(self.handles.len() - 1)
    }
}
