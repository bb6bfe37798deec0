use std::fmt;

/// A sequence number: 56 bits, one for each write; larger is newer.
///
/// 0 means "older than everything": compaction zeroes the numbers at the bottom of the tree, and external files are
/// written with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeqNo(u64);

impl SeqNo {
    /// Older than everything.
    pub const ZERO: Self = Self(0);
    /// The greatest number, 2^56 - 1: used for seeks and as a bound, never given to a write.
    pub const MAX: Self = Self((1 << 56) - 1);

    /// `Some` if `value` fits in 56 bits.
    pub const fn new(value: u64) -> Option<Self> {
        if value <= Self::MAX.0 { Some(Self(value)) } else { None }
    }

    /// The number held in the upper 56 bits of an internal key's packed word.
    pub(crate) const fn from_packed(packed: u64) -> Self {
        Self(packed >> 8)
    }

    /// The number as an integer.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SeqNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
