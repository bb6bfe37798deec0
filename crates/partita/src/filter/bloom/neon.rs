//! Probes with NEON: four bit positions per multiplication, looked up in the line by table instructions.

use std::arch::aarch64::{
    uint8x16x4_t, vandq_u32, vcgeq_u32, vdupq_n_u32, vld1q_u8, vld1q_u32, vminvq_u32, vmulq_u32,
    vnegq_s32, vorrq_u32, vqtbl4q_u8, vreinterpretq_s32_u32, vreinterpretq_u8_u32,
    vreinterpretq_u32_u8, vshlq_u32, vshrq_n_u32,
};

use super::{LINE_LEN, step_powers};

/// One row of powers per round.
static POWERS: [u32; 32] = step_powers();
static LANES: [u32; 4] = [0, 1, 2, 3];

/// Whether all probes are set.
#[target_feature(enable = "neon")]
pub(super) fn may_contain(line: &[u8; LINE_LEN], hash: u32, probes: u8) -> bool {
    let quarters = line.as_chunks::<16>().0;
    // SAFETY: a quarter is 16 readable bytes.
    let load = |quarter: usize| unsafe { vld1q_u8(quarters[quarter].as_ptr()) };
    let line = uint8x16x4_t(load(0), load(1), load(2), load(3));
    // SAFETY: four readable words.
    let lanes = unsafe { vld1q_u32(LANES.as_ptr()) };
    let mut left = u32::from(probes);
    for powers in POWERS.as_chunks::<4>().0 {
        // SAFETY: four readable words.
        let powers = unsafe { vld1q_u32(powers.as_ptr()) };
        let probe = vmulq_u32(powers, vdupq_n_u32(hash));
        // Byte 0 of each lane asks the table for its byte of the line; the other three (index 0xff) give zero.
        let byte = vshrq_n_u32::<26>(probe);
        let index = vorrq_u32(byte, vdupq_n_u32(0xffff_ff00));
        let bytes = vreinterpretq_u32_u8(vqtbl4q_u8(line, vreinterpretq_u8_u32(index)));
        let bit = vandq_u32(vshrq_n_u32::<23>(probe), vdupq_n_u32(7));
        let shifted = vshlq_u32(bytes, vnegq_s32(vreinterpretq_s32_u32(bit)));
        let set = vandq_u32(shifted, vdupq_n_u32(1));
        // Lanes beyond the last probe count as set.
        let unused = vcgeq_u32(lanes, vdupq_n_u32(left));
        if vminvq_u32(vorrq_u32(set, unused)) == 0 {
            return false;
        }
        if left <= 4 {
            break;
        }
        left -= 4;
    }
    true
}
