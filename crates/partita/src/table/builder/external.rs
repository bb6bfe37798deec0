use super::{TableBuilder, TableContext, TableSummary};
use crate::error::Result;
use crate::io::WritableFile;
use crate::key::{Excerpt, KeyOrder, SeqNo, ValueType, append_internal_key, pack};
use crate::options::TableOptions;

/// Version of external files whose entries may get a common sequence number when they are ingested.
const EXTERNAL_FILE_VERSION: u32 = 2;

/// Writes a file to be ingested into a database, ours or RocksDB's.
///
/// Keys come in order, each once; all have sequence number 0 until ingestion gives the file a common one.
///
/// ```
/// use partita::io::MemoryWriter;
/// use partita::key::KeyOrder;
/// use partita::options::TableOptions;
/// use partita::table::{SstFileWriter, TableContext};
///
/// let file = Box::new(MemoryWriter::new("external.sst"));
/// let context = TableContext::default();
/// let mut writer =
///     SstFileWriter::new(file, TableOptions::default(), KeyOrder::Bytewise, context)?;
/// writer.put(b"a", b"1")?;
/// writer.delete(b"b")?;
/// assert!(writer.put(b"b", b"2").unwrap_err().message().contains(r#""b" after "b""#));
/// writer.delete_range(b"c", b"e")?;
/// assert_eq!(writer.finish()?.properties.num_entries, Some(3));
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Debug)]
pub struct SstFileWriter {
    builder: TableBuilder,
    order: KeyOrder,
    last_key: Option<Vec<u8>>,
    internal_key: Vec<u8>,
}

impl SstFileWriter {
    /// Starts an external file. Arguments and errors are those of [`TableBuilder::new`].
    ///
    /// Give the context a session id and a file number that no other external file has, or the file has no unique id.
    pub fn new(
        file: Box<dyn WritableFile>,
        options: TableOptions,
        order: KeyOrder,
        context: TableContext,
    ) -> Result<Self> {
        let mut builder = TableBuilder::new(file, options, order.clone(), context)?;
        builder.extra_properties.external_sst_file_version = Some(EXTERNAL_FILE_VERSION);
        builder.extra_properties.external_sst_file_global_seqno = Some(0);
        Ok(Self { builder, order, last_key: None, internal_key: Vec::new() })
    }

    /// Sets `key` to `value`.
    ///
    /// * Errors: `InvalidArgument` unless `key` is greater than all points before it; those of [`TableBuilder::add`].
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.add(key, ValueType::Value, value)
    }

    /// Applies the merge operator with this operand. Errors are those of [`SstFileWriter::put`].
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.add(key, ValueType::Merge, operand)
    }

    /// Deletes `key`. Errors are those of [`SstFileWriter::put`].
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.add(key, ValueType::Deletion, b"")
    }

    /// Deletes the keys from `start` up to `end`, without `end`; in any order with the points.
    ///
    /// It hides what the database held before, never the points of this file.
    ///
    /// * Errors: `InvalidArgument` unless `start < end`.
    pub fn delete_range(&mut self, start: &[u8], end: &[u8]) -> Result<()> {
        self.builder.add_range_tombstone(start, end, SeqNo::ZERO)
    }

    /// About the length of the file if it were finished now, in bytes.
    pub fn file_size_estimate(&self) -> u64 {
        self.builder.file_size_estimate()
    }

    /// Writes the rest of the file and syncs it.
    ///
    /// * Errors: `InvalidArgument` if nothing was added, since an empty file cannot be ingested; those of
    ///   [`TableBuilder::finish`].
    pub fn finish(self) -> Result<TableSummary> {
        if self.builder.num_entries() == 0 {
            return Err(self.builder.refuse("an external file without entries".to_owned()));
        }
        self.builder.finish()
    }

    fn add(&mut self, key: &[u8], value_type: ValueType, value: &[u8]) -> Result<()> {
        if let Some(last) = &self.last_key
            && self.order.compare(last, key).is_ge()
        {
            return Err(self.builder.refuse(format!(
                "keys of an external file must ascend, each once: {} after {}",
                Excerpt(key),
                Excerpt(last)
            )));
        }
        self.internal_key.clear();
        append_internal_key(&mut self.internal_key, key, pack(SeqNo::ZERO, value_type));
        self.builder.add(&self.internal_key, value)?;
        let last = self.last_key.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::io::MemoryWriter;

    #[test]
    fn refusals_name_the_file() {
        let writer = || {
            let file = Box::new(MemoryWriter::new("external.sst"));
            let context = TableContext::default();
            SstFileWriter::new(file, TableOptions::default(), KeyOrder::Bytewise, context).unwrap()
        };
        let mut unordered = writer();
        unordered.put(b"b", b"").unwrap();
        for error in [unordered.put(b"a", b"").unwrap_err(), writer().finish().unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains("external.sst"), "{error}");
        }
    }
}
