use std::fmt;

/// What a block of a table is for. Errors and counters tell blocks apart by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockRole {
    /// Entries of the table.
    Data,
    /// The whole index of a table with one index block.
    Index,
    /// A partition of a two-level index.
    IndexPartition,
    /// The top level of a two-level index.
    IndexTopLevel,
    /// The whole filter of a table with one filter block.
    Filter,
    /// A partition of a partitioned filter.
    FilterPartition,
    /// The index of a filter's partitions.
    FilterTopLevel,
    /// A filter of the kind that RocksDB 7 gave up. Not used.
    ObsoleteFilter,
    /// Range tombstones.
    RangeDeletions,
    /// The compression dictionary.
    Dictionary,
    /// The table's properties.
    Properties,
    /// The names and places of the other blocks.
    Metaindex,
    /// One of the two blocks of a hash index. Not used.
    HashIndex,
    /// An index made by user code. Not used.
    UserDefinedIndex,
    /// A meta block of a name that we do not know. Not used.
    Unknown,
}

impl BlockRole {
    /// All roles, in the order of their declaration.
    pub const ALL: [Self; 15] = [
        Self::Data,
        Self::Index,
        Self::IndexPartition,
        Self::IndexTopLevel,
        Self::Filter,
        Self::FilterPartition,
        Self::FilterTopLevel,
        Self::ObsoleteFilter,
        Self::RangeDeletions,
        Self::Dictionary,
        Self::Properties,
        Self::Metaindex,
        Self::HashIndex,
        Self::UserDefinedIndex,
        Self::Unknown,
    ];

    /// The role's name in messages and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Data => "data block",
            Self::Index => "index block",
            Self::IndexPartition => "index partition",
            Self::IndexTopLevel => "top-level index",
            Self::Filter => "filter block",
            Self::FilterPartition => "filter partition",
            Self::FilterTopLevel => "filter partition index",
            Self::ObsoleteFilter => "obsolete filter block",
            Self::RangeDeletions => "range deletion block",
            Self::Dictionary => "compression dictionary",
            Self::Properties => "properties block",
            Self::Metaindex => "metaindex block",
            Self::HashIndex => "hash index block",
            Self::UserDefinedIndex => "user-defined index",
            Self::Unknown => "unknown meta block",
        }
    }
}

impl fmt::Display for BlockRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A value for each role. In debug output the roles with the default value are left out.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct PerRole<T>([T; BlockRole::ALL.len()]);

impl<T> PerRole<T> {
    /// The roles with their values.
    pub fn iter(&self) -> impl Iterator<Item = (BlockRole, &T)> {
        BlockRole::ALL.into_iter().zip(&self.0)
    }
}

impl<T: fmt::Debug + Default + PartialEq> fmt::Debug for PerRole<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nothing = T::default();
        f.debug_map().entries(self.iter().filter(|(_, value)| **value != nothing)).finish()
    }
}

impl<T> std::ops::Index<BlockRole> for PerRole<T> {
    type Output = T;

    fn index(&self, role: BlockRole) -> &T {
        &self.0[role as usize]
    }
}

impl<T> std::ops::IndexMut<BlockRole> for PerRole<T> {
    fn index_mut(&mut self, role: BlockRole) -> &mut T {
        &mut self.0[role as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_names_the_roles_that_count_something() {
        let mut counts = PerRole::<u64>::default();
        assert_eq!(format!("{counts:?}"), "{}");
        counts[BlockRole::Index] = 2;
        counts[BlockRole::Data] = 7;
        assert_eq!(format!("{counts:?}"), "{Data: 7, Index: 2}");
    }

    #[test]
    fn each_role_has_its_own_place() {
        let mut counts = PerRole::<usize>::default();
        for (number, role) in BlockRole::ALL.into_iter().enumerate() {
            counts[role] = number;
        }
        assert!(
            counts
                .iter()
                .enumerate()
                .all(|(number, (role, count))| { *count == number && role as usize == number })
        );
    }
}
