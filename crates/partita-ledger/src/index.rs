use std::fmt;
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use partita::ErrorKind;
use partita::batch::WriteBatch;
use partita::db::{
    BottommostLevel, ColumnFamily, CompactRangeOptions, Db, IterOptions, ReadOptions, WriteOptions,
};
use partita::io::Clock;
use partita::iter::Bounds;
use partita::table::ReadContext;

use crate::batch::LocationBatch;
use crate::builder::IndexBuilder;
use crate::compaction::{Compaction, Compactions, PeriodicCompaction};
use crate::deleted::DeletedLedgers;
use crate::entries::{Entries, EntryLocation};
use crate::error::{Error, Result};
use crate::key::{decode, decode_location, encode};
use crate::stats::{IndexStats, Outcome, Recorder};

/// An index of where the entries of ledgers lie. Any number of threads may use it at once.
///
/// [`IndexBuilder`] opens one. It is closed when it is dropped; [`EntryLocationIndex::close`] does it sooner, and says
/// whether that went well.
///
/// Ledgers, entries and locations are BookKeeper's, 64 bits with a sign. It never uses negative ledgers and entries, but
/// they may be there, and sort behind all others.
pub struct EntryLocationIndex {
    inner: Arc<Inner>,
    periodic: OnceLock<PeriodicCompaction>,
}

struct Inner {
    db: Db,
    family: ColumnFamily,
    read: ReadOptions,
    batch_operations_max: usize,
    deleted: DeletedLedgers,
    compactions: Compactions,
    lookups: Recorder,
    last_entries: Recorder,
    last_entries_of_deleted: AtomicU64,
    clock: Arc<dyn Clock>,
}

impl EntryLocationIndex {
    pub(crate) fn new(db: Db, builder: &IndexBuilder) -> Result<Self> {
        let family = db.default_family();
        family.require_bytewise_order("an index").map_err(|error| error.in_file(db.dir()))?;
        let (options, clock) = (builder.options(), builder.shared_clock());
        let inner = Inner {
            db,
            family,
            read: ReadOptions::default(),
            batch_operations_max: options.batch_operations_max.max(1),
            deleted: DeletedLedgers::default(),
            compactions: Compactions::new(options.compaction_interval, clock.monotonic_nanos()),
            lookups: Recorder::new(),
            last_entries: Recorder::new(),
            last_entries_of_deleted: 0.into(),
            clock,
        };
        Ok(Self { inner: Arc::new(inner), periodic: OnceLock::new() })
    }

    pub(crate) fn start_periodic_compaction(&self) -> Result<()> {
        let now = self.inner.clock.monotonic_nanos();
        if self.inner.compactions.due_in_nanos(now).is_none() {
            return Ok(());
        }
        let (asked, runs) = (Arc::clone(&self.inner), Arc::clone(&self.inner));
        let due_in = move || {
            let now = asked.clock.monotonic_nanos();
            asked.compactions.due_in_nanos(now).map_or(Duration::MAX, Duration::from_nanos)
        };
        // How it went stands in the statistics.
        let compact = move || drop(runs.compact_if_due());
        let _ = self.periodic.set(PeriodicCompaction::start(due_in, compact)?);
        Ok(())
    }

    /// The location of an entry; `None` if it is not there.
    ///
    /// * BookKeeper answers 0 for `None`: `index.get_location(ledger_id, entry_id)?.unwrap_or(0)`. A location 0 that
    ///   somebody wrote is `Some(0)`.
    /// * A ledger that is marked deleted has its entries until [`EntryLocationIndex::remove_deleted`].
    /// * Errors: those of [`Db::get`]; `Corruption` if the value is not of 8 bytes.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita_ledger::{IndexBuilder, IndexOptions};
    /// # let builder = IndexBuilder::new("/locations", IndexOptions::new(8 << 20));
    /// # let index = builder.file_system(Arc::new(MemoryFileSystem::new())).open()?;
    /// index.add_location(7, 0, 1024)?;
    /// assert_eq!(index.get_location(7, 0)?, Some(1024));
    /// assert_eq!(index.get_location(7, 1)?.unwrap_or(0), 0);
    /// # Ok::<(), partita_ledger::Error>(())
    /// ```
    pub fn get_location(&self, ledger_id: i64, entry_id: i64) -> Result<Option<i64>> {
        self.get_location_with(ledger_id, entry_id, &mut ReadContext::default())
    }

    /// The same, counting into `ctx` what it cost. A context that is used again saves allocations.
    pub fn get_location_with(
        &self,
        ledger_id: i64,
        entry_id: i64,
        ctx: &mut ReadContext,
    ) -> Result<Option<i64>> {
        let inner = &*self.inner;
        let started = inner.clock.monotonic_nanos();
        let found = inner.look_up(ledger_id, entry_id, ctx);
        inner.record(&inner.lookups, started, &found);
        found
    }

    /// The greatest entry of a ledger, from 0 to `i64::MAX` - 1: BookKeeper looks for what is below `i64::MAX`.
    ///
    /// * Errors: [`Error::NoSuchEntry`] if there is none, or at once, without a look, if the ledger is marked deleted; those
    ///   of [`Db::get_floor`]; `Corruption` if the key is not of 16 bytes.
    /// * Cost: that of [`Db::get_floor_key_with`], within the ledger: nothing of other ledgers is read; a data block of each run that
    ///   has entries of the ledger the first time, and none as a rule later.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita_ledger::{IndexBuilder, IndexOptions};
    /// # let builder = IndexBuilder::new("/locations", IndexOptions::new(8 << 20));
    /// # let index = builder.file_system(Arc::new(MemoryFileSystem::new())).open()?;
    /// index.add_location(7, 41, 1024)?;
    /// index.add_location(7, 40, 2048)?;
    /// assert_eq!(index.get_last_entry(7)?, 41);
    /// assert!(index.get_last_entry(8).unwrap_err().is_no_such_entry());
    /// index.delete_ledger(7);
    /// assert!(index.get_last_entry(7).unwrap_err().is_no_such_entry());
    /// # Ok::<(), partita_ledger::Error>(())
    /// ```
    #[doc(alias = "getLastEntryInLedger")]
    pub fn get_last_entry(&self, ledger_id: i64) -> Result<i64> {
        self.get_last_entry_with(ledger_id, &mut ReadContext::default())
    }

    /// The same, counting into `ctx` what it cost. A context that is used again saves allocations.
    pub fn get_last_entry_with(&self, ledger_id: i64, ctx: &mut ReadContext) -> Result<i64> {
        let inner = &*self.inner;
        if inner.deleted.contains(ledger_id) {
            inner.last_entries_of_deleted.fetch_add(1, Ordering::Relaxed);
            return Err(Error::NoSuchEntry { ledger_id });
        }
        let started = inner.clock.monotonic_nanos();
        let found = inner.look_up_last(ledger_id, ctx);
        inner.record(&inner.last_entries, started, &found);
        found?.ok_or(Error::NoSuchEntry { ledger_id })
    }

    /// Sets the location of an entry; it survives a power cut when this returns.
    ///
    /// * Errors: those of [`Db::write`].
    pub fn add_location(&self, ledger_id: i64, entry_id: i64, location: i64) -> Result<()> {
        self.add_locations([EntryLocation { ledger_id, entry_id, location }])
    }

    /// Sets the locations of entries, in batches of [`IndexOptions::batch_operations_max`], each synced.
    ///
    /// * Errors: those of [`Db::write`]; batches before are written, then, and later ones are not.
    ///
    /// [`IndexOptions::batch_operations_max`]: crate::IndexOptions::batch_operations_max
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita_ledger::{IndexBuilder, IndexOptions};
    /// # let builder = IndexBuilder::new("/locations", IndexOptions::new(8 << 20));
    /// # let index = builder.file_system(Arc::new(MemoryFileSystem::new())).open()?;
    /// use partita_ledger::EntryLocation;
    ///
    /// index.add_locations((0..100).map(|entry_id| EntryLocation {
    ///     ledger_id: 7,
    ///     entry_id,
    ///     location: 1000 + entry_id,
    /// }))?;
    /// let entries: Result<Vec<_>, _> = index.entries(7)?.collect();
    /// assert_eq!(entries?.len(), 100);
    /// # Ok::<(), partita_ledger::Error>(())
    /// ```
    pub fn add_locations(&self, locations: impl IntoIterator<Item = EntryLocation>) -> Result<()> {
        let mut batch = self.new_batch();
        for EntryLocation { ledger_id, entry_id, location } in locations {
            batch.add(ledger_id, entry_id, location)?;
        }
        batch.flush()
    }

    /// Sets new locations of entries that were moved: [`EntryLocationIndex::add_locations`] under BookKeeper's other name.
    pub fn update_locations(
        &self,
        locations: impl IntoIterator<Item = EntryLocation>,
    ) -> Result<()> {
        self.add_locations(locations)
    }

    /// An empty batch of changes.
    pub fn new_batch(&self) -> LocationBatch<'_> {
        LocationBatch::new(&self.inner.db, self.inner.batch_operations_max)
    }

    /// Marks a ledger deleted, in memory only. [`EntryLocationIndex::get_last_entry`] refuses it from now on; its entries are
    /// there until [`EntryLocationIndex::remove_deleted`], together with those that are added meanwhile.
    pub fn delete_ledger(&self, ledger_id: i64) {
        self.inner.deleted.mark(ledger_id);
    }

    /// Removes the entries of all ledgers that are marked deleted, and then the marks. It survives a power cut when this
    /// returns.
    ///
    /// * Returns how many ledgers they were.
    /// * The entries from 0 to `i64::MAX` - 1 go, those that were added after the ledger was marked, too. The entry
    ///   `i64::MAX` and entries with negative numbers stay, as with BookKeeper.
    /// * Errors: those of [`Db::write`]; all marks stay.
    /// * Cost: one range deletion a ledger, in a synced batch; they are gone with the compactions that remove what they hide.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita_ledger::{IndexBuilder, IndexOptions};
    /// # let builder = IndexBuilder::new("/locations", IndexOptions::new(8 << 20));
    /// # let index = builder.file_system(Arc::new(MemoryFileSystem::new())).open()?;
    /// index.add_location(7, 0, 1024)?;
    /// index.delete_ledger(7);
    /// assert_eq!(index.get_location(7, 0)?, Some(1024));
    /// assert_eq!(index.remove_deleted()?, 1);
    /// assert_eq!(index.get_location(7, 0)?, None);
    /// # Ok::<(), partita_ledger::Error>(())
    /// ```
    #[doc(alias = "removeOffsetFromDeletedLedgers")]
    pub fn remove_deleted(&self) -> Result<usize> {
        let deleted = self.inner.deleted.all();
        if deleted.is_empty() {
            return Ok(0);
        }
        let mut batch = self.new_batch();
        for (ledger_id, _) in &deleted {
            batch.remove_ledger(*ledger_id)?;
        }
        batch.flush()?;
        self.inner.deleted.unmark(&deleted);
        Ok(deleted.len())
    }

    /// Ledgers that are marked deleted.
    pub fn deleted_pending(&self) -> usize {
        self.inner.deleted.len()
    }

    /// Compacts the whole index: every table is written anew, in the layout that the options ask for, without what is
    /// overwritten or removed.
    ///
    /// * Other threads read and write meanwhile.
    /// * Errors: `Busy` if it is being compacted already ([`EntryLocationIndex::is_compacting`]); those of
    ///   [`Db::compact_range`].
    pub fn compact(&self) -> Result<Compaction> {
        self.inner.compact()
    }

    /// Whether the whole index is being compacted.
    pub fn is_compacting(&self) -> bool {
        self.inner.compactions.is_running()
    }

    /// Compacts the index if that is due by interval, and puts the next time off. The thread of the index does so; a program
    /// with rounds of its own may, too.
    ///
    /// * Returns `None` if it is not due, or the index is being compacted already.
    /// * Errors: those of [`EntryLocationIndex::compact`], but for `Busy`.
    pub fn compact_if_due(&self) -> Result<Option<Compaction>> {
        self.inner.compact_if_due()
    }

    /// About how many entries there are: exactly, while each was put once and nothing is flushed; range deletions count
    /// one each, and entries that are overwritten or removed count until they are compacted away.
    ///
    /// * Errors: those of [`Db::estimate_num_keys`].
    pub fn count(&self) -> Result<u64> {
        Ok(self.inner.db.estimate_num_keys(&self.inner.family)?)
    }

    /// The entries of a ledger, in order: from 0 to `i64::MAX`, then the negative ones.
    ///
    /// * Errors: those of opening tables. `Corruption` of the walk, if a key or a value is no entry's.
    pub fn entries(&self, ledger_id: i64) -> Result<Entries> {
        let prefix = &encode(ledger_id, 0)[..size_of::<i64>()];
        let bounds = Bounds::prefix(self.inner.family.key_order(), prefix).unwrap_or_default();
        self.walk(IterOptions { bounds, ..IterOptions::default() })
    }

    /// All entries, in the order of keys. What is read does not enter the cache.
    ///
    /// * Errors: those of [`EntryLocationIndex::entries`].
    pub fn iter(&self) -> Result<Entries> {
        let read = ReadOptions { fill_cache: false, ..ReadOptions::default() };
        self.walk(IterOptions { read, ..IterOptions::default() })
    }

    fn walk(&self, options: IterOptions) -> Result<Entries> {
        Ok(Entries::new(self.inner.db.iter_cf(&self.inner.family, options)?))
    }

    /// Makes all writes before it survive a power cut.
    ///
    /// * Errors: those of [`Db::write`].
    pub fn sync(&self) -> Result<()> {
        Ok(self.inner.db.write(WriteBatch::new(), &WriteOptions::SYNC)?)
    }

    /// Ends all writing, and compaction by interval after the one that is under way: later writes are `Closed`, reads go on.
    /// The directory is free for others when the index is dropped.
    ///
    /// * Errors: those of [`Db::close`].
    pub fn close(&self) -> Result<()> {
        if let Some(periodic) = self.periodic.get() {
            periodic.stop();
        }
        Ok(self.inner.db.close()?)
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        self.inner.db.dir()
    }

    /// The database, for its statistics, and for all that an index has no words for.
    pub fn db(&self) -> &Db {
        &self.inner.db
    }

    /// All figures at this moment.
    ///
    /// * Cost: that of [`EntryLocationIndex::count`], and of adding up histograms of some KiB.
    pub fn stats(&self) -> IndexStats {
        let inner = &*self.inner;
        IndexStats {
            lookups: inner.lookups.stats(),
            last_entries: inner.last_entries.stats(),
            last_entries_of_deleted: inner.last_entries_of_deleted.load(Ordering::Relaxed),
            entries_estimate: self.count().ok(),
            deleted_ledgers_pending: inner.deleted.len(),
            compactions: inner.compactions.stats(),
        }
    }
}

impl Inner {
    fn look_up(&self, ledger_id: i64, entry_id: i64, ctx: &mut ReadContext) -> Result<Option<i64>> {
        let key = encode(ledger_id, entry_id);
        let Some(value) = self.db.get_with(&self.family, &key, &self.read, ctx)? else {
            return Ok(None);
        };
        Ok(Some(decode_location(ledger_id, entry_id, &value)?))
    }

    fn look_up_last(&self, ledger_id: i64, ctx: &mut ReadContext) -> Result<Option<i64>> {
        let (first, end) = (encode(ledger_id, 0), encode(ledger_id, i64::MAX));
        let range = (Bound::Included(&first[..]), Bound::Excluded(&end[..]));
        let found = self.db.get_floor_key_with(&self.family, range, &self.read, ctx)?;
        Ok(found.map(|key| decode(&key)).transpose()?.map(|(_, entry_id)| entry_id))
    }

    fn record(&self, recorder: &Recorder, started_nanos: u64, found: &Result<Option<i64>>) {
        let nanos = self.clock.monotonic_nanos().saturating_sub(started_nanos);
        let outcome = match found {
            Ok(Some(_)) => Outcome::Found,
            Ok(None) => Outcome::Absent,
            Err(_) => Outcome::Failed,
        };
        recorder.record(outcome, nanos);
    }

    fn compact(&self) -> Result<Compaction> {
        self.compactions.run(|| {
            let started = self.clock.monotonic_nanos();
            let before = self.db.family_stats(&self.family);
            let options = CompactRangeOptions { bottommost_level: BottommostLevel::Rewrite };
            self.db.compact_range_with(&self.family, None, None, &options)?;
            let after = self.db.family_stats(&self.family);
            Ok(Compaction {
                files_before: before.files(),
                bytes_before: before.bytes(),
                files_after: after.files(),
                bytes_after: after.bytes(),
                nanos: self.clock.monotonic_nanos().saturating_sub(started),
            })
        })
    }

    fn compact_if_due(&self) -> Result<Option<Compaction>> {
        let Some(_turn) = self.compactions.turn_by_interval() else { return Ok(None) };
        let due_in = self.compactions.due_in_nanos(self.clock.monotonic_nanos());
        if due_in != Some(0) || self.compactions.is_running() {
            return Ok(None);
        }
        let done = self.compact();
        self.compactions.put_off(self.clock.monotonic_nanos());
        match done {
            Ok(compaction) => Ok(Some(compaction)),
            // Somebody else was faster.
            Err(error) if error.kind() == Some(ErrorKind::Busy) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl fmt::Debug for EntryLocationIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntryLocationIndex").field("dir", &self.dir()).finish_non_exhaustive()
    }
}
