use std::fmt;

/// How a table's index is laid out. The numbers are RocksDB's on-disk codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum IndexType {
    /// One index block with an entry for each data block.
    BinarySearch = 0,
    /// The same, with a table from key prefixes to index entries beside it, which a reader may ignore.
    HashSearch = 1,
    /// Index partitions of about 4 KiB and a top-level block that points at them.
    #[default]
    TwoLevel = 2,
    /// One index block whose entries also hold the first key of their data block.
    BinarySearchWithFirstKey = 3,
}

impl IndexType {
    /// All types, in the order of their codes.
    pub const ALL: [Self; 4] =
        [Self::BinarySearch, Self::HashSearch, Self::TwoLevel, Self::BinarySearchWithFirstKey];

    /// The type that `code` stands for on disk.
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }

    /// The on-disk code.
    pub const fn code(self) -> u32 {
        self as u32
    }

    /// The type's name in RocksDB's options files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BinarySearch => "kBinarySearch",
            Self::HashSearch => "kHashSearch",
            Self::TwoLevel => "kTwoLevelIndexSearch",
            Self::BinarySearchWithFirstKey => "kBinarySearchWithFirstKey",
        }
    }
}

impl fmt::Display for IndexType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_lead_back_to_the_type() {
        for index_type in IndexType::ALL {
            assert_eq!(IndexType::from_code(index_type.code()), Some(index_type));
        }
        assert_eq!(IndexType::from_code(4), None);
        assert_eq!(IndexType::from_code(u32::MAX), None);
    }
}
