//! Compacting by hand: a range of keys goes down, level by level, to the last one that has any of it.
//!
//! ```text
//! memtables ─ flush ─> level 0 ─> base level ─> … ─> last level with keys of the range
//!                                                     its older files are written again, if that is asked for
//! ```

use std::sync::Arc;

use super::compact::{ByHand, Running};
use super::{ColumnFamily, Db, DbInner};
use crate::error::{Error, Result};
use crate::version::{FileNumber, TableFile, Version};

/// Whether the last level is written again, though nothing comes down to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BottommostLevel {
    /// Only what is merged with levels above.
    Skip,
    /// If there is a compaction filter, which may have something to say.
    #[default]
    IfFilter,
    /// Always: every table of the range is one that this call has written.
    Rewrite,
}

/// How a range is compacted by hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactRangeOptions {
    /// What is done with the last level.
    pub bottommost_level: BottommostLevel,
}

impl Db {
    /// Compacts the keys of a column family from `from` to `to`, both included; `None` has no bound. What is overwritten
    /// or deleted there, and no snapshot needs, is gone afterwards.
    ///
    /// * Returns when it is done; other threads read and write meanwhile. Compactions in the background wait.
    /// * Errors: those of reading and writing tables; then the database is as if the compaction had not been tried, but for
    ///   the part that was done.
    /// * Cost: reads and writes all tables that may hold keys of the range, once for each level.
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
    /// db.flush()?;
    /// db.delete(b"apple")?;
    /// db.compact_range(&db.default_family(), None, None)?;
    /// assert_eq!(db.family_stats(&db.default_family()).files(), 0);
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn compact_range(
        &self,
        family: &ColumnFamily,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
    ) -> Result<()> {
        self.compact_range_with(family, from, to, &CompactRangeOptions::default())
    }

    /// The same with options.
    pub fn compact_range_with(
        &self,
        family: &ColumnFamily,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
        options: &CompactRangeOptions,
    ) -> Result<()> {
        let db = self.inner();
        let _job = self.writer()?.jobs.begin();
        db.flush_families(std::slice::from_ref(family))?;
        let _by_hand = ByHand::begin(db)?;
        let range = Range { db, family, from, to };
        let made_before = db.versions.new_file_number();
        let rewrites = options.bottommost_level.applies(family);
        let done = range.push_down().and_then(|()| match rewrites {
            true => range.rewrite_last_level(made_before),
            false => Ok(()),
        });
        // While a level was worked on, its version was held, and with it files that have no use any more.
        db.remove_obsolete_files();
        done
    }

    /// Waits until no flush and no compaction is due.
    ///
    /// * Errors: what a flush or compaction failed with.
    pub fn wait_for_background_work(&self) -> Result<()> {
        let db = self.inner();
        db.wait_until_no_flush_is_due()?;
        loop {
            db.schedule_compactions();
            if !db.wait_for_a_compaction()? {
                break;
            }
        }
        match self.background_error() {
            Some(error) => Err(Error::new(error.kind, error.to_string())),
            None => Ok(()),
        }
    }
}

impl BottommostLevel {
    fn applies(self, family: &ColumnFamily) -> bool {
        match self {
            Self::Skip => false,
            Self::IfFilter => family.0.compaction_filter.is_some(),
            Self::Rewrite => true,
        }
    }
}

/// What became of a merge by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Merge {
    Done,
    /// Others have had the files: it is to be seen what is left.
    InOtherHands,
    /// There is nothing that could be merged, in this style of compaction.
    Nothing,
}

struct Range<'c> {
    db: &'c Arc<DbInner>,
    family: &'c ColumnFamily,
    from: Option<&'c [u8]>,
    to: Option<&'c [u8]>,
}

impl Range<'_> {
    fn version(&self) -> Arc<Version> {
        self.family.0.family.current()
    }

    fn has_files(&self, version: &Version, level: usize) -> bool {
        !version.overlapping(level, self.from, self.to).is_empty()
    }

    /// The last level with files of the range.
    fn last_level(&self) -> Option<usize> {
        let version = self.version();
        let levels = self.family.0.picker.level_count(&version);
        (0..levels).rev().find(|level| self.has_files(&version, *level))
    }

    /// Merges each level into the next, down to the last one that has any of the range.
    fn push_down(&self) -> Result<()> {
        let mut level = 0;
        while let Some(last) = self.last_level() {
            if level > 0 && level >= last {
                break;
            }
            let version = self.version();
            let output = match level {
                0 => self.family.0.picker.base_level(&version),
                _ => level + 1,
            };
            if self.has_files(&version, level) {
                self.merge_level(level, output)?;
            }
            level += 1;
        }
        Ok(())
    }

    /// Merges all files of the range on `level` into `output`.
    fn merge_level(&self, level: usize, output: usize) -> Result<()> {
        let made_before = self.db.versions.new_file_number();
        let is_old = |file: &Arc<TableFile>| file.number < made_before;
        let mut from = self.from.map(<[u8]>::to_vec);
        loop {
            let version = self.version();
            let files = version.overlapping(level, from.as_deref(), self.to);
            let old: Vec<_> = files.iter().filter(|file| is_old(file)).collect();
            let few = self.few(&old);
            let Some(last) = few.last() else { return Ok(()) };
            // The files of level 0 go together, as they overlap.
            let to = if level == 0 { self.to } else { Some(last.largest_user_key()) };
            match self.merge(level, output, from.as_deref(), to)? {
                Merge::InOtherHands => {}
                Merge::Done if level > 0 => from = to.map(<[u8]>::to_vec),
                Merge::Done | Merge::Nothing => return Ok(()),
            }
        }
    }

    /// Writes the files of the last level again that were there before.
    fn rewrite_last_level(&self, made_before: FileNumber) -> Result<()> {
        let is_old = |file: &Arc<TableFile>| file.number < made_before;
        while let Some(level) = self.last_level() {
            let version = self.version();
            let files = version.overlapping(level, self.from, self.to);
            let old = files.iter().skip_while(|file| !is_old(file));
            let old: Vec<_> = old.take_while(|file| is_old(file)).collect();
            let few = self.few(&old);
            let (Some(first), Some(last)) = (few.first(), few.last()) else { return Ok(()) };
            let (from, to) = (first.smallest_user_key(), last.largest_user_key());
            if self.merge(level, level, Some(from), Some(to))? == Merge::Nothing {
                break;
            }
        }
        Ok(())
    }

    /// Merges the files of a level that may hold keys from `from` to `to`; waits, if others have them in hand.
    fn merge(
        &self,
        level: usize,
        output: usize,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
    ) -> Result<Merge> {
        let picker = &self.family.0.picker;
        let running = Running::new(&self.db.writing()?.compactions);
        let picked = self
            .db
            .pick(self.family, |_, version| picker.pick_range(version, level, output, from, to));
        if let Some(compaction) = picked {
            return self.db.compact(self.family, compaction).map(|()| Merge::Done);
        }
        if running.was_alone() {
            return Ok(Merge::Nothing);
        }
        drop(running);
        // Who has the files may have let them go meanwhile; then there is nobody to wait for.
        self.db.wait_for_a_compaction()?;
        Ok(Merge::InOtherHands)
    }

    /// As many of the first files as one compaction should have: what is merged stands twice on the disk until it is done.
    fn few<'f>(&self, files: &[&'f Arc<TableFile>]) -> Vec<&'f Arc<TableFile>> {
        let bytes_max = self.family.options().compaction_bytes_max();
        let mut bytes = 0u64;
        let fits = |file: &&&Arc<TableFile>| {
            let is_first = bytes == 0;
            bytes = bytes.saturating_add(file.file_bytes);
            is_first || bytes <= bytes_max
        };
        files.iter().take_while(fits).copied().collect()
    }
}
