//! Tables dropped by range: no entry is read or written.

use super::compact::Running;
use super::{ColumnFamily, Db, KeyRange};
use crate::compaction::pick_files_inside;
use crate::error::Result;

impl Db {
    /// Drops the tables of a column family all of whose keys are in `range`, and returns how many. When it returns, no version
    /// names them any more; they are removed when the last iterator that reads them goes.
    ///
    /// * It is for keys that nobody will ask for again. Other keys are as before, but what those in the range show is not
    ///   defined: tables with other keys beside them stay, memtables and level 0 stay, tables that a compaction has in hand
    ///   stay, and where a deletion went and what it deleted stayed, that shows again. Snapshots may miss what they saw.
    /// * Of two tables that share a user key both go or both stay.
    /// * Errors: those of a write to the manifest. Some other thread's compactions are not waited for.
    /// * What was written to the log before survives a power cut if this does.
    /// * Cost: a sync of the log, one record in the manifest.
    /// * Source: contract of RocksDB `DeleteFilesInRange`; its `include_end` is [`Bound::Included`](std::ops::Bound).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::{CompactRangeOptions, BottommostLevel, DbBuilder};
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// use std::ops::Bound;
    ///
    /// let family = db.default_family();
    /// db.put(b"2026-01-31", b"old")?;
    /// // Below level 0.
    /// db.compact_range(&family, None, None)?;
    /// let old = (Bound::Unbounded, Bound::Excluded(&b"2026-02"[..]));
    /// assert_eq!(db.delete_files_in_range(&family, old)?, 1);
    /// assert_eq!(db.get(b"2026-01-31")?, None);
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn delete_files_in_range(
        &self,
        family: &ColumnFamily,
        range: KeyRange<'_>,
    ) -> Result<usize> {
        self.delete_files_in_ranges(family, &[range])
    }

    /// The same for several ranges, in one step: all tables go, or none.
    pub fn delete_files_in_ranges(
        &self,
        family: &ColumnFamily,
        ranges: &[KeyRange<'_>],
    ) -> Result<usize> {
        let db = self.inner();
        let writer = self.writer()?;
        let _job = writer.jobs.begin();
        writer.queue.exclusive(|| db.check_or_resume().and_then(|()| db.sync_log()))?;
        let _running = Running::new(&writer.compactions);
        let Some(inside) = db.pick(family, |_, version| pick_files_inside(version, ranges)) else {
            return Ok(0);
        };
        let count = inside.files().count();
        db.compact(family, inside)?;
        Ok(count)
    }
}
