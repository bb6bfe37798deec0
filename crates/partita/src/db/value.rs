use std::fmt;
use std::ops::Deref;

use crate::table::PinnedBytes;

/// A value that was read: in the block that holds it, or a copy if it comes from a memtable or from a merge.
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
    Owned(Vec<u8>),
}

impl PinnedValue {
    /// The part `part` of a table's value, which lies in it.
    pub(super) fn of_table(bytes: PinnedBytes, part: std::ops::Range<usize>) -> Self {
        if part == (0..bytes.len()) {
            return Self(Place::Table(bytes));
        }
        Self(Place::Part { bytes, start: part.start, end: part.end })
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
