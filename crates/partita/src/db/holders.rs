//! Who keeps old states of the database alive: iterators and snapshots, since when, and what cannot go for their sake.
//!
//! ```text
//! iter_cf, snapshot ──> Holders ──> a slot of the thread's shard: tag, sequence number, time, view
//!        drop       ──>   │             slot free again; the view goes outside of the lock
//! Db::holders       ──>   '─ all slots, each view compared with the family's present one
//! ```
//!
//! An iterator's view is kept in its slot and nowhere else, so who is listed and who holds something are the same. Adding and
//! removing cost one lock of a shard that other threads seldom want, however many there are; only who lists pays for what they
//! are many.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::family::FamilyState;
use super::read_view::ReadView;
use super::snapshot::HeldMoment;
use super::{Db, stats::HolderStats};
use crate::key::SeqNo;
use crate::util::sharded::Sharded;
use crate::version::FileNumber;

/// What keeps something alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HolderKind {
    /// A [`DbIterator`](super::DbIterator): the memtables and tables that it walks over.
    Iterator,
    /// A [`Snapshot`](super::Snapshot): old versions of keys, which flushes and compactions write again for it. Files it holds
    /// only where the database follows another ([`Db::try_catch_up_with_primary`]).
    Snapshot,
}

impl HolderKind {
    /// Its name: `iterator`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iterator => "iterator",
            Self::Snapshot => "snapshot",
        }
    }
}

/// A live iterator or snapshot.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Holder {
    /// What it is.
    pub kind: HolderKind,
    /// What its maker called it: [`IterOptions::tag`](super::IterOptions::tag), [`Db::snapshot_tagged`].
    pub tag: Option<Arc<str>>,
    /// The column family that it walks over; `None` for a snapshot, which sees all.
    pub family: Option<String>,
    /// The sequence number of the last write that it sees.
    pub seqno: SeqNo,
    /// Since when it lives.
    pub age: Duration,
    /// What would go without it, unless another holder has it, too.
    pub pinned: Pinned,
}

/// Memory and files that the newest state of a database does not need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pinned {
    /// Memtables that were flushed.
    pub memtables: u64,
    /// Their bytes of memory.
    pub memtable_bytes: u64,
    /// Tables that only older versions name.
    pub tables: u64,
    /// Their bytes on disk.
    pub table_bytes: u64,
}

impl Pinned {
    /// Whether nothing is.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The iterators and snapshots that live.
#[derive(Default)]
pub(super) struct Holders(Sharded<Slots>);

/// What there is to know of one of them.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) kind: HolderKind,
    pub(super) tag: Option<Arc<str>>,
    pub(super) seqno: SeqNo,
    pub(super) since_nanos: u64,
    pub(super) views: HeldViews,
}

/// What keeps memtables and files alive.
#[derive(Clone)]
pub(super) enum HeldViews {
    None,
    One(Arc<FamilyState>, Arc<ReadView>),
    All(Arc<HeldMoment>),
}

#[derive(Default)]
struct Slots {
    slots: Vec<Option<Held>>,
    free: Vec<usize>,
}

/// A place in the list, to be given back.
pub(super) struct Slot {
    shard: usize,
    at: usize,
}

impl Holders {
    pub(super) fn add(&self, held: Held) -> Slot {
        let (shard, mut slots) = self.0.own();
        let at = match slots.free.pop() {
            Some(at) => {
                slots.slots[at] = Some(held);
                at
            }
            None => {
                slots.slots.push(Some(held));
                slots.slots.len() - 1
            }
        };
        Slot { shard, at }
    }

    /// Takes it from the list. What it held goes when the caller drops it.
    pub(super) fn remove(&self, slot: &Slot) -> Option<Held> {
        let mut slots = self.0.at(slot.shard);
        let held = slots.slots.get_mut(slot.at)?.take();
        if held.is_some() {
            slots.free.push(slot.at);
        }
        held
    }

    fn all(&self) -> Vec<Held> {
        let mut all = Vec::new();
        self.0.for_each(|slots| all.extend(slots.slots.iter().flatten().cloned()));
        all
    }
}

/// What a view has that the family's present one has not, by identity.
#[derive(Default)]
struct Extra {
    memtables: HashMap<usize, u64>,
    tables: HashMap<(u32, FileNumber), u64>,
}

impl Extra {
    fn of(family: &FamilyState, view: &ReadView) -> Self {
        let now = family.view.load();
        // Of a family that was dropped nothing is needed.
        let is_gone = family.family.is_dropped();
        let mut extra = Self::default();
        for memtable in view.memtables() {
            if is_gone || !now.memtables().any(|other| Arc::ptr_eq(other, memtable)) {
                let bytes = memtable.memory_bytes() as u64;
                extra.memtables.insert(Arc::as_ptr(memtable).addr(), bytes);
            }
        }
        if is_gone || !Arc::ptr_eq(&now.version, &view.version) {
            let tables = view.version.files().map(|(_, file)| (file.number, file.file_bytes));
            extra.tables =
                tables.map(|(number, bytes)| ((family.family.id(), number), bytes)).collect();
            if !is_gone {
                for (_, file) in now.version.files() {
                    extra.tables.remove(&(family.family.id(), file.number));
                }
            }
        }
        extra
    }

    fn sum(&self) -> Pinned {
        Pinned {
            memtables: self.memtables.len() as u64,
            memtable_bytes: self.memtables.values().sum(),
            tables: self.tables.len() as u64,
            table_bytes: self.tables.values().fold(0, |sum, bytes| sum.saturating_add(*bytes)),
        }
    }

    fn add(&mut self, other: &Self) {
        self.memtables.extend(&other.memtables);
        self.tables.extend(&other.tables);
    }
}

/// Looks at each view once, however many hold it.
#[derive(Default)]
struct Looked(HashMap<usize, Extra>);

impl Looked {
    fn at(&mut self, family: &FamilyState, view: &Arc<ReadView>) -> &Extra {
        let entry = self.0.entry(Arc::as_ptr(view).addr());
        entry.or_insert_with(|| Extra::of(family, view))
    }
}

impl Db {
    /// The iterators and snapshots that live, the oldest first, and what each keeps from being freed.
    ///
    /// What several of them hold counts with each; [`HolderStats::pinned`] counts it once.
    ///
    /// * Cost: a look at the files of each view that is held. Who makes and drops iterators meanwhile hardly waits.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// use partita::db::{HolderKind, IterOptions};
    ///
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// db.put(b"apple", b"red")?;
    /// db.flush()?;
    /// let options = IterOptions { tag: Some("nightly scan".into()), ..IterOptions::default() };
    /// let iter = db.iter_cf(&db.default_family(), options)?;
    /// db.put(b"apple", b"green")?;
    /// db.compact_range(&db.default_family(), None, None)?;
    /// let holders = db.holders();
    /// assert_eq!((holders.len(), holders[0].kind), (1, HolderKind::Iterator));
    /// assert_eq!(holders[0].tag.as_deref(), Some("nightly scan"));
    /// assert_eq!(holders[0].pinned.tables, 1);
    /// drop(iter);
    /// assert!(db.holders().is_empty());
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn holders(&self) -> Vec<Holder> {
        self.look_at_holders().0
    }

    /// The same, added up.
    pub(super) fn holder_stats(&self) -> HolderStats {
        let (holders, pinned) = self.look_at_holders();
        let count = |kind| holders.iter().filter(|holder| holder.kind == kind).count() as u64;
        HolderStats {
            iterators: count(HolderKind::Iterator),
            snapshots: count(HolderKind::Snapshot),
            pinned,
            oldest: holders.into_iter().take(HolderStats::OLDEST_MAX).collect(),
        }
    }

    fn look_at_holders(&self) -> (Vec<Holder>, Pinned) {
        let inner = self.inner();
        let mut held = inner.holders.all();
        held.sort_by_key(|held| (held.since_nanos, held.seqno));
        let now = inner.builder.clock.monotonic_nanos();
        let mut looked = Looked::default();
        let holders = held.iter().map(|held| {
            let (family, pinned) = match &held.views {
                HeldViews::None => (None, Pinned::default()),
                HeldViews::One(family, view) => {
                    (Some(family.family.name().to_owned()), looked.at(family, view).sum())
                }
                HeldViews::All(held) => {
                    let mut sum = Extra::default();
                    held.views.values().for_each(|(family, view)| sum.add(looked.at(family, view)));
                    (None, sum.sum())
                }
            };
            Holder {
                kind: held.kind,
                tag: held.tag.clone(),
                family,
                seqno: held.seqno,
                age: Duration::from_nanos(now.saturating_sub(held.since_nanos)),
                pinned,
            }
        });
        let holders = holders.collect();
        let mut all = Extra::default();
        looked.0.values().for_each(|extra| all.add(extra));
        (holders, all.sum())
    }
}
