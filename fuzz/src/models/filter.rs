//! Filter queries as the format document states them, one bit at a time.

use partita::util::hash::{hash32, hash64};

/// Whether the filter `block` may hold `key`.
pub fn may_contain(block: &[u8], key: &[u8]) -> bool {
    let Some((bits, metadata)) = block.split_last_chunk::<5>() else { return false };
    if bits.is_empty() {
        return false;
    }
    match metadata[0] {
        0xff => bloom(bits, metadata, key),
        0xfe => ribbon(bits, metadata, key),
        1..=127 => legacy(bits, metadata, key),
        _ => true,
    }
}

fn bit(bytes: &[u8], index: usize) -> bool {
    bytes[index / 8] >> (index % 8) & 1 == 1
}

fn legacy(bits: &[u8], metadata: &[u8; 5], key: &[u8]) -> bool {
    let [probes, a, b, c, d] = *metadata;
    let lines = u32::from_le_bytes([a, b, c, d]) as usize;
    if lines == 0 || !bits.len().is_multiple_of(lines) {
        return true;
    }
    let line_len = bits.len() / lines;
    if !line_len.is_power_of_two() {
        return true;
    }
    let mut hash = hash32(key, 0xbc9f_1d34);
    let line = hash as usize % lines;
    let delta = hash.rotate_right(17);
    (0..probes).all(|_| {
        let set = bit(&bits[line * line_len..], hash as usize % (line_len * 8));
        hash = hash.wrapping_add(delta);
        set
    })
}

fn bloom(bits: &[u8], metadata: &[u8; 5], key: &[u8]) -> bool {
    let [_, sub, probes, rest @ ..] = *metadata;
    if sub != 0 || rest != [0, 0] || !(1..=30).contains(&probes) || bits.len() < 64 {
        return true;
    }
    let hash = hash64(key);
    let line = (((hash & 0xffff_ffff) * (bits.len() / 64) as u64) >> 32) as usize;
    let mut probe = (hash >> 32) as u32;
    (0..probes).all(|_| {
        let set = bit(&bits[64 * line..], (probe >> 23) as usize);
        probe = probe.wrapping_mul(0x9e37_79b9);
        set
    })
}

fn ribbon(bits: &[u8], metadata: &[u8; 5], key: &[u8]) -> bool {
    let [_, seed, a, b, c] = *metadata;
    let blocks = u64::from(u32::from_le_bytes([a, b, c, 0]));
    if blocks < 2 {
        return true;
    }
    let segments = bits.len() as u64 / 16;
    let (upper, upper_start) = match segments.div_ceil(blocks) {
        upper @ 0..=32 => (upper, upper * blocks - segments),
        _ => (32, 0),
    };
    let columns_of = |block: u64| if block < upper_start { upper - 1 } else { upper };
    let first_of = |block: u64| block * upper - block.min(upper_start);

    let mixed = u64::from(seed).wrapping_mul(0xc782_19a2_3eea_dd03);
    let mixed = mixed ^ (mixed & 0xf0f0_f0f0_f0f0_f0f0) >> 4;
    let hash = (hash64(key) ^ (mixed & 0xffff_ffff)).wrapping_mul(0x6193_d459_236a_3a0d);
    let start = ((u128::from(hash) * u128::from(128 * blocks - 127)) >> 64) as u64;
    let high = hash.wrapping_mul(0xc28f_8282_2b65_0bed);
    let low = (high ^ 0xc367_844a_6e52_731d) | 1;
    let coefficients = u128::from(high) << 64 | u128::from(low);
    let result = high.swap_bytes() as u32;

    // Slot by slot: each column's parity of coefficients and solution bits.
    (0..columns_of(start / 128)).all(|column| {
        let odd = (0..128).fold(false, |odd, i| {
            let slot = start + i;
            let segment = (first_of(slot / 128) + column) as usize;
            // Behind the last slot all coefficients meet nothing: a query never starts there.
            odd ^ (coefficients >> i & 1 == 1 && bit(&bits[16 * segment..], (slot % 128) as usize))
        });
        odd == (result >> column & 1 == 1)
    })
}
