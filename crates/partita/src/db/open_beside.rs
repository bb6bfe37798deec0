//! Opening a database to be read, beside a process that may be writing it.
//!
//! ```text
//! mark      the manifest in force, and its length
//! read      manifest, options; logs opened, their lengths noted; tables opened
//! mark      the same? then all of that was in force at one moment; else all of it again
//! replayed  the logs up to the noted lengths
//! ```
//!
//! 1. A log goes only when the manifest says that it is not needed, and a table when it says that it has gone. So while the mark
//!    stays, nothing went; what was opened until then stays, whatever becomes of its name.
//! 2. Of logs as much is read as there was before the second mark: what follows may build on files, ingested ones for example, of
//!    which the manifest that was read does not know.
//! 3. Logs that are written over (`recycle_log_file_num`) do not stay though they are open: afterwards they must still have their
//!    names.
//! 4. An error counts if the mark stayed, and if it is not that a file is missing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::file_front::FileFront;
use super::open::{Gathered, Opening, Unknown, recover_logs, wal_dir};
use super::recover::{Logs, logs_from, names_in, refuse_lost_logs};
use super::settings::Settings;
use super::{ColumnFamily, Db, DbBuilder};
use crate::error::{Error, ErrorKind, Result};
use crate::io::{FileSystem, SequentialFile};
use crate::util::sync::atomic::AtomicU64;
use crate::version::{
    FileName, FileNumber, TableFile, Version, VersionSet, VersionSetOptions, read_current,
};

/// How often the directory is looked at again.
const TRIES: u32 = 200;

pub(super) fn open_read_only(builder: &DbBuilder) -> Result<Db> {
    until_still(builder, |mark| attempt(builder, mark))
}

/// Tries until nothing changes meanwhile; an attempt that says `None` has seen a change.
pub(super) fn until_still<T>(
    builder: &DbBuilder,
    mut attempt: impl FnMut(Mark) -> Result<Option<T>>,
) -> Result<T> {
    let mut missing = None;
    for _ in 0..TRIES {
        let mark = Mark::of(builder);
        match attempt(mark) {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => {}
            // An options file or log that is missing may have been replaced.
            Err(error) if error.is_not_found() => missing = Some(error),
            Err(_) if Mark::of(builder) != mark => {}
            Err(error) => return Err(error),
        }
    }
    Err(missing.unwrap_or_else(|| {
        let message = format!("while it was opened to be read it changed, {TRIES} times");
        Error::new(ErrorKind::Busy, message).in_file(&builder.dir)
    }))
}

/// Tells whether anything was said in the manifest meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(Option<(FileNumber, u64)>);

impl Mark {
    pub(super) fn of(builder: &DbBuilder) -> Self {
        // What is wrong with it, the opening says.
        Self(Self::read(builder).ok())
    }

    fn read(builder: &DbBuilder) -> Result<(FileNumber, u64)> {
        let manifest = read_current(&*builder.fs, &builder.dir)?;
        let path = FileName::Manifest(manifest).in_dir(&builder.dir);
        Ok((manifest, builder.fs.file_len(&path)?))
    }

    /// The manifest in force, and its length; `None` if that could not be told and can be now.
    ///
    /// * Errors: what still stands in the way.
    pub(super) fn place(self, builder: &DbBuilder) -> Result<Option<(FileNumber, u64)>> {
        match self.0 {
            Some(place) => Ok(Some(place)),
            None => Self::read(builder).map(|_| None),
        }
    }
}

/// `None`: the database changed meanwhile.
fn attempt(builder: &DbBuilder, mark: Mark) -> Result<Option<Db>> {
    let settings = Settings::gather(builder, builder.fs.exists(&builder.dir)?)?;
    let versions = recover_versions(builder, &settings)?;
    let Settings { stored, options, findings: option_findings, .. } = settings;
    let opening = Opening::new(builder, &options)?;
    let families = opening.families(stored.as_ref(), &versions, Unknown::MissedOnUse)?;
    let wal_dir = wal_dir(builder, &options)?;
    let first_log = versions.min_log_number_to_keep();
    refuse_lost_logs(&*builder.fs, &wal_dir, first_log, versions.recovered_wals())?;
    let opened = OpenedLogs::open(&*builder.fs, &wal_dir, first_log)?;
    let tables = families.values().map(|family| (family, family.0.family.current()));
    hold_tables(tables, usize::try_from(options.max_open_files).unwrap_or(usize::MAX));
    if Mark::of(builder) != mark {
        return Ok(None);
    }
    let logs = Logs {
        open: &|number, path| opened.take(number, path),
        dir: &wal_dir,
        numbers: &opened.numbers,
        mode: options.wal_recovery_mode,
    };
    // Nothing may be written, so all of it stays in memory, charged to the cache's budget.
    let recovered = recover_logs(&logs, &versions, &families, None)?;
    if options.recycle_log_file_num > 0 && !opened.have_their_names(&*builder.fs, &wal_dir)? {
        return Ok(None);
    }
    versions.raise_last_sequence(recovered.last_sequence);
    let gathered = Gathered {
        versions,
        options,
        option_findings,
        cache: opening.cache,
        families,
        open_tables: opening.open_tables,
        holders: opening.holders,
        snapshots: Arc::default(),
        follower: None,
        lost_log_bytes: recovered.lost,
    };
    Ok(Some(Db::new(gathered.into_db(builder, Arc::default(), None))))
}

/// What the manifest says, to be read alone.
pub(super) fn recover_versions(builder: &DbBuilder, settings: &Settings) -> Result<VersionSet> {
    let options = VersionSetOptions {
        comparators: builder.comparators.clone(),
        read_only: true,
        level_counts: settings.level_counts(builder),
        ..VersionSetOptions::default()
    };
    VersionSet::recover(Arc::clone(&builder.fs), &builder.dir, options)
}

/// The logs that are needed, as they were when they were opened.
struct OpenedLogs {
    numbers: Vec<FileNumber>,
    files: RefCell<BTreeMap<FileNumber, Box<dyn SequentialFile>>>,
}

impl OpenedLogs {
    fn open(fs: &dyn FileSystem, dir: &Path, oldest: FileNumber) -> Result<Self> {
        let numbers = logs_from(&names_in(fs, dir)?, oldest);
        let mut files = BTreeMap::new();
        for &number in &numbers {
            let path = FileName::Log(number).in_dir(dir);
            let file = fs.open_sequential(&path)?;
            let bytes = Arc::new(AtomicU64::new(fs.file_len(&path)?));
            let front: Box<dyn SequentialFile> = Box::new(FileFront::new(file, bytes));
            files.insert(number, front);
        }
        Ok(Self { numbers, files: RefCell::new(files) })
    }

    fn take(&self, number: FileNumber, path: &Path) -> Result<Box<dyn SequentialFile>> {
        let file = self.files.borrow_mut().remove(&number);
        file.ok_or_else(|| Error::new(ErrorKind::Aborted, "the log was read already").in_file(path))
    }

    fn have_their_names(&self, fs: &dyn FileSystem, dir: &Path) -> Result<bool> {
        for &number in &self.numbers {
            if !fs.exists(&FileName::Log(number).in_dir(dir))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Keeps hold of tables before they are read, so that they can be when the writer has removed them.
///
/// What cannot be opened is left to its first reader, who says why. If that is for want of handles, none of these is held: others
/// need some, too.
///
/// * `most`: tables that are held, those among them that were held before.
pub(super) fn hold_tables<'f>(
    families: impl IntoIterator<Item = (&'f ColumnFamily, Arc<Version>)>,
    most: usize,
) {
    let mut held: Vec<Arc<TableFile>> = Vec::new();
    let mut held_before = 0;
    for (ColumnFamily(state), version) in families {
        for (_, file) in version.files() {
            if held.len() + held_before >= most {
                return;
            }
            if file.is_held() {
                held_before += 1;
                continue;
            }
            match state.tables.hold(file) {
                Ok(()) => held.push(Arc::clone(file)),
                Err(error) if error.is_not_found() => {}
                Err(_) => return held.iter().for_each(|file| file.let_go()),
            }
        }
    }
}
