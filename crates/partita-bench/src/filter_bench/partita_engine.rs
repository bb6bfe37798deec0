//! This engine's filters under the benchmark.

use partita::cache::{Admission, Cache, CacheObject, Role, Slots, epoch};
use partita::filter::{Filter, FilterBuilder, FilterImpl, FilterLevel, FilterPolicy, KeyHash};

use super::{Engine, QueriedFilter};

/// Most keys of a batch that are hashed before the filter is asked.
const BATCH_MAX: usize = 16;

/// A kind of filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// FastLocalBloom, format version 5 and later.
    Bloom,
    /// Standard128Ribbon.
    Ribbon,
    /// Format versions below 5.
    LegacyBloom,
}

/// Builds and asks Partita's filters.
#[derive(Debug)]
pub struct PartitaEngine {
    implementation: Implementation,
    builder: FilterBuilder,
    path: FilterImpl,
    /// What filters are in that are asked as a table asks them.
    cache: Option<Cache>,
}

/// More than all filters take.
const BUDGET_BYTES: usize = 1 << 40;

impl PartitaEngine {
    /// * `use_reader`: ask through the slot that leads to a filter in a table's cache, rather than the bare filter.
    /// * Returns `None` if the setting asks for no filter (less than half a bit per key).
    pub fn new(
        implementation: Implementation,
        bits_per_key: f64,
        use_reader: bool,
    ) -> Option<Self> {
        let (policy, format_version) = match implementation {
            Implementation::Bloom => (FilterPolicy::Bloom { bits_per_key }, 5),
            Implementation::LegacyBloom => (FilterPolicy::Bloom { bits_per_key }, 4),
            Implementation::Ribbon => {
                (FilterPolicy::Ribbon { bits_per_key, bloom_before_level: -1 }, 5)
            }
        };
        let builder = FilterBuilder::new(&policy, format_version, FilterLevel::Unknown)?;
        let cache = use_reader.then(|| Cache::new(BUDGET_BYTES));
        Some(Self { implementation, builder, path: FilterImpl::best(), cache })
    }

    /// The same with other processor instructions.
    #[must_use]
    pub fn with_impl(mut self, path: FilterImpl) -> Self {
        self.builder = self.builder.with_impl(path);
        self.path = path;
        self
    }
}

/// A filter, bare or as tables keep it.
#[derive(Debug)]
pub enum PartitaFilter {
    /// The filter itself.
    Bare(Filter, usize),
    /// In a cache, at the end of a slot.
    InSlot(Slots<CachedFilter>, usize),
}

/// A filter as the cache takes it.
#[derive(Debug)]
pub struct CachedFilter(Filter);

impl CacheObject for CachedFilter {
    fn heap_bytes(&self) -> usize {
        self.0.memory_bytes() - size_of::<Filter>()
    }
}

impl PartitaFilter {
    /// Asks the filter; `None` if it is not in the cache, which has room for all.
    #[inline]
    fn ask<R>(&self, ask: impl FnOnce(&Filter) -> R) -> Option<R> {
        match self {
            Self::Bare(filter, _) => Some(ask(filter)),
            Self::InSlot(slots, _) => {
                let guard = epoch::pin();
                slots.get(0, &guard).map(|filter| ask(&filter.0))
            }
        }
    }
}

impl Engine for PartitaEngine {
    type Filter = PartitaFilter;

    fn name(&self) -> String {
        let kind = match self.implementation {
            Implementation::Bloom => "Bloom",
            Implementation::Ribbon => "Ribbon",
            Implementation::LegacyBloom => "legacy Bloom",
        };
        let access = if self.cache.is_some() { "table's slot" } else { "bare filter" };
        format!("Partita {kind} ({}, {access})", self.path)
    }

    #[inline]
    fn add_key(&mut self, key: &[u8]) {
        self.builder.add_key(key);
    }

    fn finish(&mut self) -> PartitaFilter {
        let block = self.builder.finish();
        let filter = Filter::parse(&block).with_impl(self.path);
        let Some(cache) = &self.cache else { return PartitaFilter::Bare(filter, block.len()) };
        let slots = Slots::new(cache, Role::FilterPiece, None, 1);
        // It cannot fail: nothing is read.
        let _filled = slots.get_or_load(0, Admission::Fill, 0, || Ok(CachedFilter(filter)));
        PartitaFilter::InSlot(slots, block.len())
    }

    #[inline]
    fn dry_run(&self, key: &[u8]) -> u64 {
        match self.implementation {
            Implementation::LegacyBloom => u64::from(KeyHash::new(key).legacy_hash()),
            Implementation::Bloom | Implementation::Ribbon => KeyHash::new(key).hash64(),
        }
    }
}

impl QueriedFilter for PartitaFilter {
    fn block_len(&self) -> usize {
        match self {
            Self::Bare(_, len) | Self::InSlot(_, len) => *len,
        }
    }

    fn memory_bytes(&self) -> usize {
        self.ask(Filter::memory_bytes).unwrap_or(0)
    }

    fn expected_false_positive_rate(&self, keys: usize) -> f64 {
        self.ask(|filter| filter.meta().expected_false_positive_rate(keys)).unwrap_or(1.0)
    }

    #[inline]
    fn may_contain(&self, key: &[u8]) -> bool {
        self.ask(|filter| filter.may_contain(&KeyHash::new(key))).unwrap_or(true)
    }

    #[inline]
    fn may_contain_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        let asked = self.ask(|filter| {
            let mut hashed = [KeyHash::new(&[]); BATCH_MAX];
            for (keys, answers) in keys.chunks(BATCH_MAX).zip(answers.chunks_mut(BATCH_MAX)) {
                for (hashed, key) in hashed.iter_mut().zip(keys) {
                    *hashed = KeyHash::new(key);
                }
                filter.may_contain_batch(&hashed[..keys.len()], answers);
            }
        });
        if asked.is_none() {
            answers.fill(true);
        }
    }
}
