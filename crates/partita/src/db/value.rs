use std::fmt;
use std::ops::Deref;

use crate::memtable::MemTableValue;
use crate::table::PinnedBytes;

/// A value that was read: where it was found, or a copy if it is short or made by a merge operator.
///
/// A value of more than 40 bytes keeps its block or its memtable in memory, also after that was evicted or flushed, its
/// file deleted and the database closed. So it is not to be kept for long: [`PinnedValue::into_vec`] copies it.
#[derive(Clone)]
pub struct PinnedValue(Place);

#[derive(Clone)]
enum Place {
    Table(PinnedBytes),
    /// A part of a table's value.
    Part {
        bytes: PinnedBytes,
        start: usize,
        end: usize,
    },
    MemTable(MemTableValue),
    Owned(Vec<u8>),
}

impl PinnedValue {
    /// The whole of a table's value.
    #[inline]
    pub(super) fn of_whole(bytes: PinnedBytes) -> Self {
        Self(Place::Table(bytes))
    }

    /// The part `part` of a table's value, which lies in it.
    pub(super) fn of_table(bytes: PinnedBytes, part: std::ops::Range<usize>) -> Self {
        if part == (0..bytes.len()) {
            return Self::of_whole(bytes);
        }
        Self(Place::Part { bytes, start: part.start, end: part.end })
    }

    pub(super) fn of_memtable(value: MemTableValue) -> Self {
        Self(Place::MemTable(value))
    }

    pub(super) fn owned(bytes: Vec<u8>) -> Self {
        Self(Place::Owned(bytes))
    }

    /// The bytes, copied if they are not the caller's own.
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Place::Owned(bytes) => bytes,
            _ => self.to_vec(),
        }
    }
}

impl Deref for PinnedValue {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Place::Table(bytes) => bytes,
            Place::Part { bytes, start, end } => &bytes[*start..*end],
            Place::MemTable(value) => value,
            Place::Owned(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for PinnedValue {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for PinnedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for PinnedValue {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}
