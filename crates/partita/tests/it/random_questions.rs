//! Random tables asked at random: any key at any sequence number, and one iterator moved in any order.
//!
//! `builder_model` asks for what is there, in a fixed order. Here keys and sequence numbers lie between those of the
//! table, blocks and partitions are so small that the versions of one key go over their borders, and what an iterator
//! answers may not depend on how it came there.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use partita::iter::InternalIterator;
use partita::key::{Comparator, InternalKey, KeyOrder, SeqNo, ValueType};
use partita::options::TableOptions;
use partita::table::{Candidates, FoundEntry, LookupKey, ReadContext, TableReader};
use partita_testkit::table_check::entry_at;
use proptest::prelude::*;
use proptest::sample::select;

use crate::builder_model::{build, entries, options, sorted, user_key};

/// Options of `builder_model`, and data blocks moved to borders in the file.
fn placed_options() -> impl Strategy<Value = TableOptions> {
    (options(), 0..4u8).prop_map(|(mut options, placement)| {
        let is_plain = !options.compression.uses_dictionary();
        match placement {
            0 if is_plain => {
                options.compression.kind = partita::util::compression::CompressionType::None;
                options.block_size = options.block_size.next_power_of_two();
                options.block_align = true;
            }
            1 => {
                options.super_block_alignment_size = 512;
                options.super_block_alignment_space_overhead_ratio = 4;
            }
            _ => (),
        }
        options
    })
}

/// An order in which prefixes are no intervals, with separators of its own: short keys first.
#[derive(Debug)]
struct ShortestFirst;

impl Comparator for ShortestFirst {
    fn name(&self) -> &str {
        "test.ShortestFirst"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.len().cmp(&b.len()).then_with(|| a.cmp(b))
    }

    fn shorten_separator(&self, key: &mut Vec<u8>, limit: &[u8]) {
        if key.len() < limit.len() {
            key.fill(0xff);
        }
    }

    fn shorten_successor(&self, key: &mut Vec<u8>) {
        key.fill(0xff);
    }
}

#[derive(Clone, Debug)]
enum Move {
    First,
    Last,
    Next,
    Prev,
    Seek(Vec<u8>, u64),
    SeekForPrev(Vec<u8>, u64),
}

fn orders() -> impl Strategy<Value = KeyOrder> {
    select(vec![
        KeyOrder::Bytewise,
        KeyOrder::ReverseBytewise,
        KeyOrder::Custom(Arc::new(ShortestFirst)),
    ])
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        1 => Just(Move::First),
        1 => Just(Move::Last),
        5 => Just(Move::Next),
        5 => Just(Move::Prev),
        3 => (user_key(), 0u64..32).prop_map(|(key, seqno)| Move::Seek(key, seqno)),
        3 => (user_key(), 0u64..32).prop_map(|(key, seqno)| Move::SeekForPrev(key, seqno)),
    ];
    prop::collection::vec(one, 200)
}

/// A table and the list it was made of.
struct Model {
    table: Arc<TableReader>,
    order: KeyOrder,
    sorted: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Model {
    fn new(options: TableOptions, order: KeyOrder, sorted: Vec<(Vec<u8>, Vec<u8>)>) -> Self {
        let (table, _) = build(options, &order, &sorted);
        Self { table, order, sorted }
    }

    fn pair(&self, at: Option<usize>) -> Option<(&[u8], &[u8])> {
        let (key, value) = self.sorted.get(at?)?;
        Some((key, value))
    }

    fn first_not_before(&self, target: &[u8]) -> usize {
        self.sorted.partition_point(|(key, _)| self.order.compare_internal(key, target).is_lt())
    }

    /// What of `user_key` a reader at `seqno` sees, newest first.
    fn visible<'m>(
        &'m self,
        user_key: &'m [u8],
        seqno: u64,
    ) -> impl Iterator<Item = (SeqNo, ValueType, &'m [u8])> {
        self.sorted.iter().filter_map(move |(key, value)| {
            let key = InternalKey::decode(key).unwrap();
            (key.user_key == user_key && key.seqno.get() <= seqno).then_some((
                key.seqno,
                key.value_type,
                &value[..],
            ))
        })
    }

    fn ask(&self, user_key: &[u8], seqno: u64) {
        let ctx = &mut ReadContext::default();
        let key = LookupKey::new(user_key, SeqNo::new(seqno).unwrap());
        let found = self.table.get(&key, ctx).unwrap();
        let found = found.as_ref().map(|entry| (entry.seqno, entry.value_type, &entry.value[..]));
        assert_eq!(found, self.visible(user_key, seqno).next(), "{user_key:02x?}@{seqno}");

        let mut versions = self.table.versions(&key, ctx).unwrap();
        for expected in self.visible(user_key, seqno) {
            let found = versions.next_entry().unwrap().unwrap();
            assert_eq!((found.seqno, found.value_type, &found.value[..]), expected);
        }
        assert!(versions.next_entry().unwrap().is_none(), "{user_key:02x?}@{seqno}");
    }

    /// Floors and ceilings against the list of what is visible.
    fn ask_neighbors(&self, user_key: &[u8], seqno: u64) {
        let ctx = &mut ReadContext::default();
        let as_of = SeqNo::new(seqno).unwrap();
        let mut newest: Vec<(InternalKey<'_>, &[u8])> = Vec::new();
        for (key, value) in &self.sorted {
            let key = InternalKey::decode(key).unwrap();
            let is_older = newest
                .last()
                .is_some_and(|(last, _)| self.order.compare(last.user_key, key.user_key).is_eq());
            if key.seqno <= as_of && !is_older {
                newest.push((key, value));
            }
        }
        let before = |included: bool| {
            newest.partition_point(|(key, _)| match self.order.compare(key.user_key, user_key) {
                Ordering::Equal => included,
                other => other.is_lt(),
            })
        };
        for (bound, floor, ceil) in [
            (Bound::Included(user_key), before(true), before(false)),
            (Bound::Excluded(user_key), before(false), before(true)),
            (Bound::Unbounded, newest.len(), 0),
        ] {
            let expected = [floor.checked_sub(1), Some(ceil)].map(|at| newest.get(at?).copied());
            let found =
                [self.table.get_floor(bound, as_of, ctx), self.table.get_ceil(bound, as_of, ctx)];
            for (found, expected) in found.into_iter().zip(expected) {
                let found = found.unwrap();
                let parts = found.as_ref().map(|found| {
                    let entry = &found.entry;
                    let key = InternalKey::new(&found.user_key, entry.seqno, entry.value_type);
                    (key, &entry.value[..])
                });
                assert_eq!(parts, expected, "{bound:02x?}@{seqno}");
            }
        }
    }

    /// All keys at once, as of different times, like one after another; and the first of two tables that has a key.
    fn ask_together(&self, user_keys: &[&[u8]]) {
        let ctx = &mut ReadContext::default();
        let seqno = |number: usize| SeqNo::new(number as u64 * 7 % 33).unwrap();
        let keys: Vec<LookupKey<'_>> = user_keys
            .iter()
            .enumerate()
            .map(|(number, user_key)| LookupKey::new(user_key, seqno(number)))
            .collect();
        let found = self.table.multi_get(&keys, ctx).unwrap();
        let parts = |entry: &FoundEntry| (entry.seqno, entry.value_type, entry.value.to_vec());
        for (key, found) in keys.iter().zip(&found) {
            let expected = self.table.get(key, ctx).unwrap();
            assert_eq!(found.as_ref().map(parts), expected.as_ref().map(parts), "{key:?}");

            let tables = [&*self.table, &*self.table];
            let mut candidates = Candidates::new(&tables, *key);
            for at in 0..2 {
                let next = candidates.next_entry(ctx).unwrap();
                let expected = expected.as_ref().map(|entry| (at, parts(entry)));
                assert_eq!(next.as_ref().map(|(at, entry)| (*at, parts(entry))), expected);
            }
            assert!(candidates.next_entry(ctx).unwrap().is_none());
        }
    }

    /// A filter may not rule out the prefix of a key that is there, wherever among its keys the question starts.
    fn ask_prefix(&self, options: &TableOptions, user_key: &[u8]) {
        if matches!(self.order, KeyOrder::Custom(_)) {
            return;
        }
        let Some(extractor) = &options.prefix_extractor else { return };
        let Some(prefix) = extractor.prefix(user_key) else { return };
        let is_there = self.sorted.iter().any(|(key, _)| {
            let other = InternalKey::decode(key).unwrap().user_key;
            extractor.prefix(other) == Some(prefix) && self.order.compare(other, user_key).is_ge()
        });
        let may = self.table.prefix_may_match(user_key, &mut ReadContext::default()).unwrap();
        assert!(may || !is_there, "{user_key:02x?}");
    }

    fn ask_offsets(&self, mut user_keys: Vec<&[u8]>) {
        user_keys.sort_by(|a, b| self.order.compare(a, b));
        let ctx = &mut ReadContext::default();
        let offsets: Vec<u64> = user_keys
            .iter()
            .map(|user_key| self.table.approximate_offset_of(user_key, ctx).unwrap())
            .collect();
        assert!(offsets.is_sorted(), "{user_keys:02x?}: {offsets:?}");
    }

    fn walk(&self, moves: &[Move]) {
        let mut iter = self.table.iter();
        let mut at: Option<usize> = None;
        let len = self.sorted.len();
        let target =
            |key: &[u8], seqno| InternalKey::for_seek(key, SeqNo::new(seqno).unwrap()).encode();
        for (number, step) in moves.iter().enumerate() {
            match step {
                Move::First => {
                    iter.seek_to_first().unwrap();
                    at = Some(0);
                }
                Move::Last => {
                    iter.seek_to_last().unwrap();
                    at = len.checked_sub(1);
                }
                // Behind either end an iterator stands nowhere and stays there.
                Move::Next => {
                    iter.next().unwrap();
                    at = at.filter(|at| *at < len).map(|at| at + 1);
                }
                Move::Prev => {
                    iter.prev().unwrap();
                    at = at.filter(|at| *at < len).and_then(|at| at.checked_sub(1));
                }
                Move::Seek(key, seqno) => {
                    let target = target(key, *seqno);
                    iter.seek(&target).unwrap();
                    at = Some(self.first_not_before(&target));
                }
                Move::SeekForPrev(key, seqno) => {
                    let target = target(key, *seqno);
                    iter.seek_for_prev(&target).unwrap();
                    let behind = self.sorted.partition_point(|(key, _)| {
                        self.order.compare_internal(key, &target).is_le()
                    });
                    at = behind.checked_sub(1);
                }
            }
            assert_eq!(entry_at(&iter), self.pair(at), "move {number}: {step:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("CASES").map_or(96, |cases| cases.parse().unwrap())
    ))]

    #[test]
    fn every_question_is_answered_as_from_the_sorted_list(
        options in placed_options(),
        entries in entries(),
        order in orders(),
        others in prop::collection::vec(user_key(), 20),
        moves in moves(),
    ) {
        options.validate().unwrap();
        let model = Model::new(options.clone(), order.clone(), sorted(entries, &order));
        let present = model.sorted.iter().map(|(key, _)| InternalKey::decode(key).unwrap().user_key);
        let user_keys: Vec<&[u8]> = present.chain(others.iter().map(|key| &key[..])).collect();
        for (number, user_key) in user_keys.iter().enumerate() {
            for seqno in (number as u64 % 3..32).step_by(3) {
                model.ask(user_key, seqno);
            }
            model.ask_neighbors(user_key, number as u64 * 5 % 33);
            model.ask_prefix(&options, user_key);
        }
        model.ask_together(&user_keys);
        model.ask_offsets(user_keys);
        model.walk(&moves);
    }
}
