//! An open table, and the life of a point lookup in it:
//!
//! ```text
//! TableReader::get
//!   filter_reader.rs   may the table hold the key?      a piece of the filter, one line of it
//!   index/             which data block may hold it?    a partition of the index
//!   fetch.rs           the block: read, verify, decompress
//!   block/             the entry in it
//! ```

use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::block::{DataBlock, Found, IndexBlock, IndexFormat, IndexValue};
use super::fetch::BlockFetcher;
use super::filter_reader::{FilterSource, TableFilter};
use super::index::{IndexCursor, Partitions};
use super::lazy::Lazy;
use super::metaindex::{self, Metaindex};
use super::{
    BlockHandle, BlockRole, Footer, FoundEntry, LookupKey, PinnedBytes, RangeTombstones,
    ReadContext, TableIter, TableProperties,
};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::key::{InternalKey, KeyOrder, SeqNo, ValueType};

/// An open table.
///
/// It is shared by [`Arc`], and any number of threads may read at once. Blocks of the index and of the filter stay in
/// memory once they were used; data blocks belong to whoever reads them.
#[derive(Debug)]
pub struct TableReader {
    pub(super) fetcher: BlockFetcher,
    pub(super) footer: Footer,
    pub(super) metaindex: Metaindex,
    pub(super) properties: TableProperties,
    pub(super) order: KeyOrder,
    pub(super) index_handle: BlockHandle,
    pub(super) two_level_index: bool,
    pub(super) index_format: IndexFormat,
    pub(super) index: Lazy<IndexPieces>,
    pub(super) filter: TableFilter,
    /// What entries with sequence number 0 have instead.
    pub(super) global_seqno: Option<SeqNo>,
    pub(super) range_tombstones: Lazy<Arc<RangeTombstones>>,
}

type IndexPieces = Partitions<OnceLock<Arc<IndexBlock>>>;

/// What became of a table's filter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterStatus {
    /// The table has none.
    Absent,
    /// One filter for all keys.
    Full,
    /// Partitions, each for a range of keys.
    Partitioned,
    /// Of the kind that RocksDB 7 gave up; it is not used.
    Obsolete,
    /// Made by a policy of this name, which we do not know; it is not used.
    UnknownPolicy(String),
    /// Damaged, in these words; what is damaged is not used.
    Unreadable(String),
}

impl TableReader {
    /// The newest entry of a user key that is visible at the lookup's sequence number.
    ///
    /// Range tombstones are not looked at: [`TableReader::range_tombstones`] has them.
    ///
    /// * Returns `None` if the table has no such entry. A merge operand is returned as found; what is older is reached
    ///   by [`TableReader::versions`].
    /// * Errors: `Corruption` naming file, part and offset; `Io`.
    pub fn get(&self, key: &LookupKey<'_>, ctx: &mut ReadContext) -> Result<Option<FoundEntry>> {
        if !self.may_contain(key, ctx)? {
            return Ok(None);
        }
        let found = self.get_unfiltered(key, ctx)?;
        if found.is_some() && self.filter.handle.is_some() {
            ctx.filters_true_positive += 1;
        }
        Ok(found)
    }

    fn get_unfiltered(
        &self,
        key: &LookupKey<'_>,
        ctx: &mut ReadContext,
    ) -> Result<Option<FoundEntry>> {
        let Some(target) = self.stored_target(key) else { return Ok(None) };
        let at = self.index(ctx)?.locate(&self.order, target.user_key, target.packed());
        let Some(block) = self.index_partition(at, ctx)? else { return Ok(None) };
        let found = block
            .find(&self.order, target.user_key, target.packed())
            .map_err(|error| self.place_index(error, at))?;
        let Some((value, ends_in_key)) = found else {
            return self.get_by_walking(key, target, ctx);
        };
        if self.starts_behind(block, &value, target) {
            return Ok(None);
        }
        match self.find_in_block(value.handle, target, ctx)? {
            Searched::Entry(entry) => Ok(Some(entry)),
            // The next block starts behind the separator. So it may hold entries of this key only if the separator
            // is one.
            Searched::PastEnd if ends_in_key => self.get_by_walking(key, target, ctx),
            Searched::Absent | Searched::PastEnd => Ok(None),
        }
    }

    /// The same by a walk over the index, for keys whose entries go over a block's end.
    #[cold]
    fn get_by_walking(
        &self,
        key: &LookupKey<'_>,
        target: InternalKey<'_>,
        ctx: &mut ReadContext,
    ) -> Result<Option<FoundEntry>> {
        debug_assert_eq!(key.user_key(), target.user_key);
        let mut cursor = IndexCursor::default();
        cursor.seek(self, target, &target.encode(), ctx)?;
        while let Some(value) = cursor.entry() {
            match self.find_in_block(value.handle, target, ctx)? {
                Searched::Entry(entry) => return Ok(Some(entry)),
                Searched::Absent => return Ok(None),
                Searched::PastEnd => cursor.next(self, ctx)?,
            }
        }
        Ok(None)
    }

    fn find_in_block(
        &self,
        handle: BlockHandle,
        target: InternalKey<'_>,
        ctx: &mut ReadContext,
    ) -> Result<Searched> {
        let block = self.data_block(handle, ctx)?;
        let place = |error| self.fetcher.place(error, handle, BlockRole::Data);
        block.touch().map_err(place)?;
        let found = block.find(&self.order, target.user_key, target.packed()).map_err(place)?;
        Ok(match found {
            Found::Absent => Searched::Absent,
            Found::PastEnd => Searched::PastEnd,
            Found::Entry { packed, value } => {
                let Some(value_type) = ValueType::from_code(packed as u8) else {
                    let code = packed as u8;
                    return Err(place(Error::corruption(format!("entry of type {code:#04x}"))));
                };
                let seqno = self.effective_seqno(SeqNo::from_packed(packed));
                let value = PinnedBytes::new(block, value);
                Searched::Entry(FoundEntry { seqno, value_type, value })
            }
        })
    }

    /// What to look for in the file, whose entries may all stand for one global sequence number.
    ///
    /// * Returns `None` if nothing in the file is visible.
    fn stored_target<'k>(&self, key: &LookupKey<'k>) -> Option<InternalKey<'k>> {
        match self.global_seqno {
            None => Some(key.seek_key()),
            Some(global) if key.seqno() < global => None,
            Some(_) => Some(InternalKey::for_seek(key.user_key(), SeqNo::MAX)),
        }
    }

    /// The sequence number that an entry of the file has.
    #[inline]
    pub(super) fn effective_seqno(&self, stored: SeqNo) -> SeqNo {
        match self.global_seqno {
            Some(global) if stored == SeqNo::ZERO => global,
            _ => stored,
        }
    }

    /// Whether the index tells that the block starts with a greater user key.
    fn starts_behind(
        &self,
        index: &IndexBlock,
        value: &IndexValue,
        target: InternalKey<'_>,
    ) -> bool {
        let Some(first) = index.first_key(value) else { return false };
        match InternalKey::decode(first) {
            Ok(first) => self.order.compare(first.user_key, target.user_key).is_gt(),
            Err(_) => false,
        }
    }

    /// Whether the table may hold entries of the key, as far as the filter knows.
    pub fn may_contain(&self, key: &LookupKey<'_>, ctx: &mut ReadContext) -> Result<bool> {
        self.filter.may_contain(self.filter_source(), key, ctx)
    }

    /// Whether the table may hold a key at or behind `user_key` with the same prefix, as far as the filter knows.
    ///
    /// True if the key has no prefix, or if the table's filter has none of the prefixes that we can compute.
    pub fn prefix_may_match(&self, user_key: &[u8], ctx: &mut ReadContext) -> Result<bool> {
        let target = InternalKey::for_seek(user_key, SeqNo::MAX);
        self.filter.prefix_may_match(self.filter_source(), target, ctx)
    }

    /// All entries of a user key that are visible at the lookup's sequence number, newest first, after the filter was
    /// asked.
    pub fn versions(
        self: &Arc<Self>,
        key: &LookupKey<'_>,
        ctx: &mut ReadContext,
    ) -> Result<Versions> {
        let mut iter = self.iter();
        if self.may_contain(key, ctx)? {
            iter.seek_internal(key.seek_key())?;
        }
        Ok(Versions { iter, user_key: key.user_key().to_vec() })
    }

    /// An iterator over all point entries. It stands nowhere until it is told where to go.
    pub fn iter(self: &Arc<Self>) -> TableIter {
        TableIter::new(Arc::clone(self))
    }

    /// The table's range tombstones; read at the first call and kept.
    pub fn range_tombstones(&self, ctx: &mut ReadContext) -> Result<&Arc<RangeTombstones>> {
        self.range_tombstones.get_or_load(|| {
            let Some(handle) = self.metaindex.get(metaindex::RANGE_DELETIONS) else {
                return Ok(Arc::default());
            };
            let parse = |contents| {
                let block = DataBlock::parse_data(contents, &self.order)?;
                RangeTombstones::parse(&block, &self.order, self.global_seqno).map(Arc::new)
            };
            self.fetcher.fetch_parsed(handle, BlockRole::RangeDeletions, ctx, parse)
        })
    }

    /// The offset in the file at which an entry of `user_key` would be, to about one data block.
    ///
    /// Offsets ascend with keys; behind the last key it is where the data blocks end.
    pub fn approximate_offset_of(&self, user_key: &[u8], ctx: &mut ReadContext) -> Result<u64> {
        let target = InternalKey::for_seek(user_key, SeqNo::MAX);
        let mut cursor = IndexCursor::default();
        cursor.seek(self, target, &target.encode(), ctx)?;
        if let Some(value) = cursor.entry() {
            return Ok(value.handle.offset);
        }
        cursor.seek_to_last(self, ctx)?;
        let last = cursor.entry().map(|value| value.handle);
        Ok(last.and_then(|handle| handle.end()).unwrap_or(0))
    }

    /// What the writer noted about the table.
    pub fn properties(&self) -> &TableProperties {
        &self.properties
    }

    /// The footer.
    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    /// The names and places of the blocks that are not data.
    pub fn metaindex(&self) -> &Metaindex {
        &self.metaindex
    }

    /// The order of user keys.
    pub fn key_order(&self) -> &KeyOrder {
        &self.order
    }

    /// How index entries are encoded.
    pub fn index_format(&self) -> IndexFormat {
        self.index_format
    }

    /// Whether the index has two levels.
    pub fn has_two_level_index(&self) -> bool {
        self.two_level_index
    }

    /// What became of the filter. Damage shows once a damaged piece was asked.
    pub fn filter_status(&self) -> FilterStatus {
        match self.filter.damage.get() {
            Some(damage) => FilterStatus::Unreadable(damage.clone()),
            None => self.filter.status.clone(),
        }
    }

    /// Whether the filter can rule out whole keys.
    pub fn filters_whole_keys(&self) -> bool {
        self.filter.handle.is_some() && self.filter.whole_keys
    }

    /// The sequence number that all entries of an ingested file have.
    pub fn global_seqno(&self) -> Option<SeqNo> {
        self.global_seqno
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        self.fetcher.path()
    }

    /// The file's length in bytes.
    pub fn file_len(&self) -> u64 {
        self.fetcher.file_len()
    }

    /// Bytes held in memory by the index and the filter: the top levels and what was used so far.
    pub fn memory_bytes(&self) -> usize {
        let filter = self.filter.pieces.get().and_then(Option::as_ref).map_or(0, |pieces| {
            let loaded: usize = pieces.loaded().flatten().map(Filter::heap_bytes).sum();
            pieces.memory_bytes() + loaded
        });
        let index = self.index.get().map_or(0, |pieces| {
            let loaded: usize = pieces.loaded().map(|block| block.memory_bytes()).sum();
            pieces.memory_bytes() + loaded
        });
        size_of::<Self>() + index + filter
    }

    /// A data block: read, verified, decompressed and parsed.
    pub(super) fn data_block(
        &self,
        handle: BlockHandle,
        ctx: &mut ReadContext,
    ) -> Result<Arc<DataBlock>> {
        let parse = |contents| DataBlock::parse_data(contents, &self.order).map(Arc::new);
        self.fetcher.fetch_parsed(handle, BlockRole::Data, ctx, parse)
    }

    /// The index's pieces, found at the first use.
    #[inline]
    pub(super) fn index(&self, ctx: &mut ReadContext) -> Result<&IndexPieces> {
        self.index.get_or_load(|| {
            if !self.two_level_index {
                return Ok(Partitions::single(self.index_handle));
            }
            let role = BlockRole::IndexTopLevel;
            self.fetcher.fetch_parsed(self.index_handle, role, ctx, |contents| {
                Partitions::parse(&contents, self.index_format, &self.order)
            })
        })
    }

    pub(super) fn filter_source(&self) -> FilterSource<'_> {
        FilterSource {
            fetcher: &self.fetcher,
            order: &self.order,
            // Filter partitions are found through an index whose entries never hold first keys.
            format: IndexFormat { first_keys: false, ..self.index_format },
        }
    }

    /// Partition `at` of the index; `None` behind the last one.
    #[inline]
    pub(super) fn index_partition(
        &self,
        at: usize,
        ctx: &mut ReadContext,
    ) -> Result<Option<&Arc<IndexBlock>>> {
        self.index(ctx)?.get_or_load(at, |handle| {
            self.fetcher.fetch_parsed(handle, self.index_role(), ctx, |contents| {
                IndexBlock::parse_index(contents, self.index_format, &self.order).map(Arc::new)
            })
        })
    }

    /// Names the place of an error in partition `at` of the index.
    #[cold]
    pub(super) fn place_index(&self, error: Error, at: usize) -> Error {
        let handle = self.index.get().and_then(|index| index.handle(at)).unwrap_or_default();
        self.fetcher.place(error, handle, self.index_role())
    }

    pub(super) fn index_role(&self) -> BlockRole {
        if self.two_level_index { BlockRole::IndexPartition } else { BlockRole::Index }
    }
}

enum Searched {
    Entry(FoundEntry),
    Absent,
    PastEnd,
}

/// The entries of one user key, newest first.
#[derive(Debug)]
pub struct Versions {
    iter: TableIter,
    user_key: Vec<u8>,
}

impl Versions {
    /// The next older entry, or `None` if there are no more.
    pub fn next_entry(&mut self) -> Result<Option<FoundEntry>> {
        let Some(entry) = self.iter.entry_of(&self.user_key)? else { return Ok(None) };
        self.iter.step()?;
        Ok(Some(entry))
    }

    /// What the walk cost so far.
    pub fn context(&self) -> &ReadContext {
        self.iter.context()
    }
}
