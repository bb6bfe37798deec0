//! What is written into a database in the course of its life, and what it should hold.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::Row;
use crate::db::Op;
use crate::random::Random;
use crate::setups::{FAMILIES, Setup};
use crate::whole::Change;

/// Keys that are written again and again.
const KEYS: usize = 1200;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A seeded history of one database.
#[derive(Clone, Debug)]
pub struct History {
    /// Choices of whoever takes a turn.
    pub random: Random,
    is_reverse: bool,
    adds_numbers: bool,
    /// Whether merge operands and single deletions may be among the changes.
    pub plain_changes_only: bool,
    models: Vec<Model>,
    /// Keys that were put once, to be deleted singly.
    once: Vec<Vec<Vec<u8>>>,
    /// Numbers given out.
    numbers: u32,
}

impl History {
    /// An empty database.
    pub fn new(setup: &Setup, seed: u64) -> Self {
        Self {
            random: Random(seed),
            is_reverse: setup.is_reverse(),
            adds_numbers: setup.adds_numbers(),
            plain_changes_only: false,
            models: vec![Model::new(); FAMILIES.len()],
            once: vec![Vec::new(); FAMILIES.len()],
            numbers: 0,
        }
    }

    /// The rows of a family, in its order.
    pub fn rows(&self, family: usize) -> Vec<Row> {
        let mut rows: Vec<Row> = self.models[family].clone().into_iter().collect();
        if self.is_reverse {
            rows.reverse();
        }
        rows
    }

    /// The rows of all families.
    pub fn all_rows(&self) -> Vec<Vec<Row>> {
        (0..FAMILIES.len()).map(|family| self.rows(family)).collect()
    }

    /// The value of a key.
    pub fn get(&self, family: usize, key: &[u8]) -> Option<&[u8]> {
        self.models[family].get(key).map(Vec::as_slice)
    }

    /// The next batch, which now counts as written.
    pub fn next_batch(&mut self) -> Vec<Change> {
        let count = 1 + self.random.below(12);
        (0..count).map(|_| self.next_change()).collect()
    }

    fn next_change(&mut self) -> Change {
        let family = self.random.below(FAMILIES.len());
        let op = self.next_op(family);
        self.apply(family, &op);
        Change { family, op }
    }

    fn next_op(&mut self, family: usize) -> Op {
        let at = self.random.below(KEYS);
        match self.random.below(100) {
            0..12 => Op::Delete(key(at)),
            12..26 if !self.plain_changes_only => {
                let operand = self.value(20);
                Op::Merge(key(at), operand)
            }
            26..28 => {
                let to = at + 1 + self.random.below(60);
                let (low, high) = (key(at), key(to));
                if self.is_reverse {
                    Op::DeleteRange(high, low)
                } else {
                    Op::DeleteRange(low, high)
                }
            }
            28..34 => {
                // Some of them long after they were put.
                let old = self.random.below(3) == 0;
                if old
                    && !self.plain_changes_only
                    && let Some(key) = self.once[family].pop()
                {
                    return Op::SingleDelete(key);
                }
                let key = format!("o{:05}", self.number()).into_bytes();
                let place = self.random.below(self.once[family].len() + 1);
                self.once[family].insert(place, key.clone());
                Op::Put(key, self.value(40))
            }
            // In order, so that tables of them overlap with none.
            34..46 => {
                Op::Put(format!("sequence{:08}", self.number()).into_bytes(), self.value(120))
            }
            _ => Op::Put(key(at), self.value(160)),
        }
    }

    fn number(&mut self) -> u32 {
        self.numbers += 1;
        self.numbers
    }

    fn value(&mut self, most: usize) -> Vec<u8> {
        if self.adds_numbers {
            return (self.random.below(1 << 30) as u64).to_le_bytes().into();
        }
        let mut value = self.random.bytes(most / 2);
        // Half of it is something to compress.
        value.extend(b"partita ".iter().cycle().take(value.len()));
        value
    }

    fn apply(&mut self, family: usize, op: &Op) {
        let (is_reverse, adds_numbers) = (self.is_reverse, self.adds_numbers);
        let model = &mut self.models[family];
        match op {
            Op::Put(key, value) => drop(model.insert(key.clone(), value.clone())),
            Op::Delete(key) | Op::SingleDelete(key) => drop(model.remove(key)),
            Op::Merge(key, operand) => match model.get_mut(key) {
                None => drop(model.insert(key.clone(), operand.clone())),
                Some(value) if adds_numbers => {
                    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
                    *value = number(value).wrapping_add(number(operand)).to_le_bytes().into();
                }
                Some(value) => value.extend([b",", &operand[..]].concat()),
            },
            Op::DeleteRange(begin, end) => {
                let order = |a: &[u8], b: &[u8]| if is_reverse { b.cmp(a) } else { a.cmp(b) };
                let is_before = |a: &[u8], b: &[u8]| order(a, b) == Ordering::Less;
                model.retain(|key, _| is_before(key, begin) || !is_before(key, end));
            }
            Op::Snapshot => unreachable!("histories take none"),
        }
    }
}

/// One of [`KEYS`] keys, and more behind them: most of one length, some longer, with the bytes at either end.
pub fn key(at: usize) -> Vec<u8> {
    let mut key = format!("key{at:05}").into_bytes();
    match at % 11 {
        3 => key.push(0),
        7 => key.extend([0xff, 0xff]),
        _ => {}
    }
    key
}
