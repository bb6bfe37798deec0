//! `Hash32`: LevelDB's variant of MurmurHash1.
//!
//! Little-endian words of four bytes, then up to three trailing bytes. The trailing bytes are taken as *signed*: the
//! first implementation read them through C's `char`, and x86 made that the format.

const FACTOR: u32 = 0xc6a4_a793;

/// Hashes `data` to 32 bits.
///
/// * `seed`: `0xbc9f1d34` for legacy Bloom filters, 397 for the hash index of data blocks.
/// * Cost: about one multiplication per four bytes.
///
/// ```
/// assert_eq!(partita::util::hash::hash32(&[3], 397), 0x6c0e_eb9f);
/// ```
#[inline]
pub fn hash32(data: &[u8], seed: u32) -> u32 {
    let mut hash = seed ^ (data.len() as u32).wrapping_mul(FACTOR);
    let (words, tail) = data.as_chunks::<4>();
    for word in words {
        hash = hash.wrapping_add(u32::from_le_bytes(*word)).wrapping_mul(FACTOR);
        hash ^= hash >> 16;
    }
    if !tail.is_empty() {
        for (i, &byte) in tail.iter().enumerate() {
            let signed = i32::from(byte as i8) as u32;
            hash = hash.wrapping_add(signed << (8 * i));
        }
        hash = hash.wrapping_mul(FACTOR);
        hash ^= hash >> 24;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::super::test_input;
    use super::*;

    /// `(length, with the legacy Bloom seed, with the hash index seed)`, from files written by RocksDB 7.8.3.
    const VECTORS: [(usize, u32, u32); 23] = [
        (0, 0xbc9f_1d34, 0x0000_018d),
        (1, 0x37f9_15a9, 0x6c0e_eb9f),
        (3, 0x4e36_f1fe, 0xe674_9373),
        (4, 0xdea2_a403, 0x3149_66c5),
        (8, 0xda48_65bd, 0x3dcd_a32b),
        (9, 0xa496_7bcf, 0x1d7c_7262),
        (16, 0x6934_f404, 0xfda6_1f8b),
        (17, 0xc8b5_775e, 0x48d2_7038),
        (32, 0x7c45_cf9c, 0x5193_dd3f),
        (33, 0xab9c_d7d2, 0xa4ec_ffe7),
        (64, 0x7f97_96ec, 0x959f_5c42),
        (65, 0xafbf_ac59, 0x687d_36db),
        (96, 0xd37a_cb61, 0xd7e8_0cee),
        (97, 0xc45a_7e72, 0x9d1c_72c3),
        (128, 0x48c3_abb9, 0xd74a_5fc2),
        (129, 0xcff6_3e23, 0x8d29_4dc0),
        (240, 0x2f09_1d1c, 0x8bba_a3f3),
        (241, 0x3ab5_3491, 0xb237_4121),
        (1023, 0x73c7_5a94, 0xe75a_fd2d),
        (1024, 0xf522_4492, 0x7cf8_c85d),
        (1025, 0x7998_db92, 0xd7c9_ec84),
        (2048, 0x3d5c_6dad, 0x7ce2_33ba),
        (3000, 0x34a7_eef9, 0x831a_512d),
    ];

    #[test]
    fn vectors_of_every_length_class_hold() {
        for (len, bloom, index) in VECTORS {
            let data = test_input(len);
            assert_eq!(hash32(&data, 0xbc9f_1d34), bloom, "length {len}");
            assert_eq!(hash32(&data, 397), index, "length {len}");
        }
    }

    #[test]
    fn trailing_bytes_are_signed() {
        // As LevelDB's unsigned variant hashes them: the functions part at the first byte from 0x80 on.
        assert_eq!(hash32(&[0x62], 0xbc9f_1d34), 0xef13_45c4);
        assert_ne!(hash32(&[0xc3, 0x97], 0xbc9f_1d34), 0x5b66_3814);
        assert_eq!(hash32(&[0x9a], 0xbc9f_1d34), 3_195_034_349);
        assert_eq!(hash32(&[0x91, 0xf7], 0xbc9f_1d34), 31_066_776);
        assert_eq!(hash32(&[0x56, 0xdc, 0xd6], 0xbc9f_1d34), 2_157_698_265);
        assert_eq!(hash32(&[0x69, 0xb8, 0xc0, 0x88], 0xbc9f_1d34), 3_416_318_611);
    }
}
