//! What a manifest's edits add up to: which tables every family has. Keys are not compared, so any comparator will do, and
//! damage ends the reading, not what was read before it.

use std::collections::BTreeMap;
use std::path::Path;

use partita::io::FileSystem;
use partita::key::BYTEWISE_NAME;
use partita::version::{
    DEFAULT_FAMILY, DEFAULT_FAMILY_NAME, FileMeta, FileName, FileNumber, ManifestReader,
    VersionEdit,
};

use crate::model::{Family, ManifestState, Problem};

/// Edits that an atomic group may have: RocksDB makes one for each column family.
const GROUP_LEN_MAX: usize = 1 << 20;

/// The state that a manifest describes.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) manifest: Option<ManifestState>,
    families: BTreeMap<u32, FamilyState>,
    group: Vec<VersionEdit>,
    pub(super) problems: Vec<Problem>,
}

#[derive(Debug, Default)]
struct FamilyState {
    family: Family,
    /// By number: the level, and what the manifest says.
    tables: BTreeMap<u64, (u32, FileMeta)>,
    blobs: Vec<u64>,
}

impl State {
    /// Reads CURRENT and its manifest; without a CURRENT of any use the newest manifest.
    pub(super) fn read(fs: &dyn FileSystem, dir: &Path, newest: Option<u64>) -> Self {
        let mut state = Self::default();
        let reader = match ManifestReader::open_current(fs, dir) {
            Ok((number, reader)) => Some((number.get(), reader)),
            Err(error) => {
                state.problems.push(Problem::new(&error));
                let open = |number: u64| {
                    let path = FileName::Manifest(FileNumber::from(number)).in_dir(dir);
                    Some((number, ManifestReader::new(fs.open_sequential(&path).ok()?)))
                };
                newest.and_then(open)
            }
        };
        if let Some((number, reader)) = reader {
            state.replay(number, reader);
        }
        state
    }

    fn replay(&mut self, number: u64, mut reader: ManifestReader) {
        self.manifest = Some(ManifestState { number, ..ManifestState::default() });
        self.add_family(DEFAULT_FAMILY, DEFAULT_FAMILY_NAME);
        loop {
            match reader.next_edit() {
                Ok(Some(found)) => self.record(found.edit),
                Ok(None) => return,
                Err(error) => return self.problems.push(Problem::new(&error)),
            }
        }
    }

    fn add_family(&mut self, id: u32, name: &str) {
        let family = Family {
            id,
            name: name.to_owned(),
            comparator: BYTEWISE_NAME.to_owned(),
            log_number: 0,
        };
        self.families.insert(id, FamilyState { family, ..FamilyState::default() });
    }

    /// Takes an edit; those of an atomic group count once all of it was seen.
    fn record(&mut self, edit: VersionEdit) {
        let Some(remaining) = edit.atomic_group_remaining else {
            self.group.clear();
            return self.apply(edit);
        };
        if self.group.len() < GROUP_LEN_MAX {
            self.group.push(edit);
        }
        if remaining == 0 {
            for edit in std::mem::take(&mut self.group) {
                self.apply(edit);
            }
        }
    }

    fn apply(&mut self, edit: VersionEdit) {
        self.apply_globals(&edit);
        if let Some(name) = &edit.family_added {
            self.add_family(edit.family, name);
        }
        if edit.family_dropped {
            self.families.remove(&edit.family);
            return;
        }
        let Some(state) = self.families.get_mut(&edit.family) else { return };
        if let Some(comparator) = edit.comparator {
            state.family.comparator = comparator;
        }
        if let Some(number) = edit.log_number {
            state.family.log_number = state.family.log_number.max(number.get());
        }
        for file in &edit.deleted_files {
            state.tables.remove(&file.number.get());
        }
        for new in edit.new_files {
            state.tables.insert(new.file.number.get(), (new.level, new.file));
        }
        state.blobs.extend(edit.blob_additions.iter().map(|blob| blob.number.get()));
    }

    fn apply_globals(&mut self, edit: &VersionEdit) {
        let Some(manifest) = &mut self.manifest else { return };
        manifest.edits += 1;
        if let Some(number) = edit.min_log_number_to_keep {
            manifest.min_log_to_keep = manifest.min_log_to_keep.max(number.get());
        }
        if let Some(seqno) = edit.last_sequence {
            manifest.last_sequence = manifest.last_sequence.max(seqno.get());
        }
        for log in &edit.wal_additions {
            manifest.logs.retain(|(number, _)| *number != log.number.get());
            manifest.logs.push((log.number.get(), log.synced_bytes));
        }
        if let Some(first) = edit.wal_deletion {
            manifest.logs.retain(|(number, _)| *number >= first.get());
        }
    }

    pub(super) fn families(&self) -> impl Iterator<Item = &Family> {
        self.families.values().map(|state| &state.family)
    }

    /// All tables: family, level, and what the manifest says.
    pub(super) fn tables(&self) -> impl Iterator<Item = (u32, u32, &FileMeta)> {
        self.families
            .iter()
            .flat_map(|(id, state)| state.tables.values().map(|(level, meta)| (*id, *level, meta)))
    }

    pub(super) fn blobs(&self) -> impl Iterator<Item = u64> {
        self.families.values().flat_map(|state| state.blobs.iter().copied())
    }

    /// Whether nothing happened between two readings.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.manifest == other.manifest && self.problems == other.problems
    }
}
