//! Hashes and checksums against slow readings of the format document, over every length and alignment.

use partita::util::checksum::{ChecksumType, context_modifier, mask_crc32c, unmask_crc32c};
use partita::util::hash::{hash32, hash64};

use crate::choices::Choices;
use crate::meter;

/// Hashes a part of the bytes that the first seven choose.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let (skip, len) = (usize::from(choices.byte()), usize::from(choices.word()));
    let seed = u32::from_le_bytes([(); 4].map(|()| choices.byte()));
    let rest = choices.rest();
    let rest = &rest[skip.min(rest.len())..];
    let data = &rest[..len.min(rest.len())];

    let hash = meter::within(0, || hash64(data));
    assert_eq!(hash, slow::hash64(data), "{} bytes", data.len());
    assert_eq!(hash32(data, seed), slow::hash32(data, seed), "{} bytes", data.len());
    checksums(data, seed);
}

/// A checksum over a buffer is that over its front and its last byte; the CRC is held against a bitwise one.
fn checksums(data: &[u8], seed: u32) {
    for checksum in ChecksumType::ALL {
        let whole = checksum.of_buffer(data);
        if let Some((&last, front)) = data.split_last() {
            assert_eq!(whole, checksum.of_block(front, last), "{checksum}");
        }
    }
    assert_eq!(ChecksumType::Crc32c.of_buffer(data), mask_crc32c(slow::crc32c(data)));
    assert_eq!(unmask_crc32c(mask_crc32c(seed)), seed);
    assert_eq!(context_modifier(0, u64::from(seed)), 0);
}

/// The functions as the format document states them, without a thought for speed.
mod slow {
    const P32: [u64; 4] = [0, 0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d];
    const P64: [u64; 6] = [
        0,
        0x9e37_79b1_85eb_ca87,
        0xc2b2_ae3d_27d4_eb4f,
        0x1656_67b1_9e37_79f9,
        0x85eb_ca77_c2b2_ae63,
        0x27d4_eb2f_1656_67c5,
    ];
    const SECRET: &str = "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f\
        cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c\
        3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8\
        a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364\
        eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e\
        2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e";

    fn little_endian(bytes: impl DoubleEndedIterator<Item = u8>) -> u64 {
        bytes.rev().fold(0, |value, byte| value << 8 | u64::from(byte))
    }

    fn read(data: &[u8], at: usize, width: usize) -> u64 {
        little_endian(data[at..at + width].iter().copied())
    }

    fn key(at: usize) -> u64 {
        little_endian(
            (at..at + 8).map(|i| u8::from_str_radix(&SECRET[2 * i..2 * i + 2], 16).unwrap()),
        )
    }

    fn fold(a: u64, b: u64) -> u64 {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    }

    fn avalanche(hash: u64) -> u64 {
        let hash = (hash ^ hash >> 37).wrapping_mul(P64[3]);
        hash ^ hash >> 32
    }

    fn mix16(data: &[u8], at: usize, secret: usize) -> u64 {
        fold(read(data, at, 8) ^ key(secret), read(data, at + 8, 8) ^ key(secret + 8))
    }

    fn sum(start: u64, addends: impl IntoIterator<Item = u64>) -> u64 {
        addends.into_iter().fold(start, u64::wrapping_add)
    }

    pub(super) fn hash64(data: &[u8]) -> u64 {
        let n = data.len();
        let scaled = (n as u64).wrapping_mul(P64[1]);
        match n {
            0 => fold(key(0), P64[2]),
            1..=3 => {
                let bytes = [data[0], data[n >> 1], data[n - 1], n as u8];
                let combined = u64::from(u32::from_le_bytes(bytes));
                avalanche((combined ^ (key(0) & 0xffff_ffff)).wrapping_mul(P64[1]))
            }
            4..=8 => {
                let keyed = (read(data, 0, 4) | read(data, n - 4, 4) << 32) ^ key(0);
                let mixed = sum(n as u64, [(keyed ^ keyed >> 51).wrapping_mul(P32[1])]);
                avalanche((mixed ^ mixed >> 47).wrapping_mul(P64[2]))
            }
            9..=16 => {
                let low = read(data, 0, 8) ^ key(0);
                let high = read(data, n - 8, 8) ^ key(8);
                avalanche(sum(n as u64, [low, high, fold(low, high)]))
            }
            17..=128 => {
                let depths = [1, 33, 65, 97].into_iter().filter(|&least| n >= least).enumerate();
                avalanche(sum(
                    scaled,
                    depths.flat_map(|(depth, _)| {
                        [
                            mix16(data, 16 * depth, 32 * depth),
                            mix16(data, n - 16 * depth - 16, 32 * depth + 16),
                        ]
                    }),
                ))
            }
            129..=240 => {
                let first = avalanche(sum(scaled, (0..8).map(|i| mix16(data, 16 * i, 16 * i))));
                let second = (8..n / 16).map(|i| mix16(data, 16 * i, 16 * (i - 8) + 3));
                avalanche(sum(sum(first, second), [mix16(data, n - 16, 119)]))
            }
            _ => long(data, scaled),
        }
    }

    fn long(data: &[u8], scaled: u64) -> u64 {
        let mut lanes = [P32[3], P64[1], P64[2], P64[3], P64[4], P32[2], P64[5], P32[1]];
        let mut accumulate = |at: usize, secret: usize, scramble: bool| {
            for (i, lane) in lanes.iter_mut().enumerate() {
                let value = read(data, at + 8 * i, 8);
                let keyed = value ^ key(secret + 8 * i);
                *lane = sum(*lane, [value, (keyed & 0xffff_ffff) * (keyed >> 32)]);
                if scramble {
                    *lane = (*lane ^ *lane >> 47 ^ key(128 + 8 * i)).wrapping_mul(P32[1]);
                }
            }
        };
        for stripe in 0..data.len() / 64 {
            accumulate(64 * stripe, 8 * (stripe % 16), stripe % 16 == 15);
        }
        if !data.len().is_multiple_of(64) {
            accumulate(data.len() - 64, 121, false);
        }
        let merged = (0..4).map(|i| {
            fold(lanes[2 * i] ^ key(11 + 16 * i), lanes[2 * i + 1] ^ key(11 + 16 * i + 8))
        });
        avalanche(sum(scaled, merged))
    }

    pub(super) fn hash32(data: &[u8], seed: u32) -> u32 {
        let factor = 0xc6a4_a793_u32;
        let mut hash = seed ^ (data.len() as u32).wrapping_mul(factor);
        let words = data.len() / 4;
        for i in 0..words {
            hash = hash.wrapping_add(read(data, 4 * i, 4) as u32).wrapping_mul(factor);
            hash ^= hash >> 16;
        }
        let tail = &data[4 * words..];
        for (i, &byte) in tail.iter().enumerate().rev() {
            hash = hash.wrapping_add((byte as i8 as i32 as u32) << (8 * i));
        }
        if !tail.is_empty() {
            hash = hash.wrapping_mul(factor);
            hash ^= hash >> 24;
        }
        hash
    }

    pub(super) fn crc32c(data: &[u8]) -> u32 {
        !data.iter().fold(u32::MAX, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0x82f6_3b78))
        })
    }
}

/// One input around each border between length classes.
pub fn seeds() -> Vec<Vec<u8>> {
    [0, 1, 3, 4, 8, 9, 16, 17, 32, 64, 96, 128, 129, 240, 241, 1023, 1024, 1025, 2048, 3000]
        .map(|len: u16| {
            let [low, high] = len.to_le_bytes();
            let header = [len as u8 % 5, low, high, 0x34, 0x1d, 0x9f, 0xbc];
            header.into_iter().chain((0..len + 8).map(|i| (7 * i + 3) as u8)).collect()
        })
        .to_vec()
}
