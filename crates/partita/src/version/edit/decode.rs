//! Reading an edit.

use super::tags::{edit, wal};
use super::{
    BlobFileAddition, BlobFileGarbage, CompactCursor, DeletedFile, UnknownField, VersionEdit,
    WalAddition, file,
};
use crate::error::{Error, Result};
use crate::key::SeqNo;
use crate::util::coding::Cursor;
use crate::version::FileNumber;

impl VersionEdit {
    /// Reads the payload of a manifest record.
    ///
    /// * Errors: `Corruption` for damage. `NotSupported`, naming it, for a field that must not be skipped and that we do
    ///   not know: a later version wrote it. Both give the offset of the field in the record.
    pub fn decode(record: &[u8]) -> Result<Self> {
        let mut edit = Self::default();
        let mut cursor = Cursor::new(record);
        while !cursor.is_empty() {
            let at = record.len() - cursor.rest().len();
            edit.decode_field(&mut cursor).map_err(|error| {
                let message = format!("field at byte {at} of the record: {}", error.message());
                Error::new(error.kind(), message).in_part("version edit")
            })?;
        }
        Ok(edit)
    }

    fn decode_field(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let tag = cursor.varint32().ok_or_else(|| Error::corruption("tag is cut short"))?;
        match tag {
            edit::DB_ID => self.db_id = Some(text(cursor, "database id")?),
            edit::COMPARATOR => self.comparator = Some(text(cursor, "comparator")?),
            edit::LOG_NUMBER => self.log_number = Some(number(cursor, "log number")?),
            edit::PREV_LOG_NUMBER => {
                self.prev_log_number = Some(number(cursor, "previous log number")?);
            }
            edit::NEXT_FILE_NUMBER => {
                self.next_file_number = Some(number(cursor, "next file number")?);
            }
            edit::MAX_FAMILY => self.max_family = Some(small(cursor, "greatest column family")?),
            edit::MIN_LOG_NUMBER_TO_KEEP => {
                self.min_log_number_to_keep = Some(number(cursor, "log number to keep")?);
            }
            edit::LAST_SEQUENCE => self.last_sequence = Some(last_sequence(cursor)?),
            edit::COMPACT_CURSOR => self.compact_cursors.push(compact_cursor(cursor)?),
            edit::DELETED_FILE => self.deleted_files.push(DeletedFile {
                level: small(cursor, "level of a deleted table")?,
                number: number(cursor, "deleted table")?,
            }),
            edit::NEW_FILE_1 | edit::NEW_FILE_2 | edit::NEW_FILE_3 | edit::NEW_FILE_4 => {
                let (file, min_log) = file::decode_from(tag, cursor)?;
                self.new_files.push(file);
                self.min_log_number_to_keep = min_log.or(self.min_log_number_to_keep);
            }
            edit::BLOB_FILE_ADDITION | edit::BLOB_FILE_ADDITION_OBSOLETE => {
                self.blob_additions.push(BlobFileAddition::decode_from(cursor)?);
            }
            edit::BLOB_FILE_GARBAGE | edit::BLOB_FILE_GARBAGE_OBSOLETE => {
                self.blob_garbage.push(BlobFileGarbage::decode_from(cursor)?);
            }
            edit::FAMILY => self.family = small(cursor, "column family")?,
            edit::FAMILY_ADD => self.family_added = Some(text(cursor, "column family's name")?),
            edit::FAMILY_DROP => self.family_dropped = true,
            edit::ATOMIC_GROUP => {
                self.atomic_group_remaining = Some(small(cursor, "rest of an atomic group")?);
            }
            _ if tag & edit::MAY_BE_SKIPPED != 0 => self.decode_skippable(tag, cursor)?,
            _ => {
                return Err(Error::not_supported(format!(
                    "field {tag}, which its writer wants to be understood"
                )));
            }
        }
        Ok(())
    }

    /// The fields that came when others may be skipped already.
    fn decode_skippable(&mut self, tag: u32, cursor: &mut Cursor<'_>) -> Result<()> {
        match tag {
            edit::WAL_ADDITION_OBSOLETE => {
                self.wal_additions.push(WalAddition::decode_from(cursor)?);
                return Ok(());
            }
            edit::WAL_DELETION_OBSOLETE => {
                self.wal_deletion = Some(number(cursor, "log deletion")?);
                return Ok(());
            }
            _ => {}
        }
        let bytes = cursor.length_prefixed().ok_or_else(|| short(format_args!("field {tag}")))?;
        let mut inside = Cursor::new(bytes);
        match tag {
            edit::WAL_ADDITION => {
                self.wal_additions.push(WalAddition::decode_from(&mut inside)?);
            }
            edit::WAL_DELETION => self.wal_deletion = Some(number(&mut inside, "log deletion")?),
            edit::FULL_HISTORY_TS_LOW if bytes.is_empty() => {
                return Err(Error::corruption("full_history_ts_low is empty"));
            }
            edit::FULL_HISTORY_TS_LOW => self.full_history_ts_low = Some(bytes.into()),
            edit::PERSIST_USER_DEFINED_TIMESTAMPS => {
                let &[flag] = bytes else {
                    return Err(Error::corruption("persist_user_defined_timestamps is no byte"));
                };
                self.persist_user_defined_timestamps = Some(flag == 1);
            }
            edit::SUBCOMPACTION_PROGRESS => self.subcompaction_progress = Some(bytes.into()),
            edit::LAST_COMPACTED_MANIFEST_BYTES => {
                let size = inside.varint64().ok_or_else(|| short("size of the manifest"))?;
                self.last_compacted_manifest_bytes = Some(size);
            }
            _ => self.unknown.push(UnknownField { tag, bytes: bytes.into() }),
        }
        Ok(())
    }
}

impl WalAddition {
    fn decode_from(cursor: &mut Cursor<'_>) -> Result<Self> {
        let mut addition = Self { number: number(cursor, "log addition")?, synced_bytes: None };
        loop {
            match small(cursor, "log addition")? {
                wal::END => return Ok(addition),
                wal::SYNCED_BYTES => {
                    let bytes = cursor.varint64().ok_or_else(|| short("log addition"))?;
                    addition.synced_bytes = Some(bytes);
                }
                tag => {
                    return Err(Error::not_supported(format!("field {tag} of a log addition")));
                }
            }
        }
    }
}

fn compact_cursor(cursor: &mut Cursor<'_>) -> Result<CompactCursor> {
    let level = small(cursor, "level of a compaction cursor")?;
    let key = cursor.length_prefixed().ok_or_else(|| short("compaction cursor"))?;
    Ok(CompactCursor { level, key: file::boundary_key(key)? })
}

fn last_sequence(cursor: &mut Cursor<'_>) -> Result<SeqNo> {
    let found = cursor.varint64().ok_or_else(|| short("last sequence number"))?;
    SeqNo::new(found)
        .filter(|seqno| *seqno < SeqNo::MAX)
        .ok_or_else(|| Error::corruption(format!("last sequence number {found} has over 56 bits")))
}

fn number(cursor: &mut Cursor<'_>, what: &str) -> Result<FileNumber> {
    let found = FileNumber::from(cursor.varint64().ok_or_else(|| short(what))?);
    if found > FileNumber::MAX {
        return Err(Error::corruption(format!("{what} is {}, over 2^62", found.get())));
    }
    Ok(found)
}

fn small(cursor: &mut Cursor<'_>, what: &str) -> Result<u32> {
    cursor.varint32().ok_or_else(|| short(what))
}

fn text(cursor: &mut Cursor<'_>, what: &str) -> Result<String> {
    let bytes = cursor.length_prefixed().ok_or_else(|| short(what))?;
    match str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Error::not_supported(format!(
            "{what} \"{}\", which is not UTF-8",
            bytes.get(..64).unwrap_or(bytes).escape_ascii()
        ))),
    }
}

#[cold]
fn short(what: impl std::fmt::Display) -> Error {
    Error::corruption(format!("{what} is cut short"))
}
