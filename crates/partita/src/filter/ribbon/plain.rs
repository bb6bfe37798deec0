//! Portable queries and back substitution, one column at a time.

use super::SEGMENT_LEN;

/// One query, laid out for the columns' loop.
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    /// The columns of the block in which the equations start.
    pub(super) near: &'a [u8],
    /// As many columns of the next block.
    pub(super) far: &'a [u8],
    pub(super) near_coefficients: u128,
    pub(super) far_coefficients: u128,
    pub(super) result: u32,
}

/// Whether all equations hold. Columns are not left early: a mispredicted exit costs more than the rest of them.
#[inline(always)]
pub(super) fn may_contain(query: Query<'_>) -> bool {
    let near = query.near.as_chunks::<SEGMENT_LEN>().0;
    let far = query.far.as_chunks::<SEGMENT_LEN>().0;
    let mut result = query.result;
    let mut wrong = 0;
    for (near, far) in near.iter().zip(far) {
        let bits = u128::from_le_bytes(*near) & query.near_coefficients
            ^ u128::from_le_bytes(*far) & query.far_coefficients;
        wrong |= parity(bits) ^ result;
        result >>= 1;
    }
    wrong & 1 == 0
}

/// [`may_contain`] with the processor's bit counting.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
pub(super) fn may_contain_popcnt(query: Query<'_>) -> bool {
    may_contain(query)
}

/// Whether an odd number of bits is set: the lowest bit of the result, the others are noise-free zeroes.
#[inline(always)]
fn parity(bits: u128) -> u32 {
    ((bits >> 64) as u64 ^ bits as u64).count_ones() & 1
}

/// Takes one slot into the state: `state[j]` holds the last 128 solution bits of column `j`.
#[inline(always)]
pub(super) fn substitute(state: &mut [u128], coefficients: u128, mut result: u32) {
    for column in state {
        let shifted = *column << 1;
        *column = shifted | u128::from(parity(shifted & coefficients) ^ result & 1);
        result >>= 1;
    }
}
