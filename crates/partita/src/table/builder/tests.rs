use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::*;
use crate::error::{Error, ErrorKind, Result};
use crate::filter::FilterPolicy;
use crate::io::{MemoryWriter, WritableFile};
use crate::key::{InternalKey, KeyOrder, PrefixExtractor, SeqNo, ValueType};
use crate::options::{FilterLayout, TableOptions};
use crate::table::{FOOTER_LEN_MAX, Footer};
use crate::util::compression::CompressionType;

fn key(user_key: &[u8], seqno: u64) -> Vec<u8> {
    InternalKey::new(user_key, SeqNo::new(seqno).unwrap(), ValueType::Value).encode()
}

fn builder_with(options: TableOptions) -> (TableBuilder, MemoryWriter) {
    let file = MemoryWriter::new("000007.sst");
    let order = KeyOrder::Bytewise;
    let builder =
        TableBuilder::new(Box::new(file.clone()), options, order, TableContext::default());
    (builder.unwrap(), file)
}

fn builder() -> (TableBuilder, MemoryWriter) {
    builder_with(TableOptions::default())
}

#[test]
fn keys_out_of_order_are_refused_and_named() {
    let (mut builder, _) = builder();
    builder.add(&key(b"b", 5), b"").unwrap();
    builder.add(&key(b"b", 4), b"").unwrap();
    for (user_key, seqno) in [(b"b", 4), (b"b", 5), (b"a", 1)] {
        let error = builder.add(&key(user_key, seqno), b"").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let text = error.to_string();
        let expected = format!("\"{}\"@{seqno} put after \"b\"@4 put", user_key.escape_ascii());
        assert!(text.contains(&expected) && text.contains("000007.sst"), "{text}");
    }
    // A refused entry changes nothing.
    builder.add(&key(b"c", 1), b"").unwrap();
    assert_eq!(builder.finish().unwrap().properties.num_entries, Some(3));
}

#[test]
fn what_is_no_point_entry_is_refused() {
    let (mut builder, _) = builder();
    let range = InternalKey::new(b"a", SeqNo::ZERO, ValueType::RangeDeletion).encode();
    assert!(builder.add(&range, b"b").unwrap_err().message().contains("add_range_tombstone"));
    assert_eq!(builder.add(b"short", b"").unwrap_err().kind(), ErrorKind::InvalidArgument);
    let mut unknown = key(b"a", 1);
    unknown[1] = 0x55;
    assert!(builder.add(&unknown, b"").unwrap_err().message().contains("0x55"));
    for end in [b"a", b"b"] {
        assert!(builder.add_range_tombstone(b"b", end, SeqNo::ZERO).is_err());
    }
    assert_eq!(builder.num_entries(), 0);
}

#[test]
fn boundaries_and_counts_include_range_tombstones() {
    let (mut builder, _) = builder();
    let seqno = |number| SeqNo::new(number).unwrap();
    builder.add_range_tombstone(b"x", b"z", seqno(7)).unwrap();
    builder.add(&key(b"k", 5), b"value").unwrap();
    builder.add(&InternalKey::new(b"m", seqno(4), ValueType::Deletion).encode(), b"").unwrap();
    builder.add(&InternalKey::new(b"n", seqno(9), ValueType::Merge).encode(), b"+1").unwrap();
    builder.add_range_tombstone(b"a", b"c", seqno(3)).unwrap();
    let summary = builder.finish().unwrap();
    let smallest = InternalKey::new(b"a", seqno(3), ValueType::RangeDeletion).encode();
    let largest = InternalKey::new(b"z", SeqNo::MAX, ValueType::RangeDeletion).encode();
    assert_eq!(summary.smallest, Some(smallest));
    assert_eq!(summary.largest, Some(largest));
    assert_eq!((summary.smallest_seqno, summary.largest_seqno), (seqno(3), seqno(9)));
    let properties = &summary.properties;
    assert_eq!(properties.num_entries, Some(5));
    assert_eq!(properties.num_deletions, Some(3));
    assert_eq!(properties.num_range_deletions, Some(2));
    assert_eq!(properties.num_merge_operands, Some(1));
    assert_eq!(properties.raw_key_size, Some(5 * 9));
    assert_eq!(properties.raw_value_size, Some(5 + 2 + 2));
    assert_eq!(properties.num_data_blocks, Some(1));
}

#[test]
fn points_alone_set_the_boundaries_and_nothing_sets_none() {
    let (mut builder, _) = builder();
    builder.add(&key(b"", 5), b"").unwrap();
    builder.add(&key(b"q", 2), b"").unwrap();
    let summary = builder.finish().unwrap();
    assert_eq!(summary.smallest, Some(key(b"", 5)));
    assert_eq!(summary.largest, Some(key(b"q", 2)));

    let (empty, file) = builder_with(TableOptions::default());
    let summary = empty.finish().unwrap();
    assert_eq!((summary.smallest, summary.largest), (None, None));
    assert_eq!(summary.properties.num_entries, Some(0));
    let bytes = file.into_bytes();
    let tail = &bytes[bytes.len() - FOOTER_LEN_MAX..];
    assert!(Footer::decode(tail, bytes.len() as u64).is_ok());
}

#[test]
fn the_size_estimate_grows_with_the_table_and_ends_near_it() {
    let options = TableOptions::with_compression(CompressionType::None);
    let (mut builder, _) = builder_with(options);
    let mut before = 0;
    for i in 0..5000u32 {
        builder.add(&key(&i.to_be_bytes(), 1), &[7; 40]).unwrap();
        if i % 500 == 0 {
            let estimate = builder.file_size_estimate();
            assert!(estimate > before);
            before = estimate;
        }
    }
    let estimate = builder.file_size_estimate();
    let size = builder.finish().unwrap().file_size;
    assert!(estimate.abs_diff(size) < size / 20, "estimated {estimate}, is {size}");
}

#[test]
fn a_compressed_table_says_so_truthfully() {
    let noise: Vec<u8> = (0..50u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let name = |version: u32, kind, value: &[u8]| {
        let options =
            TableOptions { format_version: version, ..TableOptions::with_compression(kind) };
        let (mut builder, _) = builder_with(options);
        for i in 0..300u32 {
            builder.add(&key(&(i / 100).to_be_bytes(), u64::from(300 - i)), value).unwrap();
        }
        builder.finish().unwrap().properties
    };
    assert_eq!(name(5, CompressionType::Zstd, &[0; 50]).compression_name.unwrap(), "ZSTD");
    assert_eq!(name(5, CompressionType::None, &[0; 50]).compression_name.unwrap(), "NoCompression");
    assert_eq!(name(7, CompressionType::Zstd, &[0; 50]).compression_name.unwrap(), "BuiltinV2;07;");
    assert_eq!(name(7, CompressionType::None, &[0; 50]).compression_name.unwrap(), ";;");
    let (mut one, _) = builder_with(TableOptions { format_version: 7, ..TableOptions::default() });
    one.add(&key(b"k", 1), &noise).unwrap();
    let properties = one.finish().unwrap().properties;
    assert_eq!(properties.compression_name.unwrap(), "BuiltinV2;;");
    assert_eq!(properties.num_data_blocks_compression_rejected, Some(1));
}

#[test]
fn collectors_see_every_entry_and_add_properties() {
    #[derive(Debug, Default)]
    struct Letters(Vec<u8>);

    impl PropertiesCollector for Letters {
        fn name(&self) -> &str {
            "letters"
        }

        fn add(&mut self, key: InternalKey<'_>, _value: &[u8]) {
            self.0.extend_from_slice(key.user_key);
        }

        fn finish(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
            vec![(b"letters".to_vec(), std::mem::take(&mut self.0))]
        }
    }

    let context =
        TableContext { collectors: vec![Box::new(Letters::default())], ..TableContext::default() };
    let file = Box::new(MemoryWriter::new("x"));
    let options = TableOptions::default();
    let mut builder = TableBuilder::new(file, options, KeyOrder::Bytewise, context).unwrap();
    builder.add(&key(b"a", 1), b"").unwrap();
    builder.add_range_tombstone(b"r", b"s", SeqNo::ZERO).unwrap();
    builder.add(&key(b"b", 1), b"").unwrap();
    let properties = builder.finish().unwrap().properties;
    assert_eq!(properties.user_collected[&b"letters"[..]], b"arb");
    assert_eq!(properties.property_collector_names.as_deref(), Some("[letters]"));
}

#[test]
fn options_that_need_equal_bytes_are_refused_under_orders_that_lack_them() {
    #[derive(Debug)]
    struct IgnoresCase;

    impl crate::key::Comparator for IgnoresCase {
        fn name(&self) -> &str {
            "ignores-case"
        }

        fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
            a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
        }

        fn equal_keys_have_equal_bytes(&self) -> bool {
            false
        }
    }

    let order = KeyOrder::Custom(Arc::new(IgnoresCase));
    let start = |options| {
        let file = Box::new(MemoryWriter::new("x"));
        TableBuilder::new(file, options, order.clone(), TableContext::default())
    };
    let error = start(TableOptions::default()).unwrap_err();
    assert!(error.message().contains("ignores-case"), "{error}");
    assert!(start(TableOptions { filter_policy: None, ..TableOptions::default() }).is_ok());
}

/// A file whose call number `fails_at` fails; earlier ones succeed.
#[derive(Debug)]
struct FailingFile {
    calls: Arc<Mutex<usize>>,
    fails_at: usize,
    kind: std::io::ErrorKind,
    offset: u64,
    path: PathBuf,
}

impl FailingFile {
    fn call(&self) -> Result<()> {
        let mut calls = self.calls.lock().unwrap();
        *calls += 1;
        if *calls == self.fails_at {
            return Err(Error::io("write", std::io::Error::from(self.kind)));
        }
        Ok(())
    }
}

impl WritableFile for FailingFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.offset += bytes.len() as u64;
        self.call()
    }

    fn flush(&mut self) -> Result<()> {
        self.call()
    }

    fn sync(&mut self) -> Result<()> {
        self.call()
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// Writes a table with every kind of block; going on after errors. Returns the first error of adding and the outcome.
fn write_with_failure(
    fails_at: usize,
    kind: std::io::ErrorKind,
) -> (Option<Error>, Result<()>, usize) {
    let calls = Arc::new(Mutex::new(0));
    let file = FailingFile {
        calls: Arc::clone(&calls),
        fails_at,
        kind,
        offset: 0,
        path: PathBuf::from("f.sst"),
    };
    let mut options = TableOptions {
        block_size: 200,
        metadata_block_size: 64,
        format_version: 7,
        ..TableOptions::with_compression(CompressionType::Zstd)
    };
    options.compression.max_dict_bytes = 300;
    options.compression.max_dict_buffer_bytes = 2000;
    let order = KeyOrder::Bytewise;
    let mut builder =
        TableBuilder::new(Box::new(file), options, order, TableContext::default()).unwrap();
    builder.add_range_tombstone(b"a", b"b", SeqNo::ZERO).unwrap();
    let mut first_error = None;
    for i in 0..300u32 {
        let added = builder.add(&key(&i.to_be_bytes(), 1), b"some value");
        match (&first_error, added) {
            (None, Err(error)) => first_error = Some(error),
            (None, Ok(())) => {}
            (Some(first), added) => {
                let again = added.expect_err("a failed builder must not take entries");
                assert_eq!(again.kind(), first.kind());
                assert!(again.message().contains("earlier write failed"), "{again}");
            }
        }
    }
    let outcome = builder.finish().map(drop);
    let calls = *calls.lock().unwrap();
    (first_error, outcome, calls)
}

#[test]
fn a_failure_at_any_call_is_a_typed_error_and_never_success() {
    let (_, outcome, calls) = write_with_failure(0, std::io::ErrorKind::Other);
    outcome.unwrap();
    assert!(calls > 100, "{calls} calls");
    let kinds = [
        (std::io::ErrorKind::Other, ErrorKind::Io),
        (std::io::ErrorKind::StorageFull, ErrorKind::NoSpace),
    ];
    for fails_at in 1..=calls {
        let (raw, kind) = kinds[fails_at % 2];
        let (first, outcome, _) = write_with_failure(fails_at, raw);
        let error = outcome.expect_err("a file with a failed write must not count as written");
        assert_eq!(error.kind(), kind, "call {fails_at}: {error}");
        assert!(error.to_string().contains("f.sst"), "call {fails_at}: {error}");
        if let Some(first) = first {
            assert_eq!(first.kind(), kind, "call {fails_at}: {first}");
        }
    }
}

#[test]
fn filters_with_prefixes_only_count_each_prefix_once_per_partition() {
    // One prefix over many partitions: each of them holds it (rocksdb#4024), and the cut adds the next one's.
    let options = TableOptions {
        prefix_extractor: Some(PrefixExtractor::Fixed(4)),
        whole_key_filtering: false,
        filter_policy: Some(FilterPolicy::Bloom { bits_per_key: 10.0 }),
        filter_layout: FilterLayout::PartitionedWithIndex,
        metadata_block_size: 300,
        block_size: 200,
        ..TableOptions::default()
    };
    let (mut builder, _) = builder_with(options);
    for i in 0..20_000u32 {
        builder.add(&key(format!("pref{i:05}").as_bytes(), 1), b"v").unwrap();
    }
    builder.add(&key(b"second", 1), b"v").unwrap();
    let properties = builder.finish().unwrap().properties;
    let partitions = properties.index_partitions.unwrap();
    let entries = properties.num_filter_entries.unwrap();
    assert!(partitions > 3);
    assert!((partitions..=partitions + 2).contains(&entries), "{entries} in {partitions}");
}
