use std::ops::Range;

use super::partitions::Partitions;
use super::slices::{Cuts, block_of, cut};
use crate::cache::{Admission, Held, Role};
use crate::error::Result;
use crate::key::KeyOrder;
use crate::table::block::{IndexBlock, IndexFormat};
use crate::table::budget::TableBudget;
use crate::table::fetch::{BlockFetcher, part_sum};
use crate::table::{BlockHandle, BlockRole, ReadContext};
use crate::util::compression::CompressionType;

/// The pieces of a table's index, whatever its layout in the file.
///
/// ```text
/// two levels            each partition is a piece
/// one block, small      it is the piece
/// one block, large      runs of its restart intervals are the pieces: slices.rs
/// ```
#[derive(Debug)]
pub(crate) struct IndexPieces {
    /// Of slices the handles tell where they stand in the block's contents.
    partitions: Partitions<IndexBlock>,
    sliced: Option<Sliced>,
}

#[derive(Debug)]
struct Sliced {
    block: BlockHandle,
    stored: Stored,
}

/// How a block stands in the file that is used in slices.
#[derive(Debug)]
enum Stored {
    /// As it is, so that a slice can be read alone.
    Plain {
        /// What each slice is verified by; none if nothing is verified.
        sums: Box<[u32]>,
    },
    Compressed,
}

/// What it takes to read a table's index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexSource<'t> {
    pub(crate) fetcher: &'t BlockFetcher,
    pub(crate) budget: &'t TableBudget,
    pub(crate) order: &'t KeyOrder,
    pub(crate) format: IndexFormat,
    /// The index, or its top level.
    pub(crate) block: BlockHandle,
    pub(crate) two_level: bool,
}

/// Slices enter the cache together if all of them take no more than this part of the budget.
const FILL_SHARE: usize = 64;

impl IndexSource<'_> {
    /// What the pieces are in the file.
    pub(crate) fn piece_role(&self) -> BlockRole {
        if self.two_level { BlockRole::IndexPartition } else { BlockRole::Index }
    }

    fn parse(&self, contents: Vec<u8>) -> Result<IndexBlock> {
        IndexBlock::parse_index(contents, self.format, self.order)
    }

    /// The piece that is these entries.
    fn parse_slice(&self, entries: &[u8]) -> Result<IndexBlock> {
        self.parse(block_of(entries, self.format)?)
    }

    /// Whether all of a block of this length may enter the cache at once.
    fn fills(&self, how: Admission, contents_len: usize) -> bool {
        how == Admission::Fill
            && contents_len <= self.budget.metadata_cache.budget_bytes() / FILL_SHARE
    }
}

impl IndexPieces {
    /// Finds the pieces.
    ///
    /// * Cost: reads the top level, or all of an index that has one block.
    pub(crate) fn read(source: IndexSource<'_>, ctx: &mut ReadContext) -> Result<Self> {
        let IndexSource { fetcher, budget, order, format, block, two_level } = source;
        if two_level {
            let parse = |contents: Vec<u8>| {
                Partitions::parse(&contents, format, order, budget, Role::IndexPiece)
            };
            let partitions = fetcher.fetch_parsed(block, BlockRole::IndexTopLevel, ctx, parse)?;
            return Ok(Self { partitions, sliced: None });
        }
        let role = source.piece_role();
        let (contents, compression) = fetcher.fetch_with_type(block, role, ctx)?;
        let cuts =
            cut(&contents, format, order).map_err(|error| fetcher.place(error, block, role))?;
        let pieces = match cuts {
            None => Self {
                partitions: Partitions::single(block, budget, Role::IndexPiece),
                sliced: None,
            },
            Some(cuts) => Self::sliced(source, &contents, cuts, compression),
        };
        let how = budget.admission(ctx);
        if pieces.sliced.is_none() {
            pieces.partitions.slots().get_or_load(
                0,
                how,
                TableBudget::plain_cost(block.size),
                || source.parse(contents).map_err(|error| fetcher.place(error, block, role)),
            )?;
        } else if source.fills(how, contents.len()) {
            pieces.fill(&contents, source)?;
        }
        Ok(pieces)
    }

    fn sliced(source: IndexSource<'_>, contents: &[u8], cuts: Cuts, compression: u8) -> Self {
        let Cuts { separators, ranges } = cuts;
        let stored = if compression != CompressionType::None.code() {
            Stored::Compressed
        } else if source.fetcher.verifies() {
            let sums = ranges.iter().map(|range| part_sum(&contents[range.clone()]));
            Stored::Plain { sums: sums.collect() }
        } else {
            Stored::Plain { sums: Box::default() }
        };
        let handles = ranges
            .into_iter()
            .map(|range| BlockHandle { offset: range.start as u64, size: range.len() as u64 });
        let role = Role::IndexPiece;
        Self {
            partitions: Partitions::new(separators, handles.collect(), source.budget, role),
            sliced: Some(Sliced { block: source.block, stored }),
        }
    }

    /// The pieces' keys and slots.
    #[inline]
    pub(crate) fn partitions(&self) -> &Partitions<IndexBlock> {
        &self.partitions
    }

    /// The block that piece `at` is or belongs to.
    pub(crate) fn block_of(&self, at: usize) -> Option<BlockHandle> {
        match &self.sliced {
            Some(sliced) => Some(sliced.block),
            None => self.partitions.handle(at),
        }
    }

    /// Piece `at`, from the cache or the file; `None` behind the last one.
    pub(crate) fn get(
        &self,
        at: usize,
        source: IndexSource<'_>,
        ctx: &mut ReadContext,
    ) -> Result<Option<Held<IndexBlock>>> {
        let Some(handle) = self.partitions.handle(at) else { return Ok(None) };
        let slots = self.partitions.slots();
        let (how, role) = (source.budget.admission(ctx), source.piece_role());
        let cost = TableBudget::plain_cost(handle.size);
        let fetcher = source.fetcher;
        match &self.sliced {
            None => slots.get_or_load(at, how, cost, || {
                fetcher.fetch_parsed(handle, role, ctx, |contents| source.parse(contents))
            }),
            Some(Sliced { block, stored: Stored::Plain { sums } }) => {
                slots.get_or_load(at, how, cost, || {
                    let (range, sum) = (range_of(handle), sums.get(at).copied());
                    fetcher.fetch_part(*block, role, range, sum, ctx, |entries| {
                        source.parse_slice(entries)
                    })
                })
            }
            Some(Sliced { block, stored: Stored::Compressed }) => {
                let mut fetched = None;
                let cost = source.budget.data_cost(block.size);
                let piece = slots.get_or_load(at, how, cost, || {
                    let contents = fetcher.fetch(*block, role, ctx)?;
                    let entries = contents.get(range_of(handle)).unwrap_or_default();
                    let piece = source.parse_slice(entries);
                    fetched = Some(contents);
                    piece.map_err(|error| fetcher.place(error, *block, role))
                })?;
                // Not while loading: two threads that load two pieces would wait for each other's.
                if let Some(contents) = fetched.filter(|contents| source.fills(how, contents.len()))
                {
                    self.fill(&contents, source)?;
                }
                Ok(piece)
            }
        }
        .map(Some)
    }

    /// Puts the slices of a block into the cache that are not in it.
    fn fill(&self, contents: &[u8], source: IndexSource<'_>) -> Result<()> {
        let (slots, block) = (self.partitions.slots(), source.block);
        for (at, &handle) in self.partitions.handles().iter().enumerate() {
            if slots.is_cached(at) {
                continue;
            }
            let cost = match self.sliced {
                Some(Sliced { stored: Stored::Compressed, .. }) => {
                    source.budget.data_cost(block.size)
                }
                _ => TableBudget::plain_cost(handle.size),
            };
            slots.get_or_load(at, Admission::Fill, cost, || {
                source
                    .parse_slice(contents.get(range_of(handle)).unwrap_or_default())
                    .map_err(|error| source.fetcher.place(error, block, source.piece_role()))
            })?;
        }
        Ok(())
    }
}

fn range_of(slice: BlockHandle) -> Range<usize> {
    let start = slice.offset as usize;
    start..start.saturating_add(slice.size as usize)
}
