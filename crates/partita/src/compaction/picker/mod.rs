//! Which files to merge next.

pub(crate) mod leveled;

use std::sync::Arc;

use super::claim::Claim;
use crate::key::KeyOrder;
use crate::version::{TableFile, Version};

/// Why a compaction was picked; shown in statistics and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Level0Files,
    LevelBytes,
    Manual,
}

/// Files to be merged, reserved until this is dropped.
#[derive(Debug)]
pub(crate) struct Compaction {
    /// The version that the files were picked from.
    pub(crate) version: Arc<Version>,
    pub(crate) level: usize,
    pub(crate) output_level: usize,
    /// Files of `level`, and of `output_level` where they overlap. On level 0 newest first.
    pub(crate) inputs: Claim,
    pub(crate) overlapped: Claim,
    pub(crate) output_file_bytes: u64,
    pub(crate) compaction_bytes: u64,
    pub(crate) reason: Reason,
}

impl Compaction {
    /// Files and the levels they stand on.
    pub(crate) fn files(&self) -> impl Iterator<Item = (usize, &Arc<TableFile>)> {
        let upper = self.inputs.iter().map(|file| (self.level, file));
        upper.chain(self.overlapped.iter().map(|file| (self.output_level, file)))
    }

    pub(crate) fn input_bytes(&self) -> u64 {
        self.files().map(|(_, file)| file.file_bytes).fold(0, u64::saturating_add)
    }

    /// The least and the greatest user key of the files.
    pub(crate) fn user_key_range(&self, order: &KeyOrder) -> Option<(&[u8], &[u8])> {
        key_range(order, self.files().map(|(_, file)| file))
    }

    /// Whether no level below the output has files.
    pub(crate) fn is_last_level(&self) -> bool {
        self.version.last_level().is_none_or(|last| last <= self.output_level)
    }

    /// Whether no table deeper than the output, and no table of level 0 that is not merged, overlaps the input.
    pub(crate) fn nothing_older_outside(&self) -> bool {
        let order = self.version.key_order();
        let Some((from, to)) = self.user_key_range(order) else { return true };
        !self.version.overlaps_below(self.output_level, Some(from), Some(to))
            && (self.output_level > 0 || self.files().count() == self.version.levels()[0].len())
    }

    /// Whether the files can go to the output level as they are.
    pub(crate) fn is_trivial_move(&self) -> bool {
        if self.reason == Reason::Manual || self.output_level == self.level {
            return false;
        }
        if !self.overlapped.is_empty() || self.level == 0 && self.inputs.len() > 1 {
            return false;
        }
        let order = self.version.key_order();
        let Some((from, to)) = self.user_key_range(order) else { return false };
        let Some(below) = self.version.levels().get(self.output_level + 1) else { return true };
        let touched = below.overlapping(order, Some(from), Some(to));
        let bytes: u64 = below.files()[touched].iter().map(|file| file.file_bytes).sum();
        // A file that lies over too much of the level below would make for a huge compaction later.
        bytes <= self.compaction_bytes
    }
}

/// The least and the greatest user key of files.
fn key_range<'f>(
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
