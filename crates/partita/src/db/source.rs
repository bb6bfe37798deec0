//! The walk over a view: its sources (memtables, tables of level 0, sorted levels), and what becomes of them.

use std::sync::Arc;

use super::counters::SkipCounts;
use super::family::FamilyState;
use super::file_iter::FileIter;
use super::level_run::LevelRun;
use super::read::ReadPoint;
use super::scope::Scope;
use crate::error::Result;
use crate::iter::{
    Bounds, Cover, LevelIterator, MergingIterator, TruncatedTombstones, UncoveredIterator,
    VisibleIterator, VisibleOptions, walk_of_kinds,
};
use crate::key::{KeyOrder, PrefixExtractor, SeqNo};
use crate::memtable::MemTableIter;
use crate::table::ReadContext;
use crate::version::TableFile;

/// A walk over one source.
pub(super) enum Source {
    MemTable(MemTableIter),
    Table(FileIter),
    Level(LevelIterator<LevelRun>),
}

walk_of_kinds!(Source { MemTable, Table, Level });

/// All entries of a view that no range tombstone hides.
type ViewIterator = UncoveredIterator<Source, LevelRun>;

/// The user keys of a view with their values.
pub(super) struct ViewWalk {
    iter: VisibleIterator<ViewIterator>,
    scope: Arc<Scope>,
}

/// What a walk over a view shows, beside its moment.
pub(super) struct WalkOptions<'o> {
    pub(super) bounds: &'o Arc<Bounds>,
    pub(super) same_prefix: Option<PrefixExtractor>,
    pub(super) skipped_max: Option<u64>,
    pub(super) readahead_bytes: Option<usize>,
}

impl ViewWalk {
    /// A walk over what `point` sees, under the limits of `ctx`, that stands nowhere yet.
    pub(super) fn new(
        point: &ReadPoint<'_>,
        options: WalkOptions<'_>,
        ctx: &ReadContext,
    ) -> Result<Self> {
        let WalkOptions { bounds, same_prefix, skipped_max, readahead_bytes } = options;
        let order = point.family.family.key_order();
        let mut scope = Scope::new(order, ctx, bounds, same_prefix.is_some());
        scope.readahead_bytes = readahead_bytes;
        let scope = Arc::new(scope);
        let iter = Gather::new(order, point.seqno, bounds, &scope).view(point)?.finish();
        let visible = VisibleOptions {
            bounds: Arc::clone(bounds),
            merge_operator: point.family.merge_operator.clone(),
            same_prefix,
            skipped_max,
            ..VisibleOptions::new(order.clone(), point.seqno)
        };
        Ok(Self { iter: VisibleIterator::new(iter, visible), scope })
    }

    /// The walk itself.
    pub(super) fn iter(&self) -> &VisibleIterator<ViewIterator> {
        &self.iter
    }

    /// The walk, to be moved by steps.
    pub(super) fn iter_mut(&mut self) -> &mut VisibleIterator<ViewIterator> {
        &mut self.iter
    }

    /// The walk, to be moved to `target`, or to an end.
    pub(super) fn aim(&mut self, target: Option<&[u8]>) -> &mut VisibleIterator<ViewIterator> {
        let options = self.iter.options();
        if let Some(extractor) = &options.same_prefix {
            self.scope.aim_at_prefix(extractor, target, &options.bounds);
        }
        &mut self.iter
    }

    /// What the walk has passed over so far.
    pub(super) fn skipped(&self) -> SkipCounts {
        let (skipped, hidden) = (self.iter.skipped(), self.iter.inner().hidden_entries());
        SkipCounts {
            entries: skipped.entries() + hidden,
            tombstones: skipped.deletions + hidden,
            stretches: self.iter.inner().jumps(),
        }
    }

    /// What the walk has cost so far.
    pub(super) fn cost(&self) -> ReadContext {
        let mut cost = self.scope.cost();
        for source in self.iter.inner().merge().children() {
            let file = match source {
                Source::MemTable(_) => None,
                Source::Table(file) => Some(file),
                Source::Level(level) => level.current_iter(),
            };
            file.iter().for_each(|file| cost.add(file.table_iter().context()));
        }
        let skipped = self.skipped();
        cost.entries_skipped += skipped.entries;
        cost.tombstones_skipped += skipped.tombstones;
        cost.stretches_skipped += skipped.stretches;
        cost
    }
}

/// Gathers the sources of a view, newest first, with their range tombstones.
struct Gather<'s> {
    order: KeyOrder,
    bounds: Arc<Bounds>,
    scope: &'s Arc<Scope>,
    sources: Vec<Source>,
    cover: Cover<LevelRun>,
}

impl<'s> Gather<'s> {
    fn new(
        order: &KeyOrder,
        read_seqno: SeqNo,
        bounds: &Arc<Bounds>,
        scope: &'s Arc<Scope>,
    ) -> Self {
        Self {
            order: order.clone(),
            bounds: Arc::clone(bounds),
            scope,
            sources: Vec::new(),
            cover: Cover::new(order.clone(), read_seqno),
        }
    }

    /// Adds the whole view.
    fn view(mut self, point: &ReadPoint<'_>) -> Result<Self> {
        let ReadPoint { family, view, .. } = *point;
        for memtable in view.memtables() {
            for set in memtable.range_tombstone_sets() {
                self.cover.add(self.sources.len(), TruncatedTombstones::whole(set));
            }
            self.sources.push(Source::MemTable(memtable.iter()));
        }
        for (number, level) in view.version.levels().iter().enumerate() {
            if number == 0 {
                for file in level.files() {
                    self.table(family, file)?;
                }
            } else if !level.is_empty() {
                let run = Arc::new(LevelRun::new(family, &view.version, number, self.scope));
                self.cover.add_run(self.sources.len(), Arc::clone(&run));
                let walk = LevelIterator::new(run, self.order.clone(), Arc::clone(&self.bounds));
                self.sources.push(Source::Level(walk));
            }
        }
        Ok(self)
    }

    /// Adds a table of level 0, unless all in it is outside of the bounds.
    fn table(&mut self, family: &FamilyState, file: &Arc<TableFile>) -> Result<()> {
        let is_outside = self.bounds.is_above(&self.order, file.smallest_user_key())
            || self.bounds.is_below(&self.order, file.largest_user_key());
        if is_outside {
            return Ok(());
        }
        let mut ctx = self.scope.context();
        let table = family.tables.get(file, 0, &mut ctx)?;
        if let Some(set) = table.range_tombstones_if_any(&mut ctx)? {
            let (smallest, largest) = (&file.smallest, &file.largest);
            let tombstones = TruncatedTombstones::in_file(Arc::clone(set), smallest, largest)?;
            self.cover.add(self.sources.len(), tombstones);
        }
        self.scope.charge(&ctx);
        self.sources.push(Source::Table(FileIter::new(file, &table, self.scope)));
        Ok(())
    }

    fn finish(self) -> ViewIterator {
        let merge = MergingIterator::new(self.sources, self.order);
        UncoveredIterator::new(merge, self.cover, self.bounds)
    }
}
