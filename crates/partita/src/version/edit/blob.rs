//! Blob files in edits. Partita does not read blob files; what the manifest says about them is kept.

use super::UnknownField;
use super::tags::blob;
use crate::error::{Error, Result};
use crate::util::coding::{Cursor, put_length_prefixed, put_varint};
use crate::version::FileNumber;

/// A blob file that comes.
///
/// ```text
/// number varint64 | blobs varint64 | bytes varint64 | checksum method string | checksum string | custom fields
/// custom field:  tag varint32 (0 = end; bit 6 = must be known) | string
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobFileAddition {
    /// Its number.
    pub number: FileNumber,
    /// Number of blobs in it.
    pub blob_count: u64,
    /// Bytes of blobs in it.
    pub blob_bytes: u64,
    /// Name of the function of the file's checksum; empty if there is none.
    pub checksum_method: Box<[u8]>,
    /// The file's checksum.
    pub checksum_value: Box<[u8]>,
    /// Fields from later versions that may be skipped.
    pub unknown: Vec<UnknownField>,
}

/// Garbage that was found in a blob file: it adds to what was found before.
///
/// ```text
/// number varint64 | blobs varint64 | bytes varint64 | custom fields as above
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobFileGarbage {
    /// The blob file's number.
    pub number: FileNumber,
    /// Number of blobs that became garbage.
    pub blob_count: u64,
    /// Bytes of blobs that became garbage.
    pub blob_bytes: u64,
    /// Fields from later versions that may be skipped.
    pub unknown: Vec<UnknownField>,
}

impl BlobFileAddition {
    pub(super) fn decode_from(cursor: &mut Cursor<'_>) -> Result<Self> {
        let short = || Error::corruption("addition of a blob file is cut short");
        Ok(Self {
            number: cursor.varint64().ok_or_else(short)?.into(),
            blob_count: cursor.varint64().ok_or_else(short)?,
            blob_bytes: cursor.varint64().ok_or_else(short)?,
            checksum_method: cursor.length_prefixed().ok_or_else(short)?.into(),
            checksum_value: cursor.length_prefixed().ok_or_else(short)?.into(),
            unknown: decode_custom_fields(cursor, "addition of a blob file")?,
        })
    }

    pub(super) fn encode_to(&self, out: &mut Vec<u8>) {
        put_varint(out, self.number.get());
        put_varint(out, self.blob_count);
        put_varint(out, self.blob_bytes);
        put_length_prefixed(out, &self.checksum_method);
        put_length_prefixed(out, &self.checksum_value);
        encode_custom_fields(&self.unknown, out);
    }
}

impl BlobFileGarbage {
    pub(super) fn decode_from(cursor: &mut Cursor<'_>) -> Result<Self> {
        let short = || Error::corruption("garbage of a blob file is cut short");
        Ok(Self {
            number: cursor.varint64().ok_or_else(short)?.into(),
            blob_count: cursor.varint64().ok_or_else(short)?,
            blob_bytes: cursor.varint64().ok_or_else(short)?,
            unknown: decode_custom_fields(cursor, "garbage of a blob file")?,
        })
    }

    pub(super) fn encode_to(&self, out: &mut Vec<u8>) {
        put_varint(out, self.number.get());
        put_varint(out, self.blob_count);
        put_varint(out, self.blob_bytes);
        encode_custom_fields(&self.unknown, out);
    }
}

fn decode_custom_fields(cursor: &mut Cursor<'_>, what: &str) -> Result<Vec<UnknownField>> {
    let mut fields = Vec::new();
    loop {
        let short = || Error::corruption(format!("custom fields of the {what} have no end"));
        let tag = cursor.varint32().ok_or_else(short)?;
        if tag == blob::END {
            return Ok(fields);
        }
        if tag & blob::MUST_BE_KNOWN != 0 {
            return Err(Error::not_supported(format!(
                "custom field {tag} of the {what}, which its writer wants to be understood"
            )));
        }
        let bytes = cursor.length_prefixed().ok_or_else(short)?;
        fields.push(UnknownField { tag, bytes: bytes.into() });
    }
}

fn encode_custom_fields(fields: &[UnknownField], out: &mut Vec<u8>) {
    for field in fields {
        put_varint(out, u64::from(field.tag));
        put_length_prefixed(out, &field.bytes);
    }
    put_varint(out, u64::from(blob::END));
}
