//! The Bloom filter of format versions below 5: 32-bit hashes, probes within one line.
//!
//! ```text
//! | line 0 | line 1 | ... | line n-1 || probes |   n    |
//! |<-- 64 bytes each (see below) -->||   u8   | u32 LE |
//!
//! h = Hash32(key);  line = h mod n;  delta = h rotated right by 17
//! probe i: bit = (h + i * delta) mod 2^32 mod bits per line
//! ```
//!
//! Writers on processors with longer cache lines used longer lines; the length divided by `n` tells.
//! Format: docs/format/filter.md, section 3.

use super::METADATA_LEN;
use super::lines::LINE_LEN;

/// Where a filter's probes fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    lines: u32,
    probes: u8,
    line_len_log2: u8,
}

impl Geometry {
    /// A filter of `len` bytes of lines; `None` if the lines do not divide it into powers of two.
    pub(super) fn parse(len: usize, metadata: [u8; 5]) -> Option<Self> {
        let [probes, lines @ ..] = metadata;
        let lines = u32::from_le_bytes(lines);
        let line_len = len.checked_div(usize::try_from(lines).ok()?)?;
        let known = line_len.is_power_of_two() && line_len * lines as usize == len;
        known.then(|| Self { lines, probes, line_len_log2: line_len.ilog2() as u8 })
    }

    /// Probes per key.
    pub(super) fn probes(self) -> u8 {
        self.probes
    }

    /// Number of lines.
    pub(super) fn lines(self) -> usize {
        self.lines as usize
    }

    /// Bytes of a line.
    #[inline]
    pub(super) fn line_len(self) -> usize {
        1 << self.line_len_log2
    }

    /// Offset of the line of a key; a whole line stands there.
    #[inline]
    pub(super) fn line_start(self, hash: u32) -> usize {
        ((hash % self.lines) as usize) << self.line_len_log2
    }

    /// Whether all the probes of a key are set in `line`.
    #[inline]
    pub(super) fn may_contain(self, hash: u32, line: &[u8]) -> bool {
        probe_bits(hash, self.probes)
            .all(|bit| is_set(line, (bit & ((8 << self.line_len_log2) - 1)) as usize))
    }
}

/// The probed bits, to be taken modulo the bits of a line (a power of two).
fn probe_bits(hash: u32, probes: u8) -> impl Iterator<Item = u64> {
    let delta = hash.rotate_right(17);
    (0..u32::from(probes)).map(move |i| u64::from(hash.wrapping_add(delta.wrapping_mul(i))))
}

#[inline]
fn is_set(line: &[u8], bit: usize) -> bool {
    line.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 != 0)
}

/// Probes per key at a whole number of bits per key.
pub(super) fn probes(bits_per_key: u32) -> u8 {
    ((f64::from(bits_per_key) * 0.69) as u32).clamp(1, 30) as u8 // 0.69 is about ln 2
}

/// Length of the filter block for `entries` keys, metadata included. The number of lines is odd, so that it shares
/// no factor with the bits that pick a probe.
pub(super) fn block_len(entries: usize, bits_per_key: u32) -> usize {
    let bits = (entries as u64 * u64::from(bits_per_key)).min(0xffff_0000);
    let lines = bits.div_ceil(8 * LINE_LEN as u64) | 1;
    lines as usize * LINE_LEN + METADATA_LEN
}

/// Keys that fit into a block of `len` bytes, metadata included.
pub(super) fn entries_that_fit(len: usize, bits_per_key: u32) -> usize {
    // Lines are odd in number, and entries * bits must fit into them.
    let lines = (len.saturating_sub(METADATA_LEN) / LINE_LEN) as u64;
    let bits = (lines - u64::from(lines.is_multiple_of(2) && lines > 0)) * 8 * LINE_LEN as u64;
    let limit = (len as u64 * 8).min(0xffff_0000) / u64::from(bits_per_key) + 1;
    (bits / u64::from(bits_per_key)).min(limit) as usize
}

/// Adds keys to the zeroed bytes of lines and returns the metadata to stand behind them.
pub(super) fn build(bytes: &mut [u8], hashes: &[u64], bits_per_key: u32) -> [u8; 5] {
    let probes = probes(bits_per_key);
    let lines = (bytes.len() / LINE_LEN) as u32;
    for &hash in hashes {
        let hash = hash as u32;
        let start = (hash % lines) as usize * LINE_LEN;
        let line = &mut bytes[start..start + LINE_LEN];
        for bit in probe_bits(hash, probes) {
            let bit = bit as usize % (8 * LINE_LEN);
            line[bit / 8] |= 1 << (bit % 8);
        }
    }
    let [a, b, c, d] = lines.to_le_bytes();
    [probes, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_odd_in_number() {
        for entries in 1..2000 {
            let lines = (block_len(entries, 10) - METADATA_LEN) / LINE_LEN;
            assert_eq!(lines % 2, 1);
            assert!(
                lines * 512 >= entries * 10
                    && (lines - 2.min(lines - 1)) * 512 < entries * 10 + 512
            );
        }
    }

    #[test]
    fn fitting_entries_fit_and_one_more_does_not() {
        for len in (69..5000).step_by(37) {
            for bits in [1, 7, 10, 64, 100] {
                let entries = entries_that_fit(len, bits);
                assert!(block_len(entries, bits) <= len, "{len} bytes, {bits} bits");
                assert!(block_len(entries + 1, bits) > len, "{len} bytes, {bits} bits");
            }
        }
    }

    #[test]
    fn metadata_that_divides_nothing_evenly_is_refused() {
        let metadata = |lines: u32| {
            let [a, b, c, d] = lines.to_le_bytes();
            [6, a, b, c, d]
        };
        assert!(Geometry::parse(192, metadata(3)).is_some());
        assert_eq!(Geometry::parse(384, metadata(3)).map(Geometry::line_len), Some(128));
        for (len, lines) in [(192, 0), (192, 5), (96 * 3, 3), (10, 11), (0, 1)] {
            assert_eq!(Geometry::parse(len, metadata(lines)), None, "{len} bytes, {lines} lines");
        }
    }
}
