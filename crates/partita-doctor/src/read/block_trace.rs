//! Block-cache traces, as `StartBlockCacheTrace` of RocksDB 7.8 to 11 writes them: every block that was asked of the cache.
//!
//! ```text
//! record:   time u64 | type u8 | length u32 | payload                         integers little-endian
//! header:   type 1;  payload: "feedcafedeadbeef" | major u32 | minor u32      strings with a varint32 length before them
//! access:   type 7 index, 8 filter, 9 data, 10 dictionary, 11 range deletions, 14 not said
//!   payload:  block key | size u64 | family u64 | family name | level u32 | table u64 | caller u8 | hit u8 | no_insert u8
//!   of a get:              get id u64 | snapshot u8 | key
//!   of a get, data block:  referenced bytes u64 | keys in the block u64 | found u8
//! ```
//!
//! * The key is an internal one: eight bytes behind the user's tell sequence number and type.
//! * A get's filter and index blocks carry its id and key; partitions of an index carry neither. Those of a MultiGet carry
//!   its id, and its data blocks, of which the type is not said, the key.
//! * The traces of `StartTrace`, which has queries instead of blocks, begin alike and are refused by name.
//! * A record that the file ends in is no damage: the trace was being written, or its writer was killed.

use std::path::Path;

use partita::io::{FileSystem, SequentialFile};
use partita::util::coding::Cursor;
use partita::{Error, Result};

/// What the first record of a trace holds.
const MAGIC: &[u8] = b"feedcafedeadbeef";
/// Time, type and length before each payload.
const HEAD_BYTES: usize = 13;
/// What tells a trace.
const START_BYTES: usize = HEAD_BYTES + 1 + MAGIC.len();
/// What a record may take: keys of more are refused by RocksDB's own users, and memory is bounded by it.
const PAYLOAD_BYTES_MAX: u32 = 16 << 20;
const CHUNK_BYTES: usize = 256 << 10;
/// Bytes of sequence number and type behind a user key.
const TAG_BYTES: usize = 8;

/// Where the type stands in a record.
const TYPE_AT: usize = 8;
const TYPE_BEGIN: u8 = 1;
const CALLER_GET: u8 = 1;
const CALLER_MULTI_GET: u8 = 2;

/// What a block that was asked for is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracedBlock {
    /// An index, or a piece of one.
    Index,
    /// A filter, or a piece of one.
    Filter,
    /// Entries.
    Data,
    /// A dictionary for decompression.
    Dictionary,
    /// Range tombstones.
    RangeDeletions,
    /// The trace does not say: data that a MultiGet asked for.
    Unsaid,
}

impl TracedBlock {
    fn of(code: u8) -> Option<Self> {
        Some(match code {
            7 => Self::Index,
            8 => Self::Filter,
            9 => Self::Data,
            10 => Self::Dictionary,
            11 => Self::RangeDeletions,
            14 => Self::Unsaid,
            _ => return None,
        })
    }
}

/// A block that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAccess<'a> {
    /// When, in microseconds since 1970.
    pub time_micros: u64,
    /// What it is.
    pub block: TracedBlock,
    /// Its key in the cache.
    pub block_key: &'a [u8],
    /// What it takes there.
    pub block_bytes: u64,
    /// The number of its column family.
    pub family: u64,
    /// The name of that.
    pub family_name: &'a [u8],
    /// The level of its table.
    pub level: u32,
    /// The number of its table.
    pub table: u64,
    /// Who asked: RocksDB's number.
    pub caller: u8,
    /// Whether it was there.
    pub is_hit: bool,
    /// Whether it was not to be kept.
    pub no_insert: bool,
    /// What a get or MultiGet says of itself.
    pub get: Option<TracedGet<'a>>,
}

impl BlockAccess<'_> {
    /// Whether a MultiGet asked.
    pub fn is_multi_get(&self) -> bool {
        self.caller == CALLER_MULTI_GET
    }

    /// Who asked, in words.
    pub fn caller_name(&self) -> &'static str {
        match self.caller {
            CALLER_GET => "get",
            CALLER_MULTI_GET => "MultiGet",
            3 => "iterator",
            4 => "approximate sizes",
            5 => "verification",
            6 => "sst_dump",
            7 => "ingestion",
            8 => "repair",
            9 => "prefetching",
            10 => "compaction",
            11 => "compaction's refill",
            12 => "flush",
            13 => "a reader of files",
            _ => "others",
        }
    }
}

/// What stands in a trace of a get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedGet<'a> {
    /// Its number; 0 if that was not kept.
    pub id: u64,
    /// Whether it reads a snapshot.
    pub is_of_snapshot: bool,
    /// The internal key; empty where it was not kept.
    pub key: &'a [u8],
    /// What it found in a data block.
    pub in_block: Option<TracedData>,
}

impl<'a> TracedGet<'a> {
    /// The key that was looked up.
    pub fn user_key(&self) -> Option<&'a [u8]> {
        self.key.split_last_chunk::<TAG_BYTES>().map(|(key, _)| key)
    }
}

/// What a get found in a data block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedData {
    /// Bytes of key and value.
    pub bytes: u64,
    /// The entries of the block.
    pub keys_in_block: u64,
    /// Whether the key is among them.
    pub is_found: bool,
}

/// Whether a file that begins so is a trace of RocksDB, of whatever kind.
fn is_trace(start: &[u8]) -> bool {
    let begins_at = |at: usize| start.get(at..).is_some_and(|rest| rest.starts_with(MAGIC));
    start.get(TYPE_AT) == Some(&TYPE_BEGIN) && (begins_at(HEAD_BYTES) || begins_at(HEAD_BYTES + 1))
}

/// Reads a trace from front to back, with memory for one record at a time.
#[derive(Debug)]
pub struct BlockTraceReader {
    file: Box<dyn SequentialFile>,
    buffer: Vec<u8>,
    /// What of the buffer was not handed out yet.
    from: usize,
    /// Where that stands in the file.
    offset: u64,
    is_at_end: bool,
    release: (u32, u32),
    torn_bytes: u64,
}

impl BlockTraceReader {
    /// Begins to read.
    ///
    /// * Errors: a file that is no trace (`InvalidArgument`), one of queries (`NotSupported`), a damaged header.
    pub fn open(fs: &dyn FileSystem, path: &Path) -> Result<Self> {
        Self::open_if(fs, path)?.ok_or_else(|| {
            let message = "no trace of RocksDB: it does not begin as one";
            Error::invalid_argument(message).in_file(path)
        })
    }

    /// The same; `None` for a file that is no trace.
    pub(crate) fn open_if(fs: &dyn FileSystem, path: &Path) -> Result<Option<Self>> {
        let file = fs.open_sequential(path)?;
        let mut reader = Self {
            file,
            buffer: Vec::new(),
            from: 0,
            offset: 0,
            is_at_end: false,
            release: (0, 0),
            torn_bytes: 0,
        };
        reader.fill(START_BYTES)?;
        if !is_trace(reader.rest()) {
            return Ok(None);
        }
        reader.read_header().map_err(|error| error.in_file(path))?;
        Ok(Some(reader))
    }

    fn read_header(&mut self) -> Result<()> {
        let Some(record) = self.next_record()? else {
            return Err(damage("the header is cut off", 0));
        };
        if record.payload(&self.buffer).starts_with(MAGIC) {
            let message =
                "a trace of queries (StartTrace): expected one of blocks (StartBlockCacheTrace)";
            return Err(Error::not_supported(message));
        }
        let mut payload = Cursor::new(record.payload(&self.buffer));
        let release = (|| {
            let magic = payload.length_prefixed()?;
            let release = (payload.fixed32()?, payload.fixed32()?);
            (magic == MAGIC && payload.is_empty()).then_some(release)
        })();
        self.release = release.ok_or_else(|| damage("the header is not what it should be", 0))?;
        Ok(())
    }

    /// Major and minor number of the release that wrote it.
    pub fn release(&self) -> (u32, u32) {
        self.release
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// How many bytes at the end are the beginning of a record; known when the end was reached.
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// The next access; `None` at the end.
    ///
    /// * Errors: `Corruption` with the offset of the record that is not as it should be.
    pub fn next_access(&mut self) -> Result<Option<BlockAccess<'_>>> {
        let Some(record) = self.next_record().map_err(|error| error.in_file(self.file.path()))?
        else {
            return Ok(None);
        };
        parse_access(&record, record.payload(&self.buffer))
            .map(Some)
            .map_err(|error| error.in_file(self.file.path()))
    }

    /// Takes the next record out of the buffer.
    fn next_record(&mut self) -> Result<Option<Record>> {
        let whole = self.fill(HEAD_BYTES)?;
        let mut head = Cursor::new(self.rest());
        let (Some(time_micros), Some(code), Some(len)) =
            (head.fixed64(), head.byte(), head.fixed32())
        else {
            debug_assert!(!whole, "a head that is there can be read");
            self.torn_bytes = self.rest().len() as u64;
            return Ok(None);
        };
        if len > PAYLOAD_BYTES_MAX {
            let message = format!("a record of {len} bytes, of at most {PAYLOAD_BYTES_MAX}");
            return Err(damage(message, self.offset));
        }
        if !self.fill(HEAD_BYTES + len as usize)? {
            self.torn_bytes = self.rest().len() as u64;
            return Ok(None);
        }
        let start = self.from + HEAD_BYTES;
        let record =
            Record { time_micros, code, offset: self.offset, start, end: start + len as usize };
        self.from = record.end;
        self.offset += (HEAD_BYTES + len as usize) as u64;
        Ok(Some(record))
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.from..).unwrap_or_default()
    }

    /// Reads on until so many bytes are there; whether they are.
    fn fill(&mut self, wanted: usize) -> Result<bool> {
        if self.rest().len() >= wanted {
            return Ok(true);
        }
        self.buffer.drain(..self.from);
        self.from = 0;
        while self.buffer.len() < wanted && !self.is_at_end {
            let had = self.buffer.len();
            self.buffer.resize(had + CHUNK_BYTES, 0);
            let count = self.file.read_full(&mut self.buffer[had..])?;
            self.buffer.truncate(had + count);
            self.is_at_end = count < CHUNK_BYTES;
        }
        Ok(self.buffer.len() >= wanted)
    }
}

/// Where a record stands.
struct Record {
    time_micros: u64,
    code: u8,
    offset: u64,
    start: usize,
    end: usize,
}

impl Record {
    fn payload<'b>(&self, buffer: &'b [u8]) -> &'b [u8] {
        buffer.get(self.start..self.end).unwrap_or_default()
    }
}

fn damage(message: impl Into<String>, offset: u64) -> Error {
    Error::corruption(message).in_part("block-cache trace").at(offset)
}

fn parse_access<'b>(record: &Record, payload: &'b [u8]) -> Result<BlockAccess<'b>> {
    let Some(block) = TracedBlock::of(record.code) else {
        let message = format!("a block of type 7 to 11 or 14 expected, found {}", record.code);
        return Err(damage(message, record.offset));
    };
    let mut fields = Fields { cursor: Cursor::new(payload), offset: record.offset };
    let mut access = BlockAccess {
        time_micros: record.time_micros,
        block,
        block_key: fields.bytes("block key")?,
        block_bytes: fields.fixed64("block size")?,
        family: fields.fixed64("family")?,
        family_name: fields.bytes("family name")?,
        level: fields.need("level", Cursor::fixed32)?,
        table: fields.fixed64("table")?,
        caller: fields.need("caller", Cursor::byte)?,
        is_hit: fields.flag("hit")?,
        no_insert: fields.flag("no_insert")?,
        get: None,
    };
    if matches!(access.caller, CALLER_GET | CALLER_MULTI_GET) {
        access.get = Some(TracedGet {
            id: fields.fixed64("get id")?,
            is_of_snapshot: fields.flag("snapshot")?,
            key: fields.bytes("key")?,
            in_block: match block {
                TracedBlock::Data => Some(TracedData {
                    bytes: fields.fixed64("referenced bytes")?,
                    keys_in_block: fields.fixed64("keys in the block")?,
                    is_found: fields.flag("found")?,
                }),
                _ => None,
            },
        });
    }
    match fields.cursor.rest().len() {
        0 => Ok(access),
        left => {
            let message = format!("{left} bytes behind the last field of an access");
            Err(damage(message, record.offset))
        }
    }
}

/// The fields of a payload, each with its name for errors.
struct Fields<'b> {
    cursor: Cursor<'b>,
    offset: u64,
}

impl<'b> Fields<'b> {
    fn need<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Cursor<'b>) -> Option<T>,
    ) -> Result<T> {
        let offset = self.offset;
        read(&mut self.cursor)
            .ok_or_else(|| damage(format!("an access ends before its {name}"), offset))
    }

    fn bytes(&mut self, name: &str) -> Result<&'b [u8]> {
        self.need(name, Cursor::length_prefixed)
    }

    fn fixed64(&mut self, name: &str) -> Result<u64> {
        self.need(name, Cursor::fixed64)
    }

    fn flag(&mut self, name: &str) -> Result<bool> {
        match self.need(name, Cursor::byte)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(damage(format!("{name}: 0 or 1 expected, found {other}"), self.offset)),
        }
    }
}

#[cfg(test)]
mod tests;
