//! The judge against a model: for each snapshot and for the tip, a reader of the output and of what lies outside sees
//! what a reader of the input and of what lies outside saw.

use std::collections::BTreeMap;

use super::*;
use crate::merge::StringAppend;

/// Key, sequence number, type, value.
type Entry = (Vec<u8>, u64, ValueType, Vec<u8>);
/// Start, end, sequence number.
type Tombstone = (Vec<u8>, Vec<u8>, u64);

fn seqno(n: u64) -> SeqNo {
    SeqNo::new(n).unwrap()
}

#[derive(Clone, Default)]
struct Model {
    entries: Vec<Entry>,
    tombstones: Vec<Tombstone>,
}

impl Model {
    fn covering(&self, key: &[u8], visible: u64) -> u64 {
        let covers = |t: &&Tombstone| *t.0 <= *key && *key < *t.1 && t.2 <= visible;
        self.tombstones.iter().filter(covers).map(|t| t.2).max().unwrap_or(0)
    }

    /// What a reader at `visible` sees of the key, by the rules of point reads.
    fn get(&self, key: &[u8], visible: u64) -> Option<Vec<u8>> {
        let covered = self.covering(key, visible);
        let mut versions: Vec<&Entry> =
            self.entries.iter().filter(|e| e.0 == key && e.1 <= visible).collect();
        versions.sort_by_key(|e| std::cmp::Reverse(e.1));
        let mut operands: Vec<&[u8]> = Vec::new();
        let mut base = None;
        for (_, q, value_type, value) in versions {
            if *q < covered || value_type.is_deletion() {
                break;
            }
            if *value_type == ValueType::Value {
                base = Some(&value[..]);
                break;
            }
            operands.insert(0, value);
        }
        if operands.is_empty() {
            return base.map(<[u8]>::to_vec);
        }
        let mut out = Vec::new();
        StringAppend::new(",").full_merge(key, base, &operands, &mut out).unwrap();
        Some(out)
    }

    fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.tombstones.is_empty()
    }

    fn with(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.entries.extend(other.entries.iter().cloned());
        all.tombstones.extend(other.tombstones.iter().cloned());
        all
    }
}

struct Around<'m> {
    input: &'m Model,
    outside: &'m Model,
    stripes: &'m Stripes,
    /// Asked for keys in ascending order only.
    last: Vec<u8>,
}

impl Surroundings for Around<'_> {
    fn newest_tombstone(
        &mut self,
        entry: &InternalKey<'_>,
        stripe: usize,
    ) -> Result<Option<SeqNo>> {
        assert!(*self.last <= *entry.user_key);
        self.last = entry.user_key.to_vec();
        let visible = self.stripes.top(stripe);
        let newest = SeqNo::new(self.input.covering(entry.user_key, visible.get()));
        Ok(newest.filter(|t| t.get() > 0))
    }

    fn older_outside(&mut self, user_key: &[u8]) -> bool {
        self.outside.entries.iter().any(|e| e.0 == user_key)
    }
}

fn survive(
    input: &Model,
    outside: &Model,
    snapshots: &[u64],
    operator: bool,
    filter: Option<&dyn CompactionFilter>,
) -> (Model, Fates) {
    let stripes = Stripes::new(snapshots.iter().copied().map(seqno).collect());
    let append = StringAppend::new(",");
    let rules = Rules {
        order: &KeyOrder::Bytewise,
        stripes: &stripes,
        bottommost: outside.is_empty(),
        merge_operator: operator.then_some(&append),
        filter,
        level: 1,
    };
    let mut sorted = input.entries.clone();
    sorted.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    let mut written = Vec::new();
    let mut emit = |key: &[u8], value: &[u8]| {
        let key = InternalKey::decode(key)?;
        written.push((key.user_key.to_vec(), key.seqno.get(), key.value_type, value.to_vec()));
        Ok(())
    };
    let mut around = Around { input, outside, stripes: &stripes, last: Vec::new() };
    let mut survivors = Survivors::new(rules);
    for (key, q, value_type, value) in &sorted {
        let key = InternalKey::new(key, seqno(*q), *value_type).encode();
        survivors.offer(&key, value, &mut around, &mut emit).unwrap();
    }
    survivors.finish(&mut around, &mut emit).unwrap();
    let fates = *survivors.fates();
    assert_eq!((fates.offered, fates.written), (sorted.len() as u64, written.len() as u64));
    // Strictly ascending, but for sequence numbers zeroed in one key at the bottom, of which there is one.
    let in_order = |a: &Entry, b: &Entry| a.0 < b.0 || a.0 == b.0 && a.1 > b.1;
    assert!(written.windows(2).all(|pair| in_order(&pair[0], &pair[1])), "{written:?}");
    (Model { entries: written, tombstones: Vec::new() }, fates)
}

/// What may happen to a key without breaking the contract of single deletions.
#[derive(Clone, Copy, Default)]
struct History {
    /// Values since the last deletion that a single deletion could not cancel.
    puts: u32,
    merged: bool,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// A random legal history, as one list of entries and tombstones, oldest first.
fn history(random: &mut Random, operations: u64) -> Model {
    let mut model = Model::default();
    let mut states: BTreeMap<Vec<u8>, History> = BTreeMap::new();
    for q in 1..=operations {
        let key = vec![b'a' + random.below(3) as u8];
        let value = format!("v{q}").into_bytes();
        let state = states.entry(key.clone()).or_default();
        let (value_type, value) = match random.below(10) {
            0..4 => {
                state.puts += 1;
                (ValueType::Value, value)
            }
            4..6 => {
                state.merged = true;
                (ValueType::Merge, value)
            }
            6 => {
                let end = vec![key[0] + 1 + random.below(2) as u8];
                for (_, covered) in states.range_mut(key.clone()..end.clone()) {
                    // The values stay in the files, so a single deletion could meet any of them.
                    covered.merged |= covered.puts > 0;
                }
                model.tombstones.push((key, end, q));
                continue;
            }
            7 if state.puts == 1 && !state.merged => {
                state.puts = 0;
                (ValueType::SingleDeletion, Vec::new())
            }
            _ => {
                // From here on the key has had a deletion of the other kind: no more single ones.
                state.merged = true;
                (ValueType::Deletion, Vec::new())
            }
        };
        model.entries.push((key, q, value_type, value));
    }
    model
}

/// The history's newer part as input, its older part as what lies outside.
fn split(model: Model, at: u64) -> (Model, Model) {
    let (newer, older) = model.entries.into_iter().partition(|e| e.1 > at);
    let (newer_tombstones, older_tombstones) =
        model.tombstones.into_iter().partition(|t: &Tombstone| t.2 > at);
    (
        Model { entries: newer, tombstones: newer_tombstones },
        Model { entries: older, tombstones: older_tombstones },
    )
}

#[test]
fn readers_at_every_snapshot_see_what_they_saw() {
    let cases: u64 = std::env::var("CASES").map_or(20_000, |cases| cases.parse().unwrap());
    for case in 1..=cases {
        let mut random = Random(case.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let operations = 1 + random.below(24);
        let whole = history(&mut random, operations);
        let outside_until = random.below(2) * random.below(operations);
        let (input, outside) = split(whole, outside_until);
        let mut snapshots: Vec<u64> =
            (0..random.below(4)).map(|_| random.below(operations + 1)).collect();
        snapshots.sort_unstable();
        let operator = random.below(4) > 0;
        let (mut output, _) = survive(&input, &outside, &snapshots, operator, None);
        // At the bottom, tombstones that all snapshots see are not written again.
        let earliest = snapshots.first().copied().unwrap_or(u64::MAX);
        output.tombstones = input.tombstones.clone();
        if outside.is_empty() {
            output.tombstones.retain(|t| t.2 > earliest);
        }
        let (before, after) = (input.with(&outside), output.with(&outside));
        for visible in snapshots.iter().copied().chain([1000]) {
            for key in [b"a", b"b", b"c", b"d"] {
                assert_eq!(
                    before.get(key, visible),
                    after.get(key, visible),
                    "case {case}: key {:?} at {visible} of {snapshots:?}\nin {:?} {:?}\noutside {:?} {:?}\nout {:?}",
                    key[0] as char,
                    input.entries,
                    input.tombstones,
                    outside.entries,
                    outside.tombstones,
                    output.entries
                );
            }
        }
    }
}

fn input(entries: &[(u64, ValueType, &str)]) -> Model {
    let entries = entries
        .iter()
        .map(|(q, value_type, value)| (b"k".to_vec(), *q, *value_type, value.as_bytes().to_vec()))
        .collect();
    Model { entries, tombstones: Vec::new() }
}

fn written(model: &Model) -> Vec<(u64, ValueType, &str)> {
    model.entries.iter().map(|e| (e.1, e.2, str::from_utf8(&e.3).unwrap())).collect()
}

use ValueType::{Deletion, Merge, SingleDeletion, Value};

#[test]
fn at_the_bottom_nothing_is_left_but_values_without_numbers() {
    let input = input(&[(4, Value, "new"), (3, Value, "old"), (2, Deletion, ""), (1, Value, "1")]);
    let (output, fates) = survive(&input, &Model::default(), &[], true, None);
    assert_eq!(written(&output), [(0, Value, "new")]);
    assert_eq!(fates.obsolete, 3);
}

#[test]
fn a_deletion_stays_as_long_as_something_older_may_be_outside() {
    let deletion = input(&[(2, Deletion, "")]);
    let outside = input(&[(1, Value, "1")]);
    let (output, _) = survive(&deletion, &outside, &[], true, None);
    assert_eq!(written(&output), [(2, Deletion, "")]);
    let (output, _) = survive(&deletion, &Model::default(), &[1], true, None);
    assert_eq!(written(&output), []);
}

#[test]
fn a_single_deletion_cancels_one_value_of_its_stripe() {
    let pair = input(&[(4, SingleDeletion, ""), (3, Value, "3")]);
    let outside = input(&[(1, Value, "1")]);
    assert_eq!(written(&survive(&pair, &outside, &[], true, None).0), []);
    assert_eq!(
        written(&survive(&pair, &outside, &[3], true, None).0),
        [(4, SingleDeletion, ""), (3, Value, "3")]
    );
}

/// Were it dropped as hidden, the value outside would come back once another single deletion cancels the newer value.
#[test]
fn a_single_deletion_under_a_newer_value_stays() {
    let over = input(&[(5, Value, "5"), (4, SingleDeletion, "")]);
    let outside = input(&[(3, Value, "3")]);
    let (output, _) = survive(&over, &outside, &[], true, None);
    assert_eq!(written(&output), [(5, Value, "5"), (4, SingleDeletion, "")]);
}

/// cockroachdb/pebble#445: the deletion between two operands that a snapshot keeps apart.
#[test]
fn operands_are_not_merged_over_a_deletion_or_a_snapshot() {
    let entries = [(3, Merge, "5"), (2, Deletion, ""), (1, Merge, "1")];
    let (output, _) = survive(&input(&entries), &Model::default(), &[1], true, None);
    assert_eq!(written(&output), [(3, Value, "5"), (0, Value, "1")]);
    let apart = [(3, Merge, "3"), (2, Merge, "2"), (1, Merge, "1")];
    let (output, _) = survive(&input(&apart), &input(&[(0, Value, "0")]), &[1], true, None);
    assert_eq!(written(&output), [(3, Merge, "2,3"), (1, Merge, "1")]);
}

#[test]
fn without_an_operator_every_operand_stays_and_what_is_under_it() {
    let entries = [(3, Merge, "3"), (2, Merge, "2"), (1, Value, "1")];
    let (output, _) = survive(&input(&entries), &input(&[(0, Value, "0")]), &[], false, None);
    assert_eq!(written(&output), entries);
}

/// What a repair may find: a compaction's output beside its inputs.
#[test]
fn an_operand_that_stands_there_twice_counts_once_and_not_over_what_it_became() {
    let twice =
        [(3, Merge, "3"), (3, Merge, "3"), (2, Merge, "2"), (2, Value, "1,2"), (1, Merge, "1")];
    let (output, _) = survive(&input(&twice), &Model::default(), &[], true, None);
    assert_eq!(written(&output), [(0, Value, "1,2,3")]);
    let outside = input(&[(0, Value, "0")]);
    let (output, _) = survive(&input(&twice[..3]), &outside, &[], false, None);
    assert_eq!(written(&output), [(3, Merge, "3"), (2, Merge, "2")]);
}

#[derive(Debug)]
struct DropsShort;

impl CompactionFilter for DropsShort {
    fn name(&self) -> &str {
        "test.DropsShort"
    }

    fn filter(&self, _: u8, _: &[u8], _: ValueType, value: &[u8]) -> FilterDecision {
        match value {
            b"drop" => FilterDecision::Remove,
            b"change" => FilterDecision::Change(b"changed".to_vec()),
            _ => FilterDecision::Keep,
        }
    }
}

#[test]
fn the_filter_sees_the_newest_version_that_no_snapshot_needs() {
    let filter: Option<&dyn CompactionFilter> = Some(&DropsShort);
    let entries = [(3, Value, "drop"), (2, Value, "older")];
    let (output, fates) = survive(&input(&entries), &Model::default(), &[], true, filter);
    assert_eq!((written(&output), fates.filtered), (vec![], 1));
    // What is outside must not come to light.
    let outside = input(&[(1, Value, "1")]);
    let (output, _) = survive(&input(&entries), &outside, &[], true, filter);
    assert_eq!(written(&output), [(3, Deletion, "")]);
    // The snapshot's version stays.
    let (output, _) = survive(&input(&entries), &outside, &[3], true, filter);
    assert_eq!(written(&output), [(3, Value, "drop")]);
    let (output, _) = survive(&input(&[(3, Value, "change")]), &outside, &[], true, filter);
    assert_eq!(written(&output), [(3, Value, "changed")]);
}
