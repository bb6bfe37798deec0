//! Range deletion blocks, of any bytes and of any tombstones.
//!
//! * Whatever a reader asks, it is told what the plain list of tombstones says: the newest visible one that covers.
//! * Fragments are in order, do not overlap, and within one all keys have the same answers.
//! * `n` tombstones that all overlap take memory in proportion to `n log n`, not to its square, and keys cannot be
//!   blown up by what they share.

use partita::key::{InternalKey, KeyOrder, SeqNo, ValueType};
use partita::table::block::DataBlock;
use partita::table::{RangeTombstone, RangeTombstones};

use crate::choices::Choices;
use crate::meter;
use crate::models::block::{BlockLayout, Entry, write_data_block};
use crate::models::walk::forward;

/// Reads the block behind the questions and asks them.
pub fn run(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let order = if choices.flag() { KeyOrder::ReverseBytewise } else { KeyOrder::Bytewise };
    let global = if choices.flag() { SeqNo::new(u64::from(choices.byte())) } else { None };
    let questions = choices.short_bytes();
    let contents = if choices.flag() { written(choices) } else { choices.rest().to_vec() };

    // Each tombstone of a dozen bytes takes some 200 in memory, and its share of the tree.
    let limit = 64 * contents.len() + (64 << 10);
    let Ok(block) = DataBlock::parse_data(contents, &order) else { return };
    let parsed = meter::within(limit, || RangeTombstones::parse(&block, &order, global));
    let Ok(tombstones) = parsed else { return };
    let (entries, whole) = forward(&block, 1 << 20);
    assert!(whole, "tombstones out of a damaged block");
    let plain: Vec<RangeTombstone> = entries.iter().map(|entry| plain(entry, global)).collect();
    compare(&tombstones, &plain, &order, questions);
}

fn plain((key, value): &Entry, global: Option<SeqNo>) -> RangeTombstone {
    let key = InternalKey::decode(key).expect("it was decoded before");
    assert_eq!(key.value_type, ValueType::RangeDeletion);
    let seqno = global.filter(|_| key.seqno == SeqNo::ZERO).unwrap_or(key.seqno);
    RangeTombstone { start: key.user_key.to_vec(), end: value.clone(), seqno }
}

/// A block of tombstones over few keys, so that they overlap.
fn written(mut choices: Choices<'_>) -> Vec<u8> {
    let mut entries: Vec<Entry> = Vec::new();
    while !choices.is_empty() && entries.len() < 200 {
        let [start, end, seqno] = [(); 3].map(|()| choices.byte());
        let mut key = vec![start % 32; usize::from(start / 64)];
        key.extend([0x0f, seqno % 16, 0, 0, 0, 0, 0, 0]);
        entries.push((key, vec![end % 32; usize::from(end / 64)]));
    }
    let layout = BlockLayout {
        restart_interval: 1,
        shares_prefixes: false,
        separated_values: false,
        hash_buckets: None,
        uniform: false,
    };
    write_data_block(&entries, layout)
}

fn covering(plain: &[RangeTombstone], order: &KeyOrder, key: &[u8], read: SeqNo) -> Option<SeqNo> {
    let covers = |t: &&RangeTombstone| {
        order.compare(&t.start, key).is_le() && order.compare(key, &t.end).is_lt()
    };
    plain.iter().filter(covers).map(|t| t.seqno).filter(|seqno| *seqno <= read).max()
}

fn compare(
    tombstones: &RangeTombstones,
    plain: &[RangeTombstone],
    order: &KeyOrder,
    questions: &[u8],
) {
    let mut choices = Choices::new(questions);
    let mut keys: Vec<Vec<u8>> =
        plain.iter().take(24).flat_map(|t| [t.start.clone(), t.end.clone()]).collect();
    let mut reads = vec![SeqNo::MAX, SeqNo::ZERO];
    while !choices.is_empty() {
        reads.push(SeqNo::new(u64::from(choices.byte() % 18)).unwrap_or_default());
        keys.push(choices.short_bytes().to_vec());
    }
    reads.truncate(6);
    for key in &keys {
        for read in &reads {
            let told = tombstones.covering_seqno(key, *read);
            assert_eq!(told, covering(plain, order, key, *read), "{key:?} at {read}");
        }
    }
    fragments(tombstones, plain, order, &reads);
    if let [lower, .., upper] = &keys[..] {
        truncated(tombstones, plain, order, (lower, upper), &keys);
    }
}

fn fragments(
    tombstones: &RangeTombstones,
    plain: &[RangeTombstone],
    order: &KeyOrder,
    reads: &[SeqNo],
) {
    let count = tombstones.fragment_count();
    assert!(count <= 2 * plain.len());
    assert!(tombstones.fragment(count).is_none());
    for at in 0..count.min(40) {
        let fragment = tombstones.fragment(at).expect("it is below the count");
        assert!(order.compare(fragment.start, fragment.end).is_lt());
        assert_eq!(tombstones.fragment_of(fragment.start), Some(at));
        assert_ne!(tombstones.fragment_of(fragment.end), Some(at));
        for read in reads {
            let told = tombstones.covering_fragment(at, *read);
            assert_eq!(told, covering(plain, order, fragment.start, *read));
        }
    }
}

/// Cut to bounds, they say the same inside and nothing outside.
fn truncated(
    tombstones: &RangeTombstones,
    plain: &[RangeTombstone],
    order: &KeyOrder,
    (lower, upper): (&[u8], &[u8]),
    keys: &[Vec<u8>],
) {
    let cut = tombstones.truncated(Some(lower), Some(upper));
    for key in keys {
        let inside = order.compare(lower, key).is_le() && order.compare(key, upper).is_lt();
        let expected = if inside { covering(plain, order, key, SeqNo::MAX) } else { None };
        assert_eq!(
            cut.covering_seqno(key, SeqNo::MAX),
            expected,
            "{key:?} in {lower:?}..{upper:?}"
        );
    }
}

/// Nested, chained and equal ranges.
pub fn seeds() -> Vec<Vec<u8>> {
    let questions = [3, 2, b'b', b'c', 9, 1, 7, 16, 0];
    let mut seeds = Vec::new();
    for order in [0, 1] {
        for global in [&[0][..], &[1, 9]] {
            let header = [&[order], global, &[questions.len() as u8][..], &questions].concat();
            let nested: Vec<u8> = (0..30u8).flat_map(|i| [64 + i / 2, 127 - i / 2, i]).collect();
            let chained: Vec<u8> = (0..30u8).flat_map(|i| [64 + i, 66 + i, i % 3]).collect();
            let equal = [70, 80, 3].repeat(20);
            for body in [nested, chained, equal] {
                seeds.push([&header, &[1][..], &body].concat());
                seeds.push([&header, &[0][..], &written(Choices::new(&body))].concat());
            }
        }
    }
    seeds
}
