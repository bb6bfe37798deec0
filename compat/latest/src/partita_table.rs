//! Partita's SST files as a contender.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use partita::io::{DiskFile, DiskWriter};
use partita::iter::InternalIterator as _;
use partita::key::{InternalKey, KeyOrder, SeqNo};
use partita::options::TableOptions;
use partita::table::{
    FilterUse, LookupKey, ReadContext, ReaderOptions, SstFileWriter, TableContext, TableReader,
};
use partita::{Error, Result};

use crate::rows::Rows;

/// Writes `rows` to a new file; returns nanoseconds.
pub fn write(path: &Path, options: TableOptions, rows: &Rows) -> Result<u64> {
    let start = Instant::now();
    let file = Box::new(DiskWriter::create(path)?);
    let mut writer =
        SstFileWriter::new(file, options, KeyOrder::Bytewise, TableContext::default())?;
    for (key, value) in
        rows.keys.chunks_exact(rows.key_len).zip(rows.values.chunks_exact(rows.value_len))
    {
        writer.put(key, value)?;
    }
    writer.finish()?;
    Ok(nanos_since(start))
}

/// An open file.
#[derive(Debug)]
pub struct PartitaTable {
    table: Arc<TableReader>,
}

impl PartitaTable {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self> {
        let file = Arc::new(DiskFile::open(path)?);
        let options = ReaderOptions { filter_use: FilterUse::Always, ..ReaderOptions::default() };
        let table = TableReader::open(file, &options, &mut ReadContext::default())?;
        Ok(Self { table: Arc::new(table) })
    }

    /// Brings index and filter into memory, where RocksDB keeps them; the context returned leaves data blocks out of it.
    fn with_index_and_filter(&self, keys: &[u8], key_len: usize) -> Result<ReadContext> {
        let mut ctx = ReadContext::default();
        for key in keys.chunks_exact(key_len) {
            self.table.may_contain(&LookupKey::new(key, SeqNo::MAX), &mut ctx)?;
            self.table.approximate_offset_of(key, &mut ctx)?;
        }
        ctx.pass_cache_by = true;
        Ok(ctx)
    }

    /// Looks all `keys` up; returns nanoseconds and how many are there.
    pub fn get(&self, keys: &[u8], key_len: usize) -> Result<(u64, u64)> {
        let mut ctx = self.with_index_and_filter(keys, key_len)?;
        let mut found = 0;
        let start = Instant::now();
        for key in keys.chunks_exact(key_len) {
            let key = LookupKey::new(key, SeqNo::MAX);
            found += u64::from(self.table.get(&key, &mut ctx)?.is_some());
        }
        Ok((nanos_since(start), found))
    }

    /// Seeks all `keys` with one iterator; returns nanoseconds and the length of all values found.
    pub fn seek(&self, keys: &[u8], key_len: usize) -> Result<(u64, u64)> {
        self.with_index_and_filter(keys, key_len)?;
        let mut iter = self.table.iter();
        iter.pass_cache_by();
        let mut sum = 0;
        let start = Instant::now();
        for key in keys.chunks_exact(key_len) {
            iter.seek_internal(InternalKey::for_seek(key, SeqNo::MAX))?;
            if iter.is_valid() {
                sum += iter.value().len() as u64;
            }
        }
        Ok((nanos_since(start), sum))
    }

    /// Walks over all entries; returns nanoseconds, entries, and bytes of internal keys and values.
    pub fn scan(&self) -> Result<(u64, u64, u64)> {
        let (mut count, mut sum) = (0, 0);
        let start = Instant::now();
        let mut iter = self.table.iter();
        iter.pass_cache_by();
        iter.seek_to_first()?;
        while iter.is_valid() {
            count += 1;
            sum += (iter.key().len() + iter.value().len()) as u64;
            iter.next()?;
        }
        Ok((nanos_since(start), count, sum))
    }
}

fn nanos_since(start: Instant) -> u64 {
    start.elapsed().as_nanos() as u64
}

/// The message of an error, as the other contender gives it.
#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
pub fn message(error: Error) -> String {
    error.to_string()
}
