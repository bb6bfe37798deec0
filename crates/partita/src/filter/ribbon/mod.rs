//! Standard128Ribbon: a filter that stores the solution of a linear system over bits.
//!
//! Every key gives one equation per column: the parity of (128 coefficients AND 128 solution bits from a start slot)
//! equals one bit of the key's result. Solution bits are interleaved by blocks of 128 slots:
//!
//! ```text
//! | block 0 | block 1 | ... | block B-1 || 0xfe | seed |    B   |
//! |<-- U-1 columns ->|<-- U columns -->||  u8  |  u8  | u24 LE |
//!
//! block:    | column 0 | column 1 | ... |    one 16-byte segment per column, u128 LE
//! segment:  bit i of column c is solution bit c of slot 128 * block + i
//! ```
//!
//! The numbers of blocks with `U-1` and with `U` columns follow from the length, so any rate of false positives can be
//! met. A query reads the columns of its block and, unless it starts at the block's first slot, as many of the next:
//! one contiguous run of bytes.
//!
//! * [`sizing`]: slots and bytes for a number of keys;
//! * [`banding`]: elimination, one row per slot;
//! * [`solve`]: back substitution into segments;
//! * this file: hashing, layout and queries.
//!
//! Format: docs/format/filter.md, section 5. Paper: Dillinger and Walzer, "Ribbon filter: practically smaller than
//! Bloom and Xor", 2021.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod banding;
mod plain;
pub(super) mod sizing;
mod solve;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::lines::Lines;
use super::path::{FilterImpl, Path};
pub(super) use sizing::Sizing;

/// Marker of Ribbon filters in the first metadata byte.
pub(super) const MARKER: u8 = 0xfe;

/// Slots of a block, and coefficients of an equation.
const BLOCK_SLOTS: u32 = 128;

/// Bytes of a segment: one column of a block.
pub(super) const SEGMENT_LEN: usize = 16;

/// Bits of a result, so the most columns a filter can have.
const COLUMNS_MAX: u32 = 32;

/// How keys become equations under one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hasher {
    seed: u32,
    starts: u32,
}

/// One key's equations: a start slot, 128 coefficients from there on, and a result bit for each column.
#[derive(Clone, Copy, Debug)]
struct Equation {
    start: u32,
    coefficients: u128,
    result: u32,
}

impl Hasher {
    /// * `blocks`: at least 2, below 2^24.
    fn new(ordinal_seed: u8, blocks: u32) -> Self {
        let mixed = u64::from(ordinal_seed).wrapping_mul(0xc782_19a2_3eea_dd03);
        let mixed = mixed ^ (mixed & 0xf0f0_f0f0_f0f0_f0f0) >> 4;
        let starts = blocks * BLOCK_SLOTS - (BLOCK_SLOTS - 1);
        Self { seed: mixed as u32, starts }
    }

    /// The hash that the rest is made from.
    #[inline]
    fn seeded(self, hash: u64) -> u64 {
        (hash ^ u64::from(self.seed)).wrapping_mul(0x6193_d459_236a_3a0d)
    }

    /// The start slot; `start + 127` is still a slot.
    #[inline]
    fn start(self, seeded: u64) -> u32 {
        ((u128::from(seeded) * u128::from(self.starts)) >> 64) as u32
    }

    #[inline]
    fn equation(self, hash: u64) -> Equation {
        let seeded = self.seeded(hash);
        let (coefficients, result) = row(seeded);
        Equation { start: self.start(seeded), coefficients, result }
    }
}

/// Coefficients (the first one is always 1) and result of a seeded hash.
#[inline]
fn row(seeded: u64) -> (u128, u32) {
    let high = seeded.wrapping_mul(0xc28f_8282_2b65_0bed);
    let low = (high ^ 0xc367_844a_6e52_731d) | 1;
    (u128::from(high) << 64 | u128::from(low), high.swap_bytes() as u32)
}

/// Where a filter's segments stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    hasher: Hasher,
    /// Columns of the blocks from `upper_start` on; those before have one less.
    upper_columns: u32,
    upper_start: u32,
}

/// What a query looks at: `columns` segments of one block and, if `shift` is not 0, as many of the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    first_segment: usize,
    columns: usize,
    shift: u32,
    coefficients: u128,
    result: u32,
}

impl Geometry {
    /// A filter of `len` bytes of segments; `None` if `metadata` is reserved.
    pub(super) fn parse(len: usize, metadata: [u8; 5]) -> Option<Self> {
        let [_, seed, a, b, c] = metadata;
        let blocks = u32::from_le_bytes([a, b, c, 0]);
        let segments = u32::try_from(len / SEGMENT_LEN).ok()?;
        (blocks >= 2).then(|| Self::new(seed, blocks, segments))
    }

    fn new(seed: u8, blocks: u32, segments: u32) -> Self {
        let upper_columns = segments.div_ceil(blocks);
        let (upper_columns, upper_start) = if upper_columns > COLUMNS_MAX {
            (COLUMNS_MAX, 0) // the rest of the space is not used
        } else {
            (upper_columns, (u64::from(upper_columns) * u64::from(blocks)) as u32 - segments)
        };
        Self { hasher: Hasher::new(seed, blocks), upper_columns, upper_start }
    }

    /// Most columns of a block.
    pub(super) fn columns(self) -> u32 {
        self.upper_columns
    }

    /// Most bytes that a query looks at.
    pub(super) fn window_len(self) -> usize {
        2 * self.upper_columns as usize * SEGMENT_LEN
    }

    /// Each column halves the rate of false positives; the mean over the blocks.
    pub(super) fn false_positive_rate(self) -> f64 {
        let lower_slots = f64::from(self.upper_start) * f64::from(BLOCK_SLOTS);
        let lower_portion = (lower_slots / f64::from(self.hasher.starts)).min(1.0);
        let upper_rate = 0.5_f64.powf(f64::from(self.upper_columns));
        upper_rate * (1.0 + lower_portion)
    }

    /// Number of blocks.
    fn blocks(self) -> u32 {
        self.hasher.starts.div_ceil(BLOCK_SLOTS)
    }

    /// Columns of a block.
    #[inline]
    fn columns_of(self, block: u32) -> u32 {
        self.upper_columns - u32::from(block < self.upper_start)
    }

    /// Index of a block's first segment.
    #[inline]
    fn first_segment(self, block: u32) -> usize {
        block as usize * self.upper_columns as usize - block.min(self.upper_start) as usize
    }

    /// What to look at for a key.
    #[inline]
    pub(super) fn probe(self, hash: u64) -> Probe {
        let Equation { start, coefficients, result } = self.hasher.equation(hash);
        let block = start / BLOCK_SLOTS;
        Probe {
            first_segment: self.first_segment(block),
            columns: self.columns_of(block) as usize,
            shift: start % BLOCK_SLOTS,
            coefficients,
            result,
        }
    }

    /// Offset of the block in which a key's query starts: what to prefetch.
    #[inline]
    pub(super) fn bytes_of(self, hash: u64) -> Range<usize> {
        let start = self.hasher.start(self.hasher.seeded(hash));
        let block = start / BLOCK_SLOTS;
        let first = self.first_segment(block) * SEGMENT_LEN;
        let len = self.columns_of(block) as usize * SEGMENT_LEN;
        first..first + if start.is_multiple_of(BLOCK_SLOTS) { len } else { 2 * len }
    }
}

impl Probe {
    /// The bytes of the block that answer the query; empty if every key matches.
    #[inline]
    pub(super) fn bytes(&self) -> Range<usize> {
        let first = self.first_segment * SEGMENT_LEN;
        first..first + self.len()
    }

    #[inline]
    fn len(&self) -> usize {
        self.columns * SEGMENT_LEN * if self.shift == 0 { 1 } else { 2 }
    }

    /// Whether all equations hold.
    ///
    /// * `segments`: the bytes at [`Self::bytes`]. Of any other length, the answer is yes.
    #[inline]
    pub(super) fn may_contain(&self, path: FilterImpl, segments: &[u8]) -> bool {
        if segments.len() != self.len() {
            return true;
        }
        let (near, far) = segments.split_at(self.columns * SEGMENT_LEN);
        let query = plain::Query {
            near,
            // Without a second block its coefficients are zero, and any segments do.
            far: if far.is_empty() { near } else { far },
            near_coefficients: self.coefficients << self.shift,
            far_coefficients: (self.coefficients >> 1) >> (127 - self.shift),
            result: self.result,
        };
        match path.path() {
            Path::Plain => plain::may_contain(query),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a `FilterImpl` exists only for instructions that the processor has.
            Path::Sse42 | Path::Avx2 => unsafe { plain::may_contain_popcnt(query) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Path::Avx512 => unsafe { avx512::may_contain(query) },
            #[cfg(target_arch = "aarch64")]
            Path::Neon => plain::may_contain(query),
        }
    }
}

/// Memory that one build leaves to the next.
#[derive(Debug, Default)]
pub(super) struct Scratch(banding::Banding);

/// Solves the keys' equations into `block` and returns the metadata; `None` if all 256 seeds fail.
///
/// * `hashes`: at least one.
/// * `block`: becomes the segments, `sizing.segments_len` bytes.
pub(super) fn build(
    scratch: &mut Scratch,
    block: &mut Lines,
    hashes: &[u64],
    sizing: Sizing,
    path: FilterImpl,
) -> Option<[u8; 5]> {
    let blocks = sizing.slots / BLOCK_SLOTS;
    let first_seed = *hashes.first()? as u8;
    let Scratch(banding) = scratch;
    let seed = (0..=u8::MAX)
        .map(|i| first_seed.wrapping_add(i))
        .find(|&seed| banding.add_all(sizing.slots, Hasher::new(seed, blocks), hashes, path))?;
    block.reset(sizing.segments_len);
    let geometry = Geometry::new(seed, blocks, (sizing.segments_len / SEGMENT_LEN) as u32);
    solve::back_substitute(banding, geometry, block.bytes_mut(), path);
    banding.shrink();
    let [a, b, c, _] = blocks.to_le_bytes();
    Some([MARKER, seed, a, b, c])
}
