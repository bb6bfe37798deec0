//! This engine's filters under the benchmark.

use partita::filter::{
    Filter, FilterBuilder, FilterImpl, FilterLevel, FilterPolicy, FilterSlot, KeyHash,
};

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
    use_reader: bool,
}

impl PartitaEngine {
    /// * `use_reader`: ask through the slot in which a table keeps a filter, rather than the bare filter.
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
        Some(Self { implementation, builder, path: FilterImpl::best(), use_reader })
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
    /// In the slot that a table has for it.
    InSlot(FilterSlot, usize),
}

impl PartitaFilter {
    #[inline]
    fn filter(&self) -> Option<&Filter> {
        match self {
            Self::Bare(filter, _) => Some(filter),
            Self::InSlot(slot, _) => slot.filter(),
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
        let access = if self.use_reader { "table's slot" } else { "bare filter" };
        format!("Partita {kind} ({}, {access})", self.path)
    }

    #[inline]
    fn add_key(&mut self, key: &[u8]) {
        self.builder.add_key(key);
    }

    fn finish(&mut self) -> PartitaFilter {
        let block = self.builder.finish();
        let filter = Filter::parse(&block).with_impl(self.path);
        if self.use_reader {
            PartitaFilter::InSlot(filter.into(), block.len())
        } else {
            PartitaFilter::Bare(filter, block.len())
        }
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
        self.filter().map_or(0, Filter::memory_bytes)
    }

    fn expected_false_positive_rate(&self, keys: usize) -> f64 {
        self.filter().map_or(1.0, |filter| filter.meta().expected_false_positive_rate(keys))
    }

    #[inline]
    fn may_contain(&self, key: &[u8]) -> bool {
        self.filter().is_none_or(|filter| filter.may_contain(&KeyHash::new(key)))
    }

    #[inline]
    fn may_contain_batch(&self, keys: &[&[u8]], answers: &mut [bool]) {
        let Some(filter) = self.filter() else { return answers.fill(true) };
        let mut hashed = [KeyHash::new(&[]); BATCH_MAX];
        for (keys, answers) in keys.chunks(BATCH_MAX).zip(answers.chunks_mut(BATCH_MAX)) {
            for (hashed, key) in hashed.iter_mut().zip(keys) {
                *hashed = KeyHash::new(key);
            }
            filter.may_contain_batch(&hashed[..keys.len()], answers);
        }
    }
}
