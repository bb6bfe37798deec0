//! Back substitution: rows become solution bits, from the last slot to the first.
//!
//! The state holds, for each column, the solution bits of the last 128 slots seen; when a block's slots are through,
//! the state is the block's segments. Slots without a row get zero.

use super::banding::Banding;
use super::{COLUMNS_MAX, Geometry, SEGMENT_LEN, plain};
use crate::filter::path::{FilterImpl, Path};

/// Writes the solution of `banding` into `segments`.
pub(super) fn back_substitute(
    banding: &Banding,
    geometry: Geometry,
    segments: &mut [u8],
    path: FilterImpl,
) {
    match path.path() {
        #[cfg(target_arch = "x86_64")]
        Path::Avx512 => with_avx512(banding, geometry, segments),
        #[cfg(target_arch = "x86_64")]
        Path::Sse42 | Path::Avx2 => {
            // SAFETY: a `FilterImpl` exists only for instructions that the processor has.
            unsafe { with_popcnt(banding, geometry, segments) }
        }
        _ => column_by_column(banding, geometry, segments),
    }
}

/// [`column_by_column`] with the processor's bit counting.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn with_popcnt(banding: &Banding, geometry: Geometry, segments: &mut [u8]) {
    column_by_column(banding, geometry, segments);
}

#[inline(always)]
fn column_by_column(banding: &Banding, geometry: Geometry, segments: &mut [u8]) {
    let mut state = [0_u128; COLUMNS_MAX as usize];
    for (block, segments) in blocks_backwards(geometry, segments) {
        let state = &mut state[..segments.len()];
        let (coefficients, results) = banding.block(block);
        for (&[low, high], &result) in coefficients.iter().zip(results).rev() {
            plain::substitute(state, u128::from(high) << 64 | u128::from(low), result);
        }
        for (segment, column) in segments.iter_mut().zip(state) {
            *segment = column.to_le_bytes();
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn with_avx512(banding: &Banding, geometry: Geometry, segments: &mut [u8]) {
    const GROUP: usize = 8;
    let mut state = [([0; GROUP], [0; GROUP]); COLUMNS_MAX as usize / GROUP];
    for (block, segments) in blocks_backwards(geometry, segments) {
        let (coefficients, results) = banding.block(block);
        for (group, segments) in segments.chunks_mut(GROUP).enumerate() {
            let (low, high) = &mut state[group];
            let first_column = (group * GROUP) as u32;
            // SAFETY: only called for a `FilterImpl` with AVX-512, which exists if the processor has it.
            unsafe {
                super::avx512::substitute_block(low, high, coefficients, results, first_column);
            }
            for (segment, (low, high)) in segments.iter_mut().zip(low.iter().zip(high)) {
                *segment = (u128::from(*high) << 64 | u128::from(*low)).to_le_bytes();
            }
        }
    }
}

/// The blocks with their segments, last block first.
fn blocks_backwards(
    geometry: Geometry,
    segments: &mut [u8],
) -> impl Iterator<Item = (u32, &mut [[u8; SEGMENT_LEN]])> {
    let mut rest = segments.as_chunks_mut::<SEGMENT_LEN>().0;
    (0..geometry.blocks()).rev().map(move |block| {
        let (before, own) = std::mem::take(&mut rest).split_at_mut(geometry.first_segment(block));
        rest = before;
        (block, &mut own[..geometry.columns_of(block) as usize])
    })
}
