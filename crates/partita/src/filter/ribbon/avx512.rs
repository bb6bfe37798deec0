//! Queries and back substitution with AVX-512; parities by VPOPCNTQ.

use std::arch::x86_64::{
    __m512i, _mm512_and_si512, _mm512_loadu_si512, _mm512_maskz_loadu_epi64, _mm512_or_si512,
    _mm512_popcnt_epi64, _mm512_set_epi64, _mm512_set1_epi64, _mm512_shuffle_epi32,
    _mm512_slli_epi64, _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_storeu_si512,
    _mm512_test_epi64_mask, _mm512_xor_si512, _pdep_u32,
};

use super::plain::Query;
use super::{BLOCK_SLOTS, SEGMENT_LEN};

/// Whether all equations hold; four columns per register.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,bmi1,bmi2,popcnt")]
pub(super) fn may_contain(query: Query<'_>) -> bool {
    const GROUP_LEN: usize = 4 * SEGMENT_LEN;
    let near_coefficients = broadcast(query.near_coefficients);
    let far_coefficients = broadcast(query.far_coefficients);
    let mut result = query.result;
    // No early exit: a mispredicted one costs more than the rest of the columns.
    let mut wrong = 0;
    for (near, far) in query.near.chunks(GROUP_LEN).zip(query.far.chunks(GROUP_LEN)) {
        // Two bits per column: the processor counts in 64-bit halves, and both get the parity of the column.
        let present = (1 << (near.len() / 8)) - 1;
        let bits = _mm512_xor_si512(
            _mm512_and_si512(load(near), near_coefficients),
            _mm512_and_si512(load(far), far_coefficients),
        );
        let bits = _mm512_xor_si512(bits, _mm512_shuffle_epi32::<0b01_00_11_10>(bits));
        let odd = _mm512_test_epi64_mask(_mm512_popcnt_epi64(bits), _mm512_set1_epi64(1));
        let wanted = _pdep_u32(result, 0b0101_0101);
        wrong |= (u32::from(odd) ^ wanted) & present & 0b0101_0101;
        result >>= 4;
    }
    wrong == 0
}

/// Up to 64 bytes, whole words; zeroes behind them.
#[target_feature(enable = "avx512f")]
#[inline]
fn load(bytes: &[u8]) -> __m512i {
    let mask = ((1_u32 << (bytes.len() / 8).min(8)) - 1) as u8;
    // SAFETY: masked-off words are not touched, the others lie within `bytes`; the load needs no alignment.
    unsafe { _mm512_maskz_loadu_epi64(mask, bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn broadcast(value: u128) -> __m512i {
    let low = (value as u64).cast_signed();
    let high = ((value >> 64) as u64).cast_signed();
    _mm512_set_epi64(high, low, high, low, high, low, high, low)
}

/// Takes the slots of one block into the state, last slot first; eight columns per register pair.
///
/// * `low`, `high`: the halves of the last 128 solution bits of each column.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
pub(super) fn substitute_block(
    low: &mut [u64; 8],
    high: &mut [u64; 8],
    coefficients: &[[u64; 2]; BLOCK_SLOTS as usize],
    results: &[u32; BLOCK_SLOTS as usize],
    first_column: u32,
) {
    let lanes = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    let one = _mm512_set1_epi64(1);
    let (mut low_bits, mut high_bits) = (load_words(low), load_words(high));
    for (&[low, high], &result) in coefficients.iter().zip(results).rev() {
        let low_coefficients = _mm512_set1_epi64(low.cast_signed());
        let high_coefficients = _mm512_set1_epi64(high.cast_signed());
        let result = _mm512_set1_epi64(i64::from(result >> first_column));
        high_bits =
            _mm512_or_si512(_mm512_slli_epi64::<1>(high_bits), _mm512_srli_epi64::<63>(low_bits));
        low_bits = _mm512_slli_epi64::<1>(low_bits);
        let selected = _mm512_xor_si512(
            _mm512_and_si512(low_bits, low_coefficients),
            _mm512_and_si512(high_bits, high_coefficients),
        );
        let solution =
            _mm512_xor_si512(_mm512_popcnt_epi64(selected), _mm512_srlv_epi64(result, lanes));
        low_bits = _mm512_or_si512(low_bits, _mm512_and_si512(solution, one));
    }
    store_words(low, low_bits);
    store_words(high, high_bits);
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load_words(words: &[u64; 8]) -> __m512i {
    // SAFETY: 64 readable bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store_words(words: &mut [u64; 8], value: __m512i) {
    // SAFETY: 64 writable bytes; the store needs no alignment.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), value) }
}
