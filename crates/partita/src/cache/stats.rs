//! What a cache tells about itself.

use std::ops::{Add, Sub};

use super::role::{ACCOUNTS, Account, Role};

/// What one role (on one level, or on all) takes and what it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoleStats {
    /// Bytes charged at present, without `waiting_bytes`.
    pub bytes: u64,
    /// Those among `bytes` that cannot be evicted: held by somebody, or reserved.
    pub pinned_bytes: u64,
    /// Bytes that were evicted and that a reader may still see; they are freed when it is done.
    pub waiting_bytes: u64,
    /// Lookups that found their object.
    pub hits: u64,
    /// Lookups that had to load it, or to wait for somebody who loaded it.
    pub misses: u64,
    /// Objects that entered the cache.
    pub inserts: u64,
    /// Their bytes.
    pub inserted_bytes: u64,
    /// Objects that left it to make room; those of closed tables are not counted.
    pub evictions: u64,
}

impl RoleStats {
    /// The share of lookups that found their object; `None` if there were none.
    pub fn hit_ratio(&self) -> Option<f64> {
        let lookups = self.hits + self.misses;
        (lookups > 0).then(|| self.hits as f64 / lookups as f64)
    }

    fn zip(
        self,
        other: Self,
        f: impl Fn(u64, u64) -> u64,
        present: impl Fn(u64, u64) -> u64,
    ) -> Self {
        Self {
            bytes: present(self.bytes, other.bytes),
            pinned_bytes: present(self.pinned_bytes, other.pinned_bytes),
            waiting_bytes: present(self.waiting_bytes, other.waiting_bytes),
            hits: f(self.hits, other.hits),
            misses: f(self.misses, other.misses),
            inserts: f(self.inserts, other.inserts),
            inserted_bytes: f(self.inserted_bytes, other.inserted_bytes),
            evictions: f(self.evictions, other.evictions),
        }
    }
}

impl Add for RoleStats {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b, |a, b| a + b)
    }
}

/// What happened since: counters are subtracted, bytes at present stay.
impl Sub for RoleStats {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        self.zip(earlier, u64::saturating_sub, |now, _| now)
    }
}

/// All counters of a cache at one time.
///
/// Sums add up when nothing is under way: the bytes (charged and waiting) of all roles are the cache's usage.
///
/// ```
/// use partita::cache::{Cache, Role};
///
/// let cache = Cache::new(64 << 20);
/// let _memtable = cache.reserve(Role::Memtable, 1 << 20);
/// let stats = cache.stats();
/// assert_eq!(stats.role(Role::Memtable).pinned_bytes, 1 << 20);
/// assert_eq!(stats.usage_bytes(), 1 << 20);
/// assert_eq!(stats.total().bytes, 1 << 20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheStats {
    budget: u64,
    usage: u64,
    accounts: Box<[RoleStats]>,
}

impl CacheStats {
    pub(super) fn new(budget: usize, usage: usize, accounts: Box<[RoleStats]>) -> Self {
        debug_assert_eq!(accounts.len(), ACCOUNTS);
        Self { budget: budget as u64, usage: usage as u64, accounts }
    }

    /// The budget.
    pub fn budget_bytes(&self) -> u64 {
        self.budget
    }

    /// All bytes charged.
    pub fn usage_bytes(&self) -> u64 {
        self.usage
    }

    /// One role, all levels.
    pub fn role(&self, role: Role) -> RoleStats {
        self.sum(|account| account.role() == role)
    }

    /// One role on one level: 0 to 6, or `None` for deeper levels and for what has no level.
    pub fn role_on_level(&self, role: Role, level: Option<u8>) -> RoleStats {
        self.accounts[Account::new(role, level).index()]
    }

    /// All roles.
    pub fn total(&self) -> RoleStats {
        self.sum(|_| true)
    }

    /// What happened since `earlier`; bytes at present are those of `self`.
    #[must_use]
    pub fn delta(&self, earlier: &Self) -> Self {
        let pairs = self.accounts.iter().zip(&earlier.accounts);
        Self { accounts: pairs.map(|(now, then)| *now - *then).collect(), ..*self }
    }

    fn sum(&self, of: impl Fn(Account) -> bool) -> RoleStats {
        let all = (0..ACCOUNTS).map(Account::at).zip(&self.accounts);
        all.filter(|(account, _)| of(*account))
            .fold(RoleStats::default(), |sum, (_, stats)| sum + *stats)
    }
}
