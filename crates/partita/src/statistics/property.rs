use std::fmt;

/// What the answer to a property is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PropertyKind {
    /// A number; RocksDB's `GetIntProperty`, too.
    Number,
    /// Text of several lines.
    Text,
    /// Names with values; RocksDB's `GetMapProperty`, too.
    Map,
}

/// What RocksDB's names of properties begin with.
const PREFIX: &str = "rocksdb.";

/// Declares properties: their names behind `rocksdb.`, the kind of answer, and what is asked.
macro_rules! properties {
    (
        plain {$($(#[doc = $doc:literal])+ $plain:ident = $name:literal, $kind:ident;)*}
        at_level {$($(#[doc = $ldoc:literal])+ $level:ident = $lname:literal, $lkind:ident;)*}
    ) => {
        /// A question that a database answers, under RocksDB's name.
        ///
        /// ```
        /// use partita::statistics::{Property, PropertyKind};
        ///
        /// let keys = Property::parse("rocksdb.estimate-num-keys").unwrap();
        /// assert_eq!((keys, keys.kind()), (Property::EstimateNumKeys, PropertyKind::Number));
        /// assert_eq!(Property::parse("rocksdb.num-files-at-level6"), Some(Property::NumFilesAtLevel(6)));
        /// assert_eq!(Property::NumFilesAtLevel(6).to_string(), "rocksdb.num-files-at-level6");
        /// assert_eq!(Property::parse("rocksdb.num-fools"), None);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Property {
            $($(#[doc = $doc])+ $plain,)*
            $($(#[doc = $ldoc])+ $level(u32),)*
        }

        impl Property {
            /// All that name no level.
            pub const PLAIN: &'static [Self] = &[$(Self::$plain),*];

            /// The property that RocksDB calls `name`.
            pub fn parse(name: &str) -> Option<Self> {
                let name = name.strip_prefix(PREFIX)?;
                $(if name == $name {
                    return Some(Self::$plain);
                })*
                $(if let Some(level) = name.strip_prefix($lname) {
                    return Some(Self::$level(parse_level(level)?));
                })*
                None
            }

            /// What the answer is.
            pub const fn kind(self) -> PropertyKind {
                match self {
                    $(Self::$plain => PropertyKind::$kind,)*
                    $(Self::$level(_) => PropertyKind::$lkind,)*
                }
            }

            /// What is asked, in words.
            pub const fn doc(self) -> &'static str {
                match self {
                    $(Self::$plain => concat!($($doc),+),)*
                    $(Self::$level(_) => concat!($($ldoc),+),)*
                }
            }
        }

        impl fmt::Display for Property {
            /// RocksDB's name.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$plain => f.pad(concat!("rocksdb.", $name)),)*
                    $(Self::$level(level) => f.pad(&format!("{PREFIX}{}{level}", $lname)),)*
                }
            }
        }
    };
}

/// A level as it stands behind a name: plain digits.
fn parse_level(text: &str) -> Option<u32> {
    let level: u32 = text.parse().ok()?;
    (level.to_string() == text).then_some(level)
}

properties! {
    plain {
        /// Everything: `cfstats` and `dbstats` together.
        Stats = "stats", Text;
        /// The tables of each level.
        SsTables = "sstables", Text;
        /// Compactions and levels of the column family.
        CfStats = "cfstats", Map;
        /// The same without the histogram of reads by level.
        CfStatsNoFileHistogram = "cfstats-no-file-histogram", Text;
        /// The histogram of reads by level.
        CfFileHistogram = "cf-file-histogram", Text;
        /// Delayed and stopped writes of the column family, by cause.
        CfWriteStallStats = "cf-write-stall-stats", Map;
        /// Writes, logs and stalls of the database.
        DbStats = "dbstats", Map;
        /// Delayed and stopped writes of the database, by cause.
        DbWriteStallStats = "db-write-stall-stats", Map;
        /// Tables and bytes of each level.
        LevelStats = "levelstats", Text;
        /// What the cache holds, by role.
        BlockCacheEntryStats = "block-cache-entry-stats", Map;
        /// The same as it was a moment ago.
        FastBlockCacheEntryStats = "fast-block-cache-entry-stats", Map;
        /// Memtables that wait to be flushed.
        NumImmutableMemTable = "num-immutable-mem-table", Number;
        /// Memtables that were flushed and are still held.
        NumImmutableMemTableFlushed = "num-immutable-mem-table-flushed", Number;
        /// 1 if a flush is due.
        MemTableFlushPending = "mem-table-flush-pending", Number;
        /// 1 if a compaction is due.
        CompactionPending = "compaction-pending", Number;
        /// Errors of background work.
        BackgroundErrors = "background-errors", Number;
        /// Bytes of the memtable that is written.
        CurSizeActiveMemTable = "cur-size-active-mem-table", Number;
        /// Bytes of that and of those that wait to be flushed.
        CurSizeAllMemTables = "cur-size-all-mem-tables", Number;
        /// Bytes of all memtables, those that are held only by readers included.
        SizeAllMemTables = "size-all-mem-tables", Number;
        /// Entries of the memtable that is written.
        NumEntriesActiveMemTable = "num-entries-active-mem-table", Number;
        /// Entries of the memtables that wait to be flushed.
        NumEntriesImmMemTables = "num-entries-imm-mem-tables", Number;
        /// Deletions in the memtable that is written.
        NumDeletesActiveMemTable = "num-deletes-active-mem-table", Number;
        /// Deletions in the memtables that wait to be flushed.
        NumDeletesImmMemTables = "num-deletes-imm-mem-tables", Number;
        /// Keys, as far as entries less deletions tell.
        EstimateNumKeys = "estimate-num-keys", Number;
        /// Bytes of indexes, filters and open tables.
        EstimateTableReadersMem = "estimate-table-readers-mem", Number;
        /// 0 if files that nothing needs are deleted.
        IsFileDeletionsEnabled = "is-file-deletions-enabled", Number;
        /// Snapshots that are held.
        NumSnapshots = "num-snapshots", Number;
        /// Unix seconds when the oldest of them was taken; 0 without one.
        OldestSnapshotTime = "oldest-snapshot-time", Number;
        /// The sequence number of the oldest of them; 0 without one.
        OldestSnapshotSequence = "oldest-snapshot-sequence", Number;
        /// Versions of the set of files that are held.
        NumLiveVersions = "num-live-versions", Number;
        /// The number of the newest view that reads go by.
        CurrentSuperVersionNumber = "current-super-version-number", Number;
        /// Bytes that a copy without old versions would take.
        EstimateLiveDataSize = "estimate-live-data-size", Number;
        /// The first log that is needed.
        MinLogNumberToKeep = "min-log-number-to-keep", Number;
        /// The first table that must not be deleted.
        MinObsoleteSstNumberToKeep = "min-obsolete-sst-number-to-keep", Number;
        /// The first level below level 0 that has data.
        BaseLevel = "base-level", Number;
        /// Bytes of all tables in the directory.
        TotalSstFilesSize = "total-sst-files-size", Number;
        /// Bytes of the tables in the newest version.
        LiveSstFilesSize = "live-sst-files-size", Number;
        /// Bytes of the tables that only older versions hold.
        ObsoleteSstFilesSize = "obsolete-sst-files-size", Number;
        /// Bytes that compactions have to write until the levels have their sizes.
        EstimatePendingCompactionBytes = "estimate-pending-compaction-bytes", Number;
        /// Sums of the tables' properties.
        AggregatedTableProperties = "aggregated-table-properties", Map;
        /// Compactions at work.
        NumRunningCompactions = "num-running-compactions", Number;
        /// Sorted runs that they read.
        NumRunningCompactionSortedRuns = "num-running-compaction-sorted-runs", Number;
        /// Compactions that are kept from running by request.
        CompactionAbortCount = "compaction-abort-count", Number;
        /// Flushes at work.
        NumRunningFlushes = "num-running-flushes", Number;
        /// Bytes a second that writes are held to; 0 if they are not.
        ActualDelayedWriteRate = "actual-delayed-write-rate", Number;
        /// 1 if writes wait.
        IsWriteStopped = "is-write-stopped", Number;
        /// Unix seconds of the oldest key; FIFO compaction only.
        EstimateOldestKeyTime = "estimate-oldest-key-time", Number;
        /// Bytes that the cache may hold.
        BlockCacheCapacity = "block-cache-capacity", Number;
        /// Bytes that it holds.
        BlockCacheUsage = "block-cache-usage", Number;
        /// Bytes in it that are in use and cannot go.
        BlockCachePinnedUsage = "block-cache-pinned-usage", Number;
        /// All counters and histograms.
        OptionsStatistics = "options-statistics", Text;
        /// Blob files.
        NumBlobFiles = "num-blob-files", Number;
        /// What blob files hold.
        BlobStats = "blob-stats", Text;
        /// Bytes of all blob files.
        TotalBlobFileSize = "total-blob-file-size", Number;
        /// Bytes of the blob files in the newest version.
        LiveBlobFileSize = "live-blob-file-size", Number;
        /// Bytes of garbage in them.
        LiveBlobFileGarbageSize = "live-blob-file-garbage-size", Number;
        /// Bytes that the cache of blobs may hold.
        BlobCacheCapacity = "blob-cache-capacity", Number;
        /// Bytes that it holds.
        BlobCacheUsage = "blob-cache-usage", Number;
        /// Bytes in it that are in use and cannot go.
        BlobCachePinnedUsage = "blob-cache-pinned-usage", Number;
    }
    at_level {
        /// Tables in a level.
        NumFilesAtLevel = "num-files-at-level", Text;
        /// Bytes before compression for each byte after it, in a level; -1 without tables.
        CompressionRatioAtLevel = "compression-ratio-at-level", Text;
        /// Sums of the properties of a level's tables.
        AggregatedTablePropertiesAtLevel = "aggregated-table-properties-at-level", Map;
        /// Bytes of the tables of a temperature, by RocksDB's number for that.
        LiveSstFilesSizeAtTemperature = "live-sst-files-size-at-temperature", Text;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_property() {
        let levels = [
            Property::NumFilesAtLevel(0),
            Property::CompressionRatioAtLevel(6),
            Property::AggregatedTablePropertiesAtLevel(3),
            Property::LiveSstFilesSizeAtTemperature(u32::MAX),
        ];
        for property in Property::PLAIN.iter().copied().chain(levels) {
            assert_eq!(Property::parse(&property.to_string()), Some(property));
            assert!(property.doc().ends_with('.'));
        }
    }

    #[test]
    fn what_is_no_name_is_none() {
        for name in [
            "",
            "rocksdb.",
            "estimate-num-keys",
            "rocksdb.Estimate-num-keys",
            "rocksdb.num-files-at-level",
            "rocksdb.num-files-at-level07",
            "rocksdb.num-files-at-level-1",
            "rocksdb.num-files-at-level4294967296",
            "rocksdb.stats ",
        ] {
            assert_eq!(Property::parse(name), None, "{name}");
        }
    }
}
