//! `Hash64`: XXPH3, the preview of XXH3 that RocksDB froze for its filters.
//!
//! The final XXH3 gives other values for *every* input, so no xxHash library can stand in for it. What both share is
//! the secret, the 16-byte mixing step and the accumulator's start values; the avalanche, the formulas of short
//! inputs, and lane order and block boundaries of long ones differ.
//!
//! ```text
//! length        how
//! 0             one constant
//! 1..=3         the bytes and the length in one word
//! 4..=8         two overlapping 4-byte words
//! 9..=16        two overlapping 8-byte words
//! 17..=128      16-byte steps from both ends towards the middle
//! 129..=240     16-byte steps from the start, the last one overlapping
//! 241..         eight 64-bit lanes over 64-byte stripes; 16 stripes make a block, then the lanes are scrambled
//! ```
//!
//! Keys of 9 to 32 bytes are hashed inline in the caller.

const PRIME32_1: u64 = 0x9e37_79b1;
const PRIME32_2: u64 = 0x85eb_ca77;
const PRIME32_3: u64 = 0xc2b2_ae3d;
const PRIME64_1: u64 = 0x9e37_79b1_85eb_ca87;
const PRIME64_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const PRIME64_3: u64 = 0x1656_67b1_9e37_79f9;
const PRIME64_4: u64 = 0x85eb_ca77_c2b2_ae63;
const PRIME64_5: u64 = 0x27d4_eb2f_1656_67c5;

/// XXH3's default secret.
static SECRET: [u8; 192] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];

/// Hashes `data` to 64 bits, with seed 0.
///
/// * Cost: a few ns for keys of up to 32 bytes, then about one multiplication per 8 bytes.
///
/// ```
/// assert_eq!(partita::util::hash::hash64(&[3]), 0x81b7_8b21_c2ce_4f18);
/// ```
#[inline]
pub fn hash64(data: &[u8]) -> u64 {
    // Comparisons, which the processor predicts, for the lengths that most keys have; a `match` makes a jump table.
    if data.len() > 32 {
        hash_over_32(data)
    } else if data.len() > 16 {
        hash_17_to_32(data)
    } else if data.len() > 8 {
        hash_9_to_16(data)
    } else {
        hash_0_to_8(data)
    }
}

#[inline(never)]
fn hash_0_to_8(data: &[u8]) -> u64 {
    match data.len() {
        4..=8 => hash_4_to_8(data),
        1..=3 => hash_1_to_3(data),
        _ => fold(secret64(0), PRIME64_2),
    }
}

#[inline(never)]
fn hash_over_32(data: &[u8]) -> u64 {
    match data.len() {
        0..=128 => hash_33_to_128(data),
        129..=240 => hash_129_to_240(data),
        _ => hash_long(data),
    }
}

#[inline]
fn hash_1_to_3(data: &[u8]) -> u64 {
    let len = data.len();
    let first = u64::from(data[0]);
    let middle = u64::from(data[len >> 1]);
    let last = u64::from(data[len - 1]);
    let combined = first | middle << 8 | last << 16 | (len as u64) << 24;
    avalanche((combined ^ (secret64(0) & 0xffff_ffff)).wrapping_mul(PRIME64_1))
}

#[inline]
fn hash_4_to_8(data: &[u8]) -> u64 {
    let len = data.len();
    let word = u64::from(read32(data, 0)) | u64::from(read32(data, len - 4)) << 32;
    let keyed = word ^ secret64(0);
    let mixed = (len as u64).wrapping_add((keyed ^ keyed >> 51).wrapping_mul(PRIME32_1));
    avalanche((mixed ^ mixed >> 47).wrapping_mul(PRIME64_2))
}

#[inline]
fn hash_9_to_16(data: &[u8]) -> u64 {
    let len = data.len();
    let low = read64(data, 0) ^ secret64(0);
    let high = read64(data, len - 8) ^ secret64(8);
    let sum = (len as u64).wrapping_add(low).wrapping_add(high);
    avalanche(sum.wrapping_add(fold(low, high)))
}

#[inline]
fn hash_17_to_32(data: &[u8]) -> u64 {
    let len = data.len();
    let acc = (len as u64).wrapping_mul(PRIME64_1);
    let acc = acc.wrapping_add(mix16(data, 0, 0)).wrapping_add(mix16(data, len - 16, 16));
    avalanche(acc)
}

fn hash_33_to_128(data: &[u8]) -> u64 {
    let len = data.len();
    let mut acc = (len as u64).wrapping_mul(PRIME64_1);
    let mut both_ends = |depth: usize| {
        let front = mix16(data, 16 * depth, 32 * depth);
        let back = mix16(data, len - 16 * (depth + 1), 32 * depth + 16);
        acc = acc.wrapping_add(front).wrapping_add(back);
    };
    if len > 64 {
        if len > 96 {
            both_ends(3);
        }
        both_ends(2);
    }
    both_ends(1);
    both_ends(0);
    avalanche(acc)
}

fn hash_129_to_240(data: &[u8]) -> u64 {
    let len = data.len();
    let mut acc = (len as u64).wrapping_mul(PRIME64_1);
    for i in 0..8 {
        acc = acc.wrapping_add(mix16(data, 16 * i, 16 * i));
    }
    acc = avalanche(acc);
    for i in 8..len / 16 {
        acc = acc.wrapping_add(mix16(data, 16 * i, 16 * (i - 8) + 3));
    }
    acc = acc.wrapping_add(mix16(data, len - 16, 119));
    avalanche(acc)
}

const STRIPE_LEN: usize = 64;
const STRIPES_PER_BLOCK: usize = (SECRET.len() - STRIPE_LEN) / 8;

/// Inputs of more than 240 bytes.
fn hash_long(data: &[u8]) -> u64 {
    let mut lanes =
        [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1];
    let (stripes, tail) = data.as_chunks::<STRIPE_LEN>();
    for block in stripes.chunks(STRIPES_PER_BLOCK) {
        for (i, stripe) in block.iter().enumerate() {
            accumulate(&mut lanes, stripe, 8 * i);
        }
        if block.len() == STRIPES_PER_BLOCK {
            scramble(&mut lanes);
        }
    }
    if !tail.is_empty()
        && let Some(last) = data.last_chunk::<STRIPE_LEN>()
    {
        accumulate(&mut lanes, last, SECRET.len() - STRIPE_LEN - 7);
    }
    let mut acc = (data.len() as u64).wrapping_mul(PRIME64_1);
    for (i, &[low, high]) in lanes.as_chunks::<2>().0.iter().enumerate() {
        let key = 11 + 16 * i;
        acc = acc.wrapping_add(fold(low ^ secret64(key), high ^ secret64(key + 8)));
    }
    avalanche(acc)
}

/// Adds one stripe to the lanes; each lane sees its own word only, so the compiler makes vectors of it.
#[inline]
fn accumulate(lanes: &mut [u64; 8], stripe: &[u8; STRIPE_LEN], secret_at: usize) {
    for (i, (lane, word)) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0).enumerate() {
        let value = u64::from_le_bytes(*word);
        let keyed = value ^ secret64(secret_at + 8 * i);
        let product = (keyed & 0xffff_ffff).wrapping_mul(keyed >> 32);
        *lane = lane.wrapping_add(value).wrapping_add(product);
    }
}

/// Mixes each lane at the end of a block.
#[inline]
fn scramble(lanes: &mut [u64; 8]) {
    for (i, lane) in lanes.iter_mut().enumerate() {
        let key = secret64(SECRET.len() - STRIPE_LEN + 8 * i);
        *lane = (*lane ^ *lane >> 47 ^ key).wrapping_mul(PRIME32_1);
    }
}

/// Mixes the 16 bytes at `at` with the 16 bytes of the secret at `secret_at`.
#[inline]
fn mix16(data: &[u8], at: usize, secret_at: usize) -> u64 {
    fold(read64(data, at) ^ secret64(secret_at), read64(data, at + 8) ^ secret64(secret_at + 8))
}

/// Both halves of the 128-bit product, XORed.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn avalanche(hash: u64) -> u64 {
    let mixed = (hash ^ hash >> 37).wrapping_mul(PRIME64_3);
    mixed ^ mixed >> 32
}

#[inline]
fn secret64(at: usize) -> u64 {
    read64(&SECRET, at)
}

#[inline]
fn read64(data: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&data[at..at + 8]);
    u64::from_le_bytes(word)
}

#[inline]
fn read32(data: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&data[at..at + 4]);
    u32::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::super::test_input;
    use super::*;

    /// `(length, hash)`, proven by bit-equal filters in files of RocksDB 7.8.3.
    const VECTORS: [(usize, u64); 23] = [
        (0, 0x5342_c301_0fe1_dd04),
        (1, 0x81b7_8b21_c2ce_4f18),
        (3, 0x6731_a716_813e_e5f1),
        (4, 0x3a5a_fd96_7aca_f5c3),
        (8, 0xbcb5_6b6f_8d4b_12da),
        (9, 0x0378_7b4e_ec57_bf4b),
        (16, 0x8172_0cc0_702e_dd73),
        (17, 0x0b51_5520_f462_e96f),
        (32, 0x48f0_3961_87b5_6dd5),
        (33, 0xd020_587a_3c72_b988),
        (64, 0xc71b_2c5a_712e_7f61),
        (65, 0xd401_43de_1bea_dd46),
        (96, 0x0d71_e54f_4197_45c3),
        (97, 0x19e9_c187_1ecd_39dc),
        (128, 0x8ea7_6d83_8ce7_563f),
        (129, 0x3992_d120_c8c4_677a),
        (240, 0xdf41_bc5f_ea3a_61e8),
        (241, 0x91d1_0f06_82af_4ac3),
        (1023, 0xc59f_495a_19c2_ef06),
        (1024, 0x7d54_b94e_0436_75ba),
        (1025, 0x90ac_daaa_aca6_75b0),
        (2048, 0xe422_3e0c_6dc3_503c),
        (3000, 0x7c52_2981_61be_c0d4),
    ];

    #[test]
    fn vectors_of_every_length_class_hold() {
        for (len, hash) in VECTORS {
            assert_eq!(hash64(&test_input(len)), hash, "length {len}");
        }
    }

    #[test]
    fn every_byte_of_every_length_class_counts() {
        for len in [1, 2, 3, 5, 8, 12, 16, 20, 40, 70, 100, 128, 150, 240, 300, 1100, 2100] {
            let mut data = test_input(len);
            let hash = hash64(&data);
            for at in 0..len {
                data[at] ^= 0x10;
                assert_ne!(hash64(&data), hash, "length {len}, byte {at}");
                data[at] ^= 0x10;
            }
        }
    }
}
