//! How a set of versions begins: made new, put together of a state, or recovered; and the identity that it has from then on.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::{ManifestFiles, VersionSet};
use crate::error::{Error, Result};
use crate::io::FileSystem;
use crate::key::{Comparator, KeyOrder, SeqNo};
use crate::util::sync::Mutex;
use crate::util::sync::atomic::{AtomicU32, AtomicU64};
use crate::version::current::replace_file;
use crate::version::family::{DEFAULT_FAMILY, DEFAULT_FAMILY_NAME, Family, FamilyStart};
use crate::version::recover::{greatest_number, recover};
use crate::version::replay::{Expectations, Replayed};
use crate::version::{
    DatabaseState, FileName, FileNumber, PendingOutputs, Version, VersionEdit, database_exists,
};

/// How a set of versions is opened and written.
#[derive(Clone, Debug)]
pub struct VersionSetOptions {
    /// The caller's comparators; the built-in ones need no registration.
    pub comparators: Vec<Arc<dyn Comparator>>,
    /// The families to open; `None` opens all, which writing needs.
    pub only_families: Option<Vec<String>>,
    /// Whether edits are refused. Nothing in the directory changes.
    pub read_only: bool,
    /// Levels that a family has at least. Default: 7.
    pub level_count: usize,
    /// The same for families by name, where it is another number.
    pub level_counts: BTreeMap<String, usize>,
    /// Bytes at which a new manifest is begun, unless the old one is less than twice what it began with. Default: 64 MiB,
    /// which a recovery reads in about a second.
    pub manifest_bytes_max: u64,
}

impl Default for VersionSetOptions {
    fn default() -> Self {
        Self {
            comparators: Vec::new(),
            only_families: None,
            read_only: false,
            level_count: 7,
            level_counts: BTreeMap::new(),
            manifest_bytes_max: 64 << 20,
        }
    }
}

impl VersionSetOptions {
    pub(super) fn expectations(&self) -> Expectations {
        Expectations {
            comparators: self.comparators.clone(),
            level_count: self.level_count,
            level_counts: self.level_counts.clone(),
            only: self.only_families.clone(),
        }
    }

    pub(super) fn level_count_of(&self, family: &str) -> usize {
        self.level_counts.get(family).copied().unwrap_or(self.level_count)
    }
}

impl VersionSet {
    /// Makes a new database in an existing directory: IDENTITY, a first manifest, and CURRENT.
    ///
    /// * `db_id`: a text that no other database has; RocksDB takes a UUID.
    /// * Errors: `InvalidArgument` if there is a database already. After a failure the directory holds no database.
    pub fn create_new(
        fs: Arc<dyn FileSystem>,
        dir: &Path,
        order: KeyOrder,
        db_id: &str,
        options: VersionSetOptions,
    ) -> Result<Self> {
        if database_exists(&*fs, dir)? {
            let error = Error::invalid_argument("there is a database already");
            return Err(error.in_file(dir));
        }
        let default = FamilyStart {
            id: DEFAULT_FAMILY,
            name: DEFAULT_FAMILY_NAME.to_owned(),
            version: Arc::new(Version::empty(order, options.level_count_of(DEFAULT_FAMILY_NAME))),
            log_number: FileNumber::default(),
            full_history_ts_low: None,
            timestamps_persisted: true,
        };
        let replayed = Replayed {
            families: vec![default],
            unopened: BTreeMap::new(),
            next_file_number: FileNumber::from(1),
            last_sequence: SeqNo::ZERO,
            min_log_number_to_keep: FileNumber::default(),
            max_family: DEFAULT_FAMILY,
            db_id: None,
            wals: Vec::new(),
        };
        let set = Self::new(fs, dir, options, FileNumber::default(), replayed);
        set.ensure_identity(|| db_id.to_owned())?;
        set.log_and_apply(vec![VersionEdit {
            log_number: Some(FileNumber::default()),
            ..VersionEdit::default()
        }])?;
        Ok(set)
    }

    /// Makes a database of a state that was put together: IDENTITY, a manifest, and CURRENT.
    ///
    /// * Errors: `InvalidArgument` if there is a database already; `Corruption` if tables overlap that must not.
    pub(crate) fn create_with(
        fs: Arc<dyn FileSystem>,
        dir: &Path,
        state: &DatabaseState,
        db_id: &str,
    ) -> Result<Self> {
        if database_exists(&*fs, dir)? {
            let error = Error::invalid_argument("there is a database already");
            return Err(error.in_file(dir));
        }
        let replayed = state.to_replayed()?;
        let options = VersionSetOptions::default();
        let set = Self::new(fs, dir, options, FileNumber::default(), replayed);
        set.ensure_identity(|| db_id.to_owned())?;
        set.log_and_apply(vec![VersionEdit::default()])?;
        Ok(set)
    }

    /// Reads the state that CURRENT and its manifest describe. Nothing is written; the first edit begins a new manifest.
    ///
    /// No new file gets a number that a file in the directory has. If there are other directories, of tables or of logs,
    /// the caller tells what numbers are found in them ([`VersionSet::mark_file_number_used`]).
    ///
    /// * Errors: `Corruption` naming file and offset, and what to do where that is known. `NotSupported` for what we do not
    ///   have, named: comparators that are not registered, fields of later versions that must not be skipped.
    pub fn recover(
        fs: Arc<dyn FileSystem>,
        dir: &Path,
        options: VersionSetOptions,
    ) -> Result<Self> {
        let expect = options.expectations();
        let (current, replayed) = recover(&*fs, dir, &expect)?;
        if !options.read_only && !replayed.unopened.is_empty() {
            let names: Vec<&String> = replayed.unopened.values().collect();
            return Err(Error::invalid_argument(format!(
                "column families not opened: {names:?}; to write, open all"
            ))
            .in_file(dir));
        }
        let found = greatest_number(&*fs, dir)?;
        let set = Self::new(fs, dir, options, current, replayed);
        set.mark_file_number_used(found);
        Ok(set)
    }

    fn new(
        fs: Arc<dyn FileSystem>,
        dir: &Path,
        options: VersionSetOptions,
        manifest: FileNumber,
        replayed: Replayed,
    ) -> Self {
        let families: BTreeMap<u32, Arc<Family>> = replayed
            .families
            .into_iter()
            .map(|start| (start.id, Arc::new(Family::new(start))))
            .collect();
        let current = |family: &Arc<Family>| (family.id(), Arc::downgrade(&family.current()));
        let versions = families.values().map(current).collect();
        let next_file_number = replayed.next_file_number.max(manifest.next());
        Self {
            fs,
            dir: dir.to_owned(),
            options,
            families: Mutex::new(families),
            versions: Mutex::new(versions),
            unopened: replayed.unopened,
            next_file_number: AtomicU64::new(next_file_number.get()),
            last_sequence: AtomicU64::new(replayed.last_sequence.get()),
            recorded_sequence: AtomicU64::new(replayed.last_sequence.get()),
            min_log_number_to_keep: AtomicU64::new(replayed.min_log_number_to_keep.get()),
            max_family: AtomicU32::new(replayed.max_family),
            db_id: replayed.db_id.map_or_else(OnceLock::new, OnceLock::from),
            recovered_wals: replayed.wals,
            obsolete: Arc::default(),
            pending: PendingOutputs::default(),
            manifest: Mutex::default(),
            manifest_files: Mutex::new(ManifestFiles {
                current: manifest,
                ..ManifestFiles::default()
            }),
        }
    }

    /// The database's identity as its files have it: in the manifest, or else in IDENTITY, where RocksDB before 9.10 keeps it
    /// unless told otherwise.
    pub fn stored_identity(&self) -> Result<Option<String>> {
        match self.db_id() {
            Some(id) => Ok(Some(id.to_owned())),
            None => self.read_identity(),
        }
    }

    fn read_identity(&self) -> Result<Option<String>> {
        match self.fs.read(&FileName::Identity.in_dir(&self.dir)) {
            Ok(bytes) => {
                let id = String::from_utf8_lossy(bytes.trim_ascii()).into_owned();
                Ok((!id.is_empty()).then_some(id))
            }
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sees to it that the database has an identity, in the manifest (from its next beginning on) and in IDENTITY: what
    /// the manifest says, else what IDENTITY says, else a `new` one.
    pub fn ensure_identity(&self, new: impl FnOnce() -> String) -> Result<&str> {
        self.refuse_if_read_only()?;
        let stored = self.read_identity()?;
        let id = self.db_id.get_or_init(|| stored.clone().unwrap_or_else(new));
        if stored.as_ref() != Some(id) {
            let number = self.new_file_number();
            replace_file(&*self.fs, &self.dir, number, FileName::Identity, id.as_bytes())?;
        }
        Ok(id)
    }
}
