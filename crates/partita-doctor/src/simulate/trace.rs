//! Which blocks lookups ask for, in their order: what all caches are measured by.

use crate::simulate::cache_key::KeyHashes;

/// What a block is for. Numbers in arrays by role stand in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    Data,
    Index,
    IndexTop,
    Filter,
    FilterTop,
}

impl Part {
    /// How many there are.
    pub(crate) const COUNT: usize = 5;

    pub(crate) fn is_data(self) -> bool {
        self == Self::Data
    }
}

/// A block that lookups ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) part: Part,
    /// What RocksDB charges for it, without the cache's own entry.
    pub(crate) charge: u64,
    /// What is read from the file for it.
    pub(crate) stored: u64,
    pub(crate) hashes: KeyHashes,
    /// Whether it enters the cache when its table is opened, and is held until that is closed.
    pub(crate) is_pinned: bool,
}

/// The number of a block.
pub(crate) type BlockId = u32;

/// A request for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request(u32);

impl Request {
    const LAST: u32 = 1 << 31;
    /// Blocks that can be told apart.
    pub(crate) const BLOCKS_MAX: usize = Self::LAST as usize;

    /// * `is_last`: all that is held by then is let go of afterwards.
    pub(crate) fn new(block: BlockId, is_last: bool) -> Self {
        Self(block | if is_last { Self::LAST } else { 0 })
    }

    pub(crate) fn block(self) -> BlockId {
        self.0 & !Self::LAST
    }

    pub(crate) fn is_last(self) -> bool {
        self.0 & Self::LAST != 0
    }
}

/// The blocks, and the requests of all lookups.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) blocks: Vec<Block>,
    pub(crate) requests: Vec<Request>,
    /// Where the requests of each lookup end.
    pub(crate) ends: Vec<u32>,
}

impl Trace {
    /// The requests of each lookup.
    pub(crate) fn lookups(&self) -> impl Iterator<Item = &[Request]> {
        let mut from = 0;
        self.ends.iter().map(move |&end| {
            let requests = self.requests.get(from..end as usize).unwrap_or_default();
            from = end as usize;
            requests
        })
    }
}

/// What came of lookups at a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) lookups: u64,
    /// Blocks asked for, by part.
    pub(crate) asked: [u64; Part::COUNT],
    /// Blocks read.
    pub(crate) read: [u64; Part::COUNT],
    /// Their bytes.
    pub(crate) bytes: [u64; Part::COUNT],
    /// Blocks read that no lookup had asked for before: a longer run has fewer of them.
    pub(crate) first_reads: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        let add = |to: &mut [u64], from: &[u64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        add(&mut self.asked, &other.asked);
        add(&mut self.read, &other.read);
        add(&mut self.bytes, &other.bytes);
        self.lookups += other.lookups;
        self.first_reads += other.first_reads;
    }
}

/// A cache of RocksDB, as far as it decides what stays.
pub(crate) trait BlockCache {
    /// Asks for a block and holds it if it is there.
    fn lookup(&mut self, block: BlockId) -> bool;
    /// Puts a block in that was not there, and holds it.
    fn insert(&mut self, block: BlockId);
    /// Lets go of a block.
    fn release(&mut self, block: BlockId);
}

/// Plays lookups through a cache.
///
/// * `warm_up`: lookups that are not counted, from the first on.
pub(crate) fn replay(trace: &Trace, cache: &mut dyn BlockCache, warm_up: usize) -> Counts {
    for (block, id) in trace.blocks.iter().zip(0..) {
        if block.is_pinned {
            cache.insert(id);
        }
    }
    let mut counts = Counts::default();
    let mut seen = vec![false; trace.blocks.len()];
    let mut held = Vec::new();
    for (at, lookup) in trace.lookups().enumerate() {
        let is_counted = at >= warm_up;
        counts.lookups += u64::from(is_counted);
        for &request in lookup {
            let id = request.block();
            let Some(block) = trace.blocks.get(id as usize) else { continue };
            let part = block.part as usize;
            let is_first = !std::mem::replace(&mut seen[id as usize], true);
            counts.asked[part] += u64::from(is_counted);
            if !block.is_pinned {
                let found = cache.lookup(id);
                if !found {
                    cache.insert(id);
                }
                if !found && is_counted {
                    counts.read[part] += 1;
                    counts.bytes[part] += block.stored;
                    counts.first_reads += u64::from(is_first);
                }
                held.push(id);
            }
            if request.is_last() {
                let_go(cache, &mut held, block.part);
            }
        }
    }
    counts
}

/// What a lookup in a table holds goes in the order in which RocksDB lets go: the last first, but data behind the index.
fn let_go(cache: &mut dyn BlockCache, held: &mut Vec<BlockId>, last: Part) {
    let data = if last.is_data() { held.pop() } else { None };
    while let Some(id) = held.pop() {
        cache.release(id);
    }
    if let Some(id) = data {
        cache.release(id);
    }
}
