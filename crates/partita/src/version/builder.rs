use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::edit::{BlobFileAddition, BlobFileGarbage, NewFile};
use super::table_file::{newest_first, newest_first_by_seqno};
use super::version::{BlobFile, LEVELS_MAX};
use super::{FileMeta, FileNumber, Level, TableFile, Version, VersionEdit};
use crate::error::{Error, Result};
use crate::key::{Excerpt, KeyOrder};

/// The epoch of files that are ingested behind all others.
pub(crate) const BEHIND_EPOCH: u64 = 1;
pub(super) const FIRST_EPOCH: u64 = BEHIND_EPOCH + 1;

/// Makes the next version of a column family out of one and the edits that follow it.
///
/// 1. Edits are gathered as differences to the base; nothing is sorted or copied until [`VersionBuilder::build`], so a
///    manifest of many edits costs what it holds.
/// 2. A level that no edit touched is shared with the base. A level that one did is copied once, and its order checked
///    where tables came or met.
/// 3. A table that moves from level to level stays the same object, with its open reader.
/// 4. What does not fit is damage, by the names of table and level: a table that leaves without being there, comes
///    twice, or overlaps another.
#[derive(Clone, Debug)]
pub struct VersionBuilder {
    base: Arc<Version>,
    /// By number, every table that an edit named.
    changes: HashMap<FileNumber, Change>,
    blob_files: Option<BTreeMap<FileNumber, BlobFile>>,
    compact_cursors: BTreeMap<u32, Box<[u8]>>,
    /// Tables that are taken, when they come, instead of new ones.
    known: Option<HashMap<FileNumber, Arc<TableFile>>>,
}

/// What became of a table that edits named.
#[derive(Clone, Debug)]
struct Change {
    /// Where the base has it.
    base: Option<(u32, Arc<TableFile>)>,
    /// Where the next version has it.
    now: Option<(u32, Arc<TableFile>)>,
}

impl VersionBuilder {
    /// A builder that starts from `base`.
    pub fn new(base: Arc<Version>) -> Self {
        let cursors = base.compact_cursors.iter();
        let compact_cursors = cursors.map(|cursor| (cursor.level, cursor.key.clone())).collect();
        Self { base, changes: HashMap::new(), blob_files: None, compact_cursors, known: None }
    }

    /// Has it take these tables, and those that leave, when they come.
    pub(super) fn reusing(mut self, known: HashMap<FileNumber, Arc<TableFile>>) -> Self {
        self.known = Some(known);
        self
    }

    /// Ends what is known of tables that left, or did not come.
    pub(super) fn forget_what_left(&mut self) {
        self.changes.retain(|_, change| change.base.is_some() || change.now.is_some());
        if let Some(known) = &mut self.known {
            known.clear();
        }
    }

    /// Applies an edit: tables leave, then others come.
    ///
    /// * Errors: `Corruption` if it does not fit to what is there. The builder is of no use after that.
    pub fn apply(&mut self, edit: &VersionEdit) -> Result<()> {
        for deleted in &edit.deleted_files {
            self.delete(deleted.level, deleted.number)?;
        }
        for new in &edit.new_files {
            self.add(new)?;
        }
        for addition in &edit.blob_additions {
            self.add_blob_file(addition)?;
        }
        for garbage in &edit.blob_garbage {
            self.add_blob_garbage(garbage)?;
        }
        for cursor in &edit.compact_cursors {
            self.compact_cursors.insert(cursor.level, cursor.key.clone());
        }
        Ok(())
    }

    fn delete(&mut self, level: u32, number: FileNumber) -> Result<()> {
        let missing = || {
            Error::corruption(format!("table {number} is to leave level {level} and is not there"))
        };
        if let Some(change) = self.changes.get_mut(&number) {
            let Some((_, file)) = change.now.take_if(|(at, _)| *at == level) else {
                return Err(missing());
            };
            if let Some(known) = &mut self.known {
                known.insert(number, file);
            }
            return Ok(());
        }
        let files = self.base.levels.get(level as usize).ok_or_else(missing)?;
        let at = files.position(number).ok_or_else(missing)?;
        let file = files.files().get(at).ok_or_else(missing)?;
        let base = Some((level, Arc::clone(file)));
        self.changes.insert(number, Change { base, now: None });
        Ok(())
    }

    fn add(&mut self, NewFile { level, file }: &NewFile) -> Result<()> {
        let number = file.number;
        if *level as usize >= LEVELS_MAX {
            return Err(Error::not_supported(format!(
                "table {number} on level {level}; Partita has levels below {LEVELS_MAX}"
            )));
        }
        self.check_range(*level, file)?;
        let there = match self.changes.get(&number) {
            Some(change) => change.now.as_ref().map(|(at, _)| *at),
            None => {
                let mut levels = self.base.levels.iter();
                levels.position(|level| level.position(number).is_some()).map(|at| at as u32)
            }
        };
        if let Some(there) = there {
            return Err(Error::corruption(format!(
                "table {number} is to come to level {level} and is on level {there} already"
            )));
        }
        let change = self.changes.entry(number).or_insert(Change { base: None, now: None });
        let moved = change.base.as_ref().map(|(_, old)| old).filter(|old| old.meta == *file);
        let known = self.known.as_ref().and_then(|known| known.get(&number));
        let file = match moved.or(known.filter(|known| is_same(known, file))) {
            Some(old) => Arc::clone(old),
            None => Arc::new(TableFile::new(file.clone())),
        };
        change.now = Some((*level, file));
        Ok(())
    }

    fn check_range(&self, level: u32, file: &FileMeta) -> Result<()> {
        file.check_boundaries()?;
        if self.base.order.compare_internal(&file.smallest, &file.largest).is_gt() {
            return Err(Error::corruption(format!(
                "table {} on level {level} goes from {} to {}, which is before it",
                file.number,
                Excerpt(file.smallest_user_key()),
                Excerpt(file.largest_user_key()),
            )));
        }
        Ok(())
    }

    fn blob_files_mut(&mut self) -> &mut BTreeMap<FileNumber, BlobFile> {
        let base = &self.base.blob_files;
        self.blob_files.get_or_insert_with(|| BTreeMap::clone(base))
    }

    fn add_blob_file(&mut self, addition: &BlobFileAddition) -> Result<()> {
        let number = addition.number;
        let file = BlobFile { addition: addition.clone(), garbage_count: 0, garbage_bytes: 0 };
        match self.blob_files_mut().insert(number, file) {
            None => Ok(()),
            Some(_) => {
                Err(Error::corruption(format!("blob file {number} comes and is there already")))
            }
        }
    }

    fn add_blob_garbage(&mut self, garbage: &BlobFileGarbage) -> Result<()> {
        let number = garbage.number;
        let Some(file) = self.blob_files_mut().get_mut(&number) else {
            return Err(Error::corruption(format!(
                "garbage was found in blob file {number}, which is not there"
            )));
        };
        file.garbage_count = file.garbage_count.saturating_add(garbage.blob_count);
        file.garbage_bytes = file.garbage_bytes.saturating_add(garbage.blob_bytes);
        Ok(())
    }

    /// Gives all tables epochs if one of them has none, as files of RocksDB before 7.10: one for each level from the
    /// bottom up, then one for each table of level 0 from the oldest.
    ///
    /// Only for a builder whose base is empty, so that all tables are its own.
    pub(super) fn infer_missing_epochs(&mut self) {
        debug_assert_eq!(self.base.file_count(), 0);
        let mut files: Vec<(u32, &mut TableFile)> = Vec::new();
        for change in self.changes.values_mut() {
            let Some((level, file)) = &mut change.now else { continue };
            if let Some(file) = Arc::get_mut(file) {
                files.push((*level, file));
            }
        }
        if files.iter().all(|(_, file)| file.meta.epoch != 0) {
            return;
        }
        files.sort_by(|(a_level, a), (b_level, b)| {
            b_level.cmp(a_level).then_with(|| newest_first_by_seqno(&b.meta, &a.meta))
        });
        let mut epoch = FIRST_EPOCH - 1;
        let mut above = None;
        for (level, file) in files {
            if level == 0 || above != Some(level) {
                epoch += 1;
            }
            above = Some(level);
            file.meta.epoch = epoch;
        }
    }

    /// Gives tables without an epoch one by the number of their newest entry: the same whatever tables come with them.
    ///
    /// Only before the first version is built of them.
    pub(super) fn epochs_from_seqnos(&mut self) {
        for change in self.changes.values_mut() {
            let Some((_, file)) = &mut change.now else { continue };
            if file.meta.epoch == 0
                && let Some(file) = Arc::get_mut(file)
            {
                file.meta.epoch = epoch_from_seqno(&file.meta);
            }
        }
    }

    /// The tables of the base that the next version does not name.
    pub(super) fn leaving(&self) -> Vec<Arc<TableFile>> {
        let left = |change: &Change| match (&change.base, &change.now) {
            (Some((_, file)), None) => Some(Arc::clone(file)),
            _ => None,
        };
        self.changes.values().filter_map(left).collect()
    }

    /// The version.
    ///
    /// * Errors: `Corruption` if tables overlap that must not, by their names and level.
    pub fn build(self) -> Result<Version> {
        let Self { base, changes, blob_files, compact_cursors, known: _ } = self;
        let mut by_level: BTreeMap<usize, LevelChanges> = BTreeMap::new();
        for (number, change) in changes {
            if let Some((level, _)) = &change.base {
                by_level.entry(*level as usize).or_default().gone.push(number);
            }
            if let Some((level, file)) = change.now {
                by_level.entry(level as usize).or_default().new.push(file);
            }
        }
        let deepest = by_level.keys().last().map_or(0, |level| level + 1);
        let mut levels = base.levels.to_vec();
        levels.resize_with(levels.len().max(deepest), Arc::default);
        for (at, changes) in by_level {
            if let Some(level) = levels.get_mut(at) {
                *level = Arc::new(changes.apply(level, at, &base.order)?);
            }
        }
        let blob_files = match blob_files {
            None => Arc::clone(&base.blob_files),
            Some(mut files) => {
                files.retain(|_, file| file.garbage_count < file.addition.blob_count);
                Arc::new(files)
            }
        };
        let cursors = compact_cursors.into_iter();
        Ok(Version {
            order: base.order.clone(),
            levels: levels.into(),
            blob_files,
            compact_cursors: cursors
                .map(|(level, key)| super::edit::CompactCursor { level, key })
                .collect(),
        })
    }
}

/// Whether a table that is known is what a manifest says, which may not know the epoch that was given to it.
fn is_same(known: &TableFile, said: &FileMeta) -> bool {
    if said.epoch != 0 {
        return known.meta == *said;
    }
    known.meta.epoch == epoch_from_seqno(said)
        && FileMeta { epoch: 0, ..known.meta.clone() } == *said
}

/// Of a table that has no epoch, the newer the greater.
fn epoch_from_seqno(file: &FileMeta) -> u64 {
    FIRST_EPOCH + file.largest_seqno.get()
}

/// What changes on a level.
#[derive(Default)]
struct LevelChanges {
    /// Tables of the base that leave; those that come back are among the new ones.
    gone: Vec<FileNumber>,
    new: Vec<Arc<TableFile>>,
}

impl LevelChanges {
    fn apply(mut self, base: &Level, at_level: usize, order: &KeyOrder) -> Result<Level> {
        let by_place = |a: &TableFile, b: &TableFile| match at_level {
            0 => newest_first(a, b),
            _ => order
                .compare_internal(&a.smallest, &b.smallest)
                .then_with(|| a.number.cmp(&b.number)),
        };
        self.gone.sort_unstable();
        self.new.sort_unstable_by(|a, b| by_place(a, b));
        let stays = |file: &Arc<TableFile>| self.gone.binary_search(&file.number).is_err();
        let mut files: Vec<Arc<TableFile>> = Vec::with_capacity(base.len() + self.new.len());
        let mut came: Vec<usize> = Vec::with_capacity(self.new.len());
        let mut rest = base.files();
        for file in self.new {
            let before = rest.partition_point(|other| by_place(other, &file).is_lt());
            let (earlier, later) = rest.split_at(before);
            files.extend(earlier.iter().filter(|file| stays(file)).cloned());
            came.push(files.len());
            files.push(file);
            rest = later;
        }
        files.extend(rest.iter().filter(|file| stays(file)).cloned());
        // Tables of the base are in order among themselves, so only those that came can overlap.
        for at in came {
            let around =
                files.get(at.saturating_sub(1)..files.len().min(at + 2)).unwrap_or_default();
            for pair in around.windows(2) {
                if let [a, b] = pair {
                    check_neighbours(at_level, order, a, b)?;
                }
            }
        }
        Ok(Level::new(order, files))
    }
}

fn check_neighbours(level: usize, order: &KeyOrder, a: &TableFile, b: &TableFile) -> Result<()> {
    if level == 0 {
        let apart = order.compare_internal(&a.largest, &b.smallest).is_lt()
            || order.compare_internal(&b.largest, &a.smallest).is_lt();
        if a.epoch != b.epoch || apart {
            return Ok(());
        }
        return Err(Error::corruption(format!(
            "tables {} and {} on level 0 overlap and have the same epoch {}, so that neither is the newer one",
            a.number, b.number, a.epoch
        )));
    }
    if order.compare_internal(&a.largest, &b.smallest).is_lt() {
        return Ok(());
    }
    Err(Error::corruption(format!(
        "tables {} and {} on level {level} overlap: one ends with {}, the other starts with {}",
        a.number,
        b.number,
        Excerpt(a.largest_user_key()),
        Excerpt(b.smallest_user_key()),
    )))
}
