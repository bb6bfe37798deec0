//! Tables in edits, in the four forms that RocksDB has had.
//!
//! ```text
//! 1    number varint64 | size varint64 | smallest string | largest string
//! 2    as 1, then smallest seqno varint64 | largest seqno varint64
//! 3    number | path id varint32 | size | smallest | largest | smallest seqno | largest seqno
//! 4    as 2, then custom fields
//!
//! custom field:  tag varint32 (1 = end; bit 6 = must be known) | string
//! ```
//!
//! All four are read, and the last is written.

use super::tags::{edit, file};
use super::{NewFile, UnknownField};
use crate::error::{Error, Result};
use crate::key::{InternalKey, PACKED_LEN, SeqNo, ValueType};
use crate::util::coding::{Cursor, put_length_prefixed, put_varint};
use crate::version::file_meta::FileChecksum;
use crate::version::{FileMeta, FileNumber, RareFields};

/// The greatest path id: RocksDB has two bits for it.
const PATH_ID_MAX: u32 = 3;

/// Reads a table in the form of `tag`; with it the log number that an edit hides in its first table.
pub(super) fn decode_from(
    tag: u32,
    cursor: &mut Cursor<'_>,
) -> Result<(NewFile, Option<FileNumber>)> {
    let short = || Error::corruption("new table is cut short");
    let level = cursor.varint32().ok_or_else(short)?;
    let number = FileNumber::from(cursor.varint64().ok_or_else(short)?);
    if number > FileNumber::MAX {
        return Err(Error::corruption(format!("new table has the file number {}", number.get())));
    }
    let mut file = FileMeta { number, timestamps_persisted: true, ..FileMeta::default() };
    if tag == edit::NEW_FILE_3 {
        file.path_id = path_id(cursor.varint32().ok_or_else(short)?, number)?;
    }
    file.file_bytes = cursor.varint64().ok_or_else(short)?;
    file.smallest = boundary(cursor.length_prefixed().ok_or_else(short)?, number)?;
    file.largest = boundary(cursor.length_prefixed().ok_or_else(short)?, number)?;
    if tag == edit::NEW_FILE_1 {
        file.largest_seqno = SeqNo::MAX;
    } else {
        file.smallest_seqno = seqno(cursor.varint64().ok_or_else(short)?, number)?;
        file.largest_seqno = seqno(cursor.varint64().ok_or_else(short)?, number)?;
    }
    let mut min_log = None;
    if tag == edit::NEW_FILE_4 {
        while let Some((tag, field)) = custom_field(cursor, number)? {
            if tag == file::MIN_LOG_NUMBER_TO_KEEP {
                let log = Cursor::new(field).fixed64().map(FileNumber::from);
                let log = log.filter(|log| *log <= FileNumber::MAX);
                min_log = Some(log.ok_or_else(|| malformed(tag, number))?);
            } else {
                set_custom_field(&mut file, tag, field)?;
            }
        }
        // An empty field says what no field says, and is not written again.
        if file.rare.as_deref().is_some_and(|rare| *rare == RareFields::default()) {
            file.rare = None;
        }
    }
    Ok((NewFile { level, file }, min_log))
}

fn path_id(found: u32, number: FileNumber) -> Result<u8> {
    match u8::try_from(found) {
        Ok(id) if found <= PATH_ID_MAX => Ok(id),
        _ => Err(Error::corruption(format!("table {number} has the path id {found}"))),
    }
}

fn boundary(encoded: &[u8], number: FileNumber) -> Result<Box<[u8]>> {
    boundary_key(encoded).map_err(|error| {
        Error::corruption(format!("boundary of table {number}: {}", error.message()))
    })
}

/// The code that RocksDB 9 and later give to the place in front of all entries of a key and sequence number. Where a
/// truncated range tombstone was the first thing of an output, it gets into boundaries; it is the type of no entry.
const MAX_VALID: u8 = 0x1A;

/// An internal key where a table begins or ends.
///
/// [`MAX_VALID`] is taken for [`ValueType::FOR_SEEK`], which is the same place, and which RocksDB before 9 knows, too.
pub(super) fn boundary_key(encoded: &[u8]) -> Result<Box<[u8]>> {
    let mut key: Box<[u8]> = encoded.into();
    if let Some(packed) = key.last_chunk_mut::<PACKED_LEN>()
        && packed[0] == MAX_VALID
    {
        packed[0] = ValueType::FOR_SEEK.code();
    }
    InternalKey::decode(&key)?;
    Ok(key)
}

fn seqno(found: u64, number: FileNumber) -> Result<SeqNo> {
    SeqNo::new(found).ok_or_else(|| {
        Error::corruption(format!("table {number} has the sequence number {found}, over 2^56"))
    })
}

/// The next custom field; `None` at their end.
fn custom_field<'a>(
    cursor: &mut Cursor<'a>,
    number: FileNumber,
) -> Result<Option<(u32, &'a [u8])>> {
    let short = || Error::corruption(format!("custom fields of table {number} have no end"));
    let tag = cursor.varint32().ok_or_else(short)?;
    if tag == file::END {
        return Ok(None);
    }
    Ok(Some((tag, cursor.length_prefixed().ok_or_else(short)?)))
}

#[cold]
fn malformed(tag: u32, number: FileNumber) -> Error {
    Error::corruption(format!("custom field {tag} of table {number} is malformed"))
}

fn set_custom_field(file: &mut FileMeta, tag: u32, field: &[u8]) -> Result<()> {
    let number = file.number;
    let integer = || Cursor::new(field).varint64().ok_or_else(|| malformed(tag, number));
    let byte = || match field {
        [byte] => Ok(*byte),
        _ => Err(malformed(tag, number)),
    };
    match tag {
        file::NEED_COMPACTION => file.need_compaction = byte()? == 1,
        file::OLDEST_BLOB_FILE => {
            file.oldest_blob_file = Some(integer()?).filter(|number| *number != 0).map(Into::into);
        }
        file::OLDEST_ANCESTOR_TIME => file.oldest_ancestor_time = integer()?,
        file::CREATION_TIME => file.creation_time = integer()?,
        file::CHECKSUM => checksum_mut(file).value = field.into(),
        file::CHECKSUM_FUNCTION => checksum_mut(file).function = field.into(),
        file::TEMPERATURE => file.temperature = byte()?,
        file::MIN_TIMESTAMP => file.rare_mut().min_timestamp = field.into(),
        file::MAX_TIMESTAMP => file.rare_mut().max_timestamp = field.into(),
        file::UNIQUE_ID => {
            let id: [u8; 16] = field.try_into().map_err(|_| malformed(tag, number))?;
            file.unique_id = Some(id).filter(|id| *id != [0; 16]);
        }
        file::EPOCH_NUMBER => file.epoch = integer()?,
        file::COMPENSATED_RANGE_DELETION_BYTES => {
            file.compensated_range_deletion_bytes = integer()?;
        }
        file::TAIL_BYTES => file.tail_bytes = integer()?,
        file::USER_DEFINED_TIMESTAMPS_PERSISTED => file.timestamps_persisted = byte()? == 1,
        file::OPEN_METADATA => file.rare_mut().open_metadata = field.into(),
        file::PATH_ID => file.path_id = path_id(u32::from(byte()?), number)?,
        _ if tag & file::MUST_BE_KNOWN != 0 => {
            return Err(Error::not_supported(format!(
                "custom field {tag} of table {number}, which its writer wants to be understood"
            )));
        }
        _ => file.rare_mut().unknown.push(UnknownField { tag, bytes: field.into() }),
    }
    Ok(())
}

fn checksum_mut(file: &mut FileMeta) -> &mut FileChecksum {
    file.rare_mut().checksum.get_or_insert_default()
}

/// Appends a table in the fourth form, with the tag before it.
///
/// * `min_log`: the edit's, for its first table.
pub(super) fn encode_to(
    level: u32,
    file: &FileMeta,
    min_log: Option<FileNumber>,
    out: &mut Vec<u8>,
) {
    put_varint(out, u64::from(edit::NEW_FILE_4));
    put_varint(out, u64::from(level));
    put_varint(out, file.number.get());
    put_varint(out, file.file_bytes);
    put_length_prefixed(out, &file.smallest);
    put_length_prefixed(out, &file.largest);
    put_varint(out, file.smallest_seqno.get());
    put_varint(out, file.largest_seqno.get());
    encode_custom_fields(file, min_log, out);
    put_varint(out, u64::from(file::END));
}

/// In RocksDB's order, which no reader depends on.
fn encode_custom_fields(file: &FileMeta, min_log: Option<FileNumber>, out: &mut Vec<u8>) {
    put_integer(out, file::OLDEST_ANCESTOR_TIME, file.oldest_ancestor_time);
    put_integer(out, file::CREATION_TIME, file.creation_time);
    if file.epoch != 0 {
        put_integer(out, file::EPOCH_NUMBER, file.epoch);
    }
    let rare = file.rare.as_deref();
    if let Some(checksum) = rare.and_then(|rare| rare.checksum.as_ref()) {
        put_bytes(out, file::CHECKSUM, &checksum.value);
        put_bytes(out, file::CHECKSUM_FUNCTION, &checksum.function);
    }
    if file.path_id != 0 {
        put_bytes(out, file::PATH_ID, &[file.path_id]);
    }
    if file.temperature != 0 {
        put_bytes(out, file::TEMPERATURE, &[file.temperature]);
    }
    if file.need_compaction {
        put_bytes(out, file::NEED_COMPACTION, &[1]);
    }
    if let Some(min_log) = min_log {
        put_bytes(out, file::MIN_LOG_NUMBER_TO_KEEP, &min_log.get().to_le_bytes());
    }
    if let Some(number) = file.oldest_blob_file {
        put_integer(out, file::OLDEST_BLOB_FILE, number.get());
    }
    if let Some(id) = &file.unique_id {
        put_bytes(out, file::UNIQUE_ID, id);
    }
    if file.compensated_range_deletion_bytes != 0 {
        let bytes = file.compensated_range_deletion_bytes;
        put_integer(out, file::COMPENSATED_RANGE_DELETION_BYTES, bytes);
    }
    if file.tail_bytes != 0 {
        put_integer(out, file::TAIL_BYTES, file.tail_bytes);
    }
    if !file.timestamps_persisted {
        put_bytes(out, file::USER_DEFINED_TIMESTAMPS_PERSISTED, &[0]);
    }
    let Some(rare) = rare else { return };
    for (tag, bytes) in [
        (file::MIN_TIMESTAMP, &rare.min_timestamp),
        (file::MAX_TIMESTAMP, &rare.max_timestamp),
        (file::OPEN_METADATA, &rare.open_metadata),
    ] {
        if !bytes.is_empty() {
            put_bytes(out, tag, bytes);
        }
    }
    for field in &rare.unknown {
        put_bytes(out, field.tag, &field.bytes);
    }
}

fn put_integer(out: &mut Vec<u8>, tag: u32, value: u64) {
    let mut bytes = Vec::with_capacity(10);
    put_varint(&mut bytes, value);
    put_bytes(out, tag, &bytes);
}

fn put_bytes(out: &mut Vec<u8>, tag: u32, bytes: &[u8]) {
    put_varint(out, u64::from(tag));
    put_length_prefixed(out, bytes);
}
