//! LZ4 with high effort, from the C library: no Rust crate has it.
//!
//! # Safety
//!
//! The library reads `src[..len]` and `dictionary[..len]`, writes at most `dst.len()` bytes to `dst`, and keeps a
//! pointer to the dictionary in the stream between `LZ4_loadDictHC` and the next reset. [`StreamHc::compress`] does
//! load, compress and reset within one call, during which all three slices are borrowed, so no pointer outlives it.
//! The stream is owned: made by `LZ4_createStreamHC`, freed once by `LZ4_freeStreamHC`.

use std::ffi::{c_char, c_int};
use std::ptr::NonNull;

// Links liblz4; the functions with streams are missing from its declarations.
use lz4_sys as _;

#[repr(C)]
struct RawStream {
    _private: [u8; 0],
}

// SAFETY: the signatures are those of lz4hc.h, version 1.10, the version that `lz4-sys` builds.
unsafe extern "C" {
    fn LZ4_createStreamHC() -> *mut RawStream;
    fn LZ4_freeStreamHC(stream: *mut RawStream) -> c_int;
    fn LZ4_resetStreamHC_fast(stream: *mut RawStream, level: c_int);
    fn LZ4_loadDictHC(stream: *mut RawStream, dictionary: *const c_char, len: c_int) -> c_int;
    fn LZ4_compress_HC_continue(
        stream: *mut RawStream,
        src: *const c_char,
        dst: *mut c_char,
        src_len: c_int,
        dst_len: c_int,
    ) -> c_int;
}

/// A compression state of about 256 KiB, kept between blocks.
pub(super) struct StreamHc {
    stream: NonNull<RawStream>,
}

// SAFETY: the stream is plain memory of its own, without thread-local or shared state.
unsafe impl Send for StreamHc {}

impl StreamHc {
    /// A new state, or `None` without memory.
    pub(super) fn new() -> Option<Self> {
        // SAFETY: takes nothing; returns a new stream or null.
        let stream = unsafe { LZ4_createStreamHC() };
        NonNull::new(stream).map(|stream| Self { stream })
    }

    /// Compresses `src` as one block that may refer to `dictionary` (at most 64 KiB).
    ///
    /// * `level`: 1 to 12; 0 or less is the library's default, 9.
    /// * Returns the length written to `dst`, or `None` if it does not fit or a slice is beyond the library's `int`.
    pub(super) fn compress(
        &mut self,
        level: i32,
        dictionary: &[u8],
        src: &[u8],
        dst: &mut [u8],
    ) -> Option<usize> {
        let dictionary_len = c_int::try_from(dictionary.len()).ok()?;
        let src_len = c_int::try_from(src.len()).ok()?;
        let dst_len = c_int::try_from(dst.len()).unwrap_or(c_int::MAX);
        let stream = self.stream.as_ptr();
        // SAFETY: `stream` is live and ours alone; this forgets any earlier dictionary.
        unsafe { LZ4_resetStreamHC_fast(stream, level) };
        if dictionary_len > 0 {
            // SAFETY: the pointer and length are those of a slice that stays borrowed until the reset below.
            unsafe { LZ4_loadDictHC(stream, dictionary.as_ptr().cast(), dictionary_len) };
        }
        let (from, to) = (src.as_ptr().cast(), dst.as_mut_ptr().cast());
        // SAFETY: reads `src_len` bytes of `src`, writes at most `dst_len <= dst.len()` bytes to `dst`.
        let written = unsafe { LZ4_compress_HC_continue(stream, from, to, src_len, dst_len) };
        // SAFETY: as above; the stream forgets `dictionary` and `src` before their borrows end.
        unsafe { LZ4_resetStreamHC_fast(stream, level) };
        usize::try_from(written).ok().filter(|&written| written > 0)
    }
}

impl Drop for StreamHc {
    fn drop(&mut self) {
        // SAFETY: the stream is live and freed only here.
        unsafe { LZ4_freeStreamHC(self.stream.as_ptr()) };
    }
}
