//! Universal compaction: [sorted runs](super::runs) that are neighbours in age are merged.
//!
//! ```text
//! age        newest                               oldest
//! runs       12  11  10  9     level 4    level 5   level 6      numbers are tables of level 0
//!            '-----merged---'                                    to level 3: right above the next older run
//!                '-merged-'                                      to level 0: the next older run is there, too
//!                        '-------merged---------------'          to the last level: nothing is older
//! ```
//!
//! Rules, in this order; the first that picks something is done:
//!
//! | rule | when | what |
//! |---|---|---|
//! | age | a file is older than `periodic_compaction_seconds` or `ttl` | the oldest runs up to the first reserved one |
//! | space | the newer runs have `max_size_amplification_percent` of the oldest | the same |
//! | size ratio | from the newest on, runs that are each no larger than `size_ratio` percent over those before | these, from `min_merge_width` to `max_merge_width` |
//! | number | more runs than `level0_file_num_compaction_trigger` | the newest, as many as are too many |
//! | marks | a file is marked, or [dense](super::weight) and the next older run not much larger | its run and the next older one |
//!
//! All but the first and the last wait until there are `level0_file_num_compaction_trigger` runs.
//!
//! Why that stays correct:
//!
//! 1. Runs are merged whole and as neighbours, so what is outside is newer than all of them or older than all.
//! 2. The output level is below all newer runs and above all older ones. The levels between the inputs and the next older run
//!    are empty, and nobody else can be writing to them: a compaction into them would have inputs between those runs.
//! 3. On level 0 the order is by epoch, and the output takes the smallest of its inputs: it stands where the oldest stood. It
//!    is one table, however large, or it would be many runs.

use std::ops::Range;
use std::sync::Arc;

use super::marks::Ages;
use super::runs::{Run, sorted_runs};
use super::{Compaction, LevelInput, Moment, Reason};
use crate::compaction::targets::{LevelTargets, LeveledShape};
use crate::options::{ColumnFamilyOptions, UniversalOptions, UniversalStopStyle};
use crate::version::{TableFile, Version};

/// Percent by which a run may be larger where only the number of runs counts.
const ANY_RATIO: f64 = u32::MAX as f64;
/// How many times larger than a dense run, with what its deletions weigh, the next older one may be to be merged with it.
const DENSE_RUN_REACH: u64 = 4;

/// Picks compactions for one column family of universal style.
#[derive(Clone, Debug)]
pub(crate) struct UniversalPicker {
    /// Of it, the trigger, the number of levels and the sizes of files count.
    pub(super) shape: LeveledShape,
    pub(super) options: UniversalOptions,
    pub(super) ages: Ages,
}

impl UniversalPicker {
    pub(super) fn new(options: &ColumnFamilyOptions) -> Self {
        let given = Ages::new(options);
        // Both mean the same here.
        let age = [given.ttl, given.periodic].into_iter().flatten().min();
        Self {
            shape: LeveledShape { dynamic: false, ..LeveledShape::new(options) },
            options: options.compaction_options_universal.clone(),
            ages: Ages { ttl: None, periodic: age },
        }
    }

    /// Level 0 stands for all runs.
    pub(super) fn scores(&self, version: &Version) -> Vec<f64> {
        let runs = sorted_runs(version);
        let free = runs.iter().filter(|run| !run.is_reserved).count();
        vec![free as f64 / self.shape.level0_files.max(1) as f64]
    }

    /// Where level 0 can go first.
    pub(super) fn base_level(&self, version: &Version) -> usize {
        self.last_level(version).min(1)
    }

    fn last_level(&self, version: &Version) -> usize {
        self.shape.level_count.max(version.levels().len()) - 1
    }

    /// The next compaction, if one is due and its files are free.
    pub(super) fn pick(&self, version: &Arc<Version>, moment: &Moment) -> Option<Compaction> {
        let runs = sorted_runs(version);
        let due = |runs: &[Run<'_>]| runs.len() >= self.shape.level0_files;
        let (range, reason) = self
            .pick_by_age(&runs, moment)
            .or_else(|| self.pick_for_space(&runs).filter(|_| due(&runs)))
            .or_else(|| self.pick_by_size(&runs).filter(|_| due(&runs)))
            .or_else(|| self.pick_by_number(&runs).filter(|_| due(&runs)))
            .or_else(|| self.pick_marked(&runs, moment))?;
        self.compaction(version, &runs, range, reason)
    }

    fn pick_by_age(&self, runs: &[Run<'_>], moment: &Moment) -> Option<(Range<usize>, Reason)> {
        let range = oldest_free(runs);
        let is_old = |run: &Run<'_>| run.files.iter().any(|file| self.ages.is_old(file, moment));
        runs[range.clone()].iter().any(is_old).then_some((range, Reason::Periodic))
    }

    fn pick_for_space(&self, runs: &[Run<'_>]) -> Option<(Range<usize>, Reason)> {
        let range = oldest_free(runs);
        let (oldest, newer) =
            runs[range.clone()].split_last().filter(|(_, newer)| !newer.is_empty())?;
        let newer: u128 = newer.iter().map(|run| u128::from(run.weight)).sum();
        let percent = u128::from(self.options.max_size_amplification_percent);
        (newer * 100 >= u128::from(oldest.bytes) * percent)
            .then_some((range, Reason::SizeAmplification))
    }

    fn pick_by_size(&self, runs: &[Run<'_>]) -> Option<(Range<usize>, Reason)> {
        let most = self.options.max_merge_width as usize;
        let range = self.alike(runs, most, f64::from(self.options.size_ratio))?;
        Some((range, Reason::SizeRatio))
    }

    fn pick_by_number(&self, runs: &[Run<'_>]) -> Option<(Range<usize>, Reason)> {
        let free = runs.iter().filter(|run| !run.is_reserved).count();
        // One run is left of those that are merged.
        let too_many = free.checked_sub(self.shape.level0_files).filter(|count| *count > 0)? + 1;
        let most = too_many.min(self.options.max_merge_width as usize);
        Some((self.alike(runs, most, ANY_RATIO)?, Reason::SortedRuns))
    }

    /// The newest free runs, each of which fits to those before it; not more than `most`.
    ///
    /// * `ratio`: by how many percent a run may be larger.
    fn alike(&self, runs: &[Run<'_>], most: usize, ratio: f64) -> Option<Range<usize>> {
        let least = (self.options.min_merge_width as usize).max(2);
        let factor = 1.0 + ratio / 100.0;
        let mut start = 0;
        while start < runs.len() {
            let count = self.alike_from(&runs[start..], most, factor);
            if count >= least {
                return Some(start..start + count);
            }
            // Where runs get larger from newer to older, a later start may find more of the same size.
            start += 1;
        }
        None
    }

    fn alike_from(&self, runs: &[Run<'_>], most: usize, factor: f64) -> usize {
        let free = runs.iter().take_while(|run| !run.is_reserved).take(most);
        let mut taken = 0.0;
        let mut count = 0;
        for run in free {
            let bytes = run.bytes as f64;
            let fits = taken * factor >= bytes;
            let similar = match self.options.stop_style {
                UniversalStopStyle::TotalSize => true,
                UniversalStopStyle::SimilarSize => bytes * factor >= taken,
            };
            if count > 0 && !(fits && similar) {
                break;
            }
            match self.options.stop_style {
                UniversalStopStyle::TotalSize => taken += run.weight as f64,
                UniversalStopStyle::SimilarSize => taken = run.weight as f64,
            }
            count += 1;
        }
        count
    }

    fn pick_marked(&self, runs: &[Run<'_>], moment: &Moment) -> Option<(Range<usize>, Reason)> {
        [Reason::Marked, Reason::Tombstones].into_iter().find_map(|rule| {
            let asked = |run: &Run<'_>| {
                run.files.iter().any(|file| self.ages.ask_for(rule, file, false, moment))
            };
            // A few deletions are no reason to write all of a large run again.
            let worth = |newer: &Run<'_>, older: &Run<'_>| {
                rule == Reason::Marked
                    || newer.weight.saturating_mul(DENSE_RUN_REACH) >= older.bytes
            };
            let at = runs.windows(2).position(|pair| match pair {
                [newer, older] => {
                    !newer.is_reserved && !older.is_reserved && asked(newer) && worth(newer, older)
                }
                _ => false,
            })?;
            Some((at..at + 2, rule))
        })
    }

    /// A compaction by hand: the runs from `level` on, with all that is older.
    pub(super) fn pick_runs_from(
        &self,
        version: &Arc<Version>,
        level: usize,
    ) -> Option<Compaction> {
        let runs = sorted_runs(version);
        let start = runs.iter().position(|run| run.level >= level)?;
        self.compaction(version, &runs, start..runs.len(), Reason::Manual)
    }

    /// A compaction by hand: files of a sorted level, which stay there.
    pub(super) fn rewrite(
        &self,
        version: &Arc<Version>,
        level: usize,
        files: &[Arc<TableFile>],
    ) -> Option<Compaction> {
        let inputs = LevelInput::of_runs(std::iter::once((level, files)))?;
        Some(self.reserved(version, inputs, level, Reason::Manual))
    }

    /// Reserves runs, and says where they go.
    fn compaction(
        &self,
        version: &Arc<Version>,
        runs: &[Run<'_>],
        range: Range<usize>,
        reason: Reason,
    ) -> Option<Compaction> {
        let output_level = match runs.get(range.end) {
            None => self.last_level(version),
            Some(older) => older.level.saturating_sub(1),
        };
        let taken = runs.get(range)?.iter().map(|run| (run.level, run.files));
        let inputs = LevelInput::of_runs(taken)?;
        Some(self.reserved(version, inputs, output_level, reason))
    }

    fn reserved(
        &self,
        version: &Arc<Version>,
        inputs: Vec<LevelInput>,
        output_level: usize,
        reason: Reason,
    ) -> Compaction {
        let targets = LevelTargets::new(&self.shape, version);
        Compaction {
            version: Arc::clone(version),
            inputs,
            output_level,
            output_file_bytes: match output_level {
                0 => u64::MAX,
                _ => targets.file_bytes(&self.shape, output_level),
            },
            compaction_bytes: self.shape.compaction_bytes,
            older_may_come: false,
            movable: self.options.allow_trivial_move
                && !matches!(reason, Reason::Manual | Reason::Periodic),
            reason,
        }
    }
}

/// The oldest runs up to the first that is reserved.
fn oldest_free(runs: &[Run<'_>]) -> Range<usize> {
    let free = runs.iter().rev().take_while(|run| !run.is_reserved).count();
    runs.len() - free..runs.len()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        Given, Shown, after, changed, counted, new_file, shown, version, version_of,
    };
    use super::*;
    use crate::compaction::claim::Claim;
    use crate::compaction::picker::Picker;
    use crate::options::CompactionStyle;

    fn options(change: impl FnOnce(&mut ColumnFamilyOptions)) -> ColumnFamilyOptions {
        let mut options = ColumnFamilyOptions {
            compaction_style: CompactionStyle::Universal,
            level0_file_num_compaction_trigger: 4,
            num_levels: 7,
            ..ColumnFamilyOptions::default()
        };
        change(&mut options);
        options
    }

    fn pick(files: &[Given], change: impl FnOnce(&mut UniversalOptions)) -> Option<Compaction> {
        let options = options(|options| change(&mut options.compaction_options_universal));
        UniversalPicker::new(&options).pick(&version(files), &Moment::default())
    }

    fn show(picked: Option<Compaction>) -> Option<(Shown, Reason)> {
        picked.map(|picked| (shown(&picked), picked.reason))
    }

    const BIG: [Given; 2] = [(1, 6, 5000, "a", "m"), (2, 6, 5000, "n", "z")];

    #[test]
    fn nothing_is_picked_below_the_trigger() {
        let files = [BIG[0], BIG[1], (3, 0, 9000, "a", "z"), (4, 0, 9000, "a", "z")];
        assert!(pick(&files, |_| ()).is_none());
    }

    #[test]
    fn all_is_merged_once_the_newer_runs_outweigh_the_oldest() {
        let newer = [(3, 5, 15_000, "a", "z"), (4, 0, 2500, "a", "c"), (5, 0, 2500, "b", "z")];
        let files: Vec<_> = BIG.into_iter().chain(newer).collect();
        let inputs = vec![(0, vec![5, 4]), (5, vec![3]), (6, vec![1, 2])];
        let picked = show(pick(&files, |_| ()));
        assert_eq!(picked, Some(((inputs, 6), Reason::SizeAmplification)));
        let more_allowed = |options: &mut UniversalOptions| {
            options.max_size_amplification_percent = 201;
            options.size_ratio = 0;
        };
        let picked = show(pick(&files, more_allowed)).unwrap();
        assert_eq!(picked.1, Reason::SizeRatio);
    }

    #[test]
    fn runs_of_like_size_are_merged_to_right_above_the_next_older_one() {
        let files = [
            (1, 6, 90_000, "a", "z"),
            (2, 4, 3000, "a", "z"),
            (3, 0, 100, "a", "z"),
            (4, 0, 100, "a", "z"),
            (5, 0, 100, "a", "z"),
        ];
        let picked = show(pick(&files, |_| ()));
        assert_eq!(picked, Some(((vec![(0, vec![5, 4, 3])], 3), Reason::SizeRatio)));
        let picked = show(pick(&files, |options| options.max_merge_width = 2));
        assert_eq!(picked, Some(((vec![(0, vec![5, 4])], 0), Reason::SizeRatio)));
        let picked = show(pick(&files, |options| options.size_ratio = 900));
        let inputs = vec![(0, vec![5, 4, 3]), (4, vec![2])];
        assert_eq!(picked, Some(((inputs, 5), Reason::SizeRatio)));
        assert!(pick(&files, |options| options.min_merge_width = 4).is_none());
    }

    #[test]
    fn runs_of_like_size_are_found_behind_others() {
        let files = [
            (1, 6, 90_000, "a", "z"),
            (2, 0, 400, "a", "z"),
            (3, 0, 400, "a", "z"),
            (4, 0, 100, "a", "z"),
        ];
        let picked = show(pick(&files, |_| ()));
        assert_eq!(picked, Some(((vec![(0, vec![3, 2])], 5), Reason::SizeRatio)));
    }

    #[test]
    fn similar_size_stops_at_a_small_run_behind_a_large_one() {
        let files = [
            (1, 6, 90_000, "a", "z"),
            (2, 0, 50, "a", "z"),
            (3, 0, 400, "a", "z"),
            (4, 0, 400, "a", "z"),
        ];
        let similar = |options: &mut UniversalOptions| {
            options.stop_style = UniversalStopStyle::SimilarSize;
        };
        assert_eq!(show(pick(&files, similar)).unwrap().0.0, [(0, vec![4, 3])]);
        assert_eq!(show(pick(&files, |_| ())).unwrap().0.0, [(0, vec![4, 3, 2])]);
    }

    #[test]
    fn too_many_runs_are_merged_whatever_their_size() {
        let files = [
            (1, 6, 90_000_000, "a", "z"),
            (2, 0, 1_000_000, "a", "z"),
            (3, 0, 10_000, "a", "z"),
            (4, 0, 100, "a", "z"),
        ];
        assert!(pick(&files, |_| ()).is_none(), "four runs are allowed");
        let files: Vec<_> = files.into_iter().chain([(5, 0, 1, "a", "z")]).collect();
        let picked = show(pick(&files, |_| ()));
        assert_eq!(picked, Some(((vec![(0, vec![5, 4])], 0), Reason::SortedRuns)));
    }

    #[test]
    fn with_one_level_everything_stays_on_level_0_as_one_table() {
        let options = options(|options| options.num_levels = 1);
        let files: Vec<Given> = (1..=4).map(|number| (number, 0, 100, "a", "z")).collect();
        let picker = UniversalPicker::new(&options);
        let files = version(&files);
        // The version was made with seven levels, as for another family.
        let picked = picker.pick(&files, &Moment::default()).unwrap();
        assert_eq!(picked.output_level, 6);
        let only = Arc::new(Version::empty(crate::key::KeyOrder::Bytewise, 1));
        let new_files = files
            .files()
            .map(|(_, file)| crate::version::edit::NewFile { level: 0, file: (***file).clone() });
        let edit =
            crate::version::VersionEdit { new_files: new_files.collect(), ..Default::default() };
        let only = after(&only, &edit);
        let picked = picker.pick(&only, &Moment::default()).unwrap();
        assert_eq!(shown(&picked), (vec![(0, vec![4, 3, 2, 1])], 0));
        assert_eq!(picked.output_file_bytes, u64::MAX);
        assert!(picked.nothing_older_outside());
        assert_eq!(picker.base_level(&only), 0);
    }

    #[test]
    fn reserved_runs_are_not_passed_over() {
        let options = options(|_| ());
        let files: Vec<Given> = (1..=8).map(|number| (number, 0, 100, "a", "z")).collect();
        let version = version(&files);
        let middle = Claim::all(&version.levels()[0].files()[3..5]).unwrap();
        let picker = UniversalPicker::new(&options);
        let older = picker.pick(&version, &Moment::default()).unwrap();
        assert_eq!(shown(&older), (vec![(0, vec![3, 2, 1])], 6));
        let newer = picker.pick(&version, &Moment::default()).unwrap();
        assert_eq!(shown(&newer), (vec![(0, vec![8, 7, 6])], 0));
        assert!(picker.pick(&version, &Moment::default()).is_none());
        drop(middle);
    }

    #[test]
    fn files_without_overlap_move_if_the_options_let_them() {
        let files = [
            (1, 6, 90_000, "a", "z"),
            (2, 0, 100, "a", "c"),
            (3, 0, 100, "d", "f"),
            (4, 0, 100, "g", "i"),
        ];
        assert!(!pick(&files, |_| ()).unwrap().is_trivial_move());
        let moving = |options: &mut UniversalOptions| options.allow_trivial_move = true;
        assert!(pick(&files, moving).unwrap().is_trivial_move());
        let overlapping = [files[0], files[1], files[2], (4, 0, 100, "f", "i")];
        assert!(!pick(&overlapping, moving).unwrap().is_trivial_move());
    }

    #[test]
    fn what_is_old_takes_all_runs_with_it() {
        let picker = UniversalPicker::new(&options(|options| {
            options.ttl = 100;
            options.periodic_compaction_seconds = 1000;
        }));
        let aged = |given, time| changed(given, |file| file.creation_time = time);
        let version =
            version_of([aged(BIG[0], 850), aged(BIG[1], 950), aged((3, 0, 1, "a", "z"), 980)]);
        let at = |unix_seconds| Moment { unix_seconds, oldest_snapshot: None };
        assert!(picker.pick(&version, &at(950)).is_none());
        let picked = picker.pick(&version, &at(951)).unwrap();
        assert_eq!(shown(&picked), (vec![(0, vec![3]), (6, vec![1, 2])], 6));
        assert_eq!(picked.reason, Reason::Periodic);
    }

    #[test]
    fn deletions_are_merged_with_what_they_hide_if_that_is_worth_it() {
        let picker = UniversalPicker::new(&options(|_| ()));
        let with = |older_bytes| {
            version_of([
                counted((1, 6, older_bytes, "a", "z"), 100, 0, 0),
                counted((2, 0, 100, "a", "z"), 100, 100, 0),
            ])
        };
        // The deletions weigh as two entries of the older run each.
        let picked = picker.pick(&with(10_000), &Moment::default());
        assert_eq!(show(picked).unwrap().1, Reason::Tombstones);
        let marked = version_of([
            changed((1, 6, 1 << 40, "a", "z"), |_| ()),
            changed((2, 0, 1, "a", "z"), |file| file.need_compaction = true),
        ]);
        let picked = picker.pick(&marked, &Moment::default()).unwrap();
        assert_eq!((picked.reason, picked.output_level), (Reason::Marked, 6));
        let untold = version_of([new_file((1, 6, 9, "a", "z")), new_file((2, 0, 9, "a", "z"))]);
        assert!(picker.pick(&untold, &Moment::default()).is_none());
    }

    #[test]
    fn by_hand_whole_runs_go_to_the_last_level() {
        let picker = Picker::new(&options(|_| ()));
        let version = version(&[BIG[0], BIG[1], (3, 4, 10, "c", "d"), (4, 0, 10, "x", "z")]);
        let by_hand = |level, output, from: &[u8]| {
            let picked = picker.pick_range(&version, level, output, Some(from), Some(from));
            picked.map(|picked| shown(&picked))
        };
        let all = vec![(0, vec![4]), (4, vec![3]), (6, vec![1, 2])];
        assert_eq!(by_hand(0, 1, b"y"), Some((all, 6)));
        assert_eq!(by_hand(4, 5, b"c"), Some((vec![(4, vec![3]), (6, vec![1, 2])], 6)));
        assert_eq!(by_hand(6, 6, b"c"), Some((vec![(6, vec![1])], 6)));
        assert_eq!(by_hand(4, 5, b"x"), None);
    }
}
