//! Iterators: what every walk over internal keys can do, and how many become one that a reader wants.
//!
//! ```text
//! VisibleIterator       user keys, each with its newest visible value     visible.rs
//!   UncoveredIterator   without what range tombstones hide                uncovered.rs, cover.rs
//!     MergingIterator   one sorted stream of internal keys                merging.rs
//!       a memtable's iterator, a table's, a LevelIterator                 run.rs
//! ```
//!
//! Nothing here knows memtables or tables: files of a run are opened through [`SortedRun`], and [`RangeTombstones`] are
//! asked within the limits of their file ([`TruncatedTombstones`]).

mod borders;
mod bounds;
mod cover;
mod covered_runs;
mod kinds;
mod merging;
mod range_tombstones;
mod run;
mod truncated;
mod uncovered;
mod visible;

pub use bounds::Bounds;
pub use cover::Cover;
pub(crate) use kinds::walk_of_kinds;
pub use merging::MergingIterator;
pub use range_tombstones::{RangeTombstone, RangeTombstones};
pub use run::{LevelIterator, SortedRun};
pub(crate) use truncated::FileTombstones;
pub use truncated::TruncatedTombstones;
pub use uncovered::UncoveredIterator;
pub use visible::{Skipped, VisibleIterator, VisibleOptions};

use crate::error::Result;

/// A walk over entries in internal key order: user key ascending, newest first.
///
/// * A move that fails leaves the iterator standing nowhere and says why; a later move starts afresh.
/// * An iterator that stands nowhere without an error has gone over one of its ends, or has not moved yet.
/// * `next`, `prev`, `key` and `value` may be called only while [`InternalIterator::is_valid`].
///
/// ```
/// use std::sync::Arc;
///
/// use partita::io::MemoryWriter;
/// use partita::iter::InternalIterator;
/// use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
/// use partita::options::TableOptions;
/// use partita::table::{ReadContext, ReaderOptions, TableBuilder, TableContext, TableReader};
///
/// # let file = MemoryWriter::new("000007.sst");
/// # let mut builder = TableBuilder::new(
/// #     Box::new(file.clone()), TableOptions::default(), KeyOrder::Bytewise, TableContext::default())?;
/// # for (user_key, value) in [("apple", "red"), ("pear", "green")] {
/// #     let key = InternalKey::new(user_key.as_bytes(), SeqNo::new(1).unwrap(), ValueType::Value);
/// #     builder.add(&key.encode(), value.as_bytes())?;
/// # }
/// # builder.finish()?;
/// # let file = Arc::new(file.into_file());
/// let table = TableReader::open(file, &ReaderOptions::default(), &mut ReadContext::default())?;
/// let mut iter = Arc::new(table).iter();
/// let mut found = Vec::new();
/// iter.seek_to_first()?;
/// while iter.is_valid() {
///     let key = InternalKey::decode(iter.key())?;
///     found.push((key.user_key.to_vec(), iter.value().to_vec()));
///     iter.next()?;
/// }
/// assert_eq!(found, [
///     (b"apple".to_vec(), b"red".to_vec()),
///     (b"pear".to_vec(), b"green".to_vec()),
/// ]);
///
/// // The last entry of a user key, or before it.
/// iter.seek_for_prev(&InternalKey::for_seek_for_prev(b"banana").encode())?;
/// assert_eq!(iter.value(), b"red");
/// # Ok::<(), partita::Error>(())
/// ```
pub trait InternalIterator {
    /// Whether the iterator stands on an entry.
    #[doc(alias = "Valid")]
    fn is_valid(&self) -> bool;

    /// Moves to the first entry.
    fn seek_to_first(&mut self) -> Result<()>;

    /// Moves to the last entry.
    fn seek_to_last(&mut self) -> Result<()>;

    /// Moves to the first entry that is not before the encoded internal key `target`.
    ///
    /// * Errors: `InvalidArgument` if `target` is no internal key; `Corruption` and `Io` of the file.
    fn seek(&mut self, target: &[u8]) -> Result<()>;

    /// Moves to the last entry that is not behind the encoded internal key `target`. Errors are those of `seek`.
    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()>;

    /// Moves to the next entry.
    fn next(&mut self) -> Result<()>;

    /// Moves to the entry before.
    fn prev(&mut self) -> Result<()>;

    /// The encoded internal key there: at least 8 bytes.
    fn key(&self) -> &[u8];

    /// The value there.
    fn value(&self) -> &[u8];
}
