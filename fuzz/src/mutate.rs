//! Seeded mutations, for the smoke run that needs no fuzzer.

/// A small generator of random numbers (splitmix64): the same seed gives the same run on every machine.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator that `seed` determines.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `limit`; 0 if the limit is 0.
    pub const fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.next() % limit as u64) as usize }
    }
}

/// Values at which decoders break: ends of ranges, counts and lengths just beyond them.
const INTERESTING: [u64; 14] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffb,
    0xffff_ffff,
    1 << 56,
    u64::MAX - 4,
    u64::MAX,
];

/// Changes `bytes` in one to four places; `other` is another seed to take pieces from.
pub fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(4) {
        mutate_once(bytes, other, random);
    }
}

fn mutate_once(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    // Half of the changes go to the last bytes, where tables, blocks and filters keep what steers the reader.
    let at = match random.below(2) {
        0 => random.below(bytes.len()),
        _ => bytes.len().saturating_sub(1 + random.below(bytes.len().min(64))),
    };
    match random.below(8) {
        0 | 1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        2 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.next() as u8;
            }
        }
        3 => {
            let value = INTERESTING[random.below(INTERESTING.len())].to_le_bytes();
            let width = [1, 2, 4, 8][random.below(4)];
            for (byte, new) in bytes[at..].iter_mut().zip(&value[..width]) {
                *byte = *new;
            }
        }
        4 => bytes.truncate(at),
        5 => {
            let end = (at + 1 + random.below(16)).min(bytes.len());
            bytes.drain(at..end);
        }
        6 => {
            let run: Vec<u8> = (0..=random.below(12)).map(|_| random.next() as u8).collect();
            bytes.splice(at..at, run);
        }
        _ => {
            let from = random.below(other.len());
            let to = (from + random.below(64)).min(other.len());
            let end = (at + (to - from)).min(bytes.len());
            bytes.splice(at..end, other[from..to].iter().copied());
        }
    }
}
