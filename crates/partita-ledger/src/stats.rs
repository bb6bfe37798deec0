//! What an index tells about itself.

use std::fmt;

use hdrhistogram::Histogram;
use partita::util::sharded::Sharded;

use crate::compaction::CompactionStats;

/// Figures of an index since it was opened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IndexStats {
    /// Lookups of entries: BookKeeper's `lookup-entry-location`.
    pub lookups: OperationStats,
    /// Lookups of last entries: BookKeeper's `get-last-entry-in-ledger`.
    pub last_entries: OperationStats,
    /// Lookups of last entries that were refused because the ledger is marked deleted; the database was not asked.
    pub last_entries_of_deleted: u64,
    /// About how many entries there are, BookKeeper's `entries-count`; `None` if it cannot be told.
    pub entries_estimate: Option<u64>,
    /// Ledgers that are marked deleted and still have their entries.
    pub deleted_ledgers_pending: usize,
    /// Compactions of the whole index.
    pub compactions: CompactionStats,
}

/// How operations of one kind went, and how long they took.
///
/// BookKeeper counts two outcomes: an entry that is absent is a failure. There, a last entry that is not found counts as a
/// success if any ledger before it has entries; here it is [`OperationStats::absent`] in either case.
#[derive(Clone, Debug)]
pub struct OperationStats {
    /// Those that found what they looked for.
    pub found: Latencies,
    /// Those that found it not to be there.
    pub absent: Latencies,
    /// Those that ended in an error.
    pub failed: Latencies,
}

impl OperationStats {
    /// Successes, as BookKeeper counts them.
    pub fn success(&self) -> &Latencies {
        &self.found
    }

    /// Failures, as BookKeeper counts them: absent or failed.
    pub fn failure(&self) -> Latencies {
        let mut both = self.absent.clone();
        both.add(&self.failed.0);
        both
    }
}

/// How long operations took: a histogram in nanoseconds, to two significant digits.
#[derive(Clone)]
pub struct Latencies(Histogram<u64>);

/// Digits that a histogram keeps: bins are at most 1 % wide.
const SIGNIFICANT_DIGITS: u8 = 2;

impl Latencies {
    fn new() -> Self {
        match Histogram::new(SIGNIFICANT_DIGITS) {
            Ok(histogram) => Self(histogram),
            Err(error) => unreachable!("{SIGNIFICANT_DIGITS} digits can be had: {error}"),
        }
    }

    fn record(&mut self, nanos: u64) {
        // It grows as needed; what is too long for it even so counts as its longest.
        if self.0.record(nanos).is_err() {
            self.0.saturating_record(nanos);
        }
    }

    fn add(&mut self, other: &Histogram<u64>) {
        if let Err(error) = self.0.add(other) {
            unreachable!("it grows as needed: {error}");
        }
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Nanoseconds of an operation, on average; 0 if there were none.
    pub fn mean_nanos(&self) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.mean() }
    }

    /// Nanoseconds of the longest; 0 if there were none.
    pub fn max_nanos(&self) -> u64 {
        self.0.max()
    }

    /// Nanoseconds that this share of all took at most; 0 if there were none.
    ///
    /// * `quantile`: 0 to 1, 0.99 for the 99th percentile.
    pub fn quantile_nanos(&self, quantile: f64) -> u64 {
        self.0.value_at_quantile(quantile)
    }
}

impl fmt::Debug for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latencies")
            .field("count", &self.count())
            .field("mean_nanos", &self.mean_nanos())
            .field("p99_nanos", &self.quantile_nanos(0.99))
            .field("max_nanos", &self.max_nanos())
            .finish()
    }
}

/// How an operation ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome {
    Found,
    Absent,
    Failed,
}

/// Takes the latencies of operations of one kind.
pub(crate) struct Recorder(Sharded<OperationStats>);

impl Recorder {
    pub(crate) fn new() -> Self {
        Self(Sharded::new(no_operations))
    }

    pub(crate) fn record(&self, outcome: Outcome, nanos: u64) {
        let mut shard = self.0.of_this_thread();
        match outcome {
            Outcome::Found => shard.found.record(nanos),
            Outcome::Absent => shard.absent.record(nanos),
            Outcome::Failed => shard.failed.record(nanos),
        }
    }

    pub(crate) fn stats(&self) -> OperationStats {
        let mut sum = no_operations();
        self.0.for_each(|shard| {
            sum.found.add(&shard.found.0);
            sum.absent.add(&shard.absent.0);
            sum.failed.add(&shard.failed.0);
        });
        sum
    }
}

fn no_operations() -> OperationStats {
    OperationStats { found: Latencies::new(), absent: Latencies::new(), failed: Latencies::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_of_all_threads_are_added_up_by_outcome() {
        let recorder = Recorder::new();
        std::thread::scope(|scope| {
            for thread in 1..=20 {
                let recorder = &recorder;
                scope.spawn(move || {
                    recorder.record(Outcome::Found, thread * 1000);
                    recorder.record(Outcome::Absent, 50);
                });
            }
        });
        recorder.record(Outcome::Failed, u64::MAX);
        let stats = recorder.stats();
        assert_eq!(stats.success().count(), 20);
        assert!((stats.found.mean_nanos() - 10_500.0).abs() < 105.0);
        assert!((9_900..10_100).contains(&stats.found.quantile_nanos(0.5)));
        assert!((20_000..20_200).contains(&stats.found.max_nanos()));
        assert_eq!((stats.absent.count(), stats.failed.count()), (20, 1));
        assert_eq!(stats.failure().count(), 21);
        assert_eq!(stats.failure().quantile_nanos(0.5), 50);
    }

    #[test]
    fn without_operations_all_figures_are_zero() {
        let none = Recorder::new().stats().found;
        assert_eq!((none.count(), none.max_nanos(), none.quantile_nanos(0.99)), (0, 0, 0));
        assert_eq!(none.mean_nanos().to_bits(), 0.0f64.to_bits());
    }
}
