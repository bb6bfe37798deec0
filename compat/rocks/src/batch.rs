//! Write batches that RocksDB encodes, column families included.
//!
//! # Safety
//!
//! As in [`crate::db`]. Column family handles belong to their database and are destroyed before it.

use std::ffi::CString;
use std::path::Path;

use partita::batch::Record;

use crate::db::{Batch, Options, Result, c_bytes, c_path, checked};
use crate::ffi;

/// The bytes of a batch.
pub(crate) fn bytes_of(batch: &Batch) -> Vec<u8> {
    let mut len = 0;
    // SAFETY: the batch is live; it says how long its bytes are.
    let data = unsafe { ffi::rocksdb_writebatch_data(batch.0, &mut len) };
    // SAFETY: the bytes live as long as the batch.
    unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) }.to_vec()
}

/// A database with column families, for their handles.
pub struct Families {
    db: *mut ffi::Db,
    /// Family number `i + 1`.
    handles: Vec<*mut ffi::ColumnFamily>,
    _options: Options,
}

impl Families {
    /// Creates a database with families 1 to `count` beside the default one.
    pub fn create(path: &Path, count: u32) -> Result<Self> {
        let options = Options::parse("create_if_missing=true")?;
        let path = c_path(path);
        // SAFETY: options and path live through the call.
        let db = checked(|error| unsafe { ffi::rocksdb_open(options.0, path.as_ptr(), error) })?;
        let mut families = Self { db, handles: Vec::new(), _options: options };
        for number in 1..=count {
            let name = CString::new(format!("family{number}")).expect("no NUL");
            let options = families._options.0;
            // SAFETY: the database is open, the name is NUL-terminated.
            let handle = checked(|error| unsafe {
                ffi::rocksdb_create_column_family(db, options, name.as_ptr(), error)
            })?;
            families.handles.push(handle);
        }
        Ok(families)
    }

    /// RocksDB's bytes of a batch of these records. Marks of transactions and blob indexes cannot be made from outside.
    pub fn encode(&self, records: &[Record<'_>]) -> Vec<u8> {
        // SAFETY: a constructor.
        let batch = Batch(unsafe { ffi::rocksdb_writebatch_create() });
        for record in records {
            let handle = record.family().and_then(|family| self.handle(family));
            add(batch.0, handle, record);
        }
        bytes_of(&batch)
    }

    fn handle(&self, family: u32) -> Option<*mut ffi::ColumnFamily> {
        self.handles.get((family as usize).checked_sub(1)?).copied()
    }
}

/// Adds a record for the family of this handle to a live batch; `None`: the default family.
pub(crate) fn add(
    batch: *mut ffi::WriteBatch,
    handle: Option<*mut ffi::ColumnFamily>,
    record: &Record<'_>,
) {
    match *record {
        Record::Put { key, value, .. } => {
            let ((key, len), (value, value_len)) = (c_bytes(key), c_bytes(value));
            match handle {
                // SAFETY: batch and handle are live; pointers and lengths describe live slices. So below.
                Some(family) => unsafe {
                    ffi::rocksdb_writebatch_put_cf(batch, family, key, len, value, value_len);
                },
                // SAFETY: as above.
                None => unsafe {
                    ffi::rocksdb_writebatch_put(batch, key, len, value, value_len);
                },
            }
        }
        Record::Merge { key, operand, .. } => {
            let ((key, len), (value, value_len)) = (c_bytes(key), c_bytes(operand));
            match handle {
                // SAFETY: as above.
                Some(family) => unsafe {
                    ffi::rocksdb_writebatch_merge_cf(batch, family, key, len, value, value_len);
                },
                // SAFETY: as above.
                None => unsafe {
                    ffi::rocksdb_writebatch_merge(batch, key, len, value, value_len);
                },
            }
        }
        Record::Delete { key, .. } => {
            let (key, len) = c_bytes(key);
            match handle {
                // SAFETY: as above.
                Some(family) => unsafe {
                    ffi::rocksdb_writebatch_delete_cf(batch, family, key, len);
                },
                // SAFETY: as above.
                None => unsafe { ffi::rocksdb_writebatch_delete(batch, key, len) },
            }
        }
        Record::SingleDelete { key, .. } => {
            let (key, len) = c_bytes(key);
            match handle {
                // SAFETY: as above.
                Some(family) => unsafe {
                    ffi::rocksdb_writebatch_singledelete_cf(batch, family, key, len);
                },
                // SAFETY: as above.
                None => unsafe { ffi::rocksdb_writebatch_singledelete(batch, key, len) },
            }
        }
        Record::DeleteRange { begin, end, .. } => {
            let ((begin, len), (end, end_len)) = (c_bytes(begin), c_bytes(end));
            match handle {
                // SAFETY: as above.
                Some(family) => unsafe {
                    ffi::rocksdb_writebatch_delete_range_cf(
                        batch, family, begin, len, end, end_len,
                    );
                },
                // SAFETY: as above.
                None => unsafe {
                    ffi::rocksdb_writebatch_delete_range(batch, begin, len, end, end_len);
                },
            }
        }
        Record::LogData(data) => {
            let (data, len) = c_bytes(data);
            // SAFETY: as above.
            unsafe { ffi::rocksdb_writebatch_put_log_data(batch, data, len) };
        }
        Record::BlobIndex { .. } | Record::Transaction(_) | Record::Noop => {
            unreachable!("RocksDB's C API makes no such record")
        }
    }
}

impl Drop for Families {
    fn drop(&mut self) {
        for &handle in &self.handles {
            // SAFETY: owned, and the database is still open.
            unsafe { ffi::rocksdb_column_family_handle_destroy(handle) };
        }
        // SAFETY: owned; not used afterwards.
        unsafe { ffi::rocksdb_close(self.db) };
    }
}
