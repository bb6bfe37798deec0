//! Filters: any bytes as a filter block, asked for any keys.
//!
//! * Every way to ask gives the answer of the slow model: one key, a batch, a piece of the block by its geometry, each
//!   set of instructions that this processor has.
//! * A piece lies in the block, before its metadata, and is never empty.

use partita::filter::{Filter, FilterImpl, FilterKind, FilterMeta, KeyHash, Probe};

use crate::choices::Choices;
use crate::meter;
use crate::models;

/// Asks the filter behind the keys.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let keys: Vec<&[u8]> = (0..choices.byte() % 48).map(|_| key(&mut choices)).collect();
    check(choices.rest(), &keys);
}

/// A key of few bytes mostly, as filters do not care for length.
fn key<'a>(choices: &mut Choices<'a>) -> &'a [u8] {
    let len = usize::from(choices.byte() % 24);
    choices.bytes(len)
}

/// Asks one filter block for keys, in every way there is.
pub fn check(block: &[u8], keys: &[&[u8]]) {
    let limit = block.len() + 4096 + 64 * keys.len();
    let filter = meter::within(limit, || Filter::parse(block));
    assert!(filter.memory_bytes() <= block.len() + 1024);
    let hashes: Vec<KeyHash<'_>> = keys.iter().map(|key| KeyHash::new(key)).collect();
    let expected: Vec<bool> =
        keys.iter().map(|key| models::filter::may_contain(block, key)).collect();

    let metadata = block.last_chunk().copied().unwrap_or_default();
    for path in FilterImpl::available() {
        let filter = Filter::parse(block).with_impl(path);
        let meta = FilterMeta::parse(block.len(), metadata).with_impl(path);
        assert_eq!(meta.kind(), filter.kind());
        let mut answers = vec![false; keys.len()];
        filter.may_contain_batch(&hashes, &mut answers);
        assert_eq!(answers, expected, "{path}, a batch");
        for (hash, &expected) in hashes.iter().zip(&expected) {
            filter.prefetch(hash);
            assert_eq!(filter.may_contain(hash), expected, "{path}, one key");
            assert_eq!(piecewise(&meta, hash, block), expected, "{path}, a piece");
        }
    }
    match filter.kind() {
        FilterKind::Empty => assert!(!expected.contains(&true)),
        FilterKind::AlwaysTrue => assert!(!expected.contains(&false)),
        _ => {}
    }
}

fn piecewise(meta: &FilterMeta, key: &KeyHash<'_>, block: &[u8]) -> bool {
    match meta.probe(key) {
        Probe::Known(answer) => answer,
        Probe::Bytes(range) => {
            assert!(!range.is_empty());
            assert!(range.end + FilterMeta::LEN <= block.len(), "{range:?} of {}", block.len());
            meta.may_contain(key, &block[range])
        }
    }
}

/// Keys and short filters of every kind, reserved ones too.
pub fn seeds() -> Vec<Vec<u8>> {
    let metadata: [[u8; 5]; 9] = [
        [0xff, 0, 6, 0, 0],
        [0xff, 1, 6, 0, 0],
        [0xff, 0, 0x26, 0, 0],
        [0xfe, 7, 2, 0, 0],
        [0xfe, 7, 0, 0, 1],
        [6, 3, 0, 0, 0],
        [127, 1, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [0x80, 0, 6, 0, 0],
    ];
    let mut seeds = Vec::new();
    for metadata in metadata {
        for len in [0, 64, 192, 200] {
            let bits = (0..len).map(|i| if i % 3 == 0 { 0x5a } else { 0xff });
            let keys =
                [&[4, 0, 1][..], b"a", &[5], b"apple", &[20], b"twenty bytes of a key"].concat();
            seeds.push(keys.into_iter().chain(bits).chain(metadata).collect());
        }
    }
    seeds
}
