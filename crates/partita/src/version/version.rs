use std::collections::BTreeMap;
use std::sync::Arc;

use super::edit::{BlobFileAddition, CompactCursor};
use super::{FileNumber, Level, TableFile};
use crate::key::KeyOrder;

/// The greatest number of levels that a column family may have.
pub const LEVELS_MAX: usize = 64;

/// The files of a column family at one moment.
///
/// It never changes, and whoever holds it can read all its files. The next version is made from it by a
/// [`VersionBuilder`](super::VersionBuilder), and shares with it the levels that stay the same.
#[derive(Debug)]
pub struct Version {
    pub(super) order: KeyOrder,
    pub(super) levels: Box<[Arc<Level>]>,
    pub(super) blob_files: Arc<BTreeMap<FileNumber, BlobFile>>,
    pub(super) compact_cursors: Arc<[CompactCursor]>,
}

/// A blob file, which Partita knows of but does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobFile {
    /// What the manifest said when it came.
    pub addition: BlobFileAddition,
    /// Blobs in it that became garbage.
    pub garbage_count: u64,
    /// Their bytes.
    pub garbage_bytes: u64,
}

impl Version {
    /// A version without files.
    ///
    /// * `level_count`: the levels that it has at least.
    pub fn empty(order: KeyOrder, level_count: usize) -> Self {
        let levels = (0..level_count.clamp(1, LEVELS_MAX)).map(|_| Arc::default()).collect();
        Self { order, levels, blob_files: Arc::default(), compact_cursors: Arc::default() }
    }

    /// The order of user keys.
    pub fn key_order(&self) -> &KeyOrder {
        &self.order
    }

    /// The levels, 0 first.
    pub fn levels(&self) -> &[Arc<Level>] {
        &self.levels
    }

    /// The same without the levels from `count` on.
    pub(crate) fn upper_levels(&self, count: usize) -> Self {
        Self {
            order: self.order.clone(),
            levels: self.levels.iter().take(count).cloned().collect(),
            blob_files: Arc::clone(&self.blob_files),
            compact_cursors: Arc::clone(&self.compact_cursors),
        }
    }

    /// All tables with their levels, level by level.
    pub fn files(&self) -> impl Iterator<Item = (usize, &Arc<TableFile>)> {
        let of_level =
            |(at, level): (usize, _)| Level::files(level).iter().map(move |file| (at, file));
        self.levels.iter().map(|level| &**level).enumerate().flat_map(of_level)
    }

    /// Number of tables.
    pub fn file_count(&self) -> usize {
        self.levels.iter().map(|level| level.len()).sum()
    }

    /// Bytes of all tables.
    pub fn file_bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.file_bytes()).fold(0, u64::saturating_add)
    }

    /// The deepest level that has a table.
    pub fn last_level(&self) -> Option<usize> {
        self.levels.iter().rposition(|level| !level.is_empty())
    }

    /// The blob files by number.
    pub fn blob_files(&self) -> &BTreeMap<FileNumber, BlobFile> {
        &self.blob_files
    }

    /// Hints where compactions go on, as RocksDB left them.
    pub fn compact_cursors(&self) -> &[CompactCursor] {
        &self.compact_cursors
    }

    /// The tables of a level that may hold user keys from `from` to `to`, both included; `None` has no bound.
    ///
    /// On level 0 they come newest first, and none that holds older entries of the same keys is missing: the range grows
    /// by each table that it meets.
    pub fn overlapping(
        &self,
        level: usize,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
    ) -> Vec<Arc<TableFile>> {
        let Some(files) = self.levels.get(level) else { return Vec::new() };
        if level == 0 {
            return self.overlapping_level0(from, to);
        }
        let range = files.overlapping(&self.order, from, to);
        files.files()[range].to_vec()
    }

    fn overlapping_level0(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Vec<Arc<TableFile>> {
        let Some(level) = self.levels.first() else { return Vec::new() };
        let order = &self.order;
        let (mut from, mut to) = (from, to);
        let mut taken = vec![false; level.len()];
        loop {
            let mut grew = false;
            for (file, taken) in level.files().iter().zip(&mut taken) {
                let before = from.is_some_and(|from| file.ends_before(order, from));
                let behind = to.is_some_and(|to| file.starts_behind(order, to));
                if *taken || before || behind {
                    continue;
                }
                *taken = true;
                if from.is_some_and(|from| order.compare(file.smallest_user_key(), from).is_lt()) {
                    from = Some(file.smallest_user_key());
                    grew = true;
                }
                if to.is_some_and(|to| order.compare(file.largest_user_key(), to).is_gt()) {
                    to = Some(file.largest_user_key());
                    grew = true;
                }
            }
            if !grew {
                break;
            }
        }
        let taken = level.files().iter().zip(taken).filter(|(_, taken)| *taken);
        taken.map(|(file, _)| Arc::clone(file)).collect()
    }

    /// Whether a level deeper than `level` may hold user keys from `from` to `to`, both included.
    ///
    /// Where none does, a deletion written to `level` has nothing to delete.
    pub fn overlaps_below(&self, level: usize, from: Option<&[u8]>, to: Option<&[u8]>) -> bool {
        let deeper = self.levels.iter().skip(level + 1);
        deeper.into_iter().any(|level| !level.overlapping(&self.order, from, to).is_empty())
    }

    /// The first and last user key of the tables of a level; `None` if it has none.
    pub fn key_range(&self, level: usize) -> Option<(&[u8], &[u8])> {
        let files = self.levels.get(level)?.files();
        let order = &self.order;
        let smallest =
            files.iter().map(|file| file.smallest_user_key()).min_by(|a, b| order.compare(a, b))?;
        let largest =
            files.iter().map(|file| file.largest_user_key()).max_by(|a, b| order.compare(a, b))?;
        Some((smallest, largest))
    }
}
