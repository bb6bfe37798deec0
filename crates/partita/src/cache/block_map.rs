//! Block maps: from a block's offset to the cached block, looked up without a lock.
//!
//! An open-addressing table with linear probing, at most three quarters full:
//!
//! ```text
//! hash(offset) -> | key: offset + 1, 0 if never used | link | ... the next places ...
//! ```
//!
//! * A place's key is written once. An evicted block leaves its place with an empty link: the block comes back there, or
//!   the place is dropped when the table is built anew. So a reader that has found its key reads its own block's link.
//! * Writers take turns. When the places run out, or most of them are empty, a writer builds a new table from the linked
//!   blocks, puts it in the place of the old one and retires that; readers that are in the old one finish there. They
//!   may miss a block that entered meanwhile; a miss is found out under the lock.
//! * Without blocks there is no table.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::accounts::{Accounts, Charge};
use super::entry::{CacheObject, Entry, Held, Link};
use super::epoch::{self, Guard, Retired, Shared};
use super::home::{Admission, Home, Place, mix};
use super::shard::Unlink;
use super::{Cache, Role};
use crate::error::Result;
use crate::util::sync::{Mutex, lock};

/// Links to cached blocks by offset.
///
/// It takes memory as blocks come, and gives it back as they go. Dropping it takes its blocks out of the cache.
pub struct BlockMap<T: CacheObject>(Home<Map<T>>);

struct Map<T> {
    table: Shared<Table<T>>,
    writer: Mutex<Count>,
    accounts: Arc<Accounts>,
}

#[derive(Default)]
struct Count {
    /// Places with a key.
    used: usize,
    /// Places with a link that is not empty.
    linked: usize,
}

struct Table<T> {
    places: Box<[Cell<T>]>,
    _charge: Charge,
}

struct Cell<T> {
    /// The offset plus one; 0 while the place was never used.
    key: AtomicU64,
    link: Link<T>,
}

/// The smallest table.
const PLACES_MIN: usize = 8;

impl<T: CacheObject> BlockMap<T> {
    /// An empty map.
    ///
    /// * `role`, `level`: as what the blocks are charged and counted.
    pub fn new(cache: &Cache, role: Role, level: Option<u8>) -> Self {
        let map = Map {
            table: Shared::empty(),
            writer: Mutex::default(),
            accounts: Arc::clone(&cache.core.accounts),
        };
        Self(Home::new(cache, role, level, map))
    }

    /// The block at `offset`, if it is in the cache. It stays in memory as long as the guard lives.
    ///
    /// * Cost and counts: as of [`Slots::get`](super::Slots::get), and a hash.
    #[inline]
    pub fn get<'g>(&self, offset: u64, guard: &'g Guard) -> Option<&'g Entry<T>> {
        self.0.get(offset, guard)
    }

    /// The block at `offset`, loaded if it is not in the cache: see [`Slots::get_or_load`](super::Slots::get_or_load).
    ///
    /// Offset `u64::MAX` is never cached.
    pub fn get_or_load(
        &self,
        offset: u64,
        how: Admission,
        reload_cost: u32,
        load: impl FnOnce() -> Result<T>,
    ) -> Result<Held<T>> {
        self.0.get_or_load(offset, how, reload_cost, load)
    }

    /// Whether the block at `offset` is in the cache at this instant. Counts and touches nothing.
    pub fn is_cached(&self, offset: u64) -> bool {
        self.0.place().find(offset, &epoch::pin()).is_some()
    }

    /// The number of blocks in the cache at this instant.
    pub fn len(&self) -> usize {
        lock(&self.0.place().writer).linked
    }

    /// Whether no block is in the cache at this instant.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: CacheObject> fmt::Debug for BlockMap<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockMap").field("cached", &self.len()).finish()
    }
}

impl<T: CacheObject> Table<T> {
    fn new(places: usize, accounts: &Arc<Accounts>) -> Self {
        let new = |_| Cell { key: AtomicU64::new(0), link: Link::empty() };
        let places: Box<[Cell<T>]> = (0..places).map(new).collect();
        let charge = Charge::new(accounts, size_of_val(&*places));
        Self { places, _charge: charge }
    }

    /// The place of `key`, or the unused one where it would go, and whether the key is there.
    #[inline]
    fn place(&self, key: u64) -> (&Cell<T>, bool) {
        let mask = self.places.len() - 1;
        let mut at = mix(key) as usize & mask;
        loop {
            let place = &self.places[at];
            let found = place.key.load(Ordering::Acquire);
            // A quarter of the places at least is unused, so the search ends.
            if found == key || found == 0 {
                return (place, found == key);
            }
            at = (at + 1) & mask;
        }
    }
}

impl<T: CacheObject> Map<T> {
    /// Puts a table of the right size for `linked` blocks in the place of the present one. The caller is the writer.
    fn rebuild(&self, linked: usize, count: &mut Count, retired: &mut Vec<Retired>) {
        let guard = epoch::pin();
        let places = (2 * linked).next_power_of_two().max(PLACES_MIN);
        let new = (linked > 0).then(|| {
            let new = Table::new(places, &self.accounts);
            let old = self.table.load(&guard).map_or(&[][..], |old| &old.places);
            for (place, entry) in
                old.iter().filter_map(|place| Some((place, place.link.load(&guard)?)))
            {
                let key = place.key.load(Ordering::Relaxed);
                let (to, _) = new.place(key);
                to.link.set_same(entry);
                to.key.store(key, Ordering::Release);
            }
            Box::new(new)
        });
        count.used = count.linked;
        retired.extend(self.table.replace(new));
    }
}

impl<T: CacheObject> Unlink for Map<T> {
    fn unlink(&self, at: u64, retired: &mut Vec<Retired>) {
        let mut count = lock(&self.writer);
        let places = {
            let guard = epoch::pin();
            let Some(table) = self.table.load(&guard) else { return };
            table.place(at + 1).0.link.clear();
            table.places.len()
        };
        count.linked -= 1;
        if count.linked == 0 || (places > PLACES_MIN && count.linked < places / 8) {
            let linked = count.linked;
            self.rebuild(linked, &mut count, retired);
        }
    }
}

impl<T: CacheObject> Place for Map<T> {
    type Object = T;

    #[inline]
    fn find<'g>(&self, at: u64, guard: &'g Guard) -> Option<&'g Entry<T>> {
        let key = at.checked_add(1)?;
        let (place, has_key) = self.table.load(guard)?.place(key);
        // Without the key the link is none, or another block's that has come this instant.
        if has_key { place.link.load(guard) } else { None }
    }

    fn link(&self, at: u64, entry: &Held<T>, retired: &mut Vec<Retired>) -> bool {
        let Some(key) = at.checked_add(1) else { return false };
        let mut count = lock(&self.writer);
        let guard = epoch::pin();
        let places = self.table.load(&guard).map_or(0, |table| table.places.len());
        if (count.used + 1) * 4 > places * 3 {
            let linked = count.linked + 1;
            self.rebuild(linked, &mut count, retired);
        }
        let Some(table) = self.table.load(&guard) else { return false };
        let (place, has_key) = table.place(key);
        if !place.link.is_empty() {
            return false;
        }
        place.link.set(entry);
        count.used += usize::from(!has_key);
        place.key.store(key, Ordering::Release);
        count.linked += 1;
        true
    }

    fn addresses(&self) -> Vec<u64> {
        let guard = epoch::pin();
        let places = self.table.load(&guard).map_or(&[][..], |table| &table.places);
        let linked = places.iter().filter(|place| !place.link.is_empty());
        linked.map(|place| place.key.load(Ordering::Relaxed) - 1).collect()
    }
}
