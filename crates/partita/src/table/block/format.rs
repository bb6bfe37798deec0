use std::ops::Range;

use crate::error::Result;
use crate::table::{BLOCK_TRAILER_LEN, BlockHandle};
use crate::util::coding::Cursor;

/// Where the parts of one entry stand in the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntryAt {
    /// Bytes shared with the previous key.
    pub(super) shared: usize,
    /// Where the rest of the key starts.
    pub(super) key_at: usize,
    /// Where it ends.
    pub(super) key_end: usize,
    /// Where the value starts. Meaningless in index blocks, whose value is in the state.
    pub(super) value_at: usize,
    /// Where it ends.
    pub(super) value_end: usize,
    /// Offset of the next entry.
    pub(super) next: usize,
}

/// How the entries of a block are encoded, and what a walk over them carries along.
pub trait Format: Copy + std::fmt::Debug {
    /// What an entry's meaning depends on besides its own bytes.
    type State: Clone + Default + std::fmt::Debug;

    /// Bytes of a key behind its user key: 8 for internal keys, 0 for plain ones.
    fn packed_len(&self) -> usize;

    /// Takes the entry at `at` apart.
    ///
    /// * `contents`: the block up to its restart array; `keys_end`: where its entries end.
    /// * `restart`: whether `at` is a restart point.
    /// * Returns `None` if the entry runs over its bounds. All ranges of the result lie inside `contents`.
    fn decode(
        &self,
        contents: &[u8],
        keys_end: usize,
        at: usize,
        restart: bool,
        state: &mut Self::State,
    ) -> Option<EntryAt>;
}

/// Entries of data blocks, and of all meta blocks that are built like them.
///
/// ```text
/// shared varint32 | non_shared varint32 | value_len varint32 | key bytes | value bytes
///
/// with separated values:
/// shared | non_shared | value_len | value_offset varint32, at restart points only | key bytes
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DataFormat {
    pub(super) internal_keys: bool,
    pub(super) separated_values: bool,
}

impl Format for DataFormat {
    /// With separated values: where the next value starts, unless the entry says it.
    type State = usize;

    #[inline]
    fn packed_len(&self) -> usize {
        if self.internal_keys { 8 } else { 0 }
    }

    #[inline(always)]
    fn decode(
        &self,
        contents: &[u8],
        keys_end: usize,
        at: usize,
        restart: bool,
        next_value: &mut usize,
    ) -> Option<EntryAt> {
        let bytes = contents.get(at..keys_end)?;
        let (shared, non_shared, value_len, header_len) = match *bytes {
            // Lengths below 128 are one byte each; nearly all entries have such.
            [a, b, c, ..] if (a | b | c) < 0x80 => (a as usize, b as usize, c as usize, 3),
            _ => decode_lengths(bytes)?,
        };
        let key_at = at + header_len;
        if self.separated_values {
            return decode_separated(
                contents,
                keys_end,
                (shared, non_shared, value_len, key_at),
                restart,
                next_value,
            );
        }
        let key_end = key_at.checked_add(non_shared)?;
        let value_end = key_end.checked_add(value_len)?;
        if value_end > keys_end {
            return None;
        }
        Some(EntryAt { shared, key_at, key_end, value_at: key_end, value_end, next: value_end })
    }
}

#[cold]
fn decode_lengths(bytes: &[u8]) -> Option<(usize, usize, usize, usize)> {
    let mut cursor = Cursor::new(bytes);
    let shared = cursor.varint32()? as usize;
    let non_shared = cursor.varint32()? as usize;
    let value_len = cursor.varint32()? as usize;
    Some((shared, non_shared, value_len, bytes.len() - cursor.rest().len()))
}

fn decode_separated(
    contents: &[u8],
    keys_end: usize,
    (shared, non_shared, value_len, mut key_at): (usize, usize, usize, usize),
    restart: bool,
    next_value: &mut usize,
) -> Option<EntryAt> {
    if restart {
        let bytes = contents.get(key_at..keys_end)?;
        let mut cursor = Cursor::new(bytes);
        let value_offset = cursor.varint32()? as usize;
        *next_value = keys_end.checked_add(value_offset)?;
        key_at += bytes.len() - cursor.rest().len();
    }
    let key_end = key_at.checked_add(non_shared)?;
    let value_at = *next_value;
    let value_end = value_at.checked_add(value_len)?;
    if key_end > keys_end || value_end > contents.len() {
        return None;
    }
    *next_value = value_end;
    Some(EntryAt { shared, key_at, key_end, value_at, value_end, next: key_end })
}

/// Entries of index blocks: the value is a block handle, and the first key of that block if the index has it.
///
/// ```text
/// plain:          shared varint32 | non_shared varint32 | value_len varint32 | key bytes | value
/// delta-encoded:  shared varint32 | non_shared varint32 | key bytes | value
///
/// value:  offset varint64 | size varint64                       in full
///         zigzag64 of size - previous size                      delta-encoded and shared > 0; the block follows the
///                                                               previous one and its trailer
///         then, with first keys: length varint32 | internal key
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexFormat {
    /// Whether keys are user keys, not internal keys.
    pub user_keys: bool,
    /// Whether values are delta-encoded.
    pub delta_values: bool,
    /// Whether each value ends with the first key of its block.
    pub first_keys: bool,
}

/// The value of an index entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexValue {
    /// The block that the entry points at.
    pub handle: BlockHandle,
    /// Where the block's first internal key stands in the index block. Empty if the index has none.
    pub(super) first_key: Range<usize>,
}

impl Format for IndexFormat {
    type State = IndexValue;

    #[inline]
    fn packed_len(&self) -> usize {
        if self.user_keys { 0 } else { 8 }
    }

    #[inline(always)]
    fn decode(
        &self,
        contents: &[u8],
        keys_end: usize,
        at: usize,
        _restart: bool,
        state: &mut IndexValue,
    ) -> Option<EntryAt> {
        let bytes = contents.get(at..keys_end)?;
        let offset_of = |cursor: &Cursor<'_>| keys_end - cursor.rest().len();
        let mut cursor = Cursor::new(bytes);
        let shared = cursor.varint32()? as usize;
        let non_shared = cursor.varint32()? as usize;
        let value_len = if self.delta_values { None } else { Some(cursor.varint32()? as usize) };
        let key_at = offset_of(&cursor);
        cursor.bytes(non_shared)?;
        let value_at = offset_of(&cursor);
        state.handle = if self.delta_values && shared > 0 {
            following(state.handle, cursor.zigzag()?)?
        } else {
            decode_handle(&mut cursor).ok()?
        };
        if self.first_keys {
            let len = cursor.length_prefixed()?.len();
            let end = offset_of(&cursor);
            state.first_key = end - len..end;
        }
        let next = offset_of(&cursor);
        if value_len.is_some_and(|len| next != value_at + len) {
            return None;
        }
        Some(EntryAt { shared, key_at, key_end: value_at, value_at, value_end: next, next })
    }
}

#[inline]
fn decode_handle(cursor: &mut Cursor<'_>) -> Result<BlockHandle> {
    BlockHandle::decode_from(cursor)
}

/// The handle of the block behind `previous`, whose size differs by `size_change`.
#[inline]
fn following(previous: BlockHandle, size_change: i64) -> Option<BlockHandle> {
    let offset = previous.offset.checked_add(previous.size)?;
    Some(BlockHandle {
        offset: offset.checked_add(BLOCK_TRAILER_LEN as u64)?,
        size: previous.size.checked_add_signed(size_change)?,
    })
}
