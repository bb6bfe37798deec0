use super::*;
use crate::key::InternalKey;

fn key(user_key: &str, seqno: u64) -> Vec<u8> {
    InternalKey::new(user_key.as_bytes(), SeqNo::new(seqno).unwrap(), ValueType::Value).encode()
}

fn options(index_type: IndexType) -> TableOptions {
    TableOptions { index_type, index_block_restart_interval: 1, ..TableOptions::default() }
}

/// Adds blocks `(first key, last key, size)`, one right behind the other.
fn add(builder: &mut IndexBuilder, blocks: &[(&str, &str, u64)]) {
    let mut offset = 0;
    for (at, &(first, last, size)) in blocks.iter().enumerate() {
        builder.note_key(&key(first, 9));
        let next = blocks.get(at + 1).map(|next| key(next.0, 9));
        let handle = BlockHandle { offset, size };
        builder.add_block(&key(last, 9), next.as_deref(), handle, false);
        offset += size + 5;
    }
}

/// The blocks in file order; each is put at an offset of its own.
fn finish(builder: &mut IndexBuilder) -> (Vec<Vec<u8>>, IndexSummary) {
    let mut blocks = Vec::new();
    let summary = builder
        .finish(|contents| {
            blocks.push(contents.to_vec());
            Ok(BlockHandle { offset: 1000 * blocks.len() as u64, size: contents.len() as u64 })
        })
        .unwrap();
    (blocks, summary)
}

const FRUIT: [(&str, &str, u64); 3] =
    [("apple", "banana", 100), ("cherry", "grape", 120), ("kiwi", "quince", 90)];

#[test]
fn separators_are_short_user_keys_when_user_keys_differ() {
    let mut builder = IndexBuilder::new(&options(IndexType::BinarySearch), KeyOrder::Bytewise);
    add(&mut builder, &FRUIT);
    assert!(!builder.uses_internal_keys());
    let (blocks, summary) = finish(&mut builder);
    // "c" lies between "banana" and "cherry", "h" between "grape" and "kiwi".
    let expected: &[u8] =
        b"\0\x01c\0\x64\0\x01h\x69\x78\0\x06quince\xe6\x01\x5a\0\0\0\0\x05\0\0\0\x0a\0\0\0\x03\0\0\0";
    assert_eq!(blocks[0], expected);
    assert_eq!(summary.raw_len, expected.len());
    assert_eq!(summary.root.offset, 1000);
}

#[test]
fn values_are_deltas_where_keys_share_bytes() {
    let options =
        TableOptions { index_block_restart_interval: 8, ..options(IndexType::BinarySearch) };
    let mut builder = IndexBuilder::new(&options, KeyOrder::Bytewise);
    add(&mut builder, &[("a0", "a1", 100), ("a2", "a3", 98), ("b", "b", 7)]);
    let (blocks, _) = finish(&mut builder);
    // Between "a3" and "b" the second byte is raised: "a4" shares a byte, its handle is 2 shorter (zigzag 3). "b" shares
    // nothing, so its handle stands whole.
    let expected: &[u8] = b"\0\x02a1\0\x64\x01\x014\x03\0\x01b\xd0\x01\x07";
    assert_eq!(blocks[0][..expected.len()], *expected);
}

#[test]
fn one_user_key_over_two_blocks_makes_all_keys_internal() {
    for index_type in [IndexType::BinarySearch, IndexType::TwoLevel] {
        let mut builder = IndexBuilder::new(&options(index_type), KeyOrder::Bytewise);
        builder.add_block(
            &key("a", 9),
            Some(&key("b", 9)),
            BlockHandle { offset: 0, size: 9 },
            false,
        );
        assert!(!builder.uses_internal_keys());
        builder.add_block(
            &key("b", 5),
            Some(&key("b", 4)),
            BlockHandle { offset: 14, size: 9 },
            false,
        );
        assert!(builder.uses_internal_keys());
        builder.add_block(&key("c", 3), None, BlockHandle { offset: 28, size: 9 }, false);
        let (blocks, _) = finish(&mut builder);
        let find = |needle: &[u8]| blocks[0].windows(needle.len()).any(|bytes| bytes == needle);
        assert!(find(&key("a", 9)) && find(&key("b", 5)) && find(&key("c", 3)));
    }
}

#[test]
fn format_version_2_keeps_internal_keys_and_full_values() {
    let options = TableOptions { format_version: 2, ..options(IndexType::BinarySearch) };
    let mut builder = IndexBuilder::new(&options, KeyOrder::Bytewise);
    add(&mut builder, &FRUIT);
    let (blocks, _) = finish(&mut builder);
    // Shortened separators sort before all entries of their user key.
    assert_eq!(blocks[0][..14], *b"\0\x09\x02c\x18\xff\xff\xff\xff\xff\xff\xff\0\x64");
}

#[test]
fn the_last_key_is_shortened_only_when_asked() {
    for (shortening, last, between) in [
        (IndexShortening::None, "quince", "banana"),
        (IndexShortening::Separators, "quince", "c"),
        (IndexShortening::SeparatorsAndSuccessor, "r", "c"),
    ] {
        let options =
            TableOptions { index_shortening: shortening, ..options(IndexType::BinarySearch) };
        let mut builder = IndexBuilder::new(&options, KeyOrder::Bytewise);
        add(&mut builder, &FRUIT);
        let (blocks, _) = finish(&mut builder);
        let entry = |key: &str| [&[0, key.len() as u8], key.as_bytes()].concat();
        assert!(blocks[0].starts_with(&entry(between)), "{shortening:?}");
        let last = entry(last);
        assert!(blocks[0].windows(last.len()).any(|bytes| bytes == last), "{shortening:?}");
    }
}

#[test]
fn first_keys_follow_the_handles() {
    let options = options(IndexType::BinarySearchWithFirstKey);
    let mut builder = IndexBuilder::new(&options, KeyOrder::Bytewise);
    add(&mut builder, &FRUIT);
    let (blocks, _) = finish(&mut builder);
    let expected = [b"\0\x01c\0\x64\x0d".as_slice(), &key("apple", 9), b"\0\x01h"].concat();
    assert_eq!(blocks[0][..expected.len()], expected);
}

#[test]
fn partitions_are_cut_by_size_and_found_through_the_top_level() {
    let options = TableOptions { metadata_block_size: 60, ..options(IndexType::TwoLevel) };
    let mut builder = IndexBuilder::new(&options, KeyOrder::Bytewise);
    let names: Vec<String> = (0..30).map(|i| format!("key{i:02}")).collect();
    let blocks: Vec<(&str, &str, u64)> =
        names.iter().map(|name| (name.as_str(), name.as_str(), 100)).collect();
    add(&mut builder, &blocks);
    let (blocks, summary) = finish(&mut builder);
    assert_eq!(summary.partitions, blocks.len() - 1);
    assert!(summary.partitions > 5);
    assert_eq!(summary.root.offset, 1000 * blocks.len() as u64);
    assert_eq!(summary.top_level_len, blocks[blocks.len() - 1].len());
    assert_eq!(summary.raw_len, blocks.iter().map(Vec::len).sum::<usize>());
    assert!(blocks[..blocks.len() - 1].iter().all(|block| block.len() <= 60));
    // Never a last partition of one entry: the last block does not open one.
    assert_ne!(blocks[blocks.len() - 2].last_chunk::<4>(), Some(&[1, 0, 0, 0]));
}

#[test]
fn a_requested_cut_comes_with_the_next_entry_and_is_reported_once() {
    let mut builder = IndexBuilder::new(&options(IndexType::TwoLevel), KeyOrder::Bytewise);
    let handle = BlockHandle { offset: 0, size: 9 };
    builder.request_cut();
    builder.add_block(&key("a", 9), Some(&key("c", 9)), handle, false);
    assert!(!builder.take_cut(), "there was no partition to close");
    builder.add_block(&key("d", 9), Some(&key("f", 9)), handle, false);
    assert!(builder.take_cut());
    assert!(!builder.take_cut());
    assert_eq!(builder.last_separator(), InternalKey::for_seek(b"e", SeqNo::MAX).encode());
    builder.add_block(&key("g", 9), None, handle, false);
    assert!(builder.take_cut(), "the end closes the filter's partition, too");
}

#[test]
fn a_padded_block_keeps_its_key_whole_and_its_handle_full() {
    let options =
        TableOptions { index_block_restart_interval: 8, ..options(IndexType::BinarySearch) };
    let mut builder = IndexBuilder::new(&options, KeyOrder::Bytewise);
    builder.add_block(
        &key("a1", 9),
        Some(&key("a2", 9)),
        BlockHandle { offset: 0, size: 9 },
        false,
    );
    builder.add_block(&key("a3", 9), None, BlockHandle { offset: 100, size: 9 }, true);
    let (blocks, _) = finish(&mut builder);
    let expected: &[u8] = b"\0\x02a1\0\x09\0\x02a3\x64\x09";
    assert_eq!(blocks[0][..expected.len()], *expected);
}

#[test]
fn hash_meta_blocks_count_the_blocks_of_each_prefix() {
    let options = TableOptions {
        prefix_extractor: Some(crate::key::PrefixExtractor::Fixed(1)),
        ..options(IndexType::HashSearch)
    };
    let mut builder = IndexBuilder::new(&options, KeyOrder::Bytewise);
    let handle = BlockHandle { offset: 0, size: 9 };
    for user_key in ["", "a1", "a2"] {
        builder.note_key(&key(user_key, 9));
    }
    builder.add_block(&key("a2", 9), Some(&key("a3", 9)), handle, false);
    for user_key in ["a3", "b1"] {
        builder.note_key(&key(user_key, 9));
    }
    builder.add_block(&key("b1", 9), None, handle, false);
    let (blocks, summary) = finish(&mut builder);
    assert_eq!(blocks[0], [1, 0, 2, 1, 1, 1]);
    assert_eq!(blocks[1], b"ab");
    assert_eq!(summary.prefix_metadata.unwrap().offset, 1000);
    assert_eq!(summary.prefixes.unwrap().offset, 2000);
    assert_eq!(summary.root.offset, 3000);
}

#[test]
fn an_empty_table_has_an_empty_index() {
    for index_type in IndexType::ALL {
        let options = TableOptions {
            prefix_extractor: Some(crate::key::PrefixExtractor::Fixed(1)),
            ..options(index_type)
        };
        let mut builder = IndexBuilder::new(&options, KeyOrder::Bytewise);
        let (blocks, summary) = finish(&mut builder);
        assert_eq!(blocks[blocks.len() - 1], [0, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(summary.partitions, 0);
    }
}

#[test]
fn a_separator_that_is_none_is_not_used() {
    #[derive(Debug)]
    struct Overshoots;

    impl crate::key::Comparator for Overshoots {
        fn name(&self) -> &str {
            "overshoots"
        }

        fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
            a.cmp(b)
        }

        fn shorten_separator(&self, key: &mut Vec<u8>, _limit: &[u8]) {
            *key = b"z".to_vec();
        }
    }

    let order = KeyOrder::Custom(std::sync::Arc::new(Overshoots));
    let mut builder = IndexBuilder::new(&options(IndexType::BinarySearch), order);
    add(&mut builder, &FRUIT);
    let (blocks, _) = finish(&mut builder);
    assert_eq!(blocks[0][..8], *b"\0\x06banana");
}
