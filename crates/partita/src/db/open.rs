//! Opening a database:
//!
//! ```text
//! CURRENT, MANIFEST    families, their files, log numbers               version/
//! OPTIONS              what the caller did not say                      options/file/
//! refusals             whatever we could not do right, by name
//! logs                 what is not in tables yet, into memtables        recover.rs
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::counters::{DbCounters, FamilyCounters};
use super::family::{FamilyState, default_of};
use super::follow::Follower;
use super::holders::Holders;
use super::memory::Sharers;
use super::memtables::new_memtable;
use super::missing_operator::MissingOperator;
use super::progress::FlushProgress;
use super::read_view::ReadView;
use super::recover::{Logs, MemoryBound, Recovered, Recovering, replay};
use super::settings::keeps_last_level_free;
use super::snapshot::SnapshotList;
use super::under_way::UnderWay;
use super::writer::Writer;
use super::{ColumnFamily, DbBuilder, DbInner, FamilyConfig, LostLogBytes};
use crate::cache::Cache;
use crate::compaction::Picker;
use crate::error::{Error, ErrorKind, Result};
use crate::io::Access;
use crate::key::KeyOrder;
use crate::merge::{CompactionFilter, MergeOperator, builtin};
use crate::options::file::{Finding, OptionsFile};
use crate::options::{ColumnFamilyOptions, DbOptions, ObjectName};
use crate::table::ReaderOptions;
use crate::util::sync::ArcSwap;
use crate::util::sync::atomic::AtomicU64;
use crate::version::{Family, FileName, FileNumber, OpenTables, TableCache, VersionSet};

/// What an opening comes to.
pub(super) struct Gathered {
    pub(super) versions: VersionSet,
    pub(super) options: DbOptions,
    pub(super) option_findings: Vec<Finding>,
    pub(super) cache: Cache,
    pub(super) families: BTreeMap<u32, ColumnFamily>,
    pub(super) open_tables: Arc<OpenTables>,
    pub(super) holders: Arc<Holders>,
    pub(super) snapshots: Arc<SnapshotList>,
    pub(super) follower: Option<Follower>,
    pub(super) lost_log_bytes: Vec<LostLogBytes>,
}

impl Gathered {
    /// * `writer`: `None` for a database that is opened to be read.
    pub(super) fn into_db(
        self,
        builder: &DbBuilder,
        sharers: Arc<Sharers>,
        writer: Option<Writer>,
    ) -> Arc<DbInner> {
        Arc::new_cyclic(|this| DbInner {
            versions: self.versions,
            options: self.options,
            cache: self.cache,
            default_family: default_of(&self.families).clone(),
            families: ArcSwap::from_pointee(self.families),
            option_findings: self.option_findings,
            counters: DbCounters::default(),
            opened_nanos: builder.clock.monotonic_nanos(),
            lost_log_bytes: self.lost_log_bytes,
            fs: Arc::clone(&builder.fs),
            builder: builder.clone(),
            open_tables: self.open_tables,
            snapshots: self.snapshots,
            holders: self.holders,
            follower: self.follower,
            sharers,
            writer,
            this: this.clone(),
        })
    }
}

/// What all families of an opening share.
pub(super) struct Opening<'o> {
    pub(super) builder: &'o DbBuilder,
    pub(super) cache: Cache,
    pub(super) open_tables: Arc<OpenTables>,
    pub(super) holders: Arc<Holders>,
    allow_ingest_behind: bool,
}

/// What becomes of a merge operator that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It is an error.
    Refused,
    /// Reads that need it fail.
    MissedOnUse,
}

impl<'o> Opening<'o> {
    /// * Errors: `NotSupported` if tables are to be read in a way that the file system does not have.
    pub(super) fn new(builder: &'o DbBuilder, options: &DbOptions) -> Result<Self> {
        let access = Access::direct_if(options.use_direct_reads);
        if access == Access::Direct {
            refuse_indirect(builder, "use_direct_reads")?;
        }
        let cache = builder.cache.clone();
        let open_tables = OpenTables::new(usize::try_from(options.max_open_files).ok());
        Ok(Self {
            builder,
            cache: cache.unwrap_or_else(|| Cache::new(DbBuilder::CACHE_BYTES_DEFAULT)),
            open_tables: Arc::new(open_tables.with_access(access)),
            holders: Arc::default(),
            allow_ingest_behind: options.allow_ingest_behind,
        })
    }

    /// What a database was opened with, for families that come later.
    pub(super) fn of(db: &'o DbInner) -> Self {
        Self {
            builder: &db.builder,
            cache: db.cache.clone(),
            open_tables: Arc::clone(&db.open_tables),
            holders: Arc::clone(&db.holders),
            allow_ingest_behind: db.options.allow_ingest_behind,
        }
    }

    /// All families of the manifest, none of which is changed by that.
    pub(super) fn families(
        &self,
        stored: Option<&OptionsFile>,
        versions: &VersionSet,
        unknown: Unknown,
    ) -> Result<BTreeMap<u32, ColumnFamily>> {
        let mut families = BTreeMap::new();
        for family in versions.families() {
            let family = self.family(stored, family, unknown)?;
            families.insert(family.id(), family);
        }
        Ok(families)
    }

    /// One of them.
    pub(super) fn family(
        &self,
        stored: Option<&OptionsFile>,
        family: Arc<Family>,
        unknown: Unknown,
    ) -> Result<ColumnFamily> {
        refuse_unsupported(&family).map_err(|error| error.in_file(&self.builder.dir))?;
        let config = config_of(self.builder, stored, &family, unknown)?;
        let log = family.log_number();
        Ok(ColumnFamily(Arc::new(self.family_state(family, config, log)?)))
    }

    /// A family with an empty memtable.
    ///
    /// * `log`: where the memtable's first entries will be, or are.
    pub(super) fn family_state(
        &self,
        family: Arc<Family>,
        config: Filled,
        log: FileNumber,
    ) -> Result<FamilyState> {
        let Filled { options, merge_operator, compaction_filter, operator_is_missing } = config;
        let keeps_last_level_free = keeps_last_level_free(self.allow_ingest_behind, &options);
        let reader_options = ReaderOptions {
            comparators: self.builder.comparators.clone(),
            prefix_extractor: options.table.prefix_extractor.clone(),
            cache: self.cache.clone(),
            metadata_cache: self.builder.metadata_cache.clone(),
            ..ReaderOptions::default()
        };
        let tables = TableCache::new(
            Arc::clone(&self.builder.fs),
            vec![self.builder.dir.clone()],
            reader_options,
            family.key_order().name(),
            Arc::clone(&self.open_tables),
        );
        let view = ReadView {
            memtable: new_memtable(&self.cache, family.key_order(), log)?,
            frozen: Box::default(),
            version: family.current(),
            moment: None,
        };
        Ok(FamilyState {
            picker: match keeps_last_level_free {
                true => Picker::without_last_level(&options),
                false => Picker::new(&options),
            },
            keeps_last_level_free,
            under_way: UnderWay::default(),
            family,
            options,
            merge_operator,
            operator_is_missing,
            counters: FamilyCounters::default(),
            compaction_filter,
            tables: Arc::new(tables),
            flushing: FlushProgress::default(),
            holders: Arc::clone(&self.holders),
            ingestions: AtomicU64::new(0),
            view: ArcSwap::from_pointee(view),
        })
    }
}

/// Reads a file that every database has past the system's cache: its tables come later, when it is too late to refuse.
///
/// * `option`: wants that.
pub(super) fn refuse_indirect(builder: &DbBuilder, option: &str) -> Result<()> {
    let path = FileName::Current.in_dir(&builder.dir);
    let file = builder.fs.open_direct(&path);
    let read = file.and_then(|file| {
        let first = &mut [0; 1];
        let wanted = first.len().min(usize::try_from(file.len()).unwrap_or(usize::MAX));
        file.read_exact_at(0, &mut first[..wanted])
    });
    read.map_err(|error| match error.kind() {
        ErrorKind::NotSupported => {
            let message = format!("{option}: {}", error.message());
            Error::not_supported(message).with_source(error).in_file(&builder.dir)
        }
        _ => error,
    })
}

/// A family's configuration, with what the caller left open filled in.
fn config_of(
    builder: &DbBuilder,
    stored: Option<&OptionsFile>,
    family: &Family,
    unknown: Unknown,
) -> Result<Filled> {
    let given = builder.families.get(family.name()).cloned().unwrap_or_default();
    let mut filled = configure(builder, stored, family.name(), given, unknown)?;
    // The order in which its tables are sorted holds, whatever else is said.
    filled.options.comparator = ObjectName::new(family.key_order().name());
    Ok(filled)
}

/// The same for a family that may not be there yet.
pub(super) fn configure(
    builder: &DbBuilder,
    stored: Option<&OptionsFile>,
    name: &str,
    given: FamilyConfig,
    unknown: Unknown,
) -> Result<Filled> {
    let FamilyConfig { options, merge_operator, compaction_filter } = given;
    let mut options = options.or_else(|| stored?.family(name).cloned()).unwrap_or_default();
    let merge_operator = match merge_operator {
        Some(operator) => {
            if options.merge_operator.id() != Some(operator.name()) {
                options.merge_operator = ObjectName::new(operator.name());
            }
            Ok(Some(operator))
        }
        None => named_operator(builder, &options, name),
    };
    match (merge_operator, unknown) {
        (Ok(merge_operator), _) => {
            Ok(Filled { options, merge_operator, compaction_filter, operator_is_missing: false })
        }
        (Err(missing), Unknown::Refused) => Err(missing.error().in_file(&builder.dir)),
        (Err(missing), Unknown::MissedOnUse) => {
            let merge_operator: Option<Arc<dyn MergeOperator>> = Some(Arc::new(missing));
            Ok(Filled { options, merge_operator, compaction_filter, operator_is_missing: true })
        }
    }
}

/// The order that a new family's options name.
pub(super) fn order_named(builder: &DbBuilder, options: &ColumnFamilyOptions) -> Result<KeyOrder> {
    let Some(name) = options.comparator.id() else { return Ok(KeyOrder::Bytewise) };
    if let Some(order) = KeyOrder::builtin(name) {
        return Ok(order);
    }
    let registered = builder.comparators.iter().find(|comparator| comparator.name() == name);
    registered.cloned().map(KeyOrder::Custom).ok_or_else(|| {
        let message = format!("comparator {name:?} is neither built in nor registered");
        Error::not_supported(message).in_file(&builder.dir)
    })
}

/// What a column family is opened with, all filled in.
pub(super) struct Filled {
    pub(super) options: ColumnFamilyOptions,
    merge_operator: Option<Arc<dyn MergeOperator>>,
    operator_is_missing: bool,
    compaction_filter: Option<Arc<dyn CompactionFilter>>,
}

/// The operator that the options name, if they do; the error says that it is not known.
fn named_operator(
    builder: &DbBuilder,
    options: &ColumnFamilyOptions,
    family: &str,
) -> std::result::Result<Option<Arc<dyn MergeOperator>>, MissingOperator> {
    let Some(name) = options.merge_operator.id() else { return Ok(None) };
    let registered = builder.merge_operators.iter().find(|operator| operator.name() == name);
    let delimiter = options.merge_operator.property("delimiter");
    let delimiter = delimiter.as_deref().unwrap_or(",").as_bytes();
    match registered.cloned().or_else(|| builtin(name, delimiter)) {
        Some(operator) => Ok(Some(operator)),
        None => Err(MissingOperator::new(name, family)),
    }
}

fn refuse_unsupported(family: &Family) -> Result<()> {
    let blobs = family.current().blob_files().len();
    if blobs > 0 {
        return Err(Error::not_supported(format!(
            "column family {:?} has values in {blobs} blob files, which Partita does not read",
            family.name()
        )));
    }
    Ok(())
}

/// Reads the logs; what is left in memory is what the families have.
pub(super) fn recover_logs(
    logs: &Logs<'_>,
    versions: &VersionSet,
    families: &BTreeMap<u32, ColumnFamily>,
    bound: Option<MemoryBound<'_>>,
) -> Result<Recovered> {
    let recovering = families
        .iter()
        .map(|(id, ColumnFamily(state))| {
            let view = state.view.load();
            let recovering = Recovering {
                memtable: Arc::clone(&view.memtable),
                log_number: state.family.log_number(),
                name: state.family.name().to_owned(),
                has_tables: view.version.file_count() > 0,
                write_buffer_size: state.options.write_buffer_size,
            };
            (*id, recovering)
        })
        .collect();
    let recovered = replay(logs, recovering, versions.last_sequence(), bound)?;
    for (id, memtable) in &recovered.memtables {
        if let Some(ColumnFamily(state)) = families.get(id) {
            let view = state.view.load();
            state.show(ReadView {
                memtable: Arc::clone(memtable),
                frozen: Box::default(),
                version: Arc::clone(&view.version),
                moment: None,
            });
        }
    }
    Ok(recovered)
}

/// Where the logs are. A directory that was copied may still name its old place (RocksDB 6 names the database's own): if
/// there is nothing, or another database with logs of its own, they are here.
pub(super) fn wal_dir(builder: &DbBuilder, options: &DbOptions) -> Result<PathBuf> {
    if !options.wal_dir.is_empty() {
        let dir = PathBuf::from(&options.wal_dir);
        let is_database = builder.fs.exists(&FileName::Current.in_dir(&dir))?;
        if !is_database && builder.fs.exists(&dir)? {
            return Ok(dir);
        }
    }
    Ok(builder.dir.clone())
}
