//! Headers of fragments.

use crate::util::checksum::mask_crc32c;

/// A fragment never crosses a multiple of this.
pub(super) const BLOCK_BYTES: usize = 32 * 1024;
/// checksum, length, type
pub(super) const HEADER_BYTES: usize = 4 + 2 + 1;
/// and the log number
pub(super) const RECYCLABLE_HEADER_BYTES: usize = HEADER_BYTES + 4;
/// Where the bytes start that the checksum covers: at the type.
pub(super) const CHECKED_FROM: usize = 4 + 2;

/// Which part of a record a fragment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Full,
    First,
    Middle,
    Last,
}

/// What a fragment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Record(Part),
    SetCompression,
    TimestampSizes,
    PredecessorWal,
    /// Written by a later version, which says that readers may pass over it.
    Ignorable,
    /// Neither known nor said to be ignorable.
    Unknown,
}

/// A fragment's type byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FragmentType(pub(super) u8);

impl FragmentType {
    /// Not a fragment, if the length is 0, too: a file that was extended with zeros.
    pub(super) const ZERO: Self = Self(0);
    pub(super) const SET_COMPRESSION: Self = Self(9);
    /// Types from here on say with their lowest bit that they have the longer header.
    const FIRST_BY_BIT: u8 = 10;
    /// Readers pass over types with this bit that they do not know.
    const IGNORABLE_BIT: u8 = 0x80;

    pub(super) const fn of_record(part: Part, recyclable: bool) -> Self {
        let base = match part {
            Part::Full => 1,
            Part::First => 2,
            Part::Middle => 3,
            Part::Last => 4,
        };
        Self(if recyclable { base + 4 } else { base })
    }

    pub(super) const fn is_recyclable(self) -> bool {
        matches!(self.0, 5..=8) || (self.0 >= Self::FIRST_BY_BIT && self.0 & 1 == 1)
    }

    pub(super) const fn header_bytes(self) -> usize {
        if self.is_recyclable() { RECYCLABLE_HEADER_BYTES } else { HEADER_BYTES }
    }

    pub(super) const fn content(self) -> Content {
        match self.0 {
            1 | 5 => Content::Record(Part::Full),
            2 | 6 => Content::Record(Part::First),
            3 | 7 => Content::Record(Part::Middle),
            4 | 8 => Content::Record(Part::Last),
            9 => Content::SetCompression,
            10 | 11 => Content::TimestampSizes,
            130 | 131 => Content::PredecessorWal,
            other if other & Self::IGNORABLE_BIT != 0 => Content::Ignorable,
            _ => Content::Unknown,
        }
    }
}

/// Whether `rest` would begin with a whole fragment, but for one bit of its length or its type that was turned.
///
/// A fragment that seems to go beyond the end of a file looks like one that was being written when the power failed. If all
/// of it is there, it was not, and nor are the fragments behind it: the checksum, which does not cover the length, tells how
/// far it goes. Of fragments that were torn, one in 180 million is taken for one of these.
pub(super) fn is_turned(rest: &[u8]) -> bool {
    const FIRST_BIT: usize = CHECKED_FROM - 2;
    let Some((header, _)) = rest.split_first_chunk::<HEADER_BYTES>() else { return false };
    let stored = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    (FIRST_BIT * 8..HEADER_BYTES * 8).any(|bit| {
        let mut turned = *header;
        turned[bit / 8] ^= 1 << (bit % 8);
        let [.., low, high, kind] = turned;
        let len = usize::from(u16::from_le_bytes([low, high]));
        let end = FragmentType(kind).header_bytes() + len;
        rest.get(HEADER_BYTES..end).is_some_and(|covered| {
            mask_crc32c(crc32c::crc32c_append(crc32c::crc32c(&[kind]), covered)) == stored
        })
    })
}

/// The checksum of `covered`: type, log number if there is one, payload.
pub(super) fn checksum(covered: &[u8]) -> u32 {
    mask_crc32c(crc32c::crc32c(covered))
}
