//! Levelled compaction: the level that is over its target by most gives files to the next.
//!
//! ```text
//! score of level 0    files / trigger, or bytes / target of the base level if that is more
//! score of level i    bytes / target
//! ```
//!
//! 1. Level 0 is merged as a whole into the base level, by one compaction at a time: its files overlap.
//! 2. Of another level the file is taken whose merge rewrites least for what it moves: bytes overlapped below, divided by
//!    its own.
//! 3. Where the base level is taken by another compaction, small files of level 0 are merged among themselves, so that
//!    reads do not pay for the wait.
//! 4. Files are taken so that no user key is cut in two: [`Level::whole_keys`](crate::version::Level::whole_keys).

use std::ops::Range;
use std::sync::Arc;

use super::{Compaction, LevelInput, Moment, Reason};
use crate::compaction::targets::{LevelTargets, LeveledShape};
use crate::options::ColumnFamilyOptions;
use crate::version::{TableFile, Version};

/// Files of level 0 that a merge among themselves takes at least.
const LEVEL0_MERGE_FILES_MIN: usize = 4;

/// Picks compactions for one column family.
#[derive(Clone, Debug)]
pub(crate) struct LeveledPicker {
    pub(super) shape: LeveledShape,
}

impl LeveledPicker {
    pub(super) fn new(options: &ColumnFamilyOptions) -> Self {
        Self { shape: LeveledShape::new(options) }
    }

    /// How far each level is over its target: 1 is full. The last level has no target to exceed.
    pub(super) fn scores(&self, version: &Version) -> Vec<f64> {
        let targets = LevelTargets::new(&self.shape, version);
        let last = targets.bytes.len() - 1;
        let mut scores: Vec<f64> = (0..last)
            .map(|level| match version.levels().get(level) {
                Some(files) => idle_bytes(files.files()) as f64 / targets.bytes[level] as f64,
                None => 0.0,
            })
            .collect();
        if let (Some(score), Some(level0)) = (scores.first_mut(), version.levels().first()) {
            let idle = level0.files().iter().filter(|file| !file.is_being_compacted()).count();
            let by_files = idle as f64 / self.shape.level0_files.max(1) as f64;
            let base_bytes = targets.bytes[targets.base_level].max(self.shape.base_bytes);
            let by_bytes = idle_bytes(level0.files()) as f64 / base_bytes as f64;
            // Bytes alone do not make a compaction worth its while: there must be files to merge.
            *score = if idle > 1 { by_files.max(by_bytes) } else { by_files };
        }
        scores
    }

    pub(super) fn base_level(&self, version: &Version) -> usize {
        LevelTargets::new(&self.shape, version).base_level
    }

    /// Bytes that have to be moved until every level is within its target: what writers are slowed by.
    pub(super) fn pending_bytes(&self, version: &Version) -> u64 {
        let targets = LevelTargets::new(&self.shape, version);
        let levels = version.levels();
        let mut pending = 0.0;
        let mut incoming = 0.0;
        if let Some(level0) = levels.first().filter(|level| level.len() >= self.shape.level0_files)
        {
            incoming = level0.file_bytes() as f64;
            pending += incoming;
        }
        for level in targets.base_level..levels.len().saturating_sub(1) {
            let bytes = levels[level].file_bytes() as f64 + incoming;
            let over = bytes - targets.bytes[level] as f64;
            if over <= 0.0 {
                break;
            }
            let own = levels[level].file_bytes().max(1) as f64;
            let fan_out = levels[level + 1].file_bytes() as f64 / own;
            pending += over * (fan_out.min(self.shape.multiplier) + 1.0);
            incoming = over;
        }
        pending as u64
    }

    /// The next compaction, if one is due and its files are free.
    pub(super) fn pick(&self, version: &Arc<Version>, _moment: &Moment) -> Option<Compaction> {
        let targets = LevelTargets::new(&self.shape, version);
        let mut due: Vec<(usize, f64)> = self
            .scores(version)
            .into_iter()
            .enumerate()
            .filter(|(_, score)| *score >= 1.0)
            .collect();
        due.sort_by(|a, b| b.1.total_cmp(&a.1));
        due.into_iter().find_map(|(level, _)| match level {
            0 => self.pick_level0(version, &targets),
            _ => self.pick_level(version, &targets, level),
        })
    }

    fn pick_level0(&self, version: &Arc<Version>, targets: &LevelTargets) -> Option<Compaction> {
        let files = version.levels().first()?.files();
        if files.iter().any(|file| file.is_being_compacted()) {
            return self.pick_within_level0(version, targets);
        }
        self.compaction(version, targets, 0, files, targets.base_level, Reason::Level0Files)
            .or_else(|| self.pick_within_level0(version, targets))
    }

    /// The newest files of level 0 that are free, merged into one that stays there.
    ///
    /// They must be neighbours in age up to the newest, or else the result would stand out of order.
    fn pick_within_level0(
        &self,
        version: &Arc<Version>,
        targets: &LevelTargets,
    ) -> Option<Compaction> {
        let files = version.levels().first()?.files();
        let free = files.iter().take_while(|file| !file.is_being_compacted());
        let mut bytes = 0u64;
        let count = free
            .take_while(|file| {
                bytes = bytes.saturating_add(file.file_bytes);
                bytes <= self.shape.compaction_bytes
            })
            .count();
        if count < LEVEL0_MERGE_FILES_MIN.max(self.shape.level0_files) {
            return None;
        }
        let mut picked =
            self.compaction(version, targets, 0, &files[..count], 0, Reason::Level0Files)?;
        picked.output_file_bytes = u64::MAX;
        Some(picked)
    }

    fn pick_level(
        &self,
        version: &Arc<Version>,
        targets: &LevelTargets,
        level: usize,
    ) -> Option<Compaction> {
        let mut candidates = cheapest_first(version, level);
        candidates.truncate(50);
        candidates
            .into_iter()
            .find_map(|at| self.pick_file(version, targets, level, at..at + 1, Reason::LevelBytes))
    }

    /// A compaction of these files of a sorted level into the next one.
    fn pick_file(
        &self,
        version: &Arc<Version>,
        targets: &LevelTargets,
        level: usize,
        range: Range<usize>,
        reason: Reason,
    ) -> Option<Compaction> {
        let files = version.levels().get(level)?;
        let range = files.whole_keys(version.key_order(), range);
        let output = (level + 1).max(targets.base_level);
        self.compaction(version, targets, level, &files.files()[range], output, reason)
    }

    /// A compaction of files of `level`, and those that they overlap down to the output level.
    pub(super) fn merge(
        &self,
        version: &Arc<Version>,
        level: usize,
        files: &[Arc<TableFile>],
        output_level: usize,
        reason: Reason,
    ) -> Option<Compaction> {
        if files.is_empty() {
            return None;
        }
        let targets = LevelTargets::new(&self.shape, version);
        self.compaction(version, &targets, level, files, output_level, reason)
    }

    /// Puts a compaction together: the files, and those that they overlap down to the output level.
    fn compaction(
        &self,
        version: &Arc<Version>,
        targets: &LevelTargets,
        level: usize,
        files: &[Arc<TableFile>],
        output_level: usize,
        reason: Reason,
    ) -> Option<Compaction> {
        Some(Compaction {
            version: Arc::clone(version),
            inputs: LevelInput::down_to(version, level, files, output_level)?,
            output_level,
            output_file_bytes: targets.file_bytes(&self.shape, output_level),
            compaction_bytes: self.shape.compaction_bytes,
            reason,
        })
    }
}

fn idle_bytes(files: &[Arc<TableFile>]) -> u64 {
    let idle = files.iter().filter(|file| !file.is_being_compacted());
    idle.map(|file| file.file_bytes).fold(0, u64::saturating_add)
}

/// The free files of a level, by bytes overlapped below for each byte of their own.
fn cheapest_first(version: &Version, level: usize) -> Vec<usize> {
    let order = version.key_order();
    let Some(files) = version.levels().get(level) else { return Vec::new() };
    let below = version.levels().get(level + 1);
    let mut costs: Vec<(f64, usize)> = files
        .files()
        .iter()
        .enumerate()
        .filter(|(_, file)| !file.is_being_compacted())
        .map(|(at, file)| {
            let overlapped = below.map_or(0, |below| {
                let (from, to) = (file.smallest_user_key(), file.largest_user_key());
                let range = below.overlapping(order, Some(from), Some(to));
                below.files()[range].iter().map(|file| file.file_bytes).sum()
            });
            (overlapped as f64 / file.file_bytes.max(1) as f64, at)
        })
        .collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    costs.into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::claim::Claim;
    use crate::compaction::picker::testing::{after, shown, version};
    use crate::compaction::targets::tests::shape;
    use crate::key::{InternalKey, SeqNo, ValueType};
    use crate::version::edit::NewFile;
    use crate::version::{FileMeta, VersionEdit};

    fn picker() -> LeveledPicker {
        LeveledPicker { shape: LeveledShape { dynamic: false, ..shape() } }
    }

    fn pick(version: &Arc<Version>) -> Option<Compaction> {
        picker().pick(version, &Moment::default())
    }

    #[test]
    fn nothing_is_picked_from_a_tree_within_its_targets() {
        let version =
            version(&[(1, 0, 10, "a", "z"), (2, 1, 900, "a", "m"), (3, 2, 9000, "a", "z")]);
        assert!(pick(&version).is_none());
        assert_eq!(picker().pending_bytes(&version), 0);
    }

    #[test]
    fn level_0_goes_down_as_a_whole_with_what_it_overlaps() {
        let version = version(&[
            (4, 0, 10, "c", "f"),
            (5, 0, 10, "d", "e"),
            (6, 0, 10, "b", "d"),
            (7, 0, 10, "e", "k"),
            (1, 1, 100, "a", "b"),
            (2, 1, 100, "g", "h"),
            (3, 1, 100, "m", "n"),
        ]);
        let picked = pick(&version).unwrap();
        assert_eq!(shown(&picked), (vec![(0, vec![7, 6, 5, 4]), (1, vec![1, 2])], 1));
        assert!(picked.nothing_older_outside() && picked.is_last_level());
        assert!(!picked.is_trivial_move());
        assert!(pick(&version).is_none(), "all of level 0 is reserved");
        drop(picked);
        assert!(pick(&version).is_some(), "the reservation is over");
    }

    #[test]
    fn the_file_is_taken_that_overlaps_least() {
        let version = version(&[
            (1, 1, 600, "a", "c"),
            (2, 1, 600, "d", "f"),
            (3, 2, 500, "a", "b"),
            (4, 2, 500, "c", "d"),
            (5, 3, 500, "d", "e"),
        ]);
        let picked = pick(&version).unwrap();
        assert_eq!(shown(&picked), (vec![(1, vec![2]), (2, vec![4])], 2));
        assert!(!picked.nothing_older_outside(), "level 3 has what may be older");
        // The other file overlaps one that is reserved now.
        assert!(pick(&version).is_none());
    }

    #[test]
    fn a_file_over_nothing_is_moved_unless_it_lies_over_too_much_below() {
        let over = |bytes| {
            version(&[(1, 1, 1100, "a", "c"), (2, 2, 10, "x", "y"), (3, 3, bytes, "b", "c")])
        };
        assert!(pick(&over(2500)).unwrap().is_trivial_move());
        assert!(!pick(&over(2501)).unwrap().is_trivial_move());
    }

    #[test]
    fn a_user_key_over_two_files_is_not_torn_apart() {
        let mut files = vec![(1, 1, 1100, "a", "c"), (2, 1, 1, "d", "e"), (3, 2, 10, "x", "y")];
        let key = |seqno| {
            let seqno = SeqNo::new(seqno).unwrap();
            InternalKey::new(b"c", seqno, ValueType::Value).encode()
        };
        files.truncate(1);
        let base = version(&files);
        let older = FileMeta::new(2.into(), 1, &key(0), &key(0));
        let edit = VersionEdit {
            new_files: vec![NewFile { level: 1, file: older }],
            ..VersionEdit::default()
        };
        let picked = pick(&after(&base, &edit)).unwrap();
        assert_eq!(shown(&picked).0, [(1, vec![1, 2])]);
    }

    #[test]
    fn while_the_base_level_is_taken_level_0_is_merged_within() {
        let version = version(&[
            (10, 0, 10, "a", "z"),
            (11, 0, 10, "a", "z"),
            (12, 0, 10, "a", "z"),
            (13, 0, 10, "a", "z"),
            (1, 1, 100, "c", "d"),
        ]);
        let base = Claim::all(version.levels()[1].files()).unwrap();
        let picked = pick(&version).unwrap();
        assert_eq!(shown(&picked), (vec![(0, vec![13, 12, 11, 10])], 0));
        assert!(!picked.nothing_older_outside(), "level 1 is below");
        drop(base);
    }

    #[test]
    fn debt_grows_with_what_is_over_the_targets() {
        let pending = |bytes| {
            picker().pending_bytes(&version(&[(1, 1, bytes, "a", "c"), (2, 2, 9000, "a", "z")]))
        };
        assert_eq!(pending(1000), 0);
        assert!(pending(1500) > 0 && pending(3000) > pending(1500));
    }
}
