//! A table's filter: which piece of it to ask, and what may be asked.
//!
//! ```text
//! full filter:         one piece for all keys
//! partitioned filter:  an index block that leads from a key to the piece that knows it; its separators are not those of
//!                      the index, so only its own are looked at
//! ```
//!
//! A whole key may be asked for if the properties say that whole keys were added, a prefix if prefixes were added by an
//! extractor that we have. A filter that is missing, unknown or damaged rules nothing out; which it is, is told by
//! [`TableReader::filter_status`](super::TableReader::filter_status) and by `partita sst verify`.

use std::sync::OnceLock;

use super::block::IndexFormat;
use super::fetch::BlockFetcher;
use super::index::{Partitions, Slot};
use super::lazy::Lazy;
use super::{BlockHandle, BlockRole, FilterStatus, LookupKey, ReadContext};
use crate::error::{Error, ErrorKind, Result};
use crate::filter::{Filter, FilterSlot, KeyHash};
use crate::key::{InternalKey, KeyOrder, PrefixExtractor};

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

impl Slot for FilterSlot {
    /// `None` if it was damaged when it was read; it is not read again.
    type Partition = Option<Filter>;

    #[inline]
    fn cell(&self) -> &OnceLock<Option<Filter>> {
        self.cell()
    }
}

/// A table's filter.
#[derive(Debug)]
pub(super) struct TableFilter {
    pub(super) status: FilterStatus,
    /// The filter of [`FilterStatus::Full`], the top level of [`FilterStatus::Partitioned`]. `None` if there is no filter
    /// that we can use.
    pub(super) handle: Option<BlockHandle>,
    /// `None` if they cannot be found, because the top level is damaged.
    pub(super) pieces: Lazy<Option<Partitions<FilterSlot>>>,
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
    pub(super) order: &'t KeyOrder,
    /// Of the top level.
    pub(super) format: IndexFormat,
}

impl TableFilter {
    /// The role of the filter's pieces.
    fn piece_role(&self) -> BlockRole {
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
        Ok(self.pieces(source, ctx)?.map(Partitions::handles).unwrap_or_default())
    }

    /// Whether the table may hold an entry of the key.
    pub(super) fn may_contain(
        &self,
        source: FilterSource<'_>,
        key: &LookupKey<'_>,
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
        let Some(pieces) = self.pieces(source, ctx)? else { return Ok(true) };
        let at = first_piece(pieces, source.order, key.seek_key());
        self.ask(pieces, at, hash, source, ctx)
    }

    /// Whether the table may hold a key that is not before `target` and has the same prefix.
    ///
    /// The keys of a prefix may go over several pieces. The first one to ask is that of `target`; as long as a piece's
    /// separator has the prefix too, the next piece may hold more of its keys. (RocksDB asks the first piece only, and
    /// its writers put a prefix into both pieces at a border; writers before that was done left it out.)
    pub(super) fn prefix_may_match(
        &self,
        source: FilterSource<'_>,
        target: InternalKey<'_>,
        ctx: &mut ReadContext,
    ) -> Result<bool> {
        let Some(prefixes) = &self.prefixes else { return Ok(true) };
        let Some(prefix) = prefixes.prefix(target.user_key) else { return Ok(true) };
        let Some(pieces) = self.pieces(source, ctx)? else { return Ok(true) };
        let hash = KeyHash::new(prefix);
        let mut at = first_piece(pieces, source.order, target);
        loop {
            if self.ask(pieces, at, &hash, source, ctx)? {
                return Ok(true);
            }
            let goes_on = prefixes.prefix(pieces.separator(at)) == Some(prefix);
            at += 1;
            if !goes_on || at >= pieces.len() {
                return Ok(false);
            }
        }
    }

    /// The pieces, found at their first use; `None` if nothing can be ruled out.
    #[inline]
    fn pieces(
        &self,
        source: FilterSource<'_>,
        ctx: &mut ReadContext,
    ) -> Result<Option<&Partitions<FilterSlot>>> {
        let Some(handle) = self.handle else { return Ok(None) };
        let pieces = self.pieces.get_or_load(|| {
            if self.status == FilterStatus::Full {
                return Ok(Some(Partitions::single(handle)));
            }
            let found =
                source.fetcher.fetch_parsed(handle, BlockRole::FilterTopLevel, ctx, |contents| {
                    Partitions::parse(&contents, source.format, source.order)
                });
            self.unless_damaged(found)
        })?;
        Ok(pieces.as_ref())
    }

    fn ask(
        &self,
        pieces: &Partitions<FilterSlot>,
        at: usize,
        hash: &KeyHash<'_>,
        source: FilterSource<'_>,
        ctx: &mut ReadContext,
    ) -> Result<bool> {
        let role = self.piece_role();
        let piece = pieces.get_or_load(at, |handle| {
            let parse = |contents: Vec<u8>| Ok(Filter::parse(&contents));
            self.unless_damaged(source.fetcher.fetch_parsed(handle, role, ctx, parse))
        })?;
        // A partitioned filter without partitions rules nothing out.
        let Some(piece) = piece else { return Ok(true) };
        match piece {
            Some(filter) => {
                let may = filter.may_contain(hash);
                ctx.filters_checked += 1;
                ctx.filters_ruled_out += u64::from(!may);
                Ok(may)
            }
            None => {
                ctx.filters_unreadable += 1;
                Ok(true)
            }
        }
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

/// The piece that knows the key: the first whose separator is not before it, or else the last, which may still know
/// the key's prefix.
fn first_piece(pieces: &Partitions<FilterSlot>, order: &KeyOrder, key: InternalKey<'_>) -> usize {
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

        fn fetcher(&self) -> BlockFetcher {
            fetcher(Arc::new(MemoryFile::new("x.sst", self.bytes.clone())))
        }
    }

    fn fetcher(file: Arc<dyn RandomAccessFile>) -> BlockFetcher {
        let footer = Footer {
            format_version: 5,
            checksum: BlockChecksum { checksum: ChecksumType::Crc32c, base_context: 0 },
            metaindex: BlockHandle::NULL,
            index: None,
        };
        BlockFetcher::new(file, &footer, true)
    }

    fn source(fetcher: &BlockFetcher) -> FilterSource<'_> {
        FilterSource { fetcher, order: &KeyOrder::Bytewise, format: FORMAT }
    }

    fn may_contain(
        filter: &TableFilter,
        fetcher: &BlockFetcher,
        key: &[u8],
        ctx: &mut ReadContext,
    ) -> Result<bool> {
        filter.may_contain(source(fetcher), &LookupKey::new(key, SeqNo::MAX), ctx)
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
        let (filter, fetcher) = (file.filter(FilterDamage::Error), file.fetcher());
        let may_match = |target: &[u8]| {
            let target = InternalKey::for_seek(target, SeqNo::MAX);
            filter.prefix_may_match(source(&fetcher), target, &mut ReadContext::default()).unwrap()
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
        let (filter, fetcher) = (file.filter(FilterDamage::RuleNothingOut), file.fetcher());
        let mut ctx = ReadContext::default();
        for _ in 0..3 {
            assert!(may_contain(&filter, &fetcher, b"cd", &mut ctx).unwrap());
        }
        assert_eq!((ctx.filters_unreadable, ctx.filters_checked), (3, 0));
        let noted = filter.damage.get().unwrap();
        assert!(noted.starts_with("corruption: x.sst, filter partition at 0x0"), "{noted}");
    }

    #[test]
    fn damage_to_the_top_level_rules_nothing_out_either() {
        let mut file = File::new(&[(b"zz", filter_of(b"ab"))]);
        file.bytes[file.top_level.offset as usize] ^= 1;
        let (filter, fetcher) = (file.filter(FilterDamage::RuleNothingOut), file.fetcher());
        assert!(may_contain(&filter, &fetcher, b"cd", &mut ReadContext::default()).unwrap());
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
            let (filter, fetcher) = (file.filter(FilterDamage::Error), file.fetcher());
            let ctx = &mut ReadContext::default();
            let error = may_contain(&filter, &fetcher, b"cd", ctx).unwrap_err();
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
        let failing = fetcher(Arc::new(Failing(MemoryFile::new("x.sst", file.bytes.clone()))));
        let ctx = &mut ReadContext::default();
        let error = may_contain(&filter, &failing, b"cd", ctx).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(!may_contain(&filter, &file.fetcher(), b"cd", ctx).unwrap());
        assert!(may_contain(&filter, &file.fetcher(), b"ab", ctx).unwrap());
    }
}
