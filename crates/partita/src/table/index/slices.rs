//! An index of one block, cut at restart points into pieces of about 4 KiB.
//!
//! ```text
//! | entries of piece 0 | entries of piece 1 | ... | restart 0 | ... | restart n-1 | n |      in the file
//! |<--- interval ---->|<- interval ->|  ...
//!
//! | entries of piece 1 | restart 0 | ... | k |                                            in memory: a block of its own
//! ```
//!
//! Entries at restart points share nothing and have their handles in full, so a piece needs nothing of what stands
//! before it. Its own restart array is made from its entries: all that share nothing.
//!
//! The block is read once as a whole, when the table's index is first used; then its checksum is verified, the pieces'
//! last keys become the top level, and a sum of each piece is kept. A piece that was evicted is read alone, if the block
//! is stored without compression, and verified by its sum. Otherwise the block is read and decompressed again as a
//! whole: for an index of 100 KiB some 100 us. Then the other pieces go into the cache, too, unless the index is more
//! than a small part of the budget.

use std::ops::Range;

use super::separators::{Separators, SeparatorsBuilder};
use crate::error::Result;
use crate::key::KeyOrder;
use crate::table::block::{IndexFormat, IndexWalk};

/// Bytes of a piece in memory, about.
const PIECE_LEN: usize = 4096;
/// A block of no more than this stays whole.
const WHOLE_LEN_MAX: usize = 2 * PIECE_LEN;

/// A block's pieces.
#[derive(Debug)]
pub(crate) struct Cuts {
    pub(crate) separators: Separators,
    /// Where the entries of each stand in the block.
    pub(crate) ranges: Vec<Range<usize>>,
}

/// Finds the pieces of a block; `None` if it stays whole.
pub(crate) fn cut(contents: &[u8], format: IndexFormat, order: &KeyOrder) -> Result<Option<Cuts>> {
    if contents.len() <= WHOLE_LEN_MAX {
        return Ok(None);
    }
    let mut walk = IndexWalk::new(contents, format)?;
    let mut keys = walk.key_budget();
    let mut separators = SeparatorsBuilder::new(format, order);
    let mut ranges = Vec::new();
    let (mut start, mut restarts, mut end) = (0, 0, 0);
    while walk.advance()? {
        restarts += usize::from(walk.stands_alone());
        end = walk.entry_end();
        if walk.ends_interval() && end - start + restarts * size_of::<u32>() >= PIECE_LEN {
            keys.spend(walk.key())?;
            separators.push(&walk);
            ranges.push(start..end);
            (start, restarts) = (end, 0);
        }
    }
    if start < end {
        keys.spend(walk.key())?;
        separators.push(&walk);
        ranges.push(start..end);
    }
    Ok((ranges.len() > 1).then(|| Cuts { separators: separators.finish(), ranges }))
}

/// Makes the entries of a piece a block.
pub(crate) fn block_of(entries: &[u8], format: IndexFormat) -> Result<Vec<u8>> {
    let mut restarts: Vec<u8> = Vec::new();
    let mut walk = IndexWalk::of_entries(entries, format);
    while walk.advance()? {
        if walk.stands_alone() {
            restarts.extend_from_slice(&(walk.entry_start() as u32).to_le_bytes());
        }
    }
    let count = (restarts.len() / size_of::<u32>()) as u32;
    Ok([entries, &restarts, &count.to_le_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::BlockHandle;
    use crate::table::block::IndexBlock;
    use crate::util::coding::put_varint;

    const FORMATS: [IndexFormat; 2] = [
        IndexFormat { user_keys: true, delta_values: true, first_keys: false },
        IndexFormat { user_keys: true, delta_values: false, first_keys: false },
    ];

    fn handle(number: usize) -> BlockHandle {
        BlockHandle { offset: 1005 * number as u64, size: 1000 }
    }

    fn encode(count: usize, restart_interval: usize, format: IndexFormat) -> Vec<u8> {
        let (mut block, mut restarts, mut previous) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..count {
            let key = format!("key{number:06}").into_bytes();
            let is_restart = number % restart_interval == 0;
            if is_restart {
                restarts.extend_from_slice(&(block.len() as u32).to_le_bytes());
            }
            let shared = key.iter().zip(&previous).take_while(|(a, b)| a == b).count();
            let shared = if is_restart { 0 } else { shared };
            let mut value = Vec::new();
            match format.delta_values && !is_restart {
                true => value.push(0),
                false => handle(number).encode_to(&mut value),
            }
            put_varint(&mut block, shared as u64);
            put_varint(&mut block, (key.len() - shared) as u64);
            if !format.delta_values {
                put_varint(&mut block, value.len() as u64);
            }
            block.extend_from_slice(&key[shared..]);
            block.extend_from_slice(&value);
            previous = key;
        }
        let count = restarts.len() as u32 / 4;
        [block, restarts, count.to_le_bytes().to_vec()].concat()
    }

    #[test]
    fn pieces_hold_the_entries_of_the_block_between_their_separators() {
        for format in FORMATS {
            for restart_interval in [1, 4, 16, 1000] {
                let block = encode(5000, restart_interval, format);
                let order = KeyOrder::Bytewise;
                let Cuts { separators, ranges } = cut(&block, format, &order).unwrap().unwrap();
                assert_eq!(separators.user_key(ranges.len()), b"");
                assert!(ranges.len() > 3 && ranges[0].start == 0);
                let mut number = 0;
                for (at, range) in ranges.iter().enumerate() {
                    let limit = if restart_interval < 1000 { 4096 + 600 } else { 20_000 };
                    let piece = block_of(&block[range.clone()], format).unwrap();
                    assert!(piece.len() <= limit, "{} bytes", piece.len());
                    let piece = IndexBlock::parse_index(piece, format, &order).unwrap();
                    let mut last = Vec::new();
                    piece
                        .for_each(|cursor| {
                            assert_eq!(cursor.key(), format!("key{number:06}").as_bytes());
                            assert_eq!(cursor.state().handle, handle(number));
                            let piece = separators.locate(&order, cursor.key(), u64::MAX);
                            assert_eq!(piece, at);
                            last = cursor.key().to_vec();
                            number += 1;
                            Ok(())
                        })
                        .unwrap();
                    assert_eq!(separators.user_key(at), last);
                }
                assert_eq!(number, 5000);
            }
        }
    }

    #[test]
    fn a_small_block_and_one_of_a_single_interval_stay_whole() {
        for format in FORMATS {
            let order = KeyOrder::Bytewise;
            assert!(cut(&encode(200, 1, format), format, &order).unwrap().is_none());
            assert!(cut(&encode(5000, 5000, format), format, &order).unwrap().is_none());
        }
    }

    #[test]
    fn a_damaged_block_is_not_cut() {
        let mut block = encode(5000, 16, FORMATS[0]);
        let restart = block.len() - 8;
        block[restart] ^= 1;
        assert!(cut(&block, FORMATS[0], &KeyOrder::Bytewise).unwrap_err().is_corruption());
    }
}
