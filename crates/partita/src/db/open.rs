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

use arc_swap::ArcSwap;

use super::family::FamilyState;
use super::read_view::ReadView;
use super::recover::{Recovered, Recovering, logs_from, replay};
use super::{ColumnFamily, Db, DbBuilder, DbInner, FamilyConfig};
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::memtable::{MemTable, MemTableOptions, MemoryCharge};
use crate::merge::{MergeOperator, builtin};
use crate::options::file::{self, Mode, OptionsFile};
use crate::options::{ColumnFamilyOptions, DbOptions};
use crate::table::ReaderOptions;
use crate::version::{Family, FileName, OpenTables, TableCache, VersionSet, VersionSetOptions};

pub(super) fn open_read_only(builder: &DbBuilder) -> Result<Db> {
    let versions = VersionSet::recover(
        Arc::clone(&builder.fs),
        &builder.dir,
        VersionSetOptions {
            comparators: builder.comparators.clone(),
            read_only: true,
            ..VersionSetOptions::default()
        },
    )?;
    let stored = stored_options(builder)?;
    let options = builder.options.clone().or_else(|| Some(stored.as_ref()?.db.clone()));
    let options = options.unwrap_or_default();
    let cache = builder.cache.clone().unwrap_or_else(|| Cache::new(DbBuilder::CACHE_BYTES_DEFAULT));
    let open_tables = Arc::new(OpenTables::new(usize::try_from(options.max_open_files).ok()));

    let mut families = BTreeMap::new();
    for family in versions.families() {
        refuse_unsupported(&family).map_err(|error| error.in_file(&builder.dir))?;
        let config = config_of(builder, stored.as_ref(), &family)?;
        let state = family_state(builder, &cache, &open_tables, family, config)?;
        families.insert(state.family.id(), ColumnFamily(Arc::new(state)));
    }
    let recovered = recover_logs(builder, &options, &versions, &families)?;
    versions.raise_last_sequence(recovered.last_sequence);
    Ok(Db(Arc::new(DbInner { versions, options, cache, families, lost_log_bytes: recovered.lost })))
}

/// The directory's newest OPTIONS file, if it has one.
///
/// What cannot be made out of it is passed over, as RocksDB does that reads a newer version's file: it is for the caller
/// to say what matters, and for `partita db options` to tell.
fn stored_options(builder: &DbBuilder) -> Result<Option<OptionsFile>> {
    let names = builder.fs.list(&builder.dir)?;
    let names = names.iter().filter_map(|name| name.to_str());
    let Some(number) = file::newest(names) else { return Ok(None) };
    let text = builder.fs.read(&builder.dir.join(file::file_name(number)))?;
    Ok(Some(OptionsFile::read(&text, Mode::Lenient).options))
}

/// A family's configuration, with what the caller left open filled in.
fn config_of(builder: &DbBuilder, stored: Option<&OptionsFile>, family: &Family) -> Result<Filled> {
    let given = builder.families.get(family.name()).cloned().unwrap_or_default();
    let FamilyConfig { options, merge_operator, compaction_filter: _ } = given;
    let options = options.or_else(|| stored?.family(family.name()).cloned()).unwrap_or_default();
    let merge_operator = match merge_operator {
        Some(operator) => Some(operator),
        None => named_operator(builder, &options, family.name())?,
    };
    Ok(Filled { options, merge_operator })
}

struct Filled {
    options: ColumnFamilyOptions,
    merge_operator: Option<Arc<dyn MergeOperator>>,
}

/// The operator that the options name.
fn named_operator(
    builder: &DbBuilder,
    options: &ColumnFamilyOptions,
    family: &str,
) -> Result<Option<Arc<dyn MergeOperator>>> {
    let Some(name) = options.merge_operator.id() else { return Ok(None) };
    let registered = builder.merge_operators.iter().find(|operator| operator.name() == name);
    let delimiter = options.merge_operator.property("delimiter");
    let delimiter = delimiter.as_deref().unwrap_or(",").as_bytes();
    match registered.cloned().or_else(|| builtin(name, delimiter)) {
        Some(operator) => Ok(Some(operator)),
        None => Err(Error::not_supported(format!(
            "column family {family:?} has merge operator {name:?}, which is neither built in nor registered"
        ))
        .in_file(&builder.dir)),
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

fn family_state(
    builder: &DbBuilder,
    cache: &Cache,
    open_tables: &Arc<OpenTables>,
    family: Arc<Family>,
    config: Filled,
) -> Result<FamilyState> {
    let Filled { options, merge_operator } = config;
    let reader_options = ReaderOptions {
        comparators: builder.comparators.clone(),
        prefix_extractor: options.table.prefix_extractor.clone(),
        cache: cache.clone(),
        ..ReaderOptions::default()
    };
    let tables = TableCache::new(
        Arc::clone(&builder.fs),
        vec![builder.dir.clone()],
        reader_options,
        family.key_order().name(),
        Arc::clone(open_tables),
    );
    let memtable = MemTable::new(MemTableOptions {
        order: family.key_order().clone(),
        charge: Some(MemoryCharge::to_cache(cache)),
        ..MemTableOptions::default()
    })?;
    let view = ReadView {
        memtable: Arc::new(memtable),
        frozen: Box::default(),
        version: family.current(),
    };
    Ok(FamilyState { family, options, merge_operator, tables, view: ArcSwap::from_pointee(view) })
}

fn recover_logs(
    builder: &DbBuilder,
    options: &DbOptions,
    versions: &VersionSet,
    families: &BTreeMap<u32, ColumnFamily>,
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
            };
            (*id, recovering)
        })
        .collect();
    let wal_dir = wal_dir(builder, options)?;
    let logs = logs_from(&*builder.fs, &wal_dir, versions.min_log_number_to_keep())?;
    let mode = options.wal_recovery_mode;
    replay(&*builder.fs, &wal_dir, &logs, mode, &recovering, versions.last_sequence())
}

/// Where the logs are. A directory that was copied may still name its old place (RocksDB 6 names the database's own): if
/// there is nothing, or another database with logs of its own, they are here.
fn wal_dir(builder: &DbBuilder, options: &DbOptions) -> Result<PathBuf> {
    if !options.wal_dir.is_empty() {
        let dir = PathBuf::from(&options.wal_dir);
        let is_database = builder.fs.exists(&FileName::Current.in_dir(&dir))?;
        if !is_database && builder.fs.exists(&dir)? {
            return Ok(dir);
        }
    }
    Ok(builder.dir.clone())
}
