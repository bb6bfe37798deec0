//! What was found in a directory, as values: the ground that all examinations stand on.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use partita::table::{Readers, Release};
use partita::{Error, ErrorKind};
use serde::Serialize;

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

    /// The family with that number.
    pub fn family(&self, id: u32) -> Option<&Family> {
        self.families.iter().find(|family| family.id == id)
    }

    /// The release of RocksDB that wrote the directory last, as its OPTIONS or LOG says.
    pub fn written_by(&self) -> Option<&str> {
        let logged = self.info_log.rocksdb_version.as_deref();
        logged.or_else(|| self.options.as_ref()?.rocksdb_version.as_deref())
    }

    /// The same as numbers.
    pub fn release(&self) -> Option<Release> {
        parse_release(self.written_by()?)
    }
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
    /// Its length as the manifest says.
    pub file_bytes: u64,
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

/// The layout of a table, and what its properties say.
#[derive(Clone, Debug)]
pub struct TableLayout {
    /// The file's length.
    pub file_bytes: u64,
    /// The footer's format version.
    pub format_version: u32,
    /// The footer's checksum type.
    pub checksum: &'static str,
    /// Point entries, of all types.
    pub entries: u64,
    /// Deletions of single keys.
    pub deletions: u64,
    /// Range tombstones.
    pub range_deletions: u64,
    /// Merge operands.
    pub merge_operands: u64,
    /// Data blocks as they are stored.
    pub data: Pieces,
    /// Bytes of keys before compression, with the eight bytes that RocksDB adds to each.
    pub raw_key_bytes: u64,
    /// Bytes of values before compression.
    pub raw_value_bytes: u64,
    /// The index.
    pub index: IndexLayout,
    /// The filter.
    pub filter: FilterLayout,
    /// The compression dictionary.
    pub dictionary_bytes: u64,
    /// The block of range tombstones.
    pub range_deletion_bytes: u64,
    /// The prefix extractor's name.
    pub prefix_extractor: Option<String>,
    /// Which releases of RocksDB can read it, by what its metadata shows.
    pub readers: Readers,
    /// Why Partita does not open it, if it does not.
    pub refused: Option<Problem>,
    /// Damage that was met on the way.
    pub damage: Vec<Problem>,
    /// Identity of the database that made it.
    pub made_by: Option<String>,
}

impl TableLayout {
    /// Filter, index, top levels, dictionary and range tombstones.
    pub fn metadata_bytes(&self) -> u64 {
        self.filter.total_bytes()
            + self.index.total_bytes()
            + self.dictionary_bytes
            + self.range_deletion_bytes
    }
}

/// Blocks of one role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pieces {
    /// How many.
    pub count: u64,
    /// All of them together.
    pub bytes: u64,
    /// The largest.
    pub largest_bytes: u64,
}

impl Pieces {
    /// Adds a block.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.largest_bytes = self.largest_bytes.max(bytes);
    }
}

/// The index of a table. Sizes are those in memory: before compression.
#[derive(Clone, Debug, Default)]
pub struct IndexLayout {
    /// RocksDB's name of its type.
    pub index_type: &'static str,
    /// Whether it has two levels.
    pub is_partitioned: bool,
    /// The one block, or the partitions.
    pub pieces: Pieces,
    /// The same as stored.
    pub stored_bytes: u64,
    /// The top level of two.
    pub top_level_bytes: u64,
}

impl IndexLayout {
    /// All of it.
    pub fn total_bytes(&self) -> u64 {
        self.pieces.bytes + self.top_level_bytes
    }
}

/// How a filter is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilterShape {
    /// There is none.
    #[default]
    None,
    /// One block for the whole file.
    Full,
    /// Partitions and a top level.
    Partitioned,
    /// The kind with a filter for each data block, which RocksDB 7.0 and later do not use.
    Obsolete,
    /// Of a policy that is not built in.
    Foreign,
}

impl FilterShape {
    /// One word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "no filter",
            Self::Full => "full",
            Self::Partitioned => "partitioned",
            Self::Obsolete => "obsolete",
            Self::Foreign => "foreign",
        }
    }
}

/// The filter of a table.
#[derive(Clone, Debug, Default)]
pub struct FilterLayout {
    /// How it is laid out.
    pub shape: FilterShape,
    /// The name of its policy, as the properties or else the metaindex has it.
    pub policy: Option<String>,
    /// Its kind in one word: bloom, ribbon, legacy-bloom; several if partitions differ.
    pub kinds: Vec<&'static str>,
    /// The one block, or the partitions.
    pub pieces: Pieces,
    /// The top level of partitions.
    pub top_level_bytes: u64,
    /// Keys and prefixes that were put in.
    pub keys: u64,
    /// Whether it holds whole keys.
    pub whole_keys: bool,
    /// Whether it holds prefixes.
    pub prefixes: bool,
    /// The rate of false positives that theory expects of it.
    pub false_positives: Option<f64>,
    /// The rate that absent keys showed; of one table a family.
    pub measured_false_positives: Option<f64>,
}

impl FilterLayout {
    /// All of it.
    pub fn total_bytes(&self) -> u64 {
        self.pieces.bytes + self.top_level_bytes
    }

    /// Memory for each key, in bits.
    pub fn bits_per_key(&self) -> Option<f64> {
        (self.keys > 0).then(|| self.total_bytes() as f64 * 8.0 / self.keys as f64)
    }
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
    /// The release that wrote it.
    pub rocksdb_version: Option<String>,
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

/// What LOG files tell.
#[derive(Clone, Debug, Default)]
pub struct InfoLog {
    /// How many there are.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes that were read: of long logs the end is.
    pub bytes_read: u64,
    /// The release that wrote the newest.
    pub rocksdb_version: Option<String>,
    /// What each family was opened with the last time.
    pub families: Vec<LoggedFamily>,
    /// Stalls and stops by their cause.
    pub stalls: Vec<Stall>,
    /// Statistics as they were printed last, if they are collected.
    pub tickers: BTreeMap<String, u64>,
    /// Lines that say that something went wrong, counted by their kind.
    pub errors: Vec<LoggedError>,
}

impl InfoLog {
    /// A counter of the statistics, without the `rocksdb.` before it.
    pub fn ticker(&self, name: &str) -> Option<u64> {
        self.tickers.get(name).copied()
    }

    /// What a family was opened with.
    pub fn family(&self, name: &str) -> Option<&LoggedFamily> {
        self.families.iter().find(|family| family.name == name)
    }
}

/// What LOG says that a family was opened with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedFamily {
    /// The family's name.
    pub name: String,
    /// Its settings of tables, by name: `cache_index_and_filter_blocks` is `1`.
    pub table: Vec<(String, String)>,
    /// The address of its cache: families with the same one share it.
    pub cache_address: Option<String>,
    /// The class of its cache: `LRUCache`.
    pub cache_name: Option<String>,
    /// The cache's capacity.
    pub cache_bytes: Option<u64>,
    /// Its number of shards, as a power of 2.
    pub cache_shard_bits: Option<u32>,
}

impl LoggedFamily {
    /// A setting of tables.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.table.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }
}

/// A kind of stall in LOG.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stall {
    /// The family, if the line names one.
    pub family: String,
    /// Whether writes stopped; otherwise they were slowed down.
    pub stopped: bool,
    /// Why: what had grown too large.
    pub cause: StallCause,
    /// How often.
    pub count: u64,
    /// One of the lines.
    pub example: String,
}

/// Why writes were held up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallCause {
    /// Memtables waited for their flush.
    Memtables,
    /// Tables gathered on level 0.
    Level0,
    /// Compactions had too much left to do.
    PendingCompaction,
}

/// A kind of trouble in LOG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedError {
    /// The kind, in words.
    pub kind: &'static str,
    /// How often.
    pub count: u64,
    /// One of the lines.
    pub example: String,
}
