//! RocksDB's SST files as a contender: `shim/tables.cc`, built by `build.rs`.
//!
//! # Safety
//!
//! The functions' types are those of `shim/tables.cc`, compiled together with this crate. A handle comes from
//! `table_shim_open`, is owned by one [`RocksTable`] and closed once. The C++ side reads keys and values only within
//! the lengths given, and throws nothing.

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;

// Linked for its symbols only.
use librocksdb_sys as _;

use crate::rows::Rows;

unsafe extern "C" {
    fn table_shim_write(
        path: *const c_char,
        options: *const c_char,
        keys: *const u8,
        key_len: usize,
        values: *const u8,
        value_len: usize,
        n: usize,
        error: *mut c_char,
        error_len: usize,
    ) -> u64;
    fn table_shim_open(
        path: *const c_char,
        options: *const c_char,
        error: *mut c_char,
        error_len: usize,
    ) -> *mut c_void;
    fn table_shim_close(table: *mut c_void);
    fn table_shim_get(
        table: *mut c_void,
        keys: *const u8,
        key_len: usize,
        n: usize,
        found: *mut u64,
    ) -> u64;
    fn table_shim_seek(
        table: *mut c_void,
        keys: *const u8,
        key_len: usize,
        n: usize,
        sum: *mut u64,
    ) -> u64;
    fn table_shim_scan(table: *mut c_void, count: *mut u64, sum: *mut u64) -> u64;
    fn table_shim_verify(table: *mut c_void, error: *mut c_char, error_len: usize) -> u64;
}

/// Room for RocksDB's message.
const ERROR_LEN: usize = 1024;

/// Writes `rows` to a new file with RocksDB's `SstFileWriter`; returns nanoseconds.
///
/// * `options`: RocksDB's option string for block-based tables.
pub fn write(path: &Path, options: &str, rows: &Rows) -> Result<u64, String> {
    let (path, options) = (c_path(path), c_text(options));
    let mut error = [0; ERROR_LEN];
    // SAFETY: `rows` holds `len` keys and values of these lengths; the strings end in NUL and outlive the call.
    let nanos = unsafe {
        table_shim_write(
            path.as_ptr(),
            options.as_ptr(),
            rows.keys.as_ptr(),
            rows.key_len,
            rows.values.as_ptr(),
            rows.value_len,
            rows.len(),
            error.as_mut_ptr(),
            error.len(),
        )
    };
    if nanos == 0 { Err(message(&error)) } else { Ok(nanos) }
}

/// A file opened with RocksDB's `SstFileReader`.
#[derive(Debug)]
pub struct RocksTable {
    handle: *mut c_void,
}

impl RocksTable {
    /// Opens a file.
    pub fn open(path: &Path, options: &str) -> Result<Self, String> {
        let (path, options) = (c_path(path), c_text(options));
        let mut error = [0; ERROR_LEN];
        // SAFETY: the strings end in NUL and outlive the call; `error` has the length that is given.
        let handle = unsafe {
            table_shim_open(path.as_ptr(), options.as_ptr(), error.as_mut_ptr(), error.len())
        };
        if handle.is_null() { Err(message(&error)) } else { Ok(Self { handle }) }
    }

    /// Looks all `keys` up; returns nanoseconds and how many are there.
    pub fn get(&self, keys: &[u8], key_len: usize) -> (u64, u64) {
        let mut found = 0;
        // SAFETY: `handle` is open, and `keys` holds so many keys of this length.
        let nanos = unsafe {
            table_shim_get(self.handle, keys.as_ptr(), key_len, keys.len() / key_len, &mut found)
        };
        (nanos, found)
    }

    /// Seeks all `keys` with one iterator; returns nanoseconds and the length of all values found.
    pub fn seek(&self, keys: &[u8], key_len: usize) -> (u64, u64) {
        let mut sum = 0;
        // SAFETY: as in `get`.
        let nanos = unsafe {
            table_shim_seek(self.handle, keys.as_ptr(), key_len, keys.len() / key_len, &mut sum)
        };
        (nanos, sum)
    }

    /// Walks over all entries; returns nanoseconds, entries, and bytes of internal keys and values.
    pub fn scan(&self) -> (u64, u64, u64) {
        let (mut count, mut sum) = (0, 0);
        // SAFETY: `handle` is open.
        let nanos = unsafe { table_shim_scan(self.handle, &mut count, &mut sum) };
        (nanos, count, sum)
    }

    /// Verifies all checksums; returns nanoseconds.
    pub fn verify(&self) -> Result<u64, String> {
        let mut error = [0; ERROR_LEN];
        // SAFETY: `handle` is open; `error` has the length that is given.
        let nanos = unsafe { table_shim_verify(self.handle, error.as_mut_ptr(), error.len()) };
        if nanos == 0 { Err(message(&error)) } else { Ok(nanos) }
    }
}

impl Drop for RocksTable {
    fn drop(&mut self) {
        // SAFETY: `handle` is open and not used again.
        unsafe { table_shim_close(self.handle) };
    }
}

fn c_path(path: &Path) -> CString {
    c_text(path.to_str().expect("the benchmark's paths are text"))
}

fn c_text(text: &str) -> CString {
    CString::new(text).expect("no NUL in paths and options")
}

fn message(error: &[c_char; ERROR_LEN]) -> String {
    let bytes: Vec<u8> = error.iter().map(|&byte| byte as u8).collect();
    CStr::from_bytes_until_nul(&bytes)
        .map_or_else(|_| "no message".to_owned(), |text| text.to_string_lossy().into_owned())
}
