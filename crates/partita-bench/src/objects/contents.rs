//! What is in a store, as sums of its rows: equal for engines that did the same load.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};

use partita_store::codec::{Protobuf, ValueCodec};
use partita_store::objects::{BucketInfo, DeletedKeys, KeyInfo, VolumeInfo};
use serde::{Deserialize, Serialize};

/// The sums of each table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// By name; tables without rows are left out.
    pub tables: BTreeMap<String, Sum>,
}

/// The sum of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Its rows.
    pub rows: u64,
    /// A hash of keys and rows in their order, without the times in them.
    pub hash: u64,
}

impl Contents {
    /// Adds the next row of a table.
    ///
    /// * Errors: a row that is none of this table.
    pub fn add(&mut self, table: &str, key: &[u8], row: &[u8]) -> Result<(), String> {
        let row = timeless(table, row).map_err(|error| format!("{table}: {error}"))?;
        let sum = match self.tables.get_mut(table) {
            Some(sum) => sum,
            None => self.tables.entry(table.to_owned()).or_default(),
        };
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(sum.hash);
        hasher.write_usize(key.len());
        hasher.write(key);
        hasher.write(&row);
        *sum = Sum { rows: sum.rows + 1, hash: hasher.finish() };
        Ok(())
    }
}

/// A row without what differs between two runs of one load: times, and how often the store was opened.
fn timeless(table: &str, row: &[u8]) -> Result<Vec<u8>, String> {
    match table {
        "volumeTable" => changed::<VolumeInfo>(row, |volume| volume.creation_unix_millis = 0),
        "bucketTable" => changed::<BucketInfo>(row, |bucket| bucket.creation_unix_millis = 0),
        "keyTable" | "openKeyTable" => changed(row, without_times),
        "deletedTable" => {
            changed::<DeletedKeys>(row, |deleted| deleted.keys.iter_mut().for_each(without_times))
        }
        "transactionInfoTable" => {
            let index = row.split(|byte| *byte == b'#').nth(1);
            Ok(index.ok_or("no transaction")?.to_vec())
        }
        _ => Ok(row.to_vec()),
    }
}

fn without_times(key: &mut KeyInfo) {
    (key.creation_unix_millis, key.modification_unix_millis) = (0, 0);
}

fn changed<M>(row: &[u8], change: impl FnOnce(&mut M)) -> Result<Vec<u8>, String>
where
    Protobuf<M>: ValueCodec<Borrowed = M, Value = M>,
{
    let mut message = Protobuf::<M>::decode(row).map_err(|error| error.to_string())?;
    change(&mut message);
    let mut bytes = Vec::new();
    Protobuf::<M>::encode(&message, &mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(millis: u64, data_size: u64) -> Vec<u8> {
        let key = KeyInfo {
            data_size,
            creation_unix_millis: millis,
            modification_unix_millis: millis + 1,
            ..KeyInfo::default()
        };
        let mut bytes = Vec::new();
        Protobuf::<KeyInfo>::encode(&key, &mut bytes).unwrap();
        bytes
    }

    fn contents(rows: &[(&str, &[u8], &[u8])]) -> Contents {
        let mut contents = Contents::default();
        rows.iter().for_each(|(table, key, row)| contents.add(table, key, row).unwrap());
        contents
    }

    #[test]
    fn times_do_not_count_and_all_else_does() {
        let of = |millis, size| contents(&[("keyTable", b"/v/b/k", &key(millis, size))]);
        assert_eq!(of(1000, 7), of(2000, 7));
        assert_ne!(of(1000, 7), of(1000, 8));
        let info = |row: &[u8]| contents(&[("transactionInfoTable", b"#", row)]);
        assert_eq!(info(b"1#77"), info(b"3#77"));
        assert_ne!(info(b"1#77"), info(b"1#78"));
        let two = contents(&[("x", b"a", b"1"), ("x", b"b", b"2")]);
        assert_ne!(two, contents(&[("x", b"b", b"2"), ("x", b"a", b"1")]));
        assert_ne!(two, contents(&[("x", b"a", b"1"), ("y", b"b", b"2")]));
        assert_eq!(two.tables["x"].rows, 2);
    }

    #[test]
    fn rows_of_another_kind_are_refused() {
        let mut contents = Contents::default();
        let error = contents.add("keyTable", b"/v/b/k", b"\xff").unwrap_err();
        assert!(error.starts_with("keyTable: "), "{error}");
        assert!(contents.add("transactionInfoTable", b"#", b"77").is_err());
    }
}
