use super::*;
use crate::key::{InternalKey, SeqNo, ValueType};
use crate::table::BlockHandle;
use crate::util::coding::{put_length_prefixed, put_varint, put_zigzag};
use proptest::prelude::*;

/// A small writer of blocks, apart from the builder, so that the reader has a witness of its own.
#[derive(Clone, Copy, Debug)]
struct Shape {
    interval: usize,
    delta_keys: bool,
    separated: bool,
    hash_index: bool,
}

fn build(entries: &[(Vec<u8>, Vec<u8>)], shape: Shape) -> Vec<u8> {
    let (mut out, mut values, mut restarts) = (Vec::new(), Vec::new(), Vec::new());
    let mut previous: &[u8] = &[];
    for (number, (key, value)) in entries.iter().enumerate() {
        let restart = number % shape.interval == 0;
        let shared = if restart || !shape.delta_keys {
            0
        } else {
            key.iter().zip(previous).take_while(|(a, b)| a == b).count()
        };
        if restart {
            restarts.push(out.len() as u32);
        }
        for length in [shared, key.len() - shared, value.len()] {
            put_varint(&mut out, length as u64);
        }
        if shape.separated && restart {
            put_varint(&mut out, values.len() as u64);
        }
        out.extend_from_slice(&key[shared..]);
        if shape.separated { &mut values } else { &mut out }.extend_from_slice(value);
        previous = key;
    }
    if restarts.is_empty() {
        restarts.push(0);
    }
    let values_at = out.len() as u32;
    out.extend_from_slice(&values);
    for restart in &restarts {
        out.extend_from_slice(&restart.to_le_bytes());
    }
    let mut word = restarts.len() as u32;
    if shape.hash_index {
        out.extend_from_slice(&[254; 7]);
        out.extend_from_slice(&7u16.to_le_bytes());
        word |= 1 << 31;
    }
    if shape.separated {
        out.extend_from_slice(&values_at.to_le_bytes());
        word |= 1 << 28;
    }
    out.extend_from_slice(&word.to_le_bytes());
    out
}

fn shapes() -> impl Strategy<Value = Shape> {
    (1usize..6, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(interval, delta_keys, separated, hash_index)| Shape {
            interval,
            delta_keys,
            separated,
            hash_index,
        },
    )
}

/// Internal keys whose user keys share prefixes and whose packed words look like user key bytes.
fn internal_keys() -> impl Strategy<Value = Vec<(Vec<u8>, Vec<u8>)>> {
    let user_key = proptest::collection::vec(0u8..3, 0..12);
    let entry = (user_key, 0u64..4, proptest::collection::vec(any::<u8>(), 0..5));
    proptest::collection::vec(entry, 0..40).prop_map(|entries| {
        entries
            .into_iter()
            .map(|(user_key, seqno, value)| {
                let seqno = SeqNo::new(seqno * 0x0101_0101).unwrap();
                (InternalKey::new(&user_key, seqno, ValueType::Value).encode(), value)
            })
            .collect()
    })
}

fn sort(entries: &mut Vec<(Vec<u8>, Vec<u8>)>, order: &KeyOrder) {
    entries.sort_by(|a, b| order.compare_internal(&a.0, &b.0));
    entries.dedup_by(|a, b| a.0 == b.0);
}

fn at<'b>(
    cursor: &'b BlockCursor<DataFormat>,
    block: &'b DataBlock,
) -> Option<(&'b [u8], &'b [u8])> {
    cursor.is_valid().then(|| (cursor.key(), cursor.value(block)))
}

fn pair(entry: Option<&(Vec<u8>, Vec<u8>)>) -> Option<(&[u8], &[u8])> {
    entry.map(|(key, value)| (&key[..], &value[..]))
}

proptest! {
    #[test]
    fn a_cursor_agrees_with_the_sorted_list(
        mut entries in internal_keys(),
        probes in internal_keys(),
        shape in shapes(),
        reverse in any::<bool>(),
        touches in 0..3,
    ) {
        let order = if reverse { KeyOrder::ReverseBytewise } else { KeyOrder::Bytewise };
        sort(&mut entries, &order);
        let block = DataBlock::parse_data(build(&entries, shape), &order).unwrap();
        for _ in 0..touches {
            block.touch().unwrap();
        }
        prop_assert_eq!(block.has_hash_index(), shape.hash_index);
        let mut cursor = BlockCursor::new();

        cursor.seek_to_first(&block).unwrap();
        for entry in &entries {
            prop_assert_eq!(at(&cursor, &block), pair(Some(entry)));
            cursor.next(&block).unwrap();
        }
        prop_assert!(!cursor.is_valid());
        cursor.seek_to_last(&block).unwrap();
        for entry in entries.iter().rev() {
            prop_assert_eq!(at(&cursor, &block), pair(Some(entry)));
            cursor.prev(&block).unwrap();
        }
        prop_assert!(!cursor.is_valid());

        for (target, _) in probes.iter().chain(&entries) {
            let expected = entries.partition_point(|(key, _)| order.compare_internal(key, target).is_lt());
            cursor.seek(&block, &order, target).unwrap();
            prop_assert_eq!(at(&cursor, &block), pair(entries.get(expected)));
            if cursor.is_valid() {
                cursor.next(&block).unwrap();
                prop_assert_eq!(at(&cursor, &block), pair(entries.get(expected + 1)));
            }
            let behind = entries.partition_point(|(key, _)| order.compare_internal(key, target).is_le());
            cursor.seek_for_prev(&block, &order, target).unwrap();
            prop_assert_eq!(at(&cursor, &block), pair(behind.checked_sub(1).map(|last| &entries[last])));

            let key = InternalKey::decode(target).unwrap();
            let found = block.find(&order, key.user_key, key.packed()).unwrap();
            match entries.get(expected) {
                None => prop_assert_eq!(found, Found::PastEnd),
                Some((other, value)) => match (InternalKey::decode(other).unwrap(), found) {
                    (other, Found::Entry { packed, value: range }) => {
                        prop_assert_eq!(other.user_key, key.user_key);
                        prop_assert_eq!(other.packed(), packed);
                        prop_assert_eq!(block.value(range), &value[..]);
                    }
                    (other, found) => {
                        prop_assert_ne!(other.user_key, key.user_key);
                        prop_assert_eq!(found, Found::Absent);
                    }
                },
            }
        }
    }

    #[test]
    fn damaged_blocks_neither_panic_nor_loop(
        mut entries in internal_keys(),
        shape in shapes(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        index in (any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        sort(&mut entries, &KeyOrder::Bytewise);
        let mut bytes = build(&entries, shape);
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(block) = DataBlock::parse_data(bytes.clone(), &KeyOrder::Bytewise) {
            for _ in 0..2 {
                exercise(&block, &entries);
                for (key, _) in &entries {
                    let key = InternalKey::decode(key).unwrap();
                    let _ = block.find(&KeyOrder::Bytewise, key.user_key, key.packed());
                }
                let touched = block.touch().and(block.touch());
                // What a whole walk passes over is sound.
                prop_assert!(touched.is_ok() || block.for_each(|_| Ok(())).is_err());
            }
        }
        let format = IndexFormat { user_keys: index.0, delta_values: index.1, first_keys: index.2 };
        if let Ok(block) = IndexBlock::parse_index(bytes, format, &KeyOrder::Bytewise) {
            exercise(&block, &entries);
        }
    }
}

/// Walks and seeks all over a block; the number of steps is bounded by its length.
fn exercise<F: Format>(block: &Block<F>, probes: &[(Vec<u8>, Vec<u8>)]) {
    let limit = block.contents_len() + 1;
    let mut cursor = BlockCursor::new();
    let mut steps = 0;
    let mut result = cursor.seek_to_first(block);
    while result.is_ok() && cursor.is_valid() {
        steps += 1;
        assert!(steps <= limit);
        result = cursor.next(block);
    }
    assert!(!cursor.is_valid());
    let mut result = cursor.seek_to_last(block);
    let mut steps = 0;
    while result.is_ok() && cursor.is_valid() {
        steps += 1;
        assert!(steps <= limit);
        result = cursor.prev(block);
    }
    for (target, _) in probes {
        let _ = cursor.seek(block, &KeyOrder::Bytewise, target);
        let _ = cursor.seek_for_prev(block, &KeyOrder::Bytewise, target);
    }
}

#[test]
fn an_empty_block_has_no_entries() {
    for bytes in [&[0, 0, 0, 0, 1, 0, 0, 0][..], &[0, 0, 0, 0]] {
        let block = DataBlock::parse_data(bytes.to_vec(), &KeyOrder::Bytewise).unwrap();
        assert!(block.is_empty());
        let mut cursor = BlockCursor::new();
        cursor.seek_to_first(&block).unwrap();
        assert!(!cursor.is_valid());
        cursor.seek_to_last(&block).unwrap();
        assert!(!cursor.is_valid());
        cursor.seek(&block, &KeyOrder::Bytewise, &[0; 8]).unwrap();
        assert!(!cursor.is_valid());
        assert_eq!(block.find(&KeyOrder::Bytewise, b"", 0).unwrap(), Found::PastEnd);
    }
}

#[test]
fn a_cursor_that_stands_nowhere_stays_there() {
    let mut bytes = vec![0, 1, 1, b'a', b'1', 0, 1, 1, b'b', b'2'];
    bytes.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
    let block = DataBlock::parse_meta(bytes).unwrap();
    let mut cursor = BlockCursor::new();
    let nowhere = |cursor: &mut BlockCursor<_>| {
        for _ in 0..2 {
            cursor.next(&block).unwrap();
            assert!(!cursor.is_valid());
            cursor.prev(&block).unwrap();
            assert!(!cursor.is_valid());
        }
    };
    nowhere(&mut cursor);
    cursor.seek_to_last(&block).unwrap();
    assert_eq!(cursor.key(), b"b");
    cursor.next(&block).unwrap();
    nowhere(&mut cursor);
    cursor.seek_to_first(&block).unwrap();
    assert_eq!(cursor.key(), b"a");
    cursor.prev(&block).unwrap();
    nowhere(&mut cursor);
    cursor.seek_to_first(&block).unwrap();
    cursor.reset();
    nowhere(&mut cursor);
}

#[test]
fn impossible_layouts_are_refused() {
    let parse = |bytes: &[u8]| DataBlock::parse_data(bytes.to_vec(), &KeyOrder::Bytewise);
    assert!(parse(b"").unwrap_err().is_corruption());
    assert!(parse(b"\x01\0\0").unwrap_err().is_corruption());
    assert!(parse(&[1, 0, 0, 0]).unwrap_err().is_corruption());
    assert!(parse(&[0xff, 0xff, 0xff, 0x0f]).unwrap_err().is_corruption());
    // Bit 30 belongs to a later version, which is not damage.
    let later = parse(&[0, 0, 0, 0, 1, 0, 0, 0x40]).unwrap_err();
    assert_eq!(later.kind(), crate::error::ErrorKind::NotSupported);
    // A hash index of more buckets than bytes; values behind the restart array; entries without restart points.
    assert!(parse(&[9, 0, 1, 0, 0, 0x80]).unwrap_err().is_corruption());
    assert!(parse(&[0, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0x10]).unwrap_err().is_corruption());
    assert!(parse(&[0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap_err().is_corruption());
}

#[test]
fn no_entry_reaches_over_a_restart_point() {
    // Read at either restart point, there is a whole entry of nine bytes.
    let mut bytes = vec![0, 6, 0, b'a', 0, 6, 0, b'b', b'c', b'd', b'e', b'f', b'g'];
    let restarts = [[0, 0, 0, 0], [4, 0, 0, 0]].concat();
    bytes.extend_from_slice(&restarts);
    bytes.extend_from_slice(&[2, 0, 0, 0]);
    let error = DataBlock::parse_meta(bytes).unwrap_err();
    assert!(error.message().contains("restart point 1 of 2 at 0x4"), "{error}");
}

#[test]
fn an_entry_that_swallows_the_restart_points_left_is_damage_to_every_move() {
    // The entry between the two restart points has a value up to the end of the entries.
    let mut bytes = vec![0, 1, 0, b'a', 0, 1, 8, b'b', 1, 2, 3, 4, 0, 1, 0, b'c'];
    bytes.extend_from_slice(&[0, 0, 0, 0, 12, 0, 0, 0, 2, 0, 0, 0]);
    let block = DataBlock::parse_meta(bytes).unwrap();
    let order = KeyOrder::Bytewise;
    let mut cursor = BlockCursor::new();
    cursor.seek_to_first(&block).unwrap();
    cursor.next(&block).unwrap();
    for moved in [cursor.next(&block), cursor.seek(&block, &order, b"bb")] {
        let error = moved.unwrap_err();
        assert!(error.message().contains("over the restart point at 0xc"), "{error}");
        assert!(!cursor.is_valid());
    }
    assert!(block.find(&order, b"bb", 0).is_err());
}

#[test]
fn restart_points_must_be_whole_entries_in_ascending_places() {
    let key = |n: u8| InternalKey::new(&[n], SeqNo::ZERO, ValueType::Value).encode();
    let entries: Vec<_> = (0..8).map(|n| (key(n), vec![n])).collect();
    let shape = Shape { interval: 2, delta_keys: true, separated: false, hash_index: false };
    let good = build(&entries, shape);
    let restarts = good.len() - 20;
    // In the place of another, inside of an entry, behind a whole entry that is no restart point, behind the entries.
    for (number, value) in [(0, 1), (1, 0), (1, 14), (2, 13), (3, 200)] {
        let mut bad = good.clone();
        bad[restarts + 4 * number] = value;
        let refused = |error: Error| {
            let message = error.message();
            assert!(message.contains("restart point") || message.contains("entry at"), "{error}");
        };
        let block = match DataBlock::parse_data(bad.clone(), &KeyOrder::Bytewise) {
            Ok(block) => block,
            Err(error) => {
                assert_eq!(number, 0);
                refused(error);
                continue;
            }
        };
        assert_ne!(number, 0);
        refused(block.for_each(|_| Ok(())).unwrap_err());
        let mut cursor = BlockCursor::new();
        let mut moved = cursor.seek_to_last(&block);
        while moved.is_ok() && cursor.is_valid() {
            moved = cursor.prev(&block);
        }
        refused(moved.unwrap_err());
        assert_eq!(block.touch().unwrap(), 0);
        refused(block.touch().unwrap_err());
        refused(DataBlock::parse_meta(bad).unwrap_err());
    }
}

#[test]
fn the_second_search_builds_the_directory_and_says_what_it_takes() {
    let key = |n: u8| InternalKey::new(&[n], SeqNo::ZERO, ValueType::Value).encode();
    let entries: Vec<_> = (0..100).map(|n| (key(n), vec![n])).collect();
    let shape = Shape { interval: 16, delta_keys: true, separated: false, hash_index: false };
    let block = DataBlock::parse_data(build(&entries, shape), &KeyOrder::Bytewise).unwrap();
    let before = block.memory_bytes();
    assert_eq!((block.touch().unwrap(), block.directory_bytes()), (0, 0));
    // Seven restart points: a line of the top and two groups.
    assert_eq!(block.touch().unwrap(), 3 * 64);
    assert_eq!(block.directory_bytes(), 3 * 64);
    assert_eq!(block.memory_bytes(), before + 3 * 64);
    assert_eq!(block.touch().unwrap(), 0);

    // Walks do not need it, and neither do few restart points or other orders.
    let other = DataBlock::parse_data(build(&entries, shape), &KeyOrder::Bytewise).unwrap();
    other.for_each(|_| Ok(())).unwrap();
    assert_eq!(other.directory_bytes(), 0);
    let few = DataBlock::parse_data(build(&entries[..48], shape), &KeyOrder::Bytewise).unwrap();
    let reverse: Vec<_> = entries.iter().rev().cloned().collect();
    let reverse =
        DataBlock::parse_data(build(&reverse, shape), &KeyOrder::ReverseBytewise).unwrap();
    for block in [few, reverse] {
        for _ in 0..3 {
            assert_eq!(block.touch().unwrap(), 0);
        }
        assert_eq!(block.directory_bytes(), 0);
    }
}

#[test]
fn a_cursor_shows_no_keys_in_debug_output() {
    let mut bytes = vec![0, 3, 1, b'k', b'e', b'y', b'v'];
    bytes.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
    let block = DataBlock::parse_meta(bytes).unwrap();
    let mut cursor = BlockCursor::new();
    assert_eq!(format!("{cursor:?}"), "BlockCursor { valid: false, .. }");
    cursor.seek_to_first(&block).unwrap();
    let expected = "BlockCursor { interval: 0, at: 0, key: KeyBuf(3 bytes), value_len: 1, .. }";
    assert_eq!(format!("{cursor:?}"), expected);
}

/// Index entries: (key, handle, first key).
type IndexEntry = (Vec<u8>, BlockHandle, Vec<u8>);

fn build_index(entries: &[IndexEntry], format: IndexFormat, interval: usize) -> Vec<u8> {
    let (mut out, mut restarts) = (Vec::new(), Vec::new());
    let mut previous: Option<&IndexEntry> = None;
    for (number, entry) in entries.iter().enumerate() {
        let (key, handle, first_key) = entry;
        let restart = number % interval == 0;
        let shared = match previous {
            Some((other, ..)) if !restart => {
                key.iter().zip(other).take_while(|(a, b)| a == b).count()
            }
            _ => 0,
        };
        if restart {
            restarts.push(out.len() as u32);
        }
        let mut value = Vec::new();
        match previous {
            Some((_, other, _)) if format.delta_values && shared > 0 => {
                put_zigzag(&mut value, handle.size as i64 - other.size as i64);
            }
            _ => handle.encode_to(&mut value),
        }
        if format.first_keys {
            put_length_prefixed(&mut value, first_key);
        }
        put_varint(&mut out, shared as u64);
        put_varint(&mut out, (key.len() - shared) as u64);
        if !format.delta_values {
            put_varint(&mut out, value.len() as u64);
        }
        out.extend_from_slice(&key[shared..]);
        out.extend_from_slice(&value);
        previous = Some(entry);
    }
    for restart in &restarts {
        out.extend_from_slice(&restart.to_le_bytes());
    }
    out.extend_from_slice(&(restarts.len() as u32).to_le_bytes());
    out
}

#[test]
fn index_entries_of_every_form_come_back() {
    for bits in 0..8 {
        for interval in [1, 3] {
            let format = IndexFormat {
                user_keys: bits & 1 != 0,
                delta_values: bits & 2 != 0,
                first_keys: bits & 4 != 0,
            };
            let mut offset = 0;
            let entries: Vec<IndexEntry> = (0..20u64)
                .map(|n| {
                    let handle = BlockHandle { offset, size: 1000 + (n * 7919) % 300 };
                    offset = handle.end().unwrap();
                    let user_key = format!("key{:03}", n * 2);
                    let key = if format.user_keys {
                        user_key.clone().into_bytes()
                    } else {
                        InternalKey::for_seek(user_key.as_bytes(), SeqNo::MAX).encode()
                    };
                    (key, handle, format!("first{n}").into_bytes())
                })
                .collect();
            let bytes = build_index(&entries, format, interval);
            let block = IndexBlock::parse_index(bytes, format, &KeyOrder::Bytewise).unwrap();
            let mut cursor = BlockCursor::new();
            cursor.seek_to_first(&block).unwrap();
            for (key, handle, first_key) in &entries {
                assert_eq!(cursor.key(), key);
                assert_eq!(cursor.state().handle, *handle);
                let expected = format.first_keys.then_some(&first_key[..]);
                assert_eq!(block.first_key(cursor.state()), expected);
                cursor.next(&block).unwrap();
            }
            assert!(!cursor.is_valid());
            for n in 0..41u64 {
                let user_key = format!("key{n:03}");
                let found = block.find(&KeyOrder::Bytewise, user_key.as_bytes(), u64::MAX).unwrap();
                let expected = entries.get(n.div_ceil(2) as usize);
                assert_eq!(found.as_ref().map(|(value, _)| value.handle), expected.map(|e| e.1));
                assert_eq!(found.is_some_and(|(_, same)| same), n % 2 == 0 && n < 40);
            }
        }
    }
}

#[test]
fn a_walk_backward_over_one_long_interval_keeps_to_its_limit() {
    let lead = [b'x'; 500];
    let entries: Vec<_> = (0..2000u32)
        .map(|n| {
            let user_key = [&lead[..], &n.to_be_bytes()].concat();
            let key = InternalKey::new(&user_key, SeqNo::ZERO, ValueType::Value).encode();
            (key, n.to_le_bytes().to_vec())
        })
        .collect();
    let shape = Shape { interval: 5000, delta_keys: true, separated: false, hash_index: false };
    let block = DataBlock::parse_data(build(&entries, shape), &KeyOrder::Bytewise).unwrap();
    let mut cursor = BlockCursor::new();
    cursor.seek_to_last(&block).unwrap();
    for entry in entries.iter().rev() {
        assert_eq!(at(&cursor, &block), pair(Some(entry)));
        cursor.prev(&block).unwrap();
    }
    assert!(!cursor.is_valid());
}

#[test]
fn keys_that_are_quadratic_in_the_block_are_not_kept() {
    let lead = vec![b'x'; 20_000];
    let entries: Vec<_> =
        (0..20_000u32).map(|n| ([&lead[..], &n.to_be_bytes()].concat(), Vec::new())).collect();
    let shape = Shape { interval: 50_000, delta_keys: true, separated: false, hash_index: false };
    let bytes = build(&entries, shape);
    drop(entries);
    let block = DataBlock::parse_meta(bytes).unwrap();
    let mut budget = block.key_budget();
    let mut cursor = BlockCursor::new();
    cursor.seek_to_first(&block).unwrap();
    let mut kept = 0;
    while cursor.is_valid() && budget.spend(cursor.key()).is_ok() {
        kept += cursor.key().len();
        cursor.next(&block).unwrap();
    }
    assert!(cursor.is_valid());
    assert!(kept <= block.contents_len() * 256);
}
