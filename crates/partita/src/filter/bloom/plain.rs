//! Portable probes.

use super::{LINE_LEN, STEP};

/// Whether all probes are set.
///
/// No early exit: the line is in the cache after the first load, and a mispredicted exit costs more than the rest.
#[inline]
pub(super) fn may_contain(line: &[u8; LINE_LEN], hash: u32, probes: u8) -> bool {
    let words = line.as_chunks::<8>().0;
    let mut probe = hash;
    let mut all = 1;
    for _ in 0..probes {
        let bit = probe >> 23;
        all &= u64::from_le_bytes(words[(bit >> 6) as usize]) >> (bit & 63);
        probe = probe.wrapping_mul(STEP);
    }
    all & 1 != 0
}

/// Sets all probes.
#[inline]
pub(super) fn add(line: &mut [u8; LINE_LEN], hash: u32, probes: u8) {
    let words = line.as_chunks_mut::<8>().0;
    let mut probe = hash;
    for _ in 0..probes {
        let bit = probe >> 23;
        let word = &mut words[(bit >> 6) as usize];
        *word = (u64::from_le_bytes(*word) | 1 << (bit & 63)).to_le_bytes();
        probe = probe.wrapping_mul(STEP);
    }
}
