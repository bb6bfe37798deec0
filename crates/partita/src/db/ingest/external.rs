//! An external file: what it must be.

use std::path::Path;
use std::sync::Arc;

use super::{IngestOptions, IngestedFile};
use crate::db::incoming::Incoming;
use crate::db::{ColumnFamily, DbInner};
use crate::error::{Error, Result};
use crate::iter::InternalIterator;
use crate::key::{InternalKey, KeyOrder, SeqNo, ValueType, user_key};
use crate::memtable::MemTable;
use crate::table::{
    ReadContext, ReaderOptions, TableProperties, TableReader, UNKNOWN_COLUMN_FAMILY, verify_table,
};
use crate::version::{FileMeta, TableCounts, unique_id};

/// A file to be ingested.
pub(super) struct External {
    pub(super) incoming: Incoming,
    properties: TableProperties,
    order: KeyOrder,
    /// The first and the last internal key; with sequence number 0, or where a range tombstone ends.
    smallest: Vec<u8>,
    largest: Vec<u8>,
}

impl External {
    /// Opens a file and finds out whether it can be ingested into the family.
    pub(super) fn judge(
        db: &DbInner,
        family: &ColumnFamily,
        path: &Path,
        options: &IngestOptions,
    ) -> Result<Self> {
        let file = db.fs.open(path)?;
        let reader_options = ReaderOptions {
            comparators: db.builder.comparators.clone(),
            prefix_extractor: family.0.options.table.prefix_extractor.clone(),
            cache: db.cache.clone(),
            fill_cache: false,
            ..ReaderOptions::default()
        };
        let ctx = &mut ReadContext::default();
        let table = Arc::new(TableReader::open(Arc::clone(&file), &reader_options, ctx)?);
        let in_file = |error: Error| error.in_file(path);
        judge_properties(table.properties(), family, options).map_err(in_file)?;
        let (found, wanted) = (table.key_order().name(), family.key_order().name());
        if found != wanted {
            let message = format!("the keys are in order {found:?}, {family:?} has {wanted:?}");
            return Err(Error::invalid_argument(message).in_file(path));
        }
        if options.verify {
            let report = verify_table(&file, &reader_options, &mut |_| {});
            if let Some(damage) = report.damages.into_iter().next().or(report.not_opened) {
                return Err(damage);
            }
        }
        let (smallest, largest) = bounds(&table, ctx).map_err(in_file)?;
        let (properties, order) = (table.properties().clone(), table.key_order().clone());
        Ok(Self { incoming: Incoming::new(db, path, file), properties, order, smallest, largest })
    }

    /// The first and the last user key of its range, both included.
    pub(super) fn range(&self) -> (&[u8], &[u8]) {
        (user_key(&self.smallest), user_key(&self.largest))
    }

    /// Whether there may be keys of both files.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.reaches(other) && other.reaches(self)
    }

    /// Whether the file does not end before another starts.
    fn reaches(&self, other: &Self) -> bool {
        let relation = self.order.compare(other.range().0, self.range().1);
        // Where a tombstone ends, there is no key.
        relation.is_lt() || relation.is_eq() && !ends_with_tombstone(&self.largest)
    }

    /// Whether a memtable has keys of its range, or tombstones over it.
    pub(super) fn has_keys_in(&self, memtable: &Arc<MemTable>) -> Result<bool> {
        let (from, to) = self.range();
        let mut entries = memtable.iter();
        entries.seek(&InternalKey::for_seek(from, SeqNo::MAX).encode())?;
        if entries.is_valid() && self.order.compare(user_key(entries.key()), to).is_le() {
            return Ok(true);
        }
        Ok(memtable.range_tombstone_sets().iter().any(|set| set.cover_any(from, to)))
    }

    pub(super) fn ingested(&self, level: usize, seqno: SeqNo) -> IngestedFile {
        IngestedFile {
            source: self.incoming.source().to_owned(),
            number: self.incoming.number(),
            level,
            seqno,
            file_bytes: self.incoming.file_bytes(),
        }
    }

    /// What the manifest is to say.
    pub(super) fn meta(&self, seqno: SeqNo, epoch: u64, unix_seconds: u64) -> FileMeta {
        let (smallest, largest) =
            (with_seqno(&self.smallest, seqno), with_seqno(&self.largest, seqno));
        let counts = TableCounts::of_table(&self.properties);
        FileMeta {
            smallest_seqno: seqno,
            largest_seqno: seqno,
            epoch,
            oldest_ancestor_time: unix_seconds,
            creation_time: unix_seconds,
            unique_id: unique_id::of_table(&self.properties),
            // There is nothing in it but what it hides below.
            need_compaction: counts.is_some_and(|it| it.entries == 1 && it.range_deletions == 1),
            counts,
            ..FileMeta::new(self.incoming.number(), self.incoming.file_bytes(), &smallest, &largest)
        }
    }
}

/// Refuses what was not written to be ingested into this family.
fn judge_properties(
    properties: &TableProperties,
    family: &ColumnFamily,
    options: &IngestOptions,
) -> Result<()> {
    match properties.external_sst_file_version {
        Some(2) => {}
        Some(1) if !options.allow_global_seqno => {}
        Some(1) => {
            return Err(Error::invalid_argument(
                "an external file of version 1, which can be ingested only without a sequence number (allow_global_seqno)",
            ));
        }
        None => {
            return Err(Error::invalid_argument(
                "not an external file: it lacks property rocksdb.external_sst_file.version",
            ));
        }
        Some(other) => {
            return Err(Error::not_supported(format!("external file of version {other}")));
        }
    }
    if let Some(seqno) = properties.external_sst_file_global_seqno.filter(|seqno| *seqno != 0) {
        return Err(Error::invalid_argument(format!(
            "the file was ingested elsewhere, and sequence number {seqno} written into it"
        )));
    }
    let of = properties.column_family_id.unwrap_or(UNKNOWN_COLUMN_FAMILY);
    if of != UNKNOWN_COLUMN_FAMILY && of != u64::from(family.id()) {
        return Err(Error::invalid_argument(format!(
            "the file was written for column family {of}, {family:?} is another"
        )));
    }
    match properties.key_largest_seqno {
        Some(seqno) if seqno != 0 => Err(has_seqno(seqno)),
        _ => Ok(()),
    }
}

fn has_seqno(seqno: u64) -> Error {
    Error::corruption(format!("an entry of the external file has sequence number {seqno}, not 0"))
}

/// The first and the last internal key, tombstones included.
fn bounds(table: &Arc<TableReader>, ctx: &mut ReadContext) -> Result<(Vec<u8>, Vec<u8>)> {
    let order = table.key_order();
    let mut bounds: Option<(Vec<u8>, Vec<u8>)> = None;
    let mut reach = |from: Vec<u8>, to: Vec<u8>| match &mut bounds {
        None => bounds = Some((from, to)),
        Some((smallest, largest)) => {
            if order.compare_internal(&from, smallest).is_lt() {
                *smallest = from;
            }
            if order.compare_internal(&to, largest).is_gt() {
                *largest = to;
            }
        }
    };
    let mut entries = table.iter();
    entries.pass_cache_by();
    entries.seek_to_first()?;
    if entries.is_valid() {
        let first = without_seqno(entries.key())?;
        entries.seek_to_last()?;
        reach(first, without_seqno(entries.key())?);
    }
    if let Some(tombstones) = table.range_tombstones_if_any(ctx)? {
        for tombstone in tombstones.iter() {
            if tombstone.seqno != SeqNo::ZERO {
                return Err(has_seqno(tombstone.seqno.get()));
            }
            let start = InternalKey::new(&tombstone.start, SeqNo::ZERO, ValueType::RangeDeletion);
            let end = InternalKey::new(&tombstone.end, SeqNo::MAX, ValueType::RangeDeletion);
            reach(start.encode(), end.encode());
        }
    }
    bounds.ok_or_else(|| Error::invalid_argument("the external file has no entries"))
}

fn without_seqno(key: &[u8]) -> Result<Vec<u8>> {
    let found = InternalKey::decode(key)?;
    match found.seqno {
        SeqNo::ZERO => Ok(key.to_vec()),
        seqno => Err(has_seqno(seqno.get())),
    }
}

fn ends_with_tombstone(key: &[u8]) -> bool {
    InternalKey::decode(key).is_ok_and(|key| key.seqno == SeqNo::MAX)
}

/// A boundary as it is once all entries have this number.
fn with_seqno(key: &[u8], seqno: SeqNo) -> Vec<u8> {
    match InternalKey::decode(key) {
        Ok(old) if old.seqno == SeqNo::ZERO => {
            InternalKey::new(old.user_key, seqno, old.value_type).encode()
        }
        _ => key.to_vec(),
    }
}
