use std::fmt;

use super::role::{BlockRole, PerRole};
use crate::error::{Error, ErrorKind, Result};

/// What one read cost. It goes down the read path with the call, and whoever made it adds the counters up.
///
/// ```
/// use partita::table::{BlockRole, ReadContext};
///
/// let ctx = ReadContext::default();
/// assert_eq!(ctx.blocks_read[BlockRole::Data], 0);
/// ```
#[derive(Clone, Default)]
pub struct ReadContext {
    /// What is read does not enter the cache: for scans and compactions, which come by once.
    pub pass_cache_by: bool,
    /// Data blocks that are read do not enter the cache; pieces of indexes and filters do.
    pub pass_data_by: bool,
    /// Nothing is read from files: what is not in memory is an error of kind [`Incomplete`](crate::ErrorKind::Incomplete).
    /// Filters that are not in memory are left out of account.
    pub cache_only: bool,
    /// Blocks read from files, and pieces of blocks.
    pub blocks_read: PerRole<u64>,
    /// Bytes of these as stored, with the blocks' trailers.
    pub bytes_read: PerRole<u64>,
    /// Bytes of these after decompression.
    pub bytes_decompressed: PerRole<u64>,
    /// Blocks and pieces that lookups found in the cache.
    pub cache_hits: PerRole<u64>,
    /// Blocks and pieces that lookups did not find there.
    pub cache_misses: PerRole<u64>,
    /// Filters asked. Of these, what was neither ruled out nor found was asked in vain.
    pub filters_checked: u64,
    /// Filters that said the key is not there.
    pub filters_ruled_out: u64,
    /// Filters that said the key may be there, and it was.
    pub filters_true_positive: u64,
    /// Filters that could not be read, and were passed over.
    pub filters_unreadable: u64,
    /// Filters that were left alone, because asking them does not pay or is not wanted.
    pub filters_skipped: u64,
    /// Questions to filters about a range of keys, for walks and neighbours; they count among `filters_checked`, too.
    pub range_filters_checked: u64,
    /// Of these, those that said no key of the range is there.
    pub range_filters_ruled_out: u64,
    /// Entries that were looked at on the way to others: older or newer than the one that counts, deleted, covered.
    pub entries_skipped: u64,
    /// Deletions among them, and keys that range tombstones hid.
    pub tombstones_skipped: u64,
    /// Stretches of covered keys that a source was sought over, and whatever blocks are in them, unread and uncounted.
    pub stretches_skipped: u64,
    /// The sequence that picks samples.
    random: u64,
    /// Blocks are read into it before they are checked; kept from one block to the next.
    buffer: Vec<u8>,
}

/// A buffer that grew beyond this for one large block is given back to the allocator.
pub(super) const BUFFER_LEN_MAX: usize = 256 * 1024;

impl ReadContext {
    /// Blocks of all roles read from files.
    pub fn blocks_read_total(&self) -> u64 {
        self.blocks_read.iter().map(|(_, count)| count).sum()
    }

    /// A context with no counts, for a read under the same limits.
    pub fn fork(&self) -> Self {
        let Self { pass_cache_by, pass_data_by, cache_only, .. } = *self;
        Self { pass_cache_by, pass_data_by, cache_only, ..Self::default() }
    }

    /// Adds what another read cost.
    ///
    /// ```
    /// use partita::table::{BlockRole, ReadContext};
    ///
    /// let (mut sum, mut one) = (ReadContext::default(), ReadContext::default());
    /// one.blocks_read[BlockRole::Data] = 3;
    /// sum.add(&one);
    /// sum.add(&one);
    /// assert_eq!(sum.blocks_read_total(), 6);
    /// ```
    pub fn add(&mut self, other: &Self) {
        for (sum, count) in [
            (&mut self.blocks_read, &other.blocks_read),
            (&mut self.bytes_read, &other.bytes_read),
            (&mut self.bytes_decompressed, &other.bytes_decompressed),
            (&mut self.cache_hits, &other.cache_hits),
            (&mut self.cache_misses, &other.cache_misses),
        ] {
            count.iter().for_each(|(role, count)| sum[role] += count);
        }
        for (sum, count) in [
            (&mut self.filters_checked, other.filters_checked),
            (&mut self.filters_ruled_out, other.filters_ruled_out),
            (&mut self.filters_true_positive, other.filters_true_positive),
            (&mut self.filters_unreadable, other.filters_unreadable),
            (&mut self.filters_skipped, other.filters_skipped),
            (&mut self.range_filters_checked, other.range_filters_checked),
            (&mut self.range_filters_ruled_out, other.range_filters_ruled_out),
            (&mut self.entries_skipped, other.entries_skipped),
            (&mut self.tombstones_skipped, other.tombstones_skipped),
            (&mut self.stretches_skipped, other.stretches_skipped),
        ] {
            *sum += count;
        }
    }

    /// To be asked before a file is read.
    ///
    /// * Errors: `Incomplete` if nothing is to be read.
    #[inline]
    pub(crate) fn may_read(&self) -> Result<()> {
        if self.cache_only { Err(not_in_memory()) } else { Ok(()) }
    }

    /// Whether this lookup is a sample: one in 16, without a pattern that the order of tables could fall in with.
    #[inline]
    pub(super) fn is_sample(&mut self) -> bool {
        self.random = self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        self.random >> 60 == 0
    }

    pub(super) fn take_buffer(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer)
    }

    pub(super) fn give_buffer(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() <= BUFFER_LEN_MAX {
            self.buffer = buffer;
        }
    }

    pub(super) fn count_read(&mut self, role: BlockRole, stored: u64, decompressed: u64) {
        self.blocks_read[role] += 1;
        self.bytes_read[role] += stored;
        self.bytes_decompressed[role] += decompressed;
    }
}

#[cold]
fn not_in_memory() -> Error {
    Error::new(ErrorKind::Incomplete, "it is not in memory, and the read is not to touch files")
}

/// Without the buffer: its bytes are the user's data, which is nothing for logs.
impl fmt::Debug for ReadContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pass_cache_by,
            pass_data_by,
            cache_only,
            blocks_read,
            bytes_read,
            bytes_decompressed,
            cache_hits,
            cache_misses,
            filters_checked,
            filters_ruled_out,
            filters_true_positive,
            filters_unreadable,
            filters_skipped,
            range_filters_checked,
            range_filters_ruled_out,
            entries_skipped,
            tombstones_skipped,
            stretches_skipped,
            random: _,
            buffer: _,
        } = self;
        f.debug_struct("ReadContext")
            .field("pass_cache_by", pass_cache_by)
            .field("pass_data_by", pass_data_by)
            .field("cache_only", cache_only)
            .field("blocks_read", blocks_read)
            .field("bytes_read", bytes_read)
            .field("bytes_decompressed", bytes_decompressed)
            .field("cache_hits", cache_hits)
            .field("cache_misses", cache_misses)
            .field("filters_checked", filters_checked)
            .field("filters_ruled_out", filters_ruled_out)
            .field("filters_true_positive", filters_true_positive)
            .field("filters_unreadable", filters_unreadable)
            .field("filters_skipped", filters_skipped)
            .field("range_filters_checked", range_filters_checked)
            .field("range_filters_ruled_out", range_filters_ruled_out)
            .field("entries_skipped", entries_skipped)
            .field("tombstones_skipped", tombstones_skipped)
            .field("stretches_skipped", stretches_skipped)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lookup_in_sixteen_is_a_sample_whatever_period_one_looks_at() {
        let mut ctx = ReadContext::default();
        let mut samples = [0; 16];
        for number in 0..160_000 {
            samples[number % 16] += u32::from(ctx.is_sample());
        }
        assert!(samples.iter().all(|count| (450..800).contains(count)), "{samples:?}");
    }

    #[test]
    fn debug_output_has_the_counters_and_no_bytes_of_blocks() {
        let mut ctx = ReadContext::default();
        ctx.give_buffer(vec![231; 3]);
        ctx.count_read(BlockRole::Data, 45, 67);
        ctx.filters_unreadable = 1;
        assert_eq!(
            format!("{ctx:?}"),
            "ReadContext { pass_cache_by: false, pass_data_by: false, cache_only: false, blocks_read: {Data: 1}, bytes_read: {Data: 45}, \
             bytes_decompressed: {Data: 67}, cache_hits: {}, cache_misses: {}, filters_checked: 0, \
             filters_ruled_out: 0, filters_true_positive: 0, filters_unreadable: 1, filters_skipped: 0, \
             range_filters_checked: 0, range_filters_ruled_out: 0, entries_skipped: 0, tombstones_skipped: 0, stretches_skipped: 0 }"
        );
    }
}
