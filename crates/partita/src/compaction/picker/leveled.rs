//! Levelled compaction: the level that is over its target by most gives files to the next.
//!
//! ```text
//! score of level 0    files / trigger, or bytes / target of the base level if that is more
//! score of level i    weight / target up to 1, then 1 + what is over / (target + what is about to come from above)
//! ```
//!
//! 1. Level 0 is merged as a whole into the base level, by one compaction at a time: its files overlap.
//! 2. Of another level that file is taken which `compaction_pri` prefers; by default that whose merge rewrites least for
//!    what it moves. Deletions count: [`weight`](super::weight).
//! 3. Where the base level is taken by another compaction, small files of level 0 are merged among themselves, so that
//!    reads do not pay for the wait.
//! 4. Files are taken so that no user key is cut in two: [`Level::whole_keys`](crate::version::Level::whole_keys).
//! 5. Levels that are not needed any more empty into the next ones, when nothing else is due on them.
//! 6. If no level asks for a compaction, a file may: [`marks`](super::marks).

use std::ops::Range;
use std::sync::Arc;

use super::marks::{Ages, RULES};
use super::preference::preferred_first;
use super::weight::Weights;
use super::{Compaction, LevelInput, Moment, Reason};
use crate::compaction::targets::{LevelTargets, LeveledShape};
use crate::options::{ColumnFamilyOptions, CompactionPriority};
use crate::version::{TableFile, Version};

/// Files of level 0 that a merge among themselves takes at least.
const LEVEL0_MERGE_FILES_MIN: usize = 4;
/// Files of a level that are tried before it is given up for now.
const CANDIDATES_MAX: usize = 50;
/// The score of a level that is not needed: it is due, after all others.
const UNNEEDED_SCORE: f64 = 1.001;

/// Picks compactions for one column family.
#[derive(Clone, Debug)]
pub(crate) struct LeveledPicker {
    pub(super) shape: LeveledShape,
    pub(super) priority: CompactionPriority,
    pub(super) ages: Ages,
}

impl LeveledPicker {
    pub(super) fn new(options: &ColumnFamilyOptions) -> Self {
        Self {
            shape: LeveledShape::new(options),
            priority: options.compaction_pri,
            ages: Ages::new(options),
        }
    }

    /// How far each level is over its target: 1 is full. The last level has no target to exceed.
    pub(super) fn scores(&self, version: &Version) -> Vec<f64> {
        self.scores_for(version, &LevelTargets::new(&self.shape, version))
    }

    fn scores_for(&self, version: &Version, targets: &LevelTargets) -> Vec<f64> {
        let weights = Weights::new(version);
        let mut scores = vec![0.0; targets.bytes.len() - 1];
        let mut incoming = 0.0;
        for (level, score) in scores.iter_mut().enumerate() {
            let Some(files) = version.levels().get(level) else { break };
            if level == 0 {
                *score = self.level0_score(files.files(), targets);
                incoming += files.file_bytes() as f64;
                continue;
            }
            let target = targets.bytes[level] as f64;
            let idle = files.files().iter().filter(|file| !file.is_being_compacted());
            let weight: u64 = idle.map(|file| weights.of(file)).fold(0, u64::saturating_add);
            let over = weight as f64 - target;
            // What is over can wait if much more is about to come: it will all be merged at once.
            *score =
                if over < 0.0 { weight as f64 / target } else { 1.0 + over / (target + incoming) };
            if targets.is_unneeded(level) {
                *score = if weight > 0 { score.max(UNNEEDED_SCORE) } else { 0.0 };
                incoming += files.file_bytes() as f64;
            } else {
                incoming += (files.file_bytes() as f64 - target).max(0.0);
            }
        }
        scores
    }

    fn level0_score(&self, files: &[Arc<TableFile>], targets: &LevelTargets) -> f64 {
        let idle = || files.iter().filter(|file| !file.is_being_compacted());
        let count = idle().count();
        let by_files = count as f64 / self.shape.level0_files.max(1) as f64;
        let base_bytes = targets.bytes[targets.base_level].max(self.shape.base_bytes);
        let bytes = idle().map(|file| file.file_bytes).fold(0, u64::saturating_add);
        // Bytes alone do not make a compaction worth its while: there must be files to merge.
        if count > 1 { by_files.max(bytes as f64 / base_bytes as f64) } else { by_files }
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
    pub(super) fn pick(&self, version: &Arc<Version>, moment: &Moment) -> Option<Compaction> {
        let targets = LevelTargets::new(&self.shape, version);
        let mut due: Vec<(usize, f64)> = self
            .scores_for(version, &targets)
            .into_iter()
            .enumerate()
            .filter(|(_, score)| *score >= 1.0)
            .collect();
        due.sort_by(|a, b| b.1.total_cmp(&a.1));
        let by_level = due.into_iter().find_map(|(level, _)| match level {
            0 => self.pick_level0(version, &targets),
            _ => self.pick_level(version, &targets, level),
        });
        by_level.or_else(|| {
            RULES.into_iter().find_map(|rule| self.pick_marked(version, &targets, rule, moment))
        })
    }

    fn pick_level0(&self, version: &Arc<Version>, targets: &LevelTargets) -> Option<Compaction> {
        self.pick_all_of_level0(version, targets, Reason::Level0Files)
            .or_else(|| self.pick_within_level0(version, targets))
    }

    fn pick_all_of_level0(
        &self,
        version: &Arc<Version>,
        targets: &LevelTargets,
        reason: Reason,
    ) -> Option<Compaction> {
        let files = version.levels().first()?.files();
        if files.is_empty() || files.iter().any(|file| file.is_being_compacted()) {
            return None;
        }
        self.compaction(version, targets, 0, files, targets.base_level, reason)
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
        let count = newest_free(files, self.shape.compaction_bytes, |_| true);
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
        let output = (level + 1).max(targets.base_level);
        let candidates = preferred_first(self.priority, version, level, output);
        candidates.into_iter().take(CANDIDATES_MAX).find_map(|at| {
            self.pick_file(version, targets, level, at..at + 1, output, Reason::LevelBytes)
        })
    }

    /// A file that a rule asks for, with what has to go with it.
    fn pick_marked(
        &self,
        version: &Arc<Version>,
        targets: &LevelTargets,
        rule: Reason,
        moment: &Moment,
    ) -> Option<Compaction> {
        let last = version.last_level()?;
        version.levels().iter().enumerate().find_map(|(level, files)| {
            let asked = files.files().iter().enumerate().filter(|(_, file)| {
                // Below level 0 there always is a level to go to.
                let is_last = level == last && level > 0;
                !file.is_being_compacted() && self.ages.ask_for(rule, file, is_last, moment)
            });
            asked.into_iter().take(CANDIDATES_MAX).find_map(|(at, _)| match (rule, level) {
                (Reason::Bottommost, 0) => None,
                (Reason::Bottommost, _) => self.pick_in_place(version, targets, level, at, moment),
                (_, 0) => self.pick_all_of_level0(version, targets, rule),
                (Reason::Tombstones, _) if self.is_bottommost(version, level, at) => None,
                (_, _) if level == last => {
                    self.pick_file(version, targets, level, at..at + 1, level, rule)
                }
                _ => {
                    let output = (level + 1).max(targets.base_level);
                    self.pick_file(version, targets, level, at..at + 1, output, rule)
                }
            })
        })
    }

    /// Whether nothing older than a file of a sorted level can be below it.
    fn is_bottommost(&self, version: &Version, level: usize, at: usize) -> bool {
        let files = &version.levels()[level];
        let taken = &files.files()[files.whole_keys(version.key_order(), at..at + 1)];
        let (Some(first), Some(last)) = (taken.first(), taken.last()) else { return false };
        let (from, to) = (first.smallest_user_key(), last.largest_user_key());
        !version.overlaps_below(level, Some(from), Some(to))
    }

    /// A file that is written again where it stands, without what nobody needs any more.
    fn pick_in_place(
        &self,
        version: &Arc<Version>,
        targets: &LevelTargets,
        level: usize,
        at: usize,
        moment: &Moment,
    ) -> Option<Compaction> {
        if !self.is_bottommost(version, level, at) {
            return None;
        }
        let range = version.levels()[level].whole_keys(version.key_order(), at..at + 1);
        let taken = &version.levels()[level].files()[range.clone()];
        let passed = taken.iter().all(|file| moment.has_passed(file.largest_seqno));
        passed.then(|| self.pick_file(version, targets, level, range, level, Reason::Bottommost))?
    }

    /// A compaction of these files of a sorted level.
    fn pick_file(
        &self,
        version: &Arc<Version>,
        targets: &LevelTargets,
        level: usize,
        range: Range<usize>,
        output_level: usize,
        reason: Reason,
    ) -> Option<Compaction> {
        let files = version.levels().get(level)?;
        let range = files.whole_keys(version.key_order(), range);
        self.compaction(version, targets, level, &files.files()[range], output_level, reason)
    }

    /// A compaction by hand of files of `level`, and those that they overlap down to the output level.
    pub(super) fn merge(
        &self,
        version: &Arc<Version>,
        level: usize,
        files: &[Arc<TableFile>],
        output_level: usize,
    ) -> Option<Compaction> {
        let targets = LevelTargets::new(&self.shape, version);
        self.compaction(version, &targets, level, files, output_level, Reason::Manual)
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
            older_may_come: false,
            movable: reason != Reason::Manual,
            reason,
        })
    }
}

/// How many of level 0's files, from the newest on, are free, fit into `bytes_max` together, and are `wanted`.
pub(super) fn newest_free(
    files: &[Arc<TableFile>],
    bytes_max: u64,
    wanted: impl Fn(&TableFile) -> bool,
) -> usize {
    let mut bytes = 0u64;
    let fits = |file: &&Arc<TableFile>| {
        bytes = bytes.saturating_add(file.file_bytes);
        !file.is_being_compacted() && wanted(file) && bytes <= bytes_max
    };
    files.iter().take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::claim::Claim;
    use crate::compaction::picker::testing::{
        Shown, after, changed, counted, new_file, shown, version, version_of,
    };
    use crate::compaction::targets::tests::shape;
    use crate::key::{InternalKey, SeqNo, ValueType};
    use crate::version::edit::NewFile;
    use crate::version::{FileMeta, TableCounts, VersionEdit};

    fn picker() -> LeveledPicker {
        LeveledPicker {
            shape: LeveledShape { dynamic: false, ..shape() },
            priority: CompactionPriority::default(),
            ages: Ages { ttl: Some(1000), periodic: Some(5000) },
        }
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
        assert!(picked.nothing_older_outside());
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

    fn at(unix_seconds: u64, oldest_snapshot: Option<u64>) -> Moment {
        Moment { unix_seconds, oldest_snapshot: oldest_snapshot.and_then(SeqNo::new) }
    }

    fn picked_at(files: Vec<NewFile>, moment: &Moment) -> Option<(Shown, Reason)> {
        let picked = picker().pick(&version_of(files), moment)?;
        Some((shown(&picked), picked.reason))
    }

    #[test]
    fn what_is_marked_goes_down_but_not_from_the_last_level() {
        let marked = |given| changed(given, |file| file.need_compaction = true);
        let files = || {
            vec![
                new_file((1, 1, 10, "a", "c")),
                marked((2, 1, 10, "d", "f")),
                marked((3, 2, 10, "e", "g")),
            ]
        };
        let picked = picked_at(files(), &Moment::default());
        assert_eq!(picked, Some(((vec![(1, vec![2]), (2, vec![3])], 2), Reason::Marked)));
        assert_eq!(picked_at(files()[2..].to_vec(), &Moment::default()), None);
    }

    #[test]
    fn deletions_go_to_what_they_hide() {
        let files = |deletions| {
            vec![
                counted((1, 1, 10, "a", "c"), 100, deletions, 0),
                new_file((2, 2, 10, "b", "c")),
                new_file((3, 3, 10, "b", "c")),
            ]
        };
        let picked = picked_at(files(75), &Moment::default());
        assert_eq!(picked, Some(((vec![(1, vec![1]), (2, vec![2])], 2), Reason::Tombstones)));
        assert_eq!(picked_at(files(74), &Moment::default()), None);
        // Even one table of level 0, and with nothing on the levels below.
        let alone = vec![new_file((1, 0, 10, "a", "z")), counted((2, 0, 10, "a", "c"), 9, 9, 0)];
        let picked = picked_at(alone, &Moment::default());
        assert_eq!(picked, Some(((vec![(0, vec![2, 1])], 1), Reason::Tombstones)));
    }

    #[test]
    fn a_file_on_the_bottom_is_written_again_once_no_snapshot_needs_its_deletions() {
        let files = |deletions| {
            vec![counted((1, 2, 10, "a", "c"), 100, deletions, 0), new_file((2, 3, 10, "d", "e"))]
        };
        let rewritten = Some(((vec![(2, vec![1])], 2), Reason::Bottommost));
        assert_eq!(picked_at(files(80), &at(0, Some(9))), rewritten);
        assert_eq!(picked_at(files(10), &at(0, None)), rewritten);
        assert_eq!(picked_at(files(9), &at(0, None)), None, "not worth it");
        assert_eq!(picked_at(files(80), &at(0, Some(8))), None);
        let over_more = |deletions| {
            let mut files = files(deletions);
            files.push(new_file((3, 3, 10, "b", "c")));
            files
        };
        assert_eq!(picked_at(over_more(10), &at(0, None)), None, "it hides what is below");
    }

    #[test]
    fn versions_that_a_snapshot_kept_are_dropped_after_it() {
        let with = |least: u64, operands| {
            changed((1, 2, 10, "a", "c"), |file| {
                file.smallest_seqno = SeqNo::new(least).unwrap();
                let counts =
                    TableCounts { entries: 100, merge_operands: operands, ..Default::default() };
                file.counts = Some(counts);
            })
        };
        assert!(picked_at(vec![with(0, 0)], &at(0, None)).is_some());
        assert!(picked_at(vec![with(0, 0)], &at(0, Some(8))).is_none());
        assert!(picked_at(vec![with(1, 0)], &at(0, None)).is_none(), "it was only moved");
        assert!(picked_at(vec![with(0, 1)], &at(0, None)).is_none(), "it might stay as it is");
    }

    #[test]
    fn old_data_goes_down_and_old_files_are_written_again() {
        let aged = |given, oldest, written| {
            changed(given, |file| {
                file.oldest_ancestor_time = oldest;
                file.creation_time = written;
            })
        };
        let files =
            || vec![aged((1, 1, 10, "a", "c"), 500, 9000), aged((2, 3, 10, "b", "d"), 500, 2000)];
        assert_eq!(picked_at(files(), &at(1500, None)), None);
        let down = Some(((vec![(1, vec![1])], 2), Reason::Ttl));
        assert_eq!(picked_at(files(), &at(1501, None)), down);
        let last = files()[1..].to_vec();
        assert_eq!(picked_at(last.clone(), &at(7000, None)), None);
        assert_eq!(
            picked_at(last, &at(7001, None)),
            Some(((vec![(3, vec![2])], 3), Reason::Periodic))
        );
    }

    #[test]
    fn levels_that_should_be_empty_are_emptied_last() {
        let picker = LeveledPicker { shape: shape(), ..picker() };
        let version = |level0: u64| {
            let mut files = vec![(1, 2, 10, "a", "c"), (2, 6, 5000, "a", "z")];
            files.extend((0..level0).map(|number| (10 + number, 0, 10, "a", "z")));
            version(&files)
        };
        let picked = picker.pick(&version(0), &Moment::default()).unwrap();
        assert_eq!(shown(&picked), (vec![(2, vec![1])], 3));
        let picked = picker.pick(&version(5), &Moment::default()).unwrap();
        assert_eq!((picked.reason, picked.output_level), (Reason::Level0Files, 2));
    }

    #[test]
    fn a_level_waits_for_what_is_about_to_come() {
        let score = |level0| {
            picker().scores(&version(&[(1, 1, 2000, "a", "c"), (2, 0, level0, "a", "b")]))[1]
        };
        assert!(score(10_000) < score(10) && score(10_000) >= 1.0);
    }
}
