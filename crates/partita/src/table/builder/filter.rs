//! Writes a table's filter blocks.
//!
//! ```text
//! full:                     filter
//! partitioned:              filter * n, then an index block: last key of each partition -> its handle
//!
//! partitioned:              cut when a partition is full; key = (last user key, sequence number 0, deletion)
//! partitioned with index:   cut when the index was cut;   key = last separator of the index
//! ```
//!
//! With the index, partitions are those of RocksDB before 9.7, byte for byte: a full partition asks the index once for a
//! cut, at the moment when as many keys have been offered as a partition holds, and repetitions count.
//!
//! A prefix may begin in one partition and go on in the next, or lie between the last key of one and the first of the
//! next, where the search for it lands in the first. So a cut puts the next key's prefix into the finished partition
//! and the previous key's prefix into the new one, and each partition starts afresh in leaving out repetitions
//! (rocksdb#5835, rocksdb#4024).

use super::block::BlockBuilder;
use super::index::{HandleSequence, IndexBuilder, index_block_format};
use crate::error::Result;
use crate::filter::{FilterBuilder, FilterLevel};
use crate::key::{InternalKey, PACKED_LEN, PrefixExtractor, SeqNo, ValueType};
use crate::options::{FilterLayout, TableOptions};
use crate::table::{BlockHandle, metaindex};

/// The filter of one table in the making.
pub(super) struct FilterBlockBuilder {
    filter: FilterBuilder,
    extractor: Option<PrefixExtractor>,
    whole_keys: bool,
    layout: FilterLayout,
    /// Entries at which a partition is full.
    partition_entries: usize,
    /// Keys and prefixes offered to the open partition, repetitions of single ones included.
    offered: usize,
    complete: Vec<Partition>,
    complete_bytes: usize,
    complete_entries: usize,
}

struct Partition {
    /// Internal key not before any key of the partition.
    last_key: Vec<u8>,
    filter: Vec<u8>,
}

/// What the metaindex and the properties say about a finished filter.
#[derive(Clone, Debug, Default)]
pub(super) struct FilterSummary {
    /// The filter, or the index of its partitions, under its name; `None` if no key was added.
    pub(super) root: Option<(String, BlockHandle)>,
    /// Bytes of all filter blocks.
    pub(super) len: usize,
    /// Entries of all filters.
    pub(super) entries: usize,
}

impl FilterBlockBuilder {
    /// A builder of what the options ask for; `None` without a policy or if it asks for no bits.
    pub(super) fn new(options: &TableOptions, level: FilterLevel) -> Option<Self> {
        let policy = options.filter_policy.as_ref()?;
        let filter = FilterBuilder::new(policy, options.format_version, level)?;
        let partition_len = (options.metadata_block_size as u64
            * u64::from(100 - options.block_size_deviation.min(100)))
        .div_ceil(100);
        let mut partition_entries = filter.entries_that_fit((partition_len as usize).max(1));
        let is_decoupled = options.filter_layout == FilterLayout::Partitioned;
        if is_decoupled && options.prefix_extractor.is_some() && partition_entries > 1 {
            // Room for the prefix that the cut adds.
            partition_entries -= 1;
        }
        Some(Self {
            filter,
            extractor: options.prefix_extractor.clone(),
            whole_keys: options.whole_key_filtering,
            layout: options.filter_layout,
            partition_entries,
            offered: 0,
            complete: Vec::new(),
            complete_bytes: 0,
            complete_entries: 0,
        })
    }

    /// Adds a key.
    ///
    /// * `previous`: the user key before it, if there is one.
    /// * `index`: with the entry of the data block before, if the key starts a new one.
    #[inline]
    pub(super) fn add(
        &mut self,
        user_key: &[u8],
        previous: Option<&[u8]>,
        index: &mut IndexBuilder,
    ) {
        let prefix = self.extractor.as_ref().and_then(|extractor| extractor.prefix(user_key));
        if self.layout != FilterLayout::Full && self.must_cut(index) {
            self.cut(prefix, previous, true, index);
        }
        let before = self.filter.len();
        match prefix {
            Some(prefix) if self.whole_keys => {
                self.filter.add_key_and_prefix(user_key, prefix);
                self.offered += self.filter.len() - before;
            }
            Some(prefix) => {
                self.filter.add_key(prefix);
                self.offered += 1;
            }
            None if self.whole_keys => {
                self.filter.add_key(user_key);
                self.offered += 1;
            }
            None => {}
        }
    }

    #[inline]
    fn must_cut(&mut self, index: &mut IndexBuilder) -> bool {
        if self.layout == FilterLayout::Partitioned {
            return self.filter.len() >= self.partition_entries;
        }
        if self.offered == self.partition_entries {
            index.request_cut();
        }
        index.take_cut()
    }

    /// Closes the open partition.
    ///
    /// * `next_prefix`: prefix of the first key of the next partition.
    /// * `previous`: last user key of this one.
    /// * `goes_on`: whether there is a next partition.
    fn cut(
        &mut self,
        next_prefix: Option<&[u8]>,
        previous: Option<&[u8]>,
        goes_on: bool,
        index: &IndexBuilder,
    ) {
        match next_prefix {
            Some(prefix) if self.whole_keys => self.filter.add_key_and_prefix(prefix, prefix),
            Some(prefix) => self.filter.add_key(prefix),
            None => {}
        }
        let previous = previous.unwrap_or_default();
        let last_key = if self.layout == FilterLayout::Partitioned {
            InternalKey::new(previous, SeqNo::ZERO, ValueType::Deletion).encode()
        } else {
            index.last_separator().to_vec()
        };
        self.offered = 0;
        self.complete_entries += self.filter.len();
        let filter = self.filter.finish();
        self.complete_bytes += filter.len();
        self.complete.push(Partition { last_key, filter });
        let previous_prefix =
            self.extractor.as_ref().and_then(|extractor| extractor.prefix(previous));
        if let Some(prefix) = previous_prefix
            && goes_on
        {
            self.filter.add_key(prefix);
            self.offered += 1;
        }
    }

    /// About the bytes that [`FilterBlockBuilder::finish`] will write.
    pub(super) fn size_estimate(&self) -> usize {
        self.complete_bytes + self.filter.block_len()
    }

    /// About the bytes held, or to be held when the open filter is made.
    pub(super) fn memory_bytes(&self) -> usize {
        self.complete_bytes + self.filter.len() * size_of::<u64>() + self.filter.block_len()
    }

    /// Makes the blocks and hands them to `write` in file order; it returns where each was put.
    ///
    /// * `last_key`: the last user key of the table, if it has one.
    pub(super) fn finish(
        &mut self,
        options: &TableOptions,
        last_key: Option<&[u8]>,
        index: &IndexBuilder,
        mut write: impl FnMut(&[u8]) -> Result<BlockHandle>,
    ) -> Result<FilterSummary> {
        let mut summary = FilterSummary::default();
        if self.layout == FilterLayout::Full {
            summary.entries = self.filter.len();
            if summary.entries > 0 {
                let filter = self.filter.finish();
                summary.len = filter.len();
                summary.root = Some((name(metaindex::FULL_FILTER_PREFIX), write(&filter)?));
            }
            return Ok(summary);
        }
        if !self.filter.is_empty() {
            self.cut(None, last_key, false, index);
        }
        summary.entries = self.complete_entries;
        if summary.entries == 0 {
            return Ok(summary);
        }
        let mut block = BlockBuilder::new(index_block_format(options));
        let mut handles = HandleSequence::default();
        for partition in self.complete.drain(..) {
            summary.len += partition.filter.len();
            let handle = write(&partition.filter)?;
            let key = match index.uses_internal_keys() {
                true => &partition.last_key[..],
                false => &partition.last_key[..partition.last_key.len().saturating_sub(PACKED_LEN)],
            };
            handles.add_to(&mut block, key, handle, None, false);
        }
        let contents = block.finish()?;
        summary.len += contents.len();
        summary.root = Some((name(metaindex::PARTITIONED_FILTER_PREFIX), write(contents)?));
        Ok(summary)
    }
}

fn name(prefix: &str) -> String {
    format!("{prefix}{}", metaindex::BUILTIN_FILTER_POLICY)
}
