//! A full filter that is too large to be one piece: its chunks are read, verified and cached by themselves.
//!
//! The checksum in the file covers the whole block. So the block is passed through once, when the filter is first used,
//! in bounded memory; if the checksum is right, a sum of each chunk is kept (a thousandth of the filter), by which the
//! chunk is verified whenever it is read.

use super::fetch::{STREAM_LEN, part_sum};
use super::filter_reader::FilterSource;
use super::{BlockHandle, BlockRole, ReadContext};
use crate::cache::{CacheObject, Reservation, Role, Slots};
use crate::error::{Error, Result};
use crate::filter::{ChunkLayout, FilterChunk, FilterMeta};
use crate::table::budget::TableBudget;
use crate::util::compression::CompressionType;

/// A filter of no more than this is one piece.
const WHOLE_LEN_MAX: u64 = 16 * 1024;

/// A chunk; `None` if it was damaged when it was read.
pub(super) type Chunk = Option<FilterChunk>;

impl CacheObject for Chunk {
    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, FilterChunk::heap_bytes)
    }
}

/// Where a filter's chunks are, and what each is verified by.
#[derive(Debug)]
pub(super) struct FilterChunks {
    block: BlockHandle,
    layout: ChunkLayout,
    /// Empty if nothing is verified.
    sums: Box<[u32]>,
    slots: Slots<Chunk>,
    _charge: Reservation,
}

impl FilterChunks {
    /// Cuts a filter into chunks, after it was verified as a whole.
    ///
    /// * Returns `None` if it is better read as one piece: it is small, or stored with compression.
    pub(super) fn read(
        block: BlockHandle,
        source: FilterSource<'_>,
        ctx: &mut ReadContext,
    ) -> Result<Option<Self>> {
        if block.size <= WHOLE_LEN_MAX {
            return Ok(None);
        }
        let (fetcher, budget) = (source.fetcher, source.budget);
        let (metadata, compression) = fetcher.read_filter_end(block, BlockRole::Filter, ctx)?;
        if compression != CompressionType::None.code() {
            return Ok(None);
        }
        let Some(layout) = ChunkLayout::new(block.size as usize, metadata) else { return Ok(None) };
        let mut sums = ChunkSums::new(&layout);
        if fetcher.verifies() {
            let _buffers = budget.cache.reserve(Role::ReadBuffers, 2 * STREAM_LEN);
            fetcher.stream(block, BlockRole::Filter, ctx, |bytes| sums.update(bytes))?;
            if sums.rest() != metadata {
                let error = Error::corruption("two reads of the filter's metadata differ");
                return Err(fetcher.place(error, block, BlockRole::Filter));
            }
        }
        let sums: Box<[u32]> = sums.sums.into();
        Ok(Some(Self {
            block,
            slots: budget.slots(Role::FilterPiece, layout.count()),
            _charge: budget.metadata_cache.reserve(Role::TopLevel, size_of_val(&*sums)),
            layout,
            sums,
        }))
    }

    /// How the filter is cut.
    #[inline]
    pub(super) fn layout(&self) -> &ChunkLayout {
        &self.layout
    }

    /// The chunks that are cached.
    #[inline]
    pub(super) fn slots(&self) -> &Slots<Chunk> {
        &self.slots
    }

    /// What it costs to read chunk `number`.
    pub(super) fn cost(&self, number: usize) -> u32 {
        TableBudget::plain_cost(self.layout.range(number).len() as u64)
    }

    /// Chunk `number`, read and verified.
    pub(super) fn fetch(
        &self,
        number: usize,
        source: FilterSource<'_>,
        ctx: &mut ReadContext,
    ) -> Result<FilterChunk> {
        let (range, sum) = (self.layout.range(number), self.sums.get(number).copied());
        source.fetcher.fetch_part(self.block, BlockRole::Filter, range, sum, ctx, |bytes| {
            Ok(FilterChunk::new(bytes))
        })
    }
}

/// Sums of the chunks of a filter that passes by.
struct ChunkSums<'l> {
    layout: &'l ChunkLayout,
    sums: Vec<u32>,
    /// Bytes from the start of the next chunk on.
    pending: Vec<u8>,
}

impl<'l> ChunkSums<'l> {
    fn new(layout: &'l ChunkLayout) -> Self {
        Self { layout, sums: Vec::new(), pending: Vec::new() }
    }

    /// Takes the next bytes of the block.
    fn update(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        let base = self.layout.range(self.sums.len()).start;
        let mut start = base;
        while self.sums.len() < self.layout.count() {
            let range = self.layout.range(self.sums.len());
            let Some(chunk) = self.pending.get(range.start - base..range.end - base) else { break };
            self.sums.push(part_sum(chunk));
            start = self.layout.range(self.sums.len()).start;
        }
        self.pending.drain(..start - base);
    }

    /// What stands behind the chunks, after the whole block has passed: its metadata.
    fn rest(&self) -> [u8; FilterMeta::LEN] {
        self.pending.last_chunk().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_depend_on_how_the_block_passes_by() {
        for metadata in [[0xff, 0, 6, 0, 0], [0xfe, 0, 100, 0, 0]] {
            let mut block: Vec<u8> = (0..100_000).map(|at| (at * 7 % 251) as u8).collect();
            block.extend(metadata);
            let layout = ChunkLayout::new(block.len(), metadata).unwrap();
            let expected: Vec<u32> =
                (0..layout.count()).map(|number| part_sum(&block[layout.range(number)])).collect();
            for piece in [1000, 4096, 65_536, 200_000] {
                let mut sums = ChunkSums::new(&layout);
                block.chunks(piece).for_each(|bytes| sums.update(bytes));
                assert_eq!(sums.sums, expected);
                assert_eq!(sums.rest(), metadata);
            }
        }
    }
}
