use partita::Result;
use partita::cache::{Cache, CacheStats, Role};
use partita::db::Db;

/// Where index and filter have their memory: what other engines make a choice between thrashing and no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metadata {
    /// In the budget, beside data: pieces stay by what they are worth.
    #[default]
    InBudget,
    /// Beside the budget, so that they never give way to data, in no more than this. What exceeds it leaves by what it is
    /// worth, and [`MetadataReport`] tells.
    Resident {
        /// Bytes.
        limit_bytes: usize,
    },
}

impl Metadata {
    /// The budget of its own, if it has one.
    pub(crate) fn cache(self) -> Option<Cache> {
        match self {
            Self::InBudget => None,
            Self::Resident { limit_bytes } => Some(Cache::new(limit_bytes)),
        }
    }
}

/// What finds data in the tables of a store takes in memory, and whether it has room.
///
/// [`Store::metadata`](crate::Store::metadata) gives it; what all of it would take is
/// [`Store::metadata_needed`](crate::Store::metadata_needed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetadataReport {
    /// Where it has its memory.
    pub placement: Metadata,
    /// The budget that it is charged to, alone or with data.
    pub limit_bytes: u64,
    /// Pieces of index in memory.
    pub index_bytes: u64,
    /// Pieces of filters in memory.
    pub filter_bytes: u64,
    /// Top levels, open tables and range tombstones: these are in memory as long as their tables are open.
    pub fixed_bytes: u64,
    /// Pieces that had to leave since the store was opened. If there are more and more of them, the limit is too small.
    pub evictions: u64,
    /// Lookups of pieces that found them in memory.
    pub hits: u64,
    /// Lookups of pieces that had to read them.
    pub misses: u64,
}

impl MetadataReport {
    pub(crate) fn new(placement: Metadata, db: &Db) -> Self {
        let stats = db.metadata_cache().unwrap_or(db.cache()).stats();
        Self::of(placement, &stats)
    }

    fn of(placement: Metadata, stats: &CacheStats) -> Self {
        let (index, filter) = (stats.role(Role::IndexPiece), stats.role(Role::FilterPiece));
        let fixed = [Role::TopLevel, Role::TableHandle, Role::RangeTombstones];
        Self {
            placement,
            limit_bytes: stats.budget_bytes(),
            index_bytes: index.bytes,
            filter_bytes: filter.bytes,
            fixed_bytes: fixed.iter().map(|role| stats.role(*role).bytes).sum(),
            evictions: index.evictions + filter.evictions,
            hits: index.hits + filter.hits,
            misses: index.misses + filter.misses,
        }
    }

    /// All that is in memory.
    pub fn bytes(&self) -> u64 {
        self.index_bytes + self.filter_bytes + self.fixed_bytes
    }

    /// The share of lookups of pieces that found them in memory; `None` if there were none.
    pub fn hit_ratio(&self) -> Option<f64> {
        let lookups = self.hits + self.misses;
        (lookups > 0).then(|| self.hits as f64 / lookups as f64)
    }
}

/// Bytes of index and filter of all tables: what it takes to have all of them in memory, up to what pieces take beside their
/// contents.
pub(crate) fn needed_bytes(db: &Db) -> Result<u64> {
    let mut bytes = 0u64;
    for family in db.families() {
        let sums = db.table_sums(&family, None)?;
        bytes = bytes.saturating_add(sums.index_bytes).saturating_add(sums.filter_bytes);
    }
    Ok(bytes)
}
