//! Portable probes.

use super::{LINE_LEN, step_powers};

/// Multiplying the hash by powers instead of stepping keeps the probes independent of each other.
static POWERS: [u32; 32] = step_powers();

/// Whether all probes are set.
///
/// No early exit: the line is in the cache after the first load, and a mispredicted exit costs more than the rest.
#[inline]
pub(super) fn may_contain(line: &[u8; LINE_LEN], hash: u32, probes: u8) -> bool {
    let words = line.as_chunks::<8>().0;
    let mut all = 1;
    for power in POWERS.iter().take(probes.into()) {
        let bit = hash.wrapping_mul(*power) >> 23;
        all &= u64::from_le_bytes(words[(bit >> 6) as usize]) >> (bit & 63);
    }
    all & 1 != 0
}

/// Sets all probes.
#[inline]
pub(super) fn add(line: &mut [u8; LINE_LEN], hash: u32, probes: u8) {
    let words = line.as_chunks_mut::<8>().0;
    for power in POWERS.iter().take(probes.into()) {
        let bit = hash.wrapping_mul(*power) >> 23;
        let word = &mut words[(bit >> 6) as usize];
        *word = (u64::from_le_bytes(*word) | 1 << (bit & 63)).to_le_bytes();
    }
}
