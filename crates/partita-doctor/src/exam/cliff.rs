//! The shard cliff: blocks of index and filter that are larger than their shard of the cache.
//!
//! Such a block is read from the file, checked and parsed for every lookup that asks it, and throws out all that the shard
//! holds. RocksDB counts it as a cache miss like any other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::cache::CacheModel;
use crate::exam::reuse::{self, AskedBlock, DataBlocks};
use crate::exam::{Case, metadata_remedy};
use crate::finding::{Evidence, Finding, Remedy, Severity, Value};
use crate::model::{Table, TableLayout};
use crate::setting;
use crate::settings::{CacheSource, FamilySettings, SharedCache};
use crate::units::{counted, size};

/// What copying a block out of the page cache and checking it comes to, in bytes a second. Filter blocks of 8.7 MiB took
/// RocksDB 1.8 to 2.3 ms of CPU for 12.8 to 16.2 MB.
const BYTES_PER_CPU_SECOND: f64 = 7e9;
/// Share of the entries behind such blocks from which on it is more than a blemish.
const GRAVE_SHARE: f64 = 0.01;
/// Bytes that a cache's entry has beside its block.
const ENTRY_BYTES: u64 = 128;

pub(super) fn examine(case: &Case<'_>) -> Vec<Finding> {
    case.settings.caches().iter().flat_map(|cache| of_cache(case, cache)).collect()
}

fn of_cache(case: &Case<'_>, cache: &SharedCache<'_>) -> Option<Finding> {
    let blocks = Blocks::of(case, cache);
    let largest = blocks.largest()?;
    let model = cache.model();
    let oversized: Vec<&Block<'_>> =
        blocks.list.iter().filter(|block| block.charge() > model.shard_bytes()).collect();
    if !oversized.is_empty() {
        return Some(cliff(case, cache, &blocks, &oversized));
    }
    let large: Vec<&Block<'_>> =
        blocks.list.iter().filter(|block| block.charge() > model.shard_bytes() / 4).collect();
    let crowding = model.crowding(large.len() as u64, largest);
    if crowding > CacheModel::CROWDING_MAX {
        return Some(crowded(cache, &blocks, &large, crowding));
    }
    (blocks.total() > model.bytes).then(|| too_much(cache, &blocks))
}

/// The smallest safe caches if index and filter were to go through the cache: as the files are, and in partitions.
pub(super) fn safe_if_cached(case: &Case<'_>, cache: &SharedCache<'_>) -> [u64; 2] {
    let blocks = Blocks::with(case, cache, true);
    let model = cache.model();
    [blocks.smallest_safe(model).bytes, blocks.smallest_safe_in_pieces(model).bytes]
}

/// A block of index or filter that goes through the cache.
struct Block<'c> {
    table: &'c Table,
    layout: &'c TableLayout,
    family: &'c str,
    role: &'static str,
    /// In memory.
    bytes: u64,
    /// In the file.
    stored_bytes: u64,
    /// How often a lookup of a key that is there asks for it.
    asked_per_get: f64,
    /// Whether it is all of the table's filter or index, and no partition or top level.
    is_whole: bool,
}

impl Block<'_> {
    fn charge(&self) -> u64 {
        self.bytes + ENTRY_BYTES
    }
}

/// All such blocks of the families that share a cache. Of partitions the largest stands for all: none is larger.
struct Blocks<'c> {
    list: Vec<Block<'c>>,
    entries: u64,
    /// Partitions, which are small.
    pieces_bytes: u64,
    data: DataBlocks,
}

impl<'c> Blocks<'c> {
    fn of(case: &'c Case<'_>, cache: &SharedCache<'c>) -> Self {
        Self::with(case, cache, false)
    }

    /// * `all_cached`: as if everything went through the cache.
    fn with(case: &'c Case<'_>, cache: &SharedCache<'c>, all_cached: bool) -> Self {
        let mut blocks =
            Self { list: Vec::new(), entries: 0, pieces_bytes: 0, data: DataBlocks::default() };
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
        for (_, layout) in &tables {
            self.data.count += layout.data.count;
            self.data.bytes = self.data.bytes.max(data_block_bytes(layout) + ENTRY_BYTES);
        }
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
            (is_cut || cached, "filter", filter.pieces.largest_bytes, None, filter_asked),
            (cached, "filter top level", filter.top_level_bytes, None, filter_asked),
            (
                index.is_partitioned || cached,
                "index",
                index.pieces.largest_bytes,
                (!index.is_partitioned).then_some(index.stored_bytes),
                passed,
            ),
            (cached, "index top level", index.top_level_bytes, None, passed),
        ];
        for (goes_through, role, bytes, stored_bytes, asked_per_get) in parts {
            if goes_through && bytes > 0 {
                let stored_bytes = stored_bytes.unwrap_or(bytes);
                let name = &family.name;
                let is_whole = match role {
                    "filter" => !is_cut,
                    "index" => !index.is_partitioned,
                    _ => false,
                };
                self.list.push(Block {
                    is_whole,
                    table,
                    layout,
                    family: name,
                    role,
                    bytes,
                    stored_bytes,
                    asked_per_get,
                });
            }
        }
        let beside = |pieces: crate::model::Pieces| pieces.bytes - pieces.largest_bytes;
        self.pieces_bytes += beside(filter.pieces) + beside(index.pieces);
    }

    fn largest(&self) -> Option<u64> {
        self.list.iter().map(Block::charge).max()
    }

    /// Bytes of whole index and filter blocks that a lookup reads, as the cache keeps them or not.
    fn bytes_per_get(&self, model: &CacheModel) -> f64 {
        let asked: Vec<AskedBlock> = self
            .list
            .iter()
            .map(|block| AskedBlock { bytes: block.charge(), rate: block.asked_per_get })
            .collect();
        let missed = reuse::miss_rates(model, &asked, self.data);
        let bytes = self
            .list
            .iter()
            .zip(missed)
            .filter(|(block, _)| block.is_whole)
            .map(|(block, missed)| missed * block.asked_per_get * block.stored_bytes as f64);
        bytes.sum()
    }

    fn total(&self) -> u64 {
        self.pieces_bytes + self.list.iter().map(Block::charge).sum::<u64>()
    }

    /// The smallest cache in which all of them stay, as the files are.
    fn smallest_safe(&self, model: &CacheModel) -> CacheModel {
        let largest = self.largest().unwrap_or(0);
        let large = self.list.iter().filter(|block| block.charge() > largest / 4).count();
        let safe = model.smallest_safe_for(large as u64, largest, self.total());
        self.with_room_for_data(safe, largest)
    }

    /// The same once all of them were cut into partitions of 4 KiB: the top levels stay, the rest comes and goes.
    fn smallest_safe_in_pieces(&self, model: &CacheModel) -> CacheModel {
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

const MIB: u64 = 1 << 20;
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

fn cliff(
    case: &Case<'_>,
    cache: &SharedCache<'_>,
    blocks: &Blocks<'_>,
    oversized: &[&Block<'_>],
) -> Finding {
    let model = cache.model();
    let hit = keys_behind(oversized) as f64 / blocks.entries.max(1) as f64;
    let per_get: f64 = oversized.iter().map(|block| block.asked_per_get).sum();
    let severity = match cache.source() {
        CacheSource::Default => Severity::Warning,
        _ if hit < GRAVE_SHARE => Severity::Warning,
        _ => Severity::Error,
    };
    let tables = tables_of(oversized);
    let title = format!(
        "index or filter blocks of {} of {} are larger than a shard of the cache",
        tables,
        counted(case.tables_of(cache).count() as u64, "table"),
    );
    let finding = Finding::new(severity, "shard-cliff", title, CLIFF);
    let finding = figures(finding, cache, blocks)
        .figure("keys_behind_share", "keys in these tables", Value::Share(hit))
        .figure("oversized_reads_per_get", "such blocks read per get", Value::Number(per_get));
    let finding = expected_cost(finding, cache, blocks);
    remedies(safe_sizes(finding, model, blocks), cache, blocks).evidence(worst(oversized))
}

const CLIFF: &str = "A block that is larger than its shard is never kept: each lookup that asks for it reads all of it \
    again, checks and parses it, and throws everything else out of that shard. A cache twice the size changes nothing until \
    the largest block fits; then the same lookups are up to a hundred times as fast. CPUs are busy and disks look idle, since \
    the bytes come from the page cache.";

/// What lookups of keys that are there read of whole index and filter blocks, each key being as likely as the next.
fn expected_cost(finding: Finding, cache: &SharedCache<'_>, blocks: &Blocks<'_>) -> Finding {
    let bytes = blocks.bytes_per_get(cache.model());
    finding
        .figure("bytes_per_get", "index and filter read per get, about", Value::Bytes(bytes as u64))
        .figure(
            "cpu_seconds_per_get",
            "CPU per get for that",
            Value::Seconds(bytes / BYTES_PER_CPU_SECOND),
        )
}

/// What the cache is, and the largest block against its shards.
fn figures(finding: Finding, cache: &SharedCache<'_>, blocks: &Blocks<'_>) -> Finding {
    let model = cache.model();
    let shards = match model.shards() {
        1 => "one shard".to_owned(),
        shards => format!("{shards} shards of {}", size(model.shard_bytes())),
    };
    let told =
        format!("{} {}, {shards}; {}", size(model.bytes), model.kind, cache.source().as_str());
    let mut finding = finding;
    if cache.families.len() > 1 || cache.families[0].name != "default" {
        finding.families = cache.families.iter().map(|family| family.name.clone()).collect();
    }
    finding
        .figure("cache", "cache", Value::text(told))
        .figure("cache_bytes", "", Value::Bytes(model.bytes))
        .figure("shards", "", Value::Count(model.shards()))
        .figure("shard_bytes", "", Value::Bytes(model.shard_bytes()))
        .figure("largest_block_bytes", "largest block", Value::Bytes(blocks.largest().unwrap_or(0)))
        .figure("metadata_bytes", "index and filters in all", Value::Bytes(blocks.total()))
}

fn safe_sizes(finding: Finding, model: &CacheModel, blocks: &Blocks<'_>) -> Finding {
    let fits = model.smallest_with_shards_of(blocks.largest().unwrap_or(0));
    let fits = CacheModel { bytes: fits.bytes.next_multiple_of(MIB), ..fits };
    finding
        .figure("fits_from_bytes", "its shard holds the largest from", Value::Bytes(fits.bytes))
        .figure(
            "safe_from_bytes",
            "safe cache for the files as they are",
            Value::Bytes(blocks.smallest_safe(model).bytes),
        )
        .figure(
            "safe_from_bytes_partitioned",
            "safe cache with partitions",
            Value::Bytes(blocks.smallest_safe_in_pieces(model).bytes),
        )
}

fn remedies(finding: Finding, cache: &SharedCache<'_>, blocks: &Blocks<'_>) -> Finding {
    let model = cache.model();
    let safe = blocks.smallest_safe(model);
    let mut finding = finding.remedy(metadata_remedy());
    if let Some(fewer) = fewer_shards(model, blocks) {
        let what = format!(
            "keep {} and cut it into {}; threads wait for each other more often",
            size(model.bytes),
            counted(fewer.shards(), "shard")
        );
        let setting = setting::cache(fewer.kind, fewer.bytes, fewer.fixed_bits);
        finding = finding.remedy(Remedy::new(what).settings([setting]));
    }
    let what = format!("give the cache {}, and more as tables grow", size(safe.bytes));
    finding.remedy(Remedy::new(what).settings([setting::cache_like(model, safe.bytes)]))
}

/// The same cache in as many shards as the blocks allow.
fn fewer_shards(model: &CacheModel, blocks: &Blocks<'_>) -> Option<CacheModel> {
    (0..model.shard_bits())
        .rev()
        .map(|bits| CacheModel { fixed_bits: Some(bits), ..*model })
        .find(|fewer| blocks.smallest_safe(fewer).bytes <= model.bytes)
}

fn crowded(
    cache: &SharedCache<'_>,
    blocks: &Blocks<'_>,
    large: &[&Block<'_>],
    crowding: f64,
) -> Finding {
    let title = "large index or filter blocks can push each other out of their shard";
    let consequence = "Hashes decide which blocks share a shard. Where more of these fall together than the shard holds, \
        every lookup that asks for one throws out the other; where they do not, all is well, until tables are compacted and \
        the dice fall anew.";
    let finding = Finding::new(Severity::Warning, "shard-crowding", title, consequence);
    let finding = figures(finding, cache, blocks)
        .figure(
            "large_blocks",
            "blocks over a quarter of a shard",
            Value::Count(large.len() as u64),
        )
        .figure("crowding", "likely that a shard has too many, at most", Value::Share(crowding));
    let finding = expected_cost(finding, cache, blocks);
    remedies(safe_sizes(finding, cache.model(), blocks), cache, blocks).evidence(worst(large))
}

fn too_much(cache: &SharedCache<'_>, blocks: &Blocks<'_>) -> Finding {
    let model = cache.model();
    let title = format!(
        "index and filters need {}, the cache has {}",
        size(blocks.total()),
        size(model.bytes)
    );
    let consequence = "They do not fit together, and data blocks compete with them: part of the lookups read index and filter \
        blocks from files. With small partitions that costs a few KiB each; with whole blocks it costs their full size.";
    let all: Vec<&Block<'_>> = blocks.list.iter().collect();
    let is_cut = blocks.list.iter().all(|block| block.bytes <= model.shard_bytes() / 16);
    let severity = if is_cut { Severity::Note } else { Severity::Warning };
    let finding = Finding::new(severity, "metadata-exceeds-cache", title, consequence);
    let finding = figures(finding, cache, blocks);
    let finding = if is_cut { finding } else { expected_cost(finding, cache, blocks) };
    let finding = if is_cut {
        let what =
            format!("give the cache {} to keep all of it", size(blocks.total().saturating_mul(2)));
        let setting = setting::cache_like(model, blocks.total().saturating_mul(2));
        finding.remedy(Remedy::new(what).settings([setting]))
    } else {
        remedies(safe_sizes(finding, model, blocks), cache, blocks)
    };
    finding.evidence(worst(&all))
}

fn tables_of(blocks: &[&Block<'_>]) -> usize {
    let numbers: BTreeSet<u64> = blocks.iter().map(|block| block.table.number).collect();
    numbers.len()
}

fn keys_behind(blocks: &[&Block<'_>]) -> u64 {
    let tables: BTreeMap<u64, u64> =
        blocks.iter().map(|block| (block.table.number, block.layout.entries)).collect();
    tables.values().sum()
}

fn worst(blocks: &[&Block<'_>]) -> Evidence {
    let mut blocks = blocks.to_vec();
    blocks.sort_by_key(|block| (Reverse(block.bytes), block.table.number));
    let columns = ["file", "family", "level", "block", "size", "entries"];
    let rows = blocks.iter().map(|block| {
        vec![
            Value::text(block.table.name()),
            Value::text(block.family),
            Value::text(format!("L{}", block.table.level)),
            Value::text(block.role),
            Value::Bytes(block.bytes),
            Value::Count(block.layout.entries),
        ]
    });
    Evidence::new("block", &columns, rows)
}
