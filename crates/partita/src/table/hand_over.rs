//! Warm hand-over: what is hot in a table is loaded for those that take its place, before it goes.
//!
//! A compaction replaces files whose index and filter pieces are cached by files of which nothing is. Without a hand-over
//! each lookup after it misses on every level of the new files at once. So, while the old file still serves:
//!
//! ```text
//! old index piece cached        -> its key range is hot: the successors' index pieces there
//! old filter partition cached   -> the same with the successors' filter partitions
//! old filter in chunks          -> the cached share of them: as many chunks of the successors' filters
//! ```
//!
//! Whether the filter pays is handed over, too, and filters that do not are left where they are.
//!
//! Keys spread over the chunks of a filter by their hash, so chunks have no range, and any are as good as others. Data
//! blocks are left to be read as they are asked for: they are most of the bytes, and a miss on one costs one read.

use std::sync::Arc;

use super::filter_chunks::FilterChunks;
use super::filter_reader::FilterPieces;
use super::index::Partitions;
use super::pin::Pin;
use super::{ReadContext, TableReader};
use crate::cache::CacheObject;
use crate::error::Result;
use crate::key::KeyOrder;

/// What was loaded for successors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandOver {
    /// Pieces of indexes.
    pub index_pieces: u64,
    /// Pieces of filters.
    pub filter_pieces: u64,
    /// Bytes of all of them in the file.
    pub bytes: u64,
}

impl TableReader {
    /// Loads pieces of the index and filter of `successors` for the key ranges that are hot in this table, which they are
    /// about to replace.
    ///
    /// * `share_of_budget`: of the budget that pieces are charged to, from 0 to 1; no more bytes than that are loaded.
    /// * Errors: those of the reads. What was loaded before one stays.
    /// * Cost: the successors' top levels, and a read for each piece. Call it from the thread that installs the new files,
    ///   not from one that answers lookups.
    pub fn hand_over_to(
        &self,
        successors: &[Arc<Self>],
        share_of_budget: f64,
        ctx: &mut ReadContext,
    ) -> Result<HandOver> {
        let limit =
            self.budget.metadata_cache.budget_bytes() as f64 * share_of_budget.clamp(0.0, 1.0);
        let mut warmer = Warmer { left: limit as u64, done: HandOver::default() };
        let index_heat = match self.index.get() {
            Some(index) => hot_ranges(index.partitions()),
            None => Vec::new(),
        };
        let filter_heat = match self.filter.pieces.get() {
            Some(FilterPieces::Filters(filters)) => Heat::Ranges(hot_ranges(filters)),
            Some(FilterPieces::Chunks(chunks)) => Heat::Share(cached_share(chunks)),
            Some(FilterPieces::Damaged) | None => Heat::Ranges(Vec::new()),
        };
        for successor in successors {
            warmer.warm_index(successor, &index_heat, ctx)?;
            if self.filter.is_usable() {
                successor.filter_habit.take_after(&self.filter_habit);
            }
            if successor.filter_habit.asks(successor.filter_use) {
                warmer.warm_filter(successor, &filter_heat, &index_heat, ctx)?;
            }
        }
        Ok(warmer.done)
    }
}

/// Keys in (`after`, `up_to`]; `None` stands for the first or last key there is.
struct HotRange<'t> {
    after: Option<&'t [u8]>,
    up_to: Option<&'t [u8]>,
}

/// What of a filter is cached.
enum Heat<'t> {
    Ranges(Vec<HotRange<'t>>),
    /// From 0 to 1.
    Share(f64),
}

/// The ranges of the pieces that are cached, neighbours together.
fn hot_ranges<T: CacheObject>(pieces: &Partitions<T>) -> Vec<HotRange<'_>> {
    let mut ranges: Vec<HotRange<'_>> = Vec::new();
    let mut before_is_hot = false;
    for at in 0..pieces.len() {
        let is_hot = pieces.slots().is_cached(at);
        // Behind the last separator a successor may have keys that another replaced file had.
        let up_to = (at + 1 < pieces.len()).then(|| pieces.separator(at));
        match ranges.last_mut().filter(|_| is_hot && before_is_hot) {
            Some(range) => range.up_to = up_to,
            None if is_hot => {
                let after = at.checked_sub(1).map(|before| pieces.separator(before));
                ranges.push(HotRange { after, up_to });
            }
            None => {}
        }
        before_is_hot = is_hot;
    }
    ranges
}

fn cached_share(chunks: &FilterChunks) -> f64 {
    let count = chunks.layout().count();
    let cached = (0..count).filter(|&number| chunks.slots().is_cached(number)).count();
    cached as f64 / count.max(1) as f64
}

/// The pieces of a table that the hot ranges of another one overlap, each once, in order.
fn overlapping<T: CacheObject>(
    pieces: &Partitions<T>,
    order: &KeyOrder,
    ranges: &[HotRange<'_>],
) -> Vec<usize> {
    let mut found: Vec<usize> = ranges
        .iter()
        .flat_map(|range| pieces.overlapping(order, range.after, range.up_to))
        .collect();
    found.dedup();
    found
}

/// Loads pieces as long as there are bytes left to load.
struct Warmer {
    left: u64,
    done: HandOver,
}

impl Warmer {
    /// Whether a piece of `len` bytes may be loaded.
    fn takes(&mut self, len: u64) -> bool {
        let fits = len <= self.left;
        if fits {
            self.left -= len;
            self.done.bytes += len;
        } else {
            self.left = 0;
        }
        fits
    }

    fn warm_index(
        &mut self,
        table: &TableReader,
        heat: &[HotRange<'_>],
        ctx: &mut ReadContext,
    ) -> Result<()> {
        if heat.is_empty() || self.left == 0 {
            return Ok(());
        }
        let index = table.index(ctx)?;
        let pieces = index.partitions();
        for at in overlapping(pieces, &table.order, heat) {
            let len = pieces.handle(at).map_or(0, |handle| handle.size);
            if !self.takes(len) {
                break;
            }
            index.get(at, table.index_source(), ctx)?;
            self.done.index_pieces += 1;
        }
        Ok(())
    }

    fn warm_filter(
        &mut self,
        table: &TableReader,
        heat: &Heat<'_>,
        index_heat: &[HotRange<'_>],
        ctx: &mut ReadContext,
    ) -> Result<()> {
        let (ranges, share) = match heat {
            Heat::Ranges(ranges) => (&ranges[..], if ranges.is_empty() { 0.0 } else { 1.0 }),
            // Where the old filter had no ranges, those of the index tell what is asked for.
            Heat::Share(share) => (index_heat, *share),
        };
        if share == 0.0 || self.left == 0 {
            return Ok(());
        }
        match table.filter.pieces(table.filter_source(), &mut Pin::default(), ctx)? {
            Some(FilterPieces::Filters(filters)) => {
                for at in overlapping(filters, &table.order, ranges) {
                    let len = filters.handle(at).map_or(0, |handle| handle.size);
                    if !self.takes(len) {
                        break;
                    }
                    table.filter.load_filter(filters, at, table.filter_source(), ctx)?;
                    self.done.filter_pieces += 1;
                }
            }
            Some(FilterPieces::Chunks(chunks)) => {
                let count = (chunks.layout().count() as f64 * share).round() as usize;
                for number in 0..count {
                    if !self.takes(chunks.layout().range(number).len() as u64) {
                        break;
                    }
                    table.filter.load_chunk(chunks, number, table.filter_source(), ctx)?;
                    self.done.filter_pieces += 1;
                }
            }
            Some(FilterPieces::Damaged) | None => {}
        }
        Ok(())
    }
}
