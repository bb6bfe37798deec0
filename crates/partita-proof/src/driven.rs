//! Partita with background jobs that a seed lets run between the steps of a history: the same each time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use partita::io::{FileSystem, ManualClock, ManualScheduler, Scheduler};
use partita::{Error, Result};

use crate::options::OptionSet;
use crate::ours::{Ours, Place};
use crate::state::Order;
use crate::step::{Row, Slot, Step};
use crate::subject::Subject;

/// The directory of databases in memory.
pub const DIR: &str = "/proof/db";

/// A place in a file system in memory, whose jobs run when `scheduler` is told so.
pub fn place(
    fs: Arc<dyn FileSystem>,
    scheduler: &Arc<ManualScheduler>,
    order: Order,
    options: Vec<OptionSet>,
) -> Place {
    Place {
        fs,
        dir: PathBuf::from(DIR),
        scheduler: Some(Arc::<ManualScheduler>::clone(scheduler)),
        clock: Some(Arc::new(ManualClock::default())),
        order,
        options,
    }
}

/// Partita with jobs that run between steps, some at a time.
#[derive(Debug)]
pub struct Driven {
    /// Partita.
    pub ours: Ours,
    scheduler: Arc<ManualScheduler>,
    turns: Rng,
}

impl Driven {
    /// * `seed`: of how many jobs run when.
    pub fn new(ours: Ours, scheduler: Arc<ManualScheduler>, seed: u64) -> Self {
        Self { ours, scheduler, turns: Rng::with_seed(seed) }
    }

    /// Lets some jobs run.
    pub fn let_jobs_run(&mut self) {
        if self.turns.usize(..8) == 0 {
            self.scheduler.pass(Duration::from_secs(1));
        }
        for _ in 0..self.turns.usize(..4) {
            self.scheduler.run_waiting();
        }
    }
}

impl Subject for Driven {
    type Error = Error;

    fn apply(&mut self, step: &Step) -> Result<()> {
        self.ours.apply(step)?;
        self.let_jobs_run();
        Ok(())
    }

    fn slots(&self) -> Vec<Slot> {
        self.ours.slots()
    }

    fn rows(&self, slot: Slot, snapshot: Option<u32>, backward: bool) -> Result<Vec<Row>> {
        self.ours.rows(slot, snapshot, backward)
    }

    fn get(&self, slot: Slot, snapshot: Option<u32>, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.ours.get(slot, snapshot, key)
    }

    fn multi_get(&self, slot: Slot, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.ours.multi_get(slot, keys)
    }

    fn floor(&self, slot: Slot, key: &[u8]) -> Option<Result<Option<Row>>> {
        self.ours.floor(slot, key)
    }
}
