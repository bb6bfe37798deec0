//! What a writer writes.

use fastrand::Rng;

use crate::state::{Order, State};
use crate::step::{Change, Durability, Op, Row, Slot, Step};

/// How large that gets which a script leaves behind.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Keys in each family that are written again and again; as many at most that are put once.
    pub keys: usize,
    /// Bytes of the largest values.
    pub value_bytes: usize,
}

impl Size {
    /// A few dozen rows.
    pub const SMALL: Self = Self { keys: 40, value_bytes: 900 };
    /// Some thousands, of some megabytes.
    pub const LARGE: Self = Self { keys: 4000, value_bytes: 4000 };
}

/// The batches and files of one writer, drawn from a seed: always the same ones, in the same order.
///
/// * Its keys begin with its number, and nobody else writes any of them.
/// * Each round leaves its number behind, in every family.
#[derive(Clone, Debug)]
pub struct Script {
    number: u8,
    ingests: bool,
    size: Size,
    random: Rng,
    order: Order,
    round: u32,
    /// Keys that were put once, to be deleted singly.
    once: Vec<(Slot, Vec<u8>)>,
    /// What it leaves behind, up to its round.
    pub state: State,
}

impl Script {
    /// The script of this number; every second round of it ingests files, if `ingests`.
    pub fn new(seed: u64, number: u8, ingests: bool, order: Order, size: Size) -> Self {
        Self {
            number,
            ingests,
            size,
            random: Rng::with_seed(seed.wrapping_mul(100) + u64::from(number)),
            order,
            round: 0,
            once: Vec::new(),
            state: State::new(order),
        }
    }

    /// Its number.
    pub fn number(&self) -> u8 {
        self.number
    }

    /// Rounds drawn so far.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// The key under which the number of a round stands.
    pub fn round_key(number: u8) -> Vec<u8> {
        format!("w{number:02}round").into_bytes()
    }

    /// Goes on to the state after this round.
    pub fn advance_to(&mut self, round: u32) {
        while self.round < round {
            self.draw();
        }
    }

    /// The next round.
    pub fn draw(&mut self) -> Step {
        self.round += 1;
        let step =
            if self.ingests && self.round.is_multiple_of(2) { self.files() } else { self.batch() };
        self.state.apply(&step);
        step
    }

    /// A key that is written again and again.
    pub fn key(&self, at: usize) -> Vec<u8> {
        format!("w{:02}key{:05}", self.number, at % self.size.keys).into_bytes()
    }

    fn draw_key(&mut self) -> Vec<u8> {
        let at = self.random.usize(..self.size.keys);
        self.key(at)
    }

    fn value(&mut self) -> Vec<u8> {
        let most = if self.random.usize(..8) == 0 { self.size.value_bytes } else { 60 };
        let padding = self.random.usize(..most);
        let mut value = format!("{}/{}/", self.number, self.round).into_bytes();
        value.resize(value.len() + padding, b'a' + (self.round % 26) as u8);
        value
    }

    fn slot(&mut self) -> Slot {
        Slot(self.random.u8(..Slot::RESIDENTS))
    }

    fn batch(&mut self) -> Step {
        let mut changes = Vec::new();
        for slot in Slot::residents() {
            let (key, value) = (Self::round_key(self.number), self.round.to_string());
            changes.push(Change { slot, op: Op::Put(key, value.into_bytes()) });
        }
        for _ in 0..self.random.usize(1..8) {
            let slot = self.slot();
            let op = self.op(slot);
            changes.push(Change { slot, op });
        }
        let durability =
            if self.random.usize(..8) == 0 { Durability::Synced } else { Durability::Logged };
        Step::Write(changes, durability)
    }

    fn op(&mut self, slot: Slot) -> Op {
        match self.random.usize(..20) {
            0..10 => Op::Put(self.draw_key(), self.value()),
            10..13 => Op::Merge(self.draw_key(), format!("{}", self.round).into_bytes()),
            13..16 => Op::Delete(self.draw_key()),
            16 => {
                let from = self.random.usize(..self.size.keys);
                let to = (from + self.random.usize(..self.size.keys / 4)).min(self.size.keys - 1);
                let (low, high) = (self.key(from), self.key(to));
                match self.order {
                    Order::Forward => Op::DeleteRange(low, high),
                    Order::Reverse => Op::DeleteRange(high, low),
                }
            }
            17 if !self.once.is_empty() => {
                let at = self.random.usize(..self.once.len());
                match self.once[at].0 == slot {
                    true => Op::SingleDelete(self.once.swap_remove(at).1),
                    false => Op::Delete(self.draw_key()),
                }
            }
            _ => {
                let drawn = self.random.u16(..);
                let key = format!("w{:02}once{:06}.{drawn}", self.number, self.round).into_bytes();
                let is_new = !self.once.iter().any(|(_, other)| *other == key);
                if is_new && self.once.len() < self.size.keys {
                    self.once.push((slot, key.clone()));
                    Op::Put(key, self.value())
                } else {
                    Op::Put(self.draw_key(), self.value())
                }
            }
        }
    }

    fn files(&mut self) -> Step {
        let mut files = Vec::new();
        for slot in Slot::residents() {
            let round = self.round.to_string().into_bytes();
            let mut rows: Vec<Row> = vec![(Self::round_key(self.number), round)];
            for _ in 0..self.random.usize(1..8) {
                rows.push((self.draw_key(), self.value()));
            }
            rows.sort();
            rows.dedup_by(|one, other| one.0 == other.0);
            if self.order == Order::Reverse {
                rows.reverse();
            }
            files.push((slot, rows));
        }
        Step::Ingest(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_the_same_each_time_and_leaves_its_round_behind() {
        for ingests in [false, true] {
            let new = || Script::new(7, 3, ingests, Order::Forward, Size::SMALL);
            let (mut one, mut other) = (new(), new());
            let steps: Vec<Step> = (0..50).map(|_| one.draw()).collect();
            other.advance_to(50);
            assert_eq!(one.state, other.state);
            let ingested = steps.iter().filter(|step| matches!(step, Step::Ingest(_))).count();
            assert_eq!(ingested, if ingests { 25 } else { 0 });
            for slot in Slot::residents() {
                assert_eq!(one.state.get(slot, &Script::round_key(3)), Some(&b"50"[..]));
                assert!(one.state.rows(slot).iter().all(|(key, _)| key.starts_with(b"w03")));
            }
        }
    }

    #[test]
    fn what_is_deleted_singly_was_put_once() {
        let mut script = Script::new(1, 0, false, Order::Forward, Size::SMALL);
        let (mut puts, mut deleted) = (Vec::new(), 0);
        for _ in 0..2000 {
            let Step::Write(changes, _) = script.draw() else { unreachable!("it only writes") };
            for Change { slot, op } in changes {
                match op {
                    Op::Put(key, _) => puts.push((slot, key)),
                    Op::SingleDelete(key) => {
                        let same = |put: &&(Slot, Vec<u8>)| **put == (slot, key.clone());
                        assert_eq!(puts.iter().filter(same).count(), 1);
                        deleted += 1;
                    }
                    _ => {}
                }
            }
        }
        assert!(deleted > 20, "{deleted}");
    }
}
