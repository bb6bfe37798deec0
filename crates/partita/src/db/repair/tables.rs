//! A table that may be damaged, looked at from its first to its last block.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::RepairWatch;
use crate::cache::Cache;
use crate::db::DbBuilder;
use crate::error::{Error, Result};
use crate::io::RandomAccessFile;
use crate::iter::RangeTombstone;
use crate::key::{InternalKey, KeyOrder, SeqNo, ValueType};
use crate::table::{
    LostKeys, ReaderOptions, Salvage, SalvageSink, TableProperties, salvage_table, verify_table,
};
use crate::version::{FileMeta, FileName, FileNumber, TableCounts, unique_id};

/// Memory for what is read; nothing stays there.
const CACHE_BYTES: usize = 1 << 20;

/// What is wrong with a table.
#[derive(Debug)]
pub(super) enum Condition {
    /// Nothing.
    Whole,
    /// It can be read in parts.
    Damaged(Damaged),
    /// Nothing of it can be read.
    Gone(Error),
}

/// What is left of a damaged table.
#[derive(Debug)]
pub(super) struct Damaged {
    /// First thing first.
    pub(super) damages: Vec<String>,
    pub(super) lost: Vec<LostKeys>,
    pub(super) tombstones_lost: Option<String>,
    /// What can be read, range tombstones included.
    pub(super) entries: u64,
}

/// Looks at tables of a directory.
pub(super) struct Examiner<'b> {
    pub(super) builder: &'b DbBuilder,
    cache: Cache,
}

impl<'b> Examiner<'b> {
    pub(super) fn new(builder: &'b DbBuilder) -> Self {
        Self { builder, cache: Cache::new(CACHE_BYTES) }
    }

    /// The path of a table: LevelDB's name if there is one of that.
    pub(super) fn path(&self, number: FileNumber) -> Result<PathBuf> {
        let path = FileName::Table(number).in_dir(&self.builder.dir);
        let of_leveldb = path.with_extension("ldb");
        let is_leveldb = !self.builder.fs.exists(&path)? && self.builder.fs.exists(&of_leveldb)?;
        Ok(if is_leveldb { of_leveldb } else { path })
    }

    /// * `largest_seqno`: what a manifest says, if one does.
    pub(super) fn reader_options(&self, largest_seqno: Option<SeqNo>) -> ReaderOptions {
        ReaderOptions {
            comparators: self.builder.comparators.clone(),
            largest_seqno: largest_seqno.filter(|seqno| *seqno < SeqNo::MAX),
            cache: self.cache.clone(),
            fill_cache: false,
            ..ReaderOptions::default()
        }
    }

    /// Looks at a table that a manifest names.
    ///
    /// * Errors: `Io`, except that it is missing.
    pub(super) fn named(
        &self,
        path: &Path,
        meta: &FileMeta,
        watch: &mut RepairWatch<'_>,
    ) -> Result<Condition> {
        let file = match self.builder.fs.open(path) {
            Ok(file) => file,
            Err(error) if error.is_not_found() => {
                let error = Error::corruption("the manifest names this table, and it is missing");
                return Ok(Condition::Gone(error.in_file(path)));
            }
            Err(error) => return Err(error),
        };
        let wrong_len = (file.len() != meta.file_bytes).then(|| {
            let (bytes, said) = (file.len(), meta.file_bytes);
            format!("the file has {bytes} bytes, the manifest says {said}")
        });
        let options = self.reader_options(Some(meta.largest_seqno));
        self.condition(&file, &options, wrong_len, watch)
    }

    fn condition(
        &self,
        file: &Arc<dyn RandomAccessFile>,
        options: &ReaderOptions,
        first_damage: Option<String>,
        watch: &mut RepairWatch<'_>,
    ) -> Result<Condition> {
        let path = file.path().to_owned();
        let report = verify_table(file, options, &mut |block| watch(&path, block.handle.size));
        if let Some(error) = report.not_opened.filter(|error| !error.is_corruption()) {
            return Err(error);
        }
        let mut damages: Vec<String> = first_damage.into_iter().collect();
        damages.extend(report.damages.iter().map(Error::to_string));
        if damages.is_empty() {
            return Ok(Condition::Whole);
        }
        let mut sink = Nothing;
        let salvage = match salvage_table(file, options, &mut |_| {}, &mut sink) {
            Ok(salvage) => salvage,
            Err(error) if error.is_corruption() => return Ok(Condition::Gone(error)),
            Err(error) => return Err(error),
        };
        if salvage.counts.entries == 0 {
            let first = damages.into_iter().next().unwrap_or_default();
            let message = format!("no entry of it can be read; {first}");
            return Ok(Condition::Gone(Error::corruption(message).in_file(&path)));
        }
        Ok(Condition::Damaged(Damaged {
            damages,
            lost: salvage.lost,
            tombstones_lost: salvage.tombstones_lost,
            entries: salvage.counts.entries,
        }))
    }

    /// Looks at a table of which no manifest tells.
    ///
    /// * Errors: `Io`. What is wrong with the table is told by its condition; then there is no description if it is gone.
    pub(super) fn unnamed(
        &self,
        number: FileNumber,
        watch: &mut RepairWatch<'_>,
    ) -> Result<(Condition, Option<Described>)> {
        let path = self.path(number)?;
        let file = self.builder.fs.open(&path)?;
        let options = self.reader_options(None);
        let condition = self.condition(&file, &options, None, watch)?;
        if let Condition::Gone(_) = condition {
            return Ok((condition, None));
        }
        let mut bounds = Bounds::default();
        let salvage = salvage_table(&file, &options, &mut |_| {}, &mut bounds)?;
        Ok((condition, Described::new(number, file.len(), salvage, bounds)))
    }
}

/// What the entries of a table say about it.
#[derive(Debug)]
pub(super) struct Described {
    /// Without epoch.
    pub(super) meta: FileMeta,
    pub(super) order: KeyOrder,
    pub(super) properties: TableProperties,
    pub(super) has_operands: bool,
}

impl Described {
    fn new(number: FileNumber, bytes: u64, salvage: Salvage, bounds: Bounds) -> Option<Self> {
        let Salvage { properties, order, counts, .. } = salvage;
        let (mut smallest, mut largest) = (bounds.first, bounds.last);
        for RangeTombstone { start, end, seqno } in &bounds.tombstones {
            let start = InternalKey::new(start, *seqno, ValueType::RangeDeletion).encode();
            let end = InternalKey::new(end, SeqNo::MAX, ValueType::RangeDeletion).encode();
            let first = smallest.get_or_insert_with(|| start.clone());
            if order.compare_internal(&start, first).is_lt() {
                *first = start;
            }
            let last = largest.get_or_insert_with(|| end.clone());
            if order.compare_internal(&end, last).is_gt() {
                *last = end;
            }
        }
        let (smallest, largest) = (smallest?, largest?);
        let (smallest_seqno, largest_seqno) = bounds.seqnos?;
        let meta = FileMeta {
            smallest_seqno,
            largest_seqno,
            oldest_ancestor_time: properties.creation_time.unwrap_or(0),
            creation_time: properties.file_creation_time.unwrap_or(0),
            unique_id: unique_id::of_table(&properties),
            counts: TableCounts::of_table(&properties),
            ..FileMeta::new(number, bytes, &smallest, &largest)
        };
        Some(Self { meta, order, properties, has_operands: counts.merge_operands > 0 })
    }

    /// Whether it is of a compaction that set sequence numbers to 0.
    pub(super) fn is_compacted(&self) -> bool {
        self.meta.smallest_seqno == SeqNo::ZERO && !self.is_external()
    }

    /// Whether it was written outside of a database, to be ingested.
    pub(super) fn is_external(&self) -> bool {
        self.properties.external_sst_file_version.is_some()
    }
}

/// Takes everything, and keeps nothing.
struct Nothing;

impl SalvageSink for Nothing {
    fn entry(&mut self, _: &[u8], _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn tombstone(&mut self, _: &RangeTombstone) -> Result<()> {
        Ok(())
    }
}

/// Between which keys and numbers the entries lie.
#[derive(Default)]
struct Bounds {
    first: Option<Vec<u8>>,
    last: Option<Vec<u8>>,
    seqnos: Option<(SeqNo, SeqNo)>,
    tombstones: Vec<RangeTombstone>,
}

impl Bounds {
    fn note(&mut self, seqno: SeqNo) {
        let (least, greatest) = self.seqnos.get_or_insert((seqno, seqno));
        *least = seqno.min(*least);
        *greatest = seqno.max(*greatest);
    }
}

impl SalvageSink for Bounds {
    fn entry(&mut self, internal_key: &[u8], _: &[u8]) -> Result<()> {
        self.note(InternalKey::decode(internal_key)?.seqno);
        if self.first.is_none() {
            self.first = Some(internal_key.to_vec());
        }
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(internal_key);
        Ok(())
    }

    fn tombstone(&mut self, tombstone: &RangeTombstone) -> Result<()> {
        self.note(tombstone.seqno);
        self.tombstones.push(tombstone.clone());
        Ok(())
    }
}
