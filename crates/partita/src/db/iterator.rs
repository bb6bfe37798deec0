use std::fmt;
use std::sync::Arc;

use super::counters::SkipCounts;
use super::family::{ColumnFamily, FamilyState};
use super::holders::{Held, HeldViews, HolderKind, Slot};
use super::read::ReadPoint;
use super::read_options::ReadOptions;
use super::read_view::ReadView;
use super::source::{ViewWalk, WalkOptions};
use crate::error::Result;
use crate::iter::{Bounds, Skipped};
use crate::key::SeqNo;
use crate::table::ReadContext;

/// What an iterator shows.
///
/// ```
/// # use std::sync::Arc;
/// # use partita::db::DbBuilder;
/// # use partita::io::MemoryFileSystem;
/// # use partita::options::DbOptions;
/// use partita::db::IterOptions;
/// use partita::iter::Bounds;
///
/// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
/// # let disk = Arc::new(MemoryFileSystem::new());
/// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
/// db.put(b"apple", b"red")?;
/// db.put(b"kiwi", b"green")?;
/// db.put(b"plum", b"blue")?;
/// let bounds = Bounds::half_open(Some(b"b"), Some(b"p"));
/// let options = IterOptions { bounds, ..IterOptions::default() };
/// let mut iter = db.iter_cf(&db.default_family(), options)?;
/// iter.seek_to_last()?;
/// assert_eq!((iter.key(), iter.value()), (&b"kiwi"[..], &b"green"[..]));
/// iter.next()?;
/// assert!(!iter.is_valid());
/// # Ok::<(), partita::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct IterOptions {
    /// At which moment, and how far it may go.
    pub read: ReadOptions,
    /// Which keys. Default: all.
    ///
    /// If all keys between them have one prefix, tables whose prefix filter does not know it are left alone. That saves
    /// work and changes nothing else.
    pub bounds: Bounds,
    /// Only keys with the same prefix as the target of the last seek, if the column family has a prefix extractor and
    /// the target has a prefix; after a move to an end, as that of the key found. Default: all keys, in total order.
    ///
    /// Tables whose prefix filter does not know the prefix are left alone.
    #[doc(alias = "prefix_same_as_start")]
    pub same_prefix: bool,
    /// Most bytes that are read ahead at once of each table, once the walk goes from block to block; 0 reads nothing
    /// ahead. Default: from 16 to 256 KiB, growing.
    pub readahead_bytes: Option<usize>,
    /// Most entries that one move may pass over: deleted ones, and old versions. A move that would pass more is an error
    /// of kind [`Incomplete`](crate::ErrorKind::Incomplete). Default: any number.
    #[doc(alias = "max_skippable_internal_keys")]
    pub skipped_max: Option<u64>,
    /// What [`Db::holders`](super::Db::holders) calls the iterator, so that one that was forgotten can be found. Default: nothing.
    pub tag: Option<Arc<str>>,
}

/// A walk over the keys of a column family, as they were when it was made.
///
/// Each user key is shown once, with its newest value. It stands nowhere until it is told where to go. `key` and `value`
/// may be asked only while [`DbIterator::is_valid`]. A failed move leaves it standing nowhere and says why; a later seek
/// starts afresh.
///
/// It keeps the memtables and files that it reads from alive, also past the end of the database;
/// [`Db::holders`](super::Db::holders) lists it with what that costs.
pub struct DbIterator {
    walk: ViewWalk,
    family: Arc<FamilyState>,
    /// Of what was passed over, what the statistics know.
    told: SkipCounts,
    /// Where it is listed, and its view held.
    slot: Slot,
}

impl DbIterator {
    pub(super) fn new(
        family: &ColumnFamily,
        view: Arc<ReadView>,
        seqno: SeqNo,
        options: IterOptions,
        since_nanos: u64,
    ) -> Result<Self> {
        let IterOptions { read, bounds, same_prefix, readahead_bytes, skipped_max, tag } = options;
        let family = Arc::clone(&family.0);
        let extractor = family.options.table.prefix_extractor.clone();
        let walk_options = WalkOptions {
            bounds: &Arc::new(bounds),
            same_prefix: extractor.filter(|_| same_prefix),
            skipped_max,
            readahead_bytes,
        };
        let mut ctx = ReadContext::default();
        read.limit(&mut ctx);
        let point = ReadPoint { family: &family, view: &view, seqno };
        let walk = ViewWalk::new(&point, walk_options, &ctx)?;
        let views = HeldViews::One(Arc::clone(&family), view);
        let kind = HolderKind::Iterator;
        let slot = family.holders.add(Held { kind, tag, seqno, since_nanos, views });
        Ok(Self { walk, family, told: SkipCounts::default(), slot })
    }

    /// Whether it stands on a key.
    #[doc(alias = "Valid")]
    pub fn is_valid(&self) -> bool {
        self.walk.iter().is_valid()
    }

    /// Moves to the first key.
    pub fn seek_to_first(&mut self) -> Result<()> {
        let done = self.walk.aim(None).seek_to_first();
        self.tell_skipped();
        done
    }

    /// Moves to the last key.
    pub fn seek_to_last(&mut self) -> Result<()> {
        let done = self.walk.aim(None).seek_to_last();
        self.tell_skipped();
        done
    }

    /// Moves to the first key that is not before `user_key`.
    pub fn seek(&mut self, user_key: &[u8]) -> Result<()> {
        let done = self.walk.aim(Some(user_key)).seek(user_key);
        self.tell_skipped();
        done
    }

    /// Moves to the last key that is not behind `user_key`.
    pub fn seek_for_prev(&mut self, user_key: &[u8]) -> Result<()> {
        let done = self.walk.aim(Some(user_key)).seek_for_prev(user_key);
        self.tell_skipped();
        done
    }

    /// Moves to the next key.
    #[expect(
        clippy::should_implement_trait,
        reason = "a walk in both directions, whose steps can fail"
    )]
    pub fn next(&mut self) -> Result<()> {
        self.walk.iter_mut().next()
    }

    /// Moves to the key before.
    pub fn prev(&mut self) -> Result<()> {
        self.walk.iter_mut().prev()
    }

    /// The key there.
    pub fn key(&self) -> &[u8] {
        self.walk.iter().key()
    }

    /// The value there.
    pub fn value(&self) -> &[u8] {
        self.walk.iter().value()
    }

    /// Entries that were looked at and not shown: what a walk over deleted keys costs.
    pub fn skipped(&self) -> Skipped {
        self.walk.iter().skipped()
    }

    /// What the walk cost so far: blocks, bytes, filters, entries passed over.
    ///
    /// * Cost: a sum over its sources.
    pub fn context(&self) -> ReadContext {
        self.walk.cost()
    }
}

impl DbIterator {
    /// Adds what was passed over since the last time to the statistics.
    fn tell_skipped(&mut self) {
        let skipped = self.walk.skipped();
        let since = skipped.since(std::mem::replace(&mut self.told, skipped));
        self.family.counters.count_skipped(since);
    }
}

impl Drop for DbIterator {
    fn drop(&mut self) {
        self.tell_skipped();
        drop(self.family.holders.remove(&self.slot));
    }
}

impl fmt::Debug for DbIterator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DbIterator")
            .field("family", &self.family.family.name())
            .field("is_valid", &self.is_valid())
            .finish_non_exhaustive()
    }
}
