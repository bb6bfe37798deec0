//! RocksDB's databases in the database benchmark: `shim/database.cc`, built by `build.rs`.
//!
//! # Safety
//!
//! The functions' types, and the layout of [`ShimOptions`], are those of `shim/database.cc`, compiled together with this
//! crate. A handle comes from `database_shim_open`, is owned by one [`RocksDatabase`] and closed once. RocksDB's `DB` may be
//! used by any number of threads at once. The C++ side reads keys and values only within the lengths given, and throws
//! nothing.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;

// Linked for its symbols only.
use librocksdb_sys as _;
use partita_bench::lookups::Key;

use crate::database_bench::{Database, Records, Rows, Setup, WRITE_BUFFERS, Writing};
use crate::rocks_budget::{Message, c_path};

#[repr(C)]
struct ShimOptions {
    cache_bytes: u64,
    write_buffer_bytes: u64,
    file_bytes: u64,
    block_bytes: u64,
    auto_compactions: bool,
}

unsafe extern "C" {
    fn database_shim_open(
        path: *const c_char,
        options: *const ShimOptions,
        error: *mut c_char,
        error_len: usize,
    ) -> *mut c_void;
    fn database_shim_close(database: *mut c_void);
    fn database_shim_write(
        database: *mut c_void,
        keys: *const Key,
        values: *const u8,
        value_len: usize,
        n: usize,
        one_batch: bool,
        log: bool,
        error: *mut c_char,
        error_len: usize,
    ) -> bool;
    fn database_shim_get(
        database: *mut c_void,
        keys: *const Key,
        n: usize,
        found: *mut u64,
        error: *mut c_char,
        error_len: usize,
    ) -> bool;
    fn database_shim_scan(
        database: *mut c_void,
        reverse: bool,
        rows: *mut u64,
        sum: *mut u64,
        error: *mut c_char,
        error_len: usize,
    ) -> bool;
    fn database_shim_flush(database: *mut c_void, error: *mut c_char, error_len: usize) -> bool;
    fn database_shim_settle(database: *mut c_void, error: *mut c_char, error_len: usize) -> bool;
    fn database_shim_compact(database: *mut c_void, error: *mut c_char, error_len: usize) -> bool;
    fn database_shim_forget(path: *const c_char) -> bool;
}

/// An open database.
#[derive(Debug)]
pub struct RocksDatabase {
    handle: *mut c_void,
}

// SAFETY: RocksDB's `DB` may be used from any thread; see the module.
unsafe impl Send for RocksDatabase {}
// SAFETY: and from many at once.
unsafe impl Sync for RocksDatabase {}

impl RocksDatabase {
    /// Opens or creates one.
    pub fn open(dir: &Path, setup: &Setup) -> Result<Self, String> {
        let path: CString = c_path(dir);
        let write_buffers = WRITE_BUFFERS * setup.write_buffer_bytes;
        let cache_bytes = setup.budget_bytes.checked_sub(write_buffers).filter(|&bytes| bytes > 0);
        let cache_bytes = cache_bytes.ok_or("the budget has no room for the write buffers")? as u64;
        let options = ShimOptions {
            cache_bytes,
            write_buffer_bytes: setup.write_buffer_bytes as u64,
            file_bytes: setup.file_bytes,
            block_bytes: setup.block_bytes as u64,
            auto_compactions: setup.auto_compactions,
        };
        let mut error = Message::new();
        // SAFETY: path and options outlive the call; `error` has the length that is given.
        let handle =
            unsafe { database_shim_open(path.as_ptr(), &options, error.start(), Message::LEN) };
        error.or(!handle.is_null(), Self { handle })
    }
}

/// Has the operating system forget the contents of a directory's files, as far as it will.
pub fn forget_contents(dir: &Path) -> Result<(), String> {
    let path = c_path(dir);
    // SAFETY: the path outlives the call.
    let done = unsafe { database_shim_forget(path.as_ptr()) };
    if done { Ok(()) } else { Err(format!("{}: files cannot be dropped", dir.display())) }
}

impl Database for RocksDatabase {
    fn write(&self, records: Records<'_>, how: Writing) -> Result<(), String> {
        let n = records.keys.len();
        assert_eq!(records.values.len(), n * records.value_len, "a value for each key");
        let mut error = Message::new();
        // SAFETY: `handle` is open; there are `n` keys and, as asserted, values.
        let done = unsafe {
            database_shim_write(
                self.handle,
                records.keys.as_ptr(),
                records.values.as_ptr(),
                records.value_len,
                n,
                how != Writing::Each,
                how != Writing::BatchWithoutLog,
                error.start(),
                Message::LEN,
            )
        };
        error.or(done, ())
    }

    fn get(&self, keys: &[Key]) -> Result<u64, String> {
        let mut found = 0;
        let mut error = Message::new();
        // SAFETY: `handle` is open; there are so many keys.
        let done = unsafe {
            database_shim_get(
                self.handle,
                keys.as_ptr(),
                keys.len(),
                &mut found,
                error.start(),
                Message::LEN,
            )
        };
        error.or(done, found)
    }

    fn scan(&self, reverse: bool) -> Result<Rows, String> {
        let mut rows = Rows::default();
        let mut error = Message::new();
        // SAFETY: `handle` is open; the two numbers are ours.
        let done = unsafe {
            database_shim_scan(
                self.handle,
                reverse,
                &mut rows.count,
                &mut rows.sum,
                error.start(),
                Message::LEN,
            )
        };
        error.or(done, rows)
    }

    fn flush(&self) -> Result<(), String> {
        let mut error = Message::new();
        // SAFETY: `handle` is open.
        let done = unsafe { database_shim_flush(self.handle, error.start(), Message::LEN) };
        error.or(done, ())
    }

    fn settle(&self) -> Result<(), String> {
        let mut error = Message::new();
        // SAFETY: `handle` is open.
        let done = unsafe { database_shim_settle(self.handle, error.start(), Message::LEN) };
        error.or(done, ())
    }

    fn compact(&self) -> Result<(), String> {
        let mut error = Message::new();
        // SAFETY: `handle` is open.
        let done = unsafe { database_shim_compact(self.handle, error.start(), Message::LEN) };
        error.or(done, ())
    }
}

impl Drop for RocksDatabase {
    fn drop(&mut self) {
        // SAFETY: `handle` is open and not used again.
        unsafe { database_shim_close(self.handle) };
    }
}
