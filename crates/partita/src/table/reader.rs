//! An open table, and the life of a point lookup in it:
//!
//! ```text
//! TableReader::get
//!   filter_use.rs      is the filter worth asking?
//!   filter_reader.rs   may the table hold the key?      a piece of the filter, one line of it
//!   index/             which data block may hold it?    a piece of the index
//!   block/             the entry in it
//! ```
//!
//! Pieces and blocks are looked for in the cache (`pin.rs`); what is not there is read, verified, decompressed and parsed
//! (`fetch.rs`) and enters it. A lookup whose pieces are cached takes no lock, allocates nothing, writes no memory that
//! threads share, and copies no block.

use std::ops::{Bound, Range};
use std::path::Path;
use std::sync::Arc;

use super::block::{DataBlock, Found, IndexBlock, IndexFormat, IndexValue};
use super::budget::TableBudget;
use super::fetch::BlockFetcher;
use super::filter_reader::{FilterSource, TableFilter};
use super::filter_use::{FilterHabit, FilterUse, MissCosts, Sample};
use super::index::{IndexCursor, IndexPieces, IndexSource};
use super::index_place::IndexPlace;
use super::known_floors::KnownFloors;
use super::lazy::Lazy;
use super::metaindex::{self, Metaindex};
use super::pin::{Pin, ask_slot};
use super::readahead::Readahead;
use super::{
    BlockHandle, BlockRole, Footer, FoundEntry, LookupKey, PinnedBytes, RangeTombstones,
    ReadContext, TableIter, TableProperties,
};
use crate::cache::{BlockMap, Cache, Entry, Held, Reservation, Role};
use crate::error::{Error, Result};
use crate::key::{InternalKey, KeyOrder, SeqNo, ValueType};

/// An open table.
///
/// It is shared by [`Arc`], and any number of threads may read at once. Blocks and pieces of index and filter are in the
/// cache that it was opened with, as long as that has room; they leave it when the reader is dropped.
#[derive(Debug)]
pub struct TableReader {
    pub(super) fetcher: BlockFetcher,
    pub(super) footer: Footer,
    pub(super) metaindex: Metaindex,
    pub(super) properties: TableProperties,
    pub(super) order: KeyOrder,
    pub(super) index_place: IndexPlace,
    pub(super) two_level_index: bool,
    pub(super) index_format: IndexFormat,
    pub(super) budget: TableBudget,
    pub(super) index: Lazy<IndexPieces>,
    pub(super) filter: TableFilter,
    pub(super) filter_use: FilterUse,
    pub(super) filter_habit: FilterHabit,
    pub(super) data_blocks: BlockMap<DataBlock>,
    pub(super) known_floors: KnownFloors,
    /// No entry is newer; `None` if that is not known.
    pub(super) largest_seqno: Option<SeqNo>,
    /// What entries with sequence number 0 have instead.
    pub(super) global_seqno: Option<SeqNo>,
    /// Looked up once: each lookup of a database asks.
    pub(super) has_range_tombstones: bool,
    pub(super) range_tombstones: Lazy<(Arc<RangeTombstones>, Reservation)>,
    /// What the reader takes itself.
    pub(super) charge: Reservation,
}

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
        let pin = &mut Pin::default();
        if !self.filter.is_usable() {
            return self.get_unfiltered(key, pin, ctx);
        }
        if ctx.is_sample() {
            return self.get_and_note(key, pin, ctx);
        }
        self.get_filtered(key, pin, ctx)
    }

    fn get_filtered(
        &self,
        key: &LookupKey<'_>,
        pin: &mut Pin,
        ctx: &mut ReadContext,
    ) -> Result<Option<FoundEntry>> {
        if !self.filter_habit.asks(self.filter_use) {
            ctx.filters_skipped += 1;
            return self.get_unfiltered(key, pin, ctx);
        }
        if !self.filter.may_contain(self.filter_source(), key, pin, ctx)? {
            return Ok(None);
        }
        let found = self.get_unfiltered(key, pin, ctx)?;
        ctx.filters_true_positive += u64::from(found.is_some());
        Ok(found)
    }

    /// A lookup of which [`FilterHabit`] learns.
    fn get_and_note(
        &self,
        key: &LookupKey<'_>,
        pin: &mut Pin,
        ctx: &mut ReadContext,
    ) -> Result<Option<FoundEntry>> {
        let filter_role = self.filter.piece_role();
        let seen = |ctx: &ReadContext, role| (ctx.cache_hits[role], ctx.cache_misses[role]);
        let (filter, data) = (seen(ctx, filter_role), seen(ctx, BlockRole::Data));
        let found = self.get_filtered(key, pin, ctx)?;
        let missed = |role, (hits, misses)| {
            let (hits_now, misses_now) = seen(ctx, role);
            (hits_now + misses_now > hits + misses).then_some(misses_now > misses)
        };
        let sample = Sample {
            absent: found.is_none(),
            filter: missed(filter_role, filter),
            data: missed(BlockRole::Data, data),
        };
        let costs = MissCosts {
            filter_piece: TableBudget::plain_cost(4096),
            data_block: self.budget.data_cost(self.mean_data_block_len()),
        };
        self.filter_habit.note(sample, costs);
        Ok(found)
    }

    /// Stored bytes of a data block, as far as the properties tell.
    fn mean_data_block_len(&self) -> u64 {
        let blocks = self.properties.num_data_blocks.filter(|blocks| *blocks > 0);
        let mean = blocks.and_then(|blocks| Some(self.properties.data_size? / blocks));
        mean.unwrap_or(4096)
    }

    fn get_unfiltered(
        &self,
        key: &LookupKey<'_>,
        pin: &mut Pin,
        ctx: &mut ReadContext,
    ) -> Result<Option<FoundEntry>> {
        let Some(target) = self.stored_target(key) else { return Ok(None) };
        match self.find_in_index(target.user_key, target.packed(), pin, ctx)? {
            InIndex::Absent => Ok(None),
            InIndex::PastEnd => self.get_by_walking(key, target, pin, ctx),
            InIndex::Block { handle, ends_in_key } => {
                match self.find_in_block(handle, target, pin, ctx)? {
                    Searched::Entry(entry) => Ok(Some(entry)),
                    // The next block starts behind the separator. So it may hold entries of this key only if the
                    // separator is one.
                    Searched::PastEnd if ends_in_key => self.get_by_walking(key, target, pin, ctx),
                    Searched::Absent | Searched::PastEnd => Ok(None),
                }
            }
        }
    }

    /// Which block may hold the first entry that is not before (`user_key`, `packed`).
    pub(super) fn find_in_index(
        &self,
        user_key: &[u8],
        packed: u64,
        pin: &mut Pin,
        ctx: &mut ReadContext,
    ) -> Result<InIndex> {
        let index = self.index_pinned(pin, ctx)?;
        let at = index.partitions().locate(&self.order, user_key, packed);
        if at >= index.partitions().len() {
            return Ok(InIndex::Absent);
        }
        let source = self.index_source();
        let slots = index.partitions().slots();
        let load = |ctx: &mut ReadContext| match index.get(at, source, ctx)? {
            Some(piece) => Ok(piece),
            None => Err(Error::corruption("no such piece of the index")), // not reached: it is below the number of pieces
        };
        let found = ask_slot(slots, at, source.piece_role(), pin, ctx, load, |piece| {
            self.find_in_piece(piece, user_key, packed)
        })?;
        match found.map_err(|error| self.place_index(error, at))? {
            InIndex::PastEnd if at + 1 == index.partitions().len() => Ok(InIndex::Absent),
            found => Ok(found),
        }
    }

    fn find_in_piece(&self, piece: &IndexBlock, user_key: &[u8], packed: u64) -> Result<InIndex> {
        let found = piece.find(&self.order, user_key, packed)?;
        Ok(match found {
            None => InIndex::PastEnd,
            Some((value, _)) if self.starts_behind(piece, &value, user_key) => InIndex::Absent,
            Some((value, ends_in_key)) => InIndex::Block { handle: value.handle, ends_in_key },
        })
    }

    /// The same by a walk over the index, for keys whose entries go over a block's end.
    #[cold]
    pub(super) fn get_by_walking(
        &self,
        key: &LookupKey<'_>,
        target: InternalKey<'_>,
        pin: &mut Pin,
        ctx: &mut ReadContext,
    ) -> Result<Option<FoundEntry>> {
        debug_assert_eq!(key.user_key(), target.user_key);
        // The cursor holds what it stands on, and may read.
        pin.leave();
        let mut cursor = IndexCursor::default();
        cursor.seek(self, target.user_key, target.packed(), ctx)?;
        while let Some(value) = cursor.entry() {
            match self.find_in_block(value.handle, target, pin, ctx)? {
                Searched::Entry(entry) => return Ok(Some(entry)),
                Searched::Absent => return Ok(None),
                Searched::PastEnd => {
                    pin.leave();
                    cursor.next(self, ctx)?;
                }
            }
        }
        Ok(None)
    }

    fn find_in_block(
        &self,
        handle: BlockHandle,
        target: InternalKey<'_>,
        pin: &mut Pin,
        ctx: &mut ReadContext,
    ) -> Result<Searched> {
        self.ask_block(handle, pin, ctx, |block| self.search(block, target))
    }

    /// Asks a data block: in its place if it is cached, else as it is read.
    pub(super) fn ask_block<R>(
        &self,
        handle: BlockHandle,
        pin: &mut Pin,
        ctx: &mut ReadContext,
        ask: impl FnOnce(&Entry<DataBlock>) -> Result<R>,
    ) -> Result<R> {
        let answer = match self.data_blocks.get(handle.offset, pin.guard()) {
            Some(block) => {
                ctx.cache_hits[BlockRole::Data] += 1;
                touch(block).and_then(|()| ask(block))
            }
            None => {
                ctx.may_read()
                    .map_err(|error| self.fetcher.place(error, handle, BlockRole::Data))?;
                pin.leave();
                ctx.cache_misses[BlockRole::Data] += 1;
                let block = self.data_block(handle, ctx)?;
                touch(block.entry()).and_then(|()| ask(block.entry()))
            }
        };
        answer.map_err(|error| self.fetcher.place(error, handle, BlockRole::Data))
    }

    /// Looks for a key in a data block.
    pub(super) fn search(
        &self,
        block: &Entry<DataBlock>,
        target: InternalKey<'_>,
    ) -> Result<Searched> {
        Ok(match block.find(&self.order, target.user_key, target.packed())? {
            Found::Absent => Searched::Absent,
            Found::PastEnd => Searched::PastEnd,
            Found::Entry { packed, value } => {
                Searched::Entry(self.found_entry(block, packed, value)?)
            }
        })
    }

    /// What a search in a data block found.
    pub(super) fn found_entry(
        &self,
        block: &Entry<DataBlock>,
        packed: u64,
        value: Range<usize>,
    ) -> Result<FoundEntry> {
        let Some(value_type) = ValueType::from_code(packed as u8) else {
            let code = packed as u8;
            return Err(Error::corruption(format!("entry of type {code:#04x}")));
        };
        let seqno = self.effective_seqno(SeqNo::from_packed(packed));
        Ok(FoundEntry { seqno, value_type, value: PinnedBytes::new(block, value) })
    }

    /// What to look for in the file, whose entries may all stand for one global sequence number.
    ///
    /// * Returns `None` if nothing in the file is visible.
    pub(super) fn stored_target<'k>(&self, key: &LookupKey<'k>) -> Option<InternalKey<'k>> {
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
    fn starts_behind(&self, index: &IndexBlock, value: &IndexValue, user_key: &[u8]) -> bool {
        let Some(first) = index.first_key(value) else { return false };
        match InternalKey::decode(first) {
            Ok(first) => self.order.compare(first.user_key, user_key).is_gt(),
            Err(_) => false,
        }
    }

    /// Asks for the memory that the filter's answer for a key needs, without waiting for it.
    ///
    /// It does nothing if that part of the filter is not cached: nothing is read.
    #[inline]
    pub fn prefetch_filter(&self, key: &LookupKey<'_>) {
        if self.asks_filter() {
            self.filter.prefetch(&self.order, key);
        }
    }

    /// Whether lookups ask the filter.
    #[inline]
    pub(super) fn asks_filter(&self) -> bool {
        self.filter.is_usable() && self.filter_habit.asks(self.filter_use)
    }

    /// Whether the table may hold entries of the key, as far as the filter knows. It is asked, whatever
    /// [`ReaderOptions::filter_use`](super::ReaderOptions) says.
    pub fn may_contain(&self, key: &LookupKey<'_>, ctx: &mut ReadContext) -> Result<bool> {
        self.filter.may_contain(self.filter_source(), key, &mut Pin::default(), ctx)
    }

    /// Whether the table may hold a key at or behind `user_key` with the same prefix, as far as the filter knows.
    ///
    /// True if the key has no prefix, or if the table's filter has none of the prefixes that we can compute.
    pub fn prefix_may_match(&self, user_key: &[u8], ctx: &mut ReadContext) -> Result<bool> {
        let target = InternalKey::for_seek(user_key, SeqNo::MAX);
        self.filter.prefix_may_match(self.filter_source(), target, ctx)
    }

    /// Whether the table may hold a key of a range, as far as the filter knows.
    ///
    /// * False only if it certainly holds none. The filter knows of ranges whose keys all have one prefix, as its
    ///   extractor takes the first bytes of keys: the range must start at a key, and end at one that has the same prefix
    ///   or is the first behind it. Of other ranges, and in a caller's order, it rules nothing out.
    pub fn range_may_match(
        &self,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        ctx: &mut ReadContext,
    ) -> Result<bool> {
        self.filter.range_may_match(self.filter_source(), range, ctx)
    }

    /// All entries of a user key that are visible at the lookup's sequence number, newest first, after the filter was
    /// asked if that pays.
    pub fn versions(
        self: &Arc<Self>,
        key: &LookupKey<'_>,
        ctx: &mut ReadContext,
    ) -> Result<Versions> {
        let mut iter = self.iter_in(ctx);
        if !self.filter_habit.asks(self.filter_use) || self.may_contain(key, ctx)? {
            iter.seek_internal(key.seek_key())?;
        }
        Ok(Versions { iter, user_key: key.user_key().to_vec() })
    }

    /// An iterator over all point entries. It stands nowhere until it is told where to go.
    pub fn iter(self: &Arc<Self>) -> TableIter {
        self.iter_in(&ReadContext::default())
    }

    /// The same under the limits of `ctx`; what it costs is counted in a context of its own.
    pub fn iter_in(self: &Arc<Self>, ctx: &ReadContext) -> TableIter {
        TableIter::new(Arc::clone(self), ctx.fork())
    }

    /// Whether the table has range tombstones; known without reading them.
    #[inline]
    pub fn has_range_tombstones(&self) -> bool {
        self.has_range_tombstones
    }

    /// The table's range tombstones; read at the first call and kept.
    pub fn range_tombstones(&self, ctx: &mut ReadContext) -> Result<&Arc<RangeTombstones>> {
        let read = || {
            let tombstones = match self.metaindex.get(metaindex::RANGE_DELETIONS) {
                None => Arc::default(),
                Some(handle) => {
                    let parse = |contents| {
                        let block = DataBlock::parse_data(contents, &self.order)?;
                        RangeTombstones::parse(&block, &self.order, self.global_seqno).map(Arc::new)
                    };
                    self.fetcher.fetch_parsed(handle, BlockRole::RangeDeletions, ctx, parse)?
                }
            };
            let bytes = tombstones.memory_bytes();
            Ok((tombstones, self.budget.metadata_cache.reserve(Role::RangeTombstones, bytes)))
        };
        self.range_tombstones.get_or_load(read).map(|(tombstones, _)| tombstones)
    }

    /// The same for who has nothing to do where there are none.
    #[inline]
    pub(crate) fn range_tombstones_if_any(
        &self,
        ctx: &mut ReadContext,
    ) -> Result<Option<&Arc<RangeTombstones>>> {
        if self.has_range_tombstones { self.range_tombstones(ctx).map(Some) } else { Ok(None) }
    }

    /// The offset in the file at which an entry of `user_key` would be, to about one data block.
    ///
    /// Offsets ascend with keys; behind the last key it is where the data blocks end.
    pub fn approximate_offset_of(&self, user_key: &[u8], ctx: &mut ReadContext) -> Result<u64> {
        let target = InternalKey::for_seek(user_key, SeqNo::MAX);
        let mut cursor = IndexCursor::default();
        cursor.seek(self, target.user_key, target.packed(), ctx)?;
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
        self.filter.is_usable() && self.filter.whole_keys
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

    /// Bytes that the open table takes for itself; its pieces and blocks are in the cache.
    pub fn handle_bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// The cache that the table's data blocks are in.
    pub fn cache(&self) -> &Cache {
        &self.budget.cache
    }

    /// A data block: from the cache, or read, verified, decompressed and parsed.
    pub(super) fn data_block(
        &self,
        handle: BlockHandle,
        ctx: &mut ReadContext,
    ) -> Result<Held<DataBlock>> {
        let (how, cost) = (self.budget.data_admission(ctx), self.budget.data_cost(handle.size));
        self.data_blocks.get_or_load(handle.offset, how, cost, || {
            let parse = |contents| DataBlock::parse_data(contents, &self.order);
            self.fetcher.fetch_parsed(handle, BlockRole::Data, ctx, parse)
        })
    }

    /// A data block that a walk comes to; if it must be read, those beside it may be read with it.
    pub(super) fn data_block_ahead(
        &self,
        handle: BlockHandle,
        ahead: &mut Readahead,
        ctx: &mut ReadContext,
    ) -> Result<Held<DataBlock>> {
        let (how, cost) = (self.budget.data_admission(ctx), self.budget.data_cost(handle.size));
        self.data_blocks.get_or_load(handle.offset, how, cost, || {
            let contents = self.fetcher.fetch_ahead(handle, BlockRole::Data, ahead, ctx)?;
            DataBlock::parse_data(contents, &self.order)
                .map_err(|error| self.fetcher.place(error, handle, BlockRole::Data))
        })
    }

    /// Whether a data block is cached.
    pub(super) fn has_block(&self, handle: BlockHandle) -> bool {
        self.data_blocks.is_cached(handle.offset)
    }

    /// The index's pieces, found at the first use.
    pub(super) fn index(&self, ctx: &mut ReadContext) -> Result<&IndexPieces> {
        self.index_pinned(&mut Pin::default(), ctx)
    }

    #[inline]
    fn index_pinned(&self, pin: &mut Pin, ctx: &mut ReadContext) -> Result<&IndexPieces> {
        self.index.get_or_load(|| {
            pin.leave();
            match IndexPieces::read(self.index_source(), ctx) {
                Err(error)
                    if error.is_corruption() && self.index_place.look_again(&self.fetcher) =>
                {
                    IndexPieces::read(self.index_source(), ctx)
                }
                read => read,
            }
        })
    }

    pub(super) fn index_source(&self) -> IndexSource<'_> {
        IndexSource {
            fetcher: &self.fetcher,
            budget: &self.budget,
            order: &self.order,
            format: self.index_format,
            block: self.index_place.handle(),
            two_level: self.two_level_index,
        }
    }

    pub(super) fn filter_source(&self) -> FilterSource<'_> {
        FilterSource {
            fetcher: &self.fetcher,
            budget: &self.budget,
            order: &self.order,
            // Filter partitions are found through an index whose entries never hold first keys.
            format: IndexFormat { first_keys: false, ..self.index_format },
        }
    }

    /// Piece `at` of the index; `None` behind the last one.
    pub(super) fn index_piece(
        &self,
        at: usize,
        ctx: &mut ReadContext,
    ) -> Result<Option<Held<IndexBlock>>> {
        self.index(ctx)?.get(at, self.index_source(), ctx)
    }

    /// Names the place of an error in piece `at` of the index.
    #[cold]
    pub(super) fn place_index(&self, error: Error, at: usize) -> Error {
        let block = self.index.get().and_then(|index| index.block_of(at)).unwrap_or_default();
        self.fetcher.place(error, block, self.index_source().piece_role())
    }
}

/// Notes that a block is about to be searched, and charges what it builds at the second search.
#[inline]
pub(super) fn touch(block: &Entry<DataBlock>) -> Result<()> {
    let built = block.touch()?;
    if built > 0 {
        block.grow(built);
    }
    Ok(())
}

/// What the index says about a key.
pub(super) enum InIndex {
    /// No block holds it: the one that it would be in starts behind it, or it is behind all separators.
    Absent,
    /// All separators of the piece that should know are before it: the next piece may know.
    PastEnd,
    /// It may be in this block.
    Block { handle: BlockHandle, ends_in_key: bool },
}

pub(super) enum Searched {
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
