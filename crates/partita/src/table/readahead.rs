use std::ops::Range;

use super::BlockHandle;
use crate::cache::{Cache, Reservation, Role};

/// Most bytes of one read of several blocks: from there on a longer read costs as much for each byte.
pub(super) const READ_LEN_MAX: usize = 256 * 1024;
/// Blocks that a walk must take one beside the other before more than the next one is read.
const RUN_MIN: u32 = 2;
/// Bytes of the first read ahead; each one after it is twice as long.
const WINDOW_LEN_MIN: u64 = 16 * 1024;

/// Bytes of a file that are read before they are asked for, because a walk moves from block to block.
///
/// The window starts small and doubles up to a limit, so a walk of a few blocks reads little in vain and a long one makes
/// few reads. A jump starts afresh. It holds bytes as they are in the file; each block is verified when it is taken.
#[derive(Default)]
pub(super) struct Readahead {
    limit: u64,
    /// Where the block before was.
    last: Range<u64>,
    /// Blocks taken one beside the other, and whether toward the file's start.
    run: u32,
    backward: bool,
    window_len: u64,
    /// Offset in the file of `buffer`.
    start: u64,
    buffer: Vec<u8>,
    /// What the buffer takes of the budget, once there is one.
    charge: Option<Reservation>,
}

impl Readahead {
    /// * `limit`: most bytes of a read ahead; with 0 there are none.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit as u64, ..Self::default() }
    }

    /// Notes that a walk takes a block.
    ///
    /// * Returns what to read first, if it is more than this block, which is at one of its ends.
    pub(super) fn plan(&mut self, handle: BlockHandle, file_len: u64) -> Option<Range<u64>> {
        let block = handle.offset..handle.end().filter(|end| *end <= file_len)?;
        let (before, last) = (self.backward, std::mem::replace(&mut self.last, block.clone()));
        self.backward = block.end == last.start;
        let beside = block.start == last.end || self.backward;
        if !beside || before != self.backward {
            (self.run, self.window_len) = (0, 0);
        }
        self.run += 1;
        if self.run <= RUN_MIN || self.block(handle).is_some() {
            return None;
        }
        self.window_len = (2 * self.window_len).max(WINDOW_LEN_MIN).min(self.limit);
        let range = match self.backward {
            true => block.end.saturating_sub(self.window_len)..block.end,
            false => block.start..(block.start + self.window_len).min(file_len),
        };
        (range.start <= block.start && range.end >= block.end && range != block).then_some(range)
    }

    /// A block and its trailer, if it was read ahead.
    pub(super) fn block(&self, handle: BlockHandle) -> Option<&[u8]> {
        let start = usize::try_from(handle.offset.checked_sub(self.start)?).ok()?;
        let end = usize::try_from(handle.end()?.checked_sub(self.start)?).ok()?;
        self.buffer.get(start..end)
    }

    /// The buffer, to be filled with a range of the file; it is charged to `cache`.
    pub(super) fn refill(&mut self, range: Range<u64>, cache: Option<&Cache>) -> &mut [u8] {
        let len = (range.end - range.start) as usize;
        self.start = range.start;
        self.buffer.clear();
        self.buffer.reserve_exact(len);
        if let Some(cache) = cache {
            let charge = self.charge.get_or_insert_with(|| cache.reserve(Role::ReadBuffers, 0));
            charge.resize(self.buffer.capacity());
        }
        self.buffer.resize(len, 0);
        &mut self.buffer
    }

    /// Forgets the bytes.
    pub(super) fn clear(&mut self) {
        self.buffer.clear();
    }
}

/// Without the bytes, which are the user's data.
impl std::fmt::Debug for Readahead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Readahead")
            .field("run", &self.run)
            .field("window_len", &self.window_len)
            .field("start", &self.start)
            .field("buffer_len", &self.buffer.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::BLOCK_TRAILER_LEN;

    const FILE_LEN: u64 = 1 << 20;
    const BLOCK_LEN: u64 = 1000;

    /// Takes blocks of 1,000 bytes and returns where each read started and how long it was.
    fn reads(ahead: &mut Readahead, blocks: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
        let mut reads = Vec::new();
        for number in blocks {
            let size = BLOCK_LEN - BLOCK_TRAILER_LEN as u64;
            let handle = BlockHandle { offset: number * BLOCK_LEN, size };
            if let Some(range) = ahead.plan(handle, FILE_LEN) {
                reads.push((range.start, range.end - range.start));
                for (byte, at) in ahead.refill(range.clone(), None).iter_mut().zip(range) {
                    *byte = (at / BLOCK_LEN) as u8;
                }
            }
            match ahead.block(handle) {
                Some(bytes) => assert_eq!(bytes, [number as u8; BLOCK_LEN as usize]),
                None => reads.push((handle.offset, BLOCK_LEN)),
            }
        }
        reads
    }

    #[test]
    fn a_walk_from_block_to_block_reads_more_and_more_up_to_the_limit() {
        let mut ahead = Readahead::new(64 << 10);
        let expected = [
            (10_000, 1000),
            (11_000, 1000),
            (12_000, 16 << 10),
            (28_000, 32 << 10),
            (60_000, 64 << 10),
            (125_000, 64 << 10),
        ];
        assert_eq!(reads(&mut ahead, 10..190), expected);
        // A jump starts afresh, and nothing is read behind the end of the file.
        let expected =
            [(1_020_000, 1000), (1_021_000, 1000), (1_022_000, 16 << 10), (1_038_000, 10_576)];
        assert_eq!(reads(&mut ahead, 1020..1045), expected);
    }

    #[test]
    fn a_walk_toward_the_start_reads_what_is_before() {
        let mut ahead = Readahead::new(64 << 10);
        let expected = [
            (99_000, 1000),
            (98_000, 1000),
            (97_000, 1000),
            (97_000 - (16 << 10), 16 << 10),
            (81_000 - (32 << 10), 32 << 10),
            (0, 49_000),
        ];
        assert_eq!(reads(&mut ahead, (0..100).rev()), expected);
        // Turning around starts afresh.
        assert_eq!(reads(&mut ahead, 200..202).len(), 2);
        assert_eq!(reads(&mut ahead, [200, 201, 200].into_iter()).len(), 3);
    }

    #[test]
    fn jumps_and_a_limit_below_a_block_mean_no_reads_ahead() {
        let mut ahead = Readahead::new(64 << 10);
        assert_eq!(reads(&mut ahead, (0..100).step_by(2)).len(), 50);
        let mut ahead = Readahead::new(0);
        assert_eq!(reads(&mut ahead, 0..50).len(), 50);
        assert_eq!(ahead.buffer.capacity(), 0);
    }

    #[test]
    fn the_buffer_is_charged_as_long_as_it_lives() {
        let cache = Cache::new(1 << 20);
        let mut ahead = Readahead::new(64 << 10);
        for len in [1000, 50_000, 3000] {
            ahead.refill(0..len, Some(&cache));
            assert_eq!(cache.usage_bytes(), ahead.buffer.capacity());
        }
        assert!(cache.usage_bytes() >= 50_000);
        drop(ahead);
        assert_eq!(cache.usage_bytes(), 0);
    }

    #[test]
    fn blocks_behind_the_end_are_left_to_their_own_read() {
        let mut ahead = Readahead::new(64 << 10);
        for offset in [u64::MAX - 7, FILE_LEN - 10] {
            for _ in 0..5 {
                assert_eq!(ahead.plan(BlockHandle { offset, size: 100 }, FILE_LEN), None);
            }
        }
    }
}
