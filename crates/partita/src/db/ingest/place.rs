//! Where external files go: the level and the sequence number of each.
//!
//! ```text
//! level 0      keys of the range?  yes: here, and no deeper
//! level 1      a compaction that writes over the range?  keys of the range?  yes: above
//! level 2      only tables around the range: not here, perhaps deeper
//! level 3      no table over the range: this far it can go
//! …
//! ```
//!
//! Levels between 0 and the one that level 0 is merged into are passed over: they are empty, and to stay so. FIFO compaction
//! knows level 0 only.

use std::sync::Arc;

use super::External;
use crate::db::family::FamilyState;
use crate::db::under_way::{NonePicked, Outputs};
use crate::error::{Error, ErrorKind, Result};
use crate::iter::InternalIterator;
use crate::key::{InternalKey, SeqNo, user_key};
use crate::options::CompactionStyle;
use crate::table::ReadContext;
use crate::version::{TableFile, Version};

/// Where a file goes.
pub(super) struct Place {
    pub(super) level: usize,
    pub(super) seqno: SeqNo,
}

/// Sequence numbers for files.
pub(super) struct Numbers {
    last: SeqNo,
    /// Whether every file gets one.
    always: bool,
    given: bool,
}

impl Numbers {
    /// Numbers greater than `last`.
    pub(super) fn behind(last: SeqNo, always: bool) -> Self {
        Self { last, always, given: false }
    }

    /// * `needed`: whether the file must be newer than something.
    fn next(&mut self, needed: bool) -> Result<SeqNo> {
        if !needed && !self.always {
            return Ok(SeqNo::ZERO);
        }
        self.given = true;
        self.last =
            SeqNo::new(self.last.get() + 1).filter(|seqno| *seqno < SeqNo::MAX).ok_or_else(
                || Error::new(ErrorKind::Aborted, "all 2^56 sequence numbers are used up"),
            )?;
        Ok(self.last)
    }

    /// The last that is in use.
    pub(super) fn last(&self) -> SeqNo {
        self.last
    }

    /// Whether a file got one.
    pub(super) fn given(&self) -> bool {
        self.given
    }
}

/// A column family's tables, and what compactions under way will write.
pub(super) struct Tree<'t> {
    family: &'t FamilyState,
    outputs: Outputs,
    version: Arc<Version>,
}

impl<'t> Tree<'t> {
    pub(super) fn new(family: &'t FamilyState, none_picked: &NonePicked<'_>) -> Self {
        let outputs = none_picked.outputs(family.family.key_order());
        Self { family, outputs, version: family.family.current() }
    }

    /// The deepest level above `end` where a file can stand, and whether there is something that it must be newer than.
    fn deepest(&self, file: &External, end: usize) -> Result<(usize, bool)> {
        let order = self.version.key_order();
        let (from, to) = file.range();
        let base = self.family.picker.base_level(&self.version);
        let mut deepest = 0;
        for level in 0..end {
            if level > 0 && level < base {
                continue;
            }
            let tables = match self.version.levels().get(level) {
                // There, those that overlap ones that overlap would count, too.
                Some(level0) if level == 0 => {
                    let over =
                        level0.files().iter().filter(|table| table.overlaps(order, from, to));
                    over.cloned().collect()
                }
                _ => self.version.overlapping(level, Some(from), Some(to)),
            };
            if self.outputs.has(order, level, from, to) {
                return Ok((deepest, true));
            }
            for table in &tables {
                if self.has_keys(table, level, from, to)? {
                    return Ok((deepest, true));
                }
            }
            if tables.is_empty() {
                deepest = level;
            }
        }
        Ok((deepest, false))
    }

    /// Whether a table has keys of the range, or tombstones over it.
    fn has_keys(
        &self,
        table: &Arc<TableFile>,
        level: usize,
        from: &[u8],
        to: &[u8],
    ) -> Result<bool> {
        let order = self.version.key_order();
        let ctx = &mut ReadContext::default();
        let reader = self.family.tables.get(table, level, ctx)?;
        let mut entries = reader.iter();
        entries.seek(&InternalKey::for_seek(from, SeqNo::MAX).encode())?;
        if entries.is_valid() && order.compare(user_key(entries.key()), to).is_le() {
            return Ok(true);
        }
        Ok(reader.range_tombstones_if_any(ctx)?.is_some_and(|it| it.cover_any(from, to)))
    }
}

/// Finds a place for each of the files, the later ones above the earlier ones that they overlap.
pub(super) fn place_all(
    tree: &Tree<'_>,
    files: &[External],
    numbers: &mut Numbers,
) -> Result<Vec<Place>> {
    let options = &tree.family.options;
    let levels = options.level_count().max(tree.version.levels().len());
    let is_fifo = options.compaction_style == CompactionStyle::Fifo;
    let mut places: Vec<Place> = Vec::with_capacity(files.len());
    for (at, file) in files.iter().enumerate() {
        let below = files.iter().zip(&places).filter(|(earlier, _)| earlier.overlaps(file));
        let uppermost = below.map(|(_, place)| place.level).min();
        let overlapped = files.iter().enumerate().any(|(i, other)| i != at && other.overlaps(file));
        let end = match uppermost {
            Some(level) if !is_fifo => level,
            None if !is_fifo => levels,
            _ => 1,
        };
        let (level, is_newer) = tree.deepest(file, end)?;
        let seqno = numbers.next(is_newer || overlapped)?;
        places.push(Place { level, seqno });
    }
    Ok(places)
}

/// The last level, behind all that is there.
///
/// * Errors: `InvalidArgument` if the family has no level for that, or something in the way.
pub(super) fn place_behind(tree: &Tree<'_>, files: &[External]) -> Result<Vec<Place>> {
    let refused = |why: String| Err(Error::invalid_argument(why));
    let last = tree.family.options.level_count() - 1;
    if !tree.family.keeps_last_level_free {
        let name = tree.family.family.name();
        return refused(format!(
            "column family {name:?} keeps no level free for files behind all others (allow_ingest_behind)"
        ));
    }
    let upper = tree.version.files().filter(|(level, _)| *level < last);
    if let Some((level, table)) = upper.into_iter().find(|(_, it)| it.smallest_seqno == SeqNo::ZERO)
    {
        return refused(format!(
            "table {} on level {level} has entries with sequence number 0, behind which nothing can come",
            table.number
        ));
    }
    for (at, file) in files.iter().enumerate() {
        if files[..at].iter().any(|earlier| earlier.overlaps(file)) {
            return refused("files that are ingested behind overlap each other".to_owned());
        }
        let (from, to) = file.range();
        if let Some(table) = tree.version.overlapping(last, Some(from), Some(to)).first() {
            return refused(format!(
                "table {} on the last level overlaps a file that is ingested behind",
                table.number
            ));
        }
    }
    Ok(files.iter().map(|_| Place { level: last, seqno: SeqNo::ZERO }).collect())
}

/// Refuses files that do not get to the last level.
pub(super) fn refuse_upper_levels(
    family: &FamilyState,
    files: &[External],
    places: &[Place],
) -> Result<()> {
    let last = family.options.level_count() - 1;
    match files.iter().zip(places).find(|(_, place)| place.level < last) {
        None => Ok(()),
        Some((file, place)) => {
            let message = format!(
                "the file would get to level {} of {last}, and not to the last (fail_if_not_bottommost_level)",
                place.level
            );
            Err(Error::new(ErrorKind::Busy, message).in_file(file.incoming.source()))
        }
    }
}
