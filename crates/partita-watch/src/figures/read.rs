//! Where a value comes from: each kind of figure has its labels, and knows all of their values.

use std::fmt;

use partita::cache::{CacheStats, Role, RoleStats};
use partita::db::{
    DbStats, FamilyStats, LevelStats, MemTablesSum, StallCause, StallCount, TableSums,
};

use partita::table::{BlockRole, PerRole, ReadContext};
use partita_store::{MetadataReport, TableStats};

use super::{Following, LevelContents, Moment, ServerFigures, StoreFigures, Times};

/// The value of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Whole(u64),
    Real(f64),
    Times(Times),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

/// A value with its labels, in the order of their names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) labels: Vec<String>,
    pub(crate) value: Value,
}

/// Takes a value out of a typed table's figures.
type OfTable = fn(&TableStats) -> u64;

/// Takes a value out of figures.
pub(super) enum Read {
    Server(fn(&ServerFigures) -> Option<Value>),
    Following(fn(&Following) -> Value),
    Database(fn(&DbStats) -> Option<Value>),
    /// Of one cause.
    Stall(fn(&StallCount) -> Value),
    /// Of the cache of data, and of that of metadata if it is another.
    Cache(fn(&CacheStats) -> Value),
    Role(fn(&RoleStats) -> Value),
    Family(fn(&FamilyStats) -> Value),
    /// Of active and of frozen memtables.
    MemTables(fn(&MemTablesSum) -> Value),
    Level(fn(&LevelStats) -> Value),
    Contents(fn(&TableSums) -> u64),
    /// Of all operations that are timed.
    Times,
    /// Of a store.
    Metadata(fn(&MetadataReport) -> u64),
    /// Of a typed table.
    Table(OfTable),
    /// Of a typed table, one figure for each value of a second label.
    TableBy(&'static [&'static str; 2], &'static [(&'static str, OfTable)]),
    /// Of the reads of a typed table, by the role of blocks.
    TableBlocks(fn(&ReadContext) -> &PerRole<u64>),
}

/// Blocks that lookups tell apart. Whatever else there is, is read when a table is opened.
const BLOCK_ROLES: [(&str, &[BlockRole]); 4] = [
    ("data", &[BlockRole::Data]),
    ("index", &[BlockRole::Index, BlockRole::IndexPartition]),
    ("filter", &[BlockRole::Filter, BlockRole::FilterPartition]),
    ("top level", &[BlockRole::IndexTopLevel, BlockRole::FilterTopLevel]),
];

impl Read {
    pub(super) fn labels(&self) -> &'static [&'static str] {
        match self {
            Self::Server(_) | Self::Following(_) | Self::Database(_) | Self::Metadata(_) => &[],
            Self::Stall(_) => &["cause"],
            Self::Cache(_) => &["cache"],
            Self::Role(_) => &["cache", "role"],
            Self::Family(_) => &["family"],
            Self::MemTables(_) => &["family", "state"],
            Self::Level(_) | Self::Contents(_) => &["family", "level"],
            Self::Times => &["operation"],
            Self::Table(_) => &["table"],
            Self::TableBy(labels, _) => *labels,
            Self::TableBlocks(_) => &["table", "role"],
        }
    }

    pub(super) fn samples(&self, moment: &Moment) -> Vec<Sample> {
        let mut samples = Vec::new();
        let mut add = |labels: &[&str], value: Value| {
            let labels = labels.iter().map(|&label| label.to_owned()).collect();
            samples.push(Sample { labels, value });
        };
        match self {
            Self::Server(read) => {
                moment.server.iter().filter_map(read).for_each(|value| add(&[], value));
            }
            Self::Following(read) => {
                moment.following.iter().for_each(|following| add(&[], read(following)));
            }
            Self::Contents(read) => {
                for LevelContents { family, level, sums } in &moment.contents {
                    add(&[family, &level.to_string()], read(sums).into());
                }
            }
            Self::Times => {
                moment.times.iter().for_each(|(name, times)| add(&[name], Value::Times(*times)));
            }
            _ => {
                if let Some(db) = &moment.db {
                    self.of_database(db, &mut add);
                }
                if let Some(store) = &moment.store {
                    self.of_store(store, &mut add);
                }
            }
        }
        samples
    }

    fn of_database(&self, db: &DbStats, add: &mut impl FnMut(&[&str], Value)) {
        match self {
            Self::Database(read) => read(db).into_iter().for_each(|value| add(&[], value)),
            Self::Stall(read) => {
                for cause in StallCause::ALL {
                    add(&[cause.as_str()], read(&db.stalls.cause(cause)));
                }
            }
            Self::Cache(read) => caches(db).for_each(|(cache, stats)| add(&[cache], read(stats))),
            Self::Role(read) => {
                for (cache, stats) in caches(db) {
                    for role in Role::ALL {
                        add(&[cache, role.name()], read(&stats.role(role)));
                    }
                }
            }
            Self::Family(read) => {
                db.families.iter().for_each(|family| add(&[&family.name], read(family)));
            }
            Self::MemTables(read) => {
                for family in &db.families {
                    add(&[&family.name, "active"], read(&family.memtables.active));
                    add(&[&family.name, "frozen"], read(&family.memtables.frozen));
                }
            }
            Self::Level(read) => {
                for family in &db.families {
                    for level in &family.levels {
                        add(&[&family.name, &level.level.to_string()], read(level));
                    }
                }
            }
            _ => {}
        }
    }

    fn of_store(&self, store: &StoreFigures, add: &mut impl FnMut(&[&str], Value)) {
        if let Self::Metadata(read) = self {
            add(&[], read(&store.metadata).into());
        }
        for table in &store.tables {
            let name = &*table.family.name;
            match self {
                Self::Table(read) => add(&[name], read(table).into()),
                Self::TableBy(_, figures) => {
                    figures
                        .iter()
                        .for_each(|(value, read)| add(&[name, value], read(table).into()));
                }
                Self::TableBlocks(read) => {
                    let blocks = read(&table.cost);
                    for (role, parts) in BLOCK_ROLES {
                        let sum: u64 = parts.iter().map(|&part| blocks[part]).sum();
                        add(&[name, role], sum.into());
                    }
                }
                _ => {}
            }
        }
    }
}

fn caches(db: &DbStats) -> impl Iterator<Item = (&'static str, &CacheStats)> {
    let metadata = db.metadata_cache.iter().map(|stats| ("metadata", stats));
    std::iter::once(("main", &db.cache)).chain(metadata)
}

impl fmt::Debug for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Read by {:?}", self.labels())
    }
}
