//! RocksDB's LRU cache.
//!
//! ```text
//! a shard:   | ordinary, from old to new | high priority, from old to new |
//!              ^ evicted first              what overflows the share of the pool becomes the newest ordinary one
//! ```
//!
//! 1. A block that is held is in neither list, and cannot be evicted. It enters a list when it is let go of: that of high
//!    priority if it is index or filter, or was found before, and there is such a pool; else the ordinary one.
//! 2. An insertion evicts until the new block fits or nothing is left that nobody holds; it goes in either way, since the limit is
//!    not strict.
//! 3. A block that is let go of while the shard holds more than it may leaves at once. So one that is larger than its
//!    shard throws out everything and stays no longer than it is held.
//! 4. Charged are the block as the allocator gave it and the cache's entry.
//!
//! Read from `cache/lru_cache.cc` of 7.8.3 and 11.9; the lists are the same since 5.x. The pool has half of the cache by
//! default since 6.4, none before, and none in Java.

use crate::cache::CacheModel;
use crate::simulate::charge::LRU_ENTRY_BYTES;
use crate::simulate::trace::{Block, BlockCache, BlockId};

/// The state of a whole cache.
pub(crate) struct LruCache {
    shard_bytes: u64,
    pool_bytes: u64,
    shards: Vec<Shard>,
    entries: Vec<Entry>,
    lists: Links,
}

#[derive(Clone, Copy, Debug, Default)]
struct Shard {
    usage: u64,
    pool_usage: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    charge: u64,
    shard: u32,
    /// Whether its role gives it high priority.
    is_high: bool,
    is_in_cache: bool,
    was_found: bool,
    is_held: bool,
    is_in_pool: bool,
}

impl LruCache {
    /// * `pool_ratio`: the share of the cache for blocks of high priority.
    /// * `metadata_is_high`: whether index and filter have it.
    pub(crate) fn new(
        model: &CacheModel,
        pool_ratio: f64,
        metadata_is_high: bool,
        blocks: &[Block],
    ) -> Self {
        let shards = model.shards();
        let entry = |block: &Block| Entry {
            charge: block.charge + LRU_ENTRY_BYTES,
            shard: block.hashes.lru_shard(shards) as u32,
            is_high: metadata_is_high && !block.part.is_data(),
            is_in_cache: false,
            was_found: false,
            is_held: false,
            is_in_pool: false,
        };
        Self {
            shard_bytes: model.shard_bytes(),
            pool_bytes: (model.shard_bytes() as f64 * pool_ratio) as u64,
            shards: vec![Shard::default(); shards as usize],
            entries: blocks.iter().map(entry).collect(),
            lists: Links::new(blocks.len(), 2 * shards as usize),
        }
    }

    fn ordinary(shard: u32) -> usize {
        2 * shard as usize
    }

    fn pool(shard: u32) -> usize {
        2 * shard as usize + 1
    }

    /// Takes a block out of its list.
    fn unlink(&mut self, block: BlockId) {
        self.lists.remove(block);
        let entry = &mut self.entries[block as usize];
        if std::mem::take(&mut entry.is_in_pool) {
            self.shards[entry.shard as usize].pool_usage -= entry.charge;
        }
    }

    /// Puts a block that nobody holds into its list.
    fn link(&mut self, block: BlockId) {
        let entry = &mut self.entries[block as usize];
        let shard = entry.shard;
        if self.pool_bytes == 0 || !(entry.is_high || entry.was_found) {
            return self.lists.push_back(Self::ordinary(shard), block);
        }
        entry.is_in_pool = true;
        self.shards[shard as usize].pool_usage += entry.charge;
        self.lists.push_back(Self::pool(shard), block);
        while self.shards[shard as usize].pool_usage > self.pool_bytes {
            let Some(oldest) = self.lists.front(Self::pool(shard)) else { break };
            self.unlink(oldest);
            self.lists.push_back(Self::ordinary(shard), oldest);
        }
    }

    fn make_room(&mut self, shard: u32, charge: u64) {
        while self.shards[shard as usize].usage + charge > self.shard_bytes {
            let oldest = self.lists.front(Self::ordinary(shard));
            let Some(oldest) = oldest.or_else(|| self.lists.front(Self::pool(shard))) else {
                return;
            };
            self.unlink(oldest);
            let entry = &mut self.entries[oldest as usize];
            entry.is_in_cache = false;
            self.shards[shard as usize].usage -= entry.charge;
        }
    }
}

impl BlockCache for LruCache {
    fn lookup(&mut self, block: BlockId) -> bool {
        let entry = &mut self.entries[block as usize];
        if !entry.is_in_cache {
            return false;
        }
        entry.was_found = true;
        if !std::mem::replace(&mut entry.is_held, true) {
            self.unlink(block);
        }
        true
    }

    fn insert(&mut self, block: BlockId) {
        let Entry { charge, shard, .. } = self.entries[block as usize];
        self.make_room(shard, charge);
        self.shards[shard as usize].usage += charge;
        let entry = &mut self.entries[block as usize];
        entry.is_in_cache = true;
        entry.was_found = false;
        entry.is_held = true;
    }

    fn release(&mut self, block: BlockId) {
        let entry = &mut self.entries[block as usize];
        if !std::mem::take(&mut entry.is_held) {
            return;
        }
        let shard = &mut self.shards[entry.shard as usize];
        if shard.usage > self.shard_bytes {
            entry.is_in_cache = false;
            shard.usage -= entry.charge;
        } else {
            self.link(block);
        }
    }
}

/// Lists of blocks, in which each block is at most once.
struct Links {
    blocks: usize,
    /// By block, then a ring's ends by list.
    before: Vec<u32>,
    after: Vec<u32>,
}

impl Links {
    fn new(blocks: usize, lists: usize) -> Self {
        let ring = |at: usize| at as u32;
        let all: Vec<u32> = (0..blocks + lists).map(ring).collect();
        Self { blocks, before: all.clone(), after: all }
    }

    fn front(&self, list: usize) -> Option<BlockId> {
        let end = self.blocks + list;
        Some(self.after[end]).filter(|&first| first as usize != end)
    }

    fn push_back(&mut self, list: usize, block: BlockId) {
        let end = self.blocks + list;
        let last = self.before[end];
        self.after[last as usize] = block;
        self.before[block as usize] = last;
        self.after[block as usize] = end as u32;
        self.before[end] = block;
    }

    fn remove(&mut self, block: BlockId) {
        let (before, after) = (self.before[block as usize], self.after[block as usize]);
        self.after[before as usize] = after;
        self.before[after as usize] = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::CacheKind;
    use crate::simulate::testing::{self, ask};
    use crate::simulate::trace::Part;

    /// Blocks that take so many bytes with their entries.
    fn blocks(sizes: &[(Part, u64)]) -> Vec<Block> {
        testing::blocks(sizes.iter().map(|&(part, bytes)| (part, bytes - LRU_ENTRY_BYTES, bytes)))
    }

    fn cache(bytes: u64, pool_ratio: f64, blocks: &[Block]) -> LruCache {
        let model = CacheModel { fixed_bits: Some(0), ..CacheModel::new(CacheKind::Lru, bytes) };
        LruCache::new(&model, pool_ratio, true, blocks)
    }

    #[test]
    fn what_was_asked_for_least_lately_goes_first() {
        let blocks = blocks(&[(Part::Data, 400), (Part::Data, 400), (Part::Data, 400)]);
        let mut cache = cache(1000, 0.0, &blocks);
        for (block, expected) in
            [(0, false), (1, false), (0, true), (2, false), (0, true), (1, false)]
        {
            assert_eq!(ask(&mut cache, block), expected, "{block}");
        }
    }

    #[test]
    fn a_block_larger_than_its_shard_throws_all_out_and_goes_itself() {
        let blocks = blocks(&[(Part::Data, 400), (Part::Filter, 1001)]);
        let mut cache = cache(1000, 0.5, &blocks);
        ask(&mut cache, 0);
        assert!(!ask(&mut cache, 1));
        assert!(!ask(&mut cache, 1));
        assert!(!ask(&mut cache, 0));
        assert_eq!(cache.shards[0].usage, 400);
    }

    #[test]
    fn what_is_held_stays_whatever_comes() {
        let blocks = blocks(&[(Part::Index, 600), (Part::Data, 600)]);
        let mut cache = cache(1000, 0.0, &blocks);
        cache.insert(0);
        assert!(!ask(&mut cache, 1), "there is no room for it");
        assert!(!ask(&mut cache, 1));
        cache.release(0);
        assert!(ask(&mut cache, 0));
    }

    #[test]
    fn a_pool_keeps_index_and_filter_and_what_was_found_again() {
        let sizes = [(Part::Index, 200), (Part::Data, 400), (Part::Data, 400), (Part::Data, 400)];
        let blocks = blocks(&sizes);
        for (pool_ratio, stays) in [(0.5, true), (0.0, false)] {
            let mut cache = cache(1000, pool_ratio, &blocks);
            for block in [0, 1, 2, 3] {
                ask(&mut cache, block);
            }
            assert_eq!(ask(&mut cache, 0), stays, "{pool_ratio}");
        }
    }

    #[test]
    fn what_overflows_the_pool_is_the_newest_ordinary_block() {
        let blocks =
            blocks(&[(Part::Index, 300), (Part::Index, 300), (Part::Data, 300), (Part::Data, 300)]);
        let mut cache = cache(1000, 0.5, &blocks);
        for block in [2, 0, 1] {
            ask(&mut cache, block);
        }
        assert_eq!(cache.shards[0].pool_usage, 300);
        // The data block is older than the index that overflowed.
        ask(&mut cache, 3);
        assert!(ask(&mut cache, 0) && ask(&mut cache, 1));
        assert!(!ask(&mut cache, 2));
    }
}
