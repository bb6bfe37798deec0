//! A point lookup:
//!
//! ```text
//! memtables, newest first        a value or a deletion ends the walk, an operand does not
//! level 0, newest first          range tombstones first, then the filter, index, data block
//! level 1 and deeper             one table a level
//! ```
//!
//! A range tombstone over the key ends the walk after its source: whatever older sources have is older than it.

use super::family::FamilyState;
use super::read_view::ReadView;
use super::tombstones::tombstones_of;
use super::value::PinnedValue;
use crate::error::Result;
use crate::iter::TruncatedTombstones;
use crate::key::{InternalKey, LookupKey, SeqNo, ValueType};
use crate::merge::{Verdict, VersionWalk};
use crate::table::{FoundEntry, ReadContext, TableReader};
use crate::version::{Candidate, TableFile};

/// What a source has said.
enum Answer {
    /// The base, or absence.
    Found(Option<PinnedValue>),
    /// Older sources decide.
    GoOn,
}

/// The value of a key as a reader at the lookup's sequence number sees it.
pub(super) fn get(
    family: &FamilyState,
    view: &ReadView,
    key: &LookupKey<'_>,
    ctx: &mut ReadContext,
) -> Result<Option<PinnedValue>> {
    let mut walk = VersionWalk::default();
    for memtable in view.memtables() {
        match memtable.get(key, &mut walk)? {
            Verdict::Base(value) if walk.has_operands() => {
                return merged(family, key, &walk, Some(value));
            }
            Verdict::Base(value) => return Ok(Some(PinnedValue::owned(value.to_vec()))),
            Verdict::Absent => return finish(family, key, &walk, None),
            Verdict::Continue => {}
        }
    }
    for candidate in view.version.candidates(key) {
        if let Answer::Found(base) = ask_table(family, candidate, key, &mut walk, ctx)? {
            return finish(family, key, &walk, base);
        }
    }
    finish(family, key, &walk, None)
}

fn ask_table(
    family: &FamilyState,
    candidate: Candidate<'_>,
    key: &LookupKey<'_>,
    walk: &mut VersionWalk,
    ctx: &mut ReadContext,
) -> Result<Answer> {
    let table = family.tables.get(candidate.file, candidate.level, ctx)?;
    let cover = FileCover::new(candidate.file, &table, key, ctx)?;
    if let Some(found) = table.get(key, ctx)? {
        match take(walk, &cover, found)? {
            Answer::GoOn => {}
            found => return Ok(found),
        }
        // An operand: what is under it in the same table comes next.
        let mut versions = table.versions(key, ctx)?;
        versions.next_entry()?;
        while let Some(found) = versions.next_entry()? {
            match take(walk, &cover, found)? {
                Answer::GoOn => {}
                found => return Ok(found),
            }
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
struct FileCover<'k> {
    tombstones: Option<TruncatedTombstones>,
    key: &'k LookupKey<'k>,
}

impl<'k> FileCover<'k> {
    fn new(
        file: &TableFile,
        table: &TableReader,
        key: &'k LookupKey<'k>,
        ctx: &mut ReadContext,
    ) -> Result<Self> {
        Ok(Self { tombstones: tombstones_of(file, table, ctx)?, key })
    }

    /// Whether a version in the file is hidden.
    fn hides(&self, seqno: SeqNo, value_type: ValueType) -> bool {
        let entry = InternalKey::new(self.key.user_key(), seqno, value_type);
        self.covering(entry).is_some_and(|tombstone| tombstone > seqno)
    }

    /// Whether all versions older than the file's are hidden.
    fn over_older(&self) -> bool {
        self.covering(InternalKey::for_seek_for_prev(self.key.user_key())).is_some()
    }

    fn covering(&self, entry: InternalKey<'_>) -> Option<SeqNo> {
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

fn finish(
    family: &FamilyState,
    key: &LookupKey<'_>,
    walk: &VersionWalk,
    base: Option<PinnedValue>,
) -> Result<Option<PinnedValue>> {
    if walk.has_operands() { merged(family, key, walk, base.as_deref()) } else { Ok(base) }
}

fn merged(
    family: &FamilyState,
    key: &LookupKey<'_>,
    walk: &VersionWalk,
    base: Option<&[u8]>,
) -> Result<Option<PinnedValue>> {
    let mut value = Vec::new();
    walk.merge(family.merge_operator.as_deref(), key.user_key(), base, &mut value)?;
    Ok(Some(PinnedValue::owned(value)))
}
