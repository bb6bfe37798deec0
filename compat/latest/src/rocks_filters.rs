//! RocksDB's own filters as a contender: `shim/filters.cc`, built by `build.rs`.
//!
//! # Safety
//!
//! The functions' types are those of `shim/filters.cc`, from which the library was built together with this crate. A
//! handle comes from `shim_new`, is owned by one [`RocksFilters`] and freed once; the library stays loaded for as long
//! as the process lives. The C++ side writes no file and throws nothing.

use std::ffi::{CStr, c_char, c_int, c_void};

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};

use crate::contender::{Contender, Kind, Loop, Queries, Timing};

/// For which processor RocksDB was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiled {
    /// As any x86-64 processor runs it: RocksDB then has no AVX2 code.
    Plain,
    /// For Haswell (`-march=haswell`): AVX2, BMI, LZCNT, POPCNT.
    Avx2,
}

/// RocksDB's filters of one kind and setting.
pub struct RocksFilters {
    name: &'static str,
    handle: *mut c_void,
    built: usize,
    functions: Functions,
}

struct Functions {
    free: unsafe extern "C" fn(*mut c_void),
    build: unsafe extern "C" fn(*mut c_void, *const c_char, usize, usize) -> u64,
    block: unsafe extern "C" fn(*const c_void, usize, *mut usize) -> *const c_char,
    query: unsafe extern "C" fn(*mut c_void, c_int, *const ShimQueries, *mut u64) -> u64,
}

/// Mirrors `ShimQueries` in the C++ code.
#[repr(C)]
struct ShimQueries {
    filters: *const u32,
    keys: *const c_char,
    key_len: usize,
    count: usize,
    batch_len: usize,
}

impl RocksFilters {
    /// No filters yet.
    ///
    /// * Panics if the processor lacks AVX2 and `compiled` asks for it.
    pub fn new(compiled: Compiled, kind: Kind, bits_per_key: f64) -> Self {
        let (name, path) = match compiled {
            Compiled::Plain => ("RocksDB plain", env!("ROCKSDB_FILTERS_PLAIN")),
            Compiled::Avx2 => ("RocksDB AVX2", env!("ROCKSDB_FILTERS_AVX2")),
        };
        assert!(compiled == Compiled::Plain || is_haswell(), "this processor has no AVX2");
        let implementation = match kind {
            Kind::Bloom => c"rocksdb.internal.FastLocalBloomFilter",
            Kind::Ribbon => c"rocksdb.internal.Standard128RibbonFilter",
            Kind::LegacyBloom => c"rocksdb.internal.LegacyBloomFilter",
        };
        // SAFETY: the library is ours; what runs when it is loaded are RocksDB's static constructors.
        let library = unsafe { Library::open(Some(path), RTLD_LAZY | RTLD_LOCAL) }
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        // SAFETY: see the module.
        let new = unsafe {
            symbol::<unsafe extern "C" fn(*const c_char, f64) -> *mut c_void>(&library, c"shim_new")
        };
        let functions = Functions {
            // SAFETY: see the module.
            free: unsafe { symbol(&library, c"shim_free") },
            // SAFETY: see the module.
            build: unsafe { symbol(&library, c"shim_build") },
            // SAFETY: see the module.
            block: unsafe { symbol(&library, c"shim_block") },
            // SAFETY: see the module.
            query: unsafe { symbol(&library, c"shim_query") },
        };
        // RocksDB's threads and destructors do not expect to be unloaded.
        std::mem::forget(library);
        // SAFETY: the name is NUL-terminated.
        let handle = unsafe { new(implementation.as_ptr(), bits_per_key) };
        assert!(!handle.is_null(), "RocksDB knows no filter {implementation:?}");
        Self { name, handle, built: 0, functions }
    }

    /// A copy of the block of filter `index`, in the order of building.
    pub fn block(&self, index: usize) -> Vec<u8> {
        assert!(index < self.built, "{} filters were built", self.built);
        let mut len = 0;
        // SAFETY: the handle is live and has a filter `index`.
        let start = unsafe { (self.functions.block)(self.handle, index, &mut len) };
        if len == 0 {
            return Vec::new();
        }
        // SAFETY: the block has `len` bytes and stays where it is until the handle is freed.
        unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) }.to_vec()
    }
}

impl Contender for RocksFilters {
    fn name(&self) -> &'static str {
        self.name
    }

    fn build(&mut self, keys: &[u8], key_len: usize) -> (u64, Vec<u8>) {
        let count = keys.len() / key_len;
        // SAFETY: the handle is live; `keys` holds `count` keys of that length.
        let nanos =
            unsafe { (self.functions.build)(self.handle, keys.as_ptr().cast(), key_len, count) };
        self.built += 1;
        (nanos, self.block(self.built - 1))
    }

    fn run(&mut self, which: Loop, queries: &Queries) -> Timing {
        let (count, batch_len) = (queries.len(), queries.batch_len);
        assert!(count % batch_len == 0 && queries.filters.len() == count / batch_len);
        assert!(queries.filters.iter().all(|&filter| (filter as usize) < self.built));
        let which = match which {
            Loop::Dry => 0,
            Loop::DryWithHash => 1,
            Loop::Bare => 2,
            Loop::BareBatch => 3,
            Loop::Reader => 4,
        };
        let queries = ShimQueries {
            filters: queries.filters.as_ptr(),
            keys: queries.keys.as_ptr().cast(),
            key_len: queries.key_len,
            count,
            batch_len,
        };
        let mut positives = 0;
        // SAFETY: the handle is live; the lengths and filter numbers were checked above.
        let nanos = unsafe { (self.functions.query)(self.handle, which, &queries, &mut positives) };
        Timing { nanos, positives }
    }
}

impl Drop for RocksFilters {
    fn drop(&mut self) {
        // SAFETY: owned; not used afterwards.
        unsafe { (self.functions.free)(self.handle) };
    }
}

/// The function `name` of the library.
///
/// # Safety
///
/// `T` must be the function's type, and the library must stay loaded while it is used.
unsafe fn symbol<T: Copy>(library: &Library, name: &CStr) -> T {
    // SAFETY: the caller's promise.
    let symbol = unsafe { library.get::<T>(name.to_bytes_with_nul()) };
    *symbol.unwrap_or_else(|error| panic!("{name:?}: {error}"))
}

/// Whether this processor runs what is compiled for Haswell.
pub fn is_haswell() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("popcnt")
}
