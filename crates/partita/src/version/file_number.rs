use std::fmt;

/// The number of a file. Tables, logs, manifests, options files and blob files share one sequence of numbers, none of
/// which is given out twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileNumber(u64);

impl FileNumber {
    /// The greatest number that a table may have; RocksDB packs two more bits beside it.
    pub const MAX: Self = Self((1 << 62) - 1);

    /// Numbers from here on are not given out, so that there is always a next one.
    pub(crate) const TOO_GREAT: Self = Self(1 << 61);

    /// The number as an integer.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number after this one.
    #[must_use]
    pub(crate) const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl From<u64> for FileNumber {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

/// As in file names: at least six digits.
impl fmt::Display for FileNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06}", self.0)
    }
}
