//! What was found in a directory, as values: the ground that all examinations stand on.

mod info_log;
mod layout;

use std::fmt;
use std::path::{Path, PathBuf};

use partita::key::SeqNo;
use partita::table::Release;
use partita::{Error, ErrorKind};
use serde::Serialize;

pub use info_log::{InfoLog, LoggedError, LoggedFamily, Stall, StallCause};
pub use layout::{FilterLayout, FilterShape, IndexLayout, Pieces, TableLayout};

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file.
    pub file: Option<String>,
    /// The whole story in one line.
    pub message: String,
    /// The same without the place: what many files can have in common.
    #[serde(skip)]
    pub reason: String,
    /// Whether bytes are wrong, and not just something in the way.
    pub is_damage: bool,
    /// Whether it is something that Partita does not have.
    pub is_unsupported: bool,
}

impl Problem {
    /// What an error says.
    pub fn new(error: &Error) -> Self {
        Self {
            file: error.file().map(|file| file.display().to_string()),
            message: error.to_string(),
            reason: error.message().to_owned(),
            is_damage: error.is_corruption(),
            is_unsupported: error.kind() == ErrorKind::NotSupported,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A directory of a database.
#[derive(Clone, Debug, Default)]
pub struct Database {
    /// Where it is.
    pub dir: PathBuf,
    /// The directories of tables by their numbers (`db_paths`); empty if they all stand in `dir`.
    pub table_dirs: Vec<PathBuf>,
    /// What the manifest says of the database as a whole; `None` if there is none to be read.
    pub manifest: Option<ManifestState>,
    /// The column families, by their numbers.
    pub families: Vec<Family>,
    /// The tables that the manifest names, by family, level and number.
    pub tables: Vec<Table>,
    /// All else that stands in the directory.
    pub files: Files,
    /// The write-ahead logs, by number.
    pub logs: Vec<LogFile>,
    /// The newest OPTIONS file.
    pub options: Option<OptionsText>,
    /// What the LOG files tell.
    pub info_log: InfoLog,
    /// What stood in the way: damage to CURRENT or the manifest, files that could not be read.
    pub problems: Vec<Problem>,
    /// How often the directory changed while it was looked at. Somebody is writing.
    pub changes_seen: u32,
}

impl Database {
    /// The tables whose layout is known, with it.
    pub fn layouts(&self) -> impl Iterator<Item = (&Table, &TableLayout)> {
        self.tables.iter().filter_map(|table| Some((table, table.layout()?)))
    }

    /// The directory that a table stands in.
    pub fn dir_of(&self, table: &Table) -> &Path {
        dir_of(&self.dir, &self.table_dirs, table.path_id)
    }

    /// The logs that an opening replays.
    pub fn needed_logs(&self) -> impl Iterator<Item = &LogFile> {
        self.logs.iter().filter(|log| log.is_needed)
    }

    /// The family with that number.
    pub fn family(&self, id: u32) -> Option<&Family> {
        self.families.iter().find(|family| family.id == id)
    }

    /// The release of RocksDB that wrote the directory last, as its OPTIONS or LOG says.
    pub fn written_by(&self) -> Option<&str> {
        let logged = self.info_log.rocksdb_version.as_deref();
        logged.or_else(|| self.options.as_ref()?.rocksdb_version.as_deref())
    }

    /// Who wrote the directory last, by name: `RocksDB 7.8.3`, `Partita 0.1.0`.
    pub fn writer(&self) -> Option<String> {
        let options = self.options.as_ref();
        match options.and_then(|options| options.partita_version.as_ref()) {
            Some(version) => Some(format!("Partita {version}")),
            None => self.written_by().map(|version| format!("RocksDB {version}")),
        }
    }

    /// The same as numbers.
    pub fn release(&self) -> Option<Release> {
        parse_release(self.written_by()?)
    }
}

/// The directory with that number, or else the database's.
pub(crate) fn dir_of<'d>(dir: &'d Path, table_dirs: &'d [PathBuf], path_id: u8) -> &'d Path {
    table_dirs.get(usize::from(path_id)).map_or(dir, PathBuf::as_path)
}

/// `7.8.3` as a release.
pub(crate) fn parse_release(text: &str) -> Option<Release> {
    let mut numbers = text.split('.').map_while(|number| number.parse().ok());
    Some(Release { major: numbers.next()?, minor: numbers.next().unwrap_or(0) })
}

/// What a manifest says of the whole database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestState {
    /// Its number.
    pub number: u64,
    /// Edits that count.
    pub edits: u64,
    /// Logs from this one on are needed.
    pub min_log_to_keep: u64,
    /// The last sequence number.
    pub last_sequence: u64,
    /// Logs that must be there, with the bytes that were synced.
    pub logs: Vec<(u64, Option<u64>)>,
}

/// A column family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The name of its comparator.
    pub comparator: String,
    /// Logs before this one hold nothing of it that is not in tables.
    pub log_number: u64,
}

/// A table that the manifest names.
#[derive(Clone, Debug)]
pub struct Table {
    /// The number of its family.
    pub family: u32,
    /// Its level.
    pub level: u32,
    /// Its number.
    pub number: u64,
    /// The directory it stands in: 0 unless several are set (`db_paths`).
    pub path_id: u8,
    /// Its length as the manifest says.
    pub file_bytes: u64,
    /// The number of its newest entry.
    pub largest_seqno: SeqNo,
    /// Its first user key.
    pub smallest: Box<[u8]>,
    /// Its last user key.
    pub largest: Box<[u8]>,
    /// What a look at it showed.
    pub state: TableState,
}

impl Table {
    /// The file's name.
    pub fn name(&self) -> String {
        format!("{:06}.sst", self.number)
    }

    /// Its layout, if it could be looked at.
    pub fn layout(&self) -> Option<&TableLayout> {
        match &self.state {
            TableState::Seen(layout) => Some(layout),
            _ => None,
        }
    }
}

/// What a look at a table showed.
#[derive(Clone, Debug)]
pub enum TableState {
    /// Its layout.
    Seen(Box<TableLayout>),
    /// The manifest goes on naming it, and it is not there.
    Missing,
    /// It stands in another directory (`db_paths`), and was not looked at.
    Elsewhere,
    /// It could not be read.
    Unread(Problem),
}

/// Files of a directory that are not live tables.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Tables that no family has, with their sizes.
    pub orphan_tables: Vec<(u64, u64)>,
    /// Write-ahead logs, with their sizes.
    pub logs: Vec<(u64, u64)>,
    /// Blob files, with their sizes.
    pub blobs: Vec<(u64, u64)>,
    /// Blob files that the manifest names.
    pub live_blobs: Vec<u64>,
    /// Files that were being written when a process ended.
    pub temporaries: Vec<String>,
    /// Manifests.
    pub manifests: Vec<u64>,
}

/// An OPTIONS file.
#[derive(Clone, Debug, Default)]
pub struct OptionsText {
    /// Where it stands.
    pub path: PathBuf,
    /// The whole of it.
    pub text: Vec<u8>,
    /// The release that wrote it; of a file of ours, the one that it is written for.
    pub rocksdb_version: Option<String>,
    /// The version of Partita that wrote it, if it did.
    pub partita_version: Option<String>,
}

/// A write-ahead log.
#[derive(Clone, Debug, Default)]
pub struct LogFile {
    /// Its number.
    pub number: u64,
    /// Its length.
    pub bytes: u64,
    /// Whether a recovery reads it.
    pub is_needed: bool,
    /// Whether it was read to its end.
    pub was_read: bool,
    /// Records that are whole.
    pub records: u64,
    /// The entries that they say they have.
    pub entries: u64,
    /// What is not.
    pub damages: Vec<LogDamage>,
    /// What ended the reading before the end.
    pub problem: Option<Problem>,
}

/// Bytes of a log that no recovery uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDamage {
    /// Where they start.
    pub offset: u64,
    /// How many there are.
    pub bytes: u64,
    /// Why they are not used.
    pub reason: String,
    /// Whether nothing whole comes behind them: a write that a crash, or this look, came upon half done.
    pub is_torn_tail: bool,
}

/// What was verified block by block.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verified {
    /// Tables that were read.
    pub tables: u64,
    /// Their blocks.
    pub blocks: u64,
    /// The bytes of these blocks.
    pub bytes: u64,
    /// Tables with damage.
    pub damaged_tables: u64,
    /// Tables of which a part could not be reached, because what leads there is damaged.
    pub incomplete_tables: u64,
    /// Tables whose order of keys could not be checked.
    pub unordered_tables: u64,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_unordered: Option<String>,
    /// Each damage with file, part and offset.
    pub damages: Vec<Problem>,
    /// What could not be read at all.
    pub unread: Vec<Problem>,
}
