//! A history cut into turns, drawn from a seed.

use std::collections::BTreeSet;

use fastrand::Rng;
use partita_proof::history::{Plan, history};
use partita_proof::options::{Common, OptionSet, Readers};
use partita_proof::state::Order;
use partita_proof::step::{Durability, Step};

use super::Abilities;

/// How a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The database is closed.
    Close,
    /// The directory is copied while the database is open, and the copy is what counts from then on.
    Copy,
    /// The process is killed.
    Kill,
}

/// One engine's share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Which engine.
    pub engine: usize,
    /// Which option set.
    pub options: usize,
    /// What it does.
    pub steps: Vec<Step>,
    /// How it leaves.
    pub end: End,
}

/// Who takes part, and on what.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Seed of history and turns.
    pub seed: u64,
    /// Steps of the history.
    pub steps: usize,
    /// The order of keys.
    pub order: Order,
    /// The option sets.
    pub options: Vec<OptionSet>,
    /// Which of the engines take part, Partita first.
    pub roster: Vec<usize>,
}

impl Setting {
    /// That of a seed: every fourth goes backward, every third is universal.
    pub fn draw(seed: u64, steps: usize, roster: Vec<usize>, readers: Readers) -> Self {
        const OPTION_SETS: u64 = 5;
        let order = if seed % 4 == 3 { Order::Reverse } else { Order::Forward };
        let common = Common { order, is_universal: seed % 3 == 1, readers };
        let options = (0..OPTION_SETS).map(|at| OptionSet::draw((seed << 8) + at, common));
        Self { seed, steps, order, options: options.collect(), roster }
    }

    /// The turns.
    ///
    /// * `abilities`: of all engines.
    pub fn turns(&self, abilities: &[Abilities]) -> Vec<Turn> {
        let random = Rng::with_seed(self.seed ^ 0x7475_726e_7321);
        let mut cutter = Cutter {
            setting: self,
            abilities,
            random,
            turns: Vec::new(),
            left: 0,
            held: BTreeSet::new(),
            unlogged: false,
        };
        // The hand-overs are drawn here.
        let plan = Plan {
            check_every: 0,
            kills: false,
            reopens: false,
            order: self.order,
            ..Plan::everything(self.steps)
        };
        for step in history(self.seed, &plan) {
            cutter.add(step);
        }
        cutter.end_turn();
        cutter.turns
    }
}

struct Cutter<'s> {
    setting: &'s Setting,
    abilities: &'s [Abilities],
    random: Rng,
    turns: Vec<Turn>,
    /// Steps before the next hand-over.
    left: usize,
    /// Snapshots that the turn holds.
    held: BTreeSet<u32>,
    /// Whether there are writes that no log has.
    unlogged: bool,
}

impl Cutter<'_> {
    fn add(&mut self, step: Step) {
        let is_copy = matches!(step, Step::Copy { .. });
        // Who cannot export hands over to somebody who can.
        let can = |it: Abilities| it.exports || !is_copy;
        match self.turns.last() {
            None => self.begin_turn(|it| it.creates && can(it)),
            Some(turn) if self.left == 0 || !can(self.abilities[turn.engine]) => {
                self.begin_turn(can);
            }
            Some(_) => self.left -= 1,
        }
        let step = match step {
            // A snapshot that went with an earlier turn is taken again.
            Step::Release(number) if !self.held.contains(&number) => Step::Snapshot(number),
            step => step,
        };
        match &step {
            Step::Snapshot(number) => drop(self.held.insert(*number)),
            Step::Release(number) => drop(self.held.remove(number)),
            Step::Write(_, Durability::Unlogged) => self.unlogged = true,
            Step::Flush(None) => self.unlogged = false,
            _ => {}
        }
        self.push(step);
    }

    fn push(&mut self, step: Step) {
        self.turns.last_mut().expect("there is one from the first step on").steps.push(step);
    }

    fn end_turn(&mut self) {
        // What no log has would be lost.
        if std::mem::take(&mut self.unlogged) {
            self.push(Step::Flush(None));
        }
        self.held.clear();
    }

    fn begin_turn(&mut self, can: impl Fn(Abilities) -> bool) {
        let before = self.turns.last().map(|turn| turn.engine);
        if before.is_some() {
            self.end_turn();
        }
        let able = self.setting.roster.iter().copied().filter(|at| can(self.abilities[*at]));
        let able: Vec<usize> = able.collect();
        let draw = |random: &mut Rng| able[random.usize(..able.len())];
        let mut engine = draw(&mut self.random);
        if Some(engine) == before {
            // Now and then it is the same again.
            engine = draw(&mut self.random);
        }
        let end = match self.random.u8(..16) {
            0..8 => End::Close,
            8..15 => End::Copy,
            _ => End::Kill,
        };
        self.left = self.random.usize(10..40);
        let options = self.random.usize(..self.setting.options.len());
        self.turns.push(Turn { engine, options, steps: Vec::new(), end });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Abilities =
        Abilities { creates: true, exports: true, makes_files: true, is_in_process: true };

    #[test]
    fn turns_hold_the_whole_history_and_nobody_gets_what_he_cannot_do() {
        let late = Abilities { creates: false, exports: false, ..ALL };
        let (mut ends, mut engines) = (BTreeSet::new(), BTreeSet::new());
        for seed in 0..60 {
            let setting = Setting::draw(seed, 200, vec![0, 1, 2], Readers::Rocks78);
            let turns = setting.turns(&[ALL, Abilities { exports: false, ..ALL }, late]);
            assert_eq!(turns, setting.turns(&[ALL, Abilities { exports: false, ..ALL }, late]));
            assert!(turns[0].engine < 2);
            assert!(turns.iter().map(|turn| turn.steps.len()).sum::<usize>() > 200);
            for turn in &turns {
                let exports = turn.steps.iter().any(|step| matches!(step, Step::Copy { .. }));
                assert!(!exports || turn.engine == 0);
                ends.insert(format!("{:?}", turn.end));
                engines.insert(turn.engine);
            }
        }
        assert_eq!((ends.len(), engines.len()), (3, 3));
    }
}
