//! What `partita sst show` knows about a table: printed as text by [`super::text`], as JSON by serde.
//!
//! The names of these fields are what scripts build on: they are added to, not changed.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// One table.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Path as named on the command line or found below a directory.
    pub(super) file: String,
    pub(super) file_bytes: u64,
    pub(super) format: Format,
    pub(super) readable_by: ReadableBy,
    pub(super) entries: Entries,
    pub(super) index: Index,
    pub(super) filter: Filter,
    pub(super) blocks: Vec<BlockGroup>,
    /// All recorded properties by their names on disk.
    pub(super) properties: BTreeMap<String, Value>,
    /// The same for people.
    #[serde(skip)]
    pub(super) properties_in_words: Vec<(String, String)>,
    pub(super) warnings: Vec<String>,
}

/// What the footer says.
#[derive(Debug, Serialize)]
pub(super) struct Format {
    pub(super) version: u32,
    /// RocksDB's name of the checksum type: `kXXH3`.
    pub(super) checksum: &'static str,
    /// From format version 6: the random number that binds blocks to their file.
    pub(super) base_context: Option<u32>,
}

/// The numbers of a release, to compare: `10.2` comes after `6.29`.
pub(super) fn release_numbers(release: &str) -> Vec<u32> {
    release.split('.').filter_map(|number| number.parse().ok()).collect()
}

/// Which releases of RocksDB can read the table.
#[derive(Debug, Serialize)]
pub(super) struct ReadableBy {
    /// The oldest one; `null` if every release could.
    pub(super) oldest: Option<String>,
    /// The first that no longer can, if one is known.
    pub(super) before: Option<String>,
    /// The oldest that uses its filter.
    pub(super) filter_used_since: Option<String>,
    /// What the table needs, the newest release first.
    pub(super) because: Vec<Because>,
    #[serde(skip)]
    pub(super) in_words: String,
}

/// A feature and the release that brought it.
#[derive(Debug, Serialize)]
pub(super) struct Because {
    pub(super) release: String,
    pub(super) feature: String,
}

/// What is stored, from the properties; `null` where they do not say.
#[derive(Debug, Serialize)]
pub(super) struct Entries {
    /// All entries, range tombstones among them.
    pub(super) total: Option<u64>,
    /// Deletions and single deletions, without range tombstones.
    pub(super) deletions: Option<u64>,
    pub(super) merge_operands: Option<u64>,
    pub(super) range_tombstones: Option<u64>,
    pub(super) smallest_seqno: Option<u64>,
    pub(super) largest_seqno: Option<u64>,
    /// The number that all entries have instead of their own, recorded in the file.
    pub(super) global_seqno: Option<u64>,
    /// Hexadecimal; of point entries only.
    pub(super) first_user_key: Option<String>,
    pub(super) last_user_key: Option<String>,
    #[serde(skip)]
    pub(super) keys_in_words: Option<[String; 2]>,
}

/// How data blocks are found.
#[derive(Debug, Serialize)]
pub(super) struct Index {
    /// `binary search`, `hash search`, `two-level` or `binary search with first keys`.
    #[serde(rename = "type")]
    pub(super) index_type: String,
    pub(super) keys_are_user_keys: bool,
    pub(super) values_are_delta_encoded: bool,
    /// Index partitions, or the one index block.
    pub(super) pieces: u64,
    pub(super) stored_bytes: u64,
    pub(super) largest_piece_bytes: u64,
    pub(super) top_level_bytes: Option<u64>,
}

/// How absent keys are told.
#[derive(Debug, Serialize)]
pub(super) struct Filter {
    /// `none`, `full`, `partitioned`, `unknown` (of a policy that is not built in) or `obsolete` (no longer read).
    pub(super) layout: &'static str,
    /// The policy's name as the properties have it, else the one in the metaindex.
    pub(super) policy: Option<String>,
    /// Kinds met in its pieces: `bloom`, `ribbon`, `legacy-bloom`, `empty`, `always-true`.
    pub(super) kinds: Vec<String>,
    pub(super) pieces: u64,
    pub(super) stored_bytes: u64,
    pub(super) largest_piece_bytes: u64,
    pub(super) top_level_bytes: Option<u64>,
    pub(super) whole_keys: bool,
    pub(super) prefixes: bool,
    /// Keys and prefixes added, if recorded.
    pub(super) entries: Option<u64>,
    /// Memory per added key.
    pub(super) bits_per_entry: Option<f64>,
}

/// All blocks of one role.
#[derive(Debug, Serialize)]
pub(super) struct BlockGroup {
    pub(super) role: &'static str,
    pub(super) count: u64,
    /// As stored, without trailers.
    pub(super) stored_bytes: u64,
    pub(super) largest_bytes: u64,
    /// `null` if some block does not tell, or was not looked at.
    pub(super) uncompressed_bytes: Option<u64>,
    /// Number of blocks by compression type.
    pub(super) compression: BTreeMap<String, u64>,
}
