//! Records about the log itself.

use super::compression::ZSTD_CODE;
use crate::error::{Error, Result};
use crate::util::coding::Cursor;

/// What a log says about the one before it, if RocksDB's `track_and_verify_wals` was on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredecessorWal {
    /// Its number.
    pub log_number: u64,
    /// Its length in bytes.
    pub size_bytes: u64,
    /// The last sequence number in it; 0 if it has no record.
    pub last_sequence: u64,
}

/// What a special record says that a reader must know, or why it cannot be used.
pub(super) type Decoded<T> = Result<T, &'static str>;

/// Whether the records that follow are compressed.
pub(super) fn decode_compression(payload: &[u8]) -> Result<Decoded<bool>> {
    let mut cursor = Cursor::new(payload);
    match cursor.fixed32() {
        Some(0) => Ok(Ok(false)),
        Some(ZSTD_CODE) => Ok(Ok(true)),
        Some(other) => Err(Error::not_supported(format!("log compression of type {other}"))),
        None => Ok(Err("the record of the log's compression is too short")),
    }
}

/// Column families with timestamps in their keys are refused: every record of theirs would be misread.
pub(super) fn refuse_timestamps(payload: &[u8]) -> Result<Decoded<()>> {
    let mut cursor = Cursor::new(payload);
    while !cursor.is_empty() {
        let (Some(family), Some(size)) = (cursor.fixed32(), cursor.bytes(2)) else {
            return Ok(Err("the record of timestamp sizes ends within an entry"));
        };
        let size = u16::from_le_bytes([size[0], size[1]]);
        if size != 0 {
            return Err(Error::not_supported(format!(
                "user-defined timestamps (of {size} bytes in column family {family})"
            )));
        }
    }
    Ok(Ok(()))
}

pub(super) fn decode_predecessor(payload: &[u8]) -> Decoded<PredecessorWal> {
    let mut cursor = Cursor::new(payload);
    let mut next = || cursor.fixed64().ok_or("the record of the log before is too short");
    let (log_number, size_bytes, last_sequence) = (next()?, next()?, next()?);
    Ok(PredecessorWal { log_number, size_bytes, last_sequence })
}
