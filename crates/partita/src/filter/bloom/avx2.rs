//! Probes with AVX2: eight per round, all from two loads of the line.

use std::arch::x86_64::{
    __m256i, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_loadu_si256,
    _mm256_movemask_ps, _mm256_mullo_epi32, _mm256_permutevar8x32_epi32, _mm256_set1_epi32,
    _mm256_slli_epi32, _mm256_sllv_epi32, _mm256_srli_epi32, _mm256_xor_si256,
};

use super::{Geometry, LINE_LEN, Line, step_powers};
use crate::filter::KeyHash;

/// One row of powers per round.
static POWERS: [u32; 32] = step_powers();

/// Whether all probes are set.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn may_contain(line: &[u8; LINE_LEN], hash: u32, probes: u8) -> bool {
    let (low, high) = line.split_at(LINE_LEN / 2);
    let (low, high) = (load(low.as_ptr()), load(high.as_ptr()));
    let mut left = u32::from(probes);
    for powers in POWERS.as_chunks::<8>().0 {
        let probe =
            _mm256_mullo_epi32(_mm256_set1_epi32(hash.cast_signed()), load(powers.as_ptr().cast()));
        // The top bit picks a half of the line, the next three a 32-bit word of it, the next five a bit of that.
        let word = _mm256_srli_epi32::<28>(probe);
        let low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, word));
        let high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, word));
        let word = _mm256_castps_si256(_mm256_blendv_ps(low, high, _mm256_castsi256_ps(probe)));
        // Shift the probed bit to the sign, where movemask takes it from.
        let bit = _mm256_srli_epi32::<27>(_mm256_slli_epi32::<4>(probe));
        let signs = _mm256_sllv_epi32(word, _mm256_xor_si256(bit, _mm256_set1_epi32(31)));
        let set = _mm256_movemask_ps(_mm256_castsi256_ps(signs)).cast_unsigned();
        let wanted = (1 << left.min(8)) - 1;
        let all = set & wanted == wanted;
        // First the exit that the predictor knows: up to eight probes, no branch depends on memory, and the processor
        // goes on to the next query while this one waits.
        if left <= 8 {
            return all;
        }
        if !all {
            return false;
        }
        left -= 8;
    }
    true
}

/// Answers for keys whose lines have been asked for.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn may_contain_batch(
    geometry: Geometry,
    lines: &[Line],
    keys: &[KeyHash<'_>],
    answers: &mut [bool],
) {
    for (key, answer) in keys.iter().zip(answers) {
        let hash = key.hash64();
        if let Some(line) = lines.get(geometry.line_of(hash)) {
            *answer = may_contain(&line.0, (hash >> 32) as u32, geometry.probes);
        }
    }
}

/// Loads the 32 bytes at `from`.
#[target_feature(enable = "avx2")]
#[inline]
fn load(from: *const u8) -> __m256i {
    // SAFETY: both callers pass 32 readable bytes (half a line, a row of powers); the load needs no alignment.
    unsafe { _mm256_loadu_si256(from.cast()) }
}
