//! Who goes on, drawn from a seed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use fastrand::Rng;
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use crate::crowd::Counted;

/// Does `work` in the schedule of this seed.
///
/// * Panics if it does, or if nobody can go on.
pub(super) fn in_schedule<F>(seed: u64, work: F) -> Result<Counted, String>
where
    F: Fn() -> Result<Counted, String> + Send + Sync + 'static,
{
    let mut config = Config::new();
    // Compression has large frames.
    config.stack_size = 1 << 20;
    // The seed is enough.
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::FailAfter(100_000_000);
    config.silence_warnings = true;
    config.ungraceful_shutdown_config.immediately_return_on_panic = true;
    let points = Arc::new(Mutex::new(0));
    let found = Arc::new(Mutex::new(None));
    let in_task = Arc::clone(&found);
    let scheduler = Drawn::new(seed, Arc::clone(&points));
    Runner::new(scheduler, config).run(move || {
        *in_task.lock().unwrap_or_else(PoisonError::into_inner) = Some(work());
    });
    let found = found.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut counted = found.unwrap_or_else(|| Err("it did not end".to_owned()))?;
    counted.points = *points.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(counted)
}

/// How the next one is drawn.
#[derive(Debug)]
enum Manner {
    /// The one that runs goes on, with a chance of so many in 256; else any.
    Any { stays: u8 },
    /// The one of the highest rank; each gets a rank by lot, and loses it now and then, with a chance of one in so many.
    ///
    /// As in Burckhardt and others, "A randomized scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010.
    Ranks { ranks: HashMap<TaskId, u64>, change: u32 },
}

/// Draws one schedule.
#[derive(Debug)]
struct Drawn {
    seed: Option<u64>,
    random: Rng,
    manner: Manner,
    points: Arc<Mutex<u64>>,
}

impl Drawn {
    fn new(seed: u64, points: Arc<Mutex<u64>>) -> Self {
        let mut random = Rng::with_seed(seed ^ 0x7363_6865_6475_6c65);
        let manner = match random.u8(..8) {
            0 => Manner::Any { stays: 0 },
            1 => Manner::Any { stays: 128 },
            2 => Manner::Any { stays: 240 },
            3 => Manner::Any { stays: 253 },
            4 | 5 => Manner::Ranks { ranks: HashMap::new(), change: 200 },
            _ => Manner::Ranks { ranks: HashMap::new(), change: 3000 },
        };
        Self { seed: Some(seed), random, manner, points }
    }
}

impl Scheduler for Drawn {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.seed.take().map(Schedule::new)
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        *self.points.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let Self { random, manner, .. } = self;
        let runs_on = current.filter(|it| runnable.iter().any(|task| task.id() == *it));
        match manner {
            Manner::Any { stays } => {
                if let Some(current) = runs_on.filter(|_| !is_yielding)
                    && random.u8(..) < *stays
                {
                    return Some(current);
                }
                Some(runnable[random.usize(..runnable.len())].id())
            }
            Manner::Ranks { ranks, change } => {
                for task in runnable {
                    // Ranks by lot are above those of who lost theirs.
                    ranks.entry(task.id()).or_insert_with(|| random.u64(1 << 62..));
                }
                if let Some(current) = runs_on
                    && (is_yielding || random.u32(..*change) == 0)
                {
                    let lowest = ranks.values().min().copied().unwrap_or(0);
                    ranks.insert(current, lowest.saturating_sub(1));
                }
                runnable.iter().map(|task| task.id()).max_by_key(|task| ranks.get(task).copied())
            }
        }
    }

    fn next_u64(&mut self) -> u64 {
        self.random.u64(..)
    }
}

#[cfg(test)]
mod tests {
    use partita::db::{DbBuilder, IngestOptions};
    use partita::io::{MemoryFileSystem, ThreadPool};
    use partita::options::DbOptions;

    use super::*;
    use crate::ours::ingest;
    use crate::step::Slot;

    /// A memtable gets writes after the files have come that an older view of it does not have.
    fn ingest_and_write_while_somebody_iterates() {
        let fs = Arc::new(MemoryFileSystem::new());
        let options = DbOptions { create_if_missing: true, ..DbOptions::default() };
        let builder = DbBuilder::new("/db").file_system(Arc::clone(&fs) as _).options(options);
        let db = builder.scheduler(Arc::new(ThreadPool::new(1, 1))).open().unwrap();
        shuttle::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..4u8 {
                    let files = [(Slot::DEFAULT, vec![(b"ingested".to_vec(), vec![round])])];
                    let options = IngestOptions::default();
                    ingest(&db, &*fs, "/external".as_ref(), &files, &options).unwrap();
                    db.put(b"written", &[round]).unwrap();
                }
            });
            // See `Crowd::gather` for why this thread has nothing to do.
            scope.spawn(|| {
                for _ in 0..6 {
                    let mut iter = db.iter().unwrap();
                    let mut round_of = |key: &[u8]| {
                        iter.seek(key).unwrap();
                        if iter.is_valid() && iter.key() == key { iter.value()[0] } else { 0 }
                    };
                    let (written, ingested) = (round_of(b"written"), round_of(b"ingested"));
                    assert!(ingested >= written, "{written} was written, {ingested} not ingested");
                }
            });
        });
    }

    #[test]
    fn who_sees_a_write_sees_the_files_that_came_before_it() {
        for seed in 0..1000 {
            let work = || {
                ingest_and_write_while_somebody_iterates();
                Ok(Counted::default())
            };
            in_schedule(seed, work).unwrap_or_else(|said| panic!("seed {seed}: {said}"));
        }
    }
}
