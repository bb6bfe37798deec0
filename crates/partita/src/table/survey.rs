//! A table's map: which blocks it has, where, of what size and how compressed, without reading the data.
//!
//! [`TableSurvey`] needs no comparator, so it also maps tables whose order of keys we do not know. Of the index all
//! blocks are read, of every other block the first and the last bytes:
//!
//! ```text
//! | length before compression ... filter metadata | compression type | checksum |
//! |<------ 10 bytes ------>|     |<-- 5 bytes --->|<-------- 5 bytes -------->|
//! ```
//!
//! One damaged block does not hide the others: a visit reports it and goes on.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::block::{BlockCursor, DataBlock, IndexBlock, IndexFormat};
use super::extents::Extents;
use super::fetch::BlockFetcher;
use super::index_place::IndexPlace;
use super::metaindex::{self, Metaindex};
use super::open::{index_format, index_type, read_footer, read_metaindex, read_properties};
use super::{BLOCK_TRAILER_LEN, BlockHandle, BlockRole, Footer, ReadContext, TableProperties};
use crate::error::{Error, Result};
use crate::filter::{FilterKind, FilterMeta};
use crate::io::RandomAccessFile;
use crate::key::{InternalKey, KeyOrder};
use crate::options::IndexType;
use crate::util::coding::MAX_VARINT64_LEN;
use crate::util::compression::{CompressionType, Framing, claimed_len};

/// A block as its handle and its first and last bytes show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurveyedBlock {
    /// What it is for.
    pub role: BlockRole,
    /// Where it is.
    pub handle: BlockHandle,
    /// The code of its compression type.
    pub compression_code: u8,
    /// Its length before compression, if it says so.
    pub uncompressed_len: Option<u64>,
    /// The kind of filter, if it is one that is still read.
    pub filter_kind: Option<FilterKind>,
}

/// What the first data block and the last one show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataSample {
    /// User key of the first entry.
    pub first_user_key: Vec<u8>,
    /// User key of the last entry.
    pub last_user_key: Vec<u8>,
    /// Whether the first block carries a hash index.
    pub has_hash_index: bool,
    /// Whether the first block holds keys and values apart.
    pub has_separated_values: bool,
}

/// A data block as the index names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedBlock<'i> {
    /// A user key that is not before any of the block's, and before all of the next one's; or the same as the next one's first,
    /// if versions of a key stand in both.
    pub separator: &'i [u8],
    /// Where the block is.
    pub handle: BlockHandle,
    /// Where the block of the index is that names it: the whole index or a partition.
    pub index: BlockHandle,
}

/// A table opened to be mapped.
#[derive(Debug)]
pub struct TableSurvey {
    file: Arc<dyn RandomAccessFile>,
    fetcher: BlockFetcher,
    footer: Footer,
    metaindex: Metaindex,
    properties: TableProperties,
    index_type: IndexType,
    index_handle: BlockHandle,
}

impl TableSurvey {
    /// Opens a table.
    ///
    /// * Errors: as [`TableReader::open`](super::TableReader::open), except that any comparator will do.
    pub fn open(file: Arc<dyn RandomAccessFile>) -> Result<Self> {
        let path = file.path().to_path_buf();
        Self::open_parts(file).map_err(|error| error.in_file(path))
    }

    fn open_parts(file: Arc<dyn RandomAccessFile>) -> Result<Self> {
        let ctx = &mut ReadContext::default();
        let footer = read_footer(&*file)?;
        let mut fetcher = BlockFetcher::new(Arc::clone(&file), &footer, true);
        let metaindex = read_metaindex(&fetcher, &footer, ctx)?;
        let properties = read_properties(&fetcher, &metaindex, ctx)?;
        fetcher.set_dictionary(metaindex.get(metaindex::COMPRESSION_DICTIONARY));
        let index_type = index_type(&properties)?;
        let index_handle = IndexPlace::new(&footer, &metaindex)?.handle();
        Ok(Self { file, fetcher, footer, metaindex, properties, index_type, index_handle })
    }

    /// The footer.
    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    /// The names and places of the blocks that are not data.
    pub fn metaindex(&self) -> &Metaindex {
        &self.metaindex
    }

    /// What the writer noted.
    pub fn properties(&self) -> &TableProperties {
        &self.properties
    }

    /// The layout of the index.
    pub fn index_type(&self) -> IndexType {
        self.index_type
    }

    /// Where the index is, or its top level.
    pub fn index_handle(&self) -> BlockHandle {
        self.index_handle
    }

    /// The file's length in bytes.
    pub fn file_len(&self) -> u64 {
        self.file.len()
    }

    /// Visits every block: data blocks with the index piece that names them, then filters and other meta blocks, the
    /// metaindex last. Damage and failed reads are visited as errors that name the block.
    pub fn visit_blocks(&self, visit: &mut dyn FnMut(Result<SurveyedBlock>)) {
        self.visit(Depth::Data, visit);
    }

    /// Visits every block that is not data, and reads of the index only the top level. For a look at thousands of tables:
    /// it costs a few reads a table, and two for each partition of index and filter.
    pub fn visit_metadata(&self, visit: &mut dyn FnMut(Result<SurveyedBlock>)) {
        self.visit(Depth::Metadata, visit);
    }

    fn visit(&self, depth: Depth, visit: &mut dyn FnMut(Result<SurveyedBlock>)) {
        let mut walk = Walk { depth, extents: Extents::default(), visit };
        let role = match self.index_type {
            IndexType::TwoLevel => BlockRole::IndexTopLevel,
            _ => BlockRole::Index,
        };
        self.visit_block(role, self.index_handle, true, &mut walk);
        for (name, handle) in self.metaindex.iter() {
            match metaindex::role_of(name, false) {
                // Visited above, wherever its handle stands.
                BlockRole::Index => {}
                role => self.visit_block(role, handle, name_is_builtin(name), &mut walk),
            }
        }
        self.visit_block(BlockRole::Metaindex, self.footer.metaindex, false, &mut walk);
    }

    /// Visits a block, and before it the blocks that it names.
    ///
    /// * `known_policy`: of a filter or its top level, whether it is one that we read.
    fn visit_block(
        &self,
        role: BlockRole,
        handle: BlockHandle,
        known_policy: bool,
        walk: &mut Walk<'_>,
    ) {
        // A block that is named again and again would make a walk without end of a small file.
        if let Err(error) = walk.extents.insert(handle) {
            return (walk.visit)(Err(self.fetcher.place(error, handle, role)));
        }
        let named = match role {
            BlockRole::IndexTopLevel => Some(BlockRole::IndexPartition),
            BlockRole::Index | BlockRole::IndexPartition if walk.depth == Depth::Data => {
                Some(BlockRole::Data)
            }
            BlockRole::FilterTopLevel if known_policy => Some(BlockRole::FilterPartition),
            _ => None,
        };
        let walked = match named {
            Some(named) => self.index_entries(role, handle, &mut |entry| {
                self.visit_block(named, entry, known_policy, walk);
            }),
            None => Ok(()),
        };
        (walk.visit)(walked.and_then(|()| self.look_at(role, handle, known_policy)));
    }

    /// Calls `each` with the handles in an index block.
    fn index_entries(
        &self,
        role: BlockRole,
        handle: BlockHandle,
        each: &mut dyn FnMut(BlockHandle),
    ) -> Result<()> {
        let _ = self.walk_index(role, handle, &mut |_, handle| {
            each(handle);
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    fn index_block(&self, role: BlockRole, handle: BlockHandle) -> Result<IndexBlock> {
        let mut format = index_format(&self.properties, self.index_type);
        if role == BlockRole::FilterTopLevel {
            format = IndexFormat { first_keys: false, ..format };
        }
        let contents = self.fetcher.fetch(handle, role, &mut ReadContext::default())?;
        // The block is only walked from its start, so the order of its keys does not matter.
        IndexBlock::parse_index(contents, format, &KeyOrder::ReverseBytewise)
            .map_err(|error| self.fetcher.place(error, handle, role))
    }

    /// Walks the index from the first data block to the last, and calls `visit` with each; it may end the walk.
    ///
    /// * Errors: damage to the index, and failed reads of it; what stood before it was visited.
    pub fn visit_index(
        &self,
        visit: &mut dyn FnMut(IndexedBlock<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        if self.index_type != IndexType::TwoLevel {
            let index = self.index_handle;
            let walked = self.walk_index(BlockRole::Index, index, &mut |separator, handle| {
                visit(IndexedBlock { separator, handle, index })
            });
            return walked.map(|_| ());
        }
        let mut partitions = Vec::new();
        let _ =
            self.walk_index(BlockRole::IndexTopLevel, self.index_handle, &mut |_, handle| {
                partitions.push(handle);
                ControlFlow::Continue(())
            })?;
        for index in partitions {
            let walked =
                self.walk_index(BlockRole::IndexPartition, index, &mut |separator, handle| {
                    visit(IndexedBlock { separator, handle, index })
                })?;
            if walked.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The partitions of the filter, each with the user key up to which it is asked; empty if the filter is not cut.
    ///
    /// * Errors: damage to their top level, and failed reads of it.
    pub fn filter_partitions(&self) -> Result<Vec<(Vec<u8>, BlockHandle)>> {
        let top = self.metaindex.with_prefix(metaindex::PARTITIONED_FILTER_PREFIX);
        let Some((policy, top)) = top else { return Ok(Vec::new()) };
        if policy != metaindex::BUILTIN_FILTER_POLICY {
            return Ok(Vec::new());
        }
        let mut partitions = Vec::new();
        let _ = self.walk_index(BlockRole::FilterTopLevel, top, &mut |separator, handle| {
            partitions.push((separator.to_vec(), handle));
            ControlFlow::Continue(())
        })?;
        Ok(partitions)
    }

    /// What a block's first and last bytes show.
    ///
    /// * `role`: what it is for, as who named it knows.
    /// * Errors: a handle that points outside of the file, and failed reads.
    pub fn block(&self, role: BlockRole, handle: BlockHandle) -> Result<SurveyedBlock> {
        self.look_at(role, handle, true)
    }

    /// Reads a data block and calls `visit` with the internal key and the value of each entry; it may end the walk.
    ///
    /// * Errors: damage to the block, and failed reads.
    pub fn visit_entries(
        &self,
        handle: BlockHandle,
        visit: &mut dyn FnMut(InternalKey<'_>, &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let place = |error| self.fetcher.place(error, handle, BlockRole::Data);
        let contents = self.fetcher.fetch(handle, BlockRole::Data, &mut ReadContext::default())?;
        // No key is compared on a walk.
        let block = DataBlock::parse_data(contents, &KeyOrder::ReverseBytewise).map_err(place)?;
        let mut cursor = BlockCursor::new();
        cursor.seek_to_first(&block).map_err(place)?;
        while cursor.is_valid() {
            let key = InternalKey::decode(cursor.key()).map_err(place)?;
            if visit(key, cursor.value(&block)).is_break() {
                break;
            }
            cursor.next(&block).map_err(place)?;
        }
        Ok(())
    }

    /// Calls `each` with the user keys and handles of an index block, until it ends the walk.
    fn walk_index(
        &self,
        role: BlockRole,
        handle: BlockHandle,
        each: &mut dyn FnMut(&[u8], BlockHandle) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let block = self.index_block(role, handle)?;
        let mut cursor = BlockCursor::new();
        let mut walk = || {
            cursor.seek_to_first(&block)?;
            while cursor.is_valid() {
                if each(block.user_key_of(cursor.key()), cursor.state().handle).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                cursor.next(&block)?;
            }
            Ok(ControlFlow::Continue(()))
        };
        walk().map_err(|error| self.fetcher.place(error, handle, role))
    }

    /// Reads a block's first and last bytes.
    fn look_at(
        &self,
        role: BlockRole,
        handle: BlockHandle,
        known_policy: bool,
    ) -> Result<SurveyedBlock> {
        self.look_at_ends(role, handle, known_policy)
            .map_err(|error| self.fetcher.place(error, handle, role))
    }

    fn look_at_ends(
        &self,
        role: BlockRole,
        handle: BlockHandle,
        known_policy: bool,
    ) -> Result<SurveyedBlock> {
        let Some(end) = handle.end().filter(|end| *end <= self.file.len()) else {
            return Err(Error::corruption("the block's handle points outside of the file"));
        };
        let mut tail = [0; FilterMeta::LEN + BLOCK_TRAILER_LEN];
        let tail_len = tail.len().min((end - handle.offset) as usize);
        let at = tail.len() - tail_len;
        self.file.read_exact_at(end - tail_len as u64, &mut tail[at..])?;
        let (metadata, trailer) = tail.split_at(FilterMeta::LEN);
        let compression_code = trailer[0];

        let is_filter = matches!(role, BlockRole::Filter | BlockRole::FilterPartition);
        let filter_kind = (is_filter && known_policy).then(|| {
            let metadata = metadata.first_chunk().copied().unwrap_or_default();
            FilterMeta::parse(handle.size as usize, metadata).kind()
        });
        let uncompressed_len = self.uncompressed_len(handle, compression_code)?;
        Ok(SurveyedBlock { role, handle, compression_code, uncompressed_len, filter_kind })
    }

    fn uncompressed_len(&self, handle: BlockHandle, compression_code: u8) -> Result<Option<u64>> {
        let Ok(kind) = CompressionType::from_code(compression_code) else { return Ok(None) };
        if kind == CompressionType::None {
            return Ok(Some(handle.size));
        }
        let mut start = [0; MAX_VARINT64_LEN];
        let len = start.len().min(usize::try_from(handle.size).unwrap_or(usize::MAX));
        self.file.read_exact_at(handle.offset, &mut start[..len])?;
        let framing = Framing::of_format_version(self.footer.format_version);
        Ok(claimed_len(kind, framing, &start[..len]))
    }

    /// Reads the first data block and the last one; `None` if there is no entry.
    pub fn sample_data(&self) -> Result<Option<DataSample>> {
        let Some(first) = self.edge_of_index(Edge::First)? else { return Ok(None) };
        let Some(last) = self.edge_of_index(Edge::Last)? else { return Ok(None) };
        let (block, first_user_key) = self.edge_of_data(first, Edge::First)?;
        let (_, last_user_key) = self.edge_of_data(last, Edge::Last)?;
        Ok(Some(DataSample {
            first_user_key,
            last_user_key,
            has_hash_index: block.has_hash_index(),
            has_separated_values: block.has_separated_values(),
        }))
    }

    /// The first or the last data block that the index names.
    fn edge_of_index(&self, edge: Edge) -> Result<Option<BlockHandle>> {
        if self.index_type != IndexType::TwoLevel {
            return self.edge_of_block(BlockRole::Index, self.index_handle, edge);
        }
        match self.edge_of_block(BlockRole::IndexTopLevel, self.index_handle, edge)? {
            Some(partition) => self.edge_of_block(BlockRole::IndexPartition, partition, edge),
            None => Ok(None),
        }
    }

    fn edge_of_block(
        &self,
        role: BlockRole,
        handle: BlockHandle,
        edge: Edge,
    ) -> Result<Option<BlockHandle>> {
        let block = self.index_block(role, handle)?;
        let mut cursor = BlockCursor::new();
        let moved = match edge {
            Edge::First => cursor.seek_to_first(&block),
            Edge::Last => cursor.seek_to_last(&block),
        };
        moved.map_err(|error| self.fetcher.place(error, handle, role))?;
        Ok(cursor.is_valid().then(|| cursor.state().handle))
    }

    /// A data block, and the user key of its first or last entry.
    fn edge_of_data(&self, handle: BlockHandle, edge: Edge) -> Result<(DataBlock, Vec<u8>)> {
        let place = |error| self.fetcher.place(error, handle, BlockRole::Data);
        let contents = self.fetcher.fetch(handle, BlockRole::Data, &mut ReadContext::default())?;
        // Again no key is compared.
        let block = DataBlock::parse_data(contents, &KeyOrder::ReverseBytewise).map_err(place)?;
        let mut cursor = BlockCursor::new();
        let moved = match edge {
            Edge::First => cursor.seek_to_first(&block),
            Edge::Last => cursor.seek_to_last(&block),
        };
        moved.map_err(place)?;
        if !cursor.is_valid() {
            return Err(place(Error::corruption("data block without entries")));
        }
        let user_key = InternalKey::decode(cursor.key()).map_err(place)?.user_key.to_vec();
        Ok((block, user_key))
    }
}

/// Which blocks are visited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Metadata,
    Data,
}

/// A visit under way.
struct Walk<'v> {
    depth: Depth,
    extents: Extents,
    visit: &'v mut dyn FnMut(Result<SurveyedBlock>),
}

#[derive(Clone, Copy)]
enum Edge {
    First,
    Last,
}

/// Whether the meta block's filter is of the policy that we know.
fn name_is_builtin(name: &str) -> bool {
    name.ends_with(metaindex::BUILTIN_FILTER_POLICY)
}
