//! The range tombstones of a compaction's input: what they hide, and what is written of them.
//!
//! ```text
//! in the input      file 1 [a............m]  file 2 [m......z]       each counts within the bounds of its file
//! clipped           a-----e 9   c--------m 5         m--q 5          to user keys
//! in fragments      a-c 9   c-e 9 5   e-m 5          m-q 5
//! kept              of each stripe of snapshots the newest; none at the bottom that every reader sees
//! joined            a-----e 9   c------------------------q 5         written, cut at the borders of the output files
//! ```
//!
//! Clipping at user keys is exact, though bounds are internal keys:
//!
//! 1. A file that starts with `c` at 3 has the tombstone from `c` on: newer versions of `c` stand above, with sequence
//!    numbers of their own, and a tombstone never hides what is newer.
//! 2. A file that ends with `c` at 8, as its last point, may have a tombstone that goes on. If the next file of the level
//!    starts with `c`, that one has it, too. If not, versions of `c` below are hidden as `c` at 8 is: the tombstone is
//!    taken over `c`, if it is newer than that entry.

use std::collections::HashMap;
use std::sync::Arc;

use super::below::Below;
use super::inputs::{self, InputRun};
use super::picker::Compaction;
use super::stripes::Stripes;
use crate::error::Result;
use crate::iter::{Cover, RangeTombstone, RangeTombstones, TruncatedTombstones};
use crate::key::{InternalKey, KeyOrder, SeqNo};
use crate::version::{FileMeta, TableCache};

/// The range tombstones of one input file.
pub(super) struct InputTombstones<'f> {
    pub(super) set: Arc<RangeTombstones>,
    pub(super) file: &'f FileMeta,
    /// The first user key of the next file of the level.
    pub(super) next: Option<&'f [u8]>,
}

/// The range tombstones of a compaction, read and prepared once: all of its parts use the same.
#[derive(Debug)]
pub(crate) struct Tombstones {
    /// Of each input file that has some, within its bounds.
    sets: Vec<TruncatedTombstones>,
    /// What is to be written of them, by start.
    kept: Vec<RangeTombstone>,
}

impl Tombstones {
    /// * Errors: those of reading the input files.
    pub(crate) fn read(
        compaction: &Compaction,
        tables: &TableCache,
        stripes: &Stripes,
    ) -> Result<Self> {
        let order = compaction.version.key_order();
        let files = inputs::range_tombstones(compaction, tables)?;
        let in_file = |file: &InputTombstones<'_>| {
            let FileMeta { smallest, largest, .. } = file.file;
            TruncatedTombstones::in_file(Arc::clone(&file.set), smallest, largest)
        };
        let sets = files.iter().map(in_file).collect::<Result<_>>()?;
        let below = Below::new(compaction);
        let may_hide = |start: &[u8], end: &[u8]| below.may_have_within(start, end);
        Ok(Self { sets, kept: kept(&files, order, stripes, may_hide) })
    }

    /// What is to be written of them, by start.
    pub(super) fn kept(&self) -> &[RangeTombstone] {
        &self.kept
    }
}

/// Answers which tombstone of the input hides an entry.
pub(super) struct InputCover<'t> {
    order: &'t KeyOrder,
    sets: &'t [TruncatedTombstones],
    /// By stripe, made when the stripe is asked for first: a cover is for readers of one sequence number.
    covers: Vec<Option<Cover<InputRun>>>,
}

impl<'t> InputCover<'t> {
    pub(super) fn new(tombstones: &'t Tombstones, order: &'t KeyOrder) -> Self {
        Self { order, sets: &tombstones.sets, covers: Vec::new() }
    }

    /// The newest tombstone over an entry that all readers of the entry's stripe see.
    #[inline]
    pub(super) fn newest(
        &mut self,
        entry: &InternalKey<'_>,
        stripe: usize,
        stripes: &Stripes,
    ) -> Result<Option<SeqNo>> {
        if self.sets.is_empty() { Ok(None) } else { self.ask(entry, stripe, stripes) }
    }

    fn ask(
        &mut self,
        entry: &InternalKey<'_>,
        stripe: usize,
        stripes: &Stripes,
    ) -> Result<Option<SeqNo>> {
        if self.covers.len() <= stripe {
            self.covers.resize_with(stripe + 1, || None);
        }
        let cover = self.covers[stripe].get_or_insert_with(|| {
            let mut cover = Cover::new(self.order.clone(), stripes.top(stripe));
            for (at, set) in self.sets.iter().enumerate() {
                cover.add(at, set.clone());
            }
            cover
        });
        Ok(cover.over(entry.user_key, entry.packed())?.map(|(tombstone, _)| tombstone))
    }
}

/// What is to be written of the tombstones, by start.
///
/// * `may_hide`: whether the range may have older entries outside of the input.
fn kept(
    files: &[InputTombstones<'_>],
    order: &KeyOrder,
    stripes: &Stripes,
    may_hide: impl Fn(&[u8], &[u8]) -> bool,
) -> Vec<RangeTombstone> {
    let all = files.iter().flat_map(|file| clipped(file, order)).collect();
    let all = RangeTombstones::new(all, order);
    let mut kept: Vec<RangeTombstone> = Vec::new();
    // Where the last piece of a tombstone is in `kept`.
    let mut last_piece: HashMap<SeqNo, usize> = HashMap::new();
    for at in 0..all.fragment_count() {
        let Some(range) = all.fragment(at) else { break };
        let mut reader = Some(SeqNo::MAX);
        while let Some(tombstone) = reader.and_then(|reader| all.covering_fragment(at, reader)) {
            let stripe = stripes.of(tombstone);
            reader = stripe.checked_sub(1).map(|older| stripes.top(older));
            if stripe == 0 && !may_hide(range.start, range.end) {
                break;
            }
            if let Some(piece) = last_piece.get(&tombstone).map(|piece| &mut kept[*piece])
                && piece.end == range.start
            {
                piece.end = range.end.to_vec();
                continue;
            }
            last_piece.insert(tombstone, kept.len());
            kept.push(RangeTombstone {
                start: range.start.to_vec(),
                end: range.end.to_vec(),
                seqno: tombstone,
            });
        }
    }
    kept
}

/// The tombstones of a file within its bounds, as ranges of user keys.
fn clipped<'f>(
    of: &'f InputTombstones<'_>,
    order: &'f KeyOrder,
) -> impl Iterator<Item = RangeTombstone> + use<'f> {
    let smallest = of.file.smallest_user_key();
    let largest = InternalKey::decode(&of.file.largest).ok();
    of.set.iter().filter_map(move |tombstone| {
        let RangeTombstone { start, end, seqno } = tombstone;
        let start = if order.compare(start, smallest).is_lt() { smallest } else { start };
        let end = match &largest {
            Some(last) if order.compare(end, last.user_key).is_gt() => {
                let hides_last = *seqno > last.seqno;
                let shared = of.next.is_some_and(|next| order.compare(next, last.user_key).is_eq());
                match hides_last && !shared {
                    true => behind(last.user_key, end, of.next, order),
                    false => last.user_key.to_vec(),
                }
            }
            _ => end.clone(),
        };
        let is_range = order.compare(start, &end).is_lt();
        is_range.then(|| RangeTombstone { start: start.to_vec(), end, seqno: *seqno })
    })
}

/// A key behind `user_key`, and not behind `end` or `next`: the nearest that the order lets one know.
fn behind(user_key: &[u8], end: &[u8], next: Option<&[u8]>, order: &KeyOrder) -> Vec<u8> {
    if *order == KeyOrder::Bytewise {
        return [user_key, &[0]].concat();
    }
    match next {
        Some(next) if order.compare(next, end).is_lt() => next.to_vec(),
        _ => end.to_vec(),
    }
}
