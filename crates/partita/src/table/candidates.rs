//! One key, several tables: a lookup in the files that may hold the key, newest first.
//!
//! Most tables answer with their filter, and a filter costs one cache miss. Asked one after another, each miss waits for
//! the answer of the table before. So the lines of the filters are all asked for before the first is tested, and their
//! misses overlap. The key's hash is in the [`LookupKey`], computed once.

use std::borrow::Borrow;

use super::{FoundEntry, LookupKey, ReadContext, TableReader};
use crate::cache::epoch;
use crate::error::Result;

/// Tables whose filters are fetched at the same time. A core has some ten cache lines on their way at once.
const PREFETCHED_MAX: usize = 8;

/// A lookup of one key in several tables.
///
/// Each [`Candidates::next_entry`] looks as far as the next table that has an entry of the key. Who wants older entries
/// (behind a merge operand, or to compare with a range tombstone) calls it again.
#[derive(Debug)]
pub struct Candidates<'t, 'k, T> {
    tables: &'t [T],
    key: LookupKey<'k>,
    next: usize,
}

impl<'t, 'k, T: Borrow<TableReader>> Candidates<'t, 'k, T> {
    /// * `tables`: newest first.
    pub fn new(tables: &'t [T], key: LookupKey<'k>) -> Self {
        Self { tables, key, next: 0 }
    }

    /// The newest entry of the next table that has one, and the table's place in the list.
    ///
    /// * Errors: those of [`TableReader::get`]. The lookup may go on behind the table that failed.
    pub fn next_entry(&mut self, ctx: &mut ReadContext) -> Result<Option<(usize, FoundEntry)>> {
        while let Some(table) = self.tables.get(self.next) {
            let at = self.next;
            if at.is_multiple_of(PREFETCHED_MAX) {
                self.prefetch_filters(at);
            }
            self.next += 1;
            if let Some(entry) = table.borrow().get(&self.key, ctx)? {
                return Ok(Some((at, entry)));
            }
        }
        Ok(None)
    }

    fn prefetch_filters(&self, from: usize) {
        let tables = self.tables.iter().skip(from).take(PREFETCHED_MAX);
        // The only table that is left waits for its filter in any case.
        if tables.len() > 1 {
            // Once for all of them; those that each takes for itself only count.
            let _pinned = epoch::pin();
            tables.for_each(|table| table.borrow().prefetch_filter(&self.key));
        }
    }
}

/// The newest entry of a key in tables that are ordered newest first, with the table's place in the list.
///
/// ```
/// # use std::sync::Arc;
/// # use partita::io::MemoryWriter;
/// # use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
/// # use partita::options::TableOptions;
/// use partita::table::{LookupKey, ReadContext, get_in_order};
/// # use partita::table::{ReaderOptions, TableBuilder, TableContext, TableReader};
/// # let mut tables = Vec::new();
/// # for seqno in [2, 1] {
/// #     let file = MemoryWriter::new("000007.sst");
/// #     let mut builder = TableBuilder::new(
/// #         Box::new(file.clone()), TableOptions::default(), KeyOrder::Bytewise, TableContext::default())?;
/// #     let key = InternalKey::new(b"apple", SeqNo::new(seqno).unwrap(), ValueType::Value);
/// #     builder.add(&key.encode(), if seqno == 2 { b"green" } else { b"red" })?;
/// #     builder.finish()?;
/// #     let file = Arc::new(file.into_file());
/// #     tables.push(TableReader::open(file, &ReaderOptions::default(), &mut ReadContext::default())?);
/// # }
/// // Two tables with an apple, which was green at last.
/// let key = LookupKey::new(b"apple", SeqNo::MAX);
/// let (at, entry) = get_in_order(&tables, &key, &mut ReadContext::default())?.unwrap();
/// assert_eq!((at, &*entry.value), (0, &b"green"[..]));
/// # Ok::<(), partita::Error>(())
/// ```
pub fn get_in_order<T: Borrow<TableReader>>(
    tables: &[T],
    key: &LookupKey<'_>,
    ctx: &mut ReadContext,
) -> Result<Option<(usize, FoundEntry)>> {
    Candidates::new(tables, *key).next_entry(ctx)
}
