//! Single tables through RocksDB 11.8.1's `SstFileReader`: `shim/sst_reader.cc`.
//!
//! # Safety
//!
//! The functions copy what they are given before they return; strings and buffers that they return are malloc'ed, owned
//! by the caller and freed here once.

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr;

use partita_testkit::archive::{self, Row};

unsafe extern "C" {
    fn sst_reader_shim_verify(path: *const c_char, options: *const c_char) -> *mut c_char;
    fn sst_reader_shim_scan(
        path: *const c_char,
        options: *const c_char,
        rows: *mut *mut c_char,
        len: *mut usize,
    ) -> *mut c_char;
    fn free(pointer: *mut c_void);
}

/// Verifies the checksums of all blocks and the number of entries. `options` is RocksDB's option string.
pub fn verify(path: &Path, options: &str) -> Result<(), String> {
    let (path, options) = (c_string(path), c_string(options));
    // SAFETY: both are NUL-terminated.
    let message = unsafe { sst_reader_shim_verify(path.as_ptr(), options.as_ptr()) };
    answer(message)
}

/// All point entries in table order: encoded internal keys with values. `options` is RocksDB's option string.
pub fn scan(path: &Path, options: &str) -> Result<Vec<Row>, String> {
    let (path, options) = (c_string(path), c_string(options));
    let (mut rows, mut len) = (ptr::null_mut(), 0);
    // SAFETY: both are NUL-terminated, and the results have a place each.
    let message =
        unsafe { sst_reader_shim_scan(path.as_ptr(), options.as_ptr(), &mut rows, &mut len) };
    let mut decoded = Vec::new();
    if !rows.is_null() {
        // SAFETY: a buffer of `len` bytes.
        let bytes = unsafe { std::slice::from_raw_parts(rows.cast::<u8>(), len) };
        decoded = archive::decode_rows(bytes).expect("the shim encodes whole rows");
        // SAFETY: owned; not used afterwards.
        unsafe { free(rows.cast()) };
    }
    answer(message).map(|()| decoded)
}

fn answer(message: *mut c_char) -> Result<(), String> {
    if message.is_null() {
        return Ok(());
    }
    // SAFETY: NUL-terminated.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    // SAFETY: owned; not used afterwards.
    unsafe { free(message.cast()) };
    Err(text)
}

fn c_string(text: impl AsRef<std::ffi::OsStr>) -> CString {
    CString::new(text.as_ref().as_encoded_bytes()).expect("test paths and options hold no NUL")
}
