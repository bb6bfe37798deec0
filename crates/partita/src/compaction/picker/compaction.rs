use std::sync::Arc;

use crate::compaction::claim::Claim;
use crate::key::KeyOrder;
use crate::version::{TableFile, Version};

/// Why a compaction was picked; shown in statistics and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Level 0 has many files, or many bytes.
    Level0Files,
    /// A level is over its target.
    LevelBytes,
    /// A file was marked, by RocksDB or by whoever wrote it.
    Marked,
    /// Most of a file's entries are deletions.
    Tombstones,
    /// A file on the bottom holds what only a snapshot needed that is gone.
    Bottommost,
    /// Data is older than `ttl`.
    Ttl,
    /// A file is older than `periodic_compaction_seconds`.
    Periodic,
    /// The newer runs of universal compaction are large beside the oldest.
    SizeAmplification,
    /// Neighbouring runs of universal compaction are of like size.
    SizeRatio,
    /// There are too many runs.
    SortedRuns,
    /// The oldest tables are more than FIFO compaction keeps.
    FifoBytes,
    /// The oldest tables are older than FIFO compaction keeps them.
    FifoTtl,
    /// All keys of a file are in a range that was dropped by hand.
    InRange,
    Manual,
}

/// Files of one level that are merged.
#[derive(Debug)]
pub(crate) struct LevelInput {
    pub(crate) level: usize,
    /// On level 0 newest first, elsewhere by key.
    pub(crate) files: Claim,
}

/// Files to be merged, reserved until this is dropped.
///
/// 1. No user key has entries both in the files of a level that are merged and in those of the same level that are not,
///    except on level 0.
/// 2. What is not merged and may hold entries of the same keys is either newer than all that is merged, and stands above
///    the output; or it is older, and stands below. On level 0 the output stands where the oldest of the files stood.
/// 3. Outputs of compactions that run at the same time do not overlap on a level.
#[derive(Debug)]
pub(crate) struct Compaction {
    /// The version that the files were picked from.
    pub(crate) version: Arc<Version>,
    /// Upper levels first; only the last may be the output level.
    pub(crate) inputs: Vec<LevelInput>,
    pub(crate) output_level: usize,
    /// Bytes of an output file.
    pub(crate) output_file_bytes: u64,
    /// Bytes that one compaction should have at most: also those of the level below the output that a file overlaps.
    pub(crate) compaction_bytes: u64,
    /// Whether entries may come later that are older than all that is there.
    pub(crate) older_may_come: bool,
    /// Whether files may be moved instead of merged, where nothing stands against it.
    pub(crate) movable: bool,
    pub(crate) reason: Reason,
}

impl LevelInput {
    /// Reserves the files of runs that follow each other in age, newest first: each with its level.
    ///
    /// * Returns `None` if there are none, or one of them is reserved.
    pub(super) fn of_runs<'f>(
        runs: impl Iterator<Item = (usize, &'f [Arc<TableFile>])>,
    ) -> Option<Vec<Self>> {
        let mut levels: Vec<(usize, Vec<&Arc<TableFile>>)> = Vec::new();
        for (level, files) in runs {
            match levels.last_mut().filter(|(last, _)| *last == level) {
                Some((_, taken)) => taken.extend(files),
                None => levels.push((level, files.iter().collect())),
            }
        }
        let reserve = |(level, files): (usize, Vec<&'f Arc<TableFile>>)| {
            Some(Self { level, files: Claim::all(files)? })
        };
        let inputs: Option<Vec<Self>> = levels.into_iter().map(reserve).collect();
        inputs.filter(|inputs| !inputs.is_empty())
    }

    /// Reserves `files` of `level`, and what they overlap on each level down to `output_level`.
    ///
    /// * `files`: no user key of theirs has entries in other files of the level; on level 0 in no older ones.
    /// * Returns `None` if there are none, or one of them is reserved, or files of level 0 are on their way down that could
    ///   come to lie among these.
    pub(super) fn down_to(
        version: &Version,
        level: usize,
        files: &[Arc<TableFile>],
        output_level: usize,
    ) -> Option<Vec<Self>> {
        if level == 0 && output_level > 0 && level0_is_in_the_way(version, files) {
            return None;
        }
        let order = version.key_order();
        let mut inputs = vec![Self { level, files: Claim::all(files)? }];
        for level in level + 1..=output_level {
            let Some(below) = version.levels().get(level) else { break };
            let taken = inputs.iter().flat_map(|input| input.files.iter());
            let (from, to) = key_range(order, taken)?;
            let overlapped = below.overlapping(order, Some(from), Some(to));
            let overlapped = below.whole_keys(order, overlapped);
            if !overlapped.is_empty() {
                inputs.push(Self { level, files: Claim::all(&below.files()[overlapped])? });
            }
        }
        Some(inputs)
    }
}

impl Compaction {
    /// Files and the levels they stand on, upper levels first.
    pub(crate) fn files(&self) -> impl Iterator<Item = (usize, &Arc<TableFile>)> {
        self.inputs.iter().flat_map(|input| input.files.iter().map(|file| (input.level, file)))
    }

    pub(crate) fn input_bytes(&self) -> u64 {
        self.files().map(|(_, file)| file.file_bytes).fold(0, u64::saturating_add)
    }

    /// The least and the greatest user key of the files.
    pub(crate) fn user_key_range(&self, order: &KeyOrder) -> Option<(&[u8], &[u8])> {
        key_range(order, self.files().map(|(_, file)| file))
    }

    /// Whether no table that is older than the input and not part of it overlaps the input, and none will come.
    pub(crate) fn nothing_older_outside(&self) -> bool {
        if self.older_may_come {
            return false;
        }
        let order = self.version.key_order();
        let Some((from, to)) = self.user_key_range(order) else { return true };
        !self.version.overlaps_below(self.output_level, Some(from), Some(to))
            && !self.leaves_older_in_level0(from, to)
    }

    /// Whether the output stays on level 0, and older tables there overlap it.
    fn leaves_older_in_level0(&self, from: &[u8], to: &[u8]) -> bool {
        let (0, Some(level0)) = (self.output_level, self.version.levels().first()) else {
            return false;
        };
        let order = self.version.key_order();
        let oldest = self.files().last().map(|(_, file)| file.number);
        let older = level0.files().iter().rev().take_while(|file| Some(file.number) != oldest);
        older.into_iter().any(|file| file.overlaps(order, from, to))
    }

    /// Whether the files can go to the output level as they are, all of them.
    pub(crate) fn is_trivial_move(&self) -> bool {
        if !self.movable
            || self.inputs.iter().any(|input| input.level == self.output_level)
            || self.is_drop()
            || !self.files_are_apart()
        {
            return false;
        }
        let order = self.version.key_order();
        let Some(below) = self.version.levels().get(self.output_level + 1) else { return true };
        // A file that lies over too much of the level below would make for a huge compaction later.
        self.files().all(|(_, file)| {
            let (from, to) = (file.smallest_user_key(), file.largest_user_key());
            let touched = below.overlapping(order, Some(from), Some(to));
            let bytes = below.files()[touched].iter().map(|file| file.file_bytes);
            bytes.fold(0, u64::saturating_add) <= self.compaction_bytes
        })
    }

    /// Whether no user key may have entries in two of the files.
    fn files_are_apart(&self) -> bool {
        let order = self.version.key_order();
        let mut files: Vec<_> = self.files().map(|(_, file)| file).collect();
        files.sort_by(|a, b| order.compare(a.smallest_user_key(), b.smallest_user_key()));
        files.windows(2).all(|pair| pair[0].ends_before(order, pair[1].smallest_user_key()))
    }

    /// Whether the files only go, and nothing is written in their place.
    pub(crate) fn is_drop(&self) -> bool {
        matches!(self.reason, Reason::FifoBytes | Reason::FifoTtl | Reason::InRange)
    }
}

/// Whether the files of level 0 that are reserved lie around `files`.
///
/// What is merged of them may become one table, which holds no key of `files` but goes from before them to behind them. On
/// sorted levels this cannot be: files that are reserved together are neighbours there.
fn level0_is_in_the_way(version: &Version, files: &[Arc<TableFile>]) -> bool {
    let order = version.key_order();
    let Some(level0) = version.levels().first() else { return false };
    let reserved = level0.files().iter().filter(|file| file.is_being_compacted());
    match (key_range(order, reserved), key_range(order, files.iter())) {
        (Some((from, to)), Some((own_from, own_to))) => {
            order.compare(from, own_to).is_le() && order.compare(own_from, to).is_le()
        }
        _ => false,
    }
}

/// The least and the greatest user key of files.
pub(super) fn key_range<'f>(
    order: &KeyOrder,
    files: impl Iterator<Item = &'f Arc<TableFile>>,
) -> Option<(&'f [u8], &'f [u8])> {
    files.fold(None, |range, file| {
        let (from, to) = (file.smallest_user_key(), file.largest_user_key());
        Some(match range {
            None => (from, to),
            Some((least, greatest)) => (
                if order.compare(from, least).is_lt() { from } else { least },
                if order.compare(to, greatest).is_gt() { to } else { greatest },
            ),
        })
    })
}
