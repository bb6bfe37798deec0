//! Segments of a history as memtables, tables and runs of tables.

use std::sync::Arc;

use partita::io::MemoryWriter;
use partita::iter::{
    Bounds, Cover, InternalIterator, LevelIterator, MergingIterator, RangeTombstone,
    RangeTombstones, SortedRun, TruncatedTombstones, UncoveredIterator, VisibleIterator,
    VisibleOptions,
};
use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
use partita::memtable::{InsertHint, MemTable, MemTableIter, MemTableOptions};
use partita::options::TableOptions;
use partita::table::{
    ReadContext, ReaderOptions, TableBuilder, TableContext, TableIter, TableReader,
};

use super::history::Write;

pub(crate) fn seqno(n: usize) -> SeqNo {
    SeqNo::new(n as u64).unwrap()
}

/// A table with its bounds as the MANIFEST would have them.
pub(crate) struct File {
    table: Arc<TableReader>,
    smallest: Vec<u8>,
    largest: Vec<u8>,
}

/// Tables one behind the other.
pub(crate) struct Run(Vec<File>);

impl Run {
    /// The tables up to this one, and the others.
    pub(crate) fn split_at(mut self, at: usize) -> (Self, Self) {
        let behind = self.0.split_off(at);
        (self, Self(behind))
    }
}

impl SortedRun for Run {
    type Iter = TableIter;

    fn file_count(&self) -> usize {
        self.0.len()
    }

    fn smallest(&self, at: usize) -> &[u8] {
        &self.0[at].smallest
    }

    fn largest(&self, at: usize) -> &[u8] {
        &self.0[at].largest
    }

    fn open(&self, at: usize) -> partita::Result<TableIter> {
        Ok(self.0[at].table.iter())
    }

    fn range_tombstones(&self, at: usize) -> partita::Result<Option<Arc<RangeTombstones>>> {
        let tombstones = self.0[at].table.range_tombstones(&mut ReadContext::default())?;
        Ok(Some(Arc::clone(tombstones)))
    }
}

pub(crate) enum Source {
    MemTable(Arc<MemTable>),
    Table(Run),
    Level(Arc<Run>),
}

pub(crate) enum Child {
    MemTable(MemTableIter),
    Table(TableIter),
    Level(LevelIterator<Run>),
}

macro_rules! of_child {
    ($self:expr, $child:ident => $body:expr) => {
        match $self {
            Child::MemTable($child) => $body,
            Child::Table($child) => $body,
            Child::Level($child) => $body,
        }
    };
}

impl InternalIterator for Child {
    fn is_valid(&self) -> bool {
        of_child!(self, child => child.is_valid())
    }

    fn seek_to_first(&mut self) -> partita::Result<()> {
        of_child!(self, child => child.seek_to_first())
    }

    fn seek_to_last(&mut self) -> partita::Result<()> {
        of_child!(self, child => child.seek_to_last())
    }

    fn seek(&mut self, target: &[u8]) -> partita::Result<()> {
        of_child!(self, child => child.seek(target))
    }

    fn seek_for_prev(&mut self, target: &[u8]) -> partita::Result<()> {
        of_child!(self, child => child.seek_for_prev(target))
    }

    fn next(&mut self) -> partita::Result<()> {
        of_child!(self, child => child.next())
    }

    fn prev(&mut self) -> partita::Result<()> {
        of_child!(self, child => child.prev())
    }

    fn key(&self) -> &[u8] {
        of_child!(self, child => child.key())
    }

    fn value(&self) -> &[u8] {
        of_child!(self, child => child.value())
    }
}

/// An encoded internal key and its value.
type Point = (Vec<u8>, Vec<u8>);

/// Point entries in order, and range tombstones, of writes whose first has this number.
fn entries(first: usize, writes: &[Write], order: &KeyOrder) -> (Vec<Point>, Vec<RangeTombstone>) {
    let (mut points, mut tombstones) = (Vec::new(), Vec::new());
    for (at, write) in writes.iter().enumerate() {
        let seqno = seqno(first + at);
        let mut point = |key: &[u8], value_type, value: &[u8]| {
            points.push((InternalKey::new(key, seqno, value_type).encode(), value.to_vec()));
        };
        match write {
            Write::Put(key, value) => point(key, ValueType::Value, value),
            Write::Delete(key) => point(key, ValueType::Deletion, b""),
            Write::SingleDelete(key) => point(key, ValueType::SingleDeletion, b""),
            Write::Merge(key, operand) => point(key, ValueType::Merge, operand),
            Write::DeleteRange(start, end) => {
                if order.compare(start, end).is_lt() {
                    tombstones.push(RangeTombstone {
                        start: start.clone(),
                        end: end.clone(),
                        seqno,
                    });
                }
            }
        }
    }
    points.sort_by(|a, b| order.compare_internal(&a.0, &b.0));
    tombstones.sort_by(|a, b| order.compare(&a.start, &b.start).then(b.seqno.cmp(&a.seqno)));
    (points, tombstones)
}

pub(crate) fn memtable(first: usize, writes: &[Write], order: &KeyOrder) -> Arc<MemTable> {
    let options = MemTableOptions { order: order.clone(), ..MemTableOptions::default() };
    let memtable = Arc::new(MemTable::new(options).unwrap());
    let mut hint = InsertHint::default();
    for (at, write) in writes.iter().enumerate() {
        let seqno = seqno(first + at);
        let mut writer = memtable.writer(&mut hint);
        match write {
            Write::Put(key, value) => writer.insert(seqno, ValueType::Value, key, value),
            Write::Delete(key) => writer.insert(seqno, ValueType::Deletion, key, b""),
            Write::SingleDelete(key) => writer.insert(seqno, ValueType::SingleDeletion, key, b""),
            Write::Merge(key, operand) => writer.insert(seqno, ValueType::Merge, key, operand),
            Write::DeleteRange(start, end) => writer.delete_range(seqno, start, end),
        }
        .unwrap();
    }
    memtable
}

fn user_key(encoded: &[u8]) -> &[u8] {
    &encoded[..encoded.len() - 8]
}

fn range_end(user_key: &[u8]) -> Vec<u8> {
    InternalKey::new(user_key, SeqNo::MAX, ValueType::RangeDeletion).encode()
}

/// Writes the segment as a run of tables, cut before the points of these numbers, as compactions cut: tombstones go whole
/// into each table they reach into, and only the bounds are clipped.
pub(crate) fn run(first: usize, writes: &[Write], order: &KeyOrder, cuts: &[usize]) -> Run {
    let (points, tombstones) = entries(first, writes, order);
    let mut cuts: Vec<usize> =
        cuts.iter().map(|cut| cut % points.len().max(1)).filter(|cut| *cut > 0).collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts.push(points.len());
    let mut files = Vec::new();
    let mut lower: Option<Vec<u8>> = None;
    let mut start = 0;
    for cut in cuts {
        let inside = &points[start..cut];
        let upper = points.get(cut).map(|(next, _)| match inside.last() {
            Some((last, _)) if user_key(last) == user_key(next) => last.clone(),
            _ => range_end(user_key(next)),
        });
        files.extend(file(inside, &tombstones, order, lower.as_deref(), upper.as_deref()));
        // Where a user key goes over the cut, the next table starts with its first entry.
        lower = points.get(cut).map(|(next, _)| match inside.last() {
            Some((last, _)) if user_key(last) == user_key(next) => next.clone(),
            _ => range_end(user_key(next)),
        });
        start = cut;
    }
    Run(files)
}

fn file(
    points: &[Point],
    tombstones: &[RangeTombstone],
    order: &KeyOrder,
    lower: Option<&[u8]>,
    upper: Option<&[u8]>,
) -> Option<File> {
    let writer = MemoryWriter::new("run.sst");
    let options = TableOptions { block_size: 64, ..TableOptions::default() };
    let context = TableContext::default();
    let mut builder =
        TableBuilder::new(Box::new(writer.clone()), options, order.clone(), context).unwrap();
    let mut bounds: Vec<Vec<u8>> = Vec::new();
    bounds.extend(points.first().map(|(key, _)| key.clone()));
    bounds.extend(points.last().map(|(key, _)| key.clone()));
    for (key, value) in points {
        builder.add(key, value).unwrap();
    }
    for tombstone in tombstones {
        let own = InternalKey::new(&tombstone.start, tombstone.seqno, ValueType::RangeDeletion);
        let (mut start, mut end) = (own.encode(), range_end(&tombstone.end));
        if let Some(lower) = lower
            && order.compare_internal(&start, lower).is_lt()
        {
            let key = user_key(lower);
            start = InternalKey::new(key, tombstone.seqno, ValueType::RangeDeletion).encode();
            if order.compare_internal(&start, lower).is_lt() {
                start = lower.to_vec();
            }
        }
        if let Some(upper) = upper
            && order.compare_internal(&end, upper).is_gt()
        {
            end = upper.to_vec();
        }
        if order.compare_internal(&start, &end).is_gt() {
            continue;
        }
        let RangeTombstone { start: from, end: to, seqno } = tombstone;
        builder.add_range_tombstone(from, to, *seqno).unwrap();
        bounds.extend([start, end]);
    }
    bounds.sort_by(|a, b| order.compare_internal(a, b));
    let (smallest, largest) = (bounds.first()?.clone(), bounds.last()?.clone());
    builder.finish().unwrap();
    let file = Arc::new(writer.into_file());
    let ctx = &mut ReadContext::default();
    let table = TableReader::open(file, &ReaderOptions::default(), ctx).unwrap();
    Some(File { table: Arc::new(table), smallest, largest })
}

/// An iterator over these sources, the oldest first.
pub(crate) fn iterator(
    sources: &[Source],
    options: VisibleOptions,
) -> VisibleIterator<UncoveredIterator<Child, Run>> {
    iterator_over(sources, options, |child| child)
}

/// The same with every walk over one source in something else.
pub(crate) fn iterator_over<I: InternalIterator>(
    sources: &[Source],
    options: VisibleOptions,
    wrap: impl FnMut(Child) -> I,
) -> VisibleIterator<UncoveredIterator<I, Run>> {
    let order = options.order.clone();
    let bounds: Arc<Bounds> = Arc::clone(&options.bounds);
    let mut children = Vec::new();
    let mut cover = Cover::new(order.clone(), options.read_seqno);
    for source in sources.iter().rev() {
        let at = children.len();
        match source {
            Source::MemTable(memtable) => {
                for set in memtable.range_tombstone_sets() {
                    cover.add(at, TruncatedTombstones::whole(set));
                }
                children.push(Child::MemTable(memtable.iter()));
            }
            Source::Table(run) => {
                let Some(file) = run.0.first() else { continue };
                let set = run.range_tombstones(0).unwrap().unwrap();
                let tombstones =
                    TruncatedTombstones::in_file(set, &file.smallest, &file.largest).unwrap();
                cover.add(at, tombstones);
                children.push(Child::Table(file.table.iter()));
            }
            Source::Level(run) => {
                cover.add_run(at, Arc::clone(run));
                let level = LevelIterator::new(Arc::clone(run), order.clone(), Arc::clone(&bounds));
                children.push(Child::Level(level));
            }
        }
    }
    let merge = MergingIterator::new(children.into_iter().map(wrap).collect(), order);
    VisibleIterator::new(UncoveredIterator::new(merge, cover, bounds), options)
}
