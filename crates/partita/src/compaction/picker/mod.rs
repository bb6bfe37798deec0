//! Which files to merge next.
//!
//! * `compaction.rs`: what was picked: files, reserved, and where they go.
//! * `leveled.rs`: the level that is over its target by most gives files to the next; `preference.rs`: which ones.
//! * `marks.rs`: files that are merged for what is in them; `weight.rs`: what deletions count.
//! * `universal.rs`, `runs.rs`: sorted runs that are neighbours in age.
//! * `fifo.rs`: the oldest tables are dropped.
//! * `range.rs`: files of a range of keys, for compactions by hand; `inside.rs`: those that hold nothing else, to be dropped.
//!
//! A picker looks at one version and keeps nothing: what is under way is seen by the files' reservations. So a pick costs no
//! more than a walk over the family's files.
//!
//! | option | drives |
//! |---|---|
//! | `compaction_style`, `disable_auto_compactions` | which picker; whether only compactions by hand are made |
//! | `num_levels` | the last level |
//! | `allow_ingest_behind`, `cf_allow_ingest_behind` | whether that one is left alone |
//! | `level0_file_num_compaction_trigger` | levelled: files of level 0; universal: runs; FIFO: small tables to merge |
//! | `max_bytes_for_level_base`, `…_multiplier`, `…_multiplier_additional`, `level_compaction_dynamic_level_bytes` | [targets of levels](super::targets), and what counts as too many bytes on level 0 |
//! | `target_file_size_base`, `target_file_size_multiplier` | bytes of output files |
//! | `max_compaction_bytes` | what is merged within level 0; over how much a file may lie to be moved |
//! | `compaction_pri` | levelled: the [order](preference) of a level's files |
//! | `ttl`, `periodic_compaction_seconds` | [ages](marks) of data and files; universal takes the smaller of both; FIFO drops by `ttl` |
//! | `compaction_options_universal` | the [rules](universal) on runs |
//! | `compaction_options_fifo` | [what is kept](fifo) |

mod compaction;
mod fifo;
mod inside;
mod leveled;
mod marks;
#[cfg(test)]
mod model_tests;
mod preference;
mod range;
mod runs;
#[cfg(test)]
mod testing;
mod universal;
mod weight;

use std::sync::Arc;

pub(crate) use compaction::{Compaction, LevelInput, Reason};
pub(crate) use fifo::FifoPicker;
pub(crate) use inside::pick_files_inside;
pub(crate) use leveled::LeveledPicker;
pub(crate) use universal::UniversalPicker;

use crate::key::SeqNo;
use crate::options::{ColumnFamilyOptions, CompactionStyle};
use crate::version::Version;

/// Picks compactions for one column family.
#[derive(Clone, Debug)]
pub(crate) enum Picker {
    Leveled(LeveledPicker),
    Universal(UniversalPicker),
    Fifo(FifoPicker),
    /// Compactions run by hand only, in the way of another picker.
    ByHand(Box<Picker>),
    /// The last level is left to files that are ingested behind all others.
    Above(Box<Above>),
}

/// A picker that sees all levels but the last.
#[derive(Clone, Debug)]
pub(crate) struct Above {
    picker: Picker,
    /// How many levels it sees.
    levels: usize,
}

/// What a pick depends on beside the files.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment {
    /// Seconds since 1970.
    pub(crate) unix_seconds: u64,
    /// The sequence number of the oldest snapshot; `None` if there is none.
    pub(crate) oldest_snapshot: Option<SeqNo>,
}

impl Picker {
    pub(crate) fn new(options: &ColumnFamilyOptions) -> Self {
        let picker = match options.compaction_style {
            CompactionStyle::Level | CompactionStyle::None => {
                Self::Leveled(LeveledPicker::new(options))
            }
            CompactionStyle::Universal => Self::Universal(UniversalPicker::new(options)),
            CompactionStyle::Fifo => Self::Fifo(FifoPicker::new(options)),
        };
        let by_hand =
            options.disable_auto_compactions || options.compaction_style == CompactionStyle::None;
        if by_hand { Self::ByHand(Box::new(picker)) } else { picker }
    }

    /// The same for a family that keeps its last level free.
    pub(crate) fn without_last_level(options: &ColumnFamilyOptions) -> Self {
        let levels = options.level_count() - 1;
        let fewer = i32::try_from(levels).unwrap_or(i32::MAX);
        let options = ColumnFamilyOptions { num_levels: fewer, ..options.clone() };
        Self::Above(Box::new(Above { picker: Self::new(&options), levels }))
    }

    /// How many levels of a version it works on.
    pub(crate) fn level_count(&self, version: &Version) -> usize {
        match self {
            Self::Above(above) => above.levels.min(version.levels().len()),
            _ => version.levels().len(),
        }
    }

    /// The next compaction, if one is due and its files are free.
    pub(crate) fn pick(&self, version: &Arc<Version>, moment: &Moment) -> Option<Compaction> {
        match self {
            Self::Leveled(picker) => picker.pick(version, moment),
            Self::Universal(picker) => picker.pick(version, moment),
            Self::Fifo(picker) => picker.pick(version, moment),
            Self::ByHand(_) => None,
            Self::Above(above) => above.pick(version, moment),
        }
    }

    /// A compaction by hand: the files of `level` that may hold user keys from `from` to `to`, both included, and what
    /// they overlap on each level down to `output_level`, which may be `level` itself.
    ///
    /// * `None` has no bound.
    /// * Universal compaction knows whole runs only: if there is such a file, all that is not newer than `level` is merged
    ///   into the last level; but a level is written again in place by the file. FIFO compaction does what is due.
    /// * Returns `None` if there are no such files, or one of them is reserved: then it can be tried again after the
    ///   compaction that has it.
    pub(crate) fn pick_range(
        &self,
        version: &Arc<Version>,
        level: usize,
        output_level: usize,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
    ) -> Option<Compaction> {
        let files = range::files_in_range(version, level, from, to);
        if files.is_empty() {
            return None;
        }
        match self {
            Self::Leveled(picker) => picker.merge(version, level, &files, output_level),
            Self::Universal(picker) if level == output_level && level > 0 => {
                picker.rewrite(version, level, &files)
            }
            Self::Universal(picker) => picker.pick_runs_from(version, level),
            Self::Fifo(picker) => picker.pick(version, &Moment::default()),
            Self::ByHand(picker) => picker.pick_range(version, level, output_level, from, to),
            Self::Above(above) => above.picked(version, |picker, upper| {
                picker.pick_range(upper, level, output_level, from, to)
            }),
        }
    }

    /// The least sequence number that all snapshots must see before there is more to do: files on the bottom that hold what
    /// only snapshots need.
    pub(crate) fn waits_for_snapshots(&self, version: &Version, moment: &Moment) -> Option<SeqNo> {
        match self {
            Self::Leveled(_) if moment.oldest_snapshot.is_some() => {
                let sorted = version.files().filter(|(level, _)| *level > 0);
                sorted.filter_map(|(_, file)| marks::waits_for_snapshots(file, moment)).min()
            }
            _ => None,
        }
    }

    /// How urgent each level is, from 0; one from 1 on asks for a compaction. Universal and FIFO compaction have one number.
    pub(crate) fn scores(&self, version: &Version) -> Vec<f64> {
        match self {
            Self::Leveled(picker) => picker.scores(version),
            Self::Universal(picker) => picker.scores(version),
            Self::Fifo(picker) => picker.scores(version),
            Self::ByHand(picker) => picker.scores(version),
            Self::Above(above) => above.picker.scores(&above.upper(version)),
        }
    }

    /// Bytes that compactions have to write until every level is within its target: what writers are slowed by. Universal and
    /// FIFO compaction have no such targets.
    pub(crate) fn pending_bytes(&self, version: &Version) -> u64 {
        match self {
            Self::Leveled(picker) => picker.pending_bytes(version),
            Self::Universal(_) | Self::Fifo(_) => 0,
            Self::ByHand(picker) => picker.pending_bytes(version),
            Self::Above(above) => above.picker.pending_bytes(&above.upper(version)),
        }
    }

    /// The level that level 0 is merged into.
    pub(crate) fn base_level(&self, version: &Version) -> usize {
        match self {
            Self::Leveled(picker) => picker.base_level(version),
            Self::Universal(picker) => picker.base_level(version),
            Self::Fifo(_) => 0,
            Self::ByHand(picker) => picker.base_level(version),
            Self::Above(above) => above.picker.base_level(&above.upper(version)),
        }
    }
}

impl Above {
    fn upper(&self, version: &Version) -> Version {
        version.upper_levels(self.levels)
    }

    /// What is due above the last level. Nothing is written again in its place for what it would lose at the bottom: there is no
    /// bottom, as long as older entries may come.
    fn pick(&self, version: &Arc<Version>, moment: &Moment) -> Option<Compaction> {
        let moment = Moment { oldest_snapshot: Some(SeqNo::ZERO), ..*moment };
        self.picked(version, |picker, upper| picker.pick(upper, &moment))
    }

    fn picked(
        &self,
        version: &Arc<Version>,
        pick: impl FnOnce(&Picker, &Arc<Version>) -> Option<Compaction>,
    ) -> Option<Compaction> {
        let picked = pick(&self.picker, &Arc::new(self.upper(version)))?;
        Some(Compaction { version: Arc::clone(version), older_may_come: true, ..picked })
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{shown, version};
    use super::*;

    fn picker(change: impl FnOnce(&mut ColumnFamilyOptions)) -> Picker {
        let mut options = ColumnFamilyOptions { num_levels: 7, ..ColumnFamilyOptions::default() };
        change(&mut options);
        Picker::new(&options)
    }

    #[test]
    fn what_is_picked_by_hand_goes_through_all_levels_between() {
        let version = version(&[
            (5, 0, 10, "k", "m"),
            (6, 0, 10, "a", "c"),
            (7, 0, 10, "b", "d"),
            (1, 1, 10, "d", "f"),
            (2, 2, 10, "e", "h"),
            (3, 2, 10, "i", "j"),
            (4, 3, 10, "h", "i"),
        ]);
        let picked = picker(|_| ()).pick_range(&version, 0, 3, Some(b"a"), Some(b"a")).unwrap();
        let inputs = vec![(0, vec![7, 6]), (1, vec![1]), (2, vec![2]), (3, vec![4])];
        assert_eq!(shown(&picked), (inputs, 3));
        assert!(!picked.is_trivial_move());
        assert!(picker(|_| ()).pick_range(&version, 0, 3, Some(b"x"), None).is_none());
        assert!(picker(|_| ()).pick_range(&version, 9, 9, None, None).is_none());
    }

    #[test]
    fn a_level_can_be_merged_into_itself_by_hand() {
        let version = version(&[(1, 2, 10, "a", "c"), (2, 2, 10, "d", "f"), (3, 3, 10, "a", "z")]);
        let picked = picker(|_| ()).pick_range(&version, 2, 2, Some(b"d"), None).unwrap();
        assert_eq!(shown(&picked), (vec![(2, vec![2])], 2));
    }

    #[test]
    fn nothing_goes_down_between_tables_of_level_0_that_are_on_their_way() {
        let version = version(&[(1, 0, 10, "a", "c"), (2, 0, 10, "x", "z"), (3, 0, 10, "k", "m")]);
        let picker = picker(|_| ());
        let level0 = version.levels()[0].files();
        let around = crate::compaction::claim::Claim::all(&level0[1..]).unwrap();
        assert!(picker.pick_range(&version, 0, 1, Some(b"k"), Some(b"m")).is_none());
        drop(around);
        let aside = crate::compaction::claim::Claim::all(&level0[2..]).unwrap();
        assert!(picker.pick_range(&version, 0, 1, Some(b"k"), Some(b"m")).is_some());
        drop(aside);
    }

    #[test]
    fn without_compactions_of_its_own_a_family_is_merged_by_hand_only() {
        let version = version(&[
            (1, 0, 10, "a", "c"),
            (2, 0, 10, "b", "c"),
            (3, 0, 10, "a", "z"),
            (4, 0, 10, "b", "z"),
        ]);
        for change in [
            |options: &mut ColumnFamilyOptions| options.disable_auto_compactions = true,
            |options: &mut ColumnFamilyOptions| options.compaction_style = CompactionStyle::None,
        ] {
            let picker = picker(change);
            assert!(picker.pick(&version, &Moment::default()).is_none());
            assert!(picker.scores(&version)[0] >= 1.0 && picker.pending_bytes(&version) >= 40);
            assert!(
                picker.pick_range(&version, 0, picker.base_level(&version), None, None).is_some()
            );
        }
        assert!(picker(|_| ()).pick(&version, &Moment::default()).is_some());
    }
}
