//! One history under many option sets: whatever the files look like and however little memory there is, the answers are the
//! same.

use std::sync::Arc;

use partita::io::{ManualScheduler, MemoryFileSystem};

use crate::driven::{self, Driven};
use crate::history::{Plan, history};
use crate::options::{Common, OptionSet, Readers};
use crate::state::{Model, Order};
use crate::subject::{Compared, run};

/// Who does background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jobs {
    /// A scheduler that draws from a seed which job runs next, and when: the same each time.
    Seeded(u64),
    /// Threads.
    Threads,
}

/// The plan of the history with this seed: every fourth goes backward.
pub fn plan(seed: u64, steps: usize) -> Plan {
    let order = if seed % 4 == 3 { Order::Reverse } else { Order::Forward };
    Plan { order, ..Plan::everything(steps) }
}

/// Does the history with this seed under so many variants of option sets, every fourth with threads.
pub fn prove(seed: u64, steps: usize, variants: u64) -> Result<Compared, String> {
    let mut compared = Compared::default();
    for variant in 0..variants {
        let jobs =
            if variant % 4 == 3 { Jobs::Threads } else { Jobs::Seeded(seed * 100 + variant) };
        let sets = sets(seed, variant);
        let ran = run_in_memory(seed, steps, sets.clone(), jobs);
        compared
            .add(ran.map_err(|said| format!("variant {variant}, {jobs:?}: {said}\n{sets:#?}"))?);
    }
    Ok(compared)
}

/// Does the history with this seed to a database in memory that begins with the first of these option sets.
///
/// * On the first difference: what differs.
pub fn run_in_memory(
    seed: u64,
    steps: usize,
    sets: Vec<OptionSet>,
    jobs: Jobs,
) -> Result<Compared, String> {
    let plan = plan(seed, steps);
    let steps = history(seed, &plan);
    let disk = MemoryFileSystem::new();
    let scheduler = Arc::new(ManualScheduler::seeded(match jobs {
        Jobs::Seeded(seed) => seed,
        Jobs::Threads => 0,
    }));
    let mut place = driven::place(Arc::new(disk.clone()), &scheduler, plan.order, sets);
    if jobs == Jobs::Threads {
        (place.scheduler, place.clock) = (None, None);
    }
    let mut ours = place.open(0).map_err(|error| format!("created: {error}"))?;
    ours.killed_in(disk);
    let mut model = Model::new(plan.order);
    match jobs {
        Jobs::Threads => run(&mut ours, &mut model, &steps),
        Jobs::Seeded(seed) => run(&mut Driven::new(ours, scheduler, seed), &mut model, &steps),
    }
}

/// The option sets that the history with this seed goes through in one of its variants.
pub fn sets(seed: u64, variant: u64) -> Vec<OptionSet> {
    let common = Common {
        order: plan(seed, 0).order,
        is_universal: variant % 4 == 1,
        readers: Readers::Rocks11,
    };
    let draw = |at: u64| OptionSet::draw((seed << 20) + variant * 4 + at, common);
    (0..4).map(draw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_gives_the_same_answers_under_any_options() {
        for seed in 0..4 {
            let compared = prove(seed, 160, 4).unwrap_or_else(|said| panic!("seed {seed}: {said}"));
            assert!(compared.rows > 10_000 && compared.gets > 10_000, "{compared:?}");
        }
    }
}
