//! What deletions add to the weight of a file.
//!
//! A deletion is small, and what it hides is not: a file of deletions is worth more to be merged than its bytes tell. Scans
//! over deleted keys get better by it without being told.
//!
//! * A file with more deletions than other entries weighs as much more as two entries of usual size for each that it has
//!   too many. As long as both keep the balance, as where every key is written and deleted once, nothing changes: or else
//!   the whole tree would be taken for one that is due.
//! * A file is dense, and merged down for that alone, if three quarters of its entries are deletions.
//! * A range tombstone counts as a hundred deletions.
//!
//! Counts come from whoever wrote a table or opened it; of other tables bytes are all that is known.

use crate::version::{TableCounts, TableFile, Version};

/// Entries of usual size that a deletion weighs.
const DELETION_WEIGHT: u64 = 2;
/// Deletions that a range tombstone counts as.
const RANGE_DELETION_DELETIONS: u64 = 100;

/// What the files of a version weigh.
pub(super) struct Weights {
    average_entry_bytes: u64,
}

impl Weights {
    pub(super) fn new(version: &Version) -> Self {
        let (mut bytes, mut entries) = (0u64, 0u64);
        for (_, file) in version.files() {
            // Where deletions prevail, entries are smaller than those that are deleted.
            if let Some(counts) = file.counts().filter(|counts| surplus(counts) == 0) {
                bytes = bytes.saturating_add(file.file_bytes);
                entries = entries.saturating_add(counts.entries);
            }
        }
        Self { average_entry_bytes: bytes / entries.max(1) }
    }

    /// Bytes of a file, and what its deletions add.
    pub(super) fn of(&self, file: &TableFile) -> u64 {
        let surplus = file.counts().map_or(0, |counts| surplus(&counts));
        let bytes = self.average_entry_bytes.saturating_mul(DELETION_WEIGHT);
        file.file_bytes
            .saturating_add(file.compensated_range_deletion_bytes)
            .saturating_add(surplus.saturating_mul(bytes))
    }
}

/// Deletions beyond those that other entries of the file balance.
fn surplus(counts: &TableCounts) -> u64 {
    deletions(counts).saturating_mul(2).saturating_sub(counts.entries)
}

fn deletions(counts: &TableCounts) -> u64 {
    let points = counts.deletions.saturating_sub(counts.range_deletions);
    points.saturating_add(counts.range_deletions.saturating_mul(RANGE_DELETION_DELETIONS))
}

/// Whether most of what a file holds are deletions.
pub(super) fn is_dense(file: &TableFile) -> bool {
    file.counts().is_some_and(|counts| {
        counts.deletions > 0
            && deletions(&counts).saturating_mul(4) >= counts.entries.saturating_mul(3)
    })
}

/// Whether a tenth of a file would go, were its deletions dropped.
pub(super) fn has_many_deletions(counts: &TableCounts) -> bool {
    counts.deletions > 0 && deletions(counts).saturating_mul(10) >= counts.entries
}

#[cfg(test)]
mod tests {
    use super::super::testing::{counted, version_of};
    use super::*;

    #[test]
    fn deletions_weigh_once_they_prevail() {
        let version = version_of([
            counted((1, 1, 1000, "a", "c"), 100, 0, 0),
            counted((2, 1, 100, "d", "e"), 100, 50, 0),
            counted((3, 1, 100, "f", "g"), 100, 80, 0),
            counted((4, 1, 100, "h", "i"), 100, 1, 1),
        ]);
        let weights = Weights::new(&version);
        // Files 1 and 2 have 1100 bytes in 200 entries: 5 each.
        let of = |at: usize| weights.of(&version.levels()[1].files()[at]);
        assert_eq!([of(0), of(1), of(2), of(3)], [1000, 100, 100 + 60 * 10, 100 + 100 * 10]);
        let dense = |at: usize| is_dense(&version.levels()[1].files()[at]);
        assert_eq!([dense(0), dense(1), dense(2), dense(3)], [false, false, true, true]);
    }

    #[test]
    fn a_file_of_unknown_contents_weighs_its_bytes() {
        let version = version_of([super::super::testing::new_file((1, 1, 77, "a", "c"))]);
        let file = &version.levels()[1].files()[0];
        assert_eq!(Weights::new(&version).of(file), 77);
        assert!(!is_dense(file));
    }
}
