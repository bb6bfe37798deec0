//! A table's filter: which piece of it to ask, and what may be asked.
//!
//! ```text
//! full filter:         one piece for all keys; a large one in chunks of 4 KiB, one of which knows the key
//! partitioned filter:  an index block that leads from a key to the piece that knows it; its separators are not those of
//!                      the index, so only its own are looked at
//! ```
//!
//! A whole key may be asked for if the properties say that whole keys were added, a prefix if prefixes were added by an
//! extractor that we have. A filter that is missing, unknown or damaged rules nothing out; which it is, is told by
//! [`TableReader::filter_status`](super::TableReader::filter_status) and by `partita sst verify`.

use std::ops::Bound;
use std::sync::OnceLock;

use super::block::IndexFormat;
use super::budget::TableBudget;
use super::fetch::BlockFetcher;
use super::filter_chunks::{Chunk, FilterChunks};
use super::index::Partitions;
use super::lazy::Lazy;
use super::pin::{Pin, ask_slot};
use super::{BlockHandle, BlockRole, FilterStatus, LookupKey, ReadContext};
use crate::cache::{CacheObject, Held, Role, epoch};
use crate::error::{Error, ErrorKind, Result};
use crate::filter::{ChunkProbe, Filter, KeyHash};
use crate::key::{InternalKey, KeyOrder, PrefixExtractor, SeqNo};

/// What is done about a damaged filter, or a damaged piece of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterDamage {
    /// What is damaged rules nothing out, [`TableReader::filter_status`](super::TableReader::filter_status) tells of
    /// it, and the keys are looked for in the data.
    #[default]
    RuleNothingOut,
    /// Whoever asks gets the error.
    Error,
}

/// A filter that is one piece; `None` if it was damaged when it was read.
pub(super) type WholeFilter = Option<Filter>;

impl CacheObject for WholeFilter {
    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, Filter::heap_bytes)
    }
}

/// The pieces of a filter.
#[derive(Debug)]
pub(super) enum FilterPieces {
    /// Each is a filter of its own: partitions, or one filter that is not cut.
    Filters(Partitions<WholeFilter>),
    /// Parts of one filter.
    Chunks(FilterChunks),
    /// They cannot be found, or the filter as a whole is damaged.
    Damaged,
}

/// A table's filter.
#[derive(Debug)]
pub(super) struct TableFilter {
    pub(super) status: FilterStatus,
    /// The filter of [`FilterStatus::Full`], the top level of [`FilterStatus::Partitioned`]. `None` if there is no filter
    /// that we can use.
    pub(super) handle: Option<BlockHandle>,
    pub(super) pieces: Lazy<FilterPieces>,
    /// Whether whole keys were added.
    pub(super) whole_keys: bool,
    /// How the prefixes that were added are taken out of keys; `None` if there are none or we do not know.
    pub(super) prefixes: Option<PrefixExtractor>,
    pub(super) on_damage: FilterDamage,
    /// The first damage that a read came upon.
    pub(super) damage: OnceLock<String>,
}

/// What it takes to read a table's filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct FilterSource<'t> {
    pub(super) fetcher: &'t BlockFetcher,
    pub(super) budget: &'t TableBudget,
    pub(super) order: &'t KeyOrder,
    /// Of the top level.
    pub(super) format: IndexFormat,
}

impl TableFilter {
    /// Whether there is anything to ask.
    #[inline]
    pub(super) fn is_usable(&self) -> bool {
        self.handle.is_some()
    }

    /// The role of the filter's pieces.
    pub(super) fn piece_role(&self) -> BlockRole {
        match self.status {
            FilterStatus::Partitioned => BlockRole::FilterPartition,
            _ => BlockRole::Filter,
        }
    }

    /// Where the partitions of a partitioned filter are. None if its top level is damaged.
    pub(super) fn partitions(
        &self,
        source: FilterSource<'_>,
        ctx: &mut ReadContext,
    ) -> Result<&[BlockHandle]> {
        if self.status != FilterStatus::Partitioned {
            return Ok(&[]);
        }
        Ok(match self.pieces(source, &mut Pin::default(), ctx)? {
            Some(FilterPieces::Filters(partitions)) => partitions.handles(),
            _ => &[],
        })
    }

    /// Whether the table may hold an entry of the key.
    pub(super) fn may_contain(
        &self,
        source: FilterSource<'_>,
        key: &LookupKey<'_>,
        pin: &mut Pin,
        ctx: &mut ReadContext,
    ) -> Result<bool> {
        let prefix_hash;
        let hash = if self.whole_keys {
            key.hash()
        } else {
            match self.prefixes.as_ref().and_then(|prefixes| prefixes.prefix(key.user_key())) {
                Some(prefix) => {
                    prefix_hash = KeyHash::new(prefix);
                    &prefix_hash
                }
                None => return Ok(true),
            }
        };
        self.ask_for_key(source, key, hash, pin, ctx).or_else(unless_known)
    }

    fn ask_for_key(
        &self,
        source: FilterSource<'_>,
        key: &LookupKey<'_>,
        hash: &KeyHash<'_>,
        pin: &mut Pin,
        ctx: &mut ReadContext,
    ) -> Result<bool> {
        match self.pieces(source, pin, ctx)? {
            None => Ok(true),
            Some(FilterPieces::Filters(filters)) => {
                let at = first_piece(filters, source.order, key.seek_key());
                self.ask_filter(filters, at, hash, source, pin, ctx)
            }
            Some(FilterPieces::Chunks(chunks)) => self.ask_chunk(chunks, hash, source, pin, ctx),
            Some(FilterPieces::Damaged) => Ok(unreadable(ctx)),
        }
    }

    /// Asks for the memory that the answer for a whole key needs, if it is known without a read where that is.
    #[inline]
    pub(super) fn prefetch(&self, order: &KeyOrder, key: &LookupKey<'_>) {
        let Some(pieces) = self.pieces.get().filter(|_| self.whole_keys) else { return };
        let guard = epoch::pin();
        match pieces {
            FilterPieces::Filters(filters) => {
                let at = first_piece(filters, order, key.seek_key());
                if let Some(entry) = filters.slots().peek(at, &guard)
                    && let Some(filter) = entry.as_ref()
                {
                    filter.prefetch(key.hash());
                }
            }
            FilterPieces::Chunks(chunks) => {
                if let ChunkProbe::Chunk { number, within } = chunks.layout().probe(key.hash())
                    && let Some(entry) = chunks.slots().peek(number, &guard)
                    && let Some(chunk) = entry.as_ref()
                {
                    chunk.prefetch(within);
                }
            }
            FilterPieces::Damaged => {}
        }
    }

    /// Whether the table may hold a key that is not before `target` and has the same prefix.
    ///
    /// The keys of a prefix may go over several partitions. The first one to ask is that of `target`; as long as its
    /// separator has the prefix too, the next one may hold more of its keys. (RocksDB asks the first one only, and its
    /// writers put a prefix into both partitions at a border; writers before that was done left it out.)
    pub(super) fn prefix_may_match(
        &self,
        source: FilterSource<'_>,
        target: InternalKey<'_>,
        ctx: &mut ReadContext,
    ) -> Result<bool> {
        let Some(prefixes) = &self.prefixes else { return Ok(true) };
        let Some(prefix) = prefixes.prefix(target.user_key) else { return Ok(true) };
        self.ask_for_prefix(source, prefixes, prefix, target, ctx).or_else(unless_known)
    }

    /// Whether the table may hold a key of a range, as far as the filter knows.
    ///
    /// It knows nothing unless all keys of the range have one prefix, and the order is one in which keys between two
    /// that have a prefix have it, too. Then the keys asked for are those from the range's start on.
    pub(super) fn range_may_match(
        &self,
        source: FilterSource<'_>,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        ctx: &mut ReadContext,
    ) -> Result<bool> {
        let Some(prefixes) = &self.prefixes else { return Ok(true) };
        let Some((prefix, start)) = common_prefix(source.order, prefixes, range) else {
            return Ok(true);
        };
        let target = InternalKey::for_seek(start, SeqNo::MAX);
        let asked = self.ask_for_prefix(source, prefixes, prefix, target, ctx);
        let may_match = asked.or_else(unless_known)?;
        ctx.range_filters_checked += 1;
        ctx.range_filters_ruled_out += u64::from(!may_match);
        Ok(may_match)
    }

    fn ask_for_prefix(
        &self,
        source: FilterSource<'_>,
        prefixes: &PrefixExtractor,
        prefix: &[u8],
        target: InternalKey<'_>,
        ctx: &mut ReadContext,
    ) -> Result<bool> {
        let hash = KeyHash::new(prefix);
        let pin = &mut Pin::default();
        let filters = match self.pieces(source, pin, ctx)? {
            None => return Ok(true),
            Some(FilterPieces::Filters(filters)) => filters,
            Some(FilterPieces::Chunks(chunks)) => {
                return self.ask_chunk(chunks, &hash, source, pin, ctx);
            }
            Some(FilterPieces::Damaged) => return Ok(unreadable(ctx)),
        };
        let mut at = first_piece(filters, source.order, target);
        loop {
            if self.ask_filter(filters, at, &hash, source, pin, ctx)? {
                return Ok(true);
            }
            let goes_on = prefixes.prefix(filters.separator(at)) == Some(prefix);
            at += 1;
            if !goes_on || at >= filters.len() {
                return Ok(false);
            }
        }
    }

    /// The pieces, found at their first use; `None` if there is nothing to ask.
    #[inline]
    pub(super) fn pieces(
        &self,
        source: FilterSource<'_>,
        pin: &mut Pin,
        ctx: &mut ReadContext,
    ) -> Result<Option<&FilterPieces>> {
        let Some(handle) = self.handle else { return Ok(None) };
        self.pieces
            .get_or_load(|| {
                ctx.may_read()?;
                pin.leave();
                self.find_pieces(handle, source, ctx)
            })
            .map(Some)
    }

    fn find_pieces(
        &self,
        handle: BlockHandle,
        source: FilterSource<'_>,
        ctx: &mut ReadContext,
    ) -> Result<FilterPieces> {
        let FilterSource { fetcher, budget, order, format } = source;
        let role = Role::FilterPiece;
        let found = if self.status == FilterStatus::Partitioned {
            let parse = |contents: Vec<u8>| {
                Partitions::parse(&contents, format, order, budget, role).map(FilterPieces::Filters)
            };
            fetcher.fetch_parsed(handle, BlockRole::FilterTopLevel, ctx, parse)
        } else {
            FilterChunks::read(handle, source, ctx).map(|chunks| match chunks {
                Some(chunks) => FilterPieces::Chunks(chunks),
                None => FilterPieces::Filters(Partitions::single(handle, budget, role)),
            })
        };
        Ok(self.unless_damaged(found)?.unwrap_or(FilterPieces::Damaged))
    }

    /// Asks the filter that is piece `at`.
    fn ask_filter(
        &self,
        filters: &Partitions<WholeFilter>,
        at: usize,
        hash: &KeyHash<'_>,
        source: FilterSource<'_>,
        pin: &mut Pin,
        ctx: &mut ReadContext,
    ) -> Result<bool> {
        // A partitioned filter without partitions rules nothing out.
        if at >= filters.len() {
            return Ok(true);
        }
        let role = self.piece_role();
        let load = |ctx: &mut ReadContext| self.load_filter(filters, at, source, ctx);
        let answer = ask_slot(filters.slots(), at, role, pin, ctx, load, |filter| {
            filter.as_ref().map(|filter| filter.may_contain(hash))
        })?;
        Ok(counted(answer, ctx))
    }

    /// The filter that is piece `at`, from the cache or the file.
    pub(super) fn load_filter(
        &self,
        filters: &Partitions<WholeFilter>,
        at: usize,
        source: FilterSource<'_>,
        ctx: &mut ReadContext,
    ) -> Result<Held<WholeFilter>> {
        let handle = filters.handle(at).unwrap_or_default();
        let (how, cost) = (source.budget.admission(ctx), TableBudget::plain_cost(handle.size));
        filters.slots().get_or_load(at, how, cost, || {
            let parse = |contents: Vec<u8>| Ok(Filter::parse(&contents));
            let read = source.fetcher.fetch_parsed(handle, self.piece_role(), ctx, parse);
            self.unless_damaged(read)
        })
    }

    /// Asks the chunk that knows the key.
    fn ask_chunk(
        &self,
        chunks: &FilterChunks,
        hash: &KeyHash<'_>,
        source: FilterSource<'_>,
        pin: &mut Pin,
        ctx: &mut ReadContext,
    ) -> Result<bool> {
        let (number, within) = match chunks.layout().probe(hash) {
            ChunkProbe::Known(answer) => return Ok(counted(Some(answer), ctx)),
            ChunkProbe::Chunk { number, within } => (number, within),
        };
        let load = |ctx: &mut ReadContext| self.load_chunk(chunks, number, source, ctx);
        let role = BlockRole::Filter;
        let answer = ask_slot(chunks.slots(), number, role, pin, ctx, load, |chunk| {
            chunk.as_ref().map(|chunk| chunks.layout().may_contain(hash, chunk, within))
        })?;
        Ok(counted(answer, ctx))
    }

    /// Chunk `number`, from the cache or the file.
    pub(super) fn load_chunk(
        &self,
        chunks: &FilterChunks,
        number: usize,
        source: FilterSource<'_>,
        ctx: &mut ReadContext,
    ) -> Result<Held<Chunk>> {
        let (how, cost) = (source.budget.admission(ctx), chunks.cost(number));
        chunks.slots().get_or_load(number, how, cost, || {
            self.unless_damaged(chunks.fetch(number, source, ctx))
        })
    }

    /// What was read; `None`, after a note, if it is damaged and that is to be lived with.
    fn unless_damaged<T>(&self, read: Result<T>) -> Result<Option<T>> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) if self.on_damage == FilterDamage::RuleNothingOut && is_damage(&error) => {
                self.damage.get_or_init(|| error.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// The prefix that all keys of a range have, and the range's start.
///
/// It is known of extractors that take the first bytes, where the range starts at a key, and ends at one with the same
/// prefix or right in front of the next prefix.
fn common_prefix<'k>(
    order: &KeyOrder,
    prefixes: &PrefixExtractor,
    (from, to): (Bound<&'k [u8]>, Bound<&'k [u8]>),
) -> Option<(&'k [u8], &'k [u8])> {
    let (PrefixExtractor::Fixed(len) | PrefixExtractor::Capped(len)) = prefixes else {
        return None;
    };
    let (Bound::Included(start) | Bound::Excluded(start)) = from else { return None };
    // Shorter keys have no prefix of this length, nor have all keys behind them.
    let prefix = start.get(..*len);
    let ends_in = |prefix: &[u8]| match to {
        Bound::Included(end) => end.starts_with(prefix),
        Bound::Excluded(end) => end.starts_with(prefix) || is_successor(prefix, end),
        // Nothing is behind it.
        Bound::Unbounded => prefix.iter().all(|byte| *byte == 0xff),
    };
    match order {
        KeyOrder::Bytewise => prefix.filter(|prefix| ends_in(prefix)).map(|prefix| (prefix, start)),
        // Here the next prefix comes first.
        KeyOrder::ReverseBytewise => {
            let (Bound::Included(end) | Bound::Excluded(end)) = to else { return None };
            let prefix = end.get(..*len)?;
            let starts_in = start.starts_with(prefix)
                || matches!(from, Bound::Excluded(start) if is_successor(prefix, start));
            starts_in.then_some((prefix, start))
        }
        KeyOrder::Custom(_) => None,
    }
}

/// Whether `key` is the smallest that is greater than all keys with this prefix.
fn is_successor(prefix: &[u8], key: &[u8]) -> bool {
    let Some(last) = prefix.iter().rposition(|byte| *byte != 0xff) else { return false };
    let Some((key_last, key_front)) = key.split_last() else { return false };
    key_front == &prefix[..last] && *key_last == prefix[last] + 1
}

/// Rules nothing out by a filter that is not in memory, if nothing is to be read.
#[cold]
fn unless_known(error: Error) -> Result<bool> {
    if error.kind() == ErrorKind::Incomplete { Ok(true) } else { Err(error) }
}

/// The answer of a piece; `None` is that of a damaged one.
#[inline]
fn counted(answer: Option<bool>, ctx: &mut ReadContext) -> bool {
    let Some(may) = answer else { return unreadable(ctx) };
    ctx.filters_checked += 1;
    ctx.filters_ruled_out += u64::from(!may);
    may
}

#[cold]
fn unreadable(ctx: &mut ReadContext) -> bool {
    ctx.filters_unreadable += 1;
    true
}

/// The piece that knows the key: the first whose separator is not before it, or else the last, which may still know
/// the key's prefix.
fn first_piece(pieces: &Partitions<WholeFilter>, order: &KeyOrder, key: InternalKey<'_>) -> usize {
    let at = pieces.locate(order, key.user_key, key.packed());
    at.min(pieces.len().saturating_sub(1))
}

/// Whether the bytes are at fault, not the moment.
fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotSupported)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cache::Cache;
    use crate::filter::{FilterBuilder, FilterLevel, FilterPolicy};
    use crate::io::{MemoryFile, RandomAccessFile};
    use crate::key::SeqNo;
    use crate::table::{BlockChecksum, Footer};
    use crate::util::checksum::ChecksumType;

    const FORMAT: IndexFormat =
        IndexFormat { user_keys: true, delta_values: false, first_keys: false };

    fn filter_of(prefix: &[u8]) -> Vec<u8> {
        let policy = FilterPolicy::Bloom { bits_per_key: 20.0 };
        let mut builder = FilterBuilder::new(&policy, 5, FilterLevel::Unknown).unwrap();
        builder.add_key(prefix);
        builder.finish()
    }

    /// A file of filter partitions with these separators, and then their top level.
    struct File {
        bytes: Vec<u8>,
        top_level: BlockHandle,
    }

    impl File {
        fn new(partitions: &[(&[u8], Vec<u8>)]) -> Self {
            let (mut bytes, mut block, mut restarts) = (Vec::new(), Vec::new(), Vec::new());
            for (separator, filter) in partitions {
                let handle = Self::append(&mut bytes, filter);
                let mut value = Vec::new();
                handle.encode_to(&mut value);
                restarts.extend_from_slice(&(block.len() as u32).to_le_bytes());
                block.extend_from_slice(&[0, separator.len() as u8, value.len() as u8]);
                block.extend_from_slice(separator);
                block.extend_from_slice(&value);
            }
            block.extend_from_slice(&restarts);
            block.extend_from_slice(&(partitions.len() as u32).to_le_bytes());
            let top_level = Self::append(&mut bytes, &block);
            Self { bytes, top_level }
        }

        fn append(bytes: &mut Vec<u8>, block: &[u8]) -> BlockHandle {
            let handle = BlockHandle { offset: bytes.len() as u64, size: block.len() as u64 };
            bytes.extend_from_slice(block);
            let checksum = BlockChecksum { checksum: ChecksumType::Crc32c, base_context: 0 };
            bytes.extend_from_slice(&checksum.trailer(handle.offset, block, 0));
            handle
        }

        fn filter(&self, on_damage: FilterDamage) -> TableFilter {
            TableFilter {
                status: FilterStatus::Partitioned,
                handle: Some(self.top_level),
                pieces: Lazy::default(),
                whole_keys: false,
                prefixes: Some(PrefixExtractor::Fixed(2)),
                on_damage,
                damage: OnceLock::new(),
            }
        }

        fn reader(&self) -> Reader {
            Reader::new(Arc::new(MemoryFile::new("x.sst", self.bytes.clone())))
        }
    }

    /// A file to be read, with a budget.
    struct Reader(BlockFetcher, TableBudget);

    impl Reader {
        fn new(file: Arc<dyn RandomAccessFile>) -> Self {
            let footer = Footer {
                format_version: 5,
                checksum: BlockChecksum { checksum: ChecksumType::Crc32c, base_context: 0 },
                metaindex: BlockHandle::NULL,
                index: None,
            };
            let budget = {
                let cache = Cache::new(1 << 20);
                TableBudget::new(cache.clone(), cache, None, true, None)
            };
            Self(BlockFetcher::new(file, &footer, true), budget)
        }

        fn source(&self) -> FilterSource<'_> {
            let Self(fetcher, budget) = self;
            FilterSource { fetcher, budget, order: &KeyOrder::Bytewise, format: FORMAT }
        }

        fn may_contain(
            &self,
            filter: &TableFilter,
            key: &[u8],
            ctx: &mut ReadContext,
        ) -> Result<bool> {
            let key = LookupKey::new(key, SeqNo::MAX);
            filter.may_contain(self.source(), &key, &mut Pin::default(), ctx)
        }
    }

    /// rocksdb#5835: the separator "ab" sends a seek to "ab" to the first partition, whose writer did not add the
    /// prefix that only the next one has.
    #[test]
    fn a_prefix_is_looked_for_as_far_as_the_separators_have_it() {
        let file = File::new(&[
            (b"ab", filter_of(b"aa")),
            (b"abK2", filter_of(b"ab")),
            (b"acK3", filter_of(b"ac")),
        ]);
        let (filter, reader) = (file.filter(FilterDamage::Error), file.reader());
        let may_match = |target: &[u8]| {
            let target = InternalKey::for_seek(target, SeqNo::MAX);
            filter.prefix_may_match(reader.source(), target, &mut ReadContext::default()).unwrap()
        };
        assert!(may_match(b"ab"));
        assert!(may_match(b"aa"));
        // Behind the last separator the last partition is asked.
        assert!(may_match(b"acZ"));
        assert!(!may_match(b"ad"));
        // No further than that: the separator "abK2" does not have the prefix "a0".
        assert!(!may_match(b"a0"));
        // Keys without a prefix are not ruled out.
        assert!(may_match(b"a"));
    }

    #[test]
    fn damage_is_noted_once_and_rules_nothing_out() {
        let mut file = File::new(&[(b"zz", filter_of(b"ab"))]);
        file.bytes[3] ^= 1;
        let (filter, reader) = (file.filter(FilterDamage::RuleNothingOut), file.reader());
        let mut ctx = ReadContext::default();
        for _ in 0..3 {
            assert!(reader.may_contain(&filter, b"cd", &mut ctx).unwrap());
        }
        assert_eq!((ctx.filters_unreadable, ctx.filters_checked), (3, 0));
        let noted = filter.damage.get().unwrap();
        assert!(noted.starts_with("corruption: x.sst, filter partition at 0x0"), "{noted}");
    }

    #[test]
    fn damage_to_the_top_level_rules_nothing_out_either() {
        let mut file = File::new(&[(b"zz", filter_of(b"ab"))]);
        file.bytes[file.top_level.offset as usize] ^= 1;
        let (filter, reader) = (file.filter(FilterDamage::RuleNothingOut), file.reader());
        assert!(reader.may_contain(&filter, b"cd", &mut ReadContext::default()).unwrap());
        assert!(filter.damage.get().unwrap().contains("filter partition index at"));
    }

    #[test]
    fn damage_is_an_error_where_that_is_asked_for() {
        let sound = File::new(&[(b"zz", filter_of(b"ab"))]);
        for (at, part) in
            [(3, "filter partition"), (sound.top_level.offset, "filter partition index")]
        {
            let mut file = File::new(&[(b"zz", filter_of(b"ab"))]);
            file.bytes[at as usize] ^= 1;
            let (filter, reader) = (file.filter(FilterDamage::Error), file.reader());
            let ctx = &mut ReadContext::default();
            let error = reader.may_contain(&filter, b"cd", ctx).unwrap_err();
            assert_eq!((error.part(), error.is_corruption()), (Some(part), true));
            assert!(filter.damage.get().is_none());
        }
    }

    #[test]
    fn a_failed_read_is_an_error_and_tried_again() {
        #[derive(Debug)]
        struct Failing(MemoryFile);

        impl RandomAccessFile for Failing {
            fn read_exact_at(&self, _: u64, _: &mut [u8]) -> Result<()> {
                Err(Error::io("read", std::io::ErrorKind::Interrupted.into()))
            }

            fn len(&self) -> u64 {
                self.0.len()
            }

            fn path(&self) -> &std::path::Path {
                self.0.path()
            }
        }

        let file = File::new(&[(b"zz", filter_of(b"ab"))]);
        let filter = file.filter(FilterDamage::RuleNothingOut);
        let failing = Reader::new(Arc::new(Failing(MemoryFile::new("x.sst", file.bytes.clone()))));
        let ctx = &mut ReadContext::default();
        let error = failing.may_contain(&filter, b"cd", ctx).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(!file.reader().may_contain(&filter, b"cd", ctx).unwrap());
        assert!(file.reader().may_contain(&filter, b"ab", ctx).unwrap());
    }
}
