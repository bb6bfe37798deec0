//! Data blocks, of any bytes and of any entries in every layout: separated values, hash index, hints, any interval.
//!
//! * A block written from entries reads as these entries.
//! * Every walk in every order stands where a walk from front to back says it must; `find` agrees with `seek`.
//! * Memory stays in proportion to the block, so keys cannot be blown up by what they share.

use partita::key::{KeyOrder, PACKED_LEN};
use partita::table::block::{BlockCursor, DataBlock, Found};

use crate::choices::Choices;
use crate::meter;
use crate::models::block::{BlockLayout, Entry, compare, write_data_block};
use crate::models::walk::{forward, steer};

/// Keys of a walk, all together: blocks that blow up beyond that are only parsed.
const WALK_LIMIT: usize = 1 << 20;

/// Makes a block, reads it and walks over it.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let order = choices.pick(&[0u8, 1]);
    let order = if order == 0 { KeyOrder::Bytewise } else { KeyOrder::ReverseBytewise };
    let internal_keys = !choices.byte().is_multiple_of(4);
    let moves = choices.short_bytes();
    let written = choices.flag();
    let (contents, entries) = if written {
        let entries = entries(&mut choices, &order, internal_keys);
        (write_data_block(&entries, layout(choices)), Some(entries))
    } else {
        (choices.rest().to_vec(), None)
    };

    let limit = 4 * contents.len() + 8192;
    let order = if internal_keys { order } else { KeyOrder::Bytewise };
    let parsed = meter::within(limit, || match internal_keys {
        true => DataBlock::parse_data(contents.clone(), &order),
        false => DataBlock::parse_meta(contents.clone()),
    });
    let block = match parsed {
        Ok(block) => block,
        Err(error) => {
            assert!(entries.is_none(), "a written block is refused: {error}");
            return;
        }
    };
    assert!(block.memory_bytes() <= limit);
    let (walked, whole) = forward(&block, WALK_LIMIT);
    if let Some(entries) = entries {
        assert!(whole);
        assert_eq!(walked, entries, "a written block reads as other entries");
    }
    // Searched for the first time, the second, or with a directory.
    for _ in 0..moves.len() % 3 {
        let touched = block.touch();
        assert!(touched.is_ok() || !whole, "a walk got through, a directory did not: {touched:?}");
    }
    assert!(block.memory_bytes() <= limit);
    let moves = Choices::new(moves);
    if whole {
        steer(&block, &order, internal_keys, &walked, moves.clone());
        find(&block, &order, internal_keys, &walked, moves);
    } else {
        stumble(&block, &order, internal_keys, moves);
    }
}

/// Entries of unique keys in order, with a taste for shared prefixes.
fn entries(choices: &mut Choices<'_>, order: &KeyOrder, internal_keys: bool) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for _ in 0..choices.byte() % 64 {
        let mut key = match entries.last() {
            Some((last, _)) => last[..usize::from(choices.byte()).min(last.len())].to_vec(),
            None => Vec::new(),
        };
        let own = choices.byte() % 16;
        key.extend_from_slice(choices.bytes(usize::from(own)));
        if internal_keys {
            key.extend_from_slice(&[1, choices.byte() % 4, 0, 0, 0, 0, 0, 0]);
        }
        let value_len = choices.byte() % 16;
        entries.push((key, choices.bytes(usize::from(value_len)).to_vec()));
    }
    let order = if internal_keys { order } else { &KeyOrder::Bytewise };
    entries.sort_by(|a, b| compare(order, internal_keys, &a.0, &b.0));
    entries.dedup_by(|a, b| compare(order, internal_keys, &a.0, &b.0).is_eq());
    entries
}

fn layout(mut choices: Choices<'_>) -> BlockLayout {
    BlockLayout {
        restart_interval: 1 + usize::from(choices.byte() % 20),
        shares_prefixes: choices.byte() % 4 != 3,
        separated_values: choices.flag(),
        hash_buckets: if choices.flag() { Some(choices.byte()) } else { None },
        uniform: choices.flag(),
    }
}

/// `find` tells what `seek` comes to, and the value that stands there.
fn find(
    block: &DataBlock,
    order: &KeyOrder,
    internal_keys: bool,
    entries: &[Entry],
    mut choices: Choices<'_>,
) {
    if !internal_keys || !entries.is_sorted_by(|a, b| order.compare_internal(&a.0, &b.0).is_lt()) {
        return;
    }
    while !choices.is_empty() {
        let mut target = match entries.get(usize::from(choices.byte())) {
            Some((key, _)) => key[..key.len() - PACKED_LEN].to_vec(),
            None => choices.short_bytes().to_vec(),
        };
        let packed = if choices.flag() { u64::MAX } else { choices.long() };
        let user_len = target.len();
        target.extend_from_slice(&packed.to_le_bytes());
        let first = entries.iter().find(|entry| order.compare_internal(&entry.0, &target).is_ge());
        let expected = match first {
            None => Found::PastEnd,
            Some((key, value)) => match key.split_last_chunk::<PACKED_LEN>() {
                Some((user_key, packed)) if *user_key == target[..user_len] => {
                    let found = block.find(order, user_key, u64::from_le_bytes(*packed));
                    let Ok(Found::Entry { value: range, .. }) = &found else {
                        panic!("an entry is not found under its own key: {found:?}");
                    };
                    assert_eq!(block.value(range.clone()), value);
                    Found::Entry { packed: u64::from_le_bytes(*packed), value: range.clone() }
                }
                _ => Found::Absent,
            },
        };
        let found = block.find(order, &target[..user_len], packed);
        assert_eq!(found.as_ref().ok(), Some(&expected), "{found:?}");
    }
}

/// In a damaged block any move may fail, but none may panic, and after a failure the cursor stands nowhere.
fn stumble(block: &DataBlock, order: &KeyOrder, internal_keys: bool, mut choices: Choices<'_>) {
    let mut cursor = BlockCursor::new();
    while !choices.is_empty() {
        let valid = cursor.is_valid();
        let moved = match choices.byte() % 6 {
            0 => cursor.seek_to_first(block),
            1 => cursor.seek_to_last(block),
            2 if valid => cursor.next(block),
            3 if valid => cursor.prev(block),
            choice => {
                let mut target = choices.short_bytes().to_vec();
                if internal_keys && target.len() < PACKED_LEN {
                    target.resize(PACKED_LEN, 0);
                }
                let _ = block.find(order, &target, 0);
                match choice {
                    4 => cursor.seek(block, order, &target),
                    _ => cursor.seek_for_prev(block, order, &target),
                }
            }
        };
        assert!(moved.is_ok() || !cursor.is_valid(), "valid after an error");
        if cursor.is_valid() {
            assert!(!internal_keys || cursor.key().len() >= PACKED_LEN);
            assert!(cursor.value(block).len() <= block.contents_len());
        }
    }
}

/// Written and raw blocks of all layouts, each with moves.
pub fn seeds() -> Vec<Vec<u8>> {
    let moves =
        [0, 2, 2, 3, 4, 4, 3, 1, 3, 3, 5, 5, 7, 9, 4, 0, 0, 2, b'a', b'b', 1, 5, 9, 2, 3, 3];
    let keys: Vec<Entry> = (0..20u8)
        .map(|i| (vec![b'a', i / 4, i, 1, 7, 0, 0, 0, 0, 0, 0], vec![i; usize::from(i % 5)]))
        .collect();
    let mut seeds = Vec::new();
    for shape in 0..16 {
        let layout = BlockLayout {
            restart_interval: [1, 4, 16][shape % 3],
            shares_prefixes: shape % 5 != 4,
            separated_values: shape & 1 != 0,
            hash_buckets: (shape & 2 != 0).then_some(29),
            uniform: shape & 4 != 0,
        };
        let order = u8::from(shape & 8 != 0);
        let header = [&[order, 1, moves.len() as u8][..], &moves].concat();
        seeds.push([&header, &[0][..], &write_data_block(&keys, layout)].concat());

        let mut written = [&header, &[1, 20][..]].concat();
        for i in 0..20 {
            written.extend([i % 3, 3, b'a' + i, i, 9, 2, 2, b'v', i]);
        }
        let interval = layout.restart_interval as u8 - 1;
        let hash = u8::from(layout.hash_buckets.is_some());
        let tail = [interval, 0, u8::from(layout.separated_values), hash, 29, 1];
        seeds.push([&written[..], &tail].concat());
    }
    seeds
}
