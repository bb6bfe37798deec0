//! Where stretches of fragments that a reader finds covered begin and end.
//!
//! ```text
//! tombstones that adjoin     a--7--c--3--e--9--g     i--5--k
//! oldest of each fragment       7     3     9     -     5
//! reader at 8                 [covered  )[ no      )[ yes )       a fragment is covered iff its oldest is visible
//! ```
//!
//! Hundreds of thousands of tombstones may adjoin, as where each of many ledgers was deleted by its own. Their run is not
//! walked over: above the fragments are the maxima of [`FAN_OUT`] each, above these theirs, and so on. A search goes up at
//! most once and down at most once, `O(log n)`.

/// Values under one of the next level.
const FAN_OUT: usize = 16;

/// What of a fragment that no tombstone covers.
pub(super) const UNCOVERED: u64 = u64::MAX;

/// The oldest sequence number over each fragment, [`UNCOVERED`] without one, to be searched.
#[derive(Debug, Default)]
pub(super) struct CoveredRuns {
    /// The first has the fragments' values; each other one the maxima of the one before.
    levels: Vec<Vec<u64>>,
}

impl CoveredRuns {
    pub(super) fn new(oldest: Vec<u64>) -> Self {
        let mut levels = vec![oldest];
        while let Some(last) = levels.last().filter(|last| last.len() > FAN_OUT) {
            let maxima = last.chunks(FAN_OUT).filter_map(|chunk| chunk.iter().max().copied());
            levels.push(maxima.collect());
        }
        Self { levels }
    }

    /// Whether a reader at `read_seqno` finds fragment `at` covered.
    #[inline]
    pub(super) fn is_covered(&self, at: usize, read_seqno: u64) -> bool {
        let oldest = self.levels.first().and_then(|oldest| oldest.get(at));
        oldest.is_some_and(|oldest| *oldest <= read_seqno)
    }

    /// The first fragment from `at` on that is not covered, or how many there are.
    pub(super) fn end(&self, mut at: usize, read_seqno: u64) -> usize {
        let mut height = 0;
        while let Some(values) = self.levels.get(height) {
            match values.get(at) {
                // All up to the last fragment.
                None => break,
                Some(oldest) if *oldest > read_seqno => match height.checked_sub(1) {
                    None => return at,
                    Some(below) => (height, at) = (below, at * FAN_OUT),
                },
                Some(_) => {
                    at += 1;
                    if at.is_multiple_of(FAN_OUT) && height + 1 < self.levels.len() {
                        (height, at) = (height + 1, at / FAN_OUT);
                    }
                }
            }
        }
        self.levels.first().map_or(0, Vec::len)
    }

    /// The first fragment of those in front of `end` that are covered without a gap; `end` if there is none.
    pub(super) fn start(&self, mut end: usize, read_seqno: u64) -> usize {
        let mut height = 0;
        while let (Some(values), Some(last)) = (self.levels.get(height), end.checked_sub(1)) {
            match values.get(last) {
                Some(oldest) if *oldest <= read_seqno => {
                    end = last;
                    if end.is_multiple_of(FAN_OUT) && height + 1 < self.levels.len() {
                        (height, end) = (height + 1, end / FAN_OUT);
                    }
                }
                _ => match height.checked_sub(1) {
                    None => return end,
                    Some(below) => {
                        (height, end) = (below, (end * FAN_OUT).min(self.levels[below].len()));
                    }
                },
            }
        }
        0
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.levels.iter().map(|values| values.capacity() * size_of::<u64>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_end_where_a_walk_over_all_fragments_ends_them(
            gaps in proptest::collection::vec((0usize..900, 0u64..5), 0..8),
            count in 0usize..900,
            asked in proptest::collection::vec((0usize..900, 0u64..5), 1..20),
        ) {
            let mut oldest = vec![1; count];
            for (at, value) in gaps {
                if let Some(gap) = oldest.get_mut(at) {
                    *gap = if value == 4 { UNCOVERED } else { value };
                }
            }
            let runs = CoveredRuns::new(oldest.clone());
            for (at, read) in asked {
                let at = at.min(count);
                let behind = oldest[at..].iter().take_while(|oldest| **oldest <= read).count();
                prop_assert_eq!(runs.end(at, read), at + behind);
                let before = oldest[..at].iter().rev().take_while(|oldest| **oldest <= read).count();
                prop_assert_eq!(runs.start(at, read), at - before);
                prop_assert_eq!(runs.is_covered(at, read), behind > 0);
            }
        }
    }
}
