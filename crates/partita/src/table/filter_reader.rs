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

use super::BlockRole;
use super::index::{Partitions, Slot};
use super::{BlockHandle, FilterStatus, LookupKey, ReadContext};
use crate::error::{Error, ErrorKind, Result};
use crate::filter::{Filter, FilterSlot, KeyHash};
use crate::key::{InternalKey, KeyOrder, PrefixExtractor};

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
    /// `None` if there is no filter that we can use.
    pub(super) pieces: Option<Partitions<FilterSlot>>,
    /// Whether whole keys were added.
    pub(super) whole_keys: bool,
    /// How the prefixes that were added are taken out of keys; `None` if there are none or we do not know.
    pub(super) prefixes: Option<PrefixExtractor>,
    /// The first damage that a read came upon.
    pub(super) damage: OnceLock<String>,
}

impl TableFilter {
    /// The role of the filter's pieces.
    pub(super) fn piece_role(&self) -> BlockRole {
        match self.status {
            FilterStatus::Partitioned => BlockRole::FilterPartition,
            _ => BlockRole::Filter,
        }
    }

    /// Whether the table may hold an entry of the key.
    pub(super) fn may_contain(
        &self,
        order: &KeyOrder,
        key: &LookupKey<'_>,
        ctx: &mut ReadContext,
        mut fetch: impl FnMut(BlockHandle, BlockRole, &mut ReadContext) -> Result<Vec<u8>>,
    ) -> Result<bool> {
        let Some(pieces) = &self.pieces else { return Ok(true) };
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
        let at = first_piece(pieces, order, key.seek_key());
        self.ask(pieces, at, hash, ctx, &mut fetch)
    }

    /// Whether the table may hold a key that is not before `target` and has the same prefix.
    ///
    /// The keys of a prefix may go over several pieces. The first one to ask is that of `target`; as long as a piece's
    /// separator has the prefix too, the next piece may hold more of its keys. (RocksDB asks the first piece only, and
    /// its writers put a prefix into both pieces at a border; writers before that was done left it out.)
    pub(super) fn prefix_may_match(
        &self,
        order: &KeyOrder,
        target: InternalKey<'_>,
        ctx: &mut ReadContext,
        mut fetch: impl FnMut(BlockHandle, BlockRole, &mut ReadContext) -> Result<Vec<u8>>,
    ) -> Result<bool> {
        let (Some(pieces), Some(prefixes)) = (&self.pieces, &self.prefixes) else {
            return Ok(true);
        };
        let Some(prefix) = prefixes.prefix(target.user_key) else { return Ok(true) };
        let hash = KeyHash::new(prefix);
        let mut at = first_piece(pieces, order, target);
        loop {
            if self.ask(pieces, at, &hash, ctx, &mut fetch)? {
                return Ok(true);
            }
            let goes_on = prefixes.prefix(pieces.separator(at)) == Some(prefix);
            at += 1;
            if !goes_on || at >= pieces.len() {
                return Ok(false);
            }
        }
    }

    fn ask(
        &self,
        pieces: &Partitions<FilterSlot>,
        at: usize,
        hash: &KeyHash<'_>,
        ctx: &mut ReadContext,
        fetch: &mut impl FnMut(BlockHandle, BlockRole, &mut ReadContext) -> Result<Vec<u8>>,
    ) -> Result<bool> {
        let role = self.piece_role();
        let piece = pieces.get_or_load(at, |handle| match fetch(handle, role, ctx) {
            Ok(contents) => Ok(Some(Filter::parse(&contents))),
            Err(error) if is_damage(&error) => {
                self.damage.get_or_init(|| error.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
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
}

/// The piece that knows the key: the first whose separator is not before it, or else the last, which may still know
/// the key's prefix.
fn first_piece(pieces: &Partitions<FilterSlot>, order: &KeyOrder, key: InternalKey<'_>) -> usize {
    let at = pieces.locate(order, key.user_key, key.packed());
    at.min(pieces.len().saturating_sub(1))
}

/// Whether the bytes are at fault, not the moment.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotSupported)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{FilterBuilder, FilterLevel, FilterPolicy};
    use crate::key::SeqNo;
    use crate::table::block::{IndexBlock, IndexFormat};

    /// A top level of user-key separators over partitions of five bytes and a trailer, at offsets 0, 10, 20, …
    fn pieces(separators: &[&[u8]]) -> Partitions<FilterSlot> {
        let (mut block, mut restarts) = (Vec::new(), Vec::new());
        for (number, separator) in separators.iter().enumerate() {
            restarts.extend_from_slice(&(block.len() as u32).to_le_bytes());
            block.extend_from_slice(&[0, separator.len() as u8, 2]);
            block.extend_from_slice(separator);
            block.extend_from_slice(&[10 * number as u8, 5]);
        }
        block.extend_from_slice(&restarts);
        block.extend_from_slice(&(separators.len() as u32).to_le_bytes());
        let format = IndexFormat { user_keys: true, ..IndexFormat::default() };
        let order = KeyOrder::Bytewise;
        let block = IndexBlock::parse_index(block, format, &order).unwrap();
        Partitions::parse(&block, format, &order).unwrap()
    }

    fn filter_of(prefix: &[u8]) -> Vec<u8> {
        let policy = FilterPolicy::Bloom { bits_per_key: 20.0 };
        let mut builder = FilterBuilder::new(&policy, 5, FilterLevel::Unknown).unwrap();
        builder.add_key(prefix);
        builder.finish()
    }

    fn filter(separators: &[&[u8]]) -> TableFilter {
        TableFilter {
            status: FilterStatus::Partitioned,
            pieces: Some(pieces(separators)),
            whole_keys: false,
            prefixes: Some(PrefixExtractor::Fixed(2)),
            damage: OnceLock::new(),
        }
    }

    fn prefix_may_match(filter: &TableFilter, target: &[u8], contents: &[Vec<u8>]) -> bool {
        let target = InternalKey::for_seek(target, SeqNo::MAX);
        filter
            .prefix_may_match(
                &KeyOrder::Bytewise,
                target,
                &mut ReadContext::default(),
                |handle, role, _| {
                    assert_eq!(role, BlockRole::FilterPartition);
                    Ok(contents[handle.offset as usize / 10].clone())
                },
            )
            .unwrap()
    }

    /// rocksdb#5835: the separator "ab" sends a seek to "ab" to the first partition, whose writer did not add the
    /// prefix that only the next one has.
    #[test]
    fn a_prefix_is_looked_for_as_far_as_the_separators_have_it() {
        let contents = [filter_of(b"aa"), filter_of(b"ab"), filter_of(b"ac")];
        let filter = filter(&[b"ab", b"abK2", b"acK3"]);
        assert!(prefix_may_match(&filter, b"ab", &contents));
        assert!(prefix_may_match(&filter, b"aa", &contents));
        // Behind the last separator the last partition is asked.
        assert!(prefix_may_match(&filter, b"acZ", &contents));
        assert!(!prefix_may_match(&filter, b"ad", &contents));
        // No further than that: the separator "abK2" does not have the prefix "a0".
        assert!(!prefix_may_match(&filter, b"a0", &contents));
        // Keys without a prefix are not ruled out.
        assert!(prefix_may_match(&filter, b"a", &contents));
    }

    #[test]
    fn damage_is_noted_once_and_rules_nothing_out() {
        let filter = filter(&[b"zz"]);
        let mut ctx = ReadContext::default();
        let mut reads = 0;
        for _ in 0..3 {
            let key = LookupKey::new(b"abcd", SeqNo::MAX);
            let may = filter.may_contain(&KeyOrder::Bytewise, &key, &mut ctx, |_, _, _| {
                reads += 1;
                Err(Error::corruption("torn"))
            });
            assert!(may.unwrap());
        }
        assert_eq!((reads, ctx.filters_unreadable, ctx.filters_checked), (1, 3, 0));
        assert_eq!(filter.damage.get().unwrap(), "corruption: torn");
    }

    #[test]
    fn a_failed_read_is_an_error_and_tried_again() {
        let filter = filter(&[b"zz"]);
        let mut ctx = ReadContext::default();
        let key = LookupKey::new(b"abcd", SeqNo::MAX);
        let ask = |ctx: &mut ReadContext, contents: Result<Vec<u8>>| {
            let mut contents = Some(contents);
            filter.may_contain(&KeyOrder::Bytewise, &key, ctx, |_, _, _| contents.take().unwrap())
        };
        let failed = Err(Error::io("read", std::io::ErrorKind::Interrupted.into()));
        assert_eq!(ask(&mut ctx, failed).unwrap_err().kind(), ErrorKind::Io);
        assert!(ask(&mut ctx, Ok(filter_of(b"ab"))).unwrap());
    }
}
