//! FIFO compaction: the oldest tables are dropped, with all that is in them.
//!
//! | option | what it drives |
//! |---|---|
//! | `max_table_files_size` | the oldest tables go until the rest has no more bytes |
//! | `ttl` | the oldest tables go that were written longer ago |
//! | `allow_compaction` | `level0_file_num_compaction_trigger` tables of a memtable's size are merged into one |
//!
//! * The order of age is level 0's. Where tables stand on deeper levels, as another style left them, the deepest go first,
//!   by key. So what is dropped is never newer than what it hid, and nothing comes back.
//! * One compaction at a time: they are quick.
//! * A table that was merged counts as written then: merged tables stay as long as their newest part would.

use std::sync::Arc;

use super::leveled::newest_free;
use super::{Compaction, LevelInput, Moment, Reason};
use crate::compaction::targets::LeveledShape;
use crate::options::ColumnFamilyOptions;
use crate::version::{TableFile, Version};

/// Picks compactions for one column family of FIFO style.
#[derive(Clone, Debug)]
pub(crate) struct FifoPicker {
    pub(super) bytes_max: u64,
    pub(super) ttl: Option<u64>,
    /// Bytes of a table up to which it is merged with others; `None`: tables are not merged.
    pub(super) merged_file_bytes: Option<u64>,
    pub(super) shape: LeveledShape,
}

impl FifoPicker {
    pub(super) fn new(options: &ColumnFamilyOptions) -> Self {
        let fifo = &options.compaction_options_fifo;
        let memtable = options.write_buffer_size as u64;
        Self {
            bytes_max: fifo.max_table_files_size,
            ttl: Some(options.ttl).filter(|ttl| *ttl > 0),
            // A table may be somewhat larger than its memtable. One that is larger was merged before.
            merged_file_bytes: fifo
                .allow_compaction
                .then(|| memtable.saturating_add(memtable / 10)),
            shape: LeveledShape::new(options),
        }
    }

    /// Level 0 stands for all.
    pub(super) fn scores(&self, version: &Version) -> Vec<f64> {
        let by_bytes = version.file_bytes() as f64 / self.bytes_max.max(1) as f64;
        let free = version.levels().first().map_or(0, |level| {
            level.files().iter().filter(|file| !file.is_being_compacted()).count()
        });
        let by_files = free as f64 / self.shape.level0_files.max(1) as f64;
        vec![if self.merged_file_bytes.is_some() { by_bytes.max(by_files) } else { by_bytes }]
    }

    /// The next compaction, if one is due and its files are free.
    pub(super) fn pick(&self, version: &Arc<Version>, moment: &Moment) -> Option<Compaction> {
        if version.files().any(|(_, file)| file.is_being_compacted()) {
            return None;
        }
        self.pick_oldest(version, moment).or_else(|| self.pick_small(version))
    }

    /// What is dropped for its age, or for the sum of bytes.
    fn pick_oldest(&self, version: &Arc<Version>, moment: &Moment) -> Option<Compaction> {
        let level = version.last_level()?;
        let files = version.levels()[level].files();
        let mut left = version.file_bytes();
        let mut reason = Reason::FifoTtl;
        let mut goes = |file: &TableFile| {
            let too_much = left > self.bytes_max;
            let too_old = level == 0 && moment.is_past(file.creation_time, self.ttl);
            if too_much {
                reason = Reason::FifoBytes;
            }
            left = left.saturating_sub(file.file_bytes);
            too_much || too_old
        };
        let taken = if level == 0 {
            let count = files.iter().rev().take_while(|file| goes(file)).count();
            &files[files.len() - count..]
        } else {
            let count = files.iter().take_while(|file| goes(file)).count();
            let whole = version.levels()[level].whole_keys(version.key_order(), 0..count);
            &files[whole]
        };
        self.compaction(version, level, taken, reason)
    }

    /// New small tables, merged into one.
    fn pick_small(&self, version: &Arc<Version>) -> Option<Compaction> {
        let file_bytes = self.merged_file_bytes?;
        let files = version.levels().first()?.files();
        let small = |file: &TableFile| file.file_bytes <= file_bytes;
        let count = newest_free(files, self.shape.compaction_bytes, small);
        if count < self.shape.level0_files.max(2) {
            return None;
        }
        self.compaction(version, 0, &files[..count], Reason::Level0Files)
    }

    fn compaction(
        &self,
        version: &Arc<Version>,
        level: usize,
        files: &[Arc<TableFile>],
        reason: Reason,
    ) -> Option<Compaction> {
        Some(Compaction {
            version: Arc::clone(version),
            inputs: LevelInput::of_runs(
                std::iter::once((level, files)).filter(|_| !files.is_empty()),
            )?,
            output_level: level,
            output_file_bytes: u64::MAX,
            compaction_bytes: self.shape.compaction_bytes,
            older_may_come: false,
            movable: false,
            reason,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Given, changed, shown, version, version_of};
    use super::*;
    use crate::compaction::claim::Claim;

    fn picker(bytes_max: u64, merged_file_bytes: Option<u64>) -> FifoPicker {
        let options = ColumnFamilyOptions { max_compaction_bytes: 1000, ..Default::default() };
        let shape = LeveledShape::new(&options);
        FifoPicker { bytes_max, ttl: Some(100), merged_file_bytes, shape }
    }

    fn files(numbers: std::ops::RangeInclusive<u64>) -> Vec<Given> {
        numbers.map(|number| (number, 0, 100, "a", "z")).collect()
    }

    #[test]
    fn the_oldest_go_until_the_rest_fits() {
        let version = version(&files(1..=5));
        let picked = picker(300, None).pick(&version, &Moment::default()).unwrap();
        assert_eq!(shown(&picked), (vec![(0, vec![2, 1])], 0));
        assert!(picked.is_drop() && picked.reason == Reason::FifoBytes);
        drop(picked);
        assert!(picker(500, None).pick(&version, &Moment::default()).is_none());
        let busy = Claim::all(&version.levels()[0].files()[..1]).unwrap();
        assert!(picker(300, None).pick(&version, &Moment::default()).is_none());
        drop(busy);
    }

    #[test]
    fn what_is_old_goes_up_to_the_first_that_is_not() {
        let aged =
            |number, time| changed((number, 0, 100, "a", "z"), |file| file.creation_time = time);
        let at = |unix_seconds| Moment { unix_seconds, oldest_snapshot: None };
        let version = version_of([aged(1, 10), aged(2, 20), aged(3, 200), aged(4, 15)]);
        let picked = picker(1000, None).pick(&version, &at(150)).unwrap();
        assert_eq!(shown(&picked).0, [(0, vec![2, 1])]);
        assert_eq!(picked.reason, Reason::FifoTtl);
        drop(picked);
        assert!(picker(1000, None).pick(&version, &at(110)).is_none());
        let unknown = version_of([aged(1, 0), aged(2, 20)]);
        assert!(picker(1000, None).pick(&unknown, &at(150)).is_none());
    }

    #[test]
    fn of_other_levels_the_deepest_goes_first_by_whole_keys() {
        let version = version(&[
            (1, 2, 100, "a", "b"),
            (2, 2, 100, "c", "d"),
            (3, 1, 100, "a", "z"),
            (4, 0, 100, "a", "z"),
        ]);
        let picked = picker(350, None).pick(&version, &Moment::default()).unwrap();
        assert_eq!(shown(&picked), (vec![(2, vec![1])], 2));
        assert!(picked.is_drop());
    }

    #[test]
    fn small_tables_are_merged_and_large_ones_left_alone() {
        let version = version(&[
            (1, 0, 101, "a", "z"),
            (2, 0, 100, "a", "z"),
            (3, 0, 100, "a", "z"),
            (4, 0, 100, "a", "z"),
            (5, 0, 100, "a", "z"),
        ]);
        let picked = picker(10_000, Some(100)).pick(&version, &Moment::default()).unwrap();
        assert_eq!(shown(&picked), (vec![(0, vec![5, 4, 3, 2])], 0));
        assert!(!picked.is_drop() && !picked.is_trivial_move());
        assert!(!picked.nothing_older_outside());
        drop(picked);
        assert!(picker(10_000, Some(99)).pick(&version, &Moment::default()).is_none());
        assert!(picker(10_000, None).pick(&version, &Moment::default()).is_none());
        assert!(picker(10_000, Some(100)).scores(&version)[0] >= 1.0);
        assert!(picker(10_000, None).scores(&version)[0] < 1.0);
    }
}
