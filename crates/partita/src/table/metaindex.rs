//! Metaindex: the names under which a table's other blocks are found.
//!
//! ```text
//! block with a restart point at each entry; key = name, sorted bytewise; value = block handle
//! ```

use super::BlockHandle;
use super::block::DataBlock;
use super::role::BlockRole;
use crate::error::{Error, Result};
use crate::util::coding::Cursor;

/// The properties block. Every table has it.
pub const PROPERTIES: &str = "rocksdb.properties";
/// The properties block in very old files.
pub const PROPERTIES_OLD: &str = "rocksdb.stats";
/// The index block, or its top level. From format version 6; before, the footer has its handle.
pub const INDEX: &str = "rocksdb.index";
/// The range deletion block.
pub const RANGE_DELETIONS: &str = "rocksdb.range_del";
/// The compression dictionary.
pub const COMPRESSION_DICTIONARY: &str = "rocksdb.compression_dict";
/// One filter for the whole file; the policy's name follows.
pub const FULL_FILTER_PREFIX: &str = "fullfilter.";
/// The index of filter partitions; the policy's name follows.
pub const PARTITIONED_FILTER_PREFIX: &str = "partitionedfilter.";
/// A filter kind that is no longer read; the policy's name follows.
pub const OBSOLETE_FILTER_PREFIX: &str = "filter.";
/// The name that all built-in filters share: the filter's last bytes tell them apart.
pub const BUILTIN_FILTER_POLICY: &str = "rocksdb.BuiltinBloomFilter";
/// Concatenated prefixes of a hash index.
pub const HASH_INDEX_PREFIXES: &str = "rocksdb.hashindex.prefixes";
/// Lengths and index positions of a hash index's prefixes.
pub const HASH_INDEX_METADATA: &str = "rocksdb.hashindex.metadata";
/// An index made by the user's code; the name of its maker follows.
pub const USER_DEFINED_INDEX_PREFIX: &str = "rocksdb.user_defined_index.";

/// The entries of a metaindex block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metaindex {
    entries: Vec<(String, BlockHandle)>,
}

impl Metaindex {
    /// Reads a metaindex block's contents.
    ///
    /// * Errors: `Corruption` if the block or a handle in it is damaged.
    pub fn parse(contents: Vec<u8>) -> Result<Self> {
        let block = DataBlock::parse_meta(contents)?;
        let mut entries = Vec::new();
        block.for_each(|cursor| {
            let name = String::from_utf8_lossy(cursor.key()).into_owned();
            let handle = BlockHandle::decode_from(&mut Cursor::new(cursor.value(&block))).map_err(
                |error| Error::corruption(format!("entry {name:?}: {}", error.message())),
            )?;
            entries.push((name, handle));
            Ok(())
        })?;
        Ok(Self { entries })
    }

    /// The block of this name.
    pub fn get(&self, name: &str) -> Option<BlockHandle> {
        self.iter().find(|(other, _)| *other == name).map(|(_, handle)| handle)
    }

    /// The first block whose name starts with `prefix`, and what follows in the name.
    pub fn with_prefix<'m>(&'m self, prefix: &str) -> Option<(&'m str, BlockHandle)> {
        self.iter().find_map(|(name, handle)| Some((name.strip_prefix(prefix)?, handle)))
    }

    /// All names and blocks.
    pub fn iter(&self) -> impl Iterator<Item = (&str, BlockHandle)> {
        self.entries.iter().map(|(name, handle)| (&**name, *handle))
    }

    /// The properties block, under its name of today or of old.
    pub fn properties(&self) -> Option<BlockHandle> {
        self.get(PROPERTIES).or_else(|| self.get(PROPERTIES_OLD))
    }
}

/// What a block of this name is for.
///
/// * `two_level_index`: whether the table has one; its index block is then a top level.
pub fn role_of(name: &str, two_level_index: bool) -> BlockRole {
    match name {
        PROPERTIES | PROPERTIES_OLD => BlockRole::Properties,
        INDEX if two_level_index => BlockRole::IndexTopLevel,
        INDEX => BlockRole::Index,
        RANGE_DELETIONS => BlockRole::RangeDeletions,
        COMPRESSION_DICTIONARY => BlockRole::Dictionary,
        HASH_INDEX_PREFIXES | HASH_INDEX_METADATA => BlockRole::HashIndex,
        _ if name.starts_with(FULL_FILTER_PREFIX) => BlockRole::Filter,
        _ if name.starts_with(PARTITIONED_FILTER_PREFIX) => BlockRole::FilterTopLevel,
        _ if name.starts_with(OBSOLETE_FILTER_PREFIX) => BlockRole::ObsoleteFilter,
        _ if name.starts_with(USER_DEFINED_INDEX_PREFIX) => BlockRole::UserDefinedIndex,
        _ => BlockRole::Unknown,
    }
}
