//! How often lookups find a block in an LRU cache of shards, when keys are asked for at random.
//!
//! A block is found again if, since it was asked for last, less than `shard - block` bytes of other blocks were asked for in
//! its shard. Over a time of `t` lookups a block that is asked for `rate` times a lookup is among these with probability
//! `1 - exp(-rate * t)`; so the bytes of others grow with `t`, and where they reach the room that is left lies the time after
//! which the block is gone (Che, Tung, Wang: Hierarchical Web Caching Systems, 2002). Hashes decide which blocks share a
//! shard: the mean is taken over several drawings.

use crate::cache::CacheModel;

/// A block that lookups ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct AskedBlock {
    /// What it takes of the cache.
    pub(super) bytes: u64,
    /// How often a lookup asks for it.
    pub(super) rate: f64,
}

/// Data blocks, one as likely as the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DataBlocks {
    /// How many there are.
    pub(super) count: u64,
    /// What each takes of the cache.
    pub(super) bytes: u64,
}

/// Drawings of blocks onto shards for few blocks, and for many, which even out.
const DRAWINGS: [u64; 2] = [32, 4];
const MANY_BLOCKS: usize = 500;
/// Halvings of the time that is looked for, from an hour of a million lookups a second.
const HALVINGS: u32 = 40;
const LOOKUPS_MAX: f64 = 3.6e9;

/// The share of requests that miss, block by block, if each lookup reads one data block.
pub(super) fn miss_rates(model: &CacheModel, blocks: &[AskedBlock], data: DataBlocks) -> Vec<f64> {
    let drawings = DRAWINGS[usize::from(blocks.len() > MANY_BLOCKS)];
    let mut missed = vec![0.0; blocks.len()];
    let mut state = 1_u64;
    for _ in 0..drawings {
        let mut shards = vec![Vec::new(); usize::try_from(model.shards()).unwrap_or(1)];
        for at in 0..blocks.len() {
            let shard = (random(&mut state) % model.shards()) as usize;
            if let Some(shard) = shards.get_mut(shard) {
                shard.push(at);
            }
        }
        for shard in &shards {
            for &at in shard {
                let others = shard.iter().filter(|&&other| other != at).map(|&other| blocks[other]);
                let others: Vec<AskedBlock> = others.collect();
                missed[at] += miss_rate(model, blocks[at], &others, data);
            }
        }
    }
    missed.iter().map(|missed| missed / drawings as f64).collect()
}

/// The share of requests for `block` that miss, where it shares its shard with `others` and its part of the data.
fn miss_rate(
    model: &CacheModel,
    block: AskedBlock,
    others: &[AskedBlock],
    data: DataBlocks,
) -> f64 {
    let Some(room) = model.shard_bytes().checked_sub(block.bytes) else { return 1.0 };
    // What does not fit beside the block throws it out with the first request.
    let (beside, instead): (Vec<AskedBlock>, Vec<AskedBlock>) =
        others.iter().partition(|other| other.bytes <= room);
    let replaced: f64 = instead.iter().map(|other| other.rate).sum();
    let data_rate = 1.0 / data.count.max(1) as f64;
    let data_bytes = (data.count * data.bytes) as f64 / model.shards() as f64;
    let asked_within = |time: f64| -> f64 {
        let seen = |rate: f64| -(-rate * time).exp_m1();
        let metadata = beside.iter().map(|other| other.bytes as f64 * seen(other.rate));
        metadata.sum::<f64>() + data_bytes * seen(data_rate)
    };
    // The next request comes before one that replaces the block, and before others have filled the room.
    let either = block.rate + replaced;
    let found_within = |time: f64| block.rate / either * -(-either * time).exp_m1();
    let (mut kept, mut gone) = (0.0, LOOKUPS_MAX);
    if asked_within(gone) <= room as f64 {
        return 1.0 - found_within(f64::INFINITY);
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(kept, gone);
        if asked_within(middle) <= room as f64 { kept = middle } else { gone = middle }
    }
    1.0 - found_within(kept)
}

/// The next of a row of numbers without order (splitmix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::CacheKind;

    fn one_shard(bytes: u64) -> CacheModel {
        CacheModel { fixed_bits: Some(0), ..CacheModel::new(CacheKind::Lru, bytes) }
    }

    #[test]
    fn a_block_larger_than_its_shard_always_misses_and_one_alone_never() {
        let block = AskedBlock { bytes: 1000, rate: 1.0 };
        assert_eq!(miss_rates(&one_shard(999), &[block], DataBlocks::default()), [1.0]);
        assert_eq!(miss_rates(&one_shard(1000), &[block], DataBlocks::default()), [0.0]);
    }

    #[test]
    fn what_all_fits_never_misses_and_what_does_not_misses_by_how_seldom_it_is_asked() {
        let often = AskedBlock { bytes: 1000, rate: 1.0 };
        let seldom = AskedBlock { bytes: 1000, rate: 0.01 };
        let data = DataBlocks { count: 1000, bytes: 100 };
        let all = miss_rates(&one_shard(102_000), &[often, seldom], data);
        assert_eq!(all, [0.0, 0.0]);
        let some = miss_rates(&one_shard(20_000), &[often, seldom], data);
        assert!(some[0] < 1e-9 && some[1] > 0.1 && some[1] < 0.9, "{some:?}");
    }

    /// A cache of one shard, played through request by request.
    #[test]
    fn the_rates_are_those_of_a_cache_that_is_played_through() {
        let blocks = [
            AskedBlock { bytes: 4000, rate: 0.05 },
            AskedBlock { bytes: 3000, rate: 0.03 },
            AskedBlock { bytes: 5000, rate: 0.02 },
        ];
        let data = DataBlocks { count: 400, bytes: 100 };
        let capacity = 12_000;
        let mut state = 5;
        let mut chance = || random(&mut state) as f64 / u64::MAX as f64;
        // Least recently used first: block numbers, data behind the metadata.
        let mut lru = std::collections::VecDeque::<usize>::new();
        let size = |at: usize| if at < 3 { blocks[at].bytes } else { data.bytes };
        let (mut asked, mut missed) = ([0_u32; 3], [0_u32; 3]);
        for _ in 0..60_000 {
            let mut wanted: Vec<usize> = (0..3).filter(|&at| chance() < blocks[at].rate).collect();
            wanted.push(3 + (chance() * 399.99) as usize);
            for at in wanted {
                let found = lru.iter().position(|&other| other == at);
                if at < 3 {
                    asked[at] += 1;
                    missed[at] += u32::from(found.is_none());
                }
                if let Some(found) = found {
                    lru.remove(found);
                }
                lru.push_back(at);
                while lru.iter().map(|&at| size(at)).sum::<u64>() > capacity {
                    lru.pop_front();
                }
            }
        }
        let rates = miss_rates(&one_shard(capacity), &blocks, data);
        for at in 0..3 {
            let played = f64::from(missed[at]) / f64::from(asked[at]);
            assert!((rates[at] - played).abs() < 0.12, "{at}: {} {played}", rates[at]);
        }
    }
}
