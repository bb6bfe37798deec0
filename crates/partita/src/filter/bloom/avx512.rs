//! Probes with AVX-512: eight per round in 256-bit registers, which all such processors run at full speed.

use std::arch::x86_64::{
    __m256i, _mm256_loadu_si256, _mm256_mullo_epi32, _mm256_permutex2var_epi32, _mm256_rorv_epi32,
    _mm256_set1_epi32, _mm256_srli_epi32, _mm256_test_epi32_mask,
};

use super::{LINE_LEN, step_powers};

/// One row of powers per round.
static POWERS: [u32; 32] = step_powers();

/// Whether all probes are set.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt")]
pub(super) fn may_contain(line: &[u8; LINE_LEN], hash: u32, probes: u8) -> bool {
    let (low, high) = line.split_at(LINE_LEN / 2);
    let (low, high) = (load(low.as_ptr()), load(high.as_ptr()));
    let mut left = u32::from(probes);
    for powers in POWERS.as_chunks::<8>().0 {
        let probe =
            _mm256_mullo_epi32(_mm256_set1_epi32(hash.cast_signed()), load(powers.as_ptr().cast()));
        // The top four bits pick one of 16 words, the next five a bit of it; the rotation takes its count mod 32.
        let word = _mm256_permutex2var_epi32(low, _mm256_srli_epi32::<28>(probe), high);
        let bit = _mm256_rorv_epi32(word, _mm256_srli_epi32::<23>(probe));
        let set = u32::from(_mm256_test_epi32_mask(bit, _mm256_set1_epi32(1)));
        let wanted = (1 << left.min(8)) - 1;
        if set & wanted != wanted {
            return false;
        }
        if left <= 8 {
            break;
        }
        left -= 8;
    }
    true
}

/// Loads the 32 bytes at `from`.
#[target_feature(enable = "avx2")]
#[inline]
fn load(from: *const u8) -> __m256i {
    // SAFETY: both callers pass 32 readable bytes (half a line, a row of powers); the load needs no alignment.
    unsafe { _mm256_loadu_si256(from.cast()) }
}
