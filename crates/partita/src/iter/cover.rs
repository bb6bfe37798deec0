//! Which entries of a merge range tombstones hide, and how far one may jump.

use std::cmp::Ordering;
use std::sync::Arc;

use super::run::{SortedRun, first_file_up_to, partition_files};
use super::truncated::{Edge, Stretch};
use super::{Bounds, RangeTombstones, TruncatedTombstones};
use crate::error::Result;
use crate::key::{InternalKey, KeyOrder, PACKED_LEN, SeqNo, append_internal_key};

/// Where range tombstones are.
#[derive(Debug)]
enum Source<R> {
    Set(TruncatedTombstones),
    /// One file at a time, opened when the walk is between its bounds; the file's number and what it has.
    Run {
        run: Arc<R>,
        file: Option<(usize, Option<TruncatedTombstones>)>,
    },
}

#[derive(Debug)]
struct Part<R> {
    /// The child of the merge whose tombstones these are.
    child: usize,
    source: Source<R>,
    /// Where the walk was last, and the answer there.
    stretch: Option<Stretch>,
}

/// All range tombstones that a merge of many sources has to mind, as a reader at one sequence number sees them.
///
/// It remembers the stretch around the last question over which the answer is the same, so that a walk asks the sources
/// only where tombstones start and end.
#[derive(Debug)]
pub struct Cover<R> {
    order: KeyOrder,
    read_seqno: SeqNo,
    /// From the newest source to the oldest.
    parts: Vec<Part<R>>,
    stretch: Option<Stretch>,
    /// The newest child with a tombstone over the stretch.
    child: usize,
    crossed: Option<Crossed>,
}

impl<R: SortedRun> Cover<R> {
    /// No tombstones yet.
    pub fn new(order: KeyOrder, read_seqno: SeqNo) -> Self {
        Self { order, read_seqno, parts: Vec::new(), stretch: None, child: 0, crossed: None }
    }

    /// Adds tombstones of the merge's child of this number. Sources come from the newest to the oldest, as children do.
    pub fn add(&mut self, child: usize, tombstones: TruncatedTombstones) {
        self.push(child, Source::Set(tombstones));
    }

    /// Adds the tombstones of a run of files.
    pub fn add_run(&mut self, child: usize, run: Arc<R>) {
        self.push(child, Source::Run { run, file: None });
    }

    fn push(&mut self, child: usize, source: Source<R>) {
        debug_assert!(self.parts.last().is_none_or(|last| last.child <= child));
        self.parts.push(Part { child, source, stretch: None });
    }

    /// Whether there is nothing to ask.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The newest tombstone over an entry, and the newest child that has one.
    #[inline]
    pub(crate) fn over(&mut self, user_key: &[u8], packed: u64) -> Result<Option<(SeqNo, usize)>> {
        let is_known = self
            .stretch
            .as_ref()
            .is_some_and(|stretch| stretch.contains(&self.order, user_key, packed));
        if !is_known {
            self.ask(user_key, packed)?;
        }
        let tombstone = self.stretch.as_ref().and_then(|stretch| stretch.tombstone);
        Ok(tombstone.map(|tombstone| (tombstone, self.child)))
    }

    fn ask(&mut self, user_key: &[u8], packed: u64) -> Result<()> {
        self.stretch = None;
        let mut common = Stretch::default();
        self.child = usize::MAX;
        for part in &mut self.parts {
            let is_known = part
                .stretch
                .as_ref()
                .is_some_and(|stretch| stretch.contains(&self.order, user_key, packed));
            if !is_known {
                part.stretch = None;
                let stretch =
                    part.source.stretch_at(&self.order, user_key, packed, self.read_seqno);
                part.stretch = Some(stretch?);
            }
            let Some(stretch) = &part.stretch else { continue };
            common.shrink_to(&self.order, stretch);
            common.tombstone = common.tombstone.max(stretch.tombstone);
            if stretch.tombstone.is_some() {
                self.child = self.child.min(part.child);
            }
        }
        self.stretch = Some(common);
        Ok(())
    }

    /// How far one may go from `edge` in a direction with everything covered, without a gap, by sources that are newer than
    /// child `child`: nothing of it, and of older ones, is to be seen there. `None` if nothing is covered there.
    ///
    /// Tombstones of all sources that adjoin or overlap are crossed together; beyond `bounds` nobody asks.
    pub(super) fn crossed(
        &mut self,
        child: usize,
        edge: &Edge,
        way: Way,
        bounds: &Bounds,
    ) -> Result<Option<Edge>> {
        let known = self.known(child, edge, way);
        let mut at = known.clone().unwrap_or_else(|| edge.clone());
        let newer = self.parts.iter().take_while(|part| part.child < child).count();
        let (mut moves, mut unmoved) = (0, 0);
        for part in (0..newer).cycle() {
            if unmoved == newer || way.is_beyond(&self.order, bounds, &at) {
                break;
            }
            let source = &mut self.parts[part].source;
            match source.crossed(&self.order, &at, way, self.read_seqno)? {
                Some(to) => {
                    at = to;
                    (moves, unmoved) = (moves + 1, 0);
                }
                None => unmoved += 1,
            }
        }
        if moves == 0 {
            return Ok(known);
        }
        self.crossed = Some(Crossed { child, way, from: edge.clone(), to: at.clone() });
        Ok(Some(at))
    }

    /// How far a newer child was found to be covered from there on, if it was.
    fn known(&self, child: usize, edge: &Edge, way: Way) -> Option<Edge> {
        let last = self.crossed.as_ref().filter(|last| last.child <= child && last.way == way)?;
        let is_inside = way.compare(&self.order, &last.from, edge).is_le()
            && way.compare(&self.order, edge, &last.to).is_lt();
        is_inside.then(|| last.to.clone())
    }
}

/// The way of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Forward,
    Backward,
}

impl Way {
    fn compare(self, order: &KeyOrder, a: &Edge, b: &Edge) -> Ordering {
        match self {
            Self::Forward => a.compare(order, b),
            Self::Backward => b.compare(order, a),
        }
    }

    /// The only file that may cover what is at the edge on this way.
    fn file(self, run: &impl SortedRun, order: &KeyOrder, edge: &Edge) -> Option<usize> {
        let key = &edge.user_key;
        match self {
            Self::Forward => Some(file_around(run, order, key, edge.packed_behind())),
            Self::Backward => {
                let mut last = Vec::with_capacity(key.len() + PACKED_LEN);
                append_internal_key(&mut last, key, edge.packed_before().unwrap_or(u64::MAX));
                let begun = partition_files(run, |at| {
                    let side = order.compare_internal(run.smallest(at), &last);
                    if edge.packed_before().is_some() { side.is_le() } else { side.is_lt() }
                });
                begun.checked_sub(1)
            }
        }
    }

    /// Whether nothing from the edge on is inside of the bounds.
    pub(super) fn is_beyond(self, order: &KeyOrder, bounds: &Bounds, edge: &Edge) -> bool {
        match self {
            Self::Forward => bounds.is_above(order, &edge.user_key),
            Self::Backward => bounds.is_below(order, &edge.user_key),
        }
    }
}

/// The stretch that was crossed last.
#[derive(Debug)]
struct Crossed {
    child: usize,
    way: Way,
    from: Edge,
    to: Edge,
}

impl<R: SortedRun> Source<R> {
    /// How far one may go from `edge` with everything covered.
    fn crossed(
        &mut self,
        order: &KeyOrder,
        edge: &Edge,
        way: Way,
        read_seqno: SeqNo,
    ) -> Result<Option<Edge>> {
        let set = match self {
            Self::Set(set) => Some(set),
            Self::Run { run, .. } => match way.file(&**run, order, edge) {
                Some(at) => self.of_file(at)?,
                None => None,
            },
        };
        Ok(set.and_then(|set| match way {
            Way::Forward => set.covered_from(edge, read_seqno),
            Way::Backward => set.covered_up_to(edge, read_seqno),
        }))
    }

    /// The tombstones of a file of the run, if there is such a file and it has some.
    fn of_file(&mut self, at: usize) -> Result<Option<&mut TruncatedTombstones>> {
        let Self::Run { run, file } = self else { return Ok(None) };
        if at >= run.file_count() {
            return Ok(None);
        }
        if file.as_ref().is_none_or(|(known, _)| *known != at) {
            *file = None;
            *file = Some((at, tombstones_of(&**run, at)?));
        }
        Ok(file.as_mut().and_then(|(_, tombstones)| tombstones.as_mut()))
    }

    /// The tombstones that may cover this place.
    fn at(
        &mut self,
        order: &KeyOrder,
        user_key: &[u8],
        packed: u64,
    ) -> Result<Option<&mut TruncatedTombstones>> {
        match self {
            Self::Set(set) => Ok(Some(set)),
            Self::Run { run, .. } => {
                let at = file_around(&**run, order, user_key, packed);
                self.of_file(at)
            }
        }
    }

    fn stretch_at(
        &mut self,
        order: &KeyOrder,
        user_key: &[u8],
        packed: u64,
        read_seqno: SeqNo,
    ) -> Result<Stretch> {
        let mut stretch = match self.at(order, user_key, packed)? {
            Some(set) => set.stretch_at(user_key, packed, read_seqno),
            None => Stretch::default(),
        };
        if let Self::Run { run, .. } = self {
            let at = file_around(&**run, order, user_key, packed);
            stretch.shrink_to(order, &between_files(&**run, at)?);
        }
        Ok(stretch)
    }
}

/// The first file that does not end before this place: the only one that may cover it.
fn file_around(run: &impl SortedRun, order: &KeyOrder, user_key: &[u8], packed: u64) -> usize {
    let mut target = Vec::with_capacity(user_key.len() + PACKED_LEN);
    append_internal_key(&mut target, user_key, packed);
    first_file_up_to(run, order, &target)
}

fn tombstones_of(run: &impl SortedRun, at: usize) -> Result<Option<TruncatedTombstones>> {
    let set: Option<Arc<RangeTombstones>> = run.range_tombstones(at)?.filter(|set| !set.is_empty());
    set.map(|set| TruncatedTombstones::in_file(set, run.smallest(at), run.largest(at))).transpose()
}

/// From the end of the file before `at` to the end of file `at`: where no other file is asked.
fn between_files(run: &impl SortedRun, at: usize) -> Result<Stretch> {
    let end = |at: usize| -> Result<Edge> {
        let largest = InternalKey::decode(run.largest(at))?;
        Ok(Edge::behind_entry(largest))
    };
    Ok(Stretch {
        from: at.checked_sub(1).map(end).transpose()?,
        to: if at < run.file_count() { Some(end(at)?) } else { None },
        tombstone: None,
    })
}
