//! Opening a database to be written.
//!
//! ```text
//! looked at    is there a database? is it wanted? LOCK; manifest, options, refusals; logs into memtables
//! ---- nothing was changed so far, but for LOCK
//!              (with logs that are longer than memory may hold: tables, which are removed again if opening fails)
//! written      a new log; tables of what the logs held; one edit for all families: from here on the old logs are not needed
//!              families that were missing; OPTIONS; removal of what nobody needs
//! ```
//!
//! A crash anywhere leaves a database that opens: until the edit is in the manifest, the old logs count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::background_error::Failure;
use super::commit::CommitQueue;
use super::compact::{Compactions, compaction_jobs_max};
use super::identity::{new_db_id, new_session_id};
use super::jobs::Jobs;
use super::level0::TablePlace;
use super::log::{LogPlace, Logs};
use super::memory::{CACHE_SHARE, Sharers};
use super::open::{Gathered, Opening, Unknown, order_named, recover_logs, refuse_indirect};
use super::recover::{self, MemoryBound, logs_from, names_in, refuse_lost_logs};
use super::settings::{Settings, refuse_deeper_tables, refuse_too_few_levels};
use super::settle::SpilledTables;
use super::stall::Stall;
use super::writer::{Flushing, Writer};
use super::{ColumnFamily, Db, DbBuilder};
use crate::batch::{BATCH_BYTES_MAX, BATCH_HEADER_BYTES};
use crate::error::{Error, Result};
use crate::io::{Access, FileLock, FileSystem, ThreadPool};
use crate::options::DbOptions;
use crate::util::sync::atomic::AtomicBool;
use crate::util::sync::{Condvar, Mutex};
use crate::version::{
    DEFAULT_FAMILY_NAME, FileName, FileNumber, VersionSet, VersionSetOptions, database_exists,
};

pub(super) fn open(builder: &DbBuilder) -> Result<Db> {
    let exists = is_wanted(builder)?;
    let settings = Settings::gather(builder, exists)?;
    settings.refuse_to_write(builder)?;
    let level_counts = settings.level_counts(builder);
    let Settings { stored, options, findings: option_findings, .. } = settings;
    let wal_dir = wal_dir(builder, &options)?;
    if !exists {
        refuse_leftovers(builder)?;
        create_durable_dir(&*builder.fs, &builder.dir)?;
    }
    let file_lock = builder.fs.lock(&FileName::Lock.in_dir(&builder.dir))?;
    let versions = versions(builder, &options, level_counts, exists)?;
    let opening = Opening::new(builder, &options)?;
    if options.use_direct_io_for_flush_and_compaction {
        refuse_indirect(builder, "use_direct_io_for_flush_and_compaction")?;
    }
    let families = opening.families(stored.as_ref(), &versions, Unknown::Refused)?;
    refuse_deeper_tables(builder, &families)?;
    for family in families.values() {
        refuse_too_few_levels(options.allow_ingest_behind, family.name(), family.options())
            .map_err(|error| error.in_file(&builder.dir))?;
    }
    let missing = missing_families(builder, &families)?;
    let first_log = versions.min_log_number_to_keep();
    refuse_lost_logs(&*builder.fs, &wal_dir, first_log, versions.recovered_wals())?;
    let wal_names = names_if_there(&*builder.fs, &wal_dir)?;
    let logs = if exists { logs_from(&wal_names, first_log) } else { Vec::new() };
    mark_numbers_used(&wal_names, &versions);
    // Not listed twice: that of a directory of thousands of tables is what opening takes longest for.
    if wal_dir != builder.dir {
        mark_numbers_used(&names_if_there(&*builder.fs, &builder.dir)?, &versions);
    }
    let snapshots = Arc::default();
    let session = new_session_id();
    let mut spilled = SpilledTables::new(builder);
    let recovered = {
        let place = TablePlace {
            fs: &*builder.fs,
            access: Access::direct_if(options.use_direct_io_for_flush_and_compaction),
            versions: &versions,
            snapshots: &snapshots,
            counts_entries: options.flush_verify_memtable_count,
        };
        let spill = spilled.spill(place, &families, &opening.cache, &session);
        let logs = recover::Logs {
            open: &|_, path| builder.fs.open_sequential(path),
            dir: &wal_dir,
            numbers: &logs,
            mode: options.wal_recovery_mode,
        };
        let bytes_max = match options.db_write_buffer_size {
            0 => opening.cache.budget_bytes() / CACHE_SHARE,
            bytes => bytes,
        };
        let bound = MemoryBound { bytes_max, spill: Box::new(spill) };
        recover_logs(&logs, &versions, &families, Some(bound))?
    };
    versions.raise_last_sequence(recovered.last_sequence);

    if wal_dir != builder.dir {
        create_durable_dir(&*builder.fs, &wal_dir)?;
    }
    versions.ensure_identity(new_db_id)?;
    let writer = writer(builder, &options, wal_dir, &logs, &versions, session, file_lock)?;
    let sharers = opening.cache.companion::<Sharers>().unwrap_or_default();
    let gathered = Gathered {
        versions,
        options,
        option_findings,
        cache: opening.cache,
        families,
        open_tables: opening.open_tables,
        holders: opening.holders,
        snapshots,
        follower: None,
        lost_log_bytes: recovered.lost,
    };
    let inner = gathered.into_db(builder, sharers, Some(writer));
    inner.settle_recovered(spilled)?;
    for family in inner.families.load().values() {
        inner.pressure_changed(&family.0);
    }
    inner.sharers.add(&inner);
    let db = Db::new(inner);
    for name in missing {
        db.create_family(&name, builder.families.get(&name).cloned().unwrap_or_default())?;
    }
    db.inner().store_options()?;
    db.inner().remove_unneeded(&db.writer()?.place.dir)?;
    db.inner().remove_obsolete_files();
    db.inner().watch_snapshots();
    db.inner().schedule_compactions();
    db.inner().schedule_tick(1);
    Ok(db)
}

/// Whether there is a database; an error if that is not what the caller wants. What is asked for counts, not what an
/// options file says about an earlier opening.
fn is_wanted(builder: &DbBuilder) -> Result<bool> {
    let asked = builder.options.clone().unwrap_or_default();
    let exists = database_exists(&*builder.fs, &builder.dir)?;
    let refusal = match exists {
        true if asked.error_if_exists => "there is a database, and error_if_exists is set",
        false if !asked.create_if_missing => {
            "there is no database (no file CURRENT), and create_if_missing is not set"
        }
        _ => return Ok(exists),
    };
    Err(Error::invalid_argument(refusal).in_file(&builder.dir))
}

/// Refuses to make a database where the files of another one are, which lost its CURRENT: they would be removed.
fn refuse_leftovers(builder: &DbBuilder) -> Result<()> {
    if !builder.fs.exists(&builder.dir)? {
        return Ok(());
    }
    for name in builder.fs.list(&builder.dir)? {
        if let Some(FileName::Table(_) | FileName::Log(_) | FileName::Blob(_)) =
            FileName::parse(&name)
        {
            return Err(Error::invalid_argument(format!(
                "there is no CURRENT, but {} of a database: creating a new one would remove it",
                name.display()
            ))
            .in_file(&builder.dir));
        }
    }
    Ok(())
}

/// Makes a directory, and those above it, that survive a power cut.
///
/// Those that are there already may have been made a moment ago, by an attempt that failed before it could sync them. Not all
/// of them are ours to sync: where that is refused, they are taken to be old.
pub(super) fn create_durable_dir(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    let above = |dir: &Path| match dir.parent() {
        Some(holder) if holder.as_os_str().is_empty() => Some(PathBuf::from(".")),
        holder => holder.map(Path::to_owned),
    };
    let (mut new, mut old) = (Vec::new(), Vec::new());
    for dir in dir.ancestors().filter(|dir| !dir.as_os_str().is_empty()) {
        let holders = if fs.exists(dir)? { &mut old } else { &mut new };
        holders.extend(above(dir));
    }
    fs.create_dir_all(dir)?;
    for holder in old {
        let _ = fs.sync_dir(&holder);
    }
    new.iter().rev().try_for_each(|holder| fs.sync_dir(holder))
}

fn versions(
    builder: &DbBuilder,
    options: &DbOptions,
    level_counts: BTreeMap<String, usize>,
    exists: bool,
) -> Result<VersionSet> {
    let set_options = VersionSetOptions {
        comparators: builder.comparators.clone(),
        level_counts,
        manifest_bytes_max: options.max_manifest_file_size.max(1),
        ..VersionSetOptions::default()
    };
    let fs = Arc::clone(&builder.fs);
    if exists {
        return VersionSet::recover(fs, &builder.dir, set_options);
    }
    let default =
        builder.families.get(DEFAULT_FAMILY_NAME).and_then(|config| config.options.clone());
    let order = order_named(builder, &default.unwrap_or_default())?;
    VersionSet::create_new(fs, &builder.dir, order, &new_db_id(), set_options)
}

/// Families that the caller names and that are not there.
fn missing_families(
    builder: &DbBuilder,
    families: &BTreeMap<u32, ColumnFamily>,
) -> Result<Vec<String>> {
    let there: BTreeSet<&str> = families.values().map(ColumnFamily::name).collect();
    let missing: Vec<String> =
        builder.families.keys().filter(|name| !there.contains(&***name)).cloned().collect();
    let create =
        builder.options.as_ref().is_some_and(|options| options.create_missing_column_families);
    if missing.is_empty() || create {
        return Ok(missing);
    }
    let message = format!(
        "no column families {missing:?}, and create_missing_column_families is not set; there are {there:?}"
    );
    Err(Error::invalid_argument(message).in_file(&builder.dir))
}

/// Where logs are and will be.
fn wal_dir(builder: &DbBuilder, options: &DbOptions) -> Result<PathBuf> {
    if options.wal_dir.is_empty() {
        return Ok(builder.dir.clone());
    }
    let dir = PathBuf::from(&options.wal_dir);
    if !builder.fs.exists(&dir)? && builder.fs.exists(&builder.dir)? {
        let names = builder.fs.list(&builder.dir)?;
        if names.iter().any(|name| matches!(FileName::parse(name), Some(FileName::Log(_)))) {
            return Err(Error::invalid_argument(format!(
                "wal_dir is {}, which is not there, and there are logs beside the tables: say by the options which holds",
                dir.display()
            ))
            .in_file(&builder.dir));
        }
    }
    Ok(dir)
}

fn names_if_there(fs: &dyn FileSystem, dir: &Path) -> Result<Vec<FileName>> {
    if fs.exists(dir)? { names_in(fs, dir) } else { Ok(Vec::new()) }
}

/// No new file gets the number of a file that is there.
fn mark_numbers_used(names: &[FileName], versions: &VersionSet) {
    // Greater ones are in no database; somebody only called a file so.
    let numbers = names.iter().filter_map(|name| name.number());
    numbers
        .filter(|number| *number < FileNumber::TOO_GREAT)
        .for_each(|number| versions.mark_file_number_used(number));
}

fn writer(
    builder: &DbBuilder,
    options: &DbOptions,
    wal_dir: PathBuf,
    old_logs: &[FileNumber],
    versions: &VersionSet,
    session: String,
    file_lock: Box<dyn FileLock>,
) -> Result<Writer> {
    let place = LogPlace::new(Arc::clone(&builder.fs), wal_dir, options, &builder.clock)?;
    let mut older = Vec::with_capacity(old_logs.len());
    for number in old_logs {
        older.push((*number, builder.fs.file_len(&FileName::Log(*number).in_dir(&place.dir))?));
    }
    let number = versions.new_file_number();
    let log = place.begin(number, None)?;
    let logs = Mutex::new(Logs::new(&place, number, log, older));
    // A group is a batch in the log, and no longer than one may be.
    let group_bytes_max = usize::try_from(options.max_write_batch_group_size_bytes)
        .unwrap_or(usize::MAX)
        .min(BATCH_BYTES_MAX - BATCH_HEADER_BYTES);
    Ok(Writer {
        queue: CommitQueue::new(group_bytes_max),
        place,
        logs,
        views: Mutex::new(Flushing::default()),
        installing: Mutex::default(),
        copying: Mutex::default(),
        compactions: Compactions::default(),
        flushed: Condvar::new(),
        some_full: AtomicBool::new(false),
        leftovers: AtomicBool::new(false),
        unlogged: AtomicBool::new(false),
        failure: Failure::default(),
        stall: Stall::default(),
        clock: Arc::clone(&builder.clock),
        scheduler: match &builder.scheduler {
            Some(scheduler) => Arc::clone(scheduler),
            None => Arc::new(ThreadPool::new(1, compaction_jobs_max(options))),
        },
        jobs: Arc::new(Jobs::default()),
        session,
        _lock: file_lock,
    })
}
