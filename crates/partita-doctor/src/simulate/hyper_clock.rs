//! RocksDB's HyperClock cache, with a table of fixed size and with one that grows.
//!
//! ```text
//! fixed     a slot by hashing twice; as many slots as entries of the estimated charge fill to 7/10, used up to 84/100
//! growing   chains by linear hashing, one home more whenever 6/10 as many entries are there as homes
//! ```
//!
//! 1. An entry has a counter: 3 for index and filter, 2 for data at its insertion, and one more for each time it is used.
//! 2. A hand goes round the slots, four at a step. It passes entries that are held, takes one off a counter (and no
//!    counter stays above 2), and frees what has none.
//! 3. An insertion that does not fit sends the hand on until as much as is inserted is free, or it came round three
//!    times; a bit more where the shard holds too much. It goes in either way. So a block larger than its shard stays until
//!    the hand has come, and what comes after it frees as much as it brings.
//! 4. Where the slots are used up and none becomes free, the block is handed out without an entry.
//!
//! Read from `cache/clock_cache.cc` of 7.8.3 (fixed) and 11.9 (both).

use crate::cache::CacheModel;
use crate::simulate::trace::{Block, BlockCache, BlockId};

const SLOT_BYTES: u64 = 64;
const LOAD: f64 = 0.7;
const LOAD_MAX: f64 = 0.84;
const GROWING_LOAD_MAX: f64 = 0.6;
/// The least charge of an entry that a growing table counts with.
const GROWING_ENTRY_BYTES: f64 = 450.0;
const STEP: u64 = 4;
const COUNT_MAX: u32 = 3;
const NOWHERE: u32 = u32::MAX;

/// How the table is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ClockTable {
    /// For entries of this charge.
    Fixed { entry_bytes: u64 },
    /// It grows as entries come.
    Growing,
}

/// The state of a whole cache.
pub(crate) struct HyperClockCache {
    shards: Vec<Shard>,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    charge: u64,
    shard: u32,
    probe: (u64, u64),
    initial: u32,
    /// Its slot or home; [`NOWHERE`] if it is not in the table.
    at: u32,
    count: u32,
    held: u32,
}

struct Shard {
    capacity: u64,
    usage: u64,
    occupancy: usize,
    hand: u64,
    table: Table,
}

enum Table {
    Fixed {
        slots: Vec<u32>,
        limit: usize,
    },
    /// Entries by home. `round`: homes that the hand counts in one round, a power of two.
    Growing {
        homes: Vec<Vec<u32>>,
        round: u64,
        homes_max: usize,
    },
}

impl HyperClockCache {
    pub(crate) fn new(
        model: &CacheModel,
        table: ClockTable,
        metadata_is_high: bool,
        blocks: &[Block],
    ) -> Self {
        let shards = model.shards();
        let entry = |block: &Block| Entry {
            charge: block.charge,
            shard: block.hashes.clock_shard(shards) as u32,
            probe: block.hashes.clock_probe(),
            initial: if metadata_is_high && !block.part.is_data() { 3 } else { 2 },
            at: NOWHERE,
            count: 0,
            held: 0,
        };
        Self {
            shards: (0..shards)
                .map(|_| Shard::new(model.shard_bytes(), table, blocks.len()))
                .collect(),
            entries: blocks.iter().map(entry).collect(),
        }
    }
}

impl BlockCache for HyperClockCache {
    fn lookup(&mut self, block: BlockId) -> bool {
        let entry = &mut self.entries[block as usize];
        if entry.at == NOWHERE {
            return false;
        }
        entry.held += 1;
        true
    }

    fn insert(&mut self, block: BlockId) {
        let Entry { charge, shard, probe, initial, .. } = self.entries[block as usize];
        let shard = &mut self.shards[shard as usize];
        let at = shard.make_room(charge, &mut self.entries).then(|| shard.place(block, probe));
        shard.usage += charge;
        let entry = &mut self.entries[block as usize];
        entry.held = 1;
        entry.at = NOWHERE;
        if let Some(Some(at)) = at {
            shard.occupancy += 1;
            entry.at = at;
            // The reference that is let go of counts, too.
            entry.count = initial - 1;
        }
    }

    fn release(&mut self, block: BlockId) {
        let entry = &mut self.entries[block as usize];
        if entry.held == 0 {
            return;
        }
        entry.held -= 1;
        entry.count = entry.count.saturating_add(1);
        if entry.at == NOWHERE {
            self.shards[entry.shard as usize].usage -= entry.charge;
        }
    }
}

impl Shard {
    /// * `blocks`: how many there are to come.
    fn new(capacity: u64, table: ClockTable, blocks: usize) -> Self {
        let charged: usize;
        let table = match table {
            ClockTable::Fixed { entry_bytes } => {
                let bits = fixed_bits(capacity, entry_bytes);
                charged = 1 << bits;
                // Slots that nothing can come to are charged, but need not be had here.
                let slots = charged.min(blocks.saturating_mul(2).next_power_of_two().max(4));
                let limit = (slots as f64 * LOAD_MAX) as usize;
                Table::Fixed { slots: vec![NOWHERE; slots], limit }
            }
            ClockTable::Growing => {
                let slot = GROWING_ENTRY_BYTES * GROWING_LOAD_MAX + SLOT_BYTES as f64;
                let homes_max = ((capacity as f64 / slot) as usize).max(128);
                // A page of slots at the least.
                let homes = 64.min(homes_max).next_power_of_two();
                charged = homes;
                Table::Growing { homes: vec![Vec::new(); homes], round: homes as u64, homes_max }
            }
        };
        Self { capacity, usage: charged as u64 * SLOT_BYTES, occupancy: 0, hand: 0, table }
    }

    /// Makes room for a block; `false` if there is no slot to be had.
    fn make_room(&mut self, charge: u64, entries: &mut [Entry]) -> bool {
        let no_slot = !self.has_slot(entries);
        let mut wanted = if self.usage + charge <= self.capacity || charge > self.usage {
            0
        } else if self.usage > self.capacity {
            charge + (self.capacity / 1024).min(charge) + 1
        } else {
            charge
        };
        if no_slot && wanted == 0 {
            wanted = 1;
        }
        if wanted == 0 {
            return true;
        }
        let before = self.occupancy;
        let freed = self.evict(wanted, entries);
        self.usage -= freed;
        !(no_slot && self.occupancy == before)
    }

    /// Whether one entry more is within the limit; a growing table grows for it.
    fn has_slot(&mut self, entries: &mut [Entry]) -> bool {
        let wanted = self.occupancy + 1;
        let (homes, homes_max) = match &mut self.table {
            Table::Fixed { limit, .. } => return wanted <= *limit,
            Table::Growing { homes, homes_max, .. } => (homes, *homes_max),
        };
        while wanted as f64 > homes.len() as f64 * GROWING_LOAD_MAX {
            if homes.len() >= homes_max {
                return false;
            }
            split(homes, entries);
            self.usage += SLOT_BYTES;
        }
        true
    }

    fn place(&mut self, block: BlockId, (base, step): (u64, u64)) -> Option<u32> {
        match &mut self.table {
            Table::Fixed { slots, .. } => {
                let mask = slots.len() as u64 - 1;
                let mut probes = (0..slots.len() as u64)
                    .map(|probe| (base.wrapping_add(probe.wrapping_mul(step)) & mask) as usize);
                let free = probes.find(|&at| slots[at] == NOWHERE)?;
                slots[free] = block;
                Some(free as u32)
            }
            Table::Growing { homes, .. } => {
                let home = home_of(base, homes.len());
                homes[home].push(block);
                Some(home as u32)
            }
        }
    }

    /// Sends the hand on until `wanted` bytes are free; returns how many are.
    fn evict(&mut self, wanted: u64, entries: &mut [Entry]) -> u64 {
        let mut freed = 0;
        let first = self.hand;
        loop {
            let at = self.hand;
            self.hand += STEP;
            let round = match &mut self.table {
                Table::Fixed { slots, .. } => {
                    let round = slots.len() as u64;
                    for step in at..at + STEP {
                        let slot = &mut slots[(step & (round - 1)) as usize];
                        if *slot != NOWHERE && leaves(&mut entries[*slot as usize]) {
                            freed += entries[*slot as usize].charge;
                            self.occupancy -= 1;
                            *slot = NOWHERE;
                        }
                    }
                    round
                }
                Table::Growing { homes, round, .. } => {
                    if at & (*round - 1) == 0 {
                        *round = 1 << homes.len().ilog2();
                    }
                    for base in ((at & (*round - 1))..homes.len() as u64).step_by(*round as usize) {
                        for home in base..(base + STEP).min(homes.len() as u64) {
                            // The newest of a chain comes first.
                            let home = &mut homes[home as usize];
                            for at in (0..home.len()).rev() {
                                let entry = &mut entries[home[at] as usize];
                                if leaves(entry) {
                                    freed += entry.charge;
                                    self.occupancy -= 1;
                                    home.remove(at);
                                }
                            }
                        }
                    }
                    *round
                }
            };
            let rounds = match self.table {
                Table::Fixed { .. } => u64::from(COUNT_MAX),
                Table::Growing { .. } => u64::from(COUNT_MAX) + 1,
            };
            if freed >= wanted || at >= first + rounds * round {
                return freed;
            }
        }
    }
}

/// What the hand does to an entry; whether it leaves.
fn leaves(entry: &mut Entry) -> bool {
    if entry.held > 0 {
        return false;
    }
    if entry.count > 0 {
        entry.count = (entry.count - 1).min(COUNT_MAX - 1);
        return false;
    }
    entry.at = NOWHERE;
    true
}

fn fixed_bits(capacity: u64, entry_bytes: u64) -> u32 {
    let slot = entry_bytes as f64 * LOAD + SLOT_BYTES as f64;
    let slots = ((capacity as f64 / slot).ceil() as u64).max(1);
    let mut bits = ((slots << 1) - 1).ilog2();
    while bits > 0 && SLOT_BYTES << bits > capacity {
        bits -= 1;
    }
    bits
}

/// The home of a hash among so many.
fn home_of(hash: u64, homes: usize) -> usize {
    let bits = homes.ilog2();
    let longer = (hash & ((2_u64 << bits) - 1)) as usize;
    if longer < homes { longer } else { longer & ((1 << bits) - 1) }
}

/// One home more, which takes its part of another's entries.
fn split(homes: &mut Vec<Vec<u32>>, entries: &mut [Entry]) {
    let new = homes.len();
    let old = new - (1 << new.ilog2());
    let (moved, kept): (Vec<u32>, Vec<u32>) = std::mem::take(&mut homes[old])
        .into_iter()
        .partition(|&block| home_of(entries[block as usize].probe.0, new + 1) == new);
    homes[old] = kept;
    for &block in &moved {
        entries[block as usize].at = new as u32;
    }
    homes.push(moved);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::CacheKind;
    use crate::simulate::testing::{self, ask};
    use crate::simulate::trace::Part;

    const TABLES: [ClockTable; 2] = [ClockTable::Fixed { entry_bytes: 1000 }, ClockTable::Growing];

    fn blocks(count: usize, part: Part, charge: u64) -> Vec<Block> {
        testing::blocks(std::iter::repeat_n((part, charge, charge), count))
    }

    fn cache(bytes: u64, table: ClockTable, blocks: &[Block]) -> HyperClockCache {
        HyperClockCache::new(&CacheModel::new(CacheKind::HyperClock, bytes), table, true, blocks)
    }

    #[test]
    fn what_fits_is_found_again_and_usage_stays_near_the_capacity() {
        for table in TABLES {
            let blocks = blocks(3000, Part::Data, 1000);
            let mut cache = cache(1 << 20, table, &blocks);
            for block in 0..500 {
                assert!(!ask(&mut cache, block));
            }
            for block in 0..500 {
                assert!(ask(&mut cache, block), "{table:?} {block}");
            }
            for block in 0..3000 {
                ask(&mut cache, block);
                let usage = cache.shards[0].usage;
                assert!(usage <= (1 << 20) + 2000, "{table:?} {usage}");
            }
            let in_table = cache.entries.iter().filter(|entry| entry.at != NOWHERE);
            let charges: u64 = in_table.map(|entry| entry.charge).sum();
            assert!(charges > 900_000, "{table:?} {charges}");
        }
    }

    #[test]
    fn what_is_used_often_stays_while_others_come_and_go() {
        for table in TABLES {
            let blocks = blocks(5000, Part::Data, 1000);
            let mut cache = cache(1 << 20, table, &blocks);
            for block in 1..5000 {
                ask(&mut cache, block);
                ask(&mut cache, 0);
            }
            assert!(ask(&mut cache, 0), "{table:?}");
        }
    }

    #[test]
    fn a_block_larger_than_its_shard_is_found_until_the_hand_has_come() {
        for table in TABLES {
            let mut blocks = blocks(1000, Part::Data, 1000);
            blocks[0].charge = 2 << 20;
            let mut cache = cache(1 << 20, table, &blocks);
            ask(&mut cache, 0);
            assert!(ask(&mut cache, 0), "{table:?}");
            for block in 1..1000 {
                ask(&mut cache, block);
            }
            assert!(!cache.lookup(0), "{table:?}");
        }
    }

    #[test]
    fn a_table_without_free_slots_hands_blocks_out_without_an_entry() {
        let blocks = blocks(20, Part::Data, 10);
        let mut cache = cache(1 << 20, ClockTable::Fixed { entry_bytes: 1 << 19 }, &blocks);
        for block in 0..20 {
            cache.insert(block);
        }
        let Table::Fixed { limit, .. } = cache.shards[0].table else { panic!("it is fixed") };
        assert!(limit < 20);
        assert_eq!(cache.shards[0].occupancy, limit);
        for block in 0..20 {
            cache.release(block);
        }
        assert_eq!(cache.lookup(19), limit > 19);
    }

    #[test]
    fn homes_divide_as_they_become_more() {
        for homes in 1..200_usize {
            for hash in [0, 1, 77, 12_345, u64::MAX] {
                let home = home_of(hash, homes);
                assert!(home < homes);
                let next = home_of(hash, homes + 1);
                assert!(next == home || next == homes, "{hash} {homes}");
            }
        }
    }
}
