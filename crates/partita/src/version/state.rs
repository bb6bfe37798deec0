//! The state of a database as values: read from a manifest that need not be whole, and written as a new manifest.
//!
//! For repair. A database is opened by [`VersionSet::recover`](super::VersionSet::recover), which forgives no damage.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::edit::{NewFile, WalAddition};
use super::family::FamilyStart;
use super::replay::{Expectations, Replay, Replayed};
use super::{FileName, FileNumber, ManifestReader, Version, VersionBuilder, VersionEdit};
use crate::error::{Error, Result};
use crate::io::FileSystem;
use crate::key::{Comparator, KeyOrder, SeqNo};

/// How many records in front of damage are given up, one by one, until the rest makes a state.
const GIVEN_UP_MAX: u64 = 16;

/// What is known of a whole database.
#[derive(Clone, Debug, Default)]
pub(crate) struct DatabaseState {
    /// By id.
    pub(crate) families: BTreeMap<u32, FamilyFiles>,
    pub(crate) last_sequence: SeqNo,
    pub(crate) next_file_number: FileNumber,
    pub(crate) min_log_number_to_keep: FileNumber,
    pub(crate) max_family: u32,
    pub(crate) db_id: Option<String>,
}

/// A column family and its tables.
#[derive(Clone, Debug)]
pub(crate) struct FamilyFiles {
    pub(crate) name: String,
    pub(crate) order: KeyOrder,
    /// Logs with a smaller number hold nothing of it that is not in tables.
    pub(crate) log_number: FileNumber,
    pub(crate) files: Vec<NewFile>,
}

impl DatabaseState {
    /// What a manifest that is begun with this state says.
    pub(super) fn to_replayed(&self) -> Result<Replayed> {
        let mut families = Vec::with_capacity(self.families.len());
        for (id, family) in &self.families {
            let mut builder =
                VersionBuilder::new(Arc::new(Version::empty(family.order.clone(), 1)));
            let new_files = family.files.clone();
            builder.apply(&VersionEdit { new_files, ..VersionEdit::default() })?;
            families.push(FamilyStart {
                id: *id,
                name: family.name.clone(),
                version: Arc::new(builder.build()?),
                log_number: family.log_number,
                full_history_ts_low: None,
                timestamps_persisted: true,
            });
        }
        Ok(Replayed {
            families,
            unopened: BTreeMap::new(),
            next_file_number: self.next_file_number,
            last_sequence: self.last_sequence,
            min_log_number_to_keep: self.min_log_number_to_keep,
            max_family: self.max_family,
            db_id: self.db_id.clone(),
            wals: Vec::new(),
        })
    }
}

/// The front of a manifest, up to its end or to damage.
#[derive(Debug)]
pub(crate) struct ManifestFront {
    pub(crate) manifest: FileNumber,
    /// Records that count.
    pub(crate) records: u64,
    /// Where it cannot be read on, and why; `None` if it is whole.
    pub(crate) damage: Option<Error>,
    pub(crate) state: DatabaseState,
    /// Tables that left, and are not part of the state.
    pub(crate) left: BTreeSet<FileNumber>,
    /// Families that were dropped, by id.
    pub(crate) dropped: BTreeSet<u32>,
    /// Logs that it wants to be there.
    pub(crate) wals: Vec<WalAddition>,
}

impl ManifestFront {
    /// Reads a manifest as far as it goes.
    ///
    /// * Errors: `Corruption` if its front is no state; `NotSupported` for what we do not have, blob files included; `Io`.
    pub(crate) fn read(
        fs: &dyn FileSystem,
        dir: &Path,
        manifest: FileNumber,
        comparators: &[Arc<dyn Comparator>],
    ) -> Result<Self> {
        let path = FileName::Manifest(manifest).in_dir(dir);
        let expect = Expectations {
            comparators: comparators.to_vec(),
            level_count: 1,
            ..Expectations::default()
        };
        let mut front = Front::read(fs, &path, &expect, u64::MAX)?;
        let (mut records, damage) = (front.records, front.damage.take());
        if damage.is_some() {
            // The record that did not fit may have changed something.
            front = Front::read(fs, &path, &expect, records)?;
        }
        let least = records.saturating_sub(GIVEN_UP_MAX);
        let mut first_error = None;
        loop {
            let (left, dropped) = (front.left, front.dropped);
            match front.replay.finish() {
                Ok(replayed) => {
                    let read = Read { manifest, records, damage, left, dropped };
                    return Self::new(read, replayed).map_err(|error| error.in_file(&path));
                }
                // A manifest may pass through states that only the next record makes sense of.
                Err(error) if error.is_corruption() && damage.is_some() && records > least => {
                    first_error.get_or_insert(error);
                    records -= 1;
                    front = Front::read(fs, &path, &expect, records)?;
                }
                Err(error) => return Err(first_error.unwrap_or(error).in_file(&path)),
            }
        }
    }

    fn new(read: Read, replayed: Replayed) -> Result<Self> {
        let mut families = BTreeMap::new();
        for start in replayed.families {
            if let Some(number) = start.version.blob_files().keys().next() {
                return Err(Error::not_supported(format!(
                    "column family {:?} has values in blob file {number}",
                    start.name
                )));
            }
            let file = |(level, file): (usize, &Arc<super::TableFile>)| NewFile {
                level: level as u32,
                file: (***file).clone(),
            };
            let family = FamilyFiles {
                name: start.name,
                order: start.version.key_order().clone(),
                log_number: start.log_number,
                files: start.version.files().map(file).collect(),
            };
            families.insert(start.id, family);
        }
        let mut left = read.left;
        for file in families.values().flat_map(|family| &family.files) {
            left.remove(&file.file.number);
        }
        Ok(Self {
            manifest: read.manifest,
            records: read.records,
            damage: read.damage,
            left,
            dropped: read.dropped,
            wals: replayed.wals,
            state: DatabaseState {
                families,
                last_sequence: replayed.last_sequence,
                next_file_number: replayed.next_file_number,
                min_log_number_to_keep: replayed.min_log_number_to_keep,
                max_family: replayed.max_family,
                db_id: replayed.db_id,
            },
        })
    }
}

/// What was read of a manifest, but for the state.
struct Read {
    manifest: FileNumber,
    records: u64,
    damage: Option<Error>,
    left: BTreeSet<FileNumber>,
    dropped: BTreeSet<u32>,
}

/// Records of a manifest, taken in.
struct Front {
    replay: Replay,
    records: u64,
    damage: Option<Error>,
    left: BTreeSet<FileNumber>,
    dropped: BTreeSet<u32>,
}

impl Front {
    /// Takes at most so many records.
    fn read(fs: &dyn FileSystem, path: &Path, expect: &Expectations, most: u64) -> Result<Self> {
        let mut reader = ManifestReader::new(fs.open_sequential(path)?);
        let mut front = Self {
            replay: Replay::new(expect.clone()),
            records: 0,
            damage: None,
            left: BTreeSet::new(),
            dropped: BTreeSet::new(),
        };
        while front.records < most {
            let taken = reader.next_edit().and_then(|found| {
                let Some(found) = found else { return Ok(false) };
                front.note(&found.edit);
                let taken = front.replay.record(found.edit);
                taken.map_err(|error| error.at(found.offset).in_file(path))?;
                Ok(true)
            });
            match taken {
                Ok(true) => front.records += 1,
                Ok(false) => break,
                Err(error) if error.is_corruption() => {
                    front.damage = Some(error);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(front)
    }

    fn note(&mut self, edit: &VersionEdit) {
        self.left.extend(edit.deleted_files.iter().map(|deleted| deleted.number));
        if edit.family_dropped {
            self.dropped.insert(edit.family);
        }
    }
}
