//! Histories, drawn from a seed.

use std::collections::BTreeMap;

use fastrand::Rng;

use crate::state::{Model, Order};
use crate::step::{Change, Durability, LastLevel, Op, Row, Slot, Step, epoch_prefix};

/// What a history may hold.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Plan {
    /// How many steps, without those that check.
    pub steps: usize,
    /// Steps from one check to the next; 0: only at the end.
    pub check_every: usize,
    /// The order of keys.
    pub order: Order,
    /// Keys that are written again and again.
    pub keys: usize,
    /// Whether there are writes that no log has. Before a kill all is flushed then.
    pub unlogged: bool,
    /// Whether the process is killed now and then.
    pub kills: bool,
    /// Whether it is closed and opened again.
    pub reopens: bool,
    /// Whether families come and go.
    pub guests: bool,
    /// Whether there are external files.
    pub ingests: bool,
    /// Whether epochs are purged.
    pub purges: bool,
    /// Whether there are exports and checkpoints.
    pub copies: bool,
    /// Whether there are snapshots.
    pub snapshots: bool,
}

impl Plan {
    /// Everything, in so many steps.
    pub fn everything(steps: usize) -> Self {
        Self {
            steps,
            check_every: 40,
            order: Order::Forward,
            keys: 240,
            unlogged: true,
            kills: true,
            reopens: true,
            guests: true,
            ingests: true,
            purges: true,
            copies: true,
            snapshots: true,
        }
    }
}

/// The steps of the history with this seed; the last one checks. The same plan and seed give the same steps.
pub fn history(seed: u64, plan: &Plan) -> Vec<Step> {
    Writer::new(seed, *plan).write()
}

/// What is known of an epoch: how many keys of it were put, in which family.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    slot: Slot,
    incarnation: u32,
    keys: u32,
}

impl Epoch {
    const KEYS_MOST: u32 = 60;
    /// In place of a number of keys: it gets no more.
    const PURGED: u32 = u32::MAX;
}

struct Writer {
    plan: Plan,
    random: Rng,
    model: Model,
    steps: Vec<Step>,
    /// Keys that were put once, to be deleted singly, by family and its incarnation.
    once: BTreeMap<(Slot, u32), Vec<Vec<u8>>>,
    /// By number.
    epochs: Vec<Epoch>,
    /// Numbers given out.
    numbers: u32,
    unlogged: bool,
}

impl Writer {
    fn new(seed: u64, plan: Plan) -> Self {
        Self {
            plan,
            random: Rng::with_seed(seed),
            model: Model::new(plan.order),
            steps: Vec::new(),
            once: BTreeMap::new(),
            epochs: Vec::new(),
            numbers: 0,
            unlogged: false,
        }
    }

    fn write(mut self) -> Vec<Step> {
        for at in 1..=self.plan.steps {
            self.draw_step();
            if self.plan.check_every > 0 && at % self.plan.check_every == 0 {
                self.push(Step::Check);
            }
        }
        if self.steps.last() != Some(&Step::Check) {
            self.push(Step::Check);
        }
        self.steps
    }

    fn push(&mut self, step: Step) {
        self.model.apply(&step);
        self.steps.push(step);
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.usize(..bound)
    }

    fn draw_step(&mut self) {
        let plan = self.plan;
        match self.below(100) {
            0..3 => {
                let slot = (self.below(2) == 0).then(|| self.slot());
                self.flush(slot);
            }
            3 => self.push(Step::SyncLog),
            4..7 => self.compact(),
            7..10 if plan.ingests => self.ingest(),
            10..12 if plan.purges => self.purge(),
            12..16 if plan.snapshots => self.snapshot(),
            16..18 if plan.guests => self.come_or_go(),
            18 if plan.copies => self.push(Step::Checkpoint),
            19 if plan.copies && plan.guests => self.copy(),
            20 if plan.reopens => {
                let options = self.below(1 << 20);
                // A close flushes nothing: what no log has would be lost.
                self.flush_unlogged();
                self.push(Step::Reopen(options));
            }
            21 if plan.kills => {
                self.flush_unlogged();
                let options = self.below(1 << 20);
                self.push(Step::Kill(options));
            }
            _ => self.write_batch(),
        }
    }

    fn slot(&mut self) -> Slot {
        let slots: Vec<Slot> = self.model.state.slots().collect();
        slots[self.below(slots.len())]
    }

    fn flush(&mut self, slot: Option<Slot>) {
        self.unlogged &= slot.is_some();
        self.push(Step::Flush(slot));
    }

    fn flush_unlogged(&mut self) {
        if self.unlogged {
            self.flush(None);
        }
    }

    fn write_batch(&mut self) {
        let most = if self.below(30) == 0 { 60 } else { 6 };
        let count = 1 + self.below(most);
        let mut changes = Vec::with_capacity(count);
        for _ in 0..count {
            let slot = self.slot();
            let op = self.op(slot);
            // What the batch has done so far counts for what it does next.
            self.model.state.apply(&Step::write_one(slot, op.clone(), Durability::Logged));
            changes.push(Change { slot, op });
        }
        let durability = match self.below(12) {
            0..3 => Durability::Synced,
            3 if self.plan.unlogged => Durability::Unlogged,
            _ => Durability::Logged,
        };
        self.unlogged |= durability == Durability::Unlogged;
        self.steps.push(Step::Write(changes, durability));
    }

    fn op(&mut self, slot: Slot) -> Op {
        match self.below(100) {
            0..12 => Op::Delete(self.key()),
            12..24 => Op::Merge(self.key(), self.value(20)),
            24..28 => {
                let [begin, end] = self.range();
                Op::DeleteRange(begin, end)
            }
            28..32 => self.put_once(slot),
            32..35 => match self.once_of(slot).pop() {
                Some(key) => Op::SingleDelete(key),
                None => self.put_once(slot),
            },
            35..50 if self.plan.purges => {
                let key = self.epoch_key(slot);
                Op::Put(key, self.value(100))
            }
            _ => Op::Put(self.key(), self.value(120)),
        }
    }

    fn once_of(&mut self, slot: Slot) -> &mut Vec<Vec<u8>> {
        let incarnation = self.incarnation(slot);
        self.once.entry((slot, incarnation)).or_default()
    }

    fn incarnation(&self, slot: Slot) -> u32 {
        self.model.state.family(slot).map_or(0, |family| family.incarnation)
    }

    fn put_once(&mut self, slot: Slot) -> Op {
        self.numbers += 1;
        // No range and no other record gets at these keys.
        let key = format!("once{:06}", self.numbers).into_bytes();
        let count = self.once_of(slot).len();
        let place = self.below(count + 1);
        self.once_of(slot).insert(place, key.clone());
        Op::Put(key, self.value(30))
    }

    fn epoch_key(&mut self, slot: Slot) -> Vec<u8> {
        let incarnation = self.incarnation(slot);
        let is_open = |epoch: &Epoch| {
            epoch.slot == slot && epoch.incarnation == incarnation && epoch.keys < Epoch::KEYS_MOST
        };
        let number = self.epochs.iter().rposition(is_open).unwrap_or_else(|| {
            self.epochs.push(Epoch { slot, incarnation, keys: 0 });
            self.epochs.len() - 1
        });
        self.epochs[number].keys += 1;
        let mut key = epoch_prefix(number as u32);
        key.extend(self.epochs[number].keys.to_be_bytes());
        key
    }

    fn key(&mut self) -> Vec<u8> {
        key(self.random.usize(..self.plan.keys))
    }

    fn range(&mut self) -> [Vec<u8>; 2] {
        let at = self.below(self.plan.keys);
        let wide = if self.below(6) == 0 { self.plan.keys } else { 12 };
        let range = [key(at), key(at + self.below(wide + 1))];
        let [low, high] = if range[0] <= range[1] { range } else { [key(at), key(at)] };
        match self.plan.order {
            Order::Forward => [low, high],
            Order::Reverse => [high, low],
        }
    }

    fn value(&mut self, most: usize) -> Vec<u8> {
        let most = match self.below(400) {
            // Over several blocks of a log.
            0 => 70_000,
            1..5 => 3_000,
            _ => most,
        };
        let random = self.below(most / 2 + 1);
        let mut value: Vec<u8> = (0..random).map(|_| self.random.u8(..)).collect();
        // Half of it is something to compress.
        value.extend(b"partita ".iter().cycle().take(random));
        value
    }

    fn compact(&mut self) {
        let slot = self.slot();
        let [from, to] = self.range();
        let [from, to] = [from, to].map(|bound| (self.below(3) > 0).then_some(bound));
        let last_level = match self.below(4) {
            0 => LastLevel::Rewrite,
            1 => LastLevel::IfFilter,
            _ => LastLevel::Skip,
        };
        self.push(Step::Compact { slot, from, to, last_level });
    }

    fn ingest(&mut self) {
        let mut slots: Vec<Slot> = self.model.state.slots().collect();
        self.random.shuffle(&mut slots);
        slots.truncate(1 + usize::from(self.random.usize(..3) == 0));
        let files = slots.into_iter().map(|slot| (slot, self.external_rows())).collect();
        self.push(Step::Ingest(files));
    }

    fn external_rows(&mut self) -> Vec<Row> {
        let mut rows = BTreeMap::new();
        let start = self.below(self.plan.keys);
        let wide = if self.below(3) == 0 { self.plan.keys } else { 10 };
        for _ in 0..1 + self.below(40) {
            let key = key(start + self.random.usize(..wide));
            let value = self.value(60);
            rows.insert(key, value);
        }
        let rows = rows.into_iter();
        match self.plan.order {
            Order::Forward => rows.collect(),
            Order::Reverse => rows.rev().collect(),
        }
    }

    fn purge(&mut self) {
        let is_due = |epoch: &Epoch| (40..Epoch::PURGED).contains(&epoch.keys);
        let Some(number) = self.epochs.iter().position(is_due) else { return self.write_batch() };
        let Epoch { slot, incarnation, .. } = self.epochs[number];
        self.epochs[number].keys = Epoch::PURGED;
        if self.model.state.has(slot) && self.incarnation(slot) == incarnation {
            self.push(Step::Purge(slot, number as u32));
        }
    }

    fn snapshot(&mut self) {
        let held: Vec<u32> = self.model.snapshots().collect();
        if held.len() < 3 && self.below(2) == 0 {
            self.numbers += 1;
            self.push(Step::Snapshot(self.numbers));
        } else if let Some(number) = self.random.choice(held) {
            self.push(Step::Release(number));
        }
    }

    fn guest(&mut self) -> Slot {
        Slot(self.random.u8(Slot::RESIDENTS..Slot::COUNT))
    }

    fn come_or_go(&mut self) {
        let slot = self.guest();
        let step = if self.model.state.has(slot) { Step::Drop(slot) } else { Step::Create(slot) };
        self.push(step);
    }

    fn copy(&mut self) {
        let to = self.guest();
        if self.model.state.has(to) {
            return self.push(Step::Drop(to));
        }
        let from = self.slot();
        self.push(Step::Copy { from, to });
    }
}

/// One of the keys that are written again and again: most of one length, some longer, with the bytes at either end; one is
/// empty.
pub fn key(at: usize) -> Vec<u8> {
    if at == 0 {
        return Vec::new();
    }
    let mut key = format!("key{at:04}").into_bytes();
    match at % 11 {
        3 => key.push(0),
        7 => key.extend([0xff, 0xff]),
        _ => {}
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::State;

    #[test]
    fn the_same_seed_gives_the_same_history_and_another_one_another() {
        let plan = Plan::everything(200);
        assert_eq!(history(7, &plan), history(7, &plan));
        assert_ne!(history(7, &plan), history(8, &plan));
    }

    #[test]
    fn all_kinds_of_steps_are_drawn_and_can_be_done() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..20 {
            let plan = Plan {
                order: [Order::Forward, Order::Reverse][seed as usize % 2],
                ..Plan::everything(400)
            };
            let mut state = State::new(plan.order);
            for step in history(seed, &plan) {
                state.apply(&step);
                seen.insert(format!("{step:?}").split(' ').next().unwrap().to_owned());
            }
            assert!(state.rows(Slot::DEFAULT).len() > 50);
        }
        let all = [
            "check",
            "checkpoint",
            "compact",
            "copy",
            "create",
            "drop",
            "flush",
            "ingest",
            "kill,",
            "purge",
            "release",
            "reopen",
            "snapshot",
            "sync",
            "write",
        ];
        assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), all);
    }

    #[test]
    fn what_is_put_to_be_deleted_singly_is_put_once() {
        for seed in 0..20 {
            let mut there: BTreeMap<(Slot, Vec<u8>), usize> = BTreeMap::new();
            for step in history(seed, &Plan { guests: false, ..Plan::everything(400) }) {
                let Step::Write(changes, _) = step else { continue };
                for Change { slot, op } in changes {
                    match op {
                        Op::Put(key, _) if key.starts_with(b"once") => {
                            *there.entry((slot, key)).or_default() += 1;
                        }
                        Op::SingleDelete(key) => {
                            assert_eq!(there.remove(&(slot, key)), Some(1));
                        }
                        _ => {}
                    }
                }
            }
            assert!(there.values().all(|count| *count == 1));
        }
    }
}
