//! What tests of the modelled caches share.

use super::trace::{Block, BlockCache, BlockId, Part};
use crate::simulate::cache_key::BaseKey;

/// Blocks that take so many bytes in a cache and in a file, each in a place of its own.
pub(super) fn blocks(sizes: impl IntoIterator<Item = (Part, u64, u64)>) -> Vec<Block> {
    let base = BaseKey::of(None, None, 1, 1);
    let block = |(at, (part, charge, stored)): (u64, (Part, u64, u64))| Block {
        part,
        charge,
        stored,
        hashes: base.at(at * 4096),
        is_pinned: false,
    };
    (0..).zip(sizes).map(block).collect()
}

/// Asks for a block, and lets go of it; whether it was there.
pub(super) fn ask(cache: &mut dyn BlockCache, block: BlockId) -> bool {
    let found = cache.lookup(block);
    if !found {
        cache.insert(block);
    }
    cache.release(block);
    found
}
