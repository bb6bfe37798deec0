//! Probes with SSE4: four bit positions per multiplication, tested by scalar code.

use std::arch::x86_64::{
    __m128i, _mm_cvtsi128_si64, _mm_extract_epi64, _mm_loadu_si128, _mm_mullo_epi32,
    _mm_set1_epi32, _mm_srli_epi32,
};

use super::{LINE_LEN, step_powers};

static POWERS: [u32; 32] = step_powers();

/// Whether all probes are set.
#[target_feature(enable = "sse4.2,popcnt")]
pub(super) fn may_contain(line: &[u8; LINE_LEN], hash: u32, probes: u8) -> bool {
    let words = line.as_chunks::<8>().0;
    let test = |bit: u64| u64::from_le_bytes(words[(bit >> 6 & 7) as usize]) >> (bit & 63);
    let hashes = _mm_set1_epi32(hash.cast_signed());
    let mut left = probes;
    for powers in POWERS.as_chunks::<4>().0 {
        let powers: *const __m128i = std::ptr::from_ref(powers).cast();
        // SAFETY: `powers` points at 16 readable bytes; the load needs no alignment.
        let powers = unsafe { _mm_loadu_si128(powers) };
        let bits = _mm_srli_epi32::<23>(_mm_mullo_epi32(hashes, powers));
        let low = _mm_cvtsi128_si64(bits).cast_unsigned();
        let high = _mm_extract_epi64::<1>(bits).cast_unsigned();
        let mut all = test(low & 511);
        all &= if left > 1 { test(low >> 32) } else { 1 };
        all &= if left > 2 { test(high & 511) } else { 1 };
        all &= if left > 3 { test(high >> 32) } else { 1 };
        if all & 1 == 0 {
            return false;
        }
        left = left.saturating_sub(4);
        if left == 0 {
            break;
        }
    }
    true
}
