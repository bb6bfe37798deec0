//! RocksDB's databases of many column families, with the options of Ozone's SSD profile: `shim/families.cc`, built by
//! `build.rs`.
//!
//! # Safety
//!
//! The functions' types are those of `shim/families.cc`, compiled together with this crate. A handle comes from
//! `families_shim_open`, is owned by one [`Families`] and closed once; families are told by their place among the names it
//! was opened with, which is checked. The C++ side reads keys and values only within the lengths given, and throws nothing.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::{ptr, slice};

// Linked for its symbols only.
use librocksdb_sys as _;
use partita_bench::lookups::PerRole;

use crate::rocks_budget::{Message, c_path};

unsafe extern "C" {
    fn families_shim_open(
        path: *const c_char,
        names: *const *const c_char,
        n: usize,
        metadata: c_int,
        cache_bytes: u64,
        only_read: bool,
        error: *mut c_char,
        error_len: usize,
    ) -> *mut c_void;
    fn families_shim_close(database: *mut c_void);
    fn families_shim_id(database: *mut c_void, family: usize) -> u32;
    fn families_shim_caches(database: *mut c_void) -> usize;
    fn families_shim_get(
        database: *mut c_void,
        family: usize,
        key: *const u8,
        key_len: usize,
        value: *mut *const u8,
        value_len: *mut usize,
        error: *mut c_char,
        error_len: usize,
    ) -> c_int;
    fn families_shim_may_exist(
        database: *mut c_void,
        family: usize,
        key: *const u8,
        key_len: usize,
        value: *mut *const u8,
        value_len: *mut usize,
    ) -> c_int;
    fn families_shim_write(
        database: *mut c_void,
        batch: *const u8,
        len: usize,
        error: *mut c_char,
        error_len: usize,
    ) -> bool;
    fn families_shim_walk(
        database: *mut c_void,
        family: usize,
        from: *const u8,
        from_len: usize,
        fill_cache: bool,
        context: *mut c_void,
        each: unsafe extern "C" fn(
            context: *mut c_void,
            key: *const u8,
            key_len: usize,
            value: *const u8,
            value_len: usize,
        ) -> bool,
        error: *mut c_char,
        error_len: usize,
    ) -> bool;
    fn families_shim_settle(database: *mut c_void, error: *mut c_char, error_len: usize) -> bool;
    fn families_shim_compact(database: *mut c_void, error: *mut c_char, error_len: usize) -> bool;
    fn families_shim_lookups(
        database: *mut c_void,
        hits: *mut u64,
        reads: *mut u64,
        inserted: *mut u64,
    );
    fn families_shim_charged(database: *mut c_void, charged: *mut u64);
    fn families_shim_amounts(database: *mut c_void, amounts: *mut u64);
}

/// Where RocksDB has index and filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// In the block cache, one of each a file: Ozone's choice.
    InCache = 0,
    /// In the memory of table readers, without a bound.
    Outside = 1,
    /// In the block cache in partitions, their top level pinned.
    Partitioned = 2,
}

/// How a database is opened.
#[derive(Clone, Copy, Debug)]
pub struct FamiliesOptions {
    /// Where index and filter are.
    pub metadata: Metadata,
    /// Bytes of the one block cache.
    pub cache_bytes: u64,
    /// Whether nothing is written, and what is not there is not made.
    pub only_read: bool,
}

/// What is known of a key without a look at files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// It is not there.
    Absent,
    /// It has this value.
    Present(Vec<u8>),
    /// Only files can tell.
    No,
}

/// An open database.
#[derive(Debug)]
pub struct Families {
    handle: *mut c_void,
    count: usize,
}

// SAFETY: RocksDB's `DB` may be used from any thread, one after the other; `&mut self` guards what was read last.
unsafe impl Send for Families {}

impl Families {
    /// Opens a database with these families, of which the first is the default one.
    pub fn open(path: &Path, names: &[&str], options: FamiliesOptions) -> Result<Self, String> {
        let path = c_path(path);
        let names: Vec<CString> =
            names.iter().map(|name| CString::new(*name).expect("no NUL in names")).collect();
        let pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let mut error = Message::new();
        // SAFETY: path and names end in NUL and outlive the call; there are so many of them.
        let handle = unsafe {
            families_shim_open(
                path.as_ptr(),
                pointers.as_ptr(),
                pointers.len(),
                options.metadata as c_int,
                options.cache_bytes,
                options.only_read,
                error.start(),
                Message::LEN,
            )
        };
        error.or(!handle.is_null(), Self { handle, count: names.len() })
    }

    /// The number of a family, as batches have it.
    pub fn id(&self, family: usize) -> u32 {
        // SAFETY: `handle` is open and has that family.
        unsafe { families_shim_id(self.handle, self.checked(family)) }
    }

    /// How many block caches the families have between them.
    pub fn caches(&self) -> usize {
        // SAFETY: `handle` is open.
        unsafe { families_shim_caches(self.handle) }
    }

    /// The value of a key.
    pub fn get(&mut self, family: usize, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let (mut value, mut len) = (ptr::null(), 0);
        let mut error = Message::new();
        // SAFETY: `handle` is open and has that family; the key has that length.
        let found = unsafe {
            families_shim_get(
                self.handle,
                self.checked(family),
                key.as_ptr(),
                key.len(),
                &mut value,
                &mut len,
                error.start(),
                Message::LEN,
            )
        };
        // SAFETY: where something was found, the value stays until the next call, which needs `&mut self`.
        let value = (found == 1).then(|| unsafe { bytes(value, len) }.to_vec());
        error.or(found >= 0, value)
    }

    /// What is known of a key without a look at files; values have at least a byte.
    pub fn may_exist(&mut self, family: usize, key: &[u8]) -> Known {
        let (mut value, mut len) = (ptr::null(), 0);
        // SAFETY: as in `get`.
        let known = unsafe {
            families_shim_may_exist(
                self.handle,
                self.checked(family),
                key.as_ptr(),
                key.len(),
                &mut value,
                &mut len,
            )
        };
        match known {
            0 => Known::Absent,
            // SAFETY: as in `get`.
            1 => Known::Present(unsafe { bytes(value, len) }.to_vec()),
            _ => Known::No,
        }
    }

    /// Writes a batch, as RocksDB has it.
    pub fn write(&mut self, batch: &[u8]) -> Result<(), String> {
        let mut error = Message::new();
        // SAFETY: `handle` is open; the batch has that length.
        let done = unsafe {
            families_shim_write(
                self.handle,
                batch.as_ptr(),
                batch.len(),
                error.start(),
                Message::LEN,
            )
        };
        error.or(done, ())
    }

    /// Walks from a key on, until `each` has enough and says so with `false`.
    pub fn walk(
        &self,
        family: usize,
        from: &[u8],
        fill_cache: bool,
        each: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), String> {
        let mut each = each;
        let mut error = Message::new();
        // SAFETY: `handle` is open and has that family; `call` gets the function that it expects.
        let done = unsafe {
            families_shim_walk(
                self.handle,
                self.checked(family),
                from.as_ptr(),
                from.len(),
                fill_cache,
                (&raw mut each).cast(),
                call,
                error.start(),
                Message::LEN,
            )
        };
        error.or(done, ())
    }

    /// Writes everything into tables, and waits until no compaction is due.
    pub fn settle(&self) -> Result<(), String> {
        let mut error = Message::new();
        // SAFETY: `handle` is open.
        let done = unsafe { families_shim_settle(self.handle, error.start(), Message::LEN) };
        error.or(done, ())
    }

    /// Writes all tables anew, each family's as one sorted run.
    pub fn compact(&self) -> Result<(), String> {
        let mut error = Message::new();
        // SAFETY: `handle` is open.
        let done = unsafe { families_shim_compact(self.handle, error.start(), Message::LEN) };
        error.or(done, ())
    }

    /// What reads found in the cache, what they took from files, and bytes that were put into the cache.
    pub fn lookups(&self) -> [PerRole<u64>; 3] {
        let mut all = [[0; 3]; 3];
        let [hits, reads, inserted] = &mut all;
        // SAFETY: `handle` is open; there is room for three numbers each.
        unsafe {
            families_shim_lookups(
                self.handle,
                hits.as_mut_ptr(),
                reads.as_mut_ptr(),
                inserted.as_mut_ptr(),
            );
        }
        all.map(|[data, index, filter]| PerRole { data, index, filter, other: 0 })
    }

    /// Bytes charged to the cache.
    pub fn charged(&self) -> PerRole<u64> {
        let mut charged = [0; 4];
        // SAFETY: `handle` is open; there is room for four numbers.
        unsafe { families_shim_charged(self.handle, charged.as_mut_ptr()) };
        let [data, index, filter, other] = charged;
        PerRole { data, index, filter, other }
    }

    /// What there is, and what was written.
    pub fn amounts(&self) -> Amounts {
        let mut amounts = [0; 7];
        // SAFETY: `handle` is open; there is room for seven numbers.
        unsafe { families_shim_amounts(self.handle, amounts.as_mut_ptr()) };
        let [
            memtable_bytes,
            reader_bytes,
            debt_bytes,
            table_bytes,
            batch_bytes,
            written_bytes,
            stall_micros,
        ] = amounts;
        Amounts {
            memtable_bytes,
            reader_bytes,
            debt_bytes,
            table_bytes,
            batch_bytes,
            written_bytes,
            stall_micros,
        }
    }

    fn checked(&self, family: usize) -> usize {
        assert!(family < self.count, "there is a family {family}");
        family
    }
}

/// What there is, and what was written since the database was opened, of all families.
#[derive(Clone, Copy, Debug)]
pub struct Amounts {
    /// Bytes of memtables.
    pub memtable_bytes: u64,
    /// Bytes that table readers hold outside of the cache.
    pub reader_bytes: u64,
    /// Bytes that compactions have to write until the levels have their sizes.
    pub debt_bytes: u64,
    /// Bytes of tables.
    pub table_bytes: u64,
    /// Bytes of changes.
    pub batch_bytes: u64,
    /// Bytes that flushes and compactions wrote.
    pub written_bytes: u64,
    /// Microseconds that writers waited.
    pub stall_micros: u64,
}

impl Drop for Families {
    fn drop(&mut self) {
        // SAFETY: `handle` is open and not used again.
        unsafe { families_shim_close(self.handle) };
    }
}

/// Hands an entry to the function that `context` is.
unsafe extern "C" fn call(
    context: *mut c_void,
    key: *const u8,
    key_len: usize,
    value: *const u8,
    value_len: usize,
) -> bool {
    // SAFETY: `Families::walk` passes its function, which nothing else uses during the call.
    let each = unsafe { &mut *context.cast::<&mut dyn FnMut(&[u8], &[u8]) -> bool>() };
    // SAFETY: the iterator's key stays until it moves.
    let key = unsafe { bytes(key, key_len) };
    // SAFETY: likewise.
    let value = unsafe { bytes(value, value_len) };
    each(key, value)
}

/// Bytes of RocksDB's; of none at all the address may be anything.
///
/// # Safety
///
/// There are so many bytes, which stay as long as they are used.
unsafe fn bytes<'a>(start: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { slice::from_raw_parts(start, len) }
}
