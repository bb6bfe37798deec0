//! Probes with AVX2: eight per round, all from two loads of the line.

use std::arch::x86_64::{
    __m256i, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_loadu_si256,
    _mm256_mullo_epi32, _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_slli_epi32,
    _mm256_sllv_epi32, _mm256_srli_epi32, _mm256_testc_si256,
};

use super::{Geometry, LINE_LEN, Line, step_powers};
use crate::filter::KeyHash;

/// One row of powers per round.
static POWERS: [[u32; 8]; 4] = {
    let mut rows = [[0; 8]; 4];
    let powers = step_powers::<32>();
    let mut i = 0;
    while i < 32 {
        rows[i / 8][i % 8] = powers[i];
        i += 1;
    }
    rows
};

/// Row `n` has a one in each of the first `n` lanes.
static LANES: [[u32; 8]; 9] = {
    let mut rows = [[0; 8]; 9];
    let mut i = 0;
    while i < 9 * 8 {
        rows[i / 8][i % 8] = (i % 8 < i / 8) as u32;
        i += 1;
    }
    rows
};

/// Whether all probes are set.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn may_contain(line: &[u8; LINE_LEN], hash: u32, probes: u8) -> bool {
    // Up to eight probes (14 bits per key) no branch depends on memory, and the processor goes on to the next query
    // while this one waits.
    match LANES.get(usize::from(probes)) {
        Some(lanes) => are_set(line, hash, &POWERS[0], lanes),
        None => many_are_set(line, hash, probes),
    }
}

/// More than eight probes.
#[cold]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn many_are_set(line: &[u8; LINE_LEN], hash: u32, probes: u8) -> bool {
    POWERS.iter().enumerate().all(|(round, powers)| {
        let lanes = &LANES[usize::from(probes).saturating_sub(8 * round).min(8)];
        are_set(line, hash, powers, lanes)
    })
}

/// Whether the probes of one round are set.
///
/// * `lanes`: ones for the probes that count.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn are_set(line: &[u8; LINE_LEN], hash: u32, powers: &[u32; 8], lanes: &[u32; 8]) -> bool {
    let (low, high) = line.split_at(LINE_LEN / 2);
    let (low, high) = (load(low.as_ptr()), load(high.as_ptr()));
    let probe =
        _mm256_mullo_epi32(_mm256_set1_epi32(hash.cast_signed()), load(powers.as_ptr().cast()));
    // The top bit picks a half of the line, the next three a 32-bit word of it, the next five a bit of that.
    let word = _mm256_srli_epi32::<28>(probe);
    let low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, word));
    let high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, word));
    let word = _mm256_castps_si256(_mm256_blendv_ps(low, high, _mm256_castsi256_ps(probe)));
    let bit = _mm256_srli_epi32::<27>(_mm256_slli_epi32::<4>(probe));
    let wanted = _mm256_sllv_epi32(load(lanes.as_ptr().cast()), bit);
    _mm256_testc_si256(word, wanted) != 0
}

/// Finds the key's line and looks at its probes.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn may_contain_in(geometry: Geometry, lines: &[Line], hash: u64) -> bool {
    match lines.get(geometry.line_of(hash)) {
        Some(line) => may_contain(&line.0, (hash >> 32) as u32, geometry.probes),
        None => true, // not reached: the geometry counts the lines
    }
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
