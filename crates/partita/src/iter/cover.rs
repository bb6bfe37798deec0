//! Which entries of a merge range tombstones hide, and how far one may jump.

use std::sync::Arc;

use super::run::{SortedRun, first_file_up_to};
use super::truncated::{Edge, Stretch};
use super::{RangeTombstones, TruncatedTombstones};
use crate::error::Result;
use crate::key::{InternalKey, KeyOrder, SeqNo};

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
}

impl<R: SortedRun> Cover<R> {
    /// No tombstones yet.
    pub fn new(order: KeyOrder, read_seqno: SeqNo) -> Self {
        Self { order, read_seqno, parts: Vec::new(), stretch: None, child: 0 }
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

    /// Around an entry that child `child` covers, everything that it covers without a gap: older children have nothing
    /// to show there.
    pub(super) fn around(
        &mut self,
        child: usize,
        user_key: &[u8],
        packed: u64,
    ) -> Result<Option<(Option<Edge>, Option<Edge>)>> {
        for part in self.parts.iter_mut().filter(|part| part.child == child) {
            let truncated = part.source.at(&self.order, user_key, packed)?;
            let covered =
                truncated.and_then(|set| set.covered_around(user_key, packed, self.read_seqno));
            if let Some(Stretch { from, to, .. }) = covered {
                return Ok(Some((from, to)));
            }
        }
        Ok(None)
    }
}

impl<R: SortedRun> Source<R> {
    /// The tombstones that may cover this place.
    fn at(
        &mut self,
        order: &KeyOrder,
        user_key: &[u8],
        packed: u64,
    ) -> Result<Option<&TruncatedTombstones>> {
        match self {
            Self::Set(set) => Ok(Some(set)),
            Self::Run { run, file } => {
                let at = file_around(&**run, order, user_key, packed);
                if at >= run.file_count() {
                    return Ok(None);
                }
                if file.as_ref().is_none_or(|(known, _)| *known != at) {
                    *file = None;
                    *file = Some((at, tombstones_of(&**run, at)?));
                }
                Ok(file.as_ref().and_then(|(_, tombstones)| tombstones.as_ref()))
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
    let mut target = Vec::with_capacity(user_key.len() + 8);
    crate::key::append_internal_key(&mut target, user_key, packed);
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
