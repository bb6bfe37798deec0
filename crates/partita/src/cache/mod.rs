//! One budget of memory, and the objects that live on it.
//!
//! A [`Cache`] is a number of bytes. Everything that takes memory is charged to it under a [`Role`]: cached blocks and
//! pieces, which leave when room is needed, and reservations (memtables, open tables, read buffers), for which cached
//! objects make room. Any number of tables and databases share a cache.
//!
//! There is no global hash table. Each table owns where its objects are found, in [`Slots`] beside its partition handles
//! and in a [`BlockMap`] of its data blocks; so two tables cannot be confused, and a closed table's objects leave at once.
//!
//! ```text
//! table            this module
//! -----            -----------
//! Slots ---------> Entry<T>: refcount, credits | object      lookup: pin, one load; no lock, no count, no shared write
//! BlockMap ------> Entry<T>                                   pin, hash, one load
//!                     ^
//!                     |
//!                  shards: lock + queues (shard.rs)           who leaves: evict.rs
//!                  books: bytes by role, counters (accounts.rs)
//!                  epochs: when memory may be freed (epoch/)
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `slots.rs`, `block_map.rs`, `home.rs` | where objects are found, and how they come in |
//! | `entry.rs`, `word.rs` | an object with its state; references to it |
//! | `epoch/` | readers without reference counts |
//! | `core.rs`, `shard.rs`, `lists.rs`, `ghost.rs` | the queues |
//! | `evict.rs` | the policy |
//! | `flight.rs` | one load for each missing object |
//! | `accounts.rs`, `stats.rs`, `role.rs`, `reservation.rs` | the books |
//!
//! # A read
//!
//! ```
//! use partita::Result;
//! use partita::cache::{Admission, Cache, CacheObject, Role, Slots, epoch};
//!
//! struct Piece(Vec<u8>);
//!
//! impl CacheObject for Piece {
//!     fn heap_bytes(&self) -> usize {
//!         self.0.capacity()
//!     }
//! }
//!
//! fn first_byte(pieces: &Slots<Piece>, at: usize) -> Result<u8> {
//!     {
//!         let guard = epoch::pin();
//!         if let Some(piece) = pieces.get(at, &guard) {
//!             return Ok(piece.0[0]);
//!         }
//!     }
//!     let read = || Ok(Piece(vec![at as u8; 4096]));
//!     Ok(pieces.get_or_load(at, Admission::Fill, 2_000, read)?.0[0])
//! }
//!
//! let cache = Cache::new(1 << 20);
//! let pieces = Slots::new(&cache, Role::FilterPiece, Some(1), 8);
//! assert_eq!(first_byte(&pieces, 7)?, 7);
//! assert_eq!(first_byte(&pieces, 7)?, 7);
//! let stats = cache.stats().role(Role::FilterPiece);
//! assert_eq!((stats.hits, stats.misses), (1, 1));
//! drop(pieces);
//! assert_eq!(cache.usage_bytes(), 0);
//! # Ok::<(), partita::Error>(())
//! ```

mod accounts;
mod block_map;
mod core;
mod entry;
pub mod epoch;
mod evict;
mod flight;
mod ghost;
mod home;
mod lists;
#[cfg(all(loom, test))]
mod loom_models;
#[cfg(test)]
mod model_tests;
mod reservation;
mod role;
mod shard;
mod slots;
mod stats;
mod sync;
#[cfg(test)]
mod tests;
mod word;

use std::fmt;
use std::sync::Arc;

pub use block_map::BlockMap;
pub use entry::{CacheObject, Entry, Held};
pub use home::Admission;
pub use reservation::Reservation;
pub use role::Role;
pub use slots::Slots;
pub use stats::{CacheStats, RoleStats};

use self::core::Core;
use self::role::Account;

/// What happens when pinned and reserved memory alone reaches the budget.
///
/// No read fails under either limit: a block for which there is no room is used once and dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// Cached objects keep a sixteenth of the budget, so that reads stay bearable; the excess shows in the usage.
    #[default]
    Soft,
    /// Nothing enters the cache that would exceed the budget.
    Hard,
}

/// How a cache is made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CacheOptions {
    /// The budget in bytes.
    pub budget_bytes: usize,
    /// What happens at the budget.
    pub limit: Limit,
}

impl CacheOptions {
    /// A soft limit of `budget_bytes`.
    pub fn new(budget_bytes: usize) -> Self {
        Self { budget_bytes, limit: Limit::default() }
    }

    /// The same with another kind of limit.
    #[must_use]
    pub fn limit(mut self, limit: Limit) -> Self {
        self.limit = limit;
        self
    }
}

/// A budget of memory. Clones share it.
#[derive(Clone)]
pub struct Cache {
    core: Arc<Core>,
}

impl Cache {
    /// A budget of `budget_bytes`, with a soft limit.
    ///
    /// Any number of bytes works; without room, blocks are used once and dropped.
    pub fn new(budget_bytes: usize) -> Self {
        Self::with_options(&CacheOptions::new(budget_bytes))
    }

    /// A budget as `options` say.
    pub fn with_options(options: &CacheOptions) -> Self {
        Self { core: Arc::new(Core::new(options)) }
    }

    /// The budget.
    pub fn budget_bytes(&self) -> usize {
        self.core.budget()
    }

    /// Changes the budget; what does not fit any more leaves at once.
    pub fn set_budget_bytes(&self, bytes: usize) {
        self.core.set_budget(bytes);
    }

    /// The kind of limit.
    pub fn limit(&self) -> Limit {
        self.core.limit
    }

    /// All bytes charged at present.
    ///
    /// * What has left the cache is charged until no reader can see it any more. While a reader is stopped in the middle of a
    ///   lookup that may be a sixteenth of the budget, beyond the budget, and one object for each thread that reads; when so
    ///   much waits, nothing more enters: whoever loads an object uses it once.
    ///
    /// The fixed parts of the cache are not among them: some 20 KiB, and 2 KiB for each thread that uses it.
    pub fn usage_bytes(&self) -> usize {
        epoch::collect();
        self.core.accounts.total()
    }

    /// All counters.
    pub fn stats(&self) -> CacheStats {
        epoch::collect();
        self.core.accounts.stats(self.budget_bytes())
    }

    /// Charges `bytes` to `role` while the reservation lives. Cached objects make room; it never fails.
    pub fn reserve(&self, role: Role, bytes: usize) -> Reservation {
        Reservation::new(self, role, bytes)
    }

    /// The same if the budget has room, or can make it by evicting.
    pub fn try_reserve(&self, role: Role, bytes: usize) -> Option<Reservation> {
        let mut reservation = self.reserve(role, 0);
        reservation.try_grow(bytes).then_some(reservation)
    }

    /// Bytes that are reserved for a role at present. Cheap.
    pub fn reserved_bytes(&self, role: Role) -> usize {
        self.core.accounts.reserved(Account::new(role, None))
    }

    /// What those who share the budget know of each other: one for each cache, made when it is first asked for, of the
    /// type that is asked for first.
    ///
    /// * Returns `None` if that was another type.
    pub(crate) fn companion<T: Default + Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let companion = self.core.companion.get_or_init(|| Arc::new(T::default()));
        Arc::clone(companion).downcast().ok()
    }

    /// Whether two handles share one budget.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("budget_bytes", &self.budget_bytes())
            .field("limit", &self.limit())
            .field("usage_bytes", &self.core.accounts.total())
            .finish()
    }
}
