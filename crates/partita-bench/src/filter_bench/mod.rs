//! Filters alone: what a key costs to add and a query costs to answer, as RocksDB's `filter_bench` measures it.
//!
//! Filters of varied sizes are built until they fill the working memory. Then queries run against one filter (which
//! stays in the cache), and against filters picked at random (which do not): one by one, and in batches against one
//! filter each. Every loop runs twice, the second time dry (keys and hashes but no filter); the difference is the
//! filter's net cost.
//!
//! * [`Settings`] says what to run, [`run`] runs it on an [`Engine`], [`Report`] is the result.
//! * [`PartitaEngine`] is this engine's entry.

mod keys;
mod partita_engine;
mod queries;
mod report;

pub use keys::KeyMaker;
pub use partita_engine::{Implementation, PartitaEngine};
pub use report::{BuildReport, LEGEND, QueryCost, QueryReport, Report};

use crate::clock::Stopwatch;
use keys::Random;

/// An implementation of filters that takes part.
pub trait Engine {
    /// A finished filter.
    type Filter: QueriedFilter;

    /// What to call it in reports.
    fn name(&self) -> String;

    /// Adds a key to the filter under construction. Keys are distinct.
    fn add_key(&mut self, key: &[u8]);

    /// Finishes the filter and starts the next one.
    fn finish(&mut self) -> Self::Filter;

    /// Does to `key` what a query does except asking the filter: hashing, and crossing into foreign code.
    fn dry_run(&self, key: &[u8]) -> u64;

    /// [`Engine::dry_run`] for a batch.
    fn dry_run_batch(&self, keys: &[&[u8]]) -> u64 {
        keys.iter().fold(0, |sum, key| sum.wrapping_add(self.dry_run(key)))
    }
}

/// A filter that answers.
pub trait QueriedFilter {
    /// Bytes of the filter block.
    fn block_len(&self) -> usize;

    /// Bytes of memory held.
    fn memory_bytes(&self) -> usize;

    /// The rate of false positives that theory expects with `keys` keys.
    fn expected_false_positive_rate(&self, keys: usize) -> f64;

    /// Whether `key` may have been added.
    fn may_contain(&self, key: &[u8]) -> bool;

    /// Answers for many keys at once: `answers[i]` for `keys[i]`.
    fn may_contain_batch(&self, keys: &[&[u8]], answers: &mut [bool]);
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Filters are built until their blocks have this many bytes together.
    pub working_mem_bytes: usize,
    /// Keys per filter, on average; at least 1.
    pub average_keys_per_filter: u32,
    /// Keys per filter vary by up to this part of the average, 0 to 1.
    pub vary_key_count_ratio: f64,
    /// Bytes per key, on average (it varies by 2 either way); at least 14.
    pub key_size: usize,
    /// Keys per batch; at least 1.
    pub batch_size: usize,
    /// Queries per loop.
    pub queries: u64,
    /// Seed of keys and queries.
    pub seed: u64,
    /// Only mixed queries, and neither skewed nor unprepared batches.
    pub quick: bool,
}

impl Settings {
    /// Brings every setting into its range.
    fn sanitized(&self) -> Self {
        Self {
            average_keys_per_filter: self.average_keys_per_filter.max(1),
            vary_key_count_ratio: self.vary_key_count_ratio.clamp(0.0, 1.0),
            key_size: self.key_size.max(keys::KEY_SIZE_MIN),
            batch_size: self.batch_size.max(1),
            ..self.clone()
        }
    }
}

impl Default for Settings {
    /// The settings of RocksDB's `filter_bench`, with a tenth of its queries.
    fn default() -> Self {
        Self {
            working_mem_bytes: 200 << 20,
            average_keys_per_filter: 10_000,
            vary_key_count_ratio: 0.4,
            key_size: 24,
            batch_size: 8,
            queries: 20_000_000,
            seed: 0,
            quick: false,
        }
    }
}

/// A filter and what was put into it.
struct Subject<F> {
    filter: F,
    id: u32,
    keys: u32,
}

/// Builds the filters, checks that they find their keys, and measures the queries.
///
/// * Errors: a filter does not find a key that was added to it.
pub fn run<E: Engine>(engine: &mut E, settings: &Settings) -> Result<Report, String> {
    let settings = settings.sanitized();
    let (subjects, build) = build(engine, &settings);
    let queries = queries::measure(engine, &subjects, &settings)?;
    let keys: u64 = subjects.iter().map(|subject| u64::from(subject.keys)).sum();
    let expected: f64 = subjects
        .iter()
        .map(|subject| {
            let rate = subject.filter.expected_false_positive_rate(subject.keys as usize);
            rate * f64::from(subject.keys)
        })
        .sum();
    Ok(Report {
        engine: engine.name(),
        build,
        expected_false_positive_rate: expected / keys as f64,
        queries,
    })
}

fn build<E: Engine>(engine: &mut E, settings: &Settings) -> (Vec<Subject<E::Filter>>, BuildReport) {
    let mut random = Random::new(settings.seed);
    let mut maker = KeyMaker::new(settings.key_size);
    let average = settings.average_keys_per_filter;
    let spread = (settings.vary_key_count_ratio * f64::from(average)) as u32;
    let mut subjects = Vec::new();
    let (mut block_bytes, mut total_keys) = (0, 0);
    let start = Stopwatch::start();
    while block_bytes < settings.working_mem_bytes || subjects.is_empty() {
        let id = random.next();
        let keys = (average - spread + random.below(2 * spread + 1)).max(1);
        for number in 0..keys {
            engine.add_key(maker.key(id, number));
        }
        let filter = engine.finish();
        block_bytes += filter.block_len();
        total_keys += u64::from(keys);
        subjects.push(Subject { filter, id, keys });
    }
    let ns_per_key = start.ns_per(total_keys);
    let memory = subjects.iter().map(|subject| subject.filter.memory_bytes()).sum();
    let report = BuildReport {
        ns_per_key,
        filters: subjects.len(),
        keys: total_keys,
        block_bytes,
        memory_bytes: memory,
        bits_per_key: block_bytes as f64 * 8.0 / total_keys as f64,
    };
    (subjects, report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_run_of_each_kind_finds_its_keys_and_errs_as_expected() {
        for implementation in
            [Implementation::Bloom, Implementation::Ribbon, Implementation::LegacyBloom]
        {
            for use_reader in [false, true] {
                let settings = Settings {
                    working_mem_bytes: 100_000,
                    average_keys_per_filter: 2000,
                    queries: 30_000,
                    ..Settings::default()
                };
                let mut engine = PartitaEngine::new(implementation, 10.0, use_reader).unwrap();
                let report = run(&mut engine, &settings).unwrap();
                assert!(report.build.filters > 10);
                assert!(report.build.memory_bytes >= report.build.block_bytes);
                let bits = report.build.bits_per_key;
                assert!(if implementation == Implementation::Ribbon {
                    bits < 8.0
                } else {
                    bits > 10.0
                });
                for query in &report.queries {
                    assert!(query.outside_queries > 0, "{query:?}");
                    assert!(query.false_positive_rate < 0.03, "{query:?}");
                }
                let rate = report.expected_false_positive_rate;
                assert!((0.007..0.015).contains(&rate), "{rate}");
                assert!(report.to_string().contains("Random filter"));
            }
        }
    }

    #[test]
    fn odd_settings_are_brought_into_range() {
        let settings = Settings {
            working_mem_bytes: 0,
            average_keys_per_filter: 0,
            vary_key_count_ratio: 7.0,
            key_size: 0,
            batch_size: 0,
            queries: 10,
            quick: true,
            ..Settings::default()
        };
        let mut engine = PartitaEngine::new(Implementation::Bloom, 10.0, false).unwrap();
        let report = run(&mut engine, &settings).unwrap();
        assert_eq!(report.build.filters, 1);
    }

    #[test]
    fn a_filter_that_loses_keys_fails_the_run() {
        struct Liar;
        impl Engine for Liar {
            type Filter = Self;
            fn name(&self) -> String {
                "liar".to_owned()
            }
            fn add_key(&mut self, _: &[u8]) {}
            fn finish(&mut self) -> Self {
                Self
            }
            fn dry_run(&self, key: &[u8]) -> u64 {
                key.len() as u64
            }
        }
        impl QueriedFilter for Liar {
            fn block_len(&self) -> usize {
                1 << 30
            }
            fn memory_bytes(&self) -> usize {
                0
            }
            fn expected_false_positive_rate(&self, _: usize) -> f64 {
                0.0
            }
            fn may_contain(&self, _: &[u8]) -> bool {
                false
            }
            fn may_contain_batch(&self, _: &[&[u8]], _: &mut [bool]) {}
        }
        let error = run(&mut Liar, &Settings { queries: 100, ..Settings::default() }).unwrap_err();
        assert!(error.contains("liar"), "{error}");
    }
}
