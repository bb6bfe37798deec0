use std::fmt;

use super::contents::Contents;
use super::limits::{BATCH_BYTES_MAX, check_batch, check_field};
use super::reader::{BatchReader, Records};
use super::record::{Record, Shape};
use crate::error::{Error, Result};
use crate::key::SeqNo;

/// Sequence number and count.
pub const BATCH_HEADER_BYTES: usize = 8 + 4;
/// Where the count stands.
pub(super) const COUNT_AT: usize = 8;

/// Writes that take effect together, in the order in which they were added.
///
/// * The methods without `_cf` write to the default column family, whose number is 0.
/// * A call that fails leaves the batch as it was.
///
/// ```
/// use partita::batch::WriteBatch;
///
/// let mut batch = WriteBatch::new();
/// batch.put(b"a", b"1")?;
/// batch.set_save_point();
/// batch.delete_range(b"b", b"x")?;
/// batch.rollback_to_save_point()?;
/// assert_eq!(batch.count(), 1);
/// // tag, length and bytes of the key, length and bytes of the value
/// assert_eq!(&batch.as_bytes()[12..], [1, 1, b'a', 1, b'1']);
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct WriteBatch {
    bytes: Vec<u8>,
    bytes_max: usize,
    save_points: Vec<SavePoint>,
    contents: Contents,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SavePoint {
    len: usize,
    count: u32,
    contents: Contents,
}

impl fmt::Debug for WriteBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteBatch")
            .field("sequence", &self.sequence().get())
            .field("count", &self.count())
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

impl Default for WriteBatch {
    fn default() -> Self {
        Self::with_capacity(BATCH_HEADER_BYTES)
    }
}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty batch that grows to so many bytes without moving.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut rep = Vec::with_capacity(bytes.max(BATCH_HEADER_BYTES));
        rep.resize(BATCH_HEADER_BYTES, 0);
        Self {
            bytes: rep,
            bytes_max: BATCH_BYTES_MAX,
            save_points: Vec::new(),
            contents: Contents::default(),
        }
    }

    /// The same batch with a limit on its length; adding beyond it is an `InvalidArgument`.
    #[must_use]
    pub fn with_limit(mut self, bytes_max: usize) -> Self {
        self.bytes_max = bytes_max.min(BATCH_BYTES_MAX);
        self
    }

    /// Takes over a batch that was made elsewhere.
    ///
    /// * Errors: `Corruption` if a record cannot be read or the header counts wrong, `NotSupported` for records that Partita
    ///   has not, `InvalidArgument` beyond 4 GiB. All name the offset in `bytes`.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        check_batch(bytes.len(), BATCH_BYTES_MAX)?;
        let mut contents = Contents::default();
        for record in BatchReader::new(&bytes)?.records() {
            contents.note(&record?);
        }
        Ok(Self { bytes, bytes_max: BATCH_BYTES_MAX, save_points: Vec::new(), contents })
    }

    /// Sets a value.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_cf(0, key, value)
    }

    /// Sets a value in a column family.
    pub fn put_cf(&mut self, family: u32, key: &[u8], value: &[u8]) -> Result<()> {
        self.add_plain(Shape::Put, family, key, Some(value))
    }

    /// Removes a key.
    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.delete_cf(0, key)
    }

    /// Removes a key from a column family.
    pub fn delete_cf(&mut self, family: u32, key: &[u8]) -> Result<()> {
        self.add_plain(Shape::Delete, family, key, None)
    }

    /// Removes a key that was put exactly once since it was removed last, and never merged.
    pub fn single_delete(&mut self, key: &[u8]) -> Result<()> {
        self.single_delete_cf(0, key)
    }

    /// The same in a column family.
    pub fn single_delete_cf(&mut self, family: u32, key: &[u8]) -> Result<()> {
        self.add_plain(Shape::SingleDelete, family, key, None)
    }

    /// Removes the keys from `begin` on, `end` excluded. Whether `begin` sorts before `end` is for the database to check,
    /// which knows the order; equal ones remove nothing.
    pub fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> Result<()> {
        self.delete_range_cf(0, begin, end)
    }

    /// The same in a column family.
    pub fn delete_range_cf(&mut self, family: u32, begin: &[u8], end: &[u8]) -> Result<()> {
        self.add(&Record::DeleteRange { family, begin, end })
    }

    /// Adds an operand for the merge operator.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.merge_cf(0, key, operand)
    }

    /// The same in a column family.
    pub fn merge_cf(&mut self, family: u32, key: &[u8], operand: &[u8]) -> Result<()> {
        self.add(&Record::Merge { family, key, operand })
    }

    /// Adds bytes for readers of the log, which the database does not apply and does not count.
    pub fn put_log_data(&mut self, bytes: &[u8]) -> Result<()> {
        self.add(&Record::LogData(bytes))
    }

    /// Adds a record of any kind.
    ///
    /// * Errors: `InvalidArgument` if a field has 4 GiB or more, or the batch gets longer than its limit or than 4 GiB.
    pub fn add(&mut self, record: &Record<'_>) -> Result<()> {
        for (what, field) in record.fields() {
            check_field(what, field.len())?;
        }
        self.check_growth(record.encoded_len())?;
        let count = self.count_with(u32::from(record.counts()))?;
        record.encode_to(&mut self.bytes);
        self.contents.note(record);
        self.set_count(count);
        Ok(())
    }

    /// The same for what batches mostly hold, without taking a record apart.
    #[inline]
    fn add_plain(
        &mut self,
        shape: Shape,
        family: u32,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<()> {
        check_field("key", key.len())?;
        check_field("value", value.map_or(0, <[u8]>::len))?;
        self.check_growth(shape.encoded_len(family, key, value))?;
        let count = self.count_with(1)?;
        shape.encode_to(family, key, value, &mut self.bytes);
        self.contents.note_plain(family);
        self.set_count(count);
        Ok(())
    }

    /// Adds all records of another batch behind those that are there.
    pub fn append(&mut self, other: &Self) -> Result<()> {
        self.check_growth(other.record_bytes().len())?;
        let count = self.count_with(other.count())?;
        self.bytes.extend_from_slice(other.record_bytes());
        self.contents.note_all(&other.contents);
        self.set_count(count);
        Ok(())
    }

    /// Removes all records and save points; the memory is kept.
    pub fn clear(&mut self) {
        self.bytes.truncate(BATCH_HEADER_BYTES);
        self.bytes.fill(0);
        self.save_points.clear();
        self.contents.clear();
    }

    /// Remembers this point.
    pub fn set_save_point(&mut self) {
        self.save_points.push(SavePoint {
            len: self.bytes.len(),
            count: self.count(),
            contents: self.contents.clone(),
        });
    }

    /// Removes what was added since the last save point, and that point.
    ///
    /// * Errors: `InvalidArgument` if there is none.
    pub fn rollback_to_save_point(&mut self) -> Result<()> {
        let point = self.save_points.pop().ok_or_else(no_save_point)?;
        self.bytes.truncate(point.len);
        self.set_count(point.count);
        self.contents = point.contents;
        Ok(())
    }

    /// Forgets the last save point and keeps what was added since.
    ///
    /// * Errors: `InvalidArgument` if there is none.
    pub fn pop_save_point(&mut self) -> Result<()> {
        self.save_points.pop().map(drop).ok_or_else(no_save_point)
    }

    /// How many records change the database.
    pub fn count(&self) -> u32 {
        match self.bytes.get(COUNT_AT..).and_then(<[u8]>::first_chunk) {
            Some(count) => u32::from_le_bytes(*count),
            None => 0,
        }
    }

    /// Whether nothing changes the database.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Length in bytes, with the header: what it takes in the log.
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The sequence number of the first record that counts; 0 until the database gives one.
    pub fn sequence(&self) -> SeqNo {
        let packed = self.bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        SeqNo::new(packed).unwrap_or(SeqNo::ZERO)
    }

    /// Stamps the batch. The database does so when it writes one.
    pub fn set_sequence(&mut self, sequence: SeqNo) {
        self.bytes[..COUNT_AT].copy_from_slice(&sequence.get().to_le_bytes());
    }

    /// The batch as it stands in the log.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The batch as it stands in the log.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// What stands behind the header: a group of batches is written as one header and the records of each.
    pub fn record_bytes(&self) -> &[u8] {
        self.bytes.get(BATCH_HEADER_BYTES..).unwrap_or_default()
    }

    /// The header of a batch with this sequence number and count.
    pub fn header(sequence: SeqNo, count: u32) -> [u8; BATCH_HEADER_BYTES] {
        let mut header = [0; BATCH_HEADER_BYTES];
        header[..COUNT_AT].copy_from_slice(&sequence.get().to_le_bytes());
        header[COUNT_AT..].copy_from_slice(&count.to_le_bytes());
        header
    }

    /// The records, front to back. They were checked when they came in, so none is an error.
    pub fn records(&self) -> Records<'_> {
        Records::of(&self.bytes, self.count())
    }

    /// What the records touch and need.
    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
    }

    #[inline]
    fn check_growth(&self, more: usize) -> Result<()> {
        check_batch(self.bytes.len().saturating_add(more), self.bytes_max)
    }

    #[inline]
    fn count_with(&self, more: u32) -> Result<u32> {
        let count = self.count().checked_add(more);
        count.ok_or_else(|| Error::invalid_argument("write batch of more than 2^32 - 1 records"))
    }

    #[inline]
    fn set_count(&mut self, count: u32) {
        self.bytes[COUNT_AT..BATCH_HEADER_BYTES].copy_from_slice(&count.to_le_bytes());
    }
}

#[cold]
fn no_save_point() -> Error {
    Error::invalid_argument("the write batch has no save point")
}
