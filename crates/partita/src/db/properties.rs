//! Properties: questions under RocksDB's names, answered as RocksDB answers them.
//!
//! Each answer comes from a figure that [`stats.rs`](super::stats) or [`estimates.rs`](super::estimates) has as a typed
//! value; this file only knows which. Texts are made in [`property_text.rs`](super::property_text). What Partita does not
//! count has no answer, rather than a wrong one.

use std::collections::BTreeMap;

use super::property_text as text;
use super::stats::FamilyStats;
use super::{ColumnFamily, Db};
use crate::cache::CacheStats;
use crate::statistics::{Property, PropertyKind};
use crate::version::FileNumber;

impl Db {
    /// The answer to the property that RocksDB calls `name`, as text: numbers in decimal digits.
    ///
    /// * `None` if there is no property of this name, if it has no answer here (histograms, blob caches), or if a table that
    ///   has to be asked cannot be opened. [`Db::stats`], [`Db::table_sums`] and others have the same figures as values, and
    ///   errors.
    /// * Cost: most are read from counters; `aggregated-table-properties` opens all tables, `estimate-num-keys` some.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use partita::db::DbBuilder;
    /// # use partita::io::MemoryFileSystem;
    /// # use partita::options::DbOptions;
    /// # let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
    /// # let disk = Arc::new(MemoryFileSystem::new());
    /// # let db = DbBuilder::new("/db").file_system(disk).options(options).open()?;
    /// let family = db.default_family();
    /// db.put(b"apple", b"red")?;
    /// assert_eq!(db.int_property(&family, "rocksdb.estimate-num-keys"), Some(1));
    /// assert_eq!(db.property(&family, "rocksdb.num-files-at-level0").as_deref(), Some("0"));
    /// assert_eq!(db.property(&family, "rocksdb.num-fools"), None);
    /// # Ok::<(), partita::Error>(())
    /// ```
    pub fn property(&self, family: &ColumnFamily, name: &str) -> Option<String> {
        let property = Property::parse(name)?;
        match property.kind() {
            PropertyKind::Number => self.number(family, property).map(|number| number.to_string()),
            PropertyKind::Text | PropertyKind::Map => self.text(family, property),
        }
    }

    /// The answer to a property that is a number.
    ///
    /// * `None` as for [`Db::property`], and for properties that are texts.
    pub fn int_property(&self, family: &ColumnFamily, name: &str) -> Option<u64> {
        self.number(family, Property::parse(name)?)
    }

    /// The answer to a property that is a map of names with values.
    ///
    /// * `None` as for [`Db::property`], and for properties that are no maps.
    pub fn map_property(
        &self,
        family: &ColumnFamily,
        name: &str,
    ) -> Option<BTreeMap<String, String>> {
        match Property::parse(name)? {
            Property::CfStats => Some(text::family_map(&self.family_stats(family))),
            Property::DbStats => Some(text::db_map(&self.stats())),
            Property::CfWriteStallStats | Property::DbWriteStallStats => {
                Some(text::stall_map(&self.stall_stats()))
            }
            Property::BlockCacheEntryStats | Property::FastBlockCacheEntryStats => {
                Some(text::cache_map(&self.cache().stats()))
            }
            Property::AggregatedTableProperties => self.sums_map(family, None),
            Property::AggregatedTablePropertiesAtLevel(level) => {
                self.sums_map(family, Some(existing(family, level)?))
            }
            _ => None,
        }
    }

    fn sums_map(
        &self,
        family: &ColumnFamily,
        level: Option<usize>,
    ) -> Option<BTreeMap<String, String>> {
        let sums = self.table_sums(family, level).ok()?;
        Some(sums.by_name().map(|(name, sum)| (name.to_owned(), sum.to_string())).collect())
    }

    fn number(&self, family: &ColumnFamily, property: Property) -> Option<u64> {
        self.number_of_database(property)
            .or_else(|| of_cache(property, &self.cache().stats()))
            .or_else(|| self.number_by_estimate(family, property))
            .or_else(|| of_family(property, &self.family_stats(family)))
    }

    fn number_of_database(&self, property: Property) -> Option<u64> {
        let inner = self.inner();
        Some(match property {
            Property::BackgroundErrors => self.background_errors(),
            Property::NumRunningFlushes => self.running_flushes(),
            Property::NumRunningCompactions => self.running_compactions(),
            Property::NumSnapshots => inner.snapshots.stats().count,
            Property::OldestSnapshotTime => inner.snapshots.stats().oldest_unix_seconds,
            Property::OldestSnapshotSequence => inner.snapshots.stats().oldest_seqno,
            Property::MinLogNumberToKeep => inner.versions.min_log_number_to_keep().get(),
            Property::MinObsoleteSstNumberToKeep => {
                inner.versions.first_pending_output().map_or(u64::MAX, FileNumber::get)
            }
            Property::ActualDelayedWriteRate => self.write_rate().1,
            Property::IsWriteStopped => u64::from(self.write_rate().0),
            // Files that nothing needs are always removed.
            Property::IsFileDeletionsEnabled => 1,
            Property::CompactionAbortCount => 0,
            _ => return None,
        })
    }

    /// Whether writes are stopped, and the bytes a second that they are held to; 0 if they are not held.
    fn write_rate(&self) -> (bool, u64) {
        let inner = self.inner();
        let Some(writer) = &inner.writer else { return (false, 0) };
        let pressure = inner.pressed(writer).pressure;
        if pressure.is_none() || pressure.is_stop() {
            return (pressure.is_stop(), 0);
        }
        (false, pressure.bytes_a_second(inner.options.delayed_write_rate.max(1) as f64) as u64)
    }

    fn number_by_estimate(&self, family: &ColumnFamily, property: Property) -> Option<u64> {
        match property {
            Property::EstimateNumKeys => self.estimate_num_keys(family).ok(),
            Property::EstimateLiveDataSize => Some(self.estimate_live_data_bytes(family)),
            Property::EstimateTableReadersMem => Some(self.open_table_bytes(family)),
            Property::EstimateOldestKeyTime => self.estimate_oldest_key_time(family).ok()?,
            _ => None,
        }
    }

    fn text(&self, family: &ColumnFamily, property: Property) -> Option<String> {
        let of_family = || text::family_text(&self.family_stats(family), self.uptime_micros());
        Some(match property {
            Property::Stats => of_family() + &text::db_text(&self.stats()),
            Property::CfStats | Property::CfStatsNoFileHistogram => of_family(),
            Property::DbStats => text::db_text(&self.stats()),
            Property::LevelStats => text::level_text(&self.family_stats(family)),
            Property::SsTables => text::tables_text(&family.0.family.current()),
            Property::CfWriteStallStats | Property::DbWriteStallStats => {
                text::stall_text(&self.stall_stats())
            }
            Property::BlockCacheEntryStats | Property::FastBlockCacheEntryStats => {
                text::cache_text(&self.cache().stats())
            }
            Property::AggregatedTableProperties => {
                text::sums_text(&self.table_sums(family, None).ok()?)
            }
            Property::AggregatedTablePropertiesAtLevel(level) => {
                text::sums_text(&self.table_sums(family, Some(existing(family, level)?)).ok()?)
            }
            Property::NumFilesAtLevel(level) => {
                let level = existing(family, level)?;
                family.0.family.current().levels().get(level)?.len().to_string()
            }
            Property::CompressionRatioAtLevel(level) => {
                let sums = self.table_sums(family, Some(existing(family, level)?)).ok()?;
                format!("{:.6}", sums.compression_ratio().unwrap_or(-1.0))
            }
            // Files have no temperature; RocksDB's number for that is 0.
            Property::LiveSstFilesSizeAtTemperature(temperature) => match temperature {
                0 => family.0.family.current().file_bytes().to_string(),
                _ => "0".to_owned(),
            },
            Property::OptionsStatistics => text::ticker_text(&self.stats()),
            Property::BlobStats => text::NO_BLOBS.to_owned(),
            _ => return None,
        })
    }
}

/// The level, if the family has it.
fn existing(family: &ColumnFamily, level: u32) -> Option<usize> {
    let level = usize::try_from(level).ok()?;
    (level < family.0.family.current().levels().len()).then_some(level)
}

fn of_cache(property: Property, cache: &CacheStats) -> Option<u64> {
    Some(match property {
        Property::BlockCacheCapacity => cache.budget_bytes(),
        Property::BlockCacheUsage => cache.usage_bytes(),
        Property::BlockCachePinnedUsage => cache.total().pinned_bytes,
        _ => return None,
    })
}

fn of_family(property: Property, stats: &FamilyStats) -> Option<u64> {
    let memtables = &stats.memtables;
    let unflushed_bytes = memtables.active.bytes + memtables.frozen.bytes;
    Some(match property {
        Property::NumImmutableMemTable => memtables.frozen.count,
        Property::NumImmutableMemTableFlushed => memtables.retired_count,
        Property::MemTableFlushPending => u64::from(memtables.is_flush_pending),
        Property::CompactionPending => u64::from(stats.is_compaction_pending()),
        Property::CurSizeActiveMemTable => memtables.active.bytes,
        Property::CurSizeAllMemTables => unflushed_bytes,
        Property::SizeAllMemTables => unflushed_bytes + memtables.retired_bytes,
        Property::NumEntriesActiveMemTable => memtables.active.entries,
        Property::NumEntriesImmMemTables => memtables.frozen.entries,
        Property::NumDeletesActiveMemTable => memtables.active.deletions,
        Property::NumDeletesImmMemTables => memtables.frozen.deletions,
        Property::NumRunningCompactionSortedRuns => stats.runs_being_compacted(),
        Property::NumLiveVersions => stats.live_versions,
        Property::CurrentSuperVersionNumber => stats.views,
        // RocksDB's number for "none" is -1, which the answer's type has no room for.
        Property::BaseLevel => stats.base_level.map_or(u64::MAX, |level| level as u64),
        Property::TotalSstFilesSize => stats.total_table_bytes,
        Property::LiveSstFilesSize => stats.bytes(),
        Property::ObsoleteSstFilesSize => stats.total_table_bytes.saturating_sub(stats.bytes()),
        Property::EstimatePendingCompactionBytes => stats.pending_compaction_bytes,
        // Families with blob files are not opened.
        Property::NumBlobFiles
        | Property::TotalBlobFileSize
        | Property::LiveBlobFileSize
        | Property::LiveBlobFileGarbageSize => 0,
        _ => return None,
    })
}
