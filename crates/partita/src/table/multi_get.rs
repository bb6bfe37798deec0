//! Many keys at once: the same answers as a loop of gets, with the waiting shared.
//!
//! ```text
//! filters   the lines of a batch of keys are asked for before the first is tested
//! index     names a data block for each key that is left
//! blocks    each is read once however many keys are in it, in the order of the file; neighbours by one read
//! ```

use super::pin::Pin;
use super::readahead::{READ_LEN_MAX, Readahead};
use super::reader::{InIndex, Searched, touch};
use super::{BlockHandle, BlockRole, FoundEntry, LookupKey, ReadContext, TableReader};
use crate::error::Result;
use crate::key::InternalKey;

/// Keys whose filter lines are on their way from memory at the same time.
const BATCH_LEN: usize = 16;
/// Blocks that are no further apart are read together, with what lies between them: it costs less than another read.
const GAP_MAX: u64 = 8 * 1024;

/// Keys in a block for which its search directory is built at once.
const DIRECTORY_KEYS_MIN: usize = 8;

/// A key that the filter did not rule out.
struct Wanted<'k> {
    /// Its place among the keys.
    at: usize,
    /// The key as it is in the file.
    target: InternalKey<'k>,
    /// The block in which its newest visible entry would be.
    handle: BlockHandle,
    /// Whether the index says that entries of the key may be behind that block's end.
    ends_in_key: bool,
}

impl TableReader {
    /// The newest visible entry of each key, as [`TableReader::get`] finds it.
    ///
    /// * `keys`: in any order, with repetitions; `result[i]` belongs to `keys[i]`.
    /// * Errors: the first that a key meets; then there are no answers.
    /// * Cost: keys that are close to each other share blocks, so it pays to ask for what belongs together at once.
    pub fn multi_get(
        &self,
        keys: &[LookupKey<'_>],
        ctx: &mut ReadContext,
    ) -> Result<Vec<Option<FoundEntry>>> {
        let mut found = vec![None; keys.len()];
        let mut wanted = self.wanted(keys, &mut found, ctx)?;
        wanted.sort_by_key(|wanted| wanted.handle.offset);
        let mut ahead = Readahead::new(0);
        let mut rest = &wanted[..];
        while let Some((run, behind)) = take_run(rest) {
            if !ctx.cache_only {
                self.read_run(run, &mut ahead);
            }
            for of_block in run.chunk_by(|a, b| a.handle == b.handle) {
                self.search_block(of_block, keys, &mut ahead, &mut found, ctx)?;
            }
            rest = behind;
        }
        if self.asks_filter() {
            ctx.filters_true_positive += found.iter().flatten().count() as u64;
        }
        Ok(found)
    }

    /// Asks filter and index. Keys that need a walk over the index are answered on the way.
    fn wanted<'k>(
        &self,
        keys: &[LookupKey<'k>],
        found: &mut [Option<FoundEntry>],
        ctx: &mut ReadContext,
    ) -> Result<Vec<Wanted<'k>>> {
        let mut wanted = Vec::with_capacity(keys.len());
        for (number, batch) in keys.chunks(BATCH_LEN).enumerate() {
            let asks = self.asks_filter();
            if asks && batch.len() > 1 {
                batch.iter().for_each(|key| self.prefetch_filter(key));
            }
            for (key, at) in batch.iter().zip(number * BATCH_LEN..) {
                let pin = &mut Pin::default();
                if asks && !self.filter.may_contain(self.filter_source(), key, pin, ctx)? {
                    continue;
                }
                let Some(target) = self.stored_target(key) else { continue };
                match self.find_in_index(target.user_key, target.packed(), pin, ctx)? {
                    InIndex::Block { handle, ends_in_key } => {
                        wanted.push(Wanted { at, target, handle, ends_in_key });
                    }
                    InIndex::Absent => {}
                    InIndex::PastEnd => {
                        found[at] = self.get_by_walking(key, target, pin, ctx)?;
                    }
                }
            }
        }
        Ok(wanted)
    }

    /// Reads the blocks of a run together that are not cached, if there are several. What cannot be read so is left to
    /// each block's own read.
    fn read_run(&self, run: &[Wanted<'_>], ahead: &mut Readahead) {
        let mut missing =
            run.iter().map(|wanted| wanted.handle).filter(|handle| !self.has_block(*handle));
        let Some(first) = missing.next() else { return };
        if let Some(last) = missing.last().filter(|last| *last != first)
            && let Some(end) = last.end()
        {
            self.fetcher.read_ahead(first.offset..end, ahead);
        }
    }

    /// Looks for keys in the block that they all have in common.
    fn search_block(
        &self,
        wanted: &[Wanted<'_>],
        keys: &[LookupKey<'_>],
        ahead: &mut Readahead,
        found: &mut [Option<FoundEntry>],
        ctx: &mut ReadContext,
    ) -> Result<()> {
        let Some(handle) = wanted.first().map(|wanted| wanted.handle) else { return Ok(()) };
        let block = self.data_block_ahead(handle, ahead, ctx)?;
        let place = |error| self.fetcher.place(error, handle, BlockRole::Data);
        // So many keys in one block are searches enough for a directory.
        let searches = if wanted.len() < DIRECTORY_KEYS_MIN { 1 } else { 2 };
        for _ in 0..searches {
            touch(block.entry()).map_err(place)?;
        }
        for Wanted { at, target, ends_in_key, .. } in wanted {
            found[*at] = match self.search(block.entry(), *target).map_err(place)? {
                Searched::Entry(entry) => Some(entry),
                Searched::PastEnd if *ends_in_key => {
                    self.get_by_walking(&keys[*at], *target, &mut Pin::default(), ctx)?
                }
                Searched::Absent | Searched::PastEnd => None,
            };
        }
        Ok(())
    }
}

/// The first keys, by the place of their blocks, whose blocks are worth one read; and the others.
fn take_run<'w, 'k>(wanted: &'w [Wanted<'k>]) -> Option<(&'w [Wanted<'k>], &'w [Wanted<'k>])> {
    let first = wanted.first()?.handle;
    let mut end = first.end().unwrap_or(u64::MAX);
    let len = wanted
        .iter()
        .take_while(|wanted| {
            let handle = wanted.handle;
            let Some(handle_end) = handle.end() else { return handle == first };
            let near = handle.offset <= end.saturating_add(GAP_MAX)
                && handle_end.saturating_sub(first.offset) <= READ_LEN_MAX as u64;
            if near {
                end = end.max(handle_end);
            }
            near || handle == first
        })
        .count();
    Some(wanted.split_at(len))
}
