//! Rows: what is known of volumes, buckets and keys, as protobuf messages.

use prost::Message;

/// A volume.
#[derive(Clone, PartialEq, Message)]
pub struct VolumeInfo {
    /// Its name.
    #[prost(string, tag = "1")]
    pub volume: String,
    /// Whose it is.
    #[prost(string, tag = "2")]
    pub owner: String,
    /// When it was made.
    #[prost(uint64, tag = "3")]
    pub creation_unix_millis: u64,
    /// Its number.
    #[prost(uint64, tag = "4")]
    pub object_id: u64,
    /// The last transaction that changed it.
    #[prost(uint64, tag = "5")]
    pub update_id: u64,
}

/// A bucket, with what it holds.
#[derive(Clone, PartialEq, Message)]
pub struct BucketInfo {
    /// The volume that it is in.
    #[prost(string, tag = "1")]
    pub volume: String,
    /// Its name.
    #[prost(string, tag = "2")]
    pub bucket: String,
    /// When it was made.
    #[prost(uint64, tag = "3")]
    pub creation_unix_millis: u64,
    /// Its number.
    #[prost(uint64, tag = "4")]
    pub object_id: u64,
    /// The last transaction that changed it.
    #[prost(uint64, tag = "5")]
    pub update_id: u64,
    /// Bytes of its keys' data, copies left out.
    #[prost(uint64, tag = "6")]
    pub used_bytes: u64,
    /// Its keys.
    #[prost(uint64, tag = "7")]
    pub key_count: u64,
}

/// A key, open, committed or deleted.
#[derive(Clone, PartialEq, Message)]
pub struct KeyInfo {
    /// The volume that it is in.
    #[prost(string, tag = "1")]
    pub volume: String,
    /// The bucket that it is in.
    #[prost(string, tag = "2")]
    pub bucket: String,
    /// Its name.
    #[prost(string, tag = "3")]
    pub key: String,
    /// Bytes of its data.
    #[prost(uint64, tag = "4")]
    pub data_size: u64,
    /// Where they are.
    #[prost(message, repeated, tag = "5")]
    pub blocks: Vec<BlockLocation>,
    /// When it was opened.
    #[prost(uint64, tag = "6")]
    pub creation_unix_millis: u64,
    /// When it was changed last.
    #[prost(uint64, tag = "7")]
    pub modification_unix_millis: u64,
    /// Its number.
    #[prost(uint64, tag = "8")]
    pub object_id: u64,
    /// The last transaction that changed it.
    #[prost(uint64, tag = "9")]
    pub update_id: u64,
    /// Whose it is.
    #[prost(string, tag = "10")]
    pub owner: String,
    /// What its owner noted.
    #[prost(message, repeated, tag = "11")]
    pub metadata: Vec<KeyValue>,
}

/// Where a block of a key's data is.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct BlockLocation {
    /// The container.
    #[prost(uint64, tag = "1")]
    pub container_id: u64,
    /// The block in it.
    #[prost(uint64, tag = "2")]
    pub local_id: u64,
    /// Bytes of the block.
    #[prost(uint64, tag = "3")]
    pub length: u64,
}

/// Something noted.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct KeyValue {
    /// What.
    #[prost(string, tag = "1")]
    pub key: String,
    /// Its value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// Keys whose blocks are to be removed.
#[derive(Clone, PartialEq, Message)]
pub struct DeletedKeys {
    /// The keys.
    #[prost(message, repeated, tag = "1")]
    pub keys: Vec<KeyInfo>,
}
