//! The state that a manifest's records add up to.
//!
//! 1. The default family is there from the start; others come with an edit that names them, and go with another.
//! 2. An edit counts alone, or, in an atomic group, once the whole group was seen. A group that the manifest ends in does
//!    not count.
//! 3. Files of all edits of a family are gathered and put in order at the end: a manifest is allowed to pass through
//!    states that only the next record makes sense of.
//! 4. Nothing is guessed: what does not fit is an error, and what we do not have is refused by name.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::edit::WalAddition;
use super::family::{DEFAULT_FAMILY, DEFAULT_FAMILY_NAME, FamilyStart};
use super::follow::KnownTables;
use super::plan::in_family;
use super::{FileNumber, TableFile, Version, VersionBuilder, VersionEdit};
use crate::error::{Error, Result};
use crate::key::{BYTEWISE_NAME, Comparator, KeyOrder, SeqNo};

/// What the names of comparators with user-defined timestamps end with.
const TIMESTAMP_SUFFIX: &str = ".u64ts";
/// Edits that an atomic group may have: RocksDB makes one for each column family.
const GROUP_LEN_MAX: usize = 1 << 20;

/// What is known of families before the manifest is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Expectations {
    pub(super) comparators: Vec<Arc<dyn Comparator>>,
    pub(super) level_count: usize,
    pub(super) level_counts: BTreeMap<String, usize>,
    /// The families to open; `None` opens all.
    pub(super) only: Option<Vec<String>>,
}

impl Expectations {
    fn level_count_of(&self, family: &str) -> usize {
        self.level_counts.get(family).copied().unwrap_or(self.level_count)
    }
}

#[derive(Debug)]
pub(super) struct Replay {
    expect: Expectations,
    families: BTreeMap<u32, FamilyReplay>,
    group: Vec<VersionEdit>,
    log_number: Option<FileNumber>,
    prev_log_number: FileNumber,
    next_file_number: Option<FileNumber>,
    last_sequence: Option<SeqNo>,
    min_log_number_to_keep: FileNumber,
    max_family: u32,
    db_id: Option<String>,
    wals: BTreeMap<FileNumber, WalAddition>,
    /// Of a manifest that is followed: tables that are known already.
    following: Option<KnownTables>,
}

#[derive(Clone, Debug)]
struct FamilyReplay {
    name: String,
    opened: bool,
    comparator: Option<String>,
    /// Made once the comparator is needed.
    builder: Option<VersionBuilder>,
    /// Tables that the builder is to take instead of new ones.
    known: Option<HashMap<FileNumber, Arc<TableFile>>>,
    log_number: FileNumber,
    full_history_ts_low: Option<Box<[u8]>>,
    timestamps_persisted: bool,
}

/// The state at the manifest's end.
pub(super) struct Replayed {
    pub(super) families: Vec<FamilyStart>,
    /// Families that were not to be opened, by id.
    pub(super) unopened: BTreeMap<u32, String>,
    pub(super) next_file_number: FileNumber,
    pub(super) last_sequence: SeqNo,
    pub(super) min_log_number_to_keep: FileNumber,
    pub(super) max_family: u32,
    pub(super) db_id: Option<String>,
    pub(super) wals: Vec<WalAddition>,
}

impl Replay {
    pub(super) fn new(expect: Expectations) -> Self {
        let mut replay = Self {
            families: BTreeMap::new(),
            group: Vec::new(),
            log_number: None,
            prev_log_number: FileNumber::default(),
            next_file_number: None,
            last_sequence: None,
            min_log_number_to_keep: FileNumber::default(),
            max_family: 0,
            db_id: None,
            wals: BTreeMap::new(),
            following: None,
            expect,
        };
        replay.add_family(DEFAULT_FAMILY, DEFAULT_FAMILY_NAME);
        replay
    }

    /// Has what comes of the records asked for again and again ([`Replay::state`]).
    ///
    /// * `known`: tables that stay the same objects.
    pub(super) fn following(mut self, known: KnownTables) -> Self {
        self.families.values_mut().for_each(|family| family.known = Some(HashMap::new()));
        self.following = Some(known);
        self
    }

    fn add_family(&mut self, id: u32, name: &str) {
        let opened = match &self.expect.only {
            Some(names) => names.iter().any(|other| other == name),
            None => true,
        };
        let family = FamilyReplay {
            name: name.to_owned(),
            opened,
            comparator: None,
            builder: None,
            known: self.following.is_some().then(HashMap::new),
            log_number: FileNumber::default(),
            full_history_ts_low: None,
            timestamps_persisted: true,
        };
        self.families.insert(id, family);
        self.max_family = self.max_family.max(id);
    }

    /// Takes a record's edit.
    pub(super) fn record(&mut self, edit: VersionEdit) -> Result<()> {
        let Some(remaining) = edit.atomic_group_remaining else {
            if !self.group.is_empty() {
                return Err(Error::corruption("an atomic group is broken off by another edit"));
            }
            return self.apply(&edit);
        };
        let expected = self.group.last().and_then(|last| last.atomic_group_remaining);
        let fits = match expected {
            Some(before) => before.checked_sub(1) == Some(remaining),
            None => (remaining as usize) < GROUP_LEN_MAX,
        };
        if !fits {
            return Err(Error::corruption(format!(
                "an edit of an atomic group says that {remaining} follow it, the one before says {expected:?}"
            )));
        }
        self.group.push(edit);
        if remaining == 0 {
            for edit in std::mem::take(&mut self.group) {
                self.apply(&edit)?;
            }
        }
        Ok(())
    }

    fn apply(&mut self, edit: &VersionEdit) -> Result<()> {
        let id = edit.family;
        if let Some(name) = &edit.family_added {
            if let Some(there) = self.families.get(&id) {
                return Err(Error::corruption(format!(
                    "column family {id} {name:?} is added and is there already as {:?}",
                    there.name
                )));
            }
            self.add_family(id, name);
        }
        self.apply_globals(edit);
        if edit.family_dropped {
            if id == DEFAULT_FAMILY {
                return Err(Error::corruption("the default column family is dropped"));
            }
            return match self.families.remove(&id) {
                Some(_) => Ok(()),
                None => Err(Error::corruption(format!(
                    "column family {id} is dropped and is not there"
                ))),
            };
        }
        let Some(family) = self.families.get_mut(&id) else {
            return Err(Error::corruption(format!(
                "an edit is about column family {id}, which is not there"
            )));
        };
        if !family.opened {
            return Ok(());
        }
        let known = self.following.as_mut().and_then(|known| known.remove(&id));
        family.known = known.or(family.known.take());
        family.apply(edit, &self.expect)
    }

    /// Takes what is the whole database's.
    fn apply_globals(&mut self, edit: &VersionEdit) {
        self.log_number = self.log_number.max(edit.log_number);
        self.prev_log_number = edit.prev_log_number.unwrap_or(self.prev_log_number);
        self.next_file_number = edit.next_file_number.or(self.next_file_number);
        self.last_sequence = self.last_sequence.max(edit.last_sequence);
        if let Some(number) = edit.min_log_number_to_keep {
            self.min_log_number_to_keep = self.min_log_number_to_keep.max(number);
        }
        self.max_family = edit.max_family.unwrap_or(0).max(self.max_family);
        if let Some(id) = &edit.db_id {
            self.db_id = Some(id.clone());
        }
        for wal in &edit.wal_additions {
            self.wals.insert(wal.number, *wal);
        }
        if let Some(number) = edit.wal_deletion {
            self.wals = self.wals.split_off(&number);
        }
    }

    /// The state that all records so far add up to; others may follow.
    ///
    /// * Errors: those of [`Replay::finish`].
    pub(super) fn state(&mut self) -> Result<Replayed> {
        let mut families = BTreeMap::new();
        for (id, family) in &mut self.families {
            if let Some(builder) = &mut family.builder {
                builder.epochs_from_seqnos();
                builder.forget_what_left();
            }
            families.insert(*id, family.clone());
        }
        let copy = Self {
            expect: self.expect.clone(),
            families,
            group: Vec::new(),
            db_id: self.db_id.clone(),
            wals: self.wals.clone(),
            following: None,
            ..*self
        };
        copy.finish()
    }

    /// The state that all records add up to.
    ///
    /// * Errors: `Corruption` if they leave out what every manifest has, or tables of a family overlap.
    pub(super) fn finish(self) -> Result<Replayed> {
        let missing = |what| Error::corruption(format!("no record has the {what}"));
        let log_number = self.log_number.ok_or_else(|| missing("log number"))?;
        let next_file_number = self.next_file_number.ok_or_else(|| missing("next file number"))?;
        let last_sequence = self.last_sequence.ok_or_else(|| missing("last sequence number"))?;
        let mut used = next_file_number.max(log_number).max(self.prev_log_number);
        let (mut families, mut unopened) = (Vec::new(), BTreeMap::new());
        for (id, family) in self.families {
            if !family.opened {
                unopened.insert(id, family.name);
                continue;
            }
            let start = family.finish(id, &self.expect)?;
            let tables = start.version.files().map(|(_, file)| file.number);
            used = tables.fold(used, FileNumber::max);
            families.push(start);
        }
        if used >= FileNumber::TOO_GREAT {
            return Err(Error::corruption(format!(
                "files have numbers up to {used}, which leaves no room for new ones"
            )));
        }
        Ok(Replayed {
            families,
            unopened,
            next_file_number: used.next(),
            last_sequence,
            min_log_number_to_keep: self.min_log_number_to_keep,
            max_family: self.max_family,
            db_id: self.db_id,
            wals: self.wals.into_values().collect(),
        })
    }
}

impl FamilyReplay {
    fn apply(&mut self, edit: &VersionEdit, expect: &Expectations) -> Result<()> {
        if let Some(found) = &edit.comparator {
            match &self.comparator {
                Some(before) if before != found => {
                    return Err(self.changed_comparator(before, found));
                }
                None if self.builder.is_some() && found != BYTEWISE_NAME => {
                    return Err(self.changed_comparator(BYTEWISE_NAME, found));
                }
                _ => self.comparator = Some(found.clone()),
            }
        }
        if let Some(number) = edit.log_number {
            self.log_number = self.log_number.max(number);
        }
        if let Some(low) = &edit.full_history_ts_low {
            self.full_history_ts_low = Some(low.clone());
        }
        if let Some(persisted) = edit.persist_user_defined_timestamps {
            self.timestamps_persisted = persisted;
        }
        if !edit.changes_files() {
            return Ok(());
        }
        let result = self.builder(expect)?.apply(edit);
        result.map_err(|error| in_family(&error, &self.name))
    }

    fn builder(&mut self, expect: &Expectations) -> Result<&mut VersionBuilder> {
        let builder = match self.builder.take() {
            Some(builder) => builder,
            None => {
                let order = self.order(expect)?;
                let levels = expect.level_count_of(&self.name);
                let builder = VersionBuilder::new(Arc::new(Version::empty(order, levels)));
                match self.known.take() {
                    Some(known) => builder.reusing(known),
                    None => builder,
                }
            }
        };
        Ok(self.builder.insert(builder))
    }

    fn order(&self, expect: &Expectations) -> Result<KeyOrder> {
        let name = self.comparator.as_deref().unwrap_or(BYTEWISE_NAME);
        if let Some(order) = KeyOrder::builtin(name) {
            return Ok(order);
        }
        if let Some(known) = expect.comparators.iter().find(|known| known.name() == name) {
            return Ok(KeyOrder::Custom(Arc::clone(known)));
        }
        let family = &self.name;
        Err(if name.ends_with(TIMESTAMP_SUFFIX) {
            Error::not_supported(format!(
                "user-defined timestamps (comparator {name:?} of column family {family:?})"
            ))
        } else {
            Error::not_supported(format!(
                "comparator {name:?} of column family {family:?}, which is not registered"
            ))
        })
    }

    fn finish(mut self, id: u32, expect: &Expectations) -> Result<FamilyStart> {
        self.builder(expect)?.infer_missing_epochs();
        let version = match self.builder.take() {
            Some(builder) => builder.build().map_err(|error| in_family(&error, &self.name))?,
            None => Version::empty(self.order(expect)?, expect.level_count_of(&self.name)),
        };
        Ok(FamilyStart {
            id,
            name: self.name,
            version: Arc::new(version),
            log_number: self.log_number,
            full_history_ts_low: self.full_history_ts_low,
            timestamps_persisted: self.timestamps_persisted,
        })
    }

    #[cold]
    fn changed_comparator(&self, before: &str, found: &str) -> Error {
        Error::corruption(format!(
            "column family {:?} has the comparator {found:?}, an earlier record says {before:?}",
            self.name
        ))
    }
}
