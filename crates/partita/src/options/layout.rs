/// How keys in the index are shortened: RocksDB's `index_shortening`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IndexShortening {
    /// An index key is the last key of its data block. Best with [`IndexType::BinarySearchWithFirstKey`], whose entries
    /// then tell exactly whether a key lies between two blocks.
    ///
    /// [`IndexType::BinarySearchWithFirstKey`]: super::IndexType::BinarySearchWithFirstKey
    None,
    /// An index key is a short key between two blocks; that of the last block is its last key.
    #[default]
    Separators,
    /// Also the last block's index key is a short key after it.
    SeparatorsAndSuccessor,
}

/// How a key is found inside a data block: RocksDB's `data_block_index_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum DataBlockIndex {
    /// Binary search over restart points.
    #[default]
    BinarySearch,
    /// In addition a small hash table from user key to restart interval, for point gets: about 1.3 bytes a key.
    BinaryAndHash {
        /// Keys for each bucket of the table; 0.75 is RocksDB's default. Less is more memory and fewer collisions.
        util_ratio: f64,
    },
}

/// How a table's filter is laid out: RocksDB's `partition_filters` and `decouple_partitioned_filters`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FilterLayout {
    /// One filter for the whole file.
    Full,
    /// Partitions cut where the index is cut; all that RocksDB before 9.6 writes.
    PartitionedWithIndex,
    /// Partitions of about `metadata_block_size`, whatever the index does. Every RocksDB that reads partitioned
    /// filters reads these.
    #[default]
    Partitioned,
}
