//! RocksDB's block caches, as far as their shards decide what can stay.
//!
//! A cache is cut into shards, a power of two of them, and every block belongs to one by its hash. A shard has
//! `capacity / shards` bytes, rounded up, and cannot borrow.
//!
//! ```text
//!               shards unless set              what a block larger than its shard does
//! LRU           as many as have 512 KiB,       inserted while its reader holds it, after everything that nobody holds was
//!               at most 64                     thrown out; freed when the reader lets go
//! HyperClock    as many as have 32 MiB,        goes in above the limit; from then on every insert throws out at least as
//!               at most 64                     much as it brings, until the block is gone
//! ```
//!
//! Rules read from RocksDB's `cache/lru_cache.cc`, `cache/clock_cache.cc` and `cache/sharded_cache.cc`, and seen at work with
//! 7.8.3.

use std::fmt;

use partita::table::Release;
use serde::Serialize;

/// The most shards that RocksDB takes by itself, as a power of two.
const DEFAULT_BITS_MAX: u32 = 6;
/// The greatest number of shards that RocksDB accepts, as a power of two.
pub const SHARD_BITS_MAX: u32 = 19;

/// A kind of cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheKind {
    /// `LRUCache`: what `NewLRUCache` and Java's `LRUCache` make.
    #[default]
    Lru,
    /// `HyperClockCache`: the default since RocksDB 10.7.
    HyperClock,
}

impl CacheKind {
    /// The least bytes of a shard that RocksDB takes by itself.
    pub const fn shard_bytes_min(self) -> u64 {
        match self {
            Self::Lru => 512 << 10,
            Self::HyperClock => 32 << 20,
        }
    }

    /// The name of a class in LOG as a kind.
    pub fn from_class(name: &str) -> Option<Self> {
        match name {
            "LRUCache" => Some(Self::Lru),
            _ if name.contains("HyperClockCache") => Some(Self::HyperClock),
            _ => None,
        }
    }
}

impl fmt::Display for CacheKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lru => "LRU",
            Self::HyperClock => "HyperClock",
        })
    }
}

/// A cache of one kind and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CacheModel {
    /// Its kind.
    pub kind: CacheKind,
    /// Its capacity.
    pub bytes: u64,
    /// The number of shards as a power of two, if it was set.
    pub fixed_bits: Option<u32>,
}

impl CacheModel {
    /// A cache whose number of shards RocksDB chooses.
    ///
    /// ```
    /// use partita_doctor::cache::{CacheKind, CacheModel};
    ///
    /// let cache = CacheModel::new(CacheKind::Lru, 64 << 20);
    /// assert_eq!((cache.shards(), cache.shard_bytes()), (64, 1 << 20));
    /// assert_eq!(CacheModel::new(CacheKind::HyperClock, 64 << 20).shards(), 2);
    /// ```
    pub fn new(kind: CacheKind, bytes: u64) -> Self {
        Self { kind, bytes, fixed_bits: None }
    }

    /// The cache that a family gets which is not given one, by the release that opens it.
    pub fn default_of(release: Option<Release>) -> Self {
        let since = |major, minor| release.is_some_and(|is| is >= Release { major, minor });
        if since(10, 7) {
            Self::new(CacheKind::HyperClock, 32 << 20)
        } else if since(8, 2) {
            Self::new(CacheKind::Lru, 32 << 20)
        } else {
            Self::new(CacheKind::Lru, 8 << 20)
        }
    }

    /// The number of shards as a power of two.
    pub fn shard_bits(&self) -> u32 {
        self.fixed_bits.unwrap_or_else(|| {
            let fitting = self.bytes / self.kind.shard_bytes_min();
            fitting.checked_ilog2().unwrap_or(0).min(DEFAULT_BITS_MAX)
        })
    }

    /// How many shards it has.
    pub fn shards(&self) -> u64 {
        1 << self.shard_bits().min(SHARD_BITS_MAX)
    }

    /// What a shard can hold.
    pub fn shard_bytes(&self) -> u64 {
        self.bytes.div_ceil(self.shards())
    }

    /// The smallest cache of this kind from which on every shard has at least `need` bytes.
    pub fn smallest_with_shards_of(&self, need: u64) -> Self {
        let bytes = match self.fixed_bits {
            Some(bits) => need << bits.min(SHARD_BITS_MAX),
            // One shard can be the whole of a small cache; beyond that RocksDB makes more of them, not larger ones.
            None if need <= self.kind.shard_bytes_min() => need,
            None => need << DEFAULT_BITS_MAX,
        };
        Self { bytes, ..*self }
    }

    /// The smallest cache of this kind in which blocks of these sizes stay side by side in their shards, with room for as
    /// much data beside them: in 99 of 100 cases, since hashes decide which of them share a shard.
    ///
    /// * `blocks`: how many there are.
    /// * `largest`: the largest of them.
    /// * `total`: all of them.
    pub fn smallest_safe_for(&self, blocks: u64, largest: u64, total: u64) -> Self {
        let mut together = 1;
        loop {
            let model = self.smallest_with_shards_of(largest.saturating_mul(together));
            let model = Self { bytes: model.bytes.max(total.saturating_mul(2)), ..model };
            if together >= blocks || model.crowding(blocks, largest) <= Self::CROWDING_MAX {
                return model;
            }
            together += 1;
        }
    }

    /// How likely it may be that more blocks fall on a shard than it can hold.
    pub(crate) const CROWDING_MAX: f64 = 0.01;

    /// The probability that of `blocks` blocks of at most `largest` bytes more fall on a shard than it holds; an upper
    /// bound.
    pub(crate) fn crowding(&self, blocks: u64, largest: u64) -> f64 {
        crowding(blocks, self.shards(), self.shard_bytes() / largest.max(1))
    }
}

/// The probability that of `blocks` blocks more than `fit` fall on one of `shards` shards; an upper bound.
fn crowding(blocks: u64, shards: u64, fit: u64) -> f64 {
    if fit >= blocks {
        return 0.0;
    }
    let hit = 1.0 / shards as f64;
    if shards == 1 {
        return 1.0;
    }
    // The terms of the binomial distribution, each from the one before.
    let mut term = (blocks as f64 * (-hit).ln_1p()).exp();
    let mut within = term;
    for count in 0..fit {
        term *= (blocks - count) as f64 / (count + 1) as f64 * hit / (1.0 - hit);
        within += term;
    }
    (shards as f64 * (1.0 - within).max(0.0)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn shards_are_those_of_rocksdb() {
        let shards = |kind, bytes| {
            let model = CacheModel::new(kind, bytes);
            (model.shards(), model.shard_bytes())
        };
        // As LOG of 7.8.3 tells for these capacities: num_shard_bits 0, 0, 1, 4, 5, 6, 6.
        for (bytes, expected) in [
            (MIB / 4, (1, MIB / 4)),
            (MIB - 1, (1, MIB - 1)),
            (MIB, (2, MIB / 2)),
            (8 * MIB, (16, MIB / 2)),
            (32 * MIB - 1, (32, MIB)),
            (32 * MIB, (64, MIB / 2)),
            (1024 * MIB, (64, 16 * MIB)),
        ] {
            assert_eq!(shards(CacheKind::Lru, bytes), expected, "{bytes}");
        }
        assert_eq!(shards(CacheKind::HyperClock, 32 * MIB), (1, 32 * MIB));
        assert_eq!(shards(CacheKind::HyperClock, 100 * MIB), (2, 50 * MIB));
        assert_eq!(shards(CacheKind::HyperClock, 4096 * MIB), (64, 64 * MIB));
        let set = CacheModel { fixed_bits: Some(2), ..CacheModel::new(CacheKind::Lru, 10) };
        assert_eq!((set.shards(), set.shard_bytes()), (4, 3));
    }

    #[test]
    fn the_default_cache_is_that_of_the_release() {
        let of = |major, minor| CacheModel::default_of(Some(Release { major, minor }));
        assert_eq!(of(7, 8), CacheModel::new(CacheKind::Lru, 8 * MIB));
        assert_eq!(of(9, 8), CacheModel::new(CacheKind::Lru, 32 * MIB));
        assert_eq!(of(11, 8), CacheModel::new(CacheKind::HyperClock, 32 * MIB));
    }

    #[test]
    fn every_cache_from_the_smallest_on_has_shards_that_large() {
        for kind in [CacheKind::Lru, CacheKind::HyperClock] {
            for need in [100, 512 << 10, (512 << 10) + 1, 3 * MIB, 32 * MIB + 1, 100 * MIB] {
                let smallest = CacheModel::new(kind, 1).smallest_with_shards_of(need);
                assert!(smallest.shard_bytes() >= need);
                for more in [0, 1, MIB, 33 * MIB, 64 * MIB, 1000 * MIB] {
                    let larger = CacheModel { bytes: smallest.bytes + more, ..smallest };
                    assert!(larger.shard_bytes() >= need, "{kind} {need} {larger:?}");
                }
            }
        }
    }

    #[test]
    fn a_safe_cache_holds_the_blocks_that_fall_on_one_shard() {
        let cache = CacheModel::new(CacheKind::Lru, 64 * MIB);
        // One block has nobody beside it.
        assert_eq!(cache.smallest_safe_for(1, 9 * MIB, 9 * MIB).shard_bytes(), 9 * MIB);
        // Of ten in 64 shards, three fall together once in a thousand times.
        assert_eq!(cache.smallest_safe_for(10, 9 * MIB, 90 * MIB).shard_bytes(), 27 * MIB);
        let one_shard = CacheModel { fixed_bits: Some(0), ..cache };
        assert_eq!(one_shard.smallest_safe_for(10, 9 * MIB, 90 * MIB).bytes, 180 * MIB);
    }

    #[test]
    fn crowding_is_the_tail_of_the_distribution() {
        assert_eq!(crowding(5, 64, 5), 0.0);
        assert_eq!(crowding(5, 1, 4), 1.0);
        // Two blocks in four shards fall together with probability 1/4.
        assert!((crowding(2, 4, 1) - 0.25).abs() < 1e-12);
    }
}
