//! One record of a batch: tags, and how they are read and written.

use crate::error::{Error, Result};
use crate::util::coding::{Cursor, put_length_prefixed, put_varint, varint_len};

/// One record of a batch, with bytes borrowed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are what their names say")]
pub enum Record<'a> {
    /// Sets a value.
    Put { family: u32, key: &'a [u8], value: &'a [u8] },
    /// Removes a key.
    Delete { family: u32, key: &'a [u8] },
    /// Removes a key that was put once since it was removed last.
    SingleDelete { family: u32, key: &'a [u8] },
    /// Removes the keys from `begin` on, `end` excluded.
    DeleteRange { family: u32, begin: &'a [u8], end: &'a [u8] },
    /// Adds an operand for the merge operator.
    Merge { family: u32, key: &'a [u8], operand: &'a [u8] },
    /// Sets a value that stands in a blob file.
    BlobIndex { family: u32, key: &'a [u8], index: &'a [u8] },
    /// Bytes for whoever reads the log; not applied.
    LogData(&'a [u8]),
    /// A mark of two-phase commit.
    Transaction(TransactionMark<'a>),
    /// Nothing. RocksDB writes it where a transaction's mark may come to stand.
    Noop,
}

/// A mark of two-phase commit in a batch. Transactions are called by the caller's ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionMark<'a> {
    /// The records up to the end mark are applied at the commit.
    BeginPrepare,
    /// The same, by a database that applies them before the commit.
    BeginPersistedPrepare,
    /// The same, for a transaction too large for memory.
    BeginUnprepare,
    /// The end of the prepared records.
    EndPrepare(&'a [u8]),
    /// The prepared records of this transaction count from now on.
    Commit(&'a [u8]),
    /// They never will.
    Rollback(&'a [u8]),
}

/// What a record does, apart from its column family.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Put,
    Delete,
    SingleDelete,
    DeleteRange,
    Merge,
    BlobIndex,
}

impl Shape {
    /// The tags: for family 0, and for one that is named.
    const fn tags(self) -> (u8, u8) {
        match self {
            Self::Delete => (0x00, 0x04),
            Self::Put => (0x01, 0x05),
            Self::Merge => (0x02, 0x06),
            Self::SingleDelete => (0x07, 0x08),
            Self::DeleteRange => (0x0f, 0x0e),
            Self::BlobIndex => (0x11, 0x10),
        }
    }

    const fn from_tag(tag: u8) -> Option<(Self, bool)> {
        Some(match tag {
            0x00 => (Self::Delete, false),
            0x01 => (Self::Put, false),
            0x02 => (Self::Merge, false),
            0x04 => (Self::Delete, true),
            0x05 => (Self::Put, true),
            0x06 => (Self::Merge, true),
            0x07 => (Self::SingleDelete, false),
            0x08 => (Self::SingleDelete, true),
            0x0e => (Self::DeleteRange, true),
            0x0f => (Self::DeleteRange, false),
            0x10 => (Self::BlobIndex, true),
            0x11 => (Self::BlobIndex, false),
            _ => return None,
        })
    }

    /// Bytes of such a record in a batch.
    #[inline]
    pub(super) fn encoded_len(self, family: u32, first: &[u8], second: Option<&[u8]>) -> usize {
        let field = |bytes: &[u8]| varint_len(bytes.len() as u64) + bytes.len();
        let family_len = if family == 0 { 0 } else { varint_len(u64::from(family)) };
        1 + family_len + field(first) + second.map_or(0, field)
    }

    /// Appends such a record. The fields' lengths fit in 32 bits.
    #[inline]
    pub(super) fn encode_to(
        self,
        family: u32,
        first: &[u8],
        second: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) {
        let (plain, with_family) = self.tags();
        if family == 0 {
            out.push(plain);
        } else {
            out.push(with_family);
            put_varint(out, u64::from(family));
        }
        put_length_prefixed(out, first);
        if let Some(second) = second {
            put_length_prefixed(out, second);
        }
    }
}

/// A record that counts, taken apart.
struct Change<'a> {
    shape: Shape,
    family: u32,
    first: &'a [u8],
    second: Option<&'a [u8]>,
}

/// The names of the two fields, for messages.
fn field_names(shape: Shape) -> (&'static str, &'static str) {
    match shape {
        Shape::Put => ("key", "value"),
        Shape::Delete | Shape::SingleDelete => ("key", ""),
        Shape::DeleteRange => ("begin of a range", "end of a range"),
        Shape::Merge => ("key", "operand"),
        Shape::BlobIndex => ("key", "blob index"),
    }
}

const LOG_DATA: u8 = 0x03;
const NOOP: u8 = 0x0d;

impl<'a> Record<'a> {
    /// Whether it changes the database: such a record takes a sequence number and is counted in the batch's header.
    pub const fn counts(&self) -> bool {
        !matches!(self, Self::LogData(_) | Self::Transaction(_) | Self::Noop)
    }

    /// The column family that it changes.
    pub const fn family(&self) -> Option<u32> {
        match *self {
            Self::Put { family, .. }
            | Self::Delete { family, .. }
            | Self::SingleDelete { family, .. }
            | Self::DeleteRange { family, .. }
            | Self::Merge { family, .. }
            | Self::BlobIndex { family, .. } => Some(family),
            Self::LogData(_) | Self::Transaction(_) | Self::Noop => None,
        }
    }

    /// A record that counts, taken apart.
    fn change(&self) -> Option<Change<'a>> {
        let (shape, family, first, second) = match *self {
            Self::Put { family, key, value } => (Shape::Put, family, key, Some(value)),
            Self::Delete { family, key } => (Shape::Delete, family, key, None),
            Self::SingleDelete { family, key } => (Shape::SingleDelete, family, key, None),
            Self::DeleteRange { family, begin, end } => {
                (Shape::DeleteRange, family, begin, Some(end))
            }
            Self::Merge { family, key, operand } => (Shape::Merge, family, key, Some(operand)),
            Self::BlobIndex { family, key, index } => (Shape::BlobIndex, family, key, Some(index)),
            Self::LogData(_) | Self::Transaction(_) | Self::Noop => return None,
        };
        Some(Change { shape, family, first, second })
    }

    /// Tag and field of a record that does not count.
    fn remark(&self) -> (u8, Option<&'a [u8]>) {
        match *self {
            Self::LogData(bytes) => (LOG_DATA, Some(bytes)),
            Self::Transaction(TransactionMark::BeginPrepare) => (0x09, None),
            Self::Transaction(TransactionMark::EndPrepare(id)) => (0x0a, Some(id)),
            Self::Transaction(TransactionMark::Commit(id)) => (0x0b, Some(id)),
            Self::Transaction(TransactionMark::Rollback(id)) => (0x0c, Some(id)),
            Self::Transaction(TransactionMark::BeginPersistedPrepare) => (0x12, None),
            Self::Transaction(TransactionMark::BeginUnprepare) => (0x13, None),
            _ => (NOOP, None),
        }
    }

    /// The fields with their names.
    pub(super) fn fields(&self) -> [(&'static str, &'a [u8]); 2] {
        match self.change() {
            Some(change) => {
                let (first, second) = field_names(change.shape);
                [(first, change.first), (second, change.second.unwrap_or_default())]
            }
            None => {
                let name = match self {
                    Self::Transaction(_) => "transaction id",
                    _ => "log data",
                };
                [(name, self.remark().1.unwrap_or_default()), ("", &[])]
            }
        }
    }

    /// Bytes that it takes in a batch.
    pub fn encoded_len(&self) -> usize {
        match self.change() {
            Some(Change { shape, family, first, second }) => {
                shape.encoded_len(family, first, second)
            }
            None => {
                let field = self.remark().1;
                1 + field.map_or(0, |bytes| varint_len(bytes.len() as u64) + bytes.len())
            }
        }
    }

    /// Appends the record. The fields' lengths fit in 32 bits.
    pub(super) fn encode_to(&self, out: &mut Vec<u8>) {
        match self.change() {
            Some(Change { shape, family, first, second }) => {
                shape.encode_to(family, first, second, out);
            }
            None => {
                let (tag, field) = self.remark();
                out.push(tag);
                if let Some(field) = field {
                    put_length_prefixed(out, field);
                }
            }
        }
    }

    /// Reads the record at the front of `cursor`, which is not empty.
    ///
    /// * Errors: `Corruption` for an unknown tag or a field that is cut off; `NotSupported` for what Partita has not.
    pub(super) fn decode(cursor: &mut Cursor<'a>) -> Result<Self> {
        let tag = cursor.byte().ok_or_else(|| cut_off("tag"))?;
        if let Some((shape, has_family)) = Shape::from_tag(tag) {
            return Self::decode_change(shape, has_family, cursor);
        }
        let mut field = |what| cursor.length_prefixed().ok_or_else(|| cut_off(what));
        let mark = match tag {
            LOG_DATA => return Ok(Self::LogData(field("log data")?)),
            NOOP => return Ok(Self::Noop),
            0x09 => TransactionMark::BeginPrepare,
            0x0a => TransactionMark::EndPrepare(field("transaction id")?),
            0x0b => TransactionMark::Commit(field("transaction id")?),
            0x0c => TransactionMark::Rollback(field("transaction id")?),
            0x12 => TransactionMark::BeginPersistedPrepare,
            0x13 => TransactionMark::BeginUnprepare,
            0x14 | 0x15 => return Err(refused("user-defined timestamps", tag)),
            0x16 | 0x17 => return Err(refused("wide-column entities", tag)),
            0x18 | 0x19 => return Err(refused("timed puts", tag)),
            _ => return Err(Error::corruption(format!("unknown tag {tag:#04x} of a record"))),
        };
        Ok(Self::Transaction(mark))
    }

    fn decode_change(shape: Shape, has_family: bool, cursor: &mut Cursor<'a>) -> Result<Self> {
        let family = match has_family {
            true => cursor.varint32().ok_or_else(|| cut_off("column family"))?,
            false => 0,
        };
        let (first, second) = field_names(shape);
        let mut field = |what| cursor.length_prefixed().ok_or_else(|| cut_off(what));
        let key = field(first)?;
        Ok(match shape {
            Shape::Put => Self::Put { family, key, value: field(second)? },
            Shape::Delete => Self::Delete { family, key },
            Shape::SingleDelete => Self::SingleDelete { family, key },
            Shape::DeleteRange => Self::DeleteRange { family, begin: key, end: field(second)? },
            Shape::Merge => Self::Merge { family, key, operand: field(second)? },
            Shape::BlobIndex => Self::BlobIndex { family, key, index: field(second)? },
        })
    }
}

#[cold]
fn cut_off(what: &str) -> Error {
    Error::corruption(format!("the {what} of a record is cut off"))
}

#[cold]
fn refused(what: &str, tag: u8) -> Error {
    Error::not_supported(format!("{what} (record with tag {tag:#04x})"))
}
