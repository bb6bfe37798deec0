//! The last key of a range, and the first: floors and ceilings.
//!
//! ```text
//!                    range     [ lower ............................ upper ]
//! memtables          a search each                       c           |
//! tables, runs       [.......a......................d ...............|....]   reaches the bound: asked, newest first
//!                    [....................b......]                   |        ends before it: asked last, if at all
//! ```
//!
//! Each source gives its nearest key that has a visible entry; the nearest of all is the candidate. What is found goes
//! along as the limit for those that are asked later: a table whose keys end before it is not asked, and one whose index
//! says that all further blocks are behind it reads none of them. A table whose prefix filter knows the range is asked
//! only if the filter lets it through. So a data block is read of each run that has keys on both sides of the bound and
//! none of the others; where the runs hold different stretches of keys, that is one. Tables remember the floors that were
//! found in them ([`TableReader::known_floor`]): where a bound is asked for again, as the end of a stream is, each run is
//! known to end before it, and one data block is read however the runs interleave.
//!
//! The candidate's newest entry is known by then, and decides: a value that no range tombstone covers is the answer. A
//! deletion, or a covered value, is passed, and the search goes on behind it; operands are merged by a get. After
//! [`STEPS_MAX`] keys that are not there, an iterator goes on, which jumps over what is deleted.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use smallvec::SmallVec;

use super::get::{FileCover, get};
use super::read::ReadPoint;
use super::source::{ViewWalk, WalkOptions};
use super::value::PinnedValue;
use crate::error::Result;
use crate::iter::Bounds;
use crate::key::{InternalKey, KeyOrder, LookupKey, SeqNo, ValueType};
use crate::table::known_floors::KnownFloor;
use crate::table::{KeyBuf, Neighbor, ReadContext, TableReader};
use crate::version::{Level, TableFile};

/// Keys passed by searches before an iterator goes on: its making costs about so many.
const STEPS_MAX: u32 = 3;

/// A range of keys: where it starts and where it ends, in the order of the column family.
pub type KeyRange<'k> = (Bound<&'k [u8]>, Bound<&'k [u8]>);

/// A key and its value.
#[derive(Clone, Debug)]
pub struct KeyValue {
    /// The key.
    pub key: KeyBuf,
    /// Its value.
    pub value: PinnedValue,
}

/// Which end of a range is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The greatest key.
    Last,
    /// The smallest.
    First,
}

impl End {
    /// The order of keys by how near they are to this end; the nearest is the greatest.
    fn compare(self, order: &KeyOrder, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Last => order.compare(a, b),
            Self::First => order.compare(b, a),
        }
    }

    /// Whether a key is further away than all that `limit` lets through.
    fn is_beyond(self, order: &KeyOrder, user_key: &[u8], limit: Bound<&[u8]>) -> bool {
        match limit {
            Bound::Unbounded => false,
            Bound::Included(limit) => self.compare(order, user_key, limit).is_lt(),
            Bound::Excluded(limit) => self.compare(order, user_key, limit).is_le(),
        }
    }

    /// The bound of a table on this side, and the one on the other.
    fn borders(self, file: &TableFile) -> (&[u8], &[u8]) {
        match self {
            Self::Last => (file.largest_user_key(), file.smallest_user_key()),
            Self::First => (file.smallest_user_key(), file.largest_user_key()),
        }
    }
}

/// The nearest key with a visible entry, so far.
struct Candidate {
    key: KeyBuf,
    seqno: SeqNo,
    value_type: ValueType,
    /// `None`: it was not read.
    value: Option<PinnedValue>,
    place: Place,
}

/// Where an entry is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the memtable of this number, the newest first.
    MemTable(usize),
    Table {
        level: usize,
        at: usize,
        /// Whether a neighbour on the level has newer entries of the key.
        is_shared: bool,
    },
}

/// Tables that follow one another: a level, or one of level 0.
struct Run<'v> {
    level: usize,
    files: &'v Level,
    /// The table to ask first.
    at: usize,
    /// No key of it is nearer than this one. `None`: it may reach the bound.
    reach: Option<Reach<'v>>,
}

/// How near a run comes.
enum Reach<'v> {
    /// To the border of its table.
    Border(&'v [u8]),
    /// To a key that an earlier lookup found.
    Known(KnownFloor),
}

impl Reach<'_> {
    fn key(&self) -> &[u8] {
        match self {
            Self::Border(key) => key,
            Self::Known(floor) => &floor.user_key,
        }
    }
}

/// A search from one bound of a range toward the other.
struct Search<'s> {
    point: &'s ReadPoint<'s>,
    end: End,
    /// Where the nearest key would be.
    bound: Bound<&'s [u8]>,
    /// How far it goes.
    limit: Bound<&'s [u8]>,
    wants: Wants,
}

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wants {
    Key,
    KeyAndValue,
}

/// What a key has come to.
enum Fate {
    /// It is not there.
    Gone,
    /// It is; the value, if that was read.
    There(Option<PinnedValue>),
}

/// The nearest key to an end of the range, with its value.
pub(super) fn nearest(
    point: &ReadPoint<'_>,
    end: End,
    range: KeyRange<'_>,
    ctx: &mut ReadContext,
) -> Result<Option<KeyValue>> {
    let found = search(point, end, range, Wants::KeyAndValue, ctx)?;
    Ok(found.and_then(|(key, value)| Some(KeyValue { key, value: value? })))
}

/// The greatest key of the range.
pub(super) fn greatest_key(
    point: &ReadPoint<'_>,
    range: KeyRange<'_>,
    ctx: &mut ReadContext,
) -> Result<Option<KeyBuf>> {
    Ok(search(point, End::Last, range, Wants::Key, ctx)?.map(|(key, _)| key))
}

/// The nearest key to an end of the range, with its value if that is wanted, or was read anyway.
fn search(
    point: &ReadPoint<'_>,
    end: End,
    range: KeyRange<'_>,
    wants: Wants,
    ctx: &mut ReadContext,
) -> Result<Option<(KeyBuf, Option<PinnedValue>)>> {
    let (mut bound, limit) = match end {
        End::Last => (range.1, range.0),
        End::First => range,
    };
    let mut passed;
    for _ in 0..STEPS_MAX {
        let search = Search { point, end, bound, limit, wants };
        let Some(candidate) = search.candidate(ctx)? else { return Ok(None) };
        let (key, fate) = resolve(point, candidate, ctx)?;
        if let Fate::There(value) = fate {
            return Ok(Some((key, value)));
        }
        ctx.entries_skipped += 1;
        ctx.tombstones_skipped += 1;
        passed = key;
        bound = Bound::Excluded(&passed[..]);
    }
    by_walking(point, end, bound, limit, ctx)
}

impl<'s> Search<'s> {
    fn order(&self) -> &'s KeyOrder {
        self.point.family.family.key_order()
    }

    /// The nearest key of all sources that has a visible entry, with the newest one.
    fn candidate(&self, ctx: &mut ReadContext) -> Result<Option<Candidate>> {
        let mut best = None;
        self.ask_memtables(&mut best)?;
        if self.is_at_bound(best.as_ref()) {
            return Ok(best);
        }
        // Those that reach the bound, newest first; then the others, as far as they reach.
        let mut others = SmallVec::<[Run<'_>; 8]>::new();
        for mut run in self.runs() {
            if run.reach.is_none() {
                run.reach = self.known_reach(&run, ctx)?;
            }
            if let Some(reach) = &run.reach {
                if self.end.is_beyond(self.order(), reach.key(), self.limit) {
                    continue;
                }
                others.push(run);
                continue;
            }
            self.ask_run(&run, &mut best, ctx)?;
            if self.is_at_bound(best.as_ref()) {
                // Only newer runs could have newer entries of that key.
                return Ok(best);
            }
        }
        // The sort is stable: of runs that reach equally far the newest comes first.
        let (end, order) = (self.end, self.order());
        others.sort_by(|a, b| match (&a.reach, &b.reach) {
            (Some(a), Some(b)) => end.compare(order, b.key(), a.key()),
            _ => Ordering::Equal,
        });
        for run in &others {
            let is_behind = |best: &Candidate| {
                let reach = run.reach.as_ref();
                reach.is_some_and(|reach| end.compare(order, reach.key(), &best.key).is_lt())
            };
            if best.as_ref().is_some_and(is_behind) {
                break;
            }
            if !self.take_known(run, &mut best) {
                self.ask_run(run, &mut best, ctx)?;
            }
        }
        Ok(best)
    }

    /// Lets a run improve on the best candidate by what is known of it, without a look at a data block.
    ///
    /// * Returns `false` if that does not do.
    fn take_known(&self, run: &Run<'_>, best: &mut Option<Candidate>) -> bool {
        let Some(Reach::Known(floor)) = run.reach.as_ref().filter(|_| self.wants == Wants::Key)
        else {
            return false;
        };
        let KnownFloor { user_key: key, seqno, value_type } = floor;
        let (seqno, value_type) = (*seqno, *value_type);
        if seqno > self.point.seqno || value_type != ValueType::Value {
            return false;
        }
        if self.is_better(best.as_ref(), key, seqno) {
            let is_shared = run.level > 0 && self.has_newer_beside(run, run.at, key);
            *best = Some(Candidate {
                key: key.clone(),
                seqno,
                value_type,
                value: None,
                place: Place::Table { level: run.level, at: run.at, is_shared },
            });
        }
        true
    }

    /// How near a run comes whose table has keys on both sides of the bound, if an earlier lookup found out.
    fn known_reach(&self, run: &Run<'_>, ctx: &mut ReadContext) -> Result<Option<Reach<'s>>> {
        let Some(file) = run.files.files().get(run.at).filter(|_| self.end == End::Last) else {
            return Ok(None);
        };
        let table = self.point.family.tables.get(file, run.level, ctx)?;
        let floor = table.known_floor(self.bound);
        // Whether a key at the bound is there is decided by the newest run that has it, so these are asked in order.
        let ends_before = |floor: &KnownFloor| match self.bound {
            Bound::Included(bound) => self.order().compare(&floor.user_key, bound).is_ne(),
            _ => true,
        };
        Ok(floor.filter(ends_before).map(Reach::Known))
    }

    /// Whether no key can be nearer.
    fn is_at_bound(&self, best: Option<&Candidate>) -> bool {
        match (self.bound, best) {
            (Bound::Included(bound), Some(best)) => self.order().compare(&best.key, bound).is_eq(),
            _ => false,
        }
    }

    fn ask_memtables(&self, best: &mut Option<Candidate>) -> Result<()> {
        for (number, memtable) in self.point.view.memtables().enumerate() {
            let found = match self.end {
                End::Last => memtable.floor(self.bound, self.point.seqno)?,
                End::First => memtable.ceil(self.bound, self.point.seqno)?,
            };
            let Some(found) = found else { continue };
            if self.end.is_beyond(self.order(), found.user_key, self.limit)
                || !self.is_better(best.as_ref(), found.user_key, found.seqno)
            {
                continue;
            }
            *best = Some(Candidate {
                key: KeyBuf::from(found.user_key),
                seqno: found.seqno,
                value_type: found.value_type,
                value: Some(PinnedValue::of_memtable(found.value())),
                place: Place::MemTable(number),
            });
        }
        Ok(())
    }

    /// Whether an entry is nearer than the best one, or newer than it.
    fn is_better(&self, best: Option<&Candidate>, user_key: &[u8], seqno: SeqNo) -> bool {
        best.is_none_or(|best| {
            let nearer = self.end.compare(self.order(), user_key, &best.key);
            nearer.then(seqno.cmp(&best.seqno)).is_gt()
        })
    }

    /// All runs with tables in the range, newest first.
    fn runs(&self) -> impl Iterator<Item = Run<'s>> {
        let (end, order, bound, limit) = (self.end, self.order(), self.bound, self.limit);
        let make = move |level: usize, files: &'s Level, at: usize| {
            let (near, far) = end.borders(files.files().get(at)?);
            let is_outside = match bound {
                Bound::Unbounded => false,
                Bound::Included(bound) => end.compare(order, far, bound).is_gt(),
                Bound::Excluded(bound) => end.compare(order, far, bound).is_ge(),
            };
            if is_outside || end.is_beyond(order, near, limit) {
                return None;
            }
            let ends_before = match bound {
                Bound::Unbounded => true,
                Bound::Included(bound) | Bound::Excluded(bound) => {
                    end.compare(order, near, bound).is_lt()
                }
            };
            Some(Run { level, files, at, reach: ends_before.then_some(Reach::Border(near)) })
        };
        let levels = self.point.view.version.levels();
        let level0 = levels
            .first()
            .into_iter()
            .flat_map(move |files| (0..files.len()).filter_map(move |at| make(0, files, at)));
        let sorted = levels.iter().enumerate().skip(1).filter_map(move |(level, files)| {
            if files.is_empty() {
                return None;
            }
            let at = match end {
                End::Last => files.last_up_to(order, bound)?,
                End::First => files.first_from(order, bound)?,
            };
            make(level, files, at)
        });
        level0.chain(sorted)
    }

    /// Lets the tables of a run improve on the best candidate, from the nearest on.
    fn ask_run(
        &self,
        run: &Run<'_>,
        best: &mut Option<Candidate>,
        ctx: &mut ReadContext,
    ) -> Result<()> {
        let mut next = Some(run.at);
        while let Some((at, file)) = next.and_then(|at| Some((at, run.files.files().get(at)?))) {
            let limit = best.as_ref().map_or(self.limit, |best| Bound::Included(&best.key));
            if self.end.is_beyond(self.order(), self.end.borders(file).0, limit) {
                break;
            }
            let table = self.point.family.tables.get(file, run.level, ctx)?;
            if let Some(Neighbor { user_key, entry }) = self.ask_table(&table, limit, ctx)? {
                if self.is_better(best.as_ref(), &user_key, entry.seqno) {
                    let is_shared = run.level > 0 && self.has_newer_beside(run, at, &user_key);
                    let part = 0..entry.value.len();
                    *best = Some(Candidate {
                        key: user_key,
                        seqno: entry.seqno,
                        value_type: entry.value_type,
                        value: Some(PinnedValue::of_table(entry.value, part)),
                        place: Place::Table { level: run.level, at, is_shared },
                    });
                }
                break;
            }
            next = match self.end {
                _ if run.level == 0 => None,
                End::Last => at.checked_sub(1),
                End::First => Some(at + 1),
            };
        }
        Ok(())
    }

    fn ask_table(
        &self,
        table: &TableReader,
        limit: Bound<&[u8]>,
        ctx: &mut ReadContext,
    ) -> Result<Option<Neighbor>> {
        let range = match self.end {
            End::Last => (limit, self.bound),
            End::First => (self.bound, limit),
        };
        if !table.range_may_match(range, ctx)? {
            return Ok(None);
        }
        match self.end {
            End::Last => table.get_floor_above(self.bound, limit, self.point.seqno, ctx),
            End::First => table.get_ceil_below(self.bound, limit, self.point.seqno, ctx),
        }
    }

    /// Whether entries of the key go over the border to the table before, which has the newer ones.
    fn has_newer_beside(&self, run: &Run<'_>, at: usize, user_key: &[u8]) -> bool {
        let before = at.checked_sub(1).and_then(|at| run.files.files().get(at));
        before.is_some_and(|before| !before.ends_before(self.order(), user_key))
    }
}

/// What a candidate comes to.
fn resolve(
    point: &ReadPoint<'_>,
    candidate: Candidate,
    ctx: &mut ReadContext,
) -> Result<(KeyBuf, Fate)> {
    let Candidate { key, seqno, value_type, value, place } = candidate;
    let lookup = LookupKey::new(&key, point.seqno);
    let is_shared = matches!(place, Place::Table { is_shared: true, .. });
    let is_plain = value_type == ValueType::Value || value_type.is_deletion();
    let fate = if is_shared || !is_plain {
        get(point, &lookup, ctx)?.map_or(Fate::Gone, |value| Fate::There(Some(value)))
    } else if value_type.is_deletion()
        || is_covered(point, &lookup, (seqno, value_type), place, ctx)?
    {
        Fate::Gone
    } else {
        Fate::There(value)
    };
    Ok((key, fate))
}

/// Whether a range tombstone hides an entry, the newest of its key.
fn is_covered(
    point: &ReadPoint<'_>,
    key: &LookupKey<'_>,
    (seqno, value_type): (SeqNo, ValueType),
    place: Place,
    ctx: &mut ReadContext,
) -> Result<bool> {
    let is_newer = |tombstone: Option<SeqNo>| tombstone.is_some_and(|covering| covering > seqno);
    for (number, memtable) in point.view.memtables().enumerate() {
        if is_newer(memtable.covering_seqno(key.user_key(), point.seqno)) {
            return Ok(true);
        }
        if place == Place::MemTable(number) {
            return Ok(false);
        }
    }
    for candidate in point.view.version.candidates(key) {
        let file: &Arc<TableFile> = candidate.file;
        let table = point.family.tables.get(file, candidate.level, ctx)?;
        let cover = FileCover::new(file, &table, key, ctx)?;
        if matches!(place, Place::Table { level, at, .. } if (level, at) == (candidate.level, candidate.at))
        {
            return Ok(is_newer(cover.covering(InternalKey::new(
                key.user_key(),
                seqno,
                value_type,
            ))));
        }
        if cover.over_older() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The same by an iterator: for ranges where much is deleted.
#[cold]
fn by_walking(
    point: &ReadPoint<'_>,
    end: End,
    bound: Bound<&[u8]>,
    limit: Bound<&[u8]>,
    ctx: &mut ReadContext,
) -> Result<Option<(KeyBuf, Option<PinnedValue>)>> {
    let (lower, upper) = match end {
        End::Last => (limit, bound),
        End::First => (bound, limit),
    };
    let bounds = Bounds { lower: lower.map(<[u8]>::to_vec), upper: upper.map(<[u8]>::to_vec) };
    let options = WalkOptions {
        bounds: &Arc::new(bounds),
        same_prefix: None,
        skipped_max: None,
        readahead_bytes: None,
    };
    let mut walk = ViewWalk::new(point, options, ctx)?;
    match end {
        End::Last => walk.iter_mut().seek_to_last()?,
        End::First => walk.iter_mut().seek_to_first()?,
    }
    ctx.add(&walk.cost());
    let iter = walk.iter();
    if !iter.is_valid() {
        return Ok(None);
    }
    let value = PinnedValue::owned(iter.value().to_vec());
    Ok(Some((KeyBuf::from(iter.key()), Some(value))))
}
