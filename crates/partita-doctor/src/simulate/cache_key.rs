//! Which shard of RocksDB's cache a block falls on.
//!
//! ```text
//! unique id of the table   XXH3 of database id and session, xor file number      in its properties (partita::version::unique_id)
//! base key, two words      from both halves of the id, bits reversed
//! key of a block           second word xor (offset / 4)
//! LRU: shard               low bits of the 64-bit hash of the key (XXH3 as it was before its release)
//! HyperClock: shard        bits 32 and up of the low half of XXH3-128 of the key; both halves choose its slot
//! ```
//!
//! So it is from RocksDB 7.8 to 8.1, for tables with the three properties. Later releases stir a number of their host into the
//! hash, and older tables and releases take other keys: there the shard is as good as drawn, and it is drawn from a seed.

use partita::table::Release;
use partita::util::hash::hash64;
use twox_hash::XxHash3_128;

/// The releases whose shards the files tell.
const EXACT: std::ops::RangeInclusive<Release> =
    Release { major: 7, minor: 8 }..=Release { major: 8, minor: 1 };

/// What the keys of a table's blocks are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BaseKey {
    first: u64,
    second: u64,
    /// Whether RocksDB makes the same.
    pub(crate) is_exact: bool,
}

impl BaseKey {
    /// The base key of a table.
    ///
    /// * `unique_id`: its identity, if its properties tell.
    /// * `seed`: what is drawn depends on it and on `number`, the table's.
    pub(crate) fn of(
        unique_id: Option<[u8; 16]>,
        release: Option<Release>,
        seed: u64,
        number: u64,
    ) -> Self {
        let known = release.is_some_and(|release| EXACT.contains(&release));
        match unique_id.filter(|_| known) {
            Some(id) => Self::of_unique_id(id),
            None => Self::drawn(seed, number),
        }
    }

    fn of_unique_id(id: [u8; 16]) -> Self {
        let id = u128::from_le_bytes(id);
        let (session, file) = (id as u64, (id >> 64) as u64);
        let session = if session == 0 { file } else { session };
        let first = downward(session) ^ file.reverse_bits();
        let second = session.reverse_bits();
        // A first word of zero means something else to RocksDB.
        let (first, second) = if first == 0 { (second, first) } else { (first, second) };
        Self { first, second, is_exact: true }
    }

    fn drawn(seed: u64, number: u64) -> Self {
        let mut random = crate::random::Random::new(seed ^ number.wrapping_mul(0x9e37_79b9));
        Self { first: random.next(), second: random.next(), is_exact: false }
    }

    /// The hashes of the block at an offset of the file.
    pub(crate) fn at(&self, offset: u64) -> KeyHashes {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&self.first.to_le_bytes());
        key[8..].copy_from_slice(&(self.second ^ (offset >> 2)).to_le_bytes());
        KeyHashes { lru: hash64(&key), clock: XxHash3_128::oneshot(&key) }
    }
}

/// A linear map of bits that is its own inverse: halves, quarters and so on, each upper one added to the lower one.
fn downward(mut word: u64) -> u64 {
    for (mask, shift) in [
        (0xffff_ffff_0000_0000, 32),
        (0xffff_0000_ffff_0000, 16),
        (0xff00_ff00_ff00_ff00, 8),
        (0xf0f0_f0f0_f0f0_f0f0, 4),
        (0xcccc_cccc_cccc_cccc, 2),
        (0xaaaa_aaaa_aaaa_aaaa_u64, 1),
    ] {
        word ^= (word & mask) >> shift;
    }
    word
}

/// What places a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyHashes {
    lru: u64,
    clock: u128,
}

impl KeyHashes {
    /// Its shard of `shards`, a power of two, in an LRU cache.
    pub(crate) fn lru_shard(&self, shards: u64) -> usize {
        (self.lru & (shards - 1)) as usize
    }

    /// The same in a HyperClock cache.
    pub(crate) fn clock_shard(&self, shards: u64) -> usize {
        ((self.clock as u64 >> 32) & (shards - 1)) as usize
    }

    /// Where its slot is looked for in a HyperClock cache, and in which steps.
    pub(crate) fn clock_probe(&self) -> (u64, u64) {
        ((self.clock >> 64) as u64, self.clock as u64 | 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita::version::unique_id;

    const RELEASE: Option<Release> = Some(Release { major: 7, minor: 8 });

    #[test]
    fn a_map_of_bits_undoes_itself() {
        for word in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            assert_eq!(downward(downward(word)), word);
        }
        assert_eq!(downward(1 << 63), u64::MAX, "the uppermost bit reaches all");
    }

    /// Which keys these are was read out of RocksDB 7.8.3: `simulated.rs` of the compatibility tests holds all of it together.
    #[test]
    fn keys_differ_by_offset_in_the_second_word_only() {
        let id = unique_id::of_file("db", "0123456789ABCDEFGHIJ", 7);
        let base = BaseKey::of(Some(id), RELEASE, 1, 7);
        assert!(base.is_exact);
        assert_ne!(base.at(0), base.at(4));
        // The two lowest bits of an offset are not in the key.
        assert_eq!(base.at(4096), base.at(4099));
        assert_eq!(base, BaseKey::of(Some(id), RELEASE, 2, 8), "nothing is drawn");
    }

    #[test]
    fn what_files_do_not_tell_is_drawn_from_the_seed() {
        let id = unique_id::of_file("db", "0123456789ABCDEFGHIJ", 7);
        let later = Some(Release { major: 9, minor: 8 });
        for (id, release) in [(Some(id), later), (None, RELEASE), (Some(id), None)] {
            let drawn = BaseKey::of(id, release, 1, 7);
            assert!(!drawn.is_exact);
            assert_eq!(drawn, BaseKey::of(id, release, 1, 7));
            assert_ne!(drawn, BaseKey::of(id, release, 2, 7));
            assert_ne!(drawn, BaseKey::of(id, release, 1, 8));
        }
    }
}
