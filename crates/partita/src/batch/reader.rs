use super::record::Record;
use super::write_batch::{BATCH_HEADER_BYTES, COUNT_AT};
use crate::error::{Error, Result};
use crate::key::SeqNo;
use crate::util::coding::Cursor;

/// The part of a file that errors are about.
const PART: &str = "write batch";

/// A batch in borrowed bytes: a log record's payload, or what another process sent.
///
/// ```
/// use partita::batch::{BatchReader, Record, WriteBatch};
///
/// let mut batch = WriteBatch::new();
/// batch.put(b"k", b"v")?;
/// batch.delete_cf(7, b"old")?;
/// let reader = BatchReader::new(batch.as_bytes())?;
/// assert_eq!(reader.count(), 2);
/// let records: Vec<Record<'_>> = reader.records().collect::<partita::Result<_>>()?;
/// assert_eq!(records[0], Record::Put { family: 0, key: b"k", value: b"v" });
/// assert_eq!(records[1], Record::Delete { family: 7, key: b"old" });
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BatchReader<'a> {
    bytes: &'a [u8],
    sequence: SeqNo,
    count: u32,
}

impl<'a> BatchReader<'a> {
    /// Reads the header; the records are checked as [`BatchReader::records`] comes to them.
    ///
    /// * Errors: `Corruption` if there are fewer bytes than a header has, or its sequence number, or that of the last
    ///   record, does not fit in 56 bits.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let (Some(sequence), Some(count)) = (cursor.fixed64(), cursor.fixed32()) else {
            let message = format!("{} bytes, fewer than its header has", bytes.len());
            return Err(Error::corruption(message).in_part(PART));
        };
        let in_range = sequence.checked_add(u64::from(count)).and_then(SeqNo::new);
        match (SeqNo::new(sequence), in_range) {
            (Some(sequence), Some(_)) => Ok(Self { bytes, sequence, count }),
            _ => Err(Error::corruption(format!("sequence number {sequence} beyond 56 bits"))
                .in_part(PART)),
        }
    }

    /// The sequence number of the first record that counts.
    pub fn sequence(&self) -> SeqNo {
        self.sequence
    }

    /// How many records count, by the header.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The whole batch.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The records, front to back. A record that cannot be read ends them with its error; so does a header that counts
    /// wrong, after the last one. Who must apply all or nothing calls [`BatchReader::validate`] first.
    pub fn records(&self) -> Records<'a> {
        Records::of(self.bytes, self.count)
    }

    /// Goes over all records.
    pub fn validate(&self) -> Result<()> {
        self.records().try_for_each(|record| record.map(drop))
    }
}

/// Iterates over the records of a batch.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    cursor: Cursor<'a>,
    /// Of the batch.
    len: usize,
    expected: u32,
    found: u64,
    ended: bool,
}

impl<'a> Records<'a> {
    pub(super) fn of(batch: &'a [u8], expected: u32) -> Self {
        let cursor = Cursor::new(batch.get(BATCH_HEADER_BYTES..).unwrap_or_default());
        Self { cursor, len: batch.len(), expected, found: 0, ended: false }
    }

    /// How many of the records so far count: the next one that does has that number added to the batch's sequence.
    pub fn counted(&self) -> u64 {
        self.found
    }

    fn wrong_count(&self) -> Error {
        Error::corruption(format!("{} records, but its header says {}", self.found, self.expected))
            .in_part(PART)
            .at(COUNT_AT as u64)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        if self.cursor.is_empty() {
            self.ended = true;
            let right = self.found == u64::from(self.expected);
            return (!right).then(|| Err(self.wrong_count()));
        }
        let at = self.len - self.cursor.rest().len();
        let record = Record::decode(&mut self.cursor);
        match &record {
            Ok(record) => self.found += u64::from(record.counts()),
            Err(_) => self.ended = true,
        }
        Some(record.map_err(|error| error.in_part(PART).at(at as u64)))
    }
}
