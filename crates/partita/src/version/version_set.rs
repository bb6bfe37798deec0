//! All column families, their versions, and the numbers that belong to the whole database.
//!
//! ```text
//! log_and_apply:  edits ─ builders ─> next versions        nothing written yet: edits that do not fit change nothing
//!                   │
//!                   ├─ append to the manifest, sync         or: new manifest (snapshot, edits), sync, CURRENT
//!                   │
//!                   └─ install: families point to the next versions; files that left are marked
//! ```
//!
//! 1. **A version is installed after its edit is durable**, and before a second edit is written.
//! 2. **Readers never wait for I/O.** [`Family::current`] takes a lock under which only a pointer moves. The lock that is
//!    held over writes is taken by those who write edits alone.
//! 3. **A manifest is never appended to by anyone but who made it.** The first edit after an open begins a new one, and so
//!    does the first after a failed write: whether the failed one is on disk is not known, so nothing may follow it.
//! 4. **What a failed edit named stays**, until a new manifest has taken the place of the one in doubt: a crash before
//!    may show either.
//! 5. A file is removed after the last version that names it is gone ([`ObsoleteFiles`]).
//! 6. **A column family that is created with tables comes with a new manifest**, which has both in its beginning. A group of edits
//!    would be the other way, but RocksDB's secondary instances refuse one that creates a family, and RocksDB takes no tables
//!    from the edit that does.
//! 7. The last sequence number in the manifest is never below that of any table it names.

mod start;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use super::current::set_current;
use super::edit::{NewFile, WalAddition};
use super::family::{Family, FamilyStart};
use super::manifest::{ManifestWriter, SnapshotState};
use super::plan::Plan;
use super::replay::Expectations;
use super::{
    Cut, FileName, FileNumber, Followed, FollowedFamily, ObsoleteFile, ObsoleteFiles,
    PendingOutput, PendingOutputs, Version, VersionEdit,
};
use crate::error::{Error, ErrorKind, Result};
use crate::io::FileSystem;
use crate::key::{KeyOrder, SeqNo};
use crate::util::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::util::sync::{Mutex, lock};

pub use start::VersionSetOptions;

/// All column families with their versions, and the manifest that makes them durable.
///
/// Any thread may call any method. Edits are written one after the other.
#[derive(Debug)]
pub struct VersionSet {
    fs: Arc<dyn FileSystem>,
    dir: PathBuf,
    options: VersionSetOptions,
    families: Mutex<BTreeMap<u32, Arc<Family>>>,
    /// Every version that may still be in use, with its family, of dropped ones, too.
    versions: Mutex<Vec<(u32, Weak<Version>)>>,
    unopened: BTreeMap<u32, String>,
    next_file_number: AtomicU64,
    last_sequence: AtomicU64,
    /// What the manifest says; it may be ahead of what readers see.
    recorded_sequence: AtomicU64,
    min_log_number_to_keep: AtomicU64,
    max_family: AtomicU32,
    db_id: OnceLock<String>,
    recovered_wals: Vec<WalAddition>,
    obsolete: Arc<ObsoleteFiles>,
    pending: PendingOutputs,
    /// Held while edits are written.
    manifest: Mutex<Manifest>,
    /// Changes under the lock above, and can be asked without it.
    manifest_files: Mutex<ManifestFiles>,
}

/// The manifest being written.
#[derive(Debug, Default)]
struct Manifest {
    /// `None` until the first edit, and after a failure.
    writer: Option<ManifestWriter>,
}

/// The files that the manifest on disk may need.
#[derive(Debug, Default)]
struct ManifestFiles {
    /// The manifest that CURRENT named when it was last known.
    current: FileNumber,
    /// Manifests that were begun since, one of which CURRENT may name.
    begun: Vec<FileNumber>,
    /// Files that a failed write may have made part of the database.
    in_doubt: BTreeSet<FileNumber>,
}

impl VersionSet {
    /// The database's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The families by id.
    pub fn families(&self) -> Vec<Arc<Family>> {
        lock(&self.families).values().cloned().collect()
    }

    fn families_by_id(&self) -> BTreeMap<u32, Arc<Family>> {
        lock(&self.families).clone()
    }

    /// The family of this id.
    pub fn family(&self, id: u32) -> Option<Arc<Family>> {
        lock(&self.families).get(&id).cloned()
    }

    /// The family of this name.
    pub fn family_named(&self, name: &str) -> Option<Arc<Family>> {
        lock(&self.families).values().find(|family| family.name() == name).cloned()
    }

    /// Families in the manifest that were not opened, by id.
    pub fn unopened_families(&self) -> &BTreeMap<u32, String> {
        &self.unopened
    }

    /// A number for a new file.
    pub fn new_file_number(&self) -> FileNumber {
        self.next_file_number.fetch_add(1, Ordering::Relaxed).into()
    }

    /// A number for a new file, protected from those who look for files that nobody needs.
    pub fn new_output(&self) -> PendingOutput {
        self.pending.protect(self.new_file_number())
    }

    /// Says that a file of this number was found, so that no new one gets it.
    pub fn mark_file_number_used(&self, number: FileNumber) {
        self.next_file_number.fetch_max(number.next().get(), Ordering::Relaxed);
    }

    /// The last sequence number that readers see.
    pub fn last_sequence(&self) -> SeqNo {
        SeqNo::new(self.last_sequence.load(Ordering::Acquire)).unwrap_or(SeqNo::MAX)
    }

    /// Raises the last sequence number.
    pub fn raise_last_sequence(&self, seqno: SeqNo) {
        self.last_sequence.fetch_max(seqno.get(), Ordering::AcqRel);
    }

    /// Logs with a smaller number are not needed by any family: the greater of what the manifest says and what all
    /// families have in tables.
    pub fn min_log_number_to_keep(&self) -> FileNumber {
        let families = lock(&self.families);
        let flushed = families.values().map(|family| family.log_number()).min();
        let recorded = FileNumber::from(self.min_log_number_to_keep.load(Ordering::Acquire));
        recorded.max(flushed.unwrap_or_default())
    }

    /// Logs that the recovered manifest wants to be there, with the bytes that were synced.
    pub fn recovered_wals(&self) -> &[WalAddition] {
        &self.recovered_wals
    }

    /// The database's identity, once it is known.
    pub fn db_id(&self) -> Option<&str> {
        self.db_id.get().map(String::as_str)
    }

    /// Makes edits durable and installs the versions that they lead to.
    ///
    /// Several edits count together or not at all. To each are added the next file number and the last sequence number.
    ///
    /// * Errors: `Corruption` and `InvalidArgument` if an edit does not fit; nothing was written then. `Io`, `NoSpace`:
    ///   the versions are as before, and whether the edits are on disk will be known after the next success or recovery;
    ///   until then, the files that they name stay.
    pub fn log_and_apply(&self, edits: Vec<VersionEdit>) -> Result<()> {
        self.refuse_if_read_only()?;
        let mut manifest = lock(&self.manifest);
        let plan = Plan::new(&self.families_by_id(), edits, None)?;
        self.write_and_install(&mut manifest, plan, None)
    }

    /// Creates a column family, with the tables that `fill` gives it: both or neither, whatever happens.
    ///
    /// * `log_number`: the log in use; what came before holds nothing of the family.
    /// * `level_count`: levels that it has at least.
    /// * Errors: `InvalidArgument` if one of that name exists; those of `fill`; else as [`VersionSet::log_and_apply`].
    pub fn create_family(
        &self,
        name: &str,
        order: KeyOrder,
        log_number: FileNumber,
        level_count: usize,
        fill: impl FnOnce(&Family) -> Result<Vec<NewFile>>,
    ) -> Result<Arc<Family>> {
        self.refuse_if_read_only()?;
        let mut manifest = lock(&self.manifest);
        if self.family_named(name).is_some() {
            return Err(Error::invalid_argument(format!("column family {name:?} exists already")));
        }
        let id = self.max_family.load(Ordering::Relaxed).checked_add(1).ok_or_else(|| {
            Error::invalid_argument("all 2^32 numbers of column families are used up")
        })?;
        let edit = VersionEdit {
            family: id,
            family_added: Some(name.to_owned()),
            comparator: Some(order.name().to_owned()),
            log_number: Some(log_number),
            ..VersionEdit::default()
        };
        let family = Arc::new(Family::new(FamilyStart {
            id,
            name: name.to_owned(),
            version: Arc::new(Version::empty(order, level_count)),
            log_number,
            full_history_ts_low: None,
            timestamps_persisted: true,
        }));
        let new_files = fill(&family)?;
        if new_files.is_empty() {
            let plan = Plan::new(&self.families_by_id(), vec![edit], Some(&family))?;
            self.write_and_install(&mut manifest, plan, None)?;
            return Ok(family);
        }
        // Nobody else knows the family yet.
        let added = Plan::new(
            &BTreeMap::from([(id, Arc::clone(&family))]),
            vec![VersionEdit { family: id, new_files, ..VersionEdit::default() }],
            None,
        )?;
        for version in added.families.into_iter().filter_map(|change| change.version) {
            family.install(Arc::new(version));
        }
        let plan = Plan::new(&self.families_by_id(), vec![VersionEdit::default()], None)?;
        self.write_and_install(&mut manifest, plan, Some(&family))?;
        Ok(family)
    }

    /// Drops a column family. Its files go when the last who reads them lets go.
    ///
    /// * Errors: `InvalidArgument` for the default family, and for one that is not there; else as
    ///   [`VersionSet::log_and_apply`].
    pub fn drop_family(&self, id: u32) -> Result<()> {
        let edit = VersionEdit {
            family: id,
            family_dropped: true,
            max_family: Some(self.max_family.load(Ordering::Relaxed)),
            ..VersionEdit::default()
        };
        self.log_and_apply(vec![edit])
    }

    /// The files of the database as the manifest has them now, whatever edits come after.
    ///
    /// * Errors: of a manifest that has to be begun anew, since the last edit failed.
    pub fn cut(&self) -> Result<Cut> {
        self.refuse_if_read_only()?;
        let mut manifest = lock(&self.manifest);
        if manifest.writer.is_none() {
            let plan = Plan::new(&self.families_by_id(), vec![VersionEdit::default()], None)?;
            self.write_and_install(&mut manifest, plan, None)?;
        }
        let number = self.manifest_number();
        let manifest_file = self.fs.open(&FileName::Manifest(number).in_dir(&self.dir))?;
        Ok(Cut {
            manifest: number,
            manifest_bytes: manifest.writer.as_ref().map_or(0, ManifestWriter::bytes),
            manifest_file,
            versions: self.families().iter().map(|family| family.current()).collect(),
            first_log: self.min_log_number_to_keep(),
        })
    }

    fn refuse_if_read_only(&self) -> Result<()> {
        match self.options.read_only {
            false => Ok(()),
            true => {
                let error = Error::new(ErrorKind::ReadOnly, "the database was opened to be read");
                Err(error.in_file(&self.dir))
            }
        }
    }

    /// * `added`: a family that comes with tables, which the edits say nothing of.
    fn write_and_install(
        &self,
        manifest: &mut Manifest,
        mut plan: Plan,
        added: Option<&Arc<Family>>,
    ) -> Result<()> {
        let result = self.write(manifest, &mut plan, added);
        match &result {
            Ok(()) => {
                self.install(plan);
                added.into_iter().for_each(|family| self.show_added(family));
            }
            Err(_) => {
                manifest.writer = None;
                let of_added = added.map(|family| family.current());
                let of_added = of_added.iter().flat_map(|version| version.files());
                let mut files = lock(&self.manifest_files);
                files.in_doubt.extend(plan.new_files());
                files.in_doubt.extend(of_added.map(|(_, file)| file.number));
            }
        }
        result
    }

    fn show_added(&self, family: &Arc<Family>) {
        self.max_family.fetch_max(family.id(), Ordering::Relaxed);
        self.track(family.id(), &family.current());
        lock(&self.families).insert(family.id(), Arc::clone(family));
    }

    fn write(
        &self,
        manifest: &mut Manifest,
        plan: &mut Plan,
        added: Option<&Arc<Family>>,
    ) -> Result<()> {
        let of_added = added.map(|family| largest_seqno(&family.current())).unwrap_or_default();
        let last_sequence = self.sequence_to_record(plan.largest_seqno().max(of_added));
        let limit = self.options.manifest_bytes_max;
        let goes_on = |writer: &&mut ManifestWriter| added.is_none() && !writer.is_full(limit);
        if let Some(writer) = manifest.writer.as_mut().filter(goes_on) {
            plan.stamp(self.next_file_number.load(Ordering::Acquire), last_sequence);
            writer.append(&plan.edits)?;
            return writer.sync();
        }
        manifest.writer = None;
        let number = self.new_file_number();
        plan.stamp(self.next_file_number.load(Ordering::Acquire), last_sequence);
        lock(&self.manifest_files).begun.push(number);
        let mut families = self.families();
        families.extend(added.cloned());
        let max_family = added.map_or(0, |family| family.id());
        let state = SnapshotState {
            db_id: self.db_id(),
            families: &families,
            last_sequence,
            min_log_number_to_keep: self.min_log_number_to_keep.load(Ordering::Acquire).into(),
            max_family: self.max_family.load(Ordering::Relaxed).max(max_family),
        };
        let mut writer = ManifestWriter::create(&*self.fs, &self.dir, number, &state)?;
        writer.append(&plan.edits)?;
        writer.sync()?;
        // The manifest's name must be durable before CURRENT tells it.
        self.fs.sync_dir(&self.dir)?;
        set_current(&*self.fs, &self.dir, number)?;
        manifest.writer = Some(writer);
        self.manifest_is_current(number);
        Ok(())
    }

    fn sequence_to_record(&self, of_tables: SeqNo) -> SeqNo {
        let least = self.last_sequence().max(of_tables).get();
        let before = self.recorded_sequence.fetch_max(least, Ordering::AcqRel);
        SeqNo::new(before.max(least)).unwrap_or(of_tables)
    }

    /// The doubts are over: what the new manifest does not name is nobody's.
    fn manifest_is_current(&self, number: FileNumber) {
        let mut files = lock(&self.manifest_files);
        let old = std::mem::replace(&mut files.current, number);
        let begun = std::mem::take(&mut files.begun);
        for manifest in begun.into_iter().chain([old]) {
            if manifest != number && manifest != FileNumber::default() {
                self.obsolete.push(ObsoleteFile::Manifest(manifest));
            }
        }
        files.in_doubt.clear();
    }

    fn install(&self, plan: Plan) {
        for edit in &plan.edits {
            self.max_family.fetch_max(edit.family, Ordering::Relaxed);
            if let Some(number) = edit.min_log_number_to_keep {
                self.min_log_number_to_keep.fetch_max(number.get(), Ordering::AcqRel);
            }
        }
        let mut replaced = Vec::new();
        for change in plan.families {
            for file in &change.leaving {
                file.mark_obsolete(&self.obsolete);
            }
            for number in change.leaving_blob_files {
                self.obsolete.push(ObsoleteFile::Blob(number));
            }
            let family = change.family;
            if let Some(number) = change.log_number {
                family.raise_log_number(number);
            }
            if let Some(low) = change.full_history_ts_low {
                *lock(&family.full_history_ts_low) = Some(low);
            }
            if let Some(version) = change.version {
                let version = Arc::new(version);
                self.track(family.id(), &version);
                replaced.push(family.install(version));
            }
            if change.dropped {
                family.mark_dropped();
                lock(&self.families).remove(&family.id());
            } else if self.family(family.id()).is_none() {
                self.track(family.id(), &family.current());
                lock(&self.families).insert(family.id(), family);
            }
        }
        // Old versions go here, and with them perhaps files: no lock is held but that of those who write edits.
        drop(replaced);
    }

    /// Makes what was read of a manifest that somebody else writes the state of this set. The old versions are returned, to be
    /// let go outside of all locks.
    pub(crate) fn install_followed(&self, followed: &Followed) -> Vec<Arc<Version>> {
        let mut families = lock(&self.families);
        let mut replaced = Vec::new();
        for FollowedFamily { family, version, log_number, is_new } in &followed.families {
            if *is_new || !Arc::ptr_eq(&family.current(), version) {
                self.track(family.id(), version);
                replaced.push(family.install(Arc::clone(version)));
            }
            family.raise_log_number(*log_number);
            families.entry(family.id()).or_insert_with(|| Arc::clone(family));
        }
        families.retain(|id, family| {
            let is_there = followed.families.iter().any(|other| other.family.id() == *id);
            if !is_there {
                family.mark_dropped();
            }
            is_there
        });
        self.min_log_number_to_keep.fetch_max(followed.first_log.get(), Ordering::AcqRel);
        replaced
    }

    pub(super) fn expectations(&self) -> Expectations {
        self.options.expectations()
    }

    /// Files that no version names any more, to be removed.
    pub fn obsolete_files(&self) -> &ObsoleteFiles {
        &self.obsolete
    }

    /// The tables that some version in use names, of all families.
    pub fn live_tables(&self) -> BTreeSet<FileNumber> {
        let mut live = BTreeSet::new();
        for version in self.versions_in_use() {
            live.extend(version.files().map(|(_, file)| file.number));
        }
        live
    }

    /// Notes a version, to be found as long as somebody holds it.
    fn track(&self, family: u32, version: &Arc<Version>) {
        let mut versions = lock(&self.versions);
        versions.retain(|(_, version)| version.strong_count() > 0);
        versions.push((family, Arc::downgrade(version)));
    }

    fn versions_in_use(&self) -> Vec<Arc<Version>> {
        lock(&self.versions).iter().filter_map(|(_, version)| version.upgrade()).collect()
    }

    /// The versions of a family that are in use.
    pub fn versions_of(&self, family: u32) -> Vec<Arc<Version>> {
        let versions = lock(&self.versions);
        let own = versions.iter().filter(|(id, _)| *id == family);
        own.filter_map(|(_, version)| version.upgrade()).collect()
    }

    /// The first of the files that are being written and that no version names yet.
    pub fn first_pending_output(&self) -> Option<FileNumber> {
        self.pending.first()
    }

    /// Of names found in the directory, those that the database has no use for: left behind by a crash, or by somebody
    /// who did not get to remove them. Names that are not a database's are never among them.
    ///
    /// Logs count as needed from [`VersionSet::min_log_number_to_keep`] on; options files always.
    pub fn unneeded<'n>(&self, names: impl IntoIterator<Item = &'n FileName>) -> Vec<FileName> {
        // What is pending is looked at before what is live: a file that moves from one to the other is seen in either.
        let names: Vec<FileName> = names.into_iter().copied().collect();
        let pending: BTreeSet<FileNumber> = names
            .iter()
            .filter_map(|name| match name {
                FileName::Table(number) | FileName::Blob(number) => Some(*number),
                _ => None,
            })
            .filter(|number| self.pending.contains(*number))
            .collect();
        let files = lock(&self.manifest_files);
        let versions = self.versions_in_use();
        let mut live: BTreeSet<FileNumber> = BTreeSet::new();
        for version in &versions {
            live.extend(version.files().map(|(_, file)| file.number));
            live.extend(version.blob_files().keys());
        }
        let min_log = self.min_log_number_to_keep();
        let is_needed = |name: &FileName| match name {
            FileName::Table(number) | FileName::Blob(number) => {
                live.contains(number) || pending.contains(number) || files.in_doubt.contains(number)
            }
            FileName::Manifest(number) => *number >= files.current || files.begun.contains(number),
            FileName::Temporary(number) => *number >= files.current,
            FileName::Log(number) => *number >= min_log,
            _ => true,
        };
        names.into_iter().filter(|name| !is_needed(name)).collect()
    }

    /// Whether an edit failed of which it is not known yet if it is on disk.
    pub fn is_in_doubt(&self) -> bool {
        !lock(&self.manifest_files).in_doubt.is_empty()
    }

    /// The number of the manifest that CURRENT names.
    pub fn manifest_number(&self) -> FileNumber {
        lock(&self.manifest_files).current
    }
}

/// The greatest sequence number of a version's tables. Tables in LevelDB's form have the greatest of all for "unknown".
fn largest_seqno(version: &Version) -> SeqNo {
    let known = version.files().map(|(_, file)| file.largest_seqno);
    known.filter(|seqno| *seqno < SeqNo::MAX).max().unwrap_or_default()
}
