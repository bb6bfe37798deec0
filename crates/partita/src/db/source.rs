//! The sources of an iterator: memtables, tables of level 0, sorted levels.

use std::sync::Arc;

use super::family::FamilyState;
use super::level_run::LevelRun;
use super::read_view::ReadView;
use super::tombstones::tombstones_of;
use crate::error::Result;
use crate::iter::{
    Bounds, Cover, InternalIterator, LevelIterator, MergingIterator, TruncatedTombstones,
    UncoveredIterator,
};
use crate::key::{KeyOrder, SeqNo};
use crate::memtable::MemTableIter;
use crate::table::{ReadContext, TableIter};
use crate::version::TableFile;

/// A walk over one source.
pub(super) enum Source {
    MemTable(MemTableIter),
    Table(TableIter),
    Level(LevelIterator<LevelRun>),
}

macro_rules! each {
    ($source:expr, $inner:ident => $call:expr) => {
        match $source {
            Source::MemTable($inner) => $call,
            Source::Table($inner) => $call,
            Source::Level($inner) => $call,
        }
    };
}

impl InternalIterator for Source {
    #[inline]
    fn is_valid(&self) -> bool {
        each!(self, inner => inner.is_valid())
    }

    fn seek_to_first(&mut self) -> Result<()> {
        each!(self, inner => inner.seek_to_first())
    }

    fn seek_to_last(&mut self) -> Result<()> {
        each!(self, inner => inner.seek_to_last())
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        each!(self, inner => inner.seek(target))
    }

    fn seek_for_prev(&mut self, target: &[u8]) -> Result<()> {
        each!(self, inner => inner.seek_for_prev(target))
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        each!(self, inner => inner.next())
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        each!(self, inner => inner.prev())
    }

    #[inline]
    fn key(&self) -> &[u8] {
        each!(self, inner => inner.key())
    }

    #[inline]
    fn value(&self) -> &[u8] {
        each!(self, inner => inner.value())
    }
}

/// All entries of a view that no range tombstone hides.
pub(super) type ViewIterator = UncoveredIterator<Source, LevelRun>;

/// Gathers the sources of a view, newest first, with their range tombstones.
pub(super) struct Gather {
    order: KeyOrder,
    bounds: Arc<Bounds>,
    sources: Vec<Source>,
    cover: Cover<LevelRun>,
}

impl Gather {
    pub(super) fn new(order: &KeyOrder, read_seqno: SeqNo, bounds: &Arc<Bounds>) -> Self {
        Self {
            order: order.clone(),
            bounds: Arc::clone(bounds),
            sources: Vec::new(),
            cover: Cover::new(order.clone(), read_seqno),
        }
    }

    /// Adds the whole view.
    pub(super) fn view(
        mut self,
        family: &Arc<FamilyState>,
        view: &ReadView,
        ctx: &mut ReadContext,
    ) -> Result<Self> {
        for memtable in view.memtables() {
            for set in memtable.range_tombstone_sets() {
                self.cover.add(self.sources.len(), TruncatedTombstones::whole(set));
            }
            self.sources.push(Source::MemTable(memtable.iter()));
        }
        for (number, level) in view.version.levels().iter().enumerate() {
            if number == 0 {
                for file in level.files() {
                    self.table(family, file, ctx)?;
                }
            } else if !level.is_empty() {
                let run = Arc::new(LevelRun::new(family, &view.version, number, ctx));
                self.cover.add_run(self.sources.len(), Arc::clone(&run));
                let walk = LevelIterator::new(run, self.order.clone(), Arc::clone(&self.bounds));
                self.sources.push(Source::Level(walk));
            }
        }
        Ok(self)
    }

    fn table(
        &mut self,
        family: &FamilyState,
        file: &Arc<TableFile>,
        ctx: &mut ReadContext,
    ) -> Result<()> {
        let table = family.tables.get(file, 0, ctx)?;
        if let Some(tombstones) = tombstones_of(file, &table, ctx)? {
            self.cover.add(self.sources.len(), tombstones);
        }
        self.sources.push(Source::Table(table.iter_in(ctx)));
        Ok(())
    }

    pub(super) fn finish(self) -> ViewIterator {
        let merge = MergingIterator::new(self.sources, self.order);
        UncoveredIterator::new(merge, self.cover, self.bounds)
    }
}
