//! Properties block: what the writer noted about a table.
//!
//! ```text
//! block with one restart point; keys are property names, sorted bytewise, unique
//! value encodings:  varint64 | flag (varint 0 or 1) | digit (text "0" or "1") | fixed32 LE | fixed64 LE | bytes
//! ```
//!
//! Every property that RocksDB defines has a typed field in [`TableProperties`]; all others were collected by the
//! user's code and are kept as they are. `None` means that the file does not record the property.

mod codec;

use std::collections::BTreeMap;

use codec::{Bytes, Codec, Digit, Fixed32, Fixed64, Flag, Text, Varint};

/// Property names and values as they stand in the block: sorted by name.
pub type PropertyEntries = BTreeMap<Vec<u8>, Vec<u8>>;

/// What RocksDB writes in place of a name where there is none.
pub const NO_NAME: &str = "nullptr";
/// The column family number of a file that belongs to none, as external files do.
pub const UNKNOWN_COLUMN_FAMILY: u64 = 0x7fff_ffff;
/// The property whose value `write_global_seqno` changes in place, after the block was checksummed.
pub const GLOBAL_SEQNO_NAME: &str = "rocksdb.external_sst_file.global_seqno";

/// A property whose value is not in its encoding. It reads as absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedProperty {
    /// The property.
    pub name: &'static str,
    /// Its bytes.
    pub value: Vec<u8>,
}

macro_rules! properties {
    ($($(#[$doc:meta])* $field:ident: $codec:ident = $name:literal;)*) => {
        /// The properties of a table.
        ///
        /// ```
        /// use partita::table::TableProperties;
        ///
        /// let mut properties = TableProperties { num_entries: Some(300), ..Default::default() };
        /// properties.user_collected.insert(b"mine".to_vec(), b"1".to_vec());
        /// let entries = properties.encode();
        /// assert_eq!(entries[&b"rocksdb.num.entries"[..]], [0xac, 0x02]);
        ///
        /// let read = TableProperties::decode(entries.iter().map(|(name, value)| (&name[..], &value[..])));
        /// assert_eq!(read, properties);
        /// ```
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct TableProperties {
            $(
                $(#[$doc])*
                #[doc = concat!("\n\nStored as `", $name, "`, ", stringify!($codec), ".")]
                pub $field: Option<properties!(@value $codec)>,
            )*
            /// All other properties, by name: collected by the user's code, or by a later version.
            pub user_collected: PropertyEntries,
            /// Properties whose values could not be read. They are not written again.
            pub malformed: Vec<MalformedProperty>,
        }

        impl TableProperties {
            /// Reads the entries of a properties block. Malformed values are reported and otherwise skipped.
            pub fn decode<'a>(entries: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Self {
                let mut properties = Self::default();
                for (name, value) in entries {
                    properties.set(name, value);
                }
                properties
            }

            fn set(&mut self, name: &[u8], value: &[u8]) {
                $(
                    if name == $name.as_bytes() {
                        self.$field = <$codec as Codec>::decode(value);
                        if self.$field.is_none() {
                            self.malformed.push(MalformedProperty { name: $name, value: value.to_vec() });
                        }
                        return;
                    }
                )*
                self.user_collected.insert(name.to_vec(), value.to_vec());
            }

            /// The entries of a properties block, sorted by name.
            pub fn encode(&self) -> PropertyEntries {
                let mut entries = self.user_collected.clone();
                $(
                    if let Some(value) = &self.$field {
                        entries.insert($name.as_bytes().to_vec(), <$codec as Codec>::encode(value));
                    }
                )*
                entries
            }
        }
    };
    (@value Varint) => { u64 };
    (@value Flag) => { bool };
    (@value Digit) => { bool };
    (@value Fixed32) => { u32 };
    (@value Fixed64) => { u64 };
    (@value Text) => { String };
    (@value Bytes) => { Vec<u8> };
}

properties! {
    /// Code of the [`IndexType`](crate::options::IndexType). RocksDB's newest readers require it.
    index_type: Fixed32 = "rocksdb.block.based.table.index.type";
    /// Whether the filter holds whole keys. Absent counts as true.
    whole_key_filtering: Digit = "rocksdb.block.based.table.whole.key.filtering";
    /// Whether the filter holds prefixes. Absent counts as true.
    prefix_filtering: Digit = "rocksdb.block.based.table.prefix.filtering";
    /// Whether filter partitions were cut apart from index partitions. Only for information.
    decoupled_partitioned_filters: Digit =
        "rocksdb.block.based.table.decoupled.partitioned.filters";
    /// Whether index keys are user keys, not internal keys. Readers rely on it; absent counts as false.
    index_key_is_user_key: Flag = "rocksdb.index.key.is.user.key";
    /// Whether index values are delta-encoded. Readers rely on it; absent counts as false.
    index_value_is_delta_encoded: Flag = "rocksdb.index.value.is.delta.encoded";
    /// Whether a user-defined index is the one the writer meant to be used. Only for information.
    user_defined_index_is_primary: Flag = "rocksdb.udi.is.primary.index";
    /// Name of the order of user keys.
    comparator_name: Text = "rocksdb.comparator";
    /// Name of the merge operator, or [`NO_NAME`].
    merge_operator_name: Text = "rocksdb.merge.operator";
    /// Name of the prefix extractor, or [`NO_NAME`].
    prefix_extractor_name: Text = "rocksdb.prefix.extractor.name";
    /// Name of the filter policy. Absent without a policy.
    filter_policy_name: Text = "rocksdb.filter.policy";
    /// Up to format version 6 the name of the compression used; in version 7 the name of the compression manager and
    /// the codes of all types used: `BuiltinV2;07;`.
    compression_name: Text = "rocksdb.compression";
    /// Compression settings in text. Only for information.
    compression_options: Text = "rocksdb.compression_options";
    /// Names of the property collectors, as `[a,b]`.
    property_collector_names: Text = "rocksdb.property.collectors";
    /// Number of the column family; [`UNKNOWN_COLUMN_FAMILY`] if the file was made for none.
    column_family_id: Varint = "rocksdb.column.family.id";
    /// Name of the column family.
    column_family_name: Text = "rocksdb.column.family.name";
    /// Identity of the database that made the file; part of the file's unique id.
    db_id: Text = "rocksdb.creating.db.identity";
    /// Identity of the process lifetime that made the file; part of the file's unique id.
    db_session_id: Text = "rocksdb.creating.session.identity";
    /// Host that made the file.
    db_host_id: Text = "rocksdb.creating.host.identity";
    /// Number of the file when it was made; part of the file's unique id.
    original_file_number: Varint = "rocksdb.original.file.number";
    /// Format version as noted by the writer. RocksDB 7.8 writes 0 for all; the footer has the true one.
    format_version: Varint = "rocksdb.format.version";
    /// 0: keys are of variable length.
    fixed_key_len: Varint = "rocksdb.fixed.key.length";
    /// Bytes of all data blocks as stored, with their trailers.
    data_size: Varint = "rocksdb.data.size";
    /// Bytes of the index before compression, and one trailer.
    index_size: Varint = "rocksdb.index.size";
    /// Number of index partitions. Only if partitioned.
    index_partitions: Varint = "rocksdb.index.partitions";
    /// Bytes of the index's top level. Only if partitioned.
    top_level_index_size: Varint = "rocksdb.top-level.index.size";
    /// Bytes of all filter blocks.
    filter_size: Varint = "rocksdb.filter.size";
    /// Bytes of all internal keys, range tombstones among them.
    raw_key_size: Varint = "rocksdb.raw.key.size";
    /// Bytes of all values, range tombstones among them.
    raw_value_size: Varint = "rocksdb.raw.value.size";
    /// Number of data blocks. RocksDB 11.8 writes 0 in files with a dictionary.
    num_data_blocks: Varint = "rocksdb.num.data.blocks";
    /// Number of entries, range tombstones among them.
    num_entries: Varint = "rocksdb.num.entries";
    /// Number of entries added to the filter.
    num_filter_entries: Varint = "rocksdb.num.filter_entries";
    /// Number of deletions, single deletions and range tombstones.
    num_deletions: Varint = "rocksdb.deleted.keys";
    /// Number of merge operands.
    num_merge_operands: Varint = "rocksdb.merge.operands";
    /// Number of range tombstones.
    num_range_deletions: Varint = "rocksdb.num.range-deletions";
    /// Number of blocks that carry the hint for interpolation search.
    num_uniform_blocks: Varint = "rocksdb.num.uniform.blocks";
    /// Number of data blocks stored plain because compression saved too little.
    num_data_blocks_compression_rejected: Varint =
        "rocksdb.num.data.blocks.compression.rejected";
    /// Number of data blocks that were not offered to compression.
    num_data_blocks_compression_bypassed: Varint =
        "rocksdb.num.data.blocks.compression.bypassed";
    /// When the oldest data of the file came into being, in Unix seconds.
    creation_time: Varint = "rocksdb.creation.time";
    /// Time of the oldest key, in Unix seconds.
    oldest_key_time: Varint = "rocksdb.oldest.key.time";
    /// Time of the newest key, in Unix seconds.
    newest_key_time: Varint = "rocksdb.newest.key.time";
    /// When the file was written, in Unix seconds.
    file_creation_time: Varint = "rocksdb.file.creation.time";
    /// Estimated bytes of data under a slow compression.
    slow_compression_estimated_data_size: Varint =
        "rocksdb.sample_for_compression.slow.data.size";
    /// Estimated bytes of data under a fast compression.
    fast_compression_estimated_data_size: Varint =
        "rocksdb.sample_for_compression.fast.data.size";
    /// Offset of the first block that is not a data block.
    tail_start_offset: Varint = "rocksdb.tail.start.offset";
    /// Whether keys hold their user-defined timestamps. Absent counts as true.
    user_defined_timestamps_persisted: Flag = "rocksdb.user.defined.timestamps.persisted";
    /// Greatest sequence number of the file.
    key_largest_seqno: Varint = "rocksdb.key.largest.seqno";
    /// Least sequence number of the file.
    key_smallest_seqno: Varint = "rocksdb.key.smallest.seqno";
    /// Entries between two restart points in data blocks.
    data_block_restart_interval: Varint = "rocksdb.data.block.restart.interval";
    /// Entries between two restart points in index blocks.
    index_block_restart_interval: Varint = "rocksdb.index.block.restart.interval";
    /// Whether data blocks hold keys and values apart.
    separate_key_value_in_data_block: Flag = "rocksdb.separate.key.value.in.data.block";
    /// Pairs of sequence number and time, delta-coded.
    seqno_to_time_mapping: Bytes = "rocksdb.seqno.time.map";
    /// 1 or 2 in files that were made to be ingested; 2 allows a global sequence number.
    external_sst_file_version: Fixed32 = "rocksdb.external_sst_file.version";
    /// The sequence number that all entries of an ingested file have, if it was written into the file.
    external_sst_file_global_seqno: Fixed64 = "rocksdb.external_sst_file.global_seqno";
    /// Least user-defined timestamp.
    timestamp_min: Bytes = "rocksdb.timestamp_min";
    /// Greatest user-defined timestamp.
    timestamp_max: Bytes = "rocksdb.timestamp_max";
    /// Present if blob records stand between the data blocks.
    embedded_blob_stats: Bytes = "rocksdb.embedded.blob.stats";
}

impl TableProperties {
    /// The recorded name behind a name property, if one was recorded and is not [`NO_NAME`].
    pub fn name_of(property: &Option<String>) -> Option<&str> {
        property.as_deref().filter(|name| *name != NO_NAME && !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(entries: &PropertyEntries) -> TableProperties {
        TableProperties::decode(entries.iter().map(|(name, value)| (&name[..], &value[..])))
    }

    #[test]
    fn each_encoding_comes_back() {
        let properties = TableProperties {
            index_type: Some(2),
            whole_key_filtering: Some(false),
            index_key_is_user_key: Some(true),
            comparator_name: Some("leveldb.BytewiseComparator".into()),
            num_entries: Some(u64::MAX),
            external_sst_file_global_seqno: Some(9),
            timestamp_min: Some(vec![0xff, 0]),
            user_collected: [(b"zzz".to_vec(), vec![0xff])].into(),
            ..Default::default()
        };
        let entries = properties.encode();
        assert_eq!(entries[&b"rocksdb.block.based.table.index.type"[..]], [2, 0, 0, 0]);
        assert_eq!(entries[&b"rocksdb.block.based.table.whole.key.filtering"[..]], b"0"[..]);
        assert_eq!(entries[&b"rocksdb.index.key.is.user.key"[..]], [1]);
        assert_eq!(entries[GLOBAL_SEQNO_NAME.as_bytes()], [9, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(entries.len(), 8);
        assert_eq!(decode(&entries), properties);
    }

    #[test]
    fn a_malformed_value_reads_as_absent_and_is_reported() {
        let bad: [(&str, &[u8]); 5] = [
            ("rocksdb.num.entries", &[0x80]),
            ("rocksdb.block.based.table.index.type", &[1, 2, 3]),
            ("rocksdb.external_sst_file.global_seqno", &[0; 9]),
            ("rocksdb.block.based.table.prefix.filtering", b"yes"),
            ("rocksdb.comparator", &[0xff]),
        ];
        let properties =
            TableProperties::decode(bad.iter().map(|(name, value)| (name.as_bytes(), *value)));
        let reported: Vec<_> =
            properties.malformed.iter().map(|bad| (bad.name, &bad.value[..])).collect();
        assert_eq!(reported, bad);
        assert_eq!(properties.encode().len(), 0);
    }

    #[test]
    fn the_word_for_no_name_is_no_name() {
        let properties = TableProperties {
            merge_operator_name: Some(NO_NAME.into()),
            comparator_name: Some("mine".into()),
            ..Default::default()
        };
        assert_eq!(TableProperties::name_of(&properties.merge_operator_name), None);
        assert_eq!(TableProperties::name_of(&properties.comparator_name), Some("mine"));
        assert_eq!(TableProperties::name_of(&properties.filter_policy_name), None);
    }
}
