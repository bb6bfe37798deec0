//! Which logs are needed, and by whom.

use super::{ColumnFamily, Db};
use crate::error::Result;
use crate::util::sync::lock;
use crate::version::FileNumber;

/// The write-ahead logs in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogStats {
    /// How many there are, the one being written included.
    pub count: usize,
    /// Their bytes: what `max_total_wal_size` limits.
    pub bytes: u64,
    /// The number of the oldest.
    pub oldest: FileNumber,
    /// The families with something in memory, those first that hold the oldest logs.
    pub holders: Vec<LogHolder>,
}

/// A column family that keeps logs from being removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHolder {
    /// Its name.
    pub family: String,
    /// The oldest log that may have entries of it which are in no table: this one and all later ones are needed.
    pub oldest_log: FileNumber,
}

impl Db {
    /// Which logs are needed, and by whom. A family that is hardly written to may hold an old log, and with it all since.
    ///
    /// * Errors: `ReadOnly` for a database opened to be read.
    pub fn log_stats(&self) -> Result<LogStats> {
        let writer = self.writer()?;
        let held = |family: &ColumnFamily| {
            let has_some = family.0.view.load().memtables().any(|memtable| !memtable.is_empty());
            has_some.then(|| LogHolder {
                family: family.name().to_owned(),
                oldest_log: family.0.oldest_log_needed(),
            })
        };
        let logs = lock(&writer.logs);
        let mut holders: Vec<LogHolder> = self.families().iter().filter_map(held).collect();
        holders.sort_by(|a, b| (a.oldest_log, &a.family).cmp(&(b.oldest_log, &b.family)));
        Ok(LogStats { count: logs.count(), bytes: logs.bytes(), oldest: logs.oldest(), holders })
    }
}
