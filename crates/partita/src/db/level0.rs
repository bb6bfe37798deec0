//! From memtables to a table of level 0.

use std::sync::Arc;

use super::DbInner;
use super::family::FamilyState;
use super::progress::FlushProgress;
use super::snapshot::SnapshotList;
use super::writer::Writer;
use crate::cache::{Reservation, Role};
use crate::compaction::{Fates, NewTable, Origin, Rules, Stripes, Surroundings, Survivors};
use crate::error::{Error, Result};
use crate::filter::FilterLevel;
use crate::io::{Access, FileSystem};
use crate::iter::{InternalIterator, MergingIterator, RangeTombstones};
use crate::key::{InternalKey, SeqNo};
use crate::memtable::MemTable;
use crate::table::{TableBuilder, TableSummary};
use crate::util::sync::atomic::Ordering;
use crate::version::{FileName, PendingOutput, VersionSet};

/// Entries after which the progress of a flush is told.
const PROGRESS_ENTRIES: u64 = 1024;

/// Where tables are written.
#[derive(Clone, Copy)]
pub(super) struct TablePlace<'p> {
    pub(super) fs: &'p dyn FileSystem,
    pub(super) access: Access,
    pub(super) versions: &'p VersionSet,
    pub(super) snapshots: &'p SnapshotList,
    /// Whether entries are counted when they are written, and compared with what the memtables count.
    pub(super) counts_entries: bool,
}

impl DbInner {
    pub(super) fn table_place(&self) -> TablePlace<'_> {
        TablePlace {
            fs: &*self.fs,
            access: Access::direct_if(self.options.use_direct_io_for_flush_and_compaction),
            versions: &self.versions,
            snapshots: &self.snapshots,
            counts_entries: self.options.flush_verify_memtable_count,
        }
    }

    /// Who writes tables of this database now.
    pub(super) fn origin<'w>(&self, writer: &'w Writer) -> Origin<'w> {
        Origin { session: &writer.session, unix_seconds: self.builder.clock.unix_seconds() }
    }
}

/// Writes what memtables hold, newest first, into a table.
///
/// * Returns `None` if nothing of it is left. A table that failed is removed.
pub(super) fn write_level0(
    place: TablePlace<'_>,
    family: &FamilyState,
    memtables: &[Arc<MemTable>],
    origin: &Origin<'_>,
) -> Result<Option<NewTable>> {
    let pending = place.versions.new_output();
    let path = FileName::Table(pending.number()).in_dir(place.versions.dir());
    let written = write_table(place, family, memtables, origin, &pending);
    let summary = match written {
        Ok(Some(summary)) => summary,
        other => {
            // What stays behind is removed by the next open.
            let _ = place.fs.remove(&path);
            return other.map(|_| None);
        }
    };
    let epoch = || family.family.new_epoch();
    let Some(table) = NewTable::new(pending, &summary, origin, epoch, origin.unix_seconds) else {
        let _ = place.fs.remove(&path);
        return Ok(None);
    };
    // The table's name must be durable before the manifest tells it.
    place.fs.sync_dir(place.versions.dir())?;
    if family.options.paranoid_file_checks
        && let Err(damage) = family.tables.verify(&table.file)
    {
        let _ = place.fs.remove(&path);
        return Err(damage);
    }
    Ok(Some(table))
}

fn write_table(
    place: TablePlace<'_>,
    family: &FamilyState,
    memtables: &[Arc<MemTable>],
    origin: &Origin<'_>,
    pending: &PendingOutput,
) -> Result<Option<TableSummary>> {
    let order = family.family.key_order();
    let path = FileName::Table(pending.number()).in_dir(place.versions.dir());
    let options = family.options.table_options(FilterLevel::Flush, 1, false);
    let operator = family.merge_operator.as_deref();
    let context = origin.context(
        place.versions,
        &family.family,
        operator,
        FilterLevel::Flush,
        pending,
        origin.unix_seconds,
    );
    let mut builder = TableBuilder::new(
        place.access.create_new(place.fs, &path)?,
        options,
        order.clone(),
        context,
    )?;
    // Snapshots that are taken from now on see all that the memtables hold.
    let stripes = Stripes::new(place.snapshots.seqnos());
    let mut around = Around { tombstones: all_tombstones(family, memtables), stripes: &stripes };
    let mut survivors = Survivors::new(Rules {
        order,
        stripes: &stripes,
        bottommost: false,
        merge_operator: operator,
        filter: None,
        level: 0,
    });
    let progress = &family.flushing;
    let charge = &mut family.tables.cache().reserve(Role::Building, 0);
    match memtables {
        [one] => {
            judge_all(one.iter(), &mut survivors, &mut around, &mut builder, progress, charge)?;
        }
        several => {
            let sources = several.iter().map(MemTable::iter).collect();
            let entries = MergingIterator::new(sources, order.clone());
            judge_all(entries, &mut survivors, &mut around, &mut builder, progress, charge)?;
        }
    }
    if place.counts_entries {
        verify_counts(memtables, survivors.fates(), builder.num_entries())?;
    }
    for tombstone in around.tombstones.iter() {
        builder.add_range_tombstone(&tombstone.start, &tombstone.end, tombstone.seqno)?;
    }
    if builder.num_entries() == 0 {
        builder.abandon();
        return Ok(None);
    }
    builder.finish().map(Some)
}

/// Has every entry judged, and those written that are left.
fn judge_all(
    mut entries: impl InternalIterator,
    survivors: &mut Survivors<'_>,
    around: &mut Around<'_>,
    builder: &mut TableBuilder,
    progress: &FlushProgress,
    charge: &mut Reservation,
) -> Result<()> {
    let mut done = 0_u64;
    entries.seek_to_first()?;
    while entries.is_valid() {
        let mut emit = |key: &[u8], value: &[u8]| builder.add(key, value);
        survivors.offer(entries.key(), entries.value(), around, &mut emit)?;
        entries.next()?;
        done += 1;
        if done.is_multiple_of(PROGRESS_ENTRIES) {
            progress.done.store(done, Ordering::Relaxed);
            charge.resize(builder.memory_bytes());
        }
    }
    survivors.finish(around, &mut |key: &[u8], value: &[u8]| builder.add(key, value))
}

/// Compares what was written to memtables with what was read from them, and what was to be left with what is in the table:
/// memory that is not what it was must not become a table in silence.
fn verify_counts(memtables: &[Arc<MemTable>], fates: &Fates, in_table: u64) -> Result<()> {
    let inserted: u64 = memtables.iter().map(|memtable| memtable.stats().entries).sum();
    if fates.offered == inserted && fates.written == in_table {
        return Ok(());
    }
    Err(Error::corruption(format!(
        "flush: {inserted} entries were inserted into the memtables and {} found in them; {} of these are left, \
         and {in_table} are in the table",
        fates.offered, fates.written
    )))
}

fn all_tombstones(family: &FamilyState, memtables: &[Arc<MemTable>]) -> RangeTombstones {
    let sets: Vec<_> = memtables.iter().map(|memtable| memtable.range_tombstones()).collect();
    let all = sets.iter().flat_map(|set| set.iter().cloned()).collect();
    RangeTombstones::new(all, family.family.key_order())
}

/// What is around the entries of a flush: their range tombstones, and the whole database below.
struct Around<'s> {
    tombstones: RangeTombstones,
    stripes: &'s Stripes,
}

impl Surroundings for Around<'_> {
    fn newest_tombstone(
        &mut self,
        entry: &InternalKey<'_>,
        stripe: usize,
    ) -> Result<Option<SeqNo>> {
        Ok(self.tombstones.covering_seqno(entry.user_key, self.stripes.top(stripe)))
    }

    fn older_outside(&mut self, _user_key: &[u8]) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::key::ValueType;
    use crate::memtable::{InsertHint, MemTableOptions};

    #[test]
    fn entries_that_got_lost_in_memory_or_on_the_way_are_noticed() {
        let memtable = Arc::new(MemTable::new(MemTableOptions::default()).unwrap());
        let mut hint = InsertHint::default();
        let mut writer = memtable.writer(&mut hint);
        for number in 1..=3 {
            let seqno = SeqNo::new(number).unwrap();
            writer.insert(seqno, ValueType::Value, b"k", b"v").unwrap();
        }
        drop(writer);
        let verify = |offered, written, in_table| {
            let fates = Fates { offered, written, obsolete: 2, ..Fates::default() };
            verify_counts(std::slice::from_ref(&memtable), &fates, in_table)
        };
        verify(3, 1, 1).unwrap();
        assert_eq!(verify(2, 1, 1).unwrap_err().kind(), ErrorKind::Corruption);
        assert_eq!(verify(3, 2, 1).unwrap_err().kind(), ErrorKind::Corruption);
    }
}
