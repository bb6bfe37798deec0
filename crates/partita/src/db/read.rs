//! What a [`Db`] is asked for: each question in three forms, of the default family, of any family, and with all options.

use std::ops::Bound;
use std::sync::Arc;

use arc_swap::Guard;

use super::counters::SkipCounts;
use super::family::FamilyState;
use super::floor::{End, KeyRange, KeyValue, greatest_key, nearest};
use super::get::get;
use super::iterator::{DbIterator, IterOptions};
use super::multi_get::multi_get;
use super::read_view::ReadView;
use super::snapshot::{Snapshot, TakenAt};
use super::value::PinnedValue;
use super::{ColumnFamily, Db, ReadOptions, ReadTier};
use crate::error::{ErrorKind, Result};
use crate::key::{LookupKey, SeqNo};
use crate::table::{KeyBuf, ReadContext};
use crate::util::sync::atomic::Ordering;

/// What one read looks at: everything that its moment depends on.
#[derive(Clone, Copy)]
pub(super) struct ReadPoint<'v> {
    pub(super) family: &'v Arc<FamilyState>,
    pub(super) view: &'v ReadView,
    /// Entries up to it are visible.
    pub(super) seqno: SeqNo,
}

/// What is known of a key without a look at files.
#[derive(Clone, Debug)]
pub enum Presence {
    /// It is certainly not there.
    Absent,
    /// Only files can tell.
    Unknown,
    /// It is there, with this value.
    Present(PinnedValue),
}

impl Presence {
    /// Whether the key may be there.
    pub fn may_exist(&self) -> bool {
        !matches!(self, Self::Absent)
    }
}

impl Db {
    /// The value of a key in the default column family; `None` if it has none.
    ///
    /// * The value is where it was found, or a copy if it is short: see [`PinnedValue`].
    /// * Errors: `Corruption` and `Io` of the files; `NotSupported` for a key with merge operands and no merge operator;
    ///   those of the merge operator.
    /// * Cost: of what is in memory, no lock, no allocation and no copy but of short values. Else one read for each piece
    ///   of filter and index and each data block that is not cached: one data block, as a rule.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// db.put(b"apple", b"red")?;
    /// let value = db.get(b"apple")?.unwrap();
    /// db.delete(b"apple")?;
    /// assert_eq!(value, b"red");
    /// assert!(db.get(b"apple")?.is_none());
    /// # Ok::<(), partita::Error>(())
    /// ```
    #[doc(alias = "get_pinned")]
    pub fn get(&self, key: &[u8]) -> Result<Option<PinnedValue>> {
        self.get_cf(&self.inner().default_family, key)
    }

    /// The value of a key in a column family.
    pub fn get_cf(&self, family: &ColumnFamily, key: &[u8]) -> Result<Option<PinnedValue>> {
        self.get_with(family, key, &ReadOptions::default(), &mut ReadContext::default())
    }

    /// The same with options, counting into `ctx` what it cost. A context that is used again saves allocations.
    ///
    /// * Errors: also `Incomplete`, if the read was limited to memory and needs more.
    pub fn get_with(
        &self,
        family: &ColumnFamily,
        key: &[u8],
        options: &ReadOptions,
        ctx: &mut ReadContext,
    ) -> Result<Option<PinnedValue>> {
        options.limit(ctx);
        let (view, seqno) = self.moment_of(family, options);
        let point = ReadPoint { family: &family.0, view: &view, seqno };
        get(&point, &LookupKey::new(key, seqno), ctx)
    }

    /// The values of keys in the default column family at one moment; `result[i]` belongs to `keys[i]`.
    ///
    /// * `keys`: in any order, with repetitions.
    /// * Errors: those of [`Db::get`], of the first key that meets one; then there are no values.
    /// * Cost: as many gets, but that keys in the same table share the work: filters are fetched together, a data block is
    ///   read and checked once, and neighbouring blocks by one read.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// db.put(b"apple", b"red")?;
    /// db.put(b"kiwi", b"green")?;
    /// db.flush()?;
    /// let values = db.multi_get(&["kiwi", "lemon", "apple"])?;
    /// assert_eq!(values[0].as_deref(), Some(&b"green"[..]));
    /// assert_eq!(values[1], None);
    /// assert_eq!(values[2].as_deref(), Some(&b"red"[..]));
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<PinnedValue>>> {
        self.multi_get_cf(&self.inner().default_family, keys)
    }

    /// The values of keys in a column family at one moment.
    pub fn multi_get_cf<K: AsRef<[u8]>>(
        &self,
        family: &ColumnFamily,
        keys: &[K],
    ) -> Result<Vec<Option<PinnedValue>>> {
        self.multi_get_with(family, keys, &ReadOptions::default(), &mut ReadContext::default())
    }

    /// The same with options, counting into `ctx` what it cost.
    ///
    /// * Errors: also `Incomplete`, if the read was limited to memory and needs more.
    pub fn multi_get_with<K: AsRef<[u8]>>(
        &self,
        family: &ColumnFamily,
        keys: &[K],
        options: &ReadOptions,
        ctx: &mut ReadContext,
    ) -> Result<Vec<Option<PinnedValue>>> {
        options.limit(ctx);
        let (view, seqno) = self.moment_of(family, options);
        let point = ReadPoint { family: &family.0, view: &view, seqno };
        multi_get(&point, keys, ctx)
    }

    /// What is known of a key in the default column family without a look at files.
    ///
    /// * Returns [`Presence::Absent`] only if the key is certainly not there. Filters that are in memory tell of many keys
    ///   that are not.
    /// * Errors: those of [`Db::get`], but nothing is read.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// use partita::db::Presence;
    ///
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// db.put(b"apple", b"red")?;
    /// assert!(matches!(db.may_exist(b"apple")?, Presence::Present(value) if value == b"red"));
    /// assert!(!db.may_exist(b"kiwi")?.may_exist());
    /// # Ok::<(), partita::Error>(())
    /// ```
    #[doc(alias = "KeyMayExist")]
    pub fn may_exist(&self, key: &[u8]) -> Result<Presence> {
        self.may_exist_cf(&self.inner().default_family, key)
    }

    /// The same in a column family.
    pub fn may_exist_cf(&self, family: &ColumnFamily, key: &[u8]) -> Result<Presence> {
        let options = ReadOptions::default();
        self.may_exist_with(family, key, &options, &mut ReadContext::default())
    }

    /// The same with options, whatever their tier, counting into `ctx` what it cost.
    pub fn may_exist_with(
        &self,
        family: &ColumnFamily,
        key: &[u8],
        options: &ReadOptions,
        ctx: &mut ReadContext,
    ) -> Result<Presence> {
        let options = ReadOptions { tier: ReadTier::CacheOnly, ..options.clone() };
        match self.get_with(family, key, &options, ctx) {
            Ok(Some(value)) => Ok(Presence::Present(value)),
            Ok(None) => Ok(Presence::Absent),
            Err(error) if error.kind() == ErrorKind::Incomplete => Ok(Presence::Unknown),
            Err(error) => Err(error),
        }
    }

    /// The greatest key of the default column family that is not behind `bound`, with its value.
    ///
    /// * `bound`: `Included` for the greatest key `<=` it, `Excluded` for `<`, `Unbounded` for the last of all.
    /// * Errors: those of [`Db::get`].
    /// * Cost: no iterator is made. A search in each memtable, and in the index and one data block of each run of tables
    ///   that has keys up to the bound; runs that end before what is found are left alone, as are tables without a key in
    ///   the range if their prefix filter knows. A few deleted keys are passed by as many searches, more by an iterator.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// use std::ops::Bound;
    ///
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// db.put(b"apple", b"red")?;
    /// db.put(b"kiwi", b"green")?;
    /// let found = db.get_floor(Bound::Excluded(b"kiwi"))?.unwrap();
    /// assert_eq!((&*found.key, &*found.value), (&b"apple"[..], &b"red"[..]));
    /// let found = db.get_ceil(Bound::Included(b"banana"))?.unwrap();
    /// assert_eq!((&*found.key, &*found.value), (&b"kiwi"[..], &b"green"[..]));
    /// assert!(db.get_ceil(Bound::Excluded(b"kiwi"))?.is_none());
    /// # Ok::<(), partita::Error>(())
    /// ```
    #[doc(alias = "SeekForPrev")]
    pub fn get_floor(&self, bound: Bound<&[u8]>) -> Result<Option<KeyValue>> {
        self.get_floor_cf(&self.inner().default_family, bound)
    }

    /// The same in a column family.
    pub fn get_floor_cf(
        &self,
        family: &ColumnFamily,
        bound: Bound<&[u8]>,
    ) -> Result<Option<KeyValue>> {
        let range = (Bound::Unbounded, bound);
        self.get_floor_with(family, range, &ReadOptions::default(), &mut ReadContext::default())
    }

    /// The greatest key of a range in a column family, with its value, counting into `ctx` what it cost.
    ///
    /// * `range`: no key before its lower bound is an answer, and no data block of such keys only is read. For keys that
    ///   belong to something, like the entries of a ledger, it is best to say so.
    /// * Errors: those of [`Db::get_with`].
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// use std::ops::Bound::{Excluded, Included};
    ///
    /// use partita::db::ReadOptions;
    /// use partita::table::ReadContext;
    ///
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// # let family = db.default_family();
    /// # let (options, mut ctx) = (ReadOptions::default(), ReadContext::default());
    /// db.put(b"ledger1/0001", b"a")?;
    /// db.put(b"ledger1/0002", b"b")?;
    /// db.put(b"ledger3/0001", b"c")?;
    /// let mut last = |from: &[u8], to: &[u8]| {
    ///     db.get_floor_with(&family, (Included(from), Excluded(to)), &options, &mut ctx)
    /// };
    /// assert_eq!(last(b"ledger1", b"ledger2")?.unwrap().value, b"b");
    /// assert!(last(b"ledger2", b"ledger3")?.is_none());
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn get_floor_with(
        &self,
        family: &ColumnFamily,
        range: KeyRange<'_>,
        options: &ReadOptions,
        ctx: &mut ReadContext,
    ) -> Result<Option<KeyValue>> {
        self.nearest(family, End::Last, range, options, ctx)
    }

    /// The greatest key of a range in a column family, without its value.
    ///
    /// * `range`, errors: as in [`Db::get_floor_with`].
    /// * Cost: that of [`Db::get_floor_with`]; if the same upper bound was asked for before, no data block is read as a rule.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// use std::ops::Bound::{Excluded, Included};
    ///
    /// use partita::db::ReadOptions;
    /// use partita::table::ReadContext;
    ///
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// db.put(b"ledger1/0001", b"a")?;
    /// db.put(b"ledger1/0002", b"b")?;
    /// let range = (Included(&b"ledger1"[..]), Excluded(&b"ledger2"[..]));
    /// let (options, mut ctx) = (ReadOptions::default(), ReadContext::default());
    /// let found = db.get_floor_key_with(&db.default_family(), range, &options, &mut ctx)?;
    /// assert_eq!(found.as_deref(), Some(&b"ledger1/0002"[..]));
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn get_floor_key_with(
        &self,
        family: &ColumnFamily,
        range: KeyRange<'_>,
        options: &ReadOptions,
        ctx: &mut ReadContext,
    ) -> Result<Option<KeyBuf>> {
        options.limit(ctx);
        let (view, seqno) = self.moment_of(family, options);
        let point = ReadPoint { family: &family.0, view: &view, seqno };
        greatest_key(&point, range, ctx)
    }

    /// The smallest key of the default column family that is not before `bound`, with its value: the mirror of
    /// [`Db::get_floor`], at the same cost.
    ///
    /// * `bound`: `Included` for the smallest key `>=` it, `Excluded` for `>`, `Unbounded` for the first of all.
    pub fn get_ceil(&self, bound: Bound<&[u8]>) -> Result<Option<KeyValue>> {
        self.get_ceil_cf(&self.inner().default_family, bound)
    }

    /// The same in a column family.
    pub fn get_ceil_cf(
        &self,
        family: &ColumnFamily,
        bound: Bound<&[u8]>,
    ) -> Result<Option<KeyValue>> {
        let range = (bound, Bound::Unbounded);
        self.get_ceil_with(family, range, &ReadOptions::default(), &mut ReadContext::default())
    }

    /// The smallest key of a range in a column family, with its value, counting into `ctx` what it cost.
    ///
    /// * `range`: no key behind its upper bound is an answer, and no data block of such keys only is read.
    /// * Errors: those of [`Db::get_with`].
    pub fn get_ceil_with(
        &self,
        family: &ColumnFamily,
        range: KeyRange<'_>,
        options: &ReadOptions,
        ctx: &mut ReadContext,
    ) -> Result<Option<KeyValue>> {
        self.nearest(family, End::First, range, options, ctx)
    }

    fn nearest(
        &self,
        family: &ColumnFamily,
        end: End,
        range: KeyRange<'_>,
        options: &ReadOptions,
        ctx: &mut ReadContext,
    ) -> Result<Option<KeyValue>> {
        options.limit(ctx);
        let (view, seqno) = self.moment_of(family, options);
        let point = ReadPoint { family: &family.0, view: &view, seqno };
        let before = SkipCounts::of(ctx);
        let found = nearest(&point, end, range, ctx);
        family.0.counters.count_skipped(SkipCounts::of(ctx).since(before));
        found
    }

    /// A walk over the default column family.
    pub fn iter(&self) -> Result<DbIterator> {
        self.iter_cf(&self.inner().default_family, IterOptions::default())
    }

    /// A walk over a column family.
    pub fn iter_cf(&self, family: &ColumnFamily, options: IterOptions) -> Result<DbIterator> {
        let (view, seqno) = self.moment_of(family, &options.read);
        let view = Guard::into_inner(view);
        let now = self.inner().builder.clock.monotonic_nanos();
        DbIterator::new(family, view, seqno, options, now)
    }

    /// This moment, to be read at later: [`ReadOptions::snapshot`].
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// db.put(b"apple", b"red")?;
    /// let snapshot = db.snapshot();
    /// db.put(b"apple", b"green")?;
    /// db.flush()?;
    /// assert_eq!(db.get_at(&snapshot, &db.default_family(), b"apple")?.unwrap(), b"red");
    /// assert_eq!(db.get(b"apple")?.unwrap(), b"green");
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        self.take_snapshot(None)
    }

    /// The same, to be found under this name among all that live ([`Db::holders`]).
    pub fn snapshot_tagged(&self, tag: &str) -> Snapshot {
        self.take_snapshot(Some(tag.into()))
    }

    fn take_snapshot(&self, tag: Option<Arc<str>>) -> Snapshot {
        let inner = self.inner();
        let clock = &inner.builder.clock;
        let now =
            TakenAt { unix_seconds: clock.unix_seconds(), since_nanos: clock.monotonic_nanos() };
        inner.snapshots.take(&inner.holders, now, tag, || match &inner.follower {
            None => (self.visible_seqno(), None),
            Some(follower) => {
                let moment = follower.hold_moment(inner);
                (moment.seqno, Some(moment))
            }
        })
    }

    /// The value of a key as it was when a snapshot was taken.
    pub fn get_at(
        &self,
        snapshot: &Snapshot,
        family: &ColumnFamily,
        key: &[u8],
    ) -> Result<Option<PinnedValue>> {
        self.get_with(family, key, &ReadOptions::at(snapshot), &mut ReadContext::default())
    }

    /// The view that a read looks at, and the sequence number.
    #[inline]
    fn moment_of(
        &self,
        family: &ColumnFamily,
        options: &ReadOptions,
    ) -> (Guard<Arc<ReadView>>, SeqNo) {
        let Some(snapshot) = &options.snapshot else {
            loop {
                let ingestions = family.0.ingestions.load(Ordering::Acquire);
                // The view first: a later one may lack versions that only an earlier reader sees.
                let view = family.0.view.load();
                let seqno = view.moment.unwrap_or_else(|| self.visible_seqno());
                // Its memtable may have got writes since that came behind files which it does not have.
                if family.0.ingestions.load(Ordering::Acquire) == ingestions {
                    return (view, seqno);
                }
            }
        };
        let view = family.0.view.load();
        let held = snapshot.view_of(family.id()).cloned();
        (held.map_or(view, Guard::from_inner), snapshot.seqno())
    }
}
