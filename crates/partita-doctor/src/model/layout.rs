//! The layout of a table: its blocks by what they are for.

use partita::table::Readers;
use serde::Serialize;

use super::Problem;

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
    /// What RocksDB makes the names of its blocks in the cache of, if its properties tell.
    pub unique_id: Option<[u8; 16]>,
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
    /// Where the one block is, or the top level.
    pub offset: u64,
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
    /// Where the one block is, or the first partition.
    pub offset: u64,
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
