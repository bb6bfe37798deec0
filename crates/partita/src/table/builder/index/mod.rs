//! Writes a table's index: from the last keys of data blocks to their handles.
//!
//! ```text
//! entry key:    separator: last key of the block <= separator < first key of the next; internal key or user key
//! entry value:  handle (offset varint, size varint) | or, where the key shares bytes, zigzag(size - size before)
//!               | first internal key of the block, length-prefixed (index type 3)
//!
//! types 0, 3:   one block           type 1: one block and two meta blocks (hash.rs)
//! type 2:       partition blocks, then a top level: last separator of each partition -> handle of the partition
//! ```
//!
//! Whether keys can do without sequence numbers shows only at the end: as soon as two adjacent blocks meet within one
//! user key, all entries of the file need internal keys. So entries are kept as they come ([`entries::Entries`]), and
//! blocks are made of them when the table is finished. Where partitions are cut depends on the size of the block in
//! the making, which a second builder, the gauge, keeps track of.

mod entries;
mod hash;
#[cfg(test)]
mod tests;

use entries::Entries;
pub(super) use entries::HandleSequence;
use hash::HashIndexMeta;

use super::block::{BlockBuilder, BlockFormat, BlockLimits};
use crate::error::Result;
use crate::key::{KeyOrder, PACKED_LEN, SeqNo, ValueType, pack, user_key};
use crate::options::{IndexShortening, IndexType, TableOptions};
use crate::table::BlockHandle;

/// Most bytes of an encoded handle.
const HANDLE_LEN_MAX: usize = 20;
/// What the builder's estimate of the index adds for each entry: lengths and a handle.
const ENTRY_OVERHEAD_ESTIMATE: usize = 8;

/// The index of one table in the making.
pub(super) struct IndexBuilder {
    order: KeyOrder,
    shortening: IndexShortening,
    format: BlockFormat,
    /// Whether keys keep their sequence numbers. Once true it stays so.
    internal_keys: bool,
    /// Index type 3: the first internal key of the open data block; empty if there is none yet.
    first_key: Option<Vec<u8>>,
    hash: Option<HashIndexMeta>,
    partitioning: Option<Partitioning>,
    /// Complete partitions; an index in one block has none.
    complete: Vec<Entries>,
    open: Entries,
    entry_count: usize,
    size_estimate: usize,
    separator: Vec<u8>,
}

/// What decides where partitions are cut.
struct Partitioning {
    limits: BlockLimits,
    /// The open partition as a block, to know its size.
    gauge: BlockBuilder,
    handles: HandleSequence,
    /// The filter wants a cut at the next opportunity.
    cut_requested: bool,
    /// A cut has been made that the filter has not followed yet.
    cut_for_filter: bool,
}

/// What the properties say about a finished index.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IndexSummary {
    /// The index block, or its top level.
    pub(super) root: BlockHandle,
    /// Bytes of all index blocks before compression.
    pub(super) raw_len: usize,
    pub(super) partitions: usize,
    pub(super) top_level_len: usize,
    pub(super) prefixes: Option<BlockHandle>,
    pub(super) prefix_metadata: Option<BlockHandle>,
}

impl IndexBuilder {
    pub(super) fn new(options: &TableOptions, order: KeyOrder) -> Self {
        let format = index_block_format(options);
        let partitioning = (options.index_type == IndexType::TwoLevel).then(|| Partitioning {
            limits: BlockLimits::new(options.metadata_block_size, options.block_size_deviation),
            gauge: BlockBuilder::new(format),
            handles: HandleSequence::default(),
            cut_requested: false,
            cut_for_filter: false,
        });
        let hash = (options.index_type == IndexType::HashSearch)
            .then(|| options.prefix_extractor.clone().map(HashIndexMeta::new))
            .flatten();
        let with_first_key = options.index_type == IndexType::BinarySearchWithFirstKey;
        Self {
            order,
            shortening: options.index_shortening,
            format,
            internal_keys: options.format_version < 3,
            first_key: with_first_key.then(Vec::new),
            hash,
            partitioning,
            complete: Vec::new(),
            open: Entries::default(),
            entry_count: 0,
            size_estimate: 0,
            separator: Vec::new(),
        }
    }

    /// Notes a key that goes into the open data block.
    #[inline]
    pub(super) fn note_key(&mut self, internal_key: &[u8]) {
        if let Some(first_key) = &mut self.first_key
            && first_key.is_empty()
        {
            first_key.extend_from_slice(internal_key);
        }
        if let Some(hash) = &mut self.hash {
            hash.note_key(
                &internal_key[..internal_key.len() - PACKED_LEN],
                self.entry_count as u32,
            );
        }
    }

    /// Adds the entry of a data block.
    ///
    /// * `next_first_key`: first key of the block after it; `None` for the last block.
    /// * `keeps_key_whole`: the block does not start where the one before ended, so its handle cannot be a delta.
    pub(super) fn add_block(
        &mut self,
        last_key: &[u8],
        next_first_key: Option<&[u8]>,
        handle: BlockHandle,
        keeps_key_whole: bool,
    ) {
        // The last block never opens a partition of its own.
        if next_first_key.is_some() && self.must_cut_before(last_key.len(), handle) {
            self.cut();
        }
        let had_internal_keys = self.internal_keys;
        if let Some(next) = next_first_key
            && self.order.compare(user_key(last_key), user_key(next)).is_eq()
        {
            self.internal_keys = true;
        }
        self.make_separator(last_key, next_first_key);
        let first_key = self.first_key.as_deref().unwrap_or_default();
        self.open.push(&self.separator, first_key, handle, keeps_key_whole);
        self.entry_count += 1;
        self.size_estimate += self.separator.len() + first_key.len() + ENTRY_OVERHEAD_ESTIMATE;
        if let Some(first_key) = &mut self.first_key {
            first_key.clear();
        }
        if let Some(partitioning) = &mut self.partitioning {
            partitioning.measure(&self.open, self.internal_keys, had_internal_keys);
            partitioning.cut_for_filter |= next_first_key.is_none();
        }
    }

    fn must_cut_before(&self, key_len: usize, handle: BlockHandle) -> bool {
        let Some(partitioning) = &self.partitioning else { return false };
        if self.open.is_empty() {
            return false;
        }
        let mut encoded = Vec::with_capacity(HANDLE_LEN_MAX);
        handle.encode_to(&mut encoded);
        partitioning.cut_requested
            || partitioning.gauge.is_full_before(&partitioning.limits, key_len, encoded.len())
    }

    fn cut(&mut self) {
        self.complete.push(std::mem::take(&mut self.open));
        if let Some(partitioning) = &mut self.partitioning {
            partitioning.gauge.reset();
            partitioning.handles = HandleSequence::default();
            partitioning.cut_requested = false;
            partitioning.cut_for_filter = true;
        }
    }

    /// Puts a key between two blocks into `self.separator`, as an internal key.
    fn make_separator(&mut self, last_key: &[u8], next_first_key: Option<&[u8]>) {
        let separator = &mut self.separator;
        separator.clear();
        separator.extend_from_slice(user_key(last_key));
        match (self.shortening, next_first_key) {
            (IndexShortening::Separators | IndexShortening::SeparatorsAndSuccessor, Some(next)) => {
                self.order.shorten_separator(separator, user_key(next));
            }
            (IndexShortening::SeparatorsAndSuccessor, None) => {
                self.order.shorten_successor(separator);
            }
            _ => {}
        }
        // A caller's comparator may return what is no separator; then the key itself serves.
        let is_below =
            next_first_key.is_none_or(|next| self.order.compare(separator, user_key(next)).is_lt());
        let shorter_and_greater = separator.len() <= last_key.len() - PACKED_LEN
            && self.order.compare(user_key(last_key), separator).is_lt()
            && is_below;
        if shorter_and_greater {
            let first_of_all = pack(SeqNo::MAX, ValueType::FOR_SEEK);
            separator.extend_from_slice(&first_of_all.to_le_bytes());
        } else {
            separator.clear();
            separator.extend_from_slice(last_key);
        }
    }

    /// Asks for a cut before the next entry; the filter does when its partition is full.
    pub(super) fn request_cut(&mut self) {
        if let Some(partitioning) = &mut self.partitioning {
            partitioning.cut_requested = true;
        }
    }

    /// Whether the index was cut since the last call.
    pub(super) fn take_cut(&mut self) -> bool {
        self.partitioning
            .as_mut()
            .is_some_and(|partitioning| std::mem::take(&mut partitioning.cut_for_filter))
    }

    /// The separator added last, as an internal key.
    pub(super) fn last_separator(&self) -> &[u8] {
        self.open.last_separator().unwrap_or_default()
    }

    /// Whether keys keep their sequence numbers; final when all blocks have been added.
    pub(super) fn uses_internal_keys(&self) -> bool {
        self.internal_keys
    }

    /// About the bytes that [`IndexBuilder::finish`] will write.
    pub(super) fn size_estimate(&self) -> usize {
        self.size_estimate
    }

    /// Makes the blocks and hands them to `write` in file order; it returns where each was put.
    pub(super) fn finish(
        &mut self,
        mut write: impl FnMut(&[u8]) -> Result<BlockHandle>,
    ) -> Result<IndexSummary> {
        let mut block = BlockBuilder::new(self.format);
        let mut summary = IndexSummary::default();
        if let Some(hash) = &mut self.hash {
            let (prefixes, metadata) = hash.finish();
            summary.raw_len += prefixes.len() + metadata.len();
            // RocksDB puts them in this order.
            summary.prefix_metadata = Some(write(metadata)?);
            summary.prefixes = Some(write(prefixes)?);
        }
        if self.partitioning.is_none() {
            self.open.write_to(&mut block, self.internal_keys, self.first_key.is_some());
            let contents = block.finish()?;
            summary.raw_len += contents.len();
            summary.root = write(contents)?;
            return Ok(summary);
        }
        if !self.open.is_empty() {
            self.complete.push(std::mem::take(&mut self.open));
        }
        let mut top_level = Entries::default();
        for partition in self.complete.drain(..) {
            partition.write_to(&mut block, self.internal_keys, false);
            let contents = block.finish()?;
            summary.raw_len += contents.len();
            let handle = write(contents)?;
            block.reset();
            top_level.push(partition.last_separator().unwrap_or_default(), &[], handle, false);
            summary.partitions += 1;
        }
        top_level.write_to(&mut block, self.internal_keys, false);
        let contents = block.finish()?;
        summary.top_level_len = contents.len();
        summary.raw_len += contents.len();
        summary.root = write(contents)?;
        Ok(summary)
    }
}

impl Partitioning {
    /// Brings the gauge up to date after an entry.
    fn measure(&mut self, open: &Entries, internal_keys: bool, had_internal_keys: bool) {
        if internal_keys == had_internal_keys {
            open.write_last_to(&mut self.gauge, &mut self.handles, internal_keys);
        } else {
            self.gauge.reset();
            open.write_to(&mut self.gauge, internal_keys, false);
            self.handles = open.handles_so_far();
        }
    }
}

/// The format of index blocks, and of the blocks that index filter partitions.
pub(super) fn index_block_format(options: &TableOptions) -> BlockFormat {
    BlockFormat {
        self_delimiting: options.delta_encodes_index_values(),
        ..BlockFormat::plain(options.index_block_restart_interval)
    }
}
