//! Sorted runs: each table of level 0, and each further level that has tables. Newest first.

use std::sync::Arc;

use super::weight::Weights;
use crate::version::{TableFile, Version};

/// A stretch of tables without overlap. All of it is merged, or nothing.
#[derive(Debug)]
pub(super) struct Run<'v> {
    pub(super) level: usize,
    pub(super) files: &'v [Arc<TableFile>],
    pub(super) bytes: u64,
    /// Bytes, and what deletions add.
    pub(super) weight: u64,
    /// Whether a compaction has one of its tables.
    pub(super) is_reserved: bool,
}

/// The runs of a version.
pub(super) fn sorted_runs(version: &Version) -> Vec<Run<'_>> {
    let weights = Weights::new(version);
    let stretches = version.levels().iter().enumerate().flat_map(|(level, files)| {
        let size = if level == 0 { 1 } else { files.len().max(1) };
        files.files().chunks(size).map(move |files| (level, files))
    });
    let run = |(level, files)| Run {
        level,
        files,
        bytes: files.iter().map(|file| file.file_bytes).fold(0, u64::saturating_add),
        weight: files.iter().map(|file| weights.of(file)).fold(0, u64::saturating_add),
        is_reserved: files.iter().any(|file| file.is_being_compacted()),
    };
    stretches.map(run).collect()
}
