//! RocksDB's databases under a budget of memory: `shim/budget.cc`, built by `build.rs`.
//!
//! # Safety
//!
//! The functions' types are those of `shim/budget.cc`, compiled together with this crate. A handle comes from
//! `budget_shim_create` or `budget_shim_open`, is owned by one [`Database`] and closed once. RocksDB's databases may be
//! used by any number of threads. The C++ side reads keys and values only within the
//! lengths given, and throws nothing.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;

// Linked for its symbols only.
use librocksdb_sys as _;
use partita_bench::budget::TableFile;
use partita_bench::layout::Layout;
use partita_bench::locations::Tables;
use partita_bench::lookups::{Answer, Counters, Key, PerRole};

unsafe extern "C" {
    fn budget_shim_create(
        path: *const c_char,
        partitioned: bool,
        error: *mut c_char,
        error_len: usize,
    ) -> *mut c_void;
    fn budget_shim_create_bookie(
        path: *const c_char,
        partitioned: bool,
        block_bytes: u64,
        restart_interval: c_int,
        budget: u64,
        error: *mut c_char,
        error_len: usize,
    ) -> *mut c_void;
    fn budget_shim_compact_all(database: *mut c_void, error: *mut c_char, error_len: usize)
    -> bool;
    fn budget_shim_settle(database: *mut c_void, error: *mut c_char, error_len: usize) -> bool;
    fn budget_shim_last(
        database: *mut c_void,
        keys: *const Key,
        n: usize,
        found: *mut u64,
        sum: *mut u64,
        error: *mut c_char,
        error_len: usize,
    ) -> bool;
    fn budget_shim_write(
        database: *mut c_void,
        keys: *const Key,
        values: *const u8,
        n: usize,
        synced: bool,
        error: *mut c_char,
        error_len: usize,
    ) -> bool;
    fn budget_shim_flush(database: *mut c_void, error: *mut c_char, error_len: usize) -> bool;
    fn budget_shim_compact(
        database: *mut c_void,
        level: c_int,
        error: *mut c_char,
        error_len: usize,
    ) -> bool;
    fn budget_shim_files(
        database: *mut c_void,
        context: *mut c_void,
        each: unsafe extern "C" fn(
            context: *mut c_void,
            name: *const c_char,
            level: c_int,
            smallest: *const Key,
            largest: *const Key,
            entries: u64,
            bytes: u64,
            newest: u64,
        ),
    );
    fn budget_shim_open(
        path: *const c_char,
        partitioned: bool,
        hyper_clock: bool,
        direct_reads: bool,
        budget: u64,
        error: *mut c_char,
        error_len: usize,
    ) -> *mut c_void;
    fn budget_shim_version() -> *const c_char;
    fn budget_shim_close(database: *mut c_void);
    fn budget_shim_get(
        database: *mut c_void,
        keys: *const Key,
        n: usize,
        found: *mut u64,
        sum: *mut u64,
        error: *mut c_char,
        error_len: usize,
    ) -> bool;
    fn budget_shim_count(on: bool);
    fn budget_shim_counters(reads: *mut u64, bytes: *mut u64, hits: *mut u64);
    fn budget_shim_charged(database: *mut c_void, charged: *mut u64);
}

/// RocksDB's block caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// `LRUCache` with the default number of shards: what a bookie has.
    Lru,
    /// `HyperClockCache` that sizes itself: RocksDB's own choice since 10.7.
    HyperClock,
}

/// An open database.
#[derive(Debug)]
pub struct Database {
    handle: *mut c_void,
}

// SAFETY: RocksDB's `DB` may be used from any thread; see the module.
unsafe impl Send for Database {}
// SAFETY: what takes `&self` reads only, which RocksDB permits from many threads at once.
unsafe impl Sync for Database {}

impl Database {
    /// Creates a database to be filled; nothing is flushed or compacted unless asked.
    pub fn create(path: &Path, partitioned: bool) -> Result<Self, String> {
        let path = c_path(path);
        let mut error = Message::new();
        // SAFETY: the path ends in NUL and outlives the call; `error` has the length that is given.
        let handle =
            unsafe { budget_shim_create(path.as_ptr(), partitioned, error.start(), Message::LEN) };
        error.or(!handle.is_null(), Self { handle })
    }

    /// Creates a database that is filled as a bookie's is, with compactions.
    pub fn create_bookie(path: &Path, tables: Tables, budget: u64) -> Result<Self, String> {
        let path = c_path(path);
        let mut error = Message::new();
        // SAFETY: as in `create`.
        let handle = unsafe {
            budget_shim_create_bookie(
                path.as_ptr(),
                tables.layout == Layout::Partitioned,
                tables.block_bytes.into(),
                tables.index_restart_interval as c_int,
                budget,
                error.start(),
                Message::LEN,
            )
        };
        error.or(!handle.is_null(), Self { handle })
    }

    /// Opens a filled database for reading under a budget. It writes to its directory.
    pub fn open(
        path: &Path,
        partitioned: bool,
        cache: Cache,
        direct_reads: bool,
        budget: u64,
    ) -> Result<Self, String> {
        let path = c_path(path);
        let hyper_clock = cache == Cache::HyperClock;
        let mut error = Message::new();
        // SAFETY: as in `create`.
        let handle = unsafe {
            budget_shim_open(
                path.as_ptr(),
                partitioned,
                hyper_clock,
                direct_reads,
                budget,
                error.start(),
                Message::LEN,
            )
        };
        error.or(!handle.is_null(), Self { handle })
    }

    /// Writes one batch, without a log.
    pub fn write(&mut self, entries: &[(Key, u64)]) -> Result<(), String> {
        self.write_batch(entries, false)
    }

    /// Writes one batch, which survives a power cut when this returns.
    pub fn write_synced(&self, entries: &[(Key, u64)]) -> Result<(), String> {
        self.write_batch(entries, true)
    }

    fn write_batch(&self, entries: &[(Key, u64)], synced: bool) -> Result<(), String> {
        let keys: Vec<Key> = entries.iter().map(|(key, _)| *key).collect();
        let values: Vec<u8> = entries.iter().flat_map(|(_, value)| value.to_be_bytes()).collect();
        let mut error = Message::new();
        // SAFETY: `handle` is open; there are so many keys, and values of 8 bytes.
        let done = unsafe {
            budget_shim_write(
                self.handle,
                keys.as_ptr(),
                values.as_ptr(),
                keys.len(),
                synced,
                error.start(),
                Message::LEN,
            )
        };
        error.or(done, ())
    }

    /// Makes a level 0 file of what was written.
    pub fn flush(&self) -> Result<(), String> {
        let mut error = Message::new();
        // SAFETY: `handle` is open.
        let done = unsafe { budget_shim_flush(self.handle, error.start(), Message::LEN) };
        error.or(done, ())
    }

    /// Merges all of level 0 into one sorted run at `level`.
    pub fn compact(&mut self, level: u32) -> Result<(), String> {
        let mut error = Message::new();
        // SAFETY: `handle` is open.
        let done = unsafe {
            budget_shim_compact(self.handle, level as c_int, error.start(), Message::LEN)
        };
        error.or(done, ())
    }

    /// The live files.
    pub fn files(&self) -> Vec<TableFile> {
        let mut files: Vec<TableFile> = Vec::new();
        // SAFETY: `handle` is open, and `take` gets the vector that it expects.
        unsafe { budget_shim_files(self.handle, (&raw mut files).cast(), take) };
        files
    }

    /// Merges all tables into one sorted run, each written anew.
    pub fn compact_all(&self) -> Result<(), String> {
        let mut error = Message::new();
        // SAFETY: `handle` is open.
        let done = unsafe { budget_shim_compact_all(self.handle, error.start(), Message::LEN) };
        error.or(done, ())
    }

    /// Waits until no compaction is due.
    pub fn settle(&self) -> Result<(), String> {
        let mut error = Message::new();
        // SAFETY: `handle` is open.
        let done = unsafe { budget_shim_settle(self.handle, error.start(), Message::LEN) };
        error.or(done, ())
    }

    /// Looks up the last entries of the keys' ledgers.
    pub fn last(&self, keys: &[Key]) -> Result<Answer, String> {
        let mut answer = Answer::default();
        let mut error = Message::new();
        // SAFETY: `handle` is open; there are so many keys.
        let done = unsafe {
            budget_shim_last(
                self.handle,
                keys.as_ptr(),
                keys.len(),
                &mut answer.found,
                &mut answer.sum,
                error.start(),
                Message::LEN,
            )
        };
        error.or(done, answer)
    }

    /// Looks up all keys.
    pub fn get(&self, keys: &[Key]) -> Result<Answer, String> {
        let mut answer = Answer::default();
        let mut error = Message::new();
        // SAFETY: `handle` is open; there are so many keys.
        let done = unsafe {
            budget_shim_get(
                self.handle,
                keys.as_ptr(),
                keys.len(),
                &mut answer.found,
                &mut answer.sum,
                error.start(),
                Message::LEN,
            )
        };
        error.or(done, answer)
    }

    /// Bytes charged to the cache.
    pub fn charged(&self) -> PerRole<u64> {
        let mut charged = [0; 4];
        // SAFETY: `handle` is open; there is room for four numbers.
        unsafe { budget_shim_charged(self.handle, charged.as_mut_ptr()) };
        per_role(charged)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: `handle` is open and not used again.
        unsafe { budget_shim_close(self.handle) };
    }
}

/// RocksDB's version.
pub fn version() -> String {
    // SAFETY: touches nothing of ours.
    let version = unsafe { budget_shim_version() };
    // SAFETY: the text ends with a zero byte, and stays as long as the program runs.
    unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned()
}

/// Switches the calling thread's counters on, from 0, or off.
pub fn set_counting(on: bool) {
    // SAFETY: touches nothing but the thread's own state.
    unsafe { budget_shim_count(on) };
}

/// The calling thread's counters.
pub fn counters() -> Counters {
    let (mut reads, mut bytes, mut hits) = ([0; 4], [0; 4], [0; 4]);
    // SAFETY: there is room for four numbers each.
    unsafe {
        budget_shim_counters(reads.as_mut_ptr(), bytes.as_mut_ptr(), hits.as_mut_ptr());
    }
    Counters { reads: per_role(reads), bytes: per_role(bytes), hits: per_role(hits) }
}

fn per_role([data, index, filter, other]: [u64; 4]) -> PerRole<u64> {
    PerRole { data, index, filter, other }
}

/// Adds a file to the vector that `context` is.
unsafe extern "C" fn take(
    context: *mut c_void,
    name: *const c_char,
    level: c_int,
    smallest: *const Key,
    largest: *const Key,
    entries: u64,
    bytes: u64,
    newest: u64,
) {
    // SAFETY: `Database::files` passes its vector, which nothing else uses during the call.
    let files = unsafe { &mut *context.cast::<Vec<TableFile>>() };
    // SAFETY: RocksDB's file names end in NUL.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    // SAFETY: all keys have 16 bytes.
    let smallest = unsafe { smallest.read_unaligned() };
    // SAFETY: likewise.
    let largest = unsafe { largest.read_unaligned() };
    let level = level as u32;
    files.push(TableFile { name, level, smallest, largest, entries, bytes, age: newest });
}

/// Room for RocksDB's message.
pub(crate) struct Message([c_char; Self::LEN]);

impl Message {
    pub(crate) const LEN: usize = 1024;

    pub(crate) fn new() -> Self {
        Self([0; Self::LEN])
    }

    pub(crate) fn start(&mut self) -> *mut c_char {
        self.0.as_mut_ptr()
    }

    /// `value` if all went well, else the message.
    pub(crate) fn or<T>(&self, done: bool, value: T) -> Result<T, String> {
        if done {
            return Ok(value);
        }
        // The value may own a handle that is null.
        std::mem::forget(value);
        let bytes: Vec<u8> = self.0.iter().map(|&byte| byte as u8).collect();
        Err(CStr::from_bytes_until_nul(&bytes)
            .map_or_else(|_| "no message".to_owned(), |text| text.to_string_lossy().into_owned()))
    }
}

pub(crate) fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_encoded_bytes()).expect("no NUL in paths")
}
