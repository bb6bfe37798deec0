//! How soon reads find their blocks in the cache again, after all tables were written anew.
//!
//! ```text
//! lookups, until the cache has what it will have  ──>  hit ratio before
//! all tables are written anew
//! lookups, step by step  ──>  until a step's hit ratio is that of before, but for a hundredth
//! ```

use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::engine::Engine;
use super::plan::Plan;
use super::target::Driver;

/// Lookups of a step.
const STEP: u64 = 4000;
/// Steps before the compaction; the second half tells the hit ratio.
const STEPS_BEFORE: u64 = 40;
/// What a step's hit ratio may be lower than before.
const TOLERANCE: f64 = 0.01;
/// Nobody looks longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a compaction of all tables did to the hit ratio: of data, index and filter together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// The hit ratio before it, from 0 to 1.
    pub before: f64,
    /// That of the first lookups behind it.
    pub behind: f64,
    /// That of the last lookups that were made.
    pub at_last: f64,
    /// Seconds that the compaction took.
    pub compaction_seconds: f64,
    /// Seconds from its end until the hit ratio was back; none if it did not come back in a minute.
    pub seconds: Option<f64>,
    /// Lookups behind it.
    pub lookups: u64,
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "all tables written anew in {:.1} s: {:.1} % found in the cache before, {:.1} % of the first lookups behind it, ",
            self.compaction_seconds,
            100.0 * self.before,
            100.0 * self.behind
        )?;
        match self.seconds {
            Some(seconds) => {
                write!(f, "as much as before within {seconds:.1} s and {} lookups", self.lookups)
            }
            None => write!(f, "{:.1} % after a minute", 100.0 * self.at_last),
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
    while at_last < before - TOLERANCE && took < PATIENCE {
        at_last = lookups.make(engine, STEP)?;
        took = ended.elapsed();
    }
    let seconds = (at_last >= before - TOLERANCE).then_some(took.as_secs_f64());
    let lookups = lookups.made - first;
    Ok(Recovery { before, behind, at_last, compaction_seconds, seconds, lookups })
}

struct Lookups<'a> {
    plan: &'a Plan,
    driver: &'a mut Driver,
    made: u64,
}

impl Lookups<'_> {
    /// Makes so many, and returns their hit ratio; 1 where no block was asked for.
    fn make(&mut self, engine: &mut dyn Engine, count: u64) -> Result<f64, String> {
        let before = engine.figures();
        for _ in 0..count {
            self.driver.look_up(self.plan.late_lookup(self.made), engine)?;
            self.made += 1;
        }
        let now = engine.figures();
        let hits = (now.hits - before.hits).total() as f64;
        let reads = (now.reads - before.reads).total() as f64;
        Ok(if hits + reads > 0.0 { hits / (hits + reads) } else { 1.0 })
    }
}
