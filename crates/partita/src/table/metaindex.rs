//! Metaindex: the names under which a table's other blocks are found.

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
