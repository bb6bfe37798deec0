use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::counters::FamilyCounters;
use super::holders::Holders;
use super::progress::FlushProgress;
use super::read_view::ReadView;
use super::under_way::UnderWay;
use crate::compaction::Picker;
use crate::error::{Error, Result};
use crate::key::KeyOrder;
use crate::merge::{CompactionFilter, MergeOperator};
use crate::options::ColumnFamilyOptions;
use crate::util::sync::ArcSwap;
use crate::util::sync::atomic::AtomicU64;
use crate::version::{DEFAULT_FAMILY, Family, TableCache};

/// What a column family is opened with, beside what the directory says.
#[derive(Clone, Debug, Default)]
pub struct FamilyConfig {
    /// Its options. `None`: those of the directory's newest OPTIONS file, or else the defaults.
    pub options: Option<ColumnFamilyOptions>,
    /// Its merge operator. `None`: the one that the options name, if it is built in or registered.
    pub merge_operator: Option<Arc<dyn MergeOperator>>,
    /// Its compaction filter.
    pub compaction_filter: Option<Arc<dyn CompactionFilter>>,
}

/// A column family of an open database. Cheap to clone; it keeps what it reads from alive, also after it was dropped.
///
/// [`Db::family`](super::Db::family) gives it.
#[derive(Clone)]
pub struct ColumnFamily(pub(super) Arc<FamilyState>);

/// A column family as the database keeps it.
pub(super) struct FamilyState {
    pub(super) family: Arc<Family>,
    pub(super) options: ColumnFamilyOptions,
    pub(super) merge_operator: Option<Arc<dyn MergeOperator>>,
    /// Whether it stands in for one that is not known.
    pub(super) operator_is_missing: bool,
    pub(super) counters: FamilyCounters,
    /// The flush that is under way.
    pub(super) flushing: FlushProgress,
    pub(super) compaction_filter: Option<Arc<dyn CompactionFilter>>,
    pub(super) picker: Picker,
    /// Whether no compaction writes to the last level, and files can be ingested behind all that is there.
    pub(super) keeps_last_level_free: bool,
    pub(super) under_way: UnderWay,
    pub(super) tables: Arc<TableCache>,
    /// Who walks over the database.
    pub(super) holders: Arc<Holders>,
    /// How often files were ingested that views show. Who reads what is published asks before and after: see `Db::moment_of`.
    pub(super) ingestions: AtomicU64,
    /// Readers take the pointer without a lock; it is replaced under the database's lock.
    pub(super) view: ArcSwap<ReadView>,
}

impl FamilyState {
    /// Gives readers a new view.
    pub(super) fn show(&self, view: ReadView) {
        self.counters.count_view();
        self.view.store(Arc::new(view));
    }
}

/// The column family that every database has.
pub(super) fn default_of(families: &BTreeMap<u32, ColumnFamily>) -> &ColumnFamily {
    match families.get(&DEFAULT_FAMILY) {
        Some(family) => family,
        None => unreachable!("the manifest was refused without it"),
    }
}

impl ColumnFamily {
    /// Its name.
    pub fn name(&self) -> &str {
        self.0.family.name()
    }

    /// Its number in write batches.
    pub fn id(&self) -> u32 {
        self.0.family.id()
    }

    /// The order of its keys.
    pub fn key_order(&self) -> &KeyOrder {
        self.0.family.key_order()
    }

    /// Refuses a column family whose keys are not ordered by their bytes.
    ///
    /// * `whose`: who needs that order: `an index`.
    /// * Errors: `InvalidArgument`.
    pub fn require_bytewise_order(&self, whose: &str) -> Result<()> {
        if matches!(self.key_order(), KeyOrder::Bytewise) {
            return Ok(());
        }
        Err(Error::invalid_argument(format!(
            "keys of column family {:?} are ordered by {}, those of {whose} by {}",
            self.name(),
            self.key_order().name(),
            KeyOrder::Bytewise.name()
        )))
    }

    /// The options that it was opened with.
    pub fn options(&self) -> &ColumnFamilyOptions {
        &self.0.options
    }

    /// The name of its merge operator, if that is neither built in nor registered: reads of keys with operands fail. There
    /// are such families only in a database that was opened to be read.
    pub fn missing_merge_operator(&self) -> Option<&str> {
        self.0.options.merge_operator.id().filter(|_| self.0.operator_is_missing)
    }
}

impl fmt::Debug for ColumnFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnFamily")
            .field("name", &self.name())
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
