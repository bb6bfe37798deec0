//! LZ4 blocks, by the C library.
//!
//! The library is linked for its high-effort compressor in any case, which no Rust crate has, and its decompressor,
//! where reads from a file spend most of their time, takes a sixth less than the fastest Rust one.
//!
//! # Safety
//!
//! Every function gets pointers with the lengths of slices that are borrowed for the whole call, and reads and writes
//! within them only, for any bytes (`LZ4_decompress_safe*` is the library's interface for hostile input). A
//! compression stream keeps pointers to the dictionary and the last block between calls; [`Stream::compress`] loads,
//! compresses and resets within one call, during which all slices are borrowed, so no pointer outlives it. A stream
//! is owned: made by `LZ4_createStream*`, freed once by `LZ4_freeStream*`.

use std::ffi::{c_char, c_int};
use std::ptr::NonNull;

// Links liblz4; the functions with streams and dictionaries are missing from its declarations.
use lz4_sys as _;

#[repr(C)]
pub(super) struct RawStream {
    _private: [u8; 0],
}

#[repr(C)]
pub(super) struct RawStreamHc {
    _private: [u8; 0],
}

// SAFETY: the signatures are those of lz4.h and lz4hc.h, version 1.10, the version that `lz4-sys` builds.
unsafe extern "C" {
    fn LZ4_decompress_safe(
        src: *const c_char,
        dst: *mut c_char,
        src_len: c_int,
        dst_len: c_int,
    ) -> c_int;
    fn LZ4_decompress_safe_usingDict(
        src: *const c_char,
        dst: *mut c_char,
        src_len: c_int,
        dst_len: c_int,
        dictionary: *const c_char,
        dictionary_len: c_int,
    ) -> c_int;

    fn LZ4_createStream() -> *mut RawStream;
    fn LZ4_freeStream(stream: *mut RawStream) -> c_int;
    fn LZ4_resetStream_fast(stream: *mut RawStream);
    fn LZ4_loadDict(stream: *mut RawStream, dictionary: *const c_char, len: c_int) -> c_int;
    fn LZ4_compress_fast_continue(
        stream: *mut RawStream,
        src: *const c_char,
        dst: *mut c_char,
        src_len: c_int,
        dst_len: c_int,
        acceleration: c_int,
    ) -> c_int;

    fn LZ4_compress_fast_extState(
        stream: *mut RawStream,
        src: *const c_char,
        dst: *mut c_char,
        src_len: c_int,
        dst_len: c_int,
        acceleration: c_int,
    ) -> c_int;

    fn LZ4_createStreamHC() -> *mut RawStreamHc;
    fn LZ4_freeStreamHC(stream: *mut RawStreamHc) -> c_int;
    fn LZ4_resetStreamHC_fast(stream: *mut RawStreamHc, level: c_int);
    fn LZ4_loadDictHC(stream: *mut RawStreamHc, dictionary: *const c_char, len: c_int) -> c_int;
    fn LZ4_compress_HC_continue(
        stream: *mut RawStreamHc,
        src: *const c_char,
        dst: *mut c_char,
        src_len: c_int,
        dst_len: c_int,
    ) -> c_int;
}

/// Decompresses a block that may refer to `dictionary` (its last 64 KiB).
///
/// * `output`: an empty buffer with room for `len` bytes, the length that the block must have.
/// * Returns `None` if the block is damaged, has another length, or is beyond the library's `int`.
pub(super) fn decompress(
    src: &[u8],
    dictionary: &[u8],
    mut output: Vec<u8>,
    len: usize,
) -> Option<Vec<u8>> {
    debug_assert!(output.is_empty());
    output.reserve_exact(len); // nothing is left to do, but the writes below rely on it
    let src_len = c_int::try_from(src.len()).ok()?;
    let dst_len = c_int::try_from(len).ok()?;
    let dictionary_len = c_int::try_from(dictionary.len()).ok()?;
    let (from, to): (*const c_char, *mut c_char) =
        (src.as_ptr().cast(), output.as_mut_ptr().cast());
    let written = if dictionary.is_empty() {
        // SAFETY: reads `src_len` bytes of `src`, writes at most `dst_len` bytes to the capacity of `output`.
        unsafe { LZ4_decompress_safe(from, to, src_len, dst_len) }
    } else {
        let history = dictionary.as_ptr().cast();
        // SAFETY: as above, and reads `dictionary_len` bytes of `dictionary`.
        unsafe {
            LZ4_decompress_safe_usingDict(from, to, src_len, dst_len, history, dictionary_len)
        }
    };
    if written != dst_len {
        return None;
    }
    // SAFETY: the library says that it has written all `len` bytes, which the capacity holds.
    unsafe { output.set_len(len) };
    Some(output)
}

/// A compression state of 16 KiB (fast) or about 256 KiB (high effort), kept between blocks.
pub(super) enum Stream {
    /// The fast compressor.
    Fast(NonNull<RawStream>),
    /// The compressor that spends effort.
    High {
        /// Its state.
        stream: NonNull<RawStreamHc>,
        /// 1 to 12; 0 or less is the library's default, 9.
        level: i32,
    },
}

// SAFETY: a stream is plain memory of its own, without thread-local or shared state.
unsafe impl Send for Stream {}

impl Stream {
    /// A new fast state, or `None` without memory.
    pub(super) fn fast() -> Option<Self> {
        // SAFETY: takes nothing; returns a new stream or null.
        let stream = unsafe { LZ4_createStream() };
        NonNull::new(stream).map(Self::Fast)
    }

    /// A new state for high effort, or `None` without memory.
    pub(super) fn high(level: i32) -> Option<Self> {
        // SAFETY: takes nothing; returns a new stream or null.
        let stream = unsafe { LZ4_createStreamHC() };
        NonNull::new(stream).map(|stream| Self::High { stream, level })
    }

    /// Compresses `src` as one block that may refer to `dictionary` (at most 64 KiB).
    ///
    /// * Returns the length written to `dst`, or `None` if it does not fit or a slice is beyond the library's `int`.
    pub(super) fn compress(
        &mut self,
        dictionary: &[u8],
        src: &[u8],
        dst: &mut [u8],
    ) -> Option<usize> {
        let dictionary_len = c_int::try_from(dictionary.len()).ok()?;
        let src_len = c_int::try_from(src.len()).ok()?;
        let dst_len = c_int::try_from(dst.len()).unwrap_or(c_int::MAX);
        let history: *const c_char = dictionary.as_ptr().cast();
        let (from, to) = (src.as_ptr().cast(), dst.as_mut_ptr().cast());
        if let Self::Fast(stream) = self
            && dictionary_len == 0
        {
            // Up to twice as fast as the streaming call below: it clears its table, so that no search runs into entries of
            // earlier blocks, and uses a smaller one for blocks below 64 KiB.
            let stream = stream.as_ptr();
            // SAFETY: the stream is live and ours, and is set up anew. Reads `src_len` bytes of `src`, writes at most
            // `dst_len <= dst.len()` bytes to `dst`, keeps no pointer without a dictionary.
            let written =
                unsafe { LZ4_compress_fast_extState(stream, from, to, src_len, dst_len, 1) };
            return usize::try_from(written).ok().filter(|&written| written > 0);
        }
        self.reset();
        let written = match self {
            Self::Fast(stream) => {
                let stream = stream.as_ptr();
                // SAFETY: the stream is live and ours; `dictionary` stays borrowed until the reset below.
                unsafe { LZ4_loadDict(stream, history, dictionary_len) };
                // SAFETY: reads `src_len` bytes of `src`, writes at most `dst_len <= dst.len()` bytes to `dst`.
                unsafe { LZ4_compress_fast_continue(stream, from, to, src_len, dst_len, 1) }
            }
            Self::High { stream, .. } => {
                let stream = stream.as_ptr();
                if dictionary_len > 0 {
                    // SAFETY: the stream is live and ours; `dictionary` stays borrowed until the reset below.
                    unsafe { LZ4_loadDictHC(stream, history, dictionary_len) };
                }
                // SAFETY: reads `src_len` bytes of `src`, writes at most `dst_len <= dst.len()` bytes to `dst`.
                unsafe { LZ4_compress_HC_continue(stream, from, to, src_len, dst_len) }
            }
        };
        self.reset();
        usize::try_from(written).ok().filter(|&written| written > 0)
    }

    /// Makes the stream forget all that it points at.
    fn reset(&mut self) {
        match self {
            // SAFETY: the stream is live and ours alone.
            Self::Fast(stream) => unsafe { LZ4_resetStream_fast(stream.as_ptr()) },
            // SAFETY: the stream is live and ours alone.
            Self::High { stream, level } => unsafe {
                LZ4_resetStreamHC_fast(stream.as_ptr(), *level);
            },
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        match self {
            // SAFETY: the stream is live and freed only here.
            Self::Fast(stream) => unsafe { LZ4_freeStream(stream.as_ptr()) },
            // SAFETY: the stream is live and freed only here.
            Self::High { stream, .. } => unsafe { LZ4_freeStreamHC(stream.as_ptr()) },
        };
    }
}
