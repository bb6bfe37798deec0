//! Following the manifest of a database that somebody else writes.
//!
//! ```text
//! ManifestFollower   what the records so far add up to, and the reader behind the last of them
//!   read_on          records that came since; nobody sees them yet
//!   state            the versions that they lead to; tables that stayed are the same objects, with what was read of them
//! VersionSet
//!   match_followed   which of the families are new
//!   install_followed readers of the set see them
//! ```
//!
//! 1. A manifest is read on only behind a whole record. Where the last one was still being written, it is read from its start
//!    again, as is a new manifest.
//! 2. Tables of RocksDB before 7.10 have no epochs. They are given the sequence number of their newest entry, which puts level 0
//!    into the order that RocksDB had: unlike the numbers that a recovery gives, it stays right when others come.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::edit::WalAddition;
use super::family::{Family, FamilyStart};
use super::replay::{Replay, Replayed};
use super::{FileNumber, ManifestReader, TableFile, Version, VersionSet};
use crate::error::Result;
use crate::io::SequentialFile;
use crate::key::SeqNo;

/// Tables that are known already, by family and number.
pub(super) type KnownTables = BTreeMap<u32, HashMap<FileNumber, Arc<TableFile>>>;

/// A manifest that is read as it grows.
#[derive(Debug)]
pub(crate) struct ManifestFollower {
    reader: ManifestReader,
    replay: Replay,
}

/// The state of a database that is followed.
pub(crate) struct Followed {
    pub(crate) families: Vec<FollowedFamily>,
    pub(crate) last_sequence: SeqNo,
    /// Logs with a smaller number are not needed.
    pub(crate) first_log: FileNumber,
    /// Logs that have to be there.
    pub(crate) wals: Vec<WalAddition>,
    db_id: Option<String>,
}

/// One of its families.
pub(crate) struct FollowedFamily {
    pub(crate) family: Arc<Family>,
    pub(crate) version: Arc<Version>,
    /// Logs with a smaller number hold nothing of it that is not in tables.
    pub(crate) log_number: FileNumber,
    pub(crate) is_new: bool,
}

impl ManifestFollower {
    /// Starts with the first record of a manifest.
    pub(crate) fn new(file: Box<dyn SequentialFile>, set: &VersionSet) -> Self {
        let known = set.families().into_iter().map(|family| {
            let tables = family.current();
            let tables = tables.files().map(|(_, file)| (file.number, Arc::clone(file)));
            (family.id(), tables.collect())
        });
        let replay = Replay::new(set.expectations()).following(known.collect());
        Self { reader: ManifestReader::new(file), replay }
    }

    /// Takes the records that came since.
    ///
    /// * After an error it is of no use.
    pub(crate) fn read_on(&mut self) -> Result<()> {
        self.reader.read_on()?;
        while let Some(found) = self.reader.next_edit()? {
            let taken = self.replay.record(found.edit);
            taken.map_err(|error| error.at(found.offset).in_file(self.reader.path()))?;
        }
        Ok(())
    }

    /// Whether it stands behind a whole record at a file's end, and can be read on when the file has grown.
    pub(crate) fn stands_at(&self, file_bytes: u64) -> bool {
        self.reader.end_offset() == file_bytes
    }

    /// What all records so far add up to.
    pub(crate) fn state(&mut self, set: &VersionSet) -> Result<Followed> {
        let state = self.replay.state().map_err(|error| error.in_file(self.reader.path()))?;
        Ok(set.match_followed(state))
    }
}

impl Followed {
    /// Whether it is a state of another database than `set` is.
    pub(crate) fn is_of_another(&self, set: &VersionSet) -> bool {
        matches!((&self.db_id, set.db_id()), (Some(found), Some(known)) if found != known)
    }
}

impl VersionSet {
    fn match_followed(&self, state: Replayed) -> Followed {
        let flushed = state.families.iter().map(|start| start.log_number).min();
        let first_log = state.min_log_number_to_keep.max(flushed.unwrap_or_default());
        let family = |start: FamilyStart| {
            let (version, log_number) = (Arc::clone(&start.version), start.log_number);
            let known = self.family(start.id);
            let is_new = known.is_none();
            let family = known.unwrap_or_else(|| Arc::new(Family::new(start)));
            FollowedFamily { family, version, log_number, is_new }
        };
        Followed {
            families: state.families.into_iter().map(family).collect(),
            last_sequence: state.last_sequence,
            first_log,
            wals: state.wals,
            db_id: state.db_id,
        }
    }
}
