use std::fmt;

/// What recovery does with a log that is damaged: RocksDB's `wal_recovery_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WalRecoveryMode {
    /// A torn record at the end of a log is forgiven; any other damage is an error.
    TolerateCorruptedTailRecords,
    /// Any damage is an error.
    AbsoluteConsistency,
    /// Recovery stops at the first damage: the state of that point in time.
    #[default]
    PointInTime,
    /// Damaged records are skipped and later ones applied: for salvage.
    SkipAnyCorruptedRecords,
}

impl WalRecoveryMode {
    /// RocksDB's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TolerateCorruptedTailRecords => "kTolerateCorruptedTailRecords",
            Self::AbsoluteConsistency => "kAbsoluteConsistency",
            Self::PointInTime => "kPointInTimeRecovery",
            Self::SkipAnyCorruptedRecords => "kSkipAnyCorruptedRecords",
        }
    }
}

impl fmt::Display for WalRecoveryMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
