//! How soon reads find in the cache what they found there before, after all tables were written anew.
//!
//! ```text
//! lookups, until the cache has what it will have  ──>  blocks read for each, before
//! all tables are written anew
//! lookups, step by step  ──>  until a step reads as few for each, but for a fiftieth
//! ```
//!
//! Hit ratios of before and after cannot be compared: of one sorted run fewer blocks are asked for, of which one, the data, is
//! missing as often.

use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::engine::Engine;
use super::plan::Plan;
use super::target::Driver;

/// Lookups of a step.
const STEP: u64 = 4000;
/// Steps before the compaction; the second half tells what is read.
const STEPS_BEFORE: u64 = 40;
/// Blocks that a lookup may read more than before, on average.
const TOLERANCE: f64 = 0.02;
/// Nobody looks longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a compaction of all tables did to reads: blocks of data, index and filter that a lookup takes from files.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Blocks read for each lookup before it.
    pub before: f64,
    /// The same for the first lookups behind it.
    pub behind: f64,
    /// The same for the last lookups that were made.
    pub at_last: f64,
    /// Seconds that the compaction took.
    pub compaction_seconds: f64,
    /// Seconds from its end until as few were read as before; none if that was not within a minute.
    pub seconds: Option<f64>,
    /// Lookups behind it.
    pub lookups: u64,
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "all tables written anew in {:.1} s: {:.3} blocks read for each lookup before, {:.3} at first behind it, ",
            self.compaction_seconds, self.before, self.behind
        )?;
        match self.seconds {
            Some(seconds) => {
                write!(f, "as few as before within {seconds:.1} s and {} lookups", self.lookups)
            }
            None => write!(f, "{:.3} after a minute", self.at_last),
        }
    }
}

/// Measures it, with a load of which all rounds are done.
pub(super) fn measure(
    plan: &Plan,
    engine: &mut dyn Engine,
    driver: &mut Driver,
) -> Result<Recovery, String> {
    let mut lookups = Lookups { plan, driver, made: 0 };
    lookups.make(engine, STEP * STEPS_BEFORE / 2)?;
    let before = lookups.make(engine, STEP * STEPS_BEFORE / 2)?;
    let begun = Instant::now();
    engine.compact()?;
    let compaction_seconds = begun.elapsed().as_secs_f64();
    let (ended, first) = (Instant::now(), lookups.made);
    let behind = lookups.make(engine, STEP)?;
    let (mut at_last, mut took) = (behind, ended.elapsed());
    while at_last > before + TOLERANCE && took < PATIENCE {
        at_last = lookups.make(engine, STEP)?;
        took = ended.elapsed();
    }
    let seconds = (at_last <= before + TOLERANCE).then_some(took.as_secs_f64());
    let lookups = lookups.made - first;
    Ok(Recovery { before, behind, at_last, compaction_seconds, seconds, lookups })
}

struct Lookups<'a> {
    plan: &'a Plan,
    driver: &'a mut Driver,
    made: u64,
}

impl Lookups<'_> {
    /// Makes so many, and returns how many blocks were read for each.
    fn make(&mut self, engine: &mut dyn Engine, count: u64) -> Result<f64, String> {
        let before = engine.figures();
        for _ in 0..count {
            self.driver.look_up(self.plan.late_lookup(self.made), engine)?;
            self.made += 1;
        }
        let reads = engine.figures().reads - before.reads;
        Ok(reads.total() as f64 / count as f64)
    }
}
