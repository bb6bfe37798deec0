//! What a compaction reads: its files as sorted runs, merged.

use std::sync::Arc;

use super::picker::Compaction;
use super::tombstones::InputTombstones;
use crate::error::Result;
use crate::iter::{
    Bounds, LevelIterator, MergingIterator, RangeTombstones, SortedRun, walk_of_kinds,
};
use crate::key::KeyOrder;
use crate::table::{ReadContext, TableIter};
use crate::version::{TableCache, TableFile};

/// Files of one sorted level.
pub(super) struct InputRun {
    tables: Arc<TableCache>,
    level: usize,
    files: Box<[Arc<TableFile>]>,
}

impl SortedRun for InputRun {
    type Iter = TableIter;

    fn file_count(&self) -> usize {
        self.files.len()
    }

    fn smallest(&self, at: usize) -> &[u8] {
        &self.files[at].smallest
    }

    fn largest(&self, at: usize) -> &[u8] {
        &self.files[at].largest
    }

    fn open(&self, at: usize) -> Result<TableIter> {
        walk(&self.tables, &self.files[at], self.level)
    }

    fn range_tombstones(&self, at: usize) -> Result<Option<Arc<RangeTombstones>>> {
        tombstones(&self.tables, &self.files[at], self.level)
    }
}

/// A walk that leaves the cache as it is: nobody asks for these blocks again.
fn walk(tables: &TableCache, file: &Arc<TableFile>, level: usize) -> Result<TableIter> {
    let mut iter = tables.get(file, level, &mut ReadContext::default())?.iter();
    iter.pass_cache_by();
    Ok(iter)
}

fn tombstones(
    tables: &TableCache,
    file: &Arc<TableFile>,
    level: usize,
) -> Result<Option<Arc<RangeTombstones>>> {
    let ctx = &mut ReadContext::default();
    let table = tables.get(file, level, ctx)?;
    Ok(table.range_tombstones_if_any(ctx)?.cloned())
}

/// A walk over one source.
pub(super) enum Input {
    Table(TableIter),
    Run(LevelIterator<InputRun>),
}

walk_of_kinds!(Input { Table, Run });

/// All entries of the input, in order.
///
/// * `bounds`: files wholly outside are not opened.
pub(super) fn merged(
    compaction: &Compaction,
    tables: &Arc<TableCache>,
    order: &KeyOrder,
    bounds: &Arc<Bounds>,
) -> Result<MergingIterator<Input>> {
    let mut sources = Vec::new();
    for input in &compaction.inputs {
        if input.level == 0 {
            for file in input.files.iter().filter(|file| meets(file, order, bounds)) {
                sources.push(Input::Table(walk(tables, file, 0)?));
            }
        } else if !input.files.is_empty() {
            let run = Arc::new(InputRun {
                tables: Arc::clone(tables),
                level: input.level,
                files: input.files.iter().cloned().collect(),
            });
            let walk = LevelIterator::new(run, order.clone(), Arc::clone(bounds));
            sources.push(Input::Run(walk));
        }
    }
    Ok(MergingIterator::new(sources, order.clone()))
}

fn meets(file: &TableFile, order: &KeyOrder, bounds: &Bounds) -> bool {
    !bounds.is_above(order, file.smallest_user_key())
        && !bounds.is_below(order, file.largest_user_key())
}

/// The range tombstones of all input files that have some.
pub(super) fn range_tombstones<'c>(
    compaction: &'c Compaction,
    tables: &TableCache,
) -> Result<Vec<InputTombstones<'c>>> {
    let mut found = Vec::new();
    for input in &compaction.inputs {
        for (at, file) in input.files.iter().enumerate() {
            let Some(set) = tombstones(tables, file, input.level)?.filter(|set| !set.is_empty())
            else {
                continue;
            };
            let next = input.files.get(at + 1).filter(|_| input.level > 0);
            let next = next.map(|next| next.smallest_user_key());
            found.push(InputTombstones { set, file, next });
        }
    }
    Ok(found)
}
