//! How long operations take, as a histogram: counted by many threads, asked by few.

use std::sync::Arc;
use std::time::Duration;

use partita::util::sharded::Sharded;

/// Upper bounds of the buckets, in nanoseconds: 1, 2, 5 and so on from a microsecond to ten seconds. What takes longer is in a
/// bucket of its own.
const BOUNDS_NANOS: [u64; 22] = bounds();

const fn bounds() -> [u64; 22] {
    let mut bounds = [0; 22];
    let (mut at, mut power) = (0, 1000);
    while at < bounds.len() {
        bounds[at] = [power, 2 * power, 5 * power][at % 3];
        at += 1;
        if at.is_multiple_of(3) {
            power *= 10;
        }
    }
    bounds
}

/// Takes the times of operations of one kind; clones count together. [`Watched::timer`](crate::Watched::timer) makes one.
#[derive(Clone, Debug)]
pub struct Timer(Arc<Sharded<Times>>);

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// Of each bucket, and behind them of what took longer.
    counts: [u64; BOUNDS_NANOS.len() + 1],
    nanos: u64,
}

impl Timer {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Sharded::new(Times::default)))
    }

    /// Counts an operation.
    ///
    /// * Cost: some ten nanoseconds; threads meet only if they are more than a few.
    pub fn record(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_NANOS.partition_point(|&bound| bound < nanos);
        let mut times = self.0.of_this_thread();
        times.counts[bucket] += 1;
        times.nanos = times.nanos.saturating_add(nanos);
    }

    pub(crate) fn times(&self) -> Times {
        let mut sum = Times::default();
        self.0.for_each(|times| {
            sum.counts.iter_mut().zip(times.counts).for_each(|(sum, count)| *sum += count);
            sum.nanos = sum.nanos.saturating_add(times.nanos);
        });
        sum
    }
}

impl Times {
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.nanos as f64 / 1e9
    }

    /// The upper bound of each bucket in seconds, the last infinite, and how many are in it alone.
    pub(crate) fn buckets(&self) -> Vec<(f64, u64)> {
        let bounds = BOUNDS_NANOS.iter().map(|&nanos| nanos as f64 / 1e9);
        bounds.chain([f64::INFINITY]).zip(self.counts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_bucket_whose_bound_it_does_not_exceed() {
        assert_eq!((BOUNDS_NANOS[0], BOUNDS_NANOS[21]), (1000, 10_000_000_000));
        let timer = Timer::new();
        for nanos in [0, 1000, 1001, 2000, 5_000_000_000, 10_000_000_001] {
            timer.record(Duration::from_nanos(nanos));
        }
        timer.record(Duration::MAX);
        let times = timer.times();
        let counts: Vec<u64> = times.buckets().iter().map(|(_, count)| *count).collect();
        assert_eq!((&counts[..3], counts[20], counts[22]), (&[2, 2, 0][..], 1, 2));
        assert_eq!((times.count(), times.nanos), (7, u64::MAX));
    }

    #[test]
    fn clones_count_together_whichever_thread_counts() {
        let timer = Timer::new();
        std::thread::scope(|scope| {
            for _ in 0..20 {
                let timer = timer.clone();
                scope.spawn(move || timer.record(Duration::from_millis(1)));
            }
        });
        assert_eq!((timer.times().count(), timer.times().seconds()), (20, 0.02));
    }
}
