//! Random walks over random trees.

use std::ops::Bound;
use std::sync::Arc;

use partita::iter::{Bounds, VisibleOptions};
use partita::key::{KeyOrder, LookupKey, PrefixExtractor};
use partita::merge::{StringAppend, Verdict, VersionWalk};
use proptest::prelude::*;
use proptest::sample::select;

use super::history::{Write, range_heavy_write, replay, user_key, write};
use super::sources::{Source, iterator, memtable, run, seqno};

#[derive(Clone, Debug)]
enum Move {
    First,
    Last,
    Seek(Vec<u8>),
    SeekForPrev(Vec<u8>),
    Next,
    Prev,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    MemTable,
    Table,
    Level,
}

/// A part of the history and where it is: the kind of source, and where its tables are cut.
#[derive(Clone, Debug)]
struct Segment {
    kind: Kind,
    writes: Vec<Write>,
    cuts: Vec<usize>,
}

fn segment() -> impl Strategy<Value = Segment> {
    let kind = select(vec![Kind::MemTable, Kind::Table, Kind::Level, Kind::Level]);
    let writes = prop_oneof![
        prop::collection::vec(write(), 1..40),
        prop::collection::vec(range_heavy_write(), 1..60),
    ];
    (kind, writes, prop::collection::vec(0usize..40, 0..5))
        .prop_map(|(kind, writes, cuts)| Segment { kind, writes, cuts })
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        1 => Just(Move::First),
        1 => Just(Move::Last),
        2 => user_key().prop_map(Move::Seek),
        2 => user_key().prop_map(Move::SeekForPrev),
        6 => Just(Move::Next),
        6 => Just(Move::Prev),
    ];
    prop::collection::vec(one, 1..60)
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        3 => Just(Bound::Unbounded),
        1 => user_key().prop_map(Bound::Included),
        1 => user_key().prop_map(Bound::Excluded),
    ]
}

fn build(segments: &[Segment], order: &KeyOrder) -> Vec<Source> {
    let mut first = 1;
    segments
        .iter()
        .map(|segment| {
            let source = match segment.kind {
                Kind::MemTable => Source::MemTable(memtable(first, &segment.writes, order)),
                Kind::Table => Source::Table(run(first, &segment.writes, order, &[])),
                Kind::Level => {
                    Source::Level(Arc::new(run(first, &segment.writes, order, &segment.cuts)))
                }
            };
            first += segment.writes.len();
            source
        })
        .collect()
}

/// A walk over a sorted list, by the same moves.
struct Model<'l> {
    shown: Vec<&'l (Vec<u8>, Vec<u8>)>,
    order: &'l KeyOrder,
    at: Option<usize>,
}

impl Model<'_> {
    fn apply(&mut self, step: &Move) {
        let count = self.shown.len();
        let before = |key: &[u8]| {
            self.shown.partition_point(|entry| self.order.compare(&entry.0, key).is_lt())
        };
        let up_to = |key: &[u8]| {
            self.shown.partition_point(|entry| self.order.compare(&entry.0, key).is_le())
        };
        self.at = match step {
            Move::First => Some(0),
            Move::Last => count.checked_sub(1),
            Move::Seek(key) => Some(before(key)),
            Move::SeekForPrev(key) => up_to(key).checked_sub(1),
            Move::Next => self.at.map(|at| at + 1),
            Move::Prev => self.at.and_then(|at| at.checked_sub(1)),
        }
        .filter(|at| *at < count);
    }
}

pub(crate) fn options(order: &KeyOrder, read: usize, bounds: Bounds) -> VisibleOptions {
    VisibleOptions {
        bounds: Arc::new(bounds),
        merge_operator: Some(Arc::new(StringAppend::new(*b","))),
        ..VisibleOptions::new(order.clone(), seqno(read))
    }
}

fn cases() -> u32 {
    std::env::var("CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(192)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn a_walk_shows_what_the_history_comes_to(
        segments in prop::collection::vec(segment(), 1..6),
        reads in prop::collection::vec(0.0f64..=1.0, 1..4),
        walks in prop::collection::vec((moves(), bound(), bound()), 1..4),
        reverse in any::<bool>(),
    ) {
        let order = if reverse { KeyOrder::ReverseBytewise } else { KeyOrder::Bytewise };
        let sources = build(&segments, &order);
        let history: Vec<&Write> = segments.iter().flat_map(|segment| &segment.writes).collect();
        for (share, (moves, lower, upper)) in reads.iter().zip(&walks) {
            let read = (share * history.len() as f64).round() as usize;
            let bounds = Bounds { lower: lower.clone(), upper: upper.clone() };
            let all = replay(history[..read].iter().copied(), &order);
            let shown: Vec<_> =
                all.iter().filter(|entry| bounds.contains(&order, &entry.0)).collect();
            let mut iter = iterator(&sources, options(&order, read, bounds));
            let mut model = Model { shown, order: &order, at: None };
            for (at, step) in moves.iter().enumerate() {
                match step {
                    Move::First => iter.seek_to_first(),
                    Move::Last => iter.seek_to_last(),
                    Move::Seek(key) => iter.seek(key),
                    Move::SeekForPrev(key) => iter.seek_for_prev(key),
                    Move::Next => iter.next(),
                    Move::Prev => iter.prev(),
                }
                .unwrap();
                model.apply(step);
                let there = iter.is_valid().then(|| (iter.key(), iter.value()));
                let expected = model.at.map(|at| model.shown[at]);
                let expected = expected.map(|(key, value)| (&key[..], &value[..]));
                prop_assert_eq!(there, expected, "move {} ({:?}) at {}", at, step, read);
            }
        }
    }

    #[test]
    fn a_prefix_is_kept_to(
        segments in prop::collection::vec(segment(), 1..4),
        targets in prop::collection::vec((user_key(), any::<bool>()), 1..8),
    ) {
        let order = KeyOrder::Bytewise;
        let sources = build(&segments, &order);
        let history: Vec<&Write> = segments.iter().flat_map(|segment| &segment.writes).collect();
        let all = replay(history.iter().copied(), &order);
        let extractor = PrefixExtractor::Fixed(1);
        let options = VisibleOptions {
            same_prefix: Some(extractor.clone()),
            ..options(&order, history.len(), Bounds::default())
        };
        let mut iter = iterator(&sources, options);
        for (target, forward) in &targets {
            let prefix = extractor.prefix(target);
            let same = |key: &[u8]| prefix.is_none() || extractor.prefix(key) == prefix;
            let mut expected: Vec<_> = match forward {
                true => all.iter().filter(|entry| entry.0 >= *target && same(&entry.0)).collect(),
                false => all.iter().rev().filter(|entry| entry.0 <= *target && same(&entry.0)).collect(),
            };
            expected.reverse();
            if *forward { iter.seek(target) } else { iter.seek_for_prev(target) }.unwrap();
            while iter.is_valid() {
                prop_assert_eq!(Some(iter.key()), expected.pop().map(|entry| &entry.0[..]));
                if *forward { iter.next() } else { iter.prev() }.unwrap();
            }
            prop_assert!(expected.is_empty());
        }
    }

    #[test]
    fn gets_from_memtables_agree(
        segments in prop::collection::vec(prop::collection::vec(write(), 1..40), 1..4),
        share in 0.0f64..=1.0,
        reverse in any::<bool>(),
    ) {
        let order = if reverse { KeyOrder::ReverseBytewise } else { KeyOrder::Bytewise };
        let history: Vec<&Write> = segments.iter().flatten().collect();
        let read = (share * history.len() as f64).round() as usize;
        let all = replay(history[..read].iter().copied(), &order);
        let mut first = 1;
        let mut memtables = Vec::new();
        for writes in &segments {
            memtables.insert(0, memtable(first, writes, &order));
            first += writes.len();
        }
        let operator = StringAppend::new(*b",");
        let mut walk = VersionWalk::default();
        for key in history.iter().flat_map(|write| match write {
            Write::Put(key, _)
            | Write::Merge(key, _)
            | Write::Delete(key)
            | Write::SingleDelete(key) => vec![key],
            Write::DeleteRange(start, end) => vec![start, end],
        }) {
            walk.reset();
            let mut verdict = Verdict::Continue;
            for memtable in &memtables {
                verdict = memtable.get(&LookupKey::new(key, seqno(read)), &mut walk).unwrap();
                if verdict != Verdict::Continue {
                    break;
                }
            }
            let base = if let Verdict::Base(base) = verdict { Some(base) } else { None };
            let mut found = base.map(<[u8]>::to_vec);
            if walk.has_operands() {
                let mut merged = Vec::new();
                walk.merge(Some(&operator), key, base, &mut merged).unwrap();
                found = Some(merged);
            }
            let expected = all.iter().find(|entry| entry.0 == *key).map(|entry| entry.1.clone());
            prop_assert_eq!(found, expected);
        }
    }
}
