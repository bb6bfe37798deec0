//! Partita's filters as a contender.

use std::hint::black_box;
use std::time::Instant;

use partita::cache::{Admission, Cache, CacheObject, Role, Slots, epoch};
use partita::filter::{Filter, FilterBuilder, FilterLevel, FilterPolicy, KeyHash};

use crate::contender::{Contender, Kind, Loop, Queries, Timing};

/// Partita's filters of one kind and setting.
pub struct PartitaFilters {
    builder: FilterBuilder,
    filters: Vec<Filter>,
    /// The same in a cache, each at the end of a slot, as tables have them.
    slots: Vec<Slots<CachedFilter>>,
    cache: Cache,
}

/// More than all filters take.
const BUDGET_BYTES: usize = 1 << 40;

struct CachedFilter(Filter);

impl CacheObject for CachedFilter {
    fn heap_bytes(&self) -> usize {
        self.0.memory_bytes() - size_of::<Filter>()
    }
}

impl PartitaFilters {
    /// No filters yet; the fastest instructions that this processor has.
    pub fn new(kind: Kind, bits_per_key: f64) -> Self {
        let (policy, format_version) = match kind {
            Kind::Bloom => (FilterPolicy::Bloom { bits_per_key }, 5),
            Kind::LegacyBloom => (FilterPolicy::Bloom { bits_per_key }, 4),
            Kind::Ribbon => (FilterPolicy::Ribbon { bits_per_key, bloom_before_level: -1 }, 5),
        };
        let builder = FilterBuilder::new(&policy, format_version, FilterLevel::Unknown)
            .expect("the benchmark asks for at least one bit per key");
        Self { builder, filters: Vec::new(), slots: Vec::new(), cache: Cache::new(BUDGET_BYTES) }
    }
}

impl Contender for PartitaFilters {
    fn name(&self) -> &'static str {
        "Partita"
    }

    fn build(&mut self, keys: &[u8], key_len: usize) -> (u64, Vec<u8>) {
        let start = Instant::now();
        for key in keys.chunks_exact(key_len) {
            self.builder.add_key(key);
        }
        let block = self.builder.finish();
        let nanos = nanos_since(start);
        self.filters.push(Filter::parse(&block));
        let slot = Slots::new(&self.cache, Role::FilterPiece, None, 1);
        slot.get_or_load(0, Admission::Fill, 0, || Ok(CachedFilter(Filter::parse(&block))))
            .expect("nothing is read");
        self.slots.push(slot);
        (nanos, block)
    }

    fn run(&mut self, which: Loop, queries: &Queries) -> Timing {
        let keys = queries.keys.chunks_exact(queries.key_len);
        let mut positives = 0;
        let start = Instant::now();
        match which {
            Loop::Dry => {
                for (key, &filter) in keys.zip(&queries.filters) {
                    positives += u64::from(key[3]) + u64::from(filter);
                }
            }
            Loop::DryWithHash => {
                for (key, &filter) in keys.zip(&queries.filters) {
                    positives += (KeyHash::new(key).hash64() & 0xff) + u64::from(filter);
                }
            }
            Loop::Bare => {
                for (key, &filter) in keys.zip(&queries.filters) {
                    let filter = &self.filters[filter as usize];
                    positives += u64::from(filter.may_contain(&KeyHash::new(key)));
                }
            }
            Loop::Reader => {
                for (key, &filter) in keys.zip(&queries.filters) {
                    // As a table asks: what cannot be read rules nothing out.
                    let guard = epoch::pin();
                    let may = match self.slots[filter as usize].get(0, &guard) {
                        Some(filter) => filter.0.may_contain(&KeyHash::new(key)),
                        None => true,
                    };
                    positives += u64::from(may);
                }
            }
            Loop::BareBatch => {
                let mut hashes = Vec::with_capacity(queries.batch_len);
                let mut answers = vec![false; queries.batch_len];
                let batches = queries.keys.chunks_exact(queries.key_len * queries.batch_len);
                for (batch, &filter) in batches.zip(&queries.filters) {
                    let filter = &self.filters[filter as usize];
                    filter.prefetch_self();
                    hashes.clear();
                    hashes.extend(batch.chunks_exact(queries.key_len).map(KeyHash::new));
                    filter.may_contain_batch(&hashes, &mut answers);
                    positives += answers.iter().map(|&answer| u64::from(answer)).sum::<u64>();
                }
            }
        }
        let positives = black_box(positives);
        Timing { nanos: nanos_since(start), positives }
    }
}

fn nanos_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
