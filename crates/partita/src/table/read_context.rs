use super::role::{BlockRole, PerRole};

/// What one read cost. It goes down the read path with the call, and whoever made it adds the counters up.
///
/// ```
/// use partita::table::{BlockRole, ReadContext};
///
/// let ctx = ReadContext::default();
/// assert_eq!(ctx.blocks_read[BlockRole::Data], 0);
/// ```
#[derive(Clone, Debug, Default)]
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
