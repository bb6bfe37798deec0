//! The blocks of index and filter that go through a cache: how large they are, how often lookups ask for them, and the
//! smallest caches in which they stay.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::cache::CacheModel;
use crate::exam::Case;
use crate::model::{Table, TableLayout};
use crate::settings::{FamilySettings, SharedCache};

/// Bytes that a cache's entry has beside its block.
const ENTRY_BYTES: u64 = 128;
/// A mebibyte, in which sizes of caches are told.
pub(super) const MIB: u64 = 1 << 20;

/// A block of index or filter that goes through the cache.
pub(super) struct Block<'c> {
    pub(super) table: &'c Table,
    pub(super) layout: &'c TableLayout,
    pub(super) family: &'c str,
    pub(super) role: &'static str,
    /// In memory.
    pub(super) bytes: u64,
    /// How often a lookup of a key that is there asks for it.
    pub(super) asked_per_get: f64,
}

impl Block<'_> {
    pub(super) fn charge(&self) -> u64 {
        self.bytes + ENTRY_BYTES
    }
}

/// All such blocks of the families that share a cache. Of partitions the largest stands for all: none is larger.
pub(super) struct Blocks<'c> {
    pub(super) list: Vec<Block<'c>>,
    pub(super) entries: u64,
    /// Partitions, which are small.
    pieces_bytes: u64,
}

impl<'c> Blocks<'c> {
    pub(super) fn of(case: &'c Case<'_>, cache: &SharedCache<'c>) -> Self {
        Self::with(case, cache, false)
    }

    /// * `all_cached`: as if everything went through the cache.
    pub(super) fn with(case: &'c Case<'_>, cache: &SharedCache<'c>, all_cached: bool) -> Self {
        let mut blocks = Self { list: Vec::new(), entries: 0, pieces_bytes: 0 };
        for family in &cache.families {
            if !family.no_cache {
                let cached = all_cached || family.caches_metadata == Some(true);
                blocks.add_family(case, family, cached);
            }
        }
        for block in &mut blocks.list {
            block.asked_per_get /= blocks.entries.max(1) as f64;
        }
        blocks
    }

    /// Adds the blocks of a family; how often they are asked is weighed with its entries.
    fn add_family(&mut self, case: &'c Case<'_>, family: &'c FamilySettings, cached: bool) {
        let tables: Vec<(&Table, &TableLayout)> = case
            .database
            .layouts()
            .filter(|(table, _)| case.family_of(table) == family.name)
            .collect();
        let runs = Runs::of(&tables);
        self.entries += runs.entries;
        for (table, layout) in &tables {
            let asked = runs.asked_per_get(table, layout) * runs.entries as f64;
            let lookups = [asked, layout.entries as f64];
            self.add_table(family, (table, layout), cached, lookups);
        }
    }

    /// * `lookups`: how many ask the table, and how many find their key there.
    fn add_table(
        &mut self,
        family: &'c FamilySettings,
        (table, layout): (&'c Table, &'c TableLayout),
        cached: bool,
        [asked, found]: [f64; 2],
    ) {
        let (filter, index) = (&layout.filter, &layout.index);
        let passed = match filter.false_positives {
            Some(rate) => found + (asked - found).max(0.0) * rate,
            None => asked,
        };
        let is_cut = filter.top_level_bytes > 0;
        let filter_asked = if filter.pieces.bytes > 0 { asked } else { 0.0 };
        let parts = [
            (is_cut || cached, "filter", filter.pieces.largest_bytes, filter_asked),
            (cached, "filter top level", filter.top_level_bytes, filter_asked),
            (index.is_partitioned || cached, "index", index.pieces.largest_bytes, passed),
            (cached, "index top level", index.top_level_bytes, passed),
        ];
        for (goes_through, role, bytes, asked_per_get) in parts {
            if goes_through && bytes > 0 {
                let family = &family.name;
                self.list.push(Block { table, layout, family, role, bytes, asked_per_get });
            }
        }
        let beside = |pieces: crate::model::Pieces| pieces.bytes - pieces.largest_bytes;
        self.pieces_bytes += beside(filter.pieces) + beside(index.pieces);
    }

    pub(super) fn largest(&self) -> Option<u64> {
        self.list.iter().map(Block::charge).max()
    }

    pub(super) fn total(&self) -> u64 {
        self.pieces_bytes + self.list.iter().map(Block::charge).sum::<u64>()
    }

    /// The smallest cache in which all of them stay, as the files are.
    pub(super) fn smallest_safe(&self, model: &CacheModel) -> CacheModel {
        let largest = self.largest().unwrap_or(0);
        let large = self.list.iter().filter(|block| block.charge() > largest / 4).count();
        let safe = model.smallest_safe_for(large as u64, largest, self.total());
        self.with_room_for_data(safe, largest)
    }

    /// The same once all of them were cut into partitions of 4 KiB: the top levels stay, the rest comes and goes.
    pub(super) fn smallest_safe_in_pieces(&self, model: &CacheModel) -> CacheModel {
        let tops = self.list.iter().map(|block| (block.table.number, top_level_of(block)));
        let mut by_table = BTreeMap::<u64, u64>::new();
        for (table, bytes) in tops {
            *by_table.entry(table).or_default() += bytes;
        }
        let largest = by_table.values().copied().max().unwrap_or(0);
        let tops = model.smallest_safe_for(by_table.len() as u64, largest, by_table.values().sum());
        self.with_room_for_data(tops, largest.max(PARTITION_BYTES))
    }

    /// That cache or one in which some data blocks find room beside a block of `bytes`; in whole MiB.
    fn with_room_for_data(&self, safe: CacheModel, bytes: u64) -> CacheModel {
        let data = self.list.iter().map(|block| data_block_bytes(block.layout)).max().unwrap_or(0);
        let roomy = safe.smallest_with_shards_of(bytes + data * DATA_BLOCKS_PER_SHARD);
        CacheModel { bytes: safe.bytes.max(roomy.bytes).next_multiple_of(MIB), ..safe }
    }
}

/// Data blocks that a shard should be able to hold beside an index or filter block.
const DATA_BLOCKS_PER_SHARD: u64 = 4;

/// The mean size of a data block in memory.
fn data_block_bytes(layout: &TableLayout) -> u64 {
    let bytes = layout.raw_key_bytes.saturating_add(layout.raw_value_bytes);
    bytes.checked_div(layout.data.count).unwrap_or(0)
}

/// The size of a partition unless set otherwise.
const PARTITION_BYTES: u64 = 4096;

/// The top level that a block has or would have: a separator and a handle for each partition.
fn top_level_of(block: &Block<'_>) -> u64 {
    let layout = block.layout;
    if block.role.ends_with("top level") {
        return block.bytes;
    }
    let key = layout.raw_key_bytes.checked_div(layout.entries).unwrap_or(0);
    let is_cut = match block.role {
        "filter" => layout.filter.top_level_bytes > 0,
        _ => layout.index.is_partitioned,
    };
    if is_cut { 0 } else { block.bytes.div_ceil(PARTITION_BYTES) * (key + 8) }
}

/// The runs of a family, newest first: level 0 table by table, then the sorted levels.
struct Runs {
    entries: u64,
    by_level: BTreeMap<u32, u64>,
    /// Entries in newer tables of level 0, by number.
    newer_on_level_0: BTreeMap<u64, u64>,
}

impl Runs {
    fn of(tables: &[(&Table, &TableLayout)]) -> Self {
        let mut by_level = BTreeMap::<u32, u64>::new();
        for (table, layout) in tables {
            *by_level.entry(table.level).or_default() += layout.entries;
        }
        let mut level_0: Vec<(u64, u64)> = tables
            .iter()
            .filter(|(table, _)| table.level == 0)
            .map(|(table, layout)| (table.number, layout.entries))
            .collect();
        level_0.sort_unstable_by_key(|(number, _)| Reverse(*number));
        let mut newer = 0;
        let mut newer_on_level_0 = BTreeMap::new();
        for (number, entries) in level_0 {
            newer_on_level_0.insert(number, newer);
            newer += entries;
        }
        Self { entries: by_level.values().sum(), by_level, newer_on_level_0 }
    }

    /// How often a lookup of a key that is there asks the table's filter, each entry being as likely as the next.
    ///
    /// A lookup goes from the newest run to the oldest and ends where it finds the key. In a sorted level it asks the one
    /// table whose range holds the key; on level 0 every table counts as a run of its own that covers all keys.
    fn asked_per_get(&self, table: &Table, layout: &TableLayout) -> f64 {
        let reaches = |newer: u64| 1.0 - newer as f64 / self.entries.max(1) as f64;
        if table.level == 0 {
            return reaches(self.newer_on_level_0.get(&table.number).copied().unwrap_or(0));
        }
        let newer = self.by_level.range(..table.level).map(|(_, entries)| entries).sum();
        let level = self.by_level.get(&table.level).copied().unwrap_or(0);
        reaches(newer) * layout.entries as f64 / level.max(1) as f64
    }
}
