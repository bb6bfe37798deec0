//! What memory is spent on.

use std::fmt;

/// What a charge stands for.
///
/// Every byte of the budget is charged to one role, so that statistics answer who uses the memory and which part of it
/// misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// Data blocks.
    Data,
    /// Blocks and pieces of an index.
    IndexPiece,
    /// Pieces of a filter.
    FilterPiece,
    /// What stands above the pieces of an index or filter.
    TopLevel,
    /// What an open table keeps for itself.
    TableHandle,
    /// Compression dictionaries.
    Dictionary,
    /// Range tombstones of a table.
    RangeTombstones,
    /// Floors that tables remember.
    KnownFloors,
    /// Memtables.
    Memtable,
    /// Buffers of reads that are under way, of compactions and of iterators.
    ReadBuffers,
    /// Tables that are being written: blocks that wait, indexes, filters.
    Building,
    /// Objects that somebody holds and that are not (or no longer) in the cache.
    Pinned,
    /// What the cache needs to know about its objects: queues, maps, slots, and what it remembers of evicted ones.
    Bookkeeping,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 13] = [
        Self::Data,
        Self::IndexPiece,
        Self::FilterPiece,
        Self::TopLevel,
        Self::TableHandle,
        Self::Dictionary,
        Self::RangeTombstones,
        Self::KnownFloors,
        Self::Memtable,
        Self::ReadBuffers,
        Self::Building,
        Self::Pinned,
        Self::Bookkeeping,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::IndexPiece => "index piece",
            Self::FilterPiece => "filter piece",
            Self::TopLevel => "top level",
            Self::TableHandle => "table handle",
            Self::Dictionary => "dictionary",
            Self::RangeTombstones => "range tombstones",
            Self::KnownFloors => "known floors",
            Self::Memtable => "memtable",
            Self::ReadBuffers => "read buffers",
            Self::Building => "building",
            Self::Pinned => "pinned",
            Self::Bookkeeping => "bookkeeping",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Levels that are counted apart: 0 to 6, and one for all others and for what has none.
pub(super) const LEVELS: usize = 8;

/// The number of accounts.
pub(super) const ACCOUNTS: usize = Role::ALL.len() * LEVELS;

/// One role on one level: where a charge is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Account(u8);

const _: () = assert!(ACCOUNTS <= 256);

impl Account {
    /// The account of `role` on `level`.
    pub(super) fn new(role: Role, level: Option<u8>) -> Self {
        let level = level.map_or(LEVELS - 1, |level| usize::from(level).min(LEVELS - 1));
        Self((role as usize * LEVELS + level) as u8)
    }

    /// The account at a place in an array of [`ACCOUNTS`].
    pub(super) fn at(index: usize) -> Self {
        debug_assert!(index < ACCOUNTS);
        Self(index as u8)
    }

    /// The account's place in an array of [`ACCOUNTS`].
    #[inline]
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The role that is counted.
    pub(super) fn role(self) -> Role {
        Role::ALL[self.index() / LEVELS]
    }

    /// The level that is counted, if it is one of those counted apart.
    pub(super) fn level(self) -> Option<u8> {
        let level = self.index() % LEVELS;
        (level < LEVELS - 1).then_some(level as u8)
    }

    /// The account of the same level for objects that left the cache while they were held.
    pub(super) fn pinned(self) -> Self {
        Self::new(Role::Pinned, self.level())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_knows_its_role_and_level() {
        for (at, role) in Role::ALL.into_iter().enumerate() {
            assert_eq!(role as usize, at);
            for level in [None, Some(0), Some(6)] {
                let account = Account::new(role, level);
                assert_eq!((account.role(), account.level()), (role, level));
                assert_eq!(account.pinned().level(), level);
            }
            assert_eq!(Account::new(role, Some(200)).level(), None);
        }
    }
}
