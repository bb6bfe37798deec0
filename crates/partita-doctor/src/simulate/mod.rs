//! What lookups would read from files under other caches: they are played through models of RocksDB's caches and through
//! Partita's own, over the tables as they are.
//!
//! ```text
//! lookups.rs     which keys: drawn from the entries, or from a file
//! keys.rs        drawn entries -> keys      key_file.rs: keys one a line      gets.rs: the gets in a trace of RocksDB
//! record.rs      keys -> the blocks that RocksDB asks its cache for, in order     family.rs, pinning.rs: its settings
//! cache_key.rs     where a block falls in the cache       charge.rs: what it takes there
//! trace.rs       the blocks that are asked for; how a cache is played through
//! lru.rs, hyper_clock.rs    RocksDB's caches
//! partita.rs     Partita's tables and cache, at work on the files
//! result.rs      what came of it
//! ```
//!
//! The first half of the lookups warms the cache up, the second is counted. One cache serves all families. The same seed
//! over the same files gives the same figures of RocksDB's caches; Partita's, which is at work, differs a little from run to run.

mod cache_key;
mod charge;
mod family;
mod gets;
mod hyper_clock;
mod key_file;
mod keys;
mod lookups;
mod lru;
mod partita;
pub(crate) mod pinning;
mod record;
mod result;
#[cfg(test)]
mod testing;
mod trace;

use std::path::Path;

use ::partita::Result;
use ::partita::io::FileSystem;
use ::partita::table::Release;

pub use lookups::Lookups;
pub use result::{OtherAccesses, PerGet, Replayed, Shards, SimulatedCache, Simulation, Traced};

use crate::cache::{CacheKind, CacheModel};
use crate::model::{Database, Problem, Table};
use crate::settings::Settings;
use crate::units::size;
pub(crate) use cache_key::BaseKey;
pub(crate) use charge::charge;
pub(crate) use family::FamilyRules;
use hyper_clock::{ClockTable, HyperClockCache};
use lru::LruCache;
use trace::BlockCache;
pub(crate) use trace::{Block, BlockId, Counts, Part, Request, Trace, replay};

/// The release from which on HyperClock's table grows unless it is told its entries' size.
const GROWING_SINCE: Release = Release { major: 8, minor: 7 };
/// The release from which on LRU caches have a pool of high priority by default, and what share it has.
const POOL_SINCE: Release = Release { major: 6, minor: 4 };
const POOL_RATIO: f64 = 0.5;
/// Budgets that are tried unless some are named, as multiples of the cache that there is.
const BUDGET_FACTORS: [f64; 7] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0];

/// What is asked of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Which keys are looked up.
    pub lookups: Lookups,
    /// How many; the first half is not counted.
    pub count: usize,
    /// What everything that is drawn depends on.
    pub seed: u64,
    /// The sizes of caches; empty stands for some around the one that there is.
    pub budgets: Vec<u64>,
    /// The share of an LRU cache for blocks of high priority; without it what LOG says, or else the default of the release.
    pub pool_ratio: Option<f64>,
    /// The charge of an entry that a HyperClock cache was made for; 0 for a table that grows. Without it the release decides.
    pub entry_bytes: Option<u64>,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            lookups: Lookups::Uniform,
            count: 400_000,
            seed: 1,
            budgets: Vec::new(),
            pool_ratio: None,
            entry_bytes: None,
        }
    }
}

/// A simulation under way.
struct Work<'w> {
    fs: &'w dyn FileSystem,
    database: &'w Database,
    release: Option<Release>,
    on_work: &'w mut dyn FnMut(&Path, u64),
}

impl Work<'_> {
    fn on_table(&mut self, table: &Table) {
        (self.on_work)(&self.database.dir_of(table).join(table.name()), 0);
    }

    fn on_cache(&mut self, cache: impl std::fmt::Display, bytes: u64) {
        (self.on_work)(Path::new(&format!("{cache} cache of {}", size(bytes))), 0);
    }
}

/// Plays lookups through caches of several sizes.
///
/// * `on_work`: called before each table and each cache, for progress.
/// * Errors: orders of keys that are not built in, a trace that cannot be read, damaged tables.
pub(crate) fn simulate(
    fs: &dyn FileSystem,
    database: &Database,
    settings: &Settings,
    asked: &Asked,
    on_work: &mut dyn FnMut(&Path, u64),
) -> Result<Simulation> {
    let release = database.release();
    let work = &mut Work { fs, database, release, on_work };
    let families: Vec<FamilyRules<'_>> = database
        .families
        .iter()
        .map(|family| FamilyRules::of(database, settings, family))
        .collect::<Result<_>>()?;
    let keys::Drawn { lookups, traced } = keys::lookups(work, asked)?;
    let mut recorder = record::Recorder::new(lookups.len());
    for rules in &families {
        recorder.family(work, rules, &lookups, asked)?;
    }
    let shards = Shards::of(recorder.exact_tables, recorder.drawn_tables);
    let found_share = recorder.found_share();
    let trace = recorder.into_trace();
    let caches = Caches::of(database, settings, asked, &trace);
    let warm_up = lookups.len() / 2;
    let mut simulation = Simulation {
        lookups: match (&asked.lookups, &traced) {
            (Lookups::Trace { path, .. }, Some(_)) => Lookups::Gets { path: path.clone() },
            (lookups, _) => lookups.clone(),
        },
        replayed: lookups.len() as u64,
        counted: (lookups.len() - warm_up) as u64,
        seed: asked.seed,
        found_share,
        shards,
        pool_ratio: caches.pool_ratio,
        entry_bytes: match caches.table {
            ClockTable::Fixed { entry_bytes } => Some(entry_bytes),
            ClockTable::Growing => None,
        },
        traced,
        caches: Vec::new(),
        left_out: None,
    };
    for budget in budgets(settings, asked) {
        for kind in [CacheKind::Lru, CacheKind::HyperClock] {
            let model = model(settings, kind, budget);
            work.on_cache(kind, budget);
            let counts = trace::replay(&trace, &mut *caches.cache(&model, &trace), warm_up);
            simulation.caches.push(Replayed::of(kind.into(), budget, Some(&model), &counts));
        }
        work.on_cache("Partita", budget);
        match partita::replay(work, &families, &lookups, budget, warm_up) {
            Ok(counts) => {
                let replayed = Replayed::of(SimulatedCache::Partita, budget, None, &counts);
                simulation.caches.push(replayed);
            }
            Err(error) => simulation.left_out = Some(Problem::new(&error)),
        }
    }
    Ok(simulation)
}

/// What is the same of RocksDB's caches at every budget.
pub(crate) struct Caches {
    pool_ratio: f64,
    table: ClockTable,
    metadata_is_high: bool,
}

impl Caches {
    pub(crate) fn of(
        database: &Database,
        settings: &Settings,
        asked: &Asked,
        trace: &Trace,
    ) -> Self {
        let release = database.release();
        let first = database.families.first().map_or("default", |family| &family.name);
        let option = |name| settings.table_option(database, first, name);
        let pool_ratio = asked.pool_ratio.or_else(|| {
            let logged = database.info_log.family(first)?.get("high_pri_pool_ratio")?;
            logged.parse().ok()
        });
        let has_pool = release.is_none_or(|release| release >= POOL_SINCE);
        let by_default = if has_pool { POOL_RATIO } else { 0.0 };
        let priority = option("cache_index_and_filter_blocks_with_high_priority");
        Self {
            pool_ratio: pool_ratio.unwrap_or(by_default).clamp(0.0, 1.0),
            table: match asked.entry_bytes {
                Some(0) => ClockTable::Growing,
                Some(entry_bytes) => ClockTable::Fixed { entry_bytes },
                None if release.is_some_and(|release| release < GROWING_SINCE) => {
                    ClockTable::Fixed { entry_bytes: mean_data_charge(trace) }
                }
                None => ClockTable::Growing,
            },
            metadata_is_high: priority.is_none_or(|value| matches!(value, "true" | "1")),
        }
    }

    pub(crate) fn cache(&self, model: &CacheModel, trace: &Trace) -> Box<dyn BlockCache> {
        let (blocks, high) = (trace.blocks.as_slice(), self.metadata_is_high);
        match model.kind {
            CacheKind::Lru => Box::new(LruCache::new(model, self.pool_ratio, high, blocks)),
            CacheKind::HyperClock => {
                Box::new(HyperClockCache::new(model, self.table, high, blocks))
            }
        }
    }
}

/// What programs that do not know better say that an entry takes: a data block.
fn mean_data_charge(trace: &Trace) -> u64 {
    let data = trace.blocks.iter().filter(|block| block.part == Part::Data);
    let (count, bytes) =
        data.fold((0, 0), |(count, bytes), block| (count + 1, bytes + block.charge));
    u64::checked_div(bytes, count).unwrap_or(4096).max(1)
}

/// A cache of that kind and size, cut as the one that there is if that was cut otherwise than RocksDB does by itself.
fn model(settings: &Settings, kind: CacheKind, bytes: u64) -> CacheModel {
    let is = settings.families.first().map(|family| family.cache).filter(|is| is.kind == kind);
    CacheModel { fixed_bits: is.and_then(|is| is.fixed_bits), ..CacheModel::new(kind, bytes) }
}

fn budgets(settings: &Settings, asked: &Asked) -> Vec<u64> {
    let mut budgets = asked.budgets.clone();
    if budgets.is_empty() {
        let is = settings.families.first().map_or(64 << 20, |family| family.cache.bytes);
        budgets.extend(BUDGET_FACTORS.map(|factor| (is as f64 * factor) as u64));
    }
    budgets.sort_unstable();
    budgets.dedup();
    budgets
}
