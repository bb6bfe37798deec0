//! Blocks: a plain writer of every layout, and a list of entries as the model of a block.

use std::cmp::Ordering;

use partita::key::KeyOrder;
use partita::table::BlockHandle;
use partita::table::block::IndexFormat;
use partita::util::coding::{put_length_prefixed, put_varint, put_zigzag};

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// How a block is written.
#[derive(Clone, Copy, Debug)]
pub struct BlockLayout {
    /// Entries from one restart point to the next, at least 1.
    pub restart_interval: usize,
    /// Whether keys leave out what they share with the one before.
    pub shares_prefixes: bool,
    /// Whether values stand behind all keys.
    pub separated_values: bool,
    /// Buckets of a hash index, if there is one.
    pub hash_buckets: Option<u8>,
    /// The hint for interpolation search.
    pub uniform: bool,
}

/// Writes a data block of these entries.
pub fn write_data_block(entries: &[Entry], layout: BlockLayout) -> Vec<u8> {
    let (mut out, mut values, mut restarts) = (vec![], vec![], vec![]);
    let mut previous: &[u8] = &[];
    for (i, (key, value)) in entries.iter().enumerate() {
        let restart = i % layout.restart_interval == 0;
        let shared = if restart || !layout.shares_prefixes { 0 } else { shared_len(previous, key) };
        if restart {
            restarts.push(out.len() as u32);
        }
        put_varint(&mut out, shared as u64);
        put_varint(&mut out, (key.len() - shared) as u64);
        put_varint(&mut out, value.len() as u64);
        if restart && layout.separated_values {
            put_varint(&mut out, values.len() as u64);
        }
        out.extend_from_slice(&key[shared..]);
        if layout.separated_values { &mut values } else { &mut out }.extend_from_slice(value);
        previous = key;
    }
    if entries.is_empty() {
        restarts.push(0);
    }
    let values_at = out.len() as u32;
    out.extend_from_slice(&values);
    let count = restarts.len() as u32;
    out.extend(restarts.iter().flat_map(|restart| restart.to_le_bytes()));
    let mut word = count;
    if let Some(buckets) = layout.hash_buckets {
        // Readers may ignore it, so what is in the buckets must not matter.
        out.extend((0..buckets).map(|bucket| bucket.wrapping_mul(67)));
        out.extend(u16::from(buckets).to_le_bytes());
        word |= 1 << 31;
    }
    if layout.separated_values {
        out.extend(values_at.to_le_bytes());
        word |= 1 << 28;
    }
    if layout.uniform {
        word |= 1 << 29;
    }
    out.extend(word.to_le_bytes());
    out
}

/// Bytes that two keys have in common at the start.
pub fn shared_len(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The order of a block's keys.
pub fn compare(order: &KeyOrder, internal_keys: bool, a: &[u8], b: &[u8]) -> Ordering {
    if internal_keys { order.compare_internal(a, b) } else { order.compare(a, b) }
}

/// An index entry: separator, handle, and the first key of the block if the index has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// In the form of the index's keys.
    pub separator: Vec<u8>,
    /// Where the block is.
    pub handle: BlockHandle,
    /// The first key of the block.
    pub first_key: Vec<u8>,
}

/// Writes an index block of these entries. With delta-encoded values a handle is written in full where the key shares
/// nothing; elsewhere it must follow the one before.
pub fn write_index_block(
    entries: &[IndexEntry],
    format: IndexFormat,
    restart_interval: usize,
) -> Vec<u8> {
    let (mut out, mut restarts) = (vec![], vec![]);
    let mut previous: Option<&IndexEntry> = None;
    for (i, entry) in entries.iter().enumerate() {
        let restart = i % restart_interval == 0;
        if restart {
            restarts.push(out.len() as u32);
        }
        let before = previous.filter(|_| !restart);
        let shared = before.map_or(0, |before| shared_len(&before.separator, &entry.separator));
        let mut value = Vec::new();
        match before {
            Some(before) if format.delta_values && shared > 0 => {
                put_zigzag(&mut value, entry.handle.size as i64 - before.handle.size as i64);
            }
            _ => entry.handle.encode_to(&mut value),
        }
        if format.first_keys {
            put_length_prefixed(&mut value, &entry.first_key);
        }
        put_varint(&mut out, shared as u64);
        put_varint(&mut out, (entry.separator.len() - shared) as u64);
        if !format.delta_values {
            put_varint(&mut out, value.len() as u64);
        }
        out.extend_from_slice(&entry.separator[shared..]);
        out.extend_from_slice(&value);
        previous = Some(entry);
    }
    if entries.is_empty() {
        restarts.push(0);
    }
    out.extend(restarts.iter().flat_map(|restart| restart.to_le_bytes()));
    out.extend((restarts.len() as u32).to_le_bytes());
    out
}
