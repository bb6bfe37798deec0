//! Properties and metaindex: blocks of plain keys, of any bytes and of any entries.
//!
//! * Properties that were read are written as entries that read as the same.
//! * A metaindex lists what its block holds.
//! * Memory stays in proportion to the block: names cannot be blown up by what they share.

use std::collections::BTreeMap;

use partita::table::block::DataBlock;
use partita::table::{BlockHandle, Metaindex, TableProperties};

use crate::choices::Choices;
use crate::meter;
use crate::models::block::{BlockLayout, Entry, write_data_block};
use crate::models::walk::forward;

/// Reads the block as properties and as a metaindex.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let contents = if choices.flag() { written(choices) } else { choices.rest().to_vec() };
    let limit = 64 * contents.len() + (64 << 10);
    let metaindex = meter::within(limit, || Metaindex::parse(contents.clone()));
    let Ok(block) = DataBlock::parse_meta(contents) else {
        assert!(metaindex.is_err());
        return;
    };
    let (entries, whole) = forward(&block, 1 << 20);
    if !whole {
        return;
    }
    properties(&entries);
    if let Ok(metaindex) = metaindex {
        assert_eq!(metaindex.iter().count(), entries.len());
        for (name, _) in metaindex.iter() {
            assert!(metaindex.get(name).is_some());
        }
    }
}

fn properties(entries: &[Entry]) {
    let bytes: usize = entries.iter().map(|(name, value)| name.len() + value.len()).sum();
    let limit = 4 * bytes + 400 * entries.len() + 4096;
    let properties = meter::within(limit, || {
        TableProperties::decode(entries.iter().map(|(name, value)| (&name[..], &value[..])))
    });
    let encoded = properties.encode();
    let again =
        TableProperties::decode(encoded.iter().map(|(name, value)| (&name[..], &value[..])));
    assert!(again.malformed.is_empty());
    assert_eq!(TableProperties { malformed: properties.malformed.clone(), ..again }, properties);
    // Nothing gets lost, unless it was malformed or stood there twice.
    let unique: BTreeMap<_, _> = entries.iter().cloned().collect();
    if unique.len() == entries.len() {
        assert_eq!(encoded.len() + properties.malformed.len(), unique.len());
    }
}

/// A block of known and other names, with values of the fuzzer's choice.
fn written(mut choices: Choices<'_>) -> Vec<u8> {
    let layout = BlockLayout {
        restart_interval: 1 + usize::from(choices.byte()),
        shares_prefixes: true,
        separated_values: false,
        hash_buckets: None,
        uniform: false,
    };
    let mut entries: Vec<Entry> = Vec::new();
    while !choices.is_empty() {
        let name = match NAMES.get(usize::from(choices.byte())) {
            Some(name) => name.as_bytes().to_vec(),
            None => choices.short_bytes().to_vec(),
        };
        entries.push((name, choices.short_bytes().to_vec()));
    }
    entries.sort();
    write_data_block(&entries, layout)
}

/// Names of every encoding, and of the metaindex.
const NAMES: [&str; 16] = [
    "rocksdb.block.based.table.index.type",
    "rocksdb.block.based.table.whole.key.filtering",
    "rocksdb.comparator",
    "rocksdb.compression",
    "rocksdb.external_sst_file.global_seqno",
    "rocksdb.external_sst_file.version",
    "rocksdb.index.key.is.user.key",
    "rocksdb.num.entries",
    "rocksdb.raw.key.size",
    "rocksdb.seqno.time.map",
    "rocksdb.user.defined.timestamps.persisted",
    "rocksdb.properties",
    "rocksdb.index",
    "rocksdb.range_del",
    "fullfilter.rocksdb.BuiltinBloomFilter",
    "partitionedfilter.rocksdb.BuiltinBloomFilter",
];

/// Properties and a metaindex as writers make them.
pub fn seeds() -> Vec<Vec<u8>> {
    let properties = TableProperties {
        index_type: Some(2),
        whole_key_filtering: Some(true),
        comparator_name: Some("leveldb.BytewiseComparator".to_owned()),
        num_entries: Some(300),
        external_sst_file_version: Some(2),
        external_sst_file_global_seqno: Some(7),
        user_collected: BTreeMap::from([(b"mine".to_vec(), b"x".to_vec())]),
        ..TableProperties::default()
    };
    let mut metaindex = Vec::new();
    for (i, name) in NAMES[11..].iter().enumerate() {
        let mut value = Vec::new();
        BlockHandle { offset: 5000 * i as u64, size: 4995 }.encode_to(&mut value);
        metaindex.push((name.as_bytes().to_vec(), value));
    }
    metaindex.sort();
    let mut seeds = Vec::new();
    for entries in [properties.encode().into_iter().collect(), metaindex] {
        for restart_interval in [1, 1000] {
            let layout = BlockLayout {
                restart_interval,
                shares_prefixes: true,
                separated_values: false,
                hash_buckets: None,
                uniform: false,
            };
            seeds.push([&[0][..], &write_data_block(&entries, layout)].concat());
        }
    }
    let named: Vec<u8> = (0..18).flat_map(|name| [name, 2, 1, 0]).collect();
    seeds.push([&[1, 0][..], &named].concat());
    seeds.push([&[1, 255][..], &named].concat());
    seeds
}
