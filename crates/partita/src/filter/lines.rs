//! Filter bytes in memory, aligned to cache lines.
//!
//! A Bloom query reads one 64-byte line. In a buffer from the allocator's 16-byte grid three of four lines straddle
//! two cache lines and cost two misses, so filters are kept in storage of their own:
//!
//! ```text
//! | line 0 (64 bytes) | line 1 | ... | last line, padded with zeroes |
//! ```
//!
//! # Safety
//!
//! The two casts between lines and bytes rely on `Line` being 64 bytes without padding (asserted at compile time) and
//! on `u8` having neither invalid values nor alignment. The length in bytes never exceeds the lines.

/// Bytes of a cache line, and of a line of FastLocalBloom.
pub(super) const LINE_LEN: usize = 64;

/// One cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [u8; LINE_LEN]);

const _: () = assert!(size_of::<Line>() == LINE_LEN);

/// A byte string that starts at a cache line.
#[derive(Clone)]
pub(super) struct Lines {
    lines: Vec<Line>,
    len: usize,
}

impl Lines {
    /// No bytes.
    pub(super) const fn empty() -> Self {
        Self { lines: Vec::new(), len: 0 }
    }

    /// A copy of `bytes`.
    pub(super) fn copy_of(bytes: &[u8]) -> Self {
        let mut lines = Self::empty();
        lines.lines.reserve_exact(bytes.len().div_ceil(LINE_LEN));
        lines.reset(bytes.len());
        lines.bytes_mut().copy_from_slice(bytes);
        lines
    }

    /// Becomes `len` zero bytes, in the same memory if it suffices.
    pub(super) fn reset(&mut self, len: usize) {
        self.lines.clear();
        self.lines.resize(len.div_ceil(LINE_LEN), Line([0; LINE_LEN]));
        self.len = len;
    }

    /// All lines; the last one may have zeroes after the bytes.
    #[inline]
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// All lines, to be written.
    pub(super) fn lines_mut(&mut self) -> &mut [Line] {
        &mut self.lines
    }

    /// The bytes.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        let start = self.lines.as_ptr().cast::<u8>();
        // SAFETY: `lines` holds at least `len` initialized bytes in one allocation, borrowed with `self`.
        unsafe { std::slice::from_raw_parts(start, self.len) }
    }

    /// The bytes, to be written.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        let start = self.lines.as_mut_ptr().cast::<u8>();
        // SAFETY: as in `bytes`, and the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(start, self.len) }
    }

    /// Bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.lines.capacity() * LINE_LEN
    }
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lines({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_start_at_a_cache_line_and_keep_their_values() {
        for len in [0_usize, 1, 63, 64, 65, 1000] {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let lines = Lines::copy_of(&bytes);
            assert_eq!(lines.bytes(), bytes);
            assert_eq!(lines.bytes().as_ptr() as usize % LINE_LEN, 0);
            assert_eq!(lines.lines().len(), len.div_ceil(LINE_LEN));
        }
    }

    #[test]
    fn resetting_clears_every_byte() {
        let mut lines = Lines::copy_of(&[0xff; 200]);
        lines.reset(130);
        assert_eq!(lines.bytes(), [0; 130]);
        assert!(lines.memory_bytes() >= 200);
    }
}
