//! What came of a simulation.

use std::fmt;

use serde::Serialize;

use crate::cache::{CacheKind, CacheModel};
use crate::model::Problem;
use crate::simulate::lookups::Lookups;
use crate::simulate::trace::{Counts, Part};

/// Lookups played through caches of several sizes.
#[derive(Clone, Debug, Serialize)]
pub struct Simulation {
    /// Which keys were looked up.
    pub lookups: Lookups,
    /// How many lookups were played.
    pub replayed: u64,
    /// How many of them, the last, are counted.
    pub counted: u64,
    /// What everything drawn depends on.
    pub seed: u64,
    /// The share of lookups that found something.
    pub found_share: f64,
    /// Whether blocks fall on the shards that RocksDB puts them on.
    pub shards: Shards,
    /// The share of LRU caches for blocks of high priority.
    pub pool_ratio: f64,
    /// The charge of an entry that HyperClock's tables are made for; none if they grow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_bytes: Option<u64>,
    /// What RocksDB's trace tells, if the lookups are of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traced: Option<Traced>,
    /// The caches, by size and kind.
    pub caches: Vec<Replayed>,
    /// Why Partita's cache is not among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<Problem>,
}

/// What a block-cache trace tells beside the keys of its gets.
#[derive(Clone, Debug, Serialize)]
pub struct Traced {
    /// Major and minor number of the RocksDB that wrote it.
    pub release: String,
    /// How many accesses were read.
    pub accesses: u64,
    /// Whether more gets follow than were asked for.
    pub is_cut: bool,
    /// The length of a last record that is not whole.
    pub torn_bytes: u64,
    /// Tables that gets came to.
    pub tables: u64,
    /// How many of them are no longer there. The lookups are played over the tables as they are now.
    pub tables_gone: u64,
    /// Accesses of gets in column families that are not there; they are not played.
    pub foreign_accesses: u64,
    /// How many of the lookups are keys of a MultiGet, of whose blocks the trace does not say which were cached.
    pub multi_gets: u64,
    /// Whether gets asked the cache for filters or indexes. If not, gets that a filter ended are missing.
    pub has_metadata: bool,
    /// Accesses that carry no key, by who asked: they are not played.
    pub others: Vec<OtherAccesses>,
    /// Blocks that a counted lookup asked RocksDB's cache for when the trace was written; top levels count as what they lead to.
    pub asked: PerGet,
    /// Those that the cache did not have.
    pub missed: PerGet,
}

/// Accesses of somebody else than gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherAccesses {
    /// Who asked.
    pub caller: &'static str,
    /// How often.
    pub accesses: u64,
}

/// Where the shards of blocks are known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shards {
    /// From the tables' properties: they are those of RocksDB.
    Exact,
    /// For some tables from their properties, for others drawn.
    Mixed,
    /// Drawn: the release, or the tables, do not tell.
    Drawn,
}

impl Shards {
    pub(super) fn of(exact_tables: u64, drawn_tables: u64) -> Self {
        match (exact_tables, drawn_tables) {
            (_, 0) => Self::Exact,
            (0, _) => Self::Drawn,
            _ => Self::Mixed,
        }
    }

    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "blocks fall on the shards on which RocksDB puts them",
            Self::Mixed => {
                "blocks of newer tables fall on RocksDB's shards, those of others on drawn ones"
            }
            Self::Drawn => {
                "shards are drawn: after 8.1 RocksDB's depend on the host, and older files do not tell them"
            }
        }
    }
}

/// A cache that lookups were played through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SimulatedCache {
    /// RocksDB's LRU cache, as a model.
    Lru,
    /// RocksDB's HyperClock cache, as a model.
    HyperClock,
    /// Partita's tables and cache, at work.
    Partita,
}

impl From<CacheKind> for SimulatedCache {
    fn from(kind: CacheKind) -> Self {
        match kind {
            CacheKind::Lru => Self::Lru,
            CacheKind::HyperClock => Self::HyperClock,
        }
    }
}

impl fmt::Display for SimulatedCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Lru => "LRU",
            Self::HyperClock => "HyperClock",
            Self::Partita => "Partita",
        })
    }
}

/// What lookups read under a cache.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// Which cache.
    pub cache: SimulatedCache,
    /// Its size.
    pub budget_bytes: u64,
    /// Its shards, if space is cut between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<u64>,
    /// What each of them holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard_bytes: Option<u64>,
    /// Blocks that a lookup asks the cache for.
    pub asked: PerGet,
    /// Blocks that it reads.
    pub blocks: PerGet,
    /// The bytes of these, as stored.
    pub bytes: PerGet,
    /// The part of these blocks that no lookup had asked for before: after a longer run it would be less.
    pub first_read_share: f64,
}

impl Replayed {
    pub(super) fn of(
        cache: SimulatedCache,
        budget_bytes: u64,
        model: Option<&CacheModel>,
        counts: &Counts,
    ) -> Self {
        let read: u64 = counts.read.iter().sum();
        Self {
            cache,
            budget_bytes,
            shards: model.map(CacheModel::shards),
            shard_bytes: model.map(CacheModel::shard_bytes),
            asked: PerGet::of(&counts.asked, counts.lookups),
            blocks: PerGet::of(&counts.read, counts.lookups),
            bytes: PerGet::of(&counts.bytes, counts.lookups),
            first_read_share: counts.first_reads as f64 / read.max(1) as f64,
        }
    }
}

/// A mean over lookups, by role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PerGet {
    /// Data blocks.
    pub data: f64,
    /// Whole indexes and partitions of them.
    pub index: f64,
    /// Whole filters and partitions of them.
    pub filter: f64,
    /// Top levels of both.
    pub top_level: f64,
}

impl PerGet {
    pub(super) fn of(counts: &[u64; Part::COUNT], lookups: u64) -> Self {
        let per_get = |part: Part| counts[part as usize] as f64 / lookups.max(1) as f64;
        Self {
            data: per_get(Part::Data),
            index: per_get(Part::Index),
            filter: per_get(Part::Filter),
            top_level: per_get(Part::IndexTop) + per_get(Part::FilterTop),
        }
    }

    /// All roles together.
    pub fn total(&self) -> f64 {
        self.data + self.index + self.filter + self.top_level
    }
}
