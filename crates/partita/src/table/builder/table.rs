mod properties;

use super::block::{BlockBuilder, BlockFormat, BlockLimits};
use super::counts::Counts;
use super::dictionary::{HeldBlock, HeldBlocks, for_each_key};
use super::filter::{FilterBlockBuilder, FilterSummary};
use super::index::{IndexBuilder, IndexSummary};
use super::meta::{Metaindex, Tombstones, properties_block, range_deletion_block};
use super::sink::{BlockSink, Treatment};
use super::{TableContext, TableSummary};
use crate::error::{Error, ErrorKind, Result};
use crate::io::WritableFile;
use crate::key::{Excerpt, InternalKey, KeyOrder, SeqNo, ValueType, user_key};
use crate::options::{DataBlockIndex, IndexType, TableOptions};
use crate::table::{
    BLOCK_TRAILER_LEN, BlockChecksum, BlockHandle, Footer, TableProperties, metaindex,
};
use crate::util::compression::CompressionType;

/// Longest key or value: lengths are 32-bit, and a block ends at 4 GiB.
const ENTRY_PART_LEN_MAX: usize = u32::MAX as usize;

/// Writes a table: entries in order in, a file that RocksDB reads out.
///
/// After an error of [`TableBuilder::add`] that comes from the file, the file is worthless: every later call fails with
/// the same kind, and [`TableBuilder::finish`] never reports success. An entry that is refused (out of order, not a
/// point) leaves the builder as it was.
///
/// ```
/// use partita::io::MemoryWriter;
/// use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
/// use partita::options::TableOptions;
/// use partita::table::{TableBuilder, TableContext};
///
/// let file = MemoryWriter::new("000001.sst");
/// let mut builder = TableBuilder::new(
///     Box::new(file.clone()),
///     TableOptions::default(),
///     KeyOrder::Bytewise,
///     TableContext::default(),
/// )?;
/// for (number, key) in (1..).zip([b"apple", b"grape"]) {
///     let seqno = SeqNo::new(number).unwrap();
///     builder.add(&InternalKey::new(key, seqno, ValueType::Value).encode(), b"fruit")?;
/// }
/// let summary = builder.finish()?;
/// assert_eq!(summary.properties.num_entries, Some(2));
/// assert_eq!(summary.file_size, file.into_bytes().len() as u64);
/// # Ok::<(), partita::Error>(())
/// ```
pub struct TableBuilder {
    options: TableOptions,
    order: KeyOrder,
    context: TableContext,
    sink: BlockSink,
    checksum: BlockChecksum,
    data_block: BlockBuilder,
    data_format: BlockFormat,
    limits: BlockLimits,
    index: IndexBuilder,
    filter: Option<FilterBlockBuilder>,
    /// Data blocks that wait for the compression dictionary.
    held: Option<HeldBlocks>,
    dictionary: Vec<u8>,
    tombstones: Tombstones,
    counts: Counts,
    has_points: bool,
    first_key: Vec<u8>,
    data_blocks: u64,
    rejected_blocks: u64,
    /// Why the file is worthless.
    failure: Option<(ErrorKind, String)>,
    /// Properties beyond those of every table.
    pub(super) extra_properties: TableProperties,
}

impl TableBuilder {
    /// Starts a table in an empty file.
    ///
    /// * `order`: of the user keys; its name is recorded.
    /// * `context`: what the properties tell of the table's origin.
    /// * Errors: `InvalidArgument` for options that are senseless, alone or with this order.
    pub fn new(
        file: Box<dyn WritableFile>,
        options: TableOptions,
        order: KeyOrder,
        context: TableContext,
    ) -> Result<Self> {
        options.validate()?;
        require_equal_bytes(&options, &order)?;
        let base_context =
            if options.format_version >= 6 { context.base_context_checksum() } else { 0 };
        let checksum = BlockChecksum { checksum: options.checksum, base_context };
        let data_format = BlockFormat {
            shares_keys: options.use_delta_encoding,
            values_apart: options.separate_key_value_in_data_block,
            ..BlockFormat::plain(options.block_restart_interval)
        };
        let data_block = match options.data_block_index {
            DataBlockIndex::BinarySearch => BlockBuilder::new(data_format),
            DataBlockIndex::BinaryAndHash { util_ratio } => {
                BlockBuilder::with_hash_index(data_format, util_ratio)
            }
        };
        let mut limits = BlockLimits::new(options.block_size, options.block_size_deviation);
        if options.block_align {
            limits = limits.aligned(BLOCK_TRAILER_LEN);
        }
        let compression = &options.compression;
        let holds = compression.uses_dictionary() && compression.kind != CompressionType::None;
        Ok(Self {
            sink: BlockSink::new(file, &options, checksum)?,
            checksum,
            data_block,
            data_format,
            limits,
            index: IndexBuilder::new(&options, order.clone()),
            filter: FilterBlockBuilder::new(&options, context.level),
            held: holds.then(|| HeldBlocks::new(compression)),
            dictionary: Vec::new(),
            tombstones: Vec::new(),
            counts: Counts::default(),
            has_points: false,
            first_key: Vec::new(),
            data_blocks: 0,
            rejected_blocks: 0,
            failure: None,
            extra_properties: TableProperties::default(),
            options,
            order,
            context,
        })
    }

    /// Records what another table says of data that is now written again, and what its entries do not tell: properties
    /// collected by user code and the collectors' names, times of sequence numbers, and that it is an external file.
    ///
    /// What the [`TableContext`] gives is not taken from there. Entries of an external file stay at sequence number 0.
    pub fn carry_properties(&mut self, from: &TableProperties) {
        self.extra_properties = TableProperties {
            user_collected: from.user_collected.clone(),
            property_collector_names: from.property_collector_names.clone(),
            seqno_to_time_mapping: from.seqno_to_time_mapping.clone(),
            external_sst_file_version: from.external_sst_file_version,
            external_sst_file_global_seqno: from.external_sst_file_global_seqno,
            ..TableProperties::default()
        };
    }

    /// Adds a point entry.
    ///
    /// * `internal_key`: greater than all keys before it.
    /// * Errors: `InvalidArgument` for a key out of order, a range tombstone, an unknown type, or 4 GiB; the error names
    ///   the keys. `Io` and `NoSpace` from the file.
    pub fn add(&mut self, internal_key: &[u8], value: &[u8]) -> Result<()> {
        self.check_failure()?;
        let key = self.check_point(internal_key, value)?;
        if self.data_block.is_full_before(&self.limits, internal_key.len(), value.len()) {
            let closed = self.close_data_block(Some(internal_key));
            self.remember(closed)?;
        }
        if self.held.is_none() {
            self.note_key(internal_key);
        }
        if !self.has_points {
            self.has_points = true;
            self.first_key.extend_from_slice(internal_key);
        }
        self.data_block.add(internal_key, value);
        self.counts.note(&key, internal_key.len(), value.len());
        for collector in &mut self.context.collectors {
            collector.add(key, value);
        }
        Ok(())
    }

    /// Adds a range tombstone, at any time and in any order: the keys from `start` up to `end`, without `end`, are absent
    /// as of `seqno`.
    ///
    /// * Errors: `InvalidArgument` if `start` is not less than `end`.
    pub fn add_range_tombstone(&mut self, start: &[u8], end: &[u8], seqno: SeqNo) -> Result<()> {
        self.check_failure()?;
        if self.order.compare(start, end).is_ge() {
            return Err(self.refuse(format!(
                "range tombstone from {} to {}: the start must be less than the end",
                Excerpt(start),
                Excerpt(end)
            )));
        }
        let key = InternalKey::new(start, seqno, ValueType::RangeDeletion);
        let encoded = key.encode();
        let limit = InternalKey::new(end, SeqNo::MAX, ValueType::RangeDeletion).encode();
        self.counts.note(&key, encoded.len(), end.len());
        self.counts.cover(&self.order, &encoded, &limit);
        for collector in &mut self.context.collectors {
            collector.add(key, end);
        }
        self.tombstones.push((encoded, end.to_vec()));
        Ok(())
    }

    /// Entries added, range tombstones among them.
    pub fn num_entries(&self) -> u64 {
        self.counts.entries()
    }

    /// About the length of the file if it were finished now: what is written, what waits in memory, and the index and
    /// filter so far. What waits is not compressed yet.
    pub fn file_size_estimate(&self) -> u64 {
        let held = self.held.as_ref().map_or(0, HeldBlocks::len);
        let block = if self.data_block.is_empty() { 0 } else { self.data_block.size_estimate() };
        let filter = self.filter.as_ref().map_or(0, FilterBlockBuilder::size_estimate);
        self.sink.offset() + (held + block + filter + self.index.size_estimate()) as u64
    }

    /// About the bytes of memory held: blocks that wait, keys for the filter, index and filter so far.
    pub fn memory_bytes(&self) -> usize {
        let held = self.held.as_ref().map_or(0, HeldBlocks::len);
        let filter = self.filter.as_ref().map_or(0, FilterBlockBuilder::memory_bytes);
        // A block and its compressed form; index entries once as they are kept and once as they are written.
        held + 2 * self.data_block.size_estimate() + filter + 2 * self.index.size_estimate()
    }

    /// Gives the table up. The file keeps what was written; the caller removes it.
    pub fn abandon(self) {}

    /// Writes the rest of the table and syncs the file.
    ///
    /// * Errors: as [`TableBuilder::add`]; the file is then worthless.
    pub fn finish(mut self) -> Result<TableSummary> {
        self.check_failure()?;
        if self.has_points {
            let Self { counts, order, first_key, data_block, .. } = &mut self;
            counts.cover(order, first_key, data_block.last_key());
            self.close_data_block(None)?;
        }
        let data_size = self.sink.offset();
        let mut metaindex = Metaindex::default();
        let filter = self.write_filter(&mut metaindex)?;
        let index = self.write_index(&mut metaindex)?;
        if !self.dictionary.is_empty() {
            let written = self.sink.write_block(&self.dictionary, Treatment::Raw)?;
            metaindex.insert(metaindex::COMPRESSION_DICTIONARY, written.handle);
        }
        if !self.tombstones.is_empty() {
            let mut block = range_deletion_block(&mut self.tombstones, &self.order)?;
            let written = self.sink.write_block(block.finish()?, Treatment::Raw)?;
            metaindex.insert(metaindex::RANGE_DELETIONS, written.handle);
        }
        let properties = self.properties(data_size, &filter, &index);
        let written =
            self.sink.write_block(properties_block(&properties).finish()?, Treatment::Raw)?;
        metaindex.insert(metaindex::PROPERTIES, written.handle);
        let metaindex = self.sink.write_block(metaindex.to_block().finish()?, Treatment::Raw)?;
        let footer = Footer {
            format_version: self.options.format_version,
            checksum: self.checksum,
            metaindex: metaindex.handle,
            index: (self.options.format_version < 6).then_some(index.root),
        };
        self.sink.append(&footer.encode()?)?;
        self.sink.sync()?;
        let (smallest, largest) = self.counts.take_range();
        let (smallest_seqno, largest_seqno) = self.counts.seqnos();
        let file_size = self.sink.offset();
        Ok(TableSummary { file_size, smallest, largest, smallest_seqno, largest_seqno, properties })
    }

    /// Checks that an entry may come next.
    #[inline]
    fn check_point<'k>(&self, internal_key: &'k [u8], value: &[u8]) -> Result<InternalKey<'k>> {
        let key = InternalKey::decode(internal_key)
            .map_err(|error| self.refuse(error.message().to_owned()))?;
        let last = self.data_block.last_key();
        let in_order = !self.has_points || self.order.compare_internal(last, internal_key).is_lt();
        let fits = internal_key.len() <= ENTRY_PART_LEN_MAX && value.len() <= ENTRY_PART_LEN_MAX;
        if in_order && key.value_type.is_point() && fits {
            return Ok(key);
        }
        Err(self.refuse_point(&key, in_order, value.len()))
    }

    #[cold]
    fn refuse_point(&self, key: &InternalKey<'_>, in_order: bool, value_len: usize) -> Error {
        if !key.value_type.is_point() {
            return self.refuse(
                "a range tombstone among the points: add_range_tombstone takes it".to_owned(),
            );
        }
        if in_order {
            return self.refuse(format!(
                "key of {} and value of {value_len} bytes, the format ends at 4 GiB",
                key.user_key.len()
            ));
        }
        let shown = |key: &InternalKey<'_>| {
            format!("{}@{} {}", Excerpt(key.user_key), key.seqno, key.value_type)
        };
        match InternalKey::decode(self.data_block.last_key()) {
            Ok(last) => {
                self.refuse(format!("keys out of order: {} after {}", shown(key), shown(&last)))
            }
            Err(error) => error,
        }
    }

    #[cold]
    pub(super) fn refuse(&self, message: String) -> Error {
        Error::invalid_argument(message).in_file(self.sink.path())
    }

    #[inline]
    fn check_failure(&self) -> Result<()> {
        match &self.failure {
            None => Ok(()),
            Some((kind, message)) => {
                let message =
                    format!("the table is incomplete, an earlier write failed: {message}");
                Err(Error::new(*kind, message).in_file(self.sink.path()))
            }
        }
    }

    fn remember(&mut self, result: Result<()>) -> Result<()> {
        if let Err(error) = &result {
            self.failure = Some((error.kind(), error.message().to_owned()));
        }
        result
    }

    /// Tells filter and index of a key that goes into the open data block.
    #[inline]
    fn note_key(&mut self, internal_key: &[u8]) {
        if let Some(filter) = &mut self.filter {
            let previous = self.has_points.then(|| user_key(self.data_block.last_key()));
            filter.add(user_key(internal_key), previous, &mut self.index);
        }
        self.index.note_key(internal_key);
    }

    /// Finishes the open data block and writes it, or holds it back for the dictionary.
    fn close_data_block(&mut self, next_key: Option<&[u8]>) -> Result<()> {
        let Some(held) = &mut self.held else {
            let contents = self.data_block.finish()?;
            let written = self.sink.write_block(contents, Treatment::Data)?;
            self.data_blocks += 1;
            self.rejected_blocks += u64::from(!written.compressed);
            let last_key = self.data_block.last_key();
            self.index.add_block(last_key, next_key, written.handle, written.padded_before);
            self.data_block.reset();
            return Ok(());
        };
        let entries_len = self.data_block.entries_len();
        self.data_block.finish()?;
        let last_key = self.data_block.last_key().to_vec();
        held.push(HeldBlock { contents: self.data_block.take(), entries_len, last_key });
        if next_key.is_none() || held.is_full() {
            self.release_held(next_key)?;
        }
        Ok(())
    }

    /// Makes the dictionary from the blocks held back, and writes them with it.
    ///
    /// Only now do filter and index learn of their keys: where a filter partition is cut may depend on the index, and
    /// that on the sizes of compressed blocks.
    fn release_held(&mut self, next_key: Option<&[u8]>) -> Result<()> {
        let Some(held) = self.held.take() else { return Ok(()) };
        self.dictionary = held.dictionary(&self.options.compression);
        if !self.dictionary.is_empty() {
            self.sink.use_dictionary(&self.dictionary)?;
        }
        let blocks = held.into_blocks();
        let mut previous: Option<Vec<u8>> = None;
        for (at, block) in blocks.iter().enumerate() {
            for_each_key(block, self.data_format, |key| {
                if let Some(filter) = &mut self.filter {
                    filter.add(user_key(key), previous.as_deref(), &mut self.index);
                }
                self.index.note_key(key);
                let previous = previous.get_or_insert_default();
                previous.clear();
                previous.extend_from_slice(user_key(key));
            });
            let written = self.sink.write_block(&block.contents, Treatment::Data)?;
            self.data_blocks += 1;
            self.rejected_blocks += u64::from(!written.compressed);
            let first_of_next =
                blocks.get(at + 1).and_then(|block| block.first_key(self.data_format));
            let next = first_of_next.or(next_key);
            self.index.add_block(&block.last_key, next, written.handle, written.padded_before);
        }
        Ok(())
    }

    fn write_filter(&mut self, metaindex: &mut Metaindex) -> Result<FilterSummary> {
        let Self { filter: Some(filter), sink, index, options, data_block, .. } = self else {
            return Ok(FilterSummary::default());
        };
        let last_key = self.has_points.then(|| user_key(data_block.last_key()));
        let summary = filter.finish(options, last_key, index, |contents| {
            sink.write_block(contents, Treatment::Raw).map(|written| written.handle)
        })?;
        if let Some((name, handle)) = &summary.root {
            metaindex.insert(name.as_str(), *handle);
        }
        Ok(summary)
    }

    fn write_index(&mut self, metaindex: &mut Metaindex) -> Result<IndexSummary> {
        let treatment = match self.options.enable_index_compression {
            true => Treatment::Index,
            false => Treatment::Raw,
        };
        let sink = &mut self.sink;
        let summary = self.index.finish(|contents| {
            sink.write_block(contents, treatment).map(|written| written.handle)
        })?;
        let mut named = |name: &str, handle: Option<BlockHandle>| {
            if let Some(handle) = handle {
                metaindex.insert(name, handle);
            }
        };
        named(metaindex::HASH_INDEX_PREFIXES, summary.prefixes);
        named(metaindex::HASH_INDEX_METADATA, summary.prefix_metadata);
        named(metaindex::INDEX, (self.options.format_version >= 6).then_some(summary.root));
        Ok(summary)
    }
}

impl std::fmt::Debug for TableBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableBuilder")
            .field("path", &self.sink.path())
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

/// Filters and hash indexes find a key by its bytes.
fn require_equal_bytes(options: &TableOptions, order: &KeyOrder) -> Result<()> {
    let hashes = options.filter_policy.is_some()
        || options.data_block_index != DataBlockIndex::BinarySearch
        || options.index_type == IndexType::HashSearch;
    if hashes && !order.equal_keys_have_equal_bytes() {
        return Err(Error::invalid_argument(format!(
            "filter_policy, data_block_index and index_type kHashSearch hash keys, but under {} equal keys may differ \
             in their bytes",
            order.name()
        )));
    }
    Ok(())
}
