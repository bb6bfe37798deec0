//! Rows of an object store: keys that are read are found again under the same bytes, and values are written as what is read as
//! the same.

use partita_store::codec::{KeyCodec, ValueCodec};
use partita_store::objects::{
    BlockLocation, BucketInfo, BucketKey, DeletedKey, DeletedKeys, KeyInfo, KeyPath, KeyPathBuf,
    KeyValue, ObjectKey, OpenKeyKey, TransactionInfo, TransactionRow, VolumeInfo, VolumeKey,
};
use prost::Message;

use crate::meter;

/// Reads the bytes as key and value of every table.
pub fn run(bytes: &[u8]) {
    // An empty message of two bytes becomes a row with a dozen fields.
    let limit = 256 * bytes.len() + (1 << 16);
    meter::within(limit, || {
        key::<VolumeKey>(bytes, |volume, again| VolumeKey::encode(volume, again));
        key::<BucketKey>(bytes, |(volume, bucket), again| {
            BucketKey::encode((volume, bucket), again)
        });
        key::<ObjectKey>(bytes, |path, again| ObjectKey::encode(path.as_path(), again));
        key::<OpenKeyKey>(bytes, |(path, id), again| {
            OpenKeyKey::encode((path.as_path(), *id), again)
        });
        key::<DeletedKey>(bytes, |(path, id), again| {
            DeletedKey::encode((path.as_path(), *id), again)
        });
    });
    meter::within(limit, || value::<VolumeInfo>(bytes));
    meter::within(limit, || value::<BucketInfo>(bytes));
    meter::within(limit, || value::<KeyInfo>(bytes));
    meter::within(limit, || value::<DeletedKeys>(bytes));
    if let Ok(info) = TransactionRow::decode(bytes) {
        let mut again = Vec::new();
        TransactionRow::encode(&info, &mut again).expect("all of them can be written");
        assert_eq!(TransactionRow::decode(&again).expect("what is written can be read"), info);
    }
}

fn key<K: KeyCodec>(bytes: &[u8], encode: impl Fn(&K::Key, &mut Vec<u8>)) {
    if let Ok(key) = K::decode(bytes) {
        let mut again = Vec::new();
        encode(&key, &mut again);
        assert_eq!(again, bytes);
    }
}

fn value<M: Message + Default + PartialEq>(bytes: &[u8]) {
    if let Ok(row) = M::decode(bytes) {
        let again = row.encode_to_vec();
        assert_eq!(again.len(), row.encoded_len());
        assert!(M::decode(&*again).expect("what is written can be read") == row);
    }
}

/// Keys and values of every table.
pub fn seeds() -> Vec<Vec<u8>> {
    let path =
        KeyPathBuf { volume: "v".to_owned(), bucket: "b".to_owned(), key: "dir/key".to_owned() };
    let KeyPath { volume, bucket, key } = path.as_path();
    let (volume_name, bucket_name, key_name) =
        (volume.to_owned(), bucket.to_owned(), key.to_owned());
    let mut keys = vec![Vec::new(); 4];
    VolumeKey::encode(volume, &mut keys[0]);
    BucketKey::encode((volume, bucket), &mut keys[1]);
    ObjectKey::encode(path.as_path(), &mut keys[2]);
    OpenKeyKey::encode((path.as_path(), 1234), &mut keys[3]);
    let block = BlockLocation { container_id: 7, local_id: 1234, length: 1 << 28 };
    let note = KeyValue { key: "color".to_owned(), value: "red".to_owned() };
    let info = KeyInfo {
        volume: volume_name.clone(),
        bucket: bucket_name.clone(),
        key: key_name,
        data_size: 300,
        blocks: vec![block.clone(), block],
        object_id: 1234,
        metadata: vec![note],
        ..KeyInfo::default()
    };
    let bucket = BucketInfo {
        volume: volume_name.clone(),
        bucket: bucket_name,
        used_bytes: 300,
        key_count: 1,
        ..BucketInfo::default()
    };
    let volume =
        VolumeInfo { volume: volume_name, owner: "anne".to_owned(), ..VolumeInfo::default() };
    let deleted = DeletedKeys { keys: vec![info.clone(), info.clone()] };
    let mut transaction = Vec::new();
    TransactionRow::encode(&TransactionInfo { term: 3, index: 1200 }, &mut transaction)
        .expect("all of them can be written");
    let values = [
        info.encode_to_vec(),
        bucket.encode_to_vec(),
        volume.encode_to_vec(),
        deleted.encode_to_vec(),
        transaction,
    ];
    keys.into_iter().chain(values).collect()
}
