use super::PropertiesCollector;
use crate::filter::FilterLevel;
use crate::key::SeqNo;
use crate::table::TableProperties;
use crate::table::properties::UNKNOWN_COLUMN_FAMILY;
use crate::util::hash::hash64;

/// What a table's properties tell of where it comes from. The builder asks neither clock nor chance: all of it is given.
#[derive(Debug)]
pub struct TableContext {
    /// Where the table will stand; decides between Ribbon and Bloom filters.
    pub level: FilterLevel,
    /// Number of the column family.
    pub column_family_id: u64,
    /// Name of the column family; empty: not recorded.
    pub column_family_name: String,
    /// Identity of the database (file `IDENTITY`). With `db_session_id` and `file_number` it makes the file's unique
    /// id, which RocksDB compares with the manifest.
    pub db_id: String,
    /// Identity of this opening of the database.
    pub db_session_id: String,
    /// Name of the machine.
    pub db_host_id: String,
    /// Number of the file.
    pub file_number: u64,
    /// When the oldest data of the file came into being, in Unix seconds; 0: unknown.
    pub creation_time: u64,
    /// Time of the oldest key, in Unix seconds; 0: unknown.
    pub oldest_key_time: u64,
    /// Time of the newest key, in Unix seconds; 0: unknown.
    pub newest_key_time: u64,
    /// Time at which the file is written, in Unix seconds; 0: unknown.
    pub file_creation_time: u64,
    /// Name of the merge operator, if there is one.
    pub merge_operator_name: Option<String>,
    /// The caller's property collectors.
    pub collectors: Vec<Box<dyn PropertiesCollector>>,
}

impl Default for TableContext {
    /// A table of no database.
    fn default() -> Self {
        Self {
            level: FilterLevel::Unknown,
            column_family_id: UNKNOWN_COLUMN_FAMILY,
            column_family_name: String::new(),
            db_id: String::new(),
            db_session_id: String::new(),
            db_host_id: String::new(),
            file_number: 0,
            creation_time: 0,
            oldest_key_time: 0,
            newest_key_time: 0,
            file_creation_time: 0,
            merge_operator_name: None,
            collectors: Vec::new(),
        }
    }
}

impl TableContext {
    /// The base of the file's context checksums (format version 6): differs from file to file, is never 0.
    ///
    /// It guards against blocks of another file, so the file's identity is enough; it need not be unpredictable.
    pub(super) fn base_context_checksum(&self) -> u32 {
        let identity = format!(
            "{}\0{}\0{}\0{}",
            self.db_id, self.db_session_id, self.file_number, self.file_creation_time
        );
        (hash64(identity.as_bytes()) as u32).max(1)
    }
}

/// What a finished table holds.
#[derive(Clone, Debug)]
pub struct TableSummary {
    /// Length of the file in bytes.
    pub file_size: u64,
    /// Least internal key, range tombstones included; `None` for a table without entries.
    pub smallest: Option<Vec<u8>>,
    /// Greatest internal key. If it is the end of a range tombstone, its sequence number is [`SeqNo::MAX`] and the user
    /// key itself is not part of the table.
    pub largest: Option<Vec<u8>>,
    /// Least sequence number of all entries.
    pub smallest_seqno: SeqNo,
    /// Greatest sequence number of all entries.
    pub largest_seqno: SeqNo,
    /// The properties as they stand in the file: counts and sizes among them.
    pub properties: TableProperties,
}
