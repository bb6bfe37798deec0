//! What every iterator over internal keys can do.

use crate::error::Result;

/// A walk over entries in internal key order: user key ascending, newest first.
///
/// * A move that fails leaves the iterator standing nowhere and says why; a later move starts afresh.
/// * An iterator that stands nowhere without an error has gone over one of its ends, or has not moved yet.
/// * `next`, `prev`, `key` and `value` may be called only while [`InternalIterator::is_valid`].
pub trait InternalIterator {
    /// Whether the iterator stands on an entry.
    fn is_valid(&self) -> bool;

    /// Moves to the first entry.
    fn seek_to_first(&mut self) -> Result<()>;

    /// Moves to the last entry.
    fn seek_to_last(&mut self) -> Result<()>;

    /// Moves to the first entry that is not before the encoded internal key `target`.
    fn seek(&mut self, target: &[u8]) -> Result<()>;

    /// Moves to the last entry that is not behind the encoded internal key `target`.
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
