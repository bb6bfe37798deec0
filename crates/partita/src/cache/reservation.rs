//! Memory that is not in the cache but on its budget.

use super::role::Account;
use super::{Cache, Role};

/// Bytes that are charged to a cache while this lives: a memtable, an open table, a read buffer.
///
/// ```
/// use partita::cache::{Cache, Role};
///
/// let cache = Cache::new(1 << 20);
/// let mut buffer = cache.reserve(Role::ReadBuffers, 1000);
/// buffer.resize(5000);
/// assert_eq!(cache.usage_bytes(), 5000);
/// drop(buffer);
/// assert_eq!(cache.usage_bytes(), 0);
/// ```
#[derive(Debug)]
pub struct Reservation {
    cache: Cache,
    account: Account,
    bytes: usize,
}

impl Reservation {
    pub(super) fn new(cache: &Cache, role: Role, bytes: usize) -> Self {
        let account = Account::new(role, None);
        cache.core.reserve(account, bytes);
        Self { cache: cache.clone(), account, bytes }
    }

    /// The bytes charged.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Charges `bytes` instead of what was charged; cached objects make room.
    pub fn resize(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.cache.core.reserve(self.account, bytes - self.bytes);
        } else {
            self.cache.core.give_back(self.account, self.bytes - bytes);
        }
        self.bytes = bytes;
    }

    /// Charges `more` bytes more; cached objects make room.
    pub fn grow(&mut self, more: usize) {
        self.resize(self.bytes + more);
    }

    /// Charges `less` bytes less.
    pub fn shrink(&mut self, less: usize) {
        self.resize(self.bytes.saturating_sub(less));
    }

    /// Charges `more` bytes more if the budget has room, or can make it. Returns whether it did.
    #[must_use]
    pub fn try_grow(&mut self, more: usize) -> bool {
        let fits = self.cache.core.try_reserve(self.account, more);
        self.bytes += if fits { more } else { 0 };
        fits
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.cache.core.give_back(self.account, self.bytes);
    }
}
