//! Keys and random numbers, both cheap beside a filter query.

/// Shortest average key: twelve bytes of numbers, less the two that sizes vary by.
pub(super) const KEY_SIZE_MIN: usize = 14;

/// Keys that are added have numbers below this; those that are not, from it on.
pub(super) const OUTSIDE: u32 = 0x8000_0000;

/// Makes the keys: number and filter in the first eight bytes, zeroes behind; the size varies by two bytes either
/// way, the alignment over four.
#[derive(Clone, Debug)]
pub struct KeyMaker {
    smallest: usize,
    buffer: Vec<u8>,
}

impl KeyMaker {
    /// * `average_size`: at least 14.
    pub fn new(average_size: usize) -> Self {
        let smallest = average_size.max(KEY_SIZE_MIN) - 2;
        Self { smallest, buffer: vec![0; smallest + 4 + 4] }
    }

    /// Key `number` of filter `filter`; valid until the next call.
    #[inline]
    pub fn key(&mut self, filter: u32, number: u32) -> &[u8] {
        let start = number as usize % 4;
        // The size changes every 32 keys, so that a branch predictor can keep up.
        let step = (number >> 5).wrapping_mul(1_234_567_891);
        let len = self.smallest + ((u64::from(step) * 5) >> 32) as usize;
        let key = &mut self.buffer[start..start + len];
        key[0..4].copy_from_slice(&number.to_le_bytes());
        // The filter's number is spread by the key's, or a 32-bit hash could tell all keys of a filter apart.
        key[4..8].copy_from_slice(&filter.wrapping_add(number).to_le_bytes());
        key[8..12].fill(0); // left from another alignment
        key
    }
}

/// SplitMix64.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[inline]
    pub(super) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 32) as u32
    }

    /// A number below `limit`.
    #[inline]
    pub(super) fn below(&mut self, limit: u32) -> u32 {
        ((u64::from(self.next()) * u64::from(limit)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_distinct_and_vary_in_size() {
        let mut maker = KeyMaker::new(24);
        let mut keys = std::collections::HashSet::new();
        for number in (0..4000).chain(OUTSIDE..OUTSIDE + 4000) {
            let key = maker.key(7, number).to_vec();
            assert!((22..=26).contains(&key.len()));
            assert!(keys.insert(key));
        }
    }
}
