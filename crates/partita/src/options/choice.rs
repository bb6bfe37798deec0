//! Options whose values are words.

/// Declares enums with RocksDB's word for each variant.
macro_rules! choices {
    ($(
        $(#[$meta:meta])*
        pub enum $name:ident {$(
            $(#[$vmeta:meta])*
            $variant:ident = $word:literal,
        )*}
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum $name {$(
            $(#[$vmeta])*
            $variant,
        )*}

        impl $name {
            /// RocksDB's word for it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl super::value::OptionValue for $name {
            const KIND: super::spec::Kind = super::spec::Kind::Choice(&[$($word),*]);

            fn assign(&mut self, given: super::value::Given<'_>) -> crate::error::Result<()> {
                *self = given.one_of([$(($word, Self::$variant)),*])?;
                Ok(())
            }

            fn print(&self) -> String {
                self.as_str().to_owned()
            }
        }
    )*};
}

choices! {
    /// What recovery does with a write-ahead log that ends in damage: RocksDB's `wal_recovery_mode`.
    pub enum WalRecoveryMode {
        /// A torn record at the end of the newest log is forgiven; any other damage is an error.
        TolerateCorruptedTailRecords = "kTolerateCorruptedTailRecords",
        /// Any damage is an error.
        AbsoluteConsistency = "kAbsoluteConsistency",
        /// Recovery stops at the first damage: the state of that point in time.
        #[default]
        PointInTime = "kPointInTimeRecovery",
        /// Damaged records are skipped and later ones applied: for salvage.
        SkipAnyCorruptedRecords = "kSkipAnyCorruptedRecords",
    }

    /// How tables are merged over time: RocksDB's `compaction_style`.
    pub enum CompactionStyle {
        /// Levels of growing size.
        #[default]
        Level = "kCompactionStyleLevel",
        /// Sorted runs of similar size.
        Universal = "kCompactionStyleUniversal",
        /// The oldest tables are dropped.
        Fifo = "kCompactionStyleFIFO",
        /// No compaction but by hand.
        None = "kCompactionStyleNone",
    }

    /// Which table of a level is compacted first: RocksDB's `compaction_pri`.
    pub enum CompactionPriority {
        /// The largest, with deletions counted.
        ByCompensatedSize = "kByCompensatedSize",
        /// The one whose newest entry is oldest.
        OldestLargestSeqFirst = "kOldestLargestSeqFirst",
        /// The one whose oldest entry is oldest.
        OldestSmallestSeqFirst = "kOldestSmallestSeqFirst",
        /// The one that overlaps least of the next level for its size.
        #[default]
        MinOverlappingRatio = "kMinOverlappingRatio",
        /// One after the other through the key space.
        RoundRobin = "kRoundRobin",
    }

    /// When universal compaction has picked enough runs: `compaction_options_universal.stop_style`.
    pub enum UniversalStopStyle {
        /// At a run of another size.
        SimilarSize = "kCompactionStopStyleSimilarSize",
        /// When the sum of those picked is smaller than the next.
        #[default]
        TotalSize = "kCompactionStopStyleTotalSize",
    }
}
