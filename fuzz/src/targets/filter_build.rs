//! Filters built for any keys under any policy.
//!
//! * No key that was added is ever denied, whatever the kind.
//! * The length that the builder foretells is the block's; the bits do not depend on the instructions.
//! * A partition cut at the number of entries that fit does not outgrow its length.

use partita::filter::{Filter, FilterBuilder, FilterImpl, FilterKind, FilterLevel, FilterPolicy};

use super::filter_bytes::check;
use crate::choices::Choices;

/// Builds the filter that the first bytes ask for, of keys made from the rest.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let bits_per_key = f64::from(choices.word() % 10_200) / 100.0;
    let policy = if choices.flag() {
        FilterPolicy::Bloom { bits_per_key }
    } else {
        let bloom_before_level = i32::from(choices.byte() % 4) - 1;
        FilterPolicy::Ribbon { bits_per_key, bloom_before_level }
    };
    let level = choices.pick(&[FilterLevel::Unknown, FilterLevel::Flush, FilterLevel::Level(0)]);
    let format_version = u32::from(choices.byte() % 8);
    let prefixes = choices.flag();
    let times = 1 + u32::from(choices.byte() % 32);
    let piece_len = usize::from(choices.word() % 8192);
    let keys = keys(choices, times);

    let Some(builder) = FilterBuilder::new(&policy, format_version, level) else {
        assert!(bits_per_key < 0.5, "{policy} at {format_version} is no filter");
        return;
    };
    let plain = build(builder, FilterImpl::plain(), &keys, prefixes);
    for path in FilterImpl::available() {
        let builder = FilterBuilder::new(&policy, format_version, level).expect("as above");
        assert_eq!(build(builder, path, &keys, prefixes), plain, "{path}");
    }
    let borrowed: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    if keys.len() < 100 {
        check(&plain, &borrowed);
    }
    assert_eq!(Filter::parse(&plain).kind() == FilterKind::Empty, keys.is_empty());

    let builder = FilterBuilder::new(&policy, format_version, level).expect("as above");
    fits(builder, piece_len, format!("{policy} at version {format_version}"));
}

/// Keys that share prefixes: each piece of the input with so many numbers behind it.
fn keys(mut choices: Choices<'_>, times: u32) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    while !choices.is_empty() && keys.len() < 3000 {
        let len = usize::from(choices.byte() % 32);
        let piece = choices.bytes(len);
        let numbered = |n: u32| [piece, &n.to_be_bytes()[..]].concat();
        keys.push(piece.to_vec());
        keys.extend((1..times).map(numbered));
    }
    keys.sort();
    keys
}

fn build(builder: FilterBuilder, path: FilterImpl, keys: &[Vec<u8>], prefixes: bool) -> Vec<u8> {
    let mut builder = builder.with_impl(path);
    for key in keys {
        match key.get(..3) {
            Some(prefix) if prefixes => builder.add_key_and_prefix(key, prefix),
            _ => builder.add_key(key),
        }
    }
    let foretold = builder.block_len();
    let block = builder.finish();
    assert!(builder.is_empty());
    let filter = Filter::parse(&block).with_impl(path);
    let unsolved = matches!(filter.kind(), FilterKind::Bloom { .. });
    assert!(block.len() == foretold || unsolved, "{} bytes, {foretold} foretold", block.len());
    for key in keys {
        let denied = |key| !filter.may_contain(&partita::filter::KeyHash::new(key));
        assert!(!denied(key), "{:?} denies a key", filter.kind());
        assert!(!prefixes || key.len() < 3 || !denied(&key[..3]), "a prefix is denied");
    }
    block
}

/// A block of as many entries as fit is not longer than asked for, unless nothing fits.
fn fits(mut builder: FilterBuilder, len: usize, what: String) {
    let entries = builder.entries_that_fit(len);
    assert!(entries > 0);
    if entries > 20_000 {
        return;
    }
    for i in 0..entries as u64 {
        builder.add_key(&i.to_be_bytes());
    }
    // A length that takes no key grows until it does.
    let room = if len < 600 { len * 2 + 600 } else { len };
    assert!(builder.block_len() <= room, "{what}: {entries} entries in {len} bytes");
}

/// Each kind, with few and with many keys.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for bits in [40u16, 100, 1000, 2350, 9999] {
        for bloom in [0, 1] {
            for version in [2, 5] {
                for times in [0, 3, 31] {
                    let [low, high] = bits.to_le_bytes();
                    let keys = [&[5][..], b"apple", &[4], b"pear", &[0], &[6], b"banana"].concat();
                    let header = [low, high, bloom, 0, 0, version, times % 2, times, 0, 16];
                    seeds.push([&header[..], &keys, &[9; 300]].concat());
                }
            }
        }
    }
    seeds
}
