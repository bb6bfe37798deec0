//! Which file of a level is merged first: `compaction_pri`.
//!
//! ```text
//! kByCompensatedSize         the heaviest
//! kOldestLargestSeqFirst     the one whose newest entry is oldest: what was not written for long makes room
//! kOldestSmallestSeqFirst    the one whose oldest entry is oldest
//! kMinOverlappingRatio       the one over fewest bytes of the output level for what it weighs
//! kRoundRobin                as kMinOverlappingRatio: no cursor is kept
//! ```

use std::sync::Arc;

use super::weight::Weights;
use crate::options::CompactionPriority;
use crate::version::{TableFile, Version};

/// Where the free files of a level stand in it, those first that should be merged first.
pub(super) fn preferred_first(
    priority: CompactionPriority,
    version: &Version,
    level: usize,
    output_level: usize,
) -> Vec<usize> {
    let Some(files) = version.levels().get(level) else { return Vec::new() };
    let weights = Weights::new(version);
    let cost = |file: &Arc<TableFile>| match priority {
        CompactionPriority::ByCompensatedSize => -(weights.of(file) as f64),
        CompactionPriority::OldestLargestSeqFirst => file.largest_seqno.get() as f64,
        CompactionPriority::OldestSmallestSeqFirst => file.smallest_seqno.get() as f64,
        CompactionPriority::MinOverlappingRatio | CompactionPriority::RoundRobin => {
            overlapped_bytes(version, file, output_level) as f64 / weights.of(file).max(1) as f64
        }
    };
    let free = files.files().iter().enumerate().filter(|(_, file)| !file.is_being_compacted());
    let mut costs: Vec<(bool, f64, usize)> =
        free.map(|(at, file)| (!file.need_compaction, cost(file), at)).collect();
    costs.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    costs.into_iter().map(|(_, _, at)| at).collect()
}

/// Bytes of the files of `level` that a file overlaps.
fn overlapped_bytes(version: &Version, file: &TableFile, level: usize) -> u64 {
    let Some(below) = version.levels().get(level) else { return 0 };
    let (from, to) = (file.smallest_user_key(), file.largest_user_key());
    let range = below.overlapping(version.key_order(), Some(from), Some(to));
    below.files()[range].iter().map(|file| file.file_bytes).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{changed, version_of};
    use super::*;
    use crate::key::SeqNo;

    #[test]
    fn each_priority_has_its_order() {
        let file = |given, least: u64, greatest: u64| {
            changed(given, |file| {
                file.smallest_seqno = SeqNo::new(least).unwrap();
                file.largest_seqno = SeqNo::new(greatest).unwrap();
            })
        };
        let version = version_of([
            file((1, 1, 100, "a", "c"), 1, 30),
            file((2, 1, 300, "d", "f"), 2, 20),
            file((3, 1, 200, "g", "i"), 3, 10),
            file((4, 2, 50, "a", "b"), 0, 0),
            file((5, 2, 300, "e", "f"), 0, 0),
        ]);
        let order = |priority| preferred_first(priority, &version, 1, 2);
        assert_eq!(order(CompactionPriority::ByCompensatedSize), [1, 2, 0]);
        assert_eq!(order(CompactionPriority::OldestLargestSeqFirst), [2, 1, 0]);
        assert_eq!(order(CompactionPriority::OldestSmallestSeqFirst), [0, 1, 2]);
        assert_eq!(order(CompactionPriority::MinOverlappingRatio), [2, 0, 1]);
        assert!(preferred_first(CompactionPriority::RoundRobin, &version, 9, 10).is_empty());
    }

    #[test]
    fn what_is_marked_goes_first() {
        let version = version_of([
            changed((1, 1, 100, "a", "c"), |_| ()),
            changed((2, 1, 100, "d", "f"), |file| file.need_compaction = true),
        ]);
        assert_eq!(preferred_first(CompactionPriority::ByCompensatedSize, &version, 1, 2), [1, 0]);
    }
}
