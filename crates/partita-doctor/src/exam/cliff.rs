//! The shard cliff: blocks of index and filter that are larger than their shard of the cache.
//!
//! Such a block is read from the file, checked and parsed for every lookup that asks it, and throws out all that the shard
//! holds. RocksDB counts it as a cache miss like any other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::cache::CacheModel;
use crate::exam::metadata_blocks::{Block, Blocks, MIB};
use crate::exam::{Case, metadata_remedy, played};
use crate::finding::{Evidence, Finding, Remedy, Severity, Value};
use crate::setting;
use crate::settings::{CacheSource, SharedCache};
use crate::units::{counted, size};

/// What copying a block out of the page cache and checking it comes to, in bytes a second. Filter blocks of 8.7 MiB took
/// RocksDB 1.8 to 2.3 ms of CPU for 12.8 to 16.2 MB.
const BYTES_PER_CPU_SECOND: f64 = 7e9;
/// Share of the entries behind such blocks from which on it is more than a blemish.
const GRAVE_SHARE: f64 = 0.01;

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
        return Some(crowded(case, cache, &blocks, &large, crowding));
    }
    (blocks.total() > model.bytes).then(|| too_much(case, cache, &blocks))
}

/// The smallest safe caches if index and filter were to go through the cache: as the files are, and in partitions.
pub(super) fn safe_if_cached(case: &Case<'_>, cache: &SharedCache<'_>) -> [u64; 2] {
    let blocks = Blocks::with(case, cache, true);
    let model = cache.model();
    [blocks.smallest_safe(model).bytes, blocks.smallest_safe_in_pieces(model).bytes]
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
    let finding = expected_cost(finding, case, cache);
    remedies(safe_sizes(finding, model, blocks), cache, blocks).evidence(worst(oversized))
}

const CLIFF: &str = "A block that is larger than its shard is never kept: each lookup that asks for it reads all of it \
    again, checks and parses it, and throws everything else out of that shard. A cache twice the size changes nothing until \
    the largest block fits; then the same lookups are up to a hundred times as fast. CPUs are busy and disks look idle, since \
    the bytes come from the page cache.";

/// What lookups of keys that are there read of index and filters, each key being as likely as the next.
fn expected_cost(finding: Finding, case: &Case<'_>, cache: &SharedCache<'_>) -> Finding {
    let played = played::play(case, cache);
    finding
        .figure("filter_reads_per_get", "filter blocks read per get", Value::Number(played.filters))
        .figure("index_reads_per_get", "index blocks read per get", Value::Number(played.indexes))
        .figure("bytes_per_get", "index and filter read per get", Value::Bytes(played.bytes as u64))
        .figure(
            "cpu_seconds_per_get",
            "CPU per get for that, about",
            Value::Seconds(played.bytes / BYTES_PER_CPU_SECOND),
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
    case: &Case<'_>,
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
        .figure(
            "crowding",
            "chance that a shard has too many, no more than",
            Value::Share(crowding),
        );
    let finding = expected_cost(finding, case, cache);
    remedies(safe_sizes(finding, cache.model(), blocks), cache, blocks).evidence(worst(large))
}

fn too_much(case: &Case<'_>, cache: &SharedCache<'_>, blocks: &Blocks<'_>) -> Finding {
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
    let finding = if is_cut { finding } else { expected_cost(finding, case, cache) };
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
