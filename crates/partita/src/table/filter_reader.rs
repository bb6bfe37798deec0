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
use super::index::Partitions;
use super::{BlockHandle, FilterStatus, LookupKey, ReadContext};
use crate::error::{Error, ErrorKind, Result};
use crate::filter::{Filter, KeyHash};
use crate::key::{InternalKey, KeyOrder, PrefixExtractor};

/// A piece of a filter as it is kept in memory.
#[derive(Debug)]
pub(super) enum FilterPiece {
    Ready(Filter),
    /// It was damaged when it was read; it is not read again.
    Unreadable,
}

impl FilterPiece {
    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Self::Ready(filter) => filter.memory_bytes(),
            Self::Unreadable => size_of::<Self>(),
        }
    }
}

/// A table's filter.
#[derive(Debug)]
pub(super) struct TableFilter {
    pub(super) status: FilterStatus,
    /// `None` if there is no filter that we can use.
    pub(super) pieces: Option<Partitions<FilterPiece>>,
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
        pieces: &Partitions<FilterPiece>,
        at: usize,
        hash: &KeyHash<'_>,
        ctx: &mut ReadContext,
        fetch: &mut impl FnMut(BlockHandle, BlockRole, &mut ReadContext) -> Result<Vec<u8>>,
    ) -> Result<bool> {
        let role = self.piece_role();
        let piece = pieces.get_or_load(at, |handle| match fetch(handle, role, ctx) {
            Ok(contents) => Ok(FilterPiece::Ready(Filter::parse(&contents))),
            Err(error) if is_damage(&error) => {
                self.damage.get_or_init(|| error.to_string());
                Ok(FilterPiece::Unreadable)
            }
            Err(error) => Err(error),
        })?;
        // A partitioned filter without partitions rules nothing out.
        let Some(piece) = piece else { return Ok(true) };
        match &**piece {
            FilterPiece::Ready(filter) => {
                let may = filter.may_contain(hash);
                ctx.filters_checked += 1;
                ctx.filters_ruled_out += u64::from(!may);
                Ok(may)
            }
            FilterPiece::Unreadable => {
                ctx.filters_unreadable += 1;
                Ok(true)
            }
        }
    }
}

/// The piece that knows the key: the first whose separator is not before it, or else the last, which may still know
/// the key's prefix.
fn first_piece(pieces: &Partitions<FilterPiece>, order: &KeyOrder, key: InternalKey<'_>) -> usize {
    let at = pieces.locate(order, key.user_key, key.packed());
    at.min(pieces.len().saturating_sub(1))
}

/// Whether the bytes are at fault, not the moment.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotSupported)
}
