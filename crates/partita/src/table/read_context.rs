use std::fmt;

use super::role::{BlockRole, PerRole};

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
    /// Blocks read from files.
    pub blocks_read: PerRole<u64>,
    /// Bytes of these blocks as stored, with their trailers.
    pub bytes_read: PerRole<u64>,
    /// Bytes of these blocks after decompression.
    pub bytes_decompressed: PerRole<u64>,
    /// Filters asked.
    pub filters_checked: u64,
    /// Filters that said the key is not there.
    pub filters_ruled_out: u64,
    /// Filters that said the key may be there, and it was.
    pub filters_true_positive: u64,
    /// Filters that could not be read, and were passed over.
    pub filters_unreadable: u64,
    /// Blocks are read into it before they are checked; kept from one block to the next.
    buffer: Vec<u8>,
}

/// A buffer that grew beyond this for one large block is given back to the allocator.
const BUFFER_LEN_MAX: usize = 256 * 1024;

impl ReadContext {
    /// Blocks of all roles read from files.
    pub fn blocks_read_total(&self) -> u64 {
        self.blocks_read.iter().map(|(_, count)| count).sum()
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

/// Without the buffer: its bytes are the user's data, which is nothing for logs.
impl fmt::Debug for ReadContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            blocks_read,
            bytes_read,
            bytes_decompressed,
            filters_checked,
            filters_ruled_out,
            filters_true_positive,
            filters_unreadable,
            buffer: _,
        } = self;
        f.debug_struct("ReadContext")
            .field("blocks_read", blocks_read)
            .field("bytes_read", bytes_read)
            .field("bytes_decompressed", bytes_decompressed)
            .field("filters_checked", filters_checked)
            .field("filters_ruled_out", filters_ruled_out)
            .field("filters_true_positive", filters_true_positive)
            .field("filters_unreadable", filters_unreadable)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_has_the_counters_and_no_bytes_of_blocks() {
        let mut ctx = ReadContext::default();
        ctx.give_buffer(vec![231; 3]);
        ctx.count_read(BlockRole::Data, 45, 67);
        ctx.filters_unreadable = 1;
        assert_eq!(
            format!("{ctx:?}"),
            "ReadContext { blocks_read: {Data: 1}, bytes_read: {Data: 45}, bytes_decompressed: {Data: 67}, \
             filters_checked: 0, filters_ruled_out: 0, filters_true_positive: 0, filters_unreadable: 1 }"
        );
    }
}
