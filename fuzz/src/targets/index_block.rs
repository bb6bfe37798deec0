//! Index blocks, of any bytes and of any entries in every form: user and internal keys, full and delta-encoded handles,
//! with and without first keys, as one block or as a top level.
//!
//! * A block written from entries reads as these entries, handles and first keys included.
//! * Every walk in every order stands where a walk from front to back says it must; `find` agrees with `seek`.
//! * Memory stays in proportion to the block.

use partita::key::{KeyOrder, PACKED_LEN};
use partita::table::block::{BlockCursor, IndexBlock, IndexFormat};
use partita::table::{BLOCK_TRAILER_LEN, BlockHandle};

use crate::choices::Choices;
use crate::meter;
use crate::models::block::{Entry, IndexEntry, compare, write_index_block};
use crate::models::walk::{forward, steer};

/// Keys of a walk, all together: blocks that blow up beyond that are only parsed.
const WALK_LIMIT: usize = 1 << 20;

/// Makes a block, reads it and walks over it.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let order = if choices.flag() { KeyOrder::ReverseBytewise } else { KeyOrder::Bytewise };
    let form = choices.byte();
    let format = IndexFormat {
        user_keys: form & 1 != 0,
        delta_values: form & 2 != 0,
        first_keys: form & 4 != 0,
    };
    let moves = choices.short_bytes();
    let written = choices.flag();
    let (contents, entries) = if written {
        let interval = 1 + usize::from(choices.byte() % 16);
        let entries = entries(&mut choices, &order, format);
        (write_index_block(&entries, format, interval), Some(entries))
    } else {
        (choices.rest().to_vec(), None)
    };

    let limit = 4 * contents.len() + 8192;
    let parsed = meter::within(limit, || IndexBlock::parse_index(contents.clone(), format, &order));
    let block = match parsed {
        Ok(block) => block,
        Err(error) => {
            assert!(entries.is_none(), "a written block is refused: {error}");
            return;
        }
    };
    let (walked, whole) = forward(&block, WALK_LIMIT);
    if let Some(entries) = entries {
        assert!(whole);
        assert_eq!(read(&block), entries, "a written block reads as other entries");
    }
    if whole {
        let moves = Choices::new(moves);
        steer(&block, &order, !format.user_keys, &walked, moves.clone());
        find(&block, &order, format, &walked, moves);
    }
}

/// Entries of unique keys in order, whose blocks lie one after another.
fn entries(choices: &mut Choices<'_>, order: &KeyOrder, format: IndexFormat) -> Vec<IndexEntry> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for _ in 0..choices.byte() % 48 {
        let mut key = match keys.last() {
            Some(last) => last[..usize::from(choices.byte()).min(last.len())].to_vec(),
            None => Vec::new(),
        };
        let own = choices.byte() % 12;
        key.extend_from_slice(choices.bytes(usize::from(own)));
        if !format.user_keys {
            key.extend_from_slice(&[1, choices.byte() % 4, 0, 0, 0, 0, 0, 0]);
        }
        keys.push(key);
    }
    keys.sort_by(|a, b| compare(order, !format.user_keys, a, b));
    keys.dedup_by(|a, b| compare(order, !format.user_keys, a, b).is_eq());
    let mut offset = choices.long() >> (1 + choices.byte() % 63);
    keys.into_iter()
        .map(|separator| {
            let size = u64::from(choices.word()) << (choices.byte() % 24);
            let handle = BlockHandle { offset, size };
            offset += size + BLOCK_TRAILER_LEN as u64;
            let first_key = if format.first_keys { choices.short_bytes().to_vec() } else { vec![] };
            IndexEntry { separator, handle, first_key }
        })
        .collect()
}

/// The entries with their values, as a walk yields them.
fn read(block: &IndexBlock) -> Vec<IndexEntry> {
    let mut entries = Vec::new();
    let mut cursor = BlockCursor::new();
    cursor.seek_to_first(block).expect("this block was walked over before");
    while cursor.is_valid() {
        let value = cursor.state();
        entries.push(IndexEntry {
            separator: cursor.key().to_vec(),
            handle: value.handle,
            first_key: block.first_key(value).unwrap_or_default().to_vec(),
        });
        cursor.next(block).expect("this block was walked over before");
    }
    entries
}

/// `find` tells what `seek` comes to.
fn find(
    block: &IndexBlock,
    order: &KeyOrder,
    format: IndexFormat,
    entries: &[Entry],
    mut choices: Choices<'_>,
) {
    while !choices.is_empty() {
        let mut target = match entries.get(usize::from(choices.byte())) {
            Some((key, _)) => block.user_key_of(key).to_vec(),
            None => choices.short_bytes().to_vec(),
        };
        if choices.byte().is_multiple_of(4) {
            target.push(choices.byte());
        }
        let user_len = target.len();
        let packed = choices.long();
        let mut sought = target.clone();
        if !format.user_keys {
            sought.extend_from_slice(&packed.to_le_bytes());
        }
        let mut cursor = BlockCursor::new();
        cursor.seek(block, order, &sought).expect("this block was walked over before");
        let found = block.find(order, &target[..user_len], packed).expect("the same");
        assert_eq!(found.is_some(), cursor.is_valid());
        if let Some((value, same_user_key)) = found {
            assert_eq!(value, *cursor.state());
            assert_eq!(same_user_key, block.user_key_of(cursor.key()) == target);
            assert!(format.user_keys || cursor.key().len() >= PACKED_LEN);
        }
    }
}

/// Every form, written and raw, with moves.
pub fn seeds() -> Vec<Vec<u8>> {
    let moves =
        [0, 2, 2, 3, 4, 4, 3, 1, 3, 3, 5, 5, 7, 9, 4, 0, 0, 2, b'a', b'b', 1, 5, 9, 2, 3, 3];
    let mut seeds = Vec::new();
    for form in 0..8u8 {
        let format = IndexFormat {
            user_keys: form & 1 != 0,
            delta_values: form & 2 != 0,
            first_keys: form & 4 != 0,
        };
        for interval in [1, 3] {
            let entries: Vec<IndexEntry> = (0..12u8)
                .map(|i| {
                    let mut separator = vec![b'k', i / 3, i];
                    if !format.user_keys {
                        separator.extend([0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
                    }
                    let handle = BlockHandle { offset: 4101 * u64::from(i), size: 4096 };
                    let first = vec![b'k', i, 1, 1, 0, 0, 0, 0, 0, 0];
                    let first_key = if format.first_keys { first } else { vec![] };
                    IndexEntry { separator, handle, first_key }
                })
                .collect();
            let header = [&[interval as u8 & 1, form, moves.len() as u8][..], &moves].concat();
            let contents = write_index_block(&entries, format, interval);
            seeds.push([&header, &[0][..], &contents].concat());

            let mut written = [&header, &[1, interval as u8, 10][..]].concat();
            for i in 0..10 {
                written.extend([i % 3, 2, b'a' + i, i, 1]);
            }
            written.extend([0, 0, 0, 0, 0, 0, 1, 0, 40]);
            for i in 0..10 {
                written.extend([i, 16, 0, 3, b'a', b'b', i]);
            }
            seeds.push(written);
        }
    }
    seeds
}
