use std::collections::BTreeMap;
use std::sync::Arc;

use super::family::DEFAULT_FAMILY;
use super::{Family, FileNumber, TableFile, Version, VersionBuilder, VersionEdit};
use crate::error::{Error, Result};
use crate::key::SeqNo;

/// What edits will do, worked out before anything is written.
pub(super) struct Plan {
    pub(super) edits: Vec<VersionEdit>,
    pub(super) families: Vec<FamilyChange>,
}

/// What changes for a family.
pub(super) struct FamilyChange {
    pub(super) family: Arc<Family>,
    /// The next version, if its files change.
    pub(super) version: Option<Version>,
    /// Tables that the next version does not name.
    pub(super) leaving: Vec<Arc<TableFile>>,
    pub(super) leaving_blob_files: Vec<FileNumber>,
    pub(super) log_number: Option<FileNumber>,
    pub(super) full_history_ts_low: Option<Box<[u8]>>,
    pub(super) dropped: bool,
}

impl Plan {
    /// * `added`: the family that the edits create.
    /// * Errors: `InvalidArgument` if an edit cannot be written, `Corruption` if it does not fit to the files.
    pub(super) fn new(
        families: &BTreeMap<u32, Arc<Family>>,
        mut edits: Vec<VersionEdit>,
        added: Option<&Arc<Family>>,
    ) -> Result<Self> {
        check(&edits)?;
        if edits.len() > 1 {
            for (remaining, edit) in (0..).zip(edits.iter_mut().rev()) {
                edit.atomic_group_remaining = Some(remaining);
            }
        }
        let mut by_family: BTreeMap<u32, Vec<&VersionEdit>> = BTreeMap::new();
        for edit in &edits {
            by_family.entry(edit.family).or_default().push(edit);
        }
        let mut changes = Vec::with_capacity(by_family.len());
        for (id, edits) in by_family {
            let new = added.filter(|family| family.id() == id);
            let family = new.or_else(|| families.get(&id)).ok_or_else(|| {
                Error::invalid_argument(format!("column family {id} was dropped or never was"))
            })?;
            changes.push(FamilyChange::new(Arc::clone(family), &edits)?);
        }
        Ok(Self { edits, families: changes })
    }

    /// Adds what every edit carries.
    pub(super) fn stamp(&mut self, next_file_number: u64, last_sequence: SeqNo) {
        for edit in &mut self.edits {
            edit.prev_log_number = Some(FileNumber::default());
            edit.next_file_number = Some(next_file_number.into());
            edit.last_sequence = Some(last_sequence);
        }
    }

    /// The greatest sequence number of the tables that come.
    pub(super) fn largest_seqno(&self) -> SeqNo {
        let new = self.edits.iter().flat_map(|edit| &edit.new_files);
        // Tables in LevelDB's form have the greatest number of all for "unknown".
        new.map(|new| new.file.largest_seqno)
            .filter(|seqno| *seqno < SeqNo::MAX)
            .max()
            .unwrap_or_default()
    }

    /// Numbers of the files that come.
    pub(super) fn new_files(&self) -> impl Iterator<Item = FileNumber> + '_ {
        self.edits.iter().flat_map(|edit| {
            let tables = edit.new_files.iter().map(|new| new.file.number);
            tables.chain(edit.blob_additions.iter().map(|addition| addition.number))
        })
    }
}

impl FamilyChange {
    fn new(family: Arc<Family>, edits: &[&VersionEdit]) -> Result<Self> {
        let mut change = Self {
            version: None,
            leaving: Vec::new(),
            leaving_blob_files: Vec::new(),
            log_number: edits.iter().filter_map(|edit| edit.log_number).max(),
            full_history_ts_low: edits
                .iter()
                .rev()
                .find_map(|edit| edit.full_history_ts_low.clone()),
            dropped: edits.iter().any(|edit| edit.family_dropped),
            family,
        };
        let current = change.family.current();
        if change.dropped {
            change.leaving = current.files().map(|(_, file)| Arc::clone(file)).collect();
            change.leaving_blob_files = current.blob_files().keys().copied().collect();
            return Ok(change);
        }
        if !edits.iter().any(|edit| edit.changes_files()) {
            return Ok(change);
        }
        let name = change.family.name();
        let place = |error| in_family(&error, name).in_part("version edit");
        let mut builder = VersionBuilder::new(Arc::clone(&current));
        for edit in edits {
            builder.apply(edit).map_err(place)?;
        }
        change.leaving = builder.leaving();
        let version = builder.build().map_err(place)?;
        let gone = |number: &&FileNumber| !version.blob_files().contains_key(number);
        change.leaving_blob_files = current.blob_files().keys().filter(gone).copied().collect();
        change.version = Some(version);
        Ok(change)
    }
}

/// Says in which family it happened.
#[cold]
pub(super) fn in_family(error: &Error, name: &str) -> Error {
    Error::new(error.kind(), format!("column family {name:?}: {}", error.message()))
}

/// Refuses what must not get into a manifest.
fn check(edits: &[VersionEdit]) -> Result<()> {
    for edit in edits {
        if edit.family_dropped && edit.family == DEFAULT_FAMILY {
            return Err(Error::invalid_argument("the default column family cannot be dropped"));
        }
        if (edit.family_dropped || edit.family_added.is_some()) && edits.len() > 1 {
            return Err(Error::invalid_argument(
                "a column family is created or dropped by an edit of its own",
            ));
        }
        if let Some(new) = edit.new_files.iter().find(|new| new.file.epoch == 0) {
            return Err(Error::invalid_argument(format!(
                "table {} has no epoch; Family::new_epoch gives one",
                new.file.number
            )));
        }
    }
    Ok(())
}
