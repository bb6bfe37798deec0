//! A point lookup:
//!
//! ```text
//! memtables, newest first        a value or a deletion ends the walk, an operand does not
//! level 0, newest first          range tombstones first, then the filter, index, data block
//! level 1 and deeper             one table a level
//! ```
//!
//! A range tombstone over the key ends the walk after its source: whatever older sources have is older than it.

use std::sync::Arc;

use super::read::ReadPoint;
use super::value::PinnedValue;
use crate::error::Result;
use crate::iter::FileTombstones;
use crate::key::{InternalKey, LookupKey, SeqNo, ValueType};
use crate::memtable::{MemTable, PinnedVerdict};
use crate::merge::{Verdict, VersionWalk};
use crate::table::{FoundEntry, ReadContext, TableReader};
use crate::version::TableFile;

/// What a source has said.
pub(super) enum Answer {
    /// The base, or absence.
    Found(Option<PinnedValue>),
    /// Older sources decide.
    GoOn,
}

/// The value of a key as a reader at the lookup's sequence number sees it.
pub(super) fn get(
    point: &ReadPoint<'_>,
    key: &LookupKey<'_>,
    ctx: &mut ReadContext,
) -> Result<Option<PinnedValue>> {
    let mut walk = VersionWalk::default();
    for memtable in point.view.memtables() {
        if let Answer::Found(base) = ask_memtable(memtable, key, &mut walk)? {
            return finish(point, key, &walk, base);
        }
    }
    for candidate in point.view.version.candidates(key) {
        let table = point.family.tables.get(candidate.file, candidate.level, ctx)?;
        let found = table.get(key, ctx)?;
        if !table.has_range_tombstones() && !walk.has_operands() {
            // Nearly always.
            match found {
                None => continue,
                Some(FoundEntry { value_type: ValueType::Value, value, .. }) => {
                    return Ok(Some(PinnedValue::of_whole(value)));
                }
                _ => {}
            }
        }
        let answer = take_from_table(candidate.file, &table, found, key, &mut walk, ctx)?;
        if let Answer::Found(base) = answer {
            return finish(point, key, &walk, base);
        }
    }
    finish(point, key, &walk, None)
}

/// What a memtable says about a key that newer sources have not decided.
pub(super) fn ask_memtable(
    memtable: &MemTable,
    key: &LookupKey<'_>,
    walk: &mut VersionWalk,
) -> Result<Answer> {
    Ok(match memtable.get_pinned(key, walk)? {
        PinnedVerdict::Base(value) => Answer::Found(Some(PinnedValue::of_memtable(value))),
        PinnedVerdict::Absent => Answer::Found(None),
        PinnedVerdict::Continue => Answer::GoOn,
    })
}

/// What a table says about a key that newer sources have not decided.
///
/// * `found`: the table's newest visible entry of the key.
pub(super) fn take_from_table(
    file: &TableFile,
    table: &Arc<TableReader>,
    found: Option<FoundEntry>,
    key: &LookupKey<'_>,
    walk: &mut VersionWalk,
    ctx: &mut ReadContext,
) -> Result<Answer> {
    let cover = FileCover::new(file, table, key, ctx)?;
    if let Some(found) = found {
        match take(walk, &cover, found)? {
            Answer::GoOn => {}
            found => return Ok(found),
        }
        // An operand: what is under it in the same table comes next.
        let mut versions = table.versions(key, ctx)?;
        versions.next_entry()?;
        let mut answer = Answer::GoOn;
        while let (Answer::GoOn, Some(found)) = (&answer, versions.next_entry()?) {
            answer = take(walk, &cover, found)?;
        }
        ctx.add(versions.context());
        if let Answer::Found(_) = answer {
            return Ok(answer);
        }
    }
    match cover.over_older() {
        true => Ok(Answer::Found(None)),
        false => Ok(Answer::GoOn),
    }
}

/// The range tombstones of one file over one key.
///
/// Where the key is a border of the file, they count for the versions on the file's side of it only.
pub(super) struct FileCover<'k> {
    tombstones: Option<FileTombstones<'k>>,
    key: &'k LookupKey<'k>,
}

impl<'k> FileCover<'k> {
    pub(super) fn new(
        file: &'k TableFile,
        table: &'k TableReader,
        key: &'k LookupKey<'k>,
        ctx: &mut ReadContext,
    ) -> Result<Self> {
        let set = table.range_tombstones_if_any(ctx)?;
        let in_file = |set: &'k Arc<_>| FileTombstones::new(set, &file.smallest, &file.largest);
        Ok(Self { tombstones: set.map(in_file).transpose()?, key })
    }

    /// Whether a version in the file is hidden.
    fn hides(&self, seqno: SeqNo, value_type: ValueType) -> bool {
        let entry = InternalKey::new(self.key.user_key(), seqno, value_type);
        self.covering(entry).is_some_and(|tombstone| tombstone > seqno)
    }

    /// Whether all versions older than the file's are hidden.
    pub(super) fn over_older(&self) -> bool {
        self.covering(InternalKey::for_seek_for_prev(self.key.user_key())).is_some()
    }

    /// The newest tombstone over a version of the key.
    pub(super) fn covering(&self, entry: InternalKey<'_>) -> Option<SeqNo> {
        self.tombstones.as_ref()?.covering_seqno(entry, self.key.seqno())
    }
}

fn take(walk: &mut VersionWalk, cover: &FileCover<'_>, found: FoundEntry) -> Result<Answer> {
    let FoundEntry { seqno, value_type, value } = found;
    if cover.hides(seqno, value_type) {
        return Ok(Answer::Found(None));
    }
    Ok(match walk.take(seqno, value_type, &value)? {
        Verdict::Absent => Answer::Found(None),
        Verdict::Continue => Answer::GoOn,
        Verdict::Base(base) => {
            // The base is a part of the value.
            let start = base.as_ptr().addr() - value.as_ptr().addr();
            let part = start..start + base.len();
            Answer::Found(Some(PinnedValue::of_table(value, part)))
        }
    })
}

/// The value that the walk came to, with the base that ended it.
pub(super) fn finish(
    point: &ReadPoint<'_>,
    key: &LookupKey<'_>,
    walk: &VersionWalk,
    base: Option<PinnedValue>,
) -> Result<Option<PinnedValue>> {
    if !walk.has_operands() {
        return Ok(base);
    }
    let mut value = Vec::new();
    let operator = point.family.merge_operator.as_deref();
    walk.merge(operator, key.user_key(), base.as_deref(), &mut value)?;
    Ok(Some(PinnedValue::owned(value)))
}
