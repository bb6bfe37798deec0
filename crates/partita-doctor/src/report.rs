//! The report: everything that was found, in the order in which it is told.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::cache::CacheModel;
use crate::compatibility::Compatibility;
use crate::finding::{Finding, Severity};
use crate::model::{Database, Problem, Verified};
use crate::settings::{CacheSource, Settings, SharedCache};
use crate::shape::Shape;
use crate::simulate::Simulation;

/// What a visit of directories came to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The databases, in the order of their directories.
    pub databases: Vec<Examined>,
    /// What only all of them together show.
    pub findings: Vec<Finding>,
    /// What could not be looked at.
    pub problems: Vec<Problem>,
}

impl Report {
    /// The most serious severity of all findings.
    pub fn worst(&self) -> Option<Severity> {
        let findings = self.databases.iter().flat_map(|database| &database.findings);
        findings.chain(&self.findings).map(|finding| finding.severity).max()
    }
}

/// A database that was looked at.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Examined {
    /// Where it is.
    #[serde(serialize_with = "as_text")]
    pub dir: PathBuf,
    /// The release of RocksDB that opened it last, if a file says so.
    pub rocksdb_version: Option<String>,
    /// Who wrote it last, by name and version.
    pub writer: Option<String>,
    /// Whether files changed while they were looked at.
    pub is_being_written: bool,
    /// Its shape.
    pub shape: Shape,
    /// The caches that its families have, as far as files tell.
    pub caches: Vec<CacheOf>,
    /// The tables with the largest blocks of index and filter, the largest first.
    pub largest_metadata: Vec<TableMetadata>,
    /// Who can read its tables.
    pub compatibility: Compatibility,
    /// What was verified, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// Entries in logs that no table may have yet; an opening replays them.
    pub logged_entries: u64,
    /// The bytes of these logs.
    pub logged_bytes: u64,
    /// What lookups read under caches of several sizes, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Simulation>,
    /// What there is to tell, the most serious first.
    pub findings: Vec<Finding>,
}

impl Examined {
    /// The findings of that code.
    pub fn findings_of(&self, code: &str) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.code == code)
    }
}

/// A cache and who shares it.
#[derive(Clone, Debug, Serialize)]
pub struct CacheOf {
    /// The families.
    pub families: Vec<String>,
    /// The cache.
    #[serde(flatten)]
    pub cache: CacheModel,
    /// How many shards it has.
    pub shards: u64,
    /// What each of them holds.
    pub shard_bytes: u64,
    /// Who says so.
    pub source: CacheSource,
    /// Whether index and filter blocks go through it; partitions do in any case.
    pub caches_metadata: bool,
}

impl CacheOf {
    pub(crate) fn all(settings: &Settings) -> Vec<Self> {
        let of = |shared: &SharedCache<'_>| {
            let cache = *shared.model();
            Self {
                families: shared.families.iter().map(|family| family.name.clone()).collect(),
                cache,
                shards: cache.shards(),
                shard_bytes: cache.shard_bytes(),
                source: shared.source(),
                caches_metadata: shared
                    .families
                    .iter()
                    .any(|one| one.caches_metadata == Some(true)),
            }
        };
        settings.caches().iter().map(of).collect()
    }
}

/// The blocks of index and filter of a table.
#[derive(Clone, Debug, Serialize)]
pub struct TableMetadata {
    /// The file's name.
    pub file: String,
    /// Its family.
    pub family: String,
    /// Its level.
    pub level: u32,
    /// The largest block of its filter: all of it, or a partition.
    pub filter_block_bytes: u64,
    /// The largest block of its index.
    pub index_block_bytes: u64,
    /// All of both.
    pub bytes: u64,
}

/// Tables that are listed.
const LARGEST_MAX: usize = 40;

impl TableMetadata {
    pub(crate) fn largest(database: &Database) -> Vec<Self> {
        let mut all: Vec<Self> = database
            .layouts()
            .map(|(table, layout)| Self {
                file: table.name(),
                family: database.family(table.family).map_or(String::new(), |one| one.name.clone()),
                level: table.level,
                filter_block_bytes: layout.filter.pieces.largest_bytes,
                index_block_bytes: layout.index.pieces.largest_bytes,
                bytes: layout.metadata_bytes(),
            })
            .collect();
        all.sort_by_key(|table| {
            std::cmp::Reverse(table.filter_block_bytes.max(table.index_block_bytes))
        });
        all.truncate(LARGEST_MAX);
        all
    }
}

/// A path need not be UTF-8; JSON must.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
