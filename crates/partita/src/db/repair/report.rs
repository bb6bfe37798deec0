//! What a repair found and did, as values.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::table::LostKeys;
use crate::version::FileNumber;

/// What a repair found, and what became of it; without a directory to write to, what would.
#[derive(Debug, Default)]
pub struct RepairReport {
    /// Why the database does not open, or what is wrong with it though it does; `None` if nothing is.
    pub trouble: Option<Error>,
    /// How it was told which tables make up the database.
    pub basis: RepairBasis,
    /// The column families that the result has, by id.
    pub families: Vec<RepairedFamily>,
    /// Tables that are taken over as they are.
    pub kept: Vec<KeptTable>,
    /// Damaged tables, of which what can be read is written into new ones.
    pub salvaged: Vec<SalvagedTable>,
    /// Logs whose records are taken over, by number.
    pub logs: Vec<RepairedLog>,
    /// What is lost. Empty: all that the database held is in the result.
    pub lost: Vec<Lost>,
    /// Tables that are left behind, since they are no part of the database.
    pub unused: Vec<UnusedTable>,
    /// What else there is to know, in words.
    pub notes: Vec<String>,
}

/// How it is told which tables make up a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RepairBasis {
    /// A manifest says it.
    Manifest {
        /// Its number.
        number: FileNumber,
        /// Records of it that count.
        records: u64,
        /// Why those behind them do not, if there are any.
        damage: Option<String>,
    },
    /// None can be used: all tables that are there, by what stands in them.
    #[default]
    Tables,
}

/// A column family of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairedFamily {
    /// Its id.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its tables, salvaged ones included, without what comes from logs.
    pub tables: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Changes in logs that are taken over.
    pub log_records: u64,
    /// Whether its tables have to be merged, since their order in age does not show from their sequence numbers.
    pub merged: bool,
}

/// A table that is taken over as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptTable {
    /// Its number.
    pub number: FileNumber,
    /// Its column family.
    pub family: u32,
    /// Its level.
    pub level: u32,
    /// Its bytes.
    pub bytes: u64,
}

/// A table of which what can be read is taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalvagedTable {
    /// Its path.
    pub path: PathBuf,
    /// Its column family.
    pub family: u32,
    /// Its level.
    pub level: u32,
    /// Entries that can be read, range tombstones included.
    pub entries: u64,
    /// Keys that may be gone. Empty if only filter or other things are damaged that can be made anew.
    pub lost: Vec<LostKeys>,
    /// What is wrong with it, first thing first.
    pub damages: Vec<String>,
}

/// A log whose records are taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairedLog {
    /// Its path.
    pub path: PathBuf,
    /// Bytes of it that are used, from its front on.
    pub bytes: u64,
    /// Batches in them.
    pub batches: u64,
}

/// Something that is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lost {
    /// A table of which nothing can be read. Older versions of its keys may show, and deleted ones.
    Table {
        /// Its path.
        path: PathBuf,
        /// Its column family, if that is known.
        family: Option<u32>,
        /// Its first and its last user key, if a manifest says so.
        range: Option<(Vec<u8>, Vec<u8>)>,
        /// Why.
        why: String,
    },
    /// Keys of a table that is salvaged otherwise.
    Keys {
        /// The table.
        path: PathBuf,
        /// Its column family.
        family: u32,
        /// Which keys, and why.
        keys: LostKeys,
    },
    /// The range tombstones of a table: keys that they deleted may show again.
    RangeTombstones {
        /// The table.
        path: PathBuf,
        /// Its column family.
        family: u32,
        /// Why.
        why: String,
    },
    /// Bytes of a log.
    LogBytes {
        /// The log.
        path: PathBuf,
        /// From where on it is not used.
        offset: u64,
        /// So many, up to the log's end.
        bytes: u64,
        /// Column families of records among them that can be read, by id. Others may be hit as well.
        families: Vec<u32>,
        /// Why.
        why: String,
        /// Whether it is no more than a record that was being written when the process or the machine stopped.
        torn_end: bool,
    },
    /// A whole log that the manifest wants, and that is not there.
    Log {
        /// Its path.
        path: PathBuf,
    },
}

/// A table that is left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedTable {
    /// Its path.
    pub path: PathBuf,
    /// Why it is no part of the database.
    pub why: &'static str,
}

impl RepairReport {
    /// Whether there is nothing to repair: the database opens, and all of its tables are whole.
    pub fn is_sound(&self) -> bool {
        self.trouble.is_none()
    }

    /// Whether something is lost that was written completely.
    pub fn has_losses(&self) -> bool {
        self.lost.iter().any(|lost| !matches!(lost, Lost::LogBytes { torn_end: true, .. }))
    }
}

impl Lost {
    /// The file of which it is lost.
    pub fn path(&self) -> &Path {
        match self {
            Self::Table { path, .. }
            | Self::Keys { path, .. }
            | Self::RangeTombstones { path, .. }
            | Self::LogBytes { path, .. }
            | Self::Log { path } => path,
        }
    }
}
