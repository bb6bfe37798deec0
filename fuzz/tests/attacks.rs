//! Attacks made by hand: small files and blocks that make a careless reader take memory or time without bound.
//!
//! A fuzzer finds wrong arithmetic within minutes, but not a block whose cost grows with the square of its size. Each
//! test states what is attacked and holds the reader to memory or to work that can be counted; none looks at a clock.

use partita::key::{KeyOrder, SeqNo};
use partita::table::block::{BlockCursor, DataBlock, IndexBlock, IndexFormat};
use partita::table::{Metaindex, RangeTombstones};
use partita::util::coding::put_varint;
use partita_fuzz::meter;

/// Ends a block that has one restart point.
fn with_one_restart(mut entries: Vec<u8>) -> Vec<u8> {
    entries.extend([0, 0, 0, 0, 1, 0, 0, 0]);
    entries
}

/// A block of `len` bytes whose first key takes half of it, and whose other entries share all of that.
fn long_key_shared_by_many(len: usize, first_value: &[u8], tail: &[u8], value: &[u8]) -> Vec<u8> {
    let key_len = len / 2;
    let mut out = Vec::new();
    for number in [0, key_len, first_value.len()] {
        put_varint(&mut out, number as u64);
    }
    out.extend(std::iter::repeat_n(b'k', key_len - tail.len()));
    out.extend_from_slice(tail);
    out.extend_from_slice(first_value);
    while out.len() < len {
        for number in [key_len - tail.len(), tail.len(), value.len()] {
            put_varint(&mut out, number as u64);
        }
        out.extend_from_slice(tail);
        out.extend_from_slice(value);
    }
    with_one_restart(out)
}

/// Memory that a block of so many bytes justifies once its keys are written out.
fn justified(len: usize) -> usize {
    (1 << 20) + 600 * len
}

#[test]
fn names_that_share_a_long_prefix_do_not_blow_up_a_metaindex() {
    let contents = long_key_shared_by_many(100_000, &[0, 0], b"n", &[0, 0]);
    let parsed = meter::within(justified(contents.len()), || Metaindex::parse(contents.clone()));
    assert!(parsed.unwrap_err().is_corruption());
}

#[test]
fn starts_that_share_a_long_prefix_do_not_blow_up_range_tombstones() {
    let contents = long_key_shared_by_many(100_000, b"z", &[0x0f, 1, 0, 0, 0, 0, 0, 0], b"z");
    let block = DataBlock::parse_data(contents.clone(), &KeyOrder::Bytewise).unwrap();
    let parsed = meter::within(justified(contents.len()), || {
        RangeTombstones::parse(&block, &KeyOrder::Bytewise, None)
    });
    assert!(parsed.unwrap_err().is_corruption());
}

#[test]
fn tombstones_that_all_overlap_take_less_than_their_square() {
    let count = 20_000u32;
    let mut out = Vec::new();
    let mut restarts = Vec::new();
    for i in 0..count {
        restarts.extend((out.len() as u32).to_le_bytes());
        out.extend([0, 12, 4]);
        out.extend(i.to_be_bytes());
        out.extend([0x0f, i as u8, (i >> 8) as u8, 0, 0, 0, 0, 0]);
        out.extend((u32::MAX - i).to_be_bytes());
    }
    out.extend(restarts);
    out.extend(count.to_le_bytes());
    let order = KeyOrder::Bytewise;
    let block = DataBlock::parse_data(out.clone(), &order).unwrap();
    let tombstones =
        meter::within(64 * out.len(), || RangeTombstones::parse(&block, &order, None).unwrap());
    assert_eq!(tombstones.fragment_count(), 2 * count as usize - 1);
    let innermost = count.to_be_bytes();
    assert_eq!(
        tombstones.covering_seqno(&innermost, SeqNo::MAX).unwrap().get(),
        u64::from(count - 1)
    );
    assert_eq!(tombstones.covering_seqno(&innermost, SeqNo::new(77).unwrap()).unwrap().get(), 77);
}

/// Restart points at every few bytes of one long run that reads as a whole entry from each of them.
///
/// Entries may not reach over a restart point, so only overlapping ones are so long: comparing all their keys takes
/// time in proportion to the square of the block.
#[test]
fn restart_points_inside_of_other_entries_are_refused() {
    let piece = [0u8, 0xa0, 0x1f, 0, b'x'];
    let reach = 0x1f << 7 | 0x20;
    let count = 1000u32;
    let mut out: Vec<u8> = piece.repeat(count as usize + reach / piece.len() + 2);
    out.extend((0..count).flat_map(|i| (piece.len() as u32 * i).to_le_bytes()));
    out.extend(count.to_le_bytes());
    let format = IndexFormat { user_keys: true, ..IndexFormat::default() };
    assert!(DataBlock::parse_meta(out.clone()).unwrap_err().is_corruption());
    assert!(IndexBlock::parse_index(out, format, &KeyOrder::Bytewise).is_err());
}

#[test]
fn a_block_of_one_interval_is_walked_backwards() {
    let count = 3000usize;
    let mut out = Vec::new();
    for i in 0..count {
        out.extend([0, 4, 0]);
        out.extend((i as u32).to_be_bytes());
    }
    let block = DataBlock::parse_meta(with_one_restart(out)).unwrap();
    let mut cursor = BlockCursor::new();
    cursor.seek_to_last(&block).unwrap();
    let mut seen = 0;
    while cursor.is_valid() {
        seen += 1;
        cursor.prev(&block).unwrap();
    }
    assert_eq!(seen, count);
}

#[test]
fn a_walk_backwards_does_not_keep_all_keys_of_an_interval() {
    let contents = long_key_shared_by_many(60_000, b"v", &[1, 7, 0, 0, 0, 0, 0, 0], b"v");
    let block = DataBlock::parse_data(contents.clone(), &KeyOrder::Bytewise).unwrap();
    let mut cursor = BlockCursor::new();
    meter::within(1 << 20, || {
        cursor.seek_to_last(&block).unwrap();
        for _ in 0..50 {
            cursor.prev(&block).unwrap();
            assert!(cursor.is_valid());
        }
    });
}
