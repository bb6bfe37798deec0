//! How large a FastLocalBloom is, and how often it probes.

use super::super::METADATA_LEN;
use super::LINE_LEN;

/// The largest filter: 32-bit lengths, in whole lines.
const LEN_MAX: u64 = 0xffff_ffc0;

/// Probes per key that err least at `millibits` thousandths of a bit per key (measured by RocksDB's authors).
pub(in super::super) fn probes(millibits: u32) -> u8 {
    const STEPS: [u32; 12] =
        [2080, 3580, 5100, 6640, 8300, 10070, 11720, 14001, 16050, 18300, 22001, 25501];
    match STEPS.iter().position(|&limit| millibits <= limit) {
        Some(index) => index as u8 + 1,
        None if millibits > 50_000 => 24,
        None => ((millibits - 1) / 2000 - 1) as u8,
    }
}

/// Length of the filter block for `entries` keys, metadata included; a whole number of lines and at least one.
pub(in super::super) fn block_len(entries: usize, millibits: u32) -> usize {
    let bytes = (entries as u64 * u64::from(millibits)).div_ceil(8000).min(LEN_MAX);
    bytes.next_multiple_of(LINE_LEN as u64) as usize + METADATA_LEN
}

/// Keys that fit into a block of `len` bytes, metadata included.
pub(in super::super) fn entries_that_fit(len: usize, millibits: u32) -> usize {
    let lines_len = (len.saturating_sub(METADATA_LEN) as u64).min(LEN_MAX) & !(LINE_LEN as u64 - 1);
    (8000 * lines_len / u64::from(millibits)) as usize
}
