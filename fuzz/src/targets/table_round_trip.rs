//! Builder and reader: any entries under any options the builder accepts.
//!
//! * What was added is read, in both directions, by seeks and by gets, and nothing else; a sorted list is the model.
//! * No filter hides a key; range tombstones cover what they were written for.
//! * The file verifies clean, and its properties count what is in it.

use std::sync::Arc;

use partita::filter::FilterPolicy;
use partita::io::{MemoryWriter, RandomAccessFile};
use partita::iter::InternalIterator;
use partita::key::{InternalKey, KeyOrder, PrefixExtractor, SeqNo, ValueType};
use partita::options::{
    CompressionOptions, DataBlockIndex, FilterLayout, IndexShortening, IndexType, TableOptions,
};
use partita::table::{
    LookupKey, RangeTombstone, ReadContext, ReaderOptions, TableBuilder, TableContext, TableReader,
    verify_table,
};
use partita::util::checksum::ChecksumType;
use partita::util::compression::CompressionType;

use crate::choices::Choices;
use crate::models::block::Entry;

/// Builds a table as the bytes say and reads it.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let order = if choices.flag() { KeyOrder::ReverseBytewise } else { KeyOrder::Bytewise };
    let options = options(&mut choices);
    if options.validate().is_err() {
        return;
    }
    let tombstones = tombstones(&mut choices, &order);
    let entries = entries(choices, &order);
    let file = build(&options, &order, &entries, &tombstones);
    let describe = || format!("{options:?}, {} entries", entries.len());

    let report = verify_table(&file, &ReaderOptions::default(), &mut |_| ());
    assert!(report.is_clean() && report.complete, "{:?}: {}", report.damages, describe());
    assert_eq!(report.entries, entries.len() as u64);
    let mut ctx = ReadContext::default();
    let table = TableReader::open(file, &ReaderOptions::default(), &mut ctx)
        .unwrap_or_else(|error| panic!("{error}: {}", describe()));
    let table = Arc::new(table);
    walk(&table, &entries);
    ask(&table, &order, &entries);
    cover(&table, &order, &entries, &tombstones);
}

fn options(choices: &mut Choices<'_>) -> TableOptions {
    let format_version = u32::from(choices.byte() % 8);
    let checksum = choices.pick(&ChecksumType::ALL);
    let kind = choices.pick(&CompressionType::ALL);
    let dictionary = kind.uses_dictionary() && choices.byte().is_multiple_of(4);
    let filter = choices.byte();
    let bits_per_key = f64::from(choices.byte() % 30) + 1.0;
    let shape = choices.byte();
    TableOptions {
        format_version,
        allow_obsolete_formats: true,
        checksum: if format_version == 0 { ChecksumType::Crc32c } else { checksum },
        block_size: 1 << (choices.byte() % 13),
        block_size_deviation: u32::from(choices.byte() % 101),
        block_restart_interval: 1 + usize::from(choices.byte() % 20),
        use_delta_encoding: shape & 1 == 0,
        data_block_index: if shape & 2 == 0 {
            DataBlockIndex::BinarySearch
        } else {
            DataBlockIndex::BinaryAndHash { util_ratio: f64::from(choices.byte()) / 128.0 + 0.01 }
        },
        separate_key_value_in_data_block: shape & 4 != 0 && format_version >= 7,
        block_align: shape & 8 != 0 && kind == CompressionType::None,
        super_block_alignment_size: if shape & 24 == 16 { 1 << (choices.byte() % 14) } else { 0 },
        super_block_alignment_space_overhead_ratio: choices.pick(&[128, 4, 0]),
        index_type: choices.pick(&IndexType::ALL),
        index_block_restart_interval: 1 + usize::from(choices.byte() % 9),
        index_shortening: choices.pick(&[
            IndexShortening::Separators,
            IndexShortening::None,
            IndexShortening::SeparatorsAndSuccessor,
        ]),
        metadata_block_size: 1 << (choices.byte() % 13),
        enable_index_compression: shape & 32 == 0,
        filter_policy: match filter % 3 {
            0 => None,
            1 => Some(FilterPolicy::Bloom { bits_per_key }),
            _ => Some(FilterPolicy::Ribbon { bits_per_key, bloom_before_level: -1 }),
        },
        filter_layout: choices.pick(&[
            FilterLayout::Partitioned,
            FilterLayout::PartitionedWithIndex,
            FilterLayout::Full,
        ]),
        whole_key_filtering: shape & 64 == 0,
        prefix_extractor: match choices.byte() % 4 {
            0 => None,
            1 => Some(PrefixExtractor::Fixed(usize::from(choices.byte() % 5))),
            2 => Some(PrefixExtractor::Capped(usize::from(choices.byte() % 5))),
            _ => Some(PrefixExtractor::Whole),
        },
        compression: CompressionOptions {
            max_dict_bytes: if dictionary { 64 + usize::from(choices.word()) } else { 0 },
            max_dict_buffer_bytes: 1 + usize::from(choices.word()),
            zstd_max_train_bytes: if dictionary && kind == CompressionType::Zstd && choices.flag() {
                4096
            } else {
                0
            },
            ..CompressionOptions::new(kind)
        },
        ..TableOptions::default()
    }
}

fn tombstones(choices: &mut Choices<'_>, order: &KeyOrder) -> Vec<RangeTombstone> {
    let mut tombstones = Vec::new();
    for _ in 0..choices.byte() % 8 {
        let mut ends = [choices.byte(), choices.byte()]
            .map(|byte| vec![b'a' + byte % 16; usize::from(byte / 64)]);
        ends.sort_by(|a, b| order.compare(a, b));
        let [start, end] = ends;
        if start != end {
            let seqno = SeqNo::new(u64::from(choices.byte() % 8)).unwrap_or_default();
            tombstones.push(RangeTombstone { start, end, seqno });
        }
    }
    tombstones
}

/// Unique internal keys in order, few user keys with several versions among them, with values that repeat.
fn entries(mut choices: Choices<'_>, order: &KeyOrder) -> Vec<Entry> {
    let types = [
        ValueType::Value,
        ValueType::Deletion,
        ValueType::Merge,
        ValueType::SingleDeletion,
        ValueType::Value,
    ];
    let mut entries: Vec<Entry> = Vec::new();
    while !choices.is_empty() && entries.len() < 400 {
        let how = choices.byte();
        let len = usize::from(how % 12);
        let user_key: Vec<u8> = match how / 64 {
            0 => choices.bytes(len).to_vec(),
            1 => choices.bytes(len).iter().map(|byte| b'a' + byte % 4).collect(),
            2 => vec![choices.byte(); len],
            _ => vec![0xff; len],
        };
        let seqno = SeqNo::new(u64::from(choices.byte() % 8)).unwrap_or_default();
        let key = InternalKey::new(&user_key, seqno, choices.pick(&types)).encode();
        let value = vec![choices.byte(); usize::from(choices.byte()) * usize::from(how % 5)];
        entries.push((key, value));
    }
    entries.sort_by(|a, b| order.compare_internal(&a.0, &b.0));
    entries.dedup_by(|a, b| a.0 == b.0);
    entries
}

fn build(
    options: &TableOptions,
    order: &KeyOrder,
    entries: &[Entry],
    tombstones: &[RangeTombstone],
) -> Arc<dyn RandomAccessFile> {
    let writer = MemoryWriter::new("fuzz.sst");
    let (file, context) = (Box::new(writer.clone()), TableContext::default());
    let mut builder = TableBuilder::new(file, options.clone(), order.clone(), context)
        .expect("valid options are accepted");
    for tombstone in tombstones {
        builder
            .add_range_tombstone(&tombstone.start, &tombstone.end, tombstone.seqno)
            .expect("a range tombstone is accepted");
    }
    for (key, value) in entries {
        builder.add(key, value).expect("entries in order are accepted");
    }
    let summary = builder.finish().expect("a table in memory is written");
    let count = entries.len() + tombstones.len();
    assert_eq!(summary.properties.num_entries, Some(count as u64));
    let file = writer.into_file();
    assert_eq!(summary.file_size, file.len());
    Arc::new(file)
}

fn walk(table: &Arc<TableReader>, entries: &[Entry]) {
    let mut iter = table.iter();
    iter.seek_to_first().expect("first entry");
    for (key, value) in entries {
        assert!(iter.is_valid() && iter.key() == key && iter.value() == value);
        iter.next().expect("next entry");
    }
    assert!(!iter.is_valid());
    iter.seek_to_last().expect("last entry");
    for (key, value) in entries.iter().rev() {
        assert!(iter.is_valid() && iter.key() == key && iter.value() == value);
        iter.prev().expect("entry before");
    }
    assert!(!iter.is_valid());
}

/// Seeks and gets of every key, at every sequence number that there is, and of keys between.
fn ask(table: &Arc<TableReader>, order: &KeyOrder, entries: &[Entry]) {
    let mut ctx = ReadContext::default();
    let mut iter = table.iter();
    let mut keys: Vec<Vec<u8>> =
        entries.iter().step_by(entries.len() / 40 + 1).map(user_key).collect();
    let between =
        keys.iter().flat_map(|key| [[key, &b"\0"[..]].concat(), key[..key.len() / 2].to_vec()]);
    let between: Vec<Vec<u8>> = between.collect();
    keys.extend(between);
    for key in &keys {
        for seqno in [0, 3, u64::MAX] {
            let seqno = SeqNo::new(seqno).unwrap_or(SeqNo::MAX);
            let target = InternalKey::for_seek(key, seqno).encode();
            let behind =
                entries.partition_point(|entry| order.compare_internal(&entry.0, &target).is_lt());
            let expected = entries.get(behind);

            let found = table.get(&LookupKey::new(key, seqno), &mut ctx).expect("a sound table");
            let same = expected.filter(|entry| user_key(entry) == *key);
            match (&found, same) {
                (None, None) => {}
                (Some(found), Some((key, value))) => {
                    let key = InternalKey::decode(key).expect("an entry's key");
                    assert_eq!((found.seqno, found.value_type), (key.seqno, key.value_type));
                    assert!(*found.value == **value);
                }
                _ => panic!("get {key:?} at {seqno}: found {found:?}, expected {same:?}"),
            }

            iter.seek(&target).expect("a sound table");
            assert_eq!(iter.is_valid().then(|| iter.key()), expected.map(|entry| &entry.0[..]));
            iter.seek_for_prev(&target).expect("a sound table");
            let before = behind.checked_sub(1).map(|at| &entries[at].0[..]);
            let exact = expected.filter(|entry| entry.0 == target).map(|entry| &entry.0[..]);
            assert_eq!(iter.is_valid().then(|| iter.key()), exact.or(before));
        }
        let prefix_known = entries.iter().any(|entry| user_key(entry) == *key);
        assert!(!prefix_known || table.prefix_may_match(key, &mut ctx).expect("a sound table"));
    }
}

fn user_key((key, _): &Entry) -> Vec<u8> {
    InternalKey::decode(key).expect("an entry's key").user_key.to_vec()
}

fn cover(
    table: &Arc<TableReader>,
    order: &KeyOrder,
    entries: &[Entry],
    tombstones: &[RangeTombstone],
) {
    let read = table.range_tombstones(&mut ReadContext::default()).expect("a sound table");
    let keys = entries.iter().map(user_key).take(30);
    for key in keys.chain(tombstones.iter().flat_map(|t| [t.start.clone(), t.end.clone()])) {
        let covers = |t: &&RangeTombstone| {
            order.compare(&t.start, &key).is_le() && order.compare(&key, &t.end).is_lt()
        };
        let expected = tombstones.iter().filter(covers).map(|t| t.seqno).max();
        assert_eq!(read.covering_seqno(&key, SeqNo::MAX), expected, "{key:?}");
    }
}

/// Each format version with each compression, and different shapes of everything else.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for version in 0..8u8 {
        for kind in 0..7u8 {
            let turn = version * 7 + kind;
            let mut seed = vec![turn % 5 / 4, version, turn % 5, kind];
            seed.extend((0..24u8).map(|i| turn.wrapping_mul(31).wrapping_add(i.wrapping_mul(17))));
            seed.extend([2, 3, 200, 4, 70, 140, 1]);
            for i in 0..60u8 {
                seed.extend([64 + i % 8, i, i / 4, i / 2, 0, i % 3, 3, i % 5, i, 40]);
            }
            seeds.push(seed);
        }
    }
    seeds
}
